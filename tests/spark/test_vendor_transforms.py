"""Transforms of other vendors on the Spark evaluator: the rows that the Python evaluator has."""

import json

import pytest

from dagster_smt.tables.ddl import parse_ddl
from tests.spark.made_up import Example
from tests.spark.test_evaluators_agree import compare

AIVEN = "io.aiven.kafka.connect.transforms."


def stage(type_, **options):
    return {"alias": "t", "type": type_, "options": {k.replace("_", "."): v for k, v in options.items()}}


MAILS = (
    "email STRING, n INT",
    [{"email": "jerry@big-corp.com", "n": 1}, {"email": "", "n": 2}, {"email": None, "n": 3}, None],
)
KINDS = (
    "i INT, f FLOAT, x DOUBLE, b BOOLEAN, s STRING, d DATE, t TIMESTAMP, n STRUCT<a: INT, c: STRING>, m ARRAY<STRING>"
)
VALUES = [
    {"i": 7, "f": 0.5, "x": 1e10, "b": True, "s": "eu-1", "d": 1, "t": 86400001, "n": {"a": 1, "c": "q"}, "m": ["x"]},
    {"i": -1, "f": None, "x": 0.1, "b": False, "s": "", "d": None, "t": None, "n": {"a": None, "c": None}, "m": []},
    {"i": None, "f": None, "x": None, "b": None, "s": None, "d": None, "t": None, "n": None, "m": None},
    None,
]
SHOWN = {"alias": "shown", "type": "InsertField$Value", "options": {"topic.field": "to", "timestamp.field": "at"}}
NAMES = "i,f,x,b,s,d,t,n,m,zz"
SKIP = {"skip_missing_or_null": "true"}
MATCHES = "io.aiven.kafka.connect.predicates.FieldValueMatches"


def dropped_if(**options):
    """A stage that drops what a predicate matches."""
    options = {k.replace("_", "."): v for k, v in options.items()}
    predicate = {"name": "p", "type": MATCHES, "options": options}
    return [{"alias": "t", "type": "Filter", "options": {}, "predicate": predicate}]


CASES = {
    **{
        f"Hash {function}": (*MAILS, [stage(f"{AIVEN}Hash$Value", field_name="email", function=function)])
        for function in ("md5", "sha1", "sha256")
    },
    "Hash, skipping": (*MAILS, [stage(f"{AIVEN}Hash$Value", field_name="email", function="md5", **SKIP)]),
    **{
        f"ExtractTimestamp {field} {unit}": (
            "x BIGINT, d DATE, t TIMESTAMP",
            [{"x": 5, "d": 1, "t": 7}, {"x": 2**62, "d": -1, "t": -7}, {"x": None, "d": None, "t": None}, None],
            [stage(f"{AIVEN}ExtractTimestamp$Value", field_name=field, timestamp_resolution=unit), SHOWN],
        )
        for field, unit in (("x", "seconds"), ("x", "milliseconds"), ("d", "seconds"), ("t", "seconds"))
    },
    **{
        f"ExtractTopic {field} {skip}": (
            KINDS,
            VALUES,
            [stage(f"{AIVEN}ExtractTopic$Value", field_name=field, **skip), SHOWN],
        )
        for field in ("s", "x", "t")
        for skip in ({}, SKIP)
    },
    **{
        f"FilterByFieldValue {options}": (KINDS, VALUES, [stage(f"{AIVEN}FilterByFieldValue$Value", **options)])
        for options in (
            {"field_name": "s", "field_value": "eu-1"},
            {"field_name": "s", "field_value_pattern": "^eu", "field_value_matches": "false"},
            {"field_name": "n", "field_value_pattern": '"c":"q"'},
            {"field_name": "m", "field_value": '["x"]'},
            {"field_name": "d", "field_value": "1970-01-02"},
        )
    },
    "ConcatFields": (
        KINDS,
        VALUES,
        [stage(f"{AIVEN}ConcatFields$Value", field_names=NAMES, output_field_name="o", delimiter="|")],
    ),
    "ConcatFields, a struct that another stage has taken apart": (
        KINDS,
        VALUES,
        [
            {
                "alias": "r",
                "type": "ReplaceField$Value",
                "options": {"renames": "n.a:z", "field.syntax.version": "V2"},
            },
            stage(f"{AIVEN}ConcatFields$Value", field_names="n,s", output_field_name="o", delimiter="|"),
        ],
    ),
    "CaseTransform": (KINDS, VALUES, [stage(f"{AIVEN}CaseTransform$Value", field_names="s,i,zz", case="upper")]),
    **{
        f"FieldValueMatches {options}": (KINDS, VALUES, dropped_if(**options))
        for options in (
            {"field": "s", "value": "eu-1"},
            {"field": "n.c", "value_pattern": "q+", "field_syntax_version": "V2"},
            {"field": "n", "value": '{"a":1,"c":"q"}'},
            {"value_pattern": '.*"a":null.*'},
        )
    },
}


@pytest.mark.parametrize("name", CASES)
def test_both_evaluators_agree(spark, name):
    ddl, values, stages = CASES[name]
    rows = [(None if value is None else json.dumps(value).encode(), "eu.orders", ()) for value in values]
    compare(spark, Example(parse_ddl(ddl), stages, rows), ("eu.orders", "us.orders"))
