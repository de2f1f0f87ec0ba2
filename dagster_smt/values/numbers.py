"""Implements Java's numbers: narrowing, parsing and printing.

Sources: Java Language Specification 5.1.3 (narrowing), ``Integer.parseInt``, ``Double.parseDouble``,
``Double.toString`` (the shortest digits, as printed by JDK 19 and later).
"""

import math
import re
import struct
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_DOWN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from fractions import Fraction

from dagster_smt.errors import data_error
from dagster_smt.model.java_text import BLANKS

_INTEGER = re.compile(r"[+-]?\d+")
_BIG_DECIMAL = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE](?P<exponent>[+-]?\d+))?")
_DECIMAL = r"(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
_HEX = r"0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
FLOAT_PATTERN = rf"[+-]?(?:NaN|Infinity|(?:{_DECIMAL}|{_HEX})[fFdD]?)"
_FLOAT = re.compile(FLOAT_PATTERN)
EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""A context that does not round."""
MOST_DIGITS = 10_000
"""The largest number of digits of a decimal for work whose time grows with the square of the number of digits."""
_TWO_TO_64 = Decimal(2**64)
_MOST_BYTES = 4_096
"""The largest size of a decimal's unscaled value, in bytes.

The time for converting the value grows with the square of the number of digits: one megabyte takes minutes.
"""
_HINT = "check the dead letter, or send the number as a text"
_STARTS = "0123456789+-."
_NO_DIGITS = str.maketrans("", "", "0123456789.-+eE")


def wrap(value: int, bits: int) -> int:
    """Returns the low ``bits`` bits of ``value`` as a signed number: for 8 bits, 300 becomes 44."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def saturate(value: float, bits: int) -> int:
    """Returns ``value`` as an integer with ``bits`` bits, truncated toward zero. A number beyond the largest or
    smallest integer becomes this integer: for 8 bits, 300.7 becomes 127. NaN becomes 0.
    """
    if math.isnan(value):
        return 0
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if value >= high:
        return high
    if value <= low:
        return low
    return int(value)


def to_float32(value: float) -> float:
    """Returns ``value`` rounded to 32 bits. An overflow becomes an infinity."""
    try:
        rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def exact_double(number: int | Decimal) -> float:
    """Converts the exact number ``number`` to a double, as ``BigDecimal.doubleValue`` does."""
    try:
        if number:
            return float(number)
        return 0.0
    except OverflowError:
        if number > 0:
            return math.inf
        return -math.inf


def nearest_float32(exact: int | Decimal | Fraction) -> float:
    """Returns the exact number ``exact`` rounded to 32 bits in one step. If the number were first rounded to a double,
    the result could be wrong.

    The number zero itself always becomes 0.0, because a ``BigDecimal`` has no negative zero. A negative number that
    rounding turns into zero becomes -0.0.
    """
    if not exact:
        return 0.0
    try:
        double = float(exact)
    except OverflowError:
        if exact > 0:
            return math.inf
        return -math.inf
    if math.isinf(double) or double == exact:
        return to_float32(double)
    # "round to odd": of the two neighbouring doubles, the one with an odd last bit is never halfway between two 32-bit
    # floats
    if not struct.unpack("<q", struct.pack("<d", double))[0] & 1:
        double = math.nextafter(double, math.inf if exact > double else -math.inf)
    return to_float32(double)


def parse_big_decimal(text: str) -> Decimal | None:
    """Parses ``text`` as ``new BigDecimal(text)`` does. The digits may be of any script in the BMP.

    The result is None if the string is not a number, or if its exponent or scale does not fit into an int.
    """
    match = _BIG_DECIMAL.fullmatch(text)
    if match is None or max(text) > "\uffff":
        return None
    exponent = match["exponent"] or "0"
    sign, digits = exponent[: exponent[0] in "+-"], exponent.lstrip("+-")
    # ``int`` is slow for thousands of digits, and rejects more than 4,300. BigDecimal accepts any number of leading
    # zeros.
    zeros = next((n for n, digit in enumerate(digits) if int(digit)), len(digits))
    if len(digits) - zeros > 10 or not _is_int(int(sign + (digits[zeros:] or "0"))):
        return None
    value = Decimal(text)
    # the scale of a BigDecimal is an int: 0.1e-2147483647 is rejected
    scale = value.as_tuple().exponent
    if isinstance(scale, int) and _is_int(-scale):
        return big_decimal(value)
    return None


