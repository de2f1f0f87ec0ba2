"""Defines Debezium's time types, and the rule that converts their values to a time zone (``TimezoneConverter`` of
Debezium 3.6.1).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.schema import BOOLEAN, JavaDate, Schema
from dagster_smt.model.schema import TIMESTAMP as CONNECT_TIMESTAMP
from dagster_smt.values.numbers import wrap
from dagster_smt.values.times.timestamps import ConvertTime, RecordTime
from dagster_smt.values.times.zones import (
    OffsetTime,
    date_time_text,
    offset_at,
    offset_of_local,
    parse_date_time,
    parse_time,
    time_text,
)
from dagster_smt.values.value_rule import PythonRule, ValueRule

TIME = "io.debezium.time."
TIMESTAMP, MICRO_TIMESTAMP, NANO_TIMESTAMP = (f"{TIME}{unit}Timestamp" for unit in ("", "Micro", "Nano"))
ZONED_TIMESTAMP, ZONED_TIME = f"{TIME}ZonedTimestamp", f"{TIME}ZonedTime"
PRECISIONS = {TIMESTAMP: "milliseconds", MICRO_TIMESTAMP: "microseconds", NANO_TIMESTAMP: "nanoseconds"}
EPOCHS = {"ts_ms": 1000, "ts_us": 1_000_000, "ts_ns": 1_000_000_000}
"""Maps the names of some time fields in an event's ``source`` to their units per second, such as 1000 for milliseconds.
The schemas of these fields have no name.
"""
_UNITS = {TIMESTAMP: 1000, MICRO_TIMESTAMP: 1_000_000, NANO_TIMESTAMP: 1_000_000_000, CONNECT_TIMESTAMP: 1000}
_LONG = (-(2**63), 2**63 - 1)


@dataclass(frozen=True, slots=True)
class InZone(PythonRule):
    """A rule that moves a time to a time zone. The rule gets three values: the time, a flag, and the event's timestamp
    in milliseconds since 1970. If the flag is null, the time stays as it is. A null time is read as its default.

    - A number in a row is read as local time in the zone, and becomes the instant of that local time.
    - A number in a field of ``EPOCHS`` is an instant, and becomes local time in the zone.
    - A string with a date keeps its instant and gets the zone's offset: in the zone ``+02:00``, 10:00 UTC becomes 12:00
      with the offset ``+02:00``.
    - A time without a date gets the offset that the zone has at the event's timestamp. Only this case needs the third
      value, and only if the zone's offset is not fixed.

    Attributes:
        zone: The time zone.
        kind: The name of the value's schema; for a field in ``EPOCHS``, the name of the field.
        default: The default of the value's schema.
    """

    zone: str
    kind: str
    default: Any = None

    @property
    def may_fail(self) -> bool:  # type: ignore[override]
        """True if values can fail: strings that are not times, and numbers of milliseconds that overflow.

        Numbers in smaller units never fail. As in Java, they wrap around or saturate.
        """
        return self.kind in (ZONED_TIMESTAMP, ZONED_TIME, TIMESTAMP, CONNECT_TIMESTAMP, "ts_ms")

    def python(self, value: Any, chosen: bool | None, now: int | None = None) -> Any:
        if chosen is None:
            return value
        value = self.default if value is None else value
        if value is None:
            return None
        if self.kind in EPOCHS:
            return self._epoch(int(value), EPOCHS[self.kind])
        if self.kind in _UNITS:
            return self._number(int(value))
        return self._text(value, now)

    def _number(self, value: int) -> int:
        unit = _UNITS[self.kind]
        local = value - offset_of_local(self.zone, value // unit) * unit
        if self.kind == CONNECT_TIMESTAMP:
            return JavaDate(RecordTime("Timestamp", "Timestamp").python(local))
        return self._limited(local)

    def _limited(self, value: int) -> int:
        if self.may_fail and not _LONG[0] <= value <= _LONG[1]:
            raise self.failure()
        return wrap(value, 64)

    def _epoch(self, value: int, unit: int) -> int:
        seconds, rest = divmod(value, unit)
        seconds += offset_at(self.zone, seconds)
        low, high = _LONG
        # Java's ``TimeUnit`` saturates
        whole = seconds * unit if self.may_fail else max(low, min(high, seconds * unit))
        return self._limited(whole + rest)

    def _text(self, text: str, now: int | None) -> str:
        if self.kind == ZONED_TIMESTAMP:
            time = parse_date_time(text)
            moved = time and time.at(offset_of_local(self.zone, time.local))
            return date_time_text(self._parsed(moved))
        time = parse_time(text)
        moved = time and time.at(offset_at(self.zone, (now or 0) // 1000))
        return time_text(self._parsed(moved))

    def _parsed(self, time: OffsetTime | None) -> OffsetTime:
        if time is None:
            raise self.failure()
        return time

    def failed(self, F: Any, result: Any, value: Any, chosen: Any, *now: Any) -> Any:
        present = value.isNotNull() if self.default is None else F.lit(True)
        return chosen.isNotNull() & present & result.isNull()

    def failure(self) -> DataError:
        if self.kind not in (ZONED_TIMESTAMP, ZONED_TIME):
            return ConvertTime("unix", "Timestamp").failure()
        statement = "the text is not a time with an offset in ISO 8601"
        hint = "exclude the field with exclude.list, or guard the stage with a predicate"
        return data_error("SMT489", statement, hint, "java.time.format.DateTimeParseException")


@dataclass(frozen=True, slots=True)
class Chosen(ValueRule):
    """A rule that selects change events by topic and table. The rule gets three values: the topic, the table, and a
    struct of the event. The rule returns True if the event is selected and the struct is not null, else null.

    Attributes:
        cases: Triples. ``(True, "orders", False)`` means: events of the topic ``orders`` are not selected. A triple
            that begins with False names a table instead of a topic. The first triple that fits the event applies.
        rest: True if events that no triple fits are selected, unless they have neither a topic nor a table.
    """

    cases: tuple[tuple[bool, str, bool], ...]
    rest: bool
    returns: ClassVar[Schema | None] = BOOLEAN

    def python(self, topic: str | None, table: str | None, struct: Any) -> bool | None:
        if struct is None:
            return None
        for of_topic, name, chosen in self.cases:
            if name == (topic if of_topic else table):
                return chosen or None
        return (self.rest and (topic is not None or table is not None)) or None

    def column(self, F: Any, topic: Any, table: Any, struct: Any) -> Any:
        result = F.lit(self.rest) & (topic.isNotNull() | table.isNotNull())
        # built from the last case to the first, so that the condition of the first one is tested first
        for of_topic, name, chosen in reversed(self.cases):
            result = F.when((topic if of_topic else table) == F.lit(name), F.lit(chosen)).otherwise(result)
        return F.when(struct.isNotNull() & result, F.lit(True))
