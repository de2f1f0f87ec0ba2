"""Runs one stage on Python records. If a record has a schema, the stage's plan for this schema runs. If it has none, a
function of the transform runs.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace

from dagster_smt.authoring.fields.schemaless import objects
from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.authoring.transform import SideFunction, Transform
from dagster_smt.chain.plan import StagePlan, first_entries, input_record, plan_stage, plan_test
from dagster_smt.effects.code import CodePredicate, CodeTransform
from dagster_smt.effects.conditions_on_values import test_function
from dagster_smt.effects.on_values_record import side_function
from dagster_smt.errors import DataError, Problem, data_error
from dagster_smt.formats.cache import Cache
from dagster_smt.interpret.closures import Function, expr_function, node_function
from dagster_smt.interpret.foreign import DROPPED as DROPPED
from dagster_smt.interpret.foreign import foreign_runs
from dagster_smt.model.cell import UNSET, Call, Cell, Const, Expr, Ref
from dagster_smt.model.record import KEY_DIRTY, VALUE_DIRTY, DropRecord, PlanRecord, Record, Side
from dagster_smt.model.schema import Schema

Apply = Callable[[Record], object]
ApplyAll = Callable[[Iterator[Record]], None]
"""A function that applies a stage to all records in an iterator. It raises an exception when a record is dropped or
fails. A second call with the same iterator continues after this record.
"""


@dataclass(frozen=True)
class Runner:
    """A stage that is ready to run on records.

    Attributes:
        stage: The stage.
        test: A function that returns True if the stage acts on a record; None if the stage acts on every record.
        apply: A function that changes a record, or returns ``DROPPED``.
        apply_all: Does the same as ``apply``, but for many records; None if the transform has no such function.
    """

    stage: Stage
    test: Callable[[Record], bool] | None
    apply: Apply
    apply_all: ApplyAll | None = None


def runners(chain: Chain) -> tuple[Runner, ...]:
    """Returns one runner for each stage of ``chain``. The runner of a foreign stage (a Java class) sends each record to
    Java separately. ``foreign_runs`` sends whole batches.
    """
    results = []
    firsts = first_entries(chain)
    # a preview shows the record after each single stage
    alone = foreign_runs(chain, lambda index: functions_of(chain, index), join=False)
    for index, (stage, first) in enumerate(zip(chain.stages, firsts, strict=True)):
        if index in alone:
            results.append(Runner(stage, None, alone[index].one))
            continue
        function = _StageFunction(stage, index, first)
        apply = function.function()
        results.append(Runner(stage, _test(stage), apply, function.for_all(apply)))
    return tuple(results)


def functions_of(chain: Chain, index: int) -> tuple[Callable[[Record], bool] | None, Apply]:
    """Returns two functions for the stage at position ``index`` of ``chain``.

    The first one tests the predicate. It is None if the stage has no predicate, or if Java tests it. The second
    function applies the transform. If the transform is a Java class, the second function must not be called.
    """
    stage = chain.stages[index]
    test = None if stage.predicate is None or stage.predicate.foreign else _test(stage)
    if stage.transform.foreign:
        return test, _not_here
    if stage.predicate is not None and stage.predicate.foreign:
        stage = replace(stage, predicate=None)  # the host has tested the predicate, and no plan can test it
    return test, _StageFunction(stage, index, first_entries(chain)[index]).function()


def _not_here(record: Record) -> object:
    raise NotImplementedError


def _test(stage: Stage) -> Callable[[Record], bool] | None:
    if stage.predicate is None:
        return None
    negate, test = stage.negate, predicate_function(stage.predicate)
    return lambda record: test(record) != negate


def predicate_function(predicate: Predicate) -> Callable[[Record], bool]:
    """Returns a function that tests ``predicate`` on a record.

    If the predicate reads the key or value, the function prepares the test once for each schema. It returns False for a
    record in which this key or value is null.
    """
    # the topic and headers have no schema, so one plan fits all records
    if not predicate.reads & {"key", "value"}:
        return _answer(plan_test(predicate, input_record(None, None)))
    value, plans = "value" in predicate.reads, Cache[tuple[int, str], tuple[Callable[[Record], bool], Schema]]()
    schemaless = _schemaless(predicate)

    def test(record: Record) -> bool:
        side, schema = (record.value, record.value_schema) if value else (record.key, record.key_schema)
        if side is None:
            return False
        if schema is None:
            return schemaless(record)
        plan = plans.get((id(schema), record.kind))
        if plan is None:
            key, other = (None, schema) if value else (schema, None)
            answer = plan_test(predicate, input_record(key, other, kind=record.kind, nullable=True))
            # the entry contains the schema, so that no other object gets the same id
            plan = plans[id(schema), record.kind] = (_answer(answer), schema)
        return plan[0](record)

    return test


def _schemaless(predicate: Predicate) -> Callable[[Record], bool]:
    if isinstance(predicate, CodePredicate):
        return predicate.schemaless()
    test = test_function(predicate.condition(), "read a field")
    return lambda record: test(record.value)


def _answer(answer: Expr | bool) -> Callable[[Record], bool]:
    if isinstance(answer, bool):
        return lambda record: answer
    function = expr_function(answer)
    return lambda record: bool(function(record))


class _StageFunction:
    """The function that applies one stage to a record. It needs a plan for the record's schemas, and caches the
    compiled plans.

    The cache key contains everything that a plan depends on, such as the schemas of key and value, whether a key or
    value has no schema, and the transform's variant. It contains the ``id()`` of a schema, because hashing a schema
    takes long. Each entry also holds the schemas, so that no other schema gets the same id.
    """

    def __init__(self, stage: Stage, index: int, first: int):
        self.stage, self.index, self.first = stage, index, first
        transform = stage.transform
        self.plans: Cache[tuple[int, int, str, bool, Hashable], tuple[Apply, Schema | None, Schema | None]] = Cache()
        # None for nearly all transforms, which saves a call for each record
        self.variant = _overridden(transform, "variant")
        self.narrower = _overridden(transform, "narrower")
        self.schemaless = None
        self.reads_other = len(stage.reads) > 1
        if stage.acts_on:
            ledger_bits = []
            for n in range(len(transform.ledger())):
                ledger_bits.append(1 << (first + n))
            bits = tuple(ledger_bits)
            self.schemaless = side_function(transform, bits)

    def function(self) -> Apply:
        """Returns the function that applies the stage to a record.

        The function is chosen once, because it runs for every record.
        """
        if not self.stage.acts_on:
            return self._on_metadata()
        if self.schemaless is None:
            return self._planned
        if not self.stage.side:
            return self._on_record(self.schemaless)
        if self.stage.side == "key":
            return self._on_key(self.schemaless)
        return self._on_value(self.schemaless)

    def for_all(self, apply: Apply) -> ApplyAll | None:
        """Returns a function that applies the stage to many records. The function handles JSON objects without a schema
        in its own loop. For every other record, it calls ``apply``. Returns None if the stage acts on keys, on metadata
        such as the topic, or on whole records. Only a stage that changes values alone has such a function.
        """
        change = self.schemaless
        if self.stage.side != "value" or change is None:
            return None

        # ``apply_all`` has no result for a single record, so a drop must be an exception here
        def other(record: Record) -> None:
            if apply(record) is DROPPED:
                raise DropRecord

        def apply_all(records: Iterator[Record]) -> None:
            for record in objects(records, other):
                record.value = change(record.value, record)

        return apply_all

    def _on_metadata(self) -> Apply:
        """Returns the function for a transform that reads neither key nor value, such as ``RegexRouter``. The function
        needs only one plan for all schemas.

        The plan is built before the first record, so that a mistake in the transform's class is reported early.
        """
        known: dict[str, Apply] = {"sink": self._without_sides("sink")}

        def apply(record: Record) -> object:
            function = known.get(record.kind)
            if function is None:
                function = known[record.kind] = self._without_sides(record.kind)
            return function(record)

        return apply

    def _without_sides(self, kind: str) -> Apply:
        before = input_record(None, None, kind=kind, nullable=True)
        return compile_plan(plan_stage(self.stage, self.index, before, self.first))

    def _on_value(self, change: SideFunction) -> Apply:
        null, planned = self._null(), self._planned

        def apply(record: Record) -> object:
            value = record.value
            if value is None and null is not None:
                return null()
            if record.value_schema is not None:
                return planned(record)
            record.value = change(value, record)
            record.dirty |= VALUE_DIRTY
            return None

        return apply

    def _on_key(self, change: SideFunction) -> Apply:
        null, planned = self._null(), self._planned

        def apply(record: Record) -> object:
            key = record.key
            if key is None and null is not None:
                return null()
            if record.key_schema is not None:
                return planned(record)
            record.key = change(key, record)
            record.dirty |= KEY_DIRTY
            return None

        return apply

    def _on_record(self, change: SideFunction) -> Apply:
        """Returns the function for a stage that acts on whole records, and reads the key or value. If the key or value
        has no schema, the function calls ``change``. Otherwise it runs the stage's plan for the schema.
        """
        null, planned, key, both = self._null(), self._planned, self.stage.acts_on == "key", self.reads_other
        transform = self.stage.transform
        keyed = isinstance(transform, CodeTransform) and transform.plans_key_alone

        def apply(record: Record) -> object:
            side, schema = (record.key, record.key_schema) if key else (record.value, record.value_schema)
            if side is None and null is not None:
                return null()
            # The second condition: the side on which the stage acts is null or has no schema, and the stage reads a key
            # that has one.
            if schema is not None or (both and record.key_schema is not None and (side is None or keyed)):
                return planned(record)
            change(side, record)
            return None

        return apply

    def _null(self) -> Callable[[], object] | None:
        """Returns the function that the stage calls for a record whose key or value (the one on which the stage acts)
        is null. The function passes through, rejects or drops the record. Returns None if the stage treats null like
        any other value.
        """
        return {"pass": lambda: None, "reject": self._reject, "drop": lambda: DROPPED}.get(
            self.stage.transform.on_null()
        )

    def _reject(self) -> object:
        raise null_error(self.stage)

    def _planned(self, record: Record) -> object:
        free: tuple[Side, ...] = ()
        if self.reads_other:
            sides: dict[Side, bool] = {
                "key": record.key is not None and record.key_schema is None,
                "value": record.value is not None and record.value_schema is None,
            }
            free_sides = []
            for side, there in sides.items():
                if there:
                    free_sides.append(side)
            free = tuple(free_sides)
        variant = None if self.variant is None else self.variant(record)
        return self._function(record, free, variant)(record)

    def _function(self, record: Record, free: tuple[Side, ...], variant: Hashable) -> Apply:
        """Returns the function that applies the stage to ``record``. A function is compiled once for each combination
        of key schema, value schema and variant, and then cached.

        ``free`` lists the sides (``key`` or ``value``) that have no schema.
        """
        # At least one of the two schemas is not None. If the other one is None, its side is null or has no schema, and
        # ``bool(free)`` tells these two cases apart.
        known = (id(record.key_schema), id(record.value_schema), record.kind, bool(free), variant)
        plan_of_form = self.plans.get(known)
        if plan_of_form is None:
            schemas = record.key_schema, record.value_schema
            # Any value may be null here, whatever its schema says, because earlier stages are not part of this plan.
            before = input_record(*schemas, kind=record.kind, nullable=True, marks=frozenset({UNSET}))
            plan = plan_stage(self.stage, self.index, before, self.first, free, variant)
            apply = compile_plan(plan)
            if plan.failure is not None:
                apply = self._unless_narrower(apply, free, variant)
            plan_of_form = self.plans[known] = (apply, record.key_schema, record.value_schema)
        return plan_of_form[0]

    def _unless_narrower(self, refuse: Apply, free: tuple[Side, ...], known: Hashable) -> Apply:
        """Returns a function for records that the stage's plan rejects, for example because their schema lacks a field.
        ``known`` is the variant of this plan.

        Some transforms have a narrower variant, whose plan needs fewer fields. If a record has such a variant, the
        function runs the plan of this variant. Otherwise the function calls ``refuse``, which rejects the record.
        """
        narrower = self.narrower
        if narrower is None:
            return refuse

        def apply(record: Record) -> object:
            variant = narrower(record)
            if variant is None or variant == known:
                return refuse(record)
            return self._function(record, free, variant)(record)

        return apply


def _overridden(transform: Transform, name: str) -> Callable[[Record], Hashable] | None:
    """Returns the method ``name`` of ``transform``, if the transform's class overrides this method. Returns None if the
    class does not override the method, or if the transform is not implemented in code.
    """
    if not isinstance(transform, CodeTransform) or getattr(type(transform), name) is getattr(CodeTransform, name):
        return None
    method: Callable[[Record], Hashable] = getattr(transform, name)
    return method


def null_error(stage: Stage) -> DataError:
    """Returns the error for a null key or value that the transform of ``stage`` cannot handle."""
    return data_error(
        "SMT402",
        f"a null key or value cannot be used for [{stage.transform.purpose}]",
        "add the predicate RecordIsTombstone with negate=true to the stage",
    )


def compile_plan(plan: StagePlan) -> Apply:
    """Returns a function that applies a stage to a record. ``plan`` describes what the stage does with records of
    certain schemas.
    """
    after = plan.after
    if after is None:
        problem = plan.failure or Problem("SMT999", plan.stage.place, "no record can pass")
        return lambda record: _raise(problem)
    if after.dropped is True:
        return lambda record: DROPPED
    apply = _compiled(plan, after)
    if after.dropped is False:
        return apply
    drops = expr_function(after.dropped)
    return lambda record: DROPPED if drops(record) else apply(record)


def _compiled(plan: StagePlan, after: PlanRecord) -> Apply:
    """Returns a function that applies the changes in ``plan`` to a record. The caller has already checked that the
    stage does not drop the record.
    """
    fixed, touches = 0, []
    for touch in after.touched:
        if touch.when is None:
            fixed |= 1 << touch.entry
        else:
            touches.append((1 << touch.entry, expr_function(touch.when)))
    changes = tuple(_changes(plan.before, after))
    if len(changes) == 1 and changes[0][0] == "topic" and len(touches) <= 1:
        route = _routing(changes[0][2], fixed, touches)
        exprs = [after.topic.expr, *(touch.when for touch in after.touched)]
        if all(map(reads_topic_only, exprs)):
            return _remembered(route)
        return route

    def apply(record: Record) -> None:
        bits = fixed
        for bit, function in touches:
            if function(record) is not None:
                bits |= bit
        # All new values are computed before the first one is stored: a stage may build the key from the value and
        # change the value as well.
        values = []
        for _, _, function in changes:
            values.append(function(record))
        for (name, schema, _), value in zip(changes, values, strict=True):
            setattr(record, name, value)
            if schema is not None:
                setattr(record, f"{name}_schema", schema)
                record.dirty |= KEY_DIRTY if name == "key" else VALUE_DIRTY
        record.touched |= bits

    if after.null_key is after.null_value is False:
        return apply
    return _with_nulls(apply, after)


def _with_nulls(apply: Apply, after: PlanRecord) -> Apply:
    """Returns a function that calls ``apply``, and then corrects the schema of a null. ``after.null_key`` is the schema
    of a null key, and ``after.null_value`` the schema of a null value; False leaves the schema unchanged.
    """
    key_schema, value_schema = after.null_key, after.null_value

    def apply_with_nulls(record: Record) -> None:
        apply(record)
        if key_schema is not False and record.key is None:
            record.key_schema = key_schema
        if value_schema is not False and record.value is None:
            record.value_schema = value_schema

    return apply_with_nulls


def _routing(route: Function, fixed: int, touches: list[tuple[int, Function]]) -> Apply:
    """Returns a fast function for a stage that changes only the topic, as most routers do. ``route`` computes the new
    topic. ``fixed`` and ``touches`` are the ledger bits that the stage sets.
    """
    bit, touched = touches[0] if touches else (0, route)

    def apply(record: Record) -> None:
        if bit and touched(record) is not None:
            record.touched |= bit
        record.touched |= fixed
        record.topic = route(record)

    return apply


def _remembered(route: Apply) -> Apply:
    """Returns a function that does the same as ``route``, but calls ``route`` only once per topic and caches the
    result. ``route`` changes the topic of a record, and reads only the topic.
    """
    known: Cache[str | None, tuple[str | None, int]] = Cache()

    def apply(record: Record) -> None:
        topic = record.topic
        result = known.get(topic)
        if result is None:
            # set to 0, to learn which bits this stage sets
            before, record.touched = record.touched, 0
            route(record)
            result = known[topic] = (record.topic, record.touched)
            record.touched = before
        record.topic = result[0]
        record.touched |= result[1]

    return apply


def reads_topic_only(expr: Expr | None) -> bool:
    """Returns True if ``expr`` reads nothing but the topic of a record."""
    if isinstance(expr, Call):
        return all(map(reads_topic_only, expr.args))
    return expr is None or isinstance(expr, Const) or (isinstance(expr, Ref) and expr.path == ("topic",))


def _raise(problem: Problem) -> object:
    # the interpreter adds the place of the stage
    raise DataError(replace(problem, place=""))


def _changes(before: PlanRecord, after: PlanRecord) -> list[tuple[str, Schema | None, Function]]:
    """Returns an item for each part of a record that a stage changes, such as ``("value", schema, function)``. The
    first part of an item is the name of the changed attribute. The second is its new schema, or None for metadata such
    as the topic. The third is a function that computes the new value from the old record.
    """
    changes: list[tuple[str, Schema | None, Function]] = []
    for side in ("key", "value"):
        node, old = getattr(after, side), getattr(before, side)
        if node is not None and node is not old:
            changes.append((side, node.schema, node_function(node)))
    for name in ("topic", "headers", "timestamp", "partition", "target_partition"):
        cell: Cell = getattr(after, name)
        if cell != getattr(before, name):
            changes.append((name, None, expr_function(cell.expr)))
    return changes
