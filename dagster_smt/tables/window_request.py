"""The offsets that a run config requests: one window, or a series of micro-batches."""

from dataclasses import dataclass
from typing import Literal

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.windows.window import Window


@dataclass(frozen=True)
class WindowRequest:
    """The offsets that a run config requests. By default, a run continues at the first offsets that the table lacks.

    Attributes:
        topics: The topics to read. If empty, all topics of the table.
        explicit: Fixed ranges, by topic-partition. The run replaces exactly the rows of these ranges.
        everywhere: A fixed range ``(start, end)`` for every partition, limited to the offsets that exist.
        since, until: A fixed range by time, in milliseconds. It begins with the first record at or after ``since``, and
            ends before the first record at or after ``until``. None stands for the beginning or the end of the topics.
        cuts: Sorted points in time between ``since`` and ``until``. They divide the time window into parts, such as
            days. The run counts the records of each part separately.
        late: The treatment of late records (records that arrive after the first record of a later time window).
            ``next``: only the window that contains the record's offset reads the record. ``include``: the window that
            contains the record's timestamp also reads the record, and replaces its row.
        max_records: The largest number of records per topic-partition. A fixed range is never shortened.
        accept_gap: True to skip two kinds of offsets permanently: offsets that were deleted before any run read them,
            and offsets before a fixed range. The table records them as a gap.
        start: The beginning of topics that the table has not read before: ``earliest``, ``latest``, a point in time
            (``2026-01-31T12:00:00Z``), or ``group:NAME`` for the committed offsets of a consumer group. The table
            records earlier offsets as a gap. If empty, the setting of the topic table applies.
        redrive: True to read only the records that failed when they were last read. The run reads them from their
            topics again, with the current chain.
        repair: True to read only the records that masks, drops and renames failed to change. The check ``dead_mask``
            lists these records. The run reads them from their topics again, with the current chain, and replaces their
            rows.
        accept_unmasked: The reason why the records that ``dead_mask`` lists are acceptable. The table records the
            reason, and the check passes. If empty, the check continues to list the records.
        begin_anew: True to continue with topics that were deleted and created again. The run reads them from their
            beginning, and keeps the rows of the former topics.
    """

    topics: tuple[str, ...] = ()
    explicit: Window | None = None
    everywhere: tuple[int, int] | None = None
    since: int | None = None
    until: int | None = None
    cuts: tuple[int, ...] = ()
    late: Literal["next", "include"] = "next"
    max_records: int | None = None
    accept_gap: bool = False
    start: str = ""
    redrive: bool = False
    repair: bool = False
    accept_unmasked: str = ""
    begin_anew: bool = False

    @property
    def fixed(self) -> bool:
        """True if the request names a fixed range. A second run with the same request reads the same range again."""
        return any(x is not None for x in (self.explicit, self.everywhere, self.since, self.until))


@dataclass(frozen=True)
class MicroBatches:
    """The limits of a run in micro-batches. Without a limit, the run reads until no record is left.

    Attributes:
        max_records: The largest number of records per topic-partition and batch.
        max_batches: The largest number of batches. None stands for no limit.
        max_seconds: The number of seconds after which no new batch begins. None stands for no limit.
    """

    max_records: int
    max_batches: int | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        problems = []
        for name, value in vars(self).items():
            if value is not None and value <= 0:
                problems.append(
                    Problem(
                        "SMT536",
                        f"micro_batch.{name}",
                        f"{value} is not a limit",
                        "use a number above 0, or leave it out",
                    )
                )
        if problems:
            raise ConfigError(problems)
