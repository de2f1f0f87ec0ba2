"""TimestampConverter's rule: both forms give the same."""

from datetime import date, datetime, timedelta, timezone

import pytest

from dagster_smt.errors import DataError
from dagster_smt.model.schema import JavaDate
from dagster_smt.values.times.timestamps import PRECISIONS, ConvertTime, RouteByTime

DAY = 86_400_000
INSTANTS = (0, 1, -1, 999, -1500, DAY, -DAY, -DAY - 1, 1_556_204_536_123, -62_135_596_799_999, 253_402_300_799_999)
NUMBERS = (*INSTANTS, 2**63 - 1, -(2**63), 9_223_372_036_854_775, -9_223_372_036_854_776, 2**55)
SOURCES = {
    "Date": (tuple(i // DAY * DAY for i in INSTANTS), "date"),
    "Time": ((0, 1, 1234, DAY - 1), "int"),
    "Timestamp": (INSTANTS, "timestamp"),
    "unix": (NUMBERS, "bigint"),
}
CASES = [(s, t, p) for s in SOURCES for t in ("unix", "Date", "Time", "Timestamp") for p in PRECISIONS]


def to_spark(kind, value):
    if kind == "Date":
        return date(1970, 1, 1) + timedelta(days=value // DAY)
    if kind == "Timestamp":
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=value)
    return value


def test_conversions_in_spark(spark):
    from pyspark.sql import Column
    from pyspark.sql import functions as F

    if not hasattr(Column, "try_cast"):
        pytest.skip("Spark 3.5 has no Column.try_cast; runs write TRY_CAST in SQL")
    for source, (values, type_) in SOURCES.items():
        rows = [(n, to_spark(source, v)) for n, v in enumerate(values)]
        frame = spark.createDataFrame([*rows, (len(rows), None)], f"n int, v {type_}").orderBy("n")
        rules = [ConvertTime(source, t, "", p) for s, t, p in CASES if s == source]
        columns = []
        for number, rule in enumerate(rules):
            result = rule.column(F, F.col("v"))
            shown = {"Date": F.unix_date, "Timestamp": F.unix_millis}.get(rule.target, lambda c: c)(result)
            columns += [shown.alias(f"r{number}"), rule.failed(F, result, F.col("v")).alias(f"f{number}")]
        outcome = frame.select(*columns).collect()
        for row, value in zip(outcome, (*values, None), strict=True):
            for number, rule in enumerate(rules):
                check(rule, value, row[f"r{number}"], row[f"f{number}"])


def check(rule, value, result, failed):
    want = rule.python(value if value is None or rule.source == "unix" else JavaDate(value))
    if value is None:
        assert (result, failed) == (None, False)
    elif failed:  # beyond what Spark holds: microseconds of 64 bits, days of 32 bits
        assert rule.may_fail and result is None
        limit = 2**31 * DAY if rule.target == "Date" else 2**63 // 1000
        assert rule.target in ("Date", "Timestamp") and not -limit <= want < limit, (rule, value)
    else:
        assert result == (want // DAY if rule.target == "Date" else want), (rule, value)


@pytest.mark.parametrize(
    ("rule", "value", "result"),
    [
        (ConvertTime("unix", "unix", "", "microseconds"), 1_556_204_536_123_456, 1_556_204_536_123_000),
        (ConvertTime("unix", "unix", "", "nanoseconds"), -1500, 0),
        (ConvertTime("unix", "Timestamp", "", "seconds"), 2**62, 2**63 - 1),
        (ConvertTime("Timestamp", "unix", "", "nanoseconds"), JavaDate(-(10**15)), -(2**63)),
        (ConvertTime("Timestamp", "Date"), JavaDate(-1), -DAY),
        (ConvertTime("Timestamp", "Time"), JavaDate(-1), DAY - 1),
        (ConvertTime("Date", "string", "yyyy G"), JavaDate(-62_167_219_200_001), "0001 BC"),
        (ConvertTime("string", "Timestamp", "yyyy"), "12020", 317_147_356_800_000),
        (ConvertTime("string", "unix"), None, None),
    ],
)
def test_conversions_in_python(rule, value, result):
    assert rule.python(value) == result


@pytest.mark.parametrize(
    ("rule", "code"),
    [(ConvertTime("string", "unix", "yyyy"), "SMT420"), (ConvertTime("string", "unix"), "SMT421")],
)
def test_texts_that_are_no_timestamps_are_not_quoted(rule, code):
    with pytest.raises(DataError) as caught:
        rule.python("secret")
    assert caught.value.problem.code == code
    assert "secret" not in str(caught.value)


def test_texts_need_python():
    assert ConvertTime("string", "unix", "yyyy").needs_python and ConvertTime("Date", "string", "yyyy").needs_python
    assert not ConvertTime("unix", "Date").needs_python


def test_routing_replaces_the_topic_first():
    assert RouteByTime("${topic}-${timestamp}", "yyyyMMdd").python("a${timestamp}b", 0) == "a19700101b-19700101"


@pytest.mark.parametrize(
    ("topic", "timestamp", "code"), [("t", None, "SMT423"), (None, 0, "SMT407"), (None, None, "SMT423")]
)
def test_routing_needs_topic_and_timestamp(topic, timestamp, code):
    with pytest.raises(DataError) as caught:
        RouteByTime("${topic}", "yyyy").python(topic, timestamp)
    assert caught.value.problem.code == code
