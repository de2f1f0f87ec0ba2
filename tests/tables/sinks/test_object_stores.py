"""Where a run warns that two drivers may overwrite each other's commits."""

from types import SimpleNamespace

import pytest

from dagster_smt.spark.packages import LOG_STORE, LOG_STORE_CLASS
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sinks.object_stores import commit_warnings
from dagster_smt.tables.topic_table import FileTopics

ICE = "spark.sql.catalog.ice"
S3 = "s3://lake/ice"


HADOOP = {ICE: "org.apache.iceberg.spark.SparkCatalog", f"{ICE}.type": "hadoop", f"{ICE}.warehouse": S3}


def warned(conf, *places):
    catalog = SimpleNamespace(currentCatalog=lambda: "ice")
    session = SimpleNamespace(catalog=catalog, conf=SimpleNamespace(get=lambda key, standard: conf.get(key, standard)))
    return [(problem.code, problem.place) for problem in commit_warnings(session, *places)]


@pytest.mark.parametrize(
    ("conf", "sink"),
    [
        ({}, DeltaSink("s3a://lake/orders")),
        ({LOG_STORE: LOG_STORE_CLASS}, DeltaSink("s3://lake/orders")),
        ({}, IcebergSink("s3a://lake/orders")),
        (HADOOP, IcebergSink(table="ice.db.orders")),
        (HADOOP, IcebergSink(table="`ice`.db.orders")),
        (HADOOP, IcebergSink(table="db.orders")),
    ],
)
def test_commits_that_are_not_atomic(conf, sink):
    assert warned(conf, sink) == [("SMT660", sink.place)]
    assert warned(conf, DeltaSink("lake"), sink) == warned(conf, sink, None) == [("SMT660", sink.place)]


@pytest.mark.parametrize(
    ("conf", "sink"),
    [
        ({LOG_STORE: LOG_STORE_CLASS}, DeltaSink("s3a://lake/orders")),
        ({LOG_STORE: "io.delta.storage.S3SingleDriverLogStore"}, DeltaSink("s3a://lake/orders")),
        ({"spark.delta.logStore.class": "org.example.Store"}, DeltaSink("s3a://lake/orders")),
        ({"spark.databricks.clusterUsageTags.clusterId": "1"}, DeltaSink("s3://lake/orders")),
        ({}, DeltaSink("lake/orders")),
        ({}, DeltaSink("abfss://lake@account/orders")),
        ({}, DeltaSink(table="lake.orders")),
        ({}, IcebergSink("lake/orders")),
        ({f"{ICE}.type": "rest", f"{ICE}.warehouse": S3}, IcebergSink(table="ice.db.orders")),
        ({f"{ICE}.type": "hadoop", f"{ICE}.warehouse": "/lake"}, IcebergSink(table="ice.db.orders")),
        ({}, FileTopics("letters")),
        ({}, None),
    ],
)
def test_commits_that_are_atomic_or_chosen(conf, sink):
    assert warned(conf, sink) == []
