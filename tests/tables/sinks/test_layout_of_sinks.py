"""Tables with a layout behind the protocol: two writers at once, and tables without a state."""

import threading

import pytest

from dagster_smt.errors import TableError
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.model.windows.window import Range
from dagster_smt.orchestration.components.table_models import sink_of
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.protocol import Replaced
from tests.hostile_settings import under
from tests.tables.sinks.kinds import NOTHING, state

LAYOUTS = [
    (DeltaSink, {"cluster_by": ["id"], "comment": "c"}),
    (DeltaSink, {"partition_by": ["day(at)"]}),
    (IcebergSink, {"partition_by": ["day(at)", "truncate(2, name)"], "cluster_by": ["id"]}),
]


def rows(spark, *numbers):
    values = ", ".join(f"({n}, TIMESTAMP '2026-01-0{n} 00:00:00', 'name{n}')" for n in numbers)
    return spark.sql(f"SELECT * FROM VALUES {values} AS t(id, at, name)")


def ids(table):
    return sorted(row.id for row in table.read().select("id").collect())


@pytest.mark.parametrize(("sink", "options"), LAYOUTS)
def test_of_two_writers_that_make_a_table_one_wins(spark, tmp_path, sink, options):
    spec = sink(tmp_path / "table", "columns", **options)
    outcomes = []

    def write(number):
        table = open_table(spark, spec)
        try:
            table.commit(rows(spark, number), state(1, f"try{number}"), NOTHING, None)
            outcomes.append(number)
        except TableError as error:
            assert error.problems[0].code == "SMT528"

    threads = [threading.Thread(target=write, args=(n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    table = open_table(spark, spec)
    if outcomes:
        assert len(outcomes) == 1 and ids(table) == outcomes
        assert table.state().attempt == f"try{outcomes[0]}"
    with pytest.raises(TableError, match="SMT528"):
        table.commit(rows(spark, 3), state(1, "late"), NOTHING, None if outcomes else state(7))
    assert ids(table) == outcomes
    assert table.layout_warnings(rebuild=False) == []


@pytest.mark.parametrize(("sink", "options"), LAYOUTS)
def test_tables_without_a_state_have_their_layout(spark, tmp_path, sink, options):
    for way in ("append", "append_new"):
        table = open_table(spark, sink(tmp_path / way, "columns", **options))
        for numbers in ((1, 2), (3,)):
            if way == "append":
                table.append(rows(spark, *numbers))
            else:
                table.append_new(rows(spark, *numbers), ["id"])
        assert ids(table) == [1, 2, 3]
        assert table.layout_warnings(rebuild=False) == []


def test_options_in_yaml(tmp_path):
    options = {"partition_by": ["day(at)"], "properties": {"a": "b"}, "comment": "c", "target_file_size": "1 GB"}
    sink = sink_of({"delta": {"path": "lake/orders", "kind": "columns", **options}}, tmp_path)
    assert [field.text for field in sink.layout.partition_by] == ["day(at)"]
    assert (sink.layout.properties, sink.layout.comment) == ({"a": "b"}, "c")
    assert sink.layout.target_file_size == 2**30


@pytest.mark.parametrize(
    ("sink", "options"),
    [
        LAYOUTS[1],
        (DeltaSink, {"partition_by": ["name"]}),
        (IcebergSink, {"partition_by": ["name"]}),
        pytest.param(*LAYOUTS[0], marks=pytest.mark.long),
        pytest.param(*LAYOUTS[2], marks=pytest.mark.long),
        pytest.param(DeltaSink, {}, marks=pytest.mark.long),
    ],
)
def test_a_rebuild_removes_all_rows_if_spark_overwrites_only_partitions_with_new_rows(spark, tmp_path, sink, options):
    table = open_table(spark, sink(tmp_path / "table", "columns", **options))
    with under(spark, {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        table.commit(rows(spark, 1, 2), state(1), NOTHING, None)
        table.commit(rows(spark, 2), state(2), Replaced(everything=True), state(1))
        assert ids(table) == [2]
        table.commit(rows(spark, 3), state(3), NOTHING, state(2))
    assert ids(table) == [2, 3]


@pytest.mark.parametrize("sink", [DeltaSink, pytest.param(IcebergSink, marks=pytest.mark.long)])
@pytest.mark.parametrize("options", [{"partition_by": ["day(at)"]}, {"partition_by": ["name"]}])
def test_replaced_ranges_go_if_spark_overwrites_only_partitions_with_new_rows(spark, tmp_path, sink, options):
    """The rows 1 and 2 are of one range, and each has a partition. Only the partition of 2 gets a new row."""
    table = open_table(spark, sink(tmp_path / "table", "columns", **options))
    replaced = Replaced(offsets=offsets_of([Range("orders", 0, 1, 3)]))
    with under(spark, {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        table.commit(of_topic(rows(spark, 1, 2, 3)), state(1), NOTHING, None)
        table.commit(of_topic(rows(spark, 2)), state(2), replaced, state(1))
    assert ids(table) == [2, 3]


def of_topic(frame):
    columns = ("*", "'orders' AS _source_topic", "0 AS _source_partition", "CAST(id AS BIGINT) AS _source_offset")
    return frame.selectExpr(*columns)
