"""Envelopes into columns: the schemas are found in the records, the table has the fields of all of them."""

import base64
import json
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

import pytest

from dagster_smt.errors import PlanError, RecordsRejected, TableError
from dagster_smt.model.reports.run_report import leaf_labels
from dagster_smt.model.topics.format import Format
from dagster_smt.run.facts import table_facts
from dagster_smt.run.report_json import report_from_json, report_to_json
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.planning import plan_table
from dagster_smt.tables.sink_options import IcebergSink
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.tables.window_request import WindowRequest
from tests.chain.helpers import EUROPEAN, TOMBSTONE, TRACED, chain_of, stage
from tests.run.world import COLUMNS, World, order, window

SECRET = "secret-4711"
DATA = "org.apache.kafka.connect.data."
INT, LONG, TEXT = {"type": "int32"}, {"type": "int64", "optional": True}, {"type": "string", "optional": True}
DECIMAL = {"type": "bytes", "name": DATA + "Decimal", "parameters": {"scale": "2"}, "optional": True}
DATE, TIME = ({"type": "int32", "name": DATA + name, "optional": True} for name in ("Date", "Time"))
TIMESTAMP = {"type": "int64", "name": DATA + "Timestamp", "optional": True}
NUMBERS = {"type": "map", "keys": {"type": "int32", "optional": True}, "values": TEXT, "optional": True}
MASK = stage("MaskField$Value", fields="name")
NO_TOMBSTONES = stage("Filter", when=TOMBSTONE)


def struct(optional=False, **fields):
    return {"type": "struct", "fields": [{**f, "field": n} for n, f in fields.items()], "optional": optional}


def envelope(schema, payload, *headers, key=b"k"):
    text = json.dumps({"schema": schema, "payload": payload})
    return NewRecord(key, text.encode(), tuple((name, b"1") for name in headers), 1700000000000)


def unscaled(number):
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()


ONE, TWO = struct(id=INT, name=TEXT), struct(id=INT, note=TEXT)
FIRST, SECOND = envelope(ONE, {"id": 1, "name": SECRET}), envelope(TWO, {"id": 2, "note": "n"})


class Envelopes(World):
    """A topic of envelopes, and a table of columns."""

    sink_type = IcebergSink

    def spec(self, *stages, key=None, topics=("orders",), kind="columns", **changes):
        table = TopicTable(self.topics, topics, key=key or Format("string"), value=Format("envelope"))
        sink = self.sink_type(self.folder / "table", kind, source_columns=None)
        return replace(super().spec(**changes), chain=chain_of(*stages), table=table, sink=sink)

    def codes(self):
        """Offset to code of all dead letters."""
        headers = [{h.key: bytes(h.value).decode() for h in r.headers} for r in self.dead()]
        results = {int(h["__connect.errors.offset"]): h["__connect.errors.exception.message"] for h in headers}
        assert SECRET not in str(results)
        return {offset: text.split()[0] for offset, text in results.items()}


@pytest.fixture
def world(spark, tmp_path):
    return Envelopes(tmp_path, spark)


ALL = {"errors_tolerance": "all", "dead_letter_topic": "orders.dead"}


def test_a_contract_knows_what_may_be_null_in_the_envelopes(world):
    world.add(FIRST, SECOND)
    report = world.run(MASK)
    spec, declared = world.spec(MASK), parse_ddl("id INT NOT NULL, name STRING NOT NULL, gone INT")
    plan = plan_table(spec.chain, spec.table)
    facts = table_facts(spec, plan, world.session, report.window, contract=declared)
    assert facts.broken == {
        "name": "it is promised never to be null, but it may be",
        "gone": "int is promised, but there is no such column",
    }


