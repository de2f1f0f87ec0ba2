"""Converts the problems of an error into the failure of a Dagster step."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dagster as dg

from dagster_smt.errors import ConfigError, PlanError, Problem, RecordsRejected, SmtError, UnsupportedError
from dagster_smt.model.reports.causes import log_causes
from dagster_smt.orchestration.metadata.table_values import problem_table

_FINAL = (ConfigError, PlanError, RecordsRejected, UnsupportedError)
"""Classes of errors that would occur again in a retry."""


@contextmanager
def problems_as_failure() -> Iterator[None]:
    """Runs a block, and converts an error of this package into a Dagster failure.

    The description of the failure, and a table in its metadata, list all problems. Dagster may retry the step only if a
    retry can help. The failure has no ``__cause__``. Dagster would store the message of the cause, and this message may
    quote the value of a field.
    """
    try:
        yield
    except SmtError as error:
        log_causes(error)
        raise failure_of(error) from None


def failure_of(error: SmtError) -> "SmtFailure":
    """Returns the Dagster failure that presents ``error``."""
    failure = SmtFailure(
        description=str(error),
        metadata={"dagster_smt/problems": problem_table(error.problems)},
        allow_retries=not isinstance(error, _FINAL),
    )
    failure.foreseen = all_foreseen(error.problems)
    if failure.foreseen:
        return failure
    return failure.with_traceback(error.__traceback__)


def all_foreseen(problems: Iterable[Problem]) -> bool:
    """Returns True if ``problems`` describe a failure completely."""
    # SMT591 is the code of a failure that nobody foresaw: only its stack trace explains it
    return all(problem.code != "SMT591" for problem in problems)


def one_after_the_other(runs: Iterable[tuple[str, Iterator[Any]]], log: dg.DagsterLogManager) -> Iterator[Any]:
    """Yields the events of the runs of several tables, one table after the other. If a table fails, the next tables
    still run.

    Args:
        runs: Pairs of a table's name and the events of its run. The run starts when its first event is requested.
        log: The log of the step, to which each error is written immediately.

    Raises:
        Failure: At least one table failed. The failure is raised at the end, with the errors of all tables.
    """
    errors = []
    for name, events in runs:
        try:
            yield from events
        except SmtError as error:
            log.error(f"{name}: {error}")
            errors.append(error)
    if errors:
        raise joint_failure(errors)


def joint_failure(errors: Sequence[SmtError]) -> dg.Failure:
    """Returns the failure of a step that runs several tables. The failure lists ``errors``, which are the errors of all
    tables. Dagster may retry the step if a retry can help at least one of the tables.
    """
    leading = errors[0]
    for error in errors:
        if not isinstance(error, _FINAL):
            leading = error
            break
    joined = type(leading)([problem for error in errors for problem in error.problems])
    return failure_of(joined)


class SmtFailure(dg.Failure):
    """A failure whose description lists the problems and their remedies.

    If a failure is foreseen, its stack trace does not help, and Dagster would log the stack trace twice. So only an
    unforeseen failure shows a stack trace.

    Attributes:
        foreseen: True if the problems describe the failure completely.
    """

    foreseen = True

    @property
    def description(self) -> str | None:
        """The problems and their remedies.

        Reading this property removes the stack trace. Dagster reads the description before it writes the stack trace,
        and reads no other attribute of this class.
        """
        if self.foreseen and self.__traceback__ is not None:
            self.__traceback__.tb_next = None
        return self._description

    @description.setter
    def description(self, text: str | None) -> None:
        self._description = text
