"""A preview of a table with keys says what a run does with the same records."""

from dataclasses import replace

import pytest

from dagster_smt.interpret.keyed_rows import table_changes
from dagster_smt.interpret.preview import Sample, previewed_records
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables.window_request import WindowRequest
from tests.run.keyed_table import KEY, VALUE, Keys
from tests.run.keyed_world import Event, History
from tests.run.test_keyed import upsert

pytestmark = pytest.mark.spark
PLACEHOLDER = "__debezium_unavailable_value"
FIRST = [
    upsert(1, 0, "a"),
    upsert(1, 1, "b", PLACEHOLDER),
    upsert(2, 2, "c", PLACEHOLDER),
    upsert(3, 3, "d"),
    Event(3, None, offset=4),
    Event(4, None, offset=5),
    Event(5, {"name": "e", "note": None, "seq": 6, "__deleted": "true"}, offset=6),
    upsert(3, 7, "f", PLACEHOLDER),
    upsert(6, 8, "g"),
]
SINKS = {
    "apply": {},
    "soft": {"deletes": "soft"},
    "ignore": {"deletes": "ignore"},
    "sequence": {"sequence_by": "seq"},
    "scd2": {"mode": "scd2", "track": ("name",)},
    "scd2 of all columns": {"mode": "scd2", "track": ("name", "note")},
}


def effects(keys, events):
    """The preview of events."""
    samples = []
    for event in events:
        record = event.record()
        samples.append(Sample(event.topic, event.partition, event.offset, record.timestamp, record.key, record.value))
    chain = replace(keys.chain, keeps_key=True)
    return table_changes(list(previewed_records(chain, samples, KEY, VALUE)), keys.sink.keyed)


@pytest.mark.parametrize("name", ["soft", *(pytest.param(name, marks=pytest.mark.long) for name in SINKS)])
def test_the_counts_are_those_of_one_run(name, spark, tmp_path):
    keys = Keys(tmp_path, spark, **SINKS[name])
    keys.add(FIRST)
    assert effects(keys, FIRST).counts == keys.run().keyed


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SINKS)
def test_the_counts_of_random_events_are_those_of_one_run(name, seed, spark, tmp_path):
    keys = Keys(tmp_path, spark, **SINKS[name])
    shards = 3 if name == "sequence" else 1
    history = History(seed, shards=shards, unchanged=shards == 1, names=3)
    keys.add(history.more(30))
    assert effects(keys, history.events).counts == keys.run().keyed


@pytest.mark.long
@pytest.mark.parametrize("name", ["apply", "soft", "sequence"])
def test_each_effect_is_that_of_a_run_of_this_record(name, spark, tmp_path):
    """One record after the other: what is counted, and which columns of the row change."""
    keys = Keys(tmp_path, spark, **SINKS[name])
    events = [*FIRST, upsert(6, 9, "h", "t"), Event(6, None, offset=10), upsert(6, 11, "older")]
    if name == "sequence":
        events[-1].row["seq"] = 3
    keys.add(events)
    changes = effects(keys, events).changes
    before: dict = {}
    for event, change in zip(events, changes, strict=True):
        place = Range(event.topic, event.partition, event.offset, event.offset + 1)
        counts = keys.run(window=WindowRequest(explicit=Window((place,)), accept_gap=True)).keyed["people"]
        of_run = {word: getattr(counts, word) for word in ("updated", "deleted", "superseded", "without_row")}
        after = {row["id"]: row for row in keys.read()}
        old, new = before.get(event.key), after.get(event.key)
        assert bool(counts.incomplete) == bool(change.incomplete and change.action == "insert"), (event, change)
        if change.action == "insert":
            assert (old, counts.inserted) == (None, 1), (event, change)
        elif change.action == "soft delete":
            assert new["_is_deleted"], (event, change)
        else:
            words = {"update": "updated", "delete": "deleted", "no row": "without_row", "superseded": "superseded"}
            assert of_run == {word: int(word == words[change.action]) for word in of_run}, (event, change)
        if change.action == "update":
            ignored = ("_source_offset", "_deleted_at")
            columns = {column for column in new if old[column] != new[column] and column not in ignored}
            assert columns == set(change.columns), (event, change)
        before = after
