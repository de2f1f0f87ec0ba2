"""The plan: a chain applied to the schema of the records.

``plan_stage`` is the one place where a stage meets a symbolic record. The Python evaluator calls it per schema it
meets, the Spark evaluator through ``plan_chain``, which folds it over the chain. Rows on which a data-dependent
predicate decides differently become variants where the stage changes the schema.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.authoring.transform import Missing, Planning, null_side, refuse
from dagster_smt.chain.column_limits import column_warnings
from dagster_smt.chain.problems import nearest, syntax_hint
from dagster_smt.effects.code import CodePredicate
from dagster_smt.effects.conditions_on_plan import plan_condition
from dagster_smt.effects.on_plan_record import plan_record
from dagster_smt.errors import ClassError, DataError, PlanError, Problem, UnsupportedError
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, Ref, field_nodes, restart, split_mark
from dagster_smt.model.guarded import SIDES, check_references, hidden, revealed, undeclared
from dagster_smt.model.paths.extended import WHOLE, below
from dagster_smt.model.record import PlanRecord, Side
from dagster_smt.model.reports.report import LedgerEntry
from dagster_smt.model.schema import BOOLEAN, INT32, INT64, STRING, Schema, Type, optional, timestamp
from dagster_smt.values.basic import IsNull, WhereThere

MAX_VARIANTS = 8
HEADERS = Schema(Type.ARRAY, name="headers")


@dataclass(frozen=True)
class StagePlan:
    """One stage on records of one form.

    Attributes:
        stage, index: The stage and its position.
        before, after: The record before and after, where the stage acts. ``after`` is None if no record can pass.
        condition: Whether the stage acts: known, or an expression.
        failure: Why no record can pass.
        missing: Configured paths the schema does not have.
        matches: What paths match in the schema that are not written so, by number of ledger entry.
        guarded: Whether the stage acts only where its side is not null, in other things than that side, too.
        undecided: Whether the failure is the predicate's: records with a null side have it, too.
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
        """What passes a stage that refuses every record: one with a null side, if the transform leaves null null."""
        side = self.stage.acts_on
        if (
            self.failure is None
            or self.undecided
            or not side
            or self.stage.transform.on_null() not in ("pass", "apply")
        ):
            return None
        if len(self.stage.reads) > 1:
            return None  # the other side may be what it refuses
        if self.stage.transform.on_null() == "apply" and "headers" in self.stage.transform.reads:
            return None  # a null may get headers that there is no plan for
        if side == "key":
            return replace(self.before, key=None)
        return replace(self.before, value=None)


def paths_missing_everywhere(plans: Sequence[StagePlan]) -> set[str]:
    """Returns the configured paths that no plan's schema has."""
    if not plans:
        return set()
    everywhere = {miss.path for miss in plans[0].missing}
    for plan in plans[1:]:
        everywhere.intersection_update(miss.path for miss in plan.missing)
    return everywhere


@dataclass(frozen=True)
class Step:
    """A stage plan in the fold: which variant it starts from, which it leads to (None: no row goes on there)."""

    variant: int
    plan: StagePlan
    taken: int | None
    skipped: int | None


