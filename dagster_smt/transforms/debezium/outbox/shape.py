"""Plans the placement of an outbox table's columns in the message."""

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
from dagster_smt.transforms.debezium.events.shape import NULL_POINTER, needed_value, presence, text_field, whole_number
from dagster_smt.transforms.debezium.events.times import PRECISIONS
from dagster_smt.transforms.debezium.events.values import NotBlank, is_change_event
from dagster_smt.transforms.debezium.outbox.values import NotSent, NoUpdate
from dagster_smt.values.headers.fields import AppendHeader
from dagster_smt.values.java.regex import ReplaceIfMatches
from dagster_smt.values.needs import Needed
from dagster_smt.values.partitions import ChosenPartition
from dagster_smt.values.times.timestamps import NoTimestamp, RecordTime
from dagster_smt.values.value_rule import Default

HEADER, ENVELOPE, PARTITION = "header", "envelope", "partition"
PAYLOAD = "payload"
NO_MESSAGE = "no message"


@dataclass(frozen=True)
class Placement:
    """An item of ``table.fields.additional.placement``: a column, its destination in the message, and the name of the
    new header or field. For example, ``region:header:area`` puts the column ``region`` into the header ``area``.
    """

    column: str
    where: str
    name: str

    @property
    def side(self) -> str:
        """The part of the message that gets the column: ``value``, ``headers``, or an empty string for a partition."""
        return {ENVELOPE: "value", HEADER: "headers"}.get(self.where, "")

    @property
    def effect(self) -> Entry:
        """The entry of this placement in the ledger, which counts the messages that get the column."""
        if self.where == PARTITION:
            return Entry("extracted", self.column, "partition")
        return Entry("added", self.name, self.column, self.side)


class EnvelopeVariant(NamedTuple):
    """The values in a record that determine the schema of its message.

    If a plan is made from schemas alone, without a record, these values are unknown.

    Attributes:
        route: The topic, for the name of an envelope's schema.
        version: The version of an envelope's schema.
        payload: The schema of the JSON in the payload.
    """

    route: str | None = None
    version: int | None = None
    payload: Schema | None = None

    @classmethod
    def of(cls, route: object, version: object, payload: Schema | None) -> "EnvelopeVariant":
        """Returns the variant for three values that were read from a record. A topic that is not a string and a version
        that is not an integer become None. The plan rejects the record later.
        """
        number = version if isinstance(version, int) else None
        return cls(route if isinstance(route, str) else None, number, payload)


def no_message(record: Record, fatal: bool) -> str | None:
    """Returns ``NO_MESSAGE`` if ``record`` is an event that deletes or updates a row, else None. With ``fatal``, an
    update also gives None, because the plan rejects updates.
    """
    event = record.value if is_change_event(record.value_schema) else None
    op = None if event is None else event.get("op")
    if op == "d" or (op == "u" and not fatal):
        return NO_MESSAGE
    return None


def placement_problems(items: Iterable[str]) -> Iterator[str]:
    """Yields an error text for each of ``items`` that does not have the form ``column:header``, ``column:envelope`` or
    ``column:partition``. Each item may end with a name: ``column:header:name``.
    """
    for item in items:
        try:
            placement(item)
        except ValueError as error:
            yield str(error)


def placement(item: str) -> Placement:
    """Parses ``item``, which is ``column:placement`` or ``column:placement:name``. A partition has no name.

    Raises:
        ValueError: The item has a different form, or an unknown destination.
    """
    parts = []
    for part in java_split(item, ":"):
        parts.append(trim(part))
    if not 2 <= len(parts) <= 3:
        raise ValueError(f"'{item}' does not have the form column:place or column:place:name")
    column, where, name = parts[0], parts[1].lower(), parts[-1] if parts[2:] else parts[0]
    if where not in (HEADER, ENVELOPE, PARTITION):
        raise ValueError(f"'{item}' has the place '{parts[1]}', but the places are header, envelope and partition")
    return Placement(column, where, name)


def column(row: Group, name: str, missing_class: str = DATA_EXCEPTION) -> Node:
    """Returns the column ``name`` of the outbox row ``row``, as Connect's ``Struct.get`` reads it: a null becomes the
    default. ``missing_class`` is the Java exception for a column that does not exist.
    """
    return with_default(field_of(row, name, missing_class), row)


