"""Reads a few records of a topic from files or from a broker, without Spark."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_smt.errors import Problem, TableError, needs_extras
from dagster_smt.interpret.preview import Sample
from dagster_smt.model.windows.window import Range
from dagster_smt.tables.topic_table import FileTopics

if TYPE_CHECKING:
    from dagster_smt.tables.kafka.spec import KafkaTopics


def samples(topics: "FileTopics | KafkaTopics", topic: str, limit: int, start: int | None = None) -> list[Sample]:
    """Returns up to ``limit`` records of ``topic``, in the order of their timestamps.

    Args:
        topics: The folder or the cluster.
        topic: The topic.
        limit: The number of records.
        start: The first offset to read in each partition. By default, the last records of the partitions are read.

    Raises:
        TableError: SMT500 or SMT501, the folder or the topic does not exist; SMT538, the offsets do not exist.
    """
    from dagster_smt.tables.sources import open_source

    ranges = []
    for r in open_source(topics).ranges([topic]):
        ranges.append(_sample_range(r, limit, start))
    ranges = [r for r in ranges if r.records > 0]
    if start is not None and not ranges:
        hint = "dagster-smt topics lists the existing ones"
        raise TableError(Problem("SMT538", topic, f"there is no offset {start}", hint))
    if isinstance(topics, FileTopics):
        rows = _of_files(topics, ranges)
    else:
        rows = _of_broker(topics, ranges, time.monotonic() + topics.timeout)
    in_order = sorted(rows, key=lambda s: (s.timestamp or 0, s.partition, s.offset))
    if start is not None:
        return in_order[:limit]
    return in_order[-limit:]


def _sample_range(r: Range, limit: int, start: int | None) -> Range:
    if start is None:
        # all of the newest records may be in this partition
        return Range(r.topic, r.partition, max(r.start, r.end - limit), r.end)
    return Range(r.topic, r.partition, max(r.start, start), max(r.start, min(r.end, start + limit)))


def _of_files(topics: FileTopics, ranges: list[Range]) -> Iterator[Sample]:
    from dagster_smt.tables.sources.segments import list_segments, read_rows, to_bytes

    for r in ranges:
        segments = list_segments(Path(topics.root), r.topic)[r.partition]
        for segment, following in zip(segments, [*segments[1:], None], strict=True):
            if segment.base >= r.end or (following is not None and following.base <= r.start):
                continue
            for row in read_rows(segment):
                if r.start <= row.offset < r.end:
                    headers = tuple((h.key, to_bytes(h.value)) for h in row.headers or ())
                    sides = to_bytes(row.key), to_bytes(row.value)
                    yield Sample(r.topic, r.partition, row.offset, row.timestamp, *sides, headers)


def records_of_broker(topics: "KafkaTopics", ranges: list[Range]) -> Iterator[Sample]:
    """Yields all records of ``ranges``, in the order in which the brokers send them.

    Raises:
        TableError: SMT759, the brokers stopped sending before the end.
    """
    return _of_broker(topics, ranges, None)


def _of_broker(topics: "KafkaTopics", ranges: list[Range], until: float | None) -> Iterator[Sample]:
    """Yields the records of ``ranges`` as the brokers send them.

    Args:
        topics: The cluster.
        ranges: The ranges, all of one topic.
        until: The time (by ``time.monotonic``) at which reading stops. If None, the function reads all records.

    Raises:
        TableError: SMT759, if ``until`` is None and the brokers stopped sending before the end.
    """
    with needs_extras():
        from confluent_kafka import KafkaError, TopicPartition

        from dagster_smt.tables.kafka.client import KafkaClient

    client = KafkaClient(topics)
    ends = {r.partition: r.end for r in ranges}
    unfinished = {*ends}
    consumer = client.consumer("dagster_smt.preview", **{"enable.partition.eof": True})
    patience = time.monotonic() + topics.timeout
    try:
        consumer.assign([TopicPartition(r.topic, r.partition, r.start) for r in ranges])
        # `patience` moves on with each record, so without `until`, reading ends when the brokers send nothing for the
        # whole time limit
        while unfinished and time.monotonic() < (patience if until is None else until):
            for message in consumer.consume(500, timeout=0.5):
                error = message.error()
                if until is None and error is not None and error.code() != KafkaError._PARTITION_EOF:
                    continue  # after an error, no further record of the partition is read
                end = ends.get(message.partition(), 0)
                if error is not None or message.offset() >= end - 1:
                    # the message is the end of the partition, or the last requested record, or a later record
                    unfinished.discard(message.partition())
                # the consumer also sends later records of the partition, while other partitions are unfinished
                if error is None and message.offset() < end:
                    patience = time.monotonic() + topics.timeout
                    yield _sample(message)
    finally:
        consumer.close()
    if unfinished and until is None:
        hint = "launch the erasure again when the brokers answer"
        raise TableError(Problem("SMT759", ranges[0].topic, "the brokers stopped sending before the end", hint))


def _sample(message: Any) -> Sample:
    place = message.topic(), message.partition(), message.offset(), message.timestamp()[1]
    epoch = message.leader_epoch()
    return Sample(*place, message.key(), message.value(), tuple(message.headers() or ()), leader_epoch=epoch)
