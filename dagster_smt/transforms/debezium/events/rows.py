"""The row that is made of a change event when planning, and the headers that are made with it."""

from dataclasses import replace

from dagster_smt.authoring.copying import copied_fields
from dagster_smt.authoring.fields.edit import all_sources, clash
from dagster_smt.authoring.transform import Planning, refuse
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, open_struct, with_fields
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.schema import STRING, Type, optional
from dagster_smt.transforms.debezium.events.shape import NONE, TRUE, Reference, new_schema, text_field, there, told
from dagster_smt.transforms.debezium.events.values import AnyThere, Deleted, NotBlank, Pick
from dagster_smt.values.basic import Default, KeepNull, Refused
from dagster_smt.values.headers.fields import AppendHeader

DELETED = "__deleted"
_DELETED_ROW = Const("d", STRING)


def latest_row(after: Group, before: Group, decides: Expr) -> Group:
    """The row after the change, or if there is none the one before it, and the field that says which.

    ``decides`` is null where the row after the change is not there.

    Raises:
        PlanError: SMT472, their schemas differ; SMT111, the row has such a field.
    """
    if (new_schema(after), after.schema.fields) != (new_schema(before), before.schema.fields):
        statement = "the rows before and after the change have different schemas"
        raise refuse("SMT472", statement, "set delete.tombstone.handling.mode=drop, or tombstone", "")
    if DELETED in after.by_name:
        raise clash(DELETED)
    pairs = zip(after.fields, before.fields, strict=True)
    fields = [(name, _picked(a, b, decides)) for (name, a), (_, b) in pairs]
    deleted = Cell(optional(STRING), Call(Deleted(), (decides,)), after.sources)
    present = Call(AnyThere(), (decides, there(before)))
    group = Group(after.schema, (), present, after.sources | before.sources)
    return with_fields(group, [*fields, (DELETED, deleted)], after.schema)


def _picked(one: Node, other: Node, decides: Expr) -> Node:
    """The first node where ``decides`` is not null, else the second; they have the same schema."""
    nullable = one.nullable or other.nullable
    if isinstance(one, Cell) and isinstance(other, Cell):
        expr = Call(Pick(), (one.expr, other.expr, decides))
        return Cell(one.schema, expr, one.sources | other.sources, False, nullable, one.marks | other.marks, one.items)
    one, other = open_struct(one), open_struct(other)
    pairs = zip(one.fields, other.fields, strict=True)
    fields = tuple((name, _picked(a, b, decides)) for (name, a), (_, b) in pairs)
    present = Call(Pick(), (there(one), there(other), decides))
    return Group(one.schema, fields, present, one.sources | other.sources, nullable)


def new_row(row: Group, replace_nulls: bool, nullable: bool) -> Group:
    """A required struct with the fields of a row, copied. ``nullable``: whether it can be null all the same."""
    fields = copied_fields(row, replace_nulls, row.fields)
    if not nullable:
        fields = tuple((n, c if c.schema.optional else replace(c, nullable=False)) for n, c in fields)
    return with_fields(replace(row, nullable=nullable), fields, new_schema(row))


def without_fields(group: Group, names: tuple[str, ...], optional_only: bool) -> Group:
    """A struct without some fields. If there is one to drop, the nulls that are left become defaults (ReplaceField)."""
    if optional_only:
        names = tuple(name for name, child in group.fields if name in names and child.schema.optional)
    if not names:
        return group
    left = tuple((name, child) for name, child in group.fields if name not in names)
    rebuilt = with_fields(group, copied_fields(group, True, left), new_schema(group))
    return replace(rebuilt, nullable=group.may_be_null)


def with_told(row: Group, event: Group, references: tuple[Reference, ...], at: Planning, first: int) -> Group:
    """A row with fields of its event; the first of them has the number ``first`` in the ledger."""
    text_field(event, "op")  # without one Debezium fails
    fields = dict(row.fields)
    for number, reference in enumerate(references, first):
        node = told(event, reference, at)
        if node is None:
            continue
        if reference.name in fields:
            raise clash(reference.name)
        fields[reference.name] = _as_field(node, there(row))
        at.touch(number, row.present)
    return with_fields(row, fields.items(), row.schema)


def _as_field(node: Node, row: Expr) -> Cell:
    """A value as a new field of a row, optional and without its default. Structs and maps are refused unless null."""
    schema = node.schema.with_(optional=True, default=None)
    if schema.type not in (Type.STRUCT, Type.MAP):
        assert isinstance(node, Cell)
        return Cell(schema, node.expr, node.sources, node.copied, marks=node.marks, items=node.items)
    statement = f"a value of the type {node.schema.label} cannot be added to a row"
    refused = Refused("SMT473", statement, "name a field inside it: struct.field")
    expr = Call(refused, (Call(KeepNull(), (row, there(node))),))
    return Cell(schema.with_(fields=()), expr, frozenset())


def routed_topic(topic: Cell, field: str, row: Group, before: Group, after: Expr) -> tuple[Cell, Expr]:
    """The topic by a field of the row, of the one before the change if there is none after; and where that is so."""
    new, old = text_field(row, field), text_field(before, field)
    found = Call(NotBlank(), (Call(Pick(), (new.expr, old.expr, after)),))
    sources = topic.sources | new.sources | old.sources
    return Cell(STRING, Call(Default(), (found, topic.expr)), sources, nullable=topic.nullable), found


def headers_told(
    record: PlanRecord, event: Group | None, references: tuple[Reference, ...], tombstones: bool, at: Planning
) -> Cell:
    """The headers with fields of the event, if it is one; of values that are null, if they stay, with ``op`` alone."""
    found = nulls = record.headers
    value = NONE if record.value is None else there(record.value)
    for number, reference in enumerate(references):
        node = None if event is None else told(event, reference, at)
        of_null = tombstones and reference.field == "op"
        found = found if node is None else _appended(found, reference.name, node)
        nulls = _told_of_null(nulls, reference.name) if of_null else nulls
        if node is not None or of_null:
            when = Call(Pick(), (NONE if node is None else TRUE, TRUE if of_null else NONE, value))
            at.touch(number, when)
    if found is nulls or not tombstones:
        return found
    return replace(found, expr=Call(Pick(), (found.expr, nulls.expr, value)))


def _told_of_null(headers: Cell, key: str) -> Cell:
    """The headers of a null with the kind of change that it stands for: a required text, unlike a field of an event."""
    return replace(headers, expr=Call(AppendHeader(key, STRING), (headers.expr, _DELETED_ROW)))


def _appended(headers: Cell, key: str, node: Node) -> Cell:
    """Headers with one more, optional and without the default of its field."""
    call = Call(AppendHeader(key, node.schema.with_(optional=True, default=None)), (headers.expr, there(node)))
    return Cell(headers.schema, call, headers.sources | all_sources(node))
