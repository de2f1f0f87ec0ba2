"""Reports as JSON in the state of a table."""

from dataclasses import replace

from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.topics.state import CommittedRun, TableState
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.report_json import report_of, report_to_json

WINDOW = Window((Range("orders", 0, 0, 5),))
FIRST, LAST = CommittedRun("run 1", "r", 8, "w1"), CommittedRun("run 2", "r", 9, "w2", chain="c")
STATE = TableState(9, "attempt", "records", runs=(FIRST, LAST), report=report_to_json(RunReport("orders", WINDOW)))


def test_the_report_of_the_last_run_is_complete():
    report = report_of(STATE, LAST)
    assert (report.window, report.status) == (WINDOW, "already committed")


def test_it_is_still_complete_after_an_erasure():
    """An erasure commits without a run: the number of the state goes on, and the report stays."""
    assert report_of(replace(STATE, number=10), LAST).window == WINDOW


def test_an_earlier_run_is_only_known_to_have_committed():
    for state in (STATE, replace(STATE, number=10)):
        report = report_of(state, FIRST)
        assert (report.window, report.status, report.name) == (Window(), "already committed", "orders")


def test_a_state_without_a_report_knows_the_chain_of_the_run():
    report = report_of(replace(STATE, report={}), LAST)
    assert (report.window, report.chain) == (Window(), "c")
