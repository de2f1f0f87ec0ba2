"""Runs that are killed at random, in short; and attacks on the judge of them, who must see each."""

from dataclasses import replace

import pytest

from tests.run import kill_judge as judge
from tests.run import kill_keys
from tests.run.keyed_world import Event
from tests.run.kill_pool import Pool
from tests.run.kills import SINKS, play

KILLS = 10


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("sink", SINKS)
def test_killed_at_random(tmp_path, request, sink):
    """The long form is ``python -m tests.run.kills``."""
    if "kafka" in sink:
        request.getfixturevalue("broker")  # it has seen that Kafka's jars are there
    pool = Pool(tmp_path)
    try:
        game = play(tmp_path, sink, KILLS, 7, pool)
        assert game.tally.problems == []
        assert game.tally.kills.total() == KILLS and game.world.evidence.rows
        assert game.world.evidence.letters or sink.startswith("keyed-")
    finally:
        pool.close()


# --- the judge ---

FATES = ["kept", "kept", "refused", "dropped", "kept", "refused"]


def entry(number, fate):
    value = None if fate == "dropped" else b'{"n": "%d"}' % number
    return judge.Entry(fate, value, {"n": number}, 1000 + number)


def ledger(count=6):
    return judge.Ledger({("t", 0, n): entry(n, fate) for n, fate in enumerate(FATES[:count])})


def row(number):
    return ("t", 0, number, b'{"n":%d}' % number)


def letter(number):
    return ("t", 0, number, b'{"n": "%d"}' % number)


def state(number, start, end, held, rows, **changes):
    results = {"number": number, "attempt": f"a{number}", "window": {"t": {"0": [start, end]}}, "gaps": {}, "runs": []}
    failed = {"t": {"0": [[n, n + 1] for n in range(end) if FATES[n % len(FATES)] == "refused"]}}
    return {**results, "held": {"t": {"0": held}}, "failed": failed, "rows": {"t": rows}, **changes}


FIRST, SECOND = state(1, 0, 3, [[0, 3]], 2), state(2, 3, 6, [[0, 6]], 3)
BEFORE = judge.Evidence([row(0), row(1)], [FIRST], [letter(2)])
NOW = judge.Evidence([row(0), row(1), row(4)], [FIRST, SECOND], [letter(2), letter(5)])
PLAIN = {"kind": "plain"}


def judged(now, order=PLAIN, before=BEFORE, produced=None):
    produced = produced or ledger()
    return [*judge.check(produced, now), *judge.check_commits(produced, before, now, order)]


def test_what_is_right_passes():
    assert judged(NOW) == [] and judge.check_end(ledger(), NOW) == []
    assert judged(BEFORE) == [] and judged(judge.Evidence(), before=judge.Evidence()) == []
    early = replace(BEFORE, letters=[letter(2), letter(5)])  # published by a run that died before its commit
    assert judged(early) == []


def of(**changes):
    return replace(NOW, **changes)


def second(**changes):
    return of(states=[FIRST, {**SECOND, **changes}])


