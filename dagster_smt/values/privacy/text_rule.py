"""The base of the rules of texts."""

from dataclasses import dataclass
from typing import Any, ClassVar

from dagster_smt.model.schema import STRING, Schema
from dagster_smt.values.value_rule import PythonRule

INTEGER_KINDS = ("int8", "int16", "int32", "int64")


@dataclass(frozen=True, slots=True)
class TextRule(PythonRule):
    """A rule from texts to texts. A whole number counts as its decimal text. Null stays null.

    A rule with a key holds the reference to the key. Each process looks up the key itself, so neither an expression of
    Spark nor a pickled function contains it.
    """

    returns: ClassVar[Schema | None] = STRING
    protection: ClassVar[str] = ""
    """``seals``: a key opens the result; ``opens``: the rule opens such texts; empty: neither."""

    def of_text(self, text: str) -> str:
        """Returns the result for a text."""
        raise NotImplementedError

    def program(self) -> dict[str, Any] | None:
        """Returns the rule as the Java lane reads it; None if only Python can run it."""
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
    """Returns a text in UTF-8. As in Java, half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace")
