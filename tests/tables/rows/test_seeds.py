"""The examples of the proposals that columns of topic tables come from, statement by statement; ids name the section.

- FLIP-107: Flink, "Handling of metadata in SQL connectors". Copies of the page leave the statements' bodies out.
  Here the columns of example 1 are those of the published page (cwiki-test.apache.org, FLINK/FLIP-107), those of the
  metadata examples are in the wiki's comparisons of its versions (pages 148639969 and 158876286). Options beyond are as
  in Flink's documentation (apache/flink, docs/content/docs/connectors/table/kafka.md). Which columns are the key,
  example 2's columns and all rows are ours; ``json`` stands for ``avro``.
- KLIP headers: ksqlDB, "Kafka headers".
- KLIP identifiers: ksqlDB, "Quoted identifiers and internal schemas".
"""

import json
import struct

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Header, Record
from dagster_smt.model.topics.columns import HEADER_LIST, describe_columns
from dagster_smt.tables.rows.row_stages import with_row
from dagster_smt.tables.topic_table import TopicTable
from tests.tables.rows.test_reading import FILES, TIME, Sent, b64, in_python, on_spark, table
from tests.tables.rows.test_writing import drop, mask, stages

TOPIC = "'connector' = 'kafka', 'topic' = 'test-topic'"
KEYED = f"{TOPIC}, 'key.fields' = 'id;name', 'key.format' = 'csv', 'value.format' = 'json'"
FOUR = "id BIGINT, name STRING, col1 STRING, col2 STRING"
EXAMPLE_1 = f"CREATE TABLE kafka_table ({FOUR}) WITH ({KEYED}, 'value.fields-include' = 'ALL')"
EXAMPLE_2 = f"CREATE TABLE kafka_table ({FOUR}) WITH ({KEYED}, 'value.fields-include' = 'EXCEPT_KEY')"
READ = f"""CREATE TABLE kafka_table (id BIGINT, name STRING,
  offset INT METADATA, -- access Kafka 'offset' metadata
  headers MAP<STRING, BYTES> METADATA -- access Kafka 'headers' metadata
) WITH ({TOPIC}, 'format' = 'json')"""
WRITE = f"""CREATE TABLE kafka_table (id BIGINT, name STRING,
  timestamp BIGINT METADATA, offset INT METADATA VIRTUAL) WITH ({TOPIC}, 'format' = 'json')"""
KINESIS = "CREATE TABLE t (id BIGINT, name STRING, partitionId STRING METADATA FROM 'partition') WITH ({})"
ABC = {"id": 1, "name": "ABC"}
ROW = {**ABC, "col1": "a,b", "col2": "c"}
WHOLE, REST, PAIR = (json.dumps(v).encode() for v in (ROW, {"col1": "a,b", "col2": "c"}, ABC))
SYNTAX = "FLIP-107, Syntax and Semantics"
T = Sent(b'{"i":1,"s":"x","d":0.5}')
OTHER_KEY = "'key.csv.field-delimiter' = '|', 'key.csv.null-literal' = '-', 'key.csv.quote-character' = ''''"
HEADERS = (("k", b"1"), ("b", None), ("k", b"2"), ("k", b"3"))
LISTED = [{"key": k, "value": None if v is None else b64(v)} for k, v in HEADERS]
LAST_IS_NULL = (("k", b"1"), ("k", None))
STATEMENTS = """CREATE STREAM B (id BIGINT, plain BYTES HEADER('k'), first BYTES HEADER('k'), word STRING HEADER('k'),
  second BYTES HEADER('k'), fourth BYTES HEADER('k'), absent BYTES HEADER('K')) WITH (
  'header.first.match' = 'first', 'header.word.match' = 'first', 'header.word.decode' = 'utf8',
  'header.second.match' = '2', 'header.fourth.match' = '4')"""
FOO = """CREATE STREAM foo ("@ID" BIGINT, "@NAME" STRING, "MESSAGE.AMOUNT" DOUBLE, "SELECT" STRING)
  WITH (KAFKA_TOPIC='foo', VALUE_FORMAT = 'JSON');"""
SAMPLE = {"@ID": 0, "@NAME": "foo", "MESSAGE.AMOUNT": 0.0, "SELECT": "bar"}
ODD = {"a.b": 1, "SELECT": 2, "ROWKEY": 3, "in": {"c.d": 6}, "of": [{"e f": 7}]}


def param(section, *values):
    return pytest.param(*values, id=section)


