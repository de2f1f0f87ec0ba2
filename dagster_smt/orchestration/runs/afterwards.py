"""What is made of a run after its commit: if it fails, that is told, and the run stays what it is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from dagster_smt.errors import Problem
from dagster_smt.orchestration.metadata.definition_metadata import Metadata
from dagster_smt.orchestration.metadata.table_values import problem_table

T = TypeVar("T")
UNSEEN = "dagster_smt/problems_after_commit"
"""Metadata: what could not be looked at, or told, after a run was committed."""


@dataclass
class Afterwards:
    """Steps after a commit, none of which fails the run.

    Attributes:
        place: What the run writes.
        warn: Hears what failed.
        problems: All of it.
    """

    place: str
    warn: Callable[[str], object]
    problems: list[Problem] = field(default_factory=list)

    def get(self, what: str, make: Callable[[], T], instead: T) -> T:
        """What a step makes, or something instead of it."""
        try:
            return make()
        except Exception as error:  # noqa: BLE001 - the run is committed, whatever this is
            statement = f"{what} cannot be made: {type(error).__name__}"
            self.tell(Problem("SMT596", self.place, statement, "the run is committed all the same"))
            return instead

    def tell(self, *problems: Problem) -> None:
        """Take notice of problems."""
        for problem in problems:
            self.problems.append(problem)
            self.warn(str(problem))

    @property
    def metadata(self) -> Metadata:
        """The problems as metadata; nothing if there are none."""
        if self.problems:
            return {UNSEEN: problem_table(self.problems)}
        return {}
