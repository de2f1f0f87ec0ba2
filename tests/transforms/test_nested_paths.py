"""Nested paths where the reference's tables do not reach: schemas around a change, refusals, what a plan tells."""

import pytest

from dagster_smt.authoring.bundles import NestedPaths
from dagster_smt.authoring.transform import Transform
from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.explain import explain
from dagster_smt.chain.plugins import own
from dagster_smt.errors import ConfigError, PlanError
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Schema, Type, optional, timestamp
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.transforms.aiven.concat_fields import ConcatFields
from dagster_smt.transforms.kafka.cast import Cast
from dagster_smt.transforms.kafka.extract_field import ExtractField
from dagster_smt.transforms.kafka.header_from import HeaderFrom
from dagster_smt.transforms.kafka.hoist_field import HoistField
from dagster_smt.transforms.kafka.insert_field import InsertField
from dagster_smt.transforms.kafka.mask_field import MaskField
from dagster_smt.transforms.kafka.replace_field import ReplaceField
from dagster_smt.transforms.kafka.timestamp_converter import TimestampConverter
from dagster_smt.transforms.kafka.value_to_key import ValueToKey
from tests.transforms.helpers import Case, chain_of, check, envelope, record_of, refusal

V2 = {"field.syntax.version": "V2"}
EXT = {"field.syntax.version": "extended"}
AT = "{} transforms.t ({}$Value): {}"
TEXT = optional(Schema(Type.STRING))


def row(cls, *args, **more):
    return pytest.param(cls, Case(*args, **more), id=f"{cls.__name__} {args[0]}")


def refused(cls, title, options, before, problem):
    return pytest.param(cls, refusal(title, options, before, problem), id=f"{cls.__name__} {title}")


NULL_PARENT = envelope("a:{b:string;c:int8?}? d:int8", '{"a":null,"d":1}')

