"""Recorded cases on Spark, through the command line: it starts a session of its own with settings of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "parity"
FILES = ("maskfield", "predicates", "valuetokey", "kip821")


@pytest.mark.spark
def test_recorded_cases_are_equal_or_different_on_purpose():
    command = [sys.executable, "-m", "dagster_smt.cli", "parity", "--spark", "--report", "json"]
    files = [str(CASES / f"{name}.jsonl") for name in FILES]
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(CASES.parents[1])}
    done = subprocess.run([*command, *files], capture_output=True, text=True, env=env)
    report = json.loads(done.stdout.splitlines()[-1])
    assert (report["different"], report["unsupported"]) == (0, 0), report["details"]
    assert report["cases"] > 200
