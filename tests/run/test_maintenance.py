"""Maintenance of tables: rows and progress stay, whatever is compacted and removed, and runs win."""

import os
import threading
import time
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import functions

from dagster_smt.errors import ConfigError, TableError
from dagster_smt.run import maintenance
from dagster_smt.run.maintenance import maintain
from dagster_smt.spark.sql import quoted
from dagster_smt.tables.maintenance import iceberg as maintenance_of_iceberg
from dagster_smt.tables.maintenance.delta import DeltaMaintenance
from dagster_smt.tables.maintenance.iceberg import IcebergMaintenance
from dagster_smt.tables.maintenance.maintenance_options import STEPS, STEPS_OF, SmtMaintenance, check_table
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, IcebergSink, TableSink
from dagster_smt.tables.sinks import delta as delta_sink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.iceberg_history import MARK
from dagster_smt.tables.sinks.iceberg_states import NEWEST, STATE
from dagster_smt.tables.sinks.replaced_rows import procedure_argument
from dagster_smt.tables.window_request import WindowRequest
from tests.run.world import COLUMNS, World, order, window

NOW = SmtMaintenance(retention_hours=0, allow_short_retention=True, retain_last=5)
"""Removes everything that may ever go."""
HOURS = 3600


class Lake(World):
    """A world whose table is of a format, by path or by name."""

    def __init__(self, folder, spark, sink: TableSink):
        super().__init__(folder, spark)
        self.sink = sink

    def spec(self, *args, **kwargs):
        return replace(super().spec(*args, **kwargs), sink=self.sink)

    def grow(self, runs=1, records=2):
        for _ in range(runs):
            self.add(*(order(n) for n in range(records)))
            assert self.run().status == "committed"

    @property
    def table(self):
        return open_table(self.session, self.sink)

    def state(self):
        return self.table.state()

    def offsets(self):
        return sorted(row.offset for row in self.table.read().collect())

    def maintain(self, options=NOW, **more):
        return maintain(self.sink, options, self.session, self.lines.append, **more)


def sinks(folder: Path):
    name = f"maintained_{abs(hash(folder))}"
    return {
        "delta path": DeltaSink(folder / "a `table` it's"),
        "delta name": DeltaSink(table=f"default.{name}"),
        "iceberg path": IcebergSink(folder / "a `table` it's"),
        "iceberg name": IcebergSink(table=f"ice.db.`{name} it's`"),
    }


KINDS = ("delta path", "delta name", "iceberg path", "iceberg name")


@pytest.fixture(
    params=[
        "iceberg path",
        *(pytest.param(kind, marks=pytest.mark.long) for kind in ("delta name", "delta path", "iceberg name")),
    ]
)
def lake(request, spark, tmp_path):
    lake = Lake(tmp_path, spark, sinks(tmp_path)[request.param])
    yield lake
    if lake.sink.table:
        spark.sql(f"DROP TABLE IF EXISTS {lake.table.name}")


@pytest.fixture(params=("delta path", pytest.param("iceberg path", marks=pytest.mark.long)))
def by_path(request, spark, tmp_path):
    return Lake(tmp_path, spark, sinks(tmp_path)[request.param])


@pytest.fixture
def delta(spark, tmp_path):
    return Lake(tmp_path, spark, DeltaSink(tmp_path / "table"))


@pytest.fixture
def iceberg(spark, tmp_path):
    return Lake(tmp_path, spark, IcebergSink(tmp_path / "table"))


def data_files(folder):
    return sorted(path for path in Path(folder).rglob("*.parquet") if "_delta_log" not in path.parts)


def codes(report):
    return [problem.code for problem in report.problems]


