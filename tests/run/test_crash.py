"""Kill a run at any point, run again: every record once, every dead letter once."""

import importlib.util
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from dagster_smt.tables.window_request import WindowRequest

SCRIPT = Path(__file__).with_name("crash_run.py")
_module = importlib.util.spec_from_file_location("crash_run", SCRIPT)
crash_run = importlib.util.module_from_spec(_module)
_module.loader.exec_module(crash_run)

COMMITTED = {"after the commit"}
RECORDS = 30
FAILING = {n for n in range(RECORDS) if n % 7 == 3}
TOMBSTONES = {n for n in range(RECORDS) if n % 5 == 4} - FAILING


def value(number: int) -> bytes | None:
    if number in TOMBSTONES:
        return None
    return f'{{"name":"x","amount":"{"none" if number in FAILING else number}"}}'.encode()


@pytest.mark.long  # CI has kills at random times
@pytest.mark.parametrize("point", crash_run.POINTS)
def test_killed_and_run_again(spark, tmp_path, point):
    source = FileTopics(tmp_path / "topics")
    append_records(source, "orders", (NewRecord(b"%d" % n, value(n), (), n) for n in range(RECORDS)))
    command = [sys.executable, str(SCRIPT), point, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    killed = subprocess.run(command, env=environment, capture_output=True, timeout=300)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()[-2000:]

    again = replace(crash_run.spec(tmp_path), window=WindowRequest(max_records=3))
    start = 20 if point in COMMITTED else 0
    assert run(again, spark).window == Window((Range("orders", 0, start, start + 3),))
    rest = replace(again, window=WindowRequest())
    while run(rest, spark).status == "committed":
        pass

    table = open_table(spark, again.sink)
    assert sorted(r.offset for r in table.read().collect()) == sorted({*range(RECORDS)} - FAILING - TOMBSTONES)
    topics = open_source(source, spark)
    dead = topics.read(Window(tuple(topics.ranges(["orders.dead"])))).orderBy("offset").collect()
    headers = [{h.key: bytes(h.value).decode() for h in r.headers} for r in dead]
    assert [int(h["__connect.errors.offset"]) for h in headers] == sorted(FAILING)
    assert [bytes(r.value) for r in dead] == [value(n) for n in sorted(FAILING)]
    assert table.state().held.to_json() == {"orders": {"0": [[0, RECORDS]]}}
    assert not list((tmp_path / "topics").rglob(".*tmp*"))
