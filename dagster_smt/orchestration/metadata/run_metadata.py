"""Metadata of a run: names, types, counts and offsets, never the value of a field."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import dagster as dg

from dagster_smt.chain import Plan
from dagster_smt.model.reports.run_report import FieldChange, RunReport, schema_diff, sum_of_keys
from dagster_smt.orchestration.metadata.definition_metadata import Metadata, column_metadata, masked_metadata
from dagster_smt.orchestration.metadata.report_page import report_markdown
from dagster_smt.orchestration.metadata.schema_metadata import Described, chain_markdown
from dagster_smt.orchestration.metadata.table_values import problem_table, reject_table, rows_of, table
from dagster_smt.tables.spec import Sink

_STAGE_COLUMNS = {"stage": "string", "transform": "string", "records_in": "int", "dropped": "int", "failed": "int"}
_LEDGER_COLUMNS = {
    "stage": "string",
    "action": "string",
    "side": "string",
    "path": "string",
    "target": "string",
    "records": "int",
}
_UNREAD_COLUMNS = {"topic": "string", "stage": "string", "offsets": "string", "number": "int", "of": "string"}
_DIFF_COLUMNS = {"field": "string", "change": "string", "before": "string", "after": "string"}


@dataclass(frozen=True)
class RunContext:
    """What a run's metadata needs beside the report.

    Attributes:
        plan: The plan of the chain that ran.
        sink: Where it wrote.
        topics: Asset keys of the topics.
        overridden: Whether the run config gave another chain than the definition's.
        rows: Rows in the table after the run; None where only a partition's are told.
        rows_of_partition: Rows of the partition that is told of; None if it is none.
        ends: Where the table's progress ends, per topic and partition; None: where the window ends.
        gaps: Offsets that were left out for good.
        app_id: Spark's id of the application.
        window_id: The last window that the table holds; by default the report's.
        last: Report of the last commit, which may know columns that neither plan nor report do.
        lag: Offsets that the topics have now and the table has not.
    """

    plan: Plan
    sink: Sink
    topics: Sequence[dg.AssetKey] = ()
    overridden: bool = False
    rows: int | None = 0
    rows_of_partition: int | None = None
    ends: Mapping[str, Mapping[str, int]] | None = None
    gaps: Mapping[str, object] | None = None
    app_id: str = ""
    window_id: str = ""
    last: RunReport | None = None
    lag: int | None = None


def bare_metadata(report: RunReport) -> Metadata:
    """What can be told of a run in any case."""
    counts = {name: getattr(report, name) for name in ("records_in", "records_out", "dropped", "failed", "status")}
    return {f"dagster_smt/{name}": value for name, value in counts.items()}


def run_metadata(report: RunReport, run: RunContext) -> Metadata:
    """What a run says of itself."""
    described = _described(report, run)
    diff = report_diff(report)
    if report.previous is not None:
        since = schema_diff(report.previous, report.after)
    else:
        since = []
    lineage = described.lineage if run.sink.kind == "columns" else {}
    if run.rows_of_partition is None:
        rows = run.rows
    else:
        rows = run.rows_of_partition
    text = report_markdown(report, run.sink, diff, since, rows or 0, run.lag, lineage)
    found: Metadata = {
        "dagster_smt/report": dg.MetadataValue.md(text),
        **_count_metadata(report, run),
        **column_metadata(described, run.sink, run.topics),
        **masked_metadata(sorted(path for path, records in report.touched("masked").items() if records)),
        **_table_metadata(report, diff, since),
        "dagster_smt/chain": dg.MetadataValue.md(chain_markdown(run.plan.chain)),
        **_technical_metadata(report, run),
    }
    if report.unread:
        found["dagster_smt/not_read"] = _unread_table(report)
    if run.gaps:
        found["dagster_smt/gaps"] = dg.MetadataValue.json(dict(run.gaps))
    return found


def _technical_metadata(report: RunReport, run: RunContext) -> Metadata:
    """What people look for rarely, and programs often."""
    found: Metadata = {
        "dagster_smt/status": report.status,
        "dagster_smt/seconds": round(sum(report.seconds.values()), 3),
        "dagster_smt/seconds_by_phase": dg.MetadataValue.json({k: round(v, 3) for k, v in report.seconds.items()}),
        "dagster_smt/bytes": report.bytes,
        "dagster_smt/chain_overridden": run.overridden,
        "dagster_smt/chain_hash": run.plan.chain.hash,
        "dagster_smt/window_id": run.window_id or report.window.id,
    }
    topics = report.window.topics
    if uses := [asdict(use) for use in report.schemas if use.topic in topics]:
        columns = {"topic": "string", "side": "string", "schema": "string", "records": "int"}
        found["dagster_smt/schemas"] = table(sorted(uses, key=lambda use: -use["records"]), columns)
    if run.app_id:
        return {**found, "dagster_smt/spark_app_id": run.app_id}
    return found


def _described(report: RunReport, run: RunContext) -> Described:
    """The plan if there is a schema to plan with; else what the run found in its records, or the one before it."""
    if run.plan.typed or run.sink.kind == "records":
        return run.plan
    if report.after is None and run.last is not None:
        return run.last
    return report


def _count_metadata(report: RunReport, run: RunContext) -> Metadata:
    ends = run.ends if run.ends is not None else _bounds(report, -1)
    rows = {"dagster/row_count": run.rows, "dagster/partition_row_count": run.rows_of_partition}
    return {
        **{name: number for name, number in rows.items() if number is not None},
        "dagster_smt/records_in": report.records_in,
        "dagster_smt/records_out": report.records_out,
        "dagster_smt/records_dropped": report.dropped,
        "dagster_smt/records_dead_lettered": report.failed_records,
        **_row_metadata(report),
        **_key_metadata(report),
        "dagster_smt/start_offsets": dg.MetadataValue.json(_bounds(report, 0)),
        "dagster_smt/end_offsets": dg.MetadataValue.json(ends),
        **({"dagster_smt/lag": run.lag} if run.lag is not None else {}),
    }


def _row_metadata(report: RunReport) -> Metadata:
    """Counts that differ from those of records, where arrays are rows."""
    found: Metadata = {}
    if report.rows_in != report.records_in:
        found["dagster_smt/rows_in"] = report.rows_in
    if report.failed != report.failed_records:
        found["dagster_smt/rows_failed"] = report.failed
    if report.empty:
        found["dagster_smt/records_without_rows"] = report.empty
    return found


_KEY_COUNTS = {
    "rows_inserted": "inserted",
    "rows_updated": "updated",
    "rows_deleted": "deleted",
    "rows_incomplete": "incomplete",
    "events_superseded": "superseded",
    "deletions_without_row": "without_row",
}
"""The metadata of a table with keys, and the attribute of ``KeyCounts`` for each entry."""


def _key_metadata(report: RunReport) -> Metadata:
    """What the events did to the rows of a table with keys: together, and by topic."""
    if not report.keyed:
        return {}
    total = sum_of_keys(report.keyed.values())
    rows = []
    for topic, counts in report.keyed.items():
        rows.append({"topic": topic, **{name: getattr(counts, count) for name, count in _KEY_COUNTS.items()}})
    columns = {"topic": "string", **dict.fromkeys(_KEY_COUNTS, "int")}
    return {
        **{f"dagster_smt/{name}": getattr(total, count) for name, count in _KEY_COUNTS.items()},
        "dagster_smt/keys_by_topic": table(rows, columns),
    }


_STANDING = ("row_count", "partition_row_count", "lag", "end_offsets", "gaps", "status")


def observed_metadata(metadata: Metadata) -> Metadata:
    """What a run that found nothing new can say: where the table stands, not counts of a window without records."""
    results = {}
    for key, value in metadata.items():
        if key.split("/")[-1] in _STANDING:
            results[key] = value
    return results


def _bounds(report: RunReport, side: Literal[0, -1]) -> dict[str, dict[str, int]]:
    offsets: dict[str, dict[str, int]] = {}
    for topic, partitions in report.window.to_json().items():
        offsets[topic] = {partition: bounds[side] for partition, bounds in partitions.items()}
    return offsets


def _table_metadata(report: RunReport, diff: Sequence[FieldChange], since: Sequence[FieldChange]) -> Metadata:
    stages = []
    for s in report.stages:
        stages.append({c: getattr(s, "alias" if c == "stage" else c) for c in _STAGE_COLUMNS})
    found = {
        "dagster_smt/stage_stats": table(stages, _STAGE_COLUMNS),
        "dagster_smt/ledger": table(_ledger_rows(report), _LEDGER_COLUMNS),
        "dagster_smt/schema_diff": _diff_table(diff),
        "dagster_smt/dead_letters": reject_table(report),
    }
    if since:
        found["dagster_smt/schema_change"] = _diff_table(since)
    if report.warnings:
        return {**found, "dagster_smt/warnings": problem_table(report.warnings)}
    return found


def _unread_table(report: RunReport) -> dg.TableMetadataValue:
    """What was not read, by topic and stage. Where records cannot be counted, offsets are."""
    rows = []
    for u in report.unread:
        rows.append((u.topic, u.alias, u.places(), u.records, "records" if u.counted else "offsets"))
    return table([dict(zip(_UNREAD_COLUMNS, row, strict=True)) for row in rows], _UNREAD_COLUMNS)


def _diff_table(changes: Sequence[FieldChange]) -> dg.TableMetadataValue:
    return table(rows_of(changes, _DIFF_COLUMNS), _DIFF_COLUMNS)


def report_diff(report: RunReport) -> list[FieldChange]:
    """What a run changed of the schema. Without a schema: what the ledger counted, in the user's spelling."""
    if report.before is not None or report.after is not None:
        return schema_diff(report.before, report.after, report.lineage)
    kinds = {"added": "added", "dropped": "removed", "renamed": "renamed", "cast": "cast"}
    entries = (line.entry for line in report.ledger if line.records and line.entry.action in kinds)
    # the target of what is added is where it comes from, which is no type
    results = []
    for e in entries:
        results.append(FieldChange(e.path, kinds[e.action], "", "" if e.action == "added" else e.target))
    return results


def _ledger_rows(report: RunReport) -> list[dict[str, Any]]:
    results = []
    for line in report.ledger:
        results.append(
            {
                "stage": line.entry.alias,
                "action": line.entry.action,
                "side": line.entry.side,
                "path": line.entry.path,
                "target": line.entry.target,
                "records": line.records,
            }
        )
    return results


def letters_metadata(report: RunReport) -> Metadata:
    """What a run says of the letters that it published: how many, and why; never what is in them."""
    return {
        "dagster_smt/records_dead_lettered": report.failed_records,
        "dagster_smt/dead_letters": reject_table(report),
        "dagster_smt/window_id": report.window.id,
    }
