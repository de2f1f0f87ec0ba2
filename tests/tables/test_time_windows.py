"""Partitions of time over a log to which records come late: none is lost, and each run replaces what is its own.

No Spark: windows are resolved against a log in memory, and the state goes on as commits make it.
"""

import random
from dataclasses import dataclass, field

import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.model.windows.window import Range
from dagster_smt.tables.available import Available
from dagster_smt.tables.window_request import WindowRequest
from dagster_smt.tables.windows import ResolvedWindow, resolve_window

DAY = 100
LATE = ("next", "include")


@dataclass
class Log:
    """A topic of two partitions as lists of timestamps, and the table that reads it."""

    stamps: dict[int, list[int]] = field(default_factory=lambda: {0: [], 1: []})
    state: TableState | None = None

    def add(self, *stamps: int, partition: int = 0) -> None:
        self.stamps[partition] += stamps

    def offsets_at(self, topics, millis):
        """The first record of this time or a later one, as brokers answer; the end if there is none."""
        results = {}
        for partition, stamps in self.stamps.items():
            later = (offset for offset, stamp in enumerate(stamps) if stamp >= millis)
            results["a", partition] = next(later, len(stamps))
        return results

    def run(self, request: WindowRequest) -> ResolvedWindow:
        ranges = [Range("a", partition, 0, len(stamps)) for partition, stamps in self.stamps.items()]
        available = Available(ranges, {"a": "x"}, self.offsets_at, late=self.late)
        resolved_window = resolve_window(request, available, self.state)
        assert not resolved_window.problems
        before = self.state or TableState(0, "", "records", identities={"a": "x"})
        if resolved_window.window.ranges or resolved_window.news or resolved_window.notes.gaps:
            self.state = TableState.from_text(
                before.with_window(resolved_window.window, resolved_window.notes).to_text()
            )
        return resolved_window

    def late(self, after, moments):
        """Where records of a time are behind its window, by the part of the time."""
        results: dict[int, list[Range]] = {}
        for r in after:
            for offset in range(r.start, r.end):
                stamp = self.stamps[r.partition][offset]
                if moments[0] <= stamp < moments[-1]:
                    part = sum(stamp >= moment for moment in moments[1:-1])
                    results.setdefault(part, []).append(Range("a", r.partition, offset, offset + 1))
        return {part: offsets_of(own) for part, own in results.items()}

    def late_of(self, number: int) -> OffsetSet:
        """The records of a day that lie behind its window."""
        own, moments = self.of_day(number), (number * DAY, (number + 1) * DAY)
        ends = self.offsets_at((), moments[1])
        after = [Range(*place, at, len(self.stamps[place[1]])) for place, at in ends.items()]
        return self.late(after, moments).get(0, OffsetSet()) - own

    def day(self, number: int, late: str = "next") -> list[tuple[int, int]]:
        """Run a day's partition; the ranges of partition 0 that it reads."""
        report = self.run(WindowRequest(since=number * DAY, until=(number + 1) * DAY, late=late))
        return [(r.start, r.end) for r in report.window.ranges if r.partition == 0]

    def of_day(self, number: int) -> OffsetSet:
        """The offsets that are a day's now, as its window says."""
        starts, ends = self.offsets_at((), number * DAY), self.offsets_at((), (number + 1) * DAY)
        return offsets_of(Range(*place, start, ends[place]) for place, start in starts.items())

    @property
    def held(self) -> OffsetSet:
        return self.state.held if self.state is not None else OffsetSet()

    @property
    def all(self) -> OffsetSet:
        return offsets_of(Range("a", partition, 0, len(stamps)) for partition, stamps in self.stamps.items())


def test_records_that_come_after_their_day_was_run_come_into_the_next():
    log = Log()
    log.add(*range(10))
    assert log.day(0) == [(0, 10)]
    log.add(98, 99, 101, 102)
    assert log.day(1) == [(10, 14)]
    assert log.day(0) == [(0, 12)] and log.day(1) == [(12, 14)]


def test_a_day_without_records_is_noted():
    log = Log()
    log.add(1)
    assert (log.day(0), log.day(1)) == ([(0, 1)], [])
    log.add(150, 201)
    assert log.day(2) == [(1, 3)]


