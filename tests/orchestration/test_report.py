"""The report at the head of a run's metadata: what it says, and that it says it in few lines."""

from dataclasses import replace

import dagster as dg
import pytest

from dagster_smt.errors import Problem
from dagster_smt.model.reports.run_report import (
    FieldChange,
    KeyCounts,
    LedgerEntry,
    LedgerLine,
    RunReport,
    StageCounts,
    joined,
    schema_diff,
)
from dagster_smt.model.schema import INT64, STRING, Schema, Type
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.orchestration.metadata.report_page import report_markdown
from dagster_smt.orchestration.metadata.run_metadata import RunContext, run_metadata
from dagster_smt.tables.sink_options import DeltaSink
from tests.orchestration.test_metadata import COLUMNS, typed_plan
from tests.orchestration.test_metadata import report as metadata_report

REPORT = RunReport(
    "lake/orders",
    Window((Range("orders", 0, 0, 1200),)),
    records_in=1200,
    records_out=1190,
    dropped=7,
    failed=3,
    stages=[StageCounts("hide", "MaskField$Value", 1200, 0, 3), StageCounts("gone", "Filter", 1197, 7)],
    ledger=[
        LedgerLine(LedgerEntry(0, "hide", "masked", "email"), 1100),
        LedgerLine(LedgerEntry(0, "hide", "renamed", "a|b", target="c"), 12),
    ],
    warnings=[Problem("SMT350", "transforms.x", "'*no_te*' was masked in none", "look")],
)
SINK = DeltaSink("/somewhere/lake/orders", "columns")


def text(report=REPORT, changes=(), lineage=None, since=()):
    return report_markdown(report, SINK, changes, since, 5000, 42, lineage or {})


def test_it_begins_with_what_happened():
    lines = text().split("\n")
    assert lines[0] == "**orders** → **orders** (committed)"
    assert lines[2] == "| records in | out | dropped | dead letters | rows now | not read yet |"
    assert lines[4] == "| 1,200 | 1,190 | 7 | 3 | 5,000 | 42 |"
    assert "/somewhere" not in text()


def test_it_says_what_happened_to_the_keys_of_a_table():
    assert "keys" not in text()
    keyed = {"orders": KeyCounts(inserted=1200, superseded=3), "bills": KeyCounts(updated=1, deleted=2, incomplete=1)}
    lines = text(replace(REPORT, keyed=keyed)).split("\n")
    at = lines.index("**What happened to the keys**")
    assert lines[at + 2] == "| topic | inserted | updated | deleted | superseded | incomplete | without row |"
    assert lines[at + 4 : at + 7] == [
        "| orders | 1,200 | 0 | 0 | 3 | 0 | 0 |",
        "| bills | 0 | 1 | 2 | 0 | 1 | 0 |",
        "| all topics | 1,200 | 1 | 2 | 3 | 1 | 0 |",
    ]
    metadata = run_metadata(metadata_report(keyed=keyed), RunContext(typed_plan(), COLUMNS))
    counts = ("inserted", "updated", "deleted", "incomplete")
    assert [metadata[f"dagster_smt/rows_{name}"] for name in counts] == [1200, 1, 2, 1]
    assert (metadata["dagster_smt/events_superseded"], metadata["dagster_smt/deletions_without_row"]) == (3, 0)
    assert [r.data["topic"] for r in metadata["dagster_smt/keys_by_topic"].records] == ["orders", "bills"]


def test_windows_of_one_run_add_up_their_keys():
    parts = [{"orders": KeyCounts(inserted=2, superseded=1)}, {"orders": KeyCounts(updated=1), "bills": KeyCounts(1)}]
    total = joined([replace(REPORT, keyed=keyed) for keyed in parts])
    assert total.keyed == {"orders": KeyCounts(inserted=2, updated=1, superseded=1), "bills": KeyCounts(inserted=1)}
    assert total.of_topic("bills").keyed == {"bills": KeyCounts(inserted=1)}
    assert total.keyed["orders"].text == "2 rows inserted, 1 updated, 0 deleted, 1 events superseded"


