"""Plans: what a chain does to records of one schema.

``plan_stage`` plans one stage for a symbolic record, which describes all records of one schema. The Python evaluator
calls ``plan_stage`` for each schema that it reads. The Spark evaluator calls ``plan_chain``, which plans one stage
after the other.

A stage may change the schema of only some records, if its predicate depends on their data. The plan then continues with
two variants of the record: one for changed records, and one for unchanged records.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.authoring.transform import Missing, Planning, null_side, refuse
from dagster_smt.chain.column_limits import column_warnings
from dagster_smt.chain.problems import nearest, syntax_hint
from dagster_smt.chain.schema_merge import merged_schema
from dagster_smt.effects.code import CodePredicate
from dagster_smt.effects.conditions_on_plan import plan_condition
from dagster_smt.effects.on_plan_record import plan_record
from dagster_smt.errors import ClassError, DataError, PlanError, Problem, UnsupportedError
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, Ref, field_nodes, restart, split_mark
from dagster_smt.model.guarded import SIDES, check_references, hidden, revealed, undeclared
from dagster_smt.model.paths.extended import WHOLE, below
from dagster_smt.model.record import PlanRecord, Side
from dagster_smt.model.reports.run_report import LedgerEntry
from dagster_smt.model.schema import BOOLEAN, INT32, INT64, STRING, Schema, Type, optional, timestamp
from dagster_smt.values.value_rule import IsNull, WhereThere

MAX_VARIANTS = 8  # each predicate on data can double the number
HEADERS = Schema(Type.ARRAY, name="headers")


@dataclass(frozen=True)
class StagePlan:
    """The plan of one stage, for records of one schema.

    Attributes:
        stage, index: The stage and its position.
        before, after: The record before the stage, and the record after it if the stage acts. ``after`` is None if no
            record can pass.
        condition: True if the stage acts on all records, and False if it acts on none. Otherwise the predicate as an
            expression, without ``negate``: if the stage has ``negate``, it acts on the records for which the expression
            is not true.
        failure: The reason why no record can pass.
        missing: Configured paths that the schema does not have.
        matches: Maps the number of a ledger entry to the fields that its pattern path matches.
        guarded: True if the stage skips records whose value (or key) is null, and changes a different part of all other
            records. An example is a stage that sets the topic from a field of the value.
        undecided: True if the predicate cannot be evaluated for any record, not even for a record whose key or value is
            null.
    """

    stage: Stage
    index: int
    before: PlanRecord
    after: PlanRecord | None
    condition: Expr | bool
    failure: Problem | None = None
    missing: tuple[Missing, ...] = ()
    matches: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    guarded: bool = False
    undecided: bool = False

    @cached_property
    def spares(self) -> PlanRecord | None:
        """A description of the records that the stage leaves unchanged, although the stage fails for all other records.
        For example, a stage fails because the schema of the value has no field ``id``, but it leaves tombstones
        unchanged. In the description, the value is then None. For a stage that acts on keys, the key is None.

        None if the stage does not fail, or if a null does not always pass unchanged, for example because the stage
        drops nulls.
        """
        side = self.stage.acts_on
        if (
            self.failure is None
            or self.undecided
            or not side
            or self.stage.transform.on_null() not in ("pass", "apply")
        ):
            return None
        if len(self.stage.reads) > 1:
            return None  # the stage may reject the other side
        if self.stage.transform.on_null() == "apply" and "headers" in self.stage.transform.reads:
            return None  # the stage may add headers to a record with a null key or value, and no plan has these headers
        if side == "key":
            return replace(self.before, key=None)
        return replace(self.before, value=None)


def paths_missing_everywhere(plans: Sequence[StagePlan]) -> set[str]:
    """Returns the configured paths that no schema has: each of them is in ``missing`` of every plan in ``plans``."""
    if not plans:
        return set()
    everywhere = {miss.path for miss in plans[0].missing}
    for plan in plans[1:]:
        everywhere.intersection_update(miss.path for miss in plan.missing)
    return everywhere


@dataclass(frozen=True)
class Step:
    """The plan of one stage for one variant of the record, and the variants after the stage. There are several variants
    if an earlier stage changed the schema of only some records.

    Attributes:
        variant: The number of the variant before the stage.
        plan: The plan of the stage.
        taken: The number of the variant (the schemas) that records have after the stage has acted on them; None if no
            such record remains.
        skipped: The number of the variant (the schemas) that records have after the stage has skipped them; None if the
            stage skips no record.
    """

    variant: int
    plan: StagePlan
    taken: int | None
    skipped: int | None


@dataclass(frozen=True)
class Plan:
    """The plan of a chain, for records of one schema.

    Attributes:
        chain: The chain.
        key, value: The input schemas; None if the key or value is absent or schemaless.
        typed: True if the keys or values have a schema.
        topics: The topics of the records, if known.
        steps: The plans of the stages, in order. A stage has one plan for each variant (a schema that records can have
            before the stage). Empty if the records are schemaless.
        results: Maps the number of each variant that remains after the last stage to the variant's output record.
        entries: The ledger entries (actions of stages that a report counts), numbered by position.
        warnings: The warnings, for example about configured fields that no record can have.
        refused: The reasons why no record can pass the chain; empty if some records can.
    """

    chain: Chain
    key: Schema | None
    value: Schema | None
    typed: bool
    topics: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    results: dict[int, PlanRecord] = field(default_factory=dict, hash=False)
    entries: tuple[LedgerEntry, ...] = ()
    warnings: tuple[Problem, ...] = ()
    refused: tuple[Problem, ...] = ()

    @property
    def before(self) -> Schema | None:
        """The input schema of the value."""
        return self.value

    @cached_property
    def after(self) -> Schema | None:
        """The output schema of the value; None if the value is schemaless. If stages can produce several schemas, their
        fields are merged by name.
        """
        if self.typed:
            schemas = []
            for r in self.results.values():
                if r.value is not None:
                    schemas.append(r.value)
            return merged_schema(schemas)
        return None

    @cached_property
    def key_after(self) -> Schema | None:
        """The output schema of the key; None if no key has a schema. If stages can produce several schemas, their
        fields are merged by name.
        """
        schemas = []
        for r in self.results.values():
            if r.key is not None:
                schemas.append(r.key)
        return merged_schema(schemas)

    @property
    def rows(self) -> Schema | None:
        """The schema of the rows that result from evaluating the chain. It is the same as ``after``. Only a
        ``FormsPlan`` differs: its rows have one field for each output schema.
        """
        return self.after

    @property
    def row_keys(self) -> Schema | None:
        """The schema of the keys that result from evaluating the chain."""
        return self.key_after

    @cached_property
    def lineage(self) -> dict[str, tuple[str, ...]]:
        """Returns a dict from the path of each output column to the input fields from which its values come, such as
        ``{"mail": ("value.email",)}``.

        After a stage from a jar, a column may come from any field. Its source is then the whole value.
        """
        unknown = {"value"} if self.chain.has_foreign else set[str]()
        return _lineage([record.value for record in self.results.values()], unknown)

    @cached_property
    def key_lineage(self) -> dict[str, tuple[str, ...]]:
        """Returns a dict from each field of the output key to the input fields from which its values come."""
        return _lineage([record.key for record in self.results.values()])

    @cached_property
    def masked(self) -> frozenset[str]:
        """The output columns with masked values. A column is not included if a later stage has decrypted its values."""
        cells = []
        for record in self.results.values():
            for pair in columns(record.value):
                cells.append(pair)
        masked, opened = set(), set()
        for path, cell in cells:
            for word, inside in map(split_mark, cell.marks):
                if word == "masked":
                    masked.add(path + inside)
                elif word == "opened":
                    opened.add(path + inside)
        return frozenset(masked - opened)


def _lineage(nodes: Sequence[Node | None], unknown: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """Returns a dict from the path of each value inside ``nodes`` to the input fields from which the value comes;
    ``unknown`` if it comes from none. Each node describes the key or value in one variant of the plan.
    """
    sources_by_path: dict[str, set[str]] = {}
    for node in nodes:
        for path, cell in columns(node):
            sources_by_path.setdefault(path, set()).update(cell.sources or unknown)
    lineage = {}
    for path, sources in sources_by_path.items():
        lineage[path] = tuple(sorted(sources))
    return lineage


def leaves(node: Node | None, prefix: str = "") -> list[tuple[str, Cell]]:
    """Returns a pair for every value inside ``node``: its path, such as ``address.city``, and its cell (the description
    of the value). If the node itself is a cell, its path is ``(whole)``.

    If a stage has changed the elements of an array or map, the result has the cells of one element instead:
    ``items[].sku``.
    """
    if node is None:
        return []
    if isinstance(node, Cell) and node.items is not None:
        return leaves(node.items, f"{prefix}[]")
    if isinstance(node, Cell):
        return [(prefix or WHOLE, node)]
    results = []
    for name, child in node.fields:
        results.extend(leaves(child, below(prefix, name)))
    return results


def columns(node: Node | None) -> list[tuple[str, Cell]]:
    """Returns a pair for every value inside ``node``: its path, such as ``address.city``, and its cell (the description
    of the value). Unlike the function ``leaves``, this function also splits a cell that contains a struct into one cell
    for each field, at every level.
    """
    results = []
    for path, cell in leaves(node):
        results.extend(_inside("" if cell is node else path, cell))
    return results


def _inside(path: str, cell: Cell) -> list[tuple[str, Cell]]:
    if cell.schema.type is not Type.STRUCT:
        return [(path or WHOLE, cell)]
    cells = []
    for name, schema in cell.schema.fields:
        if cell.copied:
            sources = frozenset(below(s, name) for s in cell.sources)
        else:
            sources = cell.sources
        cells += _inside(below(path, name), replace(cell, schema=schema, sources=sources))
    return cells


def input_record(
    key: Schema | None,
    value: Schema | None,
    topics: Sequence[str] = (),
    kind: str = "sink",
    *,
    nullable: bool = False,
    marks: frozenset[str] = frozenset(),
) -> PlanRecord:
    """Returns the symbolic record that enters a chain or a stage. Planning uses this record in place of real records.

    Args:
        key, value: The schemas; None if the key or value is absent or schemaless.
        topics: The topics of the records, if known.
        kind: ``sink`` for records read from Kafka, ``source`` for records of a source connector.
        nullable: True if the key or value can be null although its schema requires a value.
        marks: Words for what earlier stages have done to the key and value, such as ``masked``.
    """
    topic: Expr = Const(topics[0], STRING) if len(topics) == 1 else Ref(("topic",))
    return PlanRecord(
        key=_side("key", key, nullable, marks),
        value=_side("value", value, nullable, marks),
        topic=Cell(STRING, topic, frozenset({"topic"}), True, nullable=not topics),
        partition=Cell(optional(INT32), Ref(("partition",)), frozenset({"partition"}), True),
        offset=Cell(INT64, Ref(("offset",)), frozenset({"offset"}), True),
        timestamp=Cell(timestamp(optional=True), Ref(("timestamp",)), frozenset({"timestamp"}), True),
        timestamp_type=Cell(optional(STRING), Ref(("timestamp_type",)), frozenset({"timestamp-type"}), True),
        leader_epoch=Cell(optional(INT32), Ref(("leader_epoch",)), frozenset({"leader-epoch"}), True),
        headers=Cell(HEADERS, Ref(("headers",)), frozenset({"headers"}), True),
        kind=kind,
    )


def _side(name: str, schema: Schema | None, nullable: bool, marks: frozenset[str]) -> Cell | None:
    if schema is None:
        return None
    return Cell(schema, Ref((name,)), frozenset({name}), True, nullable, marks)


def ledger_entries(chain: Chain) -> tuple[LedgerEntry, ...]:
    """Returns the ledger entries of all stages of ``chain``: one for each path that a stage masks, drops, renames or
    otherwise changes. The number of an entry is its position in the result.
    """
    entries = []
    for index, stage in enumerate(chain.stages):
        for e in stage.transform.ledger():
            side = e.side or stage.side or "topic"
            explicit = e.explicit and stage.relied_on
            entries.append(LedgerEntry(index, stage.alias, e.action, e.path, side, e.target, explicit=explicit))
    return tuple(entries)


def first_entries(chain: Chain) -> tuple[int, ...]:
    """Returns one number for each stage of ``chain``: the number of its first ledger entry (an action that a report
    counts). For three stages with 2, 1 and 4 entries, the result is ``(0, 2, 3)``.
    """
    firsts, number = [], 0
    for stage in chain.stages:
        firsts.append(number)
        number += len(stage.transform.ledger())
    return tuple(firsts)


def plan_stage(
    stage: Stage, index: int, record: PlanRecord, first: int = 0, free: Collection[Side] = (), variant: Hashable = None
) -> StagePlan:
    """Returns the plan of ``stage`` for a symbolic record, which describes all records of one schema.

    Args:
        stage, index: The stage and its position.
        record: The record before the stage.
        first: Number of the stage's first ledger entry. An entry is an action that a report counts.
        free: The sides (key or value) that are not null, but have no schema.
        variant: The result of ``CodeTransform.variant`` for a real record; None if only schemas are known.

    Raises:
        ClassError: The transform or predicate reads a key or value, but its class does not declare that it does so.
    """
    try:
        test = plan_test(stage.predicate, record) if stage.predicate else True
    except DataError as error:  # the predicate fails for the only topic, and therefore for every record
        return StagePlan(stage, index, record, None, True, _failure(stage, error), undecided=True)
    condition: Expr | bool = test != stage.negate if isinstance(test, bool) else test
    side: Side = "key" if stage.side == "key" else "value"
    seen = hidden(record, _unseen(stage, free))
    at = Planning(seen, side, first, variant=variant, free=frozenset(free))
    try:
        after = revealed(_after(stage, seen, at), record)
        if not stage.transform.sided:
            beside = (after.topic, after.headers, after.timestamp, after.partition, after.target_partition)
            exprs = (after.dropped, *(cell.expr for cell in beside))
            check_references(type(stage.transform).__name__, exprs, stage.reads)
    except (PlanError, DataError) as error:
        return StagePlan(stage, index, record, None, condition, _failure(stage, error), tuple(at.missing))
    after = replace(after, touched=tuple(at.touches))
    guarded = _is_guarded(stage, record, after)
    return StagePlan(stage, index, record, after, condition, None, tuple(at.missing), at.matches, guarded)


def _failure(stage: Stage, error: PlanError | DataError) -> Problem:
    return replace(error.problems[0], place=stage.place)


def _is_guarded(stage: Stage, before: PlanRecord, after: PlanRecord) -> bool:
    """Returns True if ``stage`` skips records whose value (or key) is null, and changes a different part of all other
    records. An example is a stage that sets the topic from a field of the value. ``before`` and ``after`` describe the
    record before and after the stage.
    """
    if stage.side or not stage.acts_on or stage.transform.on_null() != "pass":
        return False
    same = replace(after, touched=before.touched, **{stage.acts_on: getattr(before, stage.acts_on)})
    return same != before


def plan_test(predicate: Predicate, record: PlanRecord) -> Expr | bool:
    """Returns an expression that is true if ``predicate`` is true for ``record``. If planning already knows the result,
    returns True or False. A predicate that reads a null key or a null value is false.
    """
    name, reads = type(predicate).__name__, predicate.reads
    first_side = None
    for side in SIDES:
        if side in reads:
            first_side = side
            break
    if first_side is not None and getattr(record, first_side) is None:
        return False
    unread_sides = {}
    for side in SIDES:
        if side not in reads:
            unread_sides[side] = undeclared(name, side)
    seen = hidden(record, unread_sides)
    if isinstance(predicate, CodePredicate):
        test = predicate.test(seen)
    else:
        # in a predicate, a condition on fields reads the value
        test = plan_condition(predicate.condition(), seen, Planning(seen, "value"), "read a field")
    if first_side is None or isinstance(test, bool):
        if first_side is None or not test:
            return test
        # true for all records, except where the key or value is null
        return Call(WhereThere(), (Ref((first_side,)), Const(True, BOOLEAN)))
    return Call(WhereThere(), (Ref((first_side,)), test))


def _unseen(stage: Stage, free: Collection[Side]) -> dict[Side, ClassError | PlanError]:
    """Returns the errors to raise if the transform of ``stage`` reads a key or value that it must not read.

    A transform must not read the key in two cases: the transform's class does not declare that it reads keys, or the
    key has no schema. The same is true of the value. The result maps ``key`` or ``value`` to the error.

    Args:
        stage: The stage.
        free: The sides (``key`` or ``value``) that are not null, but have no schema.
    """
    errors: dict[Side, ClassError | PlanError] = {}
    for side in SIDES:
        if side not in stage.reads:
            errors[side] = undeclared(type(stage.transform).__name__, side)
        elif side in free:
            statement = f"the {side} has no schema, but the {stage.acts_on} has one"
            errors[side] = refuse("SMT215", statement, "choose formats with schemas for both, or for none")
    return errors


def _after(stage: Stage, record: PlanRecord, at: Planning) -> PlanRecord:
    side, rule = stage.acts_on, stage.transform.on_null()
    if side and side not in at.free and getattr(record, side) is None and rule not in ("apply", "wrap"):
        return null_side(stage.transform, record)
    return plan_record(stage.transform, record, at)


def next_record(after: PlanRecord) -> PlanRecord:
    """Returns the record that enters the next stage. The record has the schemas and sources of ``after``, the record
    after the previous stage. Its expressions are references to the values of ``after``.
    """
    return PlanRecord(
        key=restart(after.key, ("key",)),
        value=restart(after.value, ("value",)),
        # a topic that planning knows stays known, so that it settles later predicates on the topic
        topic=after.topic if isinstance(after.topic.expr, Const) else replace(after.topic, expr=Ref(("topic",))),
        partition=replace(after.partition, expr=Ref(("partition",))),
        offset=after.offset,
        timestamp=replace(after.timestamp, expr=Ref(("timestamp",))),
        timestamp_type=after.timestamp_type,
        leader_epoch=after.leader_epoch,
        headers=replace(after.headers, expr=Ref(("headers",))),
        kind=after.kind,
        target_partition=replace(after.target_partition, expr=Ref(("target_partition",))),
    )


def plan_chain(
    chain: Chain,
    key: Schema | None,
    value: Schema | None,
    *,
    topics: Sequence[str] = (),
    typed: bool,
    kind: str = "sink",
) -> Plan:
    """Returns the plan of ``chain`` for records of one schema.

    Args:
        chain: The chain.
        key: Schema of the keys; None if absent or schemaless.
        value: Schema of the values; None if schemaless.
        topics: Topics of the records, if known. With a single topic, planning already knows the results of predicates
            on the topic.
        typed: True if the records have a schema. Without a schema, the plan contains only the ledger entries: the
            actions that a report counts.
        kind: ``sink`` for records read from Kafka, ``source`` for records of a source connector.

    Raises:
        PlanError: One or more stages reject every record. The error contains all of these stages.
        UnsupportedError: SMT901 if predicates result in more than eight variants.
    """
    if not typed or chain.has_foreign:  # the effect of a foreign class on a schema is unknown before the class runs
        entries = ledger_entries(chain)
        return Plan(chain, None, None, False, tuple(topics), entries=entries, warnings=chain.warnings)
    plan = fold_chain(chain, key, value, topics=topics, kind=kind)
    if plan.refused:
        raise PlanError(plan.refused)
    return plan


def fold_chain(
    chain: Chain, key: Schema | None, value: Schema | None, *, topics: Sequence[str] = (), kind: str = "sink"
) -> Plan:
    """Returns the plan of ``chain`` for records with a schema. The result is the same as that of ``plan_chain``, with
    one difference: if no record can pass the chain, there is no error. The attribute ``refused`` of the plan then
    contains the reasons.
    """
    fold = _Fold(chain)
    # nullable, because a key or value in Kafka can be null, whatever its schema says
    fold.run(input_record(key, value, topics, kind, nullable=True))
    warnings = tuple(dict.fromkeys((*chain.warnings, *fold.failures, *fold.missing(), *fold.limits())))
    entries = fold.matched(ledger_entries(chain))
    refused = tuple(dict.fromkeys(fold.failures)) if fold.blocked else ()
    return Plan(chain, key, value, True, tuple(topics), tuple(fold.steps), fold.records, entries, warnings, refused)


class _Fold:
    """Plans a chain stage by stage. A variant is a schema that records can have before a stage. Each stage is planned
    for every variant.

    The difficult question is whether any record can pass the whole chain. For example, a stage fails for all records of
    a variant, except tombstones. The planning continues with the tombstones, and the variant is then in ``spared``. But
    a chain that works only on tombstones is a mistake. The chain is therefore rejected if a stage failed and all
    remaining variants are in ``spared``.

    Attributes:
        records: Maps the number of each variant that remains before the next stage to the variant's symbolic record.
        count: The number of variants so far, which is also the number of the next variant.
        blocked: True if a stage fails for all rows that reach it, except rows of the variants in ``spared``.
        spared: The numbers of the variants in which every row has a null key or value.
    """

    def __init__(self, chain: Chain):
        self.chain = chain
        self.steps: list[Step] = []
        self.records: dict[int, PlanRecord] = {}
        self.failures: list[Problem] = []
        self.count = 1
        self.blocked = False
        self.spared: set[int] = set()

    def run(self, record: PlanRecord) -> None:
        self.records = {0: record}
        for index, (stage, first) in enumerate(zip(self.chain.stages, first_entries(self.chain), strict=True)):
            following: dict[int, PlanRecord] = {}
            for variant, before in self.records.items():
                plan = plan_stage(stage, index, before, first)
                self.blocked |= plan.failure is not None and plan.condition is True
                variants = self._step(variant, plan)
                following.update(variants)
                if variant in self.spared or (plan.spares is not None and plan.condition is True):
                    self.spared.update(variants)
            # as long as a variant with ordinary rows remains, an earlier failure concerns only other rows
            self.blocked &= following.keys() <= self.spared
            self.records = following
            if len(following) > MAX_VARIANTS:
                hint = "write records instead of columns, or combine the predicates"
                statement = f"predicates make more than {MAX_VARIANTS} variants of the record"
                raise UnsupportedError(Problem("SMT901", stage.place, statement, hint))

    def _step(self, variant: int, plan: StagePlan) -> dict[int, PlanRecord]:
        """Adds a ``Step`` for ``plan``, the plan of a stage for the variant with the number ``variant``. A variant is a
        schema that records can have before the stage. Returns the variants after the stage, by number.
        """
        if plan.condition is False:
            self.steps.append(Step(variant, plan, None, variant))
            return {variant: plan.before}
        gone = plan.after is None or plan.after.dropped is True
        if plan.failure is not None:
            self.failures.append(plan.failure)
        if plan.condition is True and not plan.guarded:
            if plan.after is None:
                after = plan.spares
            elif gone:
                after = None
            else:
                after = next_record(plan.after)
            self.steps.append(Step(variant, plan, None if after is None else variant, None))
            if after is None:
                return {}
            return {variant: after}
        if plan.after is None or gone:
            self.steps.append(Step(variant, plan, None, variant))
            return {variant: plan.before}
        after = next_record(plan.after)
        # rows that the stage changed and rows that it skipped have the same columns, so they stay one variant
        if same_schemas(plan.before, after):
            self.steps.append(Step(variant, plan, variant, variant))
            return {variant: joined(plan.before, after)}
        if _spares_nulls(plan):
            self.steps.append(Step(variant, plan, variant, variant))
            return {variant: _nullable(after, plan.stage.acts_on)}
        # data determines whether the stage acts, and the stage changes the schema, so there are two variants from here
        # on
        taken, self.count = self.count, self.count + 1
        self.steps.append(Step(variant, plan, taken, variant))
        return {variant: plan.before, taken: after}

    def limits(self) -> list[Problem]:
        """Returns warnings about values that a table column cannot represent as Connect would, such as a decimal that a
        stage casts to a string.
        """
        sides_by_stage = []
        for s in self.steps:
            if s.plan.after is not None:
                sides_by_stage.append((s.plan.stage, (s.plan.after.key, s.plan.after.value)))
        results: list[Problem] = []
        for stage, nodes in sides_by_stage:
            results.extend(column_warnings(stage, nodes))
        return results

    def missing(self) -> list[Problem]:
        """Returns a warning for each configured path that no schema of the records contains."""
        stages: dict[int, list[StagePlan]] = {}
        for step in self.steps:
            stages.setdefault(step.plan.index, []).append(step.plan)
        problems = []
        for plans in stages.values():
            everywhere = paths_missing_everywhere(plans)
            for miss in plans[0].missing:
                if miss.path in everywhere and plans[0].stage.relied_on:
                    problems.append(missing_problem(plans[0].stage, miss))
        return problems

    def matched(self, entries: tuple[LedgerEntry, ...]) -> tuple[LedgerEntry, ...]:
        """Returns copies of ``entries``. Each copy lists the fields that its pattern path matches, such as
        ``customer.email`` for ``**.email``.
        """
        routes: dict[int, dict[str, None]] = {}
        for step in self.steps:
            for number, fields in step.plan.matches.items():
                routes.setdefault(number, {}).update(dict.fromkeys(fields))
        matched_entries = []
        for n, e in enumerate(entries):
            matched_entries.append(replace(e, matched=tuple(routes.get(n, ()))))
        return tuple(matched_entries)


def missing_problem(stage: Stage, miss: Missing) -> Problem:
    """Returns the problem of a path that ``stage`` configures, but that the schema does not contain. ``miss`` contains
    the path, and the field names of the schema.
    """
    hint = syntax_hint(stage.transform, miss.path, miss.known)
    hint = hint or nearest(miss.asked, miss.known, "check the name; the stage changes nothing there")
    return Problem("SMT303", stage.place, f"no record can have the field '{miss.path}'", hint)


def _spares_nulls(plan: StagePlan) -> bool:
    """Returns True if two things are true of the stage in ``plan``. (1) It skips exactly the records whose key or value
    is null. (2) It never changes the key, the topic or the headers.

    A null key or value has no schema (difference D6). The skipped records therefore need no separate variant of the
    plan.
    """
    stage, condition = plan.stage, plan.condition
    # the predicate RecordIsTombstone with negate=true, on a stage that acts on the value
    tombstones = isinstance(condition, Call) and isinstance(condition.rule, IsNull)
    spared = tombstones and condition.args == (Ref((stage.side,)),) and stage.negate  # type: ignore[union-attr]
    return (
        (spared or (plan.guarded and condition is True))
        and plan.after is not None
        and plan.after.key is plan.before.key
        and plan.after.topic == plan.before.topic
        and plan.after.headers == plan.before.headers
    )


def _nullable(record: PlanRecord, side: str) -> PlanRecord:
    """Returns ``record`` with its key or value marked as nullable. ``side`` is ``key`` or ``value``."""
    if side == "key":
        return replace(record, key=record.key and replace(record.key, nullable=True))
    return replace(record, value=record.value and replace(record.value, nullable=True))


def same_schemas(before: PlanRecord, after: PlanRecord) -> bool:
    """Returns True if a stage changes neither the key schema nor the value schema. ``before`` and ``after`` describe
    the record before and after the stage.
    """
    for a, b in ((before.key, after.key), (before.value, after.value)):
        if not ((a is None) == (b is None) and (a is None or b is None or a.schema == b.schema)):
            return False
    return True


def joined(before: PlanRecord, after: PlanRecord) -> PlanRecord:
    """Returns one record that describes both changed and unchanged records after a stage. ``before`` and ``after``
    describe the record before and after the stage, and have the same schemas. Each part of the result has the sources
    of that part in both records.
    """
    if before.topic == after.topic:
        topic = after.topic
    else:
        topic = replace(_either_cell(before.topic, after.topic), expr=Ref(("topic",)))
    return replace(
        after,
        key=_either(before.key, after.key),
        value=_either(before.value, after.value),
        topic=topic,
        partition=_either_cell(before.partition, after.partition),
        timestamp=_either_cell(before.timestamp, after.timestamp),
        headers=_either_cell(before.headers, after.headers),
        target_partition=_either_cell(before.target_partition, after.target_partition),
    )


def _either(a: Node | None, b: Node | None) -> Node | None:
    if a is None or b is None:
        return b
    if isinstance(b, Group):
        old = dict(field_nodes(a))
        children = []
        for n, child in b.fields:
            children.append((n, _either(old.get(n), child) or child))
        fields = tuple(children)
        return replace(b, fields=fields, nullable=a.nullable or b.nullable)
    return _either_cell(a, b)


def _either_cell(a: Node, b: Cell) -> Cell:
    same = isinstance(a, Cell) and a.sources == b.sources and a.copied and b.copied
    cells = [cell for _, cell in leaves(a)]
    return replace(
        b,
        sources=b.sources.union(*(cell.sources for cell in cells)),
        copied=same,
        nullable=a.nullable or b.nullable,
        items=(_either(a.items, b.items) or b.items) if isinstance(a, Cell) else b.items,
        marks=b.marks.union(*(cell.marks for cell in cells)),
    )
