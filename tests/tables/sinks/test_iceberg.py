"""Iceberg tables against Iceberg itself, read back by plain Spark and by pyiceberg."""

import json
import os
import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from dagster_smt.errors import TableError, UnsupportedError
from dagster_smt.model.offsets import OffsetSet, offsets_of
from dagster_smt.model.table_state import TableState
from dagster_smt.model.window import Range, Window
from dagster_smt.tables.sinks import iceberg
from dagster_smt.tables.sinks.iceberg import IcebergTable
from dagster_smt.tables.sinks.protocol import Replaced
from dagster_smt.tables.spec import IcebergSink

NOTHING = Replaced()
SOURCE = [
    StructField("_source_topic", StringType()),
    StructField("_source_partition", IntegerType()),
    StructField("_source_offset", LongType()),
]


class Killed(BaseException):
    """The process is gone: nothing after it runs, no clean-up either."""


@pytest.fixture(params=["path", "table"])
def spec(request, tmp_path):
    if request.param == "path":
        return IcebergSink(path=tmp_path / "a folder, b`t = ü", kind="columns")
    return IcebergSink(table=f"ice.db.`t {time.time_ns()}`", kind="columns")


@pytest.fixture
def table(spark, spec):
    return IcebergTable(spark, spec)


def state(number, attempt="", held=()):
    return TableState(
        number, attempt or f"attempt{number}", "columns", held=offsets_of(held), identities={"url": "it's $x"}
    )


def rows(spark, *numbers, topic="t", partition=0):
    """Rows whose column n is their offset."""
    data = [(topic, partition, n, n) for n in numbers]
    return spark.createDataFrame(data, StructType([*SOURCE, StructField("n", IntegerType())])).coalesce(1)


def held(table):
    return sorted(r.n for r in table.read().collect())


def plain(spark, table):
    """The rows as Spark reads them without this package."""
    found = (
        spark.table(table.spec.table) if table.spec.table else spark.read.format("iceberg").load(str(table.spec.path))
    )
    return sorted(r.n for r in found.collect())


def metadata_file(spark, table):
    entries = spark.sql(f"SELECT file FROM {table.name}.metadata_log_entries ORDER BY timestamp").collect()
    return entries[-1].file


def branches(spark, table):
    return {r.name for r in spark.sql(f"SELECT name FROM {table.name}.refs").collect()}


def refused_code(call, *arguments):
    with pytest.raises(TableError) as caught:
        call(*arguments)
    return caught.value.problems[0].code


# --- commits ---


def test_a_table_that_is_not_there(table):
    assert table.state() is None and table.schema() is None and not table.holds_rows()


def test_commits_follow_each_other(spark, table):
    one, two, three = state(1, held=[Range("t", 0, 0, 3)]), state(2), state(3)
    written = table.commit(rows(spark, 0, 1, 2), one, NOTHING, None)
    assert (written.rows, written.files) == (3, 1) and written.bytes > 0
    assert table.state() == one and table.holds_rows()
    written = table.commit(rows(spark, 3, 4), two, NOTHING, one)
    assert (written.rows, written.files) == (2, 1)
    assert table.state() == two and held(table) == plain(spark, table) == [0, 1, 2, 3, 4]
    written = table.commit(rows(spark, 9).where("n < 0"), three, NOTHING, two)
    assert (written.rows, written.files, written.bytes) == (0, 0, 0)
    assert table.state() == three and held(table) == [0, 1, 2, 3, 4]
    assert branches(spark, table) == {"main"}


def test_a_first_commit_without_rows(spark, table):
    table.commit(rows(spark, 1).limit(0), state(1), NOTHING, None)
    assert table.state() == state(1) and not table.holds_rows()
    assert [f.name for f in table.schema().fields] == [*(f.name for f in SOURCE), "n"]


def test_a_table_that_somebody_made(spark, table):
    spark.sql(f"CREATE TABLE {table.name} (n INT, _source_topic STRING, _source_partition INT) USING iceberg")
    assert table.state() is None and not table.holds_rows()
    table.commit(rows(spark, 1), state(1), NOTHING, None)
    assert table.state() == state(1) and held(table) == [1]


