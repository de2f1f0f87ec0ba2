"""Finds e-mail addresses, telephone numbers, payment cards and bank accounts inside free text, and replaces them.

Cards must pass the Luhn check (ISO/IEC 7812). Bank accounts must pass the check of ISO 13616 (IBAN), and have the
length of their country. E-mail addresses and telephone numbers have no check digits, so they are found by their
patterns alone.
"""

import re
import string
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dagster_smt.values.privacy.text_rule import TextRule

KINDS = ("iban", "card", "email", "phone")
"""The kinds of values, in the order in which they are searched for."""
LEAST_DIGITS = {"iban": 2, "card": 12, "email": 0, "phone": 7}
"""Maps each kind to the smallest number of digits in a value of this kind. A text with fewer digits contains no such
value.
"""
KIND = "<kind>"
"""A replacement may contain this placeholder for the kind of the replaced value."""
_LETTER = "A-Za-z\u0080-\U0010ffff"
_LOCAL = "\\x00-\\x20\u0085\u00a0\u2028\u2029\u3000@<>()\\[\\],;:\"'"
EMAIL = f"[^{_LOCAL}]{{1,64}}@(?:[{_LETTER}0-9-]{{1,63}}\\.){{1,8}}[{_LETTER}][{_LETTER}0-9-]{{1,62}}"
"""A regular expression for an e-mail address whose domain contains a dot. The expression has the same meaning in Python
and Java.
"""
_GAP = "[ ()./-]{0,2}"
PHONES = (
    f"(?<![0-9A-Za-z+])(?:\\+|00)[ (]{{0,2}}[0-9](?:{_GAP}[0-9]){{6,14}}(?![0-9])",
    # a date such as 01/02/2026 also begins with 0, and is excluded
    "(?<![0-9A-Za-z.,:-])(?!0[0-9][/-][0-9]{2}[/-][0-9]{4}(?![0-9]))\\(?0[1-9](?:[ ()/-]{0,2}[0-9]){5,13}(?![0-9])",
    "(?<![0-9A-Za-z.-])\\(?[2-9][0-9]{2}\\)?[ .-]{1,2}[2-9][0-9]{2}[ .-][0-9]{4}(?![0-9])",
)
"""Regular expressions for telephone numbers: international numbers, national numbers that begin with 0, and North
American numbers.
"""
CARD_LENGTHS = range(12, 20)
CARD_STARTS = "234568"
"""The first digits of bank and merchandising cards. A time in milliseconds begins with 1, so it is not mistaken for a
card number.
"""
_DIGITS = re.compile("[0-9]+(?:[ -][0-9]+)*")
_ACCOUNT = re.compile("[A-Za-z]{2}[0-9]{2}")
_IBAN_LENGTHS_TEXT = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 "
    "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 "
    "LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 "
    "PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 "
    "YE30"
)
IBAN_LENGTHS = {word[:2]: int(word[2:]) for word in _IBAN_LENGTHS_TEXT.split()}
"""Maps the code of a country to the number of characters in its account numbers, according to SWIFT's registry."""


@dataclass(frozen=True, slots=True)
class Redaction(TextRule):
    """A rule that replaces personal values of certain kinds inside a text.

    Attributes:
        kinds: The kinds, in the order of ``KINDS``.
        replacement: The replacement; ``<kind>`` in it stands for the kind.
    """

    kinds: tuple[str, ...]
    replacement: str

    def of_text(self, text: str) -> str:
        digits = sum(map(text.count, string.digits))
        for kind in self.kinds:
            if digits >= LEAST_DIGITS[kind]:
                text = _without(kind, text, self.replacement.replace(KIND, kind))
        return text

    def program(self) -> dict[str, Any]:
        patterns = {"email": [EMAIL], "phone": list(PHONES)}
        kinds = []
        for kind in self.kinds:
            kinds.append(
                {
                    "kind": kind,
                    "digits": LEAST_DIGITS[kind],
                    "patterns": patterns.get(kind, []),
                    "text": self.replacement.replace(KIND, kind),
                }
            )
        return {
            "name": "redaction",
            "kinds": kinds,
            "accounts": IBAN_LENGTHS,
            "starts": CARD_STARTS,
        }


