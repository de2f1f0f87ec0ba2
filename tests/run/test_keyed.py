"""Tables with keys: the row of each key as it is now."""

import json
import os
import random

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.iceberg import IcebergTable
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.window_request import WindowRequest
from tests.run.dying import Died, dying_at
from tests.run.keyed_table import WIDER, Keys, window_of
from tests.run.keyed_world import Event, History, fold, versions
from tests.run.world import TRANSFORMS

pytestmark = pytest.mark.spark


def _dies(*arguments, **more):
    raise Died


def upsert(key, offset, name="n", note="t", seq=None, **place):
    return Event(key, {"name": name, "note": note, "seq": offset if seq is None else seq}, offset=offset, **place)


@pytest.fixture(params=["delta", "iceberg"])
def keys(request, spark, tmp_path):
    return Keys(tmp_path, spark, request.param)


def test_the_last_event_of_a_key_is_its_row(keys):
    keys.add([upsert(1, 0, "a"), upsert(2, 1, "b"), upsert(1, 2, "c"), Event(2, None, offset=3), upsert(3, 4)])
    report = keys.run()
    counts = report.keyed["people"]
    assert (counts.inserted, counts.updated, counts.deleted, counts.without_row, counts.superseded) == (2, 0, 0, 1, 2)
    keys.add([upsert(1, 5, "d"), Event(3, None, offset=6), upsert(4, 7)])
    counts = keys.run().keyed["people"]
    assert (counts.inserted, counts.updated, counts.deleted, counts.without_row, counts.superseded) == (1, 1, 1, 0, 0)
    assert {key: row["name"] for key, row in keys.by_key().items()} == {1: "d", 4: "n"}
    state = open_table(keys.session, keys.sink).state()
    assert sum(state.rows.values()) == 2
    assert keys.run().status == "empty"


@pytest.mark.parametrize("kind", ["delta", pytest.param("iceberg", marks=pytest.mark.long)])
def test_a_key_is_all_of_its_columns(kind, spark, tmp_path):
    """Rows that share a part of their key are rows of their own, when they are changed and deleted, too."""
    keys = Keys(tmp_path, spark, kind)
    table = {
        "key": Format("json_schema", parse_ddl("region STRING, id INT")),
        "value": Format("json_schema", parse_ddl("region STRING, id INT, name STRING")),
    }

    def send(*rows):
        for region, number, name in rows:
            key = {"region": region, "id": number}
            value = None if name is None else json.dumps({**key, "name": name}).encode()
            append_records(keys.topics, "people", [NewRecord(json.dumps(key).encode(), value)])

    def shown():
        return sorted((row["region"], row["id"], row["name"]) for row in keys.read())

    send(("a", 1, "one"), ("a", 2, "two"), ("b", 1, "three"), ("b", 2, "four"))
    keys.run(table)
    send(("a", 1, "changed"), ("b", 2, None), ("c", 1, "new"))
    counts = keys.run(table).keyed["people"]
    assert (counts.inserted, counts.updated, counts.deleted) == (1, 1, 1)
    assert shown() == [("a", 1, "changed"), ("a", 2, "two"), ("b", 1, "three"), ("c", 1, "new")]
    keys.run(table, window=WindowRequest(everywhere=(0, 6)))
    assert shown() == [("a", 1, "changed"), ("a", 2, "two"), ("b", 1, "three"), ("c", 1, "new")]


def expected(events, read, **how):
    """The rows after the events that were read."""
    return fold([e for e in events if (e.topic, e.partition, e.offset) in read], **how)


