"""One run after another over a topic: windows, counts, rejects, replay, rebuild."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, PlanError, RecordsRejected, TableError
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.run.micro_batch import MicroBatches, run_batches
from dagster_smt.run.report_json import report_from_json, report_of, report_to_json
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.planning import plan_table
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.tables.window_request import WindowRequest
from tests.run.world import CHAIN, COLUMNS, MASK, SECRET, TRANSFORMS, World, mixed, order, window


@pytest.fixture
def world(spark, tmp_path):
    return World(tmp_path, spark)


def test_windows_follow_each_other(world):
    world.add(*(order(n) for n in range(5)))
    world.add(order(0), partition=1)
    first = world.run()
    assert first.window == Window((Range("orders", 0, 0, 5), Range("orders", 1, 0, 1)))
    assert (first.records_in, first.records_out, first.status) == (6, 6, "committed")
    assert world.run().status == "empty"
    world.add(*(order(n) for n in range(5, 8)))
    assert world.run(window=WindowRequest(max_records=2)).window == window(5, 7)
    assert world.run(window=WindowRequest(max_records=2)).window == window(7, 8)
    assert world.offsets() == [0, *range(8)]
    assert world.lines[0] == "window: 6 records, orders-0 [0, 5), orders-1 [0, 1)"
    assert world.lines[-1].startswith("committed: 1 records in ")


def test_records_sink_keeps_kafka_columns(world):
    world.add(order(1), NewRecord(None, b'{"name":null}', (), 7, 1))
    world.run()
    row, other = sorted(world.rows(), key=lambda r: r.offset)
    assert (bytes(row.key), row.topic, row.partition, row.offset) == (b"k1", "orders", 0, 0)
    assert json.loads(bytes(row.value)) == {"id": 1, "name": "", "amount": 5}
    assert [(h.key, bytes(h.value)) for h in row.headers] == [("trace", b"\xff1")]
    assert row.source_topic == "orders" and row.timestamp.microsecond == 1000
    assert (other.key, other.timestampType, other.headers) == (None, 1, [])


def test_counts_and_ledger(world):
    mixed(world)
    report = world.run(CHAIN, errors_tolerance="all")
    assert (report.records_in, report.records_out, report.dropped, report.failed) == (10, 7, 1, 2)
    assert [(s.alias, s.records_in, s.dropped, s.failed) for s in report.stages] == [
        ("drop", 10, 1, 0),
        ("cast", 9, 0, 2),
        ("mask", 7, 0, 0),
    ]
    assert report.touched("masked") == {"name": 7, "nickname": 0}
    assert report.touched("cast") == {"amount": 7}
    assert [p.place.split()[0] for p in report.warnings if p.code == "SMT350"] == ["transforms.mask"]
    sizes = [f.stat().st_size for f in (world.folder / "table").glob("*.parquet")]
    assert (report.files, report.bytes) == (len(sizes), sum(sizes)) and sizes
    assert SECRET not in json.dumps(report_to_json(report))


def test_records_rejected_commits_nothing_and_a_mended_chain_goes_on(world):
    mixed(world)
    with pytest.raises(RecordsRejected) as caught:
        world.run(CHAIN)
    problems = caught.value.problems
    assert [p.place for p in problems] == [
        "orders-0@2 transforms.cast (Cast$Value)",
        "orders-0@7 transforms.cast (Cast$Value)",
        "orders",
    ]
    assert problems[-1].statement == "2 of 10 records failed; nothing was committed"
    assert SECRET not in str(caught.value)
    assert not (world.folder / "table").exists()
    world.add(order(10))
    mended = {**CHAIN, "transforms.cast.spec": "amount:string"}
    assert world.run(mended, window=WindowRequest(max_records=10)).window == window(0, 10)
    assert world.run(mended).window == window(10, 11)
    assert world.offsets() == [0, 1, 2, 3, *range(5, 11)]


def test_rejects_named_are_the_first_five(world):
    world.add(*(order(n, "x") for n in range(8)))
    with pytest.raises(RecordsRejected) as caught:
        world.run(CHAIN)
    assert [p.place.split()[0] for p in caught.value.problems] == [*(f"orders-0@{n}" for n in range(5)), "orders"]


def test_tolerance_all_without_a_topic(world):
    mixed(world)
    report = world.run(CHAIN, errors_tolerance="all")
    assert [(r.partition, r.offset, r.stage) for r in report.rejects] == [(0, 2, "cast"), (0, 7, "cast")]
    assert world.offsets() == [0, 1, 3, 5, 6, 8, 9]


def test_any_folder(spark, tmp_path):
    world = World(tmp_path / "with space [a]{b} %20*?\\ ü" / "x=1", spark)
    mixed(world)
    world.run(CHAIN, errors_tolerance="all", dead_letter_topic="orders.dead")
    assert world.offsets() == [0, 1, 3, 5, 6, 8, 9]
    assert "x" not in world.table.read().columns
    assert len(world.dead()) == 2


def test_stages_that_drop_everything_when_planned(world):
    """No record is left to write, and Spark knows: what is observed must be counted all the same."""
    world.add(order(1), order(2))
    drop = {
        "transforms.drop.type": TRANSFORMS + "Filter",
        "transforms.drop.predicate": "orders",
        "predicates": "orders",
        "predicates.orders.type": TRANSFORMS + "predicates.TopicNameMatches",
        "predicates.orders.pattern": "orders",
    }
    report = world.run({**drop, "transforms": "drop"})
    assert (report.records_in, report.dropped, report.records_out) == (2, 2, 0)


AGAIN = {
    "transforms": "top",
    "transforms.top.type": TRANSFORMS + "RegexRouter",
    "transforms.top.regex": ".*",
    "transforms.top.replacement": "again",
}


def test_an_explicit_window_replaces_exactly_its_rows(world):
    world.add(*(order(n) for n in range(6)))
    for _ in range(3):
        world.run(window=WindowRequest(max_records=2))
    report = world.run(AGAIN, window=WindowRequest(explicit=window(3, 5)))
    assert report.window == window(3, 5)
    assert [(r.offset, r.topic) for r in sorted(world.rows(), key=lambda r: r.offset)] == [
        (0, "orders"), (1, "orders"), (2, "orders"), (3, "again"), (4, "again"), (5, "orders"),
    ]  # fmt: skip
    assert world.state.rows == {"orders": 6}
    with pytest.raises(TableError, match="SMT510"):
        world.run(window=WindowRequest(explicit=window(4, 9)))
    assert world.run().status == "empty"


def test_rows_without_a_source_cannot_be_replaced(world):
    world.add(*(order(n) for n in range(4)))
    sink = DeltaSink(world.folder / "table", "columns", source_columns=None)
    spec = replace(world.spec(value=COLUMNS, kind="columns", window=WindowRequest(max_records=2)), sink=sink)
    run(spec, world.session)
    assert world.table.read().columns == ["id", "name", "amount"]
    with pytest.raises(TableError, match="SMT514"):
        run(replace(spec, window=WindowRequest(explicit=window(0, 1))), world.session)
    assert run(replace(spec, window=WindowRequest(explicit=window(2, 4))), world.session).records_out == 2
    assert run(replace(spec, rebuild=True), world.session).records_out == 2


def test_what_lies_before_an_explicit_window_is_read_later(world):
    world.add(*(order(n) for n in range(6)))
    assert world.run(window=WindowRequest(explicit=window(2, 4))).records_out == 2
    assert world.run().window == window(0, 2)
    assert world.run().window == window(4, 6)
    assert world.offsets() == list(range(6))


def test_a_gap_that_is_wanted_is_noted(world):
    world.add(*(order(n) for n in range(6)))
    world.run(window=WindowRequest(explicit=window(2, 4), accept_gap=True))
    assert world.state.gaps.to_json() == {"orders": {"0": [[0, 2]]}}
    assert world.run().window == window(4, 6)
    assert world.run(window=WindowRequest(explicit=window(0, 1))).records_out == 1
    assert world.state.gaps.to_json() == {"orders": {"0": [[1, 2]]}}


def test_a_window_by_time(world):
    world.add(*(order(n) for n in range(6)))
    world.run()
    start = 1700000000000
    again = world.run(AGAIN, window=WindowRequest(since=start + 2, until=start + 4))
    assert again.window == window(2, 4)
    assert sorted(r.offset for r in world.rows() if r.topic == "again") == [2, 3]


def source(offset: int) -> dict:
    return {"_source_topic": "orders", "_source_partition": 0, "_source_offset": offset}


def test_rebuild_starts_over_in_one_step(world):
    world.add(*(order(n) for n in range(4)))
    world.run(window=WindowRequest(max_records=3))
    world.run()
    report = world.run(kind="columns", value=COLUMNS, rebuild=True, window=WindowRequest(max_records=2))
    assert report.window == window(0, 2)
    assert [r.id for r in world.rows()] == [0, 1]
    assert world.run(kind="columns", value=COLUMNS).window == window(2, 4)
    rows = [r.asDict() for r in world.rows()]
    assert rows == [{"id": n, "name": "", "amount": 5, **source(n)} for n in range(4)]
    with pytest.raises(TableError, match="SMT525"):
        world.run(kind="records", window=WindowRequest(explicit=window(0, 2)))


def test_columns_may_come_but_not_change(world):
    world.add(order(1))
    world.run(kind="columns", value=COLUMNS)
    world.add(order(2))
    wider = Format("json_schema", parse_ddl("id INT, name STRING, amount BIGINT, extra DATE"))
    report = world.run(kind="columns", value=wider)
    assert "extra" in report.after.by_name and "extra" in report.before.by_name
    world.add(order(3))
    other = Format("json_schema", parse_ddl("id STRING, name STRING, amount INT"))
    with pytest.raises(TableError) as caught:
        world.run(kind="columns", value=other)
    assert [(p.code, p.place) for p in caught.value.problems] == [("SMT521", "id"), ("SMT521", "amount")]
    rows = world.table.read().select("id", "name", "amount", "extra").orderBy("id").collect()
    assert [tuple(r) for r in rows] == [(1, "", 5, None), (2, "", 5, None)]


def test_a_wider_column_takes_narrower_values(world):
    world.add(order(1))
    world.run(kind="columns", value=COLUMNS)
    world.add(order(2))
    spec = world.spec(kind="columns", value=Format("json_schema", parse_ddl("id INT, name STRING, amount INT")))
    spec = replace(spec, sink=replace(spec.sink, schema_evolution="widen"))
    assert run(spec, world.session).records_out == 1
    rows = world.table.read().select("id", "amount")
    assert rows.schema.simpleString() == "struct<id:int,amount:bigint>"
    assert [tuple(r) for r in rows.orderBy("id").collect()] == [(1, 5), (2, 5)]


def test_comments_and_connects_schema_reach_the_table(world):
    world.add(order(1))
    value = Format("json_schema", parse_ddl("id INT COMMENT 'how many', name STRING, amount DECIMAL(9,2)"))
    world.run(kind="columns", value=value, errors_tolerance="all")
    fields = {f.name: f.metadata for f in world.table.schema().fields}
    assert fields["id"]["comment"] == "how many"
    assert fields["amount"]["connect"]["name"] == "org.apache.kafka.connect.data.Decimal"


def test_all_dropped(world):
    world.add(*(NewRecord(b"k", None) for _ in range(3)))
    report = world.run(CHAIN)
    assert (report.records_in, report.records_out, report.dropped) == (3, 0, 3)
    assert world.rows() == [] and world.run().status == "empty"


def test_a_retry_of_a_committed_run_is_told_so(world):
    world.add(order(1))
    first = world.run(key="r1")
    world.add(order(2))
    again = world.run(key="r1")
    assert replace(again, seconds={}) == replace(
        first, status="already committed", seconds={}, files=0, bytes=0, rows_written=None
    )
    assert world.run(key="r2").window == window(1, 2)
    assert report_of(world.state).records_in == 1
    assert world.run(key="r1").status == "already committed"
    assert world.run(key="r1", rebuild=True).records_out == 2


def test_report_survives_the_sink(world):
    world.add(order(1))
    report = world.run(kind="columns", value=COLUMNS)
    assert report_from_json(json.loads(json.dumps(report_to_json(report)))) == report
    assert report.before == COLUMNS.schema and report.after is not None
    rest = report_from_json(dict(world.state.report))
    assert replace(rest, seconds={}) == replace(report, seconds={}, files=0, bytes=0, rows_written=None)


def test_a_plan_that_does_not_fit_reads_nothing(world):
    world.add(order(1))
    chain = {"transforms": "f", "transforms.f.type": TRANSFORMS + "ReplaceField$Value", "transforms.f.exclude": "a"}
    with pytest.raises(PlanError):
        world.run(chain, kind="columns", value=Format("string"))
    assert world.state is None


def test_topics_of_one_request_leave_the_others_alone(world):
    for topic in ("a", "b"):
        world.add(order(1), topic=topic)
    table = TopicTable(world.topics, pattern="a|b")
    spec = replace(world.spec(), table=table, window=WindowRequest(("a",)))
    assert run(spec, world.session).window == window(0, 1, "a")
    world.add(order(2), topic="a")
    assert run(spec, world.session).window == window(1, 2, "a")
    assert run(replace(spec, window=WindowRequest(("b",))), world.session).window == window(0, 1, "b")


def test_malformed_segment_stops_the_run(world):
    world.add(order(1))
    segment = next((world.folder / "topics").rglob("*.jsonl"))
    segment.write_text(segment.read_text() + "{\n")
    with pytest.raises(TableError, match=r"SMT503 orders/0/0+\.jsonl line 2: "):
        world.run()
    assert world.state is None


def test_batches(world):
    world.add(*(order(n) for n in range(7)))

    def series(spec: RunSpec, records: int, **limits) -> list[RunReport]:
        return run_batches(spec, world.session, MicroBatches(records, **limits), world.lines.append)

    assert [r.window for r in series(world.spec(key="r"), 3, max_batches=2)] == [window(0, 3), window(3, 6)]
    assert "batch 2: 3 records, 6 so far" in world.lines
    again = series(world.spec(key="r"), 3, max_batches=3)
    assert [(r.records_in, r.status) for r in again] == [
        (0, "already committed"),
        (3, "already committed"),
        (1, "committed"),
    ]
    assert [r.status for r in series(world.spec(), 5)] == ["empty"]
    assert [r.window for r in series(world.spec(rebuild=True), 4)] == [window(0, 4), window(4, 7)]
    assert world.offsets() == list(range(7))
    with pytest.raises(ConfigError, match="SMT535"):
        series(world.spec(window=WindowRequest(explicit=window(0, 1))), 1)


@pytest.mark.parametrize("limits", [{"max_records": 0}, {"max_records": 1, "max_seconds": 0}])
def test_batches_without_sense(limits):
    with pytest.raises(ConfigError, match="SMT536"):
        MicroBatches(**limits)


def test_no_batch_begins_after_the_time_is_over(world):
    world.add(*(order(n) for n in range(5)))
    ticks = iter([0.0, 5.0, 11.0])
    limits = MicroBatches(1, max_seconds=10)
    reports = run_batches(world.spec(), world.session, limits, world.lines.append, clock=lambda: next(ticks))
    assert [r.window for r in reports] == [window(0, 1), window(1, 2)]
    assert world.lines[-1] == "10 seconds are over: the next run continues"


def test_plan_is_typed_where_the_records_are():
    def typed(key: Format, value: Format, chain=MASK) -> bool:
        return plan_table(parse_chain(chain), TopicTable(FileTopics(Path("t")), ("a",), key=key, value=value)).typed

    key_chain = {k.replace("$Value", "$Key"): v.replace("$Value", "$Key") for k, v in MASK.items()}
    assert typed(Format("string"), COLUMNS) and typed(Format("json"), COLUMNS)
    assert not typed(Format("json"), COLUMNS, key_chain)
    assert not typed(Format("string"), Format("json"))
    assert not typed(Format("string"), Format("envelope"))
