"""Coarsen: networks, periods, multiples, places, postcodes."""

import datetime
import json
import random
from decimal import Decimal

import pytest

from dagster_smt.errors import DataError
from dagster_smt.model.schema import Type
from dagster_smt.transforms.privacy.coarsen import Coarsen
from dagster_smt.values.numbers import to_float32
from dagster_smt.values.privacy.coarse import DatePeriod, DecimalMultiple, FloatMultiple
from tests.transforms.helpers import Case, check, envelope, refusal
from tests.transforms.privacy import common

AT = "{} transforms.t (Coarsen$Value): {}"
IP, DATE, NUMBER, PLACE, CODE = (
    {"fields": "a", "kind": kind} for kind in ("ip", "date", "number", "coordinate", "postcode")
)
DAY = 86_400_000


def of(value):
    return json.dumps({"a": value})


def becomes(title, options, before, after):
    return Case(title, options, of(before), of(after))


CASES = (
    Case("an address", IP, of("192.0.2.77"), of("192.0.2.0"), touches=("a",)),
    becomes("a larger network", IP | {"ipv4.bits": "9"}, "10.200.3.4", "10.128.0.0"),
    becomes("no bits", IP | {"ipv4.bits": "0"}, "10.200.3.4", "0.0.0.0"),
    becomes("version 6", IP, "2001:db8:85a3:8d3:1319:8a2e:370:7348", "2001:db8:85a3::"),
    becomes("version 6, other bits", IP | {"ipv6.bits": "32"}, "2001:DB8:85a3::1", "2001:db8::"),
    refusal("no address", IP, of("192.0.2"), AT.format("SMT745", "a string is not an IP address")),
    refusal("leading zeros", IP, of("192.0.02.1"), AT.format("SMT745", "a string is not an IP address")),
    refusal(
        "a number is no address", IP, of(7), AT.format("SMT743", "a value of type int64 cannot be made coarser as ip")
    ),
    becomes("a month", DATE, "2026-11-26", "2026-11-01"),
    becomes("a year", DATE | {"period": "year"}, "2026-11-26T07:30:15Z", "2026-01-01T00:00:00Z"),
    becomes("a quarter", DATE | {"period": "quarter"}, "2026-12", "2026-10"),
    becomes("a day", DATE | {"period": "day"}, "2026-11-26 07:30", "2026-11-26 00:00"),
    becomes("an hour", DATE | {"period": "hour"}, "2026-11-26T07:30:15.123+01:00", "2026-11-26T07:00:00.000+01:00"),
    becomes("a year stays", DATE, "2026", "2026"),
    refusal("another form", DATE, of("26.11.2026"), AT.format("SMT746", "a string is not an ISO 8601 date or time")),
    refusal("no month", DATE, of("2026-13-01"), AT.format("SMT746", "a string is not an ISO 8601 date or time")),
    refusal(
        "text behind",
        DATE,
        of("2026-11-26T07:30:00Z Ada"),
        AT.format("SMT746", "a string is not an ISO 8601 date or time"),
    ),
    Case("a Date", DATE, envelope("a:Date", f'{{"a":{20_783}}}'), envelope("a:Date", f'{{"a":{20_758}}}')),
    Case(
        "a Timestamp",
        DATE | {"period": "hour"},
        envelope("a:Timestamp?", f'{{"a":{DAY + 3_700_000}}}'),
        envelope("a:Timestamp?", f'{{"a":{DAY + 3_600_000}}}'),
    ),
    becomes("a multiple", NUMBER, 47, 40),
    becomes("a negative multiple", NUMBER, -1, -10),
    becomes("another step", NUMBER | {"step": "25"}, 99, 75),
    becomes("a float", NUMBER, 47.5, 40.0),
    Case("the least of a type", NUMBER, envelope("a:int8", '{"a":-128}'), envelope("a:int8", '{"a":-128}')),
    Case("a Decimal", NUMBER, envelope("a:Decimal", '{"a":"EdY="}'), envelope("a:Decimal", '{"a":"D6A="}')),
    becomes("a place", PLACE, 59.9139, 59.9),
    becomes("a place that is on the grid", PLACE | {"decimals": "2"}, 0.29, 0.29),
    becomes("a negative place that is on the grid", PLACE | {"decimals": "3"}, -4.035, -4.035),
    Case(
        "a float with 32 bits on the grid",
        PLACE | {"decimals": "2"},
        envelope("a:float", '{"a":0.29}'),
        envelope("a:float", '{"a":0.29}'),
    ),
    becomes("a huge float", NUMBER | {"step": "7"}, 1e300, 1e300),
    becomes("a float beyond which no multiple is", NUMBER | {"step": "9" * 308}, 1.5e308, 9.99999999999999999e307),
    becomes("a float, and a step that is no float", NUMBER | {"step": "9" * 309}, 1.5e308, 0.0),
    becomes("a tiny float below zero", PLACE, -1e-300, -0.1),
    becomes("a place in the west", PLACE | {"decimals": "0"}, -122.4194, -123.0),
    refusal(
        "a text is no place",
        PLACE,
        of("59.9"),
        AT.format("SMT743", "a value of type string cannot be made coarser as coordinate"),
    ),
    becomes("a postcode", CODE, "SW1A 1AA", "SW1"),
    becomes("a short postcode", CODE | {"characters": "4"}, "0150", ""),
    Case("a null", CODE, of(None), of(None), touches=()),
    refusal("no kind", {"fields": "a"}, "null", "SMT012 transforms.t (Coarsen$Value): the option 'kind' is missing"),
    refusal(
        "all bits", IP | {"ipv4.bits": "32"}, "null", "SMT014 transforms.t (Coarsen$Value) ipv4.bits: must be 0 to 31"
    ),
    refusal(
        "a broken step",
        NUMBER | {"step": "0"},
        "null",
        "SMT013 transforms.t (Coarsen$Value) step: must be a whole number from 1 on",
    ),
    refusal(
        "a step that ends with a point",
        NUMBER | {"step": "10."},
        "null",
        "SMT013 transforms.t (Coarsen$Value) step: must be a whole number from 1 on",
    ),
    refusal(
        "many decimals",
        PLACE | {"decimals": "9"},
        "null",
        "SMT014 transforms.t (Coarsen$Value) decimals: must be 0 to 8",
    ),
    refusal(
        "no characters",
        CODE | {"characters": "0"},
        "null",
        "SMT014 transforms.t (Coarsen$Value) characters: must be 1 or more",
    ),
    *common.rows({"kind": "ip"}, "192.0.2.7", "192.0.2.0", "Coarsen$Value"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_coarsen(case):
    check(Coarsen, case)


STEPS = {
    "of many digits": ("10", "12345678901234567890123456789012.5", "12345678901234567890123456789010.0"),
    "of many digits, below zero": ("10", "-12345678901234567890123456789012.5", "-12345678901234567890123456789020.0"),
    "of many decimal places": ("1e-8", "0.12345678901234567890123456789012", "0.12345678000000000000000000000000"),
    "of many digits, and a step without a finite inverse": ("7", "9" * 38, "9" * 37 + "8"),
    "with a negative scale": ("10", "12E+30", "12E+30"),
    "on the grid": ("25", "-50.00", "-50.00"),
    "with fewer places than the step": ("1e-2", "0.1", "0.1"),
    "below the step": ("1000", "0.001", "0.000"),
}


@pytest.mark.parametrize("case", STEPS)
def test_a_decimal_becomes_a_multiple_of_the_step_with_its_scale(case):
    step, before, after = STEPS[case]
    assert str(DecimalMultiple(step).python(Decimal(before))) == str(Decimal(after))


@pytest.mark.parametrize("text", ["1E+99999999", "1E-99999999"])
def test_a_decimal_of_too_many_digits_is_an_error(text):
    with pytest.raises(DataError, match="SMT446"):
        DecimalMultiple("10").python(Decimal(text))


@pytest.mark.parametrize(("single", "type_"), [(False, Type.FLOAT64), (True, Type.FLOAT32)])
@pytest.mark.parametrize("decimals", range(9))
def test_a_float_that_is_a_multiple_stays(decimals, single, type_):
    chance, rule = random.Random(decimals), FloatMultiple(1, 10**decimals, type_)
    for _ in range(500):
        number = chance.randrange(-180 * 10**decimals, 180 * 10**decimals) / 10**decimals
        if single:
            number = to_float32(number)
        once = rule.python(number)
        assert once <= number and rule.python(once) == once
        if not single:
            assert once == number


def test_periods_begin_where_the_calendar_says():
    chance, epoch = random.Random(1), datetime.datetime(1970, 1, 1)
    for _ in range(2000):
        moment = epoch + datetime.timedelta(milliseconds=chance.randrange(-60_000_000_000_000, 250_000_000_000_000))
        midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        first = {
            "year": midnight.replace(month=1, day=1),
            "quarter": midnight.replace(month=(moment.month - 1) // 3 * 3 + 1, day=1),
            "month": midnight.replace(day=1),
            "day": midnight,
            "hour": moment.replace(minute=0, second=0, microsecond=0),
        }
        milliseconds = (moment - epoch) // datetime.timedelta(milliseconds=1)
        for period, start in first.items():
            assert DatePeriod(period).python(milliseconds) == (start - epoch) // datetime.timedelta(milliseconds=1)
