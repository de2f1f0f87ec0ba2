"""Copies fields into a rebuilt struct, as Connect's ``Struct.get`` and ``Struct.put`` do."""

from dataclasses import replace
from typing import Any

from dagster_smt.authoring.opening import open_any_struct
from dagster_smt.model.cell import UNSET, Call, Cell, Const, Expr, Group, Node
from dagster_smt.model.schema import BOOLEAN, Schema, Type
from dagster_smt.values.value_rule import Default, DefaultUnder, Required, Validated, WhereNull


def copied_fields(
    group: Group, replace_nulls: bool, nodes: tuple[tuple[str, Node], ...]
) -> tuple[tuple[str, Node], ...]:
    """Returns copies of ``nodes``, which are fields of the struct ``group``. If ``replace_nulls`` is set, the copy of a
    null field is the field's default. A record with a null in a required field fails.
    """
    return tuple((name, copied(name, node, group.present, replace_nulls)) for name, node in nodes)


def copied(name: str, node: Node, parent: Expr | None, replace_nulls: bool) -> Node:
    """Returns a copy of the field ``name``. With ``replace_nulls``, a null field gets its default. If a required field
    is still null, the record fails.

    ``parent`` is an expression for the struct around the field. If this struct is null, the field stays null, and the
    record does not fail. ``parent=None`` means that the struct is never null. In this case, the function does not check
    required fields.
    """
    schema = node.schema
    if not node.may_be_null:
        return node
    if isinstance(node, Group):
        return _copied_group(name, node, parent, replace_nulls)
    if replace_nulls and schema.default is not None:
        return filled(node, parent)
    if node.schema.optional or parent is None:
        return node
    return replace(node, expr=Call(Required(name), (node.expr, parent)))


def validated(node: Node) -> Node:
    """Returns the struct ``node`` with a check: a record fails if a required field of the struct is null. Connect makes
    this check when a struct becomes a field of another struct.
    """
    if not isinstance(node, Group):
        # the plan does not contain the fields of a cell, so each struct is checked when the chain runs
        unknown = UNSET in node.marks and node.schema.type is Type.STRUCT
        if unknown:
            return replace(node, expr=Call(Validated(node.schema), (node.expr,)))
        return node
    present = Const(True, BOOLEAN) if node.present is None else node.present
    return replace(node, fields=tuple((name, _validated(name, child, present)) for name, child in node.fields))


def _validated(name: str, child: Node, present: Expr) -> Node:
    if isinstance(child, Cell) and UNSET in child.marks and not child.schema.optional:
        return replace(child, expr=Call(Required(name), (child.expr, present)))
    return validated(child)


def filled(cell: Cell, parent: Expr | None) -> Cell:
    """Returns the field ``cell`` with the default of its schema in place of null. In records in which the surrounding
    struct is null (``parent`` is null), the field stays null.
    """
    default = Const(cell.schema.default, cell.schema)
    if parent is None:
        return replace(cell, expr=Call(Default(), (cell.expr, default)), copied=False, nullable=False)
    return replace(cell, expr=Call(DefaultUnder(), (cell.expr, parent, default)), copied=False)


def _copied_group(name: str, node: Group, parent: Expr | None, replace_nulls: bool) -> Node:
    # `Struct.get` replaces a null struct with its default: the struct is then present, and each field has its value
    # from the default
    if replace_nulls and node.schema.default is not None and node.may_be_null and node.present is not None:
        default = node.schema.default
        children = []
        for n, c in node.fields:
            children.append((n, _under_default(c, node, parent, default.get(n))))
        fields = tuple(children)
        present = _filled_presence(node.present, parent, node.schema)
        return replace(node, fields=fields, present=present)
    if node.schema.optional or node.present is None or parent is None or not node.nullable:
        return node
    return replace(node, present=Call(Required(name), (node.present, parent)))


def _filled_presence(present: Expr, parent: Expr | None, schema: Schema) -> Expr:
    default = Const(schema.default, schema)
    if parent is None:
        return Call(Default(), (present, default))
    return Call(DefaultUnder(), (present, parent, default))


def _under_default(node: Node, struct: Group, parent: Expr | None, default: Any) -> Node:
    """Returns ``node``, a field of ``struct`` or of a struct inside it, for a stage that replaces a null struct with
    the struct's default. In records in which ``struct`` is null, the field gets the value ``default``.

    For example, if the struct's default is ``{"id": 7}``, the field ``id`` becomes 7 in these records.
    """
    if default is None or struct.present is None:
        return node
    args: tuple[Expr, ...] = (struct.present, Const(default, node.schema))
    args = args if parent is None else (*args, parent)
    if node.schema.type is not Type.STRUCT:
        assert isinstance(node, Cell)
        return replace(node, expr=Call(WhereNull(), (node.expr, *args)), copied=False)
    # a stage may change the fields of this inner struct, too, so each of them needs its value from the default
    group = open_any_struct(node)
    children = []
    for name, child in group.fields:
        children.append((name, _under_default(child, struct, parent, default.get(name))))
    present = None if group.present is None else Call(WhereNull(), (group.present, *args))
    return replace(group, fields=tuple(children), present=present)
