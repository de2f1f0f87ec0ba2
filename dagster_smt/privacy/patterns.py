"""Defines patterns that find personal values, and words in field names that suggest personal values.

The patterns for IBAN, card numbers, codice fiscale and DNI also check the checksum, and only match values whose
checksum is correct.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address

from dagster_smt.values.privacy.personal_values import iban_remainder, luhn

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b")
# 13 to 19 digits of a payment card, with spaces or hyphens between them; the first digit is that of a card network
_CARD = re.compile(r"(?<!\d)[3-6]\d{3}(?:[ -]?\d){9,15}(?!\d)")
# + or 00, a country code, and 7 to 15 digits in all (ITU-T E.164). The lookbehinds exclude the zone of a timestamp, as
# in 2026-01-02T03:04:05+00:00
_PHONE = re.compile(r"(?<![\w+])(?<!\d )(?:\+|00)[1-9](?:[ ()./-]?\d){6,14}(?!\d)")
# numbers that begin with 000, 666 or 9, and groups of zeros alone, are never issued in the United States
_SSN = re.compile(r"\b(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}\b")
# Spain's DNI has eight digits, and the NIE of foreigners has X, Y or Z and seven digits. The last letter is a checksum.
_DNI = re.compile(r"\b([XYZ]?\d{7,8})-?([A-Z])\b")
# the letter at the index "number modulo 23" is the checksum
_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_FISCALE = re.compile(r"\b[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]\b")
# a character at an odd position of a codice fiscale counts with this number
_FISCALE_ODD = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10,
     22, 25, 24, 23), strict=True))  # fmt: skip
LONGEST = 10_000
"""The largest number of characters of a string that the search reads."""


@dataclass(frozen=True)
class PersonalKind:
    """A kind of personal values.

    Attributes:
        tag: The tag that is proposed for a field with such values.
        finds: A function that returns True if a string contains such a value.
        share: The tag is proposed if at least this share of a field's values are of this kind. With 0, a single value
            is enough.
    """

    tag: str
    finds: Callable[[str], bool]
    share: float


def _never(text: str) -> bool:
    return False


def _email(text: str) -> bool:
    return _EMAIL.search(text) is not None


def _iban(text: str) -> bool:
    for match in _IBAN.finditer(text):
        if iban_remainder(match[0].replace(" ", "")) == 1:
            return True
    return False


def _card(text: str) -> bool:
    numbers = (re.sub(r"[ -]", "", match[0]) for match in _CARD.finditer(text))
    for number in numbers:
        if 13 <= len(number) <= 19 and luhn(number) == 0:
            return True
    return False


def _phone(text: str) -> bool:
    return _PHONE.search(text) is not None


def _ip(text: str) -> bool:
    try:
        ip_address(text.strip())
    except ValueError:
        return False
    return True


def _national_id(text: str) -> bool:
    return _SSN.search(text) is not None or any(map(_dni, _DNI.finditer(text))) or _fiscale(text)


def _dni(match: re.Match[str]) -> bool:
    # in a NIE, the letters X, Y and Z count as the digits 0, 1 and 2
    digits = match[1].translate(str.maketrans("XYZ", "012"))
    return len(match[1]) == 8 and _DNI_LETTERS[int(digits) % 23] == match[2]


def _fiscale(text: str) -> bool:
    for match in _FISCALE.finditer(text):
        code = match[0]
        odd = 0
        # positions are counted from 1, so the odd positions begin at the index 0; the last character is the checksum
        for sign in code[0:15:2]:
            odd += _FISCALE_ODD[sign]
        even = 0
        for sign in code[1:15:2]:
            even += int(sign) if sign.isdigit() else ord(sign) - ord("A")
        if chr(ord("A") + (odd + even) % 26) == code[15]:
            return True
    return False


KINDS: dict[str, PersonalKind] = {
    "e-mail": PersonalKind("PII.email", _email, 0.0),
    "IBAN": PersonalKind("PII.iban", _iban, 0.0),
    "card": PersonalKind("PII.card", _card, 0.5),
    "phone": PersonalKind("PII.phone", _phone, 0.2),
    "IP address": PersonalKind("PII.ip", _ip, 0.5),
    "national id": PersonalKind("PII.national_id", _national_id, 0.2),
    "person": PersonalKind("PII.name", _never, 0.3),
    "place": PersonalKind("PII.location", _never, 0.3),
}
"""Maps the name of each kind, as reports show it, to the kind. Only Presidio finds names of people and places; no
pattern does.
"""

_WORDS: dict[str, tuple[str, ...]] = {
    "PII.email": ("email", "mail", "e mail"),
    "PII.phone": ("phone", "telephone", "mobile", "fax", "msisdn"),
    "PII.name": ("first name", "last name", "surname", "full name", "given name", "family name", "maiden name"),
    "PII.address": ("street", "address", "postcode", "postal code", "zip", "zip code"),
    "PII.birth_date": ("birth", "birthday", "birthdate", "dob"),
    "PII.national_id": ("ssn", "passport", "tax id", "national id", "social security"),
    "PII.iban": ("iban", "account number"),
    "PII.card": ("card number", "pan", "credit card"),
    "PII.ip": ("ip", "ip address", "remote addr"),
    "PII.location": ("latitude", "longitude", "geo", "lat", "lon"),
    "secret": ("password", "passwd", "secret", "token", "api key"),
}
"""Maps each tag to the words in field names that suggest it. The longest matching word determines the tag, so that ``ip
address`` is not mistaken for a postal address.
"""


def kinds_in(text: str) -> Iterator[str]:
    """Yields the kinds of personal values that ``text`` contains."""
    text = text[:LONGEST]
    for name, kind in KINDS.items():
        if kind.finds(text):
            yield name


def is_personal(text: str) -> bool:
    """Returns True if ``text``, such as a field name, looks like a personal value."""
    return any(kinds_in(text))


def tag_of_name(name: str) -> str:
    """Returns the tag that the field name ``name`` suggests. If the name suggests none, returns an empty string."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    # spaces at both ends, so that only whole words match: "ship" does not contain the word "ip"
    words = f" {re.sub(r'[^a-z0-9]+', ' ', spaced.lower()).strip()} "
    matches = []
    for tag, several in _WORDS.items():
        for word in several:
            if f" {word} " in words:
                matches.append((len(word), tag))
    return max(matches)[1] if matches else ""
