"""Java's numbers; the expected values were made by Java 17 (texts of doubles: by Java 21)."""

import math
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.values.numbers import (
    big_decimal,
    decimal_text,
    float_text,
    low_integer,
    nearest_float32,
    parse_big_decimal,
    parse_float,
    parse_float32,
    parse_integer,
    plain_floats,
    saturate,
    to_float32,
    wrap,
)

INF, NAN = math.inf, math.nan
MOST, LEAST = 2**63 - 1, -(2**63)

WRAPPED = [
    (300, 8, 44),
    (70000, 16, 4464),
    (2**31, 32, -(2**31)),
    (-129, 8, 127),
    (10**20, 32, 1661992960),
    (10**20, 64, 7766279631452241920),
]
SATURATED = [
    (3e9, 32, 2147483647), (-3e9, 32, -2147483648), (-3.9, 32, -3), (NAN, 32, 0), (INF, 64, MOST), (-INF, 64, LEAST),
    (9.3e18, 64, MOST), (9223372036854774784.0, 64, 9223372036854774784), (-0.9, 64, 0),
]  # fmt: skip
INTEGERS = [
    ("7", 8, 7),
    ("+5", 8, 5),
    ("-128", 8, -128),
    ("127", 8, 127),
    ("128", 8, None),
    ("-129", 8, None),
    ("007", 8, 7),
    ("٤٢", 8, 42),
    ("2٤", 32, 24),
    ("𝟘", 32, None),
    ("", 32, None),
    ("+", 32, None),
    ("-", 32, None),
    ("--5", 32, None),
    (" 1", 32, None),
    ("1 ", 32, None),
    ("1\n", 32, None),
    ("1_0", 32, None),
    ("1.0", 32, None),
    ("1e3", 32, None),
    ("0x1", 32, None),
    ("9223372036854775807", 64, MOST),
    ("9223372036854775808", 64, None),
    ("-9223372036854775808", 64, LEAST),
    ("9" * 5000, 64, None),
    ("0" * 5000 + "7", 64, 7),
    ("-" + "0" * 5000 + "128", 8, -128),
]
DOUBLES = [
    ("1", 1.0),
    (" 42 ", 42.0),
    ("\x001\x1f", 1.0),
    ("1d", 1.0),
    ("1F", 1.0),
    ("1e3f", 1000.0),
    ("1.", 1.0),
    (".5", 0.5),
    ("1.e3", 1000.0),
    ("NaN", NAN),
    ("-NaN", NAN),
    ("+Infinity", INF),
    ("-Infinity", -INF),
    ("1e400", INF),
    ("-1e400", -INF),
    ("1e-400", 0.0),
    ("-0", -0.0),
    ("0x1p3", 8.0),
    ("0x1.8p1f", 3.0),
    ("0X.8P1D", 1.0),
    ("0x1p99999", INF),
    ("-0x1p99999", -INF),
    ("0x1p-99999", 0.0),
    ("0x1.fffffffffffffp1023", 1.7976931348623157e308),
    ("1" * 400, INF),
    ("", None),
    (" ", None),
    (".", None),
    ("1e", None),
    (".e3", None),
    ("inf", None),
    ("nan", None),
    ("infinity", None),
    ("Infinityf", None),
    ("NaNd", None),
    ("1dd", None),
    ("0x1A", None),
    ("0x.p1", None),
    ("0x1", None),
    ("1_0", None),
    ("1 2", None),
    ("\u00a01", None),
    ("1\u2003", None),
    ("٤.٤", None),
    ("٤", None),
]
SINGLES = [  # text, bits of Float.parseFloat
    ("1.00000017881393432617187499", 0x3F800001),
    ("1.00000017881393432617187500", 0x3F800002),
    ("1.00000017881393432617187501", 0x3F800002),
    ("3.4028235677973366e38", 0x7F7FFFFF),
    ("3.4028236e38", 0x7F800000),
    ("1e-45", 0x00000001),
    ("7e-46", 0x00000000),
    ("7.1e-46", 0x00000001),
    ("0.0000280415506495046429336071014404016459493504953570663928", 0x37EB3AC5),
    ("-1e400", 0xFF800000),
    ("0x1p3", 0x41000000),
    ("0x1.000001p0", 0x3F800000),
    ("0x1.00000100000001p0", 0x3F800001),
    ("-0x1.00000100000001p0f", 0xBF800001),
    ("0x1.000002ffffffffffp0", 0x3F800001),
    ("0x1.000003p0", 0x3F800002),
    ("0x.8p-149", 0x00000000),
    ("0x.80000000000000001p-149", 0x00000001),
    ("0X1.fffffeffffffffffp+127d", 0x7F7FFFFF),
    ("0x1.ffffffp127", 0x7F800000),
    ("-0x0.0p0", 0x80000000),
    ("0x1p99999999999999999999", 0x7F800000),
    ("-0x1p-99999999999999999999", 0x80000000),
    (f"0x1.00000100000001p{'0' * 5000}", 0x3F800001),
    ("1e99999999999999999999", 0x7F800000),
    ("1e-99999999999999999999", 0x00000000),
    ("1.5f", 0x3FC00000),
]
LONGS_AS_SINGLES = [
    (9007199791611905, 0x5A000001),
    (9007200865353727, 0x5A000001),
    (9007201939095553, 0x5A000003),
    (2**40 + 5, 0x53800000),
    (MOST, 0x5F000000),
    (LEAST, 0xDF000000),
    (0, 0),
    (16777217, 0x4B800000),
]
DOUBLE_TEXTS = [
    (0.0, "0.0"),
    (-0.0, "-0.0"),
    (100.0, "100.0"),
    (1e7, "1.0E7"),
    (9999999.0, "9999999.0"),
    (12345678.0, "1.2345678E7"),
    (1e-3, "0.001"),
    (1e-4, "1.0E-4"),
    (0.00123, "0.00123"),
    (0.1, "0.1"),
    (-1.5, "-1.5"),
    (1e21, "1.0E21"),
    (123456.789, "123456.789"),
    (5e-324, "4.9E-324"),
    (1.7976931348623157e308, "1.7976931348623157E308"),
    (NAN, "NaN"),
    (INF, "Infinity"),
    (-INF, "-Infinity"),
    (1e23, "1.0E23"),
    (1e-322, "9.9E-323"),
    (2e-323, "2.0E-323"),
]
SINGLE_TEXTS = [
    (1.9, "1.9"),
    (16777216.0, "1.6777216E7"),
    (0.1, "0.1"),
    (3.4028234663852886e38, "3.4028235E38"),
    (1.401298464324817e-45, "1.4E-45"),
    (0.001, "0.001"),
]
DECIMAL_TEXTS = [
    ("0", "0"),
    ("0E+3", "0E+3"),
    ("0.0000000", "0E-7"),
    ("0.000000", "0.000000"),
    ("1E+3", "1E+3"),
    ("1E-10", "1E-10"),
    ("1.50", "1.50"),
    ("-1.50", "-1.50"),
    ("123E+5", "1.23E+7"),
    ("-0.00000012", "-1.2E-7"),
    ("0.0000012", "0.0000012"),
    ("12345678901234567890.5", "12345678901234567890.5"),
]


