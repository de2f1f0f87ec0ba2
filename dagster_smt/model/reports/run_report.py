"""Defines the report of a run: counts, schema differences, and the ledger (counts of the records that each mask, drop
or other action changed). All metadata that a run has in Dagster comes from its ``RunReport``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from dagster_smt.errors import Problem
from dagster_smt.model.paths.extended import WHOLE, below
from dagster_smt.model.reports.destinations import Destination, joined_destinations
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.model.windows.window import Range, Window, range_texts

MISMATCHED = "mismatched"
"""The word in a report for a record in which the key and the value contain different values for the same column."""
ACTIONS = ("added", "dropped", "renamed", "cast", "changed", "masked", "extracted", "routed", "undecoded", MISMATCHED)
"""The actions of ledger entries. For example, ``cast`` means that a stage changes the type of a field, and ``changed``
means that a stage changes only the value. ``masked`` means that the value can no longer be read.
"""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One action of a stage, such as "the stage ``hide`` masks the path ``email``". A report counts the records that
    the action changed. Each entry has a number, which is its position in the plan.

    Attributes:
        stage: Index of the stage.
        alias: Alias of the stage.
        action: One of ``ACTIONS``.
        path: The configured path or name, in the user's spelling.
        side: ``key``, ``value``, ``headers`` or ``topic``.
        target: For ``renamed``: the new name. For ``cast``: the new type. For ``added``: the origin of the value.
        matched: For a pattern path, or a V1 name with dots: the fields that ``path`` matches in the schema. Empty for
            all other paths, and if the plan does not know the schema.
        explicit: True if the user configured ``path``. The user then expects that the field exists.
        from_records: True if the plan does not contain the entry. It was added because a foreign stage (a Java class
            from a jar) changed this field in a record.
    """

    stage: int
    alias: str
    action: str
    path: str
    side: str = "value"
    target: str = ""
    matched: tuple[str, ...] = ()
    explicit: bool = True
    from_records: bool = False

    @property
    def relied_on(self) -> bool:
        """True if the user configured the path, and the entry is a mask, change, drop or rename. A run warns if such an
        entry touches no record.
        """
        return self.explicit and self.action in SILENT


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """An action of a stage, such as "mask ``email``", with the number of records that it changed."""

    entry: LedgerEntry
    records: int


@dataclass(frozen=True, slots=True)
class FieldChanges:
    """The number of records in which a foreign stage (a Java class from a jar) changed one field.

    Attributes:
        stage: Index of the stage.
        action: ``added``, ``dropped``, ``cast``, ``changed`` or ``routed``.
        side: ``key``, ``value``, ``headers``, ``topic``, or ``record`` for the record's timestamp and partition.
        path: The field.
        records: The number of records.
    """

    stage: int
    action: str
    side: str
    path: str
    records: int = 0


@dataclass(frozen=True, slots=True)
class StageCounts:
    """The counts of one stage: the records that reached the stage, and the records that it dropped or rejected."""

    alias: str
    transform: str
    records_in: int
    dropped: int = 0
    failed: int = 0

    @property
    def seen(self) -> int:
        """The number of records that the stage processed without an error."""
        return self.records_in - self.failed


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One difference between two schemas. ``before`` is empty for an added field, and ``after`` is empty for a removed
    field.
    """

    field: str
    change: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A field that the run leaves out of the result, because the policy has no decision about the field.

    Attributes:
        topic: The topic.
        part: ``value``, ``key`` or ``headers``.
        path: The path of the field, or the name of the header. Empty if only records outside the sample contained
            fields without a decision.
        records: The number of sampled records with the field; 0 if the field comes from a schema or a tag.
    """

    topic: str
    part: str
    path: str
    records: int = 0


@dataclass(frozen=True, slots=True)
class SchemaUse:
    """The number of records of a topic that have the same schema.

    ``schema`` is the id of the schema in a registry. For an envelope, which contains no such id, ``schema`` is the name
    of the schema together with a digest (a hash).
    """

    topic: str
    side: str
    schema: str
    records: int


