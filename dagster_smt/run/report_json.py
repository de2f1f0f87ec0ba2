"""Run reports as JSON data: how a table keeps them with each commit."""

import dataclasses
from typing import Any

import msgspec

from dagster_smt.model.report import RunReport
from dagster_smt.model.schema import Schema
from dagster_smt.model.table_state import CommittedRun, TableState
from dagster_smt.model.window import Window


def report_to_json(report: RunReport) -> dict[str, Any]:
    """The report as JSON data. Defaults of schemas are left out: their Python form is not JSON."""
    plain = dataclasses.replace(
        report, before=_plain(report.before), after=_plain(report.after), previous=None, failures={}
    )
    data: dict[str, Any] = msgspec.to_builtins(plain)
    return data


def report_from_json(data: dict[str, Any]) -> RunReport:
    """Read what ``report_to_json`` wrote."""
    return msgspec.convert(data, RunReport)


def report_of(state: TableState, run: CommittedRun | None = None) -> RunReport:
    """The report of a run that committed but could not tell; says ``already committed``.

    Of the last commit it is whole; of an earlier one the table remembers only that it was, as
    topics of a cluster do of any.
    """
    if not state.report or (run is not None and run.number != state.number):
        name = str(state.report.get("name", ""))
        return RunReport(name, Window(), status="already committed")
    return dataclasses.replace(report_from_json(dict(state.report)), status="already committed")


def _plain(schema: Schema | None) -> Schema | None:
    if schema is None:
        return None
    fields = tuple((name, child) for name, f in schema.fields if (child := _plain(f)) is not None)
    return schema.with_(default=None, fields=fields, keys=_plain(schema.keys), values=_plain(schema.values))
