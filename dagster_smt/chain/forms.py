"""Plans a chain for records that carry their own schemas. A form is a topic together with a key schema and a value
schema. The records of a window (a range of offsets) may have several forms, but the table gets one plan for all forms.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dagster_smt.authoring.stage import Chain
from dagster_smt.chain.plan import Plan, fold_chain, ledger_entries
from dagster_smt.chain.schema_merge import merge
from dagster_smt.errors import PlanError, Problem
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.reports.run_report import LedgerEntry, RunReport
from dagster_smt.model.schema import Schema, Type, optional


@dataclass(frozen=True)
class Form:
    """A topic and a pair of schemas that some records of a window (a range of offsets) have in common.

    Attributes:
        topic: The topic.
        key: The schema of the keys; None if the keys are null or schemaless.
        value: The schema of the values.
        free_key: True if the keys are schemaless.
    """

    topic: str
    key: Schema | None
    value: Schema
    free_key: bool = False


@dataclass(frozen=True)
class EmptyPlan(Plan):
    """The plan for records that produce no columns, because they have no value or no schema after the chain. The plan
    has the columns of ``last``, the report of the last run.
    """

    last: RunReport | None = field(default=None, hash=False)

    @cached_property
    def after(self) -> Schema | None:
        if self.last:
            return self.last.after
        return None

    @cached_property
    def key_after(self) -> Schema | None:
        if self.last:
            return self.last.key_after
        return None

    @cached_property
    def key_lineage(self) -> dict[str, tuple[str, ...]]:
        if self.last:
            return self.last.key_lineage
        return {}

    @cached_property
    def lineage(self) -> dict[str, tuple[str, ...]]:
        if self.last:
            return self.last.lineage
        return {}

    @cached_property
    def masked(self) -> frozenset[str]:
        return frozenset(self.last.masked if self.last else ())


FORM = "f"
"""The prefix of field names in the rows of a ``FormsPlan`` (a plan for many tables). A row has the fields ``f0``,
``f1``, …, one for each output schema.
"""


@dataclass(frozen=True)
class FormsPlan(Plan):
    """A plan for a run that writes many tables. Rows of different schemas stay apart, because each table contains only
    rows of its own schemas.

    ``rows`` is a struct with one field for each output schema of values, such as ``f0`` and ``f1``. Each row fills one
    of these fields.
    """

    @cached_property
    def values_after(self) -> tuple[Schema, ...]:
        """The distinct output schemas of the values."""
        schemas = []
        for record in self.results.values():
            if record.value is not None:
                schemas.append(record.value.schema)
        return tuple(dict.fromkeys(schemas))

    @cached_property
    def keys_after(self) -> tuple[Schema, ...]:
        """The distinct output schemas of the keys."""
        schemas = []
        for record in self.results.values():
            if record.key is not None:
                schemas.append(record.key.schema)
        return tuple(dict.fromkeys(schemas))

    @cached_property
    def after(self) -> Schema | None:
        """The value fields of all output schemas together, for display. If a field has two types, the first one is
        shown.
        """
        return merged_schemas(self.values_after)

    @cached_property
    def key_after(self) -> Schema | None:
        """The key fields of all output schemas together, for display. If a field has two types, the first one is
        shown.
        """
        return merged_schemas(self.keys_after)

    @cached_property
    def rows(self) -> Schema | None:
        """The schema of the rows: a struct with one field for each output schema of the values."""
        return forms_apart(self.values_after)

    @cached_property
    def row_keys(self) -> Schema | None:
        """The schema of the keys next to the rows: a struct with one field for each output schema of the keys."""
        return forms_apart(self.keys_after)

    def of_forms(self, values: Collection[int], keys: Collection[int], last: RunReport | None) -> Plan:
        """Returns the plan of one table. The table contains only records with certain output schemas.

        Args:
            values, keys: These output schemas, as positions in ``values_after`` and ``keys_after``.
            last: The report of the table's last commit. Its columns are used if no record has columns.
        """
        schemas = {self.values_after[number] for number in values}
        key_schemas = {self.keys_after[number] for number in keys}
        results = {}
        for number, record in self.results.items():
            has_value = record.value is not None and record.value.schema in schemas
            # keys only matter for a table that keeps them
            has_key = record.key is None or record.key.schema in key_schemas or not self.chain.keeps_key
            if has_value and has_key:
                results[number] = record
        plan = Plan(
            self.chain, self.key, self.value, True, self.topics, results=results, entries=self.entries, warnings=()
        )
        if results or last is None or last.after is None:
            return plan
        return EmptyPlan(self.chain, None, last.before, True, self.topics, (), {}, self.entries, (), last=last)


def forms_apart(schemas: Sequence[Schema]) -> Schema | None:
    """Returns a struct schema with one field for each of ``schemas``: ``f0``, ``f1``, …. Returns None if there are no
    schemas.
    """
    if not schemas:
        return None
    fields = []
    for number, schema in enumerate(schemas):
        fields.append((f"{FORM}{number}", optional(schema)))
    return Schema(Type.STRUCT, fields=tuple(fields))


def plan_forms(
    chain: Chain,
    forms: Sequence[Form],
    *,
    topics: Sequence[str] = (),
    last: RunReport | None = None,
    unread: Problem | None = None,
) -> Plan:
    """Returns one plan of ``chain`` for records of several forms. A form is a topic together with a key schema and a
    value schema. If the chain rejects all records of a form, the plan covers the remaining forms.

    Args:
        chain: The chain.
        forms: The forms. Their order determines the order of the columns.
        topics: The topics of the records.
        last: The report of the last run. Its columns are used if these records have no columns.
        unread: The reason why schemas of the records could not be read, if there is one. The error SMT212 repeats this
            reason.

    Returns:
        A plan without steps. If a field has two types, reading ``after`` of the plan raises PlanError. If each output
        topic has its own table, the result is a ``FormsPlan``. Its ``after`` never raises this error, because a table
        contains only rows of its own schemas.

    Raises:
        PlanError: SMT212 if there is no form. If the chain rejects every form, the error contains the problems of the
            stages. There is no error if ``last`` has columns.
        UnsupportedError: SMT901 if predicates result in more than eight variants of one form. A variant is a schema
            that records can have after a stage.
    """
    plans = [_plan_of_form(chain, form) for form in forms]
    passed = [plan for plan in plans if not plan.refused]
    records: list[PlanRecord] = []
    for plan in passed:
        records.extend(plan.results.values())
    # `all` is also true if there are no forms, or if the chain rejects every form
    if last is not None and last.after is not None and all(record.value is None for record in records):
        entries = ledger_entries(chain)
        return EmptyPlan(chain, None, last.before, True, tuple(topics), (), {}, entries, chain.warnings, last=last)
    if not forms:
        raise PlanError(_no_schema(topics, unread))
    if not passed:
        raise PlanError(dict.fromkeys(problem for plan in plans for problem in plan.refused))
    kind = FormsPlan if chain.keeps_topic else Plan
    return kind(
        chain,
        merged_schemas(plan.key for plan in passed),
        merged_schemas(plan.value for plan in passed),
        True,
        tuple(topics),
        results=dict(enumerate(records)),
        entries=_entries(passed),
        warnings=_common_warnings(passed),
    )


def _no_schema(topics: Sequence[str], unread: Problem | None) -> Problem:
    """Returns the problem of a window (a range of offsets) in which no record has a schema. ``unread`` is the problem
    that prevented the run from reading the schemas. It is None if the records simply have no schema.
    """
    place = ", ".join(topics)
    if unread is not None:
        statement = f"no record of the window has a schema that can be read: {unread.code} {unread.statement}"
        return Problem("SMT212", place, statement, unread.hint)
    hint = "choose the format json_schema and declare a schema, or write records instead of columns"
    return Problem("SMT212", place, "no record of the window has a schema", hint)


def _plan_of_form(chain: Chain, form: Form) -> Plan:
    """Returns the plan of ``chain`` for one form: a topic with a key schema and a value schema.

    If the keys are schemaless, the plan leaves out the stages that act on keys. These stages need no schema and do not
    change the value.
    """
    if form.free_key:
        stages = tuple(s for s in chain.stages if s.side != "key")
    else:
        stages = chain.stages
    plan = fold_chain(replace(chain, stages=stages), form.key, form.value, topics=(form.topic,))
    if form.free_key:
        # the plans of all forms need the same entries, also for stages that are left out here (`_entries`)
        return replace(plan, entries=ledger_entries(chain))
    return plan


def merged_schemas(schemas: Iterable[Schema | None]) -> Schema | None:
    """Returns one schema with the fields of all ``schemas``, for display. If a field has two types, the result has the
    first one.
    """
    merged: Schema | None = None
    for schema in dict.fromkeys(schemas):
        if merged is not None and schema is not None:
            merged = merge(merged, schema, "", [])
        else:
            merged = merged or schema
    return merged


def _entries(plans: Sequence[Plan]) -> tuple[LedgerEntry, ...]:
    """Returns one list of ledger entries (actions that a report counts) for all ``plans``, which have the same entries.
    If an entry has a pattern path, its ``matched`` lists the fields that match in any of the plans.
    """
    entries = []
    for same in zip(*(plan.entries for plan in plans), strict=True):
        matched = dict.fromkeys(field for entry in same for field in entry.matched)
        entries.append(replace(same[0], matched=tuple(matched)))
    return tuple(entries)


def _common_warnings(plans: Sequence[Plan]) -> tuple[Problem, ...]:
    """Returns the warnings that all ``plans`` have in common. Two warnings that differ only in their hints are treated
    as the same warning.
    """
    # a path that only some forms lack is not a mistake
    everywhere = set.intersection(*(set(map(_without_hint, plan.warnings)) for plan in plans))
    warnings = []
    for w in plans[0].warnings:
        if _without_hint(w) in everywhere:
            warnings.append(w)
    return tuple(warnings)


def _without_hint(problem: Problem) -> tuple[str, str, str]:
    return problem.code, problem.place, problem.statement