def test_pyiceberg_reads_what_is_written(spark, table):
    from pyiceberg.table import StaticTable

    table.commit(rows(spark, 1, 2), state(1), NOTHING, None)
    table.commit(rows(spark, 3), state(2), NOTHING, state(1))
    where = Replaced(offsets=offsets_of([Range("t", 0, 2, 3)]))
    table.commit(rows(spark, 2, 2), state(3), where, state(2))
    read = StaticTable.from_metadata(metadata_file(spark, table))
    assert sorted(read.scan().to_arrow()["n"].to_pylist()) == [1, 2, 2, 3]
    assert TableState.from_text(read.current_snapshot().summary["dagster_smt.state"]) == state(3)


# --- rows that go ---


def test_replaced_offsets_inside_of_files(spark, table):
    table.commit(rows(spark, *range(10)).union(rows(spark, 4, 5, partition=1)), state(1), NOTHING, None)
    where = Replaced(offsets=offsets_of([Range("t", 0, 2, 4), Range("t", 0, 6, 7)]))
    written = table.commit(rows(spark, 2, 3, 3), state(2), where, state(1))
    assert written.rows == 3 and written.files == 2
    assert held(table) == plain(spark, table) == [0, 1, 2, 3, 3, 4, 4, 5, 5, 7, 8, 9]
    assert table.state() == state(2)


def test_replaced_topics(spark, table):
    table.commit(rows(spark, 1, 2).union(rows(spark, 3, topic="it's")), state(1), NOTHING, None)
    table.commit(rows(spark, 5), state(2), Replaced(topics=("it's", "t")), state(1))
    assert held(table) == [5]


def test_many_ranges(spark, table):
    table.commit(rows(spark, *range(2000)), state(1), NOTHING, None)
    ranges = [Range("t", 0, n, n + 1) for n in range(0, 2000, 2)]
    table.commit(rows(spark, 1).limit(0), state(2), Replaced(offsets=offsets_of(ranges)), state(1))
    assert held(table) == list(range(1, 2000, 2))


def test_everything_with_the_same_columns(spark, table):
    table.commit(rows(spark, 1, 2), state(1), NOTHING, None)
    written = table.commit(rows(spark, 7).withColumn("new", F.lit("x")), state(2), Replaced(everything=True), state(1))
    assert written.rows == 1 and held(table) == plain(spark, table) == [7]
    assert table.state() == state(2)


def test_everything_with_other_columns(spark, table):
    spark_rows = rows(spark, 1, 2).withColumn("gone", F.lit(1)).withColumn("kind", F.lit(1))
    table.commit(spark_rows, state(1), NOTHING, None)
    other = rows(spark, 7).withColumn("kind", F.lit("text"))
    written = table.commit(other, state(2), Replaced(everything=True), state(1))
    assert written.rows == 1 and table.state() == state(2)
    assert table.read().columns == other.columns and table.read().select("n", "kind").collect() == [(7, "text")]
    table.commit(other, state(3), NOTHING, state(2))
    assert held(table) == [7, 7] and table.state() == state(3) and branches(spark, table) == {"main"}


# --- columns ---


def test_names_comments_and_metadata(spark, table):
    connect = {"name": "it's $x", "url": 1}
    inner = StructType([StructField("in.ner", IntegerType(), True, {"comment": "deep", "connect": connect})])
    schema = StructType(
        [
            StructField("a b", IntegerType(), False, {"comment": 'it\'s "q" \\ ü ${spark.app.id}', "connect": connect}),
            StructField("x.y", StringType()),
            StructField("odd, name", inner, True, {"connect": connect}),
            StructField("b`t", ArrayType(inner)),
            StructField("größe 木", MapType(StringType(), inner)),
            StructField("new\nline;", StringType()),
        ]
    )
    data = [(1, "s", (2,), [(3,)], {"k": (4,)}, "n")]
    table.commit(spark.createDataFrame(data, schema), state(1), NOTHING, None)
    found = table.schema()
    assert [f.name for f in found.fields] == schema.names
    assert [f.metadata for f in found.fields] == [f.metadata for f in schema.fields]
    for kind in (found["odd, name"].dataType, found["b`t"].dataType.elementType, found["größe 木"].dataType.valueType):
        assert kind["in.ner"].metadata == {"comment": "deep", "connect": connect}
    wider = StructType(
        [*inner.fields, StructField("q`q", StringType(), True, {"comment": "new's", "connect": connect})]
    )
    more = StructType(
        [
            StructField("dots.and spaces", wider, True, {"comment": "c", "connect": connect}),
            StructField("größe 木", MapType(StringType(), wider)),
            StructField("b`t", ArrayType(wider)),
            StructField("odd, name", wider),
            *(f for f in schema.fields if f.name in ("a b", "x.y", "new\nline;")),
        ]
    )
    data = [((5, "q"), {"k": (6, "r")}, [(7, "s")], (8, "t"), 9, "u", "v")]
    table.commit(spark.createDataFrame(data, more), state(2), NOTHING, state(1))
    found = table.schema()
    assert found["dots.and spaces"].metadata == {"comment": "c", "connect": connect}
    assert found["odd, name"].metadata == {"connect": connect}
    for kind in (found["odd, name"].dataType, found["b`t"].dataType.elementType, found["größe 木"].dataType.valueType):
        assert kind["q`q"].metadata == {"comment": "new's", "connect": connect}
        assert kind["in.ner"].metadata == {"comment": "deep", "connect": connect}
    old, new = table.read().orderBy("`a b`").collect()
    assert old["odd, name"] == (2, None) and old["dots.and spaces"] is None
    assert tuple(new) == (9, "u", (8, "t"), [(7, "s")], {"k": (6, "r")}, "v", (5, "q"))