_Count = TypeVar("_Count", FieldChanges, SchemaUse)


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that failed. It contains the location and the reason of the failure, but never the content of the
    record.

    ``stage`` is the alias of the stage, or ``key.converter`` / ``value.converter``.
    """

    topic: str
    partition: int
    offset: int
    stage: str
    problem: Problem


@dataclass(slots=True)
class KeyCounts:
    """The effects of a topic's events on the rows of a table with keys.

    Attributes:
        inserted, updated, deleted: Numbers of rows.
        superseded: Number of events without effect, because this run or an earlier run has read a later event of the
            same key. In mode ``scd2`` always 0, because the versions of earlier events stay.
        incomplete: Number of rows that lack the value of a column, because none of the events read so far contains the
            value.
        without_row: Number of deletions of keys that have no row.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    superseded: int = 0
    incomplete: int = 0
    without_row: int = 0

    @property
    def text(self) -> str:
        """Returns a summary such as ``3 rows inserted, 1 updated, 2 deleted``. It names the other counts only if they
        are not 0.
        """
        words = {
            "events superseded": self.superseded,
            "rows incomplete": self.incomplete,
            "deletions of keys without a row": self.without_row,
        }
        others = []
        for word, number in words.items():
            if number:
                others.append(f", {number} {word}")
        return f"{self.inserted} rows inserted, {self.updated} updated, {self.deleted} deleted" + "".join(others)

    @property
    def keys(self) -> int:
        """The sum of four counts: inserted rows, updated rows, deleted rows, and deletions without a row. In a table
        with one row for each key, this is the number of events that are not superseded.
        """
        return self.inserted + self.updated + self.deleted + self.without_row

    def add(self, action: str, keys: int, incomplete: int) -> None:
        """Adds the number ``keys`` to the count of ``action``: ``insert``, ``update``, ``delete``, or ``nothing`` for
        deletions without a row. Also adds ``incomplete``, a number of incomplete rows.
        """
        self.incomplete += incomplete
        if action == "insert":
            self.inserted += keys
        elif action == "update":
            self.updated += keys
        elif action == "delete":
            self.deleted += keys
        elif action == "nothing":
            self.without_row += keys


def sum_of_keys(counts: Iterable[KeyCounts]) -> KeyCounts:
    """Returns the sums of ``counts``, the counts of several topics or several runs."""
    total = KeyCounts()
    for one in counts:
        for count in fields(KeyCounts):
            setattr(total, count.name, getattr(total, count.name) + getattr(one, count.name))
    return total


