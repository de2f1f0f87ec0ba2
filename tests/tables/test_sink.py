"""The Parquet sink: what counts is what is committed; one writer; schemas that fit."""

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from dagster_smt.errors import TableError, UnsupportedError
from dagster_smt.model.window import Range, Window
from dagster_smt.tables.commit_log import Commit, CommitLog, Intent, live, progress
from dagster_smt.tables.sink import check_schema, committed_files, list_files, open_log, read_table, write_files
from dagster_smt.tables.spec import ParquetSink


def window(start: int, end: int, topic: str = "orders") -> Window:
    return Window((Range(topic, 0, start, end),))


@pytest.fixture
def log(tmp_path) -> CommitLog:
    found = open_log(tmp_path / "table")
    with found.locked("setup"):
        return found


def commit(log: CommitLog, frame, win: Window, *, replaces=(), kind="columns") -> Commit:
    attempt = log.new_attempt(win)
    write_files(frame, log.data_folder(attempt))
    schema = json.loads(frame.schema.json())
    done = Commit(len(log.commits()) + 1, "i", attempt, win, kind, list_files(log, attempt), schema, tuple(replaces))
    log.commit(done)
    return done


def rows(spark, log: CommitLog) -> list[tuple]:
    return sorted((tuple(r) for r in read_table(spark, log.root).collect()), key=repr)


def test_only_committed_files_are_read(spark, log):
    frame = spark.createDataFrame([(1,), (2,)], "id INT")
    first = commit(log, frame.coalesce(1), window(0, 2))
    write_files(frame, log.data_folder(log.new_attempt(window(2, 4))))
    assert rows(spark, log) == [(1,), (2,)]
    assert [str(p.relative_to(log.root)) for p in committed_files(log.root)] == [f.path for f in first.files]
    assert sum(f.rows for f in first.files) == 2 and all(f.bytes > 0 for f in first.files)


def test_columns_are_merged_by_name(spark, log):
    commit(log, spark.createDataFrame([(1, "a", (1,))], "id INT, name STRING, s STRUCT<x: INT>"), window(0, 1))
    commit(
        log,
        spark.createDataFrame([((2, "y"), 2, 0.5)], "s STRUCT<x: INT, y: STRING>, id INT, new DOUBLE"),
        window(1, 2),
    )
    table = read_table(spark, log.root)
    assert table.columns == ["id", "name", "s", "new"]
    assert sorted(map(tuple, table.collect())) == [(1, "a", (1, None), None), (2, None, (2, "y"), 0.5)]


def test_replaced_commits_do_not_count(spark, log):
    frame = spark.createDataFrame([(1,)], "id INT")
    commit(log, frame, window(0, 1))
    commit(log, frame.selectExpr("2 AS id"), window(1, 2))
    commit(log, frame.selectExpr("10 AS id"), window(0, 1), replaces=[1])
    assert rows(spark, log) == [(10,), (2,)]
    assert progress(live(log.commits())) == {("orders", 0): 2}
    with log.locked("next"):
        log.clean()
    assert rows(spark, log) == [(10,), (2,)]
    assert len(list((log.root / "data").iterdir())) == 2
    commit(log, frame.selectExpr("7 AS id"), window(0, 1), replaces=[2, 3])
    assert rows(spark, log) == [(7,)]
    assert progress(live(log.commits())) == {("orders", 0): 1}


def test_commits_without_rows(spark, log):
    commit(log, spark.createDataFrame([], "id INT"), window(0, 5))
    assert committed_files(log.root) == []
    table = read_table(spark, log.root)
    assert table.columns == ["id"] and table.count() == 0


def test_nothing_committed(spark, log):
    with pytest.raises(TableError, match="SMT524"):
        read_table(spark, log.root)
    assert committed_files(log.root) == []


def test_missing_data_file(spark, log):
    commit(log, spark.createDataFrame([(1,)], "id INT"), window(0, 1))
    path = committed_files(log.root)[0]
    path.unlink()
    with pytest.raises(TableError, match=f"SMT522 {path.relative_to(log.root)}: data file missing"):
        read_table(spark, log.root)


