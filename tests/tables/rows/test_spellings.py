"""Statements of Flink and ksqlDB that say what is done anyway, or spell a type in another way."""

from decimal import Decimal

import pytest

from dagster_smt import FileTopics, TopicTable
from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, DataError
from dagster_smt.formats.avro.write import avro_out
from dagster_smt.formats.sides import side_codec
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import KEY_DIRTY, VALUE_DIRTY, Record
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.rows.row_stages import with_row

FILES = FileTopics("topics")
SAME = [
    ("json", "'sink.delivery-guarantee' = 'at-least-once'", "exactly-once"),
    ("json", "'sink.partitioner' = 'default'", "fixed"),
    ("json", "WRAP_SINGLE_VALUE = 'true'", "maybe"),
    ("debezium-json", "'debezium-json.schema-include' = 'true'", "maybe"),
    ("debezium-json", "'value.debezium-json.schema-include' = 'false'", "maybe"),
    ("raw", "'raw.charset' = 'UTF-8'", "UTF-16"),
    ("raw", "'raw.endianness' = 'big-endian'", "little-endian"),
    ("json", "'json.map-null-key.mode' = 'FAIL'", "DROP"),
    ("json", "'json.encode.ignore-null-fields' = 'false'", "true"),
    ("csv", "'value.csv.allow-comments' = 'false'", "true"),
    ("avro", "'avro.timestamp_mapping.legacy' = 'true'", "maybe"),
]


ALONE = [
    "'scan.topic-partition-discovery.interval' = '5 min'",
    "'properties.enable.auto.commit' = 'false'",
    "'properties.auto.offset.reset' = 'earliest'",
    "'scan.startup.mode' = 'latest-offset', 'properties.auto.offset.reset' = 'latest'",
    "'value.fields-include' = 'ALL'",
]
OPTIONS_BY_TEXT = {
    "'scan.startup.timestamp-millis' = '1'": "scan.startup.timestamp-millis",
    "'topic-pattern' = 'a.*'": "topic-pattern",
    "'value.fields-include' = 'EXCEPT_KEY'": "value.fields-include",
    "'properties.enable.auto.commit' = 'true'": "properties",
    "'scan.startup.mode' = 'group-offsets', 'properties.group.id' = 'g', 'properties.auto.offset.reset' = 'none'":
        "properties",
    "TIMESTAMP = 'a'": "TIMESTAMP",
    "VALUE_DELIMITER = '|'": "VALUE_DELIMITER",
    "'canal-json.database.include' = 'shop'": "canal-json.database.include",
    "'value.canal-json.table.include' = 'shop'": "canal-json.table.include",
    "'avro.timestamp_mapping.legacy' = 'false'": "avro.timestamp_mapping.legacy",
}  # fmt: skip


def create(option, kind="json", columns="a STRING"):
    comma = ", " if option else ""
    return TopicTable.create(
        f"CREATE TABLE t ({columns}) WITH ('topic' = 't', 'format' = '{kind}'{comma}{option})", FILES
    )


@pytest.mark.parametrize(("kind", "option", "other"), SAME)
def test_an_option_that_asks_for_what_is_done_anyway_is_taken_and_its_other_values_are_named(kind, option, other):
    assert create(option, kind) == create("", kind)
    name, _, _ = option.partition(" = ")
    with pytest.raises(ConfigError) as error:
        create(f"{name} = '{other}'", kind)
    assert [name.strip("'").removeprefix("value.") in p.place for p in error.value.problems] == [True]


@pytest.mark.parametrize("option", ALONE)
def test_an_option_without_another_value_is_taken(option):
    result, without = create(option), create("")
    assert (result.value, result.columns, result.row) == (without.value, without.columns, without.row)


@pytest.mark.parametrize(("option", "place"), OPTIONS_BY_TEXT.items())
def test_an_option_that_would_do_nothing_or_is_not_done_is_named(option, place):
    with pytest.raises(ConfigError, match="SMT270") as error:
        create(option, "canal-json" if "canal" in option else "json")
    assert all(place in problem.place and problem.hint for problem in error.value.problems)


