"""What previewed records do to a table with keys: each action, and the counts of one run."""

import json
from dataclasses import replace

import pytest

from dagster_smt.interpret.keyed_rows import table_changes
from dagster_smt.interpret.preview import Sample, previewed_records
from dagster_smt.model.topics.format import Format
from dagster_smt.model.topics.keyed import KeyedRows
from dagster_smt.tables.ddl import parse_ddl
from tests.chain.helpers import TOMBSTONE, chain_of, stage

KEY = Format("json_schema", parse_ddl("id INT"))
PLACEHOLDER = "__debezium_unavailable_value"
UPSERT = KeyedRows("upsert")
SOFT = KeyedRows("upsert", deletes="soft")
SEQUENCED = KeyedRows("upsert", sequence_by="seq")
VERSIONS = KeyedRows("scd2", track=("name",))
DELETED = {"__deleted": "true"}


def sample(key, row, offset=0, partition=0, topic="people"):
    value = None if row is None else json.dumps({"id": key, **row}).encode()
    return Sample(topic, partition, offset, key=json.dumps({"id": key}).encode(), value=value)


def samples(*rows):
    """Records of one partition: pairs of a key and a row."""
    return [sample(key, row, offset) for offset, (key, row) in enumerate(rows)]


def effects(keyed, records, *stages, key=KEY, **how):
    chain = replace(chain_of(*stages), keeps_key=True)
    return table_changes(list(previewed_records(chain, records, key, Format())), keyed, **how)


def texts(*arguments, **how):
    return [change.text for change in effects(*arguments, **how).changes]


def name(text, **more):
    return {"name": text, **more}


CASES = {
    "insert, update, delete, insert": (
        UPSERT,
        [(1, name("a", note="x")), (1, name("b", note="x")), (1, name("b", note="x")), (1, None), (1, name("c"))],
        ["insert", "update: name", "update: no column changes", "delete", "insert"],
    ),
    "a row that the chain marks": (
        UPSERT,
        [(1, name("a")), (1, {**name("a"), **DELETED}), (1, None)],
        ["insert", "delete", "delete: the key has no row"],
    ),
    "keys are apart": (UPSERT, [(1, name("a")), (2, name("a")), (2, None)], ["insert", "insert", "delete"]),
    "soft": (
        SOFT,
        [(1, name("a")), (1, None), (1, name("a")), (2, None)],
        [
            "insert",
            "soft delete: the row stays, marked as deleted",
            "update: _is_deleted",
            "soft delete: the row stays, marked as deleted",
        ],
    ),
    "ignored": (
        KeyedRows("upsert", deletes="ignore"),
        [(1, name("a")), (1, None), (1, {**name("a"), **DELETED})],
        ["insert", "ignored: the table ignores deletions", "ignored: the table ignores deletions"],
    ),
    "large columns": (
        UPSERT,
        [(1, name("a", note=PLACEHOLDER)), (1, name("b", note="x")), (1, name("c", note=PLACEHOLDER))],
        ["insert (incomplete: no event has note)", "update: name, note", "update: name"],
    ),
    "a large column of a row that was deleted": (
        UPSERT,
        [(1, name("a", note="x")), (1, None), (1, name("b", note=PLACEHOLDER))],
        ["insert", "delete", "insert (incomplete: no event has note)"],
    ),
    "a large column of a row that stays": (
        SOFT,
        [(1, name("a", note="x")), (1, None), (1, name("a", note=PLACEHOLDER))],
        ["insert", "soft delete: the row stays, marked as deleted", "update: _is_deleted"],
    ),
    "a sequence": (
        SEQUENCED,
        [(1, name("b", seq=2)), (1, name("a", seq=1)), (1, {**name("c", seq=3), **DELETED}), (1, name("b", seq=2))],
        [
            "insert",
            "superseded: a later event of the key is in the table",
            "delete",
            "superseded: a later event of the key is in the table",
        ],
    ),
    "no sequence": (
        SEQUENCED,
        [(1, name("a"))],
        ["dead letter: SMT721 the column of sequence_by is null, so the event has no place among those of its key"],
    ),
    "versions": (
        VERSIONS,
        [(1, name("a", note="x")), (1, name("a", note="y")), (1, name("b", note="y")), (1, None), (1, None)],
        [
            "insert",
            "update: note",
            "close the version, begin another: name",
            "delete: close the version",
            "delete: the key has no row",
        ],
    ),
    "versions of all columns": (
        KeyedRows("scd2"),
        [(1, name("a", note="x")), (1, name("a", note="y"))],
        ["insert", "close the version, begin another: note"],
    ),
}


@pytest.mark.parametrize(("keyed", "rows", "expected"), CASES.values(), ids=CASES)
def test_each_record_has_an_effect(keyed, rows, expected):
    assert texts(keyed, samples(*rows)) == expected


