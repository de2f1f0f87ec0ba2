"""What a table remembers of masks that touched nothing: until it is run again; bounded, and nothing forgotten."""

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.chain.relied_on import fingerprints, less_hidden
from dagster_smt.model.reports.unmasked import (
    MOST_ENTRIES,
    MOST_RANGES,
    SEVERAL,
    Unmasked,
    offsets_on_record,
    remembered,
)
from dagster_smt.model.topics.state import MOST_ACCEPTED, CommittedRun, TableState
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.model.windows.window import Range
from dagster_smt.tables.kafka.progress import LIMIT, from_commits, to_commits


def offsets(start, end, topic="orders"):
    return offsets_of([Range(topic, 0, start, end)])


def unmasked(path="emial", entry="a", start=0, end=5, **more):
    return Unmasked(entry, "hide", "masked", "value", path, offsets=offsets(start, end), **more)


def test_runs_add_to_what_is_on_record_and_take_away_what_they_read_again():
    first = remembered((), offsets(0, 5), (), [unmasked(runs=("r1",))])
    second = remembered(first, offsets(5, 9), (), [unmasked(start=5, end=9, runs=("r2",))])
    assert second == (unmasked(end=9, runs=("r1", "r2")),)
    assert remembered(second, offsets(2, 4), (), [])[0].offsets == offsets(0, 2) | offsets(4, 9)
    assert remembered(second, offsets(0, 9), (), []) == ()


def test_the_same_entry_that_touches_records_later_was_right():
    others = (unmasked(entry="a"), unmasked(entry="b", path="x"))
    assert remembered(others, offsets(9, 9), ("a",), []) == (others[1],)
    left_out = unmasked(entry="a", left_out=True)
    assert remembered((left_out,), offsets(9, 9), ("a",), []) == (left_out,)


def test_however_much_there_is_it_stays_small_and_no_record_is_forgotten():
    result: tuple[Unmasked, ...] = ()
    for n in range(300):
        scattered = offsets_of(Range("orders", 0, 10 * n + k, 10 * n + k + 1) for k in range(0, 10, 2))
        one = Unmasked(
            str(n), "hide", "renamed" if n else "masked", "value", f"f{n}", offsets=scattered, runs=(f"r{n}",)
        )
        result = remembered(result, offsets(0, 0), (), [one])
    assert len(result) == MOST_ENTRIES and sum(1 for u in result for _ in u.offsets.ranges()) <= MOST_RANGES
    assert (result[0].path, result[0].entry, result[0].action) == (SEVERAL, "", "masked")
    every = offsets_of(Range("orders", 0, k, k + 1) for k in range(0, 3000, 2))
    assert not every - offsets_on_record(result)


def test_a_state_keeps_it_and_reads_what_older_versions_wrote():
    state = TableState(3, "x", "records", unmasked=(unmasked(runs=("r1",), left_out=True),))
    again = TableState.from_text(state.to_text())
    assert again == state
    for n in range(MOST_ACCEPTED + 5):
        again = TableState.from_text(again.accept(f"r{n}", "looked at").to_text())
        assert again.unmasked == () and again.accepted[-1].run == f"r{0 if n == 0 else again.accepted[-1].run[1:]}"
        again = TableState(4, "x", "records", unmasked=(unmasked(),), accepted=again.accepted)
    assert len(again.accepted) == MOST_ACCEPTED and again.accepted[-1].paths == ("emial",)
    older = TableState(3, "x", "records").to_text().replace('"unmasked":[],"accepted":[],', "")
    assert TableState.from_text(older) == TableState(3, "x", "records")


def mask(fields="email", alias="hide", **more):
    options = {"fields": fields, **more.pop("options", {})}
    return {"alias": alias, "type": "MaskField$Value", "options": options, **more}


def marks(*stages):
    return fingerprints(parse_chain(list(stages)))


RENAME = {"alias": "n", "type": "ReplaceField$Value", "options": {"renames": "email:mail"}}
WHEN = {"name": "p", "type": "HasHeaderKey", "options": {"name": "h"}}
SAME = [(mask("email,phone"),), (mask("email", alias="other"),), (mask(options={"replacement": "x"}),)]
OTHER = [
    (mask("emial"),),
    (mask(options={"field.syntax.version": "V2"}),),
    (mask(predicate=WHEN),),
    (RENAME, mask()),
    ({"alias": "hide", "type": "MaskField$Key", "options": {"fields": "email"}},),
]


@pytest.mark.parametrize("stages", SAME)
def test_an_entry_stays_the_same_whatever_is_beside_it(stages):
    assert marks(mask())[0] in marks(*stages)


@pytest.mark.parametrize("stages", OTHER)
def test_an_entry_is_another_where_its_path_may_mean_something_else(stages):
    assert marks(mask())[0] not in marks(*stages)


