"""SimpleDateFormat: the tables were recorded from Java 17 (``user.language=en``, formatter in UTC)."""

import random
import time

import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.values.java.calendar import Moment, civil, day_number
from dagster_smt.values.java.dates import _CLOCK, date_format
from dagster_smt.values.times.date_texts import texts_of

PARSED = [
    ("yyyy-MM-dd", "2020-13-45", 1613260800000),
    ("yyyy-MM-dd", "2020-02-30", 1583020800000),
    ("yyyy-MM-dd", "2020-1-1", 1577836800000),
    ("yyyy-MM-dd", "2020-01-01xyz", 1577836800000),
    ("yyyy-MM-dd", " 2020-01-01", 1577836800000),
    ("yyyy-MM-dd", "20-01-01", -61536240000000),
    ("yyyy-MM-dd", "-0001-01-01", -62198928000000),
    ("yyyy-MM-dd", "0000-01-01", -62167392000000),
    ("yyyy-MM-dd", "0001-01-01", -62135769600000),
    ("yyyy-MM-dd", "1500-02-29", -14825894400000),
    ("yyyy-MM-dd", "1582-10-04", -12219379200000),
    ("yyyy-MM-dd", "1582-10-05", -12219292800000),
    ("yyyy-MM-dd", "1582-10-14", -12218515200000),
    ("yyyy-MM-dd", "1582-10-15", -12219292800000),
    ("yyyy-MM-dd", "10000-01-01", 253402300800000),
    ("yyyy-MM-dd", "292278994-08-17", 9223372036828800000),
    ("yyyy-MM-dd", "2020-01", None),
    ("yyyy-MM-dd", "2020--1-05", 1572912000000),
    ("yyyy-MM-dd", "٢٠٢٠-٠١-٠٢", 1577923200000),
    ("yyyy-MM-dd", "1E3-01-01", -30609792000000),
    ("yyyy-MM-dd", "+2020-01-01", None),
    ("yyyy-MM-dd", "", None),
    ("yyyyMMdd", "20200101", 1577836800000),
    ("yyyyMMdd", "2020011", 1577836800000),
    ("yyyyMMdd", "202001011", 1578700800000),
    ("yyyyMMdd", "2020 1 1", 1577836800000),
    ("yyyyMMdd", "2020", None),
    ("HH:mm", "25:61", 93660000),
    ("HH:mm", "-1:00", -3600000),
    ("HH:mm", "7:5", 25500000),
    ("HH:mm", "\t7: 5", 25500000),
    ("kk:mm", "24:30", 1800000),
    ("hh:mm", "12:30", 1800000),
    ("h:mm a", "12:30 PM", 45000000),
    ("h:mm a", "3:05 pm", 54300000),
    ("h:mm a", "15:05 AM", 54300000),
    ("K a", "5 PM", 61200000),
    ("ss.SSS", "1.5", 1005),
    ("ss.SSS", "1.123456", 124456),
    ("MMM d, yyyy", "sept 5, 2019", None),
    ("MMM d, yyyy", "September 5, 2019", 1567641600000),
    ("MMM d, yyyy", " Apr 5, 2019", None),
    ("d LLLL yyyy", "5 may 2019", 1557014400000),
    ("EEE, d MMM yyyy", "Mon, 25 Apr 2019", 1556150400000),
    ("yyyy G", "44 BC", -63524304000000),
    ("G yyyy", "bc 1", -62167392000000),
    ("YYYY-'W'ww-u", "2019-W17-4", 1556150400000),
    ("YYYY-'W'ww-u", "2020-W01-1", 1577664000000),
    ("YYYY-'W'ww-u", "2019-W60-9", 1582588800000),
    ("YYYY-'W'ww-u", "2019-W17-0", 1555200000000),
    ("yyyy ww", "2019 17", 1555804800000),
    ("yyyy-MM W E", "2019-04 4 Thursday", 1556150400000),
    ("yyyy MM F E", "2019 04 -1 Fri", 1556236800000),
    ("yyyy MM F E", "2019 04 2 Fri", 1555027200000),
    ("DDD yyyy", "366 2019", 1577836800000),
    ("DDD yyyy", "-1 2019", 1546128000000),
    ("yyyy D MM", "2019 200 03", 1563494400000),
    ("u yyyy-MM", "3 2019-04", 1554249600000),
    ("yyyy DDD", "1582 300", -12217392000000),
    ("yyyy ww", "1582 50", -12213676800000),
    ("HH:mm X", "10:00 +05", 18000000),
    ("HH:mm X", "10:00 Z", 36000000),
    ("HH:mm XX", "10:00 +0530", 16200000),
    ("HH:mm XXX", "10:00 -05:30", 55800000),
    ("HH:mm XXX", "10:00 +0530", None),
    ("HH:mm XXX", "10:00 +24:00", None),
    ("HH:mm Z", "10:00 +0200", 28800000),
    ("HH:mm Z", "10:00 GMT-3:30", 48600000),
    ("HH:mm z", "10:00 GMT+05:00", 18000000),
    ("HH:mm z", "10:00 GMT", 36000000),
    ("HH:mm z", "10:00 GMT+5", None),
    ("HH:mm z", "10:00  GMT+05:00", 36000000),
    ("HH:mm z", "10:00 PST", 64800000),
    ("HH:mm z", "10:00 pdt", 61200000),
    ("HH:mm zzzz", "10:00 Central European Summer Time", 28800000),
    ("HH:mm z", "10:00 Nowhere", None),
    ("HH:mm z", "10:00 UTC", 36000000),
    ("yyyy 'o''clock' HH", "2020 o'clock 5", 1577854800000),
    ("yyyy''HH", "2020'5", 1577854800000),
    ("yyyy年MM月", "2020年05月", 1588291200000),
]
FORMATTED = [
    ("yyyy-MM-dd HH:mm:ss.SSS", 0, "1970-01-01 00:00:00.000"),
    ("yyyy-MM-dd HH:mm:ss.SSS", -1, "1969-12-31 23:59:59.999"),
    ("yyyy-MM-dd HH:mm:ss.SSS", 1556204536123, "2019-04-25 15:02:16.123"),
    ("yyyy-MM-dd HH:mm:ss.SSS", -12219292800000, "1582-10-15 00:00:00.000"),
    ("yyyy-MM-dd HH:mm:ss.SSS", -12219292800001, "1582-10-04 23:59:59.999"),
    ("yyyy-MM-dd HH:mm:ss.SSS", -62135596800000, "0001-01-03 00:00:00.000"),
    ("yyyy-MM-dd HH:mm:ss.SSS", -62167219200001, "0001-01-02 23:59:59.999"),
    ("yyyy-MM-dd HH:mm:ss.SSS", 253402300800000, "10000-01-01 00:00:00.000"),
    ("yyyy-MM-dd HH:mm:ss.SSS", 1577750400000, "2019-12-31 00:00:00.000"),
    ("yyyy-MM-dd HH:mm:ss.SSS", 951782400000, "2000-02-29 00:00:00.000"),
    ("yyyy-MM-dd HH:mm:ss.SSS", 9223372036854775, "294247-01-10 04:00:54.775"),
    ("G yy y yyy yyyyy", 0, "AD 70 1970 1970 01970"),
    ("G yy y yyy yyyyy", -1, "AD 69 1969 1969 01969"),
    ("G yy y yyy yyyyy", 1556204536123, "AD 19 2019 2019 02019"),
    ("G yy y yyy yyyyy", -12219292800000, "AD 82 1582 1582 01582"),
    ("G yy y yyy yyyyy", -12219292800001, "AD 82 1582 1582 01582"),
    ("G yy y yyy yyyyy", -62135596800000, "AD 01 1 001 00001"),
    ("G yy y yyy yyyyy", -62167219200001, "BC 01 1 001 00001"),
    ("G yy y yyy yyyyy", 253402300800000, "AD 00 10000 10000 10000"),
    ("G yy y yyy yyyyy", 1577750400000, "AD 19 2019 2019 02019"),
    ("G yy y yyy yyyyy", 951782400000, "AD 00 2000 2000 02000"),
    ("G yy y yyy yyyyy", 9223372036854775, "AD 47 294247 294247 294247"),
    ("D w W F E u Y", 0, "1 1 1 1 Thu 4 1970"),
    ("D w W F E u Y", -1, "365 1 5 5 Wed 3 1970"),
    ("D w W F E u Y", 1556204536123, "115 17 4 4 Thu 4 2019"),
    ("D w W F E u Y", -12219292800000, "278 40 1 1 Fri 5 1582"),
    ("D w W F E u Y", -12219292800001, "277 40 1 1 Thu 4 1582"),
    ("D w W F E u Y", -62135596800000, "3 2 2 1 Mon 1 1"),
    ("D w W F E u Y", -62167219200001, "2 1 1 1 Fri 5 0"),
    ("D w W F E u Y", 253402300800000, "1 1 1 1 Sat 6 10000"),
    ("D w W F E u Y", 1577750400000, "365 1 5 5 Tue 2 2020"),
    ("D w W F E u Y", 951782400000, "60 10 5 5 Tue 2 2000"),
    ("D w W F E u Y", 9223372036854775, "10 3 3 2 Sun 7 294247"),
    ("dd/MMM/yyyy EEEE MMMM a", 0, "01/Jan/1970 Thursday January AM"),
    ("dd/MMM/yyyy EEEE MMMM a", -1, "31/Dec/1969 Wednesday December PM"),
    ("dd/MMM/yyyy EEEE MMMM a", 1556204536123, "25/Apr/2019 Thursday April PM"),
    ("dd/MMM/yyyy EEEE MMMM a", -12219292800000, "15/Oct/1582 Friday October AM"),
    ("dd/MMM/yyyy EEEE MMMM a", -12219292800001, "04/Oct/1582 Thursday October PM"),
    ("dd/MMM/yyyy EEEE MMMM a", -62135596800000, "03/Jan/0001 Monday January AM"),
    ("dd/MMM/yyyy EEEE MMMM a", -62167219200001, "02/Jan/0001 Friday January PM"),
    ("dd/MMM/yyyy EEEE MMMM a", 253402300800000, "01/Jan/10000 Saturday January AM"),
    ("dd/MMM/yyyy EEEE MMMM a", 1577750400000, "31/Dec/2019 Tuesday December AM"),
    ("dd/MMM/yyyy EEEE MMMM a", 951782400000, "29/Feb/2000 Tuesday February AM"),
    ("dd/MMM/yyyy EEEE MMMM a", 9223372036854775, "10/Jan/294247 Sunday January AM"),
    ("k K h H S SSSS", 0, "24 0 12 0 0 0000"),
    ("k K h H S SSSS", -1, "23 11 11 23 999 0999"),
    ("k K h H S SSSS", 1556204536123, "15 3 3 15 123 0123"),
    ("k K h H S SSSS", -12219292800000, "24 0 12 0 0 0000"),
    ("k K h H S SSSS", -12219292800001, "23 11 11 23 999 0999"),
    ("k K h H S SSSS", -62135596800000, "24 0 12 0 0 0000"),
    ("k K h H S SSSS", -62167219200001, "23 11 11 23 999 0999"),
    ("k K h H S SSSS", 253402300800000, "24 0 12 0 0 0000"),
    ("k K h H S SSSS", 1577750400000, "24 0 12 0 0 0000"),
    ("k K h H S SSSS", 951782400000, "24 0 12 0 0 0000"),
    ("k K h H S SSSS", 9223372036854775, "4 4 4 4 775 0775"),
    ("z zzzz Z X XX XXX", 0, "UTC Coordinated Universal Time +0000 Z Z Z"),
    ("z zzzz Z X XX XXX", -1, "UTC Coordinated Universal Time +0000 Z Z Z"),
    ("z zzzz Z X XX XXX", 1556204536123, "UTC Coordinated Universal Time +0000 Z Z Z"),
    ("z zzzz Z X XX XXX", -12219292800000, "UTC Coordinated Universal Time +0000 Z Z Z"),
    ("z zzzz Z X XX XXX", -12219292800001, "UTC Coordinated Universal Time +0000 Z Z Z"),
    ("z zzzz Z X XX XXX", -62135596800000, "UTC Coordinated Universal Time +0000 Z Z Z"),
    ("z zzzz Z X XX XXX", -62167219200001, "UTC Coordinated Universal Time +0000 Z Z Z"),
    ("z zzzz Z X XX XXX", 253402300800000, "UTC Coordinated Universal Time +0000 Z Z Z"),
    ("z zzzz Z X XX XXX", 1577750400000, "UTC Coordinated Universal Time +0000 Z Z Z"),
    ("z zzzz Z X XX XXX", 951782400000, "UTC Coordinated Universal Time +0000 Z Z Z"),
    ("z zzzz Z X XX XXX", 9223372036854775, "UTC Coordinated Universal Time +0000 Z Z Z"),
]


