"""Reads the topics of a Kafka cluster. A client asks for topics and offsets, and Spark's own Kafka source reads the
records.

A window is a range of offsets, such as ``orders-0 [10, 20)``. This window may contain fewer than 10 records: compaction
and aborted transactions leave offsets without a record, and the end of each transaction takes an offset. With
``read_committed``, the records of open transactions are not read either.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.windows.offsets import TopicPartition
from dagster_smt.model.windows.window import Range, Window, ends_of, not_empty
from dagster_smt.spark.redaction import refuse_shown_secrets
from dagster_smt.spark.workers import map_in_arrow
from dagster_smt.tables.available import Position, TopicEnds
from dagster_smt.tables.kafka.client import Committed, KafkaClient
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sources.base import BaseSource, nothing
from dagster_smt.tables.sources.by_client import ReadByClient, in_pieces
from dagster_smt.tables.sources.kafka_columns import EPOCH_SCHEMA, KAFKA_COLUMNS, KAFKA_SCHEMA, MOST_MILLIS
from dagster_smt.values.headers.fields import no_headers

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_FEW_TASKS = 16
_AHEAD = 24 * 3600 * 1000
"""The number of milliseconds by which the timestamp of a record may be ahead of this machine's clock."""
_RECORDS_OF_A_TASK = 100_000
_TUNED = {
    "kafka.fetch.max.wait.ms": "50",  # by default, a reader waits half a second at the end of each partition
    "kafka.max.poll.records": "5000",
    "maxRecordsPerPartition": "250000",  # so that several tasks read a long partition
}


