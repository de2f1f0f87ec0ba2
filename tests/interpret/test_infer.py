"""What some JSON values look like, as a schema."""

import json

import pytest

from dagster_smt.interpret.infer import inferred_schema
from dagster_smt.model.reports.run_report import leaf_labels

INFERENCES = [
    ([{"a": 1}], {"a": "int64"}),
    ([{"a": 1}, {"a": 2.5}], {"a": "float64"}),
    ([{"a": 1}, {"a": "x"}], {"a": "string"}),
    ([{"a": 1}, {}], {"a": "int64?"}),
    ([{}, {"a": 1}], {"a": "int64?"}),
    ([{"a": None}, {"a": 1}, {"a": 2}], {"a": "int64?"}),
    ([{"a": 1}, {"a": None}], {"a": "int64?"}),
    ([{"a": None}], {"a": "string?"}),
    ([{"a": True}, {"a": 1}], {"a": "string"}),
    ([{"a": {"b": 1, "c": "x"}}, {"a": {"b": 2}}], {"a.b": "int64", "a.c": "string?"}),
    ([{"a": [1, 2]}, {"a": []}], {"a": "array<int64?>"}),
    ([{"a": [{"b": 1}, {"c": 1}]}], {"a": "array<struct>"}),
    ([{"a": {"b": 1}}, {"a": 1}], {"a": "string"}),
    ([None, {"a": 1}, None], {"a": "int64"}),
    ([{"a": "x"}, {}, {"a": 5}], {"a": "string?"}),
    ([{"a": "x"}, {"a": None}, {"a": {"b": 1}}], {"a": "string?"}),
    ([{"a": [None]}], {"a": "array<string?>"}),
]


@pytest.mark.parametrize(("values", "labels"), INFERENCES)
def test_what_records_look_like(values, labels):
    schema = inferred_schema([json.dumps(v).encode() if v is not None else None for v in values])
    assert leaf_labels(schema) == labels


@pytest.mark.parametrize("values", [[], [None], [b"1"], [b"[1]"], [b"no json"], [b'{"a": 1}', b"{"]])
def test_what_is_no_object_has_no_schema(values):
    assert inferred_schema(values) is None
