"""Encrypt: the form of encrypted texts. Vectors of RFC 5297 and NIST are in tests/values/test_sealed.py."""

import json
from pathlib import Path

import pytest

from dagster_smt.interpret.examples import run_once
from dagster_smt.transforms.privacy.decrypt import Decrypt
from dagster_smt.transforms.privacy.encrypt import Encrypt
from tests.transforms.helpers import Case, check, envelope, refusal
from tests.transforms.privacy import common

HEX = f"k1=${{file:{Path(__file__).parent}/keys.properties:hex}}"
RING = {"key.ring": "k1=${env:EXAMPLE_KEY}"}
A = RING | {"fields": "a"}
SIV = A | {"mode": "siv"}
AT = "{} transforms.t (Encrypt$Value): {}"


def sealed(text, **options):
    row = run_once(Encrypt, SIV | options, json.dumps({"a": text}), typed=False)
    return json.loads(row)["a"]


CASES = (
    Case("a null", A, '{"a":null}', '{"a":null}', touches=()),
    Case("a missing field", A, '{"b":1}', '{"b":1}', touches=()),
    Case(
        "with a schema", SIV, envelope("a:string?", '{"a":"x"}'), envelope("a:string?", json.dumps({"a": sealed("x")}))
    ),
    Case(
        "a number becomes a string",
        SIV,
        envelope("a:int64", '{"a":7}'),
        envelope("a:string", json.dumps({"a": sealed("7")})),
    ),
    Case(
        "a context",
        SIV | {"context": "people.mail"},
        '{"a":"x"}',
        json.dumps({"a": sealed("x", context="people.mail")}),
    ),
    refusal("a float", A, '{"a":1.5}', AT.format("SMT742", "a value of type double cannot be encrypted")),
    refusal(
        "another mode",
        A | {"mode": "cbc"},
        "null",
        "SMT013 transforms.t (Encrypt$Value) mode: must be one of: gcm, siv",
    ),
    Case(
        "keys in hexadecimal digits",
        SIV | {"key.ring": HEX, "key.encoding": "hex"},
        '{"a":"x"}',
        json.dumps({"a": sealed("x")}),
    ),
    refusal(
        "no such id",
        A | {"key.id": "k2"},
        "null",
        "SMT014 transforms.t (Encrypt$Value) key.id: there is no key 'k2' in the option key.ring",
    ),
    *common.rows(RING | {"mode": "siv"}, "x", sealed("x"), "Encrypt$Value"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_encrypt(case):
    check(Encrypt, case)


@pytest.mark.parametrize("mode", ["gcm", "siv"])
@pytest.mark.parametrize("text", ["", "x", "å\U0001f600", "a longer text " * 50], ids=["empty", "x", "wide", "long"])
@pytest.mark.parametrize("typed", [False, True], ids=["json", "typed"])
def test_decrypt_opens_what_encrypt_wrote(mode, text, typed):
    options = A | {"mode": mode, "context": "c"}
    written = run_once(Encrypt, options, json.dumps({"a": text}), typed=typed)
    assert json.loads(written)["a"].startswith(f"smt1:{mode}:k1:")
    opened = run_once(Decrypt, A | {"context": "c"}, written, typed=typed)
    assert json.loads(opened) == {"a": text}


def test_equal_texts_are_equal_only_under_siv():
    one, two = (run_once(Encrypt, A, '{"a":"x"}', typed=False) for _ in range(2))
    assert one != two
    assert sealed("x") == sealed("x") != sealed("x", context="other")
