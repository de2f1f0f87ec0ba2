"""Dead letters: the original with Connect's context, each once, whatever dies when."""

import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, TableError
from dagster_smt.run.batch import run
from dagster_smt.run.letter_place import check_dead_letters, has_letters_in
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.locations import location_of, locations, overlap, same_name
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, KafkaSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import FileTopics, TableSource, TopicTable
from dagster_smt.tables.window_request import WindowRequest
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
    ],
)
def test_letters_need_a_place_of_their_own(world, changes, code):
    world.add(order(1))
    with pytest.raises(ConfigError, match=code):
        world.run(CHAIN, errors_tolerance="all", **changes)


def test_letters_never_lie_in_the_table(world, monkeypatch):
    """However its place is spelled: it would hold original records beside masked ones."""
    world.add(order(1))
    table, session = world.folder / "table", world.session
    (table / "dead").mkdir(parents=True)
    (world.folder / "link").symlink_to(table)
    monkeypatch.chdir(world.folder)
    session.sql(f"CREATE TABLE letters_by_name (a INT) USING delta LOCATION '{table}/by_name'")
    files = [
        FileTopics(table),
        FileTopics(table / "dead"),
        FileTopics(world.folder / "link"),
        FileTopics(Path("table")),
    ]
    paths = [
        *(str(table), "table", "./table/", "x/../table", "link", f"file:{table}", f"file://{table}"),
        *(f"file://localhost{table}", f"{table}/dead", "link/dead", str(world.folder), f"{table}//dead/../dead"),
    ]
    tables = [*map(DeltaSink, paths), DeltaSink(table="letters_by_name"), DeltaSink(table="`default`.letters_BY_name")]
    try:
        for place in [*files, *tables]:
            topic = {"dead_letter_topic": "x"} if isinstance(place, FileTopics) else {}
            with pytest.raises(ConfigError, match="SMT537"):
                world.run(CHAIN, errors_tolerance="all", dead_letters=place, **topic)
    finally:
        session.sql("DROP TABLE letters_by_name")


def test_a_name_and_a_path_of_one_table_are_one_place(world):
    session, warehouse = world.session, location_of(world.session.conf.get("spark.sql.warehouse.dir"))
    session.sql(f"CREATE TABLE one_table (a INT) USING delta LOCATION '{world.folder}/one'")
    place = locations(session, DeltaSink(table="one_table"))
    try:
        assert overlap(place, locations(session, DeltaSink(world.folder / "one")))
        assert overlap(place, locations(session, DeltaSink(table="spark_catalog.default.one_table")))
        assert not overlap(place, locations(session, DeltaSink(world.folder / "other")))
    finally:
        session.sql("DROP TABLE one_table")
    not_there = locations(session, DeltaSink(table="not_there_yet"))
    assert [place for place in not_there if warehouse.holds(place) and place.path.endswith("/not_there_yet")]
    assert same_name(session, "a", "`default`.`a`") and same_name(session, "a.b", "spark_catalog.a.B")
    assert not same_name(session, "a", "b.a") and not same_name(session, "", "")


def test_letters_never_lie_in_the_table_that_is_read(world):
    bronze = TableSource(path=str(world.folder / "bronze"), format="delta")
    spec = replace(world.spec(CHAIN), table=replace(world.spec(CHAIN).table, source=bronze), errors_tolerance="all")
    for path, refused in ((world.folder / "bronze", True), (f"file:{world.folder}/bronze", True), ("/else", False)):
        expected = pytest.raises(ConfigError, match="SMT534") if refused else nullcontext()
        with expected:
            check_dead_letters(replace(spec, dead_letters=DeltaSink(path)), ["orders"], world.session)


def test_records_are_never_routed_to_the_topic_of_the_letters(world):
    """Who reads them there would meet originals; one such record ends no run."""
    root = world.topics.root
    router = {"alias": "to", "type": "io.confluent.connect.transforms.ExtractTopic$Value", "options": {"field": "to"}}
    chain, table = parse_chain([router]), TopicTable(world.topics, ("orders",))
    letters = {"errors_tolerance": "all", "dead_letter_topic": "letters"}
    spec = RunSpec("orders", chain, table, FileTopicSink(root / ".." / "topics"), **letters)
    for target in ("clean", "letters", "orders"):
        world.add(NewRecord(None, f'{{"to": "{target}"}}'.encode()))
    report = run(spec, world.session)
    assert (report.records_out, report.failed) == (1, 2)
    assert {r.problem.code for r in report.rejects} == {"SMT575", "SMT592"}
    assert [offset_of(letter) for letter in world.dead("letters")] == [1, 2]
    with pytest.raises(TableError, match="SMT592 letters"):
        run(replace(spec, errors_tolerance="none", name="strict", sink=FileTopicSink(root, "strict")), world.session)


def test_a_topic_of_letters_is_one_of_the_sink_or_is_not(world):
    cluster, other = KafkaTopics("one:9092"), FileTopics(world.folder)
    spec = replace(world.spec(CHAIN), sink=KafkaSink(cluster), dead_letters=cluster, dead_letter_topic="dead")
    assert has_letters_in(spec)
    assert not has_letters_in(replace(spec, dead_letters=other))
    assert not has_letters_in(replace(spec, dead_letters=DeltaSink("/letters")))


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


@pytest.mark.parametrize("first", [pytest.param(number, marks=pytest.mark.long) for number in (2, 3)])
def test_letters_from_before_a_rebuild_are_found_by_the_runs_after_it(world, first):
    """Its first window holds some of the records that fail, or none."""
    mixed(world)
    world.run(CHAIN, **OPTIONS)
    world.run(CHAIN, rebuild=True, window=WindowRequest(max_records=first), **OPTIONS)
    while world.run(CHAIN, window=WindowRequest(max_records=first), **OPTIONS).status == "committed":
        pass
    assert [offset_of(letter) for letter in world.dead()] == [2, 7]
    assert world.offsets() == [0, 1, 3, 5, 6, 8, 9]