@dataclass(frozen=True, slots=True)
class Unread:
    """The records of one topic that a run did not read, because a stage would drop every one of them.

    Attributes:
        topic: The topic.
        stage, alias: Number and name of the stage. All counts treat the records as dropped by this stage.
        records: The number of records or of offsets; see ``counted``.
        ranges: The offsets of the records.
        counted: True if ``records`` is the number of records. False if it is the number of offsets, some of which may
            have no record.
    """

    topic: str
    stage: int
    alias: str
    records: int
    ranges: tuple[Range, ...] = ()
    counted: bool = True

    @property
    def text(self) -> str:
        """Returns a sentence such as
        ``100 records of orders were not read, as stage 'new' drops them: orders-0 [0, 100)``.
        """
        what = "records" if self.counted else "offsets"
        return (
            f"{self.records} {what} of {self.topic} were not read, as stage '{self.alias}' drops them: {self.places()}"
        )

    def places(self, most: int = 5) -> str:
        """Returns the first ``most`` ranges of offsets as a string."""
        text = ", ".join(range_texts(self.ranges[:most]))
        more = len(self.ranges) - most
        if more <= 0:
            return text
        return f"{text} and {more} more"


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """The counts of one topic's records and of their rows.

    A record is one row, unless the topic table turns arrays into rows. A record whose value is an array then has one
    row for each element.

    Attributes:
        records: The number of records in the window (the run's range of offsets).
        converters: The number of rows that a converter rejected.
        dropped, failed: The numbers of dropped and of failed rows, by stage.
        touched: The number of touched rows, by ledger entry.
        further: The number of rows beyond the first row of each record. A record with three rows adds 2.
        empty: The number of records without a row: empty arrays, and messages that contain no row. Each is counted as
            one dropped row, although no stage drops it.
        refused: The number of records with at least one failed row. If each record is exactly one row, this number is
            not counted and is 0.
        changes: The changes that foreign stages (Java classes from jars) made.
        erased: The number of records of erased people. The run does not evaluate them. Each is counted as one dropped
            row, although no stage drops it.
    """

    records: int = 0
    converters: int = 0
    dropped: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()
    touched: tuple[int, ...] = ()
    further: int = 0
    empty: int = 0
    refused: int = 0
    changes: tuple[FieldChanges, ...] = ()
    erased: int = 0

    @property
    def rows(self) -> int:
        return self.records + self.further

    @property
    def failed_records(self) -> int:
        # refused is only counted if a record may have several rows; otherwise each failed row is a failed record
        return self.refused or self.all_failed

    @property
    def all_dropped(self) -> int:
        return sum(self.dropped) + self.empty + self.erased

    @property
    def all_failed(self) -> int:
        return self.converters + sum(self.failed)

    @property
    def rows_out(self) -> int:
        return self.rows - self.all_dropped - self.all_failed


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a run's counts that belongs to one of several time partitions.

    Attributes:
        window: The offsets of the run that belong to the time partition.
        topics: The counts of each topic.
        unread: The records of the part that were not read.
    """

    window: Window
    topics: Mapping[str, TopicCounts]
    unread: tuple[Unread, ...] = ()


@dataclass(slots=True)
class RunReport:
    """The report of one run over one window.

    Attributes:
        name: Name of the run's asset or op.
        window: The offsets of the run.
        records_in: The number of records in the window.
        records_out, dropped, failed: The number of rows with each result. They add up to ``rows_in``. A record is one
            row, unless the topic table turns arrays into rows. With ``errors.tolerance=all`` failed records become dead
            letters.
        stages: Counts of rows per stage, in order.
        ledger: For each stage and each of its paths, the number of rows in which the stage touched (changed) the path.
        before, after: Input and output schema of the value; ``None`` if schemaless.
        previous: Output schema of the value in the table's previous commit; ``None`` if there is no such commit or
            schema.
        lineage: Maps the path of each output column to the input fields on which the column depends; empty if
            schemaless.
        masked: Output columns with masked values (``Plan.masked``).
        rejects: The first rejected records of each topic.
        topics: The counts of each topic. The numbers of records and rows in this report are sums over the topics.
        failures: The problems of the topics from which the run committed nothing.
        files, bytes: Data files that the commit added, and their size.
        seconds: Wall time per phase.
        status: ``committed``, ``empty`` (nothing new), or ``already committed``.
        schemas: The number of records with each schema, if the schemas are in a registry. For envelopes, the run counts
            the schemas only if the fields of the records become columns.
        warnings: Problems that did not stop the run, such as a mask that touched no record.
        unread: The records of the window that were not read. The counts include them, but the ledger does not.
        chain: Hash of the chain; empty in reports of older versions.
        rows_written: Rows that the commit added, as counted by the table format; None if it does not count them.
        parts: The parts of the window, if it was read for several time partitions. The table does not store them.
        unwritten: The failed records without a dead letter. The dead letter topic rejects every form of their dead
            letters, even the shortest.
        keyed: For a table with keys: the effects of the events on its rows, by topic; empty for other tables.
        key_after: For a table with keys: the output schema of the key.
        key_lineage: For a table with keys: a dict from each field of the output key to the input fields from which its
            values come.
        destinations: For a run that writes many tables: the result for each table.
        destination_reports: For a run that writes many tables: the reports of the written tables, by topic. The table
            does not store them.
        way: The name of the execution path that evaluated the records, from ``spark.ways``; empty if the run evaluated
            no record.
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
    rejects: list[RejectedRecord] = field(default_factory=list)
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
    keyed: dict[str, KeyCounts] = field(default_factory=dict)
    key_after: Schema | None = None
    key_lineage: dict[str, tuple[str, ...]] = field(default_factory=dict)
    destinations: tuple[Destination, ...] = ()
    destination_reports: "dict[str, RunReport]" = field(default_factory=dict)
    way: str = ""

    @property
    def rows_in(self) -> int:
        """The number of rows of all records in the window (the run's range of offsets). An array without elements is
        counted as one row.
        """
        return self.records_in + sum(c.further for c in self.topics.values())

    @property
    def empty(self) -> int:
        """The number of records that are counted as dropped because they have no row: empty arrays, and messages that
        contain no row.
        """
        return sum(c.empty for c in self.topics.values())

    @property
    def erased(self) -> int:
        """The number of records of erased people. The run did not evaluate these records."""
        return sum(c.erased for c in self.topics.values())

    @property
    def failed_records(self) -> int:
        """The number of records with a failed row. Each of these records becomes one dead letter."""
        # failed counts rows: if three elements of one array fail, these are three failed rows of one failed record
        return self.failed - sum(c.all_failed - c.failed_records for c in self.topics.values())

    def of_topic(self, topic: str) -> "RunReport":
        """Returns the part of the report about ``topic``. The number and size of the files still describe the whole
        commit.
        """
        window = Window(tuple(r for r in self.window.ranges if r.topic == topic))
        unread = tuple(u for u in self.unread if u.topic == topic)
        part = Part(window, {topic: self.topics.get(topic, TopicCounts())}, unread)
        keyed = {topic: self.keyed[topic]} if topic in self.keyed else {}
        return replace(self._of(part), name=f"{self.name} {topic}", keyed=keyed)

    def of_part(self, number: int) -> "RunReport":
        """Returns the part of the report about the time partition with the index ``number``. ``schemas`` and ``keyed``
        are empty, because the run counts them only for all time partitions together.
        """
        return replace(self._of(self.parts[number]), schemas=())

    def _of(self, part: Part) -> "RunReport":
        counts = add_up(part.topics.values())
        read = offsets_of(part.window)
        return replace(
            self,
            window=part.window,
            records_in=counts.records,
            records_out=counts.rows_out,
            dropped=counts.all_dropped,
            failed=counts.all_failed,
            stages=stage_counts([(s.alias, s.transform) for s in self.stages], counts),
            # the lines of foreign stages are not split, but computed again from the changes of each topic
            ledger=ledger_lines(_planned_entries(self.ledger), counts),
            rejects=[r for r in self.rejects if _lies_in(r, read)],
            topics=dict(part.topics),
            failures={},
            unread=part.unread,
            unwritten=tuple((offsets_of(self.unwritten) & read).ranges()),
            # the table format counts only the rows of the whole commit
            rows_written=None,
            parts=(),
            keyed={},
        )

    def touched(self, action: str) -> dict[str, int]:
        """Returns a dict from path to number of records, for all ledger entries with the action ``action``. For
        example, ``touched("masked")`` may return ``{"email": 12}``. The numbers of several stages are added.
        """
        records: dict[str, int] = {}
        for line in self.ledger:
            if line.entry.action == action:
                records[line.entry.path] = records.get(line.entry.path, 0) + line.records
        return records


