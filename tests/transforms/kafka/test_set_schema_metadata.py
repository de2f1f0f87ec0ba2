"""SetSchemaMetadata: name and version."""

import pytest

from dagster_smt.transforms.kafka.set_schema_metadata import SetSchemaMetadata
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (SetSchemaMetadata$Value): {}"

CASES = (
    Case(
        "the name",
        {"schema.name": "N"},
        envelope("a:int8", '{"a":1}', name="O", version=3, doc="d"),
        envelope("a:int8", '{"a":1}', name="N", version=3, doc="d"),
    ),
    Case(
        "the version",
        {"schema.version": "7"},
        envelope("a:int8", '{"a":1}', name="O"),
        envelope("a:int8", '{"a":1}', name="O", version=7),
    ),
    Case(
        "an empty name is a name",
        {"schema.name": ""},
        envelope("a:int8", '{"a":1}', name="O"),
        envelope("a:int8", '{"a":1}', name=""),
    ),
    Case(
        "the topic is not put in",
        {"schema.name": "${topic}"},
        envelope("a:int8", '{"a":1}'),
        envelope("a:int8", '{"a":1}', name="${topic}"),
    ),
    Case(
        "null",
        {"schema.name": "N"},
        envelope("a:int8", "null", optional=True),
        envelope("a:int8", "null", optional=True, name="N"),
    ),
    Case("a tombstone", {"schema.name": "N"}, "null", "null"),
    Case(
        "defaults",
        {"schema.name": "N"},
        envelope("a:int8?=3", '{"a":null}'),
        envelope("a:int8?=3", '{"a":3}', name="N"),
    ),
    Case(
        "nulls stay",
        {"schema.name": "N", "replace.null.with.default": "false"},
        envelope("a:int8?=3", '{"a":null}'),
        envelope("a:int8?=3", '{"a":null}', name="N"),
    ),
    Case(
        "the key",
        {"schema.name": "N"},
        envelope("a:int8", '{"a":1}'),
        envelope("a:int8", '{"a":1}', name="N"),
        shows="key",
        side="Key",
    ),
    refusal(
        "no schema",
        {"schema.name": "N"},
        "{}",
        AT.format("SMT221", "a schema is required for [updating schema metadata]"),
    ),
    refusal(
        "no struct",
        {"schema.name": "N"},
        '{"schema":{"type":"string"},"payload":"x"}',
        AT.format("SMT201", "only a struct can be used for [updating schema metadata], but this is string"),
    ),
    refusal("nothing set", {}, "{}", AT.format("SMT014", "neither schema.name nor schema.version is set")),
    refusal(
        "no number",
        {"schema.version": "x"},
        "{}",
        "SMT013 transforms.t (SetSchemaMetadata$Value) schema.version: expected a whole number of 32 bits",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_set_schema_metadata(case):
    check(SetSchemaMetadata, case)