def test_maintenance_keeps_rows_and_progress_and_the_next_run_continues(lake):
    lake.grow(runs=6)
    before = lake.state()
    report = lake.maintain()
    assert report.problems == () and report.rows == 12
    assert [step.step for step in report.steps] == list(
        STEPS if isinstance(lake.sink, IcebergSink) else ("compact", "clean_up")
    )
    assert report.before.files >= 6 and report.after.files == 1 and report.before.small == report.before.files
    assert report.steps[0].result.removed == report.before.files and report.steps[0].result.added == 1
    assert report.before.bytes == report.steps[0].result.bytes and 0 < report.after.bytes < report.before.bytes
    assert all(step.seconds > 0 and step.tries == 1 for step in report.steps)
    assert lake.state() == before and lake.offsets() == list(range(12))
    assert lake.run().status == "empty"
    lake.grow()
    assert lake.state().number == before.number + 1 and lake.offsets() == list(range(14))
    again = lake.maintain()
    assert again.problems == () and again.rows == 14 and lake.offsets() == list(range(14))


@pytest.mark.long
def test_files_that_only_old_versions_need_are_removed(by_path):
    by_path.grow(runs=6)
    report = by_path.maintain()
    removed = {step.step: step.result.removed for step in report.steps}
    if isinstance(by_path.sink, DeltaSink):
        assert removed == {"compact": 6, "clean_up": 6} and len(data_files(by_path.sink.path)) == 1
    else:
        assert removed["compact"] == 6 and removed["manifests"] > 0 and removed["clean_up"] == 0
        assert len(by_path.session.sql(f"SELECT * FROM {by_path.table.name}.snapshots").collect()) == 5


@pytest.mark.long
def test_a_safe_retention_keeps_what_is_younger(by_path):
    by_path.grow(runs=6)
    files = len(data_files(by_path.sink.path))
    report = by_path.maintain(SmtMaintenance())
    assert report.problems == () and len(data_files(by_path.sink.path)) == files + 1
    assert by_path.offsets() == list(range(12))


@pytest.mark.long
def test_files_of_a_run_at_work_stay_even_with_a_short_retention(by_path):
    """A run writes its files before it commits: nothing names them, and they are young."""
    by_path.grow()
    folder = Path(by_path.sink.path) / ("data" if isinstance(by_path.sink, IcebergSink) else "")
    young, old = folder / "part-young.parquet", folder / "part-old.parquet"
    for path, hours in ((young, 100), (old, 200)):
        path.write_bytes(b"x")
        os.utime(path, times=(path.stat().st_mtime - hours * HOURS,) * 2)
    assert by_path.maintain().problems == ()
    assert young.exists() and not old.exists()


def test_the_folder_of_an_iceberg_table_may_hold_another_table(iceberg, spark):
    iceberg.grow()
    inner = Lake(iceberg.folder / "inner", spark, IcebergSink(Path(iceberg.sink.path) / "inner"))
    inner.grow()
    for path in data_files(inner.sink.path):
        os.utime(path, (1, 1))
    assert iceberg.maintain().problems == ()
    assert inner.offsets() == [0, 1]


@pytest.mark.parametrize("below", [pytest.param("inner", marks=pytest.mark.long), "a[b]/c*/inner"])
def test_vacuum_is_refused_while_the_folder_holds_another_table(delta, spark, below):
    inner = Lake(delta.folder / "inner", spark, DeltaSink(Path(delta.sink.path) / below))
    inner.grow()
    delta.grow()  # Delta refuses the other order itself
    report = delta.maintain()
    assert codes(report) == ["SMT810"] and below in report.problems[0].statement
    assert [step.problem is None for step in report.steps] == [True, False]
    assert inner.offsets() == [0, 1]


def test_each_step_can_be_switched_off(iceberg):
    iceberg.grow()
    for step in STEPS:
        options = replace(NOW, **{other: other == step for other in STEPS})
        assert [report.step for report in iceberg.maintain(options).steps] == [step]
    assert [report.step for report in iceberg.maintain(NOW, steps=["expire", "compact"]).steps] == ["compact", "expire"]


def test_a_table_that_does_not_exist_yet_is_not_maintained(lake):
    report = lake.maintain()
    assert report.steps == () and report.notes == ("the table does not exist yet",) and report.problems == ()


