"""The versions of Spark: known ones, refused ones, and what bridges the differences between them."""

import os
from types import SimpleNamespace

import pyarrow as pa
import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import IntegerType, LongType, ShortType, StructField, StructType

from dagster_smt.errors import TableError, UnsupportedError
from dagster_smt.spark import sql, versions
from dagster_smt.spark.environment import check_settings
from dagster_smt.spark.packages import JARS, LARGE, LOG_STORE, LOG_STORE_CLASS, PACKAGES, remedy, session_settings
from dagster_smt.spark.versions import (
    SINCE_4,
    VERSIONS,
    check_version,
    condition_of,
    frame_of_arrow,
    minor_of,
    missing,
    scala_of,
    settings_of,
    struct_of_ddl,
)
from dagster_smt.tables.schemas import evolved_schema
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.replaced_rows import procedure_argument


def session_of(version, scala=None):
    properties = SimpleNamespace(versionNumberString=lambda: scala)
    jvm = SimpleNamespace(**{"scala.util.Properties": properties})
    return SimpleNamespace(version=version, _jvm=jvm) if scala else SimpleNamespace(version=version)


def test_each_version_has_packages_and_the_jars_of_each():
    assert PACKAGES.keys() == VERSIONS.keys()
    for version, packages in PACKAGES.items():
        assert packages.keys() == {"delta", "iceberg", "kafka", "avro", "s3", "iceberg-s3"}
        for name, coordinates in packages.items():
            assert (f"_{VERSIONS[version].scala}:" in coordinates) == (name not in LARGE)
            group, artifact, number = coordinates.split(":")
            assert JARS[coordinates].split()[0] == f"{group}_{artifact}-{number}"
    assert JARS.keys() == {one for packages in PACKAGES.values() for one in packages.values()}
    assert minor_of(pyspark.__version__) in VERSIONS


CATALOG = "spark.sql.catalog.ice"


