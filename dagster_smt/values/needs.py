"""Defines rules that reject values. The transform that uses a rule sets the message of the error, and names the Java
exception class that Kafka's transform throws.
"""

from dataclasses import dataclass
from typing import Any

from dagster_smt.errors import DATA_EXCEPTION, DataError, data_error
from dagster_smt.values.value_rule import ValueRule

NULL_POINTER = "java.lang.NullPointerException"
CLASS_CAST = "java.lang.ClassCastException"


@dataclass(frozen=True, slots=True)
class Needed(ValueRule):
    """A rule that rejects a null in a field. The arguments are the field's value and the structs around the field. If
    one of these structs is null, nothing is rejected, because another rule handles a null struct.
    """

    code: str
    statement: str
    hint: str = ""
    connect_class: str = DATA_EXCEPTION
    may_fail = True

    def python(self, value: Any, *around: Any) -> Any:
        if value is None and None not in around:
            raise self.failure()
        return value

    def column(self, F: Any, value: Any, *around: Any) -> Any:
        return value

    def failed(self, F: Any, result: Any, value: Any, *around: Any) -> Any:
        missing = value.isNull()
        for outer in around:
            missing = missing & outer.isNotNull()
        return missing

    def failure(self) -> DataError:
        return data_error(self.code, self.statement, self.hint, self.connect_class)


@dataclass(frozen=True, slots=True)
class Differs(ValueRule):
    """A rule that returns True if a boolean differs from an expected boolean. A null is treated as false."""

    expected: bool

    def python(self, answer: bool | None) -> bool:
        return bool(answer) is not self.expected

    def column(self, F: Any, answer: Any) -> Any:
        return F.coalesce(answer, F.lit(False)) != F.lit(self.expected)


@dataclass(frozen=True, slots=True)
class Unless(Needed):
    """A rule that rejects one certain string, and returns any other string. A null stays null."""

    text: str = ""

    def python(self, value: Any, *around: Any) -> Any:
        if value == self.text:
            raise self.failure()
        return value

    def failed(self, F: Any, result: Any, value: Any, *around: Any) -> Any:
        return value == F.lit(self.text)
