"""Runs parity cases (chains with records and Kafka's results), and counts the cases in which our results equal
Kafka's.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dagster_smt.authoring.options import split_list
from dagster_smt.chain import Chain
from dagster_smt.errors import ConfigError
from dagster_smt.tools.parity.compare import difference
from dagster_smt.tools.parity.datums import case_chain, parse_cases, run_case
from dagster_smt.tools.parity.judge import deliberate
from dagster_smt.values.json.lazy import make_room

Evaluate = Callable[[list[tuple[dict[str, Any], Chain]]], list[dict[str, Any] | None]]
EQUAL, DIFFERENT, DELIBERATE, UNSUPPORTED = "equal", "different", "deliberate", "unsupported"


@dataclass
class Verdict:
    """The verdict on one case (a chain with records and Kafka's results): ``equal``, ``different``, ``deliberate`` or
    ``unsupported``. For ``deliberate``, ``decision`` is the id of the intended difference.
    """

    id: str
    verdict: str
    transforms: tuple[str, ...]
    mode: str
    decision: str = ""
    reason: str = ""


@dataclass
class ParityReport:
    """The verdicts on all cases that have been run."""

    verdicts: list[Verdict] = field(default_factory=list)

    def count(self, verdict: str) -> int:
        return sum(v.verdict == verdict for v in self.verdicts)

    def by_transform(self) -> dict[str, dict[str, dict[str, int]]]:
        """The number of cases with each verdict, by transform and by mode. For example,
        ``{"Cast": {"schema": {"cases": 9, "equal": 9}}}``. The modes are ``schema``, ``schemaless``, ``mixed`` and
        ``config``.
        """
        counts_by_transform: dict[str, dict[str, dict[str, int]]] = {}
        for verdict in self.verdicts:
            for name in verdict.transforms or ("(none)",):
                counts = counts_by_transform.setdefault(name, {}).setdefault(verdict.mode, {"cases": 0})
                counts["cases"] += 1
                counts[verdict.verdict] = counts.get(verdict.verdict, 0) + 1
        return dict(sorted(counts_by_transform.items()))

    def to_json(self) -> dict[str, Any]:
        """Returns the report in the form of ``dagster-smt parity --report json``."""
        counts = {}
        for name in (EQUAL, DIFFERENT, DELIBERATE, UNSUPPORTED):
            counts[name] = self.count(name)
        details = []
        for verdict in self.verdicts:
            if verdict.verdict != EQUAL:
                detail = {}
                for k, v in vars(verdict).items():
                    if v != "":
                        detail[k] = v
                details.append(detail)
        return {"cases": len(self.verdicts), **counts, "by_transform": self.by_transform(), "details": details}


def on_python(cases: list[tuple[dict[str, Any], Chain]]) -> list[dict[str, Any] | None]:
    """Runs each of ``cases`` in the Python evaluator, and returns one answer per case."""
    return [answer_to(case, chain) for case, chain in cases]


def answer_to(case: dict[str, Any], chain: Chain) -> dict[str, Any]:
    """Runs ``case`` (a chain with records) in the Python evaluator, and returns the answer: the results of the records.
    If an exception occurs, its class becomes the answer, so that the next case can run.
    """
    try:
        return run_case(case, chain)
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to this case
        return broken(error)


def broken(error: Exception) -> dict[str, Any]:
    """Returns the answer to a case for which an evaluator raised ``error``, such as ``{"broken": "KeyError"}``."""
    return {"broken": type(error).__name__}


def run_files(paths: Iterable[Path], evaluate: Evaluate = on_python) -> ParityReport:
    """Runs all cases (chains with records and Kafka's results) in the files ``paths``, and returns the report."""
    cases = []
    for path in paths:
        cases.extend(parse_cases(path.read_bytes()))
    return run_cases(cases, evaluate)


def run_cases(cases: Iterable[dict[str, Any]], evaluate: Evaluate = on_python) -> ParityReport:
    """Runs ``cases`` with the function ``evaluate``, and returns the report. If ``evaluate`` returns None for a case,
    the case counts as unsupported.
    """
    make_room()  # the values of cases may be nested as deeply as Connect allows
    cases = list(cases)
    parsed: list[Chain | dict[str, Any]] = [_parse(case) for case in cases]
    runnable = []
    for c, p in zip(cases, parsed, strict=True):
        if isinstance(p, Chain):
            runnable.append((c, p))
    answers = iter(evaluate(runnable))
    report = ParityReport()
    for case, chain in zip(cases, parsed, strict=True):
        answer = next(answers) if isinstance(chain, Chain) else chain
        report.verdicts.append(verdict_of(case, answer))
    return report


def _parse(case: dict[str, Any]) -> Chain | dict[str, Any]:
    try:
        return case_chain(case)
    except ConfigError as error:
        first = error.problems[0]
        return {"configError": {"class": first.connect_class, "message": first.statement, "code": first.code}}


def verdict_of(case: dict[str, Any], answer: dict[str, Any] | None) -> Verdict:
    """Returns the verdict on ``answer``, our results for ``case``. The verdict is ``unsupported`` if the answer is
    None, or if this package lacks a class of the case.
    """
    verdict = Verdict(case["id"], UNSUPPORTED, transforms_of(case), mode_of(case))
    if answer is None or _unknown_class(case, answer):
        return verdict
    try:
        decision = _judged(case, answer, verdict)
    except Exception as error:  # noqa: BLE001 - an unreadable case is treated as different, and the run continues
        decision, verdict.reason = None, f"the case cannot be judged: {type(error).__name__}"
    verdict.decision = decision or ""
    if decision is None:
        verdict.verdict = DIFFERENT
    elif decision:
        verdict.verdict = DELIBERATE
    else:
        verdict.verdict = EQUAL
    return verdict


def _judged(case: dict[str, Any], answer: dict[str, Any], verdict: Verdict) -> str | None:
    """Returns an empty string if ``answer`` equals the expected result of ``case``. Returns the id of the intended
    difference, such as ``D5``, if one explains the answer. Returns None if the answer is wrong.

    If the answer is not equal, stores the reason in ``verdict``.
    """
    if "broken" in answer:
        verdict.reason = f"the evaluator broke off: {answer['broken']}"
        return None
    verdict.reason = difference(case, answer)
    if verdict.reason:
        return deliberate(case, answer)
    return ""


def _unknown_class(case: dict[str, Any], answer: dict[str, Any]) -> bool:
    """Returns True if our answer to ``case`` is that this package does not have a class which Kafka has."""
    return "configError" not in case["expect"] and answer.get("configError", {}).get("code") == "SMT010"


def transforms_of(case: dict[str, Any]) -> tuple[str, ...]:
    """Returns the short names of the transforms and predicates in ``case``, such as ``("Cast", "MaskField")``."""
    config = case["config"]
    keys = []
    for kind in ("transforms", "predicates"):
        for alias in split_list(config.get(kind) or ""):
            keys.append(f"{kind}.{alias}.type")
    types = []
    for key in keys:
        if config.get(key):
            types.append(str(config[key]).strip())
    names = set()
    for t in types:
        names.add(t.rsplit(".", 1)[-1].split("$")[0])
    return tuple(sorted(names))


def mode_of(case: dict[str, Any]) -> str:
    """Returns the mode of ``case``: ``schema`` if all keys and values have schemas, ``schemaless`` if none of them has
    a schema, ``mixed`` otherwise. Keys and values that are missing do not count; if all are missing, the mode is
    ``mixed``. The mode is ``config`` if the case expects a configuration error.
    """
    if "configError" in case["expect"]:
        return "config"
    sides = []
    for r in case["records"]:
        for side in ("key", "value"):
            sides.append(r.get(side))
    forms = set()
    for d in sides:
        if d:
            forms.add(next(iter(d)))
    if len(forms) > 1:
        return "mixed"
    if forms:
        return {"envelope": "schema", "schemaless": "schemaless"}[forms.pop()]
    return "mixed"
