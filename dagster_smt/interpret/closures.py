"""From expressions to functions: the Python form of a plan."""

from collections.abc import Callable
from typing import Any

from dagster_smt.model.cell import Call, Const, Expr, Group, Node, Ref
from dagster_smt.model.record import Record
from dagster_smt.model.schema import JavaDate

Function = Callable[[Record], Any]


def expr_function(expr: Expr) -> Function:
    """A function of the record before the stage that gives the value of an expression."""
    if isinstance(expr, Const):
        value = expr.value
        return lambda record: value
    if isinstance(expr, Ref):
        return _getter(expr.path)
    return _call(expr)


def _call(expr: Call) -> Function:
    run = expr.rule.bind()
    if expr.args == (Ref(("topic",)),):
        return _per_topic(run)
    args = tuple(expr_function(a) for a in expr.args)
    if len(args) == 1:
        (only,) = args
        return lambda record: run(only(record))
    if len(args) == 2:
        first, second = args
        return lambda record: run(first(record), second(record))
    return lambda record: run(*[a(record) for a in args])


def _per_topic(run: Callable[[Any], Any]) -> Function:
    """A function of the topic alone is worked out once per topic."""
    known: dict[str | None, Any] = {}

    def get(record: Record) -> Any:
        topic = record.topic
        if topic not in known:
            known[topic] = run(topic)
        return known[topic]

    return get


def _getter(path: tuple[str, ...]) -> Function:
    root, below = path[0], path[1:]
    if root == "timestamp":
        return lambda record: None if record.timestamp is None else JavaDate(record.timestamp)
    if root == "value" and len(below) == 1:
        return _field_of_value(below[0])
    if not below:
        return lambda record: getattr(record, root)

    def get(record: Record) -> Any:
        value = getattr(record, root)
        for name in below:
            if value is None:
                return None
            value = value.get(name)
        return value

    return get


def _field_of_value(name: str) -> Function:
    return lambda record: None if record.value is None else record.value.get(name)


def node_function(node: Node) -> Function:
    """A function of the record before the stage that gives the value of a node."""
    if not isinstance(node, Group):
        return expr_function(node.expr)
    base = node.present.path if isinstance(node.present, Ref) else None
    copies, made = [], []
    for name, child in node.fields:
        expr = None if isinstance(child, Group) else child.expr
        if base is not None and isinstance(expr, Ref) and expr.path[:-1] == base:
            copies.append((name, expr.path[-1]))
        else:
            made.append((name, node_function(child)))
    present = None if node.present is None else expr_function(node.present)
    return _struct(present, tuple(copies), tuple(made))


def _struct(
    present: Function | None, copies: tuple[tuple[str, str], ...], made: tuple[tuple[str, Function], ...]
) -> Function:
    def build(record: Record) -> Any:
        result: dict[str, Any] = {}
        if present is not None:
            source = present(record)
            if source is None:
                return None
            for name, old in copies:
                result[name] = source.get(old)
        for name, make in made:
            result[name] = make(record)
        return result

    return build