class Runs:
    """Random runs over a history, each judged."""

    def __init__(self, keys, history, seed, **how):
        self.keys, self.history, self.how = keys, history, how
        self.random, self.read = random.Random(seed), set()
        self.done, self.number = [], 0

    def places(self):
        return sorted({(e.topic, e.partition, e.offset) for e in self.history.events})

    def ends(self):
        return dict(self.history.ends)

    ACTIONS = ("add", "add", "next", "next", "some", "again", "again", "rebuild", "die", "die", "compact", "widen")

    def step(self):
        action = self.random.choice(self.ACTIONS)
        self.done.append(action)
        getattr(self, action)()
        if action != "add":
            self.number = self.keys.committed()
            self.judge()

    def judge(self):
        if self.keys.sink.mode == "scd2":
            events = [e for e in self.history.events if (e.topic, e.partition, e.offset) in self.read]
            shown = self.keys.versions() if self.read else []
            assert shown == versions(events, **self.how), self.done
            return
        shown = self.keys.by_key() if self.read else {}
        assert shown == expected(self.history.events, self.read, **self.how), self.done

    def add(self):
        self.keys.add(self.history.more(self.random.randrange(1, 8)))

    def next(self):
        if self.history.events:
            self.keys.run()
            self.read = set(self.places())

    def some(self):
        if not self.history.events:
            return
        most = self.random.randrange(1, 4)
        self.keys.run(window=WindowRequest(max_records=most))
        for (topic, partition), end in self.ends().items():
            ends = [o for t, p, o in self.read if (t, p) == (topic, partition)]
            start = max(ends) + 1 if ends else 0
            self.read |= {(topic, partition, o) for o in range(start, min(end, start + most))}

    def again(self):
        """A window of offsets that the table has read."""
        ranges = []
        for (topic, partition), _ in self.ends().items():
            known = [o for t, p, o in self.read if (t, p) == (topic, partition)]
            if known and self.random.random() < 0.7:
                start = self.random.randrange(0, max(known) + 1)
                end = self.random.randrange(start, max(known) + 1) + 1
                ranges.append((topic, partition, start, end))
        if ranges:
            self.keys.run(window=window_of(*ranges))

    def die(self):
        """A run that dies at some step has committed everything, or nothing."""
        self.add()
        try:
            with dying_at(self.random.randrange(0, 25), after=self.random.random() < 0.5):
                self.keys.run()
        except Died:
            pass
        number = self.keys.committed()
        if number != self.number:
            self.read = set(self.places())
        self.number = number

    def compact(self):
        """Somebody else writes the files of the table anew."""
        if self.read:
            self.keys.compact()

    def widen(self):
        """Events have one more column from now on."""
        self.keys.value = WIDER

    def rebuild(self):
        if self.history.events and self.random.random() < 0.3:
            self.keys.run(rebuild=True)
            self.read = set(self.places())


def steps(seed=0):
    """How many steps a history has; the one that is played in CI is shorter."""
    return range(12 if seed else 8)


HISTORIES = int(os.environ.get("HISTORIES", "12"))
"""So many histories are played of each kind: ``HISTORIES=200 SEED=1000 pytest -m long tests/run/test_keyed.py``."""
SEED = int(os.environ.get("SEED", "1"))
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(SEED, SEED + HISTORIES - 1))]


@pytest.mark.parametrize("keys", ["delta", pytest.param("iceberg", marks=pytest.mark.long)], indirect=True)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_table_is_the_fold_of_what_was_read(seed, keys):
    runs = Runs(keys, History(seed), seed)
    for _ in steps(seed):
        runs.step()


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_soft_deletions_keep_the_row(seed, spark, tmp_path):
    keys = Keys(tmp_path, spark, ["delta", "iceberg"][seed % 2], deletes="soft")
    runs = Runs(keys, History(100 + seed), seed, deletes="soft")
    for _ in steps(seed):
        runs.step()


@pytest.mark.long
def test_ignored_deletions_do_nothing(spark, tmp_path):
    keys = Keys(tmp_path, spark, deletes="ignore")
    runs = Runs(keys, History(200), 1, deletes="ignore")
    for _ in steps():
        runs.step()


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_shards_are_ordered_by_a_sequence(seed, spark, tmp_path):
    keys = Keys(tmp_path, spark, ["delta", "iceberg"][seed % 2], sequence_by="seq")
    runs = Runs(keys, History(300 + seed, shards=3, unchanged=False), seed, sequenced=True)
    for _ in steps(seed):
        runs.step()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_tombstone_in_a_window_of_its_own_is_remembered(kind, spark, tmp_path):
    """An older event of another topic, or a replay, does not bring the row back."""
    keys = Keys(tmp_path, spark, kind, sequence_by="seq")
    events = [upsert(1, 0, seq=5), Event(1, None, offset=1)]
    for event in events:
        keys.add([event])
        keys.run()
    assert keys.by_key() == {}
    keys.run(window=window_of(("people", 0, 0, 1)))
    assert keys.by_key() == {}
    keys.add([upsert(1, 0, seq=4, topic="people2")])
    assert keys.run().keyed["people2"].superseded == 1
    assert keys.by_key() == {}
    keys.add([upsert(1, 1, seq=6, topic="people2")])
    keys.run()
    assert list(keys.by_key()) == [1]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@pytest.mark.parametrize("died", [False, True], ids=["committed", "died before its commit"])