@pytest.mark.parametrize(
    ("conf", "packages"),
    [
        ({}, set()),
        ({f"{CATALOG}.warehouse": "s3a://lake/ice"}, {"s3"}),
        ({f"{CATALOG}.warehouse": "s3://lake/ice"}, set()),
        ({f"{CATALOG}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}, {"iceberg-s3"}),
        ({f"{CATALOG}.type": "glue"}, {"iceberg-s3"}),
        ({f"{CATALOG}.type": "rest", "spark.app.name": "glue"}, set()),
    ],
)
def test_settings_ask_for_the_packages_of_object_stores(conf, packages):
    settings = session_settings([], conf, "4.0.5")
    have = set(filter(None, settings.get("spark.jars.packages", "").split(",")))
    assert have == {PACKAGES["4.0"][name] for name in packages}


def test_a_package_of_ones_own_stays():
    own = {"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.4.3"}
    assert session_settings(["s3"], own, "4.0.5")["spark.jars.packages"] == own["spark.jars.packages"]


@pytest.mark.parametrize(
    ("packages", "version", "jar", "store"),
    [
        (["delta", "s3"], "4.0.5", True, LOG_STORE_CLASS),
        (["delta", "s3"], "4.1.1", True, LOG_STORE_CLASS),
        (["delta", "s3"], "4.0.5", False, None),
        (["delta", "s3"], "3.5.7", True, None),
        (["delta"], "4.0.5", True, None),
        (["iceberg", "s3"], "4.0.5", True, None),
    ],
)
def test_delta_on_s3_commits_by_conditional_writes_where_that_is_possible(packages, version, jar, store, monkeypatch):
    lane = {"spark.jars": "lane.jar"} if jar else {}
    monkeypatch.setattr("dagster_smt.spark.packages.lane_settings", lambda: lane)
    assert session_settings(packages, {}, version).get(LOG_STORE) == store
    assert session_settings(packages, {LOG_STORE: "own"}, version)[LOG_STORE] == "own"


@pytest.mark.parametrize("version", ["3.5.0", "3.5.7-amzn-1", "4.0.5", "4.1.1"])
def test_sessions_of_these_versions_run(version, monkeypatch):
    monkeypatch.setattr(versions, "missing", lambda: frozenset(SINCE_4))
    check_version(session_of(version))
    assert session_settings(["delta"], {}, version)["spark.jars.packages"] == PACKAGES[minor_of(version)]["delta"]


@pytest.mark.parametrize("version", ["2.4.8", "3.3.2", "3.4.4", "4.2.0", "5.0.0", "unknown"])
def test_a_session_of_an_unknown_version_is_refused(version):
    with pytest.raises(UnsupportedError, match=f"SMT648 the Spark session: the session runs Spark {minor_of(version)}"):
        check_version(session_of(version))
    with pytest.raises(UnsupportedError, match="SMT611"):
        session_settings(["delta"], {}, version)
    own = {"spark.jars.packages": "io.delta:delta-spark_4.2_2.13:4.4.0"}
    assert session_settings(["delta"], own, version)["spark.jars.packages"] == own["spark.jars.packages"]


OF_ANOTHER_SPARK = [
    ("4.0.5", "io.delta:delta-spark_2.12:3.3.3", "3"),
    ("4.1.1", "io.delta:delta-spark_2.13:3.3.3", "3"),
    ("4.0.5", "org.apache.iceberg:iceberg-spark-runtime-3.5_2.13:1.10.1", "3"),
    ("4.0.5", "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7", "3"),
    ("3.5.7", "io.delta:delta-spark_4.1_2.13:4.1.0", "4"),
    ("3.5.7", "io.delta:delta-spark_2.13:4.0.0", "4"),
    ("3.5.7", "org.apache.spark:spark-avro_2.13:4.0.0", "4"),
]


@pytest.mark.parametrize(("version", "package", "major"), OF_ANOTHER_SPARK)
def test_a_package_for_another_spark_is_refused_before_java_fails(version, package, major):
    conf = {"spark.jars.packages": f"com.example:tool:1.0, {package}"}
    with pytest.raises(UnsupportedError) as refused:
        session_settings(["delta"], conf, version)
    (problem,) = refused.value.problems
    assert (problem.code, problem.place) == ("SMT612", "spark.jars.packages")
    assert f"{package} is for Spark {major}, and the session runs Spark {version}" in str(problem)


@pytest.mark.parametrize("minor", PACKAGES)
def test_the_packages_of_a_version_are_for_its_spark(minor):
    """The versions that this package names itself pass the check, as do packages that state no version of Spark."""
    conf = {"spark.jars.packages": ",".join([*PACKAGES[minor].values(), "com.example:tool_2.12:3.1"])}
    assert session_settings([], conf, f"{minor}.0")["spark.jars.packages"] == conf["spark.jars.packages"]


def test_a_server_older_than_this_process_is_refused(monkeypatch):
    monkeypatch.setattr(versions, "missing", frozenset)
    with pytest.raises(UnsupportedError, match=r"SMT649 .* Spark 3\.5, older than the PySpark of this process"):
        check_version(session_of("3.5.7"))


def test_the_remedy_names_the_package_for_the_version_and_scala_of_the_session():
    assert "io.delta:delta-spark_2.12:3.3.3" in remedy("delta", session_of("3.5.7"))
    assert "io.delta:delta-spark_2.12:3.3.3" in remedy("delta", session_of("3.5.7", "2.12.18"))
    assert "io.delta:delta-spark_2.13:3.3.3" in remedy("delta", session_of("3.5.7", "2.13.8"))
    assert "iceberg-spark-runtime-3.5_2.13:1.10.1" in remedy("iceberg", session_of("3.5.7", "2.13.8"))
    assert "delta-spark_4.1_2.13:4.1.0" in remedy("delta", session_of("4.1.1"))
    assert "the delta package for Spark 4.7" in remedy("delta", session_of("4.7.0"))


def test_conditions_of_errors_have_one_name(monkeypatch):
    monkeypatch.setattr(versions, "missing", frozenset)
    assert condition_of(SimpleNamespace(getCondition=lambda: "NEW")) == "NEW"
    monkeypatch.setattr(versions, "missing", lambda: frozenset(SINCE_4))
    assert condition_of(SimpleNamespace(getErrorClass=lambda: "OLD")) == "OLD"
    assert condition_of(SimpleNamespace(getErrorClass=lambda: None)) is None


def test_what_is_missing_is_missing():
    """The table names what the installed PySpark lacks: all of it in 3.5, nothing in 4."""
    assert ("getCondition" in missing()) is not hasattr(PySparkException, "getCondition")
    assert missing() == frozenset(SINCE_4 if pyspark.__version__.startswith("3.") else ())


def test_the_equivalents_for_spark_3_give_what_spark_4_gives(spark, monkeypatch):
    """Each expression as it is written for 3.5, beside that of the installed version, on texts whole and broken."""
    texts = [b"", b"a", "é€😀\ufffd".encode(), b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"null", None]
    frame = spark.createDataFrame([(text,) for text in texts], "data BINARY")

    def answers():
        text = sql.try_validate_utf8(sql.col("data").cast("string"))
        size = sql.when(text.isNull(), 1).when(sql.length(text) > 2, sql.length(text)).otherwise(0)
        rows = sql.select(
            sql.select(frame, text.alias("text"), size.alias("size"), also=True), sql.col("text"), sql.col("size")
        )
        return rows.collect()

    here = answers()
    monkeypatch.setattr(sql, "missing", lambda: frozenset(SINCE_4))
    assert answers() == here
    assert [row["text"] for row in here] == ["", "a", "é€😀\ufffd", None, None, None, None, "null", None]
    here_settings = settings_of(spark)
    monkeypatch.setattr(versions, "missing", lambda: frozenset(SINCE_4))
    assert settings_of(spark) == here_settings
    assert struct_of_ddl("`a b` INT, c STRUCT<d: STRING>").simpleString() == "struct<a b:int,c:struct<d:string>>"
    assert scala_of(spark) == VERSIONS[minor_of(spark.version)].scala


def test_ancient_moments_are_written_in_spark_3(monkeypatch):
    """Its default ends a run at one such moment. Only a choice of the user is refused."""
    monkeypatch.setattr("dagster_smt.spark.environment.missing", lambda: frozenset(SINCE_4))
    settings = {}
    conf = SimpleNamespace(get=settings.get, set=settings.__setitem__)
    check_settings(SimpleNamespace(conf=conf))
    name = "spark.sql.parquet.datetimeRebaseModeInWrite"
    assert settings == {name: "CORRECTED", "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED"}
    settings[name] = "EXCEPTION"
    with pytest.raises(UnsupportedError, match=f"SMT639 {name}"):
        check_settings(SimpleNamespace(conf=conf))


@pytest.mark.parametrize(("kind", "wider", "widens"), [("SMALLINT", "INT", True), ("INT", "BIGINT", False)])
def test_delta_of_spark_3_widens_to_int_at_most(monkeypatch, kind, wider, widens):
    monkeypatch.setattr("dagster_smt.tables.schemas.missing", lambda: frozenset(SINCE_4))
    types = {"SMALLINT": ShortType(), "INT": IntegerType(), "BIGINT": LongType()}
    there, new = StructType([StructField("a", types[kind])]), StructType([StructField("a", types[wider])])
    old_delta = DeltaSink("lake", schema_evolution="widen")
    if widens:
        assert evolved_schema(old_delta, there, new, case_sensitive=False) == new
    else:
        with pytest.raises(TableError, match=r"SMT521 a: .*\n?.*or run on Spark 4"):
            evolved_schema(old_delta, there, new, case_sensitive=False)
    iceberg = IcebergSink("ice.db.t", schema_evolution="widen")
    assert evolved_schema(iceberg, there, new, case_sensitive=False) == new
    assert evolved_schema(old_delta, new, there, case_sensitive=False) == new, "the table need not be widened"


def test_arguments_of_procedures_are_literals_in_spark_3(spark, monkeypatch):
    names = ["ice.db.orders", "ice.db.`it's`", "`a \\ b`.`${x}`", 'say "hi"', "a\nb", "ж😀'", "--'"]
    monkeypatch.setattr("dagster_smt.tables.sinks.replaced_rows.missing", frozenset)
    assert [procedure_argument(spark, name) for name in names] == list(map(sql.text, names))
    monkeypatch.setattr("dagster_smt.tables.sinks.replaced_rows.missing", lambda: frozenset(SINCE_4))
    arguments = [procedure_argument(spark, name) for name in names]
    assert all(argument[0] == argument[-1] == "'" for argument in arguments)
    assert list(spark.sql(f"SELECT {', '.join(arguments)}").first()) == names
    session = SimpleNamespace(conf=SimpleNamespace(get=lambda key, standard: "true"))
    assert procedure_argument(session, names[0]) == f"'{names[0]}'"
    with pytest.raises(UnsupportedError, match="SMT664"):
        procedure_argument(session, names[1])


def test_letters_merge_into_a_delta_table(spark, tmp_path):
    """A MERGE of Spark 3.5 adds no columns, nor does one of Delta 4.0.0 that only inserts."""
    table = DeltaTable(spark, DeltaSink(tmp_path / "letters"))
    table.append_new(spark.createDataFrame([("a", 1), ("a", 2)], "topic STRING, n INT"), ["topic", "n"])
    wider = spark.createDataFrame([("a", 2, "x"), ("a", 3, "y")], "topic STRING, n INT, more STRING")
    table.append_new(wider, ["topic", "n"])
    table.append_new(spark.createDataFrame([("a", 4)], "topic STRING, n INT"), ["topic", "n"])
    rows = sorted((row.n, row.more) for row in table.read().collect())
    assert rows == [(1, None), (2, None), (3, "y"), (4, None)]


def test_small_arrow_tables_leave_the_python_process_as_it_is(spark):
    """A new one loads all modules again: on Spark 3.5 the recorded cases took four times as long."""
    table = pa.table({"n": [1, 2]})

    def process_ids(batches):
        for batch in batches:
            yield pa.RecordBatch.from_arrays([pa.array([os.getpid()] * batch.num_rows)], ["id"])

    def process_of_one_run():
        rows = frame_of_arrow(spark, table).repartition(1).mapInArrow(process_ids, "id bigint").collect()
        assert len(rows) == 2
        return rows[0]["id"]

    # earlier tests may have left several idle processes, and Spark takes them in turn: ten runs meet all of them
    known = {process_of_one_run() for _ in range(10)}
    assert {process_of_one_run() for _ in range(10)} <= known
