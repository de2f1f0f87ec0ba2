"""Computes the digests of strings."""

import hashlib
from dataclasses import dataclass
from typing import Any

from dagster_smt.values.value_rule import ValueRule


@dataclass(frozen=True, slots=True)
class HashText(ValueRule):
    """A rule that returns the digest of a string in UTF-8, in lower-case hexadecimal digits. A null stays null.

    Attributes:
        function: ``md5``, ``sha1`` or ``sha256``.
    """

    function: str

    def python(self, text: str | None) -> str | None:
        if text is None:
            return None
        # like Java, encodes half of a surrogate pair as a question mark
        # without ``usedforsecurity=False``, a FIPS build of OpenSSL refuses md5
        return hashlib.new(self.function, text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()

    def column(self, F: Any, text: Any) -> Any:
        data = text.cast("binary")
        if self.function != "sha256":
            return {"md5": F.md5, "sha1": F.sha1}[self.function](data)
        return F.sha2(data, 256)
