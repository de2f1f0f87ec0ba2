"""The metadata of a run: names, types, counts and offsets, but never the value of a field."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import dagster as dg

from dagster_smt.chain import Plan
from dagster_smt.model.reports.run_report import FieldChange, RunReport, schema_diff, sum_of_keys
from dagster_smt.orchestration.metadata.definition_metadata import (
    Metadata,
    column_metadata,
    masked_metadata,
    policy_metadata,
)
from dagster_smt.orchestration.metadata.lineage_metadata import lineage_metadata
from dagster_smt.orchestration.metadata.report_page import report_markdown
from dagster_smt.orchestration.metadata.schema_metadata import PlanOrReport, chain_markdown
from dagster_smt.orchestration.metadata.table_values import problem_table, reject_table, rows_of, table
from dagster_smt.privacy.applied_policy import AppliedPolicy
from dagster_smt.tables.sink_options import Sink

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
    """The facts that a run's metadata needs besides the report.

    Attributes:
        plan: The plan of the chain that ran.
        sink: The sink of the run.
        topics: The asset keys of the topics.
        overridden: True if the run config replaced the chain of the definition.
        rows: The number of rows in the table after the run; None if the metadata only contains the rows of a partition.
        rows_of_partition: The number of rows of the partition; None for a whole table.
        ends: The end of the table's progress, by topic and partition: runs have read or skipped all offsets before this
            end. If None, the metadata shows the end of the window.
        gaps: The offsets that have been skipped permanently.
        app_id: Spark's id of the application.
        window_id: The id of the last window that the table has read. By default, the metadata shows the id of the
            window in the report.
        last: The report of the last commit. The metadata takes the columns from this report if the plan and the report
            of this run do not contain the columns.
        lag: The number of offsets that are now in the topics but not in the table.
        policy: The policy of the run; None: no policy.
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
    policy: AppliedPolicy | None = None


def bare_metadata(report: RunReport) -> Metadata:
    """Returns the counts and the status in ``report`` as metadata. These entries exist for every run."""
    counts = {}
    for name in ("records_in", "records_out", "dropped", "failed", "status"):
        counts[name] = getattr(report, name)
    metadata = {}
    for name, value in counts.items():
        metadata[f"dagster_smt/{name}"] = value
    return metadata


def run_metadata(report: RunReport, run: RunContext) -> Metadata:
    """Returns the metadata of a run, built from its report and from the other facts in ``run``."""
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
    metadata: Metadata = {
        "dagster_smt/report": dg.MetadataValue.md(text),
        **_count_metadata(report, run),
        **column_metadata(described, run.sink, run.topics),
        **masked_metadata(sorted(path for path, records in report.touched("masked").items() if records)),
        **_table_metadata(report, diff, since),
        "dagster_smt/chain": dg.MetadataValue.md(chain_markdown(run.plan.chain)),
        **lineage_metadata(run.plan, report if report.lineage else run.last, run.policy, run.sink),
        **_technical_metadata(report, run),
    }
    if report.unread:
        metadata["dagster_smt/not_read"] = _unread_table(report)
    if run.policy is not None:
        metadata |= policy_metadata(run.policy)
    if run.gaps:
        metadata["dagster_smt/gaps"] = dg.MetadataValue.json(dict(run.gaps))
    return metadata


def _technical_metadata(report: RunReport, run: RunContext) -> Metadata:
    """Returns the part of a run's metadata that programs read, but people rarely do."""
    metadata: Metadata = {
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
        metadata["dagster_smt/schemas"] = table(sorted(uses, key=lambda use: -use["records"]), columns)
    if report.way:
        metadata["dagster_smt/way"] = report.way
    if run.app_id:
        return {**metadata, "dagster_smt/spark_app_id": run.app_id}
    return metadata


def _described(report: RunReport, run: RunContext) -> PlanOrReport:
    """Returns an object that describes the columns of the table.

    The object is the plan in ``run``, if the column types are known without reading records. Otherwise, the object is
    ``report``, or the report of the last commit if this run has read nothing.
    """
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
        **_destination_metadata(report),
        "dagster_smt/start_offsets": dg.MetadataValue.json(_bounds(report, 0)),
        "dagster_smt/end_offsets": dg.MetadataValue.json(ends),
        **({"dagster_smt/lag": run.lag} if run.lag is not None else {}),
    }


def _row_metadata(report: RunReport) -> Metadata:
    """Returns metadata with the counts of rows in ``report``, if they differ from the counts of records. For example, a
    record with the array ``[1, 2]`` can have two rows. The metadata also contains the number of records of erased
    people.
    """
    metadata: Metadata = {}
    if report.rows_in != report.records_in:
        metadata["dagster_smt/rows_in"] = report.rows_in
    if report.failed != report.failed_records:
        metadata["dagster_smt/rows_failed"] = report.failed
    if report.empty:
        metadata["dagster_smt/records_without_rows"] = report.empty
    if report.erased:
        metadata["dagster_smt/records_of_erased_persons"] = report.erased
    return metadata


_KEY_COUNTS = {
    "rows_inserted": "inserted",
    "rows_updated": "updated",
    "rows_deleted": "deleted",
    "rows_incomplete": "incomplete",
    "events_superseded": "superseded",
    "deletions_without_row": "without_row",
}
"""Maps the names of metadata entries for a table with keys to the attributes of ``KeyCounts`` that contain the
numbers.
"""


