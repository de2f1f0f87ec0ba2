"""Which offsets a run reads: the request, what the topics hold and what the table has, settled before reading."""

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dagster_smt.errors import ConfigError, Problem, TableError
from dagster_smt.model.offsets import OffsetSet, TopicPartition, minus, offsets_of, union
from dagster_smt.model.table_state import TableState
from dagster_smt.model.window import Range, Window
from dagster_smt.tables.spec import TopicTable, WindowRequest, millis_of

OffsetsAt = Callable[[Iterable[str], int], Mapping[TopicPartition, int]]


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
    known = tuple(sorted({*table.topics, *matching(table.pattern, listed)}))
    asked = request.explicit.topics if request.explicit else request.topics or known
    strange = [_not_in_table(t, known) for t in sorted({*asked, *request.topics} - {*known})]
    if strange:
        raise TableError(strange)
    return tuple(sorted(set(asked)))


def matching(pattern: str, listed: Iterable[str]) -> list[str]:
    """The topics whose whole names match; none for an empty pattern.

    Raises:
        ConfigError: SMT509, the pattern is not a regular expression.
    """
    try:
        return [topic for topic in listed if pattern and re.fullmatch(pattern, topic)]
    except re.error as error:
        problem = Problem("SMT509", "pattern", f"not a regular expression: {error.msg}", "it must match the whole name")
        raise ConfigError(problem) from None


def _not_in_table(topic: str, known: Sequence[str]) -> Problem:
    similar = difflib.get_close_matches(topic, known, 3) or known[:5]
    return Problem("SMT512", topic, "not a topic of this table", f"its topics: {', '.join(similar) or 'none'}")


@dataclass(frozen=True)
class Available:
    """What the topics hold now.

    Attributes:
        ranges: Earliest and end of each topic-partition.
        identities: Identity of each topic.
        offsets_at: See ``Source.offsets_at``.
        committed: See ``Source.committed``.
    """

    ranges: Sequence[Range]
    identities: Mapping[str, str] = field(default_factory=dict)
    offsets_at: OffsetsAt = lambda topics, millis: {}
    committed: Callable[[str], Mapping[TopicPartition, int]] = lambda group: {}


@dataclass(frozen=True)
class Resolved:
    """The window of a run.

    Attributes:
        window: What to read; without empty ranges.
        gaps: What is left out for good from now on.
        problems: Topics that cannot be read as asked, and why.
        begins: Whether topics are read for the first time, from elsewhere than their beginning: to be committed even
            if there is nothing to read, so that the next run does not choose its beginning again.
        warnings: What was lost and is a gap now.
    """

    window: Window = field(default_factory=Window)
    gaps: OffsetSet = field(default_factory=OffsetSet)
    problems: Mapping[str, list[Problem]] = field(default_factory=dict)
    begins: bool = False
    warnings: Sequence[Problem] = ()


def resolve_window(
    request: WindowRequest,
    available: Available,
    state: TableState | None,
    *,
    rebuild: bool = False,
    on_data_loss: str = "fail",
) -> Resolved:
    """Fix the window of a run.

    A window without a fixed range starts, per topic-partition, at the first offset that the table does not have, or at
    the earliest record, and ends before what the table has already beyond it.

    Args:
        request: What is asked for.
        available: What the topics hold.
        state: The state of the table.
        rebuild: The topics start over from their earliest records: what the table has of them does not count.
        on_data_loss: As of ``TopicTable``.

    Raises:
        ConfigError: SMT513, the request makes no sense.
    """
    _check(request)
    topics = {r.topic for r in available.ranges}
    covered = state.covered if state is not None else OffsetSet()
    problems: dict[str, list[Problem]] = {}
    if rebuild:
        covered = covered.without(topics)
    elif state is not None:
        problems = _made_anew(state, available, topics)
    begins, skipped = frozenset[str](), OffsetSet()
    if not request.fixed and not rebuild and request.start not in ("", "earliest"):
        begins = frozenset(topics - known_topics(state))
        skipped, found = _skipped(request.start, available, begins)
        _join(problems, found)
        covered |= skipped
    ranges = _fixed_ranges(request, available) if request.fixed else _new_ranges(request, available, covered)
    if request.explicit is not None:
        _join(problems, _not_there(request.explicit, available.ranges))
    gaps, lost = _gaps(request, available, ranges, covered)
    if on_data_loss == "gap":
        gaps |= offsets_of(lost)
    else:
        _join(problems, ((r.topic, _lost(r)) for r in lost))
    kept = [r for r in ranges if r.topic not in problems and r.records > 0]
    warnings = [_now_gap(r) for r in lost if r.topic not in problems]
    all_gaps = (gaps | skipped).without(problems)
    return Resolved(Window(tuple(sorted(kept))), all_gaps, problems, bool(begins - {*problems}), warnings)