def put(row: Group, name: str, source: str) -> Node:
    """Returns the column ``source`` of the row as the field ``name`` of an envelope."""
    return _put(row, name, column(row, source, CONNECT_EXCEPTION))


def _put(row: Group, name: str, node: Node) -> Node:
    """Returns ``node`` as the field or header ``name``. If the schema of the node requires a value, a record with a
    null is rejected.
    """
    after = copied(name, node, row.present, True)
    if after.schema.optional:
        return after
    return replace(after, nullable=False)  # `copied` rejects a null


def appended(row: Group, headers: Cell, name: str, source: str) -> Cell:
    """Returns ``headers`` with one more header, whose value and schema are those of the column ``source``."""
    node = _put(row, name, column(row, source))
    call = Call(AppendHeader(name, node.schema), (headers.expr, presence(node)))
    return Cell(headers.schema, call, headers.sources | all_sources(node))


@dataclass(frozen=True)
class Placed:
    """The parts of a message that come from additional columns.

    Attributes:
        headers: The headers.
        fields: The fields of an envelope.
        partition: The partition; null if no column contains the partition.
    """

    headers: Cell
    fields: tuple[tuple[str, Node], ...] = ()
    partition: Cell = NO_TARGET

    def plus(self, item: Placement, row: Group) -> "Placed":
        """Returns a copy of this object with the column of ``row`` that ``item`` names. The column is added to the part
        of the message that ``item`` names. If several columns contain partitions, the last of them applies.
        """
        if item.where == PARTITION:
            return replace(self, partition=_partition(row, item.column))
        if item.where == ENVELOPE:
            return replace(self, fields=(*self.fields, (item.name, put(row, item.name, item.column))))
        return replace(self, headers=appended(row, self.headers, item.name, item.column))


class Placements(NamedTuple):
    """Some additional columns, with their placement in the message.

    Attributes:
        items: Pairs, such as ``(6, placement)``. The number is the position of the placement among the stage's ledger
            entries, which count messages.
        may_lack: True if a row without one of the columns passes, False if it is rejected.
    """

    items: tuple[tuple[int, Placement], ...]
    may_lack: bool


def placements(items: Iterable[Placement], first: int, may_lack: bool) -> tuple[Placements, Placements]:
    """Splits ``items`` into two groups: the columns for the envelope, which Debezium handles first, and all other
    columns.

    Each item also gets its position among the stage's ledger entries. ``first`` is the position of the first item.
    """
    inside, beside = [], []
    for number, item in enumerate(items, first):
        if item.where == ENVELOPE:
            inside.append((number, item))
        else:
            beside.append((number, item))
    return Placements(tuple(inside), may_lack), Placements(tuple(beside), may_lack)


def placed(headers: Cell, row: Group, placements: Placements, at: Planning) -> Placed:
    """Returns the parts of a message that come from the columns of ``row`` in ``placements``. New headers are appended
    to ``headers``.
    """
    parts = Placed(headers)
    for number, item in placements.items:
        if placements.may_lack and item.column not in row.by_name:
            at.miss(item.column, tuple(row.by_name))
            continue
        parts = parts.plus(item, row)
        at.touch(number)
    return parts


def _partition(row: Group, name: str) -> Cell:
    """Returns the column ``name`` as the number of a partition, in the same way as ``Struct.getInt32``.

    If the column is null, the producer chooses the partition.
    """
    field = with_default(whole_number(row, name, Type.INT32), row)
    assert isinstance(field, Cell)
    return Cell(optional(INT32), field.expr, field.sources, nullable=True, marks=field.marks)


def chosen_partition(cell: Cell) -> Cell:
    """Returns ``cell`` as the partition to which the record will be written. A number that is not a valid partition is
    rejected.
    """
    if cell == NO_TARGET:
        return cell
    return replace(cell, expr=Call(ChosenPartition(), (cell.expr,)))


def not_sent(event: Group, fatal: bool) -> Call:
    """Returns a condition that is true for an event of a deleted or updated row, which results in no message. With
    ``fatal``, an event of an updated row fails instead.

    The condition also makes an event of an inserted row fail if the event lacks the row after the change.
    """
    op, row = text_field(event, "op"), event.by_name.get("after")
    known = needed_value(op.expr, "op", presence(event))
    checked = Call(NoUpdate(), (known,)) if fatal else known
    return Call(NotSent(), (checked, presence(event if row is None else row)))


