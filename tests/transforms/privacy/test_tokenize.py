"""Tokenize: the form of tokens, check digits, and texts without a token. NIST's samples: tests/values/test_ff1.py."""

import json
import random
import string

import pytest

from dagster_smt.interpret.examples import run_once
from dagster_smt.transforms.privacy.detokenize import Detokenize
from dagster_smt.transforms.privacy.tokenize import Tokenize
from dagster_smt.values.privacy.personal_values import IBAN_LENGTHS, iban_remainder, luhn
from dagster_smt.values.privacy.tokens import ALPHABETS
from tests.transforms.helpers import Case, check, envelope, refusal
from tests.transforms.privacy import common

RING = {"key.ring": "k1=${env:EXAMPLE_KEY}"}
A = RING | {"fields": "a"}
LUHN, IBAN, MASK = A | {"checksum": "luhn"}, A | {"checksum": "iban"}, A | {"on.unfit": "mask"}
AT = "{} transforms.t (Tokenize$Value): {}"
SHORT = AT.format("SMT744", "a string has fewer than 6 or more than 1000 characters of digits to encrypt")
OTHERS = AT.format("SMT750", "a string has characters that are neither of digits nor spaces or punctuation")
WRONG = "the check digits of a string are wrong ({})"


def of(text):
    return json.dumps({"a": text})


def token(text, typed=False, cls=Tokenize, **options):
    return json.loads(run_once(cls, A | options, of(text), typed=typed))["a"]


