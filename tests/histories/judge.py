"""What is there after a step, as outside readers see it, against what the model says."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.histories.model import Answer
from tests.histories.topics import Offset


@dataclass
class Evidence:
    """What is there after a step, as outside readers see it.

    Attributes:
        status: How the step ended, as ``Answer.status``.
        codes: The problems that were told.
        rows: Where each row comes from, and its fields.
        letters: The record that each dead letter names, and the letter's value.
    """

    status: str
    codes: frozenset[str]
    rows: list[tuple[Offset, Any]]
    letters: list[tuple[Offset, bytes | None]]


def differences(answer: Answer, result: Evidence) -> list[str]:
    """Everything in which what is there differs from one right way."""
    problems = []
    if answer.status != result.status:
        message = f" ({', '.join(sorted(result.codes))})" if result.codes else ""
        problems.append(f"it is {result.status}{message}, not {answer.status}")
    if not answer.codes <= result.codes:
        problems.append(f"it tells {sorted(result.codes)}, not {sorted(answer.codes)}")
    if answer.any_code and not answer.any_code & result.codes:
        problems.append(f"it tells {sorted(result.codes)}, not one of {sorted(answer.any_code)}")
    if result.codes and not answer.codes and not answer.any_code and answer.status not in ("died", "rivals"):
        problems.append(f"it tells {sorted(result.codes)}, and nothing is wrong")
    problems += _compared("row", Counter(answer.table.rows), Counter(result.rows))
    problems += _compared("letter", Counter(answer.letters), Counter(result.letters))
    return problems


def _compared(what: str, expected: Counter[Any], there: Counter[Any]) -> list[str]:
    problems = []
    for entry in sorted((expected - there).keys(), key=repr):
        problems.append(f"{what} is missing: {entry[0]} {entry[1]}")
    for entry in sorted((there - expected).keys(), key=repr):
        if entry in expected:
            problems.append(f"{what} is there {there[entry]} times, not {expected[entry]}: {entry[0]} {entry[1]}")
        elif any(entry[0] == other[0] for other in expected):
            problems.append(f"{what} has another value: {entry[0]} {entry[1]}")
        else:
            problems.append(f"{what} should not be there: {entry[0]} {entry[1]}")
    return problems


def judged(answers: list[Answer], result: Evidence) -> tuple[Answer | None, list[str]]:
    """The right way that a step went, or what is wrong with the one that comes closest."""
    compared = [(differences(answer, result), answer) for answer in answers]
    problems, closest = min(compared, key=lambda pair: len(pair[0]))
    return (None if problems else closest), problems
