"""What a run says of itself: the ledger, the counts, the schema diff. All metadata is made from a ``RunReport``."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dagster_smt.errors import Problem
from dagster_smt.model.paths.extended import WHOLE, below
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.model.windows.window import Range, Window

MISMATCHED = "mismatched"
"""Key and value say different things of a column that both hold."""
ACTIONS = ("added", "dropped", "renamed", "cast", "changed", "masked", "extracted", "routed", "undecoded", MISMATCHED)
"""``cast``: the type is another; ``changed``: the value is, under the same type; ``masked``: nobody can read it."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One thing a stage may do to a record, numbered by its position in the plan.

    Attributes:
        stage: Index of the stage.
        alias: Alias of the stage.
        action: One of ``ACTIONS``.
        path: The configured path or name, in the user's spelling.
        side: ``key``, ``value``, ``headers`` or ``topic``.
        target: For ``renamed`` and ``cast``: the new name or type.
        matched: What a path leads to that is not written so (one with patterns, a V1 name with dots), where the
            schema is known when planning.
        named: Whether the user names with ``path`` what must be there.
    """

    stage: int
    alias: str
    action: str
    path: str
    side: str = "value"
    target: str = ""
    matched: tuple[str, ...] = ()
    named: bool = True

    @property
    def relied_on(self) -> bool:
        """Whether somebody relies on it: that it touches nothing is worth a warning."""
        return self.named and self.action in SILENT


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """How many records a ledger entry touched."""

    entry: LedgerEntry
    records: int


@dataclass(frozen=True, slots=True)
class StageCounts:
    """Records that reached a stage, and what became of them there."""

    alias: str
    transform: str
    records_in: int
    dropped: int = 0
    failed: int = 0

    @property
    def seen(self) -> int:
        """Records that tell what the stage does: those that it did not refuse."""
        return self.records_in - self.failed


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One line of a schema diff. ``before`` or ``after`` is empty for an added or removed field."""

    field: str
    change: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class SchemaUse:
    """How many records of a topic name a schema: its id in a registry; of envelopes its name and a digest."""

    topic: str
    side: str
    schema: str
    records: int


@dataclass(frozen=True, slots=True)
class Reject:
    """Where a record failed and why; never what was in it.

    ``stage`` is the alias of the stage, or ``key.converter`` / ``value.converter``.
    """

    topic: str
    partition: int
    offset: int
    stage: str
    problem: Problem


@dataclass(frozen=True, slots=True)
class Unread:
    """Records of one topic that were not read, because a stage drops them whatever they hold.

    Attributes:
        topic: The topic.
        stage, alias: The stage, by number and name: it has dropped them in all counts.
        records: How many they are.
        ranges: Where they are.
        counted: Whether that is their number; else it is that of their offsets, and there may be fewer records.
    """

    topic: str
    stage: int
    alias: str
    records: int
    ranges: tuple[Range, ...] = ()
    counted: bool = True

    @property
    def text(self) -> str:
        """``100 records of orders were not read, as stage 'new' drops them: orders-0 [0, 100)``"""
        what = "records" if self.counted else "offsets"
        return (
            f"{self.records} {what} of {self.topic} were not read, as stage '{self.alias}' drops them: {self.places()}"
        )

    def places(self, most: int = 5) -> str:
        """The ranges in words."""
        texts = [f"{r.topic}-{r.partition} [{r.start}, {r.end})" for r in self.ranges[:most]]
        return ", ".join(texts) + (f" and {len(self.ranges) - most} more" if len(self.ranges) > most else "")


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """What became of the records of one topic.

    Attributes:
        records: Records of the window.
        converters: Rows that a converter refused.
        dropped, failed: Rows, per stage.
        touched: Rows, per ledger entry.
        further: Rows beyond one of each record. A record is one row, unless the topic table makes rows of arrays: then
            it is one of each element.
        empty: Records without a row: arrays without elements, messages about no row. They count as a row that is
            dropped, by no stage.
        refused: Records of which a row failed, where they may have several.
    """

    records: int = 0
    converters: int = 0
    dropped: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()
    touched: tuple[int, ...] = ()
    further: int = 0
    empty: int = 0
    refused: int = 0

    @property
    def rows(self) -> int:
        return self.records + self.further

    @property
    def failed_records(self) -> int:
        return self.refused or self.all_failed

    @property
    def all_dropped(self) -> int:
        return sum(self.dropped) + self.empty

    @property
    def all_failed(self) -> int:
        return self.converters + sum(self.failed)

    @property
    def kept(self) -> int:
        return self.rows - self.all_dropped - self.all_failed