def test_moments_of_avro_with_a_zone_are_what_flinks_new_mapping_makes_of_them():
    new = "'avro.timestamp_mapping.legacy' = 'false'"
    zoned = "a TIMESTAMP_LTZ(3), b DATE"
    assert create(new, "avro", zoned).value == create("", "avro", zoned).value
    for columns in ("a TIMESTAMP(3)", "a ROW<b ARRAY<TIMESTAMP(3)>>"):
        with pytest.raises(ConfigError, match="local-timestamp-millis"):
            create(new, "avro", columns)


@pytest.mark.parametrize(("word", "character"), {"|": "|", "TAB": "\t", "space": " ", "\\t": "\\t"}.items())
def test_delimiters_of_ksqldb(word, character):
    columns = "k STRING KEY, a STRING, b INT"
    said = "KAFKA_TOPIC='t', VALUE_FORMAT='DELIMITED', KEY_FORMAT='DELIMITED', VALUE_DELIMITER='{}', KEY_DELIMITER=';'"
    result = TopicTable.create(f"CREATE STREAM s ({columns}) WITH ({said.format(word)})", FILES)
    assert (result.value.settings, result.key.settings) == ({"field-delimiter": character}, {"field-delimiter": ";"})


REFUSED = [
    ("a MAP<INT, STRING>", "'format' = 'json'", "'a' is a map whose keys are not strings"),
    ("a ROW<b ARRAY<MAP<BIGINT, INT>>>", "'format' = 'canal-json'", "'a' is a map whose keys are not strings"),
    (
        "a TINYINT",
        "'format' = 'raw'",
        "bytes (raw and kafka in statements): holds one value of STRING, BYTES, SMALLINT, INT",
    ),
    ("a INT, b INT", "'format' = 'raw'", "the columns are a int32, b int32"),
    ("a ARRAY<INT>", "'format' = 'raw'", "the columns are a array<int32?>"),
    ("a INT, b INT", "'format' = 'json', 'key.fields' = 'a;b'", "set key.format, to json for instance"),
    ("a TIMESTAMP", "'format' = 'avro'", "milliseconds or microseconds"),
    ("a ROW<b ARRAY<TIMESTAMP_LTZ>>", "'format' = 'avro'", "milliseconds or microseconds"),
    ("k TIMESTAMP KEY, a INT", "KEY_FORMAT = 'avro', VALUE_FORMAT = 'json'", "milliseconds or microseconds"),
    ("h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS", "'format' = 'avro'", "has no schema for reading"),
    ("h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS", "'format' = 'protobuf'", "protobuf-confluent"),
]


@pytest.mark.parametrize(("columns", "options", "what"), REFUSED)
def test_what_each_record_would_fail_is_refused_before_any_is_read(columns, options, what):
    with pytest.raises(ConfigError, match="SMT269") as error:
        TopicTable.create(f"CREATE TABLE t ({columns}) WITH ('topic' = 't', {options})", FILES)
    assert len(error.value.problems) == 1 and what in str(error.value)


def test_moments_of_avro_that_say_their_digits():
    for columns in ("a TIMESTAMP(3)", "a TIMESTAMP_LTZ(0)", "at TIMESTAMP METADATA FROM 'timestamp', a INT"):
        assert create("", "avro", columns).value.schema is not None
    assert create("'json.timestamp-format.standard' = 'CONNECT'", "json", "a MAP<INT, STRING>").value.schema


KEYS = [
    ("INT", b"33", 33), ("STRING", b'"Hey"', "Hey"), ("ARRAY<DOUBLE>", b"[10.1]", [10.1]), ("INT", b"null", None),
    ("STRUCT<F DOUBLE>", b'{"F":1.5}', {"F": 1.5}), ("STRUCT<K INT>", b'{"K":1}', {"K": 1}),
    ("MAP<STRING, INT>", b'{"a":1}', {"a": 1}), ("DECIMAL(4, 2)", b"1.5", Decimal("1.50")),
]  # fmt: skip


