"""The state that a commit keeps: written, read, told from what others write."""

import json
from dataclasses import replace

import pytest

from dagster_smt.model.topics.state import (
    FORMAT,
    KEY,
    REMEMBERED,
    CommittedRun,
    ErasedPersons,
    NewerState,
    Settlement,
    TableState,
    remedy,
)
from dagster_smt.model.topics.taken_over import TakenOver
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.model.windows.time_spans import EVER, Span, reached, with_span
from dagster_smt.model.windows.window import Range, Window

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
    begins={("orders", 0): 0, ("orders", 1): 4, ("empty", 3): 7},
    spans={("orders", 0): (Span(-EVER, 5, 7), Span(9, 12, 9))},
    absent=offsets_of([Range("orders", 1, 6, 7)]),
    epochs={("orders", 0): 3},
    identities={"orders": "x1"},
    rows={"orders": 14},
    runs=(CommittedRun("run/step", "digest", 3, WINDOW.id),),
    dead_letters={"dead-0": 4},
    report={"name": "orders"},
    former=offsets_of([Range("orders", 0, 0, 4)]),
    settled=(Settlement("run/step", 1700000000000, 14, 12, ("version 7 (DELETE, 2026-01-31T12:00:00Z)",)),),
    taken_over=TakenOver("lake-orders", offsets_of([Range("orders", 0, 0, 4)]), 1700000000000),
    erased=ErasedPersons("lake/erased", 3, "ab34", 2, {"orders": -1}),
)

_FIRST = (
    '"number":3,"attempt":"ab12","kind":"columns","window":{"orders":{"0":[5,9]}},'
    '"held":{"orders":{"0":[[0,9],[20,30]],"1":[[4,5]]}},"gaps":{"orders":{"0":[[9,12]]}},'
    '"identities":{"orders":"x1"},"rows":{"orders":14},"runs":[["run/step","digest",3,"w",[]]]'
)
OLD = (
    '{"dagster_smt":{"format":1,' + _FIRST + "}}",
    '{"dagster_smt":{"format":1,"failed":{"orders":{"0":[[3,4]]}},"roughly":true,' + _FIRST + ',"dead_letters":{}}}',
    '{"dagster_smt":{"format":1,"failed":{},"roughly":false,' + _FIRST + ',"dead_letters":{"d-0":4},"report":{}}}',
)


def test_comes_back_as_written():
    assert TableState.from_text(STATE.to_text()) == STATE


def test_ends_are_those_of_the_prefix():
    assert STATE.ends() == {"orders": {"0": 12, "1": 5}, "empty": {"3": 7}}


def test_a_state_of_an_earlier_version_is_read():
    data = json.loads(STATE.to_text())
    for name in ("begins", "spans", "absent", "epochs"):
        del data[KEY][name]
    before = TableState.from_text(json.dumps(data, separators=(",", ":")))
    assert before is not None and before == replace(STATE, begins={}, spans={}, absent=OffsetSet(), epochs={})


UNREAD = {
    # the range that the first run read, where the topic begins at 4: the offsets before it
    (4, 9): [],
    (6, 9): [Range("orders", 0, 4, 6)],
}


@pytest.mark.parametrize(("held", "before"), UNREAD.items())
@pytest.mark.parametrize("later", [[], [Range("orders", 0, 20, 30)]])
def test_a_first_run_of_a_fixed_window_leaves_what_is_before_it_unread(held, before, later):
    state = TableState(1, "a", "records", held=offsets_of([Range("orders", 0, *held), *later]))
    assert state.unread == state.holes == offsets_of([Range("orders", 0, 9, 20)] if later else [])
    assert replace(state, begins={("orders", 0): 4}).unread == offsets_of(before) | state.holes
    assert replace(state, begins={("orders", 0): 4}, gaps=offsets_of(before)).unread == state.holes


@pytest.mark.parametrize(("held", "before"), UNREAD.items())
def test_progress_ends_where_the_next_run_begins(held, before):
    state = TableState(1, "a", "records", held=offsets_of([Range("orders", 0, *held)]))
    assert state.ends() == {"orders": {"0": 9}}
    state = replace(state, begins={("orders", 0): 4})
    assert state.ends() == {"orders": {"0": 4 if before else 9}}
    assert replace(state, gaps=offsets_of(before)).ends() == {"orders": {"0": 9}}


def test_holes_lie_between_what_is_held_and_were_in_the_source():
    assert STATE.holes == offsets_of([Range("orders", 0, 12, 20), Range("orders", 1, 5, 6)])


