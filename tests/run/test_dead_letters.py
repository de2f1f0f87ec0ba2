"""Dead letters: the original with Connect's context, each once, whatever dies when."""

import shutil
from pathlib import Path

import pytest

from dagster_smt.errors import ConfigError, TableError
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.spec import DeltaSink, FileTopics, WindowRequest
from tests.run.world import CHAIN, SECRET, World, mixed, order, window


@pytest.fixture
def world(spark, tmp_path):
    return World(tmp_path, spark)


def test_dead_letters(world):
    mixed(world)
    world.add(NewRecord(b"a", b"{", (), 5), partition=1)
    dead = FileTopics(world.folder / "dead")
    report = world.run(CHAIN, errors_tolerance="all", dead_letters=dead, dead_letter_topic="letters")
    assert (report.failed, report.stages[0].records_in) == (3, 10)
    world.topics = dead
    letters = world.dead("letters")
    headers = [{h.key: bytes(h.value) for h in r.headers} for r in letters]
    first, last = headers[0], headers[2]
    original = order(2, SECRET)
    assert (bytes(letters[0].key), bytes(letters[0].value)) == (original.key, original.value)
    assert letters[0].timestamp.timestamp() * 1000 == original.timestamp
    message = first.pop("__connect.errors.exception.message").decode()
    assert message.startswith("SMT4") and SECRET not in message
    assert first == {
        "trace": b"\xff2",
        "__connect.errors.topic": b"orders",
        "__connect.errors.partition": b"0",
        "__connect.errors.offset": b"2",
        "__connect.errors.connector.name": b"orders",
        "__connect.errors.task.id": b"0",
        "__connect.errors.stage": b"TRANSFORMATION",
        "__connect.errors.class.name": b"org.apache.kafka.connect.transforms.Cast$Value",
        "__connect.errors.exception.class.name": b"org.apache.kafka.connect.errors.DataException",
        "dagster_smt.window": report.window.id.encode(),
        "dagster_smt.commit": world.state.attempt.encode(),
        "dagster_smt.topic.id": (world.folder / "topics" / "orders" / ".id").read_bytes().strip(),
    }
    assert (last["__connect.errors.partition"], last["__connect.errors.stage"]) == (b"1", b"VALUE_CONVERTER")
    assert last["__connect.errors.class.name"] == b"org.apache.kafka.connect.json.JsonConverter"
    assert len(letters) == 3


OPTIONS = {"errors_tolerance": "all", "dead_letter_topic": "orders.dead"}


@pytest.mark.long
def test_letters_of_a_replayed_window_are_not_published_again(world):
    mixed(world)
    world.run(CHAIN, **OPTIONS)
    world.run(CHAIN, window=WindowRequest(explicit=window(0, 10)), **OPTIONS)
    world.run(CHAIN, rebuild=True, **OPTIONS)
    assert len(world.dead()) == 2
    world.add(order(10, SECRET))
    world.run(CHAIN, **OPTIONS)
    assert [offset_of(letter) for letter in world.dead()] == [2, 7, 10]


def offset_of(letter) -> int:
    return next(int(bytes(h.value)) for h in letter.headers if h.key == "__connect.errors.offset")


def dying(*args):
    raise KeyboardInterrupt


def test_letters_of_a_try_that_died_are_not_published_again(world, monkeypatch):
    mixed(world)
    with monkeypatch.context() as patch:
        patch.setattr(DeltaTable, "commit", dying)
        with pytest.raises(KeyboardInterrupt):
            world.run(CHAIN, **OPTIONS)
    assert len(world.dead()) == 2 and world.state is None
    assert world.run(CHAIN, **OPTIONS).failed == 2
    assert [offset_of(letter) for letter in world.dead()] == [2, 7]


def test_letters_of_a_topic_made_anew_are_others(world):
    mixed(world)
    world.run(CHAIN, **OPTIONS)
    shutil.rmtree(world.folder / "topics" / "orders")
    mixed(world)
    with pytest.raises(TableError, match="SMT516"):
        world.run(CHAIN, **OPTIONS)
    world.run(CHAIN, rebuild=True, window=WindowRequest(("orders",)), **OPTIONS)
    assert [offset_of(letter) for letter in world.dead()] == [2, 7, 2, 7]


def test_letters_in_a_table(world):
    mixed(world)
    place = DeltaSink(world.folder / "letters")
    for request in (WindowRequest(), WindowRequest(explicit=window(0, 10))):
        world.run(CHAIN, window=request, errors_tolerance="all", dead_letters=place)
    rows = open_table(world.session, place).read().orderBy("source_offset").collect()
    assert [(r.source_topic, r.source_partition, r.source_offset) for r in rows] == [("orders", 0, 2), ("orders", 0, 7)]
    classes = {(r.connector, r.stage, r["class"].split(".")[-1]) for r in rows}
    assert classes == {("orders", "TRANSFORMATION", "Cast$Value")}
    assert bytes(rows[0].value) == order(2, SECRET).value and rows[0].message.startswith("SMT4")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"dead_letter_topic": "orders"}, "SMT534"),
        ({"dead_letters": FileTopics(Path("somewhere"))}, "SMT531"),
        ({"dead_letters": "inside", "dead_letter_topic": "x"}, "SMT537"),
        ({"dead_letters": "link", "dead_letter_topic": "x"}, "SMT537"),
        ({"dead_letters": "sink"}, "SMT537"),
    ],
)
def test_letters_need_a_place_of_their_own(world, changes, code):
    world.add(order(1))
    table = world.folder / "table"
    table.mkdir()
    (world.folder / "link").symlink_to(table)
    places = {"inside": FileTopics(table / "dead"), "link": FileTopics(world.folder / "link"), "sink": DeltaSink(table)}
    changes = {k: places.get(v, v) if isinstance(v, str) else v for k, v in changes.items()}
    with pytest.raises(ConfigError, match=code):
        world.run(CHAIN, errors_tolerance="all", **changes)


def test_letters_of_a_run_that_died_are_found_in_later_windows(world, monkeypatch):
    """It had published letters beyond what the next commit takes in."""
    mixed(world)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(DeltaTable, "commit", dying)
        world.run(CHAIN, **OPTIONS)
    for end in (3, 10):
        assert world.run(CHAIN, window=WindowRequest(max_records=end), **OPTIONS).failed == 1
    assert [offset_of(letter) for letter in world.dead()] == [2, 7]
    assert world.state.dead_letters == {"orders.dead-0": 2}


@pytest.mark.parametrize("first", [pytest.param(2, marks=pytest.mark.long), 3])
def test_letters_from_before_a_rebuild_are_found_by_the_runs_after_it(world, first):
    """Its first window holds some of the records that fail, or none."""
    mixed(world)
    world.run(CHAIN, **OPTIONS)
    world.run(CHAIN, rebuild=True, window=WindowRequest(max_records=first), **OPTIONS)
    while world.run(CHAIN, window=WindowRequest(max_records=first), **OPTIONS).status == "committed":
        pass
    assert [offset_of(letter) for letter in world.dead()] == [2, 7]
    assert world.offsets() == [0, 1, 3, 5, 6, 8, 9]
