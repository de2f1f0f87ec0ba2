"""Topics to which runs append records. The protocol ``Topics`` has methods to append, list and read records. This
module implements the protocol for file topics. The module ``kafka_topics`` implements the protocol for Kafka clusters,
and needs Kafka's client.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from dagster_smt.model.windows.window import Range, Window, number_of_records
from dagster_smt.tables import local
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.frame_writer import append_frame
from dagster_smt.tables.topic_table import FileTopics

Say = Callable[[str], None]


@dataclass(frozen=True)
class Appended:
    """The outcome of appending records.

    Attributes:
        ranges: Ranges of offsets in the target topics that contain only the appended records, such as ``orders-0 [120,
            150)``. A partition is left out if other records may be among the appended records.
        count: The number of appended records.
        unwritten: The records that were not appended, because their topic rejects them even if they are shortened. For
            each record, the list contains the values of the columns in ``order`` (see ``Topics.append``).
    """

    ranges: list[Range]
    count: int
    unwritten: tuple[tuple[Any, ...], ...] = ()


class Topics(Protocol):
    """Topics of a folder or a Kafka cluster, opened with a Spark session. Runs append records to them."""

    def alone(
        self, owner: str, topics: Sequence[str], identity: Sequence[str], say: Say
    ) -> AbstractContextManager["Topics"]:
        """Returns a context manager that yields an object for appending records, also a ``Topics``. While the block
        runs, only one run can append as the writer ``owner``. An earlier run with the same writer's name cannot append
        any more, or the block waits for the earlier run.

        Args:
            owner: The name of the writer.
            topics: The target topics.
            identity: The headers that identify a record.
            say: Is called with lines about the progress.

        Raises:
            TableError: SMT528, another run of this writer has begun meanwhile.
        """

    def there(self, topics: Sequence[str]) -> list[Range]:
        """Returns the offset range of each partition of ``topics``, such as ``orders-0 [10, 20)``. Topics that do not
        exist are left out.
        """

    def read(self, window: Window) -> DataFrame:
        """Returns the records in ``window``, a set of offset ranges such as ``orders-0 [10, 20)``. The rows have
        Kafka's columns.
        """

    def append(self, frame: DataFrame, order: Sequence[str], say: Say) -> Appended:
        """Appends the records of ``frame`` to their topics.

        Args:
            frame: The records, with the columns ``key, value, topic, headers``. For topics of a cluster, the frame also
                has ``target_partition`` if the chain chooses partitions. For file topics, it also has
                ``partition, timestamp_ms, timestampType``.
            order: The columns that order the records of a topic-partition.
            say: Is called with lines about the progress.
        """


@dataclass(frozen=True)
class FilePlace:
    """The topics in a folder, to which runs append records. The class implements the protocol ``Topics``."""

    session: SparkSession
    spec: FileTopics

    @contextmanager
    def alone(self, owner: str, topics: Sequence[str], identity: Sequence[str], say: Say) -> Iterator["FilePlace"]:
        """Yields this object. While the block runs, no other process can append to the folder's topics under the name
        ``owner``. A second process that calls this method with the same name waits until the block ends. See
        ``Topics``.
        """
        folder = local.local_folder(self.spec.root) / ".progress"
        local.make_folder(folder)
        # an owner's name may contain characters that a file name cannot contain, such as the slash in an asset's name
        name = hashlib.sha256(owner.encode()).hexdigest()[:16]
        with local.locked(folder / f"{name}.append.lock", owner, wait=True, say=say):
            yield self

    def there(self, topics: Sequence[str]) -> list[Range]:
        """Returns the offset range of each partition of ``topics``, such as ``orders-0 [10, 20)``. Topics that do not
        exist are left out. See ``Topics``.
        """
        if not local.local_folder(self.spec.root).is_dir():
            return []
        source = open_source(self.spec, self.session)
        listed = source.topics()
        return source.ranges([t for t in topics if t in listed])

    def read(self, window: Window) -> DataFrame:
        """Returns the records in the offset ranges of ``window``. See ``Topics``."""
        return open_source(self.spec, self.session).read(window)

    def append(self, frame: DataFrame, order: Sequence[str], say: Say) -> Appended:
        """Appends the records of ``frame`` to their topics. Readers see the new records of a topic-partition all at
        once.
        """
        ranges = append_frame(self.spec, frame, order, say)
        return Appended(ranges, number_of_records(ranges))
