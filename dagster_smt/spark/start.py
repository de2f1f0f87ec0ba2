"""From Kafka's columns to the state a plan starts from: both sides read in their formats."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dagster_smt.chain.plan import Plan
from dagster_smt.errors import DATA_EXCEPTION, PlanError, Problem
from dagster_smt.interpret.interpreter import KEY_CONVERTER, NO_STAGE, VALUE_CONVERTER
from dagster_smt.model.format import Format
from dagster_smt.model.schema import Schema
from dagster_smt.spark.json_input import (
    broken,
    decoded,
    field_of,
    items,
    json_type,
    misfits,
    no_strings,
    not_unicode,
    parsed,
)
from dagster_smt.spark.layout import Layout, Leaf, Struct
from dagster_smt.spark.narrow import narrowed
from dagster_smt.spark.typed import State, TypedEvaluator
from dagster_smt.spark.types import internal_type, spark_type

_METADATA = ("topic", "partition", "offset", "timestamp", "headers")
_CODES = {"key": KEY_CONVERTER, "value": VALUE_CONVERTER}


def typed_evaluator(frame: DataFrame, plan: Plan, key: Format, value: Format, *, ledger: bool = True) -> TypedEvaluator:
    """Read the sides of a frame and make the evaluator of a plan.

    Args:
        frame: Kafka's columns; those named ``in_*`` are kept to the end.
        plan: A typed plan.
        key, value: The formats. A key whose format has no schema when planning is left alone.
        ledger: Whether to keep the bitmap of ledger entries.

    Raises:
        PlanError: SMT209, the value's format has no schema; SMT207, Spark has no type for a part of one.
    """
    if value.known_schema is None:
        hint = "declare a schema for the value, or write records"
        raise PlanError(Problem("SMT209", "", "a table of columns needs values with a schema", hint))
    start = _Start(frame, plan)
    start.read("value", value)
    if plan.key is not None and key.known_schema is not None:
        start.read("key", key)
    frame, state = start.finish()
    evaluator = TypedEvaluator(plan, frame, state, ledger=ledger)
    evaluator.problems.extend(start.problems)
    return evaluator


@dataclass(frozen=True)
class _Side:
    name: str
    layout: Layout
    bad: str


class _Start:
    """Reads one side after the other; ``problems`` has one line per side."""

    def __init__(self, frame: DataFrame, plan: Plan):
        self.plan = plan
        self.problems: list[Problem] = []
        self.sides: list[_Side] = []
        extra = [c for c in frame.columns if c.startswith("in_")]
        coordinates = [F.col(n).alias(f"__{n}") for n in ("topic", "partition", "offset")]
        self.frame = frame.select(*coordinates, *(F.col(n).alias(f"m_{n}") for n in _METADATA), "key", "value", *extra)

    def read(self, side: str, form: Format) -> None:
        """Add the columns of a side: its value, and whether it could not be read."""
        if form.kind == "string":
            text = F.try_validate_utf8(F.col(side).cast("string"))
            self._plain(side, form, text, F.col(side).isNotNull() & text.isNull())
            self.problems.append(
                Problem("SMT416", f"{side}.converter", "the text is not valid UTF-8", "", DATA_EXCEPTION)
            )
        elif form.kind == "bytes":
            self._plain(side, form, F.col(side), F.lit(False))
            self.problems.append(Problem("SMT416", f"{side}.converter", "the bytes cannot be read"))
        else:
            self._declared(side, form)
            hint = "look at the dead letter, or correct the schema"
            statement = "the text is no JSON that fits the declared schema"
            self.problems.append(Problem("SMT414", f"{side}.converter", statement, hint, DATA_EXCEPTION))

    def _plain(self, side: str, form: Format, value: Column, bad: Column) -> None:
        assert form.known_schema is not None
        self.frame = self.frame.select("*", value.alias(f"s_{side}"), bad.alias(f"bad_{side}"))
        self.sides.append(_Side(side, Leaf(f"s_{side}", form.known_schema), f"bad_{side}"))

    def _declared(self, side: str, form: Format) -> None:
        assert form.schema is not None
        spark_type(form.schema, side)
        schema = narrowed(self.plan, form.schema) if side == "value" else form.schema
        fill = form.replace_null_with_default
        kept = [c for c in self.frame.columns if c != side]
        text, json, one = F.col("__text"), F.col("__json"), F.col("__one")
        empty = F.col(side).isNull() | (F.length(side) == 0)
        frame = self.frame.select(*kept, empty.alias("__empty"), F.col(side).cast("string").alias("__text"))
        frame = frame.select("*", parsed(text, json_type(schema)).alias("__json"))
        bad = broken(json) | not_unicode(text)
        frame = frame.select(
            *kept, "__empty", "__text", F.get(items(json), F.lit(0)).alias("__one"), bad.alias("__bad")
        )
        value = F.when(~F.col("__empty"), decoded(one, schema, fill)).alias(f"s_{side}")
        frame = frame.select("*", value)
        bad = F.col("__bad")
        for check in (misfits(one, F.col(f"s_{side}"), schema, fill), no_strings(text, one, schema)):
            bad = bad if check is None else bad | check
        unread = (~F.col("__empty") & F.coalesce(bad, F.lit(True))).alias(f"bad_{side}")
        self.frame = frame.select(*kept, f"s_{side}", unread)
        whole = Leaf(f"s_{side}", schema)
        layout = whole if schema is form.schema else self._apart(whole, form.schema)
        self.sides.append(_Side(side, layout, f"bad_{side}"))

    def _apart(self, read: Leaf, schema: Schema) -> Struct:
        """A struct of which some fields were not read: taken apart, with nulls for those."""
        value = F.col(read.column)
        columns = {f"{read.column}_there": F.when(value.isNotNull(), F.lit(True))}
        fields: dict[str, Layout] = {}
        for number, (name, child) in enumerate(schema.fields):
            column = f"{read.column}_{number}"
            unread = F.lit(None).cast(internal_type(child))
            columns[column] = field_of(value, read.schema, name) if name in read.schema.by_name else unread
            fields[name] = Leaf(column, child)
        kept = [c for c in self.frame.columns if c != read.column]
        self.frame = self.frame.select(*kept, *(c.alias(n) for n, c in columns.items()))
        return Struct(schema, f"{read.column}_there", fields)

    def finish(self) -> tuple[DataFrame, State]:
        """The frame with the record's status, and the state. A key that cannot be read comes before the value."""
        status, stage, why = F.lit(0), F.lit(NO_STAGE), F.lit(-1)
        for number, side in enumerate(self.sides):
            bad = F.col(side.bad)
            status = F.when(bad, F.lit(2)).otherwise(status)
            stage = F.when(bad, F.lit(_CODES[side.name])).otherwise(stage)
            why = F.when(bad, F.lit(number)).otherwise(why)
        gone = {"key", "value"} | {side.bad for side in self.sides}
        kept = [c for c in self.frame.columns if c not in gone]
        meta = [status.cast("tinyint").alias("__status"), stage.alias("__stage"), why.alias("__why")]
        state = State({s.name: s.layout for s in self.sides}, {name: f"m_{name}" for name in _METADATA})
        return self.frame.select(*kept, *meta), state
