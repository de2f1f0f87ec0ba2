"""Records of others where runs read their own topics: letters, records that a try wrote, a table that is filled.

Every place that looks at what it may have written itself has to bear whatever else is there.
"""

import json

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.model.windows.window import Range
from dagster_smt.run.batch import run
from dagster_smt.run.dead_letters import CONNECTOR_HEADER, SOURCE_HEADERS
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.records import GROUP_HEADER, SOURCE_HEADER
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TableSource, TopicTable
from dagster_smt.tables.window_request import WindowRequest
from tests.run.world import CHAIN, ROUTE, SECRET, World, order, window

ODD = (None, b"", b"x", b"-1", b"99999999999999999999", b"\xff\xfe", b"orders", b"orders-0@x", b"orders-99999999999@1")


def foreign():
    """Records without a header of ours, and with all of ours whose values are odd."""
    yield NewRecord(b"k", b"{}")
    yield NewRecord(None, None, (("other", b"1"), ("other", None)))
    for owner in (b"orders", b"g", None):
        for odd in ODD:
            names = (*SOURCE_HEADERS, SOURCE_HEADER)
            yield NewRecord(b"k", b"{}", ((CONNECTOR_HEADER, owner), (GROUP_HEADER, owner), *((n, odd) for n in names)))


@pytest.fixture
def world(spark, tmp_path):
    return World(tmp_path, spark)


def test_letters_of_others(world):
    append_records(world.topics, "orders.dead", list(foreign()))
    for number in range(2):
        world.add(order(number), order(number, SECRET))
        report = world.run(CHAIN, errors_tolerance="all", dead_letter_topic="orders.dead")
        assert (report.records_out, report.failed) == (1, 1)
    assert len(world.dead()) == len([*foreign()]) + 2


def test_records_of_others_in_topics_that_are_written(world):
    out = FileTopics(world.folder / "out")
    append_records(out, "clean.orders", list(foreign()))
    spec = RunSpec("orders", parse_chain(ROUTE), TopicTable(world.topics, ("orders",)), FileTopicSink(out.root, "g"))
    for number in range(2):
        world.add(order(number))
        assert run(spec, world.session).records_out == 1


BRONZE = "key STRING, value STRING, topic STRING, partition BIGINT, offset BIGINT, timestamp TIMESTAMP"


class Bronze:
    """A table of records that is filled in any order, and a run over it."""

    def __init__(self, world):
        self.world, self.path = world, (world.folder / "bronze").as_uri()
        table = TopicTable(TableSource(path=self.path), ("orders",))
        self.sink = DeltaSink(world.folder / "silver")
        self.spec = RunSpec("silver", parse_chain(CHAIN), table, self.sink)

    def add(self, *offsets, partition=0):
        value = json.dumps({"name": SECRET, "amount": 1})
        rows = [("k", value, "orders", partition, offset, None) for offset in offsets]
        frame = self.world.session.createDataFrame(rows, BRONZE)
        frame.coalesce(1).write.format("delta").mode("append").save(self.path)

    def run(self, **window):
        from dataclasses import replace

        return run(replace(self.spec, window=WindowRequest(**window)), self.world.session)

    @property
    def state(self):
        return open_table(self.world.session, self.sink).state()

    def offsets(self):
        return sorted(r.offset for r in open_table(self.world.session, self.sink).read().collect())


@pytest.mark.long
def test_a_table_that_is_filled_later_is_read_to_its_last_record(world):
    bronze = Bronze(world)
    bronze.add(0, 1, 2, 6, 7)
    assert bronze.run().records_in == 5
    assert bronze.state.absent == offsets_of([Range("orders", 0, 3, 6)]) and bronze.state.ends()["orders"] == {"0": 8}
    assert bronze.run().status == "empty"
    bronze.add(4, 9)
    assert bronze.run(max_records=1).records_in == 1 and bronze.run().records_in == 1
    assert bronze.offsets() == [0, 1, 2, 4, 6, 7, 9] and bronze.run().status == "empty"
    bronze.add(3, 5, 8)
    replay = bronze.run(explicit=window(2, 5))
    assert (replay.records_in, bronze.offsets()) == (3, [0, 1, 2, 3, 4, 6, 7, 9])
    assert bronze.run().records_in == 2 and bronze.offsets() == list(range(10))
    assert not bronze.state.absent and bronze.state.held == offsets_of([Range("orders", 0, 0, 10)])


@pytest.mark.long
def test_a_fixed_range_takes_the_rows_that_are_gone_from_its_source(world):
    bronze = Bronze(world)
    bronze.add(0, 1, 2)
    bronze.run()
    world.session.sql(f"DELETE FROM delta.`{bronze.path}` WHERE offset = 1")
    bronze.run(explicit=window(0, 3))
    assert bronze.offsets() == [0, 2] and bronze.state.held.of("orders", 0) == ((0, 1), (2, 3))
    bronze.add(1)
    assert bronze.run().records_in == 1 and bronze.offsets() == [0, 1, 2]


def test_numbers_that_kafka_has_no_room_for(world):
    """A partition beyond 32 bits: told with the row's problem, not Spark's."""
    bronze = Bronze(world)
    bronze.add(0)
    bronze.add(1, partition=2**40)
    with pytest.raises(Exception, match="SMT549 orders: 1 records have no partition"):
        bronze.run()


def test_records_that_would_come_back_are_dead_letters(world):
    """A router may send records where the pattern of the table reads them; the table is not stuck by it."""
    root = world.topics.root
    options = {"field": "to"}
    chain = parse_chain(
        [{"alias": "to", "type": "io.confluent.connect.transforms.ExtractTopic$Value", "options": options}]
    )
    table = TopicTable(world.topics, pattern=r"shop\..*")
    letters = {"errors_tolerance": "all", "dead_letter_topic": "letters"}
    spec = RunSpec("shop", chain, table, FileTopicSink(root / ".." / "topics"), **letters)
    for target in ("clean", "shop.a", "shop.b"):
        world.add(NewRecord(None, json.dumps({"to": target}).encode()), topic="shop.a")
    report = run(spec, world.session)
    assert (report.records_out, report.failed) == (1, 2)
    assert {r.problem.code for r in report.rejects} == {"SMT575"} and len(world.dead("letters")) == 2
    world.add(NewRecord(None, b'{"to": "clean"}'), topic="shop.a")
    assert run(spec, world.session).records_out == 1


def test_file_topics_of_the_same_names_elsewhere_are_a_copy(world):
    """Without a router: the topics have one name in two folders."""
    spec = RunSpec("copy", parse_chain({"transforms": ""}), TopicTable(world.topics, ("orders",)),
                   FileTopicSink(world.folder / "copy"))  # fmt: skip
    for number in range(3):
        world.add(order(number))
        assert run(spec, world.session).records_out == 1


def test_topics_written_by_hand_whose_first_segments_go(world):
    """Retention is no new topic: what was read stays, what was not is told."""
    for start in (0, 2, 4):
        world.add(order(start), order(start + 1))
    folder = world.topics.root / "orders"
    (folder / ".id").unlink()
    world.run(window=WindowRequest(max_records=3))
    first, *rest = sorted((folder / "0").glob("*.jsonl"))
    first.unlink()
    assert world.run().records_in == 3 and world.offsets() == list(range(6))
    world.add(order(6), order(7))
    rest[0].unlink()
    assert world.run().records_in == 2
