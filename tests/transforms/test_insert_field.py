"""InsertField: metadata and fixed texts."""

import pytest

from dagster_smt.transforms.insert_field import InsertField
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (InsertField$Value): {}"

CASES = (
    Case("topic and offset", {"topic.field": "t", "offset.field": "o"}, "{}", '{"t":"orders","o":42}'),
    Case(
        "partition and timestamp", {"partition.field": "p", "timestamp.field": "ts"}, "{}", '{"p":0,"ts":1556204536123}'
    ),
    Case("an existing field is overwritten", {"static.field": "a", "static.value": "x"}, '{"a":1}', '{"a":"x"}'),
    Case("null passes", {"topic.field": "t"}, "null", "null"),
    Case("the key", {"topic.field": "t"}, "{}", '{"t":"orders"}', shows="key", side="Key"),
    Case(
        "a schema",
        {"topic.field": "t!", "offset.field": "o"},
        envelope("a:int8", '{"a":1}'),
        envelope("a:int8 t:string o:int64?", '{"a":1,"t":"orders","o":42}'),
    ),
    Case(
        "defaults",
        {"topic.field": "t"},
        envelope("a:int8?=3", '{"a":null}'),
        envelope("a:int8?=3 t:string?", '{"a":3,"t":"orders"}'),
    ),
    Case(
        "nulls stay",
        {"topic.field": "t", "replace.null.with.default": "false"},
        envelope("a:int8?=3", '{"a":null}'),
        envelope("a:int8?=3 t:string?", '{"a":null,"t":"orders"}'),
    ),
    refusal(
        "an existing field with a schema",
        {"topic.field": "a"},
        envelope("a:int8", '{"a":1}'),
        AT.format("SMT110", "field 'a' exists already"),
    ),
    refusal(
        "no object",
        {"topic.field": "t"},
        "1",
        AT.format(
            "SMT408", "only an object can be used for [field insertion] without a schema, but this is java.lang.Long"
        ),
    ),
    refusal(
        "no value for the field",
        {"static.field": "s"},
        "{}",
        "SMT014 transforms.t (InsertField$Value) static.field: has no static.value",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_insert_field(case):
    check(InsertField, case)
