"""Determines the packages that a Spark session needs for sources and sinks."""

from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink, KafkaSink, Sink, TableSink
from dagster_smt.tables.topic_table import SourceSpec, TableSource, TopicTable


def packages_of(*specs: "SourceSpec | Sink | TopicTable | None") -> frozenset[str]:
    """Returns the packages that a Spark session needs for ``specs``, such as ``kafka`` and ``delta``; see
    ``spark.packages``.

    The package ``avro`` is optional: without it, Spark reads Avro more slowly.

    Args:
        specs: Sources, sinks and topic tables.
    """
    columns = any(isinstance(spec, TableSink) and spec.kind == "columns" for spec in specs)
    specs = (*specs, *(spec.source for spec in specs if isinstance(spec, TopicTable)))
    packages: set[str] = set()
    for spec in specs:
        if isinstance(spec, TopicTable) and columns and spec.value.kind == "avro-confluent":
            packages.add("avro")
        elif isinstance(spec, TableSource) and spec.format != "parquet":
            packages.add(spec.format)
        elif isinstance(spec, DeltaSink | IcebergSink):
            packages.add(spec.storage)
        elif isinstance(spec, KafkaTopics | KafkaSink):
            packages.add("kafka")
        if str(getattr(spec, "path", "")).startswith("s3a://"):
            packages.add("s3")
    return frozenset(packages)
