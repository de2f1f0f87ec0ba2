"""Plans the row that replaces a change event, and the fields and headers that a transform adds to it."""

from dataclasses import replace

from dagster_smt.authoring.copying import copied_fields
from dagster_smt.authoring.fields.edit import all_sources, clash
from dagster_smt.authoring.transform import Planning, refuse
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, open_struct, with_fields
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.schema import STRING, Type, optional
from dagster_smt.transforms.debezium.events.shape import (
    NONE,
    TRUE,
    Reference,
    new_schema,
    presence,
    referenced_field,
    text_field,
)
from dagster_smt.transforms.debezium.events.values import AnyThere, Deleted, NotBlank, Pick
from dagster_smt.values.headers.fields import AppendHeader
from dagster_smt.values.value_rule import Default, KeepNull, Refused

DELETED = "__deleted"
_DELETED_ROW = Const("d", STRING)


def latest_row(after: Group, before: Group, decides: Expr) -> Group:
    """Returns the row that replaces an event: the row after the change or, for a deleted row, the row before the
    change. The new row also has the field ``__deleted``.

    ``decides`` is an expression that is null if the event has no row after the change.

    Raises:
        PlanError: SMT472 if the schemas of the two rows differ; SMT111 if the row has a field ``__deleted``.
    """
    if (new_schema(after), after.schema.fields) != (new_schema(before), before.schema.fields):
        statement = "the rows before and after the change have different schemas"
        raise refuse("SMT472", statement, "set delete.tombstone.handling.mode=drop, or tombstone", "")
    if DELETED in after.by_name:
        raise clash(DELETED)
    pairs = zip(after.fields, before.fields, strict=True)
    fields = []
    for (name, a), (_, b) in pairs:
        fields.append((name, _picked(a, b, decides)))
    deleted = Cell(optional(STRING), Call(Deleted(), (decides,)), after.sources)
    present = Call(AnyThere(), (decides, presence(before)))
    group = Group(after.schema, (), present, after.sources | before.sources)
    return with_fields(group, [*fields, (DELETED, deleted)], after.schema)


def _picked(one: Node, other: Node, decides: Expr) -> Node:
    """Returns a node with the value of ``one`` if ``decides`` is not null, and otherwise with the value of ``other``.
    Both nodes have the same schema.
    """
    nullable = one.nullable or other.nullable
    if isinstance(one, Cell) and isinstance(other, Cell):
        expr = Call(Pick(), (one.expr, other.expr, decides))
        return Cell(one.schema, expr, one.sources | other.sources, False, nullable, one.marks | other.marks, one.items)
    one, other = open_struct(one), open_struct(other)
    pairs = zip(one.fields, other.fields, strict=True)
    fields = tuple((name, _picked(a, b, decides)) for (name, a), (_, b) in pairs)
    present = Call(Pick(), (presence(one), presence(other), decides))
    return Group(one.schema, fields, present, one.sources | other.sources, nullable)


def new_row(row: Group, replace_nulls: bool, nullable: bool) -> Group:
    """Returns a required struct with copies of the fields of ``row``.

    Args:
        row: The row.
        replace_nulls: True if nulls in the fields become their defaults.
        nullable: True if the struct can be null although it is required, because some events have no row.
    """
    fields = copied_fields(row, replace_nulls, row.fields)
    # all events without a row are dropped, so a required field of the row is never null
    if not nullable:
        children = []
        for n, c in fields:
            children.append((n, c if c.schema.optional else replace(c, nullable=False)))
        fields = tuple(children)
    return with_fields(replace(row, nullable=nullable), fields, new_schema(row))


def without_fields(group: Group, names: tuple[str, ...], optional_only: bool) -> Group:
    """Returns ``group`` without the fields in ``names``. With ``optional_only``, required fields stay.

    If a field is dropped, nulls in the remaining fields become defaults, as in ReplaceField.
    """
    if optional_only:
        optional_names = []
        for name, child in group.fields:
            if name in names and child.schema.optional:
                optional_names.append(name)
        names = tuple(optional_names)
    if not names:
        return group
    children = []
    for name, child in group.fields:
        if name not in names:
            children.append((name, child))
    left = tuple(children)
    rebuilt = with_fields(group, copied_fields(group, True, left), new_schema(group))
    return replace(rebuilt, nullable=group.may_be_null)


