"""ReplaceField: drop, keep, rename."""

import pytest

from dagster_smt.transforms.replace_field import ReplaceField
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (ReplaceField$Value): {}"

CASES = (
    Case("swapped", {"renames": "a:b,b:a"}, '{"a":1,"b":2}', '{"b":1,"a":2}'),
    Case("exclude wins", {"include": "a,b", "exclude": "b"}, '{"a":1,"b":2,"c":3}', '{"a":1}'),
    Case("include means the old names", {"include": "b", "renames": "a:b"}, '{"a":1}', "{}"),
    Case(
        "an excluded field does not come back by a rename",
        {"exclude": "a", "renames": "a:b"},
        envelope("a:int8 b:int8", '{"a":1,"b":2}'),
        envelope("b:int8", '{"b":2}'),
    ),
    Case("null passes", {"exclude": "a"}, "null", "null"),
    Case("the key", {"exclude": "a"}, '{"a":1}', "{}", shows="key", side="Key"),
    Case(
        "defaults", {"exclude": "b"}, envelope("a:int8?=3 b:int8", '{"a":null,"b":1}'), envelope("a:int8?=3", '{"a":3}')
    ),
    Case(
        "nulls stay",
        {"exclude": "b", "replace.null.with.default": "false"},
        envelope("a:int8?=3 b:int8", '{"a":null,"b":1}'),
        envelope("a:int8?=3", '{"a":null}'),
    ),
    refusal(
        "two equal names",
        {"renames": "a:b"},
        envelope("a:int8 b:int8", '{"a":1,"b":2}'),
        AT.format("SMT111", "two fields would be named 'b'"),
    ),
    refusal(
        "no pair",
        {"renames": "a"},
        "{}",
        "SMT013 transforms.t (ReplaceField$Value) renames: 'a' is no pair of the form old:new",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_replace_field(case):
    check(ReplaceField, case)