def test_the_table_has_the_fields_of_all_schemas(world):
    world.add(FIRST, SECOND, FIRST)
    report = world.run(MASK)
    assert [r.asDict() for r in world.rows()] == [
        {"id": 1, "name": "", "note": None},
        {"id": 1, "name": "", "note": None},
        {"id": 2, "name": None, "note": "n"},
    ]
    labels = {"id": "int32", "name": "string?", "note": "string?"}
    assert leaf_labels(report.before) == leaf_labels(report.after) == labels
    assert report.lineage == {name: (f"value.{name}",) for name in labels}
    assert report.masked == ("name",) and report.touched("masked") == {"name": 2}
    assert [line for line in world.lines if line][1:3] == [
        "looking for the schemas of the records",
        "2 schemas of values found",
    ]
    assert {"read", "schemas", "write"} <= set(report.seconds)
    assert report_from_json(json.loads(json.dumps(report_to_json(report)))) == report


CLASHING = struct(id=TEXT, name=LONG)


def test_types_that_clash_are_named_and_a_cast_mends_them(world):
    world.add(FIRST, envelope(CLASHING, {"id": SECRET, "name": 4711}))
    with pytest.raises(PlanError) as caught:
        world.run(**ALL)
    assert [str(p) for p in caught.value.problems] == [
        "SMT203 id: the field is int32 in some records and string in others\n"
        "  hint: make the types equal with Cast, or write records instead of columns",
        "SMT203 name: the field is string in some records and int64 in others\n"
        "  hint: make the types equal with Cast, or write records instead of columns",
    ]
    assert world.state is None
    report = world.run(stage("Cast$Value", spec="id:string,name:string"))
    assert [tuple(r) for r in world.rows()] == [("1", SECRET), (SECRET, "4711")]
    assert report.touched("cast") == {"id": 2, "name": 2}


def test_a_predicate_on_the_topic_knows_the_topic_of_each_schema(world):
    world.add(FIRST)
    world.add(envelope(CLASHING, {"id": "x", "name": 1}), topic="orders-eu")
    cast = stage("Cast$Value", when=EUROPEAN, spec="id:int32,name:string")
    report = world.run(cast, topics=("orders", "orders-eu"))
    assert [p.place for p in report.failures["orders-eu"]] == [
        "orders-eu-0@0 transforms.cast (Cast$Value)",
        "orders-eu",
    ]
    assert report.window.topics == ("orders",) and len(world.rows()) == 1
    drop = stage("ReplaceField$Value", when=EUROPEAN, exclude="id,name")
    origin = stage("InsertField$Value", topic_field="t")
    world.run(drop, origin, topics=("orders", "orders-eu"), rebuild=True)
    assert [r.asDict() for r in world.rows()] == [
        {"id": 1, "name": SECRET, "t": "orders"},
        {"id": None, "name": None, "t": "orders-eu"},
    ]


# (name, record, code of its problem)
BAD = struct(id=INT, d=DECIMAL, t=TIMESTAMP, m=NUMBERS, name=TEXT)
DEAD = [
    ("tombstone", NewRecord(b"k", None), "SMT418"),
    ("null with a schema", envelope({**ONE, "optional": True}, None), "SMT418"),
    ("without schema", envelope(None, {"id": 1, "name": SECRET}), "SMT425"),
    ("no envelope", NewRecord(b"k", b'{"id":1}'), "SMT417"),
    ("no JSON", NewRecord(b"k", b"{"), "SMT417"),
    ("broken payload", NewRecord(b"k", b'{"schema":%b,"payload":{"id":01}}' % json.dumps(ONE).encode()), "SMT417"),
    ("no schema at all", envelope({"type": "int9"}, 1), "SMT206"),
    ("a payload that does not fit", envelope(ONE, {"id": SECRET}), "SMT414"),
    ("a decimal with too many digits", envelope(BAD, {"id": 1, "d": unscaled(10**38)}), "SMT426"),
    ("a timestamp that Spark cannot hold", envelope(BAD, {"id": 1, "t": 2**62}), "SMT426"),
    ("a null key", envelope(BAD, {"id": 1, "m": [[None, SECRET]]}), "SMT427"),
]


