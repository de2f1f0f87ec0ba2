"""ExtractField: one field for the whole."""

import pytest

from dagster_smt.transforms.kafka.extract_field import ExtractField
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
    Case("null", {"field": "a"}, "null", "null", touches=()),
    Case("an object comes as it is", {"field": "a"}, '{"a":{"b":[1.0]}}', '{"b":[1.0]}', touches=("a",)),
    Case("below null", {"field": "a.b", "field.syntax.version": "V2"}, '{"a":null}', "null", touches=()),
    Case("a field without a name", {"field": ""}, '{"":1}', "1"),
    refusal(
        "no object",
        {"field": "a"},
        "1",
        AT.format(
            "SMT408", "only an object can be used for [field extraction] without a schema, but this is java.lang.Long"
        ),
    ),
    refusal(
        "no object on the way",
        {"field": "a.b", "field.syntax.version": "V2"},
        '{"a":7}',
        AT.format(
            "SMT408",
            "only an object can be used for [nested field access] without a schema, but this is java.lang.Long",
        ),
    ),
    refusal(
        "an array on the way",
        {"field": "a.b", "field.syntax.version": "V2"},
        '{"a":[{"b":1}]}',
        AT.format(
            "SMT408",
            "only an object can be used for [nested field access] without a schema, but this is java.util.ArrayList",
        ),
    ),
    # with a schema
    Case(
        "a null value has the schema of the field",
        {"field": "a"},
        envelope("a:int8?", "null", optional=True),
        '{"schema":{"type":"int8","optional":true},"payload":null}',
        touches=(),
    ),
    Case(
        "a path in a schema",
        {"field": "s.x", "field.syntax.version": "V2"},
        envelope("s:{x:int8?;y:int8}", '{"s":{"x":1,"y":2}}'),
        '{"schema":{"type":"int8","optional":true},"payload":1}',
        touches=("s.x",),
    ),
    Case(
        "a struct comes with its schema",
        {"field": "s"},
        envelope("s:{x:int8}?", '{"s":{"x":1}}'),
        '{"schema":{"type":"struct","optional":true,"fields":[{"field":"x","type":"int8","optional":false}]},"payload":{"x":1}}',
    ),
    Case(
        "a Timestamp stays one",
        {"field": "t"},
        envelope("t:Timestamp?", '{"t":5}'),
        '{"schema":{"type":"int64","optional":true,"name":"org.apache.kafka.connect.data.Timestamp","version":1},"payload":5}',
    ),
    refusal(
        "a missing field of a null",
        {"field": "z"},
        envelope("a:int8", "null", optional=True),
        AT.format("SMT102", "there is no field 'z' for 'z'"),
    ),
    refusal(
        "no struct",
        {"field": "a"},
        '{"schema":{"type":"string"},"payload":"x"}',
        AT.format("SMT201", "only a struct can be used for [field extraction], but this is string"),
    ),
    refusal(
        "no struct on the way",
        {"field": "a.b", "field.syntax.version": "V2"},
        envelope("a:int8", '{"a":1}'),
        AT.format("SMT202", "'a' in 'a.b' is int8, not a struct"),
    ),
    refusal(
        "a path through a number, with one name in several places",
        {"field": "a.a.a", "field.syntax.version": "V2"},
        envelope("a:{a:int8}", '{"a":{"a":1}}'),
        AT.format("SMT202", "'a' in 'a.a.a' is int8, not a struct"),
    ),
    Case(
        "a name step into a map",
        {"field": "m.k", "field.syntax.version": "V2"},
        envelope("m:map<int8>", '{"m":{"k":1}}'),
        '{"schema":{"type":"int8","optional":true},"payload":1}',
    ),
    refusal(
        "a name step into a map, as in Kafka",
        {"field": "m.k", "field.syntax.version": "V2", "strict_paths": "kafka"},
        envelope("m:map<int8>", '{"m":{"k":1}}'),
        AT.format("SMT202", "'m' in 'm.k' is map<string,int8>, not a struct"),
    ),
    # the configuration
    refusal(
        "an empty path",
        {"field": "", "field.syntax.version": "V2"},
        "{}",
        "SMT014 transforms.t (ExtractField$Value) field: the path is empty",
    ),
    refusal(
        "another syntax",
        {"field": "a", "field.syntax.version": "V3"},
        "{}",
        "SMT013 transforms.t (ExtractField$Value) field.syntax.version: must be one of (in any case): V1, V2, extended",
    ),
    refusal("nothing", {}, "{}", "SMT012 transforms.t (ExtractField$Value): the option 'field' is missing"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_extract_field(case):
    check(ExtractField, case)