@pytest.mark.long
def test_clustering_and_sort_order_are_those_of_the_table(spark, tmp_path):
    path = quoted(str(tmp_path / "clustered"))
    spark.sql(f"CREATE TABLE delta.{path} (id BIGINT) USING delta CLUSTER BY (id)")
    spark.range(100).repartition(4).write.format("delta").mode("append").save(str(tmp_path / "clustered"))
    assert maintain(DeltaSink(tmp_path / "clustered"), NOW, spark).problems == ()
    history = spark.sql(f"DESCRIBE HISTORY delta.{path}").where("operation = 'OPTIMIZE'").collect()
    assert "id" in history[0].operationParameters["clusterBy"]
    sink = IcebergSink(tmp_path / "sorted")
    table = open_table(spark, sink)
    spark.range(100).repartition(6).writeTo(table.name).create()
    spark.sql(f"ALTER TABLE {table.name} WRITE ORDERED BY id DESC")
    assert maintain(sink, NOW, spark).after.files == 1
    assert [row.id for row in spark.table(table.name).collect()] == list(reversed(range(100)))


# --- progress that no snapshot holds any more ---


def expire_now(lake):
    return lake.maintain(replace(NOW, compact=False, manifests=False, clean_up=False))


def compact_as_others(lake, times):
    """What another tool does to the table: snapshots on top of ours, without rows."""
    for _ in range(times):
        lake.session.sql(
            f"CALL {lake.table.catalog}.system.rewrite_data_files(table => '{lake.table.name}', "
            "options => map('rewrite-all', 'true'))"
        ).collect()


def forget_older_metadata(lake):
    """As the table forgets it after some fifty changes."""
    table = lake.table.name
    lake.session.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.metadata.previous-versions-max' = '1')").collect()
    for n in range(3):
        lake.session.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('x' = '{n}')").collect()


def marks(lake):
    rows = lake.session.sql(f"SELECT summary FROM {lake.table.name}.snapshots").collect()
    return [row.summary[MARK] for row in rows if MARK in row.summary]


def test_what_was_made_in_this_very_second_is_old_enough(monkeypatch):
    """Iceberg has milliseconds. A fast session makes and compacts a table within a second."""
    moment = datetime(2026, 11, 26, 12, 0, 0, 999_000, timezone.utc)
    monkeypatch.setattr(maintenance_of_iceberg, "datetime", SimpleNamespace(now=lambda zone: moment))
    assert maintenance_of_iceberg._before(0) == "older_than => TIMESTAMP '2026-11-26 12:00:00.999000+00:00'"
    assert maintenance_of_iceberg._before(1.5) == "older_than => TIMESTAMP '2026-11-26 10:30:00.999000+00:00'"


@pytest.mark.long
def test_progress_outlives_all_marked_snapshots(iceberg):
    iceberg.grow(runs=2)
    before = iceberg.state()
    for _ in range(3):
        compact_as_others(iceberg, 6)
        assert expire_now(iceberg).problems == ()
        forget_older_metadata(iceberg)
        assert marks(iceberg) == [] and iceberg.state() == before
        compact_as_others(iceberg, 6)  # below the anchor everything has expired
        assert iceberg.state() == before and iceberg.run().status == "empty"
    iceberg.grow()
    assert iceberg.state().number == before.number + 1 and iceberg.offsets() == list(range(6))


def test_without_the_anchor_the_same_loses_the_progress(iceberg, monkeypatch):
    """What the test above would not see if it were wrong."""
    monkeypatch.setattr(type(iceberg.table), "anchor", lambda table: True)
    iceberg.grow(runs=2)
    compact_as_others(iceberg, 6)
    expire_now(iceberg)
    forget_older_metadata(iceberg)
    assert marks(iceberg) == []
    with pytest.raises(TableError, match="SMT555"):
        iceberg.state()


def test_the_anchor_hides_nothing_that_others_do_later(iceberg):
    iceberg.grow(runs=2)
    compact_as_others(iceberg, 6)
    expire_now(iceberg)
    iceberg.session.sql(f"DELETE FROM {iceberg.table.name}").collect()
    with pytest.raises(TableError, match="SMT554"):
        iceberg.state()