READ_CASES = [
    param("FLIP-107, Examples, example 1", EXAMPLE_1, [Sent(WHOLE, key=b"1,ABC")], [ROW]),
    param("FLIP-107, Examples, example 2", EXAMPLE_2,
          [Sent(REST, key=b'"1","ABC"'), Sent(REST, offset=43), Sent(REST, key=b"1", offset=44),
           Sent(REST, key=b"x,ABC", offset=45)],
          [ROW, {**ROW, "id": None, "name": None}, "SMT416", "SMT414"]),
    param("FLIP-107, Examples, Kafka: Read metadata", READ, [Sent(PAIR, (("h", b"v"),)), Sent(PAIR, offset=43)],
          [{**ABC, "offset": 42, "headers": {"h": b64(b"v")}}, {**ABC, "offset": 43, "headers": {}}]),
    param("FLIP-107, Examples, Kafka: Write metadata", WRITE, [Sent(PAIR)],
          [{**ABC, "timestamp": TIME, "offset": 42}]),
    param("FLIP-107, Examples, Kinesis: its column, of Kafka", KINESIS.format(TOPIC), [Sent(PAIR)],
          [{**ABC, "partitionId": "3"}]),
    param(f"{SYNTAX}, by the column's name",
          "CREATE TABLE t (i INT, s STRING, timestamp TIMESTAMP(3) WITH LOCAL TIME ZONE METADATA, d DOUBLE)",
          [T], [{"i": 1, "s": "x", "timestamp": TIME, "d": 0.5}]),
    param(f"{SYNTAX}, FROM", "CREATE TABLE t (i INT, s STRING, myOffset INT METADATA FROM 'offset', d DOUBLE)",
          [T], [{"i": 1, "s": "x", "myOffset": 42, "d": 0.5}]),
    param(f"{SYNTAX}, VIRTUAL; and Reading metadata via DynamicTableSource",
          "CREATE TABLE t (i INT, s STRING, offset INT METADATA VIRTUAL, d DOUBLE)",
          [T, Sent(T.value, offset=2**31)], [{"i": 1, "s": "x", "offset": 42, "d": 0.5}, "SMT431"]),
    param("FLIP-107, Writing metadata via DynamicTableSink",
          "CREATE TABLE t (i INT, s STRING, timestamp BIGINT METADATA, offset INT METADATA VIRTUAL, d DOUBLE)",
          [T], [{"i": 1, "s": "x", "timestamp": TIME, "offset": 42, "d": 0.5}]),
    param("FLIP-107, Reading and writing from key and value: key.(format).(properties)",
          EXAMPLE_2.replace("'value.format'", f"{OTHER_KEY}, 'value.format'"),
          [Sent(REST, key=b"1|'A|C'"), Sent(REST, key=b"-|-", offset=43), Sent(REST, key=b"1,ABC", offset=44)],
          [{**ROW, "name": "A|C"}, {**ROW, "id": None, "name": None}, "SMT416"]),
    param("FLIP-107, Debezium: source.table of a collection",
          "CREATE TABLE t (id INT, c STRING METADATA FROM 'value.source.table', "
          "d STRING METADATA FROM 'debezium-json.source.table') WITH ('format' = 'debezium-json')",
          [Sent(b'{"before":{"id":1},"after":null,"source":{"rs":"rs0","collection":"customers"},"op":"d"}')],
          [{"id": 1, "c": "customers", "d": "customers"}]),
    param("KLIP headers, two HEADERS columns (here on purpose)",
          f"CREATE STREAM A (id BIGINT, a {HEADER_LIST} HEADERS, b {HEADER_LIST} HEADERS)",
          [Sent(b'{"id":1}', HEADERS), Sent(b'{"id":1}', offset=43)],
          [{"id": 1, "a": LISTED, "b": LISTED}, {"id": 1, "a": [], "b": []}]),
    param("KLIP headers, HEADERS beside HEADER('…'), one key twice (here on purpose)",
          f"CREATE STREAM A (id BIGINT, a {HEADER_LIST} HEADERS, b MAP<STRING, BYTES> METADATA FROM 'headers', "
          "c BYTES HEADER('k'), d BYTES HEADER('k'))", [Sent(b'{"id":1}', HEADERS)],
          [{"id": 1, "a": LISTED, "b": {"k": b64(b"3"), "b": None}, "c": b64(b"3"), "d": b64(b"3")}]),
    param("KLIP headers, the last header that matches; null where there is none", STATEMENTS,
          [Sent(b'{"id":1}', HEADERS), Sent(b'{"id":1}', LAST_IS_NULL, offset=43), Sent(b'{"id":1}', offset=44)],
          [{"id": 1, "plain": b64(b"3"), "first": b64(b"1"), "word": "1", "second": b64(b"2"),
           "fourth": None, "absent": None},
           {"id": 1, "plain": None, "first": b64(b"1"), "word": "1", "second": None, "fourth": None, "absent": None},
           {"id": 1, "plain": None, "first": None, "word": None, "second": None, "fourth": None, "absent": None}]),
    param("KLIP identifiers, the sample record", FOO, [Sent(json.dumps(SAMPLE).encode())], [SAMPLE]),
    param("KLIP identifiers, tests: periods, SELECT, ROWKEY; nested fields",
          "CREATE STREAM s (`a.b` INT, `SELECT` INT, `ROWKEY` INT, "
          "`in` STRUCT<`c.d` INT>, `of` ARRAY<STRUCT<`e f` INT>>)", [Sent(json.dumps(ODD).encode())], [ODD]),
]  # fmt: skip


