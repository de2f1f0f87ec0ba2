"""Determines the offsets that a run reads, from the run's request, the offsets of the topics and the table's state."""

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dagster_smt.errors import ConfigError, Problem, TableError
from dagster_smt.model.topics.state import Notes, TableState
from dagster_smt.model.windows.division import Division
from dagster_smt.model.windows.offsets import Interval, OffsetSet, TopicPartition, offsets_of, topics_in
from dagster_smt.model.windows.time_spans import Span, with_span
from dagster_smt.model.windows.window import Range, Window, range_texts, topics_of
from dagster_smt.tables.available import Available as Available
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.tables.window_begins import begins_of, gap_warning, lost, lost_problem, other_topics, skipped
from dagster_smt.tables.window_request import WindowRequest
from dagster_smt.tables.window_times import MOST_PIECES, reached_before, timed_ranges


def choose_topics(table: TopicTable, request: WindowRequest, listed: Sequence[str]) -> tuple[str, ...]:
    """Returns the topics that a run reads.

    Args:
        table: The topic table, with the names of topics or a pattern.
        request: The request. It may select some of the topic table's topics.
        listed: The existing topics. A name that is missing here is not an error yet; the run reports it when it reads
            the topic.

    Raises:
        ConfigError: SMT508: no topic is named; SMT509: the pattern is not a regular expression.
        TableError: SMT512, the request names a topic that the table does not have.
    """
    if not table.topics and not table.pattern:
        raise ConfigError(Problem("SMT508", "topics", "the topic table names no topic", "set topics or a pattern"))
    known = tuple(sorted({*table.topics, *matching(table.pattern, listed)}))
    if request.explicit:
        names = request.explicit.topics
    else:
        names = request.topics or known
    strange = []
    for t in sorted({*names, *request.topics} - {*known}):
        strange.append(_not_in_table(t, known))
    if strange:
        raise TableError(strange)
    return tuple(sorted(set(names)))


def matching(pattern: str, listed: Iterable[str]) -> list[str]:
    """Returns the topics in ``listed`` whose whole names match ``pattern``. An empty pattern matches no topic.

    Raises:
        ConfigError: SMT509, the pattern is not a regular expression.
    """
    try:
        results = []
        for topic in listed:
            if pattern and re.fullmatch(pattern, topic):
                results.append(topic)
        return results
    except re.error as error:
        problem = Problem("SMT509", "pattern", f"not a regular expression: {error.msg}", "it must match the whole name")
        raise ConfigError(problem) from None


def _not_in_table(topic: str, known: Sequence[str]) -> Problem:
    similar = difflib.get_close_matches(topic, known, 3) or known[:5]
    return Problem("SMT512", topic, "not a topic of this table", f"its topics: {', '.join(similar) or 'none'}")


@dataclass(frozen=True)
class ResolvedWindow:
    """The offsets that a run reads, with problems and warnings.

    Attributes:
        window: The offsets to read, without empty ranges.
        notes: Entries for the table's state in addition to the window, such as gaps and time spans.
        problems: Maps each topic that cannot be read as requested to its problems.
        news: True if a commit is necessary even without records. The first run on a topic stores the topic's beginning,
            so that later runs can report lost records. A time span without records is also stored, so that late records
            are found.
        warnings: Warnings about lost offsets that the table now records as a gap.
        remade: Topics that were created again, and topics that have lost some of the records that the table has read.
        anew: The topics in ``remade`` that the run reads from their beginning, while the rows of the former topics
            stay.
        division: The parts of the window, if it covers several time partitions such as days.
    """

    window: Window = field(default_factory=Window)
    notes: Notes = field(default_factory=Notes)
    problems: Mapping[str, list[Problem]] = field(default_factory=dict)
    news: bool = False
    warnings: Sequence[Problem] = ()
    remade: Collection[str] = ()
    anew: Collection[str] = ()
    division: Division = field(default_factory=Division)