def scaled_decimal(unscaled: bytes, scale: int) -> Decimal:
    """Returns the decimal ``unscaled * 10 ** -scale``: the bytes of 123 with the scale 2 are 1.23. ``unscaled`` is a
    big-endian integer, as in Java's ``BigInteger``.

    Raises:
        DataError: SMT446 if the decimal has so many digits that its conversion would take too long.
    """
    if len(unscaled) > _MOST_BYTES:
        statement = f"a decimal has more than {_MOST_BYTES} bytes, about {_MOST_BYTES * 12 // 5:,} digits"
        raise data_error("SMT446", statement, _HINT, "")
    return Decimal(int.from_bytes(unscaled, "big", signed=True)).scaleb(-scale, EXACT)


def check_digits(value: Decimal) -> None:
    """Raises an error if ``value`` has too many digits when it is written without an exponent.

    Raises:
        DataError: SMT446.
    """
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    if max(value.adjusted(), -exponent) > MOST_DIGITS:
        raise data_error("SMT446", f"a decimal has more than {MOST_DIGITS:,} digits", _HINT, "")


def integer_bytes(number: int) -> bytes:
    """Returns ``number`` in two's complement with the fewest bytes, as ``BigInteger.toByteArray`` does: 127 needs one
    byte, 128 needs two.
    """
    length = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return number.to_bytes(length, "big", signed=True)


