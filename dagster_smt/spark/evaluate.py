"""Evaluates a plan on Spark. This module chooses a path for the records, reads keys and values, runs the stages and
builds the result.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from types import MappingProxyType
from typing import Literal

from pyspark.sql import DataFrame
from pyspark.sql.functions import col

from dagster_smt.chain.plan import Plan
from dagster_smt.errors import PlanError, Problem, UnsupportedError
from dagster_smt.interpret.interpreter import VALUE_CONVERTER
from dagster_smt.jvm.availability import has_lane
from dagster_smt.jvm.paths import NoJavaError
from dagster_smt.model.record import Side
from dagster_smt.model.topics.format import REGISTERED, SELF_DESCRIBED, Format, Formats, SideFormats
from dagster_smt.spark import sql as F
from dagster_smt.spark.by_schema import OneSchema, by_schema
from dagster_smt.spark.flat_columns import Leaf
from dagster_smt.spark.outcome_columns import (
    DESTINATION,
    GONE,
    IN_TIMESTAMP,
    LEFT_RECORD,
    PROBLEM_TYPE,
    TIMESTAMP,
    untouched,
)
from dagster_smt.spark.reading.arrays import ELEMENT, IN_ELEMENT, rows_of_arrays, with_element_named
from dagster_smt.spark.reading.avro_columns import AvroSide
from dagster_smt.spark.reading.jvm_columns import IN_RECORD
from dagster_smt.spark.reading.start import problem_struct, typed_evaluator
from dagster_smt.spark.reading.window_forms import GUESSED, IN_GUESSED, WindowForms, as_guessed
from dagster_smt.spark.records.arrow_map import ArrowMap, evaluate_records
from dagster_smt.spark.records.connect_records import connect_setup, evaluate_in_connect
from dagster_smt.spark.records.envelopes import evaluate_envelopes
from dagster_smt.spark.records.jvm_records import evaluate_in_lane, lane_program, run_left, with_left
from dagster_smt.spark.sql import Column, select
from dagster_smt.spark.stages.output import NO_COLUMNS, is_struct, with_output
from dagster_smt.spark.stages.output import output_schema as output_schema
from dagster_smt.spark.stages.typed import Beat, TypedEvaluator, no_beat
from dagster_smt.spark.ways import (
    COLUMNS_BY_SCHEMA,
    COLUMNS_IN_JVM,
    COLUMNS_IN_PYTHON,
    RECORDS_IN_JVM,
    RECORDS_IN_KAFKAS_CLASSES,
    RECORDS_IN_PYTHON,
    ROWS_AFTER_FOREIGN,
    ROWS_IN_PYTHON,
    ROWS_OF_ARRAYS,
    Way,
    way_of,
)

SinkKind = Literal["records", "columns"]


def no_note(way: Way) -> None:
    """Ignores ``way``, the path on which records are evaluated. Callers that do not need the path pass this
    function.
    """


def evaluate(
    frame: DataFrame,
    plan: Plan,
    table: SideFormats,
    sink_kind: SinkKind,
    written: Formats | None = None,
    forms: WindowForms | None = None,
    *,
    ledger: bool = True,
    beat: Beat = no_beat,
    whole: bool = True,
    note: Callable[[Way], None] = no_note,
) -> DataFrame:
    """Applies ``plan`` to the records of ``frame``, on the path that ``spark.ways`` selects. For example, the path may
    be Spark columns, Java, or Python.

    Args:
        frame: Kafka's columns (``key, value, topic, partition, offset, timestamp, timestampType, headers``).
        plan: The plan: the chain with the schema after each stage. If ``sink_kind`` is ``records``, only the chain and
            the ledger of the plan are used. If ``sink_kind`` is ``columns``, and the records name their schemas, the
            plan is for the schemas that ``window_forms`` reads from the records.
        table: The topic table of the records, or the formats of key and value.
        sink_kind: ``records`` for a sink with Kafka's columns; ``columns`` for a table with one column per field.
        written: The formats in which records are written. If None, the formats of ``table``.
        forms: If the records name their schemas: the combinations of topic, key schema and value schema for which
            ``plan`` was created. With ``forms``, Spark may be able to read the records without Python. If Spark does,
            and if the schemas were guessed, the result has the column ``window_forms.GUESSED``.
        ledger: True to fill the column ``__touched``, which shows the ledger entries (stage and field) that each record
            touched.
        beat: Is called now and then while the columns are built, which takes seconds for wide schemas. To stop the
            work, ``beat`` may raise an exception.
        whole: If True, the result also contains the records that the JVM lane (the Java evaluator) leaves to Python.
            The frame is then read twice. A caller that caches the rows passes False, and calls the function
            ``left_records`` later.
        note: Is called with the path on which the records are evaluated.

    Returns:
        The columns of ``spark.outcome_columns``, with one row per record, even if the record is dropped or has failed.
        If the elements of arrays become rows, the result has one row per element, and the column ``ELEMENT``.

    Raises:
        PlanError: The sink holds columns and the values have no schema, or the chain does not fit the schema.
    """
    work = _Work(frame, plan, table, sink_kind, written, forms, ledger, beat, whole)
    way = way_of(work)
    note(way)
    return _EVALUATORS[way](work)


@dataclass(frozen=True)
class _Work:
    """The arguments of one call of ``evaluate``. Its properties select the path (Java, Spark columns or Python) for the
    records.
    """

    frame: DataFrame
    plan: Plan
    table: SideFormats
    sink_kind: SinkKind
    written: Formats | None
    forms: WindowForms | None
    ledger: bool
    beat: Beat
    whole: bool

    @property
    def formats(self) -> Formats:
        return Formats(self.table.key, self.table.value)

    @property
    def records_out(self) -> bool:
        return self.sink_kind == "records"

    @property
    def arrays_as_rows(self) -> bool:
        return self.table.value.arrays_as_rows

    @property
    def has_foreign(self) -> bool:
        return self.plan.chain.has_foreign

    @property
    def names_schemas(self) -> bool:
        return self.table.value.kind in SELF_DESCRIBED

    @cached_property
    def job(self) -> ArrowMap:
        return _job(self.plan, self.table, self.written, self.ledger)

    @cached_property
    def program(self) -> str | None:
        """The chain as a JSON program for the JVM lane, which is the Java evaluator inside Spark. None if the lane
        cannot run the chain, or if the session has no lane.
        """
        return lane_program(self.frame.sparkSession, self.job)

    @property
    def lane_runs_chain(self) -> bool:
        return self.program is not None

    @cached_property
    def setup(self) -> str | None:
        """The setup (as text) with which Spark's JVM runs the Java classes of the chain. None if these classes must run
        in a separate Java process, the host.
        """
        return connect_setup(self.frame.sparkSession, self.job)

    @property
    def jvm_runs_kafkas_classes(self) -> bool:
        return self.setup is not None

    @cached_property
    def declared(self) -> DataFrame:
        """The result for records whose schemas are known before the run. The JVM lane, which is the Java evaluator
        inside Spark, reads as many of these records as it can.
        """
        lane = has_lane(self.frame.sparkSession)
        return _columns(self.frame, self.plan, self.formats, self.plan, {}, self.ledger, self.beat, lane=lane)

    @property
    def lane_parses(self) -> bool:
        # the column ``LEFT_RECORD`` exists exactly if the lane reads the records
        return _has_left(self.declared)

    @cached_property
    def parts(self) -> list[DataFrame]:
        """A list with one result frame for each schema that the records name. The list is empty if Spark cannot read
        all these schemas without Python.
        """
        if not self.forms:
            return []
        frame = self.frame
        schemas = by_schema(frame.sparkSession, self.plan, self.table, self.forms)
        if schemas and self.forms.guessed:
            frame = frame.withColumn(IN_GUESSED, as_guessed(self.table, self.forms))
        try:
            return [_of_schema(frame, schema, self.plan, self.table, self.ledger, self.beat) for schema in schemas]
        except (PlanError, UnsupportedError, NoJavaError):  # Python evaluates the records instead
            return []

    @property
    def spark_reads_schemas(self) -> bool:
        return bool(self.parts)


def _records_in_jvm(work: _Work) -> DataFrame:
    assert work.program is not None
    return _whole(evaluate_in_lane(work.frame, work.job, work.program), work)


def _records_in_kafkas_classes(work: _Work) -> DataFrame:
    assert work.setup is not None
    return _whole(evaluate_in_connect(work.frame, work.job, work.setup), work)


def _whole(lane: DataFrame, work: _Work) -> DataFrame:
    """Adds the records that Java has left to Python to ``lane``, if the result of ``work`` must contain them."""
    if work.whole:
        return with_left(lane, run_left(lane, work.job))
    return lane


def _records_in_python(work: _Work) -> DataFrame:
    return evaluate_records(work.frame, work.job)


def _rows_of_arrays(work: _Work) -> DataFrame:
    rows = rows_of_arrays(work.frame)
    return with_element_named(_columns(rows, work.plan, work.formats, work.plan, {}, work.ledger, work.beat))


def _columns_in_jvm(work: _Work) -> DataFrame:
    lane = work.declared
    if not work.whole:
        return lane
    # without ``lane``, Python reads the records that the lane has left
    return with_left(lane, _columns(_left(lane), work.plan, work.formats, work.plan, {}, work.ledger, work.beat))


def _columns_in_python(work: _Work) -> DataFrame:
    return work.declared


def _columns_by_schema(work: _Work) -> DataFrame:
    rows = reduce(DataFrame.union, work.parts)
    if work.whole and _has_left(rows):
        return with_left(rows, _left_envelopes(rows, work.plan, work.table, work.ledger))
    return rows


def _rows_after_foreign(work: _Work) -> DataFrame:
    if work.arrays_as_rows:
        hint = "leave arrays-as-rows out, or write records"
        statement = "a chain with foreign stages cannot make rows of the elements of arrays"
        raise UnsupportedError(Problem("SMT907", "chain", statement, hint))
    return _rows_in_python(work)


def _rows_in_python(work: _Work) -> DataFrame:
    target = output_schema(work.plan, "columns")
    return evaluate_envelopes(work.frame, work.plan, work.table, target, ledger=work.ledger)


_EVALUATORS: Mapping[Way, Callable[[_Work], DataFrame]] = {
    RECORDS_IN_JVM: _records_in_jvm,
    RECORDS_IN_KAFKAS_CLASSES: _records_in_kafkas_classes,
    RECORDS_IN_PYTHON: _records_in_python,
    ROWS_OF_ARRAYS: _rows_of_arrays,
    COLUMNS_IN_JVM: _columns_in_jvm,
    COLUMNS_IN_PYTHON: _columns_in_python,
    COLUMNS_BY_SCHEMA: _columns_by_schema,
    ROWS_IN_PYTHON: _rows_in_python,
    ROWS_AFTER_FOREIGN: _rows_after_foreign,
}


def _of_schema(
    frame: DataFrame, schema: OneSchema, plan: Plan, table: SideFormats, ledger: bool, beat: Beat
) -> DataFrame:
    texts = {}
    for side, (_, text) in schema.envelopes.items():
        texts[side] = text
    return _columns(
        schema.of(frame),
        schema.plan,
        schema.formats(table),
        plan,
        schema.sides,
        ledger,
        beat,
        lane=bool(texts),
        envelopes=texts,
    )


def _left_envelopes(rows: DataFrame, plan: Plan, table: SideFormats, ledger: bool) -> DataFrame:
    return evaluate_envelopes(_left(rows), plan, table, output_schema(plan, "columns"), ledger=ledger)


def _has_left(evaluated: DataFrame) -> bool:
    return LEFT_RECORD in evaluated.columns


def _job(plan: Plan, table: SideFormats, written: Formats | None, ledger: bool) -> ArrowMap:
    formats: dict[Side, Format] = {"key": table.key, "value": table.value}
    sides = []
    for side, form in formats.items():
        if form.kind in REGISTERED:
            sides.append(side)
    registered = tuple(sides)
    return ArrowMap(plan.chain, table.key, table.value, len(plan.entries), ledger, written, registered)


def left_records(evaluated: DataFrame, plan: Plan, table: SideFormats, written: Formats | None = None) -> DataFrame:
    """Evaluates, in Python, the records that the JVM lane (the Java evaluator inside Spark) could not evaluate. Returns
    the new rows of these records.

    In ``evaluated``, the same records have rows with the ``__status`` ``LEFT``, which the new rows replace.

    Args:
        evaluated: The result of ``evaluate`` with ``whole=False``. The result may have been persisted.
        plan, table, written: The arguments of ``evaluate``.
    """
    if _has_left(evaluated) and table.value.kind in SELF_DESCRIBED:
        return _left_envelopes(evaluated, plan, table, ledger=True)
    if _has_left(evaluated):
        return _columns(_left(evaluated), plan, Formats(table.key, table.value), plan, {}, True, no_beat)
    return run_left(evaluated, _job(plan, table, written, ledger=True))


def _columns(
    frame: DataFrame,
    plan: Plan,
    forms: Formats,
    rows: Plan,
    avro: Mapping[str, AvroSide],
    ledger: bool,
    beat: Beat,
    *,
    lane: bool = False,
    envelopes: Mapping[str, bytes] = MappingProxyType({}),
) -> DataFrame:
    """Runs the stages of ``plan`` with Spark columns, and returns the result with one column per field.

    Args:
        frame, plan, ledger, beat: The arguments of ``evaluate``. ``plan`` has a schema.
        forms: The formats of key and value.
        rows: The plan from which the table gets its columns. If records have several schemas, ``rows`` may have more
            columns than ``plan``, which is for one schema.
        avro: Maps ``key`` to the Avro reader of the keys, and ``value`` to the Avro reader of the values. A key or
            value that is not Avro has no entry. All keys (or all values) must have the same Avro schema.
        lane: True if the JVM lane (the Java evaluator) may read keys and values. The result may then have the column
            ``LEFT_RECORD``.
        envelopes: Maps ``key`` or ``value`` to the text of the schema, if its format is envelopes.
    """
    target, after = output_schema(rows, "columns"), rows.rows
    assert after is not None
    keeps_key = plan.chain.keeps_key
    if keeps_key:
        # a stage may change the record's timestamp, and the table needs the original one
        frame = frame.withColumn(IN_TIMESTAMP, col("timestamp"))
    evaluator = typed_evaluator(
        frame, plan, forms.key, forms.value, avro=avro, ledger=ledger, beat=beat, lane=lane, envelopes=envelopes
    )
    evaluator.run()
    words = [F.col(n) for n in evaluator.touched]
    # in a table with keys, a null value deletes the row of its key; in other tables with columns, it cannot be a row
    if is_struct(after) and not keeps_key:
        done = _without_tombstones(evaluator)
    else:
        done = evaluator.frame
    extra = {IN_ELEMENT: ELEMENT, IN_GUESSED: GUESSED, IN_RECORD: LEFT_RECORD, IN_TIMESTAMP: TIMESTAMP}
    shown = [
        *(F.col(name).alias(shown) for name, shown in extra.items() if name in evaluator.columns),
        *map(F.col, ("__topic", "__partition", "__offset")),
        F.col("__status").cast("tinyint").alias("__status"),
        F.col("__stage"),
        # a problem of the reader comes before all problems of stages
        F.coalesce(F.col("in_problem"), _problem(evaluator)).alias("__problem"),
        (F.array(*words) if words else untouched()).alias("__touched"),
    ]
    if keeps_key:
        shown.append(_gone(evaluator).alias(GONE))
    if plan.chain.keeps_topic:
        shown.append(_topic(evaluator).alias(DESTINATION))
    return with_output(done, shown, rows, target, evaluator.states)


def _left(evaluated: DataFrame) -> DataFrame:
    """Returns the records of ``evaluated`` that the JVM lane (the Java evaluator inside Spark) could not evaluate. The
    records are unchanged, as the source read them.
    """
    # The filter must not use the status. Spark would move such a filter below all stages, where the expression of each
    # status contains the previous status twice.
    return evaluated.where(f"{LEFT_RECORD} IS NOT NULL").select(f"{LEFT_RECORD}.*")


def _gone(evaluator: TypedEvaluator) -> Column:
    """Returns a column of ``evaluator`` that is true if the output value of a record is null."""
    gone: Column = F.lit(False)
    for variant, state in evaluator.states.items():
        side = state.sides.get("value")
        if side is None:
            absent: Column = F.lit(True)
        elif isinstance(side, Leaf):
            absent = F.col(side.column).isNull()
        else:
            absent = F.col(side.present).isNull() if side.present else F.lit(False)
        gone = gone | (absent & (F.col("__variant") == variant) if evaluator.variants else absent)
    return gone


def _topic(evaluator: TypedEvaluator) -> Column:
    """Returns the column of ``evaluator`` with the output topic of a record."""
    topic: Column | None = None
    for variant, state in sorted(evaluator.states.items(), reverse=True):
        of_variant = F.col(state.columns["topic"])
        if topic is None:
            topic = of_variant
        else:
            topic = F.when(F.col("__variant") == variant, of_variant).otherwise(topic)
    return F.col("__topic") if topic is None else topic


def _without_tombstones(evaluator: TypedEvaluator) -> DataFrame:
    gone = _gone(evaluator)
    number = evaluator.why(NO_COLUMNS)
    # a record that was dropped or has failed may also have no value, and keeps its first outcome
    failed = (F.col("__status") == 0) & gone
    changed = {
        "__why": F.when(failed, F.lit(number)).otherwise(F.col("__why")),
        "__stage": F.when(failed, F.lit(VALUE_CONVERTER)).otherwise(F.col("__stage")),
        "__status": F.when(failed, F.lit(2)).otherwise(F.col("__status")),
    }
    columns = []
    for c in evaluator.columns:
        columns.append(changed[c].alias(c) if c in changed else F.col(c))
    return select(evaluator.frame, *columns)


def _problem(evaluator: TypedEvaluator) -> Column:
    column = F.lit(None).cast(PROBLEM_TYPE)
    for number, problem in enumerate(evaluator.problems):
        what = evaluator.classes.get(number)
        # the statement of an unforeseen exception ends with its class (SMT430), which differs between records
        about = F.coalesce(*map(F.col, what)) if what else None
        column = F.when(F.col("__why") == number, problem_struct(problem, about)).otherwise(column)
    return column
