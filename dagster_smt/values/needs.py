"""Refusals that a transform words itself, with the exception class that the original throws."""

from dataclasses import dataclass
from typing import Any

from dagster_smt.errors import DATA_EXCEPTION, DataError, data_error
from dagster_smt.values.basic import ValueRule

NULL_POINTER = "java.lang.NullPointerException"
CLASS_CAST = "java.lang.ClassCastException"


@dataclass(frozen=True, slots=True)
class Needed(ValueRule):
    """Refuse null. A second value, if there is one, is the key or value around it: a null one is somebody else's."""

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
    """Whether an answer is not the one that is wanted; null is a no."""

    wanted: bool

    def python(self, answer: bool | None) -> bool:
        return bool(answer) is not self.wanted

    def column(self, F: Any, answer: Any) -> Any:
        return F.coalesce(answer, F.lit(False)) != F.lit(self.wanted)


@dataclass(frozen=True, slots=True)
class Unless(Needed):
    """Refuse one text; null is another one."""

    text: str = ""

    def python(self, value: Any, *around: Any) -> Any:
        if value == self.text:
            raise self.failure()
        return value

    def failed(self, F: Any, result: Any, value: Any, *around: Any) -> Any:
        return value == F.lit(self.text)
