"""Reads records of a cluster with Kafka's Python client, in the tasks of Spark's executors.

Runs use this client instead of Spark's Kafka source in two cases:

- A record has a timestamp that Spark cannot hold. Spark's source would fail. So the client reads this record, and also
  all later records of the window in the same partition.
- A topic table declares leader epochs, which Spark's source does not have. The client then reads all records.

The client needs several times as long for a record, because each record becomes a Python object.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from dagster_smt.model.windows.window import Range
from dagster_smt.spark.outcome_columns import LEADER_EPOCH
from dagster_smt.tables.sources import arrow_rows

_BATCH = 1_000
_SECONDS = 0.1
"""The time in seconds for which the client waits until a batch is full. The last batch of a range is not full, so the
client always waits this long for it.
"""
_RECORDS_OF_A_TASK = 250_000


@dataclass(frozen=True)
class ReadByClient:
    """A function for ``DataFrame.mapInArrow`` that reads ranges of offsets. Spark sends the object to its executors.

    Each input row is a number, such as 2. The function returns the records of ``ranges[2]``.

    Attributes:
        ranges: The ranges.
        config: The client's settings, including secrets. Executors receive them only as part of this function.
        timeout: The longest time in seconds to wait for brokers.
        epochs: True to add the column of leader epochs.
    """

    ranges: Sequence[Range]
    config: Mapping[str, Any] = field(repr=False)
    timeout: float
    epochs: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self._records(self.ranges[number])

    def _records(self, range_: Range) -> Iterator[pa.RecordBatch]:
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(dict(self.config))
        try:
            consumer.assign([TopicPartition(range_.topic, range_.partition, range_.start)])
            silent = 0.0
            while True:
                messages = consumer.consume(_BATCH, _SECONDS)
                silent = 0.0 if messages else silent + _SECONDS
                if silent > self.timeout:
                    raise RuntimeError(_SILENT)
                records, ended = _up_to(messages, range_.end)
                if records:
                    batch = _batch(records)
                    yield batch.append_column(LEADER_EPOCH, _epochs(records)) if self.epochs else batch
                if ended:
                    return
        finally:
            consumer.close()


def in_pieces(ranges: Iterable[Range]) -> list[Range]:
    """Splits ``ranges`` into pieces that are short enough for one task each."""
    pieces = list[Range]()
    for r in ranges:
        starts = range(r.start, r.end, _RECORDS_OF_A_TASK)
        for start in starts:
            pieces.append(replace(r, start=start, end=min(r.end, start + _RECORDS_OF_A_TASK)))
    return pieces


# run.spark_failures recognizes this text as a failure of the brokers
_SILENT = "org.apache.kafka.common.errors.TimeoutException: no broker answers"


def _up_to(messages: Sequence[Any], end: int) -> tuple[list[Any], bool]:
    """Returns a pair: the messages before the offset ``end``, and a flag. The flag is True if all messages before
    ``end`` have arrived.
    """
    from confluent_kafka import KafkaError, KafkaException

    records = list[Any]()
    for message in messages:
        error = message.error()
        # the last offsets of a range may have no record, because of compaction or as markers of transactions
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            return records, True
        if error is not None:
            raise KafkaException(error)
        if message.offset() >= end:
            return records, True
        records.append(message)
    return records, bool(records) and records[-1].offset() + 1 >= end


def _batch(records: Sequence[Any]) -> pa.RecordBatch:
    times = [record.timestamp() for record in records]
    stamps = np.array([millis for _, millis in times], np.int64)
    # the numbers of librdkafka's timestamp types are those of Kafka plus one
    types = np.array([kind - 1 for kind, _ in times], np.int32)
    stamps, types = arrow_rows.times(stamps, 1, np.zeros(len(records), bool), types)
    pairs = [record.headers() or [] for record in records]
    keys = pa.array([key for of_record in pairs for key, _ in of_record], pa.string())
    values = pa.array([value for of_record in pairs for _, value in of_record], pa.binary())
    return arrow_rows.batch(
        [
            pa.array([record.key() for record in records], pa.binary()),
            pa.array([record.value() for record in records], pa.binary()),
            pa.array([record.topic() for record in records], pa.string()),
            pa.array([record.partition() for record in records], pa.int32()),
            pa.array([record.offset() for record in records], pa.int64()),
            stamps,
            types,
            arrow_rows.headers([len(of_record) for of_record in pairs], keys, values),
        ]
    )


def _epochs(records: Sequence[Any]) -> pa.Array:
    """Returns the leader epochs of ``records`` as an Arrow array. If a record has an older format without an epoch, the
    epoch is null.
    """
    epochs = (record.leader_epoch() for record in records)
    return pa.array([None if epoch is None or epoch < 0 else epoch for epoch in epochs], pa.int32())
