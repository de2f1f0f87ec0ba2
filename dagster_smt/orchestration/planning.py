"""What a chain does to a topic table, as far as it is known before a run and without Spark."""

from dagster_smt.chain import Chain, Plan, plan_chain
from dagster_smt.model.format import Format
from dagster_smt.model.schema import STRING, Schema, Type, optional
from dagster_smt.tables.spec import TopicTable


def declared_schema(form: Format) -> Schema | None:
    """The schema of a side, if every record has the same."""
    known = {"string": optional(STRING), "bytes": Schema(Type.BYTES, optional=True)}
    return known.get(form.kind, form.schema)


def plan_table(chain: Chain, table: TopicTable) -> Plan:
    """Plan a chain on the declared schemas of a topic table, as the run will.

    Raises:
        PlanError: No record of the table can pass the chain.
    """
    key, value = declared_schema(table.key), declared_schema(table.value)
    key_matters = any(stage.side == "key" for stage in chain.stages)
    typed = value is not None and (key is not None or not key_matters)
    return plan_chain(chain, key, value, topics=table.topics, typed=typed)