def create(statement):
    return TopicTable.create(statement, FILES)


@pytest.mark.parametrize(("statement", "records", "rows"), READ_CASES)
def test_statements_read_in_python(statement, records, rows):
    assert [row for row, *_ in in_python(create(statement), records)] == rows


@pytest.mark.spark
@pytest.mark.parametrize(("statement", "records", "rows"), READ_CASES)
def test_statements_read_on_spark(spark, statement, records, rows):
    assert on_spark(spark, create(statement), records) == rows


def test_names_that_differ_in_case_only():
    """KLIP identifiers, tests: case sensitivity. Tables of columns on Spark refuse such names (SMT210)."""
    row = {"ROWKEY": 1, "RowKey": 2, "rowkey": 3}
    statement = 'CREATE STREAM s ("ROWKEY" INT, "RowKey" INT, rowkey INT)'
    assert in_python(create(statement), [Sent(json.dumps(row).encode())])[0][0] == row


def test_headers_beside_an_inferred_schema():
    """KLIP headers, "Sources created with schema inferencing": the value's own fields, and the column.

    ksqlDB's ``avro`` has a schema registry: here it is ``avro-confluent``, and the hint says so.
    """
    statement = f"CREATE STREAM A (my_headers {HEADER_LIST} HEADERS) WITH (kafka_topic='a', value_format='avro');"
    with pytest.raises(ConfigError, match=r"SMT269 value.format avro: has no schema(.|\n)*avro-confluent"):
        create(statement)
    result = create(statement.replace("'avro'", "'avro-confluent', 'avro-confluent.url' = 'http://localhost:8081'"))
    assert (result.topics, result.value.kind, result.columns[0].origin) == (("a",), "avro-confluent", "headers")
    ((row, *_),) = in_python(create(statement.replace("avro", "json")), [Sent(PAIR, HEADERS)])
    assert row == {**ABC, "my_headers": LISTED}


# -- what is written --------------------------------------------------------------------------------------------------


def produced(statement, source, *chain):
    """Key, value, timestamp and headers of the record that is written."""
    one = create(statement)
    interpreter = Interpreter(with_row(parse_chain(stages(*chain)), one, "records"), one.key, one.value)
    headers = [Header(key, raw=data, from_stage=False) for key, data in source.headers]
    record = Record("t", 3, source.offset, source.timestamp, "CreateTime", headers=headers)
    outcome, key, value = interpreter.process(record, source.key, source.value)
    assert outcome.problem is None
    return key, json.loads(value), record.timestamp, [(h.key, h.raw) for h in record.headers]


BOTH, BARE = {**ROW, "col2": ""}, {"col1": "a,b", "col2": ""}
WRITTEN = [
    param("FLIP-107, Examples, example 1: ProducerRecord", EXAMPLE_1, Sent(WHOLE, key=b'"1","ABC"'), [mask("col2")],
          (b"1,ABC", BOTH, TIME)),
    param("FLIP-107, Examples, example 1: the key's fields are in both", EXAMPLE_1, Sent(WHOLE, key=b"1,ABC"),
          [mask("name", "col2")], (b"1,", {**BOTH, "name": ""}, TIME)),
    param("FLIP-107, Examples, example 2: ProducerRecord", EXAMPLE_2, Sent(REST, key=b'"1","ABC"'), [mask("col2")],
          (b"1,ABC", BARE, TIME)),
    param("FLIP-107, Reading and writing from key and value: key.(format).(properties)",
          EXAMPLE_2.replace("'value.format'", f"{OTHER_KEY}, 'value.format'"), Sent(REST, key=b"-|'A|C'"),
          [mask("col2")], (b"-|'A|C'", BARE, TIME)),
    param("FLIP-107, Examples, Kafka: Write metadata, with timestamp", WRITE, Sent(PAIR),
          [mask("timestamp", "offset")],
          (None, ABC, 0)),
    param("FLIP-107, Examples, Kafka: Write metadata, without persisted metadata", WRITE, Sent(PAIR),
          [drop("timestamp")], (None, ABC, None)),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "source", "chain", "expected"), WRITTEN)