def test_it_says_what_each_stage_did():
    assert (
        "| `hide` | MaskField$Value | 1,200 | masked `email` in 1,100; renamed `a\\|b` → `c` in 12; **3 failed** |"
        in text()
    )
    assert "| `gone` | Filter | 1,197 | dropped 7 records |" in text()
    assert "- **SMT350** transforms.x: '\\*no\\_te\\*' was masked in none. _look_" in text()


def test_it_shows_how_the_schema_changed_and_where_columns_come_from():
    changes = [FieldChange("note", "removed", "string?"), FieldChange("n", "renamed", "int32", "number")]
    lineage = {"email": ["value.email"], "total": ["value.price", "value.count"], "origin": []}
    result = text(changes=changes, lineage=lineage)
    assert "| `n` | renamed | `int32` | `number` |" in result
    picture = result[result.index("```text") :]
    assert "email" in picture and "hide: masked" in picture
    assert "count, price" in picture and "(a constant)" in picture
    starts = {line.index("▶") for line in picture.split("\n") if "▶" in line}
    assert len(starts) == 1  # the arrows are below each other


def test_masked_elements_of_an_array_are_in_the_picture():
    entry = LedgerEntry(0, "hide", "masked", "addresses[*].street")
    lineage = {"addresses[].street": ["value.addresses[].street"], "addresses[].no": ["value.addresses[].no"]}
    result = text(replace(REPORT, ledger=[LedgerLine(entry, 196)]), lineage=lineage)
    lines = [line for line in result.split("\n") if "▶" in line]
    assert ["hide: masked" in line for line in lines] == [True, False]


def test_it_shows_what_changed_since_the_run_before():
    before = Schema(Type.STRUCT, fields=(("a", STRING),))
    after = Schema(Type.STRUCT, fields=(("a", STRING), ("b", INT64)))
    result = text(since=schema_diff(before, after))
    assert "**Schema: since the run before**" in result
    assert "| `b` | added |  | `int64` |" in result
    assert "since the run before" not in text(since=schema_diff(after, after))


def test_long_parts_are_cut_and_say_so():
    changes = [FieldChange(f"f{n}", "added", "", "int32") for n in range(100)]
    result = text(changes=changes, lineage={f"f{n}": ["value.x"] for n in range(100)})
    assert result.count("60 more in the tables below.") == 2
    assert len(result) < 10_000


def test_nothing_to_say_of_an_empty_run():
    assert text(RunReport("a", Window(), status="empty")).startswith("**No topic** → **orders** (empty)")


def test_the_report_heads_the_metadata_and_technical_ids_close_it():
    names = list(run_metadata(metadata_report(), RunContext(typed_plan(), COLUMNS, app_id="local-1")))
    assert names[0] == "dagster_smt/report"
    assert names.index("dagster/row_count") < names.index("dagster_smt/ledger") < names.index("dagster_smt/chain_hash")
    assert names[-2:] == ["dagster_smt/window_id", "dagster_smt/spark_app_id"]


@pytest.mark.parametrize(
    ("lineage", "changes"),
    [
        ({"c": ("value.a",)}, [("a", "renamed", "c")]),
        ({"c": ("value.a", "value.b")}, [("a", "removed", ""), ("c", "added", "string")]),
        ({}, [("a", "removed", ""), ("c", "added", "string")]),
        ({"c": ("value.b",)}, [("a", "removed", ""), ("c", "added", "string")]),  # b is still there: a copy
    ],
)
def test_a_field_under_another_name_is_a_rename(lineage, changes):
    before = Schema(Type.STRUCT, fields=(("a", STRING), ("b", STRING)))
    after = Schema(Type.STRUCT, fields=(("b", STRING), ("c", STRING)))
    assert [(c.field, c.change, c.after) for c in schema_diff(before, after, lineage)] == changes


def test_a_rename_with_another_type_says_both():
    before = Schema(Type.STRUCT, fields=(("a", STRING),))
    after = Schema(Type.STRUCT, fields=(("c", INT64),))
    (change,) = schema_diff(before, after, {"c": ("value.a",)})
    assert (change.change, change.before, change.after) == ("renamed", "string", "c: int64")


def test_dagster_takes_the_report():
    metadata = run_metadata(metadata_report(), RunContext(typed_plan(), COLUMNS))
    assert isinstance(metadata["dagster_smt/report"], dg.MarkdownMetadataValue)
