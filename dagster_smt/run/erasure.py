"""Erases people from tables, dead letters and topics that runs have written, and from the old versions of tables.

First, the erasure adds the people to the register, so that runs that begin afterwards leave out their records. Then it
deletes the rows, and makes a commit that records the erasure in the state of the table. A run that began earlier does
not know the new entries in the register. Such an earlier run may commit rows of these people just before the commit of
the erasure. (After the commit of the erasure, this earlier run can no longer commit.) So the erasure searches the table
once more. If it finds such rows, it deletes them and commits again. At the end, it removes old versions, and the
residue scan reads everything that remains.
"""

import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from pyspark.sql import SparkSession

from dagster_smt.errors import Problem, SmtError, TableError
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.reports.erasure_report import Action, ErasedPlace, ErasureReport, PlaceKind, Residue, Scan
from dagster_smt.model.topics.format import Formats
from dagster_smt.model.topics.state import MOST_SETTLED, ErasedPersons, Settlement, TableState
from dagster_smt.model.windows.window import Window
from dagster_smt.privacy.field_paths import text_of
from dagster_smt.run.commits import commit_state, counted_rows, unsettled
from dagster_smt.run.letter_place import same_topics
from dagster_smt.run.spark_failures import coded_failures
from dagster_smt.tables.erasure import topics as of_topics
from dagster_smt.tables.erasure.matching import Erased, RecordMatch, SubjectPaths
from dagster_smt.tables.erasure.needles import Needles
from dagster_smt.tables.erasure.past import purge_deleted_rows, remove_past, rewrite_manifest
from dagster_smt.tables.erasure.register import Register, not_yet_erased
from dagster_smt.tables.erasure.residue import MANIFEST, ResidueScan
from dagster_smt.tables.erasure.row_erasure import (
    LakeTable,
    RandomIds,
    RowErasure,
    column_parts,
    erase_deletions,
    erase_records,
    matching_records,
    replacements,
)
from dagster_smt.tables.erasure.spec import SmtErasure, references
from dagster_smt.tables.erasure.stored_files import files_of, folders_of
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.keyed.remembered_deletions import deletions_table
from dagster_smt.tables.maintenance.maintenance_steps import CONFLICT
from dagster_smt.tables.sink_options import FileTopicSink, KafkaSink, LetterPlace, Sink, SourceColumns, TableSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.iceberg import IcebergTable
from dagster_smt.tables.sinks.protocol import Table, same_state
from dagster_smt.tables.topic_table import FileTopics, TableSource, TopicTable
from dagster_smt.tables.written_formats import written_formats

_ROUNDS = 3
_TRIES = 5
_LETTERS = SourceColumns("source_topic", "source_partition", "source_offset")
_REMAINING = "copies that other systems, backups and derived tables hold"


@dataclass(frozen=True)
class ErasureTarget:
    """The table or the topics that an asset writes, with the dead letters. An erasure removes people from all of these.

    Attributes:
        name: The name of the asset.
        table: The topic table that the runs read.
        sink: The sink that the runs write.
        erasure: The settings that state where records and rows contain the id of a person.
        dead_letters: The destination of dead letters. If None, the topic of dead letters is in the same cluster or
            folder as the topics that the runs read.
        dead_letter_topic: The topic of dead letters; empty if there is none.
    """

    name: str
    table: TopicTable
    sink: Sink
    erasure: SmtErasure
    dead_letters: LetterPlace | None = None
    dead_letter_topic: str = ""

    @property
    def letters(self) -> LetterPlace | None:
        """The destination of the dead letters. By default, it is the cluster or folder with the topics that the runs
        read. None if there are no dead letters.
        """
        if self.dead_letters is None and self.dead_letter_topic and not isinstance(self.table.source, TableSource):
            return self.table.source
        return self.dead_letters


