"""Defines the rule that checks a record's target partition, which a stage has chosen."""

from dataclasses import dataclass
from typing import Any

from dagster_smt.errors import DataError, data_error
from dagster_smt.values.value_rule import ValueRule

_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ChosenPartition(ValueRule):
    """A rule that returns a partition number, and rejects a negative number, as producers do.

    If the number is null, the producer chooses the partition. Before a sink writes records, it checks whether the topic
    has the partition.
    """

    may_fail = True

    def python(self, value: Any) -> int | None:
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
            raise self.failure()
        return value

    def column(self, F: Any, value: Any) -> Any:
        return F.when(value >= 0, value).cast("int")

    def failed(self, F: Any, result: Any, value: Any) -> Any:
        return value < 0

    def failure(self) -> DataError:
        return data_error("SMT444", "the value for the partition is not a partition's number", "fix the value")
