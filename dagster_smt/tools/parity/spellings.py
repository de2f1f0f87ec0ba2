"""Spells floating-point numbers as Java did before Java 19 (JDK-4511638), which is not always the shortest spelling.

The recorded results come from Java 17. Its ``Double.toString`` produces the digits of the exact value one by one. It
stops as soon as the rest is smaller than the rounding error of the number. (At powers of two, this error is half as
large.) The result is sometimes not the shortest spelling: ``1.9999999999999998E23`` for ``2.0E23``. This module does
the same computation with whole numbers.
"""

import math
import struct
from dataclasses import dataclass

from dagster_smt.values.numbers import float_text, wrap


@dataclass(frozen=True)
class _Width:
    """A floating-point type, ``float`` or ``double``.

    Attributes:
        fraction: The number of bits in the fraction.
        bias: The bias of the exponent.
        codes: Two format codes of ``struct``: for the float, and for the integer with the same bits.
    """

    fraction: int
    bias: int
    codes: tuple[str, str]


_SINGLE, _DOUBLE = _Width(23, 127, ("<f", "<I")), _Width(52, 1023, ("<d", "<Q"))


def java17_text(value: float, single: bool = False) -> str:
    """Returns ``value`` as ``Double.toString`` of Java 17 spells it, or as ``Float.toString`` does for a 32-bit
    value.
    """
    if not math.isfinite(value) or value == 0:
        return float_text(value, single)
    mantissa, exponent, bits = _parts(abs(value), _SINGLE if single else _DOUBLE)
    digits, point = _digits(mantissa, exponent, bits)
    return ("-" if value < 0 else "") + _layout("".join(map(str, digits)), point)


def spellings(text: str) -> set[str]:
    """Returns the spellings that Java 17 may use for the float that later versions spell ``text``. For ``2.0E23``, the
    result contains ``1.9999999999999998E23``.
    """
    try:
        value = float(text)
    except ValueError:
        return set()
    texts = {java17_text(value)} if float_text(value) == text else set()
    try:
        short = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return texts
    return texts | ({java17_text(short, single=True)} if float_text(short, single=True) == text else set())


def _parts(value: float, width: _Width) -> tuple[int, int, int]:
    """Splits ``value`` into three numbers. The first two are an odd mantissa and an exponent, so that
    ``value = mantissa * 2 ** exponent``. The third is the number of bits that the mantissa had before its trailing
    zeros were removed.
    """
    raw: int = struct.unpack(width.codes[1], struct.pack(width.codes[0], value))[0]
    biased, fraction = raw >> width.fraction, raw & ((1 << width.fraction) - 1)
    # a subnormal number has the biased exponent 0, and lacks the implicit highest bit of other numbers
    bits = width.fraction + 1 if biased else fraction.bit_length()
    mantissa = fraction | (1 << width.fraction) if biased else fraction
    exponent = max(biased, 1) - width.bias - width.fraction
    # mantissa & -mantissa is the lowest bit that is set
    zeros = (mantissa & -mantissa).bit_length() - 1
    return mantissa >> zeros, exponent + zeros, bits


def _digits(mantissa: int, exponent: int, bits: int) -> tuple[list[int], int]:
    """Returns the decimal digits of ``mantissa * 2 ** exponent``, and the position of the decimal point: ``[1, 5]`` and
    1 for 1.5.

    Args:
        mantissa: An odd number.
        exponent: The exponent.
        bits: The number of bits that the mantissa had before trailing zeros were removed.
    """
    size = mantissa.bit_length()
    top = size - 1 + exponent  # the position of the highest bit
    # a whole number that fits into a long of Java
    if exponent >= 0 and top <= 62:
        return _whole_digits(mantissa << exponent, top - bits)
    # Java's estimate of log10 is the tangent at 1.5: log10(1.5) = 0.176…, 1 / (1.5 ln 10) = 0.289…, log10(2) = 0.301…
    log = (mantissa / (1 << size - 1) - 1.5) * 0.289529654 + 0.176091259 + top * 0.301029995663981
    point = math.floor(log)  # the estimate may be one too high
    fives, tens = max(-point, 0), max(point, 0)
    # the number is rest / unit * 10 ** point, and known to +- error; they share no factor of two
    # the error of a power of two is half as large, because the numbers below it are closer together
    two_rest, two_unit, two_error = fives + exponent, tens, fives + top - bits - (mantissa == 1)
    common = min(two_rest, two_unit, two_error)
    two_rest, two_unit, two_error = two_rest - common, two_unit - common, two_error - common
    five_bits = (5**fives).bit_length(), (5 ** (tens + 1)).bit_length()
    space = max(size + two_rest + five_bits[0], two_unit + 1 + five_bits[1])
    width = 0  # the width in bits of Java's integers, which may overflow; 0 for big integers
    if space < 32:
        width = 32
    elif space < 64:
        width = 64
    return _stopped(mantissa * 5**fives << two_rest, 5**tens << two_unit, 5**fives << two_error, point, width)


