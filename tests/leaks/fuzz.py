"""A million records with known personal values through the runs of ``tests.leaks.wide``.

``python -m tests.leaks.fuzz FOLDER --records 1000000`` prints a line for each scenario: its records so far, what its
runs counted, and where values are. The exit code is 1 if a value is where it may not be.
"""

import argparse
import contextlib
import json
import shutil
import sys
import time
from pathlib import Path

from dagster_smt.orchestration.resources import need_packages
from tests.leaks.counted import PATTERN, CountedPeople
from tests.leaks.judge import leaks
from tests.leaks.letters import leaking_letters
from tests.leaks.runs import Runs, prepare
from tests.leaks.wide import WIDE

RUNS = 16
"""The number of runs of all scenarios together; each has a topic of its own. One more has at most 200 records, with a
schema for each of them."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--only", default=",".join(WIDE))
    parser.add_argument("--first", type=int, default=0, help="the first number of the counter")
    asked = parser.parse_args()
    prepare(asked.folder)
    need_packages(["delta", "iceberg", "kafka"])
    runs = Runs(asked.folder, CountedPeople(asked.first), asked.records // RUNS)
    leaking = {}
    for name in asked.only.split(","):
        began = time.monotonic()
        with (asked.folder / "printed.txt").open("a", encoding="utf-8") as file, contextlib.redirect_stderr(file):
            WIDE[name](runs)
        ran = time.monotonic()
        places = leaks(PATTERN, asked.folder, runs.allowed) | leaking_letters(PATTERN, asked.folder)
        leaking |= places
        seconds = (round(ran - began), round(time.monotonic() - ran))
        print(json.dumps({"scenario": name, "records": runs.records, "seconds": seconds, "runs": runs.outcomes,
                          "leaks": {place: sorted(hits) for place, hits in places.items()}}), flush=True)  # fmt: skip
        runs.outcomes = {}
        _forget(asked.folder)
    sys.exit(1 if leaking else 0)


def _forget(folder):
    """Removes tables and topics that have been searched. What grows on stays: logs, events and Dagster's storage."""
    for path in folder.iterdir():
        if path.is_dir() and path.name not in ("home", "spark"):
            shutil.rmtree(path)


if __name__ == "__main__":
    main()
