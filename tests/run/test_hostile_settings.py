"""Whatever somebody else's session is set to, a run gives the rows, dead letters and records that it gives anyway."""

import io
import json
from dataclasses import replace
from pathlib import Path

import fastavro
import pytest
from pyspark.sql import functions as F

from dagster_smt.chain import parse_chain
from dagster_smt.errors import UnsupportedError
from dagster_smt.formats.avro.read import bare
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.run.dead_letters import COMMIT_HEADER, IDENTITY_HEADER
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.spark.versions import frame_of_arrow
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, IcebergSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TableSource, TopicTable
from dagster_smt.tables.window_request import WindowRequest
from tests.hostile_settings import EACH, SETS, UNABLE, under
from tests.quick import quick
from tests.registry import Registry
from tests.run.world import World, order
from tests.tables.sources.kinds import arrow

SMT = "org.apache.kafka.connect.transforms."
CHAIN = {
    "transforms": "hide,cast,day,deep,put,key",
    "transforms.hide.type": f"{SMT}MaskField$Value",
    "transforms.hide.fields": "name",
    "transforms.hide.replacement": "it's \\ $x",
    "transforms.cast.type": f"{SMT}Cast$Value",
    "transforms.cast.spec": "amount:int32,price:string",
    "transforms.day.type": f"{SMT}TimestampConverter$Value",
    "transforms.day.field": "at",
    "transforms.day.target.type": "string",
    "transforms.day.format": "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "transforms.deep.type": f"{SMT}MaskField$Value",
    "transforms.deep.field.syntax.version": "extended",
    "transforms.deep.fields": "lines[*].note,tags.*",
    "transforms.put.type": f"{SMT}InsertField$Value",
    "transforms.put.timestamp.field": "seen",
    "transforms.put.static.field": "origin",
    "transforms.put.static.value": '1e3 "\\u0027" ${x}',
    "transforms.key.type": f"{SMT}ValueToKey",
    "transforms.key.fields": "id",
}
DDL = """id INT, name STRING, amount STRING, price DOUBLE, at TIMESTAMP(3), day DATE, raw BYTES, big DECIMAL(38, 2),
    lines ARRAY<STRUCT<note STRING, n BIGINT>>, tags MAP<STRING, STRING>, none ARRAY<INT>, `a.b ${x} 'q'` STRING"""
ANCIENT, FAR = -62_000_000_000_000, 253_402_300_799_000
ODD_TOPICS = ("plain", "shop/orders 'x'\\y ${z} \"q\"")
AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "name", "type": ["null", "string"], "default": None},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "big", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}},
    ],
}
MASK = {key: value for key, value in CHAIN.items() if key.startswith("transforms.hide")} | {"transforms": "hide"}


def value(number, at=1_700_000_000_123, amount="7"):
    return {
        "id": number,
        "name": "secret",
        "amount": amount,
        "price": 1.5e10 + number,
        "at": at,
        "day": at // 86_400_000,
        "raw": "/wCA" * 30,
        "big": "Aw==",
        "lines": [{"note": "n", "n": 1}, {"note": None, "n": None}],
        "tags": {"a": "b", "": None},
        "none": [],
        "a.b ${x} 'q'": "\\u0041 ${x} 'q' \"d\" \n",
    }


def records():
    """Rows of all types, moments of all times, and three that fail in different ways."""
    result = [
        value(0),
        value(1, ANCIENT),
        value(2, FAR),
        value(3, -1),
        value(4, amount="x"),
        value(5, 1_710_054_000_000),  # an hour that New York's summer time leaves out
        {"id": 6},
        {"id": "x"},
    ]
    texts = [json.dumps(one).encode() for one in result]
    results = [NewRecord(b'"k"', text, (("h", b"\xff"),), 1_700_000_000_000 + n) for n, text in enumerate(texts)]
    return [
        *results,
        NewRecord(b'"k"', None, (), 5),
        NewRecord(b'"k"', b"{", (), 6),
        NewRecord(b'"k"', texts[0], (), 7),
    ]


CHANGES = "id INT, name STRING, at TIMESTAMP(3), price DOUBLE, tags MAP<STRING, STRING>, seq BIGINT, __deleted STRING"
KEYED = {"upsert": {}, "soft": {"deletes": "soft"}, "sequence": {"sequence_by": "seq"}, "scd2": {"mode": "scd2"}}
"""Tables with keys, by their options."""