def test_wider_types(spark, table):
    def schema(i, f, d):
        inner = StructType([StructField("i", i)])
        kinds = {"i": i, "f": f, "d": d, "s": inner, "a": ArrayType(i), "m": MapType(StringType(), inner)}
        return StructType([StructField(n, k) for n, k in kinds.items()])

    narrow = schema(IntegerType(), FloatType(), DecimalType(5, 2))
    wide = schema(LongType(), DoubleType(), DecimalType(9, 2))
    table.commit(spark.createDataFrame([(1, 1.5, None, (1,), [1], {"k": (1,)})], narrow), state(1), NOTHING, None)
    big = 2**40
    table.commit(
        spark.createDataFrame([(big, 0.1, None, (big,), [big], {"k": (big,)})], wide), state(2), NOTHING, state(1)
    )
    assert table.schema() == wide
    assert [tuple(r) for r in table.read().orderBy("i").collect()] == [
        (1, 1.5, None, (1,), [1], {"k": (1,)}),
        (big, 0.1, None, (big,), [big], {"k": (big,)}),
    ]


def test_small_integers_are_kept_as_integers(spark, table):
    frame = spark.createDataFrame([(1,)], StructType([StructField("n", ShortType())]))
    table.commit(frame, state(1), NOTHING, None)
    table.commit(frame, state(2), NOTHING, state(1))
    assert table.schema()["n"].dataType == IntegerType() and held(table) == [1, 1]


def test_what_it_cannot_hold_is_refused(table):
    empty = StructType([])
    kinds = {
        "_file": StringType(),
        "": StringType(),
        "void": NullType(),
        "took": DayTimeIntervalType(),
        "many": ArrayType(DayTimeIntervalType()),
        "empty": empty,
        "empties": MapType(StringType(), empty),
        "x": StructType([StructField("y", IntegerType()), StructField("_file", StringType())]),
        "x.y": IntegerType(),
        "fine": ArrayType(MapType(StringType(), StructType([StructField("_pos", StringType())]))),
    }
    problems = table.refused(StructType([StructField(n, k) for n, k in kinds.items()]))
    assert {(p.code, p.place) for p in problems} == {
        ("SMT563", "_file"),
        ("SMT564", ""),
        ("SMT565", "void"),
        ("SMT565", "took"),
        ("SMT565", "many"),
        ("SMT566", "empty"),
        ("SMT566", "empties"),
        ("SMT567", "x.y"),
    }
    assert all(p.hint for p in problems)


# --- other writers ---


def test_a_state_that_is_not_the_expected_one_is_refused(spark, table):
    table.commit(rows(spark, 1), state(1), NOTHING, None)
    table.commit(rows(spark, 2), state(2), NOTHING, state(1))
    for expected in (None, state(1), state(2, "other")):
        assert refused_code(table.commit, rows(spark, 9), state(3), NOTHING, expected) == "SMT528"
    assert held(table) == [1, 2] and table.state() == state(2) and branches(spark, table) == {"main"}


