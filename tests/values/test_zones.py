"""Offsets of time zones and texts of times: recorded from Java 17 (``ZoneRules``, ``OffsetDateTime``)."""

import pytest

from dagster_smt.values.times.zones import (
    date_time_text,
    fixed_offset,
    is_zone,
    offset_at,
    offset_of_local,
    parse_date_time,
    parse_time,
    time_text,
)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("2011-01-11T16:40:30.123456789+00:00", "2011-01-11T22:10:30.123456789+05:30"),
        ("2011-01-11t16:40z", "2011-01-11T22:10:00+05:30"),
        ("2011-01-11T16:40:30.+05", "2011-01-11T17:10:30+05:30"),
        ("+12011-01-11T16:40:30Z", "+12011-01-11T22:10:30+05:30"),
        ("+0012011-01-11T16:40:30Z", "+12011-01-11T22:10:30+05:30"),
        ("-0001-01-11T16:40:30Z", "-0001-01-11T22:33:58+05:53:28"),
        ("0000-02-29T00:00:00Z", "0000-02-29T05:53:28+05:53:28"),
        ("2011-01-01T00:00:00+18:00", "2010-12-31T11:30:00+05:30"),
        ("2011-01-01T00:00:00-05:30:15", "2011-01-01T11:00:15+05:30"),
        ("2011-01-01T00:00:00-00:00", "2011-01-01T05:30:00+05:30"),
        *(
            (text, None)
            for text in (
                *("2011-01-11T16:40:30+0530", "2011-01-11T16:40:30+05:3", "2011-01-11T24:00:00Z", "2011-01-11T16Z"),
                *("12011-01-11T16:40:30Z", "-0000-02-28T00:00:00Z", "+2011-01-01T00:00:00Z", "2011-02-29T00:00:00Z"),
                *(
                    "2011-01-01T00:00:60Z",
                    "2011-01-01T00:60:00Z",
                    "2011-01-01T00:00:00.1234567890Z",
                    "2011-13-01T00:00Z",
                ),
                *("2011-01-01T00:00:00+18:01", "2011-01-01T00:00:00+5:30", "2011-01-01T00:00:00+05:60", "2011-01-01"),
                *("+1234567890-01-01T00:00:00Z", "+999999999-12-31T23:00:00-02:00", "2011-01-01T00:00:00 Z", "x"),
            )
        ),
    ],
)
def test_dates_and_times(text, result):
    time = parse_date_time(text)
    moved = time and time.at(offset_of_local("Asia/Kolkata", time.local))
    assert (moved and date_time_text(moved)) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("11:15:30.123456789+00:00", "16:45:30.123456789+05:30"),
        ("11:15z", "16:45:00+05:30"),
        ("11:15:30.Z", "16:45:30+05:30"),
        ("11:15:30-05:30:15", "22:15:45+05:30"),
        ("11:15:30.120+00:00", "16:45:30.12+05:30"),
        ("11:15:30.000Z", "16:45:30+05:30"),
        *((text, None) for text in ("11:15:30+05", "11:15:30+0530", "24:00Z", "23:59:59+18:01", "11Z", "11:15")),
    ],
)
def test_times_of_the_day(text, result):
    time = parse_time(text)
    moved = time and time.at(19_800)
    assert (moved and time_text(moved)) == result


@pytest.mark.parametrize(
    ("zone", "seconds", "local", "instant"),
    [
        ("America/New_York", 1583634600, -18000, -18000),  # the gap of 2020-03-08T02:30
        ("America/New_York", 1604194200, -14400, -14400),  # 2020-11-01T01:30 is twice
        ("Europe/Paris", 1582943400, 3600, 3600),
        ("Europe/Paris", 4_000_000_000_000, 3600, 3600),  # year 128725
        ("Europe/Paris", -9_000_000_000_000, 561, 561),
        ("+05:30", 9_000_000_000_000, 19800, 19800),
        ("Pacific/Apia", 1325203200, -36000, -36000),  # the day that was left out
    ],
)
def test_offsets(zone, seconds, local, instant):
    assert (offset_of_local(zone, seconds), offset_at(zone, seconds)) == (local, instant)


def test_names():
    assert all(map(is_zone, ("UTC", "Europe/Paris", "+05:30", "-18:00", "+05:30:15", "Etc/GMT+5", "GMT", "PST8PDT")))
    assert not any(
        map(is_zone, ("", "Asia", "EST", "ROC", "Factory", "localtime", "Z", "+5", "+18:01", "+00:60", "PST"))
    )
    assert [fixed_offset(text) for text in ("-05:30:15", "+18:00", "05:30")] == [-19_815, 64_800, None]
