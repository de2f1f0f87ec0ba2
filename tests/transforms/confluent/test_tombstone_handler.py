"""TombstoneHandler: no tombstones. The source is Confluent's documentation of the transform."""

import pytest

from dagster_smt.transforms.confluent.tombstone_handler import TombstoneHandler
from tests.transforms.helpers import Case, check, envelope, refusal

NULL = "SMT402 transforms.t (TombstoneHandler): a null key or value cannot be used for [a chain without tombstones]"
STRUCT = envelope("a:int8", '{"a":1}')
NO_STRUCT = envelope("a:int8", "null", optional=True)
WRONG = "SMT013 transforms.t (TombstoneHandler) behavior: must be one of: ignore, warn, fail"

CASES = (
    # each behaviour is documented; a tombstone is one with a schema, too
    Case("the default drops", {}, "null", None),
    *(Case(f"{b} drops", {"behavior": b}, "null", None) for b in ("ignore", "warn")),
    *(Case(f"{b} drops with a schema", {"behavior": b}, NO_STRUCT, None) for b in ("ignore", "warn")),
    refusal("fail", {"behavior": "fail"}, "null", NULL),
    refusal("fail with a schema", {"behavior": "fail"}, NO_STRUCT, NULL),
    *(Case(f"{b}: others pass", {"behavior": b}, '{"a":1.0}', '{"a":1.0}') for b in ("ignore", "warn", "fail")),
    *(Case(f"{b}: others pass with a schema", {"behavior": b}, STRUCT, STRUCT) for b in ("ignore", "warn", "fail")),
    Case("an empty object is no tombstone", {}, "{}", "{}"),
    Case("the empty text is no tombstone", {}, '""', '""'),
    # the names are Confluent's, not Aiven's
    refusal("Aiven's name", {"behavior": "drop_silent"}, "null", WRONG),
    refusal("another case", {"behavior": "FAIL"}, "null", WRONG),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_tombstone_handler(case):
    check(TombstoneHandler, case)
