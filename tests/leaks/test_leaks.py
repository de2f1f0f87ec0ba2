"""No value of a record leaves the columns that may hold it: not into logs, events, metadata, letters' context or pages.

Everything that runs write lies below one folder, and a judge from outside reads every byte of it.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.leaks.judge import leaks
from tests.leaks.letters import leaking_letters
from tests.leaks.plants import PLACES, PLANTS, planted_word
from tests.leaks.wide import WIDE

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.long, pytest.mark.spark]


def runs(folder, plant="", chosen=""):
    """Runs everything; returns the values, what leaks, and the outcomes."""
    variables = {"SMT_PLANT": plant, "PYTHONPATH": str(ROOT), "DAGSTER_DISABLE_TELEMETRY": "1"}
    if chosen:
        variables["SMT_LEAK_RUNS"] = chosen
    command = [sys.executable, "-m", "tests.leaks.runs", str(folder)]
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=3000, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-4000:]
    data = json.loads(done.stdout.splitlines()[-1])
    values = set(data["values"])
    (folder / "stderr.txt").write_text(done.stderr + "\n".join(done.stdout.splitlines()[:-1]), encoding="utf-8")
    leaking = leaks(values, folder, data["allowed"])
    leaking |= leaking_letters(values, folder)
    return values, leaking, data["outcomes"]


def test_no_value_is_anywhere_else(tmp_path):
    values, leaking, outcomes = runs(tmp_path)
    print(json.dumps(outcomes, indent=1))
    assert len(values) > 1000
    assert leaking == {}


def test_no_value_is_anywhere_else_in_more_runs(tmp_path):
    """Policies by tag, a table for each topic, a broker, classes of jars, and tables with keys."""
    values, leaking, outcomes = runs(tmp_path, chosen=",".join(WIDE))
    print(json.dumps(outcomes, indent=1))
    assert len(values) > 10_000 and len(outcomes) == 17
    assert all(one["success"] and one["records_out"] and one["records_in"] for one in outcomes.values())
    assert leaking == {}


def test_each_place_is_searched(tmp_path):
    """A value of its own is planted in each place, and the judge says in which one."""
    _, leaking, _ = runs(tmp_path, chosen="planted")
    missing = []
    for name, place in PLACES.items():
        hits = [path for path, values in leaking.items() if planted_word(name) in values]
        if not any(re.search(place, path.replace(f"{tmp_path}/", "")) for path in hits):
            missing.append((name, hits))
    assert missing == []


@pytest.mark.parametrize("name", PLANTS)
def test_a_leak_on_purpose_is_refused(tmp_path, name):
    _, leaking, _ = runs(tmp_path, name, "one,commands" if name == "page" else "one")
    assert leaking, name
