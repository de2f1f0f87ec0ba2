"""Changing fields of a struct, at any depth: the way from configured paths to rebuilt nodes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dagster_smt.model.cell import Call, Cell, Expr, Group, Node, open_struct, with_fields
from dagster_smt.model.path import FieldPath
from dagster_smt.model.schema import Schema, Type
from dagster_smt.spec.copying import copied
from dagster_smt.spec.transform import Planning, refuse
from dagster_smt.values.basic import Refused

Change = Callable[[int, Node], Node | None]


@dataclass
class Branch:
    """A step of the configured paths: what to do there, and what below. ``index`` numbers the configured path."""

    index: int | None = None
    path: str = ""
    below: dict[str, "Branch"] = field(default_factory=dict)


def branches(paths: Iterable[FieldPath]) -> dict[str, Branch]:
    """Join paths into a tree; the same path given twice counts once, the last one."""
    root = Branch()
    for index, path in enumerate(paths):
        branch = root
        for step in path.steps:
            branch = branch.below.setdefault(step, Branch())
        branch.index, branch.path = index, path.text
    return root.below


def struct_of(node: Node, purpose: str) -> Group:
    """The node as a struct, or Connect's ``requireStruct`` error."""
    if node.schema.type is not Type.STRUCT:
        raise refuse("SMT201", f"only a struct can be used for [{purpose}], but this is {node.schema.label}")
    return open_struct(node)


def field_of(group: Group, name: str) -> Node:
    """A field that must exist, or the error of one that does not."""
    if name not in group.by_name:
        raise refuse("SMT102", f"there is no field '{name}'", f"the fields are: {', '.join(group.by_name)}")
    return group.by_name[name]


def edited(group: Group, tree: dict[str, Branch], change: Change, replace_nulls: bool, at: Planning) -> Group:
    """Rebuild a struct: every field is copied, those that a path names go through ``change``.

    ``change`` gets the number of the path and the copied field; it returns the new field, or None to drop it.
    Rebuilt structs keep name, version, doc, parameters, optionality and default.
    """
    fields: list[tuple[str, Node]] = []
    for name, child in group.fields:
        branch = tree.get(name)
        if branch is None:
            fields.append((name, copied(name, child, group.present, replace_nulls)))
            continue
        after = _branch(name, child, branch, group, change, replace_nulls, at)
        if after is not None:
            fields.append((name, after))
    for name in tree.keys() - group.by_name.keys():
        _report_missing(tree[name], tuple(group.by_name), at)
    return with_fields(group, fields, group.schema)


def _branch(
    name: str, child: Node, branch: Branch, group: Group, change: Change, replace_nulls: bool, at: Planning
) -> Node | None:
    if branch.below and child.schema.type is Type.STRUCT:
        child = open_struct(child)
    child = copied(name, child, group.present, replace_nulls)
    if branch.below:
        if isinstance(child, Group):
            child = edited(child, branch.below, change, replace_nulls, at)
        else:
            for below in branch.below.values():
                _report_missing(below, (), at)
    return child if branch.index is None else change(branch.index, child)


def _report_missing(branch: Branch, known: tuple[str, ...], at: Planning) -> None:
    if branch.index is not None:
        at.miss(branch.path, known)
    for below in branch.below.values():
        _report_missing(below, known, at)


def present(node: Node) -> Expr | None:
    """The expression that is null where the node is; None if it never is."""
    if not node.may_be_null:
        return None
    return node.expr if isinstance(node, Cell) else node.present


def refused(node: Node, code: str, statement: str, hint: str = "", schema: Schema | None = None) -> Cell:
    """A field that cannot be used unless it is null; ``schema`` is what it would have become.

    A field that is never null is refused at once.
    """
    expr = present(node)
    if expr is None:
        raise refuse(code, statement, hint)
    sources = node.sources
    return Cell(schema or node.schema, Call(Refused(code, statement, hint), (expr,)), sources, nullable=node.nullable)


def under(group: Group, rebuilt: Group) -> Group:
    """A rebuilt struct that became required stays null where the one it was made from is null."""
    nullable = group.may_be_null and not rebuilt.schema.optional
    return Group(rebuilt.schema, rebuilt.fields, rebuilt.present, rebuilt.sources, nullable)
