"""What a session needs for sources and sinks."""

from pathlib import Path

import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, IcebergSink
from dagster_smt.tables.spark_packages import packages_of
from dagster_smt.tables.topic_table import FileTopics, TableSource, TopicTable

AVRO = TopicTable(FileTopics("t"), ("a",), value=Format("avro-confluent", options={"url": "http://127.0.0.1:1"}))


@pytest.mark.parametrize(
    ("table", "sink", "packages"),
    [
        (AVRO, DeltaSink("d", kind="columns"), {"avro", "delta"}),
        (AVRO, DeltaSink("d"), {"delta"}),
        (AVRO, FileTopicSink("f"), set()),
        (TopicTable(FileTopics("t"), ("a",)), DeltaSink("d", kind="columns"), {"delta"}),
    ],
)
def test_avro_is_for_columns(table, sink, packages):
    assert packages_of(table, sink, None) == packages


@pytest.mark.parametrize(
    ("specs", "packages"),
    [
        ((DeltaSink("s3a://lake/orders"),), {"delta", "s3"}),
        ((IcebergSink("s3a://lake/orders"),), {"iceberg", "s3"}),
        ((DeltaSink("d"), DeltaSink("s3a://lake/letters")), {"delta", "s3"}),
        ((TopicTable(TableSource(path="s3a://lake/bronze", format="parquet"), ("a",)), FileTopicSink("f")), {"s3"}),
        ((DeltaSink("s3://lake/orders"),), {"delta"}),
        ((DeltaSink("s3a"),), {"delta"}),
    ],
)
def test_s3_is_for_paths_of_hadoops_file_system(specs, packages):
    assert packages_of(*specs) == packages


@pytest.mark.parametrize("sink", [DeltaSink, IcebergSink])
@pytest.mark.parametrize("uri", ["s3a://lake/orders", "hdfs://nn/lake", "file:///lake/orders"])
def test_a_path_object_that_has_lost_a_slash_of_a_uri_is_refused(sink, uri):
    with pytest.raises(ConfigError, match="SMT570"):
        sink(Path(uri))
    assert sink(uri).folder is None


@pytest.mark.parametrize(
    ("path", "local"),
    [("lake/orders", True), ("/lake/a:b/c", True), ("file:/lake/orders", False), ("dbfs:/lake", False)],
)
def test_a_uri_with_one_slash_is_no_local_folder(path, local):
    assert (DeltaSink(path).folder is not None) is local
    assert FileTopicSink(path).folder == (Path(path) if local else None)
