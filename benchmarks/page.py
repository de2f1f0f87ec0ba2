"""Prints a Markdown table of several benchmark runs: ``python -m benchmarks.page one.json two.json three.json``.

The files contain the output of ``python -m benchmarks --json``. Each cell has one figure per run, which shows how much
the runs differ. A target is missed if the median of the runs exceeds it.
"""

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Run = Mapping[str, Any]
_TARGETS = {"bare": ("to_bare", "× bare"), "connect": ("to_connect", "× Connect"), "seconds": ("median", "s")}
"""Maps each kind of target to two items: the figure in the JSON that is compared with the target, and the unit in the
table.
"""


def page(runs: Sequence[Run]) -> str:
    """Returns the Markdown page about ``runs``: facts about the machine, the table of the cases, and sentences that
    follow from the figures.

    Raises:
        ValueError: The runs differ in their cases, numbers of records or versions.
    """
    facts = [{k: v for k, v in run.items() if k not in ("cases", "summary", "load_at_start")} for run in runs]
    names = [[case["name"] for case in run["cases"]] for run in runs]
    if any(other != facts[0] for other in facts) or any(other != names[0] for other in names):
        raise ValueError("the runs differ in more than their times")
    lines = ["; ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts[0].items()), ""]
    lines += ["| case | seconds | × bare | × Connect | target |", "|---|--:|--:|--:|---|"]
    for cases in zip(*(run["cases"] for run in runs), strict=True):
        figures = (_figures([case[name] for case in cases]) for name in ("median", "to_bare", "to_connect"))
        lines.append(f"| {' | '.join([cases[0]['name'], *figures, _target(cases)])} |")
    lines += ["", *(f"- {line}" for texts in zip(*(run["summary"] for run in runs), strict=True) for line in texts)]
    return "\n".join(lines)


def _figures(values: Sequence[float | None]) -> str:
    alone = {1.0}  # a case with which others are compared
    if None in values or set(values) == alone:
        return ""
    return " ".join(f"{value:.2f}" for value in values)


def _target(cases: Sequence[Run]) -> str:
    results = []
    for name, (figure, unit) in _TARGETS.items():
        target = cases[0]["targets"][name]
        values = [case[figure] for case in cases if case[figure] is not None]
        if target is not None and values:
            missed = statistics.median(values) > target
            results.append(f"{target:g} {unit}: {'**missed**' if missed else 'met'}")
    return ", ".join(results)


if __name__ == "__main__":
    print(page([json.loads(Path(name).read_text()) for name in sys.argv[1:]]))