def _key_metadata(report: RunReport) -> Metadata:
    """Returns metadata with the number of rows in ``report`` that events inserted, updated and deleted in a table with
    keys.
    """
    if not report.keyed:
        return {}
    total = sum_of_keys(report.keyed.values())
    rows = []
    for topic, counts in report.keyed.items():
        numbers = {}
        for name, count in _KEY_COUNTS.items():
            numbers[name] = getattr(counts, count)
        rows.append({"topic": topic, **numbers})
    columns = {"topic": "string", **dict.fromkeys(_KEY_COUNTS, "int")}
    totals = {}
    for name, count in _KEY_COUNTS.items():
        totals[f"dagster_smt/{name}"] = getattr(total, count)
    return {
        **totals,
        "dagster_smt/keys_by_topic": table(rows, columns),
    }


_MOST_TABLES = 500
"""The largest number of tables that the metadata of a run lists. Each table has its own materialization in any case."""
_DESTINATION_COLUMNS = {
    "topic": "string",
    "table": "string",
    "status": "string",
    "new": "bool",
    "records": "int",
    "rows": "int",
    "code": "string",
}


def _destination_metadata(report: RunReport) -> Metadata:
    """Returns metadata that lists the tables in ``report``, for a run that writes many tables. Tables that could not be
    written come first.
    """
    destinations = sorted(report.destinations, key=lambda one: (not one.failed, one.topic))
    if not destinations:
        return {}
    rows = []
    for one in destinations[:_MOST_TABLES]:
        code = one.problems[0].code if one.problems else ""
        values = (one.topic, one.table, one.status, one.is_new, one.records, one.rows, code)
        rows.append(dict(zip(_DESTINATION_COLUMNS, values, strict=True)))
    return {
        "dagster_smt/tables_written": sum(not one.failed for one in destinations),
        "dagster_smt/tables_failed": sum(one.failed for one in destinations),
        "dagster_smt/tables_new": sum(one.is_new and not one.failed for one in destinations),
        "dagster_smt/destinations": table(rows, _DESTINATION_COLUMNS),
    }


_TOTALS = ("row_count", "partition_row_count", "lag", "end_offsets", "gaps", "status")


def observed_metadata(metadata: Metadata) -> Metadata:
    """Returns the part of ``metadata`` that describes the whole table, without the counts of a window. The observation
    of a run without new records contains this part.
    """
    totals = {}
    for key, value in metadata.items():
        if key.split("/")[-1] in _TOTALS:
            totals[key] = value
    return totals


def _bounds(report: RunReport, side: Literal[0, -1]) -> dict[str, dict[str, int]]:
    offsets: dict[str, dict[str, int]] = {}
    for topic, partitions in report.window.to_json().items():
        bound = {}
        for partition, bounds in partitions.items():
            bound[partition] = bounds[side]
        offsets[topic] = bound
    return offsets


def _table_metadata(report: RunReport, diff: Sequence[FieldChange], since: Sequence[FieldChange]) -> Metadata:
    stages = []
    for s in report.stages:
        cells = {}
        for c in _STAGE_COLUMNS:
            cells[c] = getattr(s, "alias" if c == "stage" else c)
        stages.append(cells)
    metadata = {
        "dagster_smt/stage_stats": table(stages, _STAGE_COLUMNS),
        "dagster_smt/ledger": table(_ledger_rows(report), _LEDGER_COLUMNS),
        "dagster_smt/schema_diff": _diff_table(diff),
        "dagster_smt/dead_letters": reject_table(report),
    }
    if since:
        metadata["dagster_smt/schema_change"] = _diff_table(since)
    if report.warnings:
        return {**metadata, "dagster_smt/warnings": problem_table(report.warnings)}
    return metadata


def _unread_table(report: RunReport) -> dg.TableMetadataValue:
    """Returns a table of the records that the run of ``report`` did not read because a stage would drop them. Each row
    has a topic, a stage and the number of records that the stage would have dropped. If the records were not counted,
    the row has the number of offsets instead.
    """
    rows = []
    for u in report.unread:
        rows.append((u.topic, u.alias, u.places(), u.records, "records" if u.counted else "offsets"))
    return table([dict(zip(_UNREAD_COLUMNS, row, strict=True)) for row in rows], _UNREAD_COLUMNS)


def _diff_table(changes: Sequence[FieldChange]) -> dg.TableMetadataValue:
    return table(rows_of(changes, _DIFF_COLUMNS), _DIFF_COLUMNS)


def report_diff(report: RunReport) -> list[FieldChange]:
    """Returns the differences between the input schema and the output schema of the run in ``report``.

    If the report has no schemas, the differences come from the report's counts of masked, dropped and other changed
    fields. Paths are then spelled as the user has written them.
    """
    if report.before is not None or report.after is not None:
        return schema_diff(report.before, report.after, report.lineage)
    kinds = {"added": "added", "dropped": "removed", "renamed": "renamed", "cast": "cast"}
    entries = (line.entry for line in report.ledger if line.records and line.entry.action in kinds)
    # for an added field, the target is the source of its value instead of a type
    changes = []
    for e in entries:
        changes.append(FieldChange(e.path, kinds[e.action], "", "" if e.action == "added" else e.target))
    return changes


def _ledger_rows(report: RunReport) -> list[dict[str, Any]]:
    rows = []
    for line in report.ledger:
        rows.append(
            {
                "stage": line.entry.alias,
                "action": line.entry.action,
                "side": line.entry.side,
                "path": line.entry.path,
                "target": line.entry.target,
                "records": line.records,
            }
        )
    return rows


def letters_metadata(report: RunReport) -> Metadata:
    """Returns metadata about the published dead letters in ``report``: their number and the reasons, but never their
    contents.
    """
    return {
        "dagster_smt/records_dead_lettered": report.failed_records,
        "dagster_smt/dead_letters": reject_table(report),
        "dagster_smt/window_id": report.window.id,
    }
