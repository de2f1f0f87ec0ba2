"""TimestampRouter: topics by time."""

from dataclasses import replace

import pytest

from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.transforms.kafka.timestamp_router import TimestampRouter
from tests.transforms.helpers import Case, chain_of, check, record_of, refusal

CASES = (
    Case("the default", {}, "orders", "orders-20190425", "topic"),
    Case("a fixed topic", {"topic.format": "all"}, "orders", "all", "topic"),
    Case("twice", {"topic.format": "${timestamp}.${topic}.${timestamp}"}, "a", "20190425.a.20190425", "topic"),
    Case("a mark in the old topic", {}, "a${timestamp}b", "a20190425b-20190425", "topic"),
    Case("week years", {"timestamp.format": "YYYY-'W'ww"}, "t", "t-2019-W17", "topic"),
    Case("no pattern", {"timestamp.format": ""}, "t", "t-", "topic"),
    refusal(
        "a bad pattern",
        {"timestamp.format": "bad-format"},
        "{}",
        "SMT013 transforms.t (TimestampRouter) timestamp.format: the date pattern 'bad-format' cannot be used: "
        "SimpleDateFormat does not have these letters: 'b', 'f', 'o', 'r', 't'",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_timestamp_router(case):
    check(TimestampRouter, case)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"timestamp": None}, "SMT423 transforms.t (TimestampRouter): the record has no timestamp"),
        ({"topic": None}, "SMT407 transforms.t (TimestampRouter): the record has no topic"),
    ],
)
def test_what_a_record_needs(change, problem):
    outcome = Interpreter(chain_of(TimestampRouter, {})).run(replace(record_of("{}"), **change))
    assert str(outcome.problem).splitlines()[0] == problem