def bits(single):
    return struct.unpack(">I", struct.pack(">f", single))[0]


def same(a, b):
    """Equal, NaN too, and of the same sign."""
    return a is b or (a is not None and b is not None and str(a) == str(b))


@pytest.mark.parametrize(("value", "width", "result"), WRAPPED)
def test_wrap(value, width, result):
    assert wrap(value, width) == result


@pytest.mark.parametrize(("value", "width", "result"), SATURATED)
def test_saturate(value, width, result):
    assert saturate(value, width) == result


@pytest.mark.parametrize(("text", "width", "result"), INTEGERS, ids=lambda x: str(x)[:12])
def test_parse_integer(text, width, result):
    assert parse_integer(text, width) == result


@pytest.mark.parametrize(("text", "result"), DOUBLES, ids=lambda x: repr(x)[:30])
def test_parse_float(text, result):
    assert same(parse_float(text), result)


@pytest.mark.parametrize(("text", "result"), DOUBLES, ids=lambda x: repr(x)[:30])
def test_many_floats_are_read_as_each_of_them(text, result):
    outcome = plain_floats(["1.5", text])
    assert outcome is None or (outcome[0] == 1.5 and same(outcome[1], result))


@pytest.mark.parametrize("text", ["0", "-0.0", "12.50", ".5", "5.", "1e5", "1E-400", "+7", "9" * 30])
def test_plain_floats(text):
    assert same(plain_floats([text])[0], parse_float(text))


