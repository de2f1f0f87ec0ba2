"""HoistField: a struct around the whole."""

import pytest

from dagster_smt.transforms.kafka.hoist_field import HoistField
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (HoistField$Value): {}"

CASES = (
    Case("a number", {"field": "w"}, "1.0", '{"w":1.0}'),
    Case("null without a schema", {"field": "w"}, "null", '{"w":null}'),
    Case("an empty name without a schema", {"field": ""}, "1", '{"":1}'),
    Case("dots are part of the name", {"field": "a.b"}, "1", '{"a.b":1}'),
    Case("the key", {"field": "id"}, '"k"', '{"id":"k"}', shows="key", side="Key"),
    Case("a schema", {"field": "w"}, '{"schema":{"type":"int32"},"payload":1}', envelope("w:int32", '{"w":1}')),
    Case(
        "null under an optional schema with a default stays null",
        {"field": "w"},
        '{"schema":{"type":"int32","optional":true,"default":4},"payload":null}',
        envelope("w:int32?=4", '{"w":null}'),
    ),
    refusal(
        "an empty name with a schema",
        {"field": ""},
        '{"schema":{"type":"int32"},"payload":1}',
        "SMT112 transforms.t (HoistField$Value): a field needs a name that is not empty",
    ),
    refusal(
        "a name step into a map, as in Kafka",
        {"hoisted": "m.k", "field.syntax.version": "V2", "strict_paths": "kafka", "field": "h"},
        envelope("m:map<int8>", '{"m":{"k":1}}'),
        AT.format("SMT202", "'k' is a step into a map"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_hoist_field(case):
    check(HoistField, case)
