"""Warns about values that a table column cannot represent as Connect would (decision 9)."""

from collections.abc import Iterable, Iterator

from dagster_smt.authoring.stage import Stage
from dagster_smt.errors import Problem
from dagster_smt.model.cell import Call, Cell, Group, Node, calls_in
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import Type
from dagster_smt.values.cast import CastTo


def column_warnings(stage: Stage, nodes: Iterable[Node | None]) -> Iterator[Problem]:
    """Yields a warning for each value in ``nodes`` that ``stage`` has cast from a decimal to a string. In a table of
    columns, this string can differ from Connect's. ``nodes`` describe the key and value after ``stage``.

    Difference D7: all decimals of a column have the column's scale. In a column with scale 2, a cast of the decimal 0
    to a string therefore results in ``0.00``, but Connect writes ``0``.
    """
    for node in nodes:
        for path, cell in _cells(node, ""):
            if any(map(_prints_decimals, calls_in(cell))):
                statement = (
                    f"in a table of columns the texts of '{path or 'value'}' have all decimal places of its column"
                )
                hint = "Connect writes 0 as '0' where the column has '0.00'; write records to have its texts"
                yield Problem("SMT227", stage.place, statement, hint)


def _prints_decimals(call: Call) -> bool:
    rule = call.rule
    return isinstance(rule, CastTo) and rule.kind == "Decimal" and rule.target is Type.STRING


def _cells(node: Node | None, path: str) -> Iterator[tuple[str, Cell]]:
    if isinstance(node, Group):
        for name, child in node.fields:
            yield from _cells(child, below(path, name))
    elif node is not None:
        yield path, node