def rounded_decimal(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """Returns ``value`` rounded half up to ``scale``. If the result has more digits than ``precision``, returns
    None.
    """
    # too many digits before the point; ``quantize`` would raise an error
    if value and value.adjusted() >= precision - scale:
        return None
    # rounding may add a digit: 9.99 becomes 10.0
    context = Context(prec=precision + 1, rounding=ROUND_HALF_UP, Emax=MAX_EMAX, Emin=MIN_EMIN)
    rounded = value.quantize(Decimal(1).scaleb(-scale), context=context)
    if rounded.adjusted() < precision - scale or not rounded:
        return big_decimal(rounded)
    return None


def json_decimal(text: str) -> Decimal:
    """Returns the exact value of ``text``, a number in JSON.

    Raises:
        ValueError: Java's ``BigDecimal`` cannot hold the number.
    """
    value = parse_big_decimal(text)
    if value is None:
        raise ValueError
    return value


def _is_int(number: int) -> bool:
    return -(2**31) <= number < 2**31


def big_decimal(value: Decimal) -> Decimal:
    """Returns ``value`` as a ``BigDecimal`` would represent it: negative zero becomes zero."""
    if value:
        return value
    return value.copy_abs()


def low_integer(value: Decimal) -> int:
    """Returns the low 64 bits of the integer part of ``value``. The exponent may be very large."""
    exponent = value.as_tuple().exponent
    # 2**64 divides 10**64, so the low bits are zeros
    if isinstance(exponent, int) and exponent >= 64:
        return 0
    whole = value.to_integral_value(ROUND_DOWN, EXACT)
    return int(EXACT.remainder(whole, _TWO_TO_64))


def parse_integer(text: str, bits: int) -> int | None:
    """Parses ``text`` as a signed integer of ``bits`` bits, as ``Long.parseLong`` and similar methods do. The digits
    may be of any script in the BMP; spaces are not allowed.

    The result is None if the string is not an integer, or if the integer is too large.
    """
    if not _INTEGER.fullmatch(text) or max(text) > "\uffff":
        return None
    value = int(text) if len(text) < 100 else Decimal(text)  # ``int`` rejects strings of thousands of digits
    if -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        return int(value)
    return None


def parse_float(text: str) -> float | None:
    """Parses ``text`` as Java's ``Double.parseDouble`` does. Returns None if the string is not a number.

    Whitespace at both ends is ignored. Type suffixes and hexadecimal numbers are accepted.
    """
    # For these strings, Python's ``float`` agrees with Java. Of other strings, ``float`` would also read nan, inf, 1_0
    # and digits of other scripts.
    if text and text[0] in _STARTS and text[-1] in "0123456789" and text.isascii() and "_" not in text:
        try:
            return float(text)
        except ValueError:
            pass  # the text is not a number, or it is a hexadecimal number
    text = text.strip(BLANKS)
    if not _FLOAT.fullmatch(text):
        return None
    if "x" in text or "X" in text:
        # the string ends with a decimal exponent, so only the suffix is removed: 0x1fp3f
        return _hexadecimal(text.rstrip("fFdD"))
    return float(text if text.endswith(("NaN", "Infinity")) else text.rstrip("fFdD"))


def plain_floats(texts: list[str]) -> list[float] | None:
    """Parses all ``texts`` as ``parse_float`` does. Returns None if one of the strings is not a plain decimal such as
    ``-1.5e3``, or if its number is too large for a double.
    """
    # one pass over all strings: the rest is empty if they consist only of these characters
    if "".join(texts).translate(_NO_DIGITS):
        return None
    try:
        numbers = list(map(float, texts))
    except ValueError:
        return None
    if all(map(math.isfinite, numbers)):
        return numbers
    return None


def _hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        if text.startswith("-"):
            return -math.inf
        return math.inf


def _exact_hexadecimal(text: str) -> Fraction:
    """Returns the exact value of ``text``, a hexadecimal number that is neither zero nor too large or small for a
    double.
    """
    digits, _, exponent = text.lower().replace("0x", "", 1).partition("p")
    whole, _, fraction = digits.partition(".")
    # ``int`` rejects more than 4,300 decimal digits, and counts leading zeros; for the base 16, ``int`` has no limit
    sign = exponent[: exponent[0] in "+-"]
    power = int(sign + (exponent.lstrip("+-0") or "0"))
    return int(whole + fraction, 16) * Fraction(2) ** (power - 4 * len(fraction))


def parse_float32(text: str) -> float | None:
    """Parses ``text`` as Java's ``Float.parseFloat`` does. Returns None if the string is not a number."""
    double = parse_float(text)
    if double is None:
        return None
    if not math.isfinite(double) or not double:
        return to_float32(double)
    text = text.strip(BLANKS).rstrip("fFdD")
    if "x" in text or "X" in text:
        return nearest_float32(_exact_hexadecimal(text))
    try:
        return nearest_float32(Decimal(text))
    except InvalidOperation:  # the exponent has too many digits
        return to_float32(double)


def float_text(value: float, single: bool = False) -> str:
    """Converts ``value`` to a string, as ``Double.toString`` does. If ``single`` is set, ``value`` is a 32-bit number,
    and the string is that of ``Float.toString``.
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        if value > 0:
            return "Infinity"
        return "-Infinity"
    sign, digits, exponent = Decimal(_shortest_single(value) if single else _shortest(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    minus = "-" if sign else ""
    if value == 0:
        return minus + "0.0"
    point = len(text) + exponent  # digits before the decimal point
    if -2 <= point <= 7:  # 1e-3 <= |value| < 1e7
        whole = text[:point].ljust(max(point, 0), "0") if point > 0 else "0"
        fraction = text[point:] if point > 0 else "0" * -point + text
        return f"{minus}{whole}.{fraction or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"


def _shortest(value: float) -> str:
    """Returns ``value`` as a string with the shortest digits that identify ``value``. As in Java, a very small number
    has at least two digits if possible: the smallest double is ``4.9e-324``, although ``5e-324`` would be shorter.
    """
    two = f"{value:.1e}" if abs(value) < 1e-321 else ""
    if two and float(two) == value:
        return two
    return repr(value)


def _shortest_single(value: float) -> str:
    # Java writes at least two digits, and nine digits identify every 32-bit number
    for digits in range(2, 10):
        text = f"{value:.{digits}g}"
        if to_float32(float(text)) == value:
            return text
    return repr(value)


def decimal_text(value: Decimal) -> str:
    """Converts ``value`` to a string, as ``BigDecimal.toString`` does. If the exponent is large or small, the string
    has scientific notation.
    """
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    text, minus = "".join(map(str, digits)), "-" if sign else ""
    adjusted = exponent + len(text) - 1
    # the condition of ``BigDecimal.toString`` for a string without an exponent
    if exponent <= 0 and adjusted >= -6:
        if exponent == 0:
            return minus + text
        text = text.rjust(-exponent + 1, "0")
        return f"{minus}{text[:exponent]}.{text[exponent:]}"
    head = text[0] + (f".{text[1:]}" if len(text) > 1 else "")
    return f"{minus}{head}E{adjusted:+d}"
