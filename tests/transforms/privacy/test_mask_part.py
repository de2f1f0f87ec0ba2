"""MaskPart: what stays of a text."""

import json

import pytest

from dagster_smt.transforms.privacy.mask_part import MaskPart
from tests.transforms.helpers import Case, check, envelope, refusal
from tests.transforms.privacy import common

AT = "{} transforms.t (MaskPart$Value): {}"
A = {"fields": "a"}
DOMAIN = A | {"show": "domain"}
GROUPS = A | {"show": "groups", "pattern": "(..).*(..)"}


def of(text):
    return json.dumps({"a": text})


CASES = (
    Case("the last four", A, of("4111111111111111"), of("************1111"), touches=("a",)),
    Case("punctuation stays and does not count", A, of("41-11 5"), of("*1-11 5")),
    Case("punctuation is masked", A | {"keep.punctuation": "false"}, of("41-11 5"), of("***11 5")),
    Case("a text of four is masked as a whole", A, of("1234"), of("****")),
    Case("four with punctuation", A, of("12-34"), of("**-**")),
    Case("an empty text", A, of(""), of("")),
    Case("no character stays", A | {"count": "0"}, of("abc"), of("***")),
    Case("the first", A | {"show": "first"}, of("Lovelace"), of("L*******")),
    Case("the first two", A | {"show": "first", "count": "2"}, of("A. Lovelace"), of("A. L*******")),
    Case("a fixed length", A | {"mask.length": "3"}, of("4111111111111111"), of("***1111")),
    Case("another character", A | {"mask.character": "\u2022"}, of("abcdef"), of("\u2022\u2022cdef")),
    Case("letters beyond ASCII count", A | {"count": "1"}, of("\u00e5\u00e4\U0001f600x"), of("***x")),
    Case("a whole number", A, '{"a":123456}', of("**3456")),
    Case("a negative number", A | {"count": "2"}, '{"a":-123}', of("-*23")),
    Case("a domain", DOMAIN, of("ada@example.org"), of("***@example.org")),
    Case("a domain and the first character", DOMAIN | {"count": "1"}, of("ada.l@example.org"), of("a**.*@example.org")),
    Case("the last @ counts", DOMAIN, of("a@b@example.org"), of("*@*@example.org")),
    Case("no @ shows nothing", DOMAIN | {"count": "1"}, of("ada"), of("***")),
    Case("groups", GROUPS, of("ab12345yz"), of("ab*****yz")),
    Case("no match shows nothing", GROUPS, of("abc"), of("***")),
    Case("nested groups", A | {"show": "groups", "pattern": "((a)b)c+"}, of("abcc"), of("ab**")),
    Case("a group that takes no part", A | {"show": "groups", "pattern": "(a)|(b)x"}, of("bx"), of("b*")),
    Case("a null", A, of(None), of(None), touches=()),
    Case("with a schema", A, envelope("a:string?", '{"a":"abcdef"}'), envelope("a:string?", '{"a":"**cdef"}')),
    Case("a number with a schema", A, envelope("a:int32", '{"a":123456}'), envelope("a:string", '{"a":"**3456"}')),
    Case("a whole key", {}, '"abcdef"', '"**cdef"', shows="key", side="Key"),
    Case(
        "any depth",
        {"fields": "**.a", "field.syntax.version": "extended"},
        '{"b":[{"a":"abcdef"}]}',
        '{"b":[{"a":"**cdef"}]}',
    ),
    refusal("a float", A, '{"a":1.5}', AT.format("SMT742", "a value of type double cannot be masked")),
    refusal(
        "a pattern for another part",
        A | {"pattern": "(a)"},
        "null",
        "SMT014 transforms.t (MaskPart$Value) pattern: belongs to show=groups",
    ),
    refusal(
        "no pattern",
        A | {"show": "groups"},
        "null",
        "SMT014 transforms.t (MaskPart$Value) pattern: belongs to show=groups",
    ),
    refusal(
        "a long mask character",
        A | {"mask.character": "xx"},
        "null",
        "SMT014 transforms.t (MaskPart$Value) mask.character: must be one character",
    ),
    refusal(
        "a long mask",
        A | {"mask.length": "65"},
        "null",
        "SMT014 transforms.t (MaskPart$Value) mask.length: must be 0 to 64",
    ),
    refusal("a negative count", A | {"count": "-2"}, "null", "SMT014 transforms.t (MaskPart$Value) count: is negative"),
    *common.rows({}, "abcdef", "**cdef", "MaskPart$Value"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_mask_part(case):
    check(MaskPart, case)
