"""Opens a sink, or the topics to which a run appends records. Each kind of sink, such as a Delta table, has a module of
its own that implements the protocol ``Table``.
"""

from pyspark.sql import SparkSession

from dagster_smt.errors import Problem, UnsupportedError, needs_extras
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, IcebergSink, KafkaSink, Sink, TableSink
from dagster_smt.tables.sinks.protocol import Table
from dagster_smt.tables.sinks.topics import FilePlace, Topics
from dagster_smt.tables.topic_table import FileTopics, SourceSpec


def open_table(session: SparkSession, sink: Sink, source: SourceSpec | None = None) -> Table:
    """Opens ``sink``, and returns the table object through which runs read and write it.

    Args:
        session: The Spark session.
        sink: The sink. If the sink's name or path contains ``{topic}``, runs write one table per topic. The function
            then opens none of these tables, but the table that stores the progress of the runs.
        source: The source of the records. A sink for topics needs the source, because a run must not write to the
            topics that it reads.

    Raises:
        UnsupportedError: SMT952, no module can write this kind of sink.
    """
    if isinstance(sink, TableSink) and sink.per_topic:
        sink = sink.progress
    if isinstance(sink, DeltaSink):
        from dagster_smt.tables.sinks.delta import DeltaTable

        return DeltaTable(session, sink)
    if isinstance(sink, IcebergSink):
        from dagster_smt.tables.sinks.iceberg import IcebergTable

        return IcebergTable(session, sink)
    if isinstance(sink, FileTopicSink):
        from dagster_smt.tables.sinks.file_topics import FileTopicsTable

        return FileTopicsTable(session, sink, source)
    if isinstance(sink, KafkaSink):
        with needs_extras():
            from dagster_smt.tables.sinks.kafka import KafkaTable

        return KafkaTable(session, sink, source)
    statement = f"{type(sink).__name__} is not a sink that runs can write to"
    raise UnsupportedError(Problem("SMT952", sink.place, statement, "use one of dagster_smt.tables.sink_options"))


def open_topics(session: SparkSession, place: FileTopics | KafkaTopics) -> Topics:
    """Opens topics, so that a run can append records to them.

    Args:
        session: The Spark session.
        place: The folder of file topics, or the Kafka cluster with the topics.

    Raises:
        UnsupportedError: SMT650, the topics are on a Kafka cluster, but Kafka's client is not installed.
    """
    if isinstance(place, FileTopics):
        return FilePlace(session, place)
    with needs_extras():
        from dagster_smt.tables.sinks.kafka_topics import KafkaPlace

    return KafkaPlace(session, place)
