"""Implements ``java.text.SimpleDateFormat`` in UTC and the locale ``en``: patterns, parsing and formatting.

Parsing is lenient, as in Java: fields overflow into the next field, text after the last field is ignored, and spaces
may precede a field. In Java, a formatter that has read a zone uses this zone for later strings. Here, the formatter
forgets the zone after each string (difference D2). The formatter knows the common English zone names, each with the
offset that Java 17 uses for it.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any

from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError, Problem
from dagster_smt.values.java.calendar import DAY, Fields, Moment, civil, day_number
from dagster_smt.values.numbers import wrap
from dagster_smt.values.times.date_texts import texts_of

LETTERS = "GyMdkHmsSEDFwWahKzZYuXL"
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December")  # fmt: skip
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_ERAS, _HALVES = ("BC", "AD"), ("AM", "PM")
_MINUTE = 60_000
_HOUR = 3_600_000
_CLOCK: dict[str, Callable[[int], Any]] = {
    "a": lambda of_day: _HALVES[of_day >= 12 * _HOUR],
    "H": lambda of_day: of_day // _HOUR,
    "k": lambda of_day: of_day // _HOUR or 24,
    "K": lambda of_day: of_day // _HOUR % 12,
    "h": lambda of_day: of_day // _HOUR % 12 or 12,
    "m": lambda of_day: of_day // _MINUTE % 60,
    "s": lambda of_day: of_day // 1000 % 60,
    "S": lambda of_day: of_day % 1000,
}
"""Maps each letter for a field of the time of day to a function that computes the field from the milliseconds since
midnight.
"""
_DIGITS = {"y": 4, "M": 2, "d": 2, "H": 2, "m": 2, "s": 2, "S": 3}
"""Maps the letter of a field to its usual number of digits: the year ``y`` has 4. If all fields of a pattern are of
usual length, a single regular expression can read a string.
"""
_MOST_DAYS = 10_000
_MOMENT_FIELDS = {"d": "day", "Y": "week_year", "D": "day_of_year", "w": "week_of_year", "W": "week_of_month",
                  "F": "weekday_in_month"}  # fmt: skip
_ZONES = {
    0: "UTC,GMT,WET,AZOST,EGST,Coordinated Universal Time,Greenwich Mean Time,Western European Standard Time",
    60: "CET,BST,MET,WAT,WEST,Central European Standard Time,Central European Time,British Summer Time,"
        "Irish Standard Time,Western European Summer Time,West Africa Standard Time",
    120: "CEST,EET,MEST,CAT,SAST,IST,Central European Summer Time,Eastern European Standard Time,Central Africa Time,"
         "South Africa Standard Time,Israel Standard Time",
    180: "EEST,MSK,MSD,EAT,TRT,IDT,Eastern European Summer Time,Moscow Standard Time,East Africa Time,"
         "Israel Daylight Time,Arabian Standard Time",
    210: "IRST,Iran Standard Time",
    240: "GST,AMT,AZT,GET,SAMT,Gulf Standard Time,Armenia Standard Time,Azerbaijan Standard Time,Georgia Standard Time",
    270: "AFT,Afghanistan Time",
    300: "PKT,UZT,YEKT,MVT,Pakistan Standard Time,Uzbekistan Standard Time,Yekaterinburg Standard Time",
    330: "India Standard Time",
    345: "NPT,Nepal Time",
    360: "BDT,OMST,Bangladesh Standard Time,Omsk Standard Time",
    390: "MMT,Myanmar Time",
    420: "ICT,WIB,NOVT,KRAT,Indochina Time,Western Indonesia Time,Novosibirsk Standard Time,Krasnoyarsk Standard Time",
    480: "SGT,HKT,AWST,MYT,IRKT,China Standard Time,Singapore Standard Time,Hong Kong Standard Time,Malaysia Time,"
         "Philippine Standard Time,Taipei Standard Time,Australian Western Standard Time,Irkutsk Standard Time",
    540: "JST,KST,YAKT,Japan Standard Time,Korean Standard Time,Yakutsk Standard Time",
    570: "ACST,Australian Central Standard Time",
    600: "AEST,ChST,PGT,VLAT,Australian Eastern Standard Time,Chamorro Standard Time,Vladivostok Standard Time",
    660: "AEDT,NCT,MAGT,Australian Eastern Daylight Time,New Caledonia Standard Time,Magadan Standard Time",
    720: "NZST,FJT,New Zealand Standard Time,Fiji Standard Time",
    780: "NZDT,New Zealand Daylight Time",
    -60: "AZOT,CVT,Azores Standard Time,Cape Verde Standard Time",
    -150: "NDT,Newfoundland Daylight Time",
    -180: "ADT,ART,BRT,UYT,Atlantic Daylight Time,Argentina Standard Time,Brasilia Standard Time,Uruguay Standard Time",
    -210: "NST,Newfoundland Standard Time",
    -240: "AST,EDT,BOT,CLT,VET,Atlantic Standard Time,Eastern Daylight Time,Bolivia Time,Chile Standard Time,"
          "Venezuela Time",
    -300: "EST,CDT,COT,PET,ECT,Eastern Standard Time,Central Daylight Time,Colombia Standard Time,Peru Standard Time,"
          "Ecuador Time",
    -360: "CST,MDT,Central Standard Time,Mountain Daylight Time",
    -420: "MST,PDT,Mountain Standard Time,Pacific Daylight Time",
    -480: "PST,AKDT,Pacific Standard Time,Alaska Daylight Time",
    -540: "AKST,Alaska Standard Time",
    -600: "HST,HDT,Hawaii-Aleutian Standard Time,Hawaii Standard Time",
    -660: "SST,Samoa Standard Time",
}  # fmt: skip
_ZONE_OFFSETS = {name.lower(): minutes for minutes, names in _ZONES.items() for name in names.split(",")}


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    # the longest name first, because an alternation takes the first match: ``September`` before ``Sep``
    return re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))), re.IGNORECASE)


_NAMES = {
    "G": (_any_of(_ERAS), {name.lower(): n for n, name in enumerate(_ERAS)}),
    "a": (_any_of(_HALVES), {name.lower(): n for n, name in enumerate(_HALVES)}),
    "M": (_any_of((*_MONTHS, *(m[:3] for m in _MONTHS))), {m[:3].lower(): n for n, m in enumerate(_MONTHS)}),
    "E": (_any_of((*_WEEKDAYS, *(d[:3] for d in _WEEKDAYS))), {d[:3].lower(): n for n, d in enumerate(_WEEKDAYS, 1)}),
}
# SimpleDateFormat reads numbers with DecimalFormat, which also accepts these forms: ``1E3-01-01`` is the year 1000
_NUMBER = re.compile(r"-?\d+(?:E-?\d+)?|NaN|-?∞")
_NO_NUMBERS = {"NaN": 0, "∞": 2**31 - 1, "-∞": -(2**31)}
_ZONE_NAME = _any_of(_ZONE_OFFSETS)
_RFC_822 = re.compile(r"([+-])([01][0-9]|2[0-3])([0-5][0-9])")
_GMT = re.compile(r"GMT(?:([+-])([01]?[0-9]|2[0-3]):([0-5][0-9])|(?![+-]))", re.IGNORECASE)
_ISO_8601 = {
    1: re.compile(r"Z|([+-])([01][0-9]|2[0-3])()"),
    2: re.compile(r"Z|([+-])([01][0-9]|2[0-3])([0-5][0-9])"),
    3: re.compile(r"Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9])"),
}


@dataclass(frozen=True, slots=True)
class _DatePart:
    """A part of a date pattern. The part is literal text (``letter`` is empty), or a letter that is repeated ``count``
    times.

    ``abuts`` is True if the next part of the pattern is a number. If this part is a number as well, it then has at most
    ``count`` digits.
    """

    letter: str
    count: int = 0
    text: str = ""
    abuts: bool = False

    @property
    def numeric(self) -> bool:
        return self.letter not in ("", "G", "E", "a", "z", "Z", "X") and not (self.letter in "ML" and self.count > 2)


@dataclass(frozen=True)
class DateFormat:
    """A compiled date pattern."""

    pattern: str
    parts: tuple[_DatePart, ...]

    def format(self, milliseconds: int) -> str:
        """Returns the instant ``milliseconds`` as a string."""
        day, of_day = divmod(milliseconds, DAY)
        text = self._days.get(day) or self._of_day(day)
        return text % tuple([number(of_day) for number in self._clock])

    def format_all(self, instants: list[int]) -> list[str]:
        """Returns all ``instants`` as strings. This is faster than calling ``format`` for each instant."""
        texts = texts_of(instants, lambda day: self._days.get(day) or self._of_day(day), self._letters, _CLOCK)
        if texts is None:
            return list(map(self.format, instants))
        return texts

    def _of_day(self, day: int) -> str:
        """Returns the string of the day ``day``, with ``%`` formats in place of the time of day: ``2020-01-31
        %02d:%02d``.

        The string is cached, because most records belong to a few days.
        """
        moment = Moment(day * DAY)
        texts = []
        for part in self.parts:
            # ``format`` inserts the time of day with the operator %
            texts.append(_percent(part) or _text(moment, part).replace("%", "%%"))
        # a topic may contain any number of days
        if len(self._days) >= _MOST_DAYS:
            self._days.clear()
        self._days[day] = text = "".join(texts)
        return text

    @cached_property
    def _days(self) -> dict[int, str]:
        return {}

    @cached_property
    def _clock(self) -> list[Callable[[int], Any]]:
        return [_CLOCK[letter] for letter in self._letters]

    @cached_property
    def _letters(self) -> list[str]:
        return [part.letter for part in self.parts if part.letter in _CLOCK]

    def parse(self, text: str) -> int | None:
        """Returns the instant that ``text`` begins with, in milliseconds since 1970. Returns None if ``text`` does not
        match the pattern.
        """
        match = self._digits.match(text) if self._digits is not None else None
        instant = None if match is None else _usual(match.groupdict())
        if instant is None:
            return self._leniently(text)
        return instant

    @cached_property
    def _digits(self) -> re.Pattern[str] | None:
        """A regular expression for strings in which each field has exactly as many digits as in the pattern. A match
        with this expression takes less time than the lenient parser.

        None if a field has an unusual number of digits, such as ``yy``, or is not in ``_DIGITS``, such as the weekday
        ``E``. Also None if a field occurs twice, or if the year, month or day is missing.
        """
        letters = [part.letter for part in self.parts if part.letter]
        fixed = all(_DIGITS.get(part.letter) == part.count for part in self.parts if part.letter)
        if not fixed or len(set(letters)) < len(letters) or not {"y", "M", "d"} <= set(letters):
            return None
        return re.compile("".join(map(_fixed, self.parts)))

    def _leniently(self, text: str) -> int | None:
        reader = _DateReader(text, self)
        for part in self.parts:
            if not reader.read(part):
                return None
        instant = reader.fields.milliseconds()
        # The window of a hundred years begins within a year. A date in this year that is too early belongs to the end
        # of the window.
        if reader.ambiguous and instant < self.century_start:
            reader.fields.add_years(100)
            instant = reader.fields.milliseconds()
        return instant

    @cached_property
    def century_start(self) -> int:
        """The beginning of the hundred years to which two-digit years belong. This is the time 80 years before the
        first string was parsed.
        """
        now = Moment(int(time.time() * 1000))
        day = day_number(now.year - 80, now.month, now.day, julian=False)
        return day * DAY + now.of_day


@lru_cache(maxsize=256)
def date_format(pattern: str) -> DateFormat:
    """Compiles the date pattern ``pattern``.

    Raises:
        ConfigError: SMT022 for unknown letters, too many ``X``, or an unclosed quote.
    """
    parts, unknown, at = [], [], 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "'":
            text, at = _quoted(pattern, at)
            parts.append(_DatePart("", text=text))
        elif not (letter.isascii() and letter.isalpha()):
            parts.append(_DatePart("", text=letter))
            at += 1
        else:
            end = at
            while end < len(pattern) and pattern[end] == letter:
                end += 1
            unknown += [letter] if letter not in LETTERS else []
            parts.append(_DatePart(letter, end - at))
            at = end
    if unknown:
        letters = ", ".join(f"'{letter}'" for letter in dict.fromkeys(unknown))
        raise _refuse(pattern, f"SimpleDateFormat does not have these letters: {letters}")
    if any(part.letter == "X" and part.count > 3 for part in parts):
        raise _refuse(pattern, "at most three 'X' may follow each other")
    followers = [*parts, _DatePart("")][1:]
    abutting = (replace(part, abuts=next_.numeric) for part, next_ in zip(parts, followers, strict=True))
    return DateFormat(pattern, tuple(abutting))


def _quoted(pattern: str, start: int) -> tuple[str, int]:
    """Returns the text inside the quotes that open at ``start``, and the position after the closing quote. Two adjacent
    quotes inside the text stand for one quote.
    """
    if pattern.startswith("''", start):
        return "'", start + 2
    text, at = "", start + 1
    while at < len(pattern):
        if pattern.startswith("''", at):
            text, at = text + "'", at + 2
        elif pattern[at] == "'":
            return text, at + 1
        else:
            text, at = text + pattern[at], at + 1
    raise _refuse(pattern, f"the quote at position {start} is not closed")


def _refuse(pattern: str, what: str) -> ConfigError:
    statement = f"the date pattern '{pattern}' cannot be used: {what}"
    hint = f"the letters are {LETTERS}; put other text between single quotes"
    return ConfigError(Problem("SMT022", "", statement, hint, CONFIG_EXCEPTION))


def _fixed(part: _DatePart) -> str:
    """Returns a regular expression that reads ``part``: its digits, or its literal text. If the next part of the
    pattern is not a number, the digits must not be followed by another digit (of any script) or an ``E``.
    """
    if not part.letter:
        return re.escape(part.text)
    return f"(?P<{part.letter}>[0-9]{{{part.count}}})" + ("" if part.abuts else r"(?![\dE])")


def _usual(fields: Mapping[str, str]) -> int | None:
    """Returns the instant of ``fields``, the digits of a date by their letter. Returns None if the lenient parser must
    read the date: if a field is out of range, the day is above 28, or the year is before 1583.
    """
    year, month, day = int(fields["y"]), int(fields["M"]), int(fields["d"])
    hour, minute, second = int(fields.get("H", 0)), int(fields.get("m", 0)), int(fields.get("s", 0))
    # every month has 28 days, so no field overflows; the Gregorian calendar began in 1582
    if not (year > 1582 and 0 < month < 13 and 0 < day < 29 and hour < 24 and minute < 60 and second < 60):
        return None
    clock = (hour * 60 + minute) * _MINUTE + second * 1000 + int(fields.get("S", 0))
    return day_number(year, month, day, julian=False) * DAY + clock


def _percent(part: _DatePart) -> str:
    """Returns the ``%`` format of ``part``, such as ``%02d``, if ``part`` belongs to the time of day; otherwise an
    empty string.
    """
    if part.letter not in _CLOCK:
        return ""
    if part.letter == "a":
        return "%s"
    return f"%0{part.count}d"


def _text(moment: Moment, part: _DatePart) -> str:
    """Returns a part of the date ``moment``, such as its year or weekday, as a string. Times of the day are not handled
    here.
    """
    letter, count = part.letter, part.count
    if not letter:
        return part.text
    if letter in "ML" and count > 2:
        if count > 3:
            return _MONTHS[moment.month - 1]
        return _MONTHS[moment.month - 1][:3]
    if letter == "E":
        if count > 3:
            return _WEEKDAYS[moment.weekday - 1]
        return _WEEKDAYS[moment.weekday - 1][:3]
    if letter == "G":
        return _ERAS[moment.year > 0]
    if letter in "zZX":
        return {"Z": "+0000", "X": "Z"}.get(letter) or ("UTC" if count < 4 else "Coordinated Universal Time")
    number = _number(moment, letter)
    sign, digits = "-" if number < 0 else "", str(abs(number)).rjust(count, "0")
    return sign + (digits[-2:] if letter in "yY" and count == 2 else digits)


def _number(moment: Moment, letter: str) -> int:
    if letter == "y":
        if moment.year > 0:
            return moment.year
        return 1 - moment.year
    if letter in "ML":
        return moment.month
    if letter == "u":
        return (moment.weekday + 5) % 7 + 1
    number: int = getattr(moment, _MOMENT_FIELDS[letter])
    return number


class _DateReader:
    """A reader of one string. ``at`` is the position at which the next part begins."""

    def __init__(self, text: str, form: DateFormat):
        self.text, self.form, self.at = text, form, 0
        self.fields = Fields()
        self.ambiguous = False

    def read(self, part: _DatePart) -> bool:
        """Reads ``part`` of the pattern from the string. Returns False if the string does not match."""
        if not part.letter:
            fits = self.text.startswith(part.text, self.at)
            self.at += len(part.text)
            return fits
        start = self.at
        while self.text[start : start + 1] in (" ", "\t"):
            start += 1
        if start >= len(self.text):
            return False
        if part.letter in "zZX":
            return self._zone(part, start)
        if part.numeric:
            return self._digits(part, start)
        return self._name(part)

    def _name(self, part: _DatePart) -> bool:
        letter = "M" if part.letter == "L" else part.letter
        names, values = _NAMES[letter]
        match = names.match(self.text, self.at)  # spaces are allowed before numbers, but not before names
        if match is None:
            return False
        name = match[0].lower()
        self.fields.set(letter, values[name if letter in "Ga" else name[:3]])
        self.at = match.end()
        return True

    def _digits(self, part: _DatePart, start: int) -> bool:
        end = self.at + part.count if part.abuts else len(self.text)
        if end > len(self.text):
            return False
        match = _NUMBER.match(self.text, start, end)
        if match is None:
            return False
        self.at = match.end()
        self._set(part, _int(match[0]), match[0])
        return True

    def _set(self, part: _DatePart, value: int, digits: str) -> None:
        letter = part.letter
        # as documented for SimpleDateFormat, only exactly two digits are an abbreviation; ``y`` reads 7 as the year 7
        if letter in "yY" and part.count <= 2 and len(digits) == 2 and digits.isdecimal():
            first = civil(self.form.century_start // DAY)[0]
            self.ambiguous = value == first % 100
            value += first // 100 * 100 + (100 if value < first % 100 else 0)
        elif letter in "ML":
            letter, value = "M", value - 1
        # ``k`` counts from 1 to 24, ``h`` from 1 to 12, and ``u`` from Monday; ``Calendar`` counts from 0 and from
        # Sunday
        elif letter == "k":
            letter, value = "H", 0 if value == 24 else value
        elif letter in "hK":
            letter, value = "h", 0 if (letter, value) == ("h", 12) else value
        elif letter == "u":
            letter, value = "E", value % 7 + 1 if 1 <= value <= 7 else value
        self.fields.set(letter, value)

    def _zone(self, part: _DatePart, start: int) -> bool:
        if part.letter == "X":
            return self._offset(_ISO_8601[part.count].match(self.text, start))
        if self.text[start] in "+-":
            return self._offset(_RFC_822.match(self.text, start))
        # After a space, Java reads GMT as a zone name, and ignores the offset: ``10:00  GMT+05:00`` is 10:00 UTC.
        if start == self.at and self.text[start : start + 3].upper() == "GMT":
            return self._offset(_GMT.match(self.text, start))
        match = _ZONE_NAME.match(self.text, start)
        if match is None:
            return False
        offset = _ZONE_OFFSETS[match[0].lower()] * _MINUTE
        self.fields.offset = offset or self.fields.offset  # the zone name UTC does not reset an earlier offset
        self.at = match.end()
        return True

    def _offset(self, match: re.Match[str] | None) -> bool:
        """Sets the offset from UTC to ``match``, the match of a zone such as ``+01:30``. A zone without a sign, ``Z``,
        is UTC. Returns False if ``match`` is None.
        """
        if match is None:
            return False
        minutes = 60 * int(match[2]) + int(match[3] or 0) if match[1] else 0
        self.fields.offset = (-minutes if match[1] == "-" else minutes) * _MINUTE
        self.at = match.end()
        return True


def _int(text: str) -> int:
    """Converts ``text``, which consists of digits, to an int as Java does (``Number.intValue`` of a number from
    ``DecimalFormat``). An integer of up to 64 bits wraps around, and a larger integer saturates.
    """
    if text in _NO_NUMBERS:
        return _NO_NUMBERS[text]
    if len(text) < 10 and "E" not in text:
        return int(text)
    value = Decimal(text)
    if value and value.adjusted() > 20:
        if value > 0:
            return 2**31 - 1
        return -(2**31)
    whole = int(value) if value else 0
    if -(2**63) <= whole < 2**63:
        return wrap(whole, 32)
    if whole > 0:
        return 2**31 - 1
    return -(2**31)
