"""Change data: messages of Debezium and Canal, as their rows and what they tell beside them.

The messages are from Apache Flink's tests of its formats (``flink-formats/flink-json/src/test/resources``:
``debezium-postgres-data-schema-exclude.txt``, ``debezium-data-schema-include.txt``, ``canal-data.txt``; Apache License
2.0), and from FLIP-107, "Kafka + Canal JSON Format".
"""

import json

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, UnsupportedError
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import VALUE_DIRTY, Record
from dagster_smt.model.topics.format import Format, Formats
from dagster_smt.tables.planning import plan_table
from dagster_smt.tables.rows.row_stages import with_row
from dagster_smt.tables.sink_options import FileTopicSink
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.tables.written_formats import written_formats
from tests.tables.rows.test_reading import FILES, MASK, NOTHING, Sent, in_python, on_spark, table

ROW = {"id": "INT", "name": "STRING", "description": "STRING", "weight": "DOUBLE"}
PRODUCT = "ROW<id INT, name STRING, description STRING, weight DOUBLE>"


def rock(weight):
    return {"id": 107, "name": "rocks", "description": "box of assorted rocks", "weight": weight}


SOURCE = (
    '"source":{"version":"1.2.1.Final","connector":"postgresql","name":"fullfillment","ts_ms":1596010930407,'
    '"snapshot":"false","db":"postgres","schema":"inventory","table":"products","txId":603,"lsn":34132200,"xmin":null}'
)
UPDATE = f"""{{"before":{json.dumps(rock(5.3))},"after":{json.dumps(rock(5.1))},{SOURCE},
"op":"u","ts_ms":1596010930623,"transaction":null}}"""
DELETE = (
    f"""{{"before":{json.dumps(rock(5.1))},"after":null,{SOURCE},"op":"d","ts_ms":1596010988596,"transaction":null}}"""
)
INSERT = f"""{{"before":null,"after":{json.dumps(rock(5.3))},{SOURCE},"op":"c","ts_ms":1596010946870,
"transaction":{{"id":"571","total_order":1,"data_collection_order":1}}}}"""
WITH_SCHEMA = """{"schema":{"type":"struct","optional":false,"name":"dbserver1.inventory.products.Envelope"},"payload":
{"before":null,"after":{"id":101,"name":"scooter","description":"Small 2-wheel scooter","weight":3.140000104904175},
"source":{"version":"1.1.1.Final","connector":"mysql","name":"dbserver1","ts_ms":0,"snapshot":"true","db":"inventory",
"table":"products","server_id":0,"gtid":null,"file":"mysql-bin.000003","pos":154,"row":0,"thread":null,"query":null},
"op":"c","ts_ms":1589355606100,"transaction":null}}"""
DEBEZIUM = {
    **ROW,
    "schema": "STRING METADATA FROM 'value.schema'",
    "seen": "BIGINT METADATA FROM 'debezium-json.ingestion-timestamp'",
    "at": "TIMESTAMP(3) METADATA FROM 'value.debezium-json.source.timestamp'",
    "db": "STRING METADATA FROM 'value.source.database'",
    "in_schema": "STRING METADATA FROM 'value.source.schema'",
    "from_table": "STRING METADATA FROM 'value.source.table'",
    "properties": "MAP<STRING, STRING> METADATA FROM 'value.source.properties'",
    "op": "STRING METADATA FROM 'value.op'",
    "before": f"{PRODUCT} METADATA FROM 'value.before'",
    "after": f"{PRODUCT} METADATA FROM 'value.after'",
    "transaction": "MAP<STRING, STRING> METADATA FROM 'value.transaction'",
    "changed": "ARRAY<STRING> METADATA FROM 'value.changed-fields'",
    "offset": "BIGINT METADATA",
}
PROPERTIES = {
    "version": "1.2.1.Final", "connector": "postgresql", "name": "fullfillment", "ts_ms": "1596010930407",
    "snapshot": "false", "db": "postgres", "schema": "inventory", "table": "products", "txId": "603",
    "lsn": "34132200", "xmin": None,
}  # fmt: skip
METADATA = {
    "schema": None, "seen": 1596010930623, "at": 1596010930407, "db": "postgres", "in_schema": "inventory",
    "from_table": "products", "properties": PROPERTIES, "op": "u", "before": rock(5.3), "after": rock(5.1),
    "transaction": None, "changed": ["weight"], "offset": 42,
}  # fmt: skip
MESSAGES = [
    (UPDATE, {**rock(5.1), **METADATA}),
    (DELETE, {**rock(5.1), **METADATA, "seen": 1596010988596, "op": "d", "before": rock(5.1), "after": None,
              "changed": None}),
    (INSERT, {**rock(5.3), **METADATA, "seen": 1596010946870, "op": "c", "before": None, "after": rock(5.3),
              "changed": None,
              "transaction": {"id": "571", "total_order": "1", "data_collection_order": "1"}}),
    ('{"x":1}', "SMT438"),
    ("[]", "SMT438"),
    ('{"op":"c","after":{"id":"text"}}', "SMT414"),
    (UPDATE.replace('"u"', '"t"'), "SMT447"),
    (UPDATE.replace('"u"', '"m"'), "SMT447"),
    (UPDATE.replace('"u"', '["u"]'), "SMT447"),
    ('{"before":null,"after":null,"op":"d"}', "SMT448"),
    ('{"before":{"id":1},"op":"u"}', "SMT448"),
    ('{"after":[],"op":"c"}', "SMT448"),
    ('{"after":{"id":1},"op":"c","source":"x"}', "SMT414"),
    ('{"after":{"id":1},"op":"c","transaction":7}', "SMT414"),
]  # fmt: skip
CANAL = {
    **ROW,
    "database": "STRING METADATA FROM 'value.database'",
    "in_table": "STRING METADATA FROM 'value.table'",
    "type": "STRING METADATA FROM 'value.canal-json.type'",
    "es": "BIGINT METADATA FROM 'value.es'",
    "ts": "TIMESTAMP METADATA FROM 'value.ts'",
    "keys": "ARRAY<STRING> METADATA FROM 'value.pk-names'",
    "types": "MAP<STRING, INT> METADATA FROM 'value.sql-type'",
    "old": "MAP<STRING, STRING> METADATA FROM 'value.old'",
}
TYPES = {"id": 4, "name": 12, "description": 12, "weight": 7}