@dataclass(frozen=True)
class Plan:
    """A chain on records of one schema.

    Attributes:
        chain: The chain.
        key, value: Input schemas; None if absent or schemaless.
        typed: Whether the records have a schema.
        topics: The topics the records come from, if known.
        steps: Stage plans in order, several per stage where there are variants. Empty if schemaless.
        results: The record after the chain, per variant that is left.
        entries: The ledger's lines, numbered by position.
        warnings: Fields that no record can have, and other things worth a look.
        refused: Why no record can pass at all; empty if some can.
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
        """Schema of the value before the chain."""
        return self.value

    @cached_property
    def after(self) -> Schema | None:
        """Schema of the value after the chain, variants merged by name; None if schemaless."""
        from dagster_smt.chain.merge import merged_schema

        if self.typed:
            return merged_schema([r.value for r in self.results.values() if r.value is not None])
        return None

    @cached_property
    def lineage(self) -> dict[str, tuple[str, ...]]:
        """Output column (its path) to the input fields it comes from."""
        found: dict[str, set[str]] = {}
        for record in self.results.values():
            for path, cell in columns(record.value):
                found.setdefault(path, set()).update(cell.sources)
        return {path: tuple(sorted(sources)) for path, sources in found.items()}

    @cached_property
    def masked(self) -> frozenset[str]:
        """Output columns whose value a MaskField stage replaced."""
        cells = []
        for record in self.results.values():
            for pair in columns(record.value):
                cells.append(pair)
        marks = ((path, *split_mark(mark)) for path, cell in cells for mark in cell.marks)
        return frozenset(path + inside for path, word, inside in marks if word == "masked")


def leaves(node: Node | None, prefix: str = "") -> list[tuple[str, Cell]]:
    """Every cell of a node, by its path; the root that is no struct has the path ``(whole)``.

    Of an array or map whose elements a stage has changed, the cells of an element: ``items[].sku``.
    """
    if node is None:
        return []
    if isinstance(node, Cell) and node.items is not None:
        return leaves(node.items, f"{prefix}[]")
    if isinstance(node, Cell):
        return [(prefix or WHOLE, node)]
    results = []
    for name, child in node.fields:
        for pair in leaves(child, below(prefix, name)):
            results.append(pair)
    return results


def columns(node: Node | None) -> list[tuple[str, Cell]]:
    """As ``leaves``, with the fields of structs that no stage took apart."""
    results = []
    for path, cell in leaves(node):
        for pair in _inside("" if cell is node else path, cell):
            results.append(pair)
    return results


def _inside(path: str, cell: Cell) -> list[tuple[str, Cell]]:
    if cell.schema.type is not Type.STRUCT:
        return [(path or WHOLE, cell)]
    found = []
    for name, schema in cell.schema.fields:
        if cell.copied:
            sources = frozenset(below(s, name) for s in cell.sources)
        else:
            sources = cell.sources
        found += _inside(below(path, name), replace(cell, schema=schema, sources=sources))
    return found


def input_record(
    key: Schema | None,
    value: Schema | None,
    topics: Sequence[str] = (),
    kind: str = "sink",
    *,
    nullable: bool = False,
    marks: frozenset[str] = frozenset(),
) -> PlanRecord:
    """The symbolic record that a chain, or a stage, starts from.

    Args:
        key, value: The schemas of the sides; None if absent or schemaless.
        topics: The topics there can be, if known.
        kind: ``sink`` or ``source``.
        nullable: Whether sides can be null although their schema is required.
        marks: What may have happened to the sides before.
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
    """Number what the chain's stages may do."""
    return tuple(
        LedgerEntry(index, stage.alias, e.action, e.path, e.side or stage.side or "topic", e.target, named=e.named)
        for index, stage in enumerate(chain.stages)
        for e in stage.transform.ledger()
    )


def first_entries(chain: Chain) -> tuple[int, ...]:
    """For each stage, the number of its first ledger entry."""
    firsts, number = [], 0
    for stage in chain.stages:
        firsts.append(number)
        number += len(stage.transform.ledger())
    return tuple(firsts)


def plan_stage(
    stage: Stage, index: int, record: PlanRecord, first: int = 0, free: Collection[Side] = (), variant: Hashable = None
) -> StagePlan:
    """Apply one stage to a symbolic record.

    Args:
        stage, index: The stage and its position.
        record: The record before it.
        first: Number of the stage's first ledger entry.
        free: Sides that are no null, but have no schema.
        variant: What the transform says of the record (``CodeTransform.variant``), if there is one.

    Raises:
        ClassError: The transform or predicate looks at a side without declaring it.
    """
    try:
        test = plan_test(stage.predicate, record) if stage.predicate else True
    except DataError as error:  # of the only topic there is: each record has it
        return StagePlan(stage, index, record, None, True, _failure(stage, error), undecided=True)
    condition: Expr | bool = test != stage.negate if isinstance(test, bool) else test
    side: Side = "key" if stage.side == "key" else "value"
    seen = hidden(replace(record, touched=(), dropped=False), _unseen(stage, free))
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
    """Whether records with a null side must be told from others: they pass a stage that does more than change it."""
    if stage.side or not stage.acts_on or stage.transform.on_null() != "pass":
        return False
    same = replace(after, touched=before.touched, **{stage.acts_on: getattr(before, stage.acts_on)})
    return same != before


