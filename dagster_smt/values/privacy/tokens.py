"""Computes tokens. FF1 encrypts a string to a string of the same form. If the string has check digits, the token has
valid check digits.
"""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.key_references import KeyReference
from dagster_smt.values.privacy.ff1 import FF1
from dagster_smt.values.privacy.part_masks import PartMask
from dagster_smt.values.privacy.personal_values import IBAN_LENGTHS, iban_remainder, luhn
from dagster_smt.values.privacy.text_rule import TextRule, utf8

ALPHABETS = {
    "digits": string.digits,
    "hex": "0123456789abcdef",
    "lowercase": string.ascii_lowercase,
    "uppercase": string.ascii_uppercase,
    "any_case": string.ascii_uppercase + string.ascii_lowercase,
    "uppercase_alphanumeric": string.digits + string.ascii_uppercase,
    "alphanumeric": string.digits + string.ascii_uppercase + string.ascii_lowercase,
}
CHECKSUMS = ("none", "luhn", "iban")
MOST = 1000
"""The largest number of characters from the alphabet that a string may contain."""
_PUNCTUATION = frozenset(" " + string.punctuation)
_ACCOUNT = frozenset(string.digits + string.ascii_letters)
_MASK = PartMask("last", 0, "", "*", 0, True)
_COUNTRY = 4
"""The number of characters in an IBAN before the account number: the code of the country, and two check digits."""


@lru_cache
def _numerals_of(alphabet: str) -> dict[str, int]:
    numerals = {}
    for numeral, character in enumerate(ALPHABETS[alphabet]):
        numerals[character] = numeral
    return numerals


@dataclass(frozen=True, slots=True)
class Token(TextRule):
    """A rule that replaces the characters of an alphabet with other characters of this alphabet. All other characters
    stay in their positions.

    Attributes:
        key: The key.
        domain: The tweak of FF1, as a string. Equal strings in two domains have different tokens.
        alphabet: A name in ``ALPHABETS``.
        least: The minimum number of characters that are encrypted.
        checksum: ``luhn``: the last digit of the string is the check digit of all other digits. ``iban``: the string
            begins with the country and the check digits of an IBAN. The token gets valid check digits.
        keeps_all: True if letters and digits outside of the alphabet stay; otherwise only spaces and punctuation may
            stay.
        masks: True to mask a string for which there is no token; otherwise the record fails.
        opens: True to turn tokens back into the original strings.
    """

    key: KeyReference
    domain: str
    alphabet: str
    least: int
    checksum: str
    keeps_all: bool
    masks: bool
    opens: bool
    may_fail = True

    @property
    def protection(self) -> str:  # type: ignore[override]
        """``opens`` if the rule turns tokens back, else ``seals``. ``TextRule`` explains both names."""
        return "opens" if self.opens else "seals"

    def of_text(self, text: str) -> str:
        try:
            return self._token(text)
        except DataError:
            if self.masks:
                return _MASK.of_text(text)
            raise

    def _token(self, text: str) -> str:
        if self.checksum == "iban":
            return self._account(text)
        places = self._places(text)
        if self.checksum == "none":
            return self._encrypted(text, places)
        if not places or luhn("".join(text[place] for place in places)) != 0:
            raise self._wrong_check_digits()
        # the last digit is not encrypted but computed again, so that the token passes the Luhn check
        return _with_luhn(self._encrypted(text, places[:-1]), places)

    def _places(self, text: str) -> list[int]:
        """Returns the positions of those characters in ``text`` that belong to the alphabet.

        Raises:
            DataError: SMT750 if a different character may not stay.
        """
        numerals, places = _numerals_of(self.alphabet), []
        for place, character in enumerate(text):
            if character in numerals:
                places.append(place)
            elif not (self.keeps_all or character in _PUNCTUATION):
                raise self._other_characters()
        return places

    def _encrypted(self, text: str, places: Sequence[int]) -> str:
        if not self.least <= len(places) <= MOST:
            raise self.failure()
        alphabet, numerals = ALPHABETS[self.alphabet], _numerals_of(self.alphabet)
        cipher: FF1 = self.key.key().prepared(("ff1", len(alphabet)), lambda data: FF1(data, len(alphabet)))
        change = cipher.decrypt if self.opens else cipher.encrypt
        characters = list(text)
        results = change([numerals[text[place]] for place in places], utf8(self.domain))
        for place, numeral in zip(places, results, strict=True):
            characters[place] = alphabet[numeral]
        return "".join(characters)

    def _account(self, text: str) -> str:
        """Returns the IBAN ``text`` with encrypted digits. The code of the country and the other letters stay."""
        places = []
        for place, character in enumerate(text):
            if character in _ACCOUNT:
                places.append(place)
            elif not (self.keeps_all or character in _PUNCTUATION):
                raise self._other_characters()
        account = "".join(text[place] for place in places)
        if len(account) != IBAN_LENGTHS.get(account[:2].upper()) or _check_digits(account) != account[2:_COUNTRY]:
            raise self._wrong_check_digits()
        digits = [place for place in places[_COUNTRY:] if text[place] in string.digits]
        characters = list(self._encrypted(text, digits))
        check = _check_digits("".join(characters[place] for place in places))
        for place, digit in zip(places[2:_COUNTRY], check, strict=True):
            characters[place] = digit
        return "".join(characters)

    def failure(self) -> DataError:
        statement = f"a string has fewer than {self.least} or more than {MOST} characters of {self.alphabet}"
        hint = "nobody may guess a short token; set on.unfit=mask, or use Encrypt"
        return data_error("SMT744", f"{statement} to encrypt", hint)

    def other_failures(self) -> tuple[Any, ...]:
        return (self._other_characters(), self._wrong_check_digits())

    def _other_characters(self) -> DataError:
        statement = f"a string has characters that are neither of {self.alphabet} nor spaces or punctuation"
        return data_error("SMT750", statement, "choose another alphabet, or set keep=all or on.unfit=mask")

    def _wrong_check_digits(self) -> DataError:
        statement = f"the check digits of a string are wrong ({self.checksum})"
        return data_error("SMT751", statement, "set checksum=none or on.unfit=mask if some values are not valid")

    def program(self) -> dict[str, Any]:
        return {
            "name": "token",
            "key": self.key.program(),
            "domain": self.domain,
            "alphabet": ALPHABETS[self.alphabet],
            "least": self.least,
            "most": MOST,
            "checksum": self.checksum,
            "accounts": IBAN_LENGTHS,
            "keeps all": self.keeps_all,
            "mask": _MASK.program() if self.masks else None,
            "opens": self.opens,
        }


def _with_luhn(text: str, places: Sequence[int]) -> str:
    """Returns ``text`` with a new last digit, which is the Luhn check digit of all digits before it. ``places`` are the
    positions of the digits.
    """
    digits = "".join(text[place] for place in places[:-1])
    check = -luhn(digits + "0") % 10
    last = places[-1]
    return f"{text[:last]}{check}{text[last + 1 :]}"


def _check_digits(account: str) -> str:
    """Returns the two check digits that the account number ``account`` should have (ISO 7064, 97-10). Its present check
    digits are ignored.
    """
    return f"{98 - iban_remainder(account[:2] + '00' + account[_COUNTRY:]):02d}"
