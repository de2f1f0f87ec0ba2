"""Describes the options of a table's maintenance as plain data. This module does not import PySpark."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink, Sink

STEPS = ("compact", "manifests", "expire", "clean_up")
"""The maintenance steps in the order of their execution."""
STEPS_OF = {"delta": ("compact", "clean_up"), "iceberg": STEPS}
"""Maps each table format to its maintenance steps. Delta has neither manifests nor snapshots to expire."""
SAFE_HOURS = 168.0
"""Delta's own minimum retention in hours. A younger file may belong to a run that has written the file and not
committed it yet.
"""
_RANGES = {
    "retention_hours": (0, 10 * 366 * 24),
    "retain_last": (5, 100_000),  # the branch of a run has up to three snapshots that ``main`` lacks
}
_NAME = re.compile(r"(?:\w+|`(?:[^`]|``)+`)(?:\.(?:\w+|`(?:[^`]|``)+`))*")


@dataclass(frozen=True)
class SmtMaintenance:
    """The steps of a maintenance job in their order, and the age of the versions that the steps remove.

    Attributes:
        compact: Replace many small files with a few large ones. Delta: ``OPTIMIZE``, with the clustering of the table.
            Iceberg: ``rewrite_data_files``, with the sort order of the table.
        manifests: Replace many small manifests of an Iceberg table with a few large ones: ``rewrite_manifests``.
        expire: Remove old snapshots of an Iceberg table: ``expire_snapshots``.
        clean_up: Remove the files that no version needs. Delta: ``VACUUM``. Iceberg: ``remove_orphan_files``.
        retention_hours: The number of hours for which old versions stay. In Delta, a file stays this long after the
            commit that removed it. In Iceberg, a snapshot stays this long after its own commit.
        allow_short_retention: Permits a retention below 168 hours. Queries of older versions may then fail. Files that
            no version references stay for 168 hours in any case, because a running job may be about to commit them.
        retain_last: The number of the last snapshots of an Iceberg table that stay, whatever their age.

    Raises:
        ConfigError: SMT800, the retention is below 168 hours; SMT801, a number is out of its range.
    """

    compact: bool = True
    manifests: bool = True
    expire: bool = True
    clean_up: bool = True
    retention_hours: float = SAFE_HOURS
    allow_short_retention: bool = False
    retain_last: int = 20

    def __post_init__(self) -> None:
        problems = list(_problems(self))
        if problems:
            raise ConfigError(problems)

    def steps_of(self, sink: Sink) -> tuple[str, ...]:
        """Returns the steps that are switched on and that the sink's table format supports, in order.

        For example, a Delta table has the steps ``("compact", "clean_up")``.
        """
        steps = []
        for step in STEPS_OF[sink.storage]:
            if getattr(self, step):
                steps.append(step)
        return tuple(steps)


def _problems(options: SmtMaintenance) -> Iterator[Problem]:
    for name, (least, most) in _RANGES.items():
        value = getattr(options, name)
        if not _is_number(value) or not least <= value <= most:
            hint = f"use a number from {least} to {most}"
            yield Problem("SMT801", f"maintenance.{name}", f"{value!r} is out of range", hint)
    hours = options.retention_hours
    if _is_number(hours) and 0 <= hours < SAFE_HOURS and not options.allow_short_retention:
        statement = f"{hours:g} hours are less than the safe {SAFE_HOURS:g}: queries of older versions may then fail"
        hint = "raise it, or set allow_short_retention as well"
        yield Problem("SMT800", "maintenance.retention_hours", statement, hint)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_table(sink: Sink, place: str) -> None:
    """Raises an error if ``sink`` has no files to maintain, or if its name cannot be quoted in a statement.

    Args:
        sink: The sink of an asset.
        place: The asset, for messages.

    Raises:
        ConfigError: SMT803, the sink is not a Delta or Iceberg table; SMT802, its name cannot be the name of a table.
    """
    if not isinstance(sink, DeltaSink | IcebergSink):
        hint = "build the job for an asset with a DeltaSink or an IcebergSink"
        raise ConfigError(Problem("SMT803", place, "writes to topics, which need no maintenance", hint))
    if sink.per_topic:
        # any topic will do, because only the form of the table's name is checked
        sink = sink.of_topic("topic")
    if sink.table and not _NAME.fullmatch(sink.table):
        hint = "write names with dots in between, such as lake.orders; put others into backticks"
        raise ConfigError(Problem("SMT802", place, "the name of its table is not a name in SQL", hint))
