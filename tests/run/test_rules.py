"""Rules of runs: a run does what was asked of it and nothing else; every hint leads out; every failure has a code."""

import shutil
from dataclasses import replace

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import EngineError, RecordsRejected, TableError
from dagster_smt.run import batch
from dagster_smt.run.batch import run
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.tables.window_request import WindowRequest
from tests.run.world import CHAIN, COLUMNS, MASK, TRANSFORMS, World, mixed, order, window


@pytest.fixture
def world(spark, tmp_path):
    return World(tmp_path, spark)


def cancelled(*args):
    raise KeyboardInterrupt


def test_a_cancelled_rebuild_is_not_carried_out_by_the_next_run(world, monkeypatch):
    world.add(*(order(n) for n in range(6)))
    world.run()
    with monkeypatch.context() as patch:
        patch.setattr(DeltaTable, "commit", cancelled)
        with pytest.raises(KeyboardInterrupt):
            world.run(rebuild=True, window=WindowRequest(max_records=2))
    world.add(order(6))
    assert world.run().window == window(6, 7)
    assert world.offsets() == list(range(7))


def test_a_rejected_explicit_window_is_not_replayed(world):
    mixed(world)
    world.run(window=WindowRequest(max_records=5), errors_tolerance="all")
    with pytest.raises(RecordsRejected):
        world.run(CHAIN, window=WindowRequest(explicit=window(2, 3)))
    assert world.run(errors_tolerance="all").window == window(5, 10)


def test_a_table_whose_state_cannot_be_read_is_started_over(world):
    """Delta passes over a transaction whose number it has had: numbers go on."""
    world.add(*(order(n) for n in range(3)))
    for end in (1, 2):
        world.run(window=WindowRequest(max_records=1))
        assert world.state.number == end
    later = world.table.read().limit(1).write.format("delta").mode("append")
    later.option("userMetadata", '{"dagster_smt":{"format":99}}').save(str(world.folder / "table"))
    with pytest.raises(TableError, match=r"SMT522 [\s\S]*upgrade dagster_smt"):
        world.run()
    assert world.run(rebuild=True).records_out == 3
    assert world.offsets() == [0, 1, 2] and world.state.number > 2
    world.add(order(3))
    assert world.run().window == window(3, 4)


HEADERS = [
    {"type": "DropHeaders", "headers": "trace"},
    {"type": "HeaderFrom$Value", "fields": "name", "headers": "n", "operation": "copy"},
    {"type": "InsertHeader", "header": "h", "value.literal": "1"},
]


@pytest.mark.parametrize("options", HEADERS, ids=[h["type"] for h in HEADERS])
def test_records_without_headers_pass_stages_that_look_at_them(world, options):
    world.add(NewRecord(b"k", b'{"name":"x"}', (), 5), order(2))
    chain = {f"transforms.h.{k}": v for k, v in options.items()}
    chain["transforms.h.type"] = TRANSFORMS + options["type"]
    assert world.run({"transforms": "h", **chain}).records_out == 2


@pytest.mark.parametrize("kind", ["records", "columns"])
def test_a_timestamp_beyond_spark_is_a_dead_letter(world, kind):
    far = 1_700_000_000_000_000_000  # nanoseconds by mistake
    world.add(order(1), NewRecord(b"k", order(2).value, (), far), order(3))
    value = COLUMNS if kind == "columns" else None
    report = world.run(kind=kind, value=value, errors_tolerance="all", dead_letter_topic="orders.dead")
    assert (report.records_out, report.failed) == (2, 1)
    assert [(r.offset, r.stage, r.problem.code) for r in report.rejects] == [(1, "value.converter", "SMT429")]
    (letter,) = world.dead()
    assert bytes(letter.value) == order(2).value


def spec_of(world, *topics, **changes):
    return replace(world.spec(**changes), table=TopicTable(world.topics, topics))


