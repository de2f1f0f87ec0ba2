"""Defines rules that make values coarser. The rules replace, for example, an IP address with its network, a date with
the beginning of its month, 17 with 10, and a postcode with its first characters.
"""

import ipaddress
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.runtime import box
from dagster_smt.model.schema import INTEGER_BITS, JavaDate, Schema, Type
from dagster_smt.values.java.calendar import DAY, day_number, gregorian
from dagster_smt.values.numbers import EXACT, check_digits, to_float32
from dagster_smt.values.privacy.text_rule import TextRule
from dagster_smt.values.value_rule import NullStays, PythonRule

PERIODS = ("year", "quarter", "month", "day", "hour")
_MOMENT = re.compile(
    "([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:([T ])([0-9]{2})(:[0-9]{2})(:[0-9]{2}(?:[.,][0-9]{1,9})?)?(.*))?)?)?",
    re.S,
)
"""Matches a date or time. The groups are the year, the month, the day, the separator before the time, the hour, the
minute, the second, and the zone.
"""
_ZONE = re.compile(r"(?:Z|[+-][0-9]{2}:?(?:[0-9]{2})?)?")
_ZERO = re.compile("[0-9]")


@dataclass(frozen=True, slots=True)
class Network(TextRule):
    """A rule that replaces an IP address with the first address of its network. If 24 bits stay, ``192.168.7.9``
    becomes ``192.168.7.0``.

    Attributes:
        v4, v6: The number of bits that stay in an IPv4 address, and in an IPv6 address.
    """

    v4: int
    v6: int
    may_fail = True

    def of_text(self, text: str) -> str:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            raise self.failure() from None
        if address.version == 4:
            hidden = 32 - self.v4
        else:
            hidden = 128 - self.v6
        return str(type(address)(int(address) >> hidden << hidden))

    def failure(self) -> DataError:
        return data_error("SMT745", "a string is not an IP address", "add a predicate, or clean the field first")

    def program(self) -> dict[str, Any]:
        # Java handles only IPv4 addresses, and leaves all other strings to Python
        return {"name": "network", "v4": self.v4}


@dataclass(frozen=True, slots=True)
class TextPeriod(TextRule):
    """A rule that replaces an ISO 8601 date or time with the beginning of its period. With the period ``month``,
    ``2026-05-17`` becomes ``2026-05-01``. The result has the same form and zone as the original string.

    Attributes:
        period: A name in ``PERIODS``.
    """

    period: str
    may_fail = True

    def of_text(self, text: str) -> str:
        match = _MOMENT.fullmatch(text)
        if match is None or not _ZONE.fullmatch(match[8] or "") or not self._is_valid(match):
            raise self.failure()
        level = PERIODS.index(self.period)
        month = match[2] and ("01" if level == 0 else match[2])
        if month and self.period == "quarter":
            month = f"{(int(month) - 1) // 3 * 3 + 1:02d}"
        day = match[3] and ("01" if level <= 2 else match[3])
        hour = match[5] and ("00" if level <= 3 else match[5])
        date = "-".join(part for part in (match[1], month, day) if part)
        if not hour:
            return date
        # minutes, seconds and fraction keep their number of digits
        small = _ZERO.sub("0", match[6] + (match[7] or ""))
        return f"{date}{match[4]}{hour}{small}{match[8]}"

    @staticmethod
    def _is_valid(match: "re.Match[str]") -> bool:
        bounds = ((2, 1, 12), (3, 1, 31), (5, 0, 23))
        return all(match[group] is None or low <= int(match[group]) <= high for group, low, high in bounds)

    def failure(self) -> DataError:
        hint = "use a form such as 2026-11-26 or 2026-11-26T07:30:00Z; TimestampConverter changes other forms"
        return data_error("SMT746", "a string is not an ISO 8601 date or time", hint)