@dataclass(frozen=True, slots=True)
class Part:
    """What a run did for one of several partitions of time.

    Attributes:
        window: The part of the run's window.
        topics: Counts per topic.
        unread: What of it was not read.
    """

    window: Window
    topics: Mapping[str, TopicCounts]
    unread: tuple[Unread, ...] = ()


@dataclass(slots=True)
class RunReport:
    """One run over one window.

    Attributes:
        name: Name of the run's asset or op.
        window: The offsets of the run.
        records_in: Records of the window.
        records_out, dropped, failed: What became of their rows. A record is one row, unless the topic table makes rows
            of arrays; they add up to ``rows_in``. Under ``errors.tolerance=all`` failed records are dead letters.
        stages: Counts of rows per stage, in order.
        ledger: Counts of rows per (stage, path).
        before, after: Value schema before and after the chain; ``None`` if schemaless.
        previous: Value schema after the chain of the table's commit before this one; ``None`` if that had none.
        lineage: Output column (its path) to the input fields it comes from; empty if schemaless.
        masked: Output columns whose value a MaskField stage replaced.
        rejects: The first few rejects of each topic.
        topics: Counts per topic; they sum up to those above.
        failures: Topics that were left out, and why; nothing of them was committed.
        files, bytes: Data files that the commit added, and their size.
        seconds: Wall time per phase.
        status: ``committed``, ``empty`` (nothing new), or ``already committed``.
        schemas: How many records name each schema, of those that bring theirs along into columns, and of those whose
            schemas a registry has.
        warnings: Problems that did not stop the run, such as a mask that touched nothing.
        unread: What of the window was not read, and yet is in the counts; the ledger does not know it.
        chain: Hash of the chain that ran; empty if an older version ran it.
        rows_written: Rows that the table format says the commit added; None where it does not say.
        parts: The parts of the window, where it was read for several partitions of time. The table does not keep them.
        unwritten: The failed records whose dead letters their topic takes in no form.
    """

    name: str
    window: Window
    records_in: int = 0
    records_out: int = 0
    dropped: int = 0
    failed: int = 0
    stages: list[StageCounts] = field(default_factory=list)
    ledger: list[LedgerLine] = field(default_factory=list)
    before: Schema | None = None
    after: Schema | None = None
    previous: Schema | None = None
    lineage: dict[str, tuple[str, ...]] = field(default_factory=dict)
    masked: tuple[str, ...] = ()
    rejects: list[Reject] = field(default_factory=list)
    schemas: tuple[SchemaUse, ...] = ()
    topics: dict[str, TopicCounts] = field(default_factory=dict)
    failures: dict[str, list[Problem]] = field(default_factory=dict)
    files: int = 0
    bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    status: str = "committed"
    warnings: list[Problem] = field(default_factory=list)
    unread: tuple[Unread, ...] = ()
    chain: str = ""
    rows_written: int | None = None
    parts: tuple[Part, ...] = ()
    unwritten: tuple[Range, ...] = ()

    @property
    def rows_in(self) -> int:
        """Rows that the records read have: more or as many, arrays without elements counted as one."""
        return self.records_in + sum(c.further for c in self.topics.values())

    @property
    def empty(self) -> int:
        """Records among ``dropped`` that hold no row: arrays without elements, messages about no row."""
        return sum(c.empty for c in self.topics.values())

    @property
    def failed_records(self) -> int:
        """Records of which a row failed: each is one dead letter."""
        return self.failed - sum(c.all_failed - c.failed_records for c in self.topics.values())

    def of_topic(self, topic: str) -> "RunReport":
        """The part of the report that is about one topic. Files and bytes are those of the whole commit."""
        window = Window(tuple(r for r in self.window.ranges if r.topic == topic))
        unread = tuple(u for u in self.unread if u.topic == topic)
        part = Part(window, {topic: self.topics.get(topic, TopicCounts())}, unread)
        return replace(self._of(part), name=f"{self.name} {topic}")

    def of_part(self, number: int) -> "RunReport":
        """The report of one of its parts. How many of its records name which schema is known of all parts together."""
        return replace(self._of(self.parts[number]), schemas=())

    def _of(self, part: Part) -> "RunReport":
        counts = add_up(part.topics.values())
        read = offsets_of(part.window)
        return replace(
            self,
            window=part.window,
            records_in=counts.records,
            records_out=counts.kept,
            dropped=counts.all_dropped,
            failed=counts.all_failed,
            stages=stage_counts([(s.alias, s.transform) for s in self.stages], counts),
            ledger=ledger_lines([line.entry for line in self.ledger], counts),
            rejects=[r for r in self.rejects if _lies_in(r, read)],
            topics=dict(part.topics),
            failures={},
            unread=part.unread,
            unwritten=tuple((offsets_of(self.unwritten) & read).ranges()),
            rows_written=None,
            parts=(),
        )

    def touched(self, action: str) -> dict[str, int]:
        """Records touched per path, for one action, over all stages."""
        found: dict[str, int] = {}
        for line in self.ledger:
            if line.entry.action == action:
                found[line.entry.path] = found.get(line.entry.path, 0) + line.records
        return found


