"""Runs Python rules while records are read, because the records are in Python at that time anyway.

A rule that runs in Python (a date pattern, a Java regular expression) usually costs each record another trip to Python
and back. But most such rules take one unchanged field, and this field is in Python while the reader builds its column.
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
    """A call of a rule on one field of a key or value.

    Attributes:
        column: The name of the result column, which is next to the fields of the key or value. Another column,
            ``raised``, contains the class of an unexpected exception.
        field: The name of the field in ``SideColumns.fields``.
        rule, source, returns: The rule, the schema of its argument, and the schema of its result.
    """

    column: str
    field: str
    rule: Rule
    source: Schema
    returns: Schema

    @property
    def raised(self) -> str:
        """The name of the column with the exception class, which is next to the result."""
        return f"{self.column}_raised"

    def results(self) -> Callable[[pa.Array], tuple[pa.Array, pa.Array]]:
        """Returns a function that converts the field's column into two columns in the plain form: the results, and
        ``raised``.
        """
        rule, kind = self.rule, arrow_type(self.returns)
        run = in_python(rule, rule.bind(), (self.source,), self.returns)
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
                exception_class(error, rule)
            pairs = list(map(one, values))
            return pa.concat_arrays([part for part, _ in pairs]), pa.array([raised for _, raised in pairs], pa.string())

        return results


@dataclass
class EarlyCalls:
    """The rule calls that the reader runs.

    Attributes:
        fields: Maps the column of an unchanged field to its origin: the column with the whole key or value, and the
            name of the field in that column.
        calls: Maps the column of a key or value to its calls, in the order in which stages requested them.
        settled: True after the reader has been built. The reader declines all later requests.
        in_lane: True if the JVM lane reads keys and values. The lane runs some rules faster than Catalyst.
    """

    fields: Mapping[str, tuple[str, str]]
    calls: dict[str, list[EarlyCall]] = field(default_factory=dict)
    settled: bool = False
    in_lane: bool = False

    def wants(self, rule: Rule, source: Schema) -> bool:
        """Returns True if ``rule``, which Catalyst could also run, takes less time in the reader. ``source`` is the
        schema of the rule's argument.
        """
        return self.in_lane and is_slow_in_spark(rule, source)

    def place(self, call: Call, column: str, source: Schema, returns: Schema) -> tuple[str, EarlyCall] | None:
        """Returns two items: the column with the key or value that contains the argument of ``call``, and the
        ``EarlyCall`` that the reader runs. Returns None if the reader cannot run the call.

        ``column`` is the column of the only argument.
        """
        if column not in self.fields or returns.type in _CONTAINERS:
            return None
        side, name = self.fields[column]
        known = self.calls.get(side, [])
        for one in known:
            if (one.field, one.rule, one.returns) == (name, call.rule, returns):
                return side, one
        if self.settled:
            return None
        early_call = EarlyCall(f"e{len(known)}", name, call.rule, source, returns)
        self.calls[side] = [*known, early_call]
        return side, early_call


def runs_python(step: Step) -> bool:
    """Returns True if ``step`` calls a rule that Catalyst cannot run."""
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
    """Returns a function that applies ``rule`` in Python to values in the plain form. If the rule fails for a value,
    the result is null.

    Args:
        rule: The rule.
        work: ``rule.python``; or ``rule.bind()``, if the function does not have to be pickled again.
        kinds: The schemas of the arguments.
        returns: The schema of the result.

    Returns:
        A function that returns two items: the result, and the ``exception_class`` if the rule raised an exception.
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
    """Returns the class name of ``error``, if the error was unexpected. For an error of this package, returns the
    problem code instead. If ``error`` is the rule's declared failure, returns None.

    Args:
        error: The exception.
        rule: The rule that raised ``error``. If the rule has declared the error as its ``failure``, no class is needed.

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
