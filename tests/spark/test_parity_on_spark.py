"""Recorded cases on Spark: records with a schema on the Spark evaluator, the others through ``mapInArrow``."""

from pathlib import Path

from dagster_smt.parity.on_spark import SparkAnswers
from dagster_smt.parity.runner import DIFFERENT, UNSUPPORTED, run_files

CASES = sorted((Path(__file__).parents[1] / "parity").glob("*.jsonl"))


def test_every_recorded_case_is_equal_or_different_on_purpose(spark):
    answers = SparkAnswers(spark)
    report = run_files(CASES, answers)
    wrong = {v.id: v.reason for v in report.verdicts if v.verdict in (DIFFERENT, UNSUPPORTED)}
    assert wrong == {}
    reasons = {line.split()[1] for line in answers.unplanned}
    assert reasons == {"SMT207", "SMT904"}, "decimals of negative scale; an object made of a side that is always null"
    assert answers.typed > 1000, "most records with a schema ran on the Spark evaluator"