def canal(*rows, **changes):
    message = {
        "data": list(rows) or None, "database": "inventory", "es": 1589373549000, "id": 5, "isDdl": False,
        "mysqlType": {"id": "INTEGER"}, "old": None, "pkNames": ["id"], "sql": "", "sqlType": TYPES,
        "table": "products2", "ts": 1589373549489, "type": "INSERT",
    }  # fmt: skip
    return json.dumps({**message, **changes})


TEXTS = {"id": "107", "name": "rocks", "description": "box of assorted rocks", "weight": "5.1"}
BESIDE = {
    "database": "inventory", "in_table": "products2", "type": "INSERT", "es": 1589373549000, "ts": 1589373549489,
    "keys": ["id"], "types": TYPES, "old": None,
}  # fmt: skip
CANAL_MESSAGES = [
    (canal(TEXTS), {**rock(5.1), **BESIDE}),
    (canal(TEXTS, type="UPDATE", old=[{"weight": "5.3"}]),
     {**rock(5.1), **BESIDE, "type": "UPDATE", "old": {"weight": "5.3"}}),
    (canal(TEXTS, type="DELETE"), {**rock(5.1), **BESIDE, "type": "DELETE"}),
    (canal(isDdl=True, type="CREATE", sqlType=None, pkNames=None), None),
    (canal(isDdl=True, type="ALTER", data=[TEXTS]), None),
    (canal(type="TRUNCATE"), None),
    (canal(data=[]), None),
    (canal(), "SMT438"),
    (canal(data={}), "SMT438"),
    (canal(None), "SMT438"),
    (canal(TEXTS, type="QUERY"), "SMT447"),
    (canal(TEXTS, type=["INSERT"]), "SMT447"),
    (canal(TEXTS, old=["x"]), "SMT414"),
    (canal(TEXTS, sqlType="x"), "SMT414"),
    (canal(TEXTS, TEXTS), "SMT439"),
    (canal({**TEXTS, "id": "x"}), "SMT414"),
    ('{"data":[]}', "SMT438"),
    ('{"data":[{"id":"102","name":"car battery"}],"database":"inventory","table":"products","es":1589374013000,'
     '"ts":1589374013680,"type":"DELETE"}',
     {"id": 102, "name": "car battery", "description": None, "weight": None, **BESIDE, "in_table": "products",
      "type": "DELETE", "es": 1589374013000, "ts": 1589374013680, "types": None, "keys": None}),
]  # fmt: skip
FORMATS = [("debezium-json", DEBEZIUM, MESSAGES), ("canal-json", CANAL, CANAL_MESSAGES)]


def source(messages):
    return [Sent(text.encode()) for text, _ in messages]


@pytest.mark.parametrize(("kind", "columns", "messages"), FORMATS)
def test_messages_in_python(kind, columns, messages):
    rows = [row for row, *_ in in_python(table(columns, value=Format(kind)), source(messages))]
    assert rows == [expected for _, expected in messages]


@pytest.mark.spark
@pytest.mark.parametrize(("kind", "columns", "messages"), FORMATS)
def test_messages_on_spark(spark, kind, columns, messages):
    records = [Sent(text.encode(), offset=42 + n) for n, (text, _) in enumerate(messages)]
    rows = on_spark(spark, table(columns, value=Format(kind)), records)
    results = [
        w if not isinstance(w, dict) or "offset" not in w else {**w, "offset": 42 + n}
        for n, (_, w) in enumerate(messages)
    ]
    assert rows == results


def test_a_schema_around_a_message():
    ((row, *_),) = in_python(table(DEBEZIUM, value=Format("debezium-json")), [Sent(WITH_SCHEMA.encode())])
    assert (row["id"], row["from_table"], row["op"], row["at"]) == (101, "products", "c", 0)
    assert json.loads(row["schema"])["name"] == "dbserver1.inventory.products.Envelope"
    ((tombstone, *_),) = in_python(table(DEBEZIUM, value=Format("debezium-json")), [Sent(None)])
    assert tombstone is None