WITH_SCHEMA = [
    row(
        Cast,
        "a name before a scan",
        {"spec": "a:int8,**.a:string"} | EXT,
        envelope("a:int32", '{"a":300}'),
        envelope("a:string", '{"a":"44"}'),
    ),
    row(MaskField, "a null parent", {"fields": "a.b"} | V2, NULL_PARENT, NULL_PARENT),
    row(
        Cast,
        "a null parent",
        {"spec": "a.b:int8"} | V2,
        NULL_PARENT,
        envelope("a:{b:int8;c:int8?}? d:int8", '{"a":null,"d":1}'),
    ),
    row(
        ReplaceField,
        "a null parent",
        {"exclude": "a.c", "renames": "a.b:x"} | V2,
        NULL_PARENT,
        envelope("a:{x:string}? d:int8", '{"a":null,"d":1}'),
    ),
    row(
        InsertField,
        "a null parent",
        {"static.field": "a.e", "static.value": "v"} | V2,
        NULL_PARENT,
        envelope("a:{b:string;c:int8?;e:string?}? d:int8", '{"a":null,"d":1}'),
    ),
    row(
        ExtractField,
        "a null parent",
        {"field": "a.c"} | V2,
        NULL_PARENT,
        '{"schema":{"type":"int8","optional":true},"payload":null}',
    ),
    row(
        ExtractField,
        "an element",
        {"field": "a[1]"} | EXT,
        envelope("a:array<string>", '{"a":["x","y"]}'),
        '{"schema":{"type":"string","optional":true},"payload":"y"}',
    ),
    row(
        ExtractField,
        "the value under a key that is not there",
        {"field": "m.zz"} | V2,
        envelope("m:map<string>", '{"m":{"a":"x"}}'),
        '{"schema":{"type":"string","optional":true},"payload":null}',
    ),
    row(
        Cast,
        "every value of a map",
        {"spec": "m[*]:int8"} | EXT,
        envelope("m:map<string>?", '{"m":{"a":"1","b":"2"}}'),
        envelope("m:map<int8>?", '{"m":{"a":1,"b":2}}'),
    ),
    row(
        Cast,
        "a deep scan that comes by a map",
        {"spec": "**.n:int8"} | EXT,
        envelope("n:string m:map<string>", '{"n":"1","m":{"n":"2"}}'),
        envelope("n:int8 m:map<string>", '{"n":1,"m":{"n":"2"}}'),
    ),
    row(
        MaskField,
        "a deep scan that comes by a map",
        {"fields": "**.n"} | EXT,
        envelope("n:string m:map<string>", '{"n":"1","m":{"n":"2","k":"3"}}'),
        envelope("n:string m:map<string>", '{"n":"","m":{"n":"","k":"3"}}'),
    ),
    row(
        ReplaceField,
        "a key of a map",
        {"renames": "m.a:b", "exclude": "m.c"} | V2,
        envelope("m:map<int8>", '{"m":{"a":1,"b":2,"c":3}}'),
        envelope("m:map<int8>", '{"m":{"b":1}}'),
    ),
    row(
        ReplaceField,
        "keys of a map by a pattern",
        {"include": "m./^a/", "renames": "m./^a_(.*)$/:$1"} | EXT,
        envelope("m:map<int8>", '{"m":{"a_b":1,"ax":2,"c":3}}'),
        envelope("m:map<int8>", '{"m":{"b":1,"ax":2}}'),
    ),
    row(
        TimestampConverter,
        "all timestamps",
        {"fields": "**.logical(Timestamp)", "target.type": "unix"} | EXT,
        envelope("a:Timestamp b:array<Timestamp> c:int64", '{"a":1,"b":[2],"c":3}'),
        envelope("a:int64 b:array<int64> c:int64", '{"a":1,"b":[2],"c":3}'),
    ),
    row(
        Cast,
        "all decimals",
        {"spec": "**.logical(Decimal):string"} | EXT,
        envelope("a:Decimal b:{c:Decimal?}", '{"a":"ew==","b":{"c":null}}'),
        envelope("a:string b:{c:string?}", '{"a":"1.23","b":{"c":null}}'),
    ),
    refused(
        Cast,
        "one key of a map",
        {"spec": "m.a:int8"} | V2,
        envelope("m:map<string>", '{"m":{"a":"1"}}'),
        AT.format("SMT225", "Cast", "the elements of map<string,string> have one schema: it cannot change for a alone"),
    ),
    refused(
        HoistField,
        "the value under a key",
        {"hoisted": "m.a", "field": "w"} | V2,
        envelope("m:map<string>", '{"m":{"a":"1"}}'),
        AT.format("SMT226", "HoistField", "the value under a key of a map cannot be wrapped alone"),
    ),
    refused(
        HeaderFrom,
        "a missing nested field",
        {"fields": "a.z", "headers": "h", "operation": "copy"} | V2,
        envelope("a:{b:int8}", '{"a":{"b":1}}'),
        AT.format("SMT102", "HeaderFrom", "there is no field 'z' for 'a.z'"),
    ),
    refused(
        ExtractField,
        "an element of no array",
        {"field": "a[0]"} | EXT,
        envelope("a:int8", '{"a":1}'),
        AT.format("SMT202", "ExtractField", "'a' in 'a[0]' is int8, not a struct"),
    ),
    refused(
        TimestampConverter,
        "an element that is no timestamp",
        {"field": "a[*]", "target.type": "unix"} | EXT,
        envelope("a:array<boolean>", '{"a":[true]}'),
        AT.format("SMT211", "TimestampConverter", "boolean is not a timestamp"),
    ),
]

