"""Handles the keys of transforms. Processes exchange only references to keys, and never the bytes of a key.

A chain names keys by references such as ``k1=${env:PII_KEY}``. Each process that needs a key looks it up: the driver,
the Python workers, and the JVM lane (Java code inside Spark). A reference that is sent to another process contains the
*check value* of the key in the sending process. The receiving process compares this value with the check value of the
key that it has found. If the two processes have different keys under the same reference, the result is an error instead
of wrong values.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from dagster_smt.errors import ConfigError, EngineError, Problem
from dagster_smt.model.secrets import resolved

ENCODINGS = ("base64", "hex", "text")
# AES-SIV (RFC 5297) splits its key into two AES keys, so each size of "siv" is twice a size of "aes". No key has fewer
# than 128 bits: its check value would allow an attacker to test guesses
SIZES = {"hmac": range(16, 1025), "aes": (16, 24, 32), "siv": (32, 48, 64), "any": (16, 24, 32, 48, 64)}
"""Maps the use of a key to the permitted numbers of bytes."""
# Keys.java in the JVM lane computes check values from the same bytes
_CHECKED = b"\0dagster_smt key check\0"
_URL_SAFE = str.maketrans("-_", "+/")


class SecretKey:
    """The bytes of a key. They are never shown, and cannot be sent to another process.

    Attributes:
        data: The bytes.
        check: The check value of the key.
    """

    __slots__ = ("_prepared", "check", "data")

    def __init__(self, data: bytes):
        self.data = data
        self.check = check_value(data)
        self._prepared: dict[Hashable, Any] = {}

    def __repr__(self) -> str:
        return "<key>"

    def __reduce__(self) -> Any:
        raise TypeError("a key does not leave its process")

    def prepared(self, name: Hashable, make: Callable[[bytes], Any]) -> Any:
        """Returns ``make(data)``, such as a cipher, where ``data`` are the bytes of the key. The result is created once
        and cached under ``name``.
        """
        if name not in self._prepared:
            self._prepared[name] = make(self.data)
        return self._prepared[name]


def check_value(data: bytes) -> str:
    """Returns the check value of the key ``data``: eight bytes of an HMAC-SHA-256 of a fixed string, in hexadecimal
    digits.

    Nobody can compute the key from its check value. Two keys have the same check value with a probability of 2^-64.
    """
    return hmac.digest(data, _CHECKED, "sha256")[:8].hex()


_keys: dict[tuple[str, str, str, str], SecretKey] = {}
"""Caches the secret keys of this process. The cache finds a secret key by four strings: its reference, its encoding,
its use, and the check value that it must have.
"""


def forget_keys() -> None:
    """Empties the cache of keys in this process. Each key is then looked up again at its next use."""
    _keys.clear()


@dataclass(frozen=True)
class KeyReference:
    """A reference to a key of a chain, without the key's bytes.

    Attributes:
        id: The name of the key in its ring.
        text: Where processes look up the key: ``${env:NAME}``, ``${file:…}``, ``${dir:…}`` or ``${vault:…}``.
        encoding: The encoding of the bytes: ``base64``, ``hex`` or ``text``.
        use: One of ``SIZES``, such as ``hmac``; it determines the possible sizes of the key.
        check: Only in a copy for another process (see ``sent``): the check value that the key must have there.
            Otherwise empty.
    """

    id: str
    text: str
    encoding: str
    use: str
    check: str = field(default="", compare=False)

    def key(self) -> SecretKey:
        """Looks up the key in this process, and returns it.

        Raises:
            ConfigError: SMT582 if the reference has no value in this process; SMT740 if the value is not a key.
            EngineError: SMT741 if the reference came from another process, and this process has a different key or no
                key.
        """
        place = (self.text, self.encoding, self.use, self.check)
        # the cache also distinguishes check values: a reference from another process must be compared with its own
        # check value, even if this process already has a key for the same reference
        key = _keys.get(place)
        if key is None:
            key = _keys[place] = self._looked_up()
        return key

    def _looked_up(self) -> SecretKey:
        try:
            text = resolved({self.id: self.text}, "the key")[self.id]
            key = SecretKey(self._decoded(text))
        except ConfigError as error:
            if not self.check:
                raise
            raise self._of_executor(f"cannot be read there: {error.problems[0].statement}") from None
        if self.check and not hmac.compare_digest(key.check, self.check):
            raise self._of_executor("is another key there than in the process of the run")
        return key

    def _decoded(self, text: str) -> bytes:
        try:
            data = _BYTES[self.encoding](text)
        except (binascii.Error, ValueError):
            raise self._unusable(f"is not written in {self.encoding}") from None
        sizes = SIZES[self.use]
        if len(data) not in sizes:
            allowed = f"at least {sizes[0]}" if self.use == "hmac" else " or ".join(map(str, sizes))
            raise self._unusable(f"has {len(data)} bytes, and needs {allowed}")
        return data

    def _unusable(self, statement: str) -> ConfigError:
        size = 32 if self.use != "siv" else 64
        hint = f"make a key with: openssl rand -base64 {size}; key.encoding names another form"
        return ConfigError(Problem("SMT740", f"the key {self.id}", f"{self.text} {statement}", hint))

    def _of_executor(self, statement: str) -> EngineError:
        hint = "give Spark's executors the same key as the run: the same file, or the same variable"
        return EngineError(Problem("SMT741", f"Spark's executors, the key {self.id}", statement, hint))

    def sent(self) -> "KeyReference":
        """Returns a copy of the reference for another process. The copy contains the check value of this process's key:
        a few bytes that show whether both processes have the same key. If this process does not have the key, the
        reference is returned unchanged.
        """
        if self.check:
            return self
        try:
            # a reference is also sent by processes without the key, such as one that loads definitions; the receiver
            # then compares nothing
            check = self.key().check
        except ConfigError:
            check = ""
        return KeyReference(self.id, self.text, self.encoding, self.use, check)

    def __reduce__(self) -> Any:
        sent = self.sent()
        # pickle calls this method, so no reference leaves the process without the check value of its key
        return KeyReference, (sent.id, sent.text, sent.encoding, sent.use, sent.check)

    def program(self) -> dict[str, str]:
        """Returns the reference as a dict of strings, which the JVM lane (the Java code inside Spark) reads."""
        sent = self.sent()
        return {"id": sent.id, "reference": sent.text, "encoding": sent.encoding, "use": sent.use, "check": sent.check}


@dataclass(frozen=True)
class KeyRing:
    """The keys of a stage.

    Attributes:
        keys: The keys. All of them are used for decryption.
        writes: The id of the key with which new values are encrypted or hashed.
    """

    keys: tuple[KeyReference, ...]
    writes: str

    @property
    def writer(self) -> KeyReference:
        """The key with which new values are encrypted or hashed."""
        return next(key for key in self.keys if key.id == self.writes)

    def by_id(self, key_id: str) -> KeyReference | None:
        """Returns the key with the id ``key_id``; None if the ring has no such key."""
        for key in self.keys:
            if key.id == key_id:
                return key
        return None


def _base64(text: str) -> bytes:
    # openssl wraps its output into lines, and URL-safe encoders leave out the padding, which b64decode requires
    compact = "".join(text.split()).rstrip("=").translate(_URL_SAFE)
    return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)


def _hex(text: str) -> bytes:
    return bytes.fromhex("".join(text.split()))


def _text(text: str) -> bytes:
    return text.rstrip("\r\n").encode()


_BYTES: dict[str, Callable[[str], bytes]] = {"base64": _base64, "hex": _hex, "text": _text}


def derived(data: bytes, purpose: str) -> bytes:
    """Derives a key of 32 bytes for ``purpose`` from the key ``data``. Keys for different purposes are independent of
    each other.
    """
    # Keys.java in the JVM lane derives keys from the same bytes
    return hmac.new(data, b"\0dagster_smt\0" + purpose.encode(), hashlib.sha256).digest()
