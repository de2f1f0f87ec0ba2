"""A chain on records whose schemas are found in the records themselves: one plan for all of them, for a table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dagster_smt.authoring.stage import Chain
from dagster_smt.chain.merge import merge
from dagster_smt.chain.plan import Plan, fold_chain, ledger_entries
from dagster_smt.errors import PlanError, Problem
from dagster_smt.model.reports.report import LedgerEntry, RunReport
from dagster_smt.model.schema import Schema


@dataclass(frozen=True)
class Form:
    """What some records of a window have in common.

    Attributes:
        topic: Their topic.
        key: Schema of their keys; None if the keys are null or schemaless.
        value: Schema of their values.
        free_key: Whether the keys are schemaless.
    """

    topic: str
    key: Schema | None
    value: Schema
    free_key: bool = False


@dataclass(frozen=True)
class EmptyPlan(Plan):
    """The plan of a window that has no columns of its own to offer: they are those of ``last``, the run before."""

    last: RunReport | None = field(default=None, hash=False)

    @cached_property
    def after(self) -> Schema | None:
        if self.last:
            return self.last.after
        return None

    @cached_property
    def lineage(self) -> dict[str, tuple[str, ...]]:
        if self.last:
            return self.last.lineage
        return {}

    @cached_property
    def masked(self) -> frozenset[str]:
        return frozenset(self.last.masked if self.last else ())


def plan_forms(
    chain: Chain, forms: Sequence[Form], *, topics: Sequence[str] = (), last: RunReport | None = None
) -> Plan:
    """Apply a chain to records of several forms. A form that no record can have at the end does not stop the others.

    Args:
        chain: The chain.
        forms: The forms; the columns come in their order.
        topics: The topics of the records.
        last: What the last run made of the table. Its columns stand in where these records have none to offer.

    Returns:
        A plan without steps. Its ``after`` refuses types that clash.

    Raises:
        PlanError: SMT212, there is no form; or why the chain refuses every one.
        UnsupportedError: SMT901, predicates make more than eight variants of one form.
    """
    plans = [_folded(chain, form) for form in forms]
    passed = [plan for plan in plans if not plan.refused]
    records = []
    for plan in passed:
        for record in plan.results.values():
            records.append(record)
    if last is not None and last.after is not None and all(record.value is None for record in records):
        entries = ledger_entries(chain)
        return EmptyPlan(chain, None, last.before, True, tuple(topics), (), {}, entries, chain.warnings, last=last)
    if not forms:
        hint = "choose the format json_schema and declare a schema, or write records instead of columns"
        raise PlanError(Problem("SMT212", ", ".join(topics), "no record of the window has a schema to read", hint))
    if not passed:
        raise PlanError(dict.fromkeys(problem for plan in plans for problem in plan.refused))
    return Plan(
        chain,
        _together(plan.key for plan in passed),
        _together(plan.value for plan in passed),
        True,
        tuple(topics),
        results=dict(enumerate(records)),
        entries=_entries(passed),
        warnings=_common_warnings(passed),
    )


def _folded(chain: Chain, form: Form) -> Plan:
    """The plan of one form. Stages on schemaless keys are left out: they need no schema and do not touch the value."""
    if form.free_key:
        stages = tuple(s for s in chain.stages if s.side != "key")
    else:
        stages = chain.stages
    plan = fold_chain(replace(chain, stages=stages), form.key, form.value, topics=(form.topic,))
    if form.free_key:
        return replace(plan, entries=ledger_entries(chain))
    return plan


def _together(schemas: Iterable[Schema | None]) -> Schema | None:
    """The fields of all schemas by name, to show what was read; of types that clash the first."""
    found: Schema | None = None
    for schema in dict.fromkeys(schemas):
        if found is not None and schema is not None:
            found = merge(found, schema, "", [])
        else:
            found = found or schema
    return found


def _entries(plans: Sequence[Plan]) -> tuple[LedgerEntry, ...]:
    """The ledger's lines with what paths with patterns match in any form."""
    entries = []
    for same in zip(*(plan.entries for plan in plans), strict=True):
        matched = dict.fromkeys(field for entry in same for field in entry.matched)
        entries.append(replace(same[0], matched=tuple(matched)))
    return tuple(entries)


def _common_warnings(plans: Sequence[Plan]) -> tuple[Problem, ...]:
    """The warnings that every form has; their hints may differ."""
    everywhere = set.intersection(*(set(map(_told, plan.warnings)) for plan in plans))
    return tuple(w for w in plans[0].warnings if _told(w) in everywhere)


def _told(problem: Problem) -> tuple[str, str, str]:
    return problem.code, problem.place, problem.statement
