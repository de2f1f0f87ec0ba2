"""Reads keys and values according to their formats, and returns an evaluator, which then runs the stages of a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from types import MappingProxyType

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from dagster_smt.chain.plan import Plan
from dagster_smt.errors import DATA_EXCEPTION, PlanError, Problem
from dagster_smt.formats.avro.read import unreadable
from dagster_smt.interpret.interpreter import KEY_CONVERTER, NO_STAGE, VALUE_CONVERTER
from dagster_smt.jvm.paths import NoJavaError
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.change_formats import is_change
from dagster_smt.model.topics.format import READ_WHOLE, Format
from dagster_smt.spark import sql as F
from dagster_smt.spark.column_values import check_defaults
from dagster_smt.spark.flat_columns import Layout, Leaf, Struct
from dagster_smt.spark.outcome_columns import (
    LEADER_EPOCH,
    LEFT,
    NO_ROW,
    PROBLEM_FIELDS,
    PROBLEM_TYPE,
    UNREADABLE,
    UNREADABLE_TIMESTAMP,
    timestamp_type_name,
)
from dagster_smt.spark.plain import from_plain, plain_type
from dagster_smt.spark.reading.arrays import EMPTY, IN_ELEMENT
from dagster_smt.spark.reading.avro_columns import AvroSide
from dagster_smt.spark.reading.early_masks import Masks, below, early_masks
from dagster_smt.spark.reading.json_columns import ReadColumns, SideColumns
from dagster_smt.spark.reading.jvm_columns import IN_RECORD, RECORD, is_left, lane_programs, read_in_lane
from dagster_smt.spark.reading.narrow import narrowed, needs_key
from dagster_smt.spark.sql import Column, select
from dagster_smt.spark.stages.early_calls import EarlyCalls, runs_python
from dagster_smt.spark.stages.typed import Beat, State, TypedEvaluator, no_beat
from dagster_smt.spark.types import internal_type, spark_type
from dagster_smt.spark.workers import map_in_arrow

_COORDINATES = ("topic", "partition", "offset")
_CODES = {"key": KEY_CONVERTER, "value": VALUE_CONVERTER}


def typed_evaluator(
    frame: DataFrame,
    plan: Plan,
    key: Format,
    value: Format,
    *,
    avro: Mapping[str, AvroSide] = MappingProxyType({}),
    ledger: bool = True,
    headers: bool = False,
    beat: Beat = no_beat,
    lane: bool = False,
    envelopes: Mapping[str, bytes] = MappingProxyType({}),
) -> TypedEvaluator:
    """Reads the keys and values of a frame, and returns an evaluator that can run the stages of the plan on them.

    Args:
        frame: Kafka's columns. Columns named ``in_*`` stay in the frame until the end.
        plan: The plan of the chain for the schemas of key and value.
        key, value: The formats. A key whose format has no schema is not read.
        avro: Maps ``key`` to the Avro reader of the keys, and ``value`` to the Avro reader of the values. A key or
            value that is not Avro has no entry. All keys (or all values) must have the same Avro schema.
        ledger: True to record, in a bitmap, which ledger entries (stage and field) each record touches.
        headers: True to keep the headers even if no stage needs them.
        beat: Is called now and then. To stop the work, ``beat`` may raise an exception.
        lane: True if the JVM lane (the Java reader inside Spark) may read keys and values. Rows that the lane leaves to
            Python have the status ``LEFT``, and contain the original record in the column ``IN_RECORD``.
        envelopes: Maps ``key`` or ``value`` to the text of the schema, if its format is envelopes. Only the lane can
            read envelopes.

    Raises:
        PlanError: SMT209 if the value's format has no schema; SMT207 if Spark has no type for a part of a schema.
        NoJavaError: There are envelopes, and the lane cannot read them.
    """
    if value.known_schema is None and "value" not in avro:
        hint = "declare a schema for the value, or write records"
        raise PlanError(Problem("SMT209", "", "a table of columns needs values with a schema", hint))
    # Spark itself decodes Avro, so no reader of this package could apply masks; they stay stages of the plan.
    rest, masks = (plan, {}) if avro else early_masks(plan)
    start = _Start(frame, plan, headers, masks, lane, envelopes)
    for side, form in {"value": value, "key": key}.items():
        if side in avro:
            start.read_avro(side, form, avro[side])
        elif side == "value" or (plan.key is not None and form.known_schema is not None):
            start.read(side, form)
    state, early = start.state(), EarlyCalls(start.fields, in_lane=lane)
    # This run only builds expressions (its frame is None). It tells ``early`` which Python rules the reader must apply,
    # because the reader is built before the stages run.
    if any(map(runs_python, rest.steps)):
        TypedEvaluator(rest, None, [], state, ledger=ledger, early=early).run()
    early.settled = True
    start.finish(early)
    evaluator = TypedEvaluator(rest, start.frame, start.columns, state, ledger=ledger, beat=beat, early=early)
    evaluator.problems.extend(start.problems)
    return evaluator


def problem_struct(problem: Problem, about: Column | None = None) -> Column:
    """Returns ``problem`` as a struct column of literals, with the fields of the column ``__problem``. If ``about`` is
    a column, its value is appended to the problem's statement.
    """
    fields = {}
    for name in PROBLEM_FIELDS:
        fields[name] = F.lit(getattr(problem, name))
    if about is not None:
        fields["statement"] = F.concat(fields["statement"], about)
    return F.struct(*F.alias_all(fields))


@dataclass(frozen=True)
class _Declared:
    """A key or value whose schema is known before the run.

    Attributes:
        columns: The names and schemas of the columns into which the key or value is read.
        computed: Maps the names of further columns to their expressions. A field whose values are converted after
            reading, such as a date, has such a column. A field that nothing needs is not read, and has a column of
            nulls.
    """

    columns: SideColumns
    computed: dict[str, Column]


class _Start:
    """A reader that adds the columns of keys and values to a frame. Callers read the value first and the key second.

    Attributes:
        problems: The possible problem of each key or value. ``finish`` adds the problem of unreadable timestamps.
        known: Maps ``key`` or ``value`` to its problem, if only one problem is possible. The column ``bad_key`` or
            ``bad_value`` is then a boolean. Otherwise this column contains the problem, or null.
        messages: Contains ``key`` or ``value`` if its format allows messages without a row, as ``debezium-json`` does.

    In the result, the column ``in_problem`` contains the problem of a record, or null. If both key and value are
    unreadable, this is the problem of the key, as in Connect.
    """

    def __init__(
        self, frame: DataFrame, plan: Plan, headers: bool, masks: Masks, lane: bool, envelopes: Mapping[str, bytes]
    ):
        self.plan, self.masks, self.lane, self.envelopes = plan, masks, lane, envelopes
        self.problems: list[Problem] = []
        self.known: dict[str, Problem] = {}
        self.messages: set[str] = set()
        self.layouts: dict[str, Layout] = {}
        self.declared: list[_Declared] = []
        self.left: list[str] = []
        chain = plan.chain
        read = {
            "timestamp": chain.reads_metadata,
            "timestamp_type": chain.reads_timestamp_type,
            "leader_epoch": chain.reads_leader_epoch,
            "headers": headers or chain.reads_headers,
        }
        needed_columns = []
        for name, needed in read.items():
            if needed:
                needed_columns.append(name)
        self.metadata = (*_COORDINATES, *needed_columns)
        # the prefix ``in_`` keeps a column until the result, as ``TypedEvaluator._keep`` does
        extra = [c for c in frame.columns if c.startswith("in_")]
        unreadable = (F.col("timestampType") == UNREADABLE_TIMESTAMP).alias("unreadable")
        timestamps = {
            "timestamp_type": timestamp_type_name(F.col("timestampType")).alias("timestamp_type"),
            "leader_epoch": F.col(LEADER_EPOCH).alias("leader_epoch"),
        }
        metadata = (timestamps.get(name, F.col(name)) for name in self.metadata)
        if lane:
            self.record = {name: f"{RECORD}{name}" for name in frame.columns}
        else:
            self.record = {}
        record = []
        for name, column in self.record.items():
            record.append(F.col(name).alias(column))
        self.frame, self.columns = frame, list[str]()
        self.fields: dict[str, tuple[str, str]] = {}
        self._select([*metadata, *map(F.col, extra), *record, unreadable, F.col("key"), F.col("value")])

    def read(self, side: str, form: Format) -> None:
        """Adds two columns for the key or value ``side``: its content, and the problem if it cannot be read. ``form``
        is the format. A key or value in a format such as JSON is only registered here. The method ``finish`` reads such
        keys and values.
        """
        if form.kind == "string":
            text = F.try_validate_utf8(F.col(side).cast("string"))
            problem = Problem("SMT416", f"{side}.converter", "the text is not valid UTF-8", "", DATA_EXCEPTION)
            self._plain(side, form, text, problem, F.col(side).isNotNull() & text.isNull())
        elif form.kind == "bytes":
            problem = Problem("SMT416", f"{side}.converter", "the bytes cannot be read")
            self._plain(side, form, F.col(side), problem, F.lit(False))
        else:
            self.messages |= {side} if is_change(form) else set()
            self._json(side, form)
            hint = "check the dead letter, or correct the schema"
            statement = "the bytes do not fit the declared schema"
            self.problems.append(Problem("SMT414", f"{side}.converter", statement, hint, DATA_EXCEPTION))

    def _plain(self, side: str, form: Format, value: Column, problem: Problem, bad: Column) -> None:
        assert form.known_schema is not None
        self._select([*map(F.col, self.columns), value.alias(f"s_{side}"), bad.alias(f"bad_{side}")])
        self.problems.append(problem)
        self.known[side] = problem
        self.layouts[side] = Leaf(f"s_{side}", form.known_schema)

    def _json(self, side: str, form: Format) -> None:
        whole = form.known_schema
        assert whole is not None
        # Both calls only check: a schema or a default that Spark cannot hold must end the run before it reads a record.
        spark_type(whole, side)
        check_defaults(whole, side)
        is_whole = side != "value" or form.kind in READ_WHOLE or side in self.envelopes
        schema = whole if is_whole else narrowed(self.plan, whole)
        columns = SideColumns(side, form, schema, below(self.masks, side), envelope=self.envelopes.get(side))
        self.declared.append(self._laid_out(side, whole, columns))

    def read_avro(self, side: str, form: Format, read: AvroSide) -> None:
        """Adds the columns of the key or value ``side``, as ``read`` decodes it from Avro. All records must name the
        same Avro schema on this side.
        """
        check_defaults(read.schema, side)
        data, columns = F.col(side), SideColumns(side, form, read.needed)
        raw = f"raw_{side}"
        # Each ``_select`` below is a step of its own, because its expressions refer to columns of the step before.
        self._select([*map(F.col, self.columns), read.parsed(data).alias(raw)])
        texts = {}
        for name in read.texts:
            texts[name] = f"s_{side}_{name}"
        text_columns = []
        for n, c in texts.items():
            text_columns.append(read.as_text(F.col(raw), n).alias(c))
        self._select([*map(F.col, self.columns), *text_columns])
        known = {}
        for name, column in texts.items():
            known[name] = F.col(column)
        doubts = []
        for wrong, problem in read.bad(data, F.col(raw), known):
            doubts.append(F.when(wrong, problem_struct(problem)))
        why = F.when(data.isNotNull(), F.coalesce(*doubts)).alias(columns.bad)
        self._select([*map(F.col, self.columns), why])
        # Where the bytes cannot be read, Spark may have filled some fields. They must not look like a value.
        good = data.isNotNull() & F.col(columns.bad).isNull()
        parts = {columns.column: read.value(F.col(raw)), columns.there: F.lit(True)}
        for column in texts.values():
            parts[column] = F.col(column)
        others = []
        for c in self.columns:
            if c != raw and c not in parts:
                others.append(F.col(c))
        readable_parts = []
        for name, part in parts.items():
            readable_parts.append(F.when(good, part).alias(name))
        self._select([*others, *readable_parts])
        computed = self._laid_out(side, read.schema, columns, texts).computed
        if computed:
            self._select([*map(F.col, self.columns), *F.alias_all(computed)])
        self.problems.append(unreadable().problem)

    def _laid_out(
        self, side: str, whole: Schema, columns: SideColumns, apart: Mapping[str, str] | None = None
    ) -> "_Declared":
        """Registers in which column each field of a key or value is.

        Args:
            side: ``key`` or ``value``.
            whole: The schema of the key or value.
            columns: The columns into which the key or value is read. A field that nothing needs may have no column.
            apart: Maps a column name such as ``f0`` to a separate column, for the string fields that ``read_avro`` has
                read. None if all fields are still in one struct column. If None, the reader can also apply rules to the
                fields while it reads them.
        """
        schema, computed = columns.schema, dict[str, Column]()
        if not columns.apart:
            self.layouts[side] = Leaf(_column(side, columns.column, schema, computed), schema)
        else:
            known = dict(zip(schema.by_name, columns.fields(), strict=True))
            fields: dict[str, Layout] = {}
            for name, child in whole.fields:
                read = f"{columns.column}.{known[name]}" if name in known else None
                # ``whole`` may have more fields than ``schema``: a field that nothing needs is not read, and becomes
                # null here
                column = (apart or {}).get(known.get(name, "")) or _column(side, read, child, computed)
                fields[name] = Leaf(column, child)
                # with ``apart``, Spark decodes Avro, and there is no Python or Java reader that could apply a rule
                if read is not None and apart is None:
                    self.fields[column] = (columns.column, known[name])
            self.layouts[side] = Struct(whole, columns.there, fields)
        return _Declared(columns, computed)

    def _select(self, columns: list[Column]) -> None:
        self.frame = select(self.frame, *columns)
        self.columns = [column.name or "" for column in columns]

    def state(self) -> State:
        """Returns the evaluator's first state: the columns of the fields of key and value, and of the metadata."""
        return State(dict(self.layouts), {name: f"m_{name}" for name in self.metadata})

    def finish(self, early: EarlyCalls) -> None:
        """Reads the keys and values whose schemas are known before the run, and adds the columns with each record's
        status and problem. If both key and value are unreadable, the record gets the problem of the key.
        """
        if self.declared:
            self._parse(early)
        status, stage, why = F.lit(0), F.lit(NO_STAGE), F.lit(-1)
        if IN_ELEMENT in self.columns:
            empty = F.coalesce(F.col(IN_ELEMENT) == EMPTY, F.lit(False))
            status = F.when(empty, F.lit(1)).otherwise(status)
            stage = F.when(empty, F.lit(VALUE_CONVERTER)).otherwise(stage)
        problem = F.lit(None).cast(PROBLEM_TYPE)
        # The value comes first and the key second, so the key's conditions are the outermost and win.
        for number, side in enumerate(self.layouts):
            bad, text = self._bad(side)
            if side in self.messages:
                # Such a message is no failure: as in Flink, it gives no row, and counts as dropped (decision 26).
                without = F.coalesce(text.getField("code") == F.lit(NO_ROW.code), F.lit(False))
                status = F.when(without, F.lit(1)).otherwise(status)
                stage = F.when(without, F.lit(_CODES[side])).otherwise(stage)
                bad, text = bad & ~without, F.when(~without, text)
            status = F.when(bad, F.lit(2)).otherwise(status)
            stage = F.when(bad, F.lit(_CODES[side])).otherwise(stage)
            why = F.when(bad, F.lit(number)).otherwise(why)
            problem = F.coalesce(text, problem)
        # last, so that it overrides the problems of key and value
        gone = F.coalesce(F.col("unreadable"), F.lit(False))
        status, stage = F.when(gone, F.lit(2)).otherwise(status), F.when(gone, F.lit(VALUE_CONVERTER)).otherwise(stage)
        why = F.when(gone, F.lit(len(self.problems))).otherwise(why)
        problem = F.when(gone, problem_struct(UNREADABLE)).otherwise(problem)
        self.problems.append(UNREADABLE)
        passed_on = []
        # ``in_``: the caller's columns; ``read_``: the reader's structs; ``s_``: texts, and values converted after
        # reading; ``unread_``: nulls for the fields that nothing needs
        for c in self.columns:
            if c.startswith(("in_", "s_", "read_", "unread_")):
                passed_on.append(F.col(c))
        if self.left:
            is_left = reduce(or_, map(F.col, self.left))
            # one side that the lane cannot read is enough: Python then reads the whole record
            status = F.when(is_left, F.lit(LEFT)).otherwise(status)
            record_columns = []
            for name, column in self.record.items():
                record_columns.append(F.col(column).alias(name))
            record = F.struct(*record_columns)
            passed_on.append(F.when(is_left, record).alias(IN_RECORD))
        renamed = []
        for n in _COORDINATES:
            renamed.append(F.col(n).alias(f"__{n}"))
        for n in self.metadata:
            renamed.append(F.col(n).alias(f"m_{n}"))
        meta = [status.cast("tinyint").alias("__status"), stage.alias("__stage"), why.alias("__why")]
        self._select([*renamed, *passed_on, problem.alias("in_problem"), *meta])

    def _bad(self, side: str) -> tuple[Column, Column]:
        """Returns two columns for the key or value ``side``. The first is true if this key or value is unreadable. The
        second contains the reason.
        """
        column = F.col(f"bad_{side}")
        if side not in self.known:
            return column.isNotNull(), column
        return column, F.when(column, problem_struct(self.known[side]))

    def _parse(self, early: EarlyCalls) -> None:
        """Reads the keys and values whose schemas are known before the run. Java (the JVM lane) reads them, or else
        Python.
        """
        columns_of_sides = []
        for d in self.declared:
            columns_of_sides.append(replace(d.columns, calls=tuple(early.calls.get(d.columns.column, ()))))
        sides = tuple(columns_of_sides)
        programs = lane_programs(sides) if self.lane else None
        # a key of strings or bytes that nothing needs would only travel to the reader and back
        if needs_key(self.plan):
            idle = []
        else:
            idle = [c for c in self.columns if c == "s_key"]
        # only the lane leaves records to Python, so only then must the original record stay in the row
        unread = ("key", "value", *idle, *([] if programs else self.record.values()))
        passed_on = [c for c in self.columns if c not in unread]
        columns = [F.lit(None).cast(self.frame.schema[c].dataType).alias(c) for c in idle] + [
            F.col(c) for c in passed_on
        ]
        for side, declared in zip(sides, self.declared, strict=True):
            columns += map(F.col, ([side.column] if side.columns() else []) + [side.there, side.bad])
            columns += F.alias_all(declared.computed)
        if programs:
            self.left = [is_left(side) for side in sides]
            columns += map(F.col, self.left)
            self.frame = read_in_lane(self.frame, sides, programs, passed_on)
        # the Python reader below reads only declared JSON; the caller then evaluates envelopes in another way
        elif self.envelopes:
            raise NoJavaError
        else:
            self.frame = self._read_in_python(sides, passed_on)
        self._select(columns)

    def _read_in_python(self, sides: Sequence[SideColumns], passed_on: Sequence[str]) -> DataFrame:
        fields = [self.frame.schema[c] for c in passed_on]
        for side in sides:
            read = []
            for name, child in side.columns().items():
                read.append(T.StructField(name, plain_type(child)))
            if side.apart and read:
                read = [T.StructField(side.column, T.StructType(read))]
            fields += [*read, T.StructField(side.there, T.BooleanType()), T.StructField(side.bad, PROBLEM_TYPE)]
        # only these columns travel to the Python worker
        rows = select(self.frame, *map(F.col, (*passed_on, *(side.side for side in sides))))
        return map_in_arrow(rows, ReadColumns(tuple(sides), tuple(passed_on)), T.StructType(fields))


def _column(side: str, read: str | None, schema: Schema, computed: dict[str, Column]) -> str:
    """Returns the name of the column for a field of the key or value ``side``.

    Normally this is the column ``read``. If the values must be converted after reading, such as dates, the field gets a
    new column. If ``read`` is None because nothing needs the field, it gets a column of nulls. The function adds each
    new column to ``computed``.
    """
    if read is None:
        column = F.lit(None).cast(internal_type(schema))
        # all unread fields of the same type share one column of nulls, so that 300 of them are not 300 columns
        name = next(
            (name for name, known in computed.items() if known.text == column.text), f"unread_{side}_{len(computed)}"
        )
    else:
        column, name = from_plain(F.col(read), schema), f"s_{side}_{len(computed)}"
        # no conversion is needed, so the field stays in the reader's struct
        if column.text == F.col(read).text:
            return read
    computed[name] = column
    return name