@dataclass(frozen=True, slots=True)
class DatePeriod(NullStays, PythonRule):
    """A rule that replaces a Date or Timestamp with the beginning of its period, in UTC.

    Attributes:
        period: A name in ``PERIODS``.
    """

    period: str

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        milliseconds = int(value)
        if self.period == "hour":
            return JavaDate(milliseconds - milliseconds % (DAY // 24))
        days = milliseconds // DAY
        if self.period != "day":
            year, month, _ = gregorian(days)
            first = {"year": 1, "quarter": (month - 1) // 3 * 3 + 1, "month": month}[self.period]
            days = day_number(year, first, 1, julian=False)
        return JavaDate(days * DAY)


@dataclass(frozen=True, slots=True)
class WholeMultiple(NullStays, PythonRule):
    """A rule that replaces a whole number with the next lower multiple of a step. With the step 10, 17 becomes 10.

    Attributes:
        step: The step.
        type: The type of the number. A multiple below the type's smallest value becomes this smallest value.
        boxes: True for a value without a schema. The result then has the Python class that stands for its Java type.
    """

    step: int
    type: Type
    boxes: bool = False

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        number = int(value)
        multiple = max(number - number % self.step, -(2 ** (INTEGER_BITS[self.type] - 1)))
        if self.boxes:
            return box(multiple, self.type)
        return multiple


@dataclass(frozen=True, slots=True)
class FloatMultiple(NullStays, PythonRule):
    """A rule that replaces a float with the next lower multiple of a step. With the step 0.01, 1.239 becomes 1.23, and
    0.29 stays. NaN and infinities stay.

    Attributes:
        step: The numerator of the step. For the step 10, ``step`` is 10 and ``parts`` is 1. For the step 0.01, ``step``
            is 1 and ``parts`` is 100.
        parts: The denominator of the step.
        type: FLOAT32 or FLOAT64.
        boxes: True for a value without a schema. The result then has the Python class that stands for its Java type.
    """

    step: int
    parts: int
    type: Type
    boxes: bool = False

    def python(self, value: Any) -> Any:
        if value is None or not math.isfinite(value):
            return value
        numerator, denominator = value.as_integer_ratio()
        count = numerator * self.parts // (denominator * self.step)
        multiple, following = self._float(count), self._float(count + 1)
        # The float 0.29 is a little less than 29 hundredths, but it is the float for 29 hundredths.
        if following <= value:
            multiple = following
        if self.boxes:
            return box(multiple, self.type)
        return multiple

    def _float(self, count: int) -> float:
        """Returns ``count`` steps as the nearest float. An overflow becomes an infinity."""
        try:
            multiple = count * self.step / self.parts  # of integers, so the division alone rounds
        except OverflowError:
            return math.copysign(math.inf, count)
        if self.type is Type.FLOAT32:
            return to_float32(multiple)
        return multiple


@dataclass(frozen=True, slots=True)
class DecimalMultiple(NullStays, PythonRule):
    """A rule that replaces a decimal with the next lower multiple of a step. With the step ``0.5``, 1.75 becomes 1.50.
    The scale of the decimal stays.

    Attributes:
        step: The step, as a string.
    """

    step: str

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        check_digits(value)
        step = Decimal(self.step)
        rest = EXACT.remainder(value, step)
        if rest < 0:
            rest = EXACT.add(rest, step)
        return EXACT.quantize(EXACT.subtract(value, rest), value)


@dataclass(frozen=True, slots=True)
class Beginning(TextRule):
    """A rule that keeps the first letters and digits of a postcode, and drops the rest. A shorter string becomes empty.

    Attributes:
        count: The number of letters and digits that stay.
    """

    count: int
    returns: ClassVar[Schema | None] = TextRule.returns

    def of_text(self, text: str) -> str:
        characters = [character for character in text if character not in " -"]
        if len(characters) <= self.count:
            return ""
        return "".join(characters[: self.count])

    def program(self) -> dict[str, Any]:
        return {"name": "beginning", "count": self.count}
