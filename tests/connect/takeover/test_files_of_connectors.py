"""Names of a connector's Parquet files, and the proof that files have the records before the committed offsets."""

import json
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType, TimestampNTZType

from dagster_smt.connect import Connector
from dagster_smt.connect.takeover.file_names import FileName, file_naming
from dagster_smt.connect.takeover.first_commit import _NULL, DataFile, actions_of, check_columns
from dagster_smt.connect.takeover.parquet_files import ConnectorFile, ParquetFolder, check_files, path_below
from dagster_smt.errors import TableError, UnsupportedError

CONFLUENT = {
    "connector.class": "io.confluent.connect.s3.S3SinkConnector",
    "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat",
    "topics": "orders",
}
HDFS = {
    **CONFLUENT,
    "connector.class": "io.confluent.connect.hdfs3.Hdfs3SinkConnector",
    "format.class": "io.confluent.connect.hdfs3.parquet.ParquetFormat",
}
AIVEN = {
    "connector.class": "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector",
    "format.output.type": "parquet",
    "topics": "orders",
}


@pytest.mark.parametrize(
    ("config", "path", "expected"),
    [
        (CONFLUENT, "s3a://b/topics/orders/partition=0/orders+0+0000000120.snappy.parquet", ("orders", 0, 120, None)),
        (CONFLUENT, "file:///a/my+topic+3+0000000000.parquet", ("my+topic", 3, 0, None)),
        ({**CONFLUENT, "file.delim": "-"}, "/a/my-topic-12-7.parquet", ("my-topic", 12, 7, None)),
        (HDFS, "hdfs://n/topics/orders/partition=1/orders+1+0000000003+0000000005.parquet", ("orders", 1, 3, 6)),
        (AIVEN, "/a/orders-1-00000000000000000033", ("orders", 1, 33, None)),
        (
            {
                **AIVEN,
                "file.name.template": "{{topic}}/{{timestamp:unit=yyyy}}/{{partition}}_{{start_offset:padding=true}}",
            },
            "s3a://b/p/orders/2026/2_0000000040.parquet",
            ("orders", 2, 40, None),
        ),
        (CONFLUENT, "/a/orders+0.parquet", None),
        (CONFLUENT, "/a/part-00000-x.snappy.parquet", None),
        (HDFS, "/a/orders+1+0000000003.parquet", None),
        (AIVEN, "/a/orders-1-x.parquet", None),
    ],
)
def test_names_of_files(config, path, expected):
    assert file_naming(Connector("c", config)).read(path) == (expected and FileName(*expected))


@pytest.mark.parametrize(
    ("change", "statement"),
    [
        ({"format.class": "io.confluent.connect.s3.format.json.JsonFormat"}, "not write Parquet"),
        ({**AIVEN, "format.output.type": "jsonl"}, "not write Parquet"),
        ({**AIVEN, "file.name.template": "{{key}}"}, "has no {{topic}}"),
    ],
)
def test_files_that_are_no_table(change, statement):
    with pytest.raises(UnsupportedError, match=f"SMT797.*{statement}"):
        file_naming(Connector("c", {**CONFLUENT, **change}))


def test_other_connectors_write_no_files():
    assert file_naming(Connector("c", {"connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector"})) is None


def file(start, rows, folder="partition=0", end=None):
    return ConnectorFile(f"/{folder}/orders+0+{start}.parquet", FileName("orders", 0, start, end), rows)


@pytest.mark.parametrize(
    ("files", "offset", "rows_of_chain", "problem"),
    [
        ([file(0, 10), file(10, 5)], 15, None, ""),
        ([file(100, 10), file(110, 5)], 115, None, ""),
        ([file(0, 4, "a"), file(1, 6, "b"), file(10, 2, "a")], 12, None, ""),
        ([], 0, None, ""),
        ([file(0, 3, end=4), file(4, 2, end=9)], 9, None, ""),
        ([file(0, 10), file(10, 5)], 10, None, "begins at offset 10.*committed 10"),
        ([file(0, 10), file(10, 5)], 12, 2, "5 rows for the offsets 10 to 12, and the chain makes 2"),
        ([file(0, 10), file(8, 5)], 13, None, "begins at offset 8.*10 rows before"),
        ([file(0, 10)], 15, 15, "10 rows for the offsets 0 to 15, and the chain makes 15"),
        ([file(0, 10), file(10, 3)], 15, 3, ""),
        ([file(0, 4, "a"), file(2, 4, "b")], 9, 8, ""),
        ([file(0, 4, "a"), file(2, 4, "b")], 9, 9, "8 rows for the offsets 0 to 9, and the chain makes 9"),
        ([], 7, 0, ""),
        ([], 7, 2, "0 rows for the offsets 0 to 7"),
        ([file(0, 3, end=4), file(4, 2, end=10)], 9, None, "ends before offset 10.*committed 9"),
        ([file(0, 3, end=4)], 9, 3, ""),
    ],
)
def test_files_and_offsets_are_compared(files, offset, rows_of_chain, problem):
    windows = []

    def count(window):
        windows.append(window)
        return rows_of_chain

    offsets = {("orders", 0): offset}
    if not problem:
        assert f"{len(files)} files" in check_files(files, offsets, {}, count)
    else:
        with pytest.raises(TableError, match=f"SMT797(.|\n)*{problem}"):
            check_files(files, offsets, {}, count)
    assert bool(windows) is (rows_of_chain is not None)


