"""The ways of a certificate. Each way returns the results of the records after some of the stages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dagster_smt.certify.stepwise import Steps

Result = dict[str, Any]
Answers = Callable[[int], Sequence[Result | None]]
"""Returns the results of all records after the first stages; None for a record that is evaluated in a different way."""
PYTHON = "records in Python"


@dataclass(frozen=True)
class ComparedWay:
    """A way whose results are compared with Connect's.

    Attributes:
        name: The name of the way in reports.
        after: Returns the results after a number of stages.
        stepwise: True if the way provides the results after each stage. If False, these are computed only when the
            results after the last stage differ.
    """

    name: str
    after: Answers
    stepwise: bool = False


@dataclass(frozen=True)
class AbsentWay:
    """A way that cannot evaluate the records, with the reason."""

    name: str
    why: str


def in_python(steps: Steps) -> ComparedWay:
    """Returns the way through the Python evaluator."""
    return ComparedWay(PYTHON, lambda stages: steps[stages - 1], stepwise=True)