@pytest.mark.parametrize("text", ["", " 1", "1f", "NaN", "Infinity", "1e400", "1_0", "0x1p3", "1..2", "-", "e", "١"])
def test_floats_that_are_not_plain(text):
    assert plain_floats(["1", text, "2"]) is None


@pytest.mark.parametrize(("text", "result"), SINGLES, ids=lambda x: repr(x)[:30])
def test_a_text_is_rounded_to_32_bits_once(text, result):
    assert bits(parse_float32(text)) == result


@pytest.mark.parametrize("text", [text for text, result in DOUBLES if result is None])
def test_parse_float32_refuses_the_same_texts(text):
    assert parse_float32(text) is None


@pytest.mark.parametrize(("value", "result"), LONGS_AS_SINGLES)
def test_a_long_is_rounded_to_32_bits_once(value, result):
    assert bits(nearest_float32(value)) == result


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_what_has_32_bits_stays(value):
    assert nearest_float32(Decimal(value)) == value == to_float32(value)
    assert parse_float32(float_text(value, single=True)) == value
    assert parse_float(float_text(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_comes_back_from_its_text(value):
    assert same(parse_float(float_text(value)), value)


@given(st.integers(min_value=LEAST, max_value=MOST))
def test_an_integer_comes_back_from_its_text(value):
    assert parse_integer(str(value), 64) == value


@pytest.mark.parametrize(("value", "text"), DOUBLE_TEXTS)
def test_texts_of_doubles(value, text):
    assert float_text(value) == text


@pytest.mark.parametrize(("value", "text"), SINGLE_TEXTS)
def test_texts_of_floats(value, text):
    assert float_text(to_float32(value), single=True) == text


@pytest.mark.parametrize(("value", "text"), DECIMAL_TEXTS)
def test_texts_of_decimals(value, text):
    assert decimal_text(Decimal(value)) == text


def test_decimals_have_no_negative_zero():
    assert decimal_text(big_decimal(Decimal("-0.00"))) == "0.00"
    assert big_decimal(Decimal("-1.00")).is_signed()


@pytest.mark.parametrize(
    ("value", "low"),
    [("1.9", 1), ("-1.9", -1), ("1E+20", 10**20), ("1E+64", 0), ("1E+999999999", 0), ("1E-999999999", 0)],
)
def test_the_low_bits_of_a_decimal(value, low):
    """2**64 divides 10**64, so nothing is left of it in 64 bits."""
    assert wrap(low_integer(Decimal(value)), 64) == wrap(low, 64)
    assert wrap(10**64, 64) == 0


BIG_DECIMALS = [
    ("1e400", "1E+400"),
    ("1E-400", "1E-400"),
    ("1e2147483647", "1E+2147483647"),
    ("1e-2147483647", "1E-2147483647"),
    ("10e2147483647", "1.0E+2147483648"),
    ("1.", "1"),
    ("-.5", "-0.5"),
    ("+7", "7"),
    ("\u0661\u0662", "12"),
    ("1e+5", "1E+5"),
    ("1e00000000000005", "1E+5"),
    ("1e000000000000000000005", "1E+5"),
    ("-0.0", "0.0"),
]
NO_BIG_DECIMALS = ["1e2147483648", "1e-2147483648", "0.1e-2147483647", "--1", "1e", "0x1", "NaN", " 1", "1 ", "1_0", ""]


@pytest.mark.parametrize(("text", "expected"), BIG_DECIMALS)
def test_big_decimals(text, expected):
    assert str(parse_big_decimal(text)) == expected


@pytest.mark.parametrize("text", [*NO_BIG_DECIMALS, "\U0001d7cf"])
def test_no_big_decimals(text):
    assert parse_big_decimal(text) is None
