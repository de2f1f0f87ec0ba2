"""Whether all records of a window name one schema: then Spark reads them and runs the chain, as if it were declared."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from dagster_smt.authoring.stage import Stage
from dagster_smt.chain.forms import Form
from dagster_smt.chain.plan import Plan, plan_chain
from dagster_smt.errors import DataError, PlanError, UnsupportedError
from dagster_smt.interpret.avro import Avro, avro_of
from dagster_smt.interpret.registry_client import fetched
from dagster_smt.model.format import SELF_DESCRIBED, Format
from dagster_smt.model.schema import Schema
from dagster_smt.spark.arrow_map import reads_keys
from dagster_smt.spark.avro_columns import AvroSide, UnableError, avro_side, reads_avro
from dagster_smt.spark.found_forms import FoundForms
from dagster_smt.tables.spec import TopicTable

_AVRO = "avro-confluent"


@dataclass(frozen=True)
class SingleSchema:
    """The schema of a window.

    Attributes:
        plan: The chain on it.
        sides: How the sides are read that name it.
    """

    plan: Plan
    sides: Mapping[str, AvroSide]


def single_schema(session: SparkSession, plan: Plan, table: TopicTable, found: FoundForms) -> SingleSchema | None:
    """Look whether Spark can do it alone.

    Args:
        session: It may lack ``from_avro``.
        plan: The plan of the forms that were found.
        table: Where the records come from.
        found: What they name. A schema that cannot be read has no form, but its id is there.

    Returns:
        None if Python is to make the rows: several schemas, or one that Spark does not read as Connect does.
    """
    if table.value.kind != _AVRO or not found.forms or (found.nulls and any(map(_sees_null, plan.chain.stages))):
        return None
    reads, form = reads_keys(plan.chain, table.key), found.forms[0]
    forms = {(form.key, form.free_key, form.value) if reads else form.value for form in found.forms}
    if len(forms) > 1 or (reads and form.free_key) or table.key.kind in set(SELF_DESCRIBED) - {_AVRO}:
        return None
    ids = {side: {use.schema for use in found.uses if use.side == side} for side in ("value", "key")}
    try:
        sides = {"value": _side(table.value, ids["value"], form.value)}
        if table.key.kind == _AVRO:
            sides["key"] = _side(table.key, ids["key"], form.key)
        typed = _planned(plan, form, key=reads)
    except (UnableError, PlanError, UnsupportedError, DataError):
        return None
    return SingleSchema(typed, sides) if typed.after == plan.after and reads_avro(session) else None


def _sees_null(stage: Stage) -> bool:
    """Whether it makes something of a null side: to Spark that has the schema of the others, to Connect none (D6)."""
    return bool(stage.acts_on) and stage.transform.on_null() in ("apply", "wrap")


def _side(form: Format, ids: set[str], schema: Schema | None) -> AvroSide:
    if len(ids) != 1:
        raise UnableError("several schemas")
    number = int(next(iter(ids)))
    avro = _avro(form, number)
    if avro.schema != schema:
        raise UnableError("another schema")
    return avro_side(b"\0" + number.to_bytes(4, "big"), avro)


def _avro(form: Format, number: int) -> Avro:
    there = fetched(tuple(form.settings.items()), number, "AVRO")
    return avro_of(there.text, there.references, place=f"schema {number}")


def _planned(plan: Plan, form: Form, *, key: bool) -> Plan:
    return plan_chain(plan.chain, form.key if key else None, form.value, topics=plan.topics, typed=True)
