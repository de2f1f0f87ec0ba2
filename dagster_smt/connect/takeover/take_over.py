"""The steps of a take-over, and the way back. Each step can be repeated, so a command that was killed runs again."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from dagster_smt.connect.takeover.audit_record import config_hash, now, read_record, user, write_record
from dagster_smt.connect.takeover.columns import (
    column_differences,
    columns_of_chain,
    last_records,
    scratch_sink,
)
from dagster_smt.connect.takeover.connector_table import TakeOverTable
from dagster_smt.connect.takeover.rest import ConnectRest
from dagster_smt.connect.takeover.settled import Say, Settled, Settling
from dagster_smt.connect.takeover.types import ColumnDifference, Result, TakeOverPlan, TakeOverRecord
from dagster_smt.errors import EngineError, Problem, SmtError, TableError
from dagster_smt.model.secrets import without_login
from dagster_smt.model.topics.state import TableState

_TRIES = 5
SAMPLE = 1_000
"""Records whose columns are compared."""


@dataclass(frozen=True)
class TakeOverOptions:
    """The options of a take-over.

    Attributes:
        scratch: The folder or URI for scratch tables.
        wait: Seconds to wait for the connector to stop, and for its next commit.
        by: The person who takes over; empty: the user of the process.
        accept_columns: True to accept columns that only the table or only the chain has.
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
    """A take-over of a table from its connector, or its way back.

    Args:
        session: The Spark session.
        plan: The connector and its component.
        options: The options.
        say: Receives a line about each step.
    """

    def __init__(self, session: SparkSession, plan: TakeOverPlan, options: TakeOverOptions, say: Say):
        self.session, self.plan, self.options, self.say = session, plan, options, say
        self.rest = ConnectRest(plan.url, plan.name, options.wait)
        self.table = TakeOverTable(session, plan)
        self.settling = Settling(plan, self.rest, self.table, options.wait, say)

    # --- there ---

    def take(self) -> TakeOverRecord:
        """Takes the table over, or continues a take-over that was killed.

        Raises:
            SmtError: Nothing was taken over; the connector is as it was before.
        """
        state = self.table.state()
        if state is not None and state.taken_over is not None and not state.taken_over.back:
            self._refuse_other_connector(state)
            if not self.rest.state().is_stopped:
                raise self._both_write()
            if self._has_all(state):
                return self._taken_before(state)
        record = self._begun()
        return self._with_record(record, "taken over", lambda: self._take(record, state), self._resume_if_it_ran)

    def _has_all(self, state: TableState) -> bool:
        """Returns True if the noted offsets are those of the connector.

        A worker that lost its cluster may have committed between the proof and the note of a try that was killed.

        Raises:
            TableError: SMT791, runs have committed since: their rows may be in the table twice.
        """
        ends = state.ends_by_partition()
        ahead = [place for place, offset in self._committed().items() if offset > ends.get(place, offset)]
        if ahead and any(run.number > state.number - 1 for run in state.runs[-1:]):
            raise self._both_write()
        return not ahead

    def _take(self, record: TakeOverRecord, state: TableState | None) -> None:
        self._refuse_other_connector(state)
        if state is not None and state.taken_over is None:
            statement = "runs of this package have written the table, and never took it over from a connector"
            hint = "give the asset a table of its own, or take over a table that only the connector writes"
            raise TableError(Problem("SMT791", self.table.sink.place, statement, hint))
        self._compare_columns(record)
        if self.options.dry_run:
            self._would_do(record)
            return
        for _ in range(_TRIES):
            settled = self.settling.settle()
            self._note(record, settled)
            if self._is_on_top_of(record, settled):
                return
            self.say("the connector has committed again: its offsets are read again")
        statement = f"the table changed {_TRIES} times while it was taken over"
        raise EngineError(Problem("SMT783", self.plan.name, statement, "run again when no worker writes the table"))

    def _note(self, record: TakeOverRecord, settled: Settled) -> None:
        """Commits the offsets as the progress of the table."""
        measured, identities = self.table.measured()
        covered = self.table.covered(settled.offsets, measured)
        record.offsets, record.in_flight = settled.offsets.to_json(), settled.text
        record.head_before, record.rows = settled.head.to_json(), self.table.rows()
        self.table.take(covered, measured, identities, record.rows)

    def _is_on_top_of(self, record: TakeOverRecord, settled: Settled) -> bool:
        """Returns True if the connector wrote nothing between the proof and the note."""
        head = self.table.head()
        record.head_after = head.to_json()
        if head.control_offsets != settled.head.control_offsets:
            return False
        self.say(f"taken over: version {head.snapshot} has the offsets of {self.plan.group}")
        return True

    def _taken_before(self, state: TableState) -> TakeOverRecord:
        """Returns the record of a take-over whose note is committed, and writes the record if a try was killed."""
        record = read_record(self.plan.folder)
        self.say("the table is taken over already")
        if record is not None and (record.connector, record.result) == (self.plan.name, "taken over"):
            return record
        record = self._begun()
        if self.options.dry_run:
            return record
        record.result, record.ended = "taken over", now()
        record.state_after = self.rest.state().text
        record.head_after = record.head_after or self.table.head().to_json()
        record.offsets = record.offsets or self.settling.offsets().to_json()
        record.rows = record.rows if record.rows is not None else state.rows.get("")
        write_record(record, self.plan.folder)
        return record

    def _would_do(self, record: TakeOverRecord) -> None:
        head = self.table.head()
        flight = self.settling.flight(head)
        waiting = "nothing is in flight" if flight.is_empty else f"in flight: {flight.text}"
        record.in_flight, record.head_before = waiting, head.to_json()
        record.offsets = self.settling.offsets().to_json()
        self.say(f"would stop {self.plan.name} ({self.rest.state().text}); now {waiting}")
        self.say(f"would note the offsets of {self.plan.group} in {self.table.sink.place}")

    def _compare_columns(self, record: TakeOverRecord) -> None:
        """Compares the table with the rows of the chain.

        Raises:
            TableError: SMT781, for each difference that nobody accepts.
        """
        schema = self.table.table.schema()
        place = self.table.sink.place
        if schema is None:
            hint = "name the connector's table as sink of the component, and its catalog in the Spark session"
            raise TableError(Problem("SMT781", place, "the connector's table does not exist", hint))
        measured, _ = self.table.measured()
        ends = self.settling.offsets().offsets
        window = last_records(list(measured.ranges), ends, self.options.sample)
        self.say(f"comparing columns: {window.records} records")
        scratch = scratch_sink(self.table.sink, self.options.scratch)
        chain = columns_of_chain(self.session, self.plan.spec, scratch, window)
        differences: list[ColumnDifference] = []
        if chain is None:
            record.compared = "The topics have no record to compare columns with."
        else:
            differences = column_differences(self.table.sink, schema, chain)
            record.compared = f"The columns of {window.records} records after the chain, with those of the table."
        record.columns = [difference.to_json() for difference in differences]
        problems = []
        for difference in differences:
            if difference.kind == "type" or not self.options.accept_columns:
                problems.append(_column_problem(place, difference))
        if problems:
            raise TableError(problems)

    # --- and back ---

    def back(self) -> TakeOverRecord:
        """Gives the table back to the connector, which continues at the end of the runs' progress.

        Raises:
            SmtError: The table was not given back. If the table already has the note, only a second try can continue.
        """
        state = self.table.state()
        if state is None or state.taken_over is None:
            statement = "the table was not taken over from a connector"
            raise TableError(Problem("SMT788", self.table.sink.place, statement, "run takeover without --back first"))
        self._refuse_other_connector(state)
        taken = state
        record = self._begun()
        return self._with_record(record, "given back", lambda: self._back(record, taken), undo=lambda: None)

    def _back(self, record: TakeOverRecord, state: TableState) -> None:
        note = state.taken_over
        assert note is not None
        running = not self.rest.state().is_stopped
        if running and not note.back:
            raise self._both_write()
        ends = state.ends_by_partition()
        record.offsets = {"group": self.plan.group, "offsets": state.ends()}
        if not note.back:
            self._refuse_unfinished(state)
            record.head_before, record.rows = self.table.head().to_json(), self.table.rows()
        if self.options.dry_run:
            self.say(f"would set the offsets of {self.plan.group} and start {self.plan.name}")
            return
        if not note.back:
            self.table.give_back(state)
            self.say("the table refuses runs from now on")
        record.head_after = self.table.head().to_json()
        behind = {place: end for place, end in ends.items() if self._committed().get(place, 0) < end}
        if behind and running:
            raise self._both_write()
        if behind:
            self.settling.stop()
            self.rest.set_offsets(behind)
            if any(self._committed().get(place, 0) < end for place, end in behind.items()):
                statement = "the worker did not set the offsets of the connector"
                hint = "run again; if the problem stays, set them with kafka-consumer-groups.sh --reset-offsets"
                raise EngineError(Problem("SMT789", self.plan.name, statement, hint))
        if not running:
            self.rest.resume()
            self.rest.until(lambda s: s.state == "RUNNING", self.options.wait)
        self.say(f"given back: {self.plan.name} goes on after the runs")

    def _committed(self) -> dict[tuple[str, int], int]:
        return dict(self.settling.offsets().offsets)

    def _refuse_unfinished(self, state: TableState) -> None:
        """Refuses a state that one offset per partition cannot tell.

        Raises:
            TableError: SMT788.
        """
        place = self.table.sink.place
        problems = []
        if state.holes:
            first = next(iter(state.holes.ranges()))
            statement = f"no run has read offsets {first.start} to {first.end} of {first.topic}-{first.partition}"
            problems.append(Problem("SMT788", place, statement, "run the asset once without a fixed window"))
        if state.waiting:
            statement = f"{state.waiting.records} records wait for the next run"
            problems.append(Problem("SMT788", place, statement, "run the asset once"))
        if problems:
            raise TableError(problems)

    # --- both ---

    def _refuse_other_connector(self, state: TableState | None) -> None:
        note = state.taken_over if state is not None else None
        if note is not None and note.connector != self.plan.name:
            statement = f"the table was taken over from the connector {note.connector}"
            raise TableError(Problem("SMT791", self.table.sink.place, statement, "name that connector"))

    def _both_write(self) -> TableError:
        statement = f"the connector runs although the table was taken over: {self.rest.state().text}"
        hint = (
            "stop the connector, and compare its offsets with those in takeover.json: records from there on may be in "
            "the table twice; a standalone worker starts all connectors of its command line again"
        )
        return TableError(Problem("SMT791", self.plan.name, statement, hint))

    def _begun(self) -> TakeOverRecord:
        """Returns the record of this try. A try that was killed has left its record."""
        connector = self.plan.connector
        last = read_record(self.plan.folder)
        if last is not None and (last.connector, last.result) == (connector.name, "begun"):
            record = replace(last, tries=last.tries + 1)
        else:
            record = self._new(connector)
        if not self.options.dry_run:
            write_record(record, self.plan.folder)
        return record

    def _new(self, connector: Any) -> TakeOverRecord:
        return TakeOverRecord(
            connector=connector.name,
            connector_class=connector.class_name,
            config_hash=config_hash(connector),
            cluster=without_login(self.plan.url),
            table=self.plan.spec.sink.place,
            asset=self.plan.spec.name,
            by=self.options.by or user(),
            begun=now(),
            tries=1,
            state_before=self.rest.state().text,
        )

    def _with_record(
        self, record: TakeOverRecord, result: Result, steps: Callable[[], None], undo: Callable[[], None]
    ) -> TakeOverRecord:
        """Does the steps, and writes the record of their result."""
        try:
            steps()
        except SmtError as error:
            record.result, record.ended = "refused", now()
            record.problems = [str(problem) for problem in error.problems]
            if not self.options.dry_run:
                with suppress(SmtError):
                    undo()
                with suppress(SmtError):
                    record.state_after = self.rest.state().text
                write_record(record, self.plan.folder)
            raise
        if self.options.dry_run:
            record.result = "dry run"
            return record
        record.result, record.ended, record.problems = result, now(), []
        record.state_after = self.rest.state().text
        write_record(record, self.plan.folder)
        return record

    def _resume_if_it_ran(self) -> None:
        """Starts a connector again that this command has stopped, if the table has no note of a take-over."""
        state = self.table.state()
        if state is not None and state.taken_over is not None and not state.taken_over.back:
            return
        record = read_record(self.plan.folder)
        if record is not None and record.state_before.startswith("RUNNING") and self.rest.state().is_stopped:
            self.say(f"starting {self.plan.name} again")
            self.rest.resume()


def as_json(record: TakeOverRecord) -> dict[str, Any]:
    """Returns a record as JSON data."""
    return asdict(record)


def _column_problem(place: str, difference: ColumnDifference) -> Problem:
    if difference.kind == "type":
        hint = "cast the field in the chain or in the columns of the component; or set schema_evolution: widen"
    else:
        hint = "change the chain; or accept it with --accept-columns: rows of the other side have null there"
    return Problem("SMT781", f"{place}: {difference.column}", difference.text, hint)
