"""File topics as sinks. Each record is written to the topic that the chain's routers choose.

File topics have no transactions. A run first appends records to the topics. Then it writes a progress file, with the
offsets that its consumer group has processed. If the run crashes between these two steps, the records exist, but the
progress file does not list them. Each record has a header with its source, so the next run recognizes these records and
does not write them again.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.topics.state import NewerState, TableState, remedy
from dagster_smt.model.windows.window import Window
from dagster_smt.spark.outcome_columns import TARGET
from dagster_smt.tables import local
from dagster_smt.tables.sink_options import FileTopicSink
from dagster_smt.tables.sinks.append_once import Trace, append_once, last_header
from dagster_smt.tables.sinks.protocol import NewCommit, Replaced, same_state
from dagster_smt.tables.sinks.records import (
    GROUP_HEADER,
    SOURCE_HEADER,
    RecordTable,
    refuse_many_topics,
    refuse_own_topics,
    with_source,
)
from dagster_smt.tables.sinks.topics import FilePlace
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.frame_writer import append_frame
from dagster_smt.tables.topic_table import FileTopics, SourceSpec

_ORDER = ("source_topic", "source_partition", "offset")


class _Progress(msgspec.Struct):
    """The content of the file that stores the progress of a consumer group.

    Attributes:
        state: The state as text: the offsets, counts and failed records after the group's last run.
        ends: For each target partition, the offset at which the next run starts to search for already written records,
            such as ``{"orders-0": 120}``.
    """

    state: str
    ends: dict[str, int]


@dataclass(frozen=True)
class FileTopicsTable(RecordTable):
    """File topics (topics in a folder), opened as the sink of a run. The class implements the protocol ``Table``.

    Attributes:
        session: The Spark session.
        spec: The sink.
        source: The source of the records.
    """

    session: SparkSession
    spec: FileTopicSink
    source: SourceSpec | None = None

    @property
    def topics(self) -> FileTopics:
        return FileTopics(Path(self.spec.path))

    @property
    def _file(self) -> Path:
        return local.local_folder(self.topics.root) / ".progress" / f"{self.spec.group}.json"

    def _progress(self) -> _Progress:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=_Progress)
        except FileNotFoundError:
            return _Progress("", {})
        except msgspec.DecodeError:
            raise TableError(self._unreadable(ValueError("damaged"))) from None

    def _unreadable(self, why: ValueError) -> Problem:
        hint = "restore the file, or choose another group: that one reads the topics from the beginning"
        if isinstance(why, NewerState):
            hint = remedy(why)
        return Problem("SMT522", str(self._file), f"the progress of the group is {why}", hint)

    def state(self, *, settle: bool = False) -> TableState | None:
        """Returns the state: the offsets, counts and failed records that the last run of the consumer group has stored
        in its progress file. See ``Table``.
        """
        try:
            return TableState.from_text(self._progress().state)
        except ValueError as error:
            raise TableError(self._unreadable(error)) from None

    def commit(self, frame: DataFrame, state: TableState, replaced: Replaced, expected: TableState | None) -> NewCommit:
        """Appends the records of ``frame`` to the topics, and writes the state of the run to the progress file. See
        ``Table``.

        Each record is written exactly once, even if a run crashes and the next run reads the same records again.
        """
        assert not replaced, "runs refuse that: see replaceable"
        local.make_folder(self._file.parent)
        try:
            # waiting would not help: once the other run of the group has committed, this run's expected state is
            # outdated
            with local.locked(self._file.with_suffix(".lock"), wait=False):
                if not same_state(self.state(), expected):
                    raise TableError(self._other_run_committed())
                return self._write(frame, state)
        except local.LockTaken:
            raise TableError(self._other_run_committed()) from None

    def keep(self, state: TableState) -> None:
        """Writes ``state`` to the progress file again, unless the file already contains exactly this state."""
        if state == self.state():
            return
        try:
            with local.locked(self._file.with_suffix(".lock"), wait=False):
                progress = self._progress()
                if not same_state(TableState.from_text(progress.state), state):
                    raise TableError(self._other_run_committed())
                local.write_json(self._file, msgspec.to_builtins(_Progress(state.to_text(), progress.ends)))
        except local.LockTaken:
            raise TableError(self._other_run_committed()) from None

    def _write(self, frame: DataFrame, state: TableState) -> NewCommit:
        # two queries read the records: the list of topics, and the append
        records = self._with_source(frame).persist()
        try:
            written = set()
            for row in records.select("topic").distinct().collect():
                written.add(row["topic"])
            refuse_many_topics(written, self.spec.max_topics, self.spec.place)
            if self.beside_source():
                refuse_own_topics(written, state.window.topics)
            before = self._progress().ends
            taken_in = state.covered
            ends, appended = append_once(
                FilePlace(self.session, self.topics), records, sorted(written), self._trace(), before, taken_in, _ORDER
            )
        finally:
            records.unpersist()
        # topics to which this run has not written keep their offsets
        local.write_json(self._file, msgspec.to_builtins(_Progress(state.to_text(), {**before, **ends})))
        return NewCommit(appended.count, len(ends), 0)

    def beside_source(self) -> bool:
        """Returns True if the source is the folder of these topics, even if the two paths are spelled differently."""
        if not isinstance(self.source, FileTopics):
            return False
        return local.local_folder(self.source.root).resolve() == local.local_folder(self.topics.root).resolve()

    def _trace(self) -> Trace:
        place = last_header(SOURCE_HEADER)
        # The name of a topic may contain hyphens and digits, so only the last two numbers are partition and offset. For
        # orders-2026-0@17, the groups are orders-2026, 0 and 17.
        source = [F.regexp_extract(place, r"^(.*)-(\d+)@(\d+)$", group) for group in (1, 2, 3)]
        return Trace((GROUP_HEADER, SOURCE_HEADER), (GROUP_HEADER, self.spec.group), source)

    def _with_source(self, frame: DataFrame) -> DataFrame:
        """Prepares the records of ``frame`` for ``append_frame``. Each record gets headers that name its source record.
        Each record also gets columns for three values: its timestamp in milliseconds, its source partition and its
        target partition.
        """
        rows = with_source(frame, self.spec.group).withColumn("timestamp_ms", F.unix_millis("timestamp"))
        rows = rows.withColumn("source_partition", F.col("partition"))
        if TARGET in rows.columns:
            return rows.withColumn("partition", F.coalesce(TARGET, "partition"))
        return rows

    def append(self, frame: DataFrame) -> None:
        """Appends the records of ``frame``. Unlike ``commit``, the method does not store the offsets of a run. See
        ``Table``.
        """
        append_frame(self.topics, self._with_source(frame), _ORDER)

    def read(self) -> DataFrame:
        """Returns every record of every topic in the folder, as rows with Kafka's columns."""
        source = open_source(self.topics, self.session)
        ranges = []
        for r in source.ranges(source.topics()):
            if r.records:
                ranges.append(r)
        return source.read(Window(tuple(ranges)))

    def _other_run_committed(self) -> Problem:
        statement = "another run of this group has committed or is committing; nothing of this run was written"
        return Problem("SMT528", self.spec.place, statement, "run again: the next run reads the new records")
