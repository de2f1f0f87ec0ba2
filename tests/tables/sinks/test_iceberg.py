"""What Iceberg tables do beyond what every sink does: steps of a commit, roll-backs, old states, places."""

import json
import os
import time
from pathlib import Path

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DayTimeIntervalType,
    IntegerType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from dagster_smt.errors import TableError, UnsupportedError
from dagster_smt.model.windows.window import Range
from dagster_smt.spark.versions import missing
from dagster_smt.tables.sink_options import IcebergSink
from dagster_smt.tables.sinks import iceberg
from dagster_smt.tables.sinks.iceberg import IcebergTable
from dagster_smt.tables.sinks.protocol import Replaced
from dagster_smt.tables.sinks.replaced_rows import packed
from tests.tables.sinks.kinds import NOTHING, SOURCE, offsets, state


class Killed(BaseException):
    """The process is gone: nothing after it runs, no clean-up either."""


@pytest.fixture
def table(spark):
    return IcebergTable(spark, IcebergSink(table=f"ice.db.`t {time.time_ns()}`", kind="columns"))


def rows(spark, *numbers):
    """Rows whose column n is their offset."""
    schema = StructType([*SOURCE, StructField("n", IntegerType())])
    return spark.createDataFrame([("t", 0, n, n) for n in numbers], schema).coalesce(1)


def held(table):
    return sorted(r.n for r in table.read().collect())


def branches(spark, table):
    return {r.name for r in spark.sql(f"SELECT name FROM {table.name}.refs").collect()}


def refused_code(call, *arguments):
    with pytest.raises(TableError) as caught:
        call(*arguments)
    return caught.value.problems[0].code


# --- commits ---


def test_a_table_that_somebody_made(spark, table):
    spark.sql(f"CREATE TABLE {table.name} (n INT, _source_topic STRING, _source_partition INT) USING iceberg")
    assert table.state() is None and not table.holds_rows()
    table.commit(rows(spark, 1), state(1), NOTHING, None)
    assert table.state() == state(1) and held(table) == [1]


# --- columns ---


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
        ("SMT564", "``"),
        ("SMT565", "void"),
        ("SMT565", "took"),
        ("SMT565", "many"),
        ("SMT566", "empty"),
        ("SMT566", "empties"),
        ("SMT567", "x.y"),
    }
    assert all(p.hint for p in problems)


# --- other writers ---


@pytest.mark.parametrize(
    "replaced",
    [NOTHING, Replaced(topics=("t",)), Replaced(everything=True)],
    ids=["append", "topics", "everything"],
)
@pytest.mark.parametrize("other", ["ours", "anybody"])
@pytest.mark.long
def test_somebody_commits_between_any_two_steps(spark, table, monkeypatch, replaced, other):
    """Before each statement in turn somebody else commits. Nothing is doubled, nothing is lost."""
    rival = IcebergTable(spark, table.spec)
    now = state(1)
    table.commit(rows(spark, 0), now, NOTHING, None)
    expected_rows, number = [0], 1
    for step in range(1, 40):
        number += 10
        mine, original = state(number + 1, f"mine{number}"), state(number + 2, f"theirs{number}")
        calls = iter(range(1000))
        busy = []

        def interfere(text, *rest, **more):
            if not busy and next(calls) == step - 1:  # noqa: B023
                busy.append(True)  # noqa: B023
                if other == "ours":
                    rival.commit(rows(spark, -step), original, NOTHING, rival.state())  # noqa: B023
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
        result, remainder = held(table), table.state()
        if not won:
            assert result == sorted([*expected_rows, -step])
            assert remainder == (original if other == "ours" else now)
        else:
            before = [] if replaced else expected_rows
            # whoever comes first, unseen by a state, may have been replaced; nobody else's row may be missing
            replaced_too = not busy or (bool(replaced) and other == "anybody" and -step not in result)
            assert result == sorted([*before, step, *([] if replaced_too else [-step])]), step
            assert remainder == (original if busy and other == "ours" else mine), step
        expected_rows, now = result, remainder
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
        result = IcebergSink(path=tmp_path / f"k {step}", kind="columns")
        table = IcebergTable(spark, result)
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
        table = IcebergTable(spark, result)
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
            result = table.state()
        except TableError as error:  # died around the one step that counts, and its traces have expired
            assert upkeep and "SMT522" in str(error) and "whether it had" in str(error)
            remedy(spark, table, after=after)
            return
        assert held(table) == (after if result == state(3) else before)
        assert result in ((state(3),) if new else (state(2), state(3)))
    number = result.number
    frame = table.read().limit(1).withColumn("n", F.lit(50))
    table.commit(frame, state(number + 1), NOTHING, result)
    assert held(table) == sorted([*(after if number == 3 else before), 50])
    assert table.state() == state(number + 1)


def remedy(spark, table, after):
    """What the message tells to do."""
    (branch,) = branches(spark, table) - {"main"}
    spark.sql(f"ALTER TABLE {table.name} DROP BRANCH {branch}")
    assert table.state() == state(2)
    frame = table.read().limit(1).withColumn("n", F.lit(10)).withColumn("_source_offset", F.lit(10).cast("bigint"))
    table.commit(frame.localCheckpoint(), state(4), offsets(Range("t", 0, 10, 11)), state(2))
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
    later = packed(json.dumps({"dagster_smt": {"format": 99}}, separators=(",", ":")))
    for damaged in ("ab", "no hex", later):
        spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ('{iceberg.STATE}1.attempt1' = '{damaged}')")
        assert refused_code(table.state) == "SMT522"
    spark.sql(f"ALTER TABLE {table.name} UNSET TBLPROPERTIES ('{iceberg.STATE}1.attempt1')")
    assert refused_code(table.state) == "SMT522"


