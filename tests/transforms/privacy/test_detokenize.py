"""Detokenize: what it turns back, and what it cannot. The way there and back is in test_tokenize.py."""

import json

import pytest

from dagster_smt.transforms.privacy.detokenize import Detokenize
from tests.transforms.helpers import Case, check, envelope, refusal
from tests.transforms.privacy import common
from tests.transforms.privacy.test_tokenize import RING, token

A = RING | {"fields": "a"}
MASK = A | {"on.unfit": "mask"}
AT = "{} transforms.t (Detokenize$Value): {}"
TOKEN = token("123456")


def of(text):
    return json.dumps({"a": text})


CASES = (
    Case("a token", A, of(TOKEN), of("123456"), touches=("a",)),
    Case("with a schema", A, envelope("a:string?", of(TOKEN)), envelope("a:string?", of("123456"))),
    Case("a null", A, of(None), of(None), touches=()),
    Case("an alphabet", A | {"alphabet": "hex", "minimum.length": 7}, of(token("abc-0123", alphabet="hex")),
         of("abc-0123")),
    Case("a domain", A | {"domain": "people"}, of(token("123456", domain="people")), of("123456")),
    Case("letters that stayed", A | {"keep": "all"}, of("AB" + TOKEN), of("AB123456")),
    Case("a card", A | {"checksum": "luhn"}, of(token("4111-1111-1111-1111", checksum="luhn")),
         of("4111-1111-1111-1111")),
    Case("a masked text stays masked", MASK, of("***-**"), of("***-**")),
    Case("the key of that id", A | {"key.id": "k1", "key.encoding": "base64"}, of(TOKEN), of("123456")),
    refusal("a number", A, '{"a":1234567}', AT.format("SMT742", "a value of type int64 cannot be detokenized")),
    refusal("no card", A | {"checksum": "luhn"}, of("4111-1111-1111-1112"),
            AT.format("SMT751", "the check digits of a string are wrong (luhn)")),
    *common.rows(RING, TOKEN, "123456", "Detokenize$Value"),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_detokenize(case):
    check(Detokenize, case)
