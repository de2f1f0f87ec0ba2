"""Counts the field names of records without a schema. Spark's workers do the counting, and no value leaves a worker."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dagster_smt.interpret.leaves import parsed
from dagster_smt.privacy.applied_policy import undecided, undecided_headers
from dagster_smt.privacy.field_paths import value_paths
from dagster_smt.privacy.field_scan import fields_only
from dagster_smt.privacy.patterns import is_personal
from dagster_smt.privacy.policy_stages import PolicyStage
from dagster_smt.privacy.tags import Part
from dagster_smt.spark.workers import map_in_arrow
from dagster_smt.visible import visible

_SCHEMA = pa.schema([("topic", pa.string()), ("part", pa.string()), ("path", pa.string()), ("records", pa.int64())])
_DDL = "`topic` STRING, `part` STRING, `path` STRING, `records` BIGINT"
MOST_FIELDS = 200


@dataclass(frozen=True)
class _HeldBack:
    """A picklable function for ``DataFrame.mapInArrow`` that counts held-back fields and headers. A policy holds back a
    field if it has no decision about the field.

    For each field or header that is held back, the function yields the number of records of the batch that contain the
    field or header.
    """

    stages: tuple[PolicyStage, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            counts: dict[tuple[str, str, str], int] = {}
            for row in batch.to_pylist():
                for place in self.held(row):
                    counts[place] = counts.get(place, 0) + 1
            rows = []
            for (t, part, path), n in counts.items():
                rows.append({"topic": t, "part": part, "path": path, "records": n})
            yield pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)

    def held(self, row: dict[str, object]) -> Iterator[tuple[str, str, str]]:
        """Yields the fields and headers of the record ``row`` that the policy holds back, because it has no decision
        about them. Each item is a topic, a part of the record and a path, such as ``("orders", "value", "email")``.
        """
        topic = str(row["topic"])
        parts: tuple[Part, ...] = ("value", "key")
        for part in parts:
            # Kafka's key and value are bytes, or null for a tombstone or a record without a key
            content = row[part]
            if isinstance(content, bytes):
                paths = set()
                for steps, value in value_paths(parsed(content.decode(errors="replace"))):
                    if value not in (None, [], {}):  # dropping an empty value loses nothing
                        paths.add(fields_only(steps))
                for path in undecided(self.stages, topic, part, sorted(paths, key=str)):
                    # Arrow cannot hold half of a surrogate pair, so such characters are replaced
                    yield topic, part, visible(path)
        headers: Any = row["headers"] or ()
        names = set()
        for name in undecided_headers(self.stages, topic, [header["key"] for header in headers]):
            names.add("[*]" if is_personal(name) else name)
        for name in sorted(names):
            yield topic, "headers", visible(name)


def held_back_in(frame: DataFrame, stages: tuple[PolicyStage, ...]) -> list[tuple[str, str, str, int]]:
    """Counts the fields and headers in ``frame`` that a policy holds back, because it has no decision about them. An
    item of the result is ``("orders", "value", "email", 12)``: topic, part of the record, path and number of records.

    ``frame`` has Kafka's columns. A key or value is read only if it is JSON. The result has at most ``MOST_FIELDS``
    items, the most frequent first.
    """
    counts = map_in_arrow(frame.select("topic", "key", "value", "headers"), _HeldBack(stages), _DDL)
    sums = counts.groupBy("topic", "part", "path").agg(F.sum("records").alias("records"))
    rows = sums.orderBy(F.desc("records"), "topic", "part", "path").limit(MOST_FIELDS).collect()
    names = []
    for row in rows:
        names.append((row["topic"], row["part"], row["path"], row["records"]))
    return names