def resolve_window(
    request: WindowRequest,
    available: Available,
    state: TableState | None,
    *,
    rebuild: bool = False,
    on_data_loss: str = "fail",
) -> ResolvedWindow:
    """Returns the offsets that a run reads.

    Without a fixed range, the run reads one range in each topic-partition. It begins at the first offset that the table
    lacks, and ends before the next offset that the table holds. If the table holds ``orders-0 [0, 100)`` and ``orders-0
    [200, 300)``, the run reads ``orders-0 [100, 200)``.

    Args:
        request: The request.
        available: The offsets that the topics hold.
        state: The state of the table.
        rebuild: True to read the topics again from their earliest records, although the table holds their offsets.
        on_data_loss: See ``TopicTable``.

    Raises:
        ConfigError: SMT513, the request contradicts itself.
    """
    _check(request)
    others = _other_topics(request, available, state)
    remade = {topic for topic, _ in others}
    again, anew = topics_of(available.ranges) if rebuild else set[str](), set[str]()
    # begin_anew does not apply to a topic that was cut back (SMT515): its remaining records would be read twice
    if request.begin_anew and not rebuild:
        again = anew = {topic for topic, problem in others if problem.code == "SMT516"}
    if state is not None:
        state = state.without(again)
    else:
        state = TableState(0, "", "records")
    resolving = _Resolving(request, available, state, rebuild, on_data_loss)
    resolving.refuse((topic, problem) for topic, problem in others if topic not in again)
    resolved = resolving.resolved()
    return replace(resolved, remade=remade, anew=anew - {*resolved.problems}, news=resolved.news or bool(anew))


def _other_topics(request: WindowRequest, available: Available, state: TableState | None) -> list[tuple[str, Problem]]:
    """Finds topics that no longer match the rows that the table has read. Returns pairs of a topic and its problem.

    The function calls ``window_begins.other_topics`` for all available topics.
    """
    if state is None:
        return []
    if request.explicit is not None:
        explicit = offsets_of(request.explicit)
    else:
        explicit = OffsetSet()
    return other_topics(state, available, topics_of(available.ranges), explicit)


