"""Defines the base class of rules that convert strings."""

from dataclasses import dataclass
from typing import Any, ClassVar

from dagster_smt.model.schema import STRING, Schema
from dagster_smt.values.value_rule import NullStays, PythonRule

INTEGER_KINDS = ("int8", "int16", "int32", "int64")


@dataclass(frozen=True, slots=True)
class TextRule(NullStays, PythonRule):
    """A rule that maps strings to strings. A whole number is treated as the string of its digits. A null stays null.

    A rule that needs a key contains only a reference to the key. Each process looks up the key itself, so neither a
    Spark expression nor a pickled function contains the key.
    """

    returns: ClassVar[Schema | None] = STRING
    protection: ClassVar[str] = ""
    """How the rule protects values. ``seals``: the rule encrypts values, and a holder of the key can decrypt the
    result. ``opens``: the rule decrypts values. Empty: the rule does neither.
    """

    def of_text(self, text: str) -> str:
        """Returns the rule's result for ``text``."""
        raise NotImplementedError

    def program(self) -> dict[str, Any] | None:
        """Returns the rule as JSON data for the JVM lane, Java code inside Spark that runs chains on JSON. Returns None
        if only Python can run the rule.
        """
        return None

    def python(self, value: Any) -> str | None:
        if value is None:
            return None
        if type(value) is str:
            return self.of_text(value)
        return self.of_text(str(int(value)))


def utf8(text: str) -> bytes:
    """Returns ``text`` in UTF-8. As in Java, half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace")