def known_topics(state: TableState | None) -> set[str]:
    """The topics that a table has read, be it that they held nothing."""
    return {*state.identities, *(t for t, _ in state.covered.parts)} if state is not None else set()


def _skipped(start: str, available: Available, topics: Collection[str]) -> tuple[OffsetSet, list[tuple[str, Problem]]]:
    """What lies before the beginning of topics that are read for the first time."""
    there = [r for r in available.ranges if r.topic in topics]
    if start == "latest":
        begins: Mapping[TopicPartition, int] = {(r.topic, r.partition): r.end for r in there}
    elif start.startswith("group:"):
        begins = available.committed(start.removeprefix("group:")) if there else {}
    else:
        begins = available.offsets_at(sorted(topics), millis_of(start)) if there else {}
    strange = sorted({r.topic for r in there} - {topic for topic, _ in begins})
    hint = "name the group of the connector or consumer that read the topic, or start with earliest"
    problems = [(t, Problem("SMT517", t, f"the {start} has committed nothing of the topic", hint)) for t in strange]
    skipped = []
    for r in there:
        begin = min(max(begins.get((r.topic, r.partition), r.start), r.start), r.end)
        skipped.append(Range(r.topic, r.partition, r.start, begin))
    return offsets_of(s for s in skipped if s.records > 0), problems


def _check(request: WindowRequest) -> None:
    ways = [request.explicit, request.everywhere, request.since if request.since is not None else request.until]
    if sum(way is not None for way in ways) > 1:
        hint = "give one of explicit, everywhere, and since with until"
        raise ConfigError(Problem("SMT513", "window", "the window is fixed in more than one way", hint))
    if request.max_records is not None and request.max_records < 1:
        statement = f"{request.max_records} records is no window"
        raise ConfigError(Problem("SMT513", "max_records", statement, "use 1 or more"))
    backwards = [
        name
        for name, pair in (("everywhere", request.everywhere), ("until", (request.since, request.until)))
        if pair is not None and None not in pair and pair[0] > pair[1]  # type: ignore[operator]
    ]
    if backwards:
        raise ConfigError(Problem("SMT513", backwards[0], "the window ends before it starts", "ends are excluded"))


def _join(problems: dict[str, list[Problem]], more: Iterable[tuple[str, Problem]]) -> None:
    for topic, problem in more:
        problems.setdefault(topic, []).append(problem)


def _made_anew(state: TableState, available: Available, topics: Iterable[str]) -> dict[str, list[Problem]]:
    """Topics that are not those that the table has read, although they have their names."""
    found: dict[str, list[Problem]] = {}
    there = {(r.topic, r.partition): r for r in available.ranges}
    for topic in sorted(topics):
        before, now = state.identities.get(topic, ""), available.identities.get(topic, "")
        if before and now and before != now:
            statement = "the topic was deleted and created anew since the table read it"
            found[topic] = [Problem("SMT516", topic, statement, _rebuild(topic))]
    for (topic, partition), intervals in sorted(state.held.parts.items()):
        if topic not in topics or topic in found:
            continue
        end, place = intervals[-1][1], f"{topic}-{partition}"
        now_there = there.get((topic, partition))
        if now_there is None:
            statement = f"the table has read up to offset {end}, but the partition is gone"
            _join(found, [(topic, Problem("SMT515", place, statement, _rebuild(topic)))])
        elif now_there.end < end:
            statement = f"the table has read up to offset {end}, but the partition ends at {now_there.end}"
            _join(found, [(topic, Problem("SMT515", place, statement, _rebuild(topic)))])
    return found


def _rebuild(topic: str) -> str:
    return f"launch with window.rebuild: true and window.topics: [{topic}], which replaces the rows of this topic"


