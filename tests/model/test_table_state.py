"""The state that a commit keeps: written, read, told from what others write."""

import pytest

from dagster_smt.model.offsets import offsets_of
from dagster_smt.model.table_state import REMEMBERED, CommittedRun, TableState
from dagster_smt.model.window import Range, Window

WINDOW = Window((Range("orders", 0, 5, 9),))
STATE = TableState(
    number=3,
    attempt="ab12",
    kind="columns",
    window=WINDOW,
    held=offsets_of([Range("orders", 0, 0, 9), Range("orders", 0, 20, 30), Range("orders", 1, 4, 5)]),
    gaps=offsets_of([Range("orders", 0, 9, 12)]),
    failed=offsets_of([Range("orders", 0, 3, 4), Range("orders", 1, 4, 5)]),
    roughly=True,
    identities={"orders": "x1"},
    rows={"orders": 14},
    runs=(CommittedRun("run/step", "digest", 3, WINDOW.id),),
    dead_letters={"dead-0": 4},
    report={"name": "orders"},
)


def test_comes_back_as_written():
    assert TableState.from_text(STATE.to_text()) == STATE


def test_ends_are_those_of_the_prefix():
    assert STATE.ends() == {"orders": {"0": 12, "1": 5}}


@pytest.mark.parametrize("text", [None, "", "{}", "maintenance", '{"dagster":1}'])
def test_what_others_write_is_no_state(text):
    assert TableState.from_text(text) is None


@pytest.mark.parametrize(
    "change", [('"format":1', '"format":9'), ('"window":', '"windows":'), ('"number":3', '"numbr":3'), ("}}", "")]
)
def test_a_damaged_state_is_refused(change):
    with pytest.raises(ValueError):
        TableState.from_text(STATE.to_text().replace(*change))


def test_runs_are_recognised_by_key_and_request():
    assert STATE.committed("run/step", "digest") == STATE.runs[0]
    assert STATE.committed("run/step", "other") is None and STATE.committed("", "digest") is None
    many = STATE
    for number in range(4, 4 + REMEMBERED):
        many = many.with_run(CommittedRun(f"run{number}", "digest", number, "w"))
    assert len(many.runs) == REMEMBERED and many.committed("run/step", "digest") is None
    assert many.committed(f"run{3 + REMEMBERED}", "digest") is not None
