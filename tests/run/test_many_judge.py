"""Random histories of many tables: deaths, replays, tables that fail and come later; its readers are not Spark."""

import json
import random
import time
from collections import Counter
from contextlib import suppress
from unittest.mock import patch

import pytest
from deltalake import DeltaTable as DeltaReader
from pyiceberg.table import StaticTable

from dagster_smt.errors import TableError
from dagster_smt.model.topics.format import Format
from dagster_smt.model.topics.table_names import name_in_path
from dagster_smt.model.windows.offsets import OffsetSet
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run import many_tables
from dagster_smt.run.commits import Draft
from dagster_smt.run.many_tables import OneTable
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sinks.protocol import Replaced
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.window_request import WindowRequest
from dagster_smt.transforms.debezium.events.examples import outbox_event
from tests.run.dying import Died, dying_at
from tests.run.many_world import PATH, ManyWorld

NAMES = ["orders", "customers", "a/b", "späte", "refunds"]
KEY = Format("json_schema", parse_ddl("id INT"))


OUTBOX = {
    "transforms": "outbox",
    "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
    "transforms.outbox.route.topic.replacement": "$1",
    "transforms.outbox.table.expand.json.payload": "true",
}


class History:
    """Records of several topics and partitions, the runs over them, and the tables that they must become."""

    def __init__(self, seed: int, world: ManyWorld, sink=DeltaSink, mode: str = "append"):
        self.rng, self.world, self.mode, self.sink = random.Random(seed), world, mode, sink
        self.records: list[tuple[str, int, int, str, int, int]] = []  # topic, partition, offset, table, id, amount
        self.ends: Counter = Counter()
        self.broken = ""
        world.sink = self.sink_of

    def sink_of(self, kind="columns", **options):
        options["kind"] = kind
        if self.mode != "append":
            options["mode"] = self.mode
        return self.sink(self.world.lake / PATH, **options)

    def add(self) -> None:
        rng = self.rng
        known = NAMES[: 2 + len(self.records) // 8]
        for _ in range(rng.randrange(1, 9)):
            number = rng.randrange(8)
            topic, partition = f"events.{number % 2}", number % 3
            table, amount = rng.choice(known), len(self.records)
            if self.mode != "append":  # a key stays in its table
                table = NAMES[number % len(NAMES)]
            offset = self.ends[topic, partition]
            self.ends[topic, partition] += 1
            value = json.dumps({"id": number, "table": table, "amount": amount}).encode()
            self.world.add(NewRecord(json.dumps({"id": number}).encode(), value), topic=topic, partition=partition)
            self.records.append((topic, partition, offset, table, number, amount))

    def run(self, **changes):
        return self.world.run(key=KEY if self.mode != "append" else None, options={}, **changes)

    def step(self) -> None:
        rng = self.rng
        kind = rng.random()
        if kind < 0.35:
            with suppress(Died), dying_at(rng.randrange(1, 25), after=rng.random() < 0.5):
                self.run()
        elif kind < 0.5:
            self.run(window=WindowRequest(max_records=rng.randrange(1, 4)))
        elif kind < 0.65 and self.mode != "scd2":
            topic, partition, offset, *_ = rng.choice(self.records)
            end = rng.randrange(offset + 1, self.ends[topic, partition] + 1)
            with suppress(Died), dying_at(rng.randrange(1, 60), after=rng.random() < 0.5):
                self.run(window=WindowRequest(explicit=Window((Range(topic, partition, offset, end),))))
        elif kind < 0.8:
            self.fail_one()
        else:
            self.run()

    def fail_one(self) -> None:
        """A run in which one table cannot be written."""
        broken = self.rng.choice(NAMES)
        original = OneTable.written

        def written(one, bound, sink, names, name):
            if bound.topic == broken:
                raise TableError(many_tables.Problem("SMT528", sink.place, "locked", ""))
            return original(one, bound, sink, names, name)

        with patch.object(OneTable, "written", written), suppress(TableError):
            report = self.run()
            assert [one.topic for one in report.destinations if one.failed] in ([], [broken])

    def rows(self, table: str) -> list[dict]:
        folder = self.world.lake / name_in_path(table)
        if self.sink is DeltaSink:
            return DeltaReader(str(folder)).to_pyarrow_table().to_pylist() if folder.exists() else []
        hint = folder / "metadata" / "version-hint.text"
        if not hint.exists():
            return []
        return (
            StaticTable.from_metadata(str(folder / f"metadata/v{hint.read_text()}.metadata.json"))
            .scan()
            .to_arrow()
            .to_pylist()
        )

    def judge(self) -> None:
        """Each record is in its table once; of tables with keys the last record of each key is."""
        for table in NAMES:
            mine = [record for record in self.records if record[3] == table]
            rows = [r for r in self.rows(table) if r.get("is_current", True)]
            have = sorted((r["_source_topic"], r["_source_partition"], r["_source_offset"], r["amount"]) for r in rows)
            if self.mode == "append":
                want = sorted((topic, partition, offset, amount) for topic, partition, offset, _, _, amount in mine)
            else:
                last = {number: (topic, part, offset, amount) for topic, part, offset, _, number, amount in mine}
                want = sorted(last.values())
            assert have == want, (table, have, want)

    def play(self, steps: int) -> None:
        for _ in range(steps):
            self.add()
            self.step()
        for _ in range(20):
            if self.run().status == "empty":
                break
        assert self.run().status == "empty"
        self.judge()
        assert sum(self.world.state.rows.values()) == sum(len(self.rows(table)) for table in NAMES)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("mode", ["append", "upsert", "scd2"])
def test_every_history_ends_in_the_same_tables(spark, tmp_path, seed, mode):
    History(seed, ManyWorld(tmp_path, spark), mode=mode).play(6)


class OutboxHistory(History):
    """Events of an outbox, which EventRouter sends to the tables: rows that are inserted; other events do nothing."""

    def sink_of(self, kind="records", **options):
        return self.sink(self.world.lake / PATH, kind=kind, value=Format("json"), **options)

    def add(self) -> None:
        rng = self.rng
        known = NAMES[: 2 + len(self.records) // 8]
        for _ in range(rng.randrange(1, 9)):
            number, amount, table = rng.randrange(8), len(self.records), rng.choice(known)
            topic, partition = f"events.{number % 2}", number % 3
            offset = self.ends[topic, partition]
            self.ends[topic, partition] += 1
            op = rng.choice("cccccdu")
            event = json.loads(outbox_event(op, json.dumps({"id": number, "amount": amount})))
            for image in ("before", "after"):
                if event["payload"][image] is not None:
                    event["payload"][image]["aggregatetype"] = table
            value = None if rng.random() < 0.1 else json.dumps(event).encode()
            self.world.add(NewRecord(None, value), topic=topic, partition=partition)
            if op == "c" and value is not None:
                self.records.append((topic, partition, offset, table, number, amount))

    def run(self, **changes):
        return self.world.run(OUTBOX, kind="records", value=Format("envelope"), options={}, **changes)

    def rows(self, table: str) -> list[dict]:
        rows = []
        for row in super().rows(table):
            columns = {"topic": "source_topic", "partition": "partition", "offset": "offset"}
            place = {f"_source_{name}": row[column] for name, column in columns.items()}
            rows.append({**place, "amount": json.loads(row["value"])["amount"]})
        return rows


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sink", [DeltaSink, IcebergSink])
def test_every_history_of_an_outbox(spark, tmp_path, seed, sink):
    OutboxHistory(seed, ManyWorld(tmp_path, spark), sink).play(6)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_every_history_of_iceberg(spark, tmp_path, seed, mode):
    History(seed, ManyWorld(tmp_path, spark), IcebergSink, mode).play(5)


def never_waits(writing, outcomes, refused):
    return OffsetSet()


def never_replaces(one, spec, state, name):
    draft = ORIGINAL_DRAFT(one, spec, state, name)
    return Draft(**{**vars(draft), "replaced": Replaced()})


ORIGINAL_DRAFT = OneTable.draft
MISTAKES = {
    "a table that failed is forgotten": (many_tables._Writing, "waiting", never_waits),
    "a table is written twice": (OneTable, "draft", never_replaces),
    "a table is passed over": (OneTable, "holds", lambda one, state: state is not None),
}


@pytest.mark.long
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_judge_calls_mistakes(spark, tmp_path, mistake):
    owner, name, planted = MISTAKES[mistake]
    for seed in range(8):
        history = History(seed, ManyWorld(tmp_path / str(seed), spark))
        with patch.object(owner, name, planted):
            try:
                history.play(5)
            except AssertionError:
                return
    pytest.fail(f"nobody saw that {mistake}")


@pytest.mark.long
def test_two_hundred_topics_are_two_hundred_tables(spark, tmp_path):
    world = ManyWorld(tmp_path, spark)
    for number in range(200):
        value = json.dumps({"id": number, "table": f"t{number}", "amount": 1}).encode()
        world.add(NewRecord(None, value), topic=f"events.{number}")
    start = time.monotonic()
    with suppress(Died), dying_at(300, after=True):
        world.run()
    report = world.run()
    assert time.monotonic() - start < 600
    assert len(report.destinations) == 200 and not any(one.failed for one in report.destinations)
    assert all(world.ids(f"t{number}") == [number] for number in range(200))