def test_texts_of_canal_are_read_as_the_columns_are_declared():
    columns = {
        "d": "DECIMAL(9,2)",
        "b": "BOOLEAN",
        "at": "TIMESTAMP",
        "day": "DATE",
        "f": "FLOAT",
        "n": "BIGINT NOT NULL",
    }
    texts = {"d": "1.5", "b": "1", "at": "2020-01-01 12:00:00.5", "day": "2020-01-02", "f": "0.1", "n": "7"}
    one = table(columns, value=Format("canal-json", decimal_format="NUMERIC"))
    rows = [
        row for row, *_ in in_python(one, [Sent(canal(texts).encode()), Sent(canal({**texts, "n": None}).encode())])
    ]
    assert rows[1] == "SMT401"
    assert {name: rows[0][name] for name in columns} == {
        "d": 1.50, "b": True, "at": 1577880000500, "day": 18263, "f": 0.1, "n": 7,
    }  # fmt: skip


def test_statements_name_these_formats():
    """FLIP-107, "Kafka + Canal JSON Format: Both connector and format expose metadata"."""
    result = TopicTable.create(
        "CREATE TABLE kafka_table (id BIGINT, name STRING, `offset` INT METADATA, "
        "database STRING METADATA FROM 'value.canal-json.database') WITH ('topic' = 't', 'format' = 'canal-json')",
        FILES,
    )
    text = (
        '{"data":[{"id":"102","name":"car battery"}],"database":"inventory","table":"products","es":1589374013000,'
        '"ts":1589374013680,"type":"DELETE"}'
    )
    ((row, *_),) = in_python(result, [Sent(text.encode())])
    assert row == {"id": 102, "name": "car battery", "offset": 42, "database": "inventory"}


def test_stages_and_lineage():
    one = table(DEBEZIUM, value=Format("debezium-json"))
    ((row, *_),) = in_python(one, [Sent(UPDATE.encode())], {**MASK, "transforms.hide.fields": "name,db"})
    assert (row["name"], row["db"], row["before"]["name"]) == ("", "", "rocks")
    plan = plan_table(parse_chain({"transforms": ""}), one)
    assert plan.lineage["db"] == ("value.`source.database`",) and plan.lineage["name"] == ("value.row.name",)


WRONG = [
    ({"columns": "a INT, x STRING METADATA FROM 'value.op'"}, "SMT263"),
    ({"columns": "a INT, x STRING METADATA FROM 'value.what'", "value": Format("debezium-json")}, "SMT263"),
    ({"columns": "a INT, x STRING METADATA FROM 'op'", "value": Format("debezium-json")}, "SMT263"),
    ({"columns": "a INT, x INT METADATA FROM 'value.op'", "value": Format("debezium-json")}, "SMT264"),
    ({"columns": "a INT, x BIGINT METADATA FROM 'value.ts', y TIMESTAMP METADATA FROM 'value.ts'",
      "value": Format("canal-json")}, "SMT264"),
    ({"columns": "x STRING METADATA FROM 'value.op'", "value": Format("debezium-json")}, "SMT269"),
    ({"value": Format("canal-json")}, "SMT269"),
    ({"key": Format("canal-json")}, "SMT269"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "code"), WRONG)
def test_what_cannot_be_declared(source, code):
    with pytest.raises(ConfigError, match=code):
        TopicTable(FILES, ("t",), **source)


def test_messages_are_not_written_back():
    deleting = table(DEBEZIUM, value=Format("debezium-json"))
    for sink in (FileTopicSink("out"), FileTopicSink("out", value=Format("canal-json"))):
        with pytest.raises(UnsupportedError, match=r"SMT905.*value.format (debezium|canal)-json.*deleted"):
            written_formats(deleting, sink)
    with pytest.raises(UnsupportedError, match=r"SMT905.*key.format debezium-json"):
        written_formats(PLAIN, FileTopicSink("out", key=Format("debezium-json")))


LINE, PLAIN = b'{"id":1,"name":"ann"}', table("id BIGINT, name STRING", value=Format("json"))
NEW = [
    ("debezium-json", LINE, {"before": None, "after": {"id": 1, "name": "ann"}, "op": "c"}),
    ("canal-json", LINE, {"data": [{"id": 1, "name": "ann"}], "type": "INSERT"}),
    ("debezium-json", None, None),
]  # as Flink's serializers of both formats write what is inserted


@pytest.mark.parametrize(("kind", "value", "expected"), NEW)
def test_rows_are_written_as_messages_that_say_they_are_new(kind, value, expected):
    for read, chain in (
        (PLAIN.value, with_row(parse_chain(NOTHING), PLAIN, "records")),
        (Format(), parse_chain(NOTHING)),
    ):
        interpreter = Interpreter(chain, None, read, Formats(Format("string"), Format(kind)))
        record = Record("orders", 0, 1, 0, "CreateTime", dirty=VALUE_DIRTY)
        outcome, _, data = interpreter.process(record, None, value)
        assert outcome.problem is None and (None if data is None else json.loads(data)) == expected
