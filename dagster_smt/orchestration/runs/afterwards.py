"""Runs the steps after a commit. If such a step fails, the run reports the failure but still succeeds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from dagster_smt.errors import Problem
from dagster_smt.orchestration.metadata.definition_metadata import Metadata
from dagster_smt.orchestration.metadata.table_values import problem_table

T = TypeVar("T")
UNSEEN = "dagster_smt/problems_after_commit"
"""The metadata key for problems after a commit: for example, the number of rows could not be read."""


@dataclass
class Afterwards:
    """A runner of steps after a commit. A step that fails does not make the run fail.

    Attributes:
        place: The table or topics that the run writes to, for messages.
        warn: Logs a warning.
        problems: The problems so far.
    """

    place: str
    warn: Callable[[str], object]
    problems: list[Problem] = field(default_factory=list)

    def get(self, subject: str, make: Callable[[], T], fallback: T) -> T:
        """Calls the function ``make`` and returns its result. If the call fails, adds a problem and returns
        ``fallback``.

        Args:
            subject: The name of the result, for messages.
            make: The step.
            fallback: The result of a step that failed.
        """
        try:
            return make()
        except Exception as error:  # noqa: BLE001 - the run is committed, whatever this is
            statement = f"{subject} cannot be made: {type(error).__name__}"
            self.add(Problem("SMT596", self.place, statement, "the run is committed anyway"))
            return fallback

    def add(self, *problems: Problem) -> None:
        """Logs ``problems`` as warnings, and adds them to the metadata."""
        for problem in problems:
            self.problems.append(problem)
            self.warn(str(problem))

    @property
    def metadata(self) -> Metadata:
        """Returns the problems as metadata; empty if there are none."""
        if self.problems:
            return {UNSEEN: problem_table(self.problems)}
        return {}
