"""Partitions that a stage chooses for records on their way to a topic."""

from dataclasses import dataclass
from typing import Any

from dagster_smt.errors import DataError, data_error
from dagster_smt.values.basic import ValueRule

_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ChosenPartition(ValueRule):
    """The number of a partition; null leaves the choice to the topic. Negative ones are refused, as producers do.

    Whether the topic has such a partition is looked at before records are written.
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
        return data_error("SMT444", "what is to be the partition is no number that one can have", "correct it")
