"""One stage on Python records: by plan where there is a schema, by the transform's own function where there is none."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from dagster_smt.chain.plan import StagePlan, first_entries, input_record, plan_stage
from dagster_smt.errors import DataError, Problem, data_error
from dagster_smt.interpret.closures import Function, expr_function, node_function
from dagster_smt.model.cell import Call, Cell, Ref
from dagster_smt.model.record import KEY_DIRTY, VALUE_DIRTY, PlanRecord, Record
from dagster_smt.model.schema import Schema
from dagster_smt.spec.stage import Chain, Stage

DROPPED = object()
Apply = Callable[[Record], object]


@dataclass(frozen=True)
class Runner:
    """A stage ready to run: ``test`` (None: always) decides, ``apply`` changes the record or returns ``DROPPED``."""

    stage: Stage
    test: Callable[[Record], bool] | None
    apply: Apply


def runners(chain: Chain) -> tuple[Runner, ...]:
    """Prepare the stages of a chain."""
    return tuple(
        Runner(stage, _test(stage), _StageFunction(stage, index, first).apply)
        for index, (stage, first) in enumerate(zip(chain.stages, first_entries(chain), strict=True))
    )


def _test(stage: Stage) -> Callable[[Record], bool] | None:
    if stage.predicate is None:
        return None
    answer = stage.predicate.test(input_record(None, None))
    if isinstance(answer, bool):
        return lambda record: answer != stage.negate
    function = expr_function(answer)
    if isinstance(answer, Call) and answer.args == (Ref(("topic",)),):
        return _remembering(function, stage.negate)
    return lambda record: bool(function(record)) != stage.negate


def _remembering(function: Function, negate: bool) -> Callable[[Record], bool]:
    """A test that hangs on the topic alone is made once per topic."""
    known: dict[str | None, bool] = {}

    def test(record: Record) -> bool:
        answer = known.get(record.topic)
        if answer is None:
            answer = known[record.topic] = bool(function(record)) != negate
        return answer

    return test


class _StageFunction:
    """Applies one stage; keeps one compiled plan per form of record it has met."""

    def __init__(self, stage: Stage, index: int, first: int):
        self.stage, self.index, self.first = stage, index, first
        transform = stage.transform
        self.plans: dict[tuple[int, int, str], tuple[Apply, Schema | None, Schema | None]] = {}
        self.schemaless = None
        if transform.sided or transform.reads_value:
            bits = tuple(1 << (first + n) for n in range(len(transform.ledger())))
            self.schemaless = transform.schemaless(bits)

    def apply(self, record: Record) -> object:
        if self.schemaless is None:
            return self._planned(record)
        side = self.stage.side or "value"
        schema = record.key_schema if side == "key" else record.value_schema
        value = record.key if side == "key" else record.value
        if value is None:
            if self.stage.transform.null == "pass":
                return None
            if self.stage.transform.null == "reject":
                raise _null(self.stage)
        if schema is not None:
            return self._planned(record)
        after = self.schemaless(value, record)
        if not self.stage.side:
            return None
        if side == "key":
            record.key = after
            record.dirty |= KEY_DIRTY
        else:
            record.value = after
            record.dirty |= VALUE_DIRTY
        return None

    def _planned(self, record: Record) -> object:
        known = (id(record.key_schema), id(record.value_schema), record.kind)
        found = self.plans.get(known)
        if found is None:
            before = input_record(record.key_schema, record.value_schema, kind=record.kind, nullable=True)
            plan = plan_stage(self.stage, self.index, before, self.first)
            # the schemas are kept so that their ids stay theirs
            found = self.plans[known] = (compile_plan(plan), record.key_schema, record.value_schema)
        return found[0](record)


def _null(stage: Stage) -> DataError:
    return data_error(
        "SMT402",
        f"a null key or value cannot be used for [{stage.transform.purpose}]",
        "guard the stage with the predicate RecordIsTombstone and negate=true",
    )


def compile_plan(plan: StagePlan) -> Apply:
    """The function that does to a record what a stage plan says."""
    after = plan.after
    if after is None:
        problem = plan.failure or Problem("SMT999", plan.stage.place, "no record can pass")
        return lambda record: _raise(problem)
    if after.dropped:
        return lambda record: DROPPED
    fixed, touches = 0, []
    for touch in after.touched:
        if touch.when is None:
            fixed |= 1 << touch.entry
        else:
            touches.append((1 << touch.entry, expr_function(touch.when)))
    changes = tuple(_changes(plan.before, after))

    def apply(record: Record) -> None:
        bits = fixed
        for bit, function in touches:
            if function(record) is not None:
                bits |= bit
        values = [function(record) for _, _, function in changes]
        for (name, schema, _), value in zip(changes, values, strict=True):
            setattr(record, name, value)
            if schema is not None:
                setattr(record, f"{name}_schema", schema)
                record.dirty |= KEY_DIRTY if name == "key" else VALUE_DIRTY
        record.touched |= bits

    return apply


def _raise(problem: Problem) -> object:
    raise DataError(replace(problem, place=""))


def _changes(before: PlanRecord, after: PlanRecord) -> list[tuple[str, Schema | None, Function]]:
    """(attribute, new schema or None, function) of everything a stage plan changes."""
    found: list[tuple[str, Schema | None, Function]] = []
    for side in ("key", "value"):
        node, old = getattr(after, side), getattr(before, side)
        if node is not None and node is not old:
            found.append((side, node.schema, node_function(node)))
    for name in ("topic", "headers", "timestamp"):
        cell: Cell = getattr(after, name)
        if cell != getattr(before, name):
            found.append((name, None, expr_function(cell.expr)))
    return found


