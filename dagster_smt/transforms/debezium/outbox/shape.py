"""Columns of an outbox table when planning, and where they go."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from dagster_smt.authoring.copying import copied
from dagster_smt.authoring.fields.edit import all_sources, clash, field_of, present
from dagster_smt.authoring.node_texts import with_default
from dagster_smt.authoring.options import java_split
from dagster_smt.authoring.transform import Entry, Planning, refuse
from dagster_smt.errors import CONNECT_EXCEPTION, DATA_EXCEPTION
from dagster_smt.model.cell import Call, Cell, Expr, Group, Node, with_fields
from dagster_smt.model.java_text import trim
from dagster_smt.model.record import NO_TARGET, Record
from dagster_smt.model.schema import INT32, STRING, Schema, Type, optional
from dagster_smt.transforms.debezium.events.shape import NULL_POINTER, said, text_field, there, whole_number
from dagster_smt.transforms.debezium.events.times import PRECISIONS
from dagster_smt.transforms.debezium.events.values import NotBlank, is_change_event
from dagster_smt.transforms.debezium.outbox.values import NotSent, NoUpdate
from dagster_smt.values.basic import Default
from dagster_smt.values.headers.fields import AppendHeader
from dagster_smt.values.java.regex import ReplaceIfMatches
from dagster_smt.values.needs import Needed
from dagster_smt.values.partitions import ChosenPartition
from dagster_smt.values.times.timestamps import NoTimestamp, RecordTime

HEADER, ENVELOPE, PARTITION = "header", "envelope", "partition"
PAYLOAD = "payload"
NO_MESSAGE = "no message"


@dataclass(frozen=True)
class Placement:
    """One item of ``table.fields.additional.placement``: a column, where it goes, and its name there."""

    column: str
    where: str
    name: str

    @property
    def side(self) -> str:
        """What the ledger says of where it goes."""
        return {ENVELOPE: "value", HEADER: "headers"}.get(self.where, "")

    @property
    def effect(self) -> Entry:
        """The line of the ledger."""
        if self.where == PARTITION:
            return Entry("extracted", self.column, "partition")
        return Entry("added", self.name, self.column, self.side)


class Seen(NamedTuple):
    """What the schema of a new value depends on, beside that of the event: all of it in each record, none in a plan.

    Attributes:
        route: The topic that the schema of an envelope is named after.
        version: The version of that schema.
        payload: The schema of JSON in the payload.
    """

    route: str | None = None
    version: int | None = None
    payload: Schema | None = None

    @classmethod
    def of(cls, route: object, version: object, payload: Schema | None) -> "Seen":
        """The same of columns that can be of any type: the plan refuses others."""
        number = version if isinstance(version, int) else None
        return cls(route if isinstance(route, str) else None, number, payload)


def no_message(record: Record, fatal: bool) -> str | None:
    """``NO_MESSAGE`` for the event of a row that was deleted or changed. ``fatal``: changed rows are refused."""
    event = record.value if is_change_event(record.value_schema) else None
    op = None if event is None else event.get("op")
    if op == "d" or (op == "u" and not fatal):
        return NO_MESSAGE
    return None


def placement_problems(items: Iterable[str]) -> Iterator[str]:
    """What is wrong with each item, if anything is."""
    for item in items:
        try:
            placement(item)
        except ValueError as error:
            yield str(error)


def placement(item: str) -> Placement:
    """Read an item ``column:placement`` or ``column:placement:name``; a partition has no name.

    Raises:
        ValueError: It is no such thing, or goes where nothing can go.
    """
    parts = [trim(part) for part in java_split(item, ":")]
    if not 2 <= len(parts) <= 3:
        raise ValueError(f"'{item}' is not a column and its place, or these and its name there, with ':' between them")
    column, where, name = parts[0], parts[1].lower(), parts[-1] if parts[2:] else parts[0]
    if where not in (HEADER, ENVELOPE, PARTITION):
        raise ValueError(f"'{item}' goes to '{parts[1]}', but only header, envelope and partition are places")
    return Placement(column, where, name)


def column(row: Group, name: str, missing_class: str = DATA_EXCEPTION) -> Node:
    """A column as ``Struct.get`` reads it."""
    return with_default(field_of(row, name, missing_class), row)


def put(row: Group, name: str, source: str) -> Node:
    """A column as a field of an envelope."""
    return _put(row, name, column(row, source, CONNECT_EXCEPTION))


def _put(row: Group, name: str, node: Node) -> Node:
    """A value as a field or header: null in a required one fails."""
    after = copied(name, node, row.present, True)
    if after.schema.optional:
        return after
    return replace(after, nullable=False)


def appended(row: Group, headers: Cell, name: str, source: str) -> Cell:
    """Headers with a column as one more, which has the schema of the column."""
    node = _put(row, name, column(row, source))
    call = Call(AppendHeader(name, node.schema), (headers.expr, there(node)))
    return Cell(headers.schema, call, headers.sources | all_sources(node))


@dataclass(frozen=True)
class Placed:
    """What columns become beside the payload.

    Attributes:
        headers: The headers.
        fields: The fields of an envelope.
        partition: The partition; null where no column says it.
    """

    headers: Cell
    fields: tuple[tuple[str, Node], ...] = ()
    partition: Cell = NO_TARGET

    def plus(self, item: Placement, row: Group) -> "Placed":
        """With one more column; of several partitions the last one counts."""
        if item.where == PARTITION:
            return replace(self, partition=_partition(row, item.column))
        if item.where == ENVELOPE:
            return replace(self, fields=(*self.fields, (item.name, put(row, item.name, item.column))))
        return replace(self, headers=appended(row, self.headers, item.name, item.column))


class Placements(NamedTuple):
    """Columns and their places.

    Attributes:
        items: Their numbers in the ledger, and they.
        may_lack: Whether a row may do without a column; else it is refused.
    """

    items: tuple[tuple[int, Placement], ...]
    may_lack: bool


def placements(items: Iterable[Placement], first: int, may_lack: bool) -> tuple[Placements, Placements]:
    """Those of the envelope, whose schema the original makes first, and the others; ``first``: number of the first."""
    numbered = tuple(enumerate(items, first))
    inside = tuple((number, item) for number, item in numbered if item.where == ENVELOPE)
    beside = tuple((number, item) for number, item in numbered if item.where != ENVELOPE)
    return Placements(inside, may_lack), Placements(beside, may_lack)


def placed(headers: Cell, row: Group, placements: Placements, at: Planning) -> Placed:
    """Where columns of a row go, beside headers that are there."""
    found = Placed(headers)
    for number, item in placements.items:
        if placements.may_lack and item.column not in row.by_name:
            at.miss(item.column, tuple(row.by_name))
            continue
        found = found.plus(item, row)
        at.touch(number)
    return found


def _partition(row: Group, name: str) -> Cell:
    """A column as the number of a partition, as ``Struct.getInt32`` reads it; null leaves the choice to the topic."""
    field = with_default(whole_number(row, name, Type.INT32), row)
    assert isinstance(field, Cell)
    return Cell(optional(INT32), field.expr, field.sources, nullable=True, marks=field.marks)


def chosen(cell: Cell) -> Cell:
    """The same for the record's way to its topic: a number that no partition can have is refused."""
    if cell == NO_TARGET:
        return cell
    return replace(cell, expr=Call(ChosenPartition(), (cell.expr,)))


