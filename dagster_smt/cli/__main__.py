"""Runs the command line with ``python -m dagster_smt.cli``."""

import sys

from dagster_smt.cli import main

sys.exit(main())
