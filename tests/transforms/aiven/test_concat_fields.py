"""ConcatFields: fields as one text. The sources are Aiven's ConcatFieldsTest and the class."""

import json

import pytest

from dagster_smt.transforms.aiven.concat_fields import ConcatFields
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (ConcatFields$Value): {}"
ALL = {"field.names": "test,foo,bar,age", "output.field.name": "combined", "delimiter": "-"}
STAR = ALL | {"field.replace.missing": "*"}
NULL = AT.format("SMT402", "a null key or value cannot be used for [join fields]")
NEW = " combined:string?"


def one(name):
    return {"field.names": name, "output.field.name": "o"}


def typed(title, options, fields, before, after, output=NEW, **top):
    """A row with a schema: ``after`` has the new field, too."""
    return Case(title, options, envelope(fields, before, **top), envelope(fields + output, after))


FIELDS = "bar:string test:string? age:int64? foo:boolean?"
CASES = (
    # ConcatFieldsTest
    refusal("no struct", STAR, '{"schema":{"type":"int8"},"payload":123}',
            AT.format("SMT201", "only a struct can be used for [join fields], but this is int8")),
    refusal("a null", STAR, "null", NULL),
    refusal("a null with a schema", STAR, envelope(FIELDS, "null", optional=True), NULL),
    Case("all is missing", STAR, "{}", '{"combined":"*-*-*-*"}', touches=("combined",)),
    Case("fields", STAR, '{"bar":"Baz","age":100,"foo":false}',
         '{"bar":"Baz","age":100,"foo":false,"combined":"*-false-Baz-100"}'),
    Case("one is missing", STAR, '{"test":"t","bar":"Baz","age":100}',
         '{"test":"t","bar":"Baz","age":100,"combined":"t-*-Baz-100"}'),
    typed("with a schema", STAR, FIELDS, '{"bar":"Baz","test":"t","age":100,"foo":null}',
          '{"bar":"Baz","test":"t","age":100,"foo":null,"combined":"t-*-Baz-100"}'),
    Case("the key", one("a"), '{"a":1}', '{"a":1,"o":"1"}', shows="key", side="Key"),
    refusal("nothing", {}, "null",
            "SMT012 transforms.t (ConcatFields$Value): the option 'field.names' is missing"),
    refusal("no name", {"field.names": "", "output.field.name": ""}, "null",
            "SMT013 transforms.t (ConcatFields$Value) output.field.name: the text is empty"),
    # ConcatFields
    refusal("no object", STAR, "1", AT.format(
        "SMT408", "only an object can be used for [join fields] without a schema, but this is java.lang.Long")),
    Case("no fields to join", one(""), '{"a":1}', '{"a":1,"o":""}'),
    Case("a field of the name is overwritten", {"field.names": "a", "output.field.name": "a"}, '{"a":1}', '{"a":"1"}'),
    refusal("a field of the name, with a schema", {"field.names": "a", "output.field.name": "a"},
            envelope("a:int8", '{"a":1}'), AT.format("SMT110", "field 'a' exists already")),
    typed("name and doc are lost", one("a"), "a:int8", '{"a":1}', '{"a":1,"o":"1"}', " o:string?", name="x.Y", doc="d",
          optional=True),
    Case("a field twice", one("a,a"), '{"a":1}', '{"a":1,"o":"11"}'),
    Case("a delimiter of blanks is none", one("a,a") | {"delimiter": " "}, '{"a":1}', '{"a":1,"o":"11"}'),
    Case("a dot is part of the name", one("a.b"), '{"a.b":1,"a":{"b":2}}', '{"a.b":1,"a":{"b":2},"o":"1"}'),
    Case("a default", one("a"), envelope("a:int8?=3", '{"a":null}'),
         envelope("a:int8?=3 o:string?", '{"a":3,"o":"3"}')),
    # toString
    *(Case(f"without a schema: {text}", one("a"), f'{{"a":{value}}}', f'{{"a":{value},"o":{json.dumps(text)}}}')
      for value, text in (("1.0", "1.0"), ("10000000.0", "1.0E7"), ("true", "true"), ('[1,"b",null]', "[1, b, null]"),
                          ('{"k":{"l":1.5}}', "{k={l=1.5}}"), ('"x"', "x"))),
    *(typed(f"{kind}: {text}", one("a"), f"a:{kind}", f'{{"a":{value}}}', f'{{"a":{value},"o":{json.dumps(text)}}}',
            " o:string?")
      for kind, value, text in (
          ("int8", "1", "1"), ("float", "0.1", "0.1"), ("double", "1e10", "1.0E10"), ("boolean", "false", "false"),
          ("Timestamp", "11363151277", "Tue May 12 12:25:51 UTC 1970"), ("Date", "1", "Fri Jan 02 00:00:00 UTC 1970"),
          ("Decimal", '"AQ=="', "0.01"), ("array<string>", '["x","y"]', "[x, y]"), ("map<int8>", '{"k":1}', "{k=1}"),
          ("{b:int8;c:string?}", '{"b":1,"c":null}', "Struct{b=1}"))),
    typed("a null struct", one("a") | {"field.replace.missing": "*"}, "a:{b:int8}?", '{"a":null}', '{"a":null,"o":"*"}',
          " o:string?"),
    # ours: the text of bytes is an address
    refusal("bytes", one("a"), envelope("a:bytes", '{"a":"AQ=="}'), AT.format(
        "SMT455", "the field 'a' is bytes: bytes do not have the same text in every run")),
    typed("no bytes", one("a"), "a:bytes?", '{"a":null}', '{"a":null,"o":""}', " o:string?"),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_concat_fields(case):
    check(ConcatFields, case)
