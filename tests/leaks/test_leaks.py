"""No value of a record leaves the columns that may hold it: not into logs, events, metadata, letters' context or pages.

Everything that runs write lies below one folder, and a judge from outside reads every byte of it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.leaks.judge import in_text, leaks
from tests.leaks.plants import PLANTS

ROOT = Path(__file__).parents[2]
CONTEXT = ("__connect.errors.", "dagster_smt.")
pytestmark = [pytest.mark.long, pytest.mark.spark]


def runs(folder, plant="", chosen=""):
    """Runs everything; returns the values, what leaks, and the outcomes."""
    variables = {"SMT_PLANT": plant, "PYTHONPATH": str(ROOT), "DAGSTER_DISABLE_TELEMETRY": "1"}
    if chosen:
        variables["SMT_LEAK_RUNS"] = chosen
    command = [sys.executable, "-m", "tests.leaks.runs", str(folder)]
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=900, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-4000:]
    data = json.loads(done.stdout.splitlines()[-1])
    values = set(data["values"])
    (folder / "stderr.txt").write_text(done.stderr + "\n".join(done.stdout.splitlines()[:-1]), encoding="utf-8")
    leaking = leaks(values, folder, data["allowed"])
    for place, text in letter_contexts(folder):
        if hits := in_text(values, text):
            leaking.setdefault(place, set()).update(sorted(hits)[:8])
    return values, leaking, data["outcomes"]


def letter_contexts(folder):
    """Yields what dead letters say besides the original record: the headers that a run has added."""
    for path in sorted((folder / "letters").rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for header in json.loads(line).get("headers") or ():
                if header["key"].startswith(CONTEXT):
                    yield f"context in {path}", str(header)
    for path in sorted((folder / "letter_table").glob("*.parquet")):
        for row in pq.read_table(path).to_pylist():
            for header in row["headers"] or ():
                if header["key"].startswith(CONTEXT):
                    yield f"context in {path}", str(header["value"])


def test_no_value_is_anywhere_else(tmp_path):
    values, leaking, outcomes = runs(tmp_path)
    print(json.dumps(outcomes, indent=1))
    assert len(values) > 1000
    assert leaking == {}


@pytest.mark.parametrize("name", PLANTS)
def test_a_leak_on_purpose_is_refused(tmp_path, name):
    _, leaking, _ = runs(tmp_path, name, "one,commands" if name == "page" else "one")
    assert leaking, name
