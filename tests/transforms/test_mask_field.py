"""MaskField: zeros and replacements."""

import pytest

from dagster_smt.transforms.mask_field import MaskField
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (MaskField$Value): {}"

CASES = (
    Case(
        "zeros",
        {"fields": "a,b,c,d,e"},
        '{"a":1,"b":1.5,"c":"x","d":true,"e":[1]}',
        '{"a":0,"b":0.0,"c":"","d":false,"e":[]}',
    ),
    Case("a replacement", {"fields": "a,b", "replacement": "12.9"}, '{"a":1,"b":"x"}', '{"a":12,"b":"12.9"}'),
    Case("null stays null", {"fields": "a", "replacement": "x"}, '{"a":null}', '{"a":null}'),
    Case("a missing field becomes null", {"fields": "a"}, "{}", '{"a":null}'),
    Case("a missing nested field does not", {"fields": "a.b", "field.syntax.version": "V2"}, '{"a":{}}', '{"a":{}}'),
    Case("the key", {"fields": "a"}, '{"a":1}', '{"a":0}', shows="key", side="Key"),
    Case(
        "a schema",
        {"fields": "a"},
        envelope("a:int8?=3 b:string", '{"a":1,"b":"x"}'),
        envelope("a:int8?=3 b:string", '{"a":0,"b":"x"}'),
    ),
    Case("defaults are masked", {"fields": "a"}, envelope("a:int8?=3", '{"a":null}'), envelope("a:int8?=3", '{"a":0}')),
    Case(
        "nulls stay",
        {"fields": "a", "replace.null.with.default": "false"},
        envelope("a:int8?=3", '{"a":null}'),
        envelope("a:int8?=3", '{"a":null}'),
    ),
    refusal(
        "null", {"fields": "a"}, "null", AT.format("SMT402", "a null key or value cannot be used for [mask fields]")
    ),
    refusal(
        "no number",
        {"fields": "a", "replacement": "x"},
        '{"a":1}',
        AT.format("SMT403", "the replacement is not a number, and the value is of type int64"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_mask_field(case):
    check(MaskField, case)