@pytest.mark.parametrize("formats", ["FORMAT='JSON'", "KEY_FORMAT='JSON', VALUE_FORMAT='JSON'"])
@pytest.mark.parametrize(("kind", "data", "value"), KEYS)
def test_a_single_json_key_of_ksqldb_is_the_value_itself(formats, kind, data, value):
    statement = f"CREATE STREAM s (K {kind} KEY, V INT) WITH (KAFKA_TOPIC='t', {formats})"
    one = TopicTable.create(statement, FILES)
    chain = with_row(parse_chain({"transforms": ""}), one, "records")
    interpreter = Interpreter(chain, one.key, one.value)
    record = Record("t", 0, 0, 0, "CreateTime")
    assert interpreter.read(record, data, b'{"V":1}').problem is None
    assert interpreter.runners[0].apply(record) is None
    assert record.value == {"K": value, "V": 1}
    record = Record("t", 0, 0, 0, "CreateTime", dirty=KEY_DIRTY | VALUE_DIRTY)
    outcome, key, written = interpreter.process(record, data, b'{"V":1}')
    assert (outcome.problem, written) == (None, b'{"V":1}')
    assert key == (b"1.50" if kind.startswith("DECIMAL") else data)


@pytest.mark.parametrize(("key", "code"), [(b'{"x":1}', None), (None, None), (b"no json", "SMT411")])
def test_a_key_that_is_no_column_is_read_all_the_same(key, code):
    options = "'connector' = 'kafka', 'topic' = 't', 'key.format' = 'json', 'value.format' = 'json'"
    one = TopicTable.create(f"CREATE TABLE t (a INT) WITH ({options})", FILES)
    interpreter = Interpreter(with_row(parse_chain({"transforms": ""}), one, "columns"), one.key, one.value)
    problem = interpreter.read(Record("t", 0, 0, 0, "CreateTime"), key, b'{"a":1}').problem
    assert code == (problem and problem.code)


def test_several_json_keys_of_ksqldb_are_an_object():
    statement = "CREATE STREAM s (K INT KEY, L INT KEY, V INT) WITH (KAFKA_TOPIC='t', FORMAT='JSON')"
    one = TopicTable.create(statement, FILES)
    assert side_codec(one.key).read(b'{"K":1,"L":2}')[1] == {"K": 1, "L": 2}


def test_headers_as_ksqldb_describes_them():
    one = create("", columns="h ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>> HEADERS, a INT")
    assert one == create("", columns="h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS, a INT")


CLOCKS = {
    "12:00:00.123": 43_200_123, "12:00:00": 43_200_000, "12:00": 43_200_000, "23:59:59.999": 86_399_999,
    "00:00:00.100000": 100, "24:00:00": None, "12:00:00.1234": None, "noon": None, "12:60:00": None, "1:00:00": None,
}  # fmt: skip


@pytest.mark.parametrize(("text", "millis"), CLOCKS.items())
def test_times_of_day_are_texts(text, millis):
    for kind, around in (("json", '{{"a":"{}"}}'), ("csv", "{}")):
        codec = side_codec(create("", kind, "a TIME(3)").value)
        data = around.format(text).encode()
        if millis is None:
            with pytest.raises(DataError, match="SMT414"):
                codec.read(data)
            continue
        schema, value = codec.read(data)
        assert value == {"a": millis}
        assert codec.read(codec.write(schema, value))[1] == value
    connect = side_codec(create("'json.timestamp-format.standard' = 'CONNECT'", "json", "a TIME").value)
    assert connect.read(b'{"a":5}')[1] == {"a": 5}


def test_letters_after_an_escape_of_csv():
    codec = side_codec(create("'csv.escape-character' = '\\'", "csv", "a STRING, b STRING").value)
    texts = {"x\\ny": "x\ny", "x\\ty": "x\ty", "x\\ry": "x\ry", "x\\\\ny": "x\\ny", "x\\,y": "x,y", "\\q": "q"}
    for written, value in texts.items():
        schema, result = codec.read(f"{written},z".encode())
        assert result == {"a": value, "b": "z"}
        assert codec.read(codec.write(schema, result))[1] == result


