"""The base class of rules that convert strings."""

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
    """``seals`` if a holder of the key can decrypt the result; ``opens`` if the rule decrypts values; otherwise
    empty.
    """

    def of_text(self, text: str) -> str:
        """Returns the rule's result for ``text``."""
        raise NotImplementedError

    def program(self) -> dict[str, Any] | None:
        """Returns the rule as the JVM lane reads it. If only Python can run the rule, returns None."""
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
    """Returns ``text`` in UTF-8. As in Java, half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace")
