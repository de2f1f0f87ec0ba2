"""Splits any struct of a plan into its fields, also a struct that a stage computes."""

from collections.abc import Iterator

from dagster_smt.model.cell import Call, Cell, Group, Node, Ref, open_struct
from dagster_smt.model.paths.extended import below
from dagster_smt.values.containers import StructField


def open_any_struct(node: Node) -> Group:
    """Returns ``node``, a struct, as a ``Group``: a struct that is split into its fields.

    ``open_struct`` only splits references to the stage's input. This function also splits a struct that a rule
    computes, such as the value under a key of a map.
    """
    if isinstance(node, Group) or isinstance(node.expr, Ref):
        return open_struct(node)
    return Group(node.schema, tuple(_fields(node)), node.expr, node.sources, node.nullable)


def _fields(cell: Cell) -> Iterator[tuple[str, Node]]:
    for name, schema in cell.schema.fields:
        if cell.copied:
            sources = frozenset(below(s, name) for s in cell.sources)
        else:
            sources = cell.sources
        expr = Call(StructField(name, cell.schema), (cell.expr,))
        yield name, Cell(schema, expr, sources, cell.copied, nullable=True)
