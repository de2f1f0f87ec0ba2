"""RegexRouter: topics by regular expression."""

import pytest

from dagster_smt.transforms.regex_router import RegexRouter
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
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_regex_router(case):
    check(RegexRouter, case)
