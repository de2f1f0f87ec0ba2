"""The execution paths ("ways") that a certificate compares with Connect, such as the Python evaluator. A path can
return the results of all records after the first stage, after the first two stages, and so on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dagster_smt.certify.stepwise import Result, Steps

Answers = Callable[[int], Sequence[Result | None]]
"""A function that takes a number of stages, such as 2. It returns the results of all records after this number of
stages. The result of a record is None if the record ran on a different path.
"""
PYTHON = "records in Python"


@dataclass(frozen=True)
class ComparedWay:
    """An execution path whose results are compared with Connect's.

    Attributes:
        name: The name of the path in reports.
        after: Takes a number of stages, and returns the results after that many stages.
        stepwise: True if the path provides the results after each stage. If False, the results after the earlier stages
            are computed only if the results after the last stage differ.
    """

    name: str
    after: Answers
    stepwise: bool = False


@dataclass(frozen=True)
class AbsentWay:
    """An execution path that cannot evaluate the records.

    Attributes:
        name: The name of the path in reports.
        why: The reason.
    """

    name: str
    why: str


def in_python(steps: Steps) -> ComparedWay:
    """Returns the execution path of the Python evaluator. ``steps`` contains its results after each stage."""
    return ComparedWay(PYTHON, lambda stages: steps[stages - 1], stepwise=True)
