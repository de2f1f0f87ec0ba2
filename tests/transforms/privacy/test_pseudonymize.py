"""Pseudonymize: keyed digests. The judge is Python's own hmac, and the vectors of RFC 4231."""

import base64
import hmac
import json

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.errors import ConfigError, PlanError
from dagster_smt.interpret.examples import EXAMPLE_KEY, run_once
from dagster_smt.model.key_references import forget_keys
from dagster_smt.model.schema import STRING, Schema, Type
from dagster_smt.transforms.privacy.pseudonymize import Pseudonymize
from tests.transforms.helpers import Case, chain_of, check, envelope, refusal
from tests.transforms.privacy import common

DATA = base64.b64decode(EXAMPLE_KEY[1])
RING = {"key.ring": "k1=${env:EXAMPLE_KEY}"}
AT = "{} transforms.t (Pseudonymize$Value): {}"
MAIL = RING | {"fields": "mail"}
NESTED = RING | {"field.syntax.version": "extended"}


def digest(text, key=DATA):
    return hmac.digest(key, text.encode(), "sha256").hex()


def domain_key(domain):
    return hmac.digest(DATA, b"\0dagster_smt\0domain " + domain.encode(), "sha256")


def mail(text):
    return json.dumps({"mail": text})


CASES = (
    Case("a text", MAIL, mail("ada@example.org"), mail(digest("ada@example.org")[:32]), touches=("mail",)),
    Case("the whole digest", MAIL | {"length": "64"}, mail("ada@example.org"), mail(digest("ada@example.org"))),
    Case("an empty text", MAIL, mail(""), mail(digest("")[:32])),
    Case("letters beyond ASCII", MAIL, mail("ådå@example.org"), mail(digest("ådå@example.org")[:32])),
    Case("a whole number has the pseudonym of its text", MAIL, '{"mail":42}', mail(digest("42")[:32])),
    Case("a null stays null", MAIL, '{"mail":null}', '{"mail":null}', touches=()),
    Case("a missing field stays missing", MAIL, '{"a":1}', '{"a":1}', touches=()),
    Case("a null value passes", MAIL, "null", "null", touches=()),
    Case(
        "base64url",
        MAIL | {"alphabet": "base64url", "length": "42"},
        mail("x"),
        mail(base64.urlsafe_b64encode(bytes.fromhex(digest("x"))).decode()[:42]),
    ),
    Case(
        "base32",
        MAIL | {"alphabet": "base32", "length": "50"},
        mail("x"),
        mail(base64.b32encode(bytes.fromhex(digest("x"))).decode().lower()[:50]),
    ),
    Case(
        "digits are a fraction of the digest",
        MAIL | {"alphabet": "digits", "length": "12"},
        mail("x"),
        mail(f"{int(digest('x'), 16) * 10**12 >> 256:012d}"),
    ),
    Case("the id of the key", MAIL | {"show.key.id": "true"}, mail("x"), mail("k1:" + digest("x")[:32])),
    Case("a domain", MAIL | {"domain": "people"}, mail("x"), mail(digest("x", domain_key("people"))[:32])),
    Case(
        "a domain of the field", MAIL | {"domain": "field"}, mail("x"), mail(digest("x", domain_key("field mail"))[:32])
    ),
    Case("a whole text", RING, '"x"', json.dumps(digest("x")[:32]), touches=("(whole)",)),
    Case("a whole key", RING, '"x"', json.dumps(digest("x")[:32]), shows="key", side="Key"),
    Case(
        "elements, map keys, any depth",
        NESTED | {"fields": "a[*],**.b,m['k']"},
        '{"a":["x"],"c":{"b":"y"},"m":{"k":"z"}}',
        json.dumps({"a": [digest("x")[:32]], "c": {"b": digest("y")[:32]}, "m": {"k": digest("z")[:32]}}),
    ),
    Case(
        "V2 paths",
        RING | {"field.syntax.version": "V2", "fields": "a.b"},
        '{"a":{"b":"x"}}',
        json.dumps({"a": {"b": digest("x")[:32]}}),
    ),
    # with a schema
    Case(
        "a string with a schema",
        MAIL,
        envelope("mail:string id:int32", '{"mail":"x","id":1}'),
        envelope("mail:string id:int32", f'{{"mail":"{digest("x")[:32]}","id":1}}'),
    ),
    Case(
        "a number becomes a string",
        RING | {"fields": "id"},
        envelope("id:int64?", '{"id":7}'),
        envelope("id:string?", f'{{"id":"{digest("7")[:32]}"}}'),
    ),
    Case(
        "an optional null", MAIL, envelope("mail:string?", '{"mail":null}'), envelope("mail:string?", '{"mail":null}')
    ),
    Case(
        "a default counts as the value, and leaves the schema",
        MAIL,
        envelope('mail:string?="x"', '{"mail":null}'),
        envelope("mail:string?", f'{{"mail":"{digest("x")[:32]}"}}'),
    ),
    Case(
        "nulls keep null without defaults",
        MAIL | {"replace.null.with.default": "false"},
        envelope('mail:string?="x"', '{"mail":null}'),
        envelope("mail:string?", '{"mail":null}'),
    ),
    # refusals
    refusal("a float", MAIL, '{"mail":1.5}', AT.format("SMT742", "a value of type double cannot be pseudonymized")),
    refusal("an object", MAIL, '{"mail":{}}', AT.format("SMT742", "a value of type map cannot be pseudonymized")),
    refusal(
        "a boolean with a schema",
        MAIL,
        envelope("mail:boolean", '{"mail":true}'),
        AT.format("SMT742", "a value of type boolean cannot be pseudonymized"),
    ),
    refusal(
        "no key",
        {"fields": "mail"},
        "null",
        "SMT012 transforms.t (Pseudonymize$Value): the option 'key.ring' is missing",
    ),
    refusal(
        "a key in the chain",
        MAIL | {"key.ring": "k1=c2VjcmV0"},
        "null",
        "SMT013 transforms.t (Pseudonymize$Value) key.ring: item 1 is not a reference such as k1=${env:NAME}; a "
        "chain must not hold the key itself",
    ),
    refusal(
        "two keys of one id",
        MAIL | {"key.ring": "${env:A},${env:B}"},
        "null",
        "SMT013 transforms.t (Pseudonymize$Value) key.ring: two keys have the same id; write k2=${…}, k1=${…}",
    ),
    refusal(
        "no such id",
        MAIL | {"key.id": "k2"},
        "null",
        "SMT014 transforms.t (Pseudonymize$Value) key.id: there is no key 'k2' in the option key.ring",
    ),
    refusal(
        "too short",
        MAIL | {"length": "7"},
        "null",
        "SMT014 transforms.t (Pseudonymize$Value) length: 7 characters of hex are 28 bits, and must be 32 to 256",
    ),
    refusal(
        "another encoding",
        MAIL | {"key.encoding": "utf-8"},
        "null",
        "SMT013 transforms.t (Pseudonymize$Value) key.encoding: must be one of: base64, hex, text",
    ),
    *common.rows(RING, "x", digest("x")[:32], "Pseudonymize$Value"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_pseudonymize(case):
    check(Pseudonymize, case)


LARGE = (
    "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed "
    "before being used by the HMAC algorithm."
)
VECTORS = (
    (b"\x0b" * 20, "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    (
        b"\xaa" * 131,
        "Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    ),
    (b"\xaa" * 131, LARGE, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
)


@pytest.mark.parametrize(("key", "text", "mac"), VECTORS, ids=["case 1", "case 6", "case 7"])
def test_the_vectors_of_rfc_4231(key, text, mac, monkeypatch):
    monkeypatch.setenv("VECTOR", key.hex())
    forget_keys()
    options = {"fields": "mail", "key.ring": "${env:VECTOR}", "key.encoding": "hex", "length": "64"}
    assert json.loads(run_once(Pseudonymize, options, mail(text), typed=False)) == {"mail": mac}


def test_a_struct_with_a_default_is_refused():
    schema = Schema(Type.STRUCT, default={"mail": "d"}, fields=(("mail", STRING),))
    with pytest.raises(PlanError, match=r"SMT205 .*a struct with a default value cannot be changed"):
        plan_chain(chain_of(Pseudonymize, MAIL), None, schema, topics=("orders",), typed=True)


def test_fields_join_within_a_domain_and_only_there():
    def pseudonyms(**options):
        row = run_once(Pseudonymize, RING | {"fields": "a,b"} | options, '{"a":"x","b":"x"}', typed=True)
        return set(json.loads(row).values())

    assert len(pseudonyms()) == 1
    assert len(pseudonyms(domain="people")) == 1
    assert len(pseudonyms(domain="field")) == 2
    assert not pseudonyms() & pseudonyms(domain="people")


def test_a_rotated_ring_writes_with_the_newest_key(monkeypatch):
    monkeypatch.setenv("NEW", base64.b64encode(b"n" * 32).decode())
    ring = "k2=${env:NEW},k1=${env:EXAMPLE_KEY}"
    row = run_once(Pseudonymize, {"fields": "mail", "key.ring": ring, "show.key.id": "true"}, mail("x"), typed=False)
    assert json.loads(row) == {"mail": "k2:" + digest("x", b"n" * 32)[:32]}
    pinned = {"fields": "mail", "key.ring": ring, "key.id": "k1"}
    assert json.loads(run_once(Pseudonymize, pinned, mail("x"), typed=False)) == {"mail": digest("x")[:32]}


def test_other_options_still_refuse_references():
    with pytest.raises(ConfigError, match=r"SMT051 .*'domain' refers to"):
        parse_chain(
            {"transforms": "p", "transforms.p.type": "Pseudonymize$Value"}
            | {f"transforms.p.{k}": v for k, v in (MAIL | {"domain": "${env:HOME}"}).items()}
        )