def _stopped(rest: int, unit: int, error: int, point: int, width: int) -> tuple[list[int], int]:
    """Returns the digits of a number, and the position of the decimal point. No further digit is produced once the
    remainder is smaller than the rounding error.

    Args:
        rest: The numerator of the number.
        unit: The denominator of the number.
        error: The numerator of the rounding error. Its denominator is ``unit``, too.
        point: The estimated position of the decimal point.
        width: The width in bits of Java's integers. The function's numbers overflow as Java's integers do; with 0, they
            have no limit.
    """
    digits: list[int] = []
    low = high = False
    first = True
    while first or not (low or high):
        digit, rest = divmod(rest, unit)
        rest, error = rest * 10, wrap(error * 10, width) if width else error * 10
        low, high = _within(rest, error, 10 * unit, width)
        if first and digit == 0 and not high:
            point -= 1
        else:
            digits.append(digit)
        if first and not -3 <= point < 8:
            low = high = False  # numbers in this form need a digit after the point
        first = False
    # a remainder of exactly one half is rounded to an even digit
    if high and (not low or 2 * rest > 10 * unit or (2 * rest == 10 * unit and digits[-1] % 2)):
        point += _round_up(digits)
    return digits, point + 1


def _within(rest: int, error: int, ten: int, width: int) -> tuple[bool, bool]:
    """Returns two flags that say whether the digits so far are enough. The first is True if the remainder is close to
    zero. The second is True if the remainder is close to one unit of the last digit.
    """
    if not width:
        return rest < error, rest + error >= ten
    if error <= 0:  # the error has overflowed
        return True, True
    # Java compares its ints and longs with >, but its big integers, as above, with >=
    return rest < error, wrap(rest + error, width) > ten


def _round_up(digits: list[int]) -> int:
    """Adds one to the last digit of ``digits``, and removes trailing zeros: ``[1, 9]`` becomes ``[2]``. Returns 1 if
    the decimal point moves, as ``[9, 9]`` becomes ``[1]`` (for 100). Otherwise returns 0.
    """
    while digits and digits[-1] == 9:
        digits.pop()
    if not digits:
        digits.append(1)
        return 1
    digits[-1] += 1
    return 0


def _whole_digits(value: int, beyond: int) -> tuple[list[int], int]:
    """Returns the digits of ``value``, a whole number with at most 63 bits, and the position of the decimal point.
    ``beyond`` is the number of low bits that a float cannot store. The digits that come only from these bits are
    rounded off.
    """
    if beyond > 1:
        drop = max(0, math.floor((beyond - 1) * math.log10(2)))
    else:
        drop = 0
    if drop:
        value, rest = divmod(value, 10**drop)
        value += rest >= 10**drop // 2
    text = str(value)
    return [int(d) for d in text.rstrip("0")], len(text) + drop


def _layout(digits: str, point: int) -> str:
    digits = digits.rstrip("0") or "0"
    # as in Java, numbers from 10**-3 up to, but not including, 10**7 have no exponent
    if 0 < point < 8:
        return f"{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    if -3 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    return f"{digits[0]}.{digits[1:] or '0'}E{point - 1}"
