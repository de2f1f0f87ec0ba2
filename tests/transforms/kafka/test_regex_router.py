"""RegexRouter: topics by regular expression."""

import pytest

from dagster_smt.transforms.kafka.regex_router import RegexRouter
from tests.transforms.helpers import Case, check, refusal

CASES = (
    Case("a group", {"regex": "(.*)ers", "replacement": "$1"}, "orders", "ord", shows="topic"),
    Case("the whole must match", {"regex": "ord", "replacement": "x"}, "orders", "orders", shows="topic"),
    Case("the first find is replaced", {"regex": "a|ab", "replacement": "X"}, "ab", "Xb", shows="topic"),
    Case("nothing left", {"regex": ".*", "replacement": ""}, "orders", "", shows="topic"),
    refusal(
        "no such group",
        {"regex": ".*", "replacement": "$2"},
        "orders",
        "SMT406 transforms.t (RegexRouter): the replacement cannot be used: there is no group 2",
        shows="topic",
    ),
    Case(
        "what matches is touched", {"regex": "o.*", "replacement": "x"}, "orders", "x", shows="topic", touches=("o.*",)
    ),
    Case(
        "also if it stays the same",
        {"regex": "o.*", "replacement": "$0"},
        "orders",
        "orders",
        shows="topic",
        touches=("o.*",),
    ),
    Case(
        "what does not match is not", {"regex": "x", "replacement": "y"}, "orders", "orders", shows="topic", touches=()
    ),
    Case(
        "named groups and a dollar sign",
        {"regex": "(?<n>o.*)s", "replacement": "${n}-$1-\\$"},
        "orders",
        "order-order-$",
        shows="topic",
    ),
    Case(
        "ten is a group only if there are ten", {"regex": "(o).*", "replacement": "$10"}, "orders", "o0", shows="topic"
    ),
    refusal(
        "a lone dollar sign",
        {"regex": "o.*", "replacement": "$"},
        "orders",
        "SMT406 transforms.t (RegexRouter): the replacement cannot be used: a dollar sign without a group",
        shows="topic",
    ),
    refusal(
        "no expression",
        {"regex": "(", "replacement": "x"},
        "orders",
        "SMT013 transforms.t (RegexRouter) regex: the regular expression '(' cannot be used: missing )",
        shows="topic",
    ),
    refusal(
        "nothing to replace it by",
        {"regex": "o.*"},
        "orders",
        "SMT012 transforms.t (RegexRouter): the option 'replacement' is missing",
        shows="topic",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_regex_router(case):
    check(RegexRouter, case)
