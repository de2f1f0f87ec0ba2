"""Texts of nodes: expressions for Java's ``toString`` and for ``Values.convertToString``.

A struct is taken apart, so that both evaluators put the text together from the texts of its fields.
"""

from dagster_smt.authoring.copying import filled
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, open_struct
from dagster_smt.model.schema import BOOLEAN, Type
from dagster_smt.values.texts import JavaText, LiteralStructText, LiteralText, StructText

_TRUE = Const(True, BOOLEAN)


def java_text_of(node: Node) -> Expr:
    """The ``toString`` of a node; null where it is null."""
    if isinstance(node, Cell) and node.schema.type is not Type.STRUCT:
        if node.schema.type is Type.STRING:
            return node.expr
        return Call(JavaText(node.schema), (node.expr,))
    group = open_struct(node)
    names = tuple(name for name, _ in group.fields)
    return _call(StructText(names), group, [java_text_of(child) for _, child in group.fields])


def literal_text_of(node: Node, embedded: bool = False) -> Expr:
    """The ``Values.convertToString`` of a node; null where it is null. Fields that are null have their default."""
    if isinstance(node, Cell) and node.schema.type is not Type.STRUCT:
        return Call(LiteralText(node.schema, embedded), (node.expr,))
    group = open_struct(node)
    texts = [literal_text_of(with_default(child, group), True) for _, child in group.fields]
    return _call(LiteralStructText(tuple(name for name, _ in group.fields), embedded), group, texts)


def _call(rule: StructText | LiteralStructText, group: Group, texts: list[Expr]) -> Call:
    """A call whose first argument is a struct stands for a struct itself on Spark, so a constant comes first."""
    return Call(rule, (_TRUE, group.present or _TRUE, *texts))


def with_default(field: Node, group: Group) -> Node:
    """A field as ``Struct.get`` reads it: its default instead of a null."""
    return default_of(field, group.present)


def default_of(field: Node, parent: Expr | None) -> Node:
    """The same, given the expression that is null where the struct around the field is (None: it never is)."""
    simple = isinstance(field, Cell) and field.schema.type is not Type.STRUCT
    if simple and field.schema.default is not None and field.may_be_null:
        assert isinstance(field, Cell)
        return filled(field, parent)
    return field
