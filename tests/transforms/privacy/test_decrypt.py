"""Decrypt: what opens, and what does not."""

import base64
import json

import pytest

from dagster_smt.interpret.examples import run_once
from dagster_smt.transforms.privacy.decrypt import Decrypt
from dagster_smt.transforms.privacy.encrypt import Encrypt
from tests.transforms.helpers import Case, check, envelope, refusal
from tests.transforms.privacy import common

RING = {"key.ring": "k1=${env:EXAMPLE_KEY}"}
A = RING | {"fields": "a"}
AT = "{} transforms.t (Decrypt$Value): {}"
SEALED = json.loads(run_once(Encrypt, A | {"mode": "siv"}, '{"a":"x"}', typed=False))["a"]
CLOSED = "a string cannot be decrypted: a different key or context, or a changed string"


def of(text):
    return json.dumps({"a": text})


CASES = (
    Case("a text", A, of(SEALED), of("x"), touches=("a",)),
    Case("with a schema", A, envelope("a:string?", of(SEALED)), envelope("a:string?", of("x"))),
    Case("a null", A, of(None), of(None), touches=()),
    Case("a plain text passes", A | {"on.plain.text": "pass"}, of("plain"), of("plain")),
    Case("key.id does not matter", A | {"key.id": "k1", "key.encoding": "base64"}, of(SEALED), of("x")),
    refusal("a plain text", A, of("plain"), AT.format("SMT747", "a string is not encrypted by Encrypt")),
    refusal("another context", A | {"context": "c"}, of(SEALED), AT.format("SMT749", CLOSED)),
    refusal("a changed text", A, of(SEALED[:-1] + "A"), AT.format("SMT749", CLOSED)),
    refusal("a cut text", A, of(SEALED[:14]), AT.format("SMT749", CLOSED)),
    refusal("a cut text of the other mode", A, of("smt1:gcm:k1:AAAA"), AT.format("SMT749", CLOSED)),
    refusal("the other mode", A, of(SEALED.replace(":siv:", ":gcm:")), AT.format("SMT749", CLOSED)),
    refusal(
        "another key id",
        A,
        of(SEALED.replace(":k1:", ":k2:")),
        AT.format("SMT748", "an encrypted string names a key that the key ring does not have"),
    ),
    refusal(
        "a changed text with a schema", A, envelope("a:string", of(SEALED[:-1] + "A")), AT.format("SMT749", CLOSED)
    ),
    refusal("a number", A, '{"a":7}', AT.format("SMT742", "a value of type int64 cannot be decrypted")),
    *common.rows(RING, SEALED, "x", "Decrypt$Value"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_decrypt(case):
    check(Decrypt, case)


def test_a_rotated_ring_reads_with_all_keys(monkeypatch):
    monkeypatch.setenv("NEW", base64.b64encode(b"n" * 32).decode())
    ring = {"fields": "a", "key.ring": "k2=${env:NEW},k1=${env:EXAMPLE_KEY}"}
    new = json.loads(run_once(Encrypt, ring, of("y"), typed=False))["a"]
    assert new.startswith("smt1:gcm:k2:")
    for text, plain in ((SEALED, "x"), (new, "y")):
        assert json.loads(run_once(Decrypt, ring, of(text), typed=False)) == {"a": plain}
    assert "SMT748" not in run_once(Decrypt, ring, of(new), typed=False)
    assert "names a key" in run_once(Decrypt, A, of(new), typed=False)


def test_another_key_under_the_same_id_opens_nothing(monkeypatch):
    monkeypatch.setenv("OTHER", base64.b64encode(b"o" * 32).decode())
    other = {"fields": "a", "key.ring": "k1=${env:OTHER}"}
    assert "cannot be decrypted" in run_once(Decrypt, other, of(SEALED), typed=False)
