"""Records to file topics: routed, once each, with where they come from."""

from dataclasses import replace

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, TableError, UnsupportedError
from dagster_smt.model.windows.window import Window
from dagster_smt.run.batch import run
from dagster_smt.tables import local
from dagster_smt.tables.sink_options import FileTopicSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.tables.window_request import WindowRequest
from tests.run.world import ROUTE, World, order, window


class Topics(World):
    """A world whose sink is a folder of topics."""

    def spec(self, chain=ROUTE, topics=("orders",), root="out", group="g", **changes):
        sink = FileTopicSink(self.folder / root, group=group)
        table = TopicTable(self.topics, topics)
        return replace(super().spec(), chain=parse_chain(chain), sink=sink, table=table, **changes)

    def written(self) -> list:
        source = open_source(FileTopics(self.folder / "out"), self.session)
        return (
            source.read(Window(tuple(source.ranges(source.topics())))).orderBy("topic", "partition", "offset").collect()
        )


@pytest.fixture
def world(spark, tmp_path):
    return Topics(tmp_path, spark)


def test_routers_choose_the_topic(world):
    world.add(order(1), NewRecord(b"k2", b'{"name":null}', (), 7, 1))
    world.add(order(3), partition=1)
    world.add(order(4), topic="people")
    report = world.run(topics=("orders", "people"))
    assert (report.records_out, report.files) == (4, 3)
    results = [(r.topic, r.partition, r.offset, bytes(r.key), r.timestampType) for r in world.written()]
    assert results == [
        ("clean.orders", 0, 0, b"k1", 0),
        ("clean.orders", 0, 1, b"k2", 1),
        ("clean.orders", 1, 0, b"k3", 0),
        ("clean.people", 0, 0, b"k4", 0),
    ]
    first = world.written()[0]
    headers = [(h.key, bytes(h.value)) for h in first.headers]
    assert headers == [("trace", b"\xff1"), ("dagster_smt.group", b"g"), ("dagster_smt.source", b"orders-0@0")]
    assert b'"name":""' in bytes(first.value) and first.timestamp.microsecond == 1000
    world.add(order(5))
    assert world.run(topics=("orders", "people")).window == window(2, 3)
    assert len(world.written()) == 5


def test_each_group_has_its_progress(world):
    world.add(order(1), order(2))
    assert world.run().records_out == 2 and world.run().status == "empty"
    assert not any("Python" in line for line in world.lines)
    routed = {"transforms": "t", "transforms.t.type": "TimestampRouter", "transforms.t.timestamp.format": "z"}
    assert world.run(routed, group="other").records_out == 2
    slower = "records run in Python, which takes several times as long"
    assert f"{slower}: transforms.t (TimestampRouter) has dates with rarely used letters" in world.lines
    assert len(world.written()) == 4


def test_a_try_that_died_before_its_progress_is_not_written_twice(world, monkeypatch):
    world.add(*(order(n) for n in range(4)))
    world.run(window=WindowRequest(max_records=2))

    def dying(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(local, "write_json", dying)
        with pytest.raises(KeyboardInterrupt):
            world.run()
    assert len(world.written()) == 4
    world.add(order(4))
    assert world.run().window == window(2, 5)
    assert [bytes(r.key) for r in world.written()] == [b"k%d" % n for n in range(5)]


@pytest.mark.parametrize(
    "changes", [{"rebuild": True}, {"window": WindowRequest(explicit=window(0, 1))}], ids=["rebuild", "fixed range"]
)
def test_nothing_in_a_topic_is_replaced(world, changes):
    world.add(order(1), order(2))
    world.run()
    with pytest.raises(UnsupportedError, match="SMT574"):
        world.run(**changes)
    assert len(world.written()) == 2


def test_records_do_not_go_back_to_where_they_come_from(world):
    world.add(order(1))
    with pytest.raises(TableError, match="SMT575 orders: "):
        world.run({"transforms": ""}, root="topics")
    assert len(open_source(world.topics, world.session).ranges(["orders"])) == 1
    assert world.run(root="topics").records_out == 1


def test_damaged_progress_is_told(world):
    world.add(order(1))
    world.run()
    (file,) = (world.folder / "out" / ".progress").glob("*.json")
    file.write_text("{")
    with pytest.raises(TableError, match=r"SMT522 .*g\.json: the progress of the group is damaged"):
        world.run()


def test_two_writers(world):
    world.add(order(1))
    spec = world.spec()
    table = open_table(world.session, spec.sink)
    (world.folder / "out" / ".progress").mkdir(parents=True)
    with local.locked(table._file.with_suffix(".lock"), wait=False), pytest.raises(TableError, match="SMT528"):
        run(spec, world.session)
    assert run(spec, world.session).records_out == 1


@pytest.mark.parametrize("options", [{"path": ""}, {"group": "a/b"}])
def test_what_file_topics_cannot_be(tmp_path, options):
    with pytest.raises(ConfigError, match="SMT576"):
        FileTopicSink(**{"path": tmp_path, **options})


def test_what_a_try_that_died_wrote_is_found_by_smaller_windows(world, monkeypatch):
    world.add(*(order(n) for n in range(6)))

    def dying(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(local, "write_json", dying)
        world.run()
    for _ in range(3):
        world.run(window=WindowRequest(max_records=2))
    assert [bytes(r.key) for r in world.written()] == [b"k%d" % n for n in range(6)]
