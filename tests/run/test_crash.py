"""Kill a run at any point, run again: every record once, every dead letter once."""

import importlib.util
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dagster_smt.model.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.tables.commit_log import live
from dagster_smt.tables.file_topics import NewRecord, append_records, read_window, topic_ranges
from dagster_smt.tables.sink import open_log, read_table
from dagster_smt.tables.spec import FileTopics, WindowRequest

SCRIPT = Path(__file__).with_name("crash_run.py")
_module = importlib.util.spec_from_file_location("crash_run", SCRIPT)
crash_run = importlib.util.module_from_spec(_module)
_module.loader.exec_module(crash_run)

COMMITTED = {"after the commit", "after the dead letters", "before the end"}
RECORDS = 30
FAILING = {n for n in range(RECORDS) if n % 7 == 3}
TOMBSTONES = {n for n in range(RECORDS) if n % 5 == 4} - FAILING


def value(number: int) -> bytes | None:
    if number in TOMBSTONES:
        return None
    return f'{{"name":"x","amount":"{"none" if number in FAILING else number}"}}'.encode()


@pytest.mark.parametrize("point", crash_run.POINTS)
def test_killed_and_run_again(spark, tmp_path, point):
    source = FileTopics(tmp_path / "topics")
    append_records(source, "orders", (NewRecord(b"%d" % n, value(n), (), n) for n in range(RECORDS)))
    command = [sys.executable, str(SCRIPT), point, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    killed = subprocess.run(command, env=environment, capture_output=True, timeout=300)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()[-2000:]

    again = replace(crash_run.spec(tmp_path), window=WindowRequest(max_records=3))
    first = run(again, spark)
    killed_window, following = Range("orders", 0, 0, 20), Range("orders", 0, 20, 23)
    assert first.window == Window((following if point in COMMITTED else killed_window,))
    rest = replace(again, window=WindowRequest())
    while run(rest, spark).status == "committed":
        pass

    rows = read_table(spark, tmp_path / "table").collect()
    assert sorted(r.offset for r in rows) == sorted({*range(RECORDS)} - FAILING - TOMBSTONES)
    dead = read_window(spark, source, Window(tuple(topic_ranges(source, ["orders.dead"])))).orderBy("offset").collect()
    headers = [{h.key: bytes(h.value).decode() for h in r.headers} for r in dead]
    assert [int(h["__connect.errors.offset"]) for h in headers] == sorted(FAILING)
    assert [bytes(r.value) for r in dead] == [value(n) for n in sorted(FAILING)]

    log = open_log(tmp_path / "table")
    commits = log.commits()
    assert sum(c.window.records for c in commits) == RECORDS
    assert {p.name for p in (log.root / "data").iterdir()} == {c.attempt for c in live(commits)}
    assert log.intents() == []
    assert not any(log.root.rglob("_dead_letters*"))