def _lies_in(reject: Reject, offsets: OffsetSet) -> bool:
    intervals = offsets.of(reject.topic, reject.partition)
    return any(start <= reject.offset < end for start, end in intervals)


def stage_counts(stages: Sequence[tuple[str, str]], counts: TopicCounts) -> list[StageCounts]:
    """How many records reached each stage, given alias and transform of each, and what became of them there."""
    reached, found = counts.rows - counts.converters - counts.empty, []
    for index, (alias, transform) in enumerate(stages):
        dropped = counts.dropped[index] if counts.dropped else 0
        failed = counts.failed[index] if counts.failed else 0
        found.append(StageCounts(alias, transform, reached, dropped, failed))
        reached -= dropped + failed
    return found


def ledger_lines(entries: Sequence[LedgerEntry], counts: TopicCounts) -> list[LedgerLine]:
    """How many records each entry touched."""
    touched = counts.touched or (0,) * len(entries)
    return [LedgerLine(entry, number) for entry, number in zip(entries, touched, strict=True)]


SILENT = ("masked", "changed", "dropped", "renamed")
"""Actions that somebody relies on: that one of them touches nothing is worth a warning."""


def silent_lines(ledger: Sequence[LedgerLine], stages: Sequence[StageCounts]) -> list[LedgerLine]:
    """Masks, changes, drops and renames that touched nothing although records came through their stage."""
    results = []
    for line in ledger:
        if line.entry.relied_on and not line.records and stages[line.entry.stage].seen:
            results.append(line)
    return results


def add_up(counts: Iterable[TopicCounts]) -> TopicCounts:
    """The counts of several topics together."""
    found = list(counts)

    def per_stage(name: str) -> tuple[int, ...]:
        return tuple(map(sum, zip(*(getattr(c, name) for c in found), strict=True)))

    return TopicCounts(
        sum(c.records for c in found),
        sum(c.converters for c in found),
        per_stage("dropped"),
        per_stage("failed"),
        per_stage("touched"),
        sum(c.further for c in found),
        sum(c.empty for c in found),
        # of topics without arrays it is not noted, but counts beside one with arrays
        sum(c.failed_records for c in found) if any(c.refused for c in found) else 0,
    )