@pytest.mark.long
def test_a_run_that_commits_while_the_anchor_is_written_stays_the_newest(iceberg, monkeypatch):
    iceberg.grow(runs=2)
    compact_as_others(iceberg, 2)
    table, write, runs = iceberg.table, type(iceberg.table)._set, []

    def late(self, pairs, base=None):
        if NEWEST in pairs and not runs:
            runs.append(1)
            iceberg.grow()
        write(self, pairs, base)

    with monkeypatch.context() as patch:
        patch.setattr(type(table), "_set", late)
        assert table.anchor()
    newest = iceberg.table._properties()[NEWEST]
    assert newest.split(" ")[1].startswith("3.") and iceberg.state().number == 3
    compact_as_others(iceberg, 6)
    expire_now(iceberg)
    assert iceberg.state().number == 3 and iceberg.run().status == "empty"


@pytest.mark.long
def test_old_versions_stay_while_the_progress_is_damaged(iceberg):
    iceberg.grow(runs=6)
    key = next(key for key in iceberg.table._properties() if key.startswith(STATE + "6."))
    iceberg.session.sql(f"ALTER TABLE {iceberg.table.name} SET TBLPROPERTIES ('{key}' = 'damaged')").collect()
    refuses_to_remove(iceberg, "SMT522")


def test_old_versions_stay_while_a_run_would_refuse_what_others_did(by_path):
    by_path.grow(runs=6)
    by_path.session.sql(f"DELETE FROM {by_path.table.name}").collect()
    refuses_to_remove(by_path, "SMT554")


def refuses_to_remove(by_path, code):
    files = len(data_files(by_path.sink.path))
    report = by_path.maintain()
    refused = [step.step for step in report.steps if step.problem is not None and step.problem.code == "SMT806"]
    assert refused == (["clean_up"] if isinstance(by_path.sink, DeltaSink) else ["expire", "clean_up"])
    assert code in codes(report) and len(data_files(by_path.sink.path)) >= files
    assert all(step.tries == 0 for step in report.steps if step.step in refused)


# --- the checks of the job, attacked ---


def test_a_step_that_loses_a_row_is_noticed(by_path, monkeypatch):
    by_path.grow(runs=3)
    kind = DeltaMaintenance if isinstance(by_path.sink, DeltaSink) else IcebergMaintenance
    compact = kind.compact

    def lossy(self):
        result = compact(self)
        drop_a_file(by_path)
        return result

    monkeypatch.setattr(kind, "compact", lossy)
    monkeypatch.setattr(type(by_path.table), "foreign", lambda table: [])  # as if compaction itself had done it
    report = by_path.maintain()
    assert "SMT808" in codes(report)
    assert "-" in next(p for p in report.problems if p.code == "SMT808").statement
    assert "SMT806" in codes(report), "nothing that could bring the row back is removed"


def drop_a_file(lake):
    lake.session.sql(f"DELETE FROM {lake.table.name} WHERE offset = 0").collect()


@pytest.mark.long
def test_rows_that_others_remove_are_theirs(by_path, monkeypatch):
    by_path.grow(runs=3)
    kind = DeltaMaintenance if isinstance(by_path.sink, DeltaSink) else IcebergMaintenance
    compact = kind.compact

    def slow(self):
        drop_a_file(by_path)
        return compact(self)

    monkeypatch.setattr(kind, "compact", slow)
    report = by_path.maintain()
    assert report.problems == () and "others committed during compact" in report.notes[0] and report.rows == 5


def test_a_step_that_removes_the_progress_is_noticed(iceberg, monkeypatch):
    iceberg.grow(runs=2)
    manifests = IcebergMaintenance.manifests

    def lossy(self):
        keys = [key for key in iceberg.table._properties() if key.startswith((STATE, NEWEST))]
        listed = ", ".join(f"'{key}'" for key in keys)
        iceberg.session.sql(f"ALTER TABLE {iceberg.table.name} UNSET TBLPROPERTIES ({listed})").collect()
        return manifests(self)

    monkeypatch.setattr(IcebergMaintenance, "manifests", lossy)
    report = iceberg.maintain()
    assert "SMT522" in codes(report) and codes(report).count("SMT806") == 2