def test_a_deletion_that_a_mended_chain_does_not_make_is_forgotten(kind, died, spark, tmp_path, monkeypatch):
    """The same record is an upsert now; its own former deletion must not supersede it."""
    keys = Keys(tmp_path, spark, kind, sequence_by="seq")
    keys.add([upsert(7, 0, seq=1)])
    keys.run()
    keys.add([Event(1, {"name": "a", "note": None, "seq": 5, "__deleted": "true"}, offset=1)])
    if died:
        table = {"delta": DeltaTable, "iceberg": IcebergTable}[kind]
        with monkeypatch.context() as patch, pytest.raises(Died):
            patch.setattr(table, "merge", _dies)
            keys.run()
    else:
        keys.run()
    keys.chain = parse_chain([{"alias": "r", "type": "ReplaceField$Value", "options": {"exclude": ["__deleted"]}}])
    keys.run(window=window_of(("people", 0, 1, 2)))
    assert list(keys.by_key()) == [1, 7]
    keys.add([upsert(1, 0, seq=4, topic="people2")])
    assert keys.run().keyed["people2"].superseded == 1


@pytest.mark.long
def test_a_tombstone_that_is_read_again_alone_is_still_remembered(spark, tmp_path):
    """Its window has no sequence for it, and an older event of another topic beside it."""
    keys = Keys(tmp_path, spark, sequence_by="seq")
    for event in (upsert(1, 0, seq=5), Event(1, None, offset=1)):
        keys.add([event])
        keys.run()
    keys.add([upsert(1, 0, seq=4, topic="people2")])
    keys.run()
    keys.run(window=window_of(("people", 0, 1, 2), ("people2", 0, 0, 1)))
    assert keys.by_key() == {}


def marked(key, offset, seq, **place):
    """A deletion as Debezium marks it; its tombstone follows."""
    return Event(key, {"name": None, "note": None, "seq": seq, "__deleted": "true"}, offset=offset, **place)