def not_sent(event: Group, fatal: bool) -> Call:
    """Whether an event makes no message; it fails where there is no row for one. ``fatal``: changed rows fail, too."""
    op, row = text_field(event, "op"), event.by_name.get("after")
    known = said(op.expr, "what it did", there(event))
    checked = Call(NoUpdate(), (known,)) if fatal else known
    return Call(NotSent(), (checked, there(event if row is None else row)))


def routed(row: Group, name: str, rule: ReplaceIfMatches) -> Cell:
    """The topic that a rule makes of a column."""
    field, hint = text_field(row, name), "drop such records first"
    known = Needed("SMT486", f"the field '{name}' is null, but it is the topic", hint, NULL_POINTER)
    return Cell(STRING, Call(rule, (Call(known, (field.expr, there(row))),)), field.sources, marks=field.marks)


def filled(payload: Node) -> Node:
    """A payload that is null where it makes a tombstone."""
    if isinstance(payload, Cell):
        return replace(payload, expr=_full(payload), nullable=True)
    return payload


def _full(payload: Node) -> Expr:
    if payload.schema.type is Type.STRING:
        return Call(NotBlank(), (there(payload),))
    return there(payload)


def envelope(
    row: Group,
    payload: Node,
    fields: Iterable[tuple[str, Node]],
    tombstones: bool,
    version: str | None,
    seen: Seen,
) -> Group:
    """A struct of the payload and columns.

    Args:
        row: The row.
        payload: Its payload.
        fields: The columns, by the names of their fields.
        tombstones: Whether there is none for a payload that is null or blank.
        version: The column with the version of its schema.
        seen: What is known of the record.
    """
    payload = _put(row, PAYLOAD, payload)  # a null that is refused is no tombstone
    nodes = {PAYLOAD: payload}
    for name, node in fields:
        if name in nodes:
            raise clash(name)
        nodes[name] = node
    if version is not None:
        whole_number(row, version, Type.INT32)
    schema = Schema(Type.STRUCT, name=_name(row.schema.name, seen.route), version=seen.version)
    present = _full(payload) if tombstones else None
    return with_fields(Group(schema, (), present, all_sources(payload), tombstones), nodes.items(), schema)


def _name(row: str | None, route: str | None) -> str | None:
    """The name of an envelope: the topic before the last part of the row's; that of the row if no topic is known."""
    if row is None or route is None:
        return route or row
    head, dot, last = row.rpartition(".")
    return f"{head}{dot}{route}.{last}"


def event_time(stamp: Cell, event: Group, row: Group, name: str | None) -> Cell:
    """The timestamp of a record: a column, or where there is none or it is null, the event's own."""
    own = whole_number(event, "ts_ms", Type.INT64)
    expr: Expr = Call(RecordTime("unix", "Timestamp"), (own.expr,))
    sources = own.sources
    if name is not None:
        field_of(row, name, CONNECT_EXCEPTION)
        field = whole_number(row, name, Type.INT64)
        expr = Call(Default(), (_milliseconds(field, name), expr))
        sources |= field.sources
    return replace(stamp, expr=expr, sources=sources, copied=False)


def _milliseconds(field: Cell, name: str) -> Expr:
    precision = PRECISIONS.get(field.schema.name or "")
    if precision is not None:
        return Call(RecordTime("unix", "Timestamp", precision=precision), (field.expr,))
    statement = f"the field '{name}' is no Timestamp, MicroTimestamp or NanoTimestamp of Debezium"
    hint = "leave out table.field.event.timestamp, or give the column such a type"
    if present(field) is None:
        raise refuse("SMT488", statement, hint, CONNECT_EXCEPTION)
    return Call(NoTimestamp("SMT488", statement, hint), (field.expr,))
