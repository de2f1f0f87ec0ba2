"""Whatever is raised while Spark's workers read, evaluate, write or describe one record: no other record is harmed."""

from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import ClassVar

import pyarrow as pa
import pytest

from dagster_smt.authoring.fields.edit import present
from dagster_smt.authoring.stage import Stage
from dagster_smt.authoring.transform import Entry
from dagster_smt.chain import Chain, parse_chain, plan_chain
from dagster_smt.effects.code import Code, CodePredicate, CodeTransform
from dagster_smt.formats import sides
from dagster_smt.model.cell import Call, field_nodes, open_struct
from dagster_smt.model.schema import BOOLEAN
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.spark.reading import json_columns
from dagster_smt.spark.reading.json_columns import ReadColumns, SideColumns
from dagster_smt.spark.records import arrow_map
from dagster_smt.spark.records.arrow_map import ArrowMap
from dagster_smt.spark.versions import frame_of_arrow
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.values.value_rule import PythonRule

SCHEMA = parse_ddl("a STRING, b INT")
POISON = b'{"a":"poison","b":1}'
VALUES = [b'{"a":"x","b":1}', b'{"a":null}', POISON, None, b'{"a":"y"}', b"{", b'{"a":"z","b":2}']
BAD = VALUES.index(POISON)
AT = datetime(2026, 1, 1, tzinfo=timezone.utc)
FRAME = pa.schema(
    {
        "key": pa.binary(), "value": pa.binary(), "topic": pa.string(), "partition": pa.int32(), "offset": pa.int64(),
        "timestamp": pa.timestamp("us", "UTC"), "timestampType": pa.int32(),
        "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    }
)  # fmt: skip


class OddError(Exception):
    """An exception that nobody knows."""


def raise_if(wrong):
    if wrong:
        raise OddError("secret-4711")


@dataclass(frozen=True, slots=True)
class Raises(PythonRule):
    """Gives the value, unless it is the one that must not be."""

    def python(self, value):
        raise_if(value == "poison")
        return value


@dataclass(frozen=True, slots=True)
class Doubted(PythonRule):
    """True, unless the value is the one that must not be."""

    returns: ClassVar = BOOLEAN

    def python(self, value):
        raise_if(value == "poison")
        return True


class Touchy(CodeTransform):
    """Raises for one value."""

    connect_class = "com.example.Touchy"
    sided = True
    purpose = "raise"

    def effects(self):
        return (Code((Entry("changed", "a"),)),)

    def plan_record(self, record, at):
        node = open_struct(at.side_of(record))
        at.touch(0, present(node))
        fields = tuple(
            (name, replace(child, expr=Call(Raises(), (child.expr,))) if name == "a" else child)
            for name, child in node.fields
        )
        return at.with_side(record, replace(node, fields=fields))

    def schemaless(self, bits):
        def change(value, record):
            raise_if(bytes(value.get("a", b"")) == b'"poison"')
            record.touched |= bits[0]
            return value

        return change


class Doubts(CodePredicate):
    """Raises for one value."""

    connect_class = "com.example.Doubts"

    def condition(self):
        return Code(reads=frozenset({"value"}))

    def schemaless(self):
        def test(record):
            raise_if(bytes(record.value.get("a", b"")) == b'"poison"')
            return True

        return test

    def test(self, record):
        return Call(Doubted(), (dict(field_nodes(record.value))["a"].expr,))


def step(text):
    return parse_chain([text]).stages[0]


RENAME = step({"alias": "r", "type": "ReplaceField$Value", "options": {"renames": ["b:c"]}})
CASE = step({"alias": "m", "type": "MaskField$Value", "options": {"fields": ["b"]}})
TOUCHY = Stage("t", Touchy(), "value")
CHAINS = {
    "a stage": Chain((TOUCHY,)),
    "a stage after others": Chain((RENAME, TOUCHY, replace(TOUCHY, alias="u"))),
    "a predicate": Chain((replace(CASE, predicate=Doubts()),)),
    "a negated predicate": Chain((replace(CASE, predicate=Doubts(), negate=True),)),
}


def rows_of(values):
    return [
        {"key": b"k", "value": value, "topic": "t", "partition": 0, "offset": n, "timestamp": AT, "timestampType": 0,
         "headers": [{"key": "h", "value": value or b""}]}
        for n, value in enumerate(values)
    ]  # fmt: skip


def outcomes(rows):
    """What became of the records; without their offsets, as those are other ones without the bad record."""
    results = []
    for row in sorted(rows, key=lambda row: row["__offset"]):
        data = dict(row)
        for name in ("__offset", "offset"):
            data.pop(name, None)
        if isinstance(data.get("__out"), dict):
            data["__out"] = {name: value for name, value in data["__out"].items() if name != "offset"}
        if data["__status"] != 0:
            data = {name: data[name] for name in ("__status", "__stage", "__problem")}
        results.append(data)
    return results


def check(run):
    """Assert that one record fails of those that ``run`` is asked for, and that all others are as without it."""
    all_of_them, without = run(VALUES), run([value for value in VALUES if value != POISON])
    bad = all_of_them.pop(BAD)
    assert (bad["__status"], bad["__problem"]["code"]) == (2, "SMT430")
    assert bad["__problem"]["statement"] == "the record cannot be processed: OddError"
    assert all_of_them == without


@pytest.mark.spark
@pytest.mark.parametrize("sink", ["records", "columns"])
@pytest.mark.parametrize("name", CHAINS)
def test_a_stage_that_raises_on_spark(spark, sink, name):
    chain, typed = CHAINS[name], sink == "columns"
    form = Format("json_schema", SCHEMA) if typed else Format()
    plan = plan_chain(chain, None, SCHEMA if typed else None, topics=("t",), typed=typed)
    table = TopicTable(FileTopics("unused"), ("t",), key=Format("bytes"), value=form)

    def run(values):
        frame = frame_of_arrow(spark, pa.Table.from_pylist(rows_of(values), FRAME))
        done = evaluate(frame, plan, table, sink).select("__offset", "__status", "__stage", "__problem", "__out")
        return outcomes(row.asDict(recursive=True) for row in done.collect())

    check(run)


def records_job(chain=None, value=None, **changes):
    chain = chain or Chain(())
    return ArrowMap(chain, Format("bytes"), value or Format(), 0, **changes)


READS_HEADERS = Chain((step({"alias": "d", "type": "DropHeaders", "options": {"headers": ["x"]}}),))


def breaking(function):
    """A function that raises where it is given the bad record's bytes."""

    def broken(*arguments, **names):
        raise_if(any(_is_poison(one) for one in (*arguments, *names.values())))
        return function(*arguments, **names)

    return broken


def _is_poison(value):
    if isinstance(value, bytes):
        return POISON in value
    if isinstance(value, list | tuple):
        return any(map(_is_poison, value))
    return POISON in bytes(getattr(value, "raw", None) or b"")


def in_arrow(job, columns=("__status", "__stage", "__problem", "topic", "key", "value", "headers")):
    def run(values):
        batch = pa.RecordBatch.from_pylist(rows_of(values), FRAME)
        rows = [row for done in job([batch]) for row in done.to_pylist()]
        return outcomes({name: row[name] for name in ("__offset", *columns)} for row in rows)

    return run


def test_a_header_that_cannot_be_read(monkeypatch):
    monkeypatch.setattr(arrow_map, "header_as_read", breaking(arrow_map.header_as_read))
    check(in_arrow(records_job(READS_HEADERS)))


def test_a_header_that_cannot_be_written(monkeypatch):
    monkeypatch.setattr(arrow_map, "header_bytes", breaking(arrow_map.header_bytes))
    check(in_arrow(records_job(READS_HEADERS)))


def test_a_record_that_cannot_be_described(monkeypatch):
    """What names its schema, its problem, its bitmap: whatever Arrow refuses is asked for record by record."""
    real = arrow_map.BatchRunner._outcomes

    def described(runner, batch, records, done):
        if batch.num_rows > 1 or done.lost.get(0) is None:
            raise_if(POISON in batch.column("value").to_pylist())
        return real(runner, batch, records, done)

    monkeypatch.setattr(arrow_map.BatchRunner, "_outcomes", described)
    check(in_arrow(records_job()))


def in_columns(values):
    side = SideColumns("value", Format("json_schema", SCHEMA), SCHEMA)
    batch = pa.RecordBatch.from_pylist(rows_of(values), FRAME)
    rows = [row for done in ReadColumns((side,), ("offset",))([batch]) for row in done.to_pylist()]
    results = []
    for row in rows:
        problem = row["bad_value"]
        status = 0 if problem is None else 2
        results.append({"__offset": row["offset"], "__status": status, "__stage": 0, "__problem": problem, **row})
    return outcomes(results)


def test_a_decoder_of_columns_that_raises(monkeypatch):
    real = json_columns.msgspec.json.Decoder

    class Decoder:
        def __init__(self, kind):
            self.decode = breaking(real(kind).decode)

    monkeypatch.setattr(json_columns.msgspec.json, "Decoder", Decoder)
    codec = sides.side_codec(Format("json_schema", SCHEMA))
    monkeypatch.setattr(json_columns, "side_codec", lambda form: replace(codec, read=breaking(codec.read)))
    check(in_columns)


def test_a_column_that_cannot_be_built(monkeypatch):
    real = json_columns._TextReader._built

    def built(reader, rows):
        raise_if(any(row is not None and row.f0 == "poison" for row in rows))
        return real(reader, rows)

    monkeypatch.setattr(json_columns._TextReader, "_built", built)
    check(in_columns)
