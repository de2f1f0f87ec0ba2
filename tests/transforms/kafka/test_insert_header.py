"""InsertHeader: fixed headers."""

import pytest

from dagster_smt.transforms.kafka.insert_header import InsertHeader
from tests.transforms.helpers import Case, check, refusal

CASES = (
    Case("a null", {"header": "h", "value.literal": "null"}, "[]", '[{"key":"h","value":null}]', "headers"),
    Case("a fraction", {"header": "h", "value.literal": "1.5"}, "[]", '[{"key":"h","value":1.5}]', "headers"),
    Case("a rest is dropped", {"header": "h", "value.literal": "1,2"}, "[]", '[{"key":"h","value":1}]', "headers"),
    Case("nothing", {"header": "h", "value.literal": ""}, "[]", '[{"key":"h","value":""}]', "headers"),
    Case("a name alone", {"header": "", "value.literal": "x"}, "[]", '[{"key":"","value":"x"}]', "headers"),
    Case("a tombstone", {"header": "h", "value.literal": "x"}, "null", '[{"key":"h","value":"x"}]', "headers", "value"),
    refusal(
        "no value", {"header": "h"}, "{}", "SMT012 transforms.t (InsertHeader): the option 'value.literal' is missing"
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_insert_header(case):
    check(InsertHeader, case)
