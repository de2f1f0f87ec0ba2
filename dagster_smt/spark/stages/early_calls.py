"""Runs Python rules while Spark reads records in Python. A rule is a function of one value, such as "parse this date".

A rule that must run in Python costs time, because each record usually travels to Python and back once more. But the
reader of keys and values also runs in Python. While it builds the column of a field, it can apply the rule, if no stage
has changed the field before.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from dagster_smt.chain.plan import Step
from dagster_smt.errors import DataError, EngineError, SmtError, problem_of_record
from dagster_smt.jvm.columns import is_slow_in_spark
from dagster_smt.model.cell import Call, Cell, Node, Rule, calls_in
from dagster_smt.model.schema import BOOLEAN, Schema, Type
from dagster_smt.spark.column_values import arrow_type
from dagster_smt.spark.plain import reader, writer
from dagster_smt.spark.stages.elements import is_python
from dagster_smt.spark.workers import WorkerError

_CONTAINERS = (Type.STRUCT, Type.ARRAY, Type.MAP)


@dataclass(frozen=True)
class EarlyCall:
    """A call of a rule (a function of one value) that the reader applies to one field of a key or value.

    Attributes:
        column: The name of the new column with the results. A second new column, ``raised``, contains the class of an
            unexpected exception.
        field: The name of the field's column, such as ``f0`` (see ``SideColumns.fields``).
        rule, source, returns: The rule, the schema of its argument, and the schema of its result.
    """

    column: str
    field: str
    rule: Rule
    source: Schema
    returns: Schema

    @property
    def raised(self) -> str:
        """The name of the column with the class names of unexpected exceptions that the rule has raised."""
        return f"{self.column}_raised"

    def results(self) -> Callable[[pa.Array], tuple[pa.Array, pa.Array]]:
        """Returns a function that applies the rule to the field's column. The function returns two columns: the results
        (dates and timestamps as numbers), and the class names of unexpected exceptions.
        """
        rule, kind = self.rule, arrow_type(self.returns)
        run = in_python(rule, rule.bind(), (self.source,), self.returns)
        # all values at once is faster; ``one`` is only for batches in which this fails
        read, many, write = reader(self.source), rule.bind_many(), writer(self.returns)

        def one(value: Any) -> tuple[pa.Array, str | None]:
            result, raised = run(value)
            try:
                return pa.array([result], kind), raised
            except Exception as error:  # noqa: BLE001 the result does not have the type that the rule declares
                return pa.nulls(1, kind), exception_class(error)

        def results(column: pa.Array) -> tuple[pa.Array, pa.Array]:
            values = column.to_pylist()
            try:
                return pa.array(list(map(write, many(list(map(read, values))))), kind), pa.nulls(
                    len(values), pa.string()
                )
            except Exception as error:  # noqa: BLE001 the values are tried one by one, and those that fail become null
                # only raises the error again if no record can be its cause; the loop below finds the values that fail
                exception_class(error, rule)
            pairs = list(map(one, values))
            return pa.concat_arrays([part for part, _ in pairs]), pa.array([raised for _, raised in pairs], pa.string())

        return results


@dataclass
class EarlyCalls:
    """The calls of rules (functions of one value) that the reader of keys and values runs.

    Attributes:
        fields: Maps the column of a field to two names: the column of the whole key or value, and the field in that
            column. Only fields that no stage has changed are included.
        calls: Maps the column of a key or value to its calls, in the order in which stages requested them.
        settled: False until the reader has been built. Then True, and no further call can be added.
        in_lane: True if the JVM lane, the Java code inside Spark, reads keys and values. The lane runs some rules
            faster than Catalyst.
    """

    fields: Mapping[str, tuple[str, str]]
    calls: dict[str, list[EarlyCall]] = field(default_factory=dict)
    settled: bool = False
    in_lane: bool = False

    def wants(self, rule: Rule, source: Schema) -> bool:
        """Returns True if ``rule`` takes less time in the reader than in Catalyst. This is possible only if the reader
        is the JVM lane, the Java code inside Spark. ``source`` is the schema of the rule's argument.
        """
        return self.in_lane and is_slow_in_spark(rule, source)

    def place(self, call: Call, column: str, source: Schema, returns: Schema) -> tuple[str, EarlyCall] | None:
        """Asks the reader of keys and values to run ``call``. Returns two items: the name of the reader's column for
        the whole key or value, such as ``read_value``; and an ``EarlyCall``. The result of ``call`` will be in the
        field ``EarlyCall.column`` of this column. Returns None if the reader cannot run the call.

        ``column`` is the column of the call's only argument.
        """
        if column not in self.fields or returns.type in _CONTAINERS:
            return None
        side, name = self.fields[column]
        known = self.calls.get(side, [])
        # two stages may need the same result, which is then computed once
        for one in known:
            if (one.field, one.rule, one.returns) == (name, call.rule, returns):
                return side, one
        if self.settled:
            return None
        # the reader's own fields are f0, f1 and so on, so ``e`` names cannot clash
        early_call = EarlyCall(f"e{len(known)}", name, call.rule, source, returns)
        self.calls[side] = [*known, early_call]
        return side, early_call


def runs_python(step: Step) -> bool:
    """Returns True if a stage (``step``) needs a rule that Catalyst cannot run, so that Python must run it. A rule is a
    function of one value.
    """
    after, exprs = step.plan.after, [step.plan.condition]
    nodes: list[Node | None] = []
    if after is not None:
        nodes = [after.key, after.value, after.topic, after.headers, after.timestamp, after.partition]
        exprs += [after.dropped, *(touch.when for touch in after.touched if touch.when is not None)]
    for expr in exprs:
        if not isinstance(expr, bool):
            nodes.append(Cell(BOOLEAN, expr, frozenset()))
    for node in nodes:
        for call in calls_in(node):
            if is_python(call):
                return True
    return False


def in_python(
    rule: Rule, work: Callable[..., Any], kinds: tuple[Schema | None, ...], returns: Schema
) -> Callable[..., tuple[Any, str | None]]:
    """Returns a function that applies ``rule`` in Python to values from Spark columns, in which dates and timestamps
    are numbers (the plain form).

    Args:
        rule: The rule, a function of one value or several.
        work: The Python function of the rule: ``rule.python``. It may be ``rule.bind()`` if nothing pickles the
            function.
        kinds: The schemas of the arguments.
        returns: The schema of the result.

    Returns:
        A function that returns a pair. If the rule succeeds: the result and None. If the rule fails: None, and the text
        by which the function ``exception_class`` describes the error.
    """
    inputs, output = tuple(map(reader, kinds)), writer(returns)

    def run(*args: Any) -> tuple[Any, str | None]:
        try:
            return output(work(*(convert(a) for convert, a in zip(inputs, args, strict=True)))), None
        except EngineError as error:
            raise WorkerError(error) from None
        except Exception as error:  # noqa: BLE001 whatever it is, the value has it
            return None, exception_class(error, rule)

    return run


def exception_class(error: Exception, rule: Rule | None = None) -> str | None:
    """Returns a text that describes an unexpected exception. For an error of this package, the text is the problem
    code, such as ``SMT426``. For any other exception, it is the class name, such as ``KeyError``. Returns None for the
    one error that the rule is expected to raise, its ``failure``.

    Args:
        error: The exception.
        rule: The rule that raised ``error``; None if no error is expected.

    Raises:
        Exception: ``error`` itself, if no record caused the error.
    """
    problem = problem_of_record(error)
    if not isinstance(error, SmtError):
        return type(error).__name__
    if rule is None or not rule.may_fail or not isinstance(error, DataError):
        return problem.code
    others = {other.problem.code for other in rule.other_failures()}
    if problem.code in others:
        return problem.code
    return None