def test_progress_that_goes_back_is_noticed(by_path, monkeypatch):
    by_path.grow(runs=3)
    kind = DeltaMaintenance if isinstance(by_path.sink, DeltaSink) else IcebergMaintenance
    compact, name = kind.compact, by_path.table.name

    def back(self):
        if isinstance(by_path.sink, DeltaSink):
            by_path.session.sql(f"RESTORE {name} TO VERSION AS OF 1").collect()
        else:
            older = by_path.session.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at").collect()[1]
            target = f"{procedure_argument(by_path.session, name)}, {older.snapshot_id}"
            by_path.session.sql(f"CALL {by_path.table.catalog}.system.rollback_to_snapshot({target})").collect()
        return compact(self)

    monkeypatch.setattr(kind, "compact", back)
    report = by_path.maintain()
    assert "SMT807" in codes(report) and "SMT806" in codes(report)


# --- runs and maintenance at once ---


STEPS_BY_KIND = [
    ("iceberg path", "expire"),
    *(pytest.param("iceberg path", step, marks=pytest.mark.long) for step in STEPS if step != "expire"),
    *(pytest.param("delta path", step, marks=pytest.mark.long) for step in STEPS_OF["delta"]),
]


@pytest.mark.parametrize(("by_path", "step"), STEPS_BY_KIND, indirect=["by_path"])
def test_a_run_that_commits_in_the_middle_of_a_step_wins(by_path, monkeypatch, step):
    """The step itself is repeated, or goes on top of the run."""
    by_path.grow(runs=6)
    kind = DeltaMaintenance if isinstance(by_path.sink, DeltaSink) else IcebergMaintenance
    work = getattr(kind, step)

    def disturbed(self):
        if by_path.state().number < 8:
            by_path.grow()
        return work(self)

    monkeypatch.setattr(kind, step, disturbed)
    report = by_path.maintain()
    assert report.problems == () and report.notes == ()
    assert by_path.state().number == 7 and by_path.offsets() == list(range(14))


def replay(lake, start, end):
    return lake.run(window=WindowRequest(explicit=window(start, end)))


def test_a_run_that_replaces_rows_wins_over_a_compaction(by_path, monkeypatch):
    """The run has read the files that the compaction then replaces; it writes its rows on top of them."""
    by_path.grow(runs=6)
    table = type(by_path.table)
    name = "_write" if isinstance(by_path.sink, DeltaSink) else "_publish"
    write, compactions = getattr(table, name), []

    def late(self, *args, **kwargs):
        if not compactions:
            compactions.append(by_path.maintain(replace(NOW, clean_up=False, expire=False)))
        return write(self, *args, **kwargs)

    monkeypatch.setattr(table, name, late)
    assert replay(by_path, 0, 4).status == "committed"
    assert compactions[0].problems == () and by_path.offsets() == list(range(12))
    assert by_path.state().number == 7


class Interruption:
    """Compacts the table in the middle of a Delta commit: after it has read its version, before it commits."""

    def __init__(self, lake):
        self.lake, self.reports = lake, []
        self.begun, self.over = lake.folder / "begun", lake.folder / "over"
        self.thread = threading.Thread(target=self.compact)
        self.thread.start()

    def compact(self):
        wait_for(self.begun)
        self.reports.append(self.lake.maintain(replace(NOW, clean_up=False)))
        self.over.touch()

    def of(self, frame, column):
        """The same rows; the first one to be read waits for the compaction."""
        begun, over = str(self.begun), str(self.over)

        def wait(value):
            Path(begun).touch()
            wait_for(Path(over))
            return value

        waiting = functions.udf(wait, frame.schema[column].dataType)
        return frame.coalesce(1).withColumn(column, waiting(column))


