"""Maintains a table step by step. After each step, the rows and the progress are compared with those before the step.

A step that fails is reported and does not stop the next step. If the progress cannot be read, the steps that remove old
versions do not begin, because a repair of the progress needs these versions.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from dagster_smt.errors import Problem, SmtError
from dagster_smt.model.reports.maintenance_report import MaintenanceReport, StepReport, StepResult
from dagster_smt.model.reports.table_facts import FileSizes
from dagster_smt.model.topics.state import TableState
from dagster_smt.run.spark_failures import coded_failures
from dagster_smt.tables.maintenance.formats import maintained
from dagster_smt.tables.maintenance.maintenance_options import SmtMaintenance
from dagster_smt.tables.maintenance.maintenance_steps import CONFLICT, Maintained
from dagster_smt.tables.sink_options import Sink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.protocol import same_state

_REMOVING = ("expire", "clean_up")
_PAUSES = (1.0, 5.0, 15.0)
"""The pauses in seconds before the second, third and fourth attempt at a maintenance step. A step is repeated if a run
has disturbed it.
"""
_ATTEMPTS = 5
_CLOCKS_SECONDS = 60
"""The largest assumed difference in seconds between the clocks of two machines."""


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The rows and the progress of a table, in one of its versions."""

    state: TableState | None
    rows: int

    @property
    def surplus(self) -> int:
        """The number of rows that no run wrote. The number is negative if other writers removed rows. Runs do not
        change this number.
        """
        committed = sum(self.state.rows.values()) if self.state is not None else 0
        return self.rows - committed


def maintain(
    sink: Sink,
    options: SmtMaintenance,
    session: SparkSession,
    progress: Callable[[str], None] = lambda line: None,
    steps: Sequence[str] | None = None,
    small_below: int = 16 * 2**20,
) -> MaintenanceReport:
    """Runs the maintenance steps of a table, and returns a report.

    Args:
        sink: A Delta or Iceberg table.
        options: The steps, and the age of the versions that they remove.
        session: The Spark session.
        progress: Receives a line before each step.
        steps: The steps to run. None: all steps that ``options`` switches on.
        small_below: A file with fewer bytes is small.

    Raises:
        SmtError: Spark or the table cannot be reached. Failed steps are in the report.
    """
    with coded_failures(sink.place):
        table = open_table(session, sink)
        if table.schema() is None:
            return MaintenanceReport(sink.place, notes=("the table does not exist yet",))
    target = maintained(session, table, options)
    assert target is not None  # ``check_table`` has checked this
    chosen = []
    for step in options.steps_of(sink):
        if steps is None or step in steps:
            chosen.append(step)
    return _Maintenance(sink.place, target, small_below, progress).run(chosen)


@dataclass
class _Maintenance:
    """The steps of ``maintain``, and the problems that have occurred so far."""

    place: str
    maintained: Maintained
    small_below: int
    progress: Callable[[str], None]
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unreadable: Problem | None = None
    started: float = field(default_factory=time.time)

    def run(self, steps: Sequence[str]) -> MaintenanceReport:
        """Runs ``steps`` one after the other, and returns the report."""
        before = self._sizes()
        evidence = self._evidence()
        reports = []
        for step in steps:
            report = self._step(step)
            if report.problem is None:
                evidence = self._compared(step, evidence)
            reports.append(report)
        after = self._sizes() if reports else before
        return MaintenanceReport(
            self.place,
            before,
            after,
            tuple(reports),
            evidence.rows if evidence is not None else None,
            tuple(dict.fromkeys(self.notes)),
            tuple(dict.fromkeys(self.problems)),
        )

    def _step(self, step: str) -> StepReport:
        """Runs ``step`` and returns its report. If a run disturbs the step, the step is repeated."""
        self.progress(f"{step}: {self.place}")
        begin = time.monotonic()
        tries = 0
        problem = self._refusal(step)
        while problem is None:
            tries += 1
            try:
                with coded_failures(self.place):
                    result: StepResult = getattr(self.maintained, step)()
                return StepReport(step, time.monotonic() - begin, result, tries)
            except SmtError as error:
                problem = replace(error.problems[0], statement=f"{step}: {error.problems[0].statement}")
            if problem.code == CONFLICT and tries <= len(_PAUSES):
                self.progress(f"{step}: a run changed {self.place} at the same time; trying again")
                time.sleep(_PAUSES[tries - 1])
                problem = None
        self.problems.append(problem)
        return StepReport(step, time.monotonic() - begin, None, tries, problem)

    def _refusal(self, step: str) -> Problem | None:
        """Returns the reason why ``step`` must not begin. Returns None if the step may begin."""
        if step not in _REMOVING or self.unreadable is None:
            return None
        why = f"{self.unreadable.code}: {self.unreadable.statement}"
        statement = f"{step} did not begin, as the progress of the table cannot be read ({why})"
        hint = f"{self.unreadable.hint}; old versions stay until then"
        return Problem("SMT806", self.place, statement, hint)

    def _sizes(self) -> FileSizes | None:
        try:
            with coded_failures(self.place):
                return self.maintained.sizes(self.small_below)
        except SmtError as error:
            self.problems.extend(error.problems)
            return None

    def _evidence(self) -> _Evidence | None:
        """Returns the rows and the progress of the table's current version; None if they cannot be read."""
        table = self.maintained.table
        try:
            with coded_failures(self.place):
                for _ in range(_ATTEMPTS):
                    # rows and state belong together only if no run has committed between the two
                    state = table.state()
                    rows = table.read().count()
                    if same_state(state, table.state()):
                        return _Evidence(state, rows)
        except SmtError as error:
            self.unreadable = error.problems[0]
            self.problems.extend(error.problems)
            return None
        self.notes.append("runs committed each time that rows were counted: they were not compared")
        return None

    def _compared(self, step: str, before: _Evidence | None) -> _Evidence | None:
        """Reads the rows and the progress of the table after ``step``, and returns them. If they cannot be read, the
        method returns ``before``: the rows and the progress before the step, if those could be read. If progress was
        lost, or if rows came or went without a run, the method notes a problem. Runs may commit in the meantime.
        """
        now = self._evidence()
        if before is None or now is None:
            return now or before
        if problem := self._lost_progress(step, before.state, now.state):
            self.problems.append(problem)
            # later steps then remove no old versions, which a repair of the progress needs
            self.unreadable = self.unreadable or problem
        if now.surplus != before.surplus:
            self._explain_rows(step, before, now)
        return now

    def _lost_progress(self, step: str, before: TableState | None, now: TableState | None) -> Problem | None:
        # runs may have committed since then, but the numbers of commits never become smaller
        if before is None or (now is not None and (now == before or now.number > before.number)):
            return None
        statement = f"after {step} the table's progress is not that of its commit {before.number} any more"
        hint = "restore the version of the table before this job, switch the step off, and report this as a bug"
        return Problem("SMT807", self.place, statement, hint)

    def _explain_rows(self, step: str, before: _Evidence, now: _Evidence) -> None:
        since = (self.started - _CLOCKS_SECONDS) * 1000
        others = []
        for commit in self.maintained.table.foreign():
            if commit.millis >= since:
                others.append(commit.text)
        if others:
            self.notes.append(f"others committed during {step}, so the rows were not compared: {', '.join(others[:3])}")
            return
        statement = f"after {step} the table has {now.surplus - before.surplus:+d} rows that no run accounts for"
        hint = "restore the version of the table before this job, switch the step off, and report this as a bug"
        self.problems.append(Problem("SMT808", self.place, statement, hint))
        self.unreadable = self.unreadable or self.problems[-1]