def test_topics_that_fail_are_left_out_and_fail_alone(world):
    world.add(order(1), order(2), topic="a")
    world.add(order(1), order(2, "x"), topic="b")
    chain = parse_chain(CHAIN)
    spec = replace(spec_of(world, "a", "b", key="r"), chain=chain)
    report = run(spec, world.session)
    assert (report.window, report.records_out) == (window(0, 2, "a"), 2)
    assert [p.place for p in report.failures["b"]] == ["b-0@1 transforms.cast (Cast$Value)", "b"]
    assert "nothing of this topic was committed" in report.failures["b"][-1].statement
    with pytest.raises(RecordsRejected):  # a retry of the same run takes what was left out
        run(spec, world.session)
    mended = replace(spec, chain=parse_chain(MASK))
    assert run(mended, world.session).window == window(0, 2, "b")
    assert run(mended, world.session).status == "already committed"


def test_counts_per_topic_are_exact(world):
    for topic, count in (("a", 3), ("b", 5)):
        world.add(*(order(n, "x" if n == 1 else n) for n in range(count)), NewRecord(b"k", None), topic=topic)
    spec = replace(spec_of(world, "a", "b", errors_tolerance="all"), chain=parse_chain(CHAIN))
    report = run(spec, world.session)
    assert (report.records_in, report.records_out, report.dropped, report.failed) == (10, 6, 2, 2)
    for topic, count in (("a", 3), ("b", 5)):
        part = report.of_topic(topic)
        assert (part.records_in, part.records_out, part.dropped, part.failed) == (count + 1, count - 1, 1, 1)
        assert part.touched("masked") == {"name": count - 1, "nickname": 0}
        assert [(s.records_in, s.dropped, s.failed) for s in part.stages] == [
            (count + 1, 1, 0),
            (count, 0, 1),
            (count - 1, 0, 0),
        ]
        assert [(r.topic, r.offset) for r in part.rejects] == [(topic, 1)]


def test_a_topic_that_is_damaged_does_not_stop_the_others(world):
    world.add(order(1), topic="a")
    world.add(order(1), topic="b")
    (world.folder / "topics" / "b" / "0" / "notes.txt").write_text("x")
    report = run(spec_of(world, "a", "b"), world.session)
    assert report.window == window(0, 1, "a") and [p.code for p in report.failures["b"]] == ["SMT502"]


def retention(world, before: int) -> None:
    """Delete the first segments of the topic."""
    for segment in (world.folder / "topics" / "orders" / "0").glob("*.jsonl"):
        if int(segment.stem) < before:
            segment.unlink()


def test_the_hint_for_records_lost_to_retention_leads_out(world):
    for n in range(4):
        world.add(order(n))
    world.run(window=WindowRequest(max_records=1))
    retention(world, 3)
    with pytest.raises(TableError, match=r"SMT511 .*[\s\S]*window.accept_gap: true to continue at offset 3"):
        world.run()
    assert world.run(window=WindowRequest(accept_gap=True)).window == window(3, 4)
    assert world.state.gaps.to_json() == {"orders": {"0": [[1, 3]]}}
    assert world.run().status == "empty" and world.offsets() == [0, 3]


@pytest.mark.parametrize(("again", "code"), [(2, "SMT51[56]"), (9, "SMT516")])
def test_the_hint_for_a_topic_made_anew_leads_out(world, again, code):
    world.add(*(order(n) for n in range(4)))
    world.add(order(1), topic="other")
    run(spec_of(world, "orders", "other"), world.session)
    shutil.rmtree(world.folder / "topics" / "orders")
    world.add(*(order(n) for n in range(again)))
    world.add(order(2), topic="other")
    report = run(spec_of(world, "orders", "other"), world.session)
    assert report.window == window(1, 2, "other")
    with pytest.raises(TableError, match=rf"{code} [\s\S]*window.rebuild: true and window.topics: \[orders\]"):
        world.run()
    spec = spec_of(world, "orders", "other", rebuild=True, window=WindowRequest(("orders",)))
    assert run(spec, world.session).records_out == again
    results = sorted((r.source_topic, r.offset) for r in world.rows())
    assert results == [*(("orders", n) for n in range(again)), ("other", 0), ("other", 1)]
    assert world.state.rows == {"orders": again, "other": 2}