WITHOUT_SCHEMA = [
    row(
        HeaderFrom,
        "a missing nested field is a null header",
        {"fields": "a.z,a.b", "headers": "z,b", "operation": "move"} | V2,
        '{"a":{"b":1}}',
        '[{"key":"z","value":null},{"key":"b","value":1}]',
        shows="headers",
        input_part="value",
    ),
    row(
        HeaderFrom,
        "what is moved out of a struct",
        {"fields": "a.b", "headers": "b", "operation": "move"} | V2,
        '{"a":{"b":1}}',
        '{"a":{}}',
    ),
    row(
        ValueToKey,
        "fields are named by the end of their paths",
        {"fields": "a.id,b[0].`x.y`,c"} | EXT,
        '{"a":{"id":1},"b":[{"x.y":2}]}',
        '{"id":1,"x.y":2,"c":null}',
        shows="key",
        input_part="value",
    ),
    row(ReplaceField, "the last element", {"exclude": "a[-1]"} | EXT, '{"a":[1,2]}', '{"a":[1]}'),
    row(ReplaceField, "one element named twice", {"exclude": "a[-1],a[1]"} | EXT, '{"a":[1,2]}', '{"a":[1]}'),
    row(
        ReplaceField,
        "included by a deep scan",
        {"include": "**.id"} | EXT,
        '{"id":1,"a":[{"id":2,"x":3},{"x":4},"s",null,[5]],"b":{"c":1}}',
        '{"id":1,"a":[{"id":2},{},null,[]]}',
    ),
    row(
        ReplaceField,
        "a quoted new name",
        {"renames": "a.b:`c,d:e`"} | V2,
        '{"a":{"b":1}}',
        '{"a":{"c,d:e":1}}',
    ),
    row(Cast, "a name with a colon", {"spec": "`a:b`.c:int8"} | V2, '{"a:b":{"c":"1"}}', '{"a:b":{"c":1}}'),
    row(
        MaskField, "a name with a comma", {"fields": "`a,b`.c,d"} | V2, '{"a,b":{"c":"x"}}', '{"a,b":{"c":""},"d":null}'
    ),
    row(
        MaskField,
        "paths that overlap",
        {"fields": "**.b,a.b,a"} | EXT,
        '{"a":{"b":"x"},"c":[{"b":"y"}]}',
        '{"a":{},"c":[{"b":""}]}',
        touches=("**.b", "a.b", "a"),
    ),
    row(Cast, "a name before a scan", {"spec": "a:int8,**.a:string"} | EXT, '{"a":300}', '{"a":"44"}'),
    row(Cast, "a scan before a name", {"spec": "**./^a/:int8,b.a:string"} | EXT, '{"b":{"a":300}}', '{"b":{"a":"44"}}'),
    row(
        MaskField,
        "a name inside what a scan matches",
        {"fields": "**.a,o.a.b"} | EXT,
        '{"o":{"a":{"b":"x"}}}',
        '{"o":{"a":{}}}',
        touches=("**.a", "o.a.b"),
    ),
    row(
        TimestampConverter,
        "several fields",
        {"field": "a,b.c", "target.type": "string", "format": "yyyy"} | EXT,
        '{"a":0,"b":{"c":0},"d":0}',
        '{"a":"1970","b":{"c":"1970"},"d":0}',
    ),
    row(
        TimestampConverter,
        "several fields under V1",
        {"fields": "a,b.c", "target.type": "string", "format": "yyyy"},
        '{"a":0,"b.c":0}',
        '{"a":"1970","b.c":"1970"}',
    ),
    row(
        HoistField,
        "in every element",
        {"hoisted": "a[*].b", "field": "w"} | EXT,
        '{"a":[{"b":1},{"c":2}]}',
        '{"a":[{"w":{"b":1}},{"c":2}]}',
    ),
]


@pytest.mark.parametrize(("cls", "case"), WITH_SCHEMA)
def test_with_a_schema(cls, case):
    check(cls, case)


@pytest.mark.parametrize(("cls", "case"), WITHOUT_SCHEMA)
def test_without_a_schema(cls, case):
    check(cls, case)


