"""``python -m dagster_smt.testing`` starts a Kafka broker in the background."""

import sys

from dagster_smt.testing.broker import main

if __name__ == "__main__":
    sys.exit(main())