def test_a_table_of_others_is_not_written_to(world):
    world.session.range(3).write.format("delta").save(str(world.folder / "table"))
    world.add(order(1))
    with pytest.raises(TableError, match="SMT523"):
        world.run()
    assert world.table.read().count() == 3
    assert world.run(rebuild=True).records_out == 1


def test_an_empty_table_of_others_is_taken(world):
    """Somebody has made it with properties or partitions of their own."""
    place = f"delta.`{world.folder / 'table'}`"
    columns = "id INT, name STRING, amount BIGINT, _source_topic STRING, _source_partition INT, _source_offset BIGINT"
    world.session.sql(f"CREATE TABLE {place} ({columns}) USING delta PARTITIONED BY (id)")
    world.add(order(1))
    assert world.run(kind="columns", value=COLUMNS).records_out == 1
    assert world.table.read().count() == 1


FAILURES = [
    (PermissionError(13, "Permission denied", "/lake"), "SMT622 /lake: the file system refused: Permission denied"),
    (OSError(28, "No space left on device", "/lake"), "SMT623 /lake: the file system refused: No space left on device"),
    (ConnectionRefusedError(111, "Connection refused"), "SMT621 orders: the JVM of the Spark session is gone"),
]


@pytest.mark.parametrize(("error", "message"), FAILURES, ids=[m[:6] for _, m in FAILURES])
def test_failures_of_the_machine_have_a_code(world, monkeypatch, error, message):
    def failing(*args):
        raise error

    world.add(order(1))
    monkeypatch.setattr(batch.Attempt, "verify", failing)
    with pytest.raises(EngineError) as caught:
        world.run()
    assert str(caught.value).splitlines()[0] == message and caught.value.problems[0].hint


def test_failures_of_spark_name_its_condition_and_no_value(world, monkeypatch):
    def failing(*args):
        world.session.conf.set("spark.sql.ansi.enabled", "true")  # Spark 3.5 casts to null by default
        try:
            world.session.sql("SELECT CAST('secret-4711' AS INT)").collect()
        finally:
            world.session.conf.unset("spark.sql.ansi.enabled")

    world.add(order(1))
    monkeypatch.setattr(batch.Attempt, "verify", failing)
    with pytest.raises(EngineError) as caught:
        world.run()
    assert "SMT620 orders: Spark failed: CAST_INVALID_INPUT" in str(caught.value)
    assert "4711" not in str(caught.value)


def test_two_writers(world, monkeypatch):
    """The second commits while the first is about to: the first fails, nothing is doubled, and a retry goes on."""
    world.add(*(order(n) for n in range(3)))
    commit = DeltaTable.commit

    def overtaken(table, *args):
        monkeypatch.setattr(DeltaTable, "commit", commit)
        world.run()
        return commit(table, *args)

    monkeypatch.setattr(DeltaTable, "commit", overtaken)
    with pytest.raises(TableError, match="SMT528"):
        world.run()
    assert world.offsets() == [0, 1, 2] and world.run().status == "empty"


@pytest.mark.parametrize("sink", [DeltaSink, IcebergSink])
def test_a_relative_folder_is_below_the_folder_where_this_runs(world, monkeypatch, sink):
    """Spark's JVM has a working directory of its own, and Delta reads no relative paths."""
    monkeypatch.chdir(world.folder)
    spec = replace(world.spec(), sink=sink("here/table"))
    for number in range(2):
        world.add(order(number))
        assert run(spec, world.session).records_out == 1
    assert (world.folder / "here" / "table").is_dir()
    assert open_table(world.session, spec.sink).read().count() == 2
