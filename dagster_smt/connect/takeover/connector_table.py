"""The table of a takeover: runs of this package continue the table that a connector has written. This module reads the
versions and rows of the table, and writes the note about the takeover into the table's state.
"""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dagster_smt.connect.takeover.parquet_files import CountRows, ParquetFolder, check_files, rows_by_file
from dagster_smt.connect.takeover.takeover_parts import CommittedOffsets, TableHead, TakeOverPlan
from dagster_smt.errors import Problem, TableError, UnsupportedError
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.topics.taken_over import TakenOver
from dagster_smt.model.windows.offsets import OffsetSet, TopicPartition, offsets_of
from dagster_smt.model.windows.window import Range, ends_of, not_empty
from dagster_smt.spark.sql import quoted
from dagster_smt.tables.available import TopicEnds
from dagster_smt.tables.sink_options import IcebergSink, TableSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.iceberg import IcebergTable
from dagster_smt.tables.sinks.protocol import Replaced, Table
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.windows import choose_topics
from dagster_smt.visible import without_partitions

_OFFSETS = "kafka.connect.offsets."
_VALID_THROUGH = ("kafka.connect.valid-through-ts", "kafka.connect.vtts")
_LONGEST_WAY = 1_000
"""To find the newest snapshot that the connector wrote, at most this many snapshots are read, from the newest one
backwards.
"""


