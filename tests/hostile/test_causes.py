"""Errors that reach Dagster hold names only: neither their messages nor what is behind them quotes a value."""

import ast
import logging
import sys

import dagster as dg
import pytest
from dagster._utils.error import serializable_error_info_from_exc_info

from dagster_smt.errors import EngineError, Problem, SmtError, TableError
from dagster_smt.model.reports import causes
from dagster_smt.orchestration.runs.failures import problems_as_failure
from dagster_smt.run.spark_failures import coded_failures
from dagster_smt.visible import without_partitions
from tests.package_code import ROOT, nodes

SECRET = "secret-4711"


def test_no_error_is_raised_from_another_one():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        for node in nodes(path):
            if isinstance(node, ast.Raise) and node.cause is not None and not _is_none(node.cause):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert wrong == [], "write 'from None': Dagster stores the messages of all causes"


def test_originals_are_written_in_one_place_only():
    """What logs an exception logs its message."""
    allowed = {"model/reports/causes.py"}
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for node in nodes(path):
            if name not in allowed and _logs_an_exception(node):
                wrong.append(f"{name}:{node.lineno}")
    assert wrong == []


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def _logs_an_exception(node):
    if isinstance(node, ast.keyword) and node.arg in ("exc_info", "stack_info"):
        return True
    if not isinstance(node, ast.Attribute):
        return False
    on = node.value.id if isinstance(node.value, ast.Name) else ""
    return (node.attr == "exception" and "log" in on) or (
        on == "traceback" and node.attr.startswith(("format", "print"))
    )


class ForeignError(Exception):
    """As of a library."""


def in_a_handler():
    try:
        raise ForeignError(SECRET)
    except ForeignError:
        raise TableError(Problem("SMT501", "orders", "there is no such topic"))  # noqa: B904 - what if one forgets it


def in_a_function_that_a_handler_calls():
    def fall_back():
        raise TableError(Problem("SMT501", "orders", "there is no such topic"))

    try:
        raise ForeignError(SECRET)
    except ForeignError:
        fall_back()


def unforeseen():
    raise ValueError(f"could not convert {SECRET}")


def of_the_file_system():
    raise OSError(28, "No space left on device", "/lake")


def of_spark():
    from pyspark.errors import PySparkException

    raise PySparkException(f"The value '{SECRET}' of the type STRING cannot be cast: {SECRET}")


FAILURES = [in_a_handler, in_a_function_that_a_handler_calls, unforeseen, of_the_file_system, of_spark]


@pytest.mark.parametrize("fail", FAILURES)
def test_what_dagster_stores_of_a_failed_step(fail):
    @dg.op
    def step():
        with problems_as_failure(), coded_failures("orders"):
            fail()

    @dg.job
    def job():
        step()

    result = job.execute_in_process(raise_on_error=False)
    assert not result.success
    stored = "\n".join(dg.serialize_value(event) for event in result.all_events)
    assert SECRET not in stored
    assert "SMT" in stored


@pytest.mark.parametrize("fail", FAILURES)
def test_what_dagster_makes_of_an_error_without_a_border(fail):
    """A sensor, or a definition that does not load."""
    try:
        with coded_failures("orders"):
            fail()
    except SmtError:
        shown = serializable_error_info_from_exc_info(sys.exc_info()).to_string()
    assert SECRET not in shown
    assert fail.__name__ in shown, "the stack says where it failed"


def test_an_unforeseen_failure_has_a_code_and_its_stack():
    statement = r"SMT591 orders: a ValueError that was not foreseen"
    with pytest.raises(EngineError, match=statement) as error, coded_failures("orders"):
        unforeseen()
    assert "unforeseen" in [entry.name for entry in error.traceback]
    with pytest.raises(dg.Failure) as failed, problems_as_failure(), coded_failures("orders"):
        unforeseen()
    assert failed.value.description.startswith("SMT591 orders")
    assert "unforeseen" in [entry.name for entry in failed.traceback], "Dagster writes it down after the description"


def test_originals_are_written_for_whoever_asks(monkeypatch, capsys):
    heard = []
    monkeypatch.setattr(logging.getLogger(), "handlers", [_Hearing(heard)])
    monkeypatch.setattr(causes._logger, "handlers", [])
    for switch, written in (("", False), ("0", False), ("1", True)):
        monkeypatch.setenv(causes.SWITCH, switch)
        with pytest.raises(EngineError), coded_failures("orders"):
            unforeseen()
        assert (SECRET in capsys.readouterr().err) is written
    assert heard == [], "what reaches the root logger may reach Dagster"


class _Hearing(logging.Handler):
    def __init__(self, heard):
        super().__init__()
        self.heard = heard

    def emit(self, record):
        self.heard.append(record)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found", "SMT661"),
        ('org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "s3"', "SMT661"),
        ("JDBC catalog is initialized without view support. To auto-migrate", "SMT662"),
        ("org.apache.iceberg.exceptions.NoSuchNamespaceException: Namespace does not exist: db", "SMT663"),
        ("org.apache.spark.sql.AnalysisException: Table orders does not support truncate in batch mode.;", "SMT666"),
    ],
)
def test_stores_catalogs_and_jars_that_do_not_fit_have_a_remedy(message, code):
    from pyspark.errors import PySparkException

    with pytest.raises(EngineError) as caught, coded_failures("orders"):
        raise PySparkException(f"{message} {SECRET}")
    (problem,) = caught.value.problems
    assert (problem.code, SECRET in str(caught.value)) == (code, False) and problem.hint


def test_a_path_in_a_message_has_no_value_of_a_partition():
    """Folders of a table that is partitioned by a column have its values in their names."""
    path = f"/lake/orders/mail={SECRET}/day=2026-01-01/part-0.parquet"
    with pytest.raises(EngineError) as caught, coded_failures("orders"):
        raise FileNotFoundError(2, "No such file or directory", path)
    assert caught.value.problems[0].place == "/lake/orders/mail=…/day=…/part-0.parquet"
    assert without_partitions("s3a://lake/a=b/c=d") == "s3a://lake/a=…/c=d" and without_partitions("a=b") == "a=b"