def test_records_that_cannot_be_rows_are_dead_letters(world):
    world.add(FIRST, *(record for _, record, _ in DEAD), SECOND)
    report = world.run(stage("ReplaceField$Value", renames="id:nr"), **ALL)
    assert world.codes() == {n: code for n, (_, _, code) in enumerate(DEAD, 1)}
    assert (report.records_in, report.records_out, report.failed) == (len(DEAD) + 2, 2, len(DEAD))
    assert report.stages[0].failed == 0 and {r.stage for r in report.rejects} == {"value.converter"}
    assert [(r.nr, r.name, r.note, r.d) for r in world.rows()] == [(1, SECRET, None, None), (2, None, "n", None)]
    assert len(world.dead()) == len(DEAD)


def test_without_tolerance_they_stop_the_run(world):
    world.add(FIRST, *(record for _, record, _ in DEAD[:3]))
    with pytest.raises(RecordsRejected) as caught:
        world.run()
    assert [f"{p.code} {p.place}" for p in caught.value.problems] == [
        "SMT418 orders-0@1 value.converter",
        "SMT418 orders-0@2 value.converter",
        "SMT425 orders-0@3 value.converter",
        "SMT530 orders",
    ]
    assert SECRET not in str(caught.value) and world.state is None


def test_what_the_chain_refuses_is_told_of_its_stage(world):
    """One schema has a field that a stage adds: its records fail, the others pass."""
    world.add(FIRST, SECOND, NewRecord(b"k", None))
    insert = stage("InsertField$Value", static_field="name", static_value="x")
    report = world.run(NO_TOMBSTONES, insert, **ALL)
    assert world.codes() == {0: "SMT110"}
    assert [(s.alias, s.records_in, s.dropped, s.failed) for s in report.stages] == [
        ("filter", 3, 1, 0),
        ("insertfield", 2, 0, 1),
    ]
    assert [tuple(r) for r in world.rows()] == [(2, "n", "x")]


EVERYTHING = struct(
    i8={"type": "int8"},
    f32={"type": "float"},
    raw={"type": "bytes"},
    yes={"type": "boolean"},
    d=DECIMAL,
    day=DATE,
    at=TIME,
    ts=TIMESTAMP,
    s=struct(True, ts=TIMESTAMP, deeper=struct(True, **{"a.b": DECIMAL, "`x`": TEXT})),
    days={"type": "array", "items": DATE},
    rows={"type": "array", "items": struct(True, x=INT)},
    m={"type": "map", "keys": {"type": "string"}, "values": TIMESTAMP},
    n=NUMBERS,
)
PAYLOAD = {
    "i8": -128, "f32": 0.1, "raw": "/w==", "yes": True,
    "d": unscaled(-(10**38 - 1)), "day": -1, "at": 86_399_999, "ts": -1,
    "s": {"ts": 1700000000123, "deeper": {"a.b": unscaled(5), "`x`": "ä"}},
    "days": [0, None], "rows": [{"x": 1}, None], "m": {"k": 0, "l": None}, "n": [[7, None]],
}  # fmt: skip


def test_values_are_kept_without_loss(world):
    world.add(envelope(EVERYTHING, PAYLOAD), envelope(struct(i8={"type": "int8"}), {"i8": 1}))
    world.run()
    row = next(r.asDict(recursive=True) for r in world.rows() if r.i8 == -128)
    assert row == {
        "i8": -128, "f32": pytest.approx(0.1, rel=1e-6), "raw": b"\xff", "yes": True,
        "d": Decimal("-" + "9" * 36 + ".99"), "day": date(1969, 12, 31), "at": 86_399_999,
        "ts": datetime(1969, 12, 31, 23, 59, 59, 999000),
        "s": {"ts": datetime(2023, 11, 14, 22, 13, 20, 123000), "deeper": {"a.b": Decimal("0.05"), "`x`": "ä"}},
        "days": [date(1970, 1, 1), None], "rows": [{"x": 1}, None],
        "m": {"k": datetime(1970, 1, 1), "l": None}, "n": {7: None},
    }  # fmt: skip
    other = next(r.asDict() for r in world.rows() if r.i8 == 1)
    assert other == dict.fromkeys(row) | {"i8": 1}
    fields = {f.name: f.metadata for f in world.table.schema().fields}
    assert fields["d"]["connect"] == {**DECIMAL, "optional": True}
    assert fields["at"]["connect"]["name"] == DATA + "Time"


