"""Expressions that convert a node to a string, by Java's ``toString`` and Connect's ``Values.convertToString``.

A struct is split into its fields. In Python and in Spark, the string of a struct is built from the strings of its
fields.
"""

from dagster_smt.authoring.copying import filled
from dagster_smt.authoring.opening import open_any_struct
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node
from dagster_smt.model.schema import BOOLEAN, Type
from dagster_smt.values.text_rules import JavaText, LiteralStructText, LiteralText, StructText

_TRUE = Const(True, BOOLEAN)


def java_text_of(node: Node) -> Expr:
    """Returns an expression for the Java ``toString`` of ``node``; null if the node is null."""
    if isinstance(node, Cell) and node.schema.type is not Type.STRUCT:
        if node.schema.type is Type.STRING:
            return node.expr
        return Call(JavaText(node.schema), (node.expr,))
    group = open_any_struct(node)
    names = tuple(name for name, _ in group.fields)
    return _call(StructText(names), group, [java_text_of(child) for _, child in group.fields])


def literal_text_of(node: Node, embedded: bool = False) -> Expr:
    """Returns an expression for Connect's ``Values.convertToString`` of ``node``; null if the node is null. Null fields
    get their defaults. ``embedded`` is True for a value inside a struct, array or map: Connect then puts quotes around
    strings, and writes a null as ``null``.
    """
    if isinstance(node, Cell) and node.schema.type is not Type.STRUCT:
        return Call(LiteralText(node.schema, embedded), (node.expr,))
    group = open_any_struct(node)
    texts = []
    for _, child in group.fields:
        texts.append(literal_text_of(with_default(child, group), True))
    return _call(LiteralStructText(tuple(name for name, _ in group.fields), embedded), group, texts)


def _call(rule: StructText | LiteralStructText, group: Group, texts: list[Expr]) -> Call:
    """Returns the call of ``rule``, which builds the string of the struct ``group`` from ``texts``, the strings of its
    fields.

    The call has the arguments of ``rule``: a constant, a flag that is null if the struct is null, and ``texts``. The
    constant, which ``rule`` does not use, takes the place of the struct: Spark passes a struct only as a flag.
    """
    return Call(rule, (_TRUE, group.present or _TRUE, *texts))


def with_default(field: Node, group: Group) -> Node:
    """Returns the field ``field`` of the struct ``group`` as Connect's ``Struct.get`` reads it: if the field has a
    default, the default replaces a null.
    """
    return default_of(field, group.present)


def default_of(field: Node, parent: Expr | None) -> Node:
    """Returns ``field`` with its default in place of null. A struct, or a field without a default, is returned
    unchanged.

    ``parent`` is an expression for the struct around the field. If the struct is null, the field stays null.
    ``parent=None`` means that the struct is never null.
    """
    simple = isinstance(field, Cell) and field.schema.type is not Type.STRUCT
    if simple and field.schema.default is not None and field.may_be_null:
        assert isinstance(field, Cell)
        return filled(field, parent)
    return field
