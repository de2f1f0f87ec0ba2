"""Builds the Spark column of the rule ``CastTo``. For a value that cannot be cast, the result is null instead of an
error, even in Spark's ANSI mode.
"""

from typing import Any

from dagster_smt.model.schema import INTEGER_BITS, Type
from dagster_smt.values.java.calendar import DAY
from dagster_smt.values.numbers import FLOAT_PATTERN

_SPARK = {
    Type.INT8: "tinyint",
    Type.INT16: "smallint",
    Type.INT32: "int",
    Type.INT64: "bigint",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
}
_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "Time": 32, "Date": 32, "Timestamp": 64}
_ZEROS = (  # the digit zero of every script whose digits Java's parseInt accepts; the digits 1 to 9 follow each zero
    "\u0660\u06f0\u07c0\u0966\u09e6\u0a66\u0ae6\u0b66\u0be6\u0c66\u0ce6\u0d66\u0de6\u0e50\u0ed0\u0f20\u1040\u1090"
    "\u17e0\u1810\u1946\u19d0\u1a80\u1a90\u1b50\u1bb0\u1c40\u1c50\ua620\ua8d0\ua900\ua9d0\ua9f0\uaa50\uabf0\uff10"
)
_PLAIN = "0123456789.+-eE"
"""The characters of plain decimals. If a string consists only of these characters, Spark and Java read the same number,
or both reject the string.
"""
_DIGITS = "".join(chr(ord(zero) + n) for zero in _ZEROS for n in range(10))


def cast_column(F: Any, value: Any, kind: str, target: Type) -> Any:
    """Returns a Spark column that casts ``value`` to the Connect type ``target``. ``kind`` is the type or logical type
    of the value, such as ``string`` or ``Date``.
    """
    if target is Type.STRING:
        return _text(F, value, kind)
    if kind == "bytes":
        return F.lit(None)
    if kind == "string":
        return _parsed(F, value, target)
    if kind in ("Date", "Time", "Timestamp"):
        value = _encoded(F, value, kind)
        kind = "int64" if kind == "Timestamp" else "int32"
    if kind == "boolean":
        value, kind = value.cast("int"), "int32"
    if target is Type.BOOLEAN:
        if kind in ("float", "double"):
            number = _saturated(F, value, 64)
        else:
            number = value
        return number != 0
    if target in INTEGER_BITS:
        return _integer(F, value, kind, INTEGER_BITS[target]).cast(_SPARK[target])
    return value.cast(_SPARK[target])


def _encoded(F: Any, value: Any, kind: str) -> Any:
    if kind == "Date":
        return F.unix_date(value)
    if kind == "Timestamp":
        return F.unix_millis(value)
    return value


def _integer(F: Any, value: Any, kind: str, bits: int) -> Any:
    if kind in ("float", "double"):
        value, have = _saturated(F, value, max(bits, 32)), max(bits, 32)
    else:
        have = _BITS[kind]
    if have <= bits:
        return value
    return _wrapped(F, value, bits)


def _wrapped(F: Any, value: Any, bits: int) -> Any:
    """Returns a column with the low ``bits`` bits of ``value`` as a signed number: for 8 bits, 300 becomes 44. Shifting
    the bits to the left and back extends the sign.
    """
    wide = value.cast("bigint")
    return F.shiftright(F.shiftleft(wide, 64 - bits), 64 - bits)


def _saturated(F: Any, value: Any, bits: int) -> Any:
    """Returns the double ``value`` as an integer with ``bits`` bits, truncated toward zero. NaN becomes 0. A number
    that is too large or too small becomes the largest or smallest integer.
    """
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    top = float(2 ** (bits - 1))
    double = value.cast("double")
    # the largest double below 2**63, because the largest long itself is not a double
    below_top = 9.223372036854774784e18 if bits == 64 else float(high)
    within = F.greatest(F.least(double, F.lit(below_top)), F.lit(float(low)))  # both skip nulls
    safe = F.when(F.isnan(double), F.lit(0.0)).when(double.isNotNull(), within)
    whole = safe.cast("bigint")
    # Spark treats NaN as larger than any other number
    return F.when(~F.isnan(double) & (double >= F.lit(top)), F.lit(high).cast("bigint")).otherwise(whole)


def _parsed(F: Any, value: Any, target: Type) -> Any:
    if target is Type.BOOLEAN:
        return F.lower(value) == F.lit("true")
    if target in INTEGER_BITS:
        ascii_digits = F.translate(value, _DIGITS, "0123456789" * len(_ZEROS))
        is_number = ascii_digits.rlike(r"\A[+-]?[0-9]+\z")
        # there may be many leading zeros; more than 19 other digits do not fit in any case
        short = F.regexp_replace(ascii_digits, r"\A([+-]?)0+(?=[0-9])", "$1")
        fits = is_number & (F.length(short) <= 20)
        return F.when(fits, short).try_cast("decimal(20,0)").try_cast(_SPARK[target])
    blanks = F.regexp_replace(value, r"\A[\x00-\x20]+|[\x00-\x20]+\z", "")
    plain = F.translate(value, _PLAIN, "") == F.lit("")  # most strings then do not need the slower regular expression
    number = F.when(plain, value).when(blanks.rlike(rf"\A{FLOAT_PATTERN}\z"), blanks)
    return number.try_cast("float" if target is Type.FLOAT32 else "double")


def _text(F: Any, value: Any, kind: str) -> Any:
    if kind == "bytes":
        return F.translate(F.base64(value), "\r\n", "")  # Spark inserts a line break after every 76 characters
    if kind in ("Date", "Timestamp", "Time"):
        return _date_text(F, value, kind)
    return value.cast("string")


def _date_text(F: Any, value: Any, kind: str) -> Any:
    """Returns a column with the date ``value`` as a string. As in ``Values.dateFormatFor``, the format depends on the
    instant: an instant before 1970-01-02 has no date, a whole day has no time.

    The string is composed from numbers without Spark's date formats. Spark's formats raise errors for days outside the
    range of Spark's timestamps, write ``+10000`` for a year of five digits, and depend on the session's time zone.
    """
    if kind == "Date":
        millis = F.unix_date(value).cast("bigint") * DAY
    else:
        if kind == "Timestamp":
            millis = F.unix_millis(value)
        else:
            millis = value.cast("bigint")
    of_day = F.pmod(millis, F.lit(DAY)).cast("int")
    day = F.date_from_unix_date(F.call_function("div", millis - of_day, F.lit(DAY)).try_cast("int"))
    date = F.format_string("%04d-%02d-%02d", F.year(day), F.month(day), F.dayofmonth(day))
    parts = [_part(F, of_day, 3_600_000, 24), _part(F, of_day, 60_000, 60), _part(F, of_day, 1000, 60), of_day % 1000]
    clock = F.format_string("%02d:%02d:%02d.%03dZ", *parts)
    text = F.when(millis < DAY, clock).when(of_day == 0, date).otherwise(F.concat(date, F.lit("T"), clock))
    return F.when(value.isNotNull(), text)  # format_string writes the string "null" for a null


def _part(F: Any, of_day: Any, unit: int, count: int) -> Any:
    return F.call_function("div", of_day, F.lit(unit)).cast("int") % count