def plan_test(predicate: Predicate, record: PlanRecord) -> Expr | bool:
    """The condition of a predicate; one that reads a side is false where that side is null."""
    name, reads = type(predicate).__name__, predicate.reads
    read = next((side for side in SIDES if side in reads), None)
    if read is not None and getattr(record, read) is None:
        return False
    seen = hidden(record, {side: undeclared(name, side) for side in SIDES if side not in reads})
    if isinstance(predicate, CodePredicate):
        test = predicate.test(seen)
    else:
        test = plan_condition(predicate.condition(), seen, Planning(seen, "value"), "look at a field")
    if read is None or isinstance(test, bool):
        if read is None or not test:
            return test
        return Call(WhereThere(), (Ref((read,)), Const(True, BOOLEAN)))
    return Call(WhereThere(), (Ref((read,)), test))


def _unseen(stage: Stage, free: Collection[Side]) -> dict[Side, ClassError | PlanError]:
    """Why the transform of a stage may not look at a side."""
    found: dict[Side, ClassError | PlanError] = {}
    for side in SIDES:
        if side not in stage.reads:
            found[side] = undeclared(type(stage.transform).__name__, side)
        elif side in free:
            statement = f"the {side} has no schema, but the {stage.acts_on} has one"
            found[side] = refuse("SMT215", statement, "choose formats with schemas for both, or for none")
    return found


def _after(stage: Stage, record: PlanRecord, at: Planning) -> PlanRecord:
    side, rule = stage.acts_on, stage.transform.on_null()
    if side and side not in at.free and getattr(record, side) is None and rule not in ("apply", "wrap"):
        return null_side(stage.transform, record)
    return plan_record(stage.transform, record, at)


