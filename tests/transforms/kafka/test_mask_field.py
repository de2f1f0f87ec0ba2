"""MaskField: zeros and replacements."""

import pytest

from dagster_smt.transforms.kafka.mask_field import MaskField
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
        AT.format("SMT403", "the replacement is not a number, but the value is of type int64"),
    ),
    Case(
        "only values that are there are touched",
        {"fields": "a,b,c"},
        '{"a":1,"b":null}',
        '{"a":0,"b":null,"c":null}',
        touches=("a",),
    ),
    Case("an object", {"fields": "a"}, '{"a":{"b":1}}', '{"a":{}}'),
    Case("a name with a dot", {"fields": "a.b"}, '{"a":{"b":1}}', '{"a":{"b":1},"a.b":null}', touches=()),
    Case(
        "a path",
        {"fields": "a.b,`x.y`", "field.syntax.version": "V2"},
        '{"a":{"b":1,"c":2},"x.y":"z"}',
        '{"a":{"b":0,"c":2},"x.y":""}',
        touches=("a.b", "`x.y`"),
    ),
    Case(
        "a path through what is no object",
        {"fields": "a.b", "field.syntax.version": "V2"},
        '{"a":[{"b":1}]}',
        '{"a":[{"b":1}]}',
        touches=(),
    ),
    Case("an empty text is replaced too", {"fields": "a", "replacement": "x"}, '{"a":""}', '{"a":"x"}'),
    # with a schema
    Case(
        "a missing field stays missing",
        {"fields": "z"},
        envelope("a:int8", '{"a":1}'),
        envelope("a:int8", '{"a":1}'),
        touches=(),
    ),
    Case(
        "every type",
        {"fields": "b,i,f,s,d,t,n,l,m"},
        envelope(
            "b:boolean i:int8 f:float s:string d:Date t:Timestamp n:Decimal l:array<int8> m:map<int8>",
            '{"b":true,"i":1,"f":1.5,"s":"x","d":1,"t":1,"n":"AJw=","l":[1],"m":{"a":1}}',
        ),
        envelope(
            "b:boolean i:int8 f:float s:string d:Date t:Timestamp n:Decimal l:array<int8> m:map<int8>",
            '{"b":false,"i":0,"f":0.0,"s":"","d":0,"t":0,"n":"AA==","l":[],"m":{}}',
        ),
    ),
    Case(
        "numbers are cut to their width",
        {"fields": "a,b", "replacement": "300.9"},
        envelope("a:int8 b:int16", '{"a":1,"b":1}'),
        envelope("a:int8 b:int16", '{"a":44,"b":300}'),
    ),
    Case(
        "the schema stays",
        {"fields": "a"},
        envelope("a:int8", '{"a":1}', name="N", version=2, doc="d", optional=True),
        envelope("a:int8", '{"a":0}', name="N", version=2, doc="d", optional=True),
    ),
    Case(
        "a path in a schema",
        {"fields": "s.x", "field.syntax.version": "V2"},
        envelope("s:{x:string?;y:int8}?", '{"s":{"x":"a","y":2}}'),
        envelope("s:{x:string?;y:int8}?", '{"s":{"x":"","y":2}}'),
        touches=("s.x",),
    ),
    Case(
        "below a null struct",
        {"fields": "s.x", "field.syntax.version": "V2"},
        envelope("s:{x:string;y:int8}?", '{"s":null}'),
        envelope("s:{x:string;y:int8}?", '{"s":null}'),
        touches=(),
    ),
    refusal(
        "a struct",
        {"fields": "s"},
        envelope("s:{x:int8}", '{"s":{"x":1}}'),
        AT.format("SMT403", "a value of type struct cannot be masked"),
    ),
    Case(
        "a null struct",
        {"fields": "s"},
        envelope("s:{x:int8}?", '{"s":null}'),
        envelope("s:{x:int8}?", '{"s":null}'),
        touches=(),
    ),
    refusal(
        "bytes",
        {"fields": "a"},
        envelope("a:bytes", '{"a":"AQI="}'),
        AT.format("SMT403", "a value of type bytes cannot be masked"),
    ),
    refusal(
        "a truth",
        {"fields": "a", "replacement": "true"},
        '{"a":true}',
        AT.format("SMT403", "a value of type boolean cannot be masked with a replacement"),
    ),
    refusal(
        "no struct",
        {"fields": "a"},
        '{"schema":{"type":"string"},"payload":"x"}',
        AT.format("SMT201", "only a struct can be used for [mask fields], but this is string"),
    ),
    refusal(
        "no object",
        {"fields": "a"},
        '"x"',
        AT.format(
            "SMT408", "only an object can be used for [mask fields] without a schema, but this is java.lang.String"
        ),
    ),
    refusal(
        "a null struct of a schema",
        {"fields": "a"},
        envelope("a:int8", "null", optional=True),
        AT.format("SMT402", "a null key or value cannot be used for [mask fields]"),
    ),
    refusal(
        "a name step into a map, as in Kafka",
        {"fields": "m.k", "field.syntax.version": "V2", "strict_paths": "kafka"},
        envelope("m:map<int8>", '{"m":{"k":1}}'),
        AT.format("SMT202", "'k' is a step into a map"),
    ),
    # the configuration
    *(
        refusal(
            f"{option}={text}",
            {"fields": "a", option: text},
            "{}",
            f"{code} transforms.t (MaskField$Value) {option}: {what}",
        )
        for option, text, code, what in (
            ("fields", "", "SMT013", "the list is empty"),
            ("fields", "a,,b", "SMT013", "the list has an empty item"),
            ("fields", "a,a", "SMT013", "the list has an item twice"),
            ("replacement", " ", "SMT013", "the text is empty"),
            ("field.syntax.version", "V3", "SMT013", "must be one of (in any case): V1, V2, extended"),
            ("replace.null.with.default", "yes", "SMT013", "expected true or false"),
        )
    ),
    refusal(
        "a broken path",
        {"fields": "a.`b", "field.syntax.version": "V2"},
        "{}",
        "SMT014 transforms.t (MaskField$Value) fields: incomplete backtick pair in path 'a.`b' at position 2",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_mask_field(case):
    check(MaskField, case)