def _lies_in(reject: RejectedRecord, offsets: OffsetSet) -> bool:
    intervals = offsets.of(reject.topic, reject.partition)
    for start, end in intervals:
        if start <= reject.offset < end:
            return True
    return False


def stage_counts(stages: Sequence[tuple[str, str]], counts: TopicCounts) -> list[StageCounts]:
    """Returns the counts of each stage: how many records reached it, and how many it dropped or rejected.

    Args:
        stages: Pairs of alias and transform, one for each stage.
        counts: The counts of one topic, or the sums of several topics.
    """
    # no stage sees these records: a converter rejected them, they have no row, or the run left them out
    reached, results = counts.rows - counts.converters - counts.empty - counts.erased, []
    for index, (alias, transform) in enumerate(stages):
        # a topic without records has no counts for single stages
        dropped = counts.dropped[index] if counts.dropped else 0
        failed = counts.failed[index] if counts.failed else 0
        results.append(StageCounts(alias, transform, reached, dropped, failed))
        reached -= dropped + failed
    return results


def ledger_lines(entries: Sequence[LedgerEntry], counts: TopicCounts) -> list[LedgerLine]:
    """Returns one line for each of ``entries``, with the number of records that it touched (changed). The fields that
    foreign stages (Java classes from jars) changed follow in lines at the end.
    """
    touched = counts.touched or (0,) * len(entries)
    lines = [LedgerLine(entry, number) for entry, number in zip(entries, touched, strict=True)]
    aliases = {entry.stage: entry.alias for entry in entries}
    for one in counts.changes:
        alias = aliases.get(one.stage, "")
        entry = LedgerEntry(one.stage, alias, one.action, one.path, one.side, explicit=False, from_records=True)
        lines.append(LedgerLine(entry, one.records))
    return lines


def _planned_entries(ledger: Sequence[LedgerLine]) -> list[LedgerEntry]:
    return [line.entry for line in ledger if not line.entry.from_records]


def _sum_of_changes(topics: Iterable[TopicCounts]) -> tuple[FieldChanges, ...]:
    changes: list[FieldChanges] = []
    for counts in topics:
        changes.extend(counts.changes)
    return _sum_of_records(changes)


