"""Cast: fields or the whole."""

import pytest

from dagster_smt.transforms.cast import Cast
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (Cast$Value): {}"

CASES = (
    Case("integers keep their low bits", {"spec": "a:int8,b:int16"}, '{"a":300,"b":70000}', '{"a":44,"b":4464}'),
    Case(
        "floats are cut off and saturate", {"spec": "a:int32,b:int32"}, '{"a":-3.9,"b":3e9}', '{"a":-3,"b":2147483647}'
    ),
    Case(
        "any text but true is false", {"spec": "a:boolean,b:boolean"}, '{"a":"yes","b":"TRUE"}', '{"a":false,"b":true}'
    ),
    Case("a half is false", {"spec": "boolean"}, "0.5", "false"),
    Case("Java's texts", {"spec": "a:string,b:string"}, '{"a":10000000.0,"b":100.0}', '{"a":"1.0E7","b":"100.0"}'),
    Case("a missing field becomes null", {"spec": "a:int8"}, "{}", '{"a":null}'),
    Case("null passes", {"spec": "int8"}, "null", "null"),
    Case("the key", {"spec": "int64"}, '"7"', "7", shows="key", side="Key"),
    Case("a schema", {"spec": "a:string"}, envelope("a:int32?=4", '{"a":1}'), envelope('a:string?="4"', '{"a":"1"}')),
    Case(
        "defaults",
        {"spec": "b:int8"},
        envelope("a:int8?=3 b:int32", '{"a":null,"b":1}'),
        envelope("a:int8?=3 b:int8", '{"a":3,"b":1}'),
    ),
    Case(
        "nulls stay",
        {"spec": "b:int8", "replace.null.with.default": "false"},
        envelope("a:int8?=3 b:int32", '{"a":null,"b":1}'),
        envelope("a:int8?=3 b:int8", '{"a":null,"b":1}'),
    ),
    refusal(
        "no number", {"spec": "a:int8"}, '{"a":" 42 "}', AT.format("SMT404", "the value was out of range for int8")
    ),
    refusal("a list", {"spec": "int8"}, "[1]", AT.format("SMT204", "a value of type array cannot be cast")),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_cast(case):
    check(Cast, case)
