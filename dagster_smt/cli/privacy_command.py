"""Implements the command ``privacy``. The command shows the columns of a table that contain values of tagged fields.
For each column, it shows the present state, such as ``masked``, and the run with which this state began.

The command reads Dagster's event log, but no record.
"""

import argparse
import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from dagster_smt.cli.grid import grid
from dagster_smt.cli.terminal import say
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.reports.markdown import plain, table
from dagster_smt.visible import visible

_TAGGED = "dagster_smt/tagged_columns"
HEAD = ("column", "field", "tags", "state", "stages", "since", "run", "partition")
_HIDDEN = ("masked", "not in the table")
MOST_RUNS = 10_000


@dataclass(frozen=True)
class RunColumns:
    """The tagged columns (columns with values of tagged fields) that one materialization reported.

    Attributes:
        run: The id of the run.
        time: The time of the materialization, in seconds.
        partition: The partition; empty if the asset has no partitions.
        columns: The tagged columns, in the form that ``TaggedColumn.to_json`` returns.
    """

    run: str
    time: float
    partition: str
    columns: Sequence[dict[str, Any]]


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command ``privacy``."""
    parser = commands.add_parser("privacy", help="show which columns of a table hold the values of tagged fields")
    parser.add_argument("asset", help="the asset key: lake/orders. DAGSTER_HOME selects the instance of Dagster")
    parser.add_argument("--unmasked", action="store_true", help="only columns that are not masked; exit code 1 if any")
    parser.add_argument("--format", choices=("text", "csv", "markdown"), default="text")
    parser.set_defaults(run=_privacy)


def _privacy(arguments: argparse.Namespace) -> int:
    rows = columns_since(_history(arguments.asset))
    if arguments.unmasked:
        rows = [row for row in rows if row[3] not in _HIDDEN]
    say(_written(rows, arguments.format))
    return int(arguments.unmasked and bool(rows))


def _history(asset: str) -> list[RunColumns]:
    """Returns the tagged columns (columns with values of tagged fields) that each materialization of ``asset``
    reported. The newest materialization is first.

    Raises:
        ConfigError: SMT770, no run of the asset has reported tagged columns.
    """
    import dagster as dg

    key = dg.AssetKey(asset.split("/"))
    with dg.DagsterInstance.get() as instance:
        records = instance.fetch_materializations(dg.AssetRecordsFilter(asset_key=key), limit=MOST_RUNS).records
    history = []
    for record in records:
        event = record.asset_materialization
        metadata = event.metadata.get(_TAGGED) if event is not None else None
        if event is not None and metadata is not None:
            columns: Any = metadata.value
            history.append(RunColumns(record.run_id, record.timestamp, event.partition or "", columns))
    if not history:
        hint = "give the table a policy and run it; check the asset key and DAGSTER_HOME"
        raise ConfigError(Problem("SMT770", asset, "no run of the asset has reported tagged columns", hint))
    return history


def columns_since(history: Iterable[RunColumns]) -> list[tuple[str, ...]]:
    """Returns a row for each tagged column (column with values of a tagged field) that the newest run of each partition
    reported. The row also names the run with which the column's present state, such as ``masked``, began.

    Args:
        history: The tagged columns of materializations, the newest first.
    """
    rows: list[tuple[str, ...]] = []
    for partition, runs in _by_partition(history).items():
        for column in runs[0].columns:
            first = runs[0]
            for run in runs[1:]:
                if _same_state(column, run.columns):
                    first = run
                else:
                    break
            since = datetime.fromtimestamp(first.time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            tags, stages = ", ".join(column["tags"]), ", ".join(column["stages"])
            rows.append((column["column"], column["field"], tags, column["state"], stages, since, first.run, partition))
    return rows


def _by_partition(history: Iterable[RunColumns]) -> dict[str, list[RunColumns]]:
    runs: dict[str, list[RunColumns]] = {}
    for one in history:
        runs.setdefault(one.partition, []).append(one)
    return runs


def _same_state(column: dict[str, Any], others: Iterable[dict[str, Any]]) -> bool:
    state = _state_of(column)
    for other in others:
        if _state_of(other) == state:
            return True
    return False


def _state_of(column: dict[str, Any]) -> tuple[Any, ...]:
    return column["column"], column["field"], column["state"]


def _written(rows: Sequence[tuple[str, ...]], form: str) -> str:
    if form == "csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(HEAD)
        for row in rows:
            writer.writerow(map(_safe, row))
        return text.getvalue().rstrip("\n")
    if form == "markdown":
        cells = [list(HEAD)]
        for row in rows:
            cells.append(list(map(plain, row)))
        return table(cells)
    return grid([HEAD, *rows], left=len(HEAD))


def _safe(cell: str) -> str:
    """Returns ``cell`` in a form that no spreadsheet interprets as a formula. This is necessary because producers
    choose the field names.
    """
    text = visible(cell)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text
