"""Defines the state of a table. Each commit stores the state, so that the next run can read it."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, TypeVar

from dagster_smt.model.reports.unmasked import Accepted, Unmasked, offsets_on_record, without_topics
from dagster_smt.model.topics.taken_over import TakenOver
from dagster_smt.model.windows.offsets import OffsetSet, TopicPartition, by_topic, from_topics, offsets_of, topics_in
from dagster_smt.model.windows.time_spans import Span, Spans, spans_from_json, spans_to_json, with_span
from dagster_smt.model.windows.window import Range, Window

FORMAT = 4
"""The number of the newest format in which this package stores states. A state is the part of each commit that
describes the table.

The number increases if older versions of this package would misinterpret a new state. States in older formats can still
be read.
"""
FORMAT_OF_TAKEN_OVER = 3
"""The format number for a table that a connector wrote earlier, and from which nobody has been erased."""
FORMAT_OF_OWN_TABLES = 2
"""The format number for tables that only this package has written, and from which nobody has been erased. Old versions
of this package know no newer format, and read such tables correctly.
"""
KEY = "dagster_smt"
REMEMBERED = 100
"""The number of runs that a state remembers. A retry of a run is recognized only if the state remembers the run. If
more runs have committed in the meantime, the retry is treated as a new request.
"""
MOST_SETTLED = 20
"""The number of settlements that a state remembers. A settlement is a user's confirmation that changed rows are
correct.
"""
MOST_FAILED = 2_000
"""The number of ranges of failed records that a state stores separately. Without a limit, commits would grow without
end.
"""

MOST_ACCEPTED = 20
"""The number of decisions to accept unmasked records that a state remembers."""


class NewerState(ValueError):
    """Raised for a state that a newer version of this package has written."""

    def __init__(self) -> None:
        super().__init__("written by a newer version of dagster_smt")


def remedy(error: ValueError) -> str:
    """Returns the hint for ``error``, which was raised because a state cannot be read."""
    if isinstance(error, NewerState):
        return "upgrade dagster_smt to that version; each version reads the states of older versions"
    return "restore the table to an earlier version, or start it over with window.rebuild: true"


_Value = TypeVar("_Value")


def _of_others(values: Mapping[TopicPartition, _Value], topics: Collection[str]) -> dict[TopicPartition, _Value]:
    """Returns ``values`` without the topic-partitions of ``topics``."""
    return {place: value for place, value in values.items() if place[0] not in topics}


@dataclass(frozen=True, slots=True)
class Settlement:
    """A user's confirmation that rows changed by other writers are correct.

    Attributes:
        run: The orchestrator's run and step with which the user confirmed the rows. If an erasure has removed rows, the
            name of the erasure instead.
        millis: The time of the confirmation, in milliseconds since the epoch.
        committed: The number of rows that the table should have had, according to the commits of this package.
        counted: The number of rows that the table really had.
        commits: The commits of other writers that the confirmation covers.
    """

    run: str
    millis: int
    committed: int
    counted: int
    commits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ErasedPersons:
    """The note in the state of a table that people have been erased. It contains the number of people, but never their
    identity.

    Attributes:
        register: The location of the register, a table with the keyed hashes of the erased people.
        persons: The number of register entries that runs of the table must find.
        erasure: The name of the last erasure.
        rows: The number of rows that erasures removed from the table.
        unfinished: None if no erasure is at work. Otherwise a dict from topic to a number. If the table had 12 rows of
            ``orders`` when the erasure began, but its commits had counted 10, the number is 2. An erasure that
            continues after a crash needs these numbers.
    """

    register: str
    persons: int
    erasure: str
    rows: int = 0
    unfinished: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class CommittedRun:
    """The note in a table's state about a run that has committed. If the same run is started again, it recognizes
    itself by this note.

    Attributes:
        key: The orchestrator's run and step.
        request: Hash that identifies what was requested, such as the window (a range of offsets).
        number: Number of the run's commit.
        window: Id of the run's window.
        left_out: Topics that failed and were not committed.
        chain: Hash of the run's chain; empty in commits of older versions.
    """

    key: str
    request: str
    number: int
    window: str
    left_out: tuple[str, ...] = ()
    chain: str = ""


@dataclass(frozen=True, slots=True)
class Notes:
    """The entries that a commit adds to the state of a table, in addition to the window (range of offsets) that it
    read.

    Attributes:
        gaps, begins, absent, epochs: The entries for the attributes of ``TableState`` with the same names.
        spans: The time span for which each topic-partition was read.
    """

    gaps: OffsetSet = field(default_factory=OffsetSet)
    begins: Mapping[TopicPartition, int] = field(default_factory=dict)
    spans: Mapping[TopicPartition, Span] = field(default_factory=dict)
    absent: OffsetSet = field(default_factory=OffsetSet)
    epochs: Mapping[TopicPartition, int] = field(default_factory=dict)

    def without(self, topics: Iterable[str]) -> "Notes":
        """Returns the notes without their entries for ``topics``."""
        gone = set(topics)
        return Notes(
            self.gaps.without(gone),
            _of_others(self.begins, gone),
            _of_others(self.spans, gone),
            self.absent.without(gone),
            _of_others(self.epochs, gone),
        )


@dataclass(frozen=True, slots=True)
class TableState:
    """The state of a table after a commit of this package.

    The state contains offsets, names and counts, never a field's value.

    Attributes:
        number: Number of the commit. A table that is rebuilt (``window.rebuild``) continues the numbers of its commits,
            so that no two commits have the same number.
        attempt: Random name of the attempt that wrote the commit. A run recognises its own commit by this name.
        kind: The content of the table: ``records``, ``columns``, or the mode of a table with keys, such as ``upsert``.
        window: The window (ranges of offsets) that the commit read.
        held: Offsets whose records have been processed: each became a row or a dead letter, or was dropped.
        gaps: Offsets that the table skips permanently, because somebody agreed to lose their records.
        failed: Offsets of ``held`` whose records failed when they were last read.
        roughly: True if ``failed`` may include offsets that have rows. This happens if ranges were joined because there
            were more than ``MOST_FAILED``, or if only some elements of an array failed.
        begins: The first offset that the table should hold of each topic-partition, including empty ones. Usually it is
            the earliest offset when a run first listed the topic-partition (see ``tables.window_begins``). If a record
            at or after this offset is deleted before a run reads the record, the table has lost this record. Older
            states have no ``begins``.
        spans: The time spans that runs for a time window have read, per topic-partition.
        absent: Offsets that a run skipped because the source did not have them, although it had later offsets. If the
            skipped offsets appear later, a run reads them.
        epochs: The leader epoch of each topic-partition when a run last measured it, for sources with leader epochs.
        identities: The identity of each topic in its source.
        rows: Rows per topic.
        runs: The last runs, oldest first.
        dead_letters: For each partition of the dead letter topic: the offset at which the next run begins to search for
            existing dead letters. Earlier dead letters belong to records in ``held``.
        unmasked: Records in the table that masks, drops or renames did not change.
        accepted: Users' decisions to accept records that masks, drops or renames did not change, newest last.
        former: Offsets of rows from a deleted topic, if a new topic has the same name. A run that reads these offsets
            of the new topic must not replace the old rows.
        settled: Confirmations that rows changed by other writers are correct, newest last.
        report: The run's report as JSON data.
        waiting: For runs that write many tables: offsets that a run has read, but not written, because a table could
            not be written. They are not in ``held``. The next run reads these offsets again.
        tables: For runs that write many tables: ``{output topic: {input topic: number of rows}}``. The output topic
            determines the table. A table is listed before it is created.
        taken_over: The connector that wrote the table earlier, and the offsets of its records. These offsets are also
            in ``held``. None if no connector has written the table.
        erased: The note that people have been erased from the table; None if nobody has been erased.
    """

    number: int
    attempt: str
    kind: str
    window: Window = field(default_factory=Window)
    held: OffsetSet = field(default_factory=OffsetSet)
    gaps: OffsetSet = field(default_factory=OffsetSet)
    failed: OffsetSet = field(default_factory=OffsetSet)
    roughly: bool = False
    begins: Mapping[TopicPartition, int] = field(default_factory=dict)
    spans: Mapping[TopicPartition, Spans] = field(default_factory=dict)
    absent: OffsetSet = field(default_factory=OffsetSet)
    epochs: Mapping[TopicPartition, int] = field(default_factory=dict)
    identities: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    runs: tuple[CommittedRun, ...] = ()
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    unmasked: tuple[Unmasked, ...] = ()
    accepted: tuple[Accepted, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)
    former: OffsetSet = field(default_factory=OffsetSet)
    settled: tuple[Settlement, ...] = ()
    waiting: OffsetSet = field(default_factory=OffsetSet)
    tables: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    taken_over: TakenOver | None = None
    erased: ErasedPersons | None = None

    @property
    def covered(self) -> OffsetSet:
        """The offsets that no run needs to read any more: the offsets in ``held`` and in ``gaps``."""
        return self.held | self.gaps

    def ends(self) -> dict[str, dict[str, int]]:
        """Returns the end of the table's progress for each topic and partition: the first offset that has been neither
        read nor skipped. A table that has read 0 to 99 and 200 to 299 returns ``{"orders": {"0": 100}}``.
        """
        passed = (self.covered | self.absent).parts
        ends_of_passed = {}
        for place, intervals in passed.items():
            first, end = intervals[0]
            begin = self.begins.get(place, first)
            # the first window was a fixed one, and the next run reads the offsets before it
            if begin < first:
                end = begin
            ends_of_passed[place] = end
        # a partition of which nothing has been read has the end at its beginning
        ends = {**self.begins, **ends_of_passed}
        return by_topic(ends)

    def ends_by_partition(self) -> dict[tuple[str, int], int]:
        """Returns the end of the table's progress for each topic-partition, such as ``{("orders", 0): 100}``. ``ends``
        returns the same numbers as nested dicts.
        """
        return from_topics(self.ends())

    @property
    def unread(self) -> OffsetSet:
        """The offsets that no run has read yet, although the table holds later offsets: ``holes``, and the offsets
        from the beginning of a partition to the first offset that the table holds. For example, the first run of a
        table that begins at 0 read the fixed window 5 to 9. Then 0 to 4 are unread.
        """
        passed = self.covered | self.absent
        before = []
        for place, intervals in passed.parts.items():
            first = intervals[0][0]
            before.append(Range(*place, self.begins.get(place, first), first))
        return offsets_of(before) | self.holes

    @property
    def holes(self) -> OffsetSet:
        """The offsets that no run has read yet, between offsets that the table holds."""
        passed = self.covered | self.absent
        between = (
            Range(*place, one[1], other[0])
            for place, intervals in passed.parts.items()
            for one, other in pairwise(intervals)
        )
        return offsets_of(between)

    def known_topics(self) -> set[str]:
        """Returns the topics that the table has read, including empty ones."""
        return {*self.identities, *topics_in(self.covered.parts), *topics_in(self.begins)}

    def without(self, topics: Iterable[str]) -> "TableState":
        """Returns the state without the offsets of ``topics``, for a run that reads these topics again from the
        beginning.
        """
        gone = set(topics)
        taken_over = self.taken_over
        if taken_over is not None:
            taken_over = replace(taken_over, offsets=taken_over.offsets.without(gone))
        return replace(
            self,
            taken_over=taken_over,
            held=self.held.without(gone),
            gaps=self.gaps.without(gone),
            failed=self.failed.without(gone),
            absent=self.absent.without(gone),
            waiting=self.waiting.without(gone),
            begins=_of_others(self.begins, gone),
            spans=_of_others(self.spans, gone),
            epochs=_of_others(self.epochs, gone),
            unmasked=without_topics(self.unmasked, gone),
        )

    def with_window(self, window: Window, notes: Notes) -> "TableState":
        """Returns the state after a run has read ``window``, a range of offsets. Adds the offsets of the window and the
        entries of ``notes`` to the state.
        """
        read = offsets_of(window)
        # a source table may have lost rows that an earlier run has read: these offsets are no longer held, and are read
        # if the rows come back
        held = (self.held - notes.absent) | read
        # a run of a fixed window may read offsets that the table would skip permanently
        gaps = (self.gaps | notes.gaps) - read
        spans = {}
        for place, span in notes.spans.items():
            spans[place] = with_span(self.spans.get(place, ()), span)
        return replace(
            self,
            window=window,
            held=held,
            gaps=gaps,
            absent=(self.absent | notes.absent) - held - gaps,
            waiting=self.waiting - held - gaps,
            begins={**self.begins, **notes.begins},
            spans={**self.spans, **spans},
            epochs={**self.epochs, **notes.epochs},
        )

    def committed(self, key: str, request: str) -> CommittedRun | None:
        """Returns the entry of the committed run with this ``key`` and ``request``; None if the state remembers no
        such run.
        """
        for r in reversed(self.runs):
            # runs outside of the orchestrator have no key, so they never recognize an earlier run
            if key and (r.key, r.request) == (key, request):
                return r
        return None

    def accept(self, run: str, reason: str) -> "TableState":
        """Returns the state after the run ``run`` has accepted all unmasked records. The list of unmasked records is
        then empty. The new entry in ``accepted`` contains the run, ``reason``, the paths and the number of records.
        """
        if not self.unmasked:
            return self
        paths = tuple(dict.fromkeys(one.path for one in self.unmasked))
        accepted = Accepted(run, reason, paths, offsets_on_record(self.unmasked).records)
        return replace(self, unmasked=(), accepted=(*self.accepted, accepted)[-MOST_ACCEPTED:])

    def with_run(self, run: CommittedRun) -> "TableState":
        """Returns the state with ``run`` added to the runs that it remembers."""
        return replace(self, runs=(*self.runs, run)[-REMEMBERED:])

    @property
    def _format(self) -> int:
        """The lowest format number that can express this state. Every version of this package that knows this format
        can read the state.
        """
        if self.erased is not None:
            return FORMAT
        return FORMAT_OF_OWN_TABLES if self.taken_over is None else FORMAT_OF_TAKEN_OVER

    def to_text(self) -> str:
        """Returns the state as a string, which a commit stores."""
        data = {
            "format": self._format,
            "number": self.number,
            "attempt": self.attempt,
            "kind": self.kind,
            "window": self.window.to_json(),
            "held": self.held.to_json(),
            "gaps": self.gaps.to_json(),
            "failed": self.failed.to_json(),
            "roughly": self.roughly,
            "begins": by_topic(self.begins),
            "spans": spans_to_json(self.spans),
            "absent": self.absent.to_json(),
            "epochs": by_topic(self.epochs),
            "identities": dict(self.identities),
            "rows": dict(self.rows),
            "runs": [[r.key, r.request, r.number, r.window, list(r.left_out), r.chain] for r in self.runs],
            "dead_letters": dict(self.dead_letters),
            "unmasked": [one.to_json() for one in self.unmasked],
            "accepted": [[a.run, a.reason, list(a.paths), a.records] for a in self.accepted],
            "report": dict(self.report),
            "former": self.former.to_json(),
            "settled": [[s.run, s.millis, s.committed, s.counted, list(s.commits)] for s in self.settled],
        }
        if self.waiting:
            data["waiting"] = self.waiting.to_json()
        if self.tables:
            rows_of_tables = {}
            for topic, rows in self.tables.items():
                rows_of_tables[topic] = dict(rows)
            data["tables"] = rows_of_tables
        if self.taken_over is not None:
            data["taken_over"] = self.taken_over.to_json()
        if self.erased is not None:
            data["erased"] = asdict(self.erased)
        return json.dumps({KEY: data}, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str | None) -> "TableState | None":
        """Returns the state in ``text``, a string that ``to_text`` has returned. For a string from another writer,
        returns None.

        Raises:
            ValueError: The string is a state, but of a newer format, or damaged.
        """
        # other writers store arbitrary texts in this place, so nothing else is parsed as JSON
        if not text or not text.startswith('{"' + KEY + '":'):
            return None
        try:
            data = dict(json.loads(text)[KEY])
            # before everything else: a newer state may lack required keys or use other forms for them, and would look
            # damaged
            if data["format"] > FORMAT:
                raise NewerState
            if missing := _REQUIRED - data.keys():
                raise KeyError(*missing)
            parts = {}
            for name, read in _READERS.items():
                if name in data:
                    parts[name] = read(data[name])
            return cls(**parts)
        # NewerState is a ValueError, and must not be reported as damaged
        except NewerState:
            raise
        except (KeyError, TypeError, AttributeError, ValueError):
            raise ValueError("damaged") from None


def _as_it_is(value: Any) -> Any:
    return value


def _runs(data: list[Any]) -> tuple[CommittedRun, ...]:
    runs = []
    # older versions stored five items, without the hash of the chain
    for key, request, number, window, left, *chain in data:
        runs.append(CommittedRun(key, request, number, window, tuple(left), *chain))
    return tuple(runs)


def _settled(data: list[Any]) -> tuple[Settlement, ...]:
    settlements = []
    for run, millis, committed, counted, commits in data:
        settlements.append(Settlement(run, millis, committed, counted, tuple(commits)))
    return tuple(settlements)


def _unmasked(data: list[Any]) -> tuple[Unmasked, ...]:
    return tuple(map(Unmasked.from_json, data))


def _accepted(data: list[Any]) -> tuple[Accepted, ...]:
    accepted = []
    for run, reason, paths, records in data:
        accepted.append(Accepted(run, reason, tuple(paths), records))
    return tuple(accepted)


def _erased(data: dict[str, Any]) -> ErasedPersons:
    unfinished = data.get("unfinished")
    return ErasedPersons(data["register"], data["persons"], data["erasure"], data["rows"], unfinished)


_REQUIRED = {"number", "attempt", "kind", "window", "held", "gaps", "runs"}
"""The keys that every state contains, even in the first format."""
_READ_FROM_JSON: dict[str, Callable[[Any], Any]] = {
    "window": Window.from_json,
    "held": OffsetSet.from_json,
    "gaps": OffsetSet.from_json,
    "failed": OffsetSet.from_json,
    "begins": from_topics,
    "spans": spans_from_json,
    "absent": OffsetSet.from_json,
    "epochs": from_topics,
    "former": OffsetSet.from_json,
    "waiting": OffsetSet.from_json,
    "runs": _runs,
    "unmasked": _unmasked,
    "accepted": _accepted,
    "settled": _settled,
    "taken_over": TakenOver.from_json,
    "erased": _erased,
}
_READERS = {f.name: _READ_FROM_JSON.get(f.name, _as_it_is) for f in fields(TableState)}
"""Maps each key of a stored state to the function that converts its JSON value. A key that an older version did not
write gets its default value. Unknown keys are ignored.
"""