def _sum_of_records(counts: Iterable[_Count]) -> tuple[_Count, ...]:
    """Returns one count for each different thing counted; its ``records`` are the sum over ``counts``."""
    records: dict[_Count, int] = {}
    for one in counts:
        # without its number, a count can be compared with another count of the same thing
        thing = replace(one, records=0)
        records[thing] = records.get(thing, 0) + one.records
    sums = []
    for thing, number in records.items():
        sums.append(replace(thing, records=number))
    return tuple(sums)


SILENT = ("masked", "changed", "dropped", "renamed")
"""The actions on which users rely. A run warns if a mask, change, drop or rename touches no record."""


def silent_lines(ledger: Sequence[LedgerLine], stages: Sequence[StageCounts]) -> list[LedgerLine]:
    """Returns the lines of ``ledger`` for masks, changes, drops and renames that touched no record. Lines of stages
    that processed no record are left out.
    """
    results = []
    for line in ledger:
        if line.entry.relied_on and not line.records and stages[line.entry.stage].seen:
            results.append(line)
    return results


def add_up(counts: Iterable[TopicCounts]) -> TopicCounts:
    """Returns the sums of ``counts``, the counts of several topics."""
    topics = list(counts)

    def per_stage(name: str) -> tuple[int, ...]:
        return tuple(map(sum, zip(*(getattr(c, name) for c in topics), strict=True)))

    return TopicCounts(
        sum(c.records for c in topics),
        sum(c.converters for c in topics),
        per_stage("dropped"),
        per_stage("failed"),
        per_stage("touched"),
        sum(c.further for c in topics),
        sum(c.empty for c in topics),
        # ``refused`` is 0 for topics whose records have one row; their failures count if another topic has arrays
        sum(c.failed_records for c in topics) if any(c.refused for c in topics) else 0,
        _sum_of_changes(topics),
        sum(c.erased for c in topics),
    )


def joined(reports: Sequence["RunReport"]) -> "RunReport":
    """Returns one report for a run that read several consecutive windows (ranges of offsets). ``reports`` contains one
    report for each window. Counts are added. The output schema and the lineage come from the last window.
    """
    last = reports[-1]
    if len(reports) == 1:
        return last
    spans: dict[tuple[str, int], tuple[int, int]] = {}
    seconds: dict[str, float] = {}
    for report in reports:
        for r in report.window.ranges:
            start, end = spans.get((r.topic, r.partition), (r.start, r.end))
            # the windows are consecutive, so one range for each partition describes all of them
            spans[r.topic, r.partition] = min(start, r.start), max(end, r.end)
        for phase, spent in report.seconds.items():
            seconds[phase] = round(seconds.get(phase, 0.0) + spent, 3)
    topics = {}
    for t in sorted({t for r in reports for t in r.topics}):
        topics[t] = add_up(r.topics[t] for r in reports if t in r.topics)
    counts = add_up(topics.values())
    ledger = ledger_lines(_planned_entries(last.ledger), counts) if counts.touched else []
    ranges = []
    for key, span in spans.items():
        ranges.append(Range(*key, *span))
    problems_by_topic = {}
    for report in reports:
        for t, problems in report.failures.items():
            problems_by_topic[t] = problems
    return replace(
        last,
        # the schema before the first window, so that the report shows what the whole run has changed
        previous=reports[0].previous,
        window=Window(tuple(sorted(ranges))),
        records_in=counts.records,
        records_out=counts.rows_out,
        dropped=counts.all_dropped,
        failed=counts.all_failed,
        stages=stage_counts([(s.alias, s.transform) for s in last.stages], counts),
        ledger=ledger,
        schemas=_schemas_of(reports),
        rejects=[reject for report in reports for reject in report.rejects],
        topics=topics,
        failures=problems_by_topic,
        files=sum(r.files for r in reports),
        bytes=sum(r.bytes for r in reports),
        seconds=seconds,
        warnings=list(dict.fromkeys(w for r in reports for w in r.warnings)),
        unread=tuple(u for r in reports for u in r.unread),
        unwritten=tuple(records for r in reports for records in r.unwritten),
        rows_written=_sum_of(r.rows_written for r in reports),
        keyed=_keyed_of(reports),
        destinations=joined_destinations(report.destinations for report in reports),
        destination_reports=_destination_reports(reports),
        way=", ".join(dict.fromkeys(r.way for r in reports if r.way)),
    )


