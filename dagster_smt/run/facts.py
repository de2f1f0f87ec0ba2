"""Collects facts about a table after a run. The facts are read from the table and its topics, and never derived from
the run itself.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dagster_smt.chain import Plan
from dagster_smt.errors import Problem, SmtError
from dagster_smt.model.paths.extended import below
from dagster_smt.model.reports.run_report import HeldBack, RunReport
from dagster_smt.model.reports.table_facts import FileSizes, TableFacts
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.model.windows.window import Window, not_empty
from dagster_smt.run.commits import unsettled
from dagster_smt.run.contract import contract_problems
from dagster_smt.run.held_back import held_back
from dagster_smt.run.report_json import report_of
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.run.spark_failures import after_commit, coded_failures
from dagster_smt.run.unread import needed
from dagster_smt.spark.sql import quoted
from dagster_smt.spark.types import spark_type
from dagster_smt.tables.keyed.keys import key_names
from dagster_smt.tables.maintenance.formats import maintained
from dagster_smt.tables.schemas import WIDER
from dagster_smt.tables.sink_options import TableSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.protocol import Table
from dagster_smt.tables.sources import Source, open_source
from dagster_smt.tables.window_request import WindowRequest
from dagster_smt.tables.windows import choose_topics

T = TypeVar("T")


SAMPLE = 200
"""The number of records that are searched for original values of masked fields."""
NAMES = 10_000
"""The number of records that are read again to find field names, if the privacy policy removed fields without knowing
their names.
"""


def table_facts(
    spec: RunSpec,
    plan: Plan,
    session: SparkSession,
    window: Window,
    *,
    search: bool = False,
    contract: Schema | None = None,
    count_keys: bool = False,
    small_below: int | None = None,
) -> TableFacts:
    """Reads facts about a table after a run. For example, the facts contain the table's state, and the number of
    offsets in the topics that the table has not read. If the run had a window, the rows of the table are also counted,
    and its columns are compared with the plan.

    Args:
        spec: The request of the run.
        plan: The plan of its chain.
        session: The Spark session.
        window: The window of the run; empty if no record was new.
        search: True to search a sample of the window for original values of masked fields.
        contract: The columns that the table must have; None if there is no contract.
        count_keys: True to count the keys that have several rows.
        small_below: If set, the files of the table are counted, and also the files with fewer bytes than this number.

    The run has already been committed, so an error here does not make the run fail: ``unseen`` lists the facts that
    could not be read, with the problem.
    """
    return _Looking(spec, plan, session, window, search, contract, count_keys, small_below).facts()


@dataclass
class _Looking:
    """A series of queries about a table: see ``table_facts``. A query that fails does not affect the others."""

    spec: RunSpec
    plan: Plan
    session: SparkSession
    window: Window
    search: bool
    contract: Schema | None
    count_keys: bool = False
    small_below: int | None = None
    unseen: dict[str, Problem] = field(default_factory=dict)

    def look(self, what: str, look: Callable[[], T], instead: T) -> T:
        """Calls the function ``look`` and returns its result. If the call fails, notes the problem under the name
        ``what``, and returns ``instead``.
        """
        try:
            with coded_failures(self.spec.sink.place):
                return look()
        except SmtError as error:
            self.unseen[what] = error.problems[0]
        except Exception as error:  # noqa: BLE001 - whatever it is, the run is committed
            self.unseen[what] = after_commit(self.spec.sink.place, error)
        return instead

    @cached_property
    def table(self) -> Table:
        return open_table(self.session, self.spec.sink, self.spec.table.source)

    @cached_property
    def source(self) -> Source:
        return open_source(self.spec.table.source, self.session)

    def facts(self) -> TableFacts:
        spec, window, none = self.spec, self.window, tuple[str, ...]()
        # each fact is read separately, so if one fails, the problem is noted and the other facts are still known
        state = self.look("state", lambda: self.table.state(), None)
        facts = self.look("state", lambda: of_state(state), TableFacts())
        lag = self.lag(state)
        reads_rows = isinstance(spec.sink, TableSink) and not spec.sink.per_topic
        reads_rows = reads_rows and bool(window.ranges or self.contract is not None)
        if reads_rows:
            schema = self.look("columns", lambda: self.table.schema(), None)
        else:
            schema = None
        counted = self.look("rows", lambda: self.counted(schema), None)
        foreign = self.look("rows", lambda: self.foreign(state, counted), none)
        problems = self.look("columns", lambda: self.differences(schema), dict[str, str]())
        broken = self.look("contract", lambda: self.broken(schema, state), dict[str, str]())
        repeated_keys = self.look("keys", lambda: self.repeated_keys(schema, state), None)
        nowhere = dict[tuple[str, str], int]()
        sampled, residue = self.look("sample", self.residue, (0, nowhere))
        files = self.look("files", self.files, None)
        held = self.look("held_back", lambda: self.held_back(facts.last), list[HeldBack]())
        return replace(
            facts,
            lag=lag,
            counted=counted,
            foreign=foreign,
            schema_problems=problems,
            broken=broken,
            sampled=sampled,
            residue=residue,
            mode=spec.sink.keyed.mode if spec.sink.keyed is not None else "append",
            repeated_keys=repeated_keys,
            files=files,
            held_back=tuple(held),
            unseen=self.unseen,
        )

    def lag(self, state: TableState | None) -> dict[str, int]:
        """Returns a dict from topic to the number of offsets that the table with the state ``state`` has not read.
        Offsets after the beginning of an open transaction are included.
        """
        spec, none = self.spec, tuple[str, ...]()
        topics = self.look("topics", lambda: choose_topics(spec.table, WindowRequest(), self.source.topics()), none)
        lag = dict.fromkeys(topics, 0)
        try:
            return lag | self.lag_of(topics, state)
        except Exception:  # noqa: BLE001 - a broken topic does not hide the others
            for topic in topics:
                lag |= self.look("topics", partial(self.lag_of, [topic], state), dict[str, int]())
        return lag

    def lag_of(self, topics: Sequence[str], state: TableState | None) -> dict[str, int]:
        measured = self.source.measure(topics)
        missing = offsets_of(measured.ranges)
        missing = missing - state.covered if state is not None else missing
        if self.source.lacks_offsets and missing:
            missing = self.source.present(missing)
        lag = dict.fromkeys(topics, 0)
        for r in missing.ranges():
            lag[r.topic] += r.records
        for waiting in measured.waiting:
            lag[waiting.topic] += waiting.offsets
        return lag

    def counted(self, schema: StructType | None) -> int | None:
        """Returns the number of rows that the table contains after the run. Returns None if the run has read nothing,
        or if ``schema`` is None, for example because there is no table.
        """
        if schema is not None and self.window.ranges:
            return self.table.read().count()
        return None

    def foreign(self, state: TableState | None, counted: int | None) -> tuple[str, ...]:
        """Returns the commits of other programs that may explain a wrong number of rows.

        The number is wrong if ``counted``, the number of rows in the table, differs from the number in ``state``. If
        the number is right or not known, returns an empty tuple.
        """
        if state is None or counted in (None, sum(state.rows.values())):
            return ()
        return tuple(unsettled(self.table, state))

    def differences(self, schema: StructType | None) -> dict[str, str]:
        """Maps each planned column that differs in ``schema``, the columns of the table, to a description of the
        difference.
        """
        if schema is None or not self.window.ranges or self.spec.sink.kind != "columns":
            return {}
        columns = {}
        for f in schema.fields:
            columns[f.name] = f.dataType.simpleString()
        planned = _planned(self.planned)
        if self.spec.sink.keyed is not None:
            # the flag determines what happens to the row, and is not a column of the table
            planned.pop(self.spec.sink.keyed.delete_flag, None)
        return _differences(planned, columns)

    def files(self) -> FileSizes | None:
        """Returns the sizes of the table's files. Returns None if they were not requested, or if there is no table."""
        if isinstance(self.spec.sink, TableSink) and self.spec.sink.per_topic:
            return None
        if self.small_below is None or self.table.schema() is None:
            return None
        target = maintained(self.session, self.table)
        return target.sizes(self.small_below) if target is not None else None

    def broken(self, schema: StructType | None, state: TableState | None) -> dict[str, str]:
        """Maps each path at which ``schema``, the columns of the table, breaks the contract to a description of the
        problem.
        """
        if schema is None or self.contract is None:
            return {}
        spec, planned = self.spec, self.planned
        if state is not None and spec.finds_schemas and self.window.ranges:
            planned = report_of(state).after
        names = spec.sink.coordinates.names if spec.sink.coordinates else ()
        if spec.sink.keyed is not None:
            names = (*names, *spec.sink.keyed.added_columns, *self.key_names(state))
        return contract_problems(self.contract, schema, planned, names)

    def key_names(self, state: TableState | None) -> tuple[str, ...]:
        """Returns the names of the key columns. The table must have keys."""
        keyed = self.spec.sink.keyed
        assert keyed is not None
        if self.spec.finds_schemas and state is not None:
            return key_names(keyed, report_of(state).key_after)
        return key_names(keyed, self.plan.key_after)

    def repeated_keys(self, schema: StructType | None, state: TableState | None) -> int | None:
        """Returns the number of keys that have several rows, or several current versions, in the table with the columns
        ``schema``. Returns None if the table has no keys, or if the keys were not counted.
        """
        keyed = self.spec.sink.keyed
        if keyed is None or schema is None or not self.window.ranges or not self.count_keys:
            return None
        rows = self.table.read()
        if keyed.mode == "scd2":
            rows = rows.where(F.col(quoted(keyed.validity.current)))
        names = []
        for name in self.key_names(state):
            names.append(F.col(quoted(name)))
        return rows.groupBy(*names).count().where(F.col("count") > 1).count()

    @property
    def planned(self) -> Schema | None:
        if self.plan.typed:
            return self.plan.after
        return None

    def held_back(self, last: RunReport | None) -> list[HeldBack]:
        """Returns the fields that the privacy policy removed because it has no decision about them. ``last`` is the
        report of the last run.
        """
        sample = sample_of(self.window, NAMES)
        return held_back(self.spec.chain, self.plan, last, self.window, sample, self.source)

    def residue(self) -> tuple[int, dict[tuple[str, str], int]]:
        """Searches a sample of records for original values of masked fields.

        Returns:
            The number of searched records, and a dict such as ``{("value.email", "value.note"): 3}``. This dict means:
            in 3 records, the field ``note`` still contains the value of the masked field ``email``.
        """
        spec = self.spec
        if self.search:
            sample = sample_of(needed(spec, self.window, self.source).window)
        else:
            sample = Window()
        return sample.records, _residue(spec, self.source.read(sample)) if sample.ranges else {}


