"""Defaults of structs, arrays and maps whose fields or elements a stage has changed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dagster_smt.authoring.transform import refuse
from dagster_smt.errors import DataError
from dagster_smt.model.cell import Call, Cell, Const, Each, Expr, Group, Node, Ref
from dagster_smt.model.schema import Type

_HINT = "drop the default from the schema"


def changed_default(before: Group, after: Group, olds: Mapping[str, str]) -> Group:
    """Returns the struct ``after`` with a default that fits its changed fields. If a stage casts the field ``id`` to a
    string, the default ``{"id": 7}`` becomes ``{"id": "7"}``.

    Args:
        before, after: The struct before and after the change.
        olds: Maps the new name of each field to its name before the change.
    """
    default, schema = before.schema.default, before.schema
    if default is None or after.schema.fields == schema.fields:
        return after
    base = _base(before.present)
    values = {}
    for new, node in after.fields:
        # a default changes only with the type of its field: Connect's MaskField, for example, keeps the whole schema
        same = node.schema == schema.by_name[olds[new]]
        values[new] = default.get(olds[new]) if same else _value_of_node(node, base, default)
    return replace(after, schema=after.schema.with_(default=values))


def changed_items_default(before: Cell, after: Cell, item: str, body: Node) -> Cell:
    """Returns the array or map ``after`` with a default that fits its changed elements. If a stage casts the elements
    to strings, the default ``[7]`` becomes ``["7"]``.

    Args:
        before, after: The array or map before and after the change.
        item: The name of an old element in the expression of ``body``, such as ``item0``.
        body: The new element, as an expression of the old element.
    """
    default = before.schema.default
    if default is None:
        return after
    if after.schema.type is Type.ARRAY:
        return replace(after, schema=after.schema.with_(default=[_value_of_node(body, (item,), v) for v in default]))
    changed = {}
    for key, v in default.items():
        changed[key] = _value_of_node(body, (item,), v)
    return replace(after, schema=after.schema.with_(default=changed))


def _base(present: Expr | None) -> tuple[str, ...]:
    # stages wrap the reference to a struct in rules such as `Default`, whose first argument is the old expression
    while isinstance(present, Call):
        present = present.args[0]
    if isinstance(present, Ref):
        return present.path
    return ()


def _value_of_node(node: Node, base: tuple[str, ...], value: Any) -> Any:
    """Applies the expressions of ``node`` to the default ``value``, and returns the resulting default: if ``node``
    casts a number to a string, ``7`` becomes ``"7"``. The expressions read ``value`` in place of the record's value at
    the path ``base``.

    Raises:
        PlanError: SMT205, the default cannot be changed in this way.
    """
    try:
        if not isinstance(node, Group):
            return _value(node.expr, base, value)
        if node.present is not None and _value(node.present, base, value) is None:
            return None
    except DataError as error:
        raise refuse("SMT205", "the default value cannot be changed: " + error.problem.statement, _HINT) from None
    members = {}
    for name, child in node.fields:
        members[name] = _value_of_node(child, base, value)
    return members


def _value(expr: Expr, base: tuple[str, ...], value: Any) -> Any:
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, Call):
        return expr.rule.python(*(_value(arg, base, value) for arg in expr.args))
    if isinstance(expr, Ref) and expr.path[: len(base)] == base:
        for name in expr.path[len(base) :]:
            value = None if value is None else value.get(name)
        return value
    if isinstance(expr, Ref) and base[: len(expr.path)] == expr.path:
        return {}  # the surrounding struct, which is present
    if isinstance(expr, Each):
        raise refuse("SMT205", "a default value that contains arrays or maps cannot be changed", _HINT)
    raise refuse("SMT205", "a default value cannot depend on other parts of the record", _HINT)