def _fixed_ranges(request: WindowRequest, available: Available) -> list[Range]:
    if request.explicit is not None:
        return list(request.explicit.ranges)
    topics = sorted({r.topic for r in available.ranges})
    if request.everywhere is not None:
        start, end = request.everywhere
        return [Range(r.topic, r.partition, max(start, r.start), min(end, r.end)) for r in available.ranges]
    starts = available.offsets_at(topics, request.since) if request.since is not None else {}
    ends = available.offsets_at(topics, request.until) if request.until is not None else {}
    ranges = []
    for r in available.ranges:
        key = (r.topic, r.partition)
        ranges.append(Range(*key, starts.get(key, r.start), ends.get(key, r.end)))
    return ranges


def _not_there(window: Window, available: Iterable[Range]) -> list[tuple[str, Problem]]:
    """Every range of an explicit window that is not there or runs backwards."""
    there = {(r.topic, r.partition): r for r in available}
    problems = []
    ends: dict[TopicPartition, int] = {}
    for wanted in sorted(window.ranges):
        key = (wanted.topic, wanted.partition)
        wrong = _wrong_range(wanted, there.get(key))
        if wanted.start < ends.get(key, 0):
            wrong = ("two ranges of one partition hold the same offsets", "name each offset once")
        ends[key] = max(wanted.end, ends.get(key, 0))
        if wrong is not None:
            problems.append((wanted.topic, Problem("SMT510", f"{wanted.topic}-{wanted.partition}", *wrong)))
    return problems


def _wrong_range(wanted: Range, there: Range | None) -> tuple[str, str] | None:
    if wanted.start > wanted.end:
        statement = f"the range ends at {wanted.end}, before it starts at {wanted.start}"
        return statement, "the end is the offset after the last record"
    if there is None:
        return "there is no such partition", "list the topic's partitions"
    if wanted.start < wanted.end and not (there.start <= wanted.start and wanted.end <= there.end):
        statement = f"offsets {wanted.start} to {wanted.end} are not all there"
        return statement, f"the topic holds {there.start} to {there.end}"
    return None


def _new_ranges(request: WindowRequest, available: Available, covered: OffsetSet) -> list[Range]:
    ranges = []
    for there in available.ranges:
        missing = minus([(there.start, there.end)], covered.of(there.topic, there.partition))
        if missing:
            start, end = missing[0]
            if request.max_records is not None:
                end = min(end, start + request.max_records)
            ranges.append(Range(there.topic, there.partition, start, end))
    return ranges


def _gaps(
    request: WindowRequest, available: Available, ranges: Iterable[Range], covered: OffsetSet
) -> tuple[OffsetSet, list[Range]]:
    """What this run leaves out for good because it was told to, and what was lost."""
    wanted = offsets_of(r for r in ranges if r.records > 0)
    gaps = OffsetSet()
    lost: list[Range] = []
    for there in available.ranges:
        key = (there.topic, there.partition)
        before = covered.of(*key)
        gone = minus([(before[0][0], there.start)], before) if before else ()
        first = wanted.of(*key)
        if request.accept_gap:
            left_out = gone
            if first:
                left_out = union(left_out, minus([(there.start, first[0][0])], before))
            gaps |= offsets_of(Range(*key, *part) for part in left_out)
        elif gone and not request.fixed:
            lost += [Range(*key, *part) for part in gone]
    return gaps, lost


def _lost(lost: Range) -> Problem:
    statement = f"offsets {lost.start} to {lost.end} were deleted before they were read"
    hint = f"launch with window.accept_gap: true to go on at offset {lost.end}; the table notes the gap"
    return Problem("SMT511", f"{lost.topic}-{lost.partition}", statement, hint)


def _now_gap(lost: Range) -> Problem:
    statement = f"offsets {lost.start} to {lost.end} were deleted before they were read: a gap of {lost.records} now"
    hint = "run more often, or let the topic keep its records longer"
    return Problem("SMT518", f"{lost.topic}-{lost.partition}", statement, hint)


def describe(window: Window, limit: int = 5) -> str:
    """``orders-0 [0, 50), orders-1 [0, 48)``"""
    texts = [f"{r.topic}-{r.partition} [{r.start}, {r.end})" for r in window.ranges]
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more or "nothing"