def next_record(after: PlanRecord) -> PlanRecord:
    """What the stage after sees: sources kept, expressions references again."""
    return PlanRecord(
        key=restart(after.key, ("key",)),
        value=restart(after.value, ("value",)),
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
    """Apply a chain to a schema.

    Args:
        chain: The chain.
        key: Schema of the keys; None if absent or schemaless.
        value: Schema of the values; None if schemaless.
        topics: Topics of the records, if known: predicates on the topic are then settled here.
        typed: Whether the records have a schema. Without one a plan holds the ledger only.
        kind: ``sink`` for records read from Kafka, ``source`` for those of a source connector.

    Raises:
        PlanError: With every stage that no record can pass.
        UnsupportedError: SMT901, predicates make more than eight variants.
    """
    if not typed:
        entries = ledger_entries(chain)
        return Plan(chain, None, None, False, tuple(topics), entries=entries, warnings=chain.warnings)
    plan = fold_chain(chain, key, value, topics=topics, kind=kind)
    if plan.refused:
        raise PlanError(plan.refused)
    return plan


def fold_chain(
    chain: Chain, key: Schema | None, value: Schema | None, *, topics: Sequence[str] = (), kind: str = "sink"
) -> Plan:
    """As ``plan_chain`` with ``typed``, but a chain that no record can pass has a plan too: where each one fails."""
    fold = _Fold(chain)
    fold.run(input_record(key, value, topics, kind, nullable=True))
    warnings = tuple(dict.fromkeys((*chain.warnings, *fold.failures, *fold.missing(), *fold.limits())))
    entries = fold.matched(ledger_entries(chain))
    refused = tuple(dict.fromkeys(fold.failures)) if fold.blocked else ()
    return Plan(chain, key, value, True, tuple(topics), tuple(fold.steps), fold.records, entries, warnings, refused)


class _Fold:
    """Runs the stages over the variants; ``records`` are the variants that rows can still be in.

    ``blocked``: no row is left because a stage refuses every one that reached it, but for those in the variants
    ``spared``: a side of theirs is null.
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
                found = self._step(variant, plan)
                following.update(found)
                if variant in self.spared or (plan.spares is not None and plan.condition is True):
                    self.spared.update(found)
            self.blocked &= following.keys() <= self.spared
            self.records = following
            if len(following) > MAX_VARIANTS:
                hint = "write records instead of columns, or join the predicates"
                statement = f"predicates make more than {MAX_VARIANTS} forms of record"
                raise UnsupportedError(Problem("SMT901", stage.place, statement, hint))

    def _step(self, variant: int, plan: StagePlan) -> dict[int, PlanRecord]:
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
        if same_form(plan.before, after):
            self.steps.append(Step(variant, plan, variant, variant))
            return {variant: joined(plan.before, after)}
        if _spares_nulls(plan):
            self.steps.append(Step(variant, plan, variant, variant))
            return {variant: _nullable(after, plan.stage.acts_on)}
        taken, self.count = self.count, self.count + 1
        self.steps.append(Step(variant, plan, taken, variant))
        return {variant: plan.before, taken: after}

    def limits(self) -> list[Problem]:
        """What columns do not do as Connect does it."""
        made = []
        for s in self.steps:
            if s.plan.after is not None:
                made.append((s.plan.stage, (s.plan.after.key, s.plan.after.value)))
        results = []
        for stage, nodes in made:
            for problem in column_warnings(stage, nodes):
                results.append(problem)
        return results

    def missing(self) -> list[Problem]:
        """Configured fields that no variant has."""
        stages: dict[int, list[StagePlan]] = {}
        for step in self.steps:
            stages.setdefault(step.plan.index, []).append(step.plan)
        found = []
        for plans in stages.values():
            everywhere = paths_missing_everywhere(plans)
            for miss in plans[0].missing:
                if miss.path in everywhere:
                    found.append(missing_problem(plans[0].stage, miss))
        return found

    def matched(self, entries: tuple[LedgerEntry, ...]) -> tuple[LedgerEntry, ...]:
        """The ledger with what paths with patterns match."""
        routes: dict[int, dict[str, None]] = {}
        for step in self.steps:
            for number, found in step.plan.matches.items():
                routes.setdefault(number, {}).update(dict.fromkeys(found))
        return tuple(replace(e, matched=tuple(routes.get(n, ()))) for n, e in enumerate(entries))


def missing_problem(stage: Stage, miss: Missing) -> Problem:
    """That a path of a stage leads nowhere in the schema."""
    hint = syntax_hint(stage.transform, miss.path, miss.known)
    hint = hint or nearest(miss.asked, miss.known, "check the name; the stage changes nothing there")
    return Problem("SMT303", stage.place, f"no record can have the field '{miss.path}'", hint)


def _spares_nulls(plan: StagePlan) -> bool:
    """Whether a stage acts exactly where its side is not null: a null side has no schema (D6), so no second form."""
    stage, condition = plan.stage, plan.condition
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
    """The record with a side that can be null."""
    if side == "key":
        return replace(record, key=record.key and replace(record.key, nullable=True))
    return replace(record, value=record.value and replace(record.value, nullable=True))


def same_form(before: PlanRecord, after: PlanRecord) -> bool:
    """Whether a stage leaves the schemas of both sides alone."""
    return all(
        (a is None) == (b is None) and (a is None or b is None or a.schema == b.schema)
        for a, b in ((before.key, after.key), (before.value, after.value))
    )


def joined(before: PlanRecord, after: PlanRecord) -> PlanRecord:
    """A record that is one or the other: the same form, the sources of both."""
    if before.topic == after.topic:
        topic = after.topic
    else:
        topic = Cell(STRING, Ref(("topic",)), before.topic.sources)
    return replace(after, key=_either(before.key, after.key), value=_either(before.value, after.value), topic=topic)


def _either(a: Node | None, b: Node | None) -> Node | None:
    if a is None or b is None:
        return b
    if isinstance(b, Group):
        old = dict(field_nodes(a))
        fields = tuple((n, _either(old.get(n), child) or child) for n, child in b.fields)
        return replace(b, fields=fields, nullable=a.nullable or b.nullable)
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
