"""Compiles expressions into Python functions, with which the Python evaluator runs a plan.

For example, ``Call(rule, (Ref(("value", "a")),))`` becomes a function that reads ``record.value["a"]`` and calls the
rule. An expression is compiled once, so that it need not be interpreted for each record.

Elements of arrays and maps: an expression inside an ``Each`` refers to the current element by a name. Functions only
receive the record, so the element cannot be an argument. Instead the loop and the functions inside share a *box*, a
list of one item: the loop stores the current element in ``box[0]``, and the functions read it there.
"""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from dagster_smt.model.cell import AnyItem, Call, Const, Each, Expr, Group, Key, Node, Ref, Select
from dagster_smt.model.paths.steps import Every, Index
from dagster_smt.model.record import Record
from dagster_smt.model.schema import JavaDate
from dagster_smt.values.java.regex import compile_java

Function = Callable[[Record], Any]
Items = Mapping[str, list[Any]]
"""Maps the name of an array or map element in an expression to its box. A box is a list of one item, in which the loop
over the elements stores the current element.
"""


def expr_function(expr: Expr, items: Items = MappingProxyType({})) -> Function:
    """Returns a function that receives a record, and computes the value of ``expr`` from the record. The function must
    be called before the stage changes the record. ``items`` maps the names of array or map elements to their boxes,
    which hold the current element.
    """
    if isinstance(expr, Const):
        value = expr.value
        return lambda record: value
    if isinstance(expr, Ref):
        if expr.path[0] in items:
            return _item_getter(items[expr.path[0]], expr.path[1:])
        return _getter(expr.path)
    if isinstance(expr, Each):
        return _each(expr, items)
    if isinstance(expr, AnyItem):
        return _any_item(expr, items)
    return _call(expr, items)


def _each(expr: Each, items: Items) -> Function:
    container, select = expr_function(expr.container, items), _selector(expr.select)
    box: list[Any] = [None]
    if expr.body is None:
        body = None
    else:
        body = node_function(expr.body, {**items, expr.item: box})
    every = isinstance(expr.select, Every)

    def change(record: Record) -> Any:
        value = container(record)
        if value is None:
            return None
        if body is None:
            return _without(value, select(value))
        if every and type(value) is list:
            changed = []
            for box[0] in value:  # the loop variable is the box: ``body`` reads the element there
                changed.append(body(record))
            return changed

        # the input must stay as it is: other expressions of the stage still read it
        changed = value.copy()
        for key in select(value):
            box[0] = value[key]
            changed[key] = body(record)
        return changed

    return change


def _without(value: Any, keys: Collection[Any]) -> Any:
    if type(value) is dict:
        return {key: child for key, child in value.items() if key not in keys}
    return [child for number, child in enumerate(value) if number not in keys]


def _any_item(expr: AnyItem, items: Items) -> Function:
    container, select = expr_function(expr.container, items), _selector(expr.select)
    box: list[Any] = [None]
    when = expr_function(expr.when, {**items, expr.item: box})

    def find(record: Record) -> Any:
        value = container(record)
        for key in () if value is None else select(value):
            box[0] = value[key]
            if when(record) is not None:
                return True
        return None

    return find


def _selector(select: Select) -> Callable[[Any], Collection[Any]]:
    """Returns a function that lists the elements that ``select`` selects. For an array, the function returns indexes,
    such as ``(0,)``; for a map, it returns keys.
    """
    if isinstance(select, Every):
        return lambda value: value.keys() if type(value) is dict else range(len(value))
    if isinstance(select, Index):
        number = select.number
        # -1 of an array with three elements is the index 2
        return lambda value: (number % len(value),) if -len(value) <= number < len(value) else ()
    if isinstance(select, Key):
        name = select.name
        return lambda value: (name,) if name in value else ()
    search = compile_java(select.java).search
    return lambda value: [key for key in value if search(key)]


def _item_getter(box: list[Any], below: tuple[str, ...]) -> Function:
    if not below:
        return lambda record: box[0]
    if len(below) == 1:
        (name,) = below
        return lambda record: None if box[0] is None else box[0].get(name)

    def get(record: Record) -> Any:
        return _below(box[0], below)

    return get


def _below(value: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        if value is None:
            return None
        value = value.get(name)
    return value


def _call(expr: Call, items: Items) -> Function:
    run = expr.rule.bind()
    if expr.args == (Ref(("topic",)),):
        return _per_topic(run)
    # The two usual cases, one and two arguments, need no list of arguments for each record.
    args = tuple(expr_function(a, items) for a in expr.args)
    if len(args) == 1:
        (only,) = args
        return lambda record: run(only(record))
    if len(args) == 2:
        first, second = args
        return lambda record: run(first(record), second(record))
    return lambda record: run(*[a(record) for a in args])


def _per_topic(run: Callable[[Any], Any]) -> Function:
    """Returns a function that calls ``run`` with the topic of a record. It calls ``run`` once per topic, and remembers
    the results.
    """
    known: dict[str | None, Any] = {}

    def get(record: Record) -> Any:
        topic = record.topic
        if topic not in known:
            known[topic] = run(topic)
        return known[topic]

    return get


def _getter(path: tuple[str, ...]) -> Function:
    root, below = path[0], path[1:]
    # a record holds milliseconds, and rules expect Connect's Timestamp
    if root == "timestamp":
        return lambda record: None if record.timestamp is None else JavaDate(record.timestamp)
    # nearly all paths name a top-level field of the value, so they have the shortest function
    if root == "value" and len(below) == 1:
        return _field_of_value(below[0])
    if not below:
        return lambda record: getattr(record, root)

    return lambda record: _below(getattr(record, root), below)


def _field_of_value(name: str) -> Function:
    return lambda record: None if record.value is None else record.value.get(name)


def node_function(node: Node, items: Items = MappingProxyType({})) -> Function:
    """Returns a function that receives a record, and computes the value of ``node``, a struct or another part of the
    plan. The function must be called before the stage changes the record. ``items`` maps the names of array or map
    elements to their boxes, which hold the current element.
    """
    if not isinstance(node, Group):
        return expr_function(node.expr, items)
    base = node.present.path if isinstance(node.present, Ref) else None
    copies, computed = [], []
    for name, child in node.fields:
        expr = None if isinstance(child, Group) else child.expr
        # fields that are only copied from the same struct need no function each
        if base is not None and isinstance(expr, Ref) and expr.path[:-1] == base:
            copies.append((name, expr.path[-1]))
        else:
            computed.append((name, node_function(child, items)))
    if node.present is None:
        present = None
    else:
        present = expr_function(node.present, items)
    return _struct(present, tuple(copies), tuple(computed))


def _struct(
    present: Function | None, copies: tuple[tuple[str, str], ...], computed: tuple[tuple[str, Function], ...]
) -> Function:
    def build(record: Record) -> Any:
        result: dict[str, Any] = {}
        if present is not None:
            source = present(record)
            if source is None:
                return None
            for name, old in copies:
                result[name] = source.get(old)
        for name, make in computed:
            result[name] = make(record)
        return result

    return build