def test_the_first_commit_names_the_files():
    schema = StructType([StructField("id", LongType()), StructField("day", StringType())])
    files = [DataFile("day=a%3Ab c/orders+0+1.parquet", 7, 8, 2), DataFile(f"day={_NULL}/orders+0+3.parquet", 1, 2, 3)]
    lines = [json.loads(line) for line in actions_of(files, schema, ["day"])]
    assert [next(iter(line)) for line in lines] == ["commitInfo", "protocol", "metaData", "add", "add"]
    assert lines[2]["metaData"]["partitionColumns"] == ["day"]
    first, second = lines[3]["add"], lines[4]["add"]
    assert (first["path"], first["partitionValues"]) == ("day=a%253Ab%20c/orders+0+1.parquet", {"day": "a:b c"})
    assert second["partitionValues"] == {"day": None} and json.loads(second["stats"]) == {"numRecords": 3}


@pytest.mark.parametrize(
    ("folder", "path", "below"),
    [
        ("/lake/orders", "file:///lake/orders/partition=0/f.parquet", "partition=0/f.parquet"),
        ("file:/lake/orders/", "file:///lake/orders/f.parquet", "f.parquet"),
        ("lake/orders", "file:///home/lake/orders-project/lake/orders/partition=0/f.parquet", "partition=0/f.parquet"),
        ("./lake/orders", "file:///home/lake/orders-project/lake/orders/f.parquet", "f.parquet"),
        ("orders", "file:///home/lake/orders-project/orders/orders/f.parquet", "orders/f.parquet"),
        ("lake/orders", "hdfs://n:9000/user/me/lake/orders/day=1/f.parquet", "day=1/f.parquet"),
        ("/orders", "file:///orders/day=1/orders/f.parquet", "day=1/orders/f.parquet"),
        ("s3a://a", "s3a://a/partition=0/f.parquet", "partition=0/f.parquet"),
        ("s3a://a/", "s3a://a/a/f.parquet", "a/f.parquet"),
        ("s3a://a/x:y/z", "s3a://a/x:y/z/f.parquet", "f.parquet"),
        ("s3://b/topics/orders", "s3a://b/topics/orders/f.parquet", "f.parquet"),
        ("/lake/a b", "file:///lake/a b/kind=a b/f.parquet", "kind=a b/f.parquet"),
    ],
)
def test_the_path_of_a_file_in_its_folder(monkeypatch, folder, path, below):
    monkeypatch.setattr("os.getcwd", lambda: "/home/lake/orders-project")
    assert path_below(folder, path) == below


def test_a_file_outside_of_the_folder_gets_no_wrong_path():
    with pytest.raises(TableError, match=r"SMT797 /lake/orders-2/f\.parquet"):
        path_below("/lake/orders", "/lake/orders-2/f.parquet")


@pytest.mark.parametrize("column", [StructField("a b", LongType()), StructField("at", TimestampNTZType())])
def test_columns_that_such_a_table_cannot_have(column):
    check_columns("t", StructType([StructField("id", LongType())]))
    with pytest.raises(UnsupportedError, match="SMT798"):
        check_columns("t", StructType([StructField("x", ArrayType(StructType([column])))]))


def test_a_topic_that_has_lost_records_proves_nothing():
    with pytest.raises(TableError, match=r"SMT797.*has lost records"):
        check_files([file(0, 10), file(10, 3)], {("orders", 0): 15}, {("orders", 0): 12}, lambda window: 3)


def test_files_of_a_partition_without_an_offset():
    with pytest.raises(TableError, match=r"SMT797.*committed no offset"):
        check_files([file(0, 10)], {}, {}, lambda window: 0)


def test_no_message_has_a_value_that_names_a_folder():
    """Sinks that partition by fields write the values of the fields into their paths."""
    one, other = (file(start, 10, "mail=secret-4711/day=1") for start in (0, 8))
    naming = SimpleNamespace(read=lambda path: None, text="x")
    folder = ParquetFolder(None, "/", naming)
    for wrong in (
        lambda: check_files([one, other], {("orders", 0): 18}, {}, lambda window: 0),
        lambda: check_files([other], {("orders", 0): 5}, {}, lambda window: 0),
        lambda: check_files([one], {}, {}, lambda window: 0),
        lambda: folder.files({one.path: 10}, ["orders"]),
    ):
        with pytest.raises(TableError) as refused:
            wrong()
        assert "mail=…/day=…/orders+0+" in str(refused.value) and "secret" not in str(refused.value)


@pytest.mark.spark
def test_a_folder_by_fields_becomes_a_table(spark, tmp_path):
    """A FieldPartitioner's field is in the files, too; a folder's name may be escaped."""
    for kind, folder, start, number in (("a b", "kind=a b", 0, 1), ("7:1", "kind=7%3A1", 1, 2)):
        (tmp_path / folder).mkdir()
        record = {"id": number, "kind": kind, "at": {"x": number}}
        pq.write_table(pa.Table.from_pylist([record]), tmp_path / folder / f"orders+0+{start:010}.parquet")
    folder = ParquetFolder(spark, str(tmp_path), file_naming(Connector("c", CONFLUENT)))
    files = folder.files(folder.paths(), ["orders"])
    assert check_files(files, {("orders", 0): 2}, {}, lambda window: 0).startswith("2 files have 2 rows")
    folder.convert()
    with pytest.raises(TableError, match=r"SMT798.*somebody else"):
        folder.convert()
    table = spark.read.format("delta").load(str(tmp_path))
    assert sorted((row.id, row.kind, row["at"].x) for row in table.collect()) == [(1, "a b", 1), (2, "7:1", 2)]
    assert [row.id for row in table.where("kind = '7:1'").collect()] == [2]
    assert sorted(DeltaTable(tmp_path).to_pyarrow_table()["kind"].to_pylist()) == ["7:1", "a b"]
