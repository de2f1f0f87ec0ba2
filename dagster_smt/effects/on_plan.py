"""Applies effects to a key or value with a schema. The key or value is a node of the plan: a description of its schema
and of the way in which it is computed (``model.cell``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from dagster_smt.authoring.copying import copied, copied_fields, validated
from dagster_smt.authoring.fields.edit import (
    EditResult,
    RenamedNode,
    Target,
    all_sources,
    edited,
    edited_branch,
    field_of,
    present,
    pruned,
    struct_of,
    under,
)
from dagster_smt.authoring.fields.field_reading import read_field
from dagster_smt.authoring.fields.resolve import Branch, resolve
from dagster_smt.authoring.node_texts import java_text_of
from dagster_smt.authoring.transform import Planning, refuse
from dagster_smt.effects.effect import (
    NO_OFFSET,
    Change,
    CopyToHeader,
    Drop,
    Effect,
    Extract,
    Insert,
    Join,
    Keep,
    Rename,
    SetSchema,
    Wrap,
    family_of,
    numbered_only,
    only,
)
from dagster_smt.effects.field_rule import Constant, masked, opened
from dagster_smt.errors import SCHEMA_BUILDER_EXCEPTION
from dagster_smt.model.cell import UNSET, Call, Cell, Const, Expr, Group, Node, open_struct, schemas_of, with_fields
from dagster_smt.model.schema import STRING, Schema, Type, optional
from dagster_smt.values.containers import MapValue, NewName
from dagster_smt.values.text_rules import ChangeEntries, JoinTexts, has_bytes, no_text
from dagster_smt.values.value_rule import NotNull, Refused


@dataclass(frozen=True)
class Settings:
    """The options of a transform that its effects do not contain.

    Attributes:
        purpose: The purpose of the transform, as messages word it: ``mask fields``.
        replace_nulls: True if a copied null becomes the default of its field (KIP-1040).
        strict: True to reject a path that selects the key of a map by a plain name, as Kafka does.
    """

    purpose: str
    replace_nulls: bool
    strict: bool


def plan_on_side(effects: tuple[Effect, ...], node: Node, at: Planning, settings: Settings) -> Node:
    """Returns ``node``, a key or value in a plan, after ``effects`` have been applied. These effects change only this
    key or value, and no other part of the record.

    Args:
        effects: The effects of one transform, such as drops and renames (see ``family_of``).
        node: The key or value before the effects.
        at: Collects the changes that a report counts, and the configured paths that match no field.
        settings: The transform's other options.

    Raises:
        PlanError: No record of this schema can pass the stage.
    """
    family = family_of(effects)
    if family == {Change}:
        return _change(only(effects, Change), node, at, settings)
    if family == {Insert}:
        return _InsertFields(only(effects, Insert), at, settings).into(node)
    if family == {Extract}:
        (extract,) = only(effects, Extract)
        return _extract(extract, node, at, settings)
    if family == {Wrap}:
        (wrap,) = only(effects, Wrap)
        return _wrap(wrap, node, at, settings)
    if family == {Join}:
        (join,) = only(effects, Join)
        return _join(join, node, at, settings)
    if family == {SetSchema}:
        (metadata,) = only(effects, SetSchema)
        return _set_schema(metadata, node, at, settings)
    assert family <= {Drop, Keep, Rename, CopyToHeader}, f"{family} cannot be planned"
    return _restructure(effects, node, at, settings)


def _change(changes: tuple[Change, ...], node: Node, at: Planning, settings: Settings) -> Node:
    def change(target: Target) -> Node:
        effect = changes[target.number]
        after = effect.rule.on_node(target)
        if after is target.node:
            return after
        target.touch()
        return _marked(effect, after, target.node)

    first = changes[0]
    if not first.path.steps:
        at.touch(0, present(node))
        return _marked(first, first.rule.on_node(Target(0, "", node, None, at, whole=True)), node)
    if first.in_maps and isinstance(node, Cell) and _is_text_map(node.schema):
        return _change_entries(changes, node, at)
    group = struct_of(node, settings.purpose)
    if first.in_place:
        return _change_in_place(changes, group, change, at)
    if first.refuses_default and group.schema.default is not None:
        raise refuse("SMT205", "a struct with a default value cannot be changed", "drop the default")
    paths = tuple(change.path for change in changes)
    return edited(group, paths, change, settings.replace_nulls, at, settings.strict)


def _marked(change: Change, after: Node, before: Node) -> Node:
    """Returns ``after``, the field after ``change``, with a mark for what ``change`` has done: ``masked`` or ``opened``
    (decrypted). For all other changes, returns ``after`` unchanged. ``before`` is the field before ``change``.
    """
    if change.action == "masked":
        return masked(after, before, change.rule.protection)
    if change.rule.protection == "opens":
        return opened(after, before)
    return after


def _change_in_place(
    changes: tuple[Change, ...], group: Group, change: Callable[[Target], Node], at: Planning
) -> Group:
    fields = dict(group.fields)
    for number, effect in enumerate(changes):
        name = effect.path.leaf
        if name in fields or effect.required:
            fields[name] = change(Target(number, name, field_of(group, name), group.present, at))
        else:
            at.miss(name, tuple(group.by_name))
    return with_fields(group, fields.items(), group.schema)


def _is_text_map(schema: Schema) -> bool:
    """Returns True if ``schema`` is a map from strings to optional strings."""
    keys, values = schema.keys, schema.values
    if schema.type is not Type.MAP or keys is None or values is None:
        return False
    return keys.type is values.type is Type.STRING and values.optional


def _change_entries(changes: tuple[Change, ...], node: Cell, at: Planning) -> Cell:
    entries = []
    for number, effect in enumerate(changes):
        rule = effect.rule.of_kind("string")
        assert rule is not None and not isinstance(rule, Constant), "texts of maps go through a value rule"
        entries.append((effect.path.leaf, rule))
        at.touch(number, Call(MapValue(effect.path.leaf, node.schema.values), (node.expr,)))
    return replace(node, expr=Call(ChangeEntries(tuple(entries)), (node.expr,)), copied=False)


def _restructure(effects: tuple[Effect, ...], node: Node, at: Planning, settings: Settings) -> Node:
    """Drops, keeps and renames fields of ``node``, in this order. All paths contain the names of fields before the
    transform.

    If a transform both drops and renames a field, the field is missing in the result. In Kafka, it can reappear under
    its new name (difference D2).
    """
    group = struct_of(node, settings.purpose)

    def routes(kind: type[Drop] | type[Rename]) -> tuple[Branch, int, tuple[Drop | Rename, ...]]:
        chosen = numbered_only(effects, kind)
        first = chosen[0][0] if chosen else 0
        paths = [effect.path for _, effect in chosen]
        return resolve(group.schema, paths, at, settings.strict, first), first, tuple(effect for _, effect in chosen)

    dropped, first_drop, _ = routes(Drop)
    renamed, first_rename, renames = routes(Rename)
    keeps = numbered_only(effects, Keep)
    branches = []
    for n, keep in keeps:
        branches.append(resolve(group.schema, keep.paths, at, settings.strict, n, together=True))

    def drop(target: Target) -> None:
        target.touch_place(first_drop + target.number)

    def rename(target: Target) -> EditResult:
        effect = renames[target.number]
        assert isinstance(effect, Rename)
        target.touch_place(first_rename + target.number)
        return RenamedNode(effect.name, target.node)

    after = edited_branch(group, dropped, drop, None, at)
    for (number, _), branch in zip(keeps, branches, strict=True):
        after = pruned(after, branch, partial(_touch, number), at)
    after = edited_branch(after, renamed, rename, settings.replace_nulls, at)
    # `with_fields` makes the schema required and drops its default, as Connect's ReplaceField does
    return under(group, replace(after, schema=group.schema.with_fields(after.schema.fields)))


def _touch(number: int, parent: Expr | None, at: Planning) -> None:
    at.touch(number, parent)


def _join(join: Join, node: Node, at: Planning, settings: Settings) -> Node:
    group = struct_of(node, settings.purpose)
    if join.name in group.by_name:
        hint = "choose another name, or rename the old field first with ReplaceField"
        raise refuse("SMT110", f"field '{join.name}' exists already", hint, SCHEMA_BUILDER_EXCEPTION)
    children = []
    for name, child in group.fields:
        children.append((name, _opened(child, name in join.names)))
    opened = tuple(children)
    # Aiven's class reads fields with `Struct.get`, and has no option `replace.null.with.default`
    old = copied_fields(group, True, opened)
    fields = (*old, (join.name, _joined(join, dict(old), at)))
    schema = Schema(Type.STRUCT, fields=schemas_of(fields))
    at.touch(0, group.present)
    return under(group, Group(schema, fields, group.present, group.sources))


def _opened(child: Node, needs_text: bool) -> Node:
    """Returns the field ``child``. If ``needs_text`` is set, the field is needed as a string. A struct is then split
    into its fields first (``Group``), because the string is built from the fields.
    """
    if needs_text and child.schema.type is Type.STRUCT:
        return open_struct(child)
    return child


def _joined(join: Join, fields: Mapping[str, Node], at: Planning) -> Cell:
    texts: list[Expr] = []
    sources, marks = frozenset[str](), frozenset[str]()
    for name in join.names:
        if name not in fields:
            at.miss(name, tuple(fields))
            texts.append(Const(None, optional(STRING)))
            continue
        field = fields[name]
        texts.append(_text(name, field))
        sources |= all_sources(field)
        marks |= field.marks if isinstance(field, Cell) else frozenset()
    rule = JoinTexts(join.delimiter, join.missing)
    return Cell(optional(STRING), Call(rule, tuple(texts)), sources, marks=marks)


def _text(name: str, field: Node) -> Expr:
    # Java prints a byte array as `[B@1b6d3586`, differently in each run
    if not has_bytes(field.schema):
        return java_text_of(field)
    problem, presence = no_text().problem, present(field)
    statement = f"the field '{name}' is {field.schema.label}: {problem.statement}"
    if presence is None:
        raise refuse(problem.code, statement, problem.hint)
    return Call(Refused(problem.code, statement, problem.hint), (presence,))


def _set_schema(effect: SetSchema, node: Node, at: Planning, settings: Settings) -> Node:
    group = struct_of(node, settings.purpose)
    at.touch(0, present(group))
    fields = copied_fields(group, settings.replace_nulls, group.fields)
    return with_fields(group, fields, group.schema.with_(**effect.changes))


def _extract(extract: Extract, node: Node, at: Planning, settings: Settings) -> Node:
    struct_of(node, settings.purpose)
    field, parent = read_field(node, extract.path, settings.strict, extract.missing_class)
    if settings.replace_nulls and field.schema.default is not None:
        field = open_struct(field) if field.schema.type is Type.STRUCT else field
        field = copied(extract.path.leaf, field, parent, True)
    # as in Connect, a null has the schema of the field, even if this schema requires a value
    at.touch(0, present(field))
    return field


def _wrap(wrap: Wrap, node: Node, at: Planning, settings: Settings) -> Node:
    if not wrap.name:
        raise refuse("SMT112", "a field needs a name that is not empty", "name the field", SCHEMA_BUILDER_EXCEPTION)
    if wrap.path.steps:
        return _wrap_inside(wrap, node, at, settings)
    at.touch(0)
    # Connect's `Struct.put` rejects a null if the schema of the field requires a value
    if node.may_be_null and not node.schema.optional:
        child = _required(node, settings.purpose)
    else:
        child = node
    return _struct_around(wrap.name, validated(child))


def _wrap_inside(wrap: Wrap, node: Node, at: Planning, settings: Settings) -> Node:
    def hoist(target: Target) -> RenamedNode:
        if not target.name:
            raise refuse("SMT226", "the value under a key of a map cannot be wrapped alone", "wrap the map")
        target.touch_place()
        return RenamedNode(NewName(wrap.name), _struct_around(target.name, target.node))

    group = struct_of(node, settings.purpose)
    return edited(group, (wrap.path,), hoist, settings.replace_nulls, at, settings.strict)


def _required(node: Node, purpose: str) -> Node:
    """Returns ``node``, a key or value whose schema does not allow null. The result contains a check: a record in which
    the key or value is null fails.
    """
    rule = NotNull(purpose)
    if isinstance(node, Cell):
        return replace(node, expr=Call(rule, (node.expr,)), nullable=False)
    assert node.present is not None  # if it were None, the node could not be null
    return replace(node, present=Call(rule, (node.present,)), nullable=False)


def _struct_around(name: str, node: Node) -> Group:
    return Group(Schema(Type.STRUCT, fields=((name, node.schema),)), ((name, node),), None)


@dataclass(frozen=True)
class _InsertFields:
    """A builder that inserts fields into a struct and into the structs inside it."""

    inserts: tuple[Insert, ...]
    at: Planning
    settings: Settings

    def into(self, node: Node) -> Node:
        group, root = struct_of(node, self.settings.purpose), Branch()
        for number, insert in enumerate(self.inserts):
            root.add(tuple(map(str, insert.path.steps)), number)
        fields = self._fields(group, root)
        # after the fields: Connect builds the new schema, and rejects a duplicate name, before it reads the offset
        if self.at.record.kind != "sink" and any(insert.source == "offset" for insert in self.inserts):
            raise refuse(*NO_OFFSET)
        return under(group, with_fields(group, fields.items(), group.schema.with_fields(())))

    def _fields(self, group: Group, branch: Branch) -> dict[str, Node]:
        """Returns the fields of the struct ``group`` by name, together with the new fields in ``branch``. ``branch``
        may also contain new fields for structs inside ``group``.
        """
        fields: dict[str, Node] = {}
        for name, child in group.fields:
            below = branch.below.get(name, Branch())
            if below.below and child.schema.type is Type.STRUCT:
                child = open_struct(child)
            fields[name] = copied(name, child, group.present, self.settings.replace_nulls)
        for step, below in branch.below.items():
            name = str(step)
            if below.below:
                self._below(name, below, fields, group)
            for number in below.ends:
                self._insert(name, number, fields, group)
        return fields

    def _below(self, name: str, branch: Branch, fields: dict[str, Node], group: Group) -> None:
        """Inserts the new fields in ``branch`` into ``name``, a struct inside ``group``. ``fields`` contains the fields
        of ``group`` and is changed.

        If the struct is missing and the option ``makes_parents`` is set, a new struct is created. If the struct is
        missing and the option is not set, nothing is inserted, and the path is reported as missing. The same happens if
        ``name`` is not a struct.
        """
        first = self.inserts[branch.first]
        if name not in fields and first.makes_parents:
            # where the struct around it is null, the new struct does not exist either, and nothing is inserted
            fields[name] = Group(Schema(Type.STRUCT, optional=True), (), group.present)
        parent = fields.get(name)
        if isinstance(parent, Group):
            fields[name] = with_fields(parent, self._fields(parent, branch).items(), parent.schema)
        else:
            self.at.miss(str(first.path), tuple(group.by_name), name)

    def _insert(self, name: str, number: int, fields: dict[str, Node], group: Group) -> None:
        insert = self.inserts[number]
        if name in fields and insert.existing_in_schema == "refuse":
            hint = "choose another name, or rename the old field first with ReplaceField"
            raise refuse("SMT110", f"field '{name}' exists already", hint, SCHEMA_BUILDER_EXCEPTION)
        if name in fields and insert.existing_in_schema == "ignore":
            return
        self.at.touch(number, group.present)
        cell = self._cell(insert)
        schema = cell.schema.with_(optional=not insert.required)
        # as in Connect, a null partition or timestamp is not put, so a required field stays unset without an error
        unset = cell.may_be_null and insert.required
        marks = cell.marks | frozenset({UNSET} if unset else ())
        cell = Cell(schema, cell.expr, cell.sources, cell.copied, unset, marks)
        # Connect puts the topic even if it is null, and a required field then fails
        fields[name] = copied(name, cell, group.present, False) if insert.source == "topic" else cell

    def _cell(self, insert: Insert) -> Cell:
        if insert.source == "static":
            return Cell(STRING, Const(insert.text, STRING), frozenset())
        cell: Cell = getattr(self.at.record, insert.source)
        return cell
