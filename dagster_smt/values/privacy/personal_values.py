"""Finds e-mail addresses, telephone numbers, payment cards and bank accounts inside free text, and replaces them.

Cards must pass the Luhn check (ISO/IEC 7812). Bank accounts must pass the check of ISO 13616 (IBAN), and have the
length of their country. E-mail addresses and telephone numbers have no check digits, so they are only found by their
patterns.
"""

import re
import string
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dagster_smt.values.privacy.text_rule import TextRule

KINDS = ("iban", "card", "email", "phone")
"""The kinds of values in the order of the search."""
LEAST_DIGITS = {"iban": 2, "card": 12, "email": 0, "phone": 7}
"""Maps each kind to the minimum number of digits in a text that contains a value of this kind. A text with fewer digits
need not be searched.
"""
KIND = "<kind>"
"""The placeholder for the kind in a replacement."""
_LETTER = "A-Za-z\u0080-\U0010ffff"
_LOCAL = "\\x00-\\x20\u0085\u00a0\u2028\u2029\u3000@<>()\\[\\],;:\"'"
EMAIL = f"[^{_LOCAL}]{{1,64}}@(?:[{_LETTER}0-9-]{{1,63}}\\.){{1,8}}[{_LETTER}][{_LETTER}0-9-]{{1,62}}"
"""An address whose domain contains a dot. The expression means the same in Python and Java."""
_GAP = "[ ()./-]{0,2}"
PHONES = (
    f"(?<![0-9A-Za-z+])(?:\\+|00)[ (]{{0,2}}[0-9](?:{_GAP}[0-9]){{6,14}}(?![0-9])",
    "(?<![0-9A-Za-z.,:-])(?!0[0-9][/-][0-9]{2}[/-][0-9]{4}(?![0-9]))\\(?0[1-9](?:[ ()/-]{0,2}[0-9]){5,13}(?![0-9])",
    "(?<![0-9A-Za-z.-])\\(?[2-9][0-9]{2}\\)?[ .-]{1,2}[2-9][0-9]{2}[ .-][0-9]{4}(?![0-9])",
)
"""International numbers, national numbers that begin with 0, and North American numbers."""
CARD_LENGTHS = range(12, 20)
CARD_STARTS = "234568"
"""The first digits of bank and merchandising cards. Times in milliseconds begin with 1."""
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
"""Maps countries to the number of characters of an account, from SWIFT's registry."""


@dataclass(frozen=True, slots=True)
class Redaction(TextRule):
    """Replaces personal values of the given kinds inside a text.

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
    for start, end in reversed(spans):
        text = text[:start] + replacement + text[end:]
    return text


def cards_in(text: str) -> list[tuple[int, int]]:
    """Returns the positions of cards: digit groups, separated by single spaces or hyphens, with a Luhn check digit."""
    spans = []
    for match in _DIGITS.finditer(text):
        groups = [
            (match.start() + group.start(), match.start() + group.end()) for group in re.finditer("[0-9]+", match[0])
        ]
        first = 0
        while first < len(groups):
            last = _last_group(text, groups, first)
            if last is None:
                first += 1
                continue
            spans.append((groups[first][0], groups[last][1]))
            first = last + 1
    return spans


def _last_group(text: str, groups: list[tuple[int, int]], first: int) -> int | None:
    """Returns the last group of the longest card that begins with a group; None if no card begins with the group."""
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
    """Returns the Luhn sum of digits, modulo 10. The sum is 0 for digits with a valid check digit."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit)
        if place % 2:
            number = number * 2 - (9 if number > 4 else 0)
        total += number
    return total % 10


def accounts_in(text: str) -> list[tuple[int, int]]:
    """Returns the positions of bank accounts (IBAN), with or without single spaces between their characters."""
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
    """Returns the remainder of an account number according to ISO 7064. The remainder is 1 for an account with valid
    check digits.
    """
    number = "".join(str(int(character, 36)) for character in account[4:] + account[:4])
    return int(number) % 97