def wait_for(path):
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.1)
    raise TimeoutError(path)


@pytest.mark.long
def test_a_compaction_in_the_middle_of_a_replacing_commit_does_not_fail_the_run(delta, monkeypatch):
    delta.grow(runs=6)
    interruption, write, calls = Interruption(delta), DeltaTable._write, []

    def late(self, frame, state, replaced):
        calls.append(1)
        return write(self, interruption.of(frame, "offset"), state, replaced)

    monkeypatch.setattr(DeltaTable, "_write", late)
    assert replay(delta, 0, 4).status == "committed"
    interruption.thread.join()
    assert len(calls) == 2, "Delta refused the first try"
    assert interruption.reports[0].problems == () and delta.offsets() == list(range(12))
    assert delta.state().number == 7


@pytest.mark.long
def test_a_compaction_in_the_middle_of_a_merge_does_not_fail_the_run(spark, tmp_path, monkeypatch):
    """A table with keys rewrites the files of the rows that change."""
    lake = Lake(tmp_path, spark, DeltaSink(tmp_path / "table", "columns", mode="upsert", keys=["id"]))

    def run(amounts):
        lake.add(*(order(n, amount) for n, amount in amounts.items()))
        return lake.run(value=COLUMNS)

    for n in range(6):  # a file for each key
        assert run({n: n}).status == "committed"
    interruption, merge, statements = Interruption(lake), DeltaTable.merge, []

    def late(self, changes, *args):
        return merge(self, interruption.of(changes, "action"), *args)

    def counted(*args):
        statements.append(1)
        return statement(*args)

    statement = delta_sink.merge_statement
    monkeypatch.setattr(DeltaTable, "merge", late)
    monkeypatch.setattr(delta_sink, "merge_statement", counted)
    assert run({0: 100, 1: 101, 2: 102}).status == "committed"
    interruption.thread.join()
    assert len(statements) == 2, "Delta refused the first try"
    assert interruption.reports[0].problems == ()
    rows = sorted((row.id, row.amount) for row in lake.table.read().collect())
    assert rows == [(0, 100), (1, 101), (2, 102), (3, 3), (4, 4), (5, 5)]
    report = lake.maintain()
    assert report.problems == () and report.rows == 6


@pytest.mark.long
def test_a_conflict_is_tried_again_and_then_named(by_path, monkeypatch):
    by_path.grow(runs=3)
    monkeypatch.setattr(maintenance, "_PAUSES", (0.0, 0.0))
    message = "ConcurrentDeleteReadException" if isinstance(by_path.sink, DeltaSink) else "CommitFailedException"
    kind = DeltaMaintenance if isinstance(by_path.sink, DeltaSink) else IcebergMaintenance
    sql, failures = by_path.session.sql, []

    def failing(statement, *args):
        if statement.startswith("OPTIMIZE") or "rewrite_data_files" in statement:
            failures.append(statement)
            if len(failures) <= limit:
                raise RuntimeError(message)
        return sql(statement, *args)

    class Session:
        def __getattr__(self, attribute):
            return failing if attribute == "sql" else getattr(by_path.session, attribute)

    def disturbed(self, session, table, options):
        self.session, self.table, self.options = Session(), table, options
        self.name, self.place = table.name, table.spec.place

    monkeypatch.setattr(kind, "__init__", disturbed)
    limit = 2
    report = by_path.maintain()
    assert report.problems == () and report.steps[0].tries == 3
    failures.clear()
    limit = 10
    report = by_path.maintain()
    assert codes(report) == ["SMT805"] and report.steps[0].tries == 3
    assert [step.problem is None for step in report.steps[1:]] == [True] * (len(report.steps) - 1)