RUN = ["r", "request", 1, "w", []]
ATTACKS = {
    "a doubled row": (of(rows=[*NOW.rows, row(4)]), "t-0@4 is 2 times in the table"),
    "a missing row": (of(rows=NOW.rows[:2]), "t-0@4 is missing in the table"),
    "another value": (of(rows=[*NOW.rows[:2], ("t", 0, 4, b'{"n":5}')]), "t-0@4 has another value in the table"),
    "no value": (of(rows=[*NOW.rows[:2], ("t", 0, 4, None)]), "t-0@4 has another value in the table"),
    "a dropped record": (of(rows=[*NOW.rows, row(3)]), "t-0@3 is in the table, but is dropped"),
    "a failing record": (of(rows=[*NOW.rows, row(5)]), "t-0@5 is in the table, but is refused"),
    "a strange record": (of(rows=[*NOW.rows, row(9)]), "t-0@9 is in the table, but was never produced"),
    "half a window": (of(states=[FIRST], letters=[letter(2)]), "t-0@4 is in the table, but is not held"),
    "a doubled letter": (of(letters=[*NOW.letters, letter(2)]), "t-0@2 has 2 dead letters"),
    "a missing letter": (of(letters=NOW.letters[:1]), "t-0@5 has no dead letter"),
    "a letter too many": (of(letters=[*NOW.letters, letter(4)]), "t-0@4 has a dead letter, but is kept"),
    "a letter with another value": (of(letters=[letter(2), ("t", 0, 5, b"x")]), "another value in its dead letter"),
    "a wrong count": (second(rows={"t": 4}), "the state counts rows {'t': 4}, the table has {'t': 3}"),
    "a failed record that is forgotten": (second(failed={"t": {"0": [[2, 3]]}}), "does not name t-0@5, which failed"),
    "a record that did not fail": (second(failed={"t": {"0": [[1, 3], [5, 6]]}}), "the state says that t-0@1 failed"),
    "a gap": (second(gaps={"t": {"0": [[3, 4]]}}), "the state has gaps"),
    "a state that holds too much": (second(held={"t": {"0": [[0, 7]]}}), "t-0@6 is held, but was never produced"),
    "a state that holds too little": (second(held={"t": {"0": [[0, 5]]}}), "does not hold what it held and the window"),
    "a state that has lost some": (second(held={"t": {"0": [[3, 6]]}}), "does not hold what it held and the window"),
    "a window from elsewhere on": (second(window={"t": {"0": [4, 6]}}), "was read from 4 on, not from 3 on"),
    "a window that was read before": (second(window={"t": {"0": [2, 6]}}), "t-0@2 was read again"),
    "an empty window": (second(window={}), "a commit that read nothing"),
    "a wrong number": (second(number=3), "commit 3 follows 1"),
    "the same run twice": (second(runs=[RUN, RUN]), "the run r committed 2 times"),
    "two commits of one run": (of(states=[FIRST, SECOND, {**SECOND, "attempt": "b", "number": 3}]), "made 2 commits"),
    "a commit that is gone": (of(states=[SECOND]), "commits are gone, or in another order"),
    "no state": (of(states=[]), "commits are gone, or in another order"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_the_judge_sees(name):
    result, complaint = ATTACKS[name]
    problems = judged(result)
    assert any(complaint in p for p in problems), problems


ORDERS = {
    "a rejected run that commits": ({"kind": "rejected"}, "rejected made 1 commits"),
    "another explicit window": ({"kind": "explicit", "window": [["t", 0, 2, 6]]}, "another window than the explicit"),
    "too early": ({"kind": "time", "since": 1004, "until": None}, "records outside of the time"),
    "too late": ({"kind": "time", "since": None, "until": 1005}, "records outside of the time"),
    "too much": ({"kind": "max", "max_records": 2}, "3 records in a window of at most 2"),
    "too many batches": ({"kind": "micro", "max_records": 3, "max_batches": 0}, "micro made 1 commits"),
    "a rebuild that rebuilds nothing": ({"kind": "rebuild", "topics": []}, "does not hold what it held and the window"),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_judge_compares_with_the_order(name):
    order, complaint = ORDERS[name]
    problems = judged(NOW, order)
    assert any(complaint in p for p in problems), problems


def test_the_judge_sees_what_is_missing_at_the_end():
    assert judge.check_end(ledger(), BEFORE) == [
        *(f"t-0@{n} was not taken in" for n in (3, 4, 5)),
        "t-0@5 has no dead letter",
    ]
    pieces = replace(NOW, states=[FIRST, {**SECOND, "held": {"t": {"0": [[0, 3], [3, 6]]}}}])
    assert judge.check_end(ledger(), pieces) == ["the state is in pieces: [[0, 3], [3, 6]]"]


def test_the_judge_sees_what_is_left_over(tmp_path):
    topics = tmp_path / "topics"
    for name in ("topics/a/0", "topics/.staging-1", "table"):
        (tmp_path / name).mkdir(parents=True)
    (topics / "a" / "0" / "0.jsonl").write_bytes(judge.SECRET)
    assert judge.leftovers(tmp_path, topics) == ["left over: .staging-1"]
    (topics / "a" / "0" / ".7.tmp").touch()
    (tmp_path / "table" / "part-0.parquet").write_bytes(b"PAR1" + judge.SECRET)
    assert judge.leftovers(tmp_path, topics) == [
        "left over: .7.tmp",
        "left over: .staging-1",
        "raw values in table/part-0.parquet",
    ]


# --- the judge of topics ---

IN_TOPIC = judge.Evidence([row(0), row(1)], [FIRST], [letter(2)])
TOPIC = {
    "copies": (replace(IN_TOPIC, rows=[row(0), row(1), row(0)]), ""),
    "beyond the commit": (replace(IN_TOPIC, rows=[row(0), row(1), row(4)]), ""),
    "a record is missing": (replace(IN_TOPIC, rows=[row(1)]), "t-0@0 is missing in the topic"),
    "a dropped record": (replace(IN_TOPIC, rows=[row(0), row(1), row(3)]), "t-0@3 is in the topic, but is dropped"),
    "another value": (
        replace(IN_TOPIC, rows=[row(0), ("t", 0, 1, b'{"n":9}')]),
        "t-0@1 has another value in the topic",
    ),
    "no value": (replace(IN_TOPIC, rows=[row(0), ("t", 0, 1, None)]), "t-0@1 has another value in the topic"),
    "a letter twice": (replace(IN_TOPIC, letters=[letter(2), letter(2)]), "t-0@2 has 2 dead letters"),
    "no letter": (replace(IN_TOPIC, letters=[]), "t-0@2 has no dead letter"),
    "the group went back": (replace(IN_TOPIC, states=[state(2, 0, 1, [[0, 1]], 1)], letters=[]), "t-0@1 was held"),
    "an older commit": (replace(IN_TOPIC, states=[state(0, 0, 3, [[0, 3]], 2)]), "commit 0 follows 1"),
}


@pytest.mark.parametrize(("now", "problem"), TOPIC.values(), ids=list(TOPIC))
def test_the_judge_of_topics(now, problem):
    problems = judge.check_topic(ledger(), IN_TOPIC, now)
    assert (problems[:1] == [problem]) if problem else problems == []


# --- the judge of tables with keys ---

HELD = {"held": {"people": {"0": [[0, 4]]}}, "rows": {"people": 1}}
CHANGES = [
    Event(1, {"name": "a", "note": "n"}, offset=0),
    Event(1, {"name": "b", "note": kill_keys.PLACEHOLDER}, offset=1),
    Event(2, {"name": "c", "note": "n"}, offset=2),
    Event(2, None, offset=3),
]
ROW = (1, "b", "n", "people", 0, 1)
OLD, BACK = (1, "a", "n", "people", 0, 0), (2, "c", "n", "people", 0, 2)
KEYED = {
    "as it is": ([ROW], HELD, []),
    "a deleted row comes back": ([ROW, BACK], {**HELD, "rows": {"people": 2}}, ["key 2 has a row, but was deleted"]),
    "an older event wins": ([OLD], HELD, ["key 1 is not as its last event left it"]),
    "a large column is lost": ([(1, "b", None, *ROW[3:])], HELD, ["key 1 is not as its last event left it"]),
    "the placeholder is a value": (
        [(1, "b", kill_keys.PLACEHOLDER, *ROW[3:])],
        HELD,
        ["key 1 is not as its last event left it"],
    ),
    "a twin": ([ROW, ROW], {**HELD, "rows": {"people": 2}}, ["key 1 has 2 rows"]),
    "a row is lost": ([], {**HELD, "rows": {}}, ["key 1 has no row"]),
    "a wrong count": ([ROW], {**HELD, "rows": {"people": 2}}, ["the state counts 2 rows, the table has 1"]),
    "more than is held": (
        [ROW],
        {**HELD, "held": {"people": {"0": [[0, 1]]}}},
        ["key 1 is not as its last event left it"],
    ),
}


@pytest.mark.parametrize(("rows", "state", "problems"), KEYED.values(), ids=list(KEYED))
def test_the_judge_of_keys(rows, state, problems):
    assert kill_keys.check(CHANGES, judge.Evidence(rows, [state])) == problems
