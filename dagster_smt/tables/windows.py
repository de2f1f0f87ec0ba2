"""Which offsets a run reads: the request, what the topics hold and what the sink has, settled before reading."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from dagster_smt.errors import ConfigError, Problem, TableError
from dagster_smt.model.window import Range, Window
from dagster_smt.tables.spec import TopicTable, WindowRequest

Progress = Mapping[tuple[str, int], int]


def choose_topics(table: TopicTable, request: WindowRequest, listed: Sequence[str]) -> tuple[str, ...]:
    """The topics a run reads.

    Args:
        table: Names topics and a pattern.
        request: May narrow them.
        listed: The topics that there are. A named topic need not be among them; reading it will say so.

    Raises:
        ConfigError: SMT508 no topics named, SMT509 the pattern is not a regular expression.
        TableError: SMT512, the request names a topic that the table does not have.
    """
    if not table.topics and not table.pattern:
        raise ConfigError(Problem("SMT508", "topics", "the topic table names no topic", "set topics or a pattern"))
    try:
        matches = [t for t in listed if table.pattern and re.fullmatch(table.pattern, t)]
    except re.error as error:
        problem = Problem("SMT509", "pattern", f"not a regular expression: {error.msg}", "it must match the whole name")
        raise ConfigError(problem) from None
    known = tuple(sorted({*table.topics, *matches}))
    asked = request.explicit.topics if request.explicit else request.topics or known
    strange = [_not_in_table(t, known) for t in sorted({*asked, *request.topics} - {*known})]
    if strange:
        raise TableError(strange)
    return tuple(sorted(set(asked)))


def _not_in_table(topic: str, known: Sequence[str]) -> Problem:
    similar = difflib.get_close_matches(topic, known, 3) or known[:5]
    return Problem("SMT512", topic, "not a topic of this table", f"its topics: {', '.join(similar) or 'none'}")


def resolve_window(request: WindowRequest, available: Iterable[Range], progress: Progress) -> Window:
    """Fix the window of a run.

    Without an explicit one it starts, per topic-partition, where the last committed window ended, or at the earliest
    record. ``max_records`` does not shorten an explicit window.

    Args:
        request: What is asked for.
        available: Earliest and end of each topic-partition to read.
        progress: Where the sink's last committed window ended.

    Raises:
        ConfigError: SMT513, ``max_records`` is not positive.
        TableError: SMT510 the explicit range is not there, SMT511 records were deleted before they were read, SMT515 a
            topic ends before what the sink has read of it.
    """
    there = {(r.topic, r.partition): r for r in available}
    if request.explicit is not None:
        return check_available(request.explicit, there.values())
    if request.max_records is not None and request.max_records < 1:
        raise ConfigError(
            Problem("SMT513", "max_records", f"{request.max_records} records is no window", "use 1 or more")
        )
    topics = {r.topic for r in there.values()}
    problems = [
        Problem("SMT515", f"{t}-{p}", f"the sink has read up to offset {at}, but the partition is gone", _REBUILD)
        for (t, p), at in progress.items()
        if at and t in topics and (t, p) not in there
    ]
    ranges = []
    for key, found in there.items():
        start = progress.get(key, found.start)
        problems += _lost(found, start)
        end = found.end if request.max_records is None else min(found.end, start + request.max_records)
        if end > start:
            ranges.append(Range(found.topic, found.partition, start, end))
    if problems:
        raise TableError(problems)
    return Window(tuple(sorted(ranges)))


_REBUILD = "was the topic created anew? rebuild the table, or ask for an explicit window"


def _lost(found: Range, start: int) -> list[Problem]:
    place = f"{found.topic}-{found.partition}"
    if start < found.start:
        statement = f"offsets {start} to {found.start} were deleted before they were read"
        hint = f"accept the loss with an explicit window that starts at {found.start}, or rebuild the table"
        return [Problem("SMT511", place, statement, hint)]
    if start > found.end:
        return [
            Problem("SMT515", place, f"the sink has read up to offset {start}, but it ends at {found.end}", _REBUILD)
        ]
    return []


def check_available(window: Window, available: Iterable[Range]) -> Window:
    """Return the window without empty ranges.

    Raises:
        TableError: SMT510, with every range that is not there or runs backwards.
    """
    there = {(r.topic, r.partition): r for r in available}
    problems = []
    seen: set[str] = set()
    for wanted in window.ranges:
        found = there.get((wanted.topic, wanted.partition))
        place = f"{wanted.topic}-{wanted.partition}"
        if place in seen:
            problems.append(Problem("SMT510", place, "two ranges of one partition", "a window is one range of each"))
        seen.add(place)
        if wanted.start > wanted.end:
            statement = f"the range ends at {wanted.end}, before it starts at {wanted.start}"
            problems.append(Problem("SMT510", place, statement, "the end is the offset after the last record"))
        elif found is None:
            problems.append(Problem("SMT510", place, "there is no such partition", "list the topic's partitions"))
        elif wanted.start < wanted.end and not (found.start <= wanted.start and wanted.end <= found.end):
            statement = f"offsets {wanted.start} to {wanted.end} are not all there"
            problems.append(Problem("SMT510", place, statement, f"the topic holds {found.start} to {found.end}"))
    if problems:
        raise TableError(problems)
    return Window(tuple(sorted(r for r in window.ranges if r.records)))


def overlaps(one: Window, other: Window) -> bool:
    """Whether two windows share an offset."""
    mine = {(r.topic, r.partition): r for r in one.ranges}
    pairs = ((mine.get((r.topic, r.partition)), r) for r in other.ranges)
    return any(a is not None and a.start < b.end and b.start < a.end for a, b in pairs)


def covers(window: Window, part: Window) -> bool:
    """Whether a window holds every offset of another one."""
    mine = {(r.topic, r.partition): r for r in window.ranges}
    pairs = ((mine.get((r.topic, r.partition)), r) for r in part.ranges)
    return all(a is not None and a.start <= b.start and b.end <= a.end for a, b in pairs)


def replaced_windows(window: Window, committed: Mapping[int, Window]) -> tuple[int, ...]:
    """Which commits an explicit window replaces: all that it touches, and it must cover each of them.

    Args:
        window: The explicit window.
        committed: Windows of the live commits, by number.

    Raises:
        TableError: SMT514, with every committed window that it would cut in two.
    """
    touched = [n for n, other in committed.items() if overlaps(window, other)]
    problems = [
        Problem("SMT514", describe(committed[n]), "the explicit window covers only a part of this committed window",
                "a committed window is replaced as a whole: ask for all of it, or for none")
        for n in touched
        if not covers(window, committed[n])
    ]  # fmt: skip
    if problems:
        raise TableError(problems)
    return tuple(touched)


def describe(window: Window, limit: int = 5) -> str:
    """``orders-0 [0, 50), orders-1 [0, 48)``"""
    texts = [f"{r.topic}-{r.partition} [{r.start}, {r.end})" for r in window.ranges]
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more or "nothing"