def of_state(state: TableState | None) -> TableFacts:
    """Returns the facts that ``state``, the state of a table, contains."""
    if state is None:
        return TableFacts()
    return TableFacts(
        rows=sum(state.rows.values()),
        by_topic=dict(state.rows),
        ends=state.ends(),
        gaps=state.gaps.to_json(),
        holes=state.holes.to_json(),
        last=report_of(state),
        unmasked=state.unmasked,
        accepted=state.accepted,
        tables={topic: sum(rows.values()) for topic, rows in state.tables.items()},
        waiting=state.waiting.records,
    )


def sample_of(window: Window, records: int = SAMPLE) -> Window:
    """Returns a window with the last ``records`` offsets of ``window``, distributed evenly over all
    topic-partitions.
    """
    ranges = not_empty(window.ranges)[:records]
    each = max(1, records // max(1, len(ranges)))
    ends = []
    for r in ranges:
        ends.append(replace(r, start=max(r.start, r.end - each)))
    return Window(tuple(ends))


def _residue(spec: RunSpec, frame: DataFrame) -> dict[tuple[str, str], int]:
    from dagster_smt.spark.residue import residue_of

    records_by_pair = residue_of(frame, spec.chain, spec.table.key, spec.table.value)
    if spec.sink.kind == "columns":  # the rows of such a table contain only the records' values
        records_by_pair = {
            pair: records for pair, records in records_by_pair.items() if re.split(r"[.\[]", pair[1])[0] == "value"
        }
    return records_by_pair


def _planned(after: Schema | None) -> dict[str, str]:
    """Maps each column of ``after``, the output schema of a plan, to its Spark type. If the columns depend on the
    records, the result is empty.
    """
    if after is None or after.type is not Type.STRUCT:
        return {}
    types = {}
    for name, schema in after.fields:
        types[name] = spark_type(schema, below("", name)).simpleString()
    return types


def _differences(planned: Mapping[str, str], columns: Mapping[str, str]) -> dict[str, str]:
    differences = {}
    for name, kind in planned.items():
        have = columns.get(name)
        if have is None:
            differences[name] = f"planned as {kind}, but the table has no such column"
        # structs are not compared, because a table may have more fields than the plan
        elif have != kind and "struct<" not in kind and have not in WIDER.get(kind, ()):
            differences[name] = f"planned as {kind}, but the table has {have}"
    return differences
