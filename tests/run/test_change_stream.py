"""The change stream of a table through ExtractNewRecordState, into a table of columns."""

import json
from dataclasses import replace

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.transforms.debezium.extract_new_record_state import ExtractNewRecordState
from tests.run.world import World
from tests.transforms.debezium.events import ID, ROW_NAME, added, event, event_schema, row_schema

MODE = "delete.tombstone.handling.mode"
KEY = json.dumps({"schema": row_schema(ID, name="dummy.Key"), "payload": {"id": 1}}).encode()
WIDER = event_schema(row_schema(ID, ROW_NAME, added("city"), optional=True))
ANN, ANNE = {"id": 1, "name": "Ann"}, {"id": 1, "name": "Anne"}
STREAM = [
    event("c", None, ANN),
    event("u", ANN, ANNE),
    event("d", ANNE),
    None,
    event("c", None, {**ANN, "city": "Rome"}, schema=WIDER),
    event("t", schema=WIDER),
]


class Changes(World):
    """A topic of change events, and a table of columns."""

    def spec(self, mode, **changes):
        options = {MODE: mode, "add.fields": "op", "add.headers": "op"}
        chain = parse_chain([{"alias": "unwrap", "type": ExtractNewRecordState.connect_class, "options": options}])
        table = TopicTable(self.topics, ("orders",), key=Format("envelope"), value=Format("envelope"))
        sink = DeltaSink(self.folder / "table", "columns", source_columns=None)
        return replace(super().spec(**changes), chain=chain, table=table, sink=sink)


@pytest.fixture
def world(spark, tmp_path):
    result = Changes(tmp_path, spark)
    result.add(*(NewRecord(KEY, text and text.encode()) for text in STREAM))
    return result


def test_a_history_with_deleted_rows(world):
    report = world.run("rewrite")
    assert {(r.name, r.city, r["__deleted"], r["__op"]) for r in world.rows()} == {
        ("Ann", "Rome", "false", "c"),
        ("Ann", None, "false", "c"),
        ("Anne", None, "false", "u"),
        ("Anne", None, "true", "d"),
    }
    assert (report.records_in, report.records_out, report.dropped, report.failed) == (6, 4, 2, 0)
    assert {(line.entry.side, line.entry.path): line.records for line in report.ledger} == {
        ("headers", "__op"): 4,
        ("value", "__op"): 4,
        ("value", "__deleted"): 4,
    }
    assert list(report.after.by_name) == ["id", "name", "__deleted", "__op", "city"]
    assert report.lineage["name"] == ("value.after.name", "value.before.name")


def test_rows_as_they_are_written(world):
    report = world.run("drop")
    assert {(r.name, r.city) for r in world.rows()} == {("Ann", None), ("Ann", "Rome"), ("Anne", None)}
    assert (report.records_out, report.dropped) == (3, 3)


def test_a_deleted_row_that_is_null_has_no_columns(world):
    """The original's default: the next converter, or a table, must know what to do with a null."""
    report = world.run("tombstone", errors_tolerance="all", dead_letter_topic="orders.dead")
    assert (report.records_out, report.dropped, report.failed) == (3, 2, 1)
    (dead,) = world.dead()
    assert "SMT418" in str({h.key: bytes(h.value) for h in dead.headers}["__connect.errors.exception.message"])
