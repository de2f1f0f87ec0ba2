"""Builds the plan of a chain with foreign stages, which run Java classes from jars. Such a stage cannot be planned in
advance. The plan is therefore based on the schemas of the records that the chain has returned.
"""

from collections.abc import Sequence

from dagster_smt.authoring.stage import Chain
from dagster_smt.chain.forms import EmptyPlan, Form, merged_schemas
from dagster_smt.chain.plan import Plan, input_record, ledger_entries
from dagster_smt.errors import PlanError, Problem
from dagster_smt.model.cell import Cell, Ref
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.schema import Schema


def plan_after(
    chain: Chain, before: Sequence[Schema], forms: Sequence[Form], topics: Sequence[str], last: RunReport | None = None
) -> Plan:
    """Returns one plan for the records that a chain with foreign stages (Java classes from jars) has returned. The plan
    does not know from which input fields its columns come.

    Args:
        chain: The chain.
        before: The input schemas of the values.
        forms: The output schemas of keys and values. Their order determines the order of the columns.
        topics: The topics of the records.
        last: The report of the last run. Its columns are used if ``forms`` is empty.

    Raises:
        PlanError: SMT216 if no record has an output schema, and ``last`` has no columns either.
    """
    entries = ledger_entries(chain)
    if not forms and last is not None and last.after is not None:
        return EmptyPlan(chain, None, last.before, True, tuple(topics), (), {}, entries, chain.warnings, last=last)
    if not forms:
        hint = "write records instead of columns, or let a stage give the values a schema"
        statement = "no record of the window has a schema after the chain"
        raise PlanError(Problem("SMT216", ", ".join(topics), statement, hint))
    records = {}
    for number, (key, value) in enumerate(dict.fromkeys((form.key, form.value) for form in forms)):
        records[number] = _record(key, value)
    return Plan(
        chain,
        None,
        merged_schemas(before),
        True,
        tuple(topics),
        results=records,
        entries=entries,
        warnings=chain.warnings,
    )


def _record(key: Schema | None, value: Schema | None) -> PlanRecord:
    record = input_record(None, None, nullable=True)
    sides = {}
    for name, schema in (("key", key), ("value", value)):
        if schema is not None:
            sides[name] = Cell(schema, Ref((name,)), frozenset(), nullable=True)
    return PlanRecord(
        sides.get("key"),
        sides.get("value"),
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.timestamp_type,
        record.leader_epoch,
        record.headers,
    )
