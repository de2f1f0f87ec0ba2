"""Edits fields of a struct, at any depth, and rebuilds the structs around them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from dagster_smt.authoring.copying import copied
from dagster_smt.authoring.fields.defaults import changed_default, changed_items_default
from dagster_smt.authoring.fields.resolve import Branch, resolve, text_of
from dagster_smt.authoring.transform import Planning, refuse
from dagster_smt.errors import DATA_EXCEPTION, SCHEMA_BUILDER_EXCEPTION, PlanError
from dagster_smt.model.cell import (
    AnyItem,
    Call,
    Cell,
    Const,
    Each,
    Expr,
    Group,
    Key,
    Node,
    Ref,
    Select,
    inner_marks,
    open_struct,
    restarted,
    with_fields,
)
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.extended import step_text
from dagster_smt.model.paths.steps import Every, Match
from dagster_smt.model.record import Touch
from dagster_smt.model.schema import BOOLEAN, Schema, Type
from dagster_smt.values.containers import KeepKeys, NewName, RenameKeys
from dagster_smt.values.value_rule import Refused

_TRUE = Const(True, BOOLEAN)


@dataclass(frozen=True)
class Target:
    """A field, element or map value that a configured path matches and an edit can change.

    Attributes:
        number: The number of the path.
        name: The name of the field; empty for an element or map value.
        node: A copy of the value.
        parent: An expression that is null if the struct around the value is null; None if the struct is never null.
        at: The planning of the stage, which collects the edits for the ledger (the counts of changed records).
        whole: True if the target is the whole key or value.
    """

    number: int
    name: str
    node: Node
    parent: Expr | None
    at: Planning
    whole: bool = False

    def touch(self, effect: int | None = None) -> None:
        """Reports that the stage changes this value. The ledger entry ``effect`` then counts each record in which the
        value is not null. By default, ``effect`` is the entry of the target's path.
        """
        self.at.touch(self.number if effect is None else effect, present(self.node))

    def touch_place(self, effect: int | None = None) -> None:
        """Reports that the stage changes this field. The ledger entry ``effect`` then counts each record that has the
        field, even if the field is null. By default, ``effect`` is the entry of the target's path.
        """
        self.at.touch(self.number if effect is None else effect, self.parent)


@dataclass(frozen=True)
class RenamedNode:
    """A node with a new name. An edit returns it to rename a field."""

    name: NewName
    node: Node


EditResult = Node | RenamedNode | None
Edit = Callable[[Target], EditResult]
DropReport = Callable[[Expr | None, Planning], None]


def struct_of(node: Node, purpose: str) -> Group:
    """Returns ``node`` if it is a struct. Otherwise raises the error of Connect's ``requireStruct``, with ``purpose``
    in the message.
    """
    if node.schema.type is not Type.STRUCT:
        raise refuse("SMT201", f"only a struct can be used for [{purpose}], but this is {node.schema.label}")
    return open_struct(node)


def edited(
    group: Group, paths: Iterable[FieldPath], change: Edit, replace_nulls: bool, at: Planning, strict: bool = False
) -> Group:
    """Rebuilds the struct ``group``: copies every field, and applies ``change`` to the fields that ``paths`` match.

    ``change`` returns the new field, a field with a new name (``RenamedNode``), or None to drop the field. Inner fields
    change before the fields around them. Rebuilt structs keep name, version, doc, parameters, optionality and default;
    a struct without fields stays as it is. A path without a match is reported and changes nothing.

    Args:
        group: The struct.
        paths: The configured paths.
        change: The edit of each target.
        replace_nulls: True if copied nulls become defaults.
        at: Collects three things: the matched fields, the paths without a match, and the edits, which the ledger
            counts.
        strict: True to reject, as Kafka does, a path that selects the key of a map by a plain name.
    """
    return edited_branch(group, resolve(group.schema, paths, at, strict), change, replace_nulls, at)


def edited_branch(group: Group, branch: Branch, change: Edit, replace_nulls: bool | None, at: Planning) -> Group:
    """Rebuilds the struct ``group`` as ``edited`` does. Instead of paths, it gets ``branch``: a tree of the fields that
    the paths match.

    With ``replace_nulls=None``, the fields are not copied here: nulls neither become defaults nor make records fail. A
    later pass copies the fields.
    """
    return _Editor(change, replace_nulls, at).struct(group, branch)


def pruned(group: Group, branch: Branch, dropped: DropReport, at: Planning) -> Group:
    """Rebuilds ``group`` with only the fields in ``branch`` (a tree of the fields that paths match), and the structs
    around these fields. Nulls are not replaced by defaults.

    Calls ``dropped`` for each dropped field, with two arguments. The first is an expression that is null if the struct
    around the field is null (None if the struct is never null). The second is the planning, for reports on the drop.
    """
    return _Editor(lambda target: target.node, None, at, dropped=dropped).struct(group, branch)


@dataclass(frozen=True)
class _Editor:
    """An editor that rebuilds one struct. Usually it edits the fields that paths match, and copies all other fields. If
    ``dropped`` is set, it instead drops all fields that no path matches.

    ``level`` is the number of arrays and maps around the struct. In expressions, an element of an outer array is called
    ``item0``. An element of an array inside the outer array is called ``item1``.
    """

    change: Edit
    replace_nulls: bool | None
    at: Planning
    level: int = 0
    dropped: DropReport | None = None

    def struct(self, group: Group, branch: Branch) -> Group:
        fields: dict[str, Node] = {}
        olds: dict[str, str] = {}
        for name, child in group.fields:
            below = branch.below.get(name)
            after: EditResult
            if below is None and self.dropped is not None:
                self.dropped(group.present, self.at)
                continue
            if below is None:
                after = self._copied(name, child, group)
            else:
                after = self._field(name, child, below, group)
            new = after.name(name) if isinstance(after, RenamedNode) else name
            if after is None:
                continue
            if new in fields:
                raise clash(new)
            fields[new] = after.node if isinstance(after, RenamedNode) else after
            olds[new] = name
        rebuilt = with_fields(group, fields.items(), group.schema)
        return changed_default(group, rebuilt, olds)

    def _copied(self, name: str, child: Node, group: Group) -> Node:
        if self.replace_nulls is None:
            return child
        return copied(name, child, group.present, self.replace_nulls)

    def _field(self, name: str, child: Node, branch: Branch, group: Group) -> EditResult:
        # a field that a path selects stays as a whole, even if another path selects only a part of it
        if self.dropped is not None and branch.ends:
            return child
        if branch.below and child.schema.type is Type.STRUCT:
            child = open_struct(child)
        child = self._below(self._copied(name, child, group), branch)
        return self._ends(name, child, branch, group.present)

    def _below(self, node: Node, branch: Branch) -> Node:
        if isinstance(node, Group):
            if branch.below:
                return self.struct(node, branch)
            return node
        # a schema does not list the keys of a map, so a rule drops the other keys from each record
        if self.dropped is not None and node.schema.type is Type.MAP and Every() not in branch.below:
            steps = []
            for step in branch.below:
                steps.append(step.name if isinstance(step, Key) else step)
            names = tuple(steps)
            node = replace(node, expr=Call(KeepKeys(names), (node.expr,)), copied=False)
        for step, below in branch.below.items():
            assert not isinstance(step, str)  # a struct with paths below it is a group
            node = self._each(node, step, below)
        return node

    def _ends(self, name: str, node: Node, branch: Branch, parent: Expr | None) -> EditResult:
        """Applies the edits of all paths that end at ``node``, in the order of the paths. Returns the edited node; a
        ``RenamedNode`` if an edit renamed it; None if an edit dropped it.
        """
        new: NewName | None = None
        for number in branch.ends:
            after = self.change(Target(number, name, node, parent, self.at))
            if after is None:
                return None
            if isinstance(after, RenamedNode):
                new, after = after.name, after.node
            node = after
        if new is None:
            return node
        return RenamedNode(new, node)

    def _each(self, cell: Cell, select: Select, branch: Branch) -> Cell:
        """Edits elements of the array or map ``cell``, and returns the result. ``select`` says which elements are
        edited: all elements, or the element with the index 0, for example.
        """
        item, values = f"item{self.level}", cell.schema.values
        assert values is not None
        if self.dropped is not None and branch.ends:
            return cell
        # conditions of inner touches refer to the element (`item0`), so these touches are collected separately
        # and converted into touches of the record below
        inner = replace(self, level=self.level + 1, at=replace(self.at, touches=[]))
        element = _element(cell, values, item)
        if branch.below and values.type is Type.STRUCT:
            element = open_struct(element)
        after = inner._ends("", inner._below(element, branch), branch, None)
        node = after.node if isinstance(after, RenamedNode) else after
        alone = node is not None and node.schema != values and not isinstance(select, Every)
        # all values of a map have one schema (decision 4), so one of them cannot change its type: a path that leads
        # here fails in `_changed`, but a deep scan (`**`), which may also meet such a map, leaves it as it is
        if alone and not branch.meant:
            return cell
        for touch in inner.at.touches:
            when = AnyItem(cell.expr, cell.schema, select, item, touch.when or _TRUE)
            self.at.touches.append(Touch(touch.entry, when))
        if isinstance(after, RenamedNode):
            if after.node is element:
                changed = cell
            else:
                changed = _changed(cell, select, item, after.node)
            return _rekeyed(changed, select, after.name)
        return _changed(cell, select, item, after)


def _element(cell: Cell, values: Schema, item: str) -> Node:
    if cell.items is not None:
        return restarted(cell.items, (item,))
    if cell.copied:
        sources = frozenset(f"{s}[]" for s in cell.sources)
    else:
        sources = cell.sources
    return Cell(values, Ref((item,)), sources, cell.copied)


def _changed(cell: Cell, select: Select, item: str, body: Node | None) -> Cell:
    expr = Each(cell.expr, cell.schema, select, item, body)
    if body is None:
        return replace(cell, expr=expr, copied=False)
    values = cell.schema.values
    if body.schema != values and not isinstance(select, Every):
        which = text_of((select,))
        statement = f"the elements of {cell.schema.label} have one schema: it cannot change for {which} alone"
        raise refuse("SMT225", statement, "change all of them: [*]")
    schema = cell.schema.with_(values=body.schema)
    sources = cell.sources | all_sources(body)
    if isinstance(select, Every):
        after = replace(cell, schema=schema, expr=expr, sources=sources, copied=False, items=body)
        if body.schema == values:
            return after
        return changed_items_default(cell, after, item, body)
    marks = cell.marks | inner_marks(body, step_text(select.name if isinstance(select, Key) else select))
    return replace(cell, schema=schema, expr=expr, sources=sources, copied=False, marks=marks)


def _rekeyed(cell: Cell, select: Select, new: NewName) -> Cell:
    if not isinstance(select, Key | Match):
        raise refuse("SMT113", "an element has no name that could change", "name a field or a key")
    which = select.name if isinstance(select, Key) else select
    return replace(cell, expr=Call(RenameKeys(which, new), (cell.expr,)))


def clash(name: str) -> PlanError:
    """Returns the error for two fields that would both have the name ``name``."""
    statement = f"two fields would be named '{name}'"
    return refuse("SMT111", statement, "rename or drop one of them", SCHEMA_BUILDER_EXCEPTION)


def all_sources(node: Node) -> frozenset[str]:
    """Returns the input fields from which the value of ``node`` is derived."""
    if isinstance(node, Cell):
        return node.sources
    return node.sources.union(*(all_sources(child) for _, child in node.fields))


def field_of(group: Group, name: str, missing_class: str = DATA_EXCEPTION) -> Node:
    """Returns the field ``name`` of ``group``. If there is no such field, raises an error. ``missing_class`` is the
    exception class that Connect raises in this case.
    """
    if name not in group.by_name:
        hint = f"the fields are: {', '.join(group.by_name)}"
        raise refuse("SMT102", f"there is no field '{name}'", hint, missing_class)
    return group.by_name[name]


def present(node: Node) -> Expr | None:
    """Returns an expression that is null in exactly those records in which ``node`` is null. Returns None if the node
    is never null.
    """
    if not node.may_be_null:
        return None
    if isinstance(node, Cell):
        return node.expr
    return node.present


def refused(node: Node, code: str, statement: str, hint: str = "", schema: Schema | None = None) -> Cell:
    """Returns a cell (a value in a plan) that rejects each record in which ``node`` is not null. ``schema`` is the
    schema of the result.

    If the node is never null, the error is raised during planning.
    """
    expr = present(node)
    if expr is None:
        raise refuse(code, statement, hint)
    sources = node.sources
    return Cell(schema or node.schema, Call(Refused(code, statement, hint), (expr,)), sources, nullable=node.nullable)


def under(group: Group, rebuilt: Group) -> Group:
    """Returns ``rebuilt``, a changed copy of the struct ``group``. If ``group`` can be null but the schema of
    ``rebuilt`` is required, the result is marked as nullable.

    Raises:
        PlanError: SMT112 if the change adds a field whose name is empty.
    """
    # Connect's `SchemaBuilder.field` rejects an empty name
    if "" in rebuilt.by_name and "" not in group.by_name:
        raise refuse("SMT112", "a field needs a name that is not empty", "name the field", SCHEMA_BUILDER_EXCEPTION)
    nullable = group.may_be_null and not rebuilt.schema.optional
    return Group(rebuilt.schema, rebuilt.fields, rebuilt.present, rebuilt.sources, nullable)
