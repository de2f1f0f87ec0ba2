"""Gives a verdict on each record of a comparison with Kafka Connect: equal, different, or the id of an intended
difference. The project's parity tests use the same rules (``tools.parity.judge``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dagster_smt.authoring.stage import Chain
from dagster_smt.certify.certificate import CertifiedWay, Finding
from dagster_smt.certify.chain_pair import ChainPair, properties_of
from dagster_smt.certify.compared_ways import ComparedWay
from dagster_smt.certify.difference_places import DifferencePlace, first_place
from dagster_smt.certify.reading import CONVERTER, Reader, Readings
from dagster_smt.certify.stepwise import Result, Steps
from dagster_smt.tools.parity.compare import result_difference
from dagster_smt.tools.parity.judge import Judge

EQUAL, DIFFERENT = "", "different"
"""The verdicts on a record: the result is equal, or it differs and no rule explains why. The third possible verdict is
the id of an intended difference, such as ``D5``.
"""
_IGNORED_OPTION = "D1"


@dataclass
class ChainComparison:
    """The data of one comparison: the chains, the records, and the results after each stage.

    Attributes:
        pair: Our chain and Connect's chain.
        reader: Reads the records.
        readings: The sample records that our converters could read.
        connect: Connect's results, by stage.
        python: The results of the Python evaluator, by stage.
        without: The results of the Python evaluator without the options that Connect's classes ignore; None if the
            chain has no such option.
        show_values: True if the locations of differences contain values.
        findings: The differences so far.
    """

    pair: ChainPair
    reader: Reader
    readings: Readings
    connect: Steps
    python: Steps
    without: Steps | None = None
    show_values: bool = False
    findings: list[Finding] = field(default_factory=list)

    def case(self, stages: int) -> dict[str, Any]:
        """Returns a parity case (chain, records and Connect's results in one dict) for the first ``stages`` stages of
        our chain.
        """
        return self.case_of(self.pair.ours, stages)

    def case_of(self, chain: Chain, stages: int) -> dict[str, Any]:
        """Returns a parity case (chain, records and Connect's results in one dict) for the first ``stages`` stages of
        ``chain``. Connect's results are taken after the same number of stages.
        """
        foreign = self.pair.ours.foreign
        return {
            "id": "certificate",
            "tags": [],
            "config": properties_of(chain, stages),
            "converter": CONVERTER,
            "records": self.readings.cases,
            "expect": {"results": self.connect[stages - 1]},
            "smt_jars": list(foreign.jars) if self.pair.ours.has_foreign else [],
            "connect_version": foreign.connect_version,
        }

    def add(self, way: ComparedWay) -> CertifiedWay:
        """Compares the results of the execution path ``way`` with Connect's results, and adds the differences to
        ``findings``. Returns the path's entry in the certificate: its name, and the number of records that ran on it.
        """
        last = way.after(len(self.connect))
        records = sum(result is not None for result in last)
        verdicts = StageJudge(self, len(self.connect)).verdicts(last)
        if way.stepwise or any(verdicts):
            self._by_stage(way, last, verdicts)
        return CertifiedWay(way.name, records, "" if records else "no record can take this way")

    def _by_stage(self, way: ComparedWay, last_results: Sequence[Result | None], last: Sequence[str]) -> None:
        """Adds a finding for each stage that makes the results on the execution path ``way`` worse. For example, the
        verdict on some records is equal before the stage, and different after it.

        Args:
            way: The execution path.
            last_results: The results of all records after the last stage.
            last: The verdicts on all records after the last stage.
        """
        before: Sequence[str] = [EQUAL] * len(last)
        for stages in range(1, len(self.connect) + 1):
            results, verdicts = last_results, last
            if stages < len(self.connect):
                results = way.after(stages)
                verdicts = StageJudge(self, stages).verdicts(results)
            fresh = []
            for old, verdict in zip(before, verdicts, strict=True):
                fresh.append(_fresh(old, verdict))
            self._note(way.name, stages - 1, results, fresh, last)
            before = verdicts

    def _note(
        self, way: str, stage: int, results: Sequence[Result | None], verdicts: Sequence[str], last: Sequence[str]
    ) -> None:
        numbers: dict[str, list[int]] = {}
        for number, verdict in enumerate(verdicts):
            if verdict != EQUAL:
                numbers.setdefault(verdict, []).append(number)
        for verdict, of_verdict in sorted(numbers.items()):
            first = of_verdict[0]
            got = results[first]
            assert got is not None
            place = self._place(first, self.connect[stage][first], got)
            lasting = set()
            for number in of_verdict:
                if last[number] == DIFFERENT:
                    lasting.add(number)
            decision = "" if verdict == DIFFERENT else verdict
            self.findings.append(Finding(way, stage, decision, len(of_verdict), frozenset(lasting), place))

    def _place(self, number: int, want: Result, got: Result) -> DifferencePlace:
        """Returns the first location in which two results of a record differ: Connect's result ``want``, and our result
        ``got``. Stages in the location have the names that the user gave them.
        """
        aliases = {}
        for n, stage in enumerate(self.pair.ours.stages, 1):
            aliases[f"s{n}"] = stage.alias
        want, got = (_with_alias(result, aliases) for result in (want, got))
        return first_place(self.readings.samples[number], want, got, values=self.show_values)


def _fresh(before: str, verdict: str) -> str:
    """Returns the verdict to report about a record at one stage. Returns ``EQUAL`` if the stage made nothing worse: for
    example, the record was different before the stage and still is.

    Args:
        before: The verdict on the record before the stage.
        verdict: The verdict on the record after the stage.
    """
    if before == EQUAL or (verdict == DIFFERENT and before != DIFFERENT):
        return verdict
    return EQUAL


def _with_alias(result: Result, aliases: dict[str, str]) -> Result:
    if "error" not in result:
        return result
    error = result["error"]
    return {"error": {**error, "stage": aliases.get(error["stage"], error["stage"])}}


@dataclass
class StageJudge:
    """Judges the results that our chain and Connect's chain have after the first ``stages`` stages.

    Attributes:
        comparison: The results of both chains.
        stages: The number of stages.
    """

    comparison: ChainComparison
    stages: int

    @cached_property
    def judge(self) -> Judge:
        """The judge of our chain's results."""
        return Judge(self.comparison.case(self.stages))

    @cached_property
    def judge_without(self) -> Judge | None:
        """The judge for our chain without the options that Connect's classes ignore. None if there are no such
        options.
        """
        if self.comparison.pair.without is None:
            return None
        return Judge(self.comparison.case_of(self.comparison.pair.without, self.stages))

    def verdicts(self, results: Sequence[Result | None]) -> list[str]:
        """Returns one verdict for each of ``results``, such as ``different``. A result is None if the record ran on a
        different execution path; its verdict is ``EQUAL``.
        """
        verdicts = []
        for number, (want, got) in enumerate(zip(self.comparison.connect[self.stages - 1], results, strict=True)):
            if got is None or want == got or not result_difference(want, got):
                verdicts.append(EQUAL)
            else:
                verdicts.append(self._verdict(number, want, got))
        return verdicts

    def _verdict(self, number: int, want: Result, got: Result) -> str:
        verdict = _explanation(self.judge, number, want, got)
        if verdict == DIFFERENT and self._by_ignored_options(number, want, got):
            return _IGNORED_OPTION
        return verdict

    def _by_ignored_options(self, number: int, want: Result, got: Result) -> bool:
        """Returns True if options that Connect's classes ignore are the reason why our result ``got`` differs from
        Connect's result ``want``.

        To find out, this method uses the results of our chain without these options. These results must equal Connect's
        result, or differ from it only by a rule such as ``D5``.
        """
        without, judge = self.comparison.without, self.judge_without
        if without is None or judge is None:
            return False
        in_python = self.comparison.python[self.stages - 1][number]
        if got is not in_python and self.judge.bridge(number, in_python, got) is None:
            return False  # Spark's own difference
        ours = without[self.stages - 1][number]
        return not result_difference(want, ours) or _explanation(judge, number, want, ours) != DIFFERENT


def _explanation(judge: Judge, number: int, want: Result, got: Result) -> str:
    """Returns the id of the rule that explains why Connect's result ``want`` and our result ``got`` differ. If no rule
    does, returns ``DIFFERENT``.
    """
    try:
        ids = judge.explain(number, want, got)
    except Exception:  # noqa: BLE001 - a rule that cannot judge a record explains nothing
        return DIFFERENT
    if ids is None:
        return DIFFERENT
    return next(iter(ids), EQUAL)