@pytest.mark.long
def test_old_states_go(spark, table):
    """The last ones stay, so that the table can be rolled back; those of a table that was here before go, too."""
    leftover = {f"{iceberg.STATE}{n}.old": "ab" for n in range(70, 90)}
    table.commit(rows(spark, 1), state(1), NOTHING, None)
    table._set(leftover)
    for number in range(2, 2 * iceberg.MOST_STATES + 3):
        table.commit(rows(spark, number), state(number), NOTHING, state(number - 1))
    results = [k for k in table._properties() if k.startswith(iceberg.STATE)]
    assert iceberg.MOST_STATES <= len(results) <= 2 * iceberg.MOST_STATES and not set(results) & set(leftover)
    snapshots = [r[0] for r in table._snapshots("snapshot_id", "true ORDER BY committed_at")]
    name = table.name.replace("'", "\\'")
    spark.sql(
        f"CALL {table.catalog}.system.rollback_to_snapshot('{name}', {snapshots[-iceberg.MOST_STATES]})"
    ).collect()
    assert table.state() == state(number - iceberg.MOST_STATES + 1)
    spark.sql(f"CALL {table.catalog}.system.rollback_to_snapshot('{name}', {snapshots[0]})").collect()
    assert refused_code(table.state) == "SMT522"


def test_rows_without_a_state(spark, table):
    table.append(rows(spark, 1))
    table.append(rows(spark, 2).withColumn("more", F.lit(1)))
    assert held(table) == [1, 2] and table.state() is None
    table.commit(rows(spark, 3).withColumn("more", F.lit(1)), state(1), NOTHING, None)
    table.append(rows(spark, 4).withColumn("more", F.lit(1)))
    assert table.state() == state(1) and held(table) == [1, 2, 3, 4]


# --- where a table is ---


NAMES = ["plain", "x.y/sub folder/t", "pct%41 #?", "colon:in", "ends/", "b``t'\""]


@pytest.mark.parametrize(
    ("prefix", "name"),
    [
        *(("", name) for name in NAMES[1:4]),
        ("file://", NAMES[2]),
        *(pytest.param("", name, marks=pytest.mark.long) for name in (NAMES[0], *NAMES[4:])),
        *(pytest.param("file:", name, marks=pytest.mark.long) for name in NAMES[1:3]),
        pytest.param("file://", NAMES[1], marks=pytest.mark.long),
    ],
)
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
    with pytest.raises(UnsupportedError, match=r"SMT560 db\.t: the catalog spark_catalog .* not an Iceberg catalog"):
        IcebergTable(spark, IcebergSink(table="db.t"))


def test_a_session_without_iceberg(spark, tmp_path, monkeypatch):
    class Conf:
        def get(self, key, default=None):
            return default

    class Session:
        conf = Conf()
        version = spark.version

    with pytest.raises(
        UnsupportedError, match=r"SMT560 .*: this Spark session has no Iceberg\n.*iceberg-spark-runtime"
    ):
        IcebergTable(Session(), IcebergSink(path=tmp_path / "t"))
    spark.conf.set("spark.sql.catalog.broken", "org.apache.iceberg.NoSuchCatalog")
    table = IcebergTable(spark, IcebergSink(table="broken.db.t"))
    with pytest.raises(UnsupportedError, match=r"SMT560 .*: this Spark session has no Iceberg"):
        table.commit(rows(spark, 1), state(1), NOTHING, None)


@pytest.mark.parametrize("escaped", ["true", "false"])
def test_odd_texts_whatever_a_backslash_means_to_the_parser(spark, tmp_path, escaped):
    """Names of tables and comments of new columns reach Iceberg as they are."""
    comment = 'it\'s "q" \\ \\u0027 $x ${spark.app.id}\nend\\'
    sink = IcebergSink(tmp_path / "it's \\ ${x}", kind="columns")
    if escaped == "true" and "expressions in CALL" in missing():  # no literal of Spark 3.5 holds this name then
        spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
        try:
            with pytest.raises(UnsupportedError, match="SMT664"):
                IcebergTable(spark, sink)
        finally:
            spark.conf.unset("spark.sql.parser.escapedStringLiterals")
        return
    table = IcebergTable(spark, sink)
    inner = StructType([StructField("in", StringType(), True, {"comment": comment})])
    more = [StructField("new", StringType(), True, {"comment": comment}), StructField("deep", inner)]
    spark.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
    try:
        table.commit(rows(spark, 0), state(1), NOTHING, None)
        wider = StructType([*SOURCE, StructField("n", IntegerType()), *more])
        table.commit(spark.createDataFrame([("t", 0, 1, 1, "x", ("y",))], wider), state(2), NOTHING, state(1))
        schema = table.schema()
        assert held(table) == [0, 1] and table.state() == state(2)
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    assert schema["new"].metadata["comment"] == schema["deep"].dataType["in"].metadata["comment"] == comment


@pytest.mark.parametrize(
    "setting", [("type", "jdbc"), ("catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog")], ids=["type", "class"]
)
def test_a_catalog_of_type_jdbc_needs_its_cache_off(spark, setting):
    """A copy without a cache would have other tables: this catalog stores its own name with each table."""
    name, value = setting
    key = f"spark.sql.catalog.by_{name.replace('-', '_')}"
    spark.conf.set(key, "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"{key}.{name}", value)
    with pytest.raises(UnsupportedError, match=r"SMT560 .* of type jdbc and has a cache"):
        IcebergTable(spark, IcebergSink(table=f"{key.rpartition('.')[2]}.db.t"))