def changes():
    """Rows of five keys that change, go, and come back; a null key and a value that fails."""
    result = []
    for number in range(24):
        key, gone = number % 5, number % 7 == 6
        row = {"id": key, "name": "secret", "at": ANCIENT + 10**13 * number, "price": 1.5e10 + number, "seq": number}
        row |= {"tags": {"a": "b", "": None}, "__deleted": "true" if number % 11 == 10 else None}
        text = None if gone else json.dumps(row).encode()
        result.append(NewRecord(json.dumps({"id": key}).encode(), text, (), 1_700_000_000_000 + number))
    return [
        *result,
        NewRecord(b'{"id": null}', b'{"name": "x", "seq": 1}', (), 5),
        NewRecord(b'{"id": 9}', b"{", (), 6),
    ]


def envelope(text):
    """A record that brings its schema along."""
    fields = [{"field": "id", "type": "int32"}, {"field": "name", "type": "string", "optional": True}]
    fields += [{"field": "at", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"}]
    schema = {"type": "struct", "fields": fields}
    return json.dumps(
        {"schema": schema, "payload": {k: json.loads(text).get(k) for k in ("id", "name", "at")}}
    ).encode()


def avro(registry, text):
    """A record that names its schema."""
    number = registry.add("avro-value", json.dumps(AVRO))
    data, out = json.loads(text), io.BytesIO()
    row = {"id": data["id"], "name": data["name"], "day": data["day"], "at": data["at"], "big": b"\x03"}
    fastavro.schemaless_writer(out, fastavro.parse_schema(bare(AVRO)), row)
    return b"\0" + number.to_bytes(4, "big") + out.getvalue()


def plain(row):
    """A row as text, whatever is in it."""
    return repr(sorted(row.asDict(recursive=True).items()))


REPLACED = ("columns", "iceberg")
"""Kinds whose second run replaces rows of the first, and whose third run replaces all rows: one of each format."""


class Runs:
    """Runs of all kinds in a folder, and what they leave, read under the settings that the tests have."""

    def __init__(self, folder: Path, session, registry):
        self.folder, self.session = folder, session
        self.topics, self.bronze = FileTopics(folder / "topics"), folder / "bronze"
        result = records()
        append_records(self.topics, "orders", result, 0)
        whole = [record for record in result if record.value and b'"at"' in record.value]
        described = [replace(record, value=envelope(record.value)) for record in whole]
        append_records(self.topics, "enveloped", [*described, NewRecord(None, b"{}", (), 1)], 0)
        append_records(self.topics, "avro", [replace(r, value=avro(registry, r.value)) for r in whole], 0)
        rows = arrow([(topic, 0, record) for topic in ODD_TOPICS for record in result], {})
        frame_of_arrow(session, rows).write.format("parquet").save(self.bronze.as_uri())
        append_records(self.topics, "changes", changes(), 0)
        declared, url = Format("json_schema", parse_ddl(DDL)), {"url": registry.url}
        bronze = TableSource(path=self.bronze.as_uri(), format="parquet")
        self.tables = {
            "records": TopicTable(self.topics, ("orders",), key=Format("json")),
            "columns": TopicTable(self.topics, ("orders",), key=Format("json"), value=declared),
            "iceberg": TopicTable(bronze, ODD_TOPICS, key=Format("json"), value=declared),
            "topics": TopicTable(bronze, ("plain",), key=Format("json"), value=declared),
            "enveloped": TopicTable(self.topics, ("enveloped",), value=Format("envelope")),
            "avro": TopicTable(self.topics, ("avro",), value=Format("avro-confluent", options=url)),
        }
        key, row = (Format("json_schema", parse_ddl(columns)) for columns in ("id INT", CHANGES))
        self.tables |= dict.fromkeys(KEYED, TopicTable(self.topics, ("changes",), key=key, value=row))

    def sink(self, kind):
        """Where the runs of a kind write."""
        if kind == "topics":
            return FileTopicSink(self.folder / kind)
        result = IcebergSink if kind in ("iceberg", "soft") else DeltaSink
        if kind in KEYED:
            return result(self.folder / kind, "columns", **{"mode": "upsert", **KEYED[kind]})
        # Iceberg's CREATE TABLE would need spark.sql.variable.substitute=false for the column with ${x} in its name
        layout = {"partition_by": ["id"]} if kind == "columns" else {}
        return result(self.folder / kind, "records" if kind == "records" else "columns", **layout)

    def run(self, kind, **changes):
        """A run, and what it counts."""
        chain = parse_chain(CHAIN if kind in ("records", "columns", "iceberg", "topics") else MASK)
        letters = {"dead_letters": FileTopics(self.folder / "dead"), "dead_letter_topic": f"dead.{kind}"}
        table, sink = self.tables[kind], self.sink(kind)
        report = run(RunSpec(kind, chain, table, sink, errors_tolerance="all", **letters, **changes), self.session)
        return report.records_in, report.records_out, report.failed, report.dropped

    def results(self, kind, settings):
        """What runs of a kind count and leave, and the dead letters."""
        with under(self.session, settings):
            counts = [self.run(kind, window=WindowRequest(max_records=10 if kind in KEYED else None))]
            if kind in KEYED:
                counts.append(self.run(kind))
                counts.append(self.run(kind, window=WindowRequest(explicit=Window((Range("changes", 0, 3, 15),)))))
            if kind in REPLACED:
                parts = [Range(topic, 0, 1, 5) for topic in self.tables[kind].topics]
                counts.append(self.run(kind, window=WindowRequest(explicit=Window(tuple(parts)))))
                counts.append(self.run(kind, rebuild=True))
        return counts, self.rows(kind), self.letters(kind)

    def rows(self, kind):
        """The rows of a table, or the records of topics."""
        if kind == "topics":
            frame = self.of_topics(FileTopics(self.folder / kind), "plain")
        else:
            frame = open_table(self.session, self.sink(kind)).read()
        return sorted(map(plain, frame.select(*map(exact, frame.schema)).collect()))

    def letters(self, kind):
        """What the dead letters hold, and why they are dead."""
        frame = self.of_topics(FileTopics(self.folder / "dead"), f"dead.{kind}")
        return sorted(
            (
                bytes(row.value or b""),
                sorted((h.key, bytes(h.value or b"")) for h in row.headers if h.key not in CHANGING),
            )
            for row in frame.collect()
        )

    def of_topics(self, place, topic):
        """Records of a topic; none if there is no such topic, or no folder."""
        source = open_source(place, self.session)
        if not place.root.is_dir() or topic not in source.topics():
            return self.session.range(0).selectExpr("CAST(NULL AS BINARY) AS value", "array() AS headers")
        return source.read(Window(tuple(source.ranges([topic]))))


def exact(field):
    """A column, with moments as numbers: Python has no years before 1."""
    kind = field.dataType.simpleString()
    text = f"`{field.name.replace('`', '``')}`"
    if kind == "timestamp":
        return F.expr(f"unix_micros({text}) AS {text}")
    if kind == "date":
        return F.expr(f"unix_date({text}) AS {text}")
    return F.col(text)


CHANGING = (COMMIT_HEADER, IDENTITY_HEADER)
"""Headers of dead letters that are of the run, or of the folder."""
KINDS = ["records", "columns", "iceberg", "topics", "enveloped", "avro", *KEYED]
QUICK = ("records", "topics")
"""These kinds run in CI; the others are long."""


@pytest.fixture(scope="module")
def registry():
    with Registry() as running:
        yield running


@pytest.fixture(scope="module")
def expected(spark, registry, tmp_path_factory):
    """What each kind gives under the settings of the tests, made when it is asked for."""
    runs = Runs(tmp_path_factory.mktemp("expected"), spark, registry)
    known = {}

    def of(kind):
        if kind not in known:
            known[kind] = runs.results(kind, {})
        return known[kind]

    return of


@pytest.mark.parametrize("kind", quick(KINDS, *QUICK))
def test_what_the_runs_give(expected, kind):
    """Runs of the kind do something: rows, failures, a replay."""
    counts, rows, letters = expected(kind)
    if kind in KEYED:
        assert len(rows) > 3 and len(letters) == counts[0][2] + counts[1][2] > 0
        return
    assert len(rows) == counts[0][1] > 3
    assert counts[0][2] == len(letters)


def pairs_of_kind_and_set():
    """Each kind under each set of settings: in CI each kind meets one set, and both sets are met."""
    pairs = []
    for number, kind in enumerate(KINDS):
        for place, name in enumerate(SETS):
            quick = kind in QUICK and (number + place) % len(SETS) == 0
            marks = [] if quick else [pytest.mark.long]
            pairs.append(pytest.param(kind, SETS[name], id=f"{name}-{kind}", marks=marks))
    return pairs


@pytest.mark.parametrize(("kind", "settings"), pairs_of_kind_and_set())
def test_the_same_under_hostile_settings(spark, registry, expected, tmp_path, kind, settings):
    assert Runs(tmp_path, spark, registry).results(kind, settings) == expected(kind)


@pytest.mark.parametrize("setting", UNABLE.items(), ids=UNABLE)
def test_a_session_is_refused_under_which_sql_means_something_else(spark, tmp_path, setting):
    world = World(tmp_path, spark)
    world.add(order(1))
    with under(spark, dict([setting])), pytest.raises(UnsupportedError, match=f"SMT639 {setting[0]}"):
        world.run()
    assert world.run().records_out == 1


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("setting", EACH, ids="=".join)
def test_the_same_under_each_hostile_setting(spark, registry, expected, tmp_path, kind, setting):
    assert Runs(tmp_path, spark, registry).results(kind, dict([setting])) == expected(kind)
