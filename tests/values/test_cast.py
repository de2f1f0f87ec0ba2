"""Cast: every kind to every type, as the table of Connect's conversions has it (Kafka 4.3.1)."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.errors import DataError
from dagster_smt.model.schema import INTEGER_BITS, JavaDate, Type
from dagster_smt.values.cast import CASTABLE, TARGETS, CastTo, date_text

I8, I16, I32, I64, F32, F64, BOOL, TEXT = TARGETS
INF, NAN = math.inf, math.nan
DAY = 86_400_000
MOMENT = JavaDate(1_556_204_536_123)
RANGE = "the value is a string that is not a valid {}, or is out of range"
REFUSED = object()

CASES = [
    # integers keep their low bits
    ("int32", 300, {I8: 44, I16: 300, I64: 300, F32: 300.0, F64: 300.0, BOOL: True, TEXT: "300"}),
    ("int64", 2**40 + 5, {I8: 5, I16: 5, I32: 5, F32: 1099511627776.0, F64: 1099511627781.0, BOOL: True}),
    ("int8", 0, {I64: 0, BOOL: False, TEXT: "0", F64: 0.0}),
    ("int64", 9007199791611905, {F32: 9007200328482816.0}),
    # floats are cut off and saturate, at 32 bits before they are narrowed
    ("double", 300.7, {I8: 44, I32: 300, F32: 300.70001220703125, TEXT: "300.7", BOOL: True}),
    ("double", 3e9, {I8: -1, I16: -1, I32: 2147483647, I64: 3000000000}),
    ("double", 1e7, {I16: -27008, TEXT: "1.0E7"}),
    ("double", -INF, {I8: 0, I32: -(2**31), I64: -(2**63), F32: -INF, BOOL: True, TEXT: "-Infinity"}),
    ("double", NAN, {I8: 0, I64: 0, BOOL: False, TEXT: "NaN", F32: NAN}),
    ("double", 0.5, {BOOL: False, I8: 0}),
    ("double", -0.9, {BOOL: False}),
    ("double", 1e40, {F32: INF, F64: 1e40}),
    ("double", -0.0, {TEXT: "-0.0", F32: -0.0}),
    ("float", 1.899999976158142, {F64: 1.899999976158142, TEXT: "1.9"}),
    ("boolean", True, {I8: 1, I64: 1, F32: 1.0, F64: 1.0, BOOL: True, TEXT: "true"}),
    ("boolean", False, {I8: 0, F64: 0.0, TEXT: "false"}),
    # texts are parsed as Java parses them
    ("string", "42", {I8: 42, I64: 42, F32: 42.0, F64: 42.0, BOOL: False, TEXT: "42"}),
    ("string", " 42 ", {I8: REFUSED, F64: 42.0, TEXT: " 42 "}),
    ("string", "128", {I8: REFUSED, I16: 128}),
    ("string", "3.7", {I32: REFUSED, F32: 3.700000047683716}),
    ("string", "1e3", {I32: REFUSED, F64: 1000.0}),
    ("string", "1d", {F64: 1.0}),
    ("string", "inf", {F64: REFUSED}),
    ("string", "", {I8: REFUSED, F32: REFUSED, BOOL: False, TEXT: ""}),
    ("string", "TRUE", {BOOL: True}),
    ("string", " true", {BOOL: False}),
    ("string", "9" * 5000, {I64: REFUSED, F64: INF}),
    ("bytes", b"\x01\x02", {TEXT: "AQI=", I8: REFUSED, F64: REFUSED, BOOL: REFUSED}),
    ("Decimal", Decimal("1000"), {I8: -24, TEXT: "1000", F64: 1000.0}),
    ("Decimal", Decimal(2**31), {I32: -(2**31)}),
    ("Decimal", Decimal(10**20), {I32: 1661992960, I64: 7766279631452241920, F32: 1.0000000200408773e20}),
    ("Decimal", Decimal("0.50"), {BOOL: False, I8: 0, TEXT: "0.50"}),
    ("Decimal", Decimal("1E+3"), {TEXT: "1E+3", I32: 1000}),
    ("Decimal", Decimal("1E+999999"), {I64: 0, F64: INF, BOOL: False}),
    # dates count in their encoded unit
    ("Date", JavaDate(300 * DAY), {I8: 44, I32: 300, F64: 300.0, BOOL: True, TEXT: "1970-10-28"}),
    ("Date", JavaDate(0), {TEXT: "00:00:00.000Z", BOOL: False}),
    ("Date", JavaDate(-DAY), {I32: -1}),
    ("Date", JavaDate(5), {I32: REFUSED, TEXT: "00:00:00.005Z"}),
    ("Time", JavaDate(3_600_000), {I16: -4480, I32: 3600000, TEXT: "01:00:00.000Z"}),
    ("Time", JavaDate(DAY), {I32: DAY}),
    ("Time", JavaDate(DAY + 1), {I32: REFUSED}),
    ("Time", JavaDate(-1), {I64: REFUSED}),
    (
        "Timestamp",
        MOMENT,
        {I64: 1556204536123, I32: 1426374971, TEXT: "2019-04-25T15:02:16.123Z", F64: 1556204536123.0},
    ),
]
DATE_TEXTS = [
    (0, "00:00:00.000Z"),
    (5, "00:00:00.005Z"),
    (-1556204536123, "08:57:43.877Z"),
    (DAY - 1, "23:59:59.999Z"),
    (DAY, "1970-01-02"),
    (DAY + 1, "1970-01-02T00:00:00.001Z"),
    (1556150400000, "2019-04-25"),
    (253402300800000, "10000-01-01"),
    (2**63 - 1, "292278994-08-17T07:12:55.807Z"),
]


def flat(cases):
    return [(kind, value, target, result) for kind, value, results in cases for target, result in results.items()]


@pytest.mark.parametrize(
    ("kind", "value", "target", "result"), flat(CASES), ids=lambda x: str(getattr(x, "name", x))[:14]
)
def test_cast(kind, value, target, result):
    rule = CastTo(kind, target)
    if result is not REFUSED:
        outcome = rule.python(value)
        assert (type(outcome), str(outcome)) == (type(result), str(result))
        return
    assert rule.may_fail
    with pytest.raises(DataError) as caught:
        rule.python(value)
    code, statement = "SMT404", RANGE.format(target.name.lower())
    if kind == "bytes":
        code, statement = "SMT405", f"the value holds bytes, which cannot be cast to {target.name.lower()}"
    if kind in ("Date", "Time"):
        code, statement = "SMT405", f"the value is not a valid {kind} of Connect"
    assert str(caught.value).splitlines()[0] == f"{code} {statement}"


@pytest.mark.parametrize(("milliseconds", "text"), DATE_TEXTS)
def test_the_instant_decides_the_format_of_a_date(milliseconds, text):
    assert date_text(milliseconds) == text


def test_every_kind_is_tried():
    assert {kind for kind, _, _ in CASES} | {"int16"} == set(CASTABLE)


@pytest.mark.parametrize("kind", CASTABLE)
@pytest.mark.parametrize("target", TARGETS)
def test_null_stays_null(kind, target):
    rule = CastTo(kind, target)
    assert rule.python(None) is None
    assert rule.bind()(None) is None


ANY = {
    "string": st.text(),
    "bytes": st.binary(),
    "boolean": st.booleans(),
    "float": st.floats(width=32),
    "double": st.floats(),
    "Decimal": st.decimals(allow_nan=False, allow_infinity=False),
    **{t.value: st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) for t, bits in INTEGER_BITS.items()},
    **{kind: st.integers(-(2**63), 2**63 - 1).map(JavaDate) for kind in ("Date", "Time", "Timestamp")},
}


@pytest.mark.parametrize("kind", CASTABLE)
@given(data=st.data(), target=st.sampled_from(TARGETS))
def test_a_cast_gives_the_type_it_says_or_a_problem_that_hides_the_value(kind, data, target):
    value, rule = data.draw(ANY[kind]), CastTo(kind, target)
    try:
        result = rule.python(value)
    except DataError as error:
        assert rule.may_fail and error.problem.code in ("SMT404", "SMT405")
        assert error.problem == rule.failure().problem
        return
    expected = {Type.STRING: str, Type.BOOLEAN: bool, Type.FLOAT32: float, Type.FLOAT64: float}.get(target, int)
    assert isinstance(result, expected)
    if target in INTEGER_BITS:
        assert -(1 << (INTEGER_BITS[target] - 1)) <= result < 1 << (INTEGER_BITS[target] - 1)
    assert repr(rule.bind()(value)) == repr(result)