MANY = "'{}' can match many fields, but the option needs one value"
CONFIGURATIONS = [
    (ExtractField, {"field": "**.id"} | EXT, "field", MANY.format("**.id")),
    (ValueToKey, {"fields": "id,items[*].sku"} | EXT, "fields", MANY.format("items[*].sku")),
    (HeaderFrom, {"fields": "/x/", "headers": "h", "operation": "copy"} | EXT, "fields", MANY.format("/x/")),
    (ValueToKey, {"fields": "a.id,b.id"} | V2, "fields", "'a.id' and 'b.id' would both be named 'id'"),
    (InsertField, {"topic.field": "a[0].t"} | EXT, "topic.field", "'a[0].t' has steps that are not names"),
    (
        InsertField,
        {"topic.field": "t", "field.on.existing.field": "ignore"},
        "field.on.existing.field",
        "has no effect under V1",
    ),
    (ReplaceField, {"include": "a[0].b"} | EXT, "include", "'a[0].b' would keep single elements of an array"),
    (ReplaceField, {"renames": "a[*]:b"} | EXT, "renames", "'a[*]' does not end with a name"),
    (ReplaceField, {"renames": "a.b:`c`.d"} | V2, "renames", "the new name '`c`.d' is a path"),
    (HoistField, {"hoisted": "a[*]", "field": "w"} | EXT, "hoisted", "'a[*]' does not end with a name"),
    (MaskField, {"fields": "/(/"} | EXT, "fields", "the regular expression '(' cannot be used: missing )"),
    (TimestampConverter, {"field": "a", "fields": "b", "target.type": "unix"}, "fields", "is set, and so is field"),
    (MaskField, {"fields": "a.`b,c"} | V2, "fields", "incomplete backtick pair in path 'a.`b,c' at position 2"),
]


@pytest.mark.parametrize(("cls", "options", "option", "statement"), CONFIGURATIONS, ids=lambda x: str(x)[:40])
def test_a_configuration_that_cannot_work_is_refused(cls, options, option, statement):
    with pytest.raises(ConfigError) as caught:
        chain_of(cls, options)
    side = "$Value" if cls.sided else ""
    assert [(p.code, p.place, p.statement) for p in caught.value.problems] == [
        ("SMT014", f"transforms.t ({cls.__name__}{side}) {option}", statement)
    ]
    assert caught.value.problems[0].hint or "regular" in statement


@pytest.mark.parametrize(
    "cls", [cls for cls in own(Transform) if issubclass(cls, NestedPaths)], ids=lambda c: c.__name__
)
def test_the_words_for_the_syntax_are_the_same_everywhere(cls):
    options = cls.examples[0].options
    for version in ("V1", "v2", " Extended "):
        assert chain_of(cls, options | {"field.syntax.version": version})
    with pytest.raises(ConfigError, match="must be one of \\(in any case\\): V1, V2, extended"):
        chain_of(cls, options | {"field.syntax.version": "V3"})


def test_lists_are_written_back_as_they_were_read():
    options = {"include": "`a,b`.c,d", "renames": "`a,b`.c:`x:y`"} | V2
    chain = chain_of(ReplaceField, options)
    assert {k: v for k, v in chain.properties.items() if k.endswith(("include", "renames"))} == {
        "transforms.t.include": "`a,b`.c,d",
        "transforms.t.renames": "`a,b`.c:`x:y`",
    }
    assert parse_chain(chain.to_stages()).properties == chain.properties
    with pytest.raises(ConfigError, match="has a comma"):
        parse_chain([{"alias": "t", "type": "MaskField$Value", "options": {"fields": ["a,b"]} | V2}])


DESCRIBED = Schema(
    Type.STRUCT,
    True,
    "org.example.Inner",
    3,
    "what it is",
    (("k", "v"),),
    {"b": "1", "c": 2},
    (("b", TEXT), ("c", optional(Schema(Type.INT64)))),
)
OUTER = Schema(Type.STRUCT, fields=(("a", DESCRIBED), ("d", TEXT)))