def test_the_branch_of_a_run_at_work_stays(iceberg, monkeypatch):
    """The whole maintenance happens while a run has written its branch and not yet moved main there."""
    iceberg.grow(runs=6)
    table = type(iceberg.table)
    write, reports = table._write, []

    def late(self, *args, **kwargs):
        write(self, *args, **kwargs)
        if not reports:
            branches = self._branches()
            reports.append(iceberg.maintain())
            assert set(branches) <= set(self._branches()) and len(branches) == 2

    monkeypatch.setattr(table, "_write", late)
    iceberg.add(order(1), order(2))
    assert iceberg.run().status == "committed"
    assert reports[0].problems == () and iceberg.offsets() == list(range(14))
    assert list(iceberg.table._branches()) == ["main"]


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind) for kind in ("delta path", "iceberg path")])
@pytest.mark.long
def test_a_loop_of_runs_beside_a_loop_of_maintenance(spark, tmp_path, kind):
    lake = Lake(tmp_path, spark, sinks(tmp_path)[kind])
    lake.grow(runs=3)
    done, reports, failures = threading.Event(), [], []

    def keep_maintaining():
        while not done.is_set():
            try:
                reports.append(lake.maintain())
            except Exception as error:  # noqa: BLE001 - reported below
                failures.append(error)

    thread = threading.Thread(target=keep_maintaining)
    thread.start()
    try:
        for n in range(20):
            lake.grow()
            if n % 4 == 3:
                assert replay(lake, 2 * n - 4, 2 * n).status == "committed"
    finally:
        done.set()
        thread.join()
    assert failures == [] and reports
    assert {code for report in reports for code in codes(report)} <= {"SMT805"}
    assert lake.offsets() == list(range(46)) and lake.state().ends() == {"orders": {"0": 46}}
    final = lake.maintain()
    assert final.problems == () and final.rows == 46 and lake.run().status == "empty"
    lake.grow()
    assert lake.offsets() == list(range(48))


# --- options ---


WRONG = [
    ({"retention_hours": 167}, "SMT800"),
    ({"retention_hours": 0}, "SMT800"),
    ({"retention_hours": -1, "allow_short_retention": True}, "SMT801"),
    ({"retention_hours": "168 HOURS; DROP TABLE x"}, "SMT801"),
    ({"retention_hours": float("nan")}, "SMT801"),
    ({"retention_hours": True}, "SMT801"),
    ({"retain_last": 4}, "SMT801"),
    ({"retain_last": "5) OR (1"}, "SMT801"),
]


@pytest.mark.parametrize(("options", "code"), WRONG)
def test_wrong_options_are_refused_at_the_border(options, code):
    with pytest.raises(ConfigError, match=code):
        SmtMaintenance(**options)


NAMES = [
    (DeltaSink(table="lake.orders"), ""),
    (DeltaSink(table="`la``ke`.`or ders`"), ""),
    (IcebergSink(table="ice.db.orders"), ""),
    (DeltaSink(table="lake.orders WHERE true"), "SMT802"),
    (DeltaSink(table="lake.orders; DROP TABLE x"), "SMT802"),
    (IcebergSink(table="ice.db.orders', dry_run => 'true"), "SMT802"),
    (IcebergSink(table="`open"), "SMT802"),
    (FileTopicSink("topics"), "SMT803"),
]


@pytest.mark.parametrize(("sink", "code"), NAMES)
def test_names_of_tables_are_checked(sink, code):
    if not code:
        check_table(sink, "lake/orders")
        return
    with pytest.raises(ConfigError, match=code):
        check_table(sink, "lake/orders")


@pytest.mark.long
def test_a_table_may_ask_for_a_longer_retention(delta):
    delta.grow()
    name = delta.table.name
    delta.session.sql(
        f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 30 days')"
    )
    assert codes(delta.maintain(SmtMaintenance())) == ["SMT809"]
    assert codes(delta.maintain(SmtMaintenance(retention_hours=24 * 30))) == []


@pytest.mark.long
def test_deltas_check_of_the_retention_is_switched_on_again(delta):
    key = "spark.databricks.delta.retentionDurationCheck.enabled"
    delta.grow()
    assert delta.maintain().problems == ()
    assert delta.session.conf.get(key, None) in (None, "true")
