"""The Spark evaluator: it runs the stages of a plan with Spark columns.

For each stage, one ``select`` computes the changes. If the stage can fail, drop, route on a condition or be counted, a
second ``select`` updates the record's status.

Later stages still compute columns for a record that has failed or was dropped. But nothing reads these columns, and no
expression can raise an error. A null key or value has no schema here (difference D6), because all nulls in a column
look the same.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import and_, or_

from pyspark.sql import DataFrame

from dagster_smt.chain.plan import Plan, StagePlan, Step, same_schemas
from dagster_smt.errors import DataError, Problem, unprocessable
from dagster_smt.model.cell import Call, Cell, Each, Expr, Group, Node, Ref, Rule
from dagster_smt.model.record import PlanRecord, Touch
from dagster_smt.model.schema import BOOLEAN, Type
from dagster_smt.spark import sql as F
from dagster_smt.spark.flat_columns import Layout, Leaf, Place, Struct, built, columns_of, field_of, presence_of
from dagster_smt.spark.outcome_columns import BITS, words
from dagster_smt.spark.sql import Column, select
from dagster_smt.spark.stages.early_calls import EarlyCalls
from dagster_smt.spark.stages.elements import needs_python, problems_of
from dagster_smt.spark.stages.expressions import Scope, eaches, failing_calls, failing_inside
from dagster_smt.values.value_rule import NotNull

_META = ("__topic", "__partition", "__offset", "__status", "__stage", "__why")


Beat = Callable[[], None]


def no_beat() -> None:
    """Does nothing. A caller passes this function as ``beat`` if it never stops the work."""


@dataclass
class State:
    """The columns of all records that have the same schemas at some point in the chain. ``sides`` describes the columns
    of key and value. ``columns`` maps the metadata, such as the topic, to column names. ``routed`` is True after a
    stage that can change the topic.
    """

    sides: dict[str, Layout]
    columns: dict[str, str]
    routed: bool = False


@dataclass
class Update:
    """The changes that one stage makes to a record's status: failed, dropped, or touched (counted in the ledger). The
    columns may use the columns before the stage, and the new columns of the stage.

    Attributes:
        failures: Pairs of a boolean column and the number of a problem. A record for which the column is true fails
            with this problem. If several columns are true, the first pair counts.
        drops: A boolean column that is true for dropped records; None if the stage drops none.
        touches: Pairs of the number of a ledger entry and a column. The entry counts the records for which the column
            is not null. If the column is None, the entry counts all records on which the stage acts.
    """

    failures: list[tuple[Column, int]] = field(default_factory=list)
    drops: Column | None = None
    touches: list[tuple[int, Column | None]] = field(default_factory=list)


class TypedEvaluator:
    """An evaluator that runs the stages of a plan on a frame.

    Args:
        plan: The plan.
        frame: The records; None to build the expressions only.
        columns: The names of the columns of the frame.
        state: Says in which columns key, value and metadata are before the first stage.
        ledger: True to record, in a bitmap, which ledger entries (stage and field) each record touches.
        beat: Is called now and then. To stop the work, ``beat`` may raise an exception.
        early: The rules that run while records are read.

    Attributes:
        classes: Maps the number of a problem to the names of columns. These columns contain the class names of the
            unexpected exceptions that the problem reports.
    """

    def __init__(
        self,
        plan: Plan,
        frame: DataFrame | None,
        columns: list[str],
        state: State,
        *,
        ledger: bool = True,
        beat: Beat = no_beat,
        early: EarlyCalls | None = None,
    ):
        self.plan, self.beat, self.early = plan, beat, early
        self._frame = frame
        self.columns = [*columns]
        self.states: dict[int, State] = {0: state}
        self.problems: list[Problem] = []
        self.classes: dict[int, list[str]] = {}
        if ledger:
            touched = []
            for n in range(words(len(plan.entries))):
                touched.append(f"__t{n}")
            self.touched = touched
        else:
            self.touched = []
        # with a single variant, no column has to distinguish the variants of the rows
        self.variants = any(s.taken not in (None, s.variant) for s in plan.steps)
        self.count = 0

    @property
    def frame(self) -> DataFrame:
        """The records after the stages that have been run."""
        assert self._frame is not None
        return self._frame

    def run(self) -> None:
        """Runs all stages. Without a frame, the evaluator only builds the expressions."""
        start = {}
        for name in self.touched:
            start[name] = F.lit(0).cast("bigint")
        if self.variants:
            start["__variant"] = F.lit(0)
        if start:
            self._also(start)
        for index in range(len(self.plan.chain.stages)):
            self._stage([s for s in self.plan.steps if s.plan.index == index])

    def why(self, problem: Problem) -> int:
        """Returns the number of ``problem`` in ``problems``. A new problem gets the next number."""
        if problem not in self.problems:
            self.problems.append(problem)
        return self.problems.index(problem)

    def _name(self) -> str:
        self.count += 1
        return f"c{self.count}"

    def _stage(self, steps: list[Step]) -> None:
        added: dict[str, Column] = {}
        plans = []
        for step in steps:
            if step.plan.condition is not False:
                plans.append((_StepRun(self, step, added), step))
        for run, _ in plans:
            run.compute()
        if added:
            self._also(added)
        updated = self._status(plans)
        states: dict[int, State] = {}
        for step in steps:
            if step.plan.condition is False:
                states[step.variant] = self.states[step.variant]
        for run, _ in plans:
            states.update(run.results())
        self.states = states
        self._keep(updated)

    def _status(self, plans: list[tuple["_StepRun", Step]]) -> dict[str, Column]:
        """Returns the new status columns after a stage: the status, the stage, the problem, the bits of the ledger, and
        a number for the schemas that the record now has. ``plans`` contains the steps of the stage, one for each
        combination of schemas that records have.
        """
        status, stage, why = F.col("__status"), F.col("__stage"), F.col("__why")
        variant = F.col("__variant") if self.variants else None
        touched: dict[str, Column] = {}
        changed = moved = False
        for run, step in plans:
            acts, update = run.acts(), run.update
            failed = F.lit(False)
            # The order is reversed, because the outermost WHEN takes precedence. So the first problem in Connect's
            # order becomes the outermost.
            for check, number in reversed(update.failures):
                why = F.when(acts & check, F.lit(number)).otherwise(why)
                failed = failed | check
            if update.failures:
                status = F.when(acts & failed, F.lit(2)).otherwise(status)
            if update.drops is not None:
                status = F.when(acts & update.drops, F.lit(1)).otherwise(status)
            gone = failed if update.drops is None else failed | update.drops
            loses = bool(update.failures) or update.drops is not None
            if loses:
                stage, changed = F.when(acts & gone, F.lit(step.plan.index)).otherwise(stage), True
            # a record that the stage drops or rejects is not counted, as in the Python evaluator
            self._touch(touched, update, acts & ~gone if loses else acts)
            if step.taken not in (None, step.variant):
                variant, moved = F.when(acts, F.lit(step.taken)).otherwise(variant), True
        columns = dict(touched)
        if changed:
            columns.update({"__status": status.cast("tinyint"), "__stage": stage, "__why": why})
        if moved and variant is not None:
            columns["__variant"] = variant
        return columns

    def _touch(self, touched: dict[str, Column], update: Update, acts: Column) -> None:
        for entry, when in update.touches if self.touched else ():
            name = self.touched[entry // BITS]
            bit = F.lit(1 << entry % BITS).cast("bigint")
            met = acts if when is None else acts & when.isNotNull()
            zero = F.lit(0).cast("bigint")
            touched[name] = touched.get(name, F.col(name)).bitwiseOR(F.when(met, bit).otherwise(zero))

    def _keep(self, updated: dict[str, Column]) -> None:
        """Removes the columns that neither a later stage nor the result needs. Replaces the columns in ``updated`` by
        their new values.
        """
        needed = set(_META) | set(self.touched) | ({"__variant"} if self.variants else set())
        # columns with this prefix belong to the caller, or contain the classes of exceptions: the result shows them
        needed |= {c for c in self.columns if c.startswith("in_")}
        for state in self.states.values():
            needed |= set(state.columns.values()).union(*map(columns_of, state.sides.values()))
        # a later stage may still need the results of rules that the reader has run
        needed |= self.early.calls.keys() if self.early is not None else set()
        needed_columns = [c for c in self.columns if c in needed]
        if updated or len(needed_columns) < len(self.columns):
            self.columns = needed_columns
            self._select(updated[c].alias(c) if c in updated else F.col(c) for c in needed_columns)

    def _also(self, added: dict[str, Column]) -> None:
        self.columns += added
        self._select(F.alias_all(added), also=True)

    def _select(self, columns: Iterable[Column], *, also: bool = False) -> None:
        if self._frame is not None:
            self._frame = select(self._frame, *columns, also=also)


class _StepRun:
    """The execution of one stage for the records with the same schemas (a variant). It computes the columns that the
    stage adds or changes.
    """

    def __init__(self, evaluator: TypedEvaluator, step: Step, added: dict[str, Column]):
        self.evaluator, self.step, self.plan, self.added = evaluator, step, step.plan, added
        self.side = step.plan.stage.acts_on
        self.before = evaluator.states[step.variant]
        # after a router, the planned topics no longer list the topics of the records
        topics = () if self.before.routed else evaluator.plan.topics
        self.scope = Scope(self.before.sides, self.before.columns, topics, evaluator.early)
        self.update = Update()
        self.go: str | None = None
        self.after = replace(self.before, sides=dict(self.before.sides), columns=dict(self.before.columns))

    def compute(self) -> None:
        """Adds the stage's new columns to the evaluator's frame. Also collects the conditions under which a record
        fails, is dropped, or is counted in the ledger.
        """
        if isinstance(self.plan.condition, bool):
            met = []
        else:
            met = [self._condition(self.plan.condition)]
        if self.plan.guarded:
            met.append(self.scope.presence(Ref((self.side,))).isNotNull())
        if met:
            self.go = self.evaluator._name()
            # a separate select is needed, because the values and the status of this stage refer to the column
            self.evaluator._also({self.go: reduce(and_, met), **self._raised()})
        if self.plan.failure is not None:
            self._null_rule()
            self.after.sides.pop(self.side, None)  # a record continues only if the key or value is null
            self._lose(self._applies(), self.plan.failure)
        elif self.plan.after is not None:
            self._null_rule()
            self._drop(self.plan.after.dropped)
            self._sides(self.plan.before, self.plan.after)
            self.update.touches = [(t.entry, self._when(t)) for t in self.plan.after.touched]
        self.added.update(self._raised())

    def _condition(self, expr: Expr) -> Column:
        """Returns a boolean column that is true for records on which the stage acts. ``expr`` is the predicate of the
        stage.

        The column is also true if the predicate itself raises an exception. Such a record then fails in this stage.
        """
        met = F.coalesce(self.scope.value(expr), F.lit(False))
        met = ~met if self.plan.stage.negate else met
        return reduce(or_, (column.isNotNull() for column, _ in self.scope.raised), met)

    def _raised(self) -> dict[str, Column]:
        """Returns new columns as a dict from column name to expression. The columns contain the class names of
        unexpected exceptions that Python rules have raised. Also adds these exceptions to the failures of the stage.
        """
        problem = replace(unprocessable(""), place=self.plan.stage.place)
        columns: dict[str, Column] = {}
        for column, rule in self.scope.raised:
            name = f"in_{self.evaluator._name()}"  # the prefix keeps the column until the end
            columns[name] = column
            number = self.evaluator.why(problem)
            self.evaluator.classes.setdefault(number, []).append(name)
            there = F.col(name).isNotNull()
            known = []
            for p in self._other_problems(rule):
                known.append((F.col(name).eqNullSafe(p.code), self.evaluator.why(p)))
            # before the other failures, because Connect would have stopped at the exception
            self.update.failures[:0] = [*known, (there, number)]
            if self.update.drops is not None:
                self.update.drops = self.update.drops & ~there
        self.scope.raised.clear()
        return columns

    def _other_problems(self, rule: Rule | None) -> list[Problem]:
        """Returns the problems that ``rule`` may report in addition to its main problem, ``failure()``. The columns of
        exception classes contain the codes of these problems, such as ``SMT426``.
        """
        errors = rule.other_failures() if rule is not None else ()
        return [replace(error.problem, place=self.plan.stage.place) for error in errors]

    def _applies(self) -> Column:
        """Returns a boolean column that is true for records that fail in this stage, because the stage cannot process
        their schema. Usually all records fail. But some transforms leave a null key or value unchanged; then a record
        with such a null does not fail.
        """
        if self.plan.spares is not None:
            return self.scope.presence(Ref((self.side,))).isNotNull()
        return F.lit(True)

    def _null_rule(self) -> None:
        rule = self.plan.stage.transform.on_null()
        if rule not in ("reject", "drop") or self.side not in self.before.sides:
            return
        absent = self.scope.presence(Ref((self.side,))).isNull()
        if rule == "drop":
            self.update.drops = absent
        else:
            self._lose(absent, null_problem(self.plan))

    def _drop(self, when: Expr | bool) -> None:
        """Marks a record as dropped if the expression ``when`` is true for the record. A record that has failed earlier
        in this stage is not dropped. A record that is dropped can no longer fail.
        """
        if when is False:
            return
        drops = F.lit(True)
        if not isinstance(when, bool):
            drops = F.coalesce(F.col(self._computed(Cell(BOOLEAN, when, frozenset()), None)), F.lit(False))
        # only the failures so far, because in Connect they happen before the drop
        for failed, _ in self.update.failures:
            drops = drops & ~failed
        if self.update.drops is None:
            self.update.drops = drops
        else:
            self.update.drops = self.update.drops | drops

    def _lose(self, failed: Column, problem: Problem) -> None:
        """Marks a record as failed, with the reason ``problem``, if the column ``failed`` is true for the record. A
        record that has been dropped stays dropped.
        """
        if self.update.drops is None:
            there = failed
        else:
            there = failed & ~self.update.drops
        self.update.failures.append((there, self.evaluator.why(problem)))

    def _when(self, touch: Touch) -> Column | None:
        if touch.when is None:
            return self._side_presence()
        if self.scope.is_struct(touch.when):
            return self.scope.presence(touch.when)
        return self.scope.value(touch.when)

    def _side_presence(self) -> Column | None:
        if self.side in self.before.sides:
            return self.scope.presence(Ref((self.side,)))
        return None

    def acts(self) -> Column:
        """Returns a boolean column that is true for the records on which the stage acts. These records have not been
        dropped and have not failed, have the schemas of this variant, and satisfy the predicate.
        """
        acts = F.col("__status") == 0
        if self.evaluator.variants:
            acts = acts & (F.col("__variant") == self.step.variant)
        if self.go:
            return acts & F.col(self.go)
        return acts

    def results(self) -> dict[int, State]:
        """Returns the columns that the records can have after this stage. If the stage changes the schema of only some
        records, the result has two entries: one for the records that skip the stage, and one for the changed records.
        The keys are the numbers of the variants.
        """
        states: dict[int, State] = {}
        if self.step.skipped is not None:
            states[self.step.skipped] = self.before
        if self.step.taken is not None:
            states[self.step.taken] = self.after
        return states

    @cached_property
    def _stays(self) -> bool:
        """True if the stage has a condition, and if its changed records and its skipped records have the same schemas
        after the stage.
        """
        return self.go is not None and self.step.taken == self.step.skipped

    @cached_property
    def _merges(self) -> bool:
        """True if the stage has a condition, and leaves the schemas of key and value unchanged. Changed and skipped
        records then share their columns. For example, one column ``email`` contains the masked values of changed
        records, and the original values of records that skip the stage.

        If False, the stage's new columns are null for the records that skip it.
        """
        return self._stays and self.plan.after is not None and same_schemas(self.plan.before, self.plan.after)

    def _sides(self, before: PlanRecord, after: PlanRecord) -> None:
        for side in ("key", "value"):
            node, old = getattr(after, side), getattr(before, side)
            # a stage that leaves a side alone passes on the same node of the plan
            if node is not None and node is not old:
                self.after.sides[side] = self._root(node, self.before.sides.get(side))
        for name in ("topic", "headers", "timestamp", "partition"):
            cell: Cell = getattr(after, name)
            if cell == getattr(before, name):
                continue
            column = self._computed(cell, F.col(self.before.columns[name]) if self._stays else None)
            self.after.columns[name] = column
            self.after.routed = self.after.routed or name == "topic"
        chosen = after.target_partition
        if chosen != before.target_partition and failing_calls(chosen.expr):
            self._computed(
                chosen, None
            )  # a table does not use the partition, but a record with an invalid partition is still rejected

    def _root(self, node: Node, old: Layout | None) -> Layout:
        layout = self._layout(node, old)
        if not self._stays or self._merges:
            return layout
        if isinstance(layout, Leaf):
            return replace(layout, column=self._add(F.when(F.col(self.go or ""), self._new(layout.column))))
        there = self._new(layout.present) if layout.present else F.lit(True)
        return replace(layout, present=self._add(F.when(F.col(self.go or ""), there)))

    def _new(self, name: str) -> Column:
        """Returns the expression of the column ``name``. If this stage has added the column, the frame does not contain
        the column yet. The result is then the expression that computes the column.
        """
        return self.added.get(name, F.col(name))

    def _layout(self, node: Node, old: Layout | None) -> Layout:
        if isinstance(node, Cell):
            return self._leaf(node, old)
        fields = {}
        for name, child in node.fields:
            if isinstance(old, Struct):
                before = old.fields.get(name)
            else:
                before = self._below(old, name)
            fields[name] = self._layout(child, before)
        return Struct(node.schema, self._present(node, old), fields)

    def _below(self, old: Layout | None, name: str) -> Layout | None:
        """Adds a column with the field ``name`` of the struct ``old``, which is in one single column. Returns the
        location of the new column. Records that skip the stage keep this value of the field. Returns None if no column
        is needed.
        """
        if not self._merges or not isinstance(old, Leaf) or name not in old.schema.by_name:
            return None
        column = self._add(field_of(F.col(old.column), old.schema, name))
        return Leaf(column, old.schema.by_name[name])

    def _present(self, node: Group, old: Layout | None) -> str | None:
        """Returns the name of a column that is null exactly if the struct ``node`` is null. Returns None if the struct
        is never null. ``old`` describes the columns of the value before the stage.
        """
        if isinstance(node.present, Ref):
            place = self.scope.place(node.present)
            if (
                place is not None
                and isinstance(place.layout, Struct)
                and not (self._merges and place.layout is not old)
            ):
                return place.layout.present
        for call in failing_calls(node.present):
            self._may_fail(call, self.scope.presence(call))
        if node.present is None:
            there = F.lit(True)
        else:
            there = self.scope.presence(node.present)
        if not self._merges or old is None:
            if node.present is None:
                return None
            return self._add(there)
        if node.present is None and isinstance(old, Struct) and old.present is None:
            return None
        before = presence_of(Place(old)).isNotNull()
        return self._add(F.when(F.col(self.go or ""), there).otherwise(F.when(before, F.lit(True))))

    def _leaf(self, cell: Cell, old: Layout | None) -> Layout:
        if isinstance(cell.expr, Ref):
            place = self.scope.place(cell.expr)
            if place is not None and not place.below and not (self._merges and place.layout is not old):
                if isinstance(place.layout, Struct):
                    return place.layout
                return replace(place.layout, schema=cell.schema)
        # the skipped records keep the value that they had
        otherwise = built(old) if self._merges and old is not None else None
        return Leaf(self._computed(cell, otherwise), cell.schema)

    def _computed(self, cell: Cell, otherwise: Column | None) -> str:
        for each in eaches(cell.expr):
            self._elements(each)
        calls = failing_calls(cell.expr)
        if calls and isinstance(cell.expr, Call):
            return self._failing(cell, calls, otherwise)
        column = self._value(cell)
        return self._add(column if otherwise is None else F.when(F.col(self.go or ""), column).otherwise(otherwise))

    def _value(self, cell: Cell) -> Column:
        """Returns one column with the whole value of ``cell``, a value in the plan. A struct whose fields are in
        separate columns becomes one column.
        """
        whole = cell.schema.type is Type.STRUCT and self.scope.is_struct(cell.expr)
        if whole:
            return self.scope.whole(cell.expr)
        return self.scope.value(cell.expr, cell.schema)

    def _failing(self, cell: Cell, calls: list[Call], otherwise: Column | None) -> str:
        assert isinstance(cell.expr, Call)
        name = self._add(self._value(cell))
        # the arguments' calls come first, as in ``failing_calls``, so the first problem is the one that Connect would
        # meet
        for call in calls:
            if call is cell.expr:
                result = F.col(name)
            else:
                result = self.scope.value(call, self.scope.schema_of(call))
            self._may_fail(call, result)
        if otherwise is None:
            return name
        return self._add(F.when(F.col(self.go or ""), self._value(cell)).otherwise(otherwise))

    def _elements(self, each: Each) -> None:
        """Registers the failures that can happen while the expression ``each`` changes the elements of an array or map.
        A record fails if at least one element fails.
        """
        if not needs_python(each):
            for call, around in failing_inside(each.body, (each,)):
                self._fails(call.rule, self.scope.failed_inside(call, around))
            return
        problems = problems_of(each)
        if not problems:
            return
        why = F.col(self._add(self.scope.python_each(each).getField("why")))
        for number, problem in enumerate(problems):
            placed = replace(problem, place=self.plan.stage.place)
            self._lose(F.coalesce(why == F.lit(number), F.lit(False)), placed)

    def _may_fail(self, call: Call, result: Column) -> None:
        self._fails(call.rule, self.scope.failed(call, result))

    def _fails(self, rule: Rule, failed: Column) -> None:
        error: DataError = rule.failure()  # type: ignore[attr-defined]
        problem = replace(error.problem, place=self.plan.stage.place)
        self._lose(failed, problem)

    def _add(self, column: Column) -> str:
        self.evaluator.beat()
        name = self.evaluator._name()
        self.added[name] = column
        return name


def null_problem(plan: StagePlan) -> Problem:
    """Returns the problem that the transform of ``plan`` reports for a null key or value."""
    error: DataError = NotNull(plan.stage.transform.purpose).failure()
    return replace(error.problem, place=plan.stage.place)
