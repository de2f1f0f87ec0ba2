"""Runs over topic tables with columns: into tables of columns, into records, from envelopes; what the report counts."""

from dataclasses import replace

import pytest

from dagster_smt.model.topics.format import Format
from dagster_smt.run.batch import run
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.run.test_envelopes import INT, TEXT, envelope, struct
from tests.run.world import ROUTE, SECRET, World

COLUMNS = {
    "id": "BIGINT",
    "name": "STRING",
    "region": "STRING KEY",
    "at": "TIMESTAMP METADATA FROM 'timestamp'",
    "position": "INT METADATA FROM 'offset' VIRTUAL",
    "trace": {"type": "STRING", "header": "trace", "decode": "utf8"},
    "version": {"type": "INT", "header": "version", "decode": "int_from_bytes"},
}
MASK = {
    "transforms": "mask",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "name,trace",
}


def record(number, *headers, value=None):
    text = f'{{"id":{number},"name":"{SECRET}","more":true}}'
    return NewRecord(b"eu", (value or text).encode(), headers, 1_700_000_000_000 + number)


TRACE, VERSION, BROKEN = ("trace", SECRET.encode()), ("version", b"\0\0\0\7"), ("version", b"7")
RECORDS = (record(0, TRACE, VERSION), record(1, BROKEN), record(2))


@pytest.fixture
def world(spark, tmp_path):
    return World(tmp_path, spark)


def spec_of(world, chain=MASK, columns=COLUMNS, kind="columns", **changes):
    table = TopicTable(world.topics, ("orders",), columns=columns, value=changes.pop("value", Format()))
    spec = replace(world.spec(chain, kind=kind), table=table)
    return replace(spec, **changes)


def test_rows_become_columns(world):
    world.add(*RECORDS)
    report = run(spec_of(world), world.session)
    rows = sorted(world.table.read().collect(), key=lambda r: r.id)
    names = ["id", "name", "region", "position", "trace", "version"]
    assert [tuple(r[n] for n in names) for r in rows] == [
        (0, "", "eu", 0, "", 7), (1, "", "eu", 1, None, None), (2, "", "eu", 2, None, None),
    ]  # fmt: skip
    assert [r["at"].microsecond for r in rows] == [0, 1000, 2000]
    assert report.lineage["trace"] == ("headers.trace",) and report.lineage["region"] == ("key",)
    counted = {(line.entry.action, line.entry.path): line.records for line in report.ledger}
    assert (
        counted["undecoded", "version"] == 1 and counted["added", "version"] == 2 and counted["undecoded", "trace"] == 0
    )
    assert [(s.alias, s.transform) for s in report.stages] == [("columns", "read columns"), ("mask", "MaskField$Value")]
    assert run(spec_of(world), world.session).status == "empty"


def test_what_a_strict_column_cannot_decode_is_a_dead_letter(world):
    world.add(*RECORDS)
    columns = {**COLUMNS, "version": {**COLUMNS["version"], "strict": True}}
    report = run(spec_of(world, columns=columns, errors_tolerance="all", dead_letter_topic="dead"), world.session)
    assert (report.records_in, report.records_out, report.failed) == (3, 2, 1)
    ((reject,), (letter,)) = report.rejects, world.dead("dead")
    assert (reject.offset, reject.problem.code, reject.stage) == (1, "SMT432", "columns")
    assert bytes(letter.value) == RECORDS[1].value  # the original record


def test_rows_become_records_again(world):
    world.add(*RECORDS)
    sink = FileTopicSink(world.folder / "out")
    chain = {**ROUTE, "transforms.mask.fields": "name,trace"}
    run(spec_of(world, chain, kind="records", sink=sink), world.session)
    source = open_source(FileTopics(world.folder / "out"), world.session)
    from dagster_smt.model.windows.window import Window

    rows = source.read(Window(tuple(source.ranges(["clean.orders"])))).orderBy("offset").collect()
    assert [bytes(r.value) for r in rows] == [b'{"id":%d,"name":""}' % n for n in range(3)]
    assert [bytes(r.key) for r in rows] == [b"eu"] * 3
    headers = [[(h.key, bytes(h.value)) for h in r.headers if not h.key.startswith("dagster_smt")] for r in rows]
    assert headers == [[("trace", b""), VERSION], [BROKEN], []]
    assert [r.timestamp.microsecond for r in rows] == [0, 1000, 2000]
    assert SECRET not in str(rows)


def test_records_of_a_table_can_hold_another_timestamp(world):
    world.add(*RECORDS)
    chain = {**MASK, "transforms.mask.fields": "at"}
    run(spec_of(world, chain, kind="records", sink=DeltaSink(world.folder / "table")), world.session)
    assert [r.timestamp.timestamp() for r in world.table.read().collect()] == [0, 0, 0]


def test_envelopes_take_metadata_columns(world):
    one, two = struct(id=INT, name=TEXT), struct(id=INT, note=TEXT)
    world.add(envelope(one, {"id": 1, "name": SECRET}), envelope(two, {"id": 2, "note": "n"}))
    columns = "position BIGINT METADATA FROM 'offset', trace BYTES HEADER('trace')"
    chain = {**MASK, "transforms.mask.fields": "name"}
    report = run(spec_of(world, chain, columns, value=Format("envelope")), world.session)
    rows = sorted(world.table.read().collect(), key=lambda r: r.id)
    assert [(r.id, r.name, r.note, r.position) for r in rows] == [(1, "", None, 0), (2, None, "n", 1)]
    assert report.lineage["position"] == ("offset",)
