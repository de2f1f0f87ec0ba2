"""Run reports: what was touched, and how a schema changed."""

import pytest

from dagster_smt.model.reports.run_report import (
    FieldChange,
    LedgerEntry,
    LedgerLine,
    RunReport,
    SchemaUse,
    TopicCounts,
    add_up,
    joined,
    leaf_labels,
    schema_diff,
)
from dagster_smt.model.schema import INT32, STRING, Schema, Type, optional, timestamp
from dagster_smt.model.windows.window import Window


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


def test_batches_of_one_run_add_up_the_records_of_each_schema():
    batches = []
    for uses in ([("1", 1000)], [("1", 3), ("2", 10)]):
        schemas = tuple(SchemaUse("orders", "value", schema, records) for schema, records in uses)
        batches.append(RunReport("orders", Window(()), sum(records for _, records in uses), schemas=schemas))
    uses = [(use.schema, use.records) for use in joined(batches).schemas]
    assert uses == [("1", 1003), ("2", 10)]
    assert joined(batches[1:]).schemas == batches[1].schemas


PLAIN = TopicCounts(10, 1, (2,), (3,))
ARRAYS = TopicCounts(3, 1, (0,), (3,), further=8, empty=1, refused=2)


def test_counts_of_topics_with_and_without_arrays_add_up():
    assert (PLAIN.rows, PLAIN.failed_records, PLAIN.rows_out) == (10, 4, 4)
    assert (ARRAYS.rows, ARRAYS.failed_records, ARRAYS.all_dropped, ARRAYS.rows_out) == (11, 2, 1, 6)
    both = add_up([PLAIN, ARRAYS])
    assert both == TopicCounts(13, 2, (2,), (6,), further=8, empty=1, refused=6)
    assert add_up([PLAIN, PLAIN]).refused == 0 and add_up([PLAIN, PLAIN]).failed_records == 8
    results = {"plain": PLAIN, "arrays": ARRAYS}
    report = RunReport("r", Window(), both.records, both.rows_out, both.all_dropped, both.all_failed, topics=results)
    assert (report.rows_in, report.empty, report.failed, report.failed_records) == (21, 1, 8, 6)
    twice = joined([report, report])
    assert (twice.records_in, twice.rows_in, twice.failed_records, twice.empty) == (26, 42, 12, 2)
    part = report.of_topic("arrays")
    assert (part.records_in, part.rows_in, part.records_out, part.failed_records) == (3, 11, 6, 2)
