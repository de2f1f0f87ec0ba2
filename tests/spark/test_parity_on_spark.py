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
    assert all("SMT207" in line for line in answers.unplanned), "Spark has no decimals of negative scale"
    assert answers.typed > 1000, "most records with a schema ran on the Spark evaluator"