class KafkaReader(BaseSource):
    """Topics of a cluster, from which a run reads records. Usually, Spark's Kafka source reads these records; see
    ``read``.

    Args:
        spec: The topics.
        session: The Spark session; not needed to list and measure topics.
    """

    knows_times = True

    def __init__(self, spec: KafkaTopics, session: "SparkSession | None" = None):
        self.spec, self.session = spec, session
        self.client = KafkaClient(spec)
        self._ids: dict[str, str] = {}
        self._ahead: dict[TopicPartition, int] = {}

    def topics(self) -> list[str]:
        """Returns the names of all topics, except Kafka's internal topics. See ``Source``."""
        return self.client.names()

    def identities(self, topics: Iterable[str]) -> dict[str, str]:
        """Returns the topic id of each topic in ``topics`` (KIP-516). The id changes if the topic is deleted and
        created again.
        """
        ids = {}
        for topic, (id_, _) in self.client.described(topics).items():
            ids[topic] = id_
        self._ids |= ids
        return ids

    def ranges(self, topics: Iterable[str]) -> list[Range]:
        """Returns the earliest offset and the end of each partition of ``topics``, as ``Source`` describes.

        With ``read_committed``, a partition ends at the first record of an open transaction.
        """
        return self.client.ranges(topics)

    def measure(self, topics: Iterable[str]) -> TopicEnds:
        """Returns the offsets that ``topics`` hold, the leader epochs, and the records that open transactions hide. See
        ``Source``.
        """
        return self.client.measure(topics)

    def cut_back(self, positions: Mapping[TopicPartition, Position]) -> Mapping[TopicPartition, int]:
        """Finds partitions that have lost records after a run read them. Returns the first lost offset of each such
        partition.

        For each partition, the client sends the offset that runs have reached, and the leader epoch at that time. The
        brokers compare both with their log (KIP-320).
        """
        return self.client.cut_back(positions)

    def offsets_at(self, topics: Iterable[str], millis: int) -> dict[tuple[str, int], int]:
        """Returns the first offset of each topic-partition at or after the time ``millis``. See ``Source``.

        The brokers find these offsets (``offsetsForTimes``).
        """
        ends = ends_of(self.ranges(topics))
        at = self.client.offsets_at(list(ends), millis)
        soon = time.time() * 1000 + _AHEAD
        late = {}
        for place, (offset, stamp) in self.client.times.items():
            # if `millis` itself is in the future, a record with a future timestamp is no surprise
            if stamp > soon >= millis:
                late[place] = offset
        self._ahead |= late
        results = {}
        for place, end in ends.items():
            # the record may have arrived after the ends were requested
            results[place] = min(end, at[place]) if at[place] >= 0 else end
        return results

    def ahead(self) -> list[Problem]:
        """Returns a problem for each record with a future timestamp that ``offsets_at`` has met. See ``Source``."""
        problems = []
        for place, offset in sorted(self._ahead.items()):
            problems.append(_ahead(place, offset))
        return problems

    def sizes(self, topics: Iterable[str]) -> None:
        """Returns None, because this source does not ask the brokers for the sizes of ``topics``. See ``Source``."""

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Returns the offsets that the consumer group ``group`` has committed, by topic-partition. See ``Source``."""
        offsets = {}
        for place, committed in self.client.committed(group).items():
            offsets[place] = committed.offset
        return offsets

    def mirror(self, group: str, ends: Mapping[tuple[str, int], int]) -> None:
        """Commits the offsets ``ends`` for the consumer group ``group``, by topic-partition. See ``Source``."""
        positions = {}
        for place, end in ends.items():
            positions[place] = Committed(end, "")
        self.client.commit(group, positions)

    def read(self, window: Window, beat: Callable[[], None] = nothing) -> "DataFrame":
        """Returns the records of ``window``, the range of offsets that a run reads. See ``Source``.

        Spark's ``kafka`` source reads the records, with explicit start and end offsets. The source fails if records
        have been lost. If the timestamp of a record is later than Spark can hold, the Python client reads this record
        and all later records of its partition.
        """
        assert self.session is not None
        beat()
        if not window.ranges:
            return self.session.createDataFrame([], KAFKA_SCHEMA)
        near, far = self._split(window)
        if not far:
            return self._read_near(near)
        frame = self._read_by_client(far)
        if near.ranges:
            return self._read_near(near).union(frame)
        return frame

    def read_with_epochs(self, window: Window, beat: Callable[[], None] = nothing) -> "DataFrame":
        """Reads the records of ``window`` with confluent-kafka's client, and returns them with the column
        ``leaderEpoch``. See ``Source``.
        """
        assert self.session is not None
        beat()
        if not window.ranges:
            return self.session.createDataFrame([], EPOCH_SCHEMA)
        return self._read_by_client(in_pieces(sorted(window.ranges)), epochs=True)

    def _split(self, window: Window) -> tuple[Window, list[Range]]:
        """Splits ``window`` into the part that Spark reads, and the ranges that the Python client reads.

        The client's part of a partition begins at the first record whose timestamp Spark cannot hold. In most
        partitions, there is no such record, so Spark reads all offsets.
        """
        places = sorted({(r.topic, r.partition) for r in window.ranges})
        firsts = {}
        for place, at in self.client.offsets_at(places, MOST_MILLIS + 1).items():
            if at >= 0:
                firsts[place] = at
        near, far = [], []
        for r in window.ranges:
            first = firsts.get((r.topic, r.partition), r.end)
            near.append(replace(r, end=min(r.end, max(r.start, first))))
            far.append(replace(r, start=max(r.start, min(r.end, first))))
        return Window(tuple(not_empty(near))), not_empty(far)

    def _read_by_client(self, ranges: Sequence[Range], *, epochs: bool = False) -> "DataFrame":
        assert self.session is not None
        numbers = self.session.range(0, len(ranges), 1, min(len(ranges), _FEW_TASKS))
        read = self.client_reading(ranges, epochs=epochs)
        return map_in_arrow(numbers, read, EPOCH_SCHEMA if epochs else KAFKA_SCHEMA)

    def client_reading(self, ranges: Sequence[Range], *, epochs: bool) -> ReadByClient:
        """Returns a function that Spark runs on its executors. The function reads ``ranges`` with confluent-kafka's
        client.

        Args:
            ranges: The ranges of offsets.
            epochs: True to add the leader epoch of each record.
        """
        config = self.client.consumer_config(
            "dagster_smt.records",
            **{
                "isolation.level": self.spec.isolation_level,
                "auto.offset.reset": "error",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 50,  # the same setting as for Spark's reader
            },
        )
        return ReadByClient(tuple(ranges), config, self.client.timeout, epochs)

    def _read_near(self, window: Window) -> "DataFrame":
        assert self.session is not None
        starts: dict[str, dict[str, int]] = {}
        ends: dict[str, dict[str, int]] = {}
        for r in sorted(window.ranges):
            # Spark reads a single range of each partition: from the start of its first range to the end of its last
            # range
            starts.setdefault(r.topic, {}).setdefault(str(r.partition), r.start)
            ends.setdefault(r.topic, {})[str(r.partition)] = r.end
        options = {
            **_TUNED,
            **self.spec.connector_options(),
            "kafka.isolation.level": self.spec.isolation_level,
            "assign": json.dumps({topic: sorted(map(int, partitions)) for topic, partitions in starts.items()}),
            "startingOffsets": json.dumps(starts),
            "endingOffsets": json.dumps(ends),
            "failOnDataLoss": "true",
            "includeHeaders": "true",
        }
        refuse_shown_secrets(self.session, options)
        frame = self.session.read.format("kafka").options(**options).load()
        # a partition has several ranges, so the records between them are removed
        if len(window.ranges) > sum(map(len, starts.values())):
            from dagster_smt.tables.sources.window_rows import within

            frame = within(frame, window)
        span = 0
        for topic, parts in ends.items():
            for p, end in parts.items():
                span += end - starts[topic][p]
        tasks = max(_FEW_TASKS, span // _RECORDS_OF_A_TASK)
        # if there are many small partitions, starting a task for each of them would take longer than reading them
        if tasks < len(window.ranges):
            frame = frame.coalesce(tasks)
        return frame.withColumn("headers", _headers()).select(*KAFKA_COLUMNS)

    def changed(self, window: Window) -> list[Problem]:
        """Returns the changes of topics that explain why a run could not read ``window``; see ``Source``.

        Returns:
            SMT598: the topic was deleted; SMT516: the topic was created again; SMT634: records were deleted.
        """
        hint, problems = "run again: the next run reports the topic's state", list[Problem]()
        for topic in window.topics:
            try:
                now = self.client.described([topic])[topic][0]
                there = {}
                for r in self.client.ranges([topic]):
                    there[(r.topic, r.partition)] = r.start
            except TableError:
                statement = "the topic was deleted while it was read"
                problems.append(
                    Problem(
                        "SMT598", topic, statement, "remove the topic from the topic table, or create the topic again"
                    )
                )
                continue
            if self._ids.get(topic, now) != now:
                statement = "the topic was deleted and created again while the run read it"
                problems.append(Problem("SMT516", topic, statement, hint))
                continue
            gone = ((r, there.get((r.topic, r.partition), r.start)) for r in window.ranges if r.topic == topic)
            for r, start in gone:
                if start > r.start:
                    problems.append(_deleted(r, start))
        return problems

    def count(self, window: Window) -> None:
        """Returns None, because the number of records in ``window`` is not known: some offsets may have no record. See
        ``Source``.
        """

    def verify(self, window: Window, read: Mapping[str, int], beat: Callable[[], None] = nothing) -> list[Problem]:
        """Returns problems if the run has not read all records of ``window``; see ``Source``.

        Some offsets have no record. So if there are fewer records than offsets, the Python client reads the offsets
        again and counts the records. The run should have read at least as many records.

        Returns:
            SMT516: a topic has been created again meanwhile; SMT533: records were not read.
        """
        # a copy, because identities() changes the dict
        if was := dict(self._ids):
            now = self.identities([t for t in window.topics if t in self._ids])
        else:
            now = {}
        hint = "run again: the next run reports the topic's state"
        statement = "the topic was deleted and created again while the run read it"
        problems = []
        for t, id_ in now.items():
            if was[t] != id_:
                problems.append(Problem("SMT516", t, statement, hint))
        offsets = window.records_by_topic
        thin = []
        for t, count in offsets.items():
            if read.get(t, 0) < count:
                thin.append(t)
        if thin and not problems:
            there = self.client.count(Window(tuple(r for r in window.ranges if r.topic in thin)), beat)
            hint = "run again; if it happens again, ask the brokers' keeper about unclean leaders"
            for topic, count in there.items():
                if (records := read.get(topic, 0)) < count:
                    problems.append(
                        Problem(
                            "SMT533",
                            topic,
                            f"the brokers return {count} records of the window, but Spark read {records}",
                            hint,
                        )
                    )
        return problems


def _ahead(place: TopicPartition, offset: int) -> Problem:
    statement = f"the record at offset {offset} has a time in the future: no window of time before that goes past it"
    hint = "run what comes after it by offsets (window.explicit), or let the topic's retention remove the record"
    return Problem("SMT599", f"{place[0]}-{place[1]}", statement, hint)


def _deleted(r: Range, start: int) -> Problem:
    statement = f"offsets {r.start} to {min(start, r.end)} were deleted while the run read them"
    hint = (
        "run again: a table that has read the topic before reports the lost records, and a new table begins with the "
        "remaining ones"
    )
    return Problem("SMT634", f"{r.topic}-{r.partition}", statement, hint)


def _headers() -> "Column":
    from pyspark.sql import functions as F

    return F.coalesce("headers", no_headers(F))
