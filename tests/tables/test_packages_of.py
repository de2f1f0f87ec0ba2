"""What a session needs for sources and sinks."""

import pytest

from dagster_smt.model.topics.format import Format
from dagster_smt.tables.spec import DeltaSink, FileTopics, FileTopicSink, TopicTable, packages_of

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