def test_structs_inside_arrays_and_maps_are_joined_too(world):
    def row(**fields):
        inner = struct(True, **fields)
        items = {"type": "array", "items": inner, "optional": True}
        values = {"type": "map", "keys": {"type": "string"}, "values": inner, "optional": True}
        return struct(s=inner, l=items, m=values)

    world.add(envelope(row(x=INT), {"s": {"x": 1}, "l": [{"x": 1}], "m": {"k": {"x": 1}}}))
    world.add(envelope(row(y=TEXT), {"s": {"y": "b"}, "l": [{"y": "b"}], "m": {"k": {"y": "b"}}}))
    world.run()
    joined = [{"x": 1, "y": None}, {"x": None, "y": "b"}]
    rows = [r.asDict(recursive=True) for r in world.rows()]
    assert sorted(rows, key=repr) == sorted(({"s": j, "l": [j], "m": {"k": j}} for j in joined), key=repr)


def test_counts_and_ledger(world):
    world.add(FIRST, envelope(ONE, {"id": 2, "name": None}, "trace"), SECOND, NewRecord(b"k", None))
    world.add(envelope(ONE, {"id": SECRET}), SECOND)
    origin = stage("InsertField$Value", when=TRACED, offset_field="at")
    narrow = stage("ReplaceField$Value", exclude="note,nope", renames="id:nr")
    report = world.run(NO_TOMBSTONES, MASK, origin, narrow, **ALL)
    assert (report.records_in, report.records_out, report.dropped, report.failed) == (6, 4, 1, 1)
    assert [(s.alias, s.records_in, s.dropped, s.failed) for s in report.stages] == [
        ("filter", 5, 1, 0),
        ("maskfield", 4, 0, 0),
        ("insertfield", 4, 0, 0),
        ("replacefield", 4, 0, 0),
    ]
    ledger = {(line.entry.action, line.entry.path): line.records for line in report.ledger}
    assert ledger == {
        ("masked", "name"): 1,
        ("added", "at"): 1,
        ("dropped", "note"): 2,
        ("dropped", "nope"): 0,
        ("renamed", "id"): 4,
    }
    assert [(p.code, p.statement.split()[0]) for p in report.warnings] == [
        ("SMT303", "no"),
        ("SMT350", "'nope'"),
    ]
    assert [tuple(r) for r in world.rows()] == [(1, "", None), (2, None, 1), (2, None, None), (2, None, None)]
    assert list(report.after.by_name) == ["nr", "name", "at"]


def test_keys_may_be_envelopes_of_their_own(world):
    typed = json.dumps({"schema": struct(n=INT), "payload": {"n": 7}}).encode()
    free = json.dumps({"schema": None, "payload": {"n": 7}}).encode()
    world.add(
        *(replace(FIRST, key=key) for key in (typed, free, None, b"{", b'{"schema":{"type":"int9"},"payload":1}'))
    )
    report = world.run(stage("Cast$Key", spec="n:string"), MASK, key=Format("envelope"), **ALL)
    assert world.codes() == {3: "SMT417", 4: "SMT206"}
    assert {r.stage for r in report.rejects} == {"key.converter"}
    assert (report.records_out, report.touched("cast"), report.touched("masked")) == (3, {"n": 2}, {"name": 3})


def test_values_that_are_no_structs_have_one_column(world):
    world.add(FIRST, SECOND, envelope({**ONE, "optional": True}, None))
    report = world.run(stage("ExtractField$Value", field="id"))
    assert sorted((r.value for r in world.rows()), key=repr) == [1, 2, None]
    assert report.lineage == {"(whole)": ("value.id",)}