SPANS = [
    ("the next day", [(0, 10, 3), (10, 20, 5)], [(0, 20, 5)]),
    ("another day later", [(0, 10, 3), (20, 30, 9)], [(0, 10, 3), (20, 30, 9)]),
    ("the day between", [(0, 10, 3), (20, 30, 9), (10, 20, 7)], [(0, 30, 9)]),
    ("a day once more", [(0, 10, 3), (10, 20, 5), (0, 10, 4)], [(0, 20, 5)]),
    ("the last day once more", [(0, 10, 3), (10, 20, 5), (10, 20, 8)], [(0, 20, 8)]),
    ("the same, when it ended earlier", [(0, 10, 3), (0, 10, 2)], [(0, 10, 2)]),
    ("all time after a day", [(0, 10, 3), (5, EVER, 8)], [(0, EVER, 8)]),
]


@pytest.mark.parametrize(("added", "expected"), [case[1:] for case in SPANS], ids=[case[0] for case in SPANS])
def test_spans_of_time_are_joined(added, expected):
    spans = ()
    for numbers in added:
        spans = with_span(spans, Span(*numbers))
    assert spans == tuple(Span(*numbers) for numbers in expected)


@pytest.mark.parametrize(
    ("since", "expected"), [(0, None), (5, 3), (10, 3), (11, None), (20, None), (25, 9), (31, None)]
)
def test_where_the_time_before_was_read_up_to(since, expected):
    assert reached((Span(0, 10, 3), Span(20, 30, 9)), since) == expected


@pytest.mark.parametrize("text", [None, "", "{}", "maintenance", '{"dagster":1}'])
def test_what_others_write_is_no_state(text):
    assert TableState.from_text(text) is None


@pytest.mark.parametrize(
    "change", [('"window":', '"windows":'), ('"number":3', '"numbr":3'), ('"runs":[[', '"runs":[3,['), ("}}", "")]
)
def test_a_damaged_state_is_refused(change):
    with pytest.raises(ValueError, match="damaged"):
        TableState.from_text(STATE.to_text().replace(*change))


def test_a_state_of_a_newer_version_is_no_damaged_one():
    """It asks for the newer version, whatever else is in it."""
    for more in ("", '"window":[],"epochs":{"orders":[3]},'):
        text = STATE.to_text().replace(f'"format":{FORMAT},', f'"format":{FORMAT + 1},{more}')
        with pytest.raises(NewerState, match="newer version") as caught:
            TableState.from_text(text)
        assert "upgrade" in remedy(caught.value)
    assert "rebuild" in remedy(ValueError("damaged"))


def test_a_table_of_our_own_stays_readable_for_older_versions():
    """Only the offsets of a connector, and erased persons, must not be passed over."""
    assert f'"format":{FORMAT},' in STATE.to_text()
    assert f'"format":{FORMAT},' in replace(STATE, taken_over=None).to_text()
    assert '"format":3,' in replace(STATE, erased=None).to_text()
    assert '"format":2,' in replace(STATE, taken_over=None, erased=None).to_text()


def test_a_key_that_this_version_does_not_know_is_passed_over():
    """What must not be passed over comes with a higher format."""
    assert TableState.from_text(STATE.to_text().replace('"number":3', '"epochs":{"a":[1]},"number":3')) == STATE


@pytest.mark.parametrize("written", OLD, ids=["first", "with failed offsets", "before chains of runs"])
def test_states_of_older_versions_are_read(written):
    """As they were written: keys that came later have their defaults."""
    state = TableState.from_text(written)
    assert (state.number, state.attempt, state.kind, state.rows) == (3, "ab12", "columns", {"orders": 14})
    assert state.held == STATE.held and state.gaps == STATE.gaps and state.window == WINDOW
    assert [(r.key, r.request, r.chain) for r in state.runs] == [("run/step", "digest", "")]
    assert not state.former and not state.settled
    assert TableState.from_text(state.to_text()) == state


def test_runs_are_recognised_by_key_and_request():
    assert STATE.committed("run/step", "digest") == STATE.runs[0]
    assert STATE.committed("run/step", "other") is None and STATE.committed("", "digest") is None
    many = STATE
    for number in range(4, 4 + REMEMBERED):
        many = many.with_run(CommittedRun(f"run{number}", "digest", number, "w"))
    assert len(many.runs) == REMEMBERED and many.committed("run/step", "digest") is None
    assert many.committed(f"run{3 + REMEMBERED}", "digest") is not None
