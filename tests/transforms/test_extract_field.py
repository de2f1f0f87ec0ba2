"""ExtractField: one field for the whole."""

import pytest

from dagster_smt.transforms.extract_field import ExtractField
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (ExtractField$Value): {}"

CASES = (
    Case("a name with dots", {"field": "a.b"}, '{"a.b":1.0,"a":{"b":2}}', "1.0"),
    Case("a path", {"field": "a.`b.c`", "field.syntax.version": "v2"}, '{"a":{"b.c":1}}', "1"),
    Case("a missing field", {"field": "z"}, '{"a":1}', "null"),
    Case("the key", {"field": "a"}, '{"a":"k"}', '"k"', shows="key", side="Key"),
    Case(
        "a schema",
        {"field": "a"},
        envelope("a:int8?", '{"a":1}'),
        '{"schema":{"type":"int8","optional":true},"payload":1}',
    ),
    Case(
        "a default",
        {"field": "a"},
        envelope("a:int8?=3", '{"a":null}'),
        '{"schema":{"type":"int8","optional":true,"default":3},"payload":3}',
    ),
    Case(
        "null stays",
        {"field": "a", "replace.null.with.default": "false"},
        envelope("a:int8?=3", '{"a":null}'),
        '{"schema":{"type":"int8","optional":true,"default":3},"payload":null}',
    ),
    refusal(
        "a missing field with a schema",
        {"field": "z"},
        envelope("a:int8", '{"a":1}'),
        AT.format("SMT102", "there is no field 'z' for 'z'"),
    ),
    refusal(
        "a broken path",
        {"field": "a.`b", "field.syntax.version": "V2"},
        "{}",
        "SMT014 transforms.t (ExtractField$Value) field: incomplete backtick pair in path 'a.`b' at position 2",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_extract_field(case):
    check(ExtractField, case)
