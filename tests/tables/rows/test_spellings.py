"""Statements of Flink and ksqlDB that say what is done anyway, or spell a type in another way."""

import pytest

from dagster_smt import FileTopics, TopicTable
from dagster_smt.errors import ConfigError
from dagster_smt.tables.ddl import parse_ddl

FILES = FileTopics("topics")
SAME = [
    ("json", "'sink.delivery-guarantee' = 'at-least-once'", "exactly-once"),
    ("json", "'sink.partitioner' = 'default'", "fixed"),
    ("json", "WRAP_SINGLE_VALUE = 'true'", "false"),
    ("debezium-json", "'debezium-json.schema-include' = 'true'", "maybe"),
    ("debezium-json", "'value.debezium-json.schema-include' = 'false'", "maybe"),
    ("raw", "'raw.charset' = 'UTF-8'", "UTF-16"),
    ("raw", "'raw.endianness' = 'big-endian'", "little-endian"),
    ("json", "'json.map-null-key.mode' = 'FAIL'", "DROP"),
    ("json", "'json.encode.ignore-null-fields' = 'false'", "true"),
    ("csv", "'value.csv.allow-comments' = 'false'", "true"),
]


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


def test_the_case_of_fields_include_does_not_count():
    keyed = "'key.format' = 'json', 'key.fields' = 'a', 'value.fields-include' = "
    columns = "a STRING, b STRING"
    assert create(keyed + "'except_key'", columns=columns) == create(keyed + "'EXCEPT_KEY'", columns=columns)


@pytest.mark.parametrize(("kind", "form"), [("INT", "integer"), ("BIGINT", "long"), ("STRING", "string")])
def test_a_key_column_of_ksqldb_is_read_with_the_format_kafka(kind, form):
    columns = f"k {kind} KEY, v INT"
    found = TopicTable.create(f"CREATE STREAM s ({columns}) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')", FILES)
    said = "KAFKA_TOPIC='t', VALUE_FORMAT='JSON', KEY_FORMAT='KAFKA'"
    assert found == TopicTable.create(f"CREATE STREAM s ({columns}) WITH ({said})", FILES)
    assert found.key.kind == form


TYPES = {
    "DOUBLE PRECISION": "DOUBLE",
    "CHARACTER VARYING(5)": "VARCHAR(5)",
    "CHAR VARYING(5)": "VARCHAR(5)",
    "TIMESTAMP(0)": "TIMESTAMP(3)",
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": "TIMESTAMP_LTZ(3)",
    "MAP<STRING NOT NULL, INT>": "MAP<STRING, INT>",
}


@pytest.mark.parametrize(("one", "other"), TYPES.items())
def test_types_in_other_words(one, other):
    assert parse_ddl(f"a {one}, b ARRAY<{one}>") == parse_ddl(f"a {other}, b ARRAY<{other}>")


def test_items_that_are_never_null():
    found = parse_ddl("a ARRAY<INT NOT NULL>, m MAP<STRING NOT NULL, INT NOT NULL>, n ARRAY<INT>").by_name
    assert (found["a"].values.optional, found["m"].values.optional, found["n"].values.optional) == (False, False, True)


@pytest.mark.parametrize(
    "kind", ["TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(4)", "timestamp(6) with local time zone"]
)
def test_a_precision_that_cannot_be_kept_is_refused_by_name(kind):
    with pytest.raises(ConfigError, match="SMT253") as error:
        parse_ddl(f"a {kind}, b ARRAY<{kind}>")
    assert len(error.value.problems) == 2
    assert "milliseconds" in error.value.problems[0].statement
    assert parse_ddl("a TIMESTAMP(3), b STRING")  # what the hint says