LESS = [
    ("nothing", [], ["email"]),
    ("the same", [mask()], []),
    ("more", [mask("email,phone")], []),
    ("another field", [mask("phone")], ["email"]),
    ("only in some records", [mask(predicate=WHEN)], ["email"]),
    ("another replacement", [mask(options={"replacement": "x"})], []),
    ("the same under another syntax", [mask(options={"field.syntax.version": "V2"})], []),
    ("the field dropped", [{"alias": "d", "type": "ReplaceField$Value", "options": {"exclude": "email"}}], []),
]


@pytest.mark.parametrize(("stages", "expected"), [case[1:] for case in LESS], ids=[case[0] for case in LESS])
def test_what_a_chain_hides_less_than_another(stages, expected):
    assert [entry.path for entry in less_hidden(parse_chain(stages), parse_chain([mask()]))] == expected


RING = {"key.ring": "k1=${env:EXAMPLE_KEY}"}


def of(kind, alias="it", **more):
    options = {"fields": "email", **({} if kind == "MaskPart" else RING), **more.pop("options", {})}
    return {"alias": alias, "type": f"{kind}$Value", "options": options, **more}


WEAKER = [
    ("the same", [of("Encrypt")], [of("Encrypt")], False),
    ("opened again", [of("Encrypt")], [of("Encrypt"), of("Decrypt", "open")], True),
    (
        "opened where the definition opens",
        [of("Encrypt"), of("Decrypt", "open")],
        [of("Encrypt"), of("Decrypt", "o")],
        False,
    ),
    (
        "opened in more records",
        [of("Encrypt"), of("Decrypt", "o", predicate=WHEN)],
        [of("Encrypt"), of("Decrypt", "o")],
        True,
    ),
    ("a token turned back", [of("Tokenize")], [of("Tokenize"), of("Detokenize", "open")], True),
    ("nothing to open", [mask()], [mask(), of("Decrypt", "open", options={"fields": "phone"})], False),
    ("a part instead of nothing", [mask()], [of("MaskPart")], True),
    ("nothing instead of a part", [of("MaskPart")], [mask()], False),
    ("a larger part", [of("MaskPart")], [of("MaskPart", options={"count": "9"})], True),
    ("another key", [of("Pseudonymize")], [of("Pseudonymize", options={"key.ring": "k2=${env:EXAMPLE_KEY}"})], True),
    ("more fields", [of("MaskPart")], [of("MaskPart", options={"fields": "email,phone"})], False),
]


@pytest.mark.parametrize(("defined", "run", "less"), [case[1:] for case in WEAKER], ids=[case[0] for case in WEAKER])
def test_a_weaker_mask_of_the_same_field_hides_less(defined, run, less):
    assert bool(less_hidden(parse_chain(run), parse_chain(defined))) == less


def test_a_mask_without_its_predicate_hides_more():
    guarded = parse_chain([mask(predicate=WHEN)])
    assert not less_hidden(parse_chain([mask()]), guarded) and not less_hidden(guarded, guarded)
    assert less_hidden(parse_chain([]), guarded)


def kept_by_a_group(*result, **more):
    """A state, written as a group's commits and read again."""
    held = offsets(0, 500) | offsets(0, 500, "bills")
    state = TableState(3, "x", "records", held=held, unmasked=result, **more)
    commits = to_commits(state)
    assert max(len(c.metadata.encode()) for c in commits.values()) <= LIMIT
    return from_commits(commits)


def test_a_group_keeps_a_few_entries_one_by_one():
    one = unmasked(runs=("r1",), left_out=True)
    state = kept_by_a_group(one, unmasked("phone", "b", 7, 9))
    assert state.unmasked == (one, unmasked("phone", "b", 7, 9))
    accepted = state.accept("r9", "looked at " * 100)
    (note,) = kept_by_a_group(accepted=accepted.accepted).accepted
    assert (note.run, len(note.reason), note.records) == ("r9", 200, 7)


def test_a_group_without_room_joins_entries_and_forgets_no_offset():
    many = [unmasked(f"a.rather.long.path.{n}", str(n), 10 * n, 10 * n + 1, runs=("r" * 36,)) for n in range(40)]
    many.append(Unmasked("z", "s", "dropped", "value", "y", True, offsets=offsets(3, 9, "bills")))
    (joined,) = kept_by_a_group(*many, runs=tuple(CommittedRun("k" * 60, "r", n, "w") for n in range(90))).unmasked
    assert (joined.path, joined.action, joined.left_out, joined.entry) == (SEVERAL, "masked", True, "")
    assert not offsets_on_record(many) - joined.offsets
    assert joined.offsets.of("bills", 0) == ((3, 9),)
