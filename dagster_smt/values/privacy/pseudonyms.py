"""Computes pseudonyms. A pseudonym is a keyed digest of a string (RFC 2104, HMAC-SHA-256), written in a chosen alphabet
and length.
"""

import hmac
import math
import string
from dataclasses import dataclass
from typing import Any

from dagster_smt.model.key_references import KeyReference, derived
from dagster_smt.values.privacy.text_rule import TextRule, utf8

ALPHABETS = {
    "hex": "0123456789abcdef",
    "base32": "abcdefghijklmnopqrstuvwxyz234567",
    "base64url": string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_",
    "alphanumeric": string.digits + string.ascii_uppercase + string.ascii_lowercase,
    "letters": string.ascii_lowercase,
    "digits": string.digits,
}
DIGEST_BITS = 256
STANDARD_BITS = 128
"""The number of bits of information in a pseudonym whose length is not configured."""
LEAST_BITS = 32


def bits_of(alphabet: str, length: int) -> float:
    """Returns the number of bits of information in ``length`` characters of the alphabet ``alphabet``."""
    return length * math.log2(len(ALPHABETS[alphabet]))


def standard_length(alphabet: str) -> int:
    """Returns the smallest length at which a string of the alphabet ``alphabet`` contains ``STANDARD_BITS`` bits of
    information.
    """
    return math.ceil(STANDARD_BITS / math.log2(len(ALPHABETS[alphabet])))


@dataclass(frozen=True, slots=True)
class Pseudonym(TextRule):
    """A rule that replaces a string with a keyed digest.

    The digest is read as a fraction between 0 and 1. The pseudonym consists of the fraction's first digits in the base
    of the alphabet. A pseudonym in ``hex`` is therefore the beginning of the digest as other tools print it.

    Attributes:
        key: The key.
        domain: The name of a group of fields; may be empty. Equal strings in two domains have different pseudonyms.
        alphabet: A name in ``ALPHABETS``.
        length: The number of characters.
        shows_key: True if the key's id and a colon precede the digest.
    """

    key: KeyReference
    domain: str
    alphabet: str
    length: int
    shows_key: bool

    def of_text(self, text: str) -> str:
        # the HMAC of the key alone is computed once, and copied for each string
        mac = self.key.key().prepared(("hmac", self.domain), self._mac).copy()
        mac.update(utf8(text))
        pseudonym = _digits(mac.digest(), ALPHABETS[self.alphabet], self.length)
        if self.shows_key:
            return f"{self.key.id}:{pseudonym}"
        return pseudonym

    def _mac(self, data: bytes) -> Any:
        if self.domain:
            data = derived(data, f"domain {self.domain}")
        return hmac.new(data, digestmod="sha256")

    def program(self) -> dict[str, Any]:
        return {
            "name": "pseudonym",
            "key": self.key.program(),
            "domain": self.domain,
            "alphabet": ALPHABETS[self.alphabet],
            "length": self.length,
            "prefix": f"{self.key.id}:" if self.shows_key else "",
        }


def _digits(digest: bytes, alphabet: str, length: int) -> str:
    """Reads ``digest`` as a fraction between 0 and 1, and returns the first digits of this fraction. The base is the
    number of characters in ``alphabet``.
    """
    base = len(alphabet)
    if base == 16:
        return digest.hex()[:length]
    number = (int.from_bytes(digest, "big") * base**length) >> DIGEST_BITS
    digits = []
    for _ in range(length):
        number, digit = divmod(number, base)
        digits.append(alphabet[digit])
    return "".join(reversed(digits))
