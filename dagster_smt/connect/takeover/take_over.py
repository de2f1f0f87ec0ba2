"""The steps of a takeover, and of the way back. In a takeover, runs of this package continue the table of a connector.
On the way back, the connector continues the table. Each step can be repeated, so a command that was killed can run
again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeGuard

from pyspark.sql import SparkSession

from dagster_smt.connect.takeover.audit_record import config_hash, now, read_record, user, write_record
from dagster_smt.connect.takeover.column_comparison import (
    column_differences,
    columns_of_chain,
    last_records,
    scratch_run,
    scratch_sink,
)
from dagster_smt.connect.takeover.connector_stop import Say, Settling, StoppedConnector
from dagster_smt.connect.takeover.connector_table import TakeOverTable
from dagster_smt.connect.takeover.parquet_files import CountRows
from dagster_smt.connect.takeover.rest import ConnectRest
from dagster_smt.connect.takeover.takeover_parts import ColumnDifference, Result, TakeOverPlan, TakeOverRecord
from dagster_smt.errors import EngineError, Problem, SmtError, TableError, UnsupportedError
from dagster_smt.model.secrets import without_login
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import TopicPartition
from dagster_smt.model.windows.window import Window
from dagster_smt.run.batch import run
from dagster_smt.run.spark_failures import coded_failures

_TRIES = 5
SAMPLE = 1_000
"""The number of records whose columns are compared."""


@dataclass(frozen=True)
class TakeOverOptions:
    """The options of a takeover.

    Attributes:
        scratch: The folder or URI for scratch tables.
        wait: The seconds to wait for the connector to stop, and for its next commit.
        by: The person who takes over; empty for the user of the process.
        accept_columns: True to accept columns that are only in the table or only in the chain's rows.
        sample: The number of records whose columns are compared.
        dry_run: True to change nothing.
    """

    scratch: str
    wait: float = 120
    by: str = ""
    accept_columns: bool = False
    sample: int = SAMPLE
    dry_run: bool = False


class TakeOver:
    """A takeover (runs of this package continue the tables of a connector), or the return of these tables to the
    connector. Most connectors have one table.

    Args:
        session: The Spark session.
        plans: The connector, and the component of each of its tables.
        options: The options.
        say: Receives a line about each step.
    """

    def __init__(self, session: SparkSession, plans: Sequence[TakeOverPlan], options: TakeOverOptions, say: Say):
        self.session, self.plan, self.options, self.say = session, plans[0], options, say
        self.rest = ConnectRest(self.plan.url, self.plan.name, options.wait)
        self.tables = [TakeOverTable(session, plan) for plan in plans]
        self.settling = Settling(self.plan, self.rest, self.tables, options.wait, say)

    # --- takeover ---

    def take(self) -> list[TakeOverRecord]:
        """Takes over the tables of ``plans``: runs of this package continue them in place of the connector. Also
        continues a takeover that was killed. Returns an audit record for each table.

        Raises:
            SmtError: The takeover is not complete. The connector is in the same state as before, unless one of its
                tables already has the note of the takeover: the connector then stays stopped.
        """
        states = [table.state() for table in self.tables]
        noted = [state for state in states if _is_taken(state)]
        for table, state in zip(self.tables, states, strict=True):
            self._refuse_other_connector(table, state)
        # before _begun, which would overwrite takeover.json: its offsets show which rows may be in the table twice
        if noted and not self.rest.state().is_stopped:
            raise self._both_write()
        if noted and self._have_all(noted) and len(noted) == len(states):
            return [self._taken_before(table) for table in self.tables]
        records = [self._begun(table) for table in self.tables]
        return self._with_records(records, "taken over", lambda: self._take(records, states), self._resume_if_it_ran)

    def _have_all(self, states: Iterable[TableState]) -> bool:
        """Returns True if each table in ``states`` has reached the offsets that the connector has committed.

        A table can be behind after a killed attempt. That attempt read the connector's offsets, and then wrote them
        into the state of the table. In between, the connector may have committed more, on a worker that had lost its
        cluster.

        Raises:
            TableError: SMT791, a table is behind, and runs have written to it since the takeover. Rows may then be in
                the table twice.
        """
        committed, result = self._committed(), True
        for state in states:
            ends = state.ends_by_partition()
            ahead = []
            for place, offset in committed.items():
                # a state has no end for a topic that the component does not read: such a topic counts as reached
                if offset > ends.get(place, offset):
                    ahead.append(place)
            if ahead and _has_runs_since(state):
                raise self._both_write()
            result &= not ahead
        return result

    def _take(self, records: Sequence[TakeOverRecord], states: Sequence[TableState | None]) -> None:
        # A state without a note comes from runs that have read the topics themselves. After a takeover, the table would
        # hold the rows of these runs and the connector's rows of the same records.
        for table, state in zip(self.tables, states, strict=True):
            if state is not None and state.taken_over is None:
                statement = "runs of this package have written the table, and never took it over from a connector"
                hint = "give the asset a table of its own, or take over a table that only the connector writes"
                raise TableError(Problem("SMT791", table.sink.place, statement, hint))
        # The columns are compared while the connector still runs: if they differ, the connector was not interrupted.
        for table, record in zip(self.tables, records, strict=True):
            self._compare_columns(table, record)
        if self.options.dry_run:
            self._would_do(records)
            return
        # The connector has one offset for all its tables. If it ran again for the sake of one table, it would also
        # write the records that a run has already written to another table.
        continued = any(state is not None and _is_taken(state) and _has_runs_since(state) for state in states)
        # A worker that has lost its Connect cluster may still run tasks, and may commit between any two of these steps.
        for _ in range(_TRIES):
            settled = self.settling.settle(may_run=not continued)
            # all tables are proved before the first one changes: a refusal then leaves every table to the connector
            proofs = []
            for table in self.tables:
                proofs.append(table.prove_files(settled.offsets, self._rows_of(table)))
            for table in self.tables:
                table.convert_files()
            self._note(records, settled, proofs)
            if self._is_on_top_of(records, settled):
                return
            self.say("the connector has committed again: its offsets are read again")
        statement = f"the table changed {_TRIES} times while it was taken over"
        raise EngineError(Problem("SMT783", self.plan.name, statement, "run again when no worker writes the table"))

    def _rows_of(self, table: TakeOverTable) -> CountRows:
        """Returns a function that gets a window (a range of offsets for each topic-partition). The function counts the
        rows that the chain of ``table`` produces for the records of the window.
        """

        def rows_of(window: Window) -> int:
            scratch = scratch_sink(table.sink, self.options.scratch)
            return run(scratch_run(table.spec, scratch, window), self.session).records_out

        return rows_of

    def _note(self, records: Sequence[TakeOverRecord], settled: StoppedConnector, proofs: Sequence[str]) -> None:
        """Commits a note of the takeover to each table. The note says that the table contains all records before the
        offsets of ``settled``, the stopped connector, so that the next run continues at these offsets. The method also
        adds the offsets, and ``proofs`` (the checks that have passed), to the audit records ``records``.
        """
        for number, (table, record) in enumerate(zip(self.tables, records, strict=True)):
            measured, identities = table.measured()
            covered = table.covered(settled.offsets, measured)
            text = "; ".join(filter(None, (settled.texts[number], proofs[number])))
            record.offsets, record.in_flight = settled.offsets.to_json(), text
            record.head_before, record.rows = settled.heads[number].to_json(), table.rows()
            table.take(covered, measured, identities, record.rows)

    def _is_on_top_of(self, records: Sequence[TakeOverRecord], settled: StoppedConnector) -> bool:
        """Returns True if the connector has committed nothing to the tables since the point in time that ``settled``
        describes. Adds the current versions of the tables to the audit records ``records``.
        """
        heads = self.settling.heads()
        for record, head in zip(records, heads, strict=True):
            record.head_after = head.to_json()
        for head, before in zip(heads, settled.heads, strict=True):
            # The note is itself a new version of the table, so the versions always differ. The offsets of the control
            # topic differ only if an Iceberg sink has committed; other sinks have none.
            if head.control_offsets != before.control_offsets:
                return False
        versions = ", ".join(head.snapshot for head in heads)
        self.say(f"taken over: version {versions} has the offsets of {self.plan.group}")
        return True

    def _taken_before(self, table: TakeOverTable) -> TakeOverRecord:
        """Returns the audit record of a takeover that an earlier attempt completed: the state of ``table`` already
        contains the note of the takeover. If the attempt was killed before it wrote the audit record, this method
        writes the record now.
        """
        record = read_record(table.plan.folder)
        self.say("the table is taken over already")
        if record is not None and (record.connector, record.result) == (self.plan.name, "taken over"):
            return record
        record = self._begun(table)
        if self.options.dry_run:
            return record
        state = table.state()
        record.result, record.ended = "taken over", now()
        record.state_after = self.rest.state().text
        record.head_after = record.head_after or table.head().to_json()
        record.offsets = record.offsets or self.settling.offsets().to_json()
        if record.rows is None and state is not None:
            record.rows = state.rows.get("")
        write_record(record, table.plan.folder)
        return record

    def _would_do(self, records: Sequence[TakeOverRecord]) -> None:
        heads = self.settling.heads()
        flight = self.settling.flight(heads)
        waiting = "nothing is in flight" if flight.is_empty else f"in flight: {flight.text}"
        self.say(f"would stop {self.plan.name} ({self.rest.state().text}); now {waiting}")
        for table, record, head in zip(self.tables, records, heads, strict=True):
            record.in_flight, record.head_before = waiting, head.to_json()
            record.offsets = self.settling.offsets().to_json()
            if table.files is not None and table.table.schema() is None:
                paths = table.files.paths()
                self.say(f"would convert {len(paths)} files with {sum(paths.values())} rows into a Delta table")
            # a running connector writes its files before it commits their offsets: such files are no error yet
            if table.files is not None and self.rest.state().is_stopped:
                self.say(table.prove_files(self.settling.offsets(), self._rows_of(table)))
            self.say(f"would note the offsets of {self.plan.group} in {table.sink.place}")

    def _compare_columns(self, table: TakeOverTable, record: TakeOverRecord) -> None:
        """Compares the columns of ``table`` with the columns that its chain produces. Adds the differences to the audit
        record ``record``.

        Raises:
            TableError: SMT781, for each difference that is not accepted, or if the table does not exist.
        """
        schema = table.columns()
        place = table.sink.place
        if schema is None:
            hint = "name the connector's table as sink of the component, and its catalog in the Spark session"
            raise TableError(Problem("SMT781", place, "the connector's table does not exist", hint))
        measured, _ = table.measured()
        ends = self.settling.offsets().offsets
        window = last_records(list(measured.ranges), ends, self.options.sample)
        self.say(f"comparing columns: {window.records} records")
        scratch = scratch_sink(table.sink, self.options.scratch)
        chain = columns_of_chain(self.session, table.spec, scratch, window)
        differences: list[ColumnDifference] = []
        if chain is None:
            record.compared = "The topics have no record to compare columns with."
        else:
            differences = column_differences(table.sink, schema, chain)
            record.compared = f"The columns of {window.records} records after the chain, with those of the table."
        record.columns = [difference.to_json() for difference in differences]
        problems = []
        for difference in differences:
            # A column that one side lacks is null in that side's rows. A column of another type cannot be written at
            # all.
            if difference.kind == "type" or not self.options.accept_columns:
                problems.append(_column_problem(place, difference))
        if problems:
            raise TableError(problems)

    # --- return to the connector ---

    def back(self) -> list[TakeOverRecord]:
        """Gives the tables back to the connector, which then continues at the offsets that the runs have reached.

        Raises:
            SmtError: The tables were not given back. One of the tables may already have the note of the return. Runs
                and the connector then stay stopped until a second attempt succeeds.
        """
        states = []
        for table in self.tables:
            if table.files is not None:
                statement = (
                    "the connector writes files, and no Delta table: its files would be in no commit of the table"
                )
                hint = "a table that was made of files stays with the asset; the connector can fill another folder"
                raise UnsupportedError(Problem("SMT798", table.sink.place, statement, hint))
            state = table.state()
            if state is None or state.taken_over is None:
                statement = "the table was not taken over from a connector"
                raise TableError(Problem("SMT788", table.sink.place, statement, "run takeover without --back first"))
            self._refuse_other_connector(table, state)
            states.append(state)
        records = [self._begun(table) for table in self.tables]
        return self._with_records(records, "given back", lambda: self._back(records, states), undo=lambda: None)

    def _back(self, records: Sequence[TakeOverRecord], states: Sequence[TableState]) -> None:
        # A running connector is expected in one case only: a killed attempt has locked out the runs of all tables
        # (``fenced``), and has then started the connector again.
        running = not self.rest.state().is_stopped
        fenced = all(map(_is_back, states))
        if running and not fenced:
            raise self._both_write()
        for table, record, state in zip(self.tables, records, states, strict=True):
            record.offsets = {"group": self.plan.group, "offsets": state.ends()}
            if not _is_back(state):
                _refuse_unfinished(table, state)
                record.head_before, record.rows = table.head().to_json(), table.rows()
        self._refuse_other_ends(states)
        if self.options.dry_run:
            self.say(f"would set the offsets of {self.plan.group} and start {self.plan.name}")
            return
        for table, state in zip(self.tables, states, strict=True):
            # before the connector's offsets are set: a run between the two steps would write records past these offsets
            if not _is_back(state):
                table.give_back(state)
        if not fenced:
            self.say("the table refuses runs from now on" if len(states) == 1 else "the tables refuse runs from now on")
        for table, record in zip(self.tables, records, strict=True):
            record.head_after = table.head().to_json()
        self._set_offsets(states[0].ends_by_partition(), running)
        if not running:
            self.rest.resume()
            self.rest.until(lambda s: s.state == "RUNNING", self.options.wait)
        self.say(f"given back: {self.plan.name} continues after the runs")

    def _set_offsets(self, ends: Mapping[TopicPartition, int], running: bool) -> None:
        """Moves the connector's offsets forward to ``ends``, the offsets up to which runs have read. Offsets never move
        back. If ``running`` is true and an offset would have to move, raises an error.
        """
        committed = self._committed()
        behind = {}
        for place, end in ends.items():
            # never backwards: a connector that a killed attempt has already resumed would write its last records again
            if committed.get(place, 0) < end:
                behind[place] = end
        if behind and running:
            raise self._both_write()
        if not behind:
            return
        self.settling.stop()
        self.settling.set_offsets(behind)
        committed = self._committed()
        if any(committed.get(place, 0) < end for place, end in behind.items()):
            statement = "the worker did not set the offsets of the connector"
            hint = "run again; if the problem stays, set them with kafka-consumer-groups.sh --reset-offsets"
            raise EngineError(Problem("SMT789", self.plan.name, statement, hint))

    def _committed(self) -> dict[TopicPartition, int]:
        return dict(self.settling.offsets().offsets)

    def _refuse_other_ends(self, states: Sequence[TableState]) -> None:
        """Raises an error if runs have read the tables in ``states`` up to different offsets. A connector has only one
        offset per topic-partition for all its tables.

        The comparison includes tables that an earlier attempt has already given back. No run writes these tables any
        more, so their ends have not changed since.

        Raises:
            TableError: SMT796.
        """
        first = states[0].ends_by_partition()
        for table, state in zip(self.tables, states, strict=True):
            ends = state.ends_by_partition()
            places = []
            for place in {*first, *ends}:
                if first.get(place, 0) != ends.get(place, 0):
                    places.append(place)
            different = sorted(places)
            if different:
                topic, partition = different[0]
                statement = (
                    f"the table ends at offset {ends.get(different[0], 0)} of {topic}-{partition}, and "
                    f"{self.tables[0].sink.place} at {first.get(different[0], 0)}"
                )
                hint = "let each asset run until all have the same offsets; after a killed attempt, take over first"
                raise TableError(Problem("SMT796", table.sink.place, statement, hint))

    # --- both directions ---

    def _refuse_other_connector(self, table: TakeOverTable, state: TableState | None) -> None:
        note = state.taken_over if state is not None else None
        if note is not None and note.connector != self.plan.name:
            statement = f"the table was taken over from the connector {note.connector}"
            raise TableError(Problem("SMT791", table.sink.place, statement, "name that connector"))

    def _both_write(self) -> TableError:
        statement = f"the connector runs although the table was taken over: {self.rest.state().text}"
        hint = (
            "stop the connector, and compare its offsets with those in takeover.json: records from there on may be in "
            "the table twice; a standalone worker starts all connectors of its command line again"
        )
        return TableError(Problem("SMT791", self.plan.name, statement, hint))

    def _begun(self, table: TakeOverTable) -> TakeOverRecord:
        """Returns the audit record for ``table``, and writes the record to a file, except in a dry run. If an earlier
        attempt was killed, this method continues the audit record of that attempt, and increases the record's number of
        tries by one.
        """
        plan = table.plan
        last = read_record(plan.folder)
        if last is not None and (last.connector, last.result) == (plan.name, "begun"):
            record = replace(last, tries=last.tries + 1)
        else:
            record = self._new(plan)
        if not self.options.dry_run:
            write_record(record, plan.folder)
        return record

    def _new(self, plan: TakeOverPlan) -> TakeOverRecord:
        return TakeOverRecord(
            connector=plan.name,
            connector_class=plan.connector.class_name,
            config_hash=config_hash(plan.connector),
            cluster=without_login(plan.url),
            table=plan.spec.sink.place,
            asset=plan.spec.name,
            by=self.options.by or user(),
            begun=now(),
            tries=1,
            state_before=self.rest.state().text,
        )

    def _with_records(
        self, records: list[TakeOverRecord], result: Result, steps: Callable[[], None], undo: Callable[[], None]
    ) -> list[TakeOverRecord]:
        """Calls ``steps``, and then writes the audit records ``records`` with the result ``result``. If ``steps``
        raises an error, calls ``undo``, writes the problems into the audit records, and raises the error again. A dry
        run writes nothing, and does not call ``undo``.
        """
        try:
            # Spark and catalogs raise errors of any class, and after each of them the connector has to be started
            # again. KeyboardInterrupt passes: as after a kill, the record stays "begun", and the next attempt continues
            # it.
            with coded_failures(self.plan.name):
                steps()
        except SmtError as error:
            if not self.options.dry_run:
                # a worker that does not respond must not replace the error that the user has to see
                with suppress(SmtError):
                    undo()
            self._end(records, "refused", [str(problem) for problem in error.problems])
            raise
        self._end(records, "dry run" if self.options.dry_run else result, [])
        return records

    def _end(self, records: Sequence[TakeOverRecord], result: Result, problems: list[str]) -> None:
        after = ""
        # the worker may be the part that failed: the record is then written without the connector's last state
        with suppress(SmtError):
            after = self.rest.state().text
        for table, record in zip(self.tables, records, strict=True):
            record.result, record.ended, record.problems = result, now(), problems
            record.state_after = after
            if not self.options.dry_run:
                write_record(record, table.plan.folder)

    def _resume_if_it_ran(self) -> None:
        """Starts the connector again if it ran before this command stopped it. If a table already has the note of a
        takeover, the connector stays stopped.
        """
        # read again, because the failed step may have written a note, perhaps into one of several tables only
        if any(_is_taken(table.state()) for table in self.tables):
            return
        record = read_record(self.plan.folder)
        # From the file: if an earlier attempt stopped the connector and was killed, this attempt has only seen it
        # stopped.
        if record is not None and record.state_before.startswith("RUNNING") and self.rest.state().is_stopped:
            self.say(f"starting {self.plan.name} again")
            self.rest.resume()


def _is_taken(state: TableState | None) -> TypeGuard[TableState]:
    return state is not None and state.taken_over is not None and not state.taken_over.back


def _is_back(state: TableState) -> bool:
    return state.taken_over is not None and state.taken_over.back


def _has_runs_since(state: TableState) -> bool:
    """Returns True if a run has committed to the table after the note of the takeover."""
    if state.taken_over is None or not state.runs:
        return False
    last = state.runs[-1].number
    if state.taken_over.number:
        return last > state.taken_over.number
    # A state of an older version does not contain the number of the note. Besides runs and notes, only erasures commit:
    # without an erasure, the state has the number of the note or of the last run. After an erasure nothing tells
    # whether the run or the note came first, so the run counts: otherwise the connector might write its records again.
    return last == state.number or state.erased is not None


def _refuse_unfinished(table: TakeOverTable, state: TableState) -> None:
    """Raises an error if a connector cannot continue ``table``, for one of two reasons. No run has read some offsets
    before or between the rows of the table, or records wait for the next run. A connector has only one offset per
    topic-partition, so it would skip or repeat records.

    Raises:
        TableError: SMT788.
    """
    place = table.sink.place
    problems = []
    if state.unread:
        first = next(iter(state.unread.ranges()))
        statement = f"no run has read offsets {first.start} to {first.end} of {first.topic}-{first.partition}"
        problems.append(Problem("SMT788", place, statement, "run the asset once without a fixed window"))
    if state.waiting:
        statement = f"{state.waiting.records} records wait for the next run"
        problems.append(Problem("SMT788", place, statement, "run the asset once"))
    if problems:
        raise TableError(problems)


def _column_problem(place: str, difference: ColumnDifference) -> Problem:
    if difference.kind == "type":
        hint = "cast the field in the chain or in the columns of the component; or set schema_evolution: widen"
    else:
        hint = "change the chain; or accept it with --accept-columns: rows of the other side have null there"
    return Problem("SMT781", f"{place}: {difference.column}", difference.text, hint)
