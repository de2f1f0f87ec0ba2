"""Cast: fields or the whole."""

import pytest

from dagster_smt.transforms.kafka.cast import Cast
from tests.transforms.helpers import Case, check, envelope, refusal

TYPES = "int8, int16, int32, int64, float32, float64, boolean, string"
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
        "no number",
        {"spec": "a:int8"},
        '{"a":" 42 "}',
        AT.format("SMT404", "'a' is a string that is not a valid int8, or is out of range"),
    ),
    refusal("a list", {"spec": "int8"}, "[1]", AT.format("SMT204", "a value of type array cannot be cast")),
    # schemaless
    Case(
        "only values that are there are touched",
        {"spec": "a:int8,b:int8,c:int8"},
        '{"a":1,"b":null}',
        '{"a":1,"b":null,"c":null}',
        touches=("a",),
    ),
    Case("the last of two types wins", {"spec": "a:int8,a:string"}, '{"a":300}', '{"a":"300"}'),
    Case("a field without a name", {"spec": ":INT8"}, '{"":"1"}', '{"":1}'),
    Case("a name with a dot", {"spec": "a.b:string"}, '{"a.b":1,"a":{"b":1}}', '{"a.b":"1","a":{"b":1}}'),
    Case(
        "a path",
        {"spec": "a.b:string", "field.syntax.version": "V2"},
        '{"a.b":1,"a":{"b":1}}',
        '{"a.b":1,"a":{"b":"1"}}',
    ),
    Case("no number is a text in JSON", {"spec": "float64"}, '"NaN"', '"NaN"', touches=("(whole)",)),
    Case("what the next stage would see is the type", {"spec": "int8"}, "200", "-56"),
    refusal("an object", {"spec": "a:string"}, '{"a":{}}', AT.format("SMT204", "a value of type map cannot be cast")),
    refusal(
        "no object",
        {"spec": "a:int8"},
        "7",
        AT.format("SMT408", "only an object can be used for [cast types] without a schema, but this is java.lang.Long"),
    ),
    # with a schema
    Case(
        "a missing field stays missing",
        {"spec": "z:int8"},
        envelope("a:int8", '{"a":1}'),
        envelope("a:int8", '{"a":1}'),
        touches=(),
    ),
    Case(
        "a null field",
        {"spec": "a:string"},
        envelope("a:int32?", '{"a":null}'),
        envelope("a:string?", '{"a":null}'),
        touches=(),
    ),
    Case("bytes", {"spec": "a:string"}, envelope("a:bytes", '{"a":"AQI="}'), envelope("a:string", '{"a":"AQI="}')),
    Case(
        "a Timestamp",
        {"spec": "a:string"},
        envelope("a:Timestamp", '{"a":1556150400000}'),
        envelope("a:string", '{"a":"2019-04-25"}'),
    ),
    Case("a Date is days", {"spec": "a:int64"}, envelope("a:Date", '{"a":300}'), envelope("a:int64", '{"a":300}')),
    Case(
        "a Time is milliseconds",
        {"spec": "a:int32"},
        envelope("a:Time", '{"a":1234}'),
        envelope("a:int32", '{"a":1234}'),
    ),
    Case(
        "a Decimal", {"spec": "a:string"}, envelope("a:Decimal", '{"a":"AJw="}'), envelope("a:string", '{"a":"1.56"}')
    ),
    Case(
        "the schema of the whole keeps its name",
        {"spec": "int8"},
        '{"schema":{"type":"string","name":"N","optional":true,"default":"5"},"payload":"7"}',
        '{"schema":{"type":"int8","name":"N","optional":true,"default":5},"payload":7}',
    ),
    Case(
        "the struct keeps its own",
        {"spec": "a:int8"},
        envelope("a:int64", '{"a":1}', name="N", version=2, optional=True),
        envelope("a:int8", '{"a":1}', name="N", version=2, optional=True),
    ),
    Case(
        "a null struct keeps its fields",
        {"spec": "a:int8"},
        envelope("a:int64", "null", optional=True),
        envelope("a:int64", "null", optional=True),
        touches=(),
    ),
    Case(
        "a path in a schema",
        {"spec": "s.x:string", "field.syntax.version": "v2"},
        envelope("s:{x:int8;y:int8}?", '{"s":{"x":1,"y":2}}'),
        envelope("s:{x:string;y:int8}?", '{"s":{"x":"1","y":2}}'),
        touches=("s.x",),
    ),
    refusal(
        "a default that is no number",
        {"spec": "a:int8"},
        envelope('a:string="x"', '{"a":"1"}'),
        AT.format(
            "SMT404", "the default value cannot be cast: 'a' is a string that is not a valid int8, or is out of range"
        ),
    ),
    refusal(
        "a struct",
        {"spec": "s:string"},
        envelope("s:{x:int8}", '{"s":{"x":1}}'),
        AT.format("SMT204", "a value of type struct cannot be cast"),
    ),
    refusal(
        "bytes as a number",
        {"spec": "a:int8"},
        envelope("a:bytes", '{"a":"AQI="}'),
        AT.format("SMT405", "'a' holds bytes, which cannot be cast to int8"),
    ),
    refusal(
        "no struct",
        {"spec": "a:int8"},
        '{"schema":{"type":"string"},"payload":"7"}',
        AT.format("SMT201", "only a struct can be used for [cast types], but this is string"),
    ),
    refusal(
        "a name step into a map, as in Kafka",
        {"spec": "m.k:int8", "field.syntax.version": "V2", "strict_paths": "kafka"},
        envelope("m:map<int8>", '{"m":{"k":1}}'),
        AT.format("SMT202", "'k' is a step into a map"),
    ),
    # the configuration
    *(
        refusal(f"spec={spec}", {"spec": spec}, "{}", f"SMT013 transforms.t (Cast$Value) spec: {what}")
        for spec, what in (
            ("", "the list is empty; it needs at least one field or type"),
            ("a:int8,int32", "a type for the whole value must be the only item"),
            ("int8,int32", "a type for the whole value must be the only item"),
            ("a:b:int8", "'a:b:int8' is not a pair of the form field:type"),
            ("bytes", f"'bytes' is not a target type; there are {TYPES}"),
            ("a:int8,", f"'' is not a target type; there are {TYPES}"),
            ("a:", f"'a' is not a target type; there are {TYPES}"),
        )
    ),
    refusal("nothing", {}, "{}", "SMT012 transforms.t (Cast$Value): the option 'spec' is missing"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_cast(case):
    check(Cast, case)
