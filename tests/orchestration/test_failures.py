"""What Dagster may do with a step whose tables failed."""

import pytest

from dagster_smt.errors import ConfigError, EngineError, Problem, RecordsRejected, TableError
from dagster_smt.orchestration.runs.failures import joint_failure

REJECTED = RecordsRejected(Problem("SMT513", "orders", "2 records failed"))
SILENT = EngineError(Problem("SMT636", "registry", "does not answer"))
WRONG = ConfigError(Problem("SMT040", "people", "there is no source"))
TAKEN = TableError(Problem("SMT528", "lake", "another run has committed"))


@pytest.mark.parametrize(
    ("errors", "retries"),
    [
        ([REJECTED], False),
        ([REJECTED, WRONG], False),
        ([REJECTED, SILENT], True),
        ([SILENT, REJECTED], True),
        ([WRONG, TAKEN, REJECTED], True),
    ],
    ids=["one", "none helps", "the second", "the first", "in the middle"],
)
def test_a_step_is_tried_again_if_one_of_its_tables_may_succeed(errors, retries):
    failure = joint_failure(errors)
    assert failure.allow_retries is retries
    for error in errors:
        assert error.problems[0].statement in failure.description