@dataclass
class _Resolving:
    """Computes the offsets that one run reads, for ``resolve_window``."""

    request: WindowRequest
    available: Available
    state: TableState
    rebuild: bool
    on_data_loss: str
    problems: dict[str, list[Problem]] = field(default_factory=dict)
    formerly: Mapping[TopicPartition, int] = field(default_factory=dict)
    division: Division = field(default_factory=Division)

    def resolved(self) -> ResolvedWindow:
        request, available, state = self.request, self.available, self.state
        topics = topics_of(available.ranges)
        begins = begins_of(available.ranges, state)
        # a rebuild reads the topics from their earliest records, so the start of new topics does not apply
        new = set() if self.rebuild else topics - state.known_topics()
        before = self.before(new)
        covered = state.covered | before
        known = topics_in(state.begins)
        added = {}
        for place, at in begins.items():
            if place not in state.begins and place[0] in known:
                added[place] = at
        self.formerly = reached_before(request.since, state.spans, added)
        ranges, spans = self.ranges(covered)
        if request.explicit is not None:
            self.refuse(_not_there(request.explicit, available.ranges))
        to_read = offsets_of(ranges)
        gaps, gone = self.gaps(to_read, covered, begins)
        # only now, because before() and gaps() may have added problems
        to_read = to_read.without(self.problems)
        # without a fixed range, new_ranges() has already called there()
        read = self.there(to_read) if request.fixed else to_read
        absent = self.absent(to_read, read, covered)
        notes = Notes(gaps | before, begins, spans, absent, available.epochs).without(self.problems)
        warnings = []
        for r in gone:
            if r.topic not in self.problems:
                warnings.append(gap_warning(r))
        first = not request.fixed and bool(new - {*self.problems})
        news = first or self.spans_are_new(notes.spans)
        window = Window(tuple(read.ranges()))
        return ResolvedWindow(window, notes, self.problems, news, warnings, division=self.division)

    def refuse(self, more: Iterable[tuple[str, Problem]]) -> None:
        for topic, problem in more:
            self.problems.setdefault(topic, []).append(problem)

    def before(self, new: Collection[str]) -> OffsetSet:
        """Returns the offsets that the run skips in new topics, because they are before the start that the request
        sets.

        Args:
            new: Topics that the table has not read before.
        """
        if self.request.fixed or self.request.start in ("", "earliest"):
            return OffsetSet()
        offsets, problems = skipped(self.request.start, self.available, new)
        self.refuse(problems)
        return offsets

    def ranges(self, covered: OffsetSet) -> tuple[list[Range], dict[TopicPartition, Span]]:
        """Returns the ranges that the run reads. For a time window, also returns the time span of each partition.

        Args:
            covered: The offsets that the table holds.
        """
        request, available = self.request, self.available
        if request.explicit is not None:
            return list(request.explicit.ranges), {}
        if request.everywhere is not None:
            start, end = request.everywhere
            return [Range(r.topic, r.partition, max(start, r.start), min(end, r.end)) for r in available.ranges], {}
        if request.fixed:
            ranges, spans, self.division = timed_ranges(request, available, self.formerly, covered)
            return ranges, spans
        return self.new_ranges(covered), {}

    def new_ranges(self, covered: OffsetSet) -> list[Range]:
        """Returns the ranges to read: in each partition, only the first range that the table lacks.

        Waiting offsets are added. A run has read their records, but could not write one of its several tables.

        If the source may get records later at missing offsets, all ranges that a partition lacks are returned.
        """
        missing = self.there(offsets_of(self.available.ranges) - covered)
        waiting = missing & self.state.waiting
        missing -= waiting
        pieces = 1 if self.available.present is None else None
        ranges = []
        # waiting offsets are not subject to the limit, because they must not delay new records
        for place, intervals in waiting.parts.items():
            for part in first_of(intervals, self.request.max_records):
                ranges.append(Range(*place, *part))
        for place, intervals in missing.parts.items():
            for part in first_of(intervals[:pieces], self.request.max_records):
                ranges.append(Range(*place, *part))
        return ranges

    def there(self, offsets: OffsetSet) -> OffsetSet:
        """Returns the subset of ``offsets`` at which the source has a record.

        If the subset has too many ranges, some neighbouring ranges are joined. The result then also contains the
        ``offsets`` between them, which have no record.
        """
        if self.available.present is None or not offsets:
            return offsets
        return self.available.present(offsets).coarse(MOST_PIECES) & offsets

    def absent(self, to_read: OffsetSet, read: OffsetSet, covered: OffsetSet) -> OffsetSet:
        """Returns the offsets that the run leaves out, because the source has no record there.

        Args:
            to_read: The offsets that the request asks for.
            read: The offsets that the run reads.
            covered: The offsets that the table holds.
        """
        if self.available.present is None:
            return OffsetSet()
        if self.request.fixed:
            return to_read - read
        ends = {}
        for place, intervals in read.parts.items():
            ends[place] = intervals[-1][1]
        up_to = (
            Range(r.topic, r.partition, r.start, ends.get((r.topic, r.partition), 0)) for r in self.available.ranges
        )
        return offsets_of(up_to) - covered - read

    def gaps(
        self, to_read: OffsetSet, covered: OffsetSet, begins: Mapping[TopicPartition, int]
    ) -> tuple[OffsetSet, list[Range]]:
        """Returns the offsets that the table will record as gaps (offsets that it skips permanently), and the lost
        ranges.

        If the loss of records is an error, the function also notes a problem for each range. If the request has
        ``accept_gap``, the list of lost ranges is empty.

        Args:
            to_read: The offsets that the run reads.
            covered: The offsets that the table holds.
            begins: The first offset that the table should hold, by topic-partition.
        """
        request, there = self.request, self.available.ranges
        passed = covered | self.state.absent
        if request.accept_gap:
            firsts = {}
            for place, intervals in to_read.parts.items():
                firsts[place] = intervals[0][0]
            before = (Range(r.topic, r.partition, r.start, firsts.get((r.topic, r.partition), 0)) for r in there)
            return offsets_of(lost(there, begins, passed)) | (offsets_of(before) - covered), []
        if request.fixed:
            # a fixed range answers only for the records since the end of the previous time window
            begins = self.formerly
        gone = lost(there, begins, passed)
        if self.on_data_loss == "gap":
            return offsets_of(gone), gone
        self.refuse((r.topic, lost_problem(r)) for r in gone)
        return OffsetSet(), gone

    def spans_are_new(self, spans: Mapping[TopicPartition, Span]) -> bool:
        """Returns True if the table's state lacks some of the time spans in ``spans``. A time span is a period of time,
        such as a day, whose records runs have read.
        """
        known = self.state.spans
        for place, span in spans.items():
            if with_span(known.get(place, ()), span) != known.get(place, ()):
                return True
        return False