def test_days_that_were_not_run_are_left_to_their_own_runs():
    log = Log()
    log.add(1, 101, 201, 301)
    assert log.day(0) == [(0, 1)] and log.day(3) == [(3, 4)]
    assert log.state.holes == offsets_of([Range("a", 0, 1, 3)])
    assert log.day(2) == [(2, 3)] and log.day(1) == [(1, 2)] and not log.state.holes


def test_a_day_is_run_with_its_late_records_where_that_is_asked_for():
    """Those of other days between them stay as they are, read or not; the next day takes what is its own."""
    log = Log()
    log.add(1, 101, 2, 102, 201, 3, 202, 4)
    assert log.day(0) == [(0, 1)]
    assert log.day(0, "include") == [(0, 1), (2, 3), (5, 6), (7, 8)]
    assert log.state.holes == offsets_of([Range("a", 0, 1, 2), Range("a", 0, 3, 5), Range("a", 0, 6, 7)])
    assert log.day(1) == [(1, 4)] and log.day(1, "include") == [(1, 4)]
    assert log.day(2) == [(4, 8)] and log.held == log.all


def test_late_records_of_several_days_are_counted_in_their_own():
    log = Log()
    log.add(1, 101, 201, 3, 102, 202)
    report = log.run(WindowRequest(since=0, until=2 * DAY, cuts=(DAY,), late="include"))
    first, second = report.division.of(report.window)
    assert [(r.start, r.end) for r in first.ranges if r.partition == 0] == [(0, 1), (3, 4)]
    assert [(r.start, r.end) for r in second.ranges if r.partition == 0] == [(1, 2), (4, 5)]


def test_only_a_window_of_time_has_late_records():
    with pytest.raises(ConfigError, match=r"SMT513.*late records"):
        Log({0: [1]}).run(WindowRequest(late="include"))


def test_an_added_partition_takes_its_late_records_too():
    log = Log({0: [1]})
    log.day(0)
    log.stamps[1] = [50, 60, 150]
    log.run(WindowRequest(since=DAY, until=2 * DAY))
    assert log.held.of("a", 1) == ((0, 3),)


def test_what_retention_took_from_between_two_days_is_told():
    log = Log()
    log.add(1, 2)
    log.day(0)
    log.add(98, 99, 101)
    available = Available([Range("a", 0, 3, 5)], {"a": "x"}, log.offsets_at)
    resolved_window = resolve_window(WindowRequest(since=DAY, until=2 * DAY), available, log.state)
    assert [p.code for p in resolved_window.problems["a"]] == ["SMT511"]
    resolved_window = resolve_window(WindowRequest(since=DAY, until=2 * DAY), available, log.state, on_data_loss="gap")
    assert resolved_window.window.ranges == (Range("a", 0, 3, 5),) and resolved_window.notes.gaps == offsets_of(
        [Range("a", 0, 2, 3)]
    )


@pytest.mark.parametrize("seed", range(300))
def test_no_order_of_days_backfills_and_late_records_loses_one(seed):
    chance, log, today = random.Random(seed), Log(), 0
    run: set[int] = set()
    for _ in range(chance.randrange(5, 40)):
        act = chance.random()
        if act < 0.5:
            stamp = today * DAY + chance.randrange(DAY)
            late = chance.random() < 0.3
            stamp -= chance.randrange(3 * DAY) * late
            log.add(max(0, stamp), partition=chance.randrange(2))
        elif act < 0.7:
            today += 1
        else:
            day = chance.randrange(max(0, today - 4), today + 1) if chance.random() < 0.5 else max(0, today - 1)
            before, own = log.held, log.of_day(day)
            include = chance.random() < 0.3
            too = log.late_of(day) if include else OffsetSet()
            report = log.run(WindowRequest(since=day * DAY, until=(day + 1) * DAY, late=LATE[include]))
            read = offsets_of(report.window)
            assert not (own | too) - read, "a run reads all that is its own, and late ones if it was asked for them"
            assert not (read - own - too) & before, "and of the rest only what nobody has read"
            run.add(day)
    for day in sorted({*range(today + 4)} - run):
        log.run(WindowRequest(since=day * DAY, until=(day + 1) * DAY))
    log.run(WindowRequest(since=(today + 4) * DAY, until=(today + 5) * DAY))
    assert log.held == log.all
