"""Recorded cases on Spark: records with a schema on the Spark evaluator, the others through ``mapInArrow``."""

import pytest

from dagster_smt.tools.parity.on_spark import SparkAnswers
from dagster_smt.tools.parity.runner import DIFFERENT, UNSUPPORTED, run_cases
from tests.parity.cases import FILES, cases_of

UNPLANNED = {"SMT207", "SMT904"}
"""Decimals of negative scale; an object made of a side that is always null."""


def judged(spark, step):
    """Every so manieth case: how many columns took, and why the others had no plan there."""
    cases = [case for path in FILES for case in cases_of(path)][::step]
    answers = SparkAnswers(spark)
    report = run_cases(cases, answers)
    wrong = {v.id: v.reason for v in report.verdicts if v.verdict in (DIFFERENT, UNSUPPORTED)}
    assert wrong == {} and len(report.verdicts) == len(cases)
    return answers.typed, {line.split()[1] for line in answers.unplanned}


def test_every_thirtieth_recorded_case_is_equal_or_different_on_purpose(spark):
    typed, reasons = judged(spark, 30)
    assert typed > 30, "most records with a schema ran on the Spark evaluator"
    assert reasons <= UNPLANNED


@pytest.mark.long
def test_every_recorded_case_is_equal_or_different_on_purpose(spark):
    typed, reasons = judged(spark, 1)
    assert typed > 1000, "most records with a schema ran on the Spark evaluator"
    assert reasons == UNPLANNED