def _schemas_of(reports: Sequence["RunReport"]) -> tuple[SchemaUse, ...]:
    """Returns the number of records with each schema, summed over all ``reports``."""
    uses: list[SchemaUse] = []
    for report in reports:
        uses.extend(report.schemas)
    return _sum_of_records(uses)


def _keyed_of(reports: Sequence["RunReport"]) -> dict[str, KeyCounts]:
    """Returns, for each topic, how many rows its events inserted, updated and deleted, summed over all ``reports``."""
    counts: dict[str, list[KeyCounts]] = {}
    for report in reports:
        for topic, of_topic in report.keyed.items():
            counts.setdefault(topic, []).append(of_topic)
    keyed = {}
    for topic, several in sorted(counts.items()):
        keyed[topic] = sum_of_keys(several)
    return keyed


def _destination_reports(reports: Sequence["RunReport"]) -> "dict[str, RunReport]":
    """Returns one report for each table, by topic. ``reports`` contains one report for each window (range of offsets)
    of the run. The reports about the same table are joined.
    """
    by_topic: dict[str, list[RunReport]] = {}
    for report in reports:
        for topic, of_table in report.destination_reports.items():
            by_topic.setdefault(topic, []).append(of_table)
    joined_reports = {}
    for topic, several in by_topic.items():
        joined_reports[topic] = joined(several)
    return joined_reports


def _sum_of(numbers: Iterable[int | None]) -> int | None:
    """Returns the sum of ``numbers``. If one of them is None, the result is None."""
    known = list(numbers)
    if None in known:
        return None
    return sum(n for n in known if n is not None)


OF_ARRAYS = ("further", "empty", "refused")
"""The names of three counts about records with no row or with several rows. If each record has exactly one row, these
counts are 0.
"""


def leaf_labels(schema: Schema | None, prefix: str = "") -> dict[str, str]:
    """Returns a dict from the path of each field in ``schema`` to its type as a string, such as ``{"id": "int64",
    "address.city": "string?"}``. A struct has no entry of its own; its fields have entries instead.
    """
    if schema is None:
        return {}
    if schema.type is not Type.STRUCT:
        return {prefix or WHOLE: schema.label}
    labels: dict[str, str] = {}
    for name, child in schema.fields:
        labels.update(leaf_labels(child, below(prefix, name)))
    return labels


def schema_diff(
    before: Schema | None, after: Schema | None, lineage: Mapping[str, Sequence[str]] | None = None
) -> list[FieldChange]:
    """Returns the differences between the schemas ``before`` and ``after``. Renamed fields come first, followed by
    removed, changed and added fields.

    Args:
        before, after: The schemas.
        lineage: Maps each field of ``after`` to the fields of the input from which its value comes. With
            ``{"mail": ["value.email"]}``, the missing field ``email`` is reported as renamed to ``mail``, instead of
            removed. The change then has the new name in its ``after``. If the type has changed too, the new type
            follows: ``mail: string``.
    """
    old, new = leaf_labels(before), leaf_labels(after)
    moved = _renames(old, new, lineage or {})
    changes = []
    for o, n in moved.items():
        changes.append(FieldChange(o, "renamed", old[o], n if old[o] == new[n] else f"{n}: {new[n]}"))
    gone, come = [p for p in old if p not in new and p not in moved], {*moved.values()}
    for p in gone:
        changes.append(FieldChange(p, "removed", old[p]))
    for p in old:
        if p in new and old[p] != new[p]:
            changes.append(FieldChange(p, "changed", old[p], new[p]))
    return changes + [FieldChange(p, "added", "", new[p]) for p in new if p not in old and p not in come]


def of_value(source: str) -> str | None:
    """Returns the path inside the value: ``address.city`` for the source ``value.address.city``. Returns None if
    ``source`` is in the key, in a header or in a different part of the record.
    """
    if source.startswith(("value.", "value[")):
        return source[len("value") :].removeprefix(".")
    return None


def _renames(old: Mapping[str, str], new: Mapping[str, str], lineage: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Maps the old path of each renamed field to its new path. For example, ``old`` has the field ``email``, and
    ``new`` lacks it. If a new field ``mail`` has its value from ``email`` alone, ``email`` was renamed to ``mail``.
    """
    renames: dict[str, str] = {}
    for path, sources in lineage.items():
        source = (of_value(sources[0]) or "") if len(sources) == 1 else ""
        if path in new and path not in old and source in old and source not in new:
            renames.setdefault(source, path)
    return renames