@pytest.mark.parametrize(
    ("stage", "fields", "default"),
    [
        ({"type": "MaskField$Value", "options": {"fields": "a.b"} | V2}, DESCRIBED.fields, {"b": "1", "c": 2}),
        (
            {"type": "Cast$Value", "options": {"spec": "a.b:int8"} | V2},
            (("b", optional(Schema(Type.INT8))), DESCRIBED.fields[1]),
            {"b": 1, "c": 2},
        ),
        ({"type": "ReplaceField$Value", "options": {"exclude": "a.b"} | V2}, DESCRIBED.fields[1:], {"c": 2}),
        (
            {"type": "ReplaceField$Value", "options": {"renames": "a.b:x"} | V2},
            (("x", TEXT), DESCRIBED.fields[1]),
            {"x": "1", "c": 2},
        ),
        (
            {"type": "TimestampConverter$Value", "options": {"field": "a.c", "target.type": "Timestamp"} | V2},
            (DESCRIBED.fields[0], ("c", timestamp(optional=True))),
            {"b": "1", "c": 2},
        ),
    ],
    ids=lambda x: x["type"] if isinstance(x, dict) and "type" in x else "",
)
def test_a_rebuilt_struct_keeps_what_describes_it(stage, fields, default):
    plan = plan_chain(parse_chain([{"alias": "t", **stage}]), None, OUTER, typed=True)
    assert plan.after.by_name["a"] == DESCRIBED.with_(fields=fields, default=default)


def test_a_default_that_cannot_follow_is_refused():
    schema = OUTER.with_(fields=(("a", DESCRIBED.with_(default={"b": "x", "c": 2})),))
    with pytest.raises(PlanError, match=r"SMT205 .*: the default value cannot be changed: 'a.b' is a string"):
        plan_chain(chain_of(Cast, {"spec": "a.b:int8"} | V2), None, schema, typed=True)


ABOVE = {"q": {"r": "a"}, "x": 1}
INNER = optional(Schema(Type.STRUCT, fields=(("r", TEXT),)))
AROUND = Schema(Type.STRUCT, True, default=ABOVE, fields=(("q", INNER), ("x", Schema(Type.INT32))))
NESTED = Schema(Type.STRUCT, fields=(("p", AROUND),))


@pytest.mark.parametrize(
    ("cls", "options", "after"),
    [
        (MaskField, {"fields": "p.q.r"}, {"q": {"r": ""}, "x": 1}),
        (Cast, {"spec": "p.q.r:boolean"}, {"q": {"r": False}, "x": 1}),
        (ReplaceField, {"renames": "p.q.r:z"}, {"q": {"z": "a"}, "x": 1}),
        (HoistField, {"hoisted": "p.q.r", "field": "w"}, {"q": {"w": {"r": "a"}}, "x": 1}),
        (InsertField, {"topic.field": "p.q.t"}, {"q": {"r": "a", "t": "orders"}, "x": 1}),
    ],
)
def test_a_struct_inside_a_struct_with_a_default_is_changed_too(cls, options, after):
    """A null struct becomes its default, and the change applies to what the default has inside."""
    chain = chain_of(cls, options | V2)
    for before, expected in ((None, after), ({"q": None, "x": 2}, {"q": None, "x": 2})):
        record = Record("orders", value_schema=NESTED, value={"p": before})
        assert Interpreter(chain).run(record).status == 0
        assert record.value == {"p": expected}


def test_the_text_of_a_struct_has_what_its_default_has_inside():
    record = Record("orders", value_schema=NESTED, value={"p": None})
    chain = chain_of(ConcatFields, {"field.names": "p", "output.field.name": "o", "delimiter": "-"})
    assert Interpreter(chain).run(record).status == 0
    assert record.value["o"] == "Struct{q=Struct{r=a},x=1}"


def test_a_null_inside_a_default_stays_a_null():
    around = AROUND.with_(default={"q": None, "x": 1})
    schema = Schema(Type.STRUCT, fields=(("p", around),))
    plan = plan_chain(chain_of(Cast, {"spec": "p.q.r:boolean"} | V2), None, schema, typed=True)
    assert plan.after.by_name["p"].default == {"q": None, "x": 1}


ITEMS = parse_ddl(
    "id BIGINT, email STRING, at TIMESTAMP, user STRUCT<email: STRING, mails: ARRAY<STRING>>, "
    "items ARRAY<STRUCT<sku: STRING, seller: STRUCT<email: STRING>>>, attrs MAP<STRING, STRING>"
)


