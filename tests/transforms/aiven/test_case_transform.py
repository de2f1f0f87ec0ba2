"""CaseTransform: upper and lower case. The sources are Aiven's CaseTransformTest and the class."""

import pytest

from dagster_smt.transforms.aiven.case_transform import CaseTransform
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (CaseTransform$Value): {}"
NULL = AT.format("SMT402", "a null key or value cannot be used for [change the case of fields]")


def to(case, names):
    return {"case": case, "field.names": names}


def both(title, options, before, after, fields):
    yield Case(title, options, before, after)
    yield Case(f"{title}, with a schema", options, envelope(fields, before), envelope(fields, after))


MAP = '{"schema":{"type":"map","keys":{"type":"string"},"values":{"type":"string","optional":true}},"payload":%s}'
TEXTS = "a:string? b:string? c:string?"
CASES = (
    # CaseTransformTest
    *both("lower", to("lower", "a,b"), '{"a":"UPPERCASE","b":"CamelCase_1","c":"DoNotTouch"}',
          '{"a":"uppercase","b":"camelcase_1","c":"DoNotTouch"}', TEXTS),
    *both("upper", to("upper", "a,b"), '{"a":"lowercase","b":"CamelCase_2","c":"DoNotTouch"}',
          '{"a":"LOWERCASE","b":"CAMELCASE_2","c":"DoNotTouch"}', TEXTS),
    *both("null", to("upper", "a"), '{"a":null,"b":"x","c":null}', '{"a":null,"b":"x","c":null}', TEXTS),
    Case("a missing field becomes null", to("upper", "a"), "{}", '{"a":null}', touches=()),
    Case("the key", to("upper", "a"), '{"a":"x"}', '{"a":"X"}', shows="key", side="Key"),
    # CaseTransform: what is no string
    Case("a number, a boolean, an object", to("upper", "a,b,c"), '{"a":5,"b":true,"c":{"a":1}}',
         '{"a":"5","b":"TRUE","c":"{A=1}"}'),
    Case("no string, with a schema", to("upper", "a"), envelope("a:boolean", '{"a":true}'),
         envelope("a:boolean", '{"a":true}'), touches=()),
    Case("no such field, with a schema", to("upper", "z"), envelope("a:string", '{"a":"x"}'),
         envelope("a:string", '{"a":"x"}')),
    Case("a default", to("upper", "a"), envelope('a:string?="d" b:int8?=1', '{"a":null,"b":null}'),
         envelope('a:string?="d" b:int8?=1', '{"a":"D","b":1}'), touches=("a",)),
    Case("a map with a schema", to("upper", "a,b"), MAP % '{"a":"x","c":"y"}', MAP % '{"a":"X","b":null,"c":"y"}',
         touches=("a",)),
    Case("a dot is part of the name", to("upper", "a.b"), '{"a.b":"x","a":{"b":"x"}}', '{"a.b":"X","a":{"b":"x"}}'),
    # String.toUpperCase and toLowerCase with Locale.ROOT
    *both("a sharp s", to("upper", "a"), '{"a":"straße"}', '{"a":"STRASSE"}', "a:string"),
    *both("a dotted I", to("lower", "a"), '{"a":"\u0130I"}', '{"a":"i\u0307i"}', "a:string"),
    *both("a final sigma", to("lower", "a"), '{"a":"ΟΔΟΣ ΟΔΟΣ"}', '{"a":"οδος οδος"}', "a:string"),
    # refused
    refusal("a null", to("upper", "a"), "null", NULL),
    refusal("a null struct", to("upper", "a"), envelope(TEXTS, "null", optional=True), NULL),
    refusal("no object", to("upper", "a"), '"x"', AT.format(
        "SMT408", "only an object can be used for [change the case of fields] without a schema, "
        "but this is java.lang.String")),
    refusal("no struct", to("upper", "a"), '{"schema":{"type":"string"},"payload":"x"}',
            AT.format("SMT201", "only a struct can be used for [change the case of fields], but this is string")),
    refusal("another case", to("UPPER", "a"), "null",
            "SMT013 transforms.t (CaseTransform$Value) case: must be one of: lower, upper"),
    refusal("no case", {"field.names": "a"}, "null",
            "SMT012 transforms.t (CaseTransform$Value): the option 'case' is missing"),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_case_transform(case):
    check(CaseTransform, case)