@pytest.mark.parametrize("first", [True, False], ids=["new table", "append"])
def test_of_two_writers_one_wins(spark, spec, first):
    tables = [IcebergTable(spark, spec), IcebergTable(spark, spec)]
    expected = None
    if not first:
        expected = state(1)
        tables[0].commit(rows(spark, 0), expected, NOTHING, None)
    for turn in range(8):
        outcomes: dict[int, object] = {}
        barrier = threading.Barrier(2)

        def run(me, outcomes=outcomes, barrier=barrier, expected=expected, turn=turn):
            new = state(turn + 2, f"writer{me}x{turn}")
            frame = rows(spark, 100 * turn + me)
            barrier.wait()
            try:
                outcomes[me] = tables[me].commit(frame, new, NOTHING, expected)
            except Exception as error:  # noqa: BLE001 - whatever it is, the test tells
                outcomes[me] = error

        before = [] if expected is None else held(tables[0])
        threads = [threading.Thread(target=run, args=(me,)) for me in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lost = [me for me, o in outcomes.items() if isinstance(o, Exception)]
        assert len(lost) == 1, outcomes
        assert isinstance(outcomes[lost[0]], TableError) and outcomes[lost[0]].problems[0].code == "SMT528", outcomes
        winner = 1 - lost[0]
        assert held(tables[0]) == sorted([*before, 100 * turn + winner])
        expected = state(turn + 2, f"writer{winner}x{turn}")
        assert tables[0].state() == expected
    assert branches(spark, tables[0]) == {"main"}


@pytest.mark.parametrize(
    "replaced",
    [NOTHING, Replaced(topics=("t",)), Replaced(everything=True)],
    ids=["append", "topics", "everything"],
)
@pytest.mark.parametrize("other", ["ours", "anybody"])
@pytest.mark.parametrize("spec", ["table"], indirect=True)  # by path it would be the same
@pytest.mark.long
def test_somebody_commits_between_any_two_steps(spark, table, monkeypatch, replaced, other):
    """Before each statement in turn somebody else commits. Nothing is doubled, nothing is lost."""
    rival = IcebergTable(spark, table.spec)
    now = state(1)
    table.commit(rows(spark, 0), now, NOTHING, None)
    expected_rows, number = [0], 1
    for step in range(1, 40):
        number += 10
        mine, theirs = state(number + 1, f"mine{number}"), state(number + 2, f"theirs{number}")
        calls = iter(range(1000))
        busy = []

        def interfere(text, *rest, **more):
            if not busy and next(calls) == step - 1:  # noqa: B023
                busy.append(True)  # noqa: B023
                if other == "ours":
                    rival.commit(rows(spark, -step), theirs, NOTHING, rival.state())  # noqa: B023
                else:
                    rival.append(rows(spark, -step))  # noqa: B023
            return type(spark).sql(spark, text, *rest, **more)

        frame = rows(spark, step)
        with monkeypatch.context() as patch:
            patch.setattr(spark, "sql", interfere, raising=False)
            try:
                table.commit(frame, mine, replaced, now)
                won = True
            except TableError as error:
                assert error.problems[0].code == "SMT528"
                won = False
        found, kept = held(table), table.state()
        if not won:
            assert found == sorted([*expected_rows, -step])
            assert kept == (theirs if other == "ours" else now)
        else:
            before = [] if replaced else expected_rows
            # whoever comes first, unseen by a state, may have been replaced; nobody else's row may be missing
            replaced_too = not busy or (bool(replaced) and other == "anybody" and -step not in found)
            assert found == sorted([*before, step, *([] if replaced_too else [-step])]), step
            assert kept == (theirs if busy and other == "ours" else mine), step
        expected_rows, now = found, kept
        if not busy:
            break
    else:
        pytest.fail("more statements than steps")
    assert step > 6


@pytest.mark.parametrize(
    "replaced",
    [None, NOTHING, Replaced(topics=("t",)), Replaced(everything=True), "other columns"],
    ids=["new", "append", "topics", "everything", "other columns"],
)
@pytest.mark.long
def test_killed_between_any_two_steps(spark, monkeypatch, tmp_path, replaced):
    """Rows and state fit together after a kill at every statement, also after upkeep, and the next run goes on."""
    for step in range(60):
        made = IcebergSink(path=tmp_path / f"k {step}", kind="columns")
        table = IcebergTable(spark, made)
        frame, how = rows(spark, 10), replaced
        if replaced is not None:
            table.commit(rows(spark, 0), state(1), NOTHING, None)
            table.commit(rows(spark, 1), state(2), NOTHING, state(1))
        if replaced == "other columns":
            frame, how = frame.withColumn("_source_partition", F.lit("text")), Replaced(everything=True)
        calls = iter(range(1000))

        def dying(text, *rest, **more):
            if next(calls) == step:  # noqa: B023
                raise Killed(text)
            return type(spark).sql(spark, text, *rest, **more)

        killed = False
        with monkeypatch.context() as patch:
            patch.setattr(spark, "sql", dying, raising=False)
            try:
                table.commit(frame, state(3), how or NOTHING, state(2) if replaced is not None else None)
            except Killed:
                killed = True
        table = IcebergTable(spark, made)
        if table.schema() is not None:
            check_after_kill(spark, table, how or NOTHING, new=replaced is None)
        if not killed:
            assert table.state().number > 3
            break
    else:
        pytest.fail("more statements than steps")
    assert step > (3 if replaced is None else 6)


def check_after_kill(spark, table, how, *, new):
    before, after = ([], [10]) if new else ([0, 1], [10] if how else [0, 1, 10])
    for upkeep in (False, True):
        if upkeep:
            overtake_and_expire(spark, table)
        try:
            found = table.state()
        except TableError as error:  # died around the one step that counts, and its traces have expired
            assert upkeep and "SMT522" in str(error) and "whether it had" in str(error)
            remedy(spark, table, after=after)
            return
        assert held(table) == (after if found == state(3) else before)
        assert found in ((state(3),) if new else (state(2), state(3)))
    number = found.number
    frame = table.read().limit(1).withColumn("n", F.lit(50))
    table.commit(frame, state(number + 1), NOTHING, found)
    assert held(table) == sorted([*(after if number == 3 else before), 50])
    assert table.state() == state(number + 1)


def remedy(spark, table, after):
    """What the message tells to do."""
    (branch,) = branches(spark, table) - {"main"}
    spark.sql(f"ALTER TABLE {table.name} DROP BRANCH {branch}")
    assert table.state() == state(2)
    frame = table.read().limit(1).withColumn("n", F.lit(10)).withColumn("_source_offset", F.lit(10).cast("bigint"))
    window = Replaced(offsets=offsets_of([Range("t", 0, 10, 11)]))
    table.commit(frame.localCheckpoint(), state(4), window, state(2))
    assert held(table) in (sorted({0, 1, 10}), after)


def overtake_and_expire(spark, table):
    """Somebody else's snapshot on top, and every other snapshot that may go is gone."""
    spark.sql(f"DELETE FROM {table.name} WHERE n = 12345").collect()
    rewrite(spark, table)
    expire(spark, table)


def rewrite(spark, table):
    name = table.name.replace("'", "\\'")
    spark.sql(
        f"CALL {table.catalog}.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"
    ).collect()


def expire(spark, table):
    name = table.name.replace("'", "\\'")
    time.sleep(0.01)
    spark.sql(
        f"CALL {table.catalog}.system.expire_snapshots("
        f"table => '{name}', older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1)"
    ).collect()


# --- upkeep ---


def test_the_state_outlives_its_snapshot(spark, table):
    for number in (1, 2, 3):
        table.commit(rows(spark, number), state(number), NOTHING, state(number - 1) if number > 1 else None)
    rewrite(spark, table)
    assert table.state() == state(3)
    expire(spark, table)
    left = spark.sql(f"SELECT summary['dagster_smt.state'] FROM {table.name}.snapshots").collect()
    assert [r[0] for r in left] == [None]
    assert table.state() == state(3) and held(table) == [1, 2, 3]
    table.commit(rows(spark, 4), state(4), NOTHING, state(3))
    assert table.state() == state(4) and held(table) == plain(spark, table) == [1, 2, 3, 4]


def test_a_table_that_is_rolled_back(spark, table):
    table.commit(rows(spark, 1), state(1), NOTHING, None)
    first = spark.sql(f"SELECT snapshot_id FROM {table.name}.snapshots").collect()[0][0]
    table.commit(rows(spark, 2), state(2), NOTHING, state(1))
    name = table.name.replace("'", "\\'")
    spark.sql(f"CALL {table.catalog}.system.rollback_to_snapshot('{name}', {first})").collect()
    assert table.state() == state(1) and held(table) == [1]
    table.commit(rows(spark, 3), state(2, "again"), NOTHING, state(1))
    overtake_and_expire(spark, table)
    assert table.state() == state(2, "again") and held(table) == [1, 3]


def test_a_table_that_somebody_made_anew_has_no_state(spark, table):
    table.commit(rows(spark, 1), state(1), NOTHING, None)
    rows(spark, 5).writeTo(table.name).using("iceberg").createOrReplace()
    assert table.state() is None and table.holds_rows()


def test_stale_branches_go_after_a_day(spark, table, monkeypatch):
    table.commit(rows(spark, 1), state(1), NOTHING, None)
    old, young = f"smt_{int(time.time()) - 90000}_dead", f"smt_{int(time.time()) - 3600}_alive"
    for name in (old, young, "smt_mine", "other"):
        spark.sql(f"ALTER TABLE {table.name} CREATE BRANCH {name}")
    rows(spark, 99).writeTo(f"{table.name}.branch_{old}").append()
    table.commit(rows(spark, 2), state(2), NOTHING, state(1))
    assert branches(spark, table) == {"main", young, "smt_mine", "other"} and held(table) == [1, 2]


def test_a_damaged_state_is_refused(spark, table):
    table.commit(rows(spark, 1), state(1), NOTHING, None)
    spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ('{iceberg.STATE}' = 'ab')")
    assert refused_code(table.state) == "SMT522"
    damaged = json.dumps({"dagster_smt": {"format": 99}}, separators=(",", ":"))
    rows(spark, 2).writeTo(table.name).option(f"snapshot-property.{iceberg.STATE}", damaged).append()
    assert refused_code(table.state) == "SMT522"


def test_rows_without_a_state(spark, table):
    table.append(rows(spark, 1))
    table.append(rows(spark, 2).withColumn("more", F.lit(1)))
    assert held(table) == [1, 2] and table.state() is None
    table.commit(rows(spark, 3).withColumn("more", F.lit(1)), state(1), NOTHING, None)
    table.append(rows(spark, 4).withColumn("more", F.lit(1)))
    assert table.state() == state(1) and held(table) == [1, 2, 3, 4]


def test_progress_of_many_topics(spark, table):
    covered = offsets_of([Range(f"topic {n}", 0, 0, n + 1) for n in range(500)])
    big = TableState(1, "a", "columns", window=Window((Range("t", 0, 0, 9),)), held=covered)
    table.commit(rows(spark, 1), big, NOTHING, None)
    assert table.state() == big and table.state().held == covered and table.state().gaps == OffsetSet()


# --- where a table is ---


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
@pytest.mark.parametrize("name", ["plain", "x.y/sub folder/t", "pct%41 #?", "colon:in", "ends/", "b``t'\""])
def test_folders(spark, tmp_path, prefix, name):
    spec = IcebergSink(path=f"{prefix}{tmp_path}/{name}")
    table = IcebergTable(spark, spec)
    table.commit(rows(spark, 1), state(1), NOTHING, None)
    table.commit(rows(spark, 2), state(2), NOTHING, state(1))
    assert held(table) == [1, 2] and (tmp_path / name / "metadata").is_dir()


def test_a_relative_folder(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    IcebergTable(spark, IcebergSink(path=Path("here/t"))).commit(rows(spark, 1), state(1), NOTHING, None)
    assert os.path.isdir(tmp_path / "here/t/metadata")


def test_the_root_is_no_table(spark):
    assert refused_code(IcebergTable, spark, IcebergSink(path="file:///")) == "SMT562"


def test_tables_of_others_are_refused(spark, tmp_path):
    with pytest.raises(UnsupportedError, match=r"SMT560 db\.t: the catalog spark_catalog .* none of Iceberg's"):
        IcebergTable(spark, IcebergSink(table="db.t"))


def test_a_session_without_iceberg(spark, tmp_path, monkeypatch):
    class Conf:
        def get(self, key, default=None):
            return default

    class Session:
        conf = Conf()

    with pytest.raises(
        UnsupportedError, match=r"SMT560 .*: this Spark session has no Iceberg\n.*iceberg-spark-runtime"
    ):
        IcebergTable(Session(), IcebergSink(path=tmp_path / "t"))
    spark.conf.set("spark.sql.catalog.broken", "org.apache.iceberg.NoSuchCatalog")
    table = IcebergTable(spark, IcebergSink(table="broken.db.t"))
    with pytest.raises(UnsupportedError, match=r"SMT560 .*: this Spark session has no Iceberg"):
        table.commit(rows(spark, 1), state(1), NOTHING, None)