@pytest.mark.parametrize(("pattern", "text", "instant"), PARSED)
def test_parsing(pattern, text, instant):
    assert date_format(pattern).parse(text) == instant


@pytest.mark.parametrize(("pattern", "instant", "text"), FORMATTED)
def test_formatting(pattern, instant, text):
    assert date_format(pattern).format(instant) == text


@pytest.mark.parametrize(
    ("pattern", "statement"),
    [
        ("yyyy-bb-f", "SimpleDateFormat does not have these letters: 'b', 'f'"),
        ("yyyy 'T", "the quote at position 5 is not closed"),
        ("yyyy'", "the quote at position 4 is not closed"),
        ("XXXX", "at most three 'X' may follow each other"),
    ],
)
def test_patterns_that_are_refused(pattern, statement):
    with pytest.raises(ConfigError) as caught:
        date_format(pattern)
    assert str(caught.value).splitlines()[0] == f"SMT022 the date pattern '{pattern}' cannot be used: {statement}"


def test_an_empty_pattern_writes_nothing():
    assert date_format("").format(0) == ""


def test_years_of_two_digits_lie_between_80_years_ago_and_20_ahead():
    this_year = time.gmtime().tm_year
    for year in (this_year - 79, this_year, this_year + 19):
        assert civil(date_format("yy-MM-dd").parse(f"{year % 100:02d}-12-31") // 86_400_000) == (year, 12, 31)
    first = date_format(
        "yy"
    ).century_start  # 80 years ago to the millisecond: the year it falls in belongs to both ends
    text = f"{Moment(first).year % 100:02d}"
    assert Moment(date_format("yy-MM-dd").parse(f"{text}-01-01")).year == Moment(first).year + 100
    assert Moment(date_format("yy-MM-dd").parse(f"{text}-12-31")).year == Moment(first).year


def test_a_zone_in_a_text_does_not_change_the_formatter():
    form = date_format("HH:mm z")
    assert form.parse("10:00 PST") == 64_800_000
    assert form.format(0) == "00:00 UTC"


@pytest.mark.parametrize("day", [-10_000_000, -719_469, -141_428, -141_427, -1, 0, 59, 11_016, 2_932_896, 100_000_000])
def test_days_and_dates_are_each_others_inverse(day):
    for near in range(day - 800, day + 800):
        year, month, of_month = civil(near)
        assert day_number(year, month, of_month, julian=near < -141_427) == near


@pytest.mark.parametrize(
    "pattern",
    [
        "yyyy-MM-dd",
        "yyyy-MM-dd HH:mm:ss",
        "yyyyMMddHHmmss",
        "yyyy-MM-dd'T'HH:mm:ss.SSS",
        "dd/MM/yyyy",
        "HHmm yyyy MM dd",
        "yyyy-MM-dd'E'HH",
    ],
)
def test_texts_that_are_read_at_once_are_read_as_slowly(pattern):
    """Fields of the pattern's digits, in their ranges; all others go the long way."""
    form, rng, at_once = date_format(pattern), random.Random(pattern), 0
    for _ in range(1000):
        text = list(form.format(rng.randrange(-62_135_596_800_000, 253_402_300_799_000)))
        for _ in range(rng.choice((0, 0, 1, 2))):
            place = rng.randrange(len(text))
            text[place : place + rng.choice((0, 1))] = rng.choice(("", *"0123456789-: T.E/٣x"))
        at_once += form._digits.match("".join(text)) is not None
        assert form.parse("".join(text)) == form._leniently("".join(text)), "".join(text)
    assert (at_once > 300) is ("'E'" not in pattern)  # what looks like an exponent goes the long way


def test_a_format_keeps_days_and_forgets_them():
    form = date_format("yyyy-MM-dd HH:mm:ss.SSS a k K h")
    for day in range(12_000):
        form.format(day * 86_400_000)
    assert form.format(86_399_999) == "1970-01-01 23:59:59.999 PM 23 11 11"
    assert form.format(-1) == "1969-12-31 23:59:59.999 PM 23 11 11"
    assert form.format(0) == "1970-01-01 00:00:00.000 AM 24 0 12"
    assert len(form._days) <= 10_000


AT_ONCE = [
    "yyyy-MM-dd HH:mm:ss",
    "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
    "HH",
    "ssSSS mm KK",
    "HHmmss dd.MM.yy",
    "MMM dd HH:mm",
    "DDD ss",
]
NOT_AT_ONCE = [
    "",
    "yyyy",
    "H:m:s",
    "yyyy-MM-dd hh:mm a",
    "kk",
    "HH'%'mm",
    "HH'é'",
    "HH'\0'",
    "MMMM HH EEEE",
    "HH E yyyy MMMM ss",
]
EDGES = [
    0,
    -1,
    86_399_999,
    86_400_000,
    -12_219_292_800_000,
    -12_219_292_800_001,
    253_402_300_800_000,
    2**63 - 1,
    2**63,
]


@pytest.mark.parametrize("pattern", [*AT_ONCE, *NOT_AT_ONCE, *(pattern for pattern, _, _ in FORMATTED)])
def test_many_instants_are_written_as_each_of_them(pattern):
    form, rng = date_format(pattern), random.Random(pattern)
    near = [1_556_204_536_123 + rng.randrange(-5 * 86_400_000, 5 * 86_400_000) for _ in range(300)]
    far = [rng.randrange(-62_135_596_800_000 - 10**13, 253_402_300_799_000 + 10**13) for _ in range(300)]
    for instants in (
        [],
        [0],
        near,
        far[:5],
        far,
        EDGES[:3],
        EDGES[:-2],
        EDGES,
        [instant for _, instant, _ in FORMATTED],
    ):
        assert form.format_all(instants) == list(map(form.format, instants))


@pytest.mark.parametrize("pattern", [*AT_ONCE, *NOT_AT_ONCE])
def test_which_are_written_at_once(pattern):
    form = date_format(pattern)
    instants = [1_556_204_536_123 + number * 86_400_007 for number in range(60)]
    result = texts_of(instants, form._of_day, form._letters, _CLOCK)
    assert (result is not None) is (pattern in AT_ONCE)
