"""Filter: nothing passes."""

import pytest

from dagster_smt.transforms.kafka.filter import Filter
from tests.transforms.helpers import Case, check

CASES = (
    Case("a value", {}, '{"a":1}', None),
    Case("a tombstone", {}, "null", None),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_filter(case):
    check(Filter, case)
