"""The metadata of a maintenance, with the files before and after the maintenance, and a line for each step."""

from typing import Any

import dagster as dg

from dagster_smt.model.reports.maintenance_report import MaintenanceReport, StepReport
from dagster_smt.model.reports.table_facts import FileSizes
from dagster_smt.orchestration.metadata.table_values import problem_table, table

_STEP_COLUMNS = {
    "step": "string",
    "status": "string",
    "files_removed": "string",
    "files_added": "int",
    "bytes_removed": "string",
    "seconds": "float",
    "tries": "int",
}
_UNKNOWN = "unknown"


def maintenance_metadata(report: MaintenanceReport) -> dict[str, Any]:
    """Returns metadata for ``report``, which describes the maintenance of a table."""
    metadata: dict[str, Any] = {
        "dagster_smt/maintenance": table([_step_row(step) for step in report.steps], _STEP_COLUMNS),
        "dagster_smt/maintenance_seconds": round(sum(step.seconds for step in report.steps), 3),
        **_sizes("before", report.before),
        **_sizes("after", report.after),
    }
    if report.rows is not None:
        metadata["dagster/row_count"] = report.rows
    if report.notes:
        metadata["dagster_smt/notes"] = dg.MetadataValue.json(list(report.notes))
    if report.problems:
        metadata["dagster_smt/problems"] = problem_table(report.problems)
    return metadata


def _sizes(when: str, sizes: FileSizes | None) -> dict[str, int]:
    if sizes is None:
        return {}
    return {
        f"dagster_smt/files_{when}": sizes.files,
        f"dagster_smt/bytes_{when}": sizes.bytes,
        f"dagster_smt/small_files_{when}": sizes.small,
    }


def _step_row(report: StepReport) -> dict[str, Any]:
    row: dict[str, Any] = {
        "step": report.step,
        "status": "done",
        "files_removed": _UNKNOWN,
        "files_added": 0,
        "bytes_removed": _UNKNOWN,
        "seconds": round(report.seconds, 3),
        "tries": report.tries,
    }
    if report.problem is not None:
        row["status"] = f"failed: {report.problem.code}" if report.tries else f"refused: {report.problem.code}"
    if report.result is not None:
        row["files_added"] = report.result.added
        if report.result.removed is not None:
            row["files_removed"] = str(report.result.removed)
        if report.result.bytes is not None:
            row["bytes_removed"] = str(report.result.bytes)
    return row
