"""Defines value rules for the events of an outbox table. The rules determine which events become messages."""

from dataclasses import dataclass
from typing import Any, ClassVar

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.schema import BOOLEAN, Schema
from dagster_smt.values.value_rule import ValueRule

ILLEGAL_STATE = "java.lang.IllegalStateException"
_NOT_SENT = ("d", "u")


@dataclass(frozen=True, slots=True)
class NoUpdate(ValueRule):
    """A rule that returns the operation of an event, and rejects an event that updates a row."""

    may_fail = True

    def python(self, op: str | None) -> str | None:
        if op == "u":
            raise self.failure()
        return op

    def column(self, F: Any, op: Any) -> Any:
        return op

    def failed(self, F: Any, result: Any, op: Any) -> Any:
        return op == F.lit("u")

    def failure(self) -> DataError:
        hint = "only insert rows into the outbox, or set table.op.invalid.behavior=warn"
        return data_error("SMT484", "a row of the outbox was changed", hint, ILLEGAL_STATE)


@dataclass(frozen=True, slots=True)
class NotSent(ValueRule):
    """A rule that returns True if an event deletes or updates a row, and therefore results in no message.

    The first value is the operation of the event, and the second value is the row after the change. An event without
    this row is rejected, unless it deletes or updates a row.
    """

    may_fail = True
    returns: ClassVar[Schema | None] = BOOLEAN

    def python(self, op: str | None, row: Any) -> bool:
        if op not in _NOT_SENT and row is None:
            raise self.failure()
        return op in _NOT_SENT

    def column(self, F: Any, op: Any, row: Any) -> Any:
        return op.isin(*_NOT_SENT)

    def failed(self, F: Any, result: Any, op: Any, row: Any) -> Any:
        return ~op.isin(*_NOT_SENT) & row.isNull()

    def failure(self) -> DataError:
        hint = "guard the stage with a predicate: the table was truncated, or is not an outbox"
        return data_error("SMT485", "the event has no row after the change", hint)