@lru_cache(maxsize=16)
def _compiled(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern)


def _without(kind: str, text: str, replacement: str) -> str:
    if kind == "card":
        return _spans_replaced(text, cards_in(text), replacement)
    if kind == "iban":
        return _spans_replaced(text, accounts_in(text), replacement)
    if kind == "email":
        if "@" not in text:
            return text
        return _compiled(EMAIL).sub(lambda _: replacement, text)
    for pattern in PHONES:
        text = _compiled(pattern).sub(lambda _: replacement, text)
    return text


def _spans_replaced(text: str, spans: list[tuple[int, int]], replacement: str) -> str:
    # from the end, so that the positions of the remaining spans stay valid
    for start, end in reversed(spans):
        text = text[:start] + replacement + text[end:]
    return text


def cards_in(text: str) -> list[tuple[int, int]]:
    """Returns the start and the end of each card number in ``text``. A card number consists of groups of digits,
    separated by single spaces or hyphens, and ends with a valid Luhn check digit.
    """
    spans = []
    for match in _DIGITS.finditer(text):
        groups = [
            (match.start() + group.start(), match.start() + group.end()) for group in re.finditer("[0-9]+", match[0])
        ]
        first = 0
        while first < len(groups):
            last = _last_group(text, groups, first)
            if last is None:
                # another number may precede the card number: ``order 12345 4111111111111111``
                first += 1
                continue
            spans.append((groups[first][0], groups[last][1]))
            first = last + 1
    return spans


def _last_group(text: str, groups: list[tuple[int, int]], first: int) -> int | None:
    """Returns the index of the last digit group of a card number that begins with the group ``first``. If there are
    several such card numbers, the longest applies. Returns None if there is no such card number.
    """
    digits, best = "", None
    for number in range(first, len(groups)):
        start, end = groups[number]
        digits += text[start:end]
        if len(digits) > CARD_LENGTHS[-1]:
            break
        if len(digits) >= CARD_LENGTHS[0] and digits[0] in CARD_STARTS and luhn(digits) == 0:
            best = number
    return best


def luhn(digits: str) -> int:
    """Returns the Luhn sum of ``digits``, modulo 10. If the check digit is valid, the sum is 0."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit)
        if place % 2:
            # minus 9 is the sum of the two digits: 7 is doubled to 14, and 1 + 4 = 14 - 9
            number = number * 2 - (9 if number > 4 else 0)
        total += number
    return total % 10


def accounts_in(text: str) -> list[tuple[int, int]]:
    """Returns the start and the end of each bank account number (IBAN) in ``text``. Single spaces may separate the
    characters of the number.
    """
    spans, at = [], 0
    while match := _ACCOUNT.search(text, at):
        end = _end_of_account(text, match.start())
        if end is None:
            at = match.start() + 1
        else:
            spans.append((match.start(), end))
            at = end
    return spans


def _end_of_account(text: str, start: int) -> int | None:
    length = IBAN_LENGTHS.get(text[start : start + 2].upper(), 0)
    characters, at = "", start
    while len(characters) < length and at < len(text):
        if text[at] == " " and text[at - 1] != " ":
            at += 1
            continue
        if not (text[at].isascii() and text[at].isalnum()):
            return None
        characters += text[at].upper()
        at += 1
    if len(characters) < length or not length or iban_remainder(characters) != 1:
        return None
    return at


def iban_remainder(account: str) -> int:
    """Returns the remainder of the account number ``account`` according to ISO 7064. If the check digits are valid, the
    remainder is 1.
    """
    # the base 36 reads A as 10 and Z as 35, as ISO 13616 requires
    number = "".join(str(int(character, 36)) for character in account[4:] + account[:4])
    return int(number) % 97
