"""Tables with keys: records without a row, keys that nothing orders, keys that are no structs."""

import json
import struct
from dataclasses import replace

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, RecordsRejected, TableError
from dagster_smt.model.topics.format import Format
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.keyed import offsets_to_read_on
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.quick import quick
from tests.run.keyed_table import KEY, VALUE, Keys, window_of
from tests.run.keyed_world import MOMENT, PLACEHOLDER, Event
from tests.run.test_keyed import upsert

pytestmark = pytest.mark.spark
LENIENT = {"errors_tolerance": "all", "dead_letter_topic": "dead"}


def send(keys, *records, topic="people", partition=0):
    """Appends records: pairs of a key and a value, as bytes or as JSON data."""
    for key, value in records:
        sides = [
            side if side is None or isinstance(side, bytes) else json.dumps(side).encode() for side in (key, value)
        ]
        append_records(keys.topics, topic, [NewRecord(*sides, (), MOMENT)], partition)


def codes(report):
    return sorted(reject.problem.code for reject in report.rejects)


def names(keys):
    return {row["id"]: row["name"] for row in keys.read()}


@pytest.mark.parametrize("kind", ["delta", pytest.param("iceberg", marks=pytest.mark.long)])
def test_records_without_a_key_are_dead_letters(kind, spark, tmp_path):
    keys = Keys(tmp_path, spark, kind, sequence_by="seq")
    send(
        keys,
        ({"id": 1}, {"id": 1, "name": "a", "seq": 1}),
        ({"id": None}, {"id": None, "name": "b", "seq": 2}),
        (None, {"name": "c", "seq": 3}),
        (None, None),
        ({"id": 2}, {"id": 2, "name": "d", "seq": None}),
        ({"id": 3}, {"id": 3, "name": "e", "seq": 4}),
    )
    with pytest.raises(RecordsRejected, match="SMT72"):
        keys.run()
    report = keys.run(**LENIENT)
    assert codes(report) == ["SMT720", "SMT720", "SMT720", "SMT721"]
    assert (report.failed_records, names(keys)) == (4, {1: "a", 3: "e"})
    send(keys, ({"id": 1}, None))
    assert keys.run(**LENIENT).keyed["people"].deleted == 1
    assert keys.run(**LENIENT).status == "empty"
    assert names(keys) == {3: "e"}


def test_deletions_without_a_key_are_ignored_where_deletions_are(spark, tmp_path):
    keys = Keys(tmp_path, spark, deletes="ignore")
    send(keys, ({"id": 1}, {"id": 1, "name": "a"}), (None, None), ({"id": 1}, None))
    assert (keys.run().failed_records, names(keys)) == (0, {1: "a"})


@pytest.mark.parametrize("kind", ["delta", pytest.param("iceberg", marks=pytest.mark.long)])
def test_a_key_in_two_partitions_is_refused(kind, spark, tmp_path):
    keys = Keys(tmp_path, spark, kind)
    one = {"topic": "people", "partition": 0}
    keys.add([upsert(1, 0, "a", **one), upsert(2, 1, "b", **one)])
    keys.run()
    keys.add([upsert(1, 0, "other", topic="people", partition=1), upsert(3, 1, "c", topic="people", partition=1)])
    with pytest.raises((RecordsRejected, TableError), match="SMT722"):
        keys.run()
    report = keys.run(**LENIENT)
    assert (codes(report), names(keys)) == (["SMT722"], {1: "a", 2: "b", 3: "c"})
    keys.add([upsert(1, 2, "later", **one), Event(3, None, topic="people", partition=0)])
    report = keys.run(**LENIENT)
    assert (codes(report), names(keys)) == (["SMT722"], {1: "later", 2: "b", 3: "c"})


def test_a_new_key_in_two_partitions_of_one_window_is_refused(spark, tmp_path):
    keys = Keys(tmp_path, spark)
    keys.add([upsert(1, 0, "a"), upsert(1, 0, "b", topic="people", partition=1), upsert(2, 1, "c")])
    report = keys.run(**LENIENT)
    assert (codes(report), names(keys)) == (["SMT722", "SMT722"], {2: "c"})


LONG_KEY = struct.pack(">q", 7)
PRIMITIVES = {
    "a number that the value has": (Format("long"), ["id"], LONG_KEY, {"id": 7, "name": "a"}, 7),
    "a text that the value has as a number": (Format("string"), ["id"], b"7", {"id": 7, "name": "a"}, 7),
    "a number that the value lacks": (Format("long"), ["id"], LONG_KEY, {"name": "a"}, 7),
    "a text that the value lacks": (Format("string"), ["id"], b"seven", {"name": "a"}, "seven"),
}


