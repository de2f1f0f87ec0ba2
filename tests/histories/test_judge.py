"""The judge is attacked: it is shown what is wrong, one thing at a time, and must see it. No Spark here."""

from dataclasses import replace

import pytest

from tests.histories.judge import Evidence, judged
from tests.histories.model import Ask, Model
from tests.histories.topics import SECRET, Record

FATES = ("good", "bad", "good", "dropped", "broken", "good")
OLD, LATE = ("t", 0, 0), ("t", 0, 5)


def topics():
    """Six records, of which the first is gone; the table holds all but the last."""
    model = Model("files")
    model.append("t", 0, [(fate, number) for number, fate in enumerate(FATES[:5])])
    (answer,) = model.run(Ask())
    model.table, model.letters = answer.table, answer.letters
    model.append("t", 0, [(FATES[5], 5)])
    return model


def right(model, ask):
    """The right ways of a run, and what is there if it goes the first of them."""
    answers = model.run(ask)
    answer = answers[0]
    return answers, Evidence(answer.status, answer.codes, list(answer.table.rows), list(answer.letters))


def foreign(result):
    result.rows.append((("t", 0, 77), (77, "", 77)))


def unmasked(result):
    offset, (number, _, note) = result.rows[0]
    result.rows[0] = (offset, (number, SECRET, note))


def of_another_chain(result):
    offset, (number, name, _) = result.rows[-1]
    result.rows[-1] = (offset, (number, name, 0))


def altered(result):
    result.letters[0] = (result.letters[0][0], b"{}")


def of_a_row(result):
    result.letters.append((("t", 0, 2), b"{}"))


ATTACKS = {
    "a row is lost": lambda evidence: evidence.rows.pop(),
    "the last row is lost": lambda evidence: evidence.rows.remove((LATE, (5, "", 5))),
    "a row is there twice": lambda evidence: evidence.rows.append(evidence.rows[0]),
    "a row of no record": foreign,
    "a row of a dropped record": lambda evidence: evidence.rows.append((("t", 0, 3), (3, "", 3))),
    "a row of a failed record": lambda evidence: evidence.rows.append((("t", 0, 1), (1, "", 0))),
    "a row of another partition": lambda evidence: evidence.rows.append((("t", 1, 0), (0, "", 0))),
    "a value is not masked": unmasked,
    "a value of another chain": of_another_chain,
    "a letter is lost": lambda evidence: evidence.letters.pop(),
    "a letter is there twice": lambda evidence: evidence.letters.append(evidence.letters[0]),
    "a letter has another value": altered,
    "a letter of a record that is a row": of_a_row,
    "a run says nothing was new": lambda evidence: setattr(evidence, "status", "empty"),
    "a run is refused": lambda evidence: setattr(evidence, "status", "refused"),
    "a run tells a problem": lambda evidence: setattr(evidence, "codes", frozenset({"SMT511"})),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_judge_sees_what_is_wrong(attack):
    answers, result = right(topics(), Ask())
    assert judged(answers, result) == (answers[0], [])
    ATTACKS[attack](result)
    answer, problems = judged(answers, result)
    assert answer is None and problems


def test_a_row_of_a_record_that_was_deleted_before_it_was_read():
    """Retention took the record at 5; the run must say so, and no row of it is right, nor going on without it."""
    model = topics()
    model.append("t", 0, [("good", 6)])
    model.expire("t", 0, 6)
    answers, result = right(model, Ask())
    assert (result.status, result.codes) == ("refused", {"SMT511"}) and LATE not in dict(result.rows)
    for rows in ([(LATE, (5, "", 5))], [(("t", 0, 6), (6, "", 6))]):
        assert judged(answers, replace(result, rows=result.rows + rows))[0] is None
    assert judged(answers, replace(result, status="committed", codes=frozenset()))[0] is None
    (answer, *_), result = right(model, Ask(accept_gap=True))
    assert answer.table.gaps == {LATE} and (("t", 0, 6), (6, "", 6)) in result.rows
    assert judged([answer], replace(result, rows=[*result.rows, (LATE, (5, "", 5))]))[0] is None


def answers_of(model, *asks):
    """What is there after some runs."""
    for ask in asks:
        (answer, *_) = model.run(ask)
        model.table, model.letters = answer.table, answer.letters
    return answer


def offsets(answer):
    return sorted(offset[2] for offset, _ in answer.table.rows)


def test_a_refused_run_changes_nothing():
    model = topics()
    model.append("t", 0, [("bad", 6)])
    answers, result = right(model, Ask(tolerance="none"))
    assert (result.status, result.codes) == ("refused", {"SMT530"}) and LATE not in dict(result.rows)
    assert judged(answers, replace(result, rows=[*result.rows, (LATE, (5, "", 5))]))[0] is None


def test_a_run_that_died_has_published_letters_and_no_row():
    model = topics()
    model.append("t", 0, [("bad", 6)])
    answers, result = right(model, Ask(death="before the commit"))
    assert (result.status, len(result.letters), LATE in dict(result.rows)) == ("died", 3, False)
    assert judged(answers, replace(result, letters=result.letters[:2]))[0] is None
    assert answers_of(model, Ask(death="before the commit"), Ask()).letters == {*result.letters}


def test_a_restored_table_reads_again_what_is_gone():
    model = topics()
    before = model.table
    after = answers_of(model, Ask())
    assert offsets(after) == [0, 2, 5]
    model.table = before
    answers, result = right(model, Ask())
    assert judged(answers, replace(result, status="empty", rows=before.rows))[0] is None
    assert offsets(answers[0]) == [0, 2, 5]


def test_records_that_come_late_are_in_the_next_range_of_time():
    model = Model("files")
    first, second = Ask("time", since=0, until=10), Ask("time", since=10, until=20)
    model.append("t", 0, [("good", 1), ("good", 9)])
    answers_of(model, first)
    model.append("t", 0, [("good", 8), ("good", 11)])
    assert offsets(answers_of(model, second)) == [0, 1, 2, 3]
    assert offsets(answers_of(model, first, second)) == [0, 1, 2, 3]


def test_a_topic_that_was_made_anew_is_refused_until_it_starts_over():
    model = topics()
    del model.topics["t"]
    model.append("t", 0, [("good", 1)])
    assert answers_of(model, Ask()).codes == {"SMT516"}
    assert [row[1][0] for row in answers_of(model, Ask(rebuild=True, topics=("t",))).table.rows] == [6]


def test_a_second_run_of_one_key_changes_nothing_unless_the_chain_is_another():
    model = topics()
    ask = Ask("explicit", ranges=(("t", 0, 0, 3),), key="run")
    assert answers_of(model, ask, ask).status == "already committed"
    mended = answers_of(model, replace(ask, chain="mended"))
    assert mended.status == "committed" and dict(mended.table.rows)["t", 0, 1] == (1, "", 0)


@pytest.mark.parametrize(("sink", "copies"), [("kafka", 2), ("files", 1)])
def test_topics_hold_copies_where_the_broker_is_not_asked(sink, copies):
    model = Model("kafka", sink=sink)
    model.append("t", 0, [("good", 1)])
    answer = answers_of(model, Ask(death="while committing"), Ask())
    assert [row[0] for row in answer.table.rows] == [("t", 0, 0)] * copies


def test_no_record_has_a_secret_in_its_row():
    for fate in ("good", "bad"):
        record = Record(4711, fate, 0)
        assert SECRET.encode() in record.value
        assert SECRET not in map(str, record.output("first")) and SECRET not in map(str, record.output("mended"))
