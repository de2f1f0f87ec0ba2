"""The report of the maintenance of one table."""

from dataclasses import dataclass

from dagster_smt.errors import Problem
from dagster_smt.model.reports.table_facts import FileSizes


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of one maintenance step.

    Attributes:
        removed: The number of files that the step replaced or removed; None if the table format does not report it.
        added: The number of new files that the step wrote.
        bytes: The size of the files that the step replaced or removed; None if the table format does not report it.
    """

    removed: int | None = 0
    added: int = 0
    bytes: int | None = None


@dataclass(frozen=True)
class StepReport:
    """One step of a maintenance, with its result or its problem.

    Attributes:
        step: ``compact``, ``manifests``, ``expire`` or ``clean_up``.
        seconds: The duration.
        result: The result; None if the step failed.
        tries: The number of attempts.
        problem: The reason for the failure.
    """

    step: str
    seconds: float
    result: StepResult | None = None
    tries: int = 0
    problem: Problem | None = None


@dataclass(frozen=True)
class MaintenanceReport:
    """The report of the maintenance of one table: its steps, and the files before and after the steps.

    Attributes:
        place: The table.
        before, after: The files of the table before and after the steps. None if the table does not exist yet, or if
            the files could not be read.
        steps: The steps, in order.
        rows: The rows of the table at the end; None if the run did not count them.
        notes: Sentences about row counts that could not be compared, or about a table that does not exist yet.
        problems: All problems.
    """

    place: str
    before: FileSizes | None = None
    after: FileSizes | None = None
    steps: tuple[StepReport, ...] = ()
    rows: int | None = None
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