def test_statements_write(statement, source, chain, expected):
    assert produced(statement, source, *chain)[:3] == expected


def test_columns_of_one_header_that_nobody_changed_leave_all_of_its_name():
    """KLIP headers: the first, second, fourth and last of one name, beside a stage that changes something else."""
    assert produced(STATEMENTS, Sent(b'{"id":1}', HEADERS), mask("id")) == (None, {"id": 0}, TIME, list(HEADERS))


def test_what_is_written_is_told():
    """FLIP-107, "Syntax and Semantics": VIRTUAL is left out of what is written, and so is what is read only."""
    shown = {name: to for name, _, _, to in describe_columns(create(WRITE).row)}
    assert shown == {"id": "value", "name": "value", "timestamp": "timestamp", "offset": ""}
    assert [to for *_, to in describe_columns(create(READ).row)] == ["value", "value", "", "headers"]


# -- KLIP identifiers: CREATE STREAM bar AS SELECT … -------------------------------------------------------------------

SELECTED = (
    "ReplaceField$Value",
    {"include": "@ID,@NAME,MESSAGE.AMOUNT,SELECT", "renames": "MESSAGE.AMOUNT:AMOUNT.BY.100"},
)
V2 = {"field.syntax.version": "V2"}
CHAINS = [
    param("KLIP identifiers, SELECT … AS",
          [SELECTED], {"@ID": 0, "@NAME": "foo", "AMOUNT.BY.100": 0.0, "SELECT": "bar"}),
    param("KLIP identifiers, SELECT of some",
          [("ReplaceField$Value", {"include": "SELECT,@ID"})], {"@ID": 0, "SELECT": "bar"}),
    param("KLIP identifiers, a function of @NAME", [mask("@NAME"), SELECTED],
          {"@ID": 0, "@NAME": "", "AMOUNT.BY.100": 0.0, "SELECT": "bar"}),
    param("KLIP identifiers, one with a period", [("ExtractField$Value", {"field": "MESSAGE.AMOUNT"})], 0.0),
    param("KLIP identifiers, one with a period as a path",
          [("ExtractField$Value", {"field": "`MESSAGE.AMOUNT`", **V2})], 0.0),
    param("KLIP identifiers, a reserved word", [("ExtractField$Value", {"field": "SELECT"})], "bar"),
]  # fmt: skip


@pytest.mark.parametrize(("chain", "expected"), CHAINS)
def test_chains_name_quoted_identifiers(chain, expected):
    """What of the statement a chain can say: columns and their aliases; stages have no arithmetic and no ``WHERE``."""
    ((row, *_),) = in_python(create(FOO), [Sent(json.dumps(SAMPLE).encode())], stages(*chain))
    assert row == expected


# -- KLIP headers: byte conversion functions ---------------------------------------------------------------------------

NUMBERS = {
    "short_from_bytes": ("SMALLINT", "h", -2), "int_from_bytes": ("INT", "i", -70000),
    "bigint_from_bytes": ("BIGINT", "q", 2**40 + 1), "float_from_bytes": ("FLOAT", "f", 1.5),
    "double_from_bytes": ("DOUBLE", "d", -2.25),
}  # fmt: skip
ORDERS = {"": ">", "(BIG_ENDIAN)": ">", "('LITTLE_ENDIAN')": "<"}


def numbers(*more):
    """A table with every function in every order, and a record for them; bytes that are ``more`` fit none of them."""
    columns, headers, row = {"id": "BIGINT"}, [], {"id": 1}
    for name, (type_, code, value) in NUMBERS.items():
        for order, sign in ORDERS.items():
            column = name + sign + order
            columns[column] = {"type": type_, "header": column, "decode": name.upper() + order}
            headers.append((column, struct.pack(sign + code, value) + b"".join(more)))
            row[column] = None if more else value
    return table(columns), Sent(b'{"id":1}', tuple(headers)), row


def test_numbers_in_every_order_in_python():
    for more in ((), (b"\0",)):
        one, source, expected = numbers(*more)
        assert [row for row, *_ in in_python(one, [source])] == [expected]


@pytest.mark.long
@pytest.mark.spark
def test_numbers_in_every_order_on_spark(spark):
    one, source, expected = numbers()
    longer = numbers(b"\0")
    given_longer = Sent(source.value, longer[1].headers, offset=43)
    assert on_spark(spark, one, [source, given_longer]) == [expected, longer[2]]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("order", ["(MIDDLE_ENDIAN)", "(LITTLE)", "()", "(BIG_ENDIAN", "(BIG_ENDIAN, LITTLE_ENDIAN)"])
