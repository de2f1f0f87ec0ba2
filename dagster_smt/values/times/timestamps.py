"""Defines the rules of TimestampConverter. The rules convert between strings, numbers and dates. Each value is first
converted to an instant in milliseconds.

All zones are UTC (difference D3).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dagster_smt.errors import CONNECT_EXCEPTION, DataError, data_error
from dagster_smt.model.schema import STRING, JavaDate, Schema, Type, date, time, timestamp
from dagster_smt.values.java.calendar import DAY
from dagster_smt.values.java.dates import date_format
from dagster_smt.values.numbers import wrap
from dagster_smt.values.value_rule import NullStays, PythonRule, Refused, ValueRule

TARGETS = {"string": STRING, "unix": Schema(Type.INT64), "Date": date(), "Time": time(), "Timestamp": timestamp()}
PRECISIONS = {"nanoseconds": (1, 1_000_000), "microseconds": (1, 1000), "milliseconds": (1, 1), "seconds": (1000, 1)}
"""Maps a unit to two factors. A number of this unit times the first factor, divided by the second factor, is a number
of milliseconds: 5,000 microseconds are 5,000 * 1 / 1,000 = 5 milliseconds.
"""
_WIDER = ("Date", "Timestamp")
_LONG = (-(2**63), 2**63 - 1)
_SPARK_DAYS = (-(2**31), 2**31 - 1)
_SPARK_MILLIS = (-9_223_372_036_854_775, 9_223_372_036_854_775)


@dataclass(frozen=True, slots=True)
class ConvertTime(NullStays):
    """A rule that converts values of one kind (``string``, ``unix``, ``Date``, ``Time``, ``Timestamp``) to another of
    these kinds.

    Attributes:
        source, target: The kinds.
        format: The pattern for reading and writing strings.
        precision: The unit of ``unix`` numbers. Conversions truncate toward zero and saturate, as Java's ``TimeUnit``
            does.
    """

    source: str
    target: str
    format: str = ""
    precision: str = "milliseconds"

    @property
    def may_fail(self) -> bool:  # type: ignore[override]
        """True for strings, because they may not be dates, and for instants that Spark cannot store."""
        return self.source in ("string", "unix") or self.target == "Date" or (self.source, self.target) == _WIDER

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        """True if one of the kinds is a string, because Catalyst has neither SimpleDateFormat nor the Julian
        calendar.
        """
        return "string" in (self.source, self.target)

    def failure(self) -> DataError:
        if self.source != "string":
            hint = "add a predicate to the stage, or drop the field"
            return data_error("SMT422", f"the instant is out of the range of Spark's {self.target}", hint)
        if not self.format:
            return data_error(
                "SMT421", "a string cannot be read as a timestamp without a pattern", "set the option format"
            )
        hint = "fix the option format, or add a predicate to the stage"
        return data_error("SMT420", f"the text does not match the date pattern '{self.format}'", hint)

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        return self._to_target(self._millis(value))

    def bind(self) -> Callable[[Any], Any]:
        """Returns a function that converts one value, with the same results as the method ``python``. For conversions
        from milliseconds to strings, the function is faster than the method, because the pattern is looked up only
        once.
        """
        if self.target != "string" or self.source == "string" or PRECISIONS[self.precision] != (1, 1):
            return self.python
        text = date_format(self.format).format
        return lambda value: None if value is None else text(int(value))

    def bind_many(self) -> Callable[[list[Any]], list[Any]]:
        """Returns a function that converts many values. For conversions from milliseconds to strings, the function
        formats all values together, which is faster than one call for each value.
        """
        if self.target != "string" or self.source == "string" or PRECISIONS[self.precision] != (1, 1):
            return ValueRule.bind_many(self)
        texts = date_format(self.format).format_all
        one = self.bind()
        return lambda values: list(map(one, values)) if None in values else texts(values)

    def _millis(self, value: Any) -> int:
        if self.source == "string":
            instant = date_format(self.format).parse(value) if self.format else None
            if instant is None:
                raise self.failure()
            return instant
        if self.source == "unix":
            multiply, divide = PRECISIONS[self.precision]
            return _scaled(value, multiply, divide)
        return int(value)

    def _to_target(self, millis: int) -> Any:
        if self.target == "string":
            return date_format(self.format).format(millis)
        if self.target == "unix":
            divide, multiply = PRECISIONS[self.precision]
            return _scaled(millis, multiply, divide)
        of_day = millis % DAY
        if self.target == "Time":
            return JavaDate(of_day)
        return JavaDate(wrap(millis - of_day, 64) if self.target == "Date" else millis)

    def column(self, F: Any, value: Any) -> Any:
        millis = self._millis_column(F, value)
        if self.target == "unix":
            divide, multiply = PRECISIONS[self.precision]
            return _scaled_column(F, millis, multiply, divide)
        of_day = F.pmod(millis, F.lit(DAY))
        if self.target == "Time":
            return of_day.cast("int")
        if self.target == "Timestamp":
            return F.when(millis.between(*_SPARK_MILLIS), F.timestamp_millis(millis))
        before = F.when((millis < 0) & (of_day != 0), F.lit(1)).otherwise(F.lit(0))  # div truncates toward zero
        days = F.call_function("div", millis, F.lit(DAY)) - before
        return F.when(days.between(*_SPARK_DAYS), F.date_from_unix_date(days.try_cast("int")))

    def _millis_column(self, F: Any, value: Any) -> Any:
        if self.source == "unix":
            multiply, divide = PRECISIONS[self.precision]
            return _scaled_column(F, value, multiply, divide)
        if self.source == "Date":
            return F.unix_date(value).cast("bigint") * F.lit(DAY)
        if self.source == "Timestamp":
            return F.unix_millis(value)
        return value.cast("bigint")


def _scaled(value: int, multiply: int, divide: int) -> int:
    low, high = _LONG
    scaled = abs(int(value)) * multiply // divide
    return max(low, min(high, scaled if value >= 0 else -scaled))


def _scaled_column(F: Any, value: Any, multiply: int, divide: int) -> Any:
    if divide > 1:
        return F.call_function("div", value, F.lit(divide))
    if multiply == 1:
        return value
    low, high = map(F.lit, _LONG)
    limit = F.when(value < 0, low).when(value >= 0, high)
    # ``try_multiply`` returns null for an overflow; Java's ``TimeUnit`` saturates instead
    return F.coalesce(F.try_multiply(value, F.lit(multiply).cast("bigint")), limit)


@dataclass(frozen=True, slots=True)
class NoTimestamp(Refused):
    """A rule that rejects a struct because the type of one of its fields cannot be converted to a timestamp."""

    def failure(self) -> DataError:
        return data_error(self.code, self.statement, self.hint, CONNECT_EXCEPTION)


@dataclass(frozen=True, slots=True)
class RouteByTime(PythonRule):
    """A rule that returns the new topic of TimestampRouter. Its arguments are the topic and the record's timestamp."""

    topic_format: str
    timestamp_format: str
    may_fail = True

    def python(self, topic: str | None, timestamp: int | None) -> str:
        # as in Kafka's class, a missing timestamp is reported before a missing topic
        if timestamp is None:
            raise self.failure()
        if topic is None:
            raise data_error("SMT407", "the record has no topic")
        text = date_format(self.timestamp_format).format(timestamp)
        return self.topic_format.replace("${topic}", topic).replace("${timestamp}", text)

    def failed(self, F: Any, result: Any, topic: Any, timestamp: Any) -> Any:
        return result.isNull()

    def failure(self) -> DataError:
        return data_error("SMT423", "the record has no timestamp", "add a predicate to the stage, or drop the record")


@dataclass(frozen=True, slots=True)
class RecordTime(ConvertTime):
    """A rule that converts a value to the timestamp of a record. A timestamp that Spark cannot store is rejected, both
    on Spark and in Python.
    """

    def python(self, value: Any) -> Any:
        instant = ConvertTime.python(self, value)
        low, high = _SPARK_MILLIS
        if instant is not None and not low <= instant <= high:
            raise self.failure()
        return instant