CASES = (
    Case("a null", A, of(None), of(None), touches=()),
    Case("a missing field", A, '{"b":1}', '{"b":1}', touches=()),
    Case("a field", A, of("123456"), of(token("123456")), touches=("a",)),
    Case("with a schema", A, envelope("a:string?", of("123456")), envelope("a:string?", of(token("123456")))),
    Case("a number becomes a string", A, envelope("a:int64", '{"a":-1234567}'),
         envelope("a:string", of("-" + token("1234567")))),
    Case("a number without a schema", A, '{"a":1234567}', of(token("1234567"))),
    Case("the key of that id", A | {"key.id": "k1", "key.encoding": "base64"}, of("123456"), of(token("123456"))),
    refusal("a float", A, '{"a":1.5}', AT.format("SMT742", "a value of type double cannot be tokenized")),
    refusal("five digits", A, of("12345"), SHORT),
    refusal("five digits with a schema", A, envelope("a:string", of("1-2345")), SHORT),
    refusal("an empty text", A, of(""), SHORT),
    refusal("too many digits", A, of("1" * 1001), SHORT),
    refusal("an own minimum", A | {"minimum.length": 9}, of("12345678"), SHORT.replace("6 or", "9 or")),
    refusal("letters among digits", A, of("AB 123456"), OTHERS),
    refusal("letters with a schema", A, envelope("a:string", of("Ada 123456")), OTHERS),
    refusal("digits of other scripts", A, of("٣123456"), OTHERS),
    Case("letters that stay", A | {"keep": "all"}, of("AB å 123456"), of("AB å " + token("123456"))),
    Case("five digits, masked", MASK, of("1-2345"), of("*-****")),
    Case("letters, masked", MASK, of("Ada å, 123456"), of("*** *, ******")),
    Case("letters, masked with a schema", MASK, envelope("a:string", of("Ada")), envelope("a:string", of("***"))),
    Case("a whole number, masked", MASK, '{"a":12}', of("**")),
    refusal("a wrong card", LUHN, of("4111 1111 1111 1112"), AT.format("SMT751", WRONG.format("luhn"))),
    refusal("no card", LUHN, of("-"), AT.format("SMT751", WRONG.format("luhn"))),
    refusal("six digits of a card, one of which is its check digit", LUHN, of("123455"), SHORT),
    Case("a wrong card, masked", LUHN | MASK, of("4111 1111 1111 1112"), of("**** **** **** ****")),
    refusal("a wrong account", IBAN, of("GB83 WEST 1234 5698 7654 32"), AT.format("SMT751", WRONG.format("iban"))),
    refusal("no country", IBAN, of("QQ82 WEST 1234 5698 7654 32"), AT.format("SMT751", WRONG.format("iban"))),
    refusal("a short account", IBAN, of("GB"), AT.format("SMT751", WRONG.format("iban"))),
    refusal("an account and more", IBAN, of("NO9386011117947 å"), OTHERS),
    refusal("check digits of letters", A | {"checksum": "luhn", "alphabet": "hex"}, "null",
            "SMT014 transforms.t (Tokenize$Value) checksum: luhn needs alphabet=digits"),
    refusal("a low minimum", A | {"minimum.length": 5}, "null",
            "SMT014 transforms.t (Tokenize$Value) minimum.length: must be 6 to 1000: digits needs 6 characters for a "
            "million texts"),
    refusal("another alphabet", A | {"alphabet": "greek"}, "null",
            "SMT013 transforms.t (Tokenize$Value) alphabet: must be one of: digits, hex, lowercase, uppercase, "
            "any_case, uppercase_alphanumeric, alphanumeric"),
    *common.rows(RING, "123456", token("123456"), "Tokenize$Value"),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_tokenize(case):
    check(Tokenize, case)


@pytest.mark.parametrize("alphabet", ALPHABETS)
@pytest.mark.parametrize("typed", [False, True], ids=["json", "typed"])
def test_detokenize_gives_the_text_back(alphabet, typed):
    chance = random.Random(alphabet)
    for length in (6, 7, 30, 1000):
        text = "".join(chance.choice(ALPHABETS[alphabet]) for _ in range(length))
        text = f"({text[:2]}) {text[2:]}"
        changed = token(text, typed, alphabet=alphabet)
        assert changed != text and len(changed) == len(text) and changed[3:5] == ") "
        assert set(changed) <= set(ALPHABETS[alphabet] + "() ")
        assert token(changed, typed, Detokenize, alphabet=alphabet) == text


def test_cards_stay_cards():
    chance = random.Random(1)
    for length in range(7, 30):
        digits = "".join(chance.choice(string.digits) for _ in range(length - 1))
        card = digits + str(-luhn(digits + "0") % 10)
        changed = token(card, checksum="luhn")
        assert luhn(changed) == 0 and len(changed) == length and changed != card
        assert token(changed, cls=Detokenize, checksum="luhn") == card


def account_of(country, chance, alphabet):
    own = "".join(chance.choice(alphabet) for _ in range(IBAN_LENGTHS[country] - 4))
    return f"{country}{98 - iban_remainder(country + '00' + own):02d}{own}"


@pytest.mark.parametrize("country", IBAN_LENGTHS)
def test_accounts_stay_accounts_of_their_country(country):
    chance = random.Random(country)
    for alphabet in (string.digits, string.digits + string.ascii_uppercase):
        account = account_of(country, chance, alphabet)
        if sum(character.isdigit() for character in account) < 8:
            continue
        changed = token(account, checksum="iban")
        assert changed[:2] == country and iban_remainder(changed) == 1 and changed != account
        assert [c if c.isalpha() else "" for c in changed] == [c if c.isalpha() else "" for c in account]
        assert token(changed, cls=Detokenize, checksum="iban") == account


def test_check_digits_that_no_bank_writes_are_wrong():
    """The remainder of 97 is right with two other pairs of check digits, which could not be restored."""
    accounts = (account_of("NO", random.Random(seed), string.digits) for seed in range(999))
    account = next(account for account in accounts if account[2:4] == "97")
    assert iban_remainder("NO00" + account[4:]) == 1
    assert WRONG.format("iban") in run_once(Tokenize, IBAN, of("NO00" + account[4:]), typed=False)


def test_domains_decide_what_joins():
    both = {"fields": "a,b"} | RING
    value = json.dumps({"a": "123456", "b": "123456"})
    shared = json.loads(run_once(Tokenize, both, value, typed=False))
    assert shared["a"] == shared["b"] == token("123456")
    alone = json.loads(run_once(Tokenize, both | {"domain": "field"}, value, typed=False))
    assert len({alone["a"], alone["b"], shared["a"]}) == 3
    assert json.loads(run_once(Detokenize, both | {"domain": "field"}, json.dumps(alone), typed=False)) == json.loads(
        value
    )
    assert token("123456", domain="people") not in (shared["a"], *alone.values())


@pytest.mark.parametrize("text", ["Ada Lovelace", "12345", "4111 1111 1111 1112", "a@b.no", "1" * 1001])
def test_no_message_shows_a_text(text):
    for options in (A, LUHN, IBAN):
        assert text not in run_once(Tokenize, options, of(text), typed=False)