def test_there_are_two_orders(name, order):
    with pytest.raises(ConfigError, match="SMT266"):
        table({"n": {"type": NUMBERS[name][0], "header": "n", "decode": name + order}})


# -- what is refused ---------------------------------------------------------------------------------------------------

BACKED = "CREATE STREAM FOO (my_headers {}) WITH ({})"
TIMED = "CREATE TABLE kafka_table (id BIGINT, name STRING, ts TIMESTAMP(3)) WITH ({})"
REFUSED = [
    param("KLIP headers, the type must be exact",
          "CREATE STREAM B (my_headers ARRAY<BYTES> HEADERS);", "SMT264", "HEADERS"),
    param("KLIP headers, HEADER(<key>) as it stands",
          "CREATE STREAM B (value BYTES HEADER(<key>));", "SMT250", "HEADER("),
    param("KLIP headers, Rejected Alternatives: WITH (headers='my_headers')",
          BACKED.format("ARRAY<STRUCT<key VARCHAR, value VARCHAR>>", "headers='my_headers'"), "SMT270", "supported"),
    param("KLIP headers, Rejected Alternatives: types convert",
          "CREATE STREAM FOO (my_headers STRUCT<version ARRAY<INT>> "
          "HEADERS);", "SMT264", "HEADERS"),
    param("KLIP headers, Rejected Alternatives: INT HEADER('version')",
          "CREATE STREAM FOO2 (latest_version INT HEADER('version'));", "SMT266", "only with a decoder"),
    param("KLIP headers, Rejected Alternatives: headers_format of all",
          BACKED.format("STRUCT<version ARRAY<INT>> HEADERS", "headers_format='kafka'"), "SMT264", "HEADERS"),
    param("KLIP headers, Rejected Alternatives: headers_format of one",
          "CREATE STREAM FOO2 (latest_version INT HEADER('version')) WITH (headers_format='avro');",
           "SMT270", "supported"),
    param("FLIP-107, Examples, Kinesis", KINESIS.format("'connector' = 'kinesis', 'value.format' = 'json'"), "SMT270",
          "'kinesis'"),
    param("FLIP-107, compaction by key: upsert-kafka",
          TIMED.format("'connector' = 'upsert-kafka'"), "SMT270", "upsert"),
    param("FLIP-107, Rejected alternatives, option 1", TIMED.format("'timestamp.field' = 'ts'"), "SMT270", "supported"),
    param("FLIP-107, Rejected alternatives, option 2a",
          'CREATE TABLE t (a AS CAST(SYSTEM_METADATA("offset") AS INT))', "SMT267", "AS"),
    param("FLIP-107, Rejected alternatives, option 2b",
          'CREATE TABLE t (a INT AS SYSTEM_METADATA("offset"))', "SMT267", "AS"),
    param("FLIP-107, Rejected alternatives, option 2c",
          'CREATE TABLE t (a AS SYSTEM_METADATA("offset", INT))', "SMT267", "AS"),
    param("FLIP-107, Future Work, custom partitioning: HASH",
          "CREATE TABLE t (id BIGINT) PARTITIONED BY HASH(id) WITH ('topic' = 't')", "SMT267", "PARTITIONED BY"),
    param("FLIP-107, Future Work, custom partitioning: EXPLICIT",
          "CREATE TABLE t (id BIGINT) PARTITIONED BY EXPLICIT(id) WITH ('topic' = 't')", "SMT267", "PARTITIONED BY"),
    param("KLIP identifiers, messages have the external names",
          """CREATE STREAM foo ("MESSAGE.AMOUNT" DOUBLE HEADER('x'));""", "SMT266", "column `MESSAGE.AMOUNT`"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "code", "what"), REFUSED)
def test_statements_that_are_refused(statement, code, what):
    with pytest.raises(ConfigError) as caught:
        create(statement)
    (problem,) = caught.value.problems
    assert problem.code == code and what in f"{problem.place} {problem.statement}"
    assert problem.hint


def test_columns_marked_as_key_are_taken():
    """FLIP-107, "Rejected alternatives", option 3, is what ksqlDB does: here it is ``key.fields`` with EXCEPT_KEY."""
    result = create(
        f"CREATE TABLE t (id BIGINT KEY, name STRING KEY, col1 STRING) WITH ({TOPIC}, 'key.format' = 'csv')"
    )
    assert (result.key_fields, result.value_fields_include) == (("id", "name"), "EXCEPT_KEY")
