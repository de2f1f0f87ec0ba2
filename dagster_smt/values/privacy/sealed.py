"""Encrypts strings with AES-GCM (NIST SP 800-38D) or AES-SIV (RFC 5297). An encrypted string contains the id of its
key.

An encrypted string is ``smt1:gcm:k1:…``: the version of this form, the mode, the id of the key, and URL-safe Base64
without padding. The first three parts are authenticated, so decryption fails if somebody has changed them. The
*context* (a configured string that is not stored) is also authenticated, so decryption needs the same context.
"""

import base64
import binascii
import os
import re
from dataclasses import dataclass
from typing import Any

from dagster_smt.errors import DataError, data_error, needs_extras
from dagster_smt.model.key_references import KeyReference, KeyRing, SecretKey
from dagster_smt.values.privacy.text_rule import TextRule, utf8

MODES = ("gcm", "siv")
_VERSION = "smt1"
_SEALED = re.compile(r"smt1:(gcm|siv):([A-Za-z0-9_-]{1,32}):([A-Za-z0-9_-]*)")
_NONCE = 12


@dataclass(frozen=True, slots=True)
class Sealing(TextRule):
    """A rule that encrypts a string.

    Attributes:
        key: The key with which the rule encrypts.
        mode: With ``gcm``, equal strings have different results; with ``siv``, they have the same result.
        context: A string that is authenticated but not stored. Decryption needs the same context.
    """

    key: KeyReference
    mode: str
    context: str
    protection = "seals"

    def of_text(self, text: str) -> str:
        head = f"{_VERSION}:{self.mode}:{self.key.id}:"
        data = sealed(self.key.key(), self.mode, utf8(text), (head + self.context).encode())
        return head + base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    def program(self) -> dict[str, Any]:
        return {"name": "seal", "key": self.key.program(), "mode": self.mode, "context": self.context}


@dataclass(frozen=True, slots=True)
class Opening(TextRule):
    """A rule that decrypts a string that ``Sealing`` has encrypted. The encrypted string names its key.

    Attributes:
        ring: The keys.
        context: The context of the encryption.
        passes_others: True if a string that is not encrypted stays as it is.
    """

    ring: KeyRing
    context: str
    passes_others: bool
    may_fail = True
    protection = "opens"

    def of_text(self, text: str) -> str:
        match = _SEALED.fullmatch(text)
        if match is None:
            if self.passes_others:
                return text
            raise self.failure()
        mode, key_id, encoded = match.groups()
        reference = self.ring.by_id(key_id)
        if reference is None:
            raise _no_key()
        key = reference.key()
        head = text[: match.start(3)]
        try:
            # ``Sealing`` has removed the padding
            data = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
            return opened(key, mode, data, (head + self.context).encode()).decode()
        except (binascii.Error, ValueError):
            raise _not_authentic() from None

    def failure(self) -> DataError:
        hint = "set on.plain.text=pass if some values were never encrypted"
        return data_error("SMT747", "a string is not encrypted by Encrypt", hint)

    def other_failures(self) -> tuple[Any, ...]:
        return (_no_key(), _not_authentic())

    def program(self) -> dict[str, Any]:
        keys = [key.program() for key in self.ring.keys]
        return {"name": "open", "keys": keys, "context": self.context, "passes": self.passes_others}


def _no_key() -> DataError:
    return data_error(
        "SMT748", "an encrypted string names a key that the key ring does not have", "add the key to key.ring"
    )


def _not_authentic() -> DataError:
    hint = "check the keys of key.ring, context, and whether something changed the text"
    return data_error("SMT749", "a string cannot be decrypted: a different key or context, or a changed string", hint)


def sealed(key: SecretKey, mode: str, data: bytes, associated: bytes) -> bytes:
    """Returns ``data`` encrypted. For AES-GCM, the result is nonce, ciphertext and tag; for AES-SIV, it is vector and
    ciphertext.
    """
    if mode == "siv":
        encrypted: bytes = _siv(key).encrypt(data, [associated])
        return encrypted
    nonce = os.urandom(_NONCE)
    return nonce + _gcm(key).encrypt(nonce, data, associated)


def opened(key: SecretKey, mode: str, data: bytes, associated: bytes) -> bytes:
    """Returns ``data`` decrypted.

    Raises:
        ValueError: The bytes have not been encrypted with this key, this mode and this associated data.
    """
    with needs_extras():
        from cryptography.exceptions import InvalidTag

    try:
        if mode == "siv":
            return bytes(_siv(key).decrypt(data, [associated]))
        return bytes(_gcm(key).decrypt(data[:_NONCE], data[_NONCE:], associated))
    except InvalidTag:
        raise ValueError from None


def _gcm(key: SecretKey) -> Any:
    with needs_extras():
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    # a key of the key ring may be meant for the other mode
    if len(key.data) not in (16, 24, 32):
        raise ValueError
    return key.prepared("gcm", AESGCM)


def _siv(key: SecretKey) -> Any:
    with needs_extras():
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    if len(key.data) not in (32, 48, 64):
        raise ValueError
    return key.prepared("siv", AESSIV)
