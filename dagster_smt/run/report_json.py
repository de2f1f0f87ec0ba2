"""Converts run reports into JSON data, and JSON data into run reports. Each commit of a table stores its report as
JSON.
"""

import dataclasses
from typing import Any

import msgspec

from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.topics.state import CommittedRun, TableState
from dagster_smt.model.windows.window import Window


def report_to_json(report: RunReport) -> dict[str, Any]:
    """Converts ``report`` into JSON data. Default values of schemas are left out, because JSON cannot represent their
    Python values.
    """
    schemas = []
    for schema in (report.before, report.after, report.key_after):
        schemas.append(schema.without_defaults() if schema is not None else None)
    before, after, key = schemas
    plain = dataclasses.replace(report, before=before, after=after, key_after=key, previous=None, failures={}, parts=())
    plain.destination_reports = {}
    data: dict[str, Any] = msgspec.to_builtins(plain)
    return data


def report_from_json(data: dict[str, Any]) -> RunReport:
    """Returns the report that ``report_to_json`` has converted into ``data``."""
    return msgspec.convert(data, RunReport)


def report_of(state: TableState, run: CommittedRun | None = None) -> RunReport:
    """Returns the report of ``run``, or of the last commit if ``run`` is None. The report has the status
    ``already committed``.

    The report of the last run is complete. For an earlier run, and for any commit to topics of a cluster, the report
    only states that the commit exists.
    """
    # An erasure, or a take-over, commits without a run. Such a commit leaves the report of the last run in the state.
    newest = max((one.number for one in state.runs), default=state.number)
    if not state.report or (run is not None and run.number != newest):
        name = str(state.report.get("name", ""))
        return RunReport(name, Window(), status="already committed", chain=run.chain if run is not None else "")
    return dataclasses.replace(report_from_json(dict(state.report)), status="already committed")