def joined(reports: Sequence["RunReport"]) -> "RunReport":
    """Several windows, one after the other, as one report. Schema and lineage are the last one's."""
    last = reports[-1]
    if len(reports) == 1:
        return last
    spans: dict[tuple[str, int], tuple[int, int]] = {}
    seconds: dict[str, float] = {}
    for report in reports:
        for r in report.window.ranges:
            start, end = spans.get((r.topic, r.partition), (r.start, r.end))
            spans[r.topic, r.partition] = min(start, r.start), max(end, r.end)
        for phase, spent in report.seconds.items():
            seconds[phase] = round(seconds.get(phase, 0.0) + spent, 3)
    topics = {}
    for t in sorted({t for r in reports for t in r.topics}):
        topics[t] = add_up(r.topics[t] for r in reports if t in r.topics)
    counts = add_up(topics.values())
    ledger = [LedgerLine(line.entry, n) for line, n in zip(last.ledger, counts.touched or (), strict=False)]
    return replace(
        last,
        previous=reports[0].previous,
        window=Window(tuple(sorted(Range(*key, *span) for key, span in spans.items()))),
        records_in=counts.records,
        records_out=counts.kept,
        dropped=counts.all_dropped,
        failed=counts.all_failed,
        stages=stage_counts([(s.alias, s.transform) for s in last.stages], counts),
        ledger=ledger,
        rejects=[reject for report in reports for reject in report.rejects],
        topics=topics,
        failures={t: problems for report in reports for t, problems in report.failures.items()},
        files=sum(r.files for r in reports),
        bytes=sum(r.bytes for r in reports),
        seconds=seconds,
        warnings=list(dict.fromkeys(w for r in reports for w in r.warnings)),
        unread=tuple(u for r in reports for u in r.unread),
        unwritten=tuple(records for r in reports for records in r.unwritten),
        rows_written=_sum_of(r.rows_written for r in reports),
    )


def _sum_of(numbers: Iterable[int | None]) -> int | None:
    """The sum; None if one of them is not known."""
    known = list(numbers)
    if None in known:
        return None
    return sum(n for n in known if n is not None)


OF_ARRAYS = ("further", "empty", "refused")
"""Counts that there are only where arrays are rows."""


def leaf_labels(schema: Schema | None, prefix: str = "") -> dict[str, str]:
    """Path to type label, for every field of a schema that is not a struct itself."""
    if schema is None:
        return {}
    if schema.type is not Type.STRUCT:
        return {prefix or WHOLE: schema.label}
    found: dict[str, str] = {}
    for name, child in schema.fields:
        found.update(leaf_labels(child, below(prefix, name)))
    return found


def schema_diff(
    before: Schema | None, after: Schema | None, lineage: Mapping[str, Sequence[str]] | None = None
) -> list[FieldChange]:
    """Compare two schemas field by field: renamed, removed, changed, then added.

    Args:
        before, after: The schemas.
        lineage: Fields after to those before that they come from: one that only took another name is a rename, with
            its new name in ``after``.
    """
    old, new = leaf_labels(before), leaf_labels(after)
    moved = _renames(old, new, lineage or {})
    changes = []
    for o, n in moved.items():
        changes.append(FieldChange(o, "renamed", old[o], n if old[o] == new[n] else f"{n}: {new[n]}"))
    gone, come = [p for p in old if p not in new and p not in moved], {*moved.values()}
    changes += [FieldChange(p, "removed", old[p]) for p in gone]
    changes += [FieldChange(p, "changed", old[p], new[p]) for p in old if p in new and old[p] != new[p]]
    return changes + [FieldChange(p, "added", "", new[p]) for p in new if p not in old and p not in come]


def of_value(source: str) -> str | None:
    """The path of a field of the value, among the sources of a column; None for another part of the record."""
    if source.startswith(("value.", "value[")):
        return source[len("value") :].removeprefix(".")
    return None


def _renames(old: Mapping[str, str], new: Mapping[str, str], lineage: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Fields that are there under another name, and nowhere else."""
    found: dict[str, str] = {}
    for path, sources in lineage.items():
        source = (of_value(sources[0]) or "") if len(sources) == 1 else ""
        if path in new and path not in old and source in old and source not in new:
            found.setdefault(source, path)
    return found