PLACEHOLDERS = ["X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==", [PLACEHOLDER], {PLACEHOLDER: PLACEHOLDER}]


@pytest.mark.parametrize("value", [*PLACEHOLDERS, list(PLACEHOLDER.encode())])
def test_other_forms_of_the_placeholder(value):
    rows = [(1, name("a", note="x")), (1, name("b", note=value))]
    assert texts(UPSERT, samples(*rows)) == ["insert", "update: name"]
    plain = replace(UPSERT, unavailable_value="")
    assert texts(plain, samples(*rows)) == ["insert", "update: name, note"]


def test_a_key_in_two_partitions_is_refused_unless_a_sequence_orders_its_events():
    records = [sample(1, name("a", seq=1), 0, 0), sample(1, name("b", seq=2), 0, 1), sample(2, name("c", seq=3), 1, 1)]
    refused = "dead letter: SMT722 the key is met in two partitions, and nothing orders their events"
    assert texts(UPSERT, records) == [refused, refused, "insert"]
    assert texts(SEQUENCED, records) == ["insert", "update: name, seq", "insert"]


def test_a_tombstone_has_the_sequence_of_the_event_before_it():
    records = [
        sample(1, name("a", seq=5), 0, 0),
        sample(1, name("b", seq=6), 0, 1),
        sample(1, None, 1, 0),
        sample(1, None, 1, 1),
    ]
    assert texts(SEQUENCED, records)[2:] == ["superseded: a later event of the key is in the table", "delete"]


def test_keys_are_columns_of_the_key_or_of_the_value():
    columns = KeyedRows("upsert", keys=("region", "id"))
    records = samples((1, name("a", region="x")), (1, name("b", region="y")), (1, name("c", region="x")))
    assert texts(columns, records) == ["insert", "insert", "update: name"]
    tombstone = sample(1, None)
    assert texts(columns, [tombstone])[0].startswith("dead letter: SMT720")
    assert texts(replace(columns, deletes="ignore"), [tombstone]) == ["ignored: the table ignores deletions"]


def test_a_key_that_is_no_struct_is_the_one_column():
    columns = KeyedRows("upsert", keys=("id",))
    records = [Sample("t", key=b"1", value=b'{"id":1,"name":"a"}'), Sample("t", 0, 1, key=b"1")]
    assert texts(columns, records, key=Format("string")) == ["insert", "delete"]
    assert texts(columns, records, key=Format("string"), keeps_key=False)[1].startswith("dead letter: SMT720")
    assert texts(UPSERT, records, key=Format("string"))[0].startswith("dead letter: SMT720")


def test_records_that_the_chain_drops_or_refuses_do_nothing():
    stages = stage("Filter", when=TOMBSTONE), stage("Cast$Value", spec="name:int8")
    records = samples((1, name("1")), (1, None), (2, name("x")))
    assert texts(UPSERT, records, *stages) == ["insert", "no row: the chain drops the record", "dead letter"]
    whole = [Sample("t", key=b'{"id":1}', value=b"[1]")]
    assert texts(UPSERT, whole) == ["dead letter: the value has no fields"]


def test_a_stage_before_the_table_makes_the_key():
    records = [Sample("t", 0, n, key=b"x", value=json.dumps({"id": n % 2}).encode()) for n in range(3)]
    stages = (stage("ValueToKey", fields="id"),)
    assert texts(UPSERT, records, *stages, key=Format("string")) == ["insert", "insert", "update: no column changes"]


def test_one_run_makes_one_change_of_all_events_of_a_key():
    rows = [(1, name("a")), (1, name("b")), (2, name("c", note=PLACEHOLDER)), (3, name("d")), (3, None), (4, None)]
    counts = effects(UPSERT, samples(*rows)).counts["people"]
    assert (counts.inserted, counts.updated, counts.deleted, counts.without_row) == (2, 0, 0, 2)
    assert (counts.superseded, counts.incomplete) == (2, 1)


def test_a_table_of_versions_supersedes_no_event():
    """Two versions, an event that changes no tracked column, and two deletions: the second has nothing to close."""
    rows = [(1, name("a")), (1, name("a", note="x")), (1, name("b")), (1, None), (1, None)]
    counts = effects(VERSIONS, samples(*rows)).counts["people"]
    assert (counts.inserted, counts.superseded, counts.without_row) == (2, 0, 0)


def test_a_number_that_no_decimal_holds_is_shown_as_any_other():
    odd = [Sample("t", 0, n, 0, b'{"id":1}', b'{"id":1,"x":1e%s9}' % (b"9" * n)) for n in (20, 20, 30)]
    assert texts(UPSERT, odd) == ["insert", "update: no column changes", "update: x"]