CUT_OFF = {
    "the row came back in a later window": ([upsert(1, 0, "a", seq=1), marked(1, 1, 2)], [upsert(1, 0, "b", seq=3)]),
    "the row came back in the deletion's window": ([upsert(1, 0, "a", seq=1), marked(1, 1, 2)], []),
    "the table begins with the deletion": ([marked(1, 0, 2)], [upsert(1, 0, "b", seq=3)]),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@pytest.mark.parametrize("name", CUT_OFF)
def test_a_tombstone_that_a_window_cuts_off_from_its_deletion_does_nothing(name, kind, spark, tmp_path):
    """The row is of another shard by then, and younger than the deletion."""
    keys = Keys(tmp_path, spark, kind, sequence_by="seq")
    first, later = CUT_OFF[name]
    shard = "people2"
    keys.add([upsert(9, 0, "other", seq=1, topic=shard)])
    keys.run()  # there is a table
    keys.add(first)
    if not later:
        keys.add([upsert(1, 1, "b", seq=3, topic=shard)])
    keys.run()
    keys.add([Event(e.key, e.row, shard, 0, 1) for e in later])
    keys.run()
    keys.add([Event(1, None)])
    counts = keys.run().keyed["people"]
    assert (counts.superseded, keys.by_key()[1]["name"]) == (1, "b")
    keys.run(window=window_of(("people", 0, len(first), len(first) + 1)))
    assert keys.by_key()[1]["name"] == "b"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_soft_deletion_by_a_tombstone_alone_keeps_the_sequence_of_the_row(kind, spark, tmp_path):
    """An older event of another shard, which comes late, does not bring the row back."""
    keys = Keys(tmp_path, spark, kind, sequence_by="seq", deletes="soft")
    for event in (upsert(1, 0, "a", seq=5), Event(1, None)):
        keys.add([event])
        keys.run()
    assert [(row["seq"], row["_is_deleted"]) for row in keys.read()] == [(5, True)]
    keys.add([upsert(1, 0, "late", seq=4, topic="people2")])
    assert keys.run().keyed["people2"].superseded == 1
    assert [(row["name"], row["_is_deleted"]) for row in keys.read()] == [("a", True)]


@pytest.mark.parametrize("track", [("name",), pytest.param(("name", "note"), marks=pytest.mark.long)])
@pytest.mark.parametrize("seed", SEEDS)
def test_versions_of_keys(seed, track, spark, tmp_path):
    keys = Keys(tmp_path, spark, ["delta", "iceberg"][seed % 2], mode="scd2", track=track)
    history = History(400 + seed, names=3)
    runs = Runs(keys, history, seed, track=track)
    for _ in steps(seed):
        runs.step()


def test_a_table_of_versions_supersedes_no_event(spark, tmp_path):
    """Not even if a run reads old offsets again, together with new ones."""
    keys = Keys(tmp_path, spark, mode="scd2", track=("name",))
    keys.add([upsert(1, 0, "a"), upsert(1, 1, "a", note="x"), upsert(1, 2, "b")])
    counts = keys.run().keyed["people"]
    assert (counts.inserted, counts.updated, counts.superseded) == (2, 0, 0)
    keys.add([upsert(1, 3, "c"), Event(1, None, offset=4)])
    counts = keys.run(window=window_of(("people", 0, 1, 5))).keyed["people"]
    assert (counts.inserted, counts.updated, counts.superseded) == (1, 1, 0)
    assert sorted((row["name"], row["is_current"]) for row in keys.read()) == [
        ("a", False),
        ("b", False),
        ("c", False),
    ]


@pytest.mark.parametrize("mode", [pytest.param("upsert", marks=pytest.mark.long), "scd2"])
def test_a_topic_that_starts_over_loses_the_rows_that_it_does_not_make_again(mode, spark, tmp_path):
    keys = Keys(tmp_path, spark, mode=mode)
    keys.add([upsert(1, 0, "a"), upsert(2, 1, "b"), upsert(7, 0, "x", topic="people2")])
    keys.run()
    drop = {
        "transforms": "drop",
        "transforms.drop.type": "io.confluent.connect.transforms.Filter$Value",
        "transforms.drop.filter.condition": "$[?(@.name == 'b')]",
        "transforms.drop.filter.type": "exclude",
    }
    keys.chain = parse_chain(drop)
    report = keys.run(rebuild=True, window=WindowRequest(topics=("people",)))
    assert {row["id"] for row in keys.read()} == {1, 7}
    assert report.keyed["people"].deleted == 1
    assert sum(open_table(spark, keys.sink).state().rows.values()) == 2


@pytest.mark.parametrize(
    ("kind", "mode"), [pytest.param("delta", "scd2", marks=pytest.mark.long), ("iceberg", "upsert")]
)
def test_failed_records_that_are_run_again_take_their_place(kind, mode, spark, tmp_path):
    keys = Keys(tmp_path, spark, kind, mode=mode)
    cast = {"transforms.cast.type": f"{TRANSFORMS}Cast$Value", "transforms.cast.spec": "note:int32"}
    mask = {
        "transforms.mask.type": f"{TRANSFORMS}MaskField$Value",
        "transforms.mask.fields": "note",
        "transforms.mask.replacement": "5",
    }
    keys.chain = parse_chain({"transforms": "cast", **cast})
    keys.add([upsert(1, 0, "a", "no number"), upsert(1, 1, "b", "2"), Event(2, None, offset=2), upsert(2, 3, note="x")])
    report = keys.run(errors_tolerance="all")
    assert (report.failed, [(row["id"], row["name"], row["note"]) for row in keys.read()]) == (2, [(1, "b", 2)])
    keys.chain = parse_chain({"transforms": "mask,cast", **mask, **cast})
    keys.run(window=WindowRequest(redrive=True))
    rows = sorted((row["id"], row["_source_offset"], row["name"], row["note"]) for row in keys.read())
    older = [(1, 0, "a", 5)] if mode == "scd2" else []
    assert rows == [*older, (1, 1, "b", 5), (2, 3, "n", 5)]
