"""The base class of rules for strings."""

from dataclasses import dataclass
from typing import Any, ClassVar

from dagster_smt.model.schema import STRING, Schema
from dagster_smt.values.value_rule import PythonRule

INTEGER_KINDS = ("int8", "int16", "int32", "int64")


@dataclass(frozen=True, slots=True)
class TextRule(PythonRule):
    """A rule that maps strings to strings. A whole number is treated as the string of its digits. Null stays null.

    A rule with a key contains only the reference to the key. Each process looks up the key itself, so neither a Spark
    expression nor a pickled function contains the key.
    """

    returns: ClassVar[Schema | None] = STRING
    protection: ClassVar[str] = ""
    """``seals``: a holder of the key can decrypt the result; ``opens``: the rule decrypts it; empty: neither."""

    def of_text(self, text: str) -> str:
        """Returns the result for a string."""
        raise NotImplementedError

    def program(self) -> dict[str, Any] | None:
        """Returns the rule in the form that the JVM lane reads; None if only Python can run the rule."""
        return None

    def python(self, value: Any) -> str | None:
        if value is None:
            return None
        if type(value) is str:
            return self.of_text(value)
        return self.of_text(str(int(value)))

    def failed(self, F: Any, result: Any, value: Any) -> Any:
        return value.isNotNull() & result.isNull()


def utf8(text: str) -> bytes:
    """Returns a string in UTF-8. As in Java, half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace")
