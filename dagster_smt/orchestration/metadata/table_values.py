"""Converts rows into Dagster's table metadata, with an explicit schema for each table."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import dagster as dg

from dagster_smt.errors import Problem
from dagster_smt.model.reports.run_report import RunReport

_PROBLEM_COLUMNS = {"code": "string", "place": "string", "statement": "string", "hint": "string"}
_REJECT_COLUMNS = {
    "code": "string",
    "stage": "string",
    "place": "string",
    "topic": "string",
    "statement": "string",
    "examples": "int",
    "failed_in_stage": "int",
}


def table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> dg.TableMetadataValue:
    """Returns ``rows`` as a Dagster table. ``columns`` maps the names of the columns to their types.

    Without an explicit schema, Dagster rejects an empty table, and derives the types from the first row.
    """
    table_columns = []
    for n, t in columns.items():
        table_columns.append(dg.TableColumn(name=n, type=t))
    schema = dg.TableSchema(columns=table_columns)
    return dg.MetadataValue.table([dg.TableRecord(dict(row)) for row in rows], schema=schema)


def problem_table(problems: Sequence[Problem]) -> dg.TableMetadataValue:
    """Returns ``problems`` as a Dagster table."""
    return table(rows_of(problems, _PROBLEM_COLUMNS), _PROBLEM_COLUMNS)


def rows_of(objects: Iterable[object], columns: Iterable[str]) -> list[dict[str, Any]]:
    """Returns a row for each object in ``objects``. The columns of the row are the object's attributes with the names
    ``columns``.
    """
    rows = []
    for value in objects:
        rows.append(dict(zip(columns, attrgetter(*columns)(value), strict=True)))
    return rows


def batch_table(batches: Sequence[RunReport]) -> dg.TableMetadataValue:
    """Returns a Dagster table with a row for each of ``batches``, the windows of a run."""
    columns = {"batch": "int", "window": "string", **dict.fromkeys(_BATCH_COUNTS, "int"), "seconds": "float"}
    rows = []
    for number, batch in enumerate(batches, 1):
        rows.append(
            {
                "batch": number,
                "window": batch.window.id,
                **{name: getattr(batch, name) for name in _BATCH_COUNTS},
                "seconds": round(sum(batch.seconds.values()), 3),
            }
        )
    return table(rows, columns)


_BATCH_COUNTS = ("records_in", "records_out", "dropped", "failed")


def reject_table(report: RunReport) -> dg.TableMetadataValue:
    """Returns a Dagster table with the reasons why records failed, according to ``report``.

    Each row is about one problem in one topic. ``examples`` is the number of records with this problem that the report
    contains. ``failed_in_stage`` is the number of all records that failed in the same stage, for any reason.
    """
    counts = Counter((r.problem.code, r.stage, r.problem.place, r.topic, r.problem.statement) for r in report.rejects)
    totals = {s.alias: s.failed for s in report.stages}
    converters = report.failed - sum(totals.values())  # a record that a converter rejected belongs to no stage
    # the last two columns are counts, and not part of the keys of ``counts``
    names = tuple(_REJECT_COLUMNS)[:-2]
    rows = []
    for key, count in counts.items():
        rows.append(
            {**dict(zip(names, key, strict=True)), "examples": count, "failed_in_stage": totals.get(key[1], converters)}
        )
    return table(rows, _REJECT_COLUMNS)
