"""HeaderFrom: fields become headers."""

import pytest

from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.schema import Schema, Type
from dagster_smt.transforms.kafka.header_from import HeaderFrom
from tests.transforms.helpers import Case, chain_of, check, envelope, record_of, refusal

AT = "{} transforms.t (HeaderFrom$Value): {}"
TO_HEADERS = {"shows": "headers", "input_part": "value"}
OPTIONAL = envelope("a:int8 b:int8", '{"a":1,"b":2}', name="N", optional=True)
NULL = envelope("a:int8?=3", '{"a":null}')

CASES = (
    Case(
        "copied",
        {"fields": "a,b", "headers": "x,x", "operation": "copy"},
        '{"a":1,"b":[1.0]}',
        '[{"key":"x","value":1},{"key":"x","value":[1.0]}]',
        **TO_HEADERS,
    ),
    Case(
        "one field twice",
        {"fields": "a,a", "headers": "x,y", "operation": "move"},
        '{"a":"s"}',
        '[{"key":"x","value":"s"},{"key":"y","value":"s"}]',
        **TO_HEADERS,
    ),
    Case(
        "a missing field gives null",
        {"fields": "a", "headers": "x", "operation": "move"},
        "{}",
        '[{"key":"x","value":null}]',
        **TO_HEADERS,
    ),
    Case(
        "copy leaves the value", {"fields": "a", "headers": "x", "operation": "copy"}, '{"a":{"b":1}}', '{"a":{"b":1}}'
    ),
    Case("move drops the field", {"fields": "a", "headers": "x", "operation": " move "}, '{"a":1,"b":2}', '{"b":2}'),
    Case(
        "the key",
        {"fields": "a", "headers": "x", "operation": "move"},
        '{"a":1,"b":2}',
        '{"b":2}',
        shows="key",
        side="Key",
    ),
    Case("copy keeps the schema", {"fields": "a", "headers": "x", "operation": "copy"}, OPTIONAL, OPTIONAL),
    Case(
        "move makes it required",
        {"fields": "a", "headers": "x", "operation": "move"},
        OPTIONAL,
        envelope("b:int8", '{"b":2}', name="N"),
    ),
    Case(
        "defaults", {"fields": "a", "headers": "x", "operation": "copy"}, NULL, '[{"key":"x","value":3}]', **TO_HEADERS
    ),
    Case(
        "nulls stay",
        {"fields": "a", "headers": "x", "operation": "move", "replace.null.with.default": "false"},
        NULL,
        '[{"key":"x","value":null}]',
        **TO_HEADERS,
    ),
    refusal(
        "a missing field with a schema",
        {"fields": "z", "headers": "x", "operation": "copy"},
        NULL,
        AT.format("SMT102", "there is no field 'z'"),
    ),
    refusal(
        "null",
        {"fields": "a", "headers": "x", "operation": "copy"},
        "null",
        AT.format("SMT402", "a null key or value cannot be used for [copying fields to headers]"),
    ),
    refusal(
        "lists of different size",
        {"fields": "a,b", "headers": "x", "operation": "copy"},
        "{}",
        "SMT014 transforms.t (HeaderFrom$Value) headers: has 1 names, but fields has 2",
    ),
    refusal(
        "another operation",
        {"fields": "a", "headers": "x", "operation": "COPY"},
        "{}",
        "SMT013 transforms.t (HeaderFrom$Value) operation: must be one of: move, copy",
    ),
    refusal(
        "a name step into a map, as in Kafka",
        {"fields": "m.k", "field.syntax.version": "V2", "strict_paths": "kafka", "headers": "h", "operation": "copy"},
        envelope("m:map<int8>", '{"m":{"k":1}}'),
        AT.format("SMT202", "'m' in 'm.k' is map<string,int8>, not a struct"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_header_from(case):
    check(HeaderFrom, case)


def test_headers_are_appended_to_a_new_list_and_keep_their_schema():
    record = record_of(OPTIONAL)
    before = record.headers = record_of('[{"key":"x","value":"old"}]', "headers").headers
    options = {"fields": "a", "headers": "x", "operation": "move"}
    assert Interpreter(chain_of(HeaderFrom, options)).run(record).status == 0
    assert [(h.key, h.value, h.from_stage) for h in record.headers] == [("x", "old", False), ("x", 1, True)]
    assert record.headers[1].schema == Schema(Type.INT8)
    assert len(before) == 1