class TakeOverTable:
    """A connector's table that runs of this package take over, opened with a Spark session.

    Raises:
        UnsupportedError: SMT784, SMT797 or SMT799, the table does not support a takeover.
    """

    def __init__(self, session: SparkSession, plan: TakeOverPlan):
        self.session, self.plan, self.spec = session, plan, plan.spec
        sink = self.spec.sink
        if not isinstance(sink, TableSink) or sink.per_topic or sink.kind != "columns":
            hint = "take over a table of columns to which the connector only adds rows; write any other table again"
            statement = "only one table of columns can be taken over"
            raise UnsupportedError(Problem("SMT784", sink.place, statement, hint))
        if sink.keyed is not None:
            statement = (
                f"a table with keys (mode: {sink.mode}) cannot be taken over: no row names the event that it comes from"
            )
            hint = "let the asset write a table of its own from the beginning of the topic"
            raise UnsupportedError(Problem("SMT799", sink.place, statement, hint))
        # only an Iceberg sink has a control topic
        if bool(plan.control) != isinstance(sink, IcebergSink):
            hint = "import the connector again, or give the component the sink of the connector"
            statement = "the component writes another kind of table than the connector"
            raise UnsupportedError(Problem("SMT784", sink.place, statement, hint))
        self.sink = sink
        self.table: Table = open_table(session, sink, self.spec.table.source)
        self.files: ParquetFolder | None = None
        if plan.naming is not None:
            if not sink.path:
                hint = "set sink.delta.path to the folder with the files of the topic"
                raise UnsupportedError(Problem("SMT797", sink.place, "the table has a name, and no folder", hint))
            self.files = ParquetFolder(session, str(sink.path), plan.naming)

    def state(self) -> TableState | None:
        """Returns the state of the table: the part of its last commit that describes its offsets, failed records and
        runs. Returns None if no run of this package has written the table.
        """
        return self.table.state()

    def columns(self) -> StructType | None:
        """Returns the columns of the table. If there is no table yet, but there are Parquet files that will become the
        table, returns the columns of the files. Returns None if there is neither a table nor a file.
        """
        schema = self.table.schema()
        if schema is None and self.files is not None:
            schema = self.files.schema()
        return schema

    # --- files ---

    def prove_files(self, offsets: CommittedOffsets, count: CountRows) -> str:
        """Proves that the Parquet files contain exactly the records before ``offsets``. Returns the proof as text. For
        a table without such files, the text is empty.

        Raises:
            TableError: SMT797, the files contain different records; SMT798, files were added after the conversion.
        """
        if self.files is None:
            return ""
        paths = self.files.paths()
        if self.table.schema() is not None:
            converted = rows_by_file(self.table.read())
            if later := sorted(paths.keys() - converted.keys()):
                statement = f"the folder has files that the Delta table lacks: {len(later)}"
                hint = (
                    "after a killed attempt, the connector continued: remove _delta_log from the folder and run again"
                )
                if self.state() is not None:
                    hint = "the connector wrote them after the takeover: their records may be in the table already"
                raise TableError(Problem("SMT798", without_partitions(later[0]), statement, hint))
            paths = converted
        files = self.files.files(paths, self.spec.table.topics)
        measured, _ = self.measured()
        begins = {(r.topic, r.partition): r.start for r in measured.ranges}
        return check_files(files, offsets.offsets, begins, count)

    def convert_files(self) -> None:
        """Converts the Parquet files into a Delta table. Does nothing if they have been converted, or if the connector
        writes no files.
        """
        if self.files is not None and self.table.schema() is None:
            self.files.convert()

    def files_before(self, offsets: CommittedOffsets) -> DataFrame:
        """Returns the rows of the files that begin before ``offsets``. The connector may still be writing later
        files.
        """
        assert self.files is not None
        paths = []
        for file in self.files.files(self.files.paths(), self.spec.table.topics):
            if file.name.start < offsets.offsets.get((file.name.topic, file.name.partition), 0):
                paths.append(file.path)
        return self.files.rows_of(paths)

    # --- versions ---

    def head(self) -> TableHead:
        """Returns the current version of the table. For an Iceberg sink, the version includes the newest offsets of the
        control topic.
        """
        if not isinstance(self.table, IcebergTable):
            return self._delta_head()
        self.table._properties()
        rows = self.session.sql(f"SELECT snapshot_id, parent_id, summary FROM {self.table.name}.snapshots").collect()
        refs = self.session.sql(f"SELECT snapshot_id FROM {self.table.name}.refs WHERE name = 'main'").collect()
        if not refs:
            return TableHead()
        known = {row.snapshot_id: row for row in rows}
        head = known[refs[0].snapshot_id]
        prefix = f"{_OFFSETS}{self.plan.control}.{self.plan.group}"
        at, control, valid = head, dict[int, int](), ""
        # snapshots of other writers, such as a compaction, have no offsets of the control topic: search their ancestors
        for _ in range(_LONGEST_WAY):
            if prefix in at.summary:
                control = {}
                for p, o in json.loads(at.summary[prefix]).items():
                    control[int(p)] = int(o)
                valid = ""
                for name in _VALID_THROUGH:
                    if name in at.summary:
                        valid = at.summary[name]
                        break
                break
            # the first snapshot, or one whose parent has expired
            if at.parent_id not in known:
                break
            at = known[at.parent_id]
        return TableHead(str(head.snapshot_id), control, valid)

    def _delta_head(self) -> TableHead:
        if self.table.schema() is None:
            return TableHead()
        rows = self.session.sql(f"DESCRIBE HISTORY {self.table.name} LIMIT 1").collect()  # type: ignore[attr-defined]
        if not rows:
            return TableHead()
        return TableHead(str(rows[0].version))

    def rows(self) -> int:
        """Returns the number of rows in the table."""
        return self.table.read().count()

    # --- offsets ---

    def measured(self) -> tuple[TopicEnds, dict[str, str]]:
        """Returns two items: the offsets that each topic-partition contains now, and the id of each topic. A topic that
        was deleted and created again has a different id.
        """
        source = open_source(self.spec.table.source, self.session)
        topics = choose_topics(self.spec.table, self.spec.window, source.topics())
        return source.measure(topics), source.identities(topics)

    def covered(self, committed: CommittedOffsets, measured: TopicEnds) -> OffsetSet:
        """Returns the offsets whose records the connector has written. For each topic-partition, these are all offsets
        from 0 to the offset that the connector's consumer group has committed.

        Raises:
            TableError: SMT789, the group has committed no offset of the topics, or an offset after the end of a
                partition.
        """
        ends = ends_of(measured.ranges)
        for waiting in measured.waiting:  # the connector may read records of transactions that are still open
            ends[waiting.topic, waiting.partition] += waiting.offsets
        ranges, problems = [], []
        for place, offset in sorted(committed.offsets.items()):
            if place not in ends:
                continue  # the connector read this topic under a different configuration
            if offset > ends[place]:
                statement = f"the group has committed offset {offset}, and the partition ends at {ends[place]}"
                hint = "the topic was created again since the connector read it: let the connector read it first"
                problems.append(Problem("SMT789", f"{place[0]}-{place[1]}", statement, hint))
            # from 0, even if the topic has lost its first records: the connector wrote them while they existed
            ranges.append(Range(*place, 0, offset))
        if not ranges:
            statement = f"the group {committed.group} has committed no offset of the topics"
            hint = "start the connector and let it commit once, or let the asset write a table of its own"
            problems.append(Problem("SMT789", self.sink.place, statement, hint))
        if problems:
            raise TableError(problems)
        return offsets_of(not_empty(ranges))

    # --- the note ---

    def take(self, covered: OffsetSet, measured: TopicEnds, identities: Mapping[str, str], rows: int) -> TableState:
        """Commits a takeover to the table. The new state contains the offsets ``covered``: the table already has their
        records, and runs continue after them. Also adds columns for the topic, partition and offset of each row's
        record. Returns the new state.
        """
        before = self.state()
        first = before or TableState(0, "", self.sink.holds)
        # Rows of runs after an earlier takeover have a topic and are counted under it. All other rows are the
        # connector's.
        own = 0
        for topic, count in first.rows.items():
            if topic:
                own += count
        # If a table was taken over, given back and taken over again, the connector has written two ranges, such as 0 to
        # 4 and 6 to 7.
        of_connector = covered - first.held
        if first.taken_over is not None:
            of_connector |= first.taken_over.offsets
        begins: dict[TopicPartition, int] = {}
        for r in measured.ranges:
            place = (r.topic, r.partition)
            begins[place] = first.begins.get(place, 0 if covered.of(*place) else r.start)
        number = self.table.next_number(before)
        state = replace(
            first,
            number=number,
            attempt=secrets.token_hex(8),
            held=first.held | covered,
            begins=begins,
            identities={**first.identities, **identities},
            epochs={**first.epochs, **measured.epochs},
            rows={**first.rows, "": rows - own},
            taken_over=TakenOver(self.plan.name, of_connector, _now(), number=number),
        )
        self._commit(state, before)
        return state

    def give_back(self, state: TableState) -> TableState:
        """Commits a note to the table: the table has been given back to the connector. ``state`` is the state of the
        table before this commit. Returns the state after it.

        Runs that began before this commit can no longer commit, and later runs fail.
        """
        assert state.taken_over is not None
        number, attempt = self.table.next_number(state), secrets.token_hex(8)
        note = replace(state.taken_over, back=True, millis=_now(), number=number)
        back = replace(state, number=number, attempt=attempt, taken_over=note)
        self._commit(back, state)
        return back

    def _commit(self, state: TableState, expected: TableState | None) -> None:
        # no rows, but with the missing source columns: a commit adds the columns of its frame to the table
        nothing = self.table.read().limit(0)
        names = {name.lower() for name in nothing.columns}
        if self.sink.source_columns is not None:
            kinds: Mapping[str, str] = dict(
                zip(self.sink.source_columns.names, ("string", "int", "bigint"), strict=True)
            )
            missing: list[Any] = []
            for name, kind in kinds.items():
                if name.lower() not in names:
                    missing.append(F.lit(None).cast(kind).alias(name))
            nothing = nothing.select(*(F.col(quoted(name)) for name in nothing.columns), *missing)
        self.table.commit(nothing, state, Replaced(), expected)


def _now() -> int:
    return round(time.time() * 1000)