def test_a_later_window_may_bring_columns_but_no_other_types(world):
    world.add(FIRST)
    world.run(MASK)
    world.add(SECOND)
    report = world.run(MASK)
    assert list(report.after.by_name) == ["id", "note"]
    assert [r.asDict() for r in world.rows()] == [
        {"id": 1, "name": "", "note": None},
        {"id": 2, "name": None, "note": "n"},
    ]
    world.add(envelope(CLASHING, {"id": "x", "name": 1}))
    with pytest.raises(TableError) as caught:
        world.run()
    assert [str(p).splitlines()[0] for p in caught.value.problems] == [
        "SMT521 id: the table has int, the run would write string",
        "SMT521 name: the table has string, the run would write bigint",
    ]
    world.add(envelope(struct(ID=INT), {"ID": 1}))
    with pytest.raises(TableError, match="SMT526 ID: columns 'id' and 'ID' differ only in case"):
        world.run(window=WindowRequest(explicit=window(3, 4)))
    assert len(world.rows()) == 2


# (name, stages, records of the window, what becomes of it after a window with columns)
NOTHING = [
    ("tombstones, dropped", [NO_TOMBSTONES], [NewRecord(b"k", None)] * 2, {"dropped": 2}),
    ("nothing readable", [], [NewRecord(b"k", b"{"), envelope(None, 1)], {"failed": 2}),
    ("a schema that the chain refuses", [stage("InsertField$Value", topic_field="x")],
     [envelope(struct(x=INT), {"x": 1})], {"failed": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("stages", "records", "counts"), [n[1:] for n in NOTHING], ids=[n[0] for n in NOTHING])
def test_a_window_without_columns_of_its_own(world, stages, records, counts):
    """It cannot start a table, but it goes by where there is one."""
    world.add(*records)
    with pytest.raises(PlanError) as caught:
        world.run(*stages, **ALL)
    assert [p.code for p in caught.value.problems] == ["SMT110" if len(records) == 1 else "SMT212"]
    world.add(FIRST)
    first = world.run(*stages, MASK, window=WindowRequest(explicit=window(len(records), len(records) + 1)))
    world.add(*records)
    report = world.run(*stages, MASK, **ALL)
    assert {name: getattr(report, name) for name in counts} == counts and report.records_out == 0
    assert (report.after, report.lineage, report.masked) == (first.after, first.lineage, first.masked)
    assert len(world.rows()) == 1 and "name" in world.table.read().columns


DROP_ALL = stage("Filter")


@pytest.mark.parametrize("declared", [True, False])
def test_a_chain_that_lets_no_record_through_is_told_so(world, declared):
    world.add(order(1) if declared else FIRST)
    spec = world.spec(DROP_ALL)
    table = replace(spec.table, value=COLUMNS) if declared else spec.table
    world.spec = lambda: replace(spec, table=table)
    with pytest.raises(PlanError) as caught:
        world.run()
    assert str(caught.value) == (
        "SMT213 no record with a value passes the chain\n"
        "  hint: look for a stage that drops or refuses every record, or write records instead of columns"
    )


def test_a_new_table_reads_on_until_a_record_has_a_schema(world):
    """Otherwise it would stop at the same records for ever: a window with a limit never grows by itself."""
    nothing = NewRecord(b"k", None, (), 1700000000000)
    world.add(*[nothing] * 25, FIRST, SECOND, FIRST)
    asked = {"window": WindowRequest(max_records=2)}
    report = world.run(NO_TOMBSTONES, **asked)
    assert (report.records_in, report.dropped, report.records_out) == (28, 25, 3)
    world.add(SECOND, SECOND, SECOND)
    assert world.run(NO_TOMBSTONES, **asked).records_in == 2


def test_a_new_table_without_any_schema_says_so(world):
    world.add(*[NewRecord(b"k", None, (), 1700000000000)] * 5)
    with pytest.raises(PlanError, match="SMT212"):
        world.run(NO_TOMBSTONES, window=WindowRequest(max_records=2))
