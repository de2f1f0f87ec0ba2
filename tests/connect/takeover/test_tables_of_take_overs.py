"""The note of a take-over in a Delta table: runs go on after it, and leave the rows of the connector alone."""

from dataclasses import replace

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.connect import Connector
from dagster_smt.connect.takeover.comparison import compared_rows
from dagster_smt.connect.takeover.connector_table import TakeOverTable
from dagster_smt.connect.takeover.shadow import Shadow
from dagster_smt.connect.takeover.takeover_parts import CommittedOffsets, TakeOverPlan
from dagster_smt.errors import TableError, UnsupportedError
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink, SourceColumns
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.tables.window_request import WindowRequest

COLUMNS = "id BIGINT, name STRING"


def records(*numbers: int) -> list[NewRecord]:
    return [NewRecord(None, f'{{"id":{number},"name":"n"}}'.encode()) for number in numbers]


@pytest.fixture
def plan(spark, tmp_path):
    """A topic of six records, of which a connector has written four."""
    source = FileTopics(tmp_path / "topics")
    append_records(source, "orders", records(0, 1, 2, 3, 4, 5))
    value = Format("json_schema", schema=parse_ddl(COLUMNS, place="test"))
    table = TopicTable(source, topics=("orders",), value=value)
    sink = DeltaSink(tmp_path / "lake", kind="columns")
    spec = RunSpec("orders", parse_chain({"transforms": ""}), table, sink)
    frame = spark.createDataFrame([(number, "n") for number in range(4)], COLUMNS)
    frame.write.format("delta").save(str(tmp_path / "lake"))
    return TakeOverPlan(Connector("c", {}), "http://connect:8083", tmp_path, spec, "connect-c", "connect-c")


def taken(spark, plan, offset=4):
    table = TakeOverTable(spark, plan)
    measured, identities = table.measured()
    covered = table.covered(CommittedOffsets("connect-c", {("orders", 0): offset}), measured)
    return table, table.take(covered, measured, identities, table.rows())


@pytest.mark.long
def test_a_table_is_taken_over_and_given_back(spark, plan):
    table, state = taken(spark, plan)
    assert (state.rows, state.ends()) == ({"": 4}, {"orders": {"0": 4}})
    report = run(plan.spec, spark)
    assert (report.records_in, report.records_out) == (2, 2)
    rows = table.table.read()
    assert sorted(row.id for row in rows.collect()) == list(range(6))
    assert rows.where("_source_offset IS NULL").count() == 4
    state = table.state()
    assert state.rows == {"": 4, "orders": 2} and state.taken_over.offsets.records == 4
    again = WindowRequest(explicit=Window((Range("orders", 0, 3, 6),)))
    with pytest.raises(TableError, match=r"SMT787.*offsets 3 to 4 of orders-0"):
        run(replace(plan.spec, window=again), spark)
    with pytest.raises(TableError, match="SMT787"):
        run(replace(plan.spec, rebuild=True, window=WindowRequest(topics=("orders",))), spark)
    own = WindowRequest(explicit=Window((Range("orders", 0, 4, 6),)))
    assert run(replace(plan.spec, window=own), spark).records_out == 2
    back = table.give_back(table.state())
    assert back.taken_over.back
    for spec in (plan.spec, replace(plan.spec, rebuild=True)):
        with pytest.raises(TableError, match="SMT786"):
            run(spec, spark)
    append_records(plan.spec.table.source, "orders", records(6, 7))
    spark.sql(f"INSERT INTO {table.table.name} (id, name) VALUES (6, 'n')")
    _, state = taken(spark, plan, 7)  # the connector went on
    assert [list(parts) for parts in state.taken_over.offsets.parts.values()] == [[(0, 4), (6, 7)]]
    assert run(plan.spec, spark).records_out == 1
    assert sorted(row.id for row in table.table.read().collect()) == list(range(8))
    run(replace(plan.spec, rebuild=True), spark)
    state = table.state()
    assert state.taken_over is None and state.rows == {"orders": 8} and table.rows() == 8


def test_a_shadow_reads_the_version_that_its_report_names(spark, plan):
    """The connector goes on writing while a shadow compares."""
    shadow = Shadow.__new__(Shadow)  # the rest of a shadow needs a broker
    shadow.session, shadow.table = spark, TakeOverTable(spark, plan)
    head = shadow.table.head()
    spark.sql(f"INSERT INTO {shadow.table.table.name} VALUES (4, 'n')")
    rows = shadow._rows_of_connector(head, CommittedOffsets("connect-c", {("orders", 0): 4}))
    assert sorted(row.id for row in rows.collect()) == [0, 1, 2, 3]
    assert shadow.table.rows() == 5


def test_offsets_that_cannot_be_those_of_the_topics(spark, plan):
    table = TakeOverTable(spark, plan)
    measured, _ = table.measured()
    with pytest.raises(TableError, match=r"SMT789.*offset 9.*ends at 6"):
        table.covered(CommittedOffsets("g", {("orders", 0): 9}), measured)
    with pytest.raises(TableError, match=r"SMT789.*no offset"):
        table.covered(CommittedOffsets("g", {("other", 0): 3}), measured)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"mode": "upsert", "keys": ["id"]}, "SMT799.*mode: upsert"),
        ({"mode": "scd2", "keys": ["id"]}, "SMT799.*mode: scd2"),
        ({"path": "lake/{topic}"}, "SMT784"),
        ({"kind": "records"}, "SMT784"),
    ],
)
def test_other_tables_are_refused(spark, plan, change, problem):
    sink = replace(plan.spec.sink, **change)
    with pytest.raises(UnsupportedError, match=problem):
        TakeOverTable(spark, replace(plan, spec=replace(plan.spec, sink=sink)))


def test_cells_are_compared_in_any_order(spark):
    names = "id INT, m MAP<STRING, STRUCT<x: INT, n: MAP<STRING, INT>>>, d DOUBLE"
    place = ", _source_topic STRING, _source_partition INT, _source_offset BIGINT"
    one = {"a": (1, {"k": 1}), "b": None}
    ours = [(1, one, 0.5, "t", 0, 0), (2, None, float("nan"), "t", 0, 1), (2, None, float("nan"), "t", 0, 2)]
    of_connector = [row[:3] for row in reversed(ours)]
    frame = spark.createDataFrame(ours, names + place)
    same = compared_rows(frame, spark.createDataFrame(of_connector, names), SourceColumns())
    assert (same.ours, same.of_connector, same.only_ours, same.only_connectors, same.first) == (3, 3, 0, 0, [])
    other = [(2, None, float("nan")), (2, None, None), (1, {"a": (1, {"k": 2}), "b": None}, 0.5), (7, None, None)]
    result = compared_rows(frame, spark.createDataFrame(other, names), SourceColumns(), ["id"])
    assert (result.only_ours, result.only_connectors) == (2, 3)
    assert [(d.place, d.columns) for d in result.first] == [("t-0 offset 0", ("m",)), ("t-0 offset 1", ("d",))]
