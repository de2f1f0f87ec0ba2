"""Judges differences from Kafka Connect. A difference is intended if one of the rules D1 to D12 explains it.

A rule explains a difference if it accounts for the part of the record that differs, and if nothing else differs. There
are two kinds of rules:

- Rules on one result (``bridges``). They apply if Kafka crashes, if JSON cannot express a value, or if Spark's columns
  cannot distinguish two values. Such a rule defines the only accepted result.
- Rules that run the case again, with one or more differences switched off (``as_kafka``). The result of this second run
  must equal Kafka's, and the result that is judged must equal the result of the Python evaluator.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dagster_smt.authoring.stage import Chain
from dagster_smt.errors import ConfigError
from dagster_smt.tools.parity import vendor_differences
from dagster_smt.tools.parity.as_kafka import coerced, kept_spelling, read_by_name, runs
from dagster_smt.tools.parity.bridges import SPARK, Bridge
from dagster_smt.tools.parity.compare import difference, kind_of_result, result_difference
from dagster_smt.tools.parity.datums import case_chain, run_case
from dagster_smt.tools.parity.spark_limits import beyond_range, without_schemas
from dagster_smt.tools.parity.zone_leaks import zone_leak

REASONS = {
    "D1": "Kafka ignores an option, rejects a valid option because of one of its characters, or rejects a wrong option "
    "only when it converts a value; this package uses the option, or rejects it immediately",
    "D2": "Kafka has a defect (a crash, a leak, a loss); this package returns a correct result or a coded problem",
    "D3": "all time zones are UTC",
    "D4": "Kafka's result depends on the order of a hash table, or is a value that JSON cannot express",
    "D5": "Kafka silently coerces or wraps a JSON value; this package keeps the spelling of the value (except a null "
    "with a default), or rejects the value",
    "D6": "the Spark evaluator keeps no schema for a null key or value, and headers are bytes",
    "D7": "the decimals of a Spark column have one scale",
    "D8": "Spark's dates and timestamps end earlier than Java's",
    "D9": "the original takes a record's schema from a cache of earlier records; here every record is treated on its "
    "own",
    "D10": "a schema depends on data; for tables of columns, the stage is rejected, or names that come from data are "
    "left out",
    "D11": "the record has several faults, and Kafka and this package report different faults",
    "D12": "the original loses a value, or creates an impossible value; this package rejects the record",
}
_CONVERTER_REFUSALS = {"SMT401", "SMT411", "SMT412", "SMT414", "SMT416", "SMT417"}
_LATE_REFUSALS = {"SMT411", "SMT412"}
Result = dict[str, Any]


def deliberate(case: dict[str, Any], answer: dict[str, Any]) -> str | None:
    """Explains an ``answer`` (our results for a case) that differs from Kafka's results in ``case``.

    Returns:
        The id of the intended difference, such as ``D5``. An empty string if only the spelling of numbers differs. None
        if nothing explains the difference.
    """
    if "results" not in case["expect"]:
        # Kafka has rejected the chain, and this package has run it
        if "results" in answer and vendor_differences.takes_more(case, answer):
            return "D1"
        return None
    want = case["expect"]["results"]
    judge = Judge(case)
    if "configError" in answer:
        return judge.refusal(answer["configError"]) or None
    if len(want) != len(answer["results"]):
        return None
    explanations = []
    for n, (w, g) in enumerate(zip(want, answer["results"], strict=True)):
        explanations.append(judge.explain(n, w, g))
    if any(ids is None for ids in explanations):
        return None
    for ids in explanations:
        if ids:
            return ids[0]
    return ""


def _is_right(case: dict[str, Any]) -> bool:
    """Returns True if this package's result for ``case`` is right: equal to Kafka's, or different only in intended
    ways. The case runs in the Python evaluator.
    """
    try:
        chain = case_chain(case)
    except ConfigError:
        return False
    answer = run_case(case, chain)
    return not difference(case, answer) or deliberate(case, answer) is not None


@dataclass
class Judge:
    """Judges our results for one case (a chain with records and Kafka's results). For each difference from Kafka, it
    names the intended difference, if there is one.

    Attributes:
        case: The case, with Kafka's results.
    """

    case: dict[str, Any]

    @cached_property
    def chain(self) -> Chain | None:
        try:
            return case_chain(self.case)
        except ConfigError:
            return None

    @cached_property
    def ours(self) -> list[Result]:
        """Returns the results of the Python evaluator for the case, one per record. Empty if the case's chain has
        errors.
        """
        if self.chain:
            return run_case(self.case, self.chain)["results"]
        return []

    @cached_property
    def taken_back(self) -> list[tuple[str, list[Result]]]:
        return list(runs(self.case))

    @cached_property
    def bridge(self) -> Bridge:
        return Bridge(self.case, self.chain)

    def refusal(self, problem: dict[str, Any]) -> str:
        """Explains why this package rejects the chain with ``problem``, although Kafka runs the chain. Returns the id
        of the intended difference, such as ``D1``. Empty if no difference explains this.
        """
        want = self.case["expect"]["results"]
        # all() is true for a case without records, which shows no crash
        if want and all(self.bridge.crashes_into_config(w, problem["code"]) for w in want):
            return "D2"
        changed = vendor_differences.without_ignored_values(self.case)
        if changed is not None and _is_right(changed):
            return "D1"
        if vendor_differences.refused_at_once(self.case, problem, _is_right):
            return "D1"
        for decision, results in self.taken_back:
            if decision == "D1" and not any(result_difference(w, g) for w, g in zip(want, results, strict=True)):
                return "D1"
        return ""

    def explain(self, number: int, want: Result, got: Result) -> list[str] | None:
        """Explains the difference between our result ``got`` and Kafka's result ``want`` for the record with the index
        ``number``.

        Returns the ids of the intended differences, such as ``["D5"]``. The list is empty if the results are equal.
        None means that nothing explains the difference.
        """
        direct = self.bridge(number, want, got)
        if direct is not None:
            return direct
        if not self.ours:
            return None
        # the following rules run the case in the Python evaluator, so ``got`` must first equal that evaluator's result
        ours = self._as_ours(number, got)
        reasons = None if ours is None else self._way(number, want, got)
        if reasons:
            return [*reasons, *(ours or ())]
        if SPARK in got:
            return self._spark(number, want, got)
        return None

    def _way(self, number: int, want: Result, got: Result) -> list[str] | None:
        """Explains the difference between the Python evaluator's result ``got`` and Kafka's result ``want``. Returns
        the ids of the intended differences, such as ``["D5"]``, or None if nothing explains it.
        """
        ways = (self._taken_back, self._by_name, self._leak, self._cast_name, self._vendor)
        for way in ways:
            if reasons := way(number, want, got):
                return reasons
        return None

    def _vendor(self, number: int, want: Result, got: Result) -> list[str] | None:
        """Explains the difference between our result ``got`` and the result ``want`` of a vendor's class, such as
        Debezium's. Returns the ids of the intended differences, such as ``["D11"]``, or None if nothing explains it.
        """
        for result in vendor_differences.uncrashed(self.case, number, want):
            reasons = self.bridge(number, result, got)
            if reasons is not None:
                return ["D2", *reasons]
        if self.chain and vendor_differences.fewer_conditions(self.case, self.chain, want):
            return ["D2"]
        if self.chain and vendor_differences.left_as_text(self.case, self.chain, number, want, got):
            return ["D2"]
        if vendor_differences.another_fault(self.case, want, got):
            return ["D11"]
        if vendor_differences.nowhere(self.case, want, got):
            return ["D12"]
        return None

    def _as_ours(self, number: int, got: Result) -> list[str] | None:
        """Explains the difference between ``got`` and the Python evaluator's result for the same record. Returns the
        ids of the intended differences: empty if the results are equal, None if nothing explains the difference.
        """
        ours = self.ours[number]
        if "error" in ours and "error" in got and ours["error"]["code"] != got["error"]["code"]:
            return None
        return self.bridge(number, ours, got)

    def _by_name(self, number: int, want: Result, got: Result) -> list[str] | None:
        """Returns ``["D5"]`` if ``got`` is a converter's error about a wrong schema name. For example, the schema has
        the name of the logical type Date, but its type is string. Kafka reads such a value by its name; this package
        rejects it. Otherwise returns None.
        """
        record = self.case["records"][number]
        if "error" not in got or got["error"]["code"] != "SMT414":
            return None
        side = got["error"]["stage"].removesuffix(".converter")
        if side == "header":
            datums = []
            for h in record["headers"]:
                datums.append(h["value"])
        else:
            datums = [record.get(side)]
        if any(read_by_name(self.case, datum) for datum in datums):
            return ["D5"]
        return None

    def _taken_back(self, number: int, want: Result, got: Result) -> list[str] | None:
        for decision, results in self.taken_back:
            reasons = self.bridge(number, want, results[number])
            if reasons is not None and (decision != "D5" or self._from_coerced(number, got)):
                return [decision, *reasons]
        return None

    def _from_coerced(self, number: int, got: Result) -> bool:
        """Returns True if the difference D5 can be the reason for our result ``got``. D5 says that Kafka converts a
        value to a different type, or spells it differently, where this package does not.

        Suppose that ``got`` is the error of the converter for keys. Then D5 is the reason only if Kafka converts a
        value in the key of the record.
        """
        if "error" not in got:
            return kept_spelling(self.case, self.case["records"][number])
        parts = coerced(self.case, self.case["records"][number])
        stage, code = got["error"]["stage"], got["error"]["code"]
        side, _, converter = stage.rpartition(".")
        if converter == "converter" and side in parts:
            return parts[side] and code in _CONVERTER_REFUSALS
        # JSON without a schema is parsed only where a stage reads it, so the error may be an error of the stage
        return any(parts.values()) and (code in _LATE_REFUSALS or kind_of_result(self.ours[number]) == "error")

    def _leak(self, number: int, want: Result, got: Result) -> list[str] | None:
        if self.chain and zone_leak(self.case, self.chain, number, want, got):
            return ["D2"]
        return None

    def _cast_name(self, number: int, want: Result, got: Result) -> list[str] | None:
        """Returns ``["D2"]`` if Kafka fails because of a wrong name in a schema. An earlier Cast of a whole key or
        value left the name Date in the schema, although the value is no longer a date. Otherwise returns None.
        """
        if self.chain and self.bridge.mislabelled(number, want):
            return ["D2"]
        return None

    def _spark(self, number: int, want: Result, got: Result) -> list[str] | None:
        """Explains the difference between the Spark evaluator's result ``got`` and Kafka's result ``want``. Returns the
        ids of the intended differences.

        Returns None if nothing explains the difference, or if the Python evaluator's result already has an unexplained
        difference.
        """
        ours = self.ours[number]
        python = self.bridge(number, want, ours)
        python = self._way(number, want, ours) if python is None else python
        if python is None or self.chain is None:
            return None
        if vendor_differences.refused_for_columns(self.case, self.chain, number, got):
            return ["D10", *python]
        renamed = vendor_differences.without_names(self.case, self.chain, ours, got)
        same = None if renamed is None else self.bridge(number, renamed, got)
        if same is not None:
            return ["D10", *same, *python]
        for decision, results in (
            ("D6", without_schemas(self.case, self.chain, number, got)),
            ("D8", beyond_range(self.case, self.chain, number, got)),
        ):
            for result in results:
                reasons = self.bridge(number, result, got)
                if reasons is not None:
                    return [decision, *reasons, *python]
        return None