def plan_of(*stages):
    results = [{"alias": f"s{n}", "type": t, "options": o | EXT} for n, (t, o) in enumerate(stages)]
    return plan_chain(parse_chain(results), None, ITEMS, typed=True)


def test_the_ledger_and_explain_list_what_a_pattern_matches():
    plan = plan_of(("MaskField$Value", {"fields": "**.email,id,**./^mail/"}))
    matched = ("email", "user.email", "items[*].seller.email", "attrs.email")
    assert [e.matched for e in plan.entries] == [matched, (), ("user.mails", "attrs./^mail/")]
    lines = explain(plan).splitlines()
    first = lines.index("  masked **.email")
    assert lines[first + 1 : first + 5] == [f"    {field}" for field in matched]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("**.emial", "the nearest names are: email, mails"),
        ("user.mial", "the nearest names are: mails, email"),
        ("items[*].sko", "did you mean 'sku'?"),
        ("**./^emial$/", "the nearest names are: email, mails"),
        ("items[*].seller.logical(Date)", "check the name; the stage changes nothing there"),
        ("id.x", "check the name; the stage changes nothing there"),
        ("id[0]", "check the name; the stage changes nothing there"),
    ],
)
def test_a_path_that_leads_nowhere_is_a_warning_with_the_nearest_names(path, hint):
    schema = ITEMS.with_(fields=tuple(f for f in ITEMS.fields if f[0] != "attrs"))
    chain = chain_of(MaskField, {"fields": path} | EXT)
    (warning,) = plan_chain(chain, None, schema, typed=True).warnings
    assert (warning.code, warning.statement, warning.hint) == ("SMT303", f"no record can have the field '{path}'", hint)


def test_lineage_and_masks_reach_into_arrays_and_maps():
    plan = plan_of(
        ("MaskField$Value", {"fields": "items[*].seller.email,attrs['email'],user.mails[0]"}),
        ("ReplaceField$Value", {"renames": "items[*].sku:code"}),
        ("ExtractField$Value", {"field": "user"}),
    )
    assert plan.masked == {"mails[0]"}
    plan = plan_of(
        ("MaskField$Value", {"fields": "items[*].seller.email,attrs['email'],user.mails[0]"}),
        ("ReplaceField$Value", {"renames": "items[*].sku:code"}),
    )
    assert plan.masked == {"items[].seller.email", "attrs.email", "user.mails[0]"}
    assert plan.lineage["items[].code"] == ("value.items[].sku",)
    assert plan.lineage["items[].seller.email"] == ("value.items[].seller.email",)


def test_touches_inside_arrays_are_counted_per_record():
    chain = chain_of(MaskField, {"fields": "items[*].sku,attrs.a,items[1].sku"} | EXT)
    interpreter = Interpreter(chain)
    touched = []
    for payload in ({"items": [{"sku": None}, None]}, {"items": [{"sku": "x"}]}, {"items": None, "attrs": {"a": "y"}}):
        record = Record("t", value_schema=ITEMS, value=payload)
        interpreter.run(record)
        touched.append(record.touched)
    assert touched == [0, 1, 2]


def test_a_chain_changes_elements_again_and_again():
    stages = [
        ("Cast$Value", {"spec": "items[*].n:string"}),
        ("ReplaceField$Value", {"renames": "items[*].n:m"}),
        ("HoistField$Value", {"hoisted": "items[*].m", "field": "w"}),
        ("MaskField$Value", {"fields": "items[*].w.m", "replacement": "*"}),
    ]
    results = [{"alias": f"s{n}", "type": t, "options": o | EXT} for n, (t, o) in enumerate(stages)]
    record = record_of(envelope("items:array<{n:int8;k:int8}>", '{"items":[{"n":1,"k":2}]}'))
    assert Interpreter(parse_chain(results)).run(record).problem is None
    assert record.value == {"items": [{"w": {"m": "*"}, "k": 2}]}
