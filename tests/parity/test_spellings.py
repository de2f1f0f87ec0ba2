"""Texts of floating-point numbers before Java 19; the expected ones were printed by Java 17."""

import pytest

from dagster_smt.tools.parity.spellings import java17_text, spellings

DOUBLES = [
    ("0x1.52d02c7e14af6p77", "1.9999999999999998E23"),
    ("0x1.52d02c7e14af6p76", "9.999999999999999E22"),
    ("0x1.ff973cafa8p52", "9.0E15"),
    ("0x1.0624dd2f1a9fcp-9", "0.002"),
    ("0x0.0000000000001p-1022", "4.9E-324"),
    ("0x0.000000000002dp-1022", "2.2E-322"),
    ("0x1.fffffffffffffp1023", "1.7976931348623157E308"),
    ("0x1.c7e83209e90b2p72", "8.409999999999999E21"),
    ("0x1.0p-1022", "2.2250738585072014E-308"),
    ("0x1.312cffff7ced9p23", "9999999.999"),
    ("0x1.f67ea69ed3795p57", "2.82879384806159008E17"),
    ("0x1.340e8548b0adbp60", "1.38736413503775411E18"),
    ("0x1.0p-44", "5.6843418860808015E-14"),
    ("0x1.0p60", "1.15292150460684698E18"),
    ("-0x1.0p-1000", "-9.332636185032189E-302"),
    ("nan", "NaN"),
    ("-inf", "-Infinity"),
    ("-0.0", "-0.0"),
]
FLOATS = [
    ("0x1.2a05f2p33", "1.0E10"),
    ("0x1.fffffep127", "3.4028235E38"),
    ("0x1.0p-149", "1.4E-45"),
    ("0x1.99999ap-4", "0.1"),
    ("0x1.0p33", "8.5899346E9"),
    ("0x1.0p-96", "1.26217745E-29"),
    ("0x1.0p50", "1.12589991E15"),
    ("0x1.8p26", "1.00663296E8"),
]


@pytest.mark.parametrize(
    ("number", "single", "text"), [(n, False, t) for n, t in DOUBLES] + [(n, True, t) for n, t in FLOATS]
)
def test_texts_of_java_17(number, single, text):
    assert java17_text(float.fromhex(number), single) == text


# (text of a newer Java, what Java 17 prints for the number, be it of 64 bits or of 32)
SPELLINGS = [
    ("2.0E23", {"1.9999999999999998E23", "2.0E23"}),
    ("8.41E21", {"8.409999999999999E21", "8.41E21"}),
    ("1.125899907E15", {"1.125899907E15"}),
    ("1.0", {"1.0"}),
    ("1.50", set()),
    ("2E23", set()),
    ("1234567.89", {"1234567.89"}),
    ("x", set()),
    ("", set()),
]


@pytest.mark.parametrize(("text", "expected"), SPELLINGS)
def test_only_the_two_spellings_of_one_number(text, expected):
    assert spellings(text) == expected