def routed(row: Group, name: str, rule: ReplaceIfMatches) -> Cell:
    """Returns the topic that ``rule`` derives from the column ``name``."""
    field, hint = text_field(row, name), "drop such records first"
    known = Needed("SMT486", f"the field '{name}' is null, but the topic comes from it", hint, NULL_POINTER)
    return Cell(STRING, Call(rule, (Call(known, (field.expr, presence(row))),)), field.sources, marks=field.marks)


def filled(payload: Node) -> Node:
    """Returns ``payload`` with null in place of a blank string, because Debezium turns null and blank payloads into
    tombstones.
    """
    if isinstance(payload, Cell):
        return replace(payload, expr=_full(payload), nullable=True)
    return payload


def _full(payload: Node) -> Expr:
    if payload.schema.type is Type.STRING:
        return Call(NotBlank(), (presence(payload),))
    return presence(payload)


def envelope(
    row: Group,
    payload: Node,
    fields: Iterable[tuple[str, Node]],
    tombstones: bool,
    version: str | None,
    variant: EnvelopeVariant,
) -> Group:
    """Returns the envelope, which is a struct of the payload and the additional columns.

    Args:
        row: The row.
        payload: The payload of the row.
        fields: The columns, by the names of their fields.
        tombstones: True if a null or blank payload results in a tombstone instead.
        version: The column with the version of the envelope's schema.
        variant: Contains the topic, from which the name of the envelope's schema is built, and the version of this
            schema.
    """
    # checked first, because a null that must be rejected must not become a tombstone
    payload = _put(row, PAYLOAD, payload)
    nodes = {PAYLOAD: payload}
    for name, node in fields:
        if name in nodes:
            raise clash(name)
        nodes[name] = node
    if version is not None:
        # only a check of the type: the version itself is in `variant`
        whole_number(row, version, Type.INT32)
    schema = Schema(Type.STRUCT, name=_name(row.schema.name, variant.route), version=variant.version)
    present = _full(payload) if tombstones else None
    return with_fields(Group(schema, (), present, all_sources(payload), tombstones), nodes.items(), schema)


def _name(row: str | None, route: str | None) -> str | None:
    """Returns the name of an envelope's schema. For the row's schema ``shop.Value`` and the topic ``Order``, the name
    is ``shop.Order.Value``. ``row`` is the name of the row's schema, and ``route`` is the topic.

    If ``row`` or ``route`` is None, the result is the other argument.
    """
    if row is None or route is None:
        return route or row
    head, dot, last = row.rpartition(".")
    return f"{head}{dot}{route}.{last}"


def event_time(stamp: Cell, event: Group, row: Group, name: str | None) -> Cell:
    """Returns the timestamp of a record. The timestamp comes from the column ``name``. If no column is configured or
    the column is null, the timestamp comes from the event.
    """
    own = whole_number(event, "ts_ms", Type.INT64)
    expr: Expr = Call(RecordTime("unix", "Timestamp"), (own.expr,))
    sources = own.sources
    if name is not None:
        # only for a missing column: Debezium then raises a ConnectException, unlike for a wrong type
        field_of(row, name, CONNECT_EXCEPTION)
        field = whole_number(row, name, Type.INT64)
        expr = Call(Default(), (_milliseconds(field, name), expr))
        sources |= field.sources
    return replace(stamp, expr=expr, sources=sources, copied=False)


def _milliseconds(field: Cell, name: str) -> Expr:
    precision = PRECISIONS.get(field.schema.name or "")
    if precision is not None:
        return Call(RecordTime("unix", "Timestamp", precision=precision), (field.expr,))
    statement = f"the field '{name}' is not a Timestamp, MicroTimestamp or NanoTimestamp of Debezium"
    hint = "remove table.field.event.timestamp, or change the type of the column"
    if present(field) is None:
        raise refuse("SMT488", statement, hint, CONNECT_EXCEPTION)
    return Call(NoTimestamp("SMT488", statement, hint), (field.expr,))
