"""Checks the option ``plugin.version`` (KIP-891).

All classes of this package have the same version: the Kafka release whose results this package reproduces.
"""

import re

from dagster_smt.chain.problems import config_problem
from dagster_smt.errors import Problem
from dagster_smt.model.java_text import trim

KAFKA = "4.3.1"
# Maven's syntax: a square bracket includes the version beside it, a parenthesis excludes it
_RANGE = re.compile(r"([\[(])([\d.]*),([\d.]*)([\])])")


def version_problems(text: object, place: str) -> list[Problem]:
    """Returns an empty list if ``text`` permits the version of Kafka whose results this package reproduces. Otherwise
    returns one problem. ``text`` is a version, a range such as ``[4.0,5.0)``, ``latest`` or None.
    """
    if text is None or _admits(trim(str(text))):
        return []
    statement = f"the chain requires version {text}, but results here are those of Kafka {KAFKA}"
    return [config_problem("SMT015", f"{place} plugin.version", statement, "remove plugin.version")]


def _admits(text: str) -> bool:
    match = _RANGE.fullmatch(text.replace(" ", ""))
    if not match:
        # `[4.3.1]` means exactly this version
        return text in ("", "latest", KAFKA, f"[{KAFKA}]")
    opens, low, high, closes = match.groups()
    above = not low or _parts(low) < _parts(KAFKA) or (opens == "[" and _parts(low) == _parts(KAFKA))
    below = not high or _parts(KAFKA) < _parts(high) or (closes == "]" and _parts(high) == _parts(KAFKA))
    return above and below


def _parts(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.split("."):
        numbers.append(int(part or 0))
    # 4.3 is the same version as 4.3.0
    return tuple(numbers + [0] * (3 - len(numbers)))