@pytest.mark.parametrize(("kind", "least", "most"), [("TINYINT", -128, 127), ("SMALLINT", -(2**15), 2**15 - 1)])
def test_integers_of_avro_that_their_column_cannot_hold(kind, least, most):
    codec = side_codec(create("", "avro", f"a {kind}").value)
    wide = avro_out(parse_ddl("a INT"))
    for number in (least, most):
        assert codec.read(wide.write({"a": number}))[1] == {"a": number}
    for number in (least - 1, most + 1):
        with pytest.raises(DataError, match="SMT414"):
            codec.read(wide.write({"a": number}))


def test_the_case_of_fields_include_does_not_count():
    keyed = "'key.format' = 'json', 'key.fields' = 'a', 'value.fields-include' = "
    columns = "a STRING, b STRING"
    assert create(keyed + "'except_key'", columns=columns) == create(keyed + "'EXCEPT_KEY'", columns=columns)


@pytest.mark.parametrize(("kind", "form"), [("INT", "integer"), ("BIGINT", "long"), ("STRING", "string")])
def test_a_key_column_of_ksqldb_is_read_with_the_format_kafka(kind, form):
    columns = f"k {kind} KEY, v INT"
    result = TopicTable.create(f"CREATE STREAM s ({columns}) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')", FILES)
    said = "KAFKA_TOPIC='t', VALUE_FORMAT='JSON', KEY_FORMAT='KAFKA'"
    assert result == TopicTable.create(f"CREATE STREAM s ({columns}) WITH ({said})", FILES)
    assert result.key.kind == form


TYPES = {
    "DOUBLE PRECISION": "DOUBLE",
    "CHARACTER VARYING(5)": "VARCHAR(5)",
    "CHAR VARYING(5)": "VARCHAR(5)",
    "TIMESTAMP(0)": "TIMESTAMP(3)",
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": "TIMESTAMP_LTZ(3)",
    "MAP<STRING NOT NULL, INT>": "MAP<STRING, INT>",
    "MULTISET<STRING>": "MAP<STRING, INT NOT NULL>",
    "STRING MULTISET": "MAP<STRING, INT NOT NULL>",
    "INT ARRAY": "ARRAY<INT>",
    "INT ARRAY ARRAY": "ARRAY<ARRAY<INT>>",
    "ROW(x INT, y ROW(z STRING))": "ROW<x INT, y ROW<z STRING>>",
    "ROW<x INT 'what it is'>": "ROW<x INT COMMENT 'what it is'>",
    "VARCHAR(STRING)": "VARCHAR",
    "TIME(0)": "TIME",
    "TIME(3) WITHOUT TIME ZONE": "TIME",
}


@pytest.mark.parametrize(("one", "other"), TYPES.items())
def test_types_in_other_words(one, other):
    assert parse_ddl(f"a {one}, b ARRAY<{one}>") == parse_ddl(f"a {other}, b ARRAY<{other}>")


def test_items_that_are_never_null():
    result = parse_ddl("a ARRAY<INT NOT NULL>, m MAP<STRING NOT NULL, INT NOT NULL>, n ARRAY<INT>").by_name
    assert (result["a"].values.optional, result["m"].values.optional, result["n"].values.optional) == (
        False,
        False,
        True,
    )


@pytest.mark.parametrize(
    "kind", ["TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(4)", "timestamp(6) with local time zone"]
)
def test_a_precision_that_cannot_be_kept_is_refused_by_name(kind):
    with pytest.raises(ConfigError, match="SMT253") as error:
        parse_ddl(f"a {kind}, b ARRAY<{kind}>")
    assert len(error.value.problems) == 2
    assert "milliseconds" in error.value.problems[0].statement
    assert parse_ddl("a TIMESTAMP(3), b STRING")  # what the hint says
