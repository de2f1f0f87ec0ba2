"""Redact: personal values inside texts. Card numbers are the test numbers that networks publish; accounts are those of
the registry of IBAN."""

import json

import pytest

from dagster_smt.transforms.privacy.redact import Redact
from tests.transforms.helpers import Case, check, envelope, refusal
from tests.transforms.privacy import common

AT = "{} transforms.t (Redact$Value): {}"
A = {"fields": "a"}


def of(text):
    return json.dumps({"a": text})


def changed(title, before, after, **options):
    return Case(title, A | options, of(before), of(after))


def same(title, text, **options):
    return Case(title, A | options, of(text), of(text))


CASES = (
    changed("an address", "to ada.lovelace+x@mail.example.org.", "to [email]."),
    changed("addresses next to each other", "a@example.org,b@example.org", "[email],[email]"),
    changed("letters beyond ASCII", "å.ø@bücher.example", "[email]"),
    changed("in brackets", "<a@example.org>", "<[email]>"),
    same("no domain", "a@b and @example.org and a@"),
    changed("a card", "4111111111111111", "[card]"),
    changed(
        "cards with blanks and hyphens",
        "4111 1111 1111 1111, 5555-5555-5555-4444; 378282246310005",
        "[card], [card]; [card]",
    ),
    changed("a card after another number", "order 12345 4111111111111111", "order 12345 [card]"),
    changed("a card before another number", "4111 1111 1111 1111 123", "[card] 123"),
    changed("a card next to letters", "card4111111111111111x", "card[card]x"),
    same("no check digit", "4111111111111112", patterns="card"),
    same("a time in milliseconds", "1556204536128", patterns="card"),
    changed("accounts", "DE89370400440532013000 or GB82 WEST 1234 5698 7654 32 now", "[iban] or [iban] now"),
    changed("a small account", "no9386011117947", "[iban]"),
    same("wrong check digits", "DE89370400440532013001", patterns="iban"),
    same("too short", "DE8937040044053201300", patterns="iban"),
    same("no country", "ZZ89370400440532013000", patterns="iban"),
    changed("international numbers", "+47 22 12 34 56, 0047 22123456, +1 (415) 555-2671", "[phone], [phone], [phone]"),
    changed("national numbers", "030 1234567 or (0221) 123-456", "[phone] or [phone]"),
    changed("numbers of North America", "415-555-2671, (415) 555-2671", "[phone], [phone]"),
    same("dates and times", "2026-11-26 07:30:00, 05/03/2026, 12:00"),
    same("prices and counts", "1,234.50 for 12 of 1000"),
    same("a plain text", "nothing personal here"),
    same("an empty text", ""),
    changed("another replacement", "a@example.org", "***", replacement="***"),
    changed(
        "some kinds", "a@example.org +4722123456", "a@example.org <phone>", patterns="phone", replacement="<<kind>>"
    ),
    Case("a null", A, of(None), of(None), touches=()),
    Case("with a schema", A, envelope("a:string?", '{"a":"a@example.org"}'), envelope("a:string?", '{"a":"[email]"}')),
    Case("a whole text", {}, '"a@example.org"', '"[email]"'),
    Case(
        "elements",
        {"fields": "a[*]", "field.syntax.version": "extended"},
        '{"a":["a@example.org","x"]}',
        '{"a":["[email]","x"]}',
    ),
    refusal(
        "a number",
        A,
        '{"a":4111111111111111}',
        AT.format("SMT742", "a value of type int64 cannot be searched for personal values"),
    ),
    refusal(
        "an unknown kind",
        A | {"patterns": "name"},
        "null",
        "SMT013 transforms.t (Redact$Value) patterns: must be a list of: iban, card, email, phone",
    ),
    refusal(
        "a replacement that a pattern finds",
        A | {"replacement": "0000"},
        "null",
        "SMT014 transforms.t (Redact$Value) replacement: has a digit or @, which a later pattern could take for a "
        "part of a value",
    ),
    *common.rows({}, "a@example.org", "[email]", "Redact$Value"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_redact(case):
    check(Redact, case)