def with_event_fields(row: Group, event: Group, references: tuple[Reference, ...], at: Planning, first: int) -> Group:
    """Returns ``row`` with more fields: the fields of ``event`` that ``references`` name, such as ``op`` or
    ``source.table``. ``first`` is the position of the first of these fields among the stage's ledger entries. The
    ledger counts changed records.
    """
    text_field(event, "op")  # Debezium fails without this field
    fields = dict(row.fields)
    for number, reference in enumerate(references, first):
        node = referenced_field(event, reference, at)
        if node is None:
            continue
        if reference.name in fields:
            raise clash(reference.name)
        fields[reference.name] = _as_field(node, presence(row))
        at.touch(number, row.present)
    return with_fields(row, fields.items(), row.schema)


def _as_field(node: Node, row: Expr) -> Cell:
    """Returns a copy of ``node`` that can be added to ``row`` as a field. The copy is optional and has no default.

    A struct or map cannot be added to a row. If ``node`` is a struct or map, a record passes only if ``row`` or
    ``node`` is null; any other record is rejected.
    """
    schema = node.schema.with_(optional=True, default=None)
    if schema.type not in (Type.STRUCT, Type.MAP):
        assert isinstance(node, Cell)
        return Cell(schema, node.expr, node.sources, node.copied, marks=node.marks, items=node.items)
    statement = f"a value of the type {node.schema.label} cannot be added to a row"
    refused = Refused("SMT473", statement, "name a field inside it: struct.field")
    expr = Call(refused, (Call(KeepNull(), (row, presence(node))),))
    return Cell(schema.with_(fields=()), expr, frozenset())


def routed_topic(topic: Cell, field: str, row: Group, before: Group, after: Expr) -> tuple[Cell, Expr]:
    """Returns two items: the new topic of the record, and an expression with the string in the row's field ``field``.
    If this string is missing or blank, the expression is null and the record keeps its topic.

    If the event has no row after the change (``after`` is null), the field is read from the row ``before``.
    """
    new, old = text_field(row, field), text_field(before, field)
    text = Call(NotBlank(), (Call(Pick(), (new.expr, old.expr, after)),))
    sources = topic.sources | new.sources | old.sources
    return Cell(STRING, Call(Default(), (text, topic.expr)), sources, nullable=topic.nullable), text


def with_event_headers(
    record: PlanRecord, event: Group | None, references: tuple[Reference, ...], tombstones: bool, at: Planning
) -> Cell:
    """Returns the headers of the record, followed by one new header for each of ``references``. A new header contains a
    field of the event, such as ``op``. If the event does not have the field, there is no new header.

    With ``tombstones``, a record whose value is null does not get these headers. If ``references`` contains ``op``,
    this record gets only a header for ``op``, with the value ``d``.
    """
    headers = nulls = record.headers
    value = NONE if record.value is None else presence(record.value)
    for number, reference in enumerate(references):
        node = None if event is None else referenced_field(event, reference, at)
        of_null = tombstones and reference.field == "op"
        headers = headers if node is None else _appended(headers, reference.name, node)
        nulls = _with_delete_header(nulls, reference.name) if of_null else nulls
        if node is not None or of_null:
            when = Call(Pick(), (NONE if node is None else TRUE, TRUE if of_null else NONE, value))
            at.touch(number, when)
    if headers is nulls or not tombstones:
        return headers
    return replace(headers, expr=Call(Pick(), (headers.expr, nulls.expr, value)))


def _with_delete_header(headers: Cell, key: str) -> Cell:
    """Returns ``headers`` with one more header: its name is ``key``, and its value is ``d``, for a deleted row.

    The schema of this header is a required string. The headers that contain event fields have optional schemas.
    """
    return replace(headers, expr=Call(AppendHeader(key, STRING), (headers.expr, _DELETED_ROW)))


def _appended(headers: Cell, key: str, node: Node) -> Cell:
    """Returns ``headers`` with one more header, whose name is ``key`` and whose value is ``node``. The schema of the
    header is optional, and has no default even if the field has one.
    """
    call = Call(AppendHeader(key, node.schema.with_(optional=True, default=None)), (headers.expr, presence(node)))
    return Cell(headers.schema, call, headers.sources | all_sources(node))
