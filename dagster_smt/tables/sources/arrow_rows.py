"""Builds Arrow columns of records in the form that Spark reads. For example, timestamps are in microseconds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dagster_smt.tables.sources.kafka_columns import KAFKA_COLUMNS, MOST_MILLIS, UNREADABLE_TIMESTAMP

HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
TIMESTAMP = pa.timestamp("us", tz="UTC")
_TYPES = (pa.binary(), pa.binary(), pa.string(), pa.int32(), pa.int64(), TIMESTAMP, pa.int32(), pa.list_(HEADER))
SCHEMA = pa.schema(list(zip(KAFKA_COLUMNS, _TYPES, strict=True)))


def times(counts: Any, per_milli: int, nulls: Any, types: Any) -> tuple[Any, Any]:
    """Returns the Arrow columns ``timestamp`` and ``timestampType`` for the times in ``counts``.

    A time that Spark cannot hold becomes null, and its type becomes ``UNREADABLE_TIMESTAMP``.

    Args:
        counts: Times since 1970, as 64-bit integers.
        per_milli: The number of time units in a millisecond: 1, 1000 or 1000000. 0 stands for seconds.
        nulls: A mask that is true at the positions of missing times.
        types: The timestamp types.
    """
    most, factor = (MOST_MILLIS // 1000, 1_000_000) if per_milli == 0 else (MOST_MILLIS, 1000)
    # 64 bits of microseconds or nanoseconds always fit into Spark's 64 bits of microseconds
    if per_milli > 1:
        micros, bad = counts // (per_milli // 1000), np.zeros(len(counts), bool)
    else:
        bad = (counts > most) | (counts < -most)
        micros = np.where(bad, 0, counts) * factor
    bad &= ~nulls
    stamps = pa.array(micros, pa.int64(), mask=bad | nulls).cast(TIMESTAMP)
    return stamps, pa.array(np.where(bad, UNREADABLE_TIMESTAMP, types).astype(np.int32))


def headers(lengths: Any, keys: Any, values: Any) -> Any:
    """Returns the Arrow column ``headers``: for each record, a list of pairs of key and value.

    Args:
        lengths: The number of headers of each record.
        keys, values: The keys and values of all headers of all records, one after the other.
    """
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(HEADER))
    return pa.ListArray.from_arrays(pa.array(offsets), pairs)


def batch(columns: Sequence[Any]) -> pa.RecordBatch:
    """Returns a record batch of ``columns``. They must be Kafka's columns, in the order of ``KAFKA_COLUMNS``."""
    return pa.RecordBatch.from_arrays(list(columns), schema=SCHEMA)