@pytest.mark.parametrize("name", quick(PRIMITIVES, "a text that the value has as a number"))
def test_keys_that_are_no_structs(name, spark, tmp_path):
    form, columns, key, value, number = PRIMITIVES[name]
    keys = Keys(tmp_path, spark, keys=columns)
    declared = Format("json_schema", parse_ddl("name STRING" if "id" not in value else "id BIGINT, name STRING"))
    table = {"key": form, "value": declared}
    send(keys, (key, value))
    keys.run(table)
    assert names(keys) == {number: "a"}
    send(keys, (key, {**value, "name": "b"}))
    assert keys.run(table).keyed["people"].updated == 1
    assert names(keys) == {number: "b"}
    send(keys, (key, None))
    assert keys.run(table).keyed["people"].deleted == 1
    assert names(keys) == {}


def test_a_text_that_is_another_form_of_the_key_does_not_replace_the_column(spark, tmp_path):
    """Keys as JSON, read as texts: the value has the column, and a tombstone names no row."""
    keys = Keys(tmp_path, spark, keys=["id"])
    table = {"key": Format("string"), "value": VALUE}
    send(keys, ({"id": 7}, {"id": 7, "name": "a"}), ({"id": 8}, {"id": 8, "name": "b"}))
    keys.run(table)
    assert names(keys) == {7: "a", 8: "b"}
    send(keys, ({"id": 7}, None))
    report = keys.run(table, **LENIENT)
    assert (codes(report), names(keys)) == (["SMT720"], {7: "a", 8: "b"})


def test_a_replay_is_refused_where_the_topic_has_lost_what_came_after(tmp_path):
    """The table has read the offsets 0 to 5, and the topic has lost some of them: they decided what the keys are."""
    table = TopicTable(FileTopics(tmp_path), ("people",), key=KEY, value=VALUE)
    sink = DeltaSink(tmp_path / "table", "columns", mode="upsert")
    spec = RunSpec("people", parse_chain([]), table, sink)
    state = replace(TableState(1, "", "upsert"), held=offsets_of([Range("people", 0, 0, 6)]))
    window = Window((Range("people", 0, 1, 3),))
    whole, holed = offsets_of([Range("people", 0, 0, 6)]), offsets_of([Range("people", 0, 0, 4)])
    assert list(offsets_to_read_on(spec, window, state, whole).ranges()) == [Range("people", 0, 3, 6)]
    with pytest.raises(TableError, match="SMT723 people-0"):
        offsets_to_read_on(spec, window, state, holed)
    ordered = replace(spec, sink=replace(sink, sequence_by="seq"))
    assert not offsets_to_read_on(ordered, window, state, holed)
    assert not offsets_to_read_on(spec, window, None, holed)


@pytest.mark.parametrize("kind", ["delta", pytest.param("iceberg", marks=pytest.mark.long)])
def test_a_large_column_that_nobody_has_is_null_and_counted(kind, spark, tmp_path):
    """A later event lacks the column; an older one that comes late is superseded as a whole, and brings no value."""
    keys = Keys(tmp_path, spark, kind, sequence_by="seq")
    lacking = {"id": 1, "name": "b", "note": PLACEHOLDER, "seq": 5}
    send(keys, ({"id": 1}, lacking), ({"id": 2}, {"id": 2, "name": "x", "note": "long", "seq": 1}))
    assert keys.run().keyed["people"].incomplete == 1
    late = {"id": 1, "name": "a", "note": "long", "seq": 3}
    send(keys, ({"id": 1}, late), topic="people1")
    counts = keys.run().keyed["people1"]
    assert (counts.superseded, counts.updated) == (1, 0)
    assert {row["id"]: (row["name"], row["note"]) for row in keys.read()} == {1: ("b", None), 2: ("x", "long")}
    send(keys, ({"id": 1}, {"id": 1, "name": "c", "note": "now", "seq": 6}))
    assert keys.run().keyed["people"].updated == 1
    assert {row["id"]: row["note"] for row in keys.read()} == {1: "now", 2: "long"}


def test_letters_have_no_keys(tmp_path):
    sink = DeltaSink(tmp_path / "table", "columns")
    letters = DeltaSink(tmp_path / "letters", "columns", mode="upsert", keys=["id"])
    with pytest.raises(ConfigError, match="SMT700 dead_letters"):
        RunSpec("people", parse_chain([]), TopicTable(FileTopics(tmp_path)), sink, dead_letters=letters)


@pytest.mark.long
def test_a_replay_before_a_deletion_that_the_chain_rejects_now_is_refused(spark, tmp_path):
    """MaskField rejects tombstones, as in Kafka: without the tombstone the row would come back."""
    keys = Keys(tmp_path, spark)
    keys.add([upsert(1, 0), Event(1, None, offset=1), upsert(2, 2)])
    keys.run()
    masks = {"alias": "mask", "type": "MaskField$Value", "options": {"fields": "note", "replacement": "x"}}
    keys.chain = parse_chain([masks])
    for tolerance in ("none", "all"):
        with pytest.raises(TableError, match=r"SMT725 .*people-0 @ 1 on"):
            keys.run(window=window_of(("people", 0, 0, 1)), errors_tolerance=tolerance)
    assert list(keys.by_key()) == [2]