CLASHES = [
    ("id INT, name STRING", "id INT, more DATE", []),
    ("id INT, s STRUCT<x: INT NOT NULL>", "id INT NOT NULL, s STRUCT<y: INT, x: INT>", []),
    ("id INT", "id BIGINT, x INT", ["SMT521 id: the table has int, the run would write bigint"]),
    (
        "s STRUCT<x: ARRAY<INT>>, m MAP<STRING, INT>",
        "s STRUCT<x: ARRAY<STRING>>, m MAP<STRING, STRING>",
        [
            "SMT521 s.x[]: the table has int, the run would write string",
            "SMT521 m.value: the table has int, the run would write string",
        ],
    ),
    ("s STRUCT<x: INT>", "s INT", ["SMT521 s: the table has struct<x:int>, the run would write int"]),
    ("id INT", "ID INT", ["SMT526 ID: columns 'id' and 'ID' differ only in case"]),
    (
        "s STRUCT<x: INT>, m MAP<STRING, ARRAY<STRUCT<y: INT>>>",
        "s STRUCT<X: INT>, m MAP<STRING, ARRAY<STRUCT<Y: INT>>>",
        [
            "SMT526 s.X: columns 's.x' and 's.X' differ only in case",
            "SMT526 m.value[].Y: columns 'm.value[].y' and 'm.value[].Y' differ only in case",
        ],
    ),
    ("id INT", "", ["SMT527 table: the chain leaves no column to write"]),
    ("id INT", "a ARRAY<STRUCT<>>", ["SMT529 a[]: a struct without fields cannot be written to Parquet"]),
]


@pytest.mark.parametrize(("old", "new", "expected"), CLASHES)
def test_schema_beside_the_committed(spark, old, new, expected):
    def schema(ddl):
        return spark.createDataFrame([], ddl or "struct<>").schema

    known = Commit(1, "i", "a", window(0, 1), "columns", schema=json.loads(schema(old).json()))
    try:
        check_schema(ParquetSink(Path("table"), "columns"), [known], schema(new), case_sensitive=False)
        found = []
    except TableError as error:
        found = [str(p).split("\n")[0] for p in error.problems]
    assert found == expected


def test_another_kind_of_table(spark):
    schema = spark.createDataFrame([], "id INT").schema
    known = Commit(1, "i", "a", window(0, 1), "records", schema=json.loads(schema.json()))
    with pytest.raises(TableError, match="SMT525 table: the table holds records, the run would write columns"):
        check_schema(ParquetSink(Path("table"), "columns"), [known], schema, case_sensitive=False)


def test_case_may_differ_where_the_session_says_so(spark):
    schema = spark.createDataFrame([], "id INT, ID INT").schema
    check_schema(ParquetSink(Path("table"), "columns"), [], schema, case_sensitive=True)


def hold_lock(root, held, release):
    with CommitLog(root).locked("run-1"):
        held.set()
        release.wait(60)
        os.kill(os.getpid(), 9)


def test_one_writer(log):
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    other = context.Process(target=hold_lock, args=(log.root, held, release))
    other.start()
    held.wait(60)
    with pytest.raises(TableError) as caught, log.locked("run-2"):
        pass
    assert str(caught.value).startswith(f"SMT520 {log.root}: run run-1 is writing this table\n  hint: ")
    release.set()
    other.join()
    with log.locked("run-2"), pytest.raises(TableError, match="run run-2 is writing"), log.locked("run-3"):
        pass


def test_commit_number_taken(log):
    done = Commit(1, "i", "a", window(0, 1), "columns")
    log.commit(done)
    with pytest.raises(TableError, match="SMT528"):
        log.commit(done)
    assert log.commits() == [done]
    assert [p.name for p in (log.root / "_smt" / "commits").iterdir()] == [f"{1:020d}.json"]


def test_intents(log):
    first = log.take(window(0, 5), explicit=False, rebuild=False)
    other = log.take(window(0, 5, "b"), explicit=True, rebuild=False)
    assert log.intents() == [first, other]
    again = log.take(window(0, 5), explicit=True, rebuild=False)
    assert log.intents() == [other, again] and again.id != first.id
    voiding = log.take(window(4, 9), explicit=True, rebuild=False)
    assert log.intents() == [other, voiding]
    log.commit(Commit(1, other.id, "a", other.window, "columns"))
    log.clean()
    assert log.intents() == [voiding]
    rebuild = log.take(window(0, 1, "c"), explicit=False, rebuild=True)
    assert log.intents() == [Intent(rebuild.id, window(0, 1, "c"), False, True, rebuild.taken)]


@pytest.mark.parametrize("content", ["", "{", "{}", "[]", '{"number": 1}'])
def test_damaged_commit(log, content):
    (log.root / "_smt" / "commits" / f"{1:020d}.json").write_text(content)
    with pytest.raises(
        TableError, match=r"SMT522 _smt/commits/00000000000000000001.json: the commit file cannot be read"
    ):
        log.commits()


def test_missing_commit(log):
    log.commit(Commit(2, "i", "a", window(0, 1), "columns"))
    with pytest.raises(TableError, match=r"SMT522 _smt/commits/00000000000000000001.json: the commit file is missing"):
        log.commits()


def test_folder_of_somebody_else(tmp_path):
    (tmp_path / "data.csv").write_text("")
    with pytest.raises(TableError, match="SMT523"), open_log(tmp_path).locked(""):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize("root", ["s3://bucket/table", "hdfs:///table", "file:///table"])
def test_object_stores_are_refused(root):
    with pytest.raises(UnsupportedError, match="SMT951"):
        open_log(Path(root))