def first_of(intervals: Iterable[Interval], most: int | None) -> Iterator[Interval]:
    """Yields the first intervals, until they contain ``most`` offsets. The last interval may be shortened.

    For example, ``[(0, 10), (20, 30)]`` with ``most=15`` gives ``(0, 10)`` and ``(20, 25)``.
    """
    left = most
    for start, end in intervals:
        if left is None:
            yield start, end
            continue
        stop = min(end, start + left)
        left -= stop - start
        yield start, stop


def _check(request: WindowRequest) -> None:
    ways = [request.explicit, request.everywhere, request.since if request.since is not None else request.until]
    if sum(way is not None for way in ways) > 1:
        hint = "set only one of explicit, everywhere, and since with until"
        raise ConfigError(Problem("SMT513", "window", "the window is fixed in more than one way", hint))
    if request.late == "include" and request.since is None and request.until is None:
        hint = "set since and until, or launch a time partition"
        raise ConfigError(Problem("SMT513", "late", "only a time window has late records", hint))
    if request.max_records is not None and request.max_records < 1:
        statement = f"{request.max_records} records are not a window"
        raise ConfigError(Problem("SMT513", "max_records", statement, "use 1 or more"))
    backwards = [
        name
        for name, pair in (("everywhere", request.everywhere), ("until", (request.since, request.until)))
        if pair is not None and None not in pair and pair[0] > pair[1]  # type: ignore[operator]
    ]
    if backwards:
        raise ConfigError(Problem("SMT513", backwards[0], "the window ends before it starts", "ends are excluded"))


def _not_there(window: Window, available: Iterable[Range]) -> list[tuple[str, Problem]]:
    """Checks the ranges of ``window``, which a run config requests. Returns pairs of a topic and a problem.

    A problem is a range that the topics do not have, that overlaps with another range, or that ends before its start.
    """
    there = {(r.topic, r.partition): r for r in available}
    problems = []
    ends: dict[TopicPartition, int] = {}
    for range_ in sorted(window.ranges):
        key = (range_.topic, range_.partition)
        wrong = _wrong_range(range_, there.get(key))
        if range_.start < ends.get(key, 0):
            wrong = ("two ranges of one partition hold the same offsets", "name each offset once")
        ends[key] = max(range_.end, ends.get(key, 0))
        if wrong is not None:
            problems.append((range_.topic, Problem("SMT510", f"{range_.topic}-{range_.partition}", *wrong)))
    return problems


def _wrong_range(range_: Range, there: Range | None) -> tuple[str, str] | None:
    if range_.start > range_.end:
        statement = f"the range ends at {range_.end}, before it starts at {range_.start}"
        return statement, "the end is the offset after the last record"
    if there is None:
        return "there is no such partition", "list the topic's partitions"
    if range_.start < range_.end and not (there.start <= range_.start and range_.end <= there.end):
        statement = f"offsets {range_.start} to {range_.end} are not all there"
        return statement, f"the topic holds {there.start} to {there.end}"
    return None


def describe(window: Window, limit: int = 5) -> str:
    """Returns ``window`` as text, such as ``orders-0 [0, 50), orders-1 [0, 48)``."""
    texts = range_texts(window.ranges)
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more or "nothing"