def erase(
    targets: Sequence[ErasureTarget],
    subjects: Collection[str],
    session: SparkSession,
    *,
    run: str = "",
    no_writers: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> ErasureReport:
    """Erases people from tables, topics and dead letters. If one table or topic fails, the erasure continues with the
    next, and the report lists the problems.

    Args:
        targets: The tables.
        subjects: The ids of the people.
        session: The Spark session.
        run: The orchestrator's run and step.
        no_writers: True if no run is writing. Files that no version references are then removed immediately.
        say: Receives lines about the progress, without ids. An error that it raises stops the erasure.

    Raises:
        ConfigError: SMT582, SMT740: a key cannot be read. Nothing was done.
        TableError: SMT755, the register has entries that were written with different keys. Nothing was done.
    """
    return _Erasure(tuple(targets), frozenset(subjects), session, run, no_writers, say).run()


@dataclass
class _Erasure:
    """One erasure, which processes the tables and topics one after the other: see ``erase``."""

    targets: tuple[ErasureTarget, ...]
    ids: frozenset[str]
    session: SparkSession
    key: str
    no_writers: bool
    say: Callable[[str], None]
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    registered: dict[tuple[str, str], int] = field(default_factory=dict)
    new: set[str] = field(default_factory=set)

    def run(self) -> ErasureReport:
        # an error here stops the erasure: if rows were erased before their people are registered, a replay could
        # restore them
        with coded_failures("erasure"):
            self._register()
        places: list[ErasedPlace] = []
        for target in self.targets:
            places += self._target(target)
        erasures = [target.erasure for target in self.targets]
        return ErasureReport(
            self.name,
            round(time.time() * 1000),
            self.key,
            tuple(sorted({erasure.kind for erasure in erasures})),
            len(self.ids),
            len(self.new),
            len(Needles(self.ids, frozenset()).short),
            tuple(sorted({erasure.register_table.place for erasure in erasures})),
            tuple(places),
            (*self._sources(), _REMAINING),
        )

    def _register(self) -> None:
        """Adds the people to all registers (the tables that remember erased people). This happens before anything is
        erased.
        """
        for target in self.targets:
            erasure = target.erasure
            place = (erasure.register_table.place, erasure.kind)
            if place in self.registered:
                continue
            erasure.check_keys()
            register = Register(self.session, erasure)
            new = not_yet_erased(register.erased(), self.ids)
            self.new |= new
            if new:
                writer = erasure.keys[0]
                register.add(references(writer, erasure.kind, new), writer, self.name)
            self.registered[place] = len(register.erased())
            self.say(f"register {register.place}: {len(new)} new people of kind {erasure.kind}")

    def _sources(self) -> Iterator[str]:
        for target in self.targets:
            yield f"the topics that {target.name} reads, in {target.table.source.place}: their owner removes records"

    def _target(self, target: ErasureTarget) -> Iterator[ErasedPlace]:
        sink, letters = target.sink, target.letters
        if isinstance(sink, TableSink):
            yield from _all_of(ErasedPlace(target.name, "table", sink.place), self._tables(target, sink))
        if letters is not None:
            place = ErasedPlace(target.name, "dead letters", f"{letters.place} {target.dead_letter_topic}".rstrip())
            yield from _all_of(place, self._letters(target, letters))
        if isinstance(sink, FileTopicSink | KafkaSink):
            yield from _all_of(ErasedPlace(target.name, "topic", sink.place), self._topics(target, sink))

    # --- tables ---

    def _tables(self, target: ErasureTarget, sink: TableSink) -> Iterator[ErasedPlace]:
        if not sink.per_topic:
            yield self._table(target, sink)
            return
        progress = open_table(self.session, sink)
        state = progress.state()
        for topic in sorted(state.tables) if state is not None else ():
            yield self._table(target, sink.of_topic(topic))
        if state is not None:  # a run that writes many tables continues from the state of the progress table
            self._noted(progress, target, progress.state() or state, 0)

    def _table(self, target: ErasureTarget, sink: TableSink) -> ErasedPlace:
        place = ErasedPlace(target.name, "table", sink.place)
        with _failures(place) as result:
            table = _lake_table(open_table(self.session, sink))
            if table.schema() is None:
                result.place = replace(place, action="nothing to do", scan=Scan())
            else:
                result.place = _TableErasure(self, target, sink, table).run(place)
        if sink.keyed is not None and sink.keyed.sequence_by and not result.place.problems:
            result.place = self._with_deletions(target, sink, result.place)
        return result.place

    def _with_deletions(self, target: ErasureTarget, sink: TableSink, place: ErasedPlace) -> ErasedPlace:
        """Erases the people's keys from the table that remembers the deletions of ``sink``. Returns ``place`` with the
        result of this step.
        """
        with _failures(place) as result:
            beside = _lake_table(deletions_table(self.session, sink))
            if beside.schema() is not None:
                rows = self.rows_of(target, beside)
                count = erase_deletions(self.session, beside, rows)
                purge_deleted_rows(self.session, beside)
                past, residue, scan = self.without_past(target, beside)
                result.place = _joined(place, count, [f"deletions: {line}" for line in past], residue, scan)
        return result.place

    @cached_property
    def random_ids(self) -> Mapping[str, RandomIds]:
        """The random ids of the people. They are the same in all tables of one launch."""
        return replacements(self.ids)

    def rows_of(self, target: ErasureTarget, table: LakeTable) -> RowErasure:
        """Returns an object that finds and deletes the rows in ``table`` that belong to the people."""
        return RowErasure(self.session, table, target.erasure, self.random_ids)

    def noted(
        self,
        table: Table,
        target: ErasureTarget,
        state: TableState,
        rows: int,
        unfinished: Mapping[str, int] | None = None,
    ) -> TableState:
        """Returns ``state`` with a note that this erasure has deleted ``rows`` rows."""
        erasure, before = target.erasure, state.erased
        persons = self.registered[erasure.register_table.place, erasure.kind]
        total = rows + (before.rows if before is not None else 0)
        note = ErasedPersons(erasure.register_table.place, persons, self.name, total, unfinished)
        # a new number and attempt make this another state: a run that began with the former state can no longer commit
        return replace(
            state, number=table.next_number(state), attempt=secrets.token_hex(8), window=Window(), erased=note
        )

    def _noted(self, table: Table, target: ErasureTarget, state: TableState, rows: int) -> None:
        commit_state(table, self.noted(table, target, state, rows), state)

    def needles(self, target: ErasureTarget, values: frozenset[str]) -> Needles:
        """Returns the values and field names for which the residue scan of ``target`` searches. The scan counts values
        of the erased people that are left.
        """
        erasure = target.erasure
        names = set()
        for path in erasure.columns:
            names.add(column_parts(path)[-1])
        paths = SubjectPaths((*erasure.records, *erasure.written), target.table.key, target.table.value)
        for steps_of_part in paths.steps.values():
            for steps in steps_of_part:
                names.add(FieldPath(text_of(steps), steps).leaf)
        # a path without steps, such as "key", is a whole key or value, and contains no field name
        names.discard("")
        return Needles(self.ids, frozenset(names), values)

    def without_past(
        self, target: ErasureTarget, table: LakeTable, values: frozenset[str] = frozenset()
    ) -> tuple[tuple[str, ...], tuple[Residue, ...], Scan | None]:
        """Removes the old versions of ``table``, and then scans all its files.

        Returns:
            A description of the removals, the values that are left, and the counts of the scan. The counts are None if
            the scan could not read anything.
        """
        past = list(remove_past(self.session, table, no_writers=self.no_writers))
        residue, scan = self._scanned(target, table, values)
        if any(one.where == MANIFEST for one in residue) and (more := list(rewrite_manifest(self.session, table))):
            past += more
            residue, scan = self._scanned(target, table, values)
        return tuple(past), residue, scan

    def _scanned(
        self, target: ErasureTarget, table: LakeTable, values: frozenset[str]
    ) -> tuple[tuple[Residue, ...], Scan | None]:
        """Scans all files of ``table``. Returns the values that are left, and the counts of the scan. The counts are
        None if the scan could not read anything.
        """
        self.say(f"residue scan: {table.spec.place}")
        scan = ResidueScan(self.needles(target, values), self.say)
        for folder in folders_of(self.session, table):
            files = files_of(self.session, folder)
            if files is None:
                return (), None
            scan.folder(files, folder)
        return scan.residue, scan.scan

    # --- dead letters and topics ---

    def match(self, erasure: SmtErasure, paths: Sequence[str], formats: Formats) -> RecordMatch:
        """Returns a test for records. A record passes the test if at least one of ``paths`` leads to the id of a person
        whom this erasure erases.
        """
        writer = erasure.keys[0]
        hashes = {writer.id: frozenset(references(writer, erasure.kind, self.ids).values())}
        subject_paths = SubjectPaths(tuple(paths), formats.key, formats.value)
        return RecordMatch(subject_paths, Erased(erasure.kind, (writer,), hashes))

    def _letters(self, target: ErasureTarget, letters: LetterPlace) -> Iterator[ErasedPlace]:
        formats = Formats(target.table.key, target.table.value)
        if isinstance(letters, TableSink):
            yield self._letter_table(target, letters)
        elif isinstance(letters, FileTopics) and target.dead_letter_topic not in of_topics.file_topics(letters):
            return  # no record has failed yet, so there are no dead letters
        else:
            yield self._topic_of(target, letters, target.dead_letter_topic, "dead letters", formats)

    def _letter_table(self, target: ErasureTarget, letters: TableSink) -> ErasedPlace:
        place = ErasedPlace(target.name, "dead letters", letters.place)
        with _failures(place) as result:
            table = _lake_table(open_table(self.session, letters))
            if table.schema() is None:
                result.place = replace(place, action="nothing to do", scan=Scan())
                return result.place
            erasure = target.erasure
            match = self.match(erasure, erasure.records, Formats(target.table.key, target.table.value))
            count = erase_records(self.session, table, match, _LETTERS)
            purged = purge_deleted_rows(self.session, table)
            past, residue, scan = self.without_past(target, table)
            action: Action = "deleted" if count else "nothing to do"
            lines = tuple(filter(None, (purged, *past)))
            result.place = replace(place, action=action, rows=count, past=lines, residue=residue, scan=scan)
        return result.place

    def _topics(self, target: ErasureTarget, sink: FileTopicSink | KafkaSink) -> Iterator[ErasedPlace]:
        """Erases people from the topics of ``sink`` to which runs write, and yields the result for each topic.

        If these topics also hold dead letters, ``_letters`` erases them: a dead letter is an original record, not an
        output of the chain.
        """
        formats, letters = written_formats(target.table, sink), target.letters
        if isinstance(sink, KafkaSink):
            topics: FileTopics | KafkaTopics = sink.topics
            names: Sequence[str] = target.erasure.topics
        else:
            topics = FileTopics(Path(sink.path))
            names = of_topics.file_topics(topics)
        for topic in names:
            if topic != target.dead_letter_topic or letters is None or not same_topics(letters, topics):
                yield self._topic_of(target, topics, topic, "topic", formats)

    def _topic_of(
        self, target: ErasureTarget, topics: FileTopics | KafkaTopics, topic: str, kind: PlaceKind, formats: Formats
    ) -> ErasedPlace:
        paths = target.erasure.records if kind == "dead letters" else target.erasure.paths_written
        match = self.match(target.erasure, paths, formats)
        if isinstance(topics, KafkaTopics):
            erase_topic = partial(of_topics.erase_in_kafka, topics, topic, match)
        else:
            erase_topic = partial(of_topics.erase_in_files, topics, topic, match)
        return self._topic(target, f"{topics.place}: {topic}", kind, erase_topic)

    def _topic(
        self,
        target: ErasureTarget,
        text: str,
        kind: PlaceKind,
        erase_topic: Callable[[Needles, Callable[[str], None]], of_topics.TopicOutcome],
    ) -> ErasedPlace:
        place = ErasedPlace(target.name, kind, text)
        with _failures(place) as result:
            self.say(f"topic {text}")
            outcome = erase_topic(self.needles(target, frozenset()), self.say)
            remedy = outcome.waits[0] if outcome.waits else "launch the erasure again"
            result.place = replace(
                place,
                action=outcome.action,  # type: ignore[arg-type]
                rows=outcome.records,
                residue=tuple(Residue("records", partition, count, remedy) for partition, count in outcome.left),
                scan=Scan(0, outcome.bytes, outcome.read, not outcome.unread, outcome.unread),
                waits=outcome.waits,
            )
        return result.place


@dataclass
class _TableErasure:
    """The erasure of people from one table."""

    erasure: _Erasure
    target: ErasureTarget
    sink: TableSink
    table: LakeTable

    @cached_property
    def rows(self) -> RowErasure:
        return self.erasure.rows_of(self.target, self.table)

    @cached_property
    def match(self) -> RecordMatch:
        spec = self.target.erasure
        return self.erasure.match(spec, spec.paths_written, written_formats(self.target.table, self.sink))

    def run(self, place: ErasedPlace) -> ErasedPlace:
        """Erases the rows, notes the erasure in the state, and removes old versions of the table. Returns ``place``
        with the results.
        """
        session, spec = self.erasure.session, self.target.erasure
        if self.sink.kind == "columns":
            self.rows.check_columns(self.table.read().schema)
        # before any row is deleted: after a crash, the former difference could not be computed any more
        drift = self._begun()
        # before the rows are deleted, because nothing else contains the other values of these people
        self.rows.collect_values()
        total, past = 0, list[str]()
        rounds = 0
        while rounds < _ROUNDS:
            rounds += 1
            self.erasure.say(f"rows: {self.sink.place}")
            count = self._erase()
            total += count
            past.append(purge_deleted_rows(session, self.table))
            self._commit(count, drift)
            # after the commit: no run that began before the erasure can commit any more, so the result stays true
            if not self._left():
                break
        else:
            raise self._never_alone()
        more, residue, scan = self.erasure.without_past(self.target, self.table, frozenset(self.rows.values))
        past += more
        action: Action = "re-keyed" if spec.mode == "rekey" and self.sink.kind == "columns" else "deleted"
        return replace(
            place,
            action=action if total else "nothing to do",
            rows=total,
            rounds=rounds,
            past=tuple(dict.fromkeys(filter(None, past))),
            residue=residue,
            scan=scan,
        )

    def _erase(self) -> int:
        if self.sink.kind == "columns":
            return self.rows.erase(self.table.read().schema)
        assert self.sink.coordinates is not None
        return erase_records(self.erasure.session, self.table, self.match, self.sink.coordinates)

    def _left(self) -> int:
        """Returns the number of rows that still name a person."""
        if self.sink.kind == "columns":
            return self.rows.count()
        assert self.sink.coordinates is not None
        return matching_records(self.table, self.match, self.sink.coordinates).count()

    def _begun(self) -> Mapping[str, int]:
        """Notes in the state that the erasure has begun.

        Returns:
            A dict from topic to the number of rows in the table, minus the number that the table's commits counted:
            ``{"orders": 3}`` if somebody added three rows by hand. The erasure must not change this difference. If the
            erasure continues after a crash, this is the difference before its first attempt.
        """
        state = self.table.state(settle=True)
        if state is not None and state.erased is not None and state.erased.unfinished is not None:
            return state.erased.unfinished
        for _ in range(_TRIES):
            drift, state = self._drift()
            if state is None:
                return drift
            try:
                begun = self.erasure.noted(self.table, self.target, state, 0, drift)
                commit_state(self.table, begun, state)
                return drift
            except TableError as error:
                # SMT528: a run has committed in the meantime, so the rows are counted again
                if error.problems[0].code != "SMT528":
                    raise
        raise self._never_alone()

    def _drift(self) -> tuple[Mapping[str, int], TableState | None]:
        """Returns two items. The first is a dict from topic to the number of rows in the table, minus the number that
        the table's commits counted: ``{"orders": 3}`` if somebody added three rows by hand. The second is the state of
        the table; None if there is no state.
        """
        for _ in range(_TRIES):
            state = self.table.state()
            if state is None:
                return {}, None
            counted = counted_rows(state, self.table, self.sink)
            # the count belongs to the state only if no run has committed while the rows were counted
            if same_state(state, self.table.state()):
                topics = {*counted, *state.rows}
                differences = {}
                for topic in topics:
                    differences[topic] = counted.get(topic, 0) - state.rows.get(topic, 0)
                return differences, state
        raise self._never_alone()

    def _never_alone(self) -> TableError:
        hint = "end the runs of the table, and launch the erasure again"
        statement = "runs committed each time that rows were counted"
        return TableError(Problem(CONFLICT, self.sink.place, statement, hint))

    def _commit(self, erased: int, drift: Mapping[str, int]) -> None:
        """Commits a note that the erasure has erased ``erased`` rows, and the new number of rows by topic. The new
        number is the number of remaining rows minus ``drift``, which is the number of rows that no run wrote (see
        ``_begun``).

        Raises:
            TableError: SMT528, runs committed during every attempt.
        """
        for last in (False,) * (_TRIES - 1) + (True,):
            state = self.table.state(settle=True)
            if state is None:
                return
            counted = counted_rows(state, self.table, self.sink)
            rows = {}
            for topic in {*counted, *state.rows}:
                rows[topic] = max(0, counted.get(topic, 0) - drift.get(topic, 0))
            noted = self.erasure.noted(self.table, self.target, state, erased)
            # the check rows_match_offsets would otherwise report the erasure's own deletions as changes of another
            # writer
            settlement = Settlement(
                f"erasure {self.erasure.name}",
                round(time.time() * 1000),
                sum(state.rows.values()),
                sum(rows.values()),
                tuple(unsettled(self.table, state)),
            )
            noted = replace(noted, rows=rows, settled=(*state.settled, settlement)[-MOST_SETTLED:])
            try:
                commit_state(self.table, noted, state)
                return
            except TableError as error:
                if last or error.problems[0].code != "SMT528":
                    raise


@dataclass
class _failures:  # noqa: N801 - a block, as ``coded_failures`` is
    """A context manager that adds the problems of its block to an ``ErasedPlace``."""

    place: ErasedPlace

    def __enter__(self) -> "_failures":
        self._block = coded_failures(self.place.place)
        self._block.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        try:
            passed = self._block.__exit__(kind, error, trace)  # type: ignore[arg-type]
            return bool(passed)
        except SmtError as coded:
            self.place = replace(self.place, problems=(*self.place.problems, *coded.problems))
            return True


def _all_of(whole: ErasedPlace, places: Iterator[ErasedPlace]) -> Iterator[ErasedPlace]:
    """Yields the results in ``places``, one for each topic or table. If the iteration fails, the last result is
    ``whole`` with the problems of the error. The results before the error stay valid.
    """
    with _failures(whole) as result:
        yield from places
    if result.place.problems:
        yield result.place


def _lake_table(table: Table) -> LakeTable:
    assert isinstance(table, DeltaTable | IcebergTable)
    return table


def _joined(
    place: ErasedPlace, rows: int, past: Sequence[str], residue: Sequence[Residue], scan: Scan | None
) -> ErasedPlace:
    """Returns the sum of two results: ``place`` is the result for a table, and ``rows``, ``past``, ``residue`` and
    ``scan`` are the results for the table that remembers its deletions.
    """
    both = None
    # the erasure is proven only if both tables were scanned
    if place.scan is not None and scan is not None:
        unread = (*place.scan.unread, *scan.unread)
        both = Scan(place.scan.files + scan.files, place.scan.bytes + scan.bytes, 0, not unread, unread)
    return replace(
        place, rows=place.rows + rows, past=(*place.past, *past), residue=(*place.residue, *residue), scan=both
    )
