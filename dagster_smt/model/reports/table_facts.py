"""Collects facts about a table after a run. The facts are read from the table and its topics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dagster_smt.errors import Problem
from dagster_smt.model.reports.run_report import HeldBack, RunReport
from dagster_smt.model.reports.unmasked import Accepted, Unmasked
from dagster_smt.model.topics.keyed import TableMode


@dataclass(frozen=True, slots=True)
class FileSizes:
    """The number and sizes of the files with the rows of a table.

    Attributes:
        files: The number of files.
        bytes: The size of all files together.
        small: The number of small files.
    """

    files: int = 0
    bytes: int = 0
    small: int = 0


@dataclass(frozen=True)
class TableFacts:
    """The facts about a table after a run.

    Attributes:
        rows: The number of rows according to the commits of the table.
        by_topic: The number of rows of each topic.
        ends: For each topic and partition, the offset up to which the table has read without a hole.
        gaps: The offsets that no run will ever read, as ``{topic: {partition: [[start, end], …]}}``.
        holes: The offsets that no run has read yet, between offsets that the table holds. They are stored like
            ``gaps``.
        last: The report of the last commit; its status is ``already committed``.
        lag: For each topic, the number of offsets in the source that no run has read into the table yet.
        counted: The number of rows according to the table format (Delta or Iceberg); None for topics, and if the run
            did not count.
        foreign: If ``counted`` differs from ``rows``, the commits of other writers that may have changed rows.
        residue: Maps a pair (masked field, other field) to a number of sampled records. In these records, the other
            field still contains the original value of the masked field.
        sampled: The number of sampled records.
        broken: The violations of the table's contract, as ``{path: violation}``.
        unmasked: The fields that masks, drops and renames left unchanged in records of the table.
        accepted: The part of ``unmasked`` that a person has accepted.
        schema_problems: The columns of the plan that are missing in the table or have a different type in the table, as
            ``{column: problem}``.
        mode: The mode of the table; see ``TableSink``.
        repeated_keys: The number of keys that have several rows. With ``scd2``, the number of keys that have several
            current versions. None for tables without keys, and if the run did not count.
        unseen: The groups of facts that could not be read, each with its problem. The groups are ``state``, ``topics``,
            ``rows``, ``columns``, ``contract``, ``keys``, ``sample``, ``files`` and ``held_back``.
        files: The sizes of the table's files; None if the run did not measure them.
        tables: If a run writes many tables: the number of rows of each table, by topic.
        waiting: The number of offsets that a run has read, but could not write to their table. The next run reads them
            again.
        held_back: The fields that the run left out because of its policy.
    """

    rows: int = 0
    by_topic: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    gaps: Mapping[str, Mapping[str, list[list[int]]]] = field(default_factory=dict)
    holes: Mapping[str, Mapping[str, list[list[int]]]] = field(default_factory=dict)
    last: RunReport | None = None
    lag: Mapping[str, int] = field(default_factory=dict)
    counted: int | None = None
    foreign: Sequence[str] = ()
    schema_problems: Mapping[str, str] = field(default_factory=dict)
    residue: Mapping[tuple[str, str], int] = field(default_factory=dict)
    sampled: int = 0
    broken: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[str, Problem] = field(default_factory=dict)
    unmasked: tuple[Unmasked, ...] = ()
    accepted: tuple[Accepted, ...] = ()
    mode: TableMode = "append"
    repeated_keys: int | None = None
    files: FileSizes | None = None
    tables: Mapping[str, int] = field(default_factory=dict)
    waiting: int = 0
    held_back: tuple[HeldBack, ...] = ()
