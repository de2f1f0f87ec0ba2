"""Run reports: what was touched, and how a schema changed."""

import pytest

from dagster_smt.model.report import FieldChange, LedgerEntry, LedgerLine, RunReport, leaf_labels, schema_diff
from dagster_smt.model.schema import INT32, STRING, Schema, Type, optional, timestamp
from dagster_smt.model.window import Window


def struct(**fields):
    return Schema(Type.STRUCT, fields=tuple(fields.items()))


NESTED = struct(id=INT32, at=timestamp(), who=optional(struct(name=STRING, tags=Schema(Type.ARRAY, values=STRING))))

LABELS = [
    (None, {}),
    (STRING, {"(whole)": "string"}),
    (struct(), {}),
    (NESTED, {"id": "int32", "at": "Timestamp", "who.name": "string", "who.tags": "array<string>"}),
]
DIFFS = [
    ("nothing", NESTED, NESTED, []),
    ("no schema", None, None, []),
    ("all new", None, struct(a=INT32), [FieldChange("a", "added", "", "int32")]),
    ("a type", struct(a=INT32), struct(a=STRING), [FieldChange("a", "changed", "int32", "string")]),
    ("null allowed", struct(a=INT32), struct(a=optional(INT32)), [FieldChange("a", "changed", "int32", "int32?")]),
    (
        "removed, changed, added in this order",
        struct(x=INT32, a=INT32, b=struct(c=INT32)),
        struct(new=INT32, a=STRING),
        [
            FieldChange("x", "removed", "int32"),
            FieldChange("b.c", "removed", "int32"),
            FieldChange("a", "changed", "int32", "string"),
            FieldChange("new", "added", "", "int32"),
        ],
    ),
    (
        "a struct for one of its fields",
        struct(a=INT32),
        INT32,
        [FieldChange("a", "removed", "int32"), FieldChange("(whole)", "added", "", "int32")],
    ),
]


@pytest.mark.parametrize(("schema", "labels"), LABELS)
def test_leaf_labels(schema, labels):
    assert leaf_labels(schema) == labels
    assert list(leaf_labels(schema)) == list(labels)


@pytest.mark.parametrize(("before", "after", "changes"), [d[1:] for d in DIFFS], ids=[d[0] for d in DIFFS])
def test_schema_diff(before, after, changes):
    assert schema_diff(before, after) == changes


def test_touched_sums_over_stages():
    masked = [LedgerLine(LedgerEntry(n, f"s{n}", "masked", path), n + 1) for n, path in enumerate(("a", "b", "a"))]
    other = LedgerLine(LedgerEntry(3, "s3", "dropped", "a"), 7)
    report = RunReport("orders", Window(()), ledger=[*masked, other])
    assert report.touched("masked") == {"a": 4, "b": 2}
    assert report.touched("dropped") == {"a": 7}
    assert report.touched("cast") == {}
