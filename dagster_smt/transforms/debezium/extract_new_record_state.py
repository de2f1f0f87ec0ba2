"""ExtractNewRecordState: replace a change event with its row."""

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any

from dagster_smt.authoring.fields.edit import struct_of
from dagster_smt.authoring.options import Flag, Names, RawText, Text, option
from dagster_smt.authoring.transform import Entry, Example, NullRule, Part, Planning, SideFunction
from dagster_smt.authoring.validate import AnyCase, one_of
from dagster_smt.effects.code import Code, CodeTransform
from dagster_smt.model.cell import Call, Cell, Group, Node
from dagster_smt.model.record import Header, PlanRecord, Record
from dagster_smt.model.schema import STRING
from dagster_smt.transforms.debezium.events import states as change_states
from dagster_smt.transforms.debezium.events.examples import event, row
from dagster_smt.transforms.debezium.events.rows import (
    DELETED,
    latest_row,
    new_row,
    routed_topic,
    with_event_fields,
    with_event_headers,
    without_fields,
)
from dagster_smt.transforms.debezium.events.shape import Reference, image, presence, references
from dagster_smt.transforms.debezium.events.values import NoneThere, is_change_event

_MODES = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")
_Mode = Annotated[Text, one_of(*_MODES), AnyCase]


class ExtractNewRecordState(CodeTransform):
    """Replace a change event of Debezium with the row after the change, and handle deleted rows.

    A change event is a value whose schema's name ends with `.Envelope`. Other values pass through unchanged, such as
    heartbeats, schema changes and values without a schema. An event without any row, which Debezium writes when a table
    is truncated, is dropped. The new value is a required struct with the name of the row's schema. Nulls in the row
    stay null.

    The modes of `delete.tombstone.handling.mode`:

    | mode | deleted row | tombstone |
    |---|---|---|
    | `drop` | dropped | dropped |
    | `tombstone` | null, with the schema of the row: JSON writes `null`, which is not a tombstone | dropped |
    | `delete-to-tombstone` | null without a schema: a tombstone | dropped |
    | `rewrite` | the row before the change, with `__deleted` `true` | dropped |
    | `rewrite-with-tombstone` | the row before the change, with `__deleted` `true` | passes through |

    `add.fields` and `add.headers` list fields of the event:

    - `op`, `ts_ms`, `ts_us` and `ts_ns` are fields of the event itself.
    - `id`, `total_order` and `data_collection_order` are fields of the event's `transaction`.
    - A name with a dot, such as `source.table`, is a field of the named struct.
    - Any other name is a field of `source`.

    A name after a colon is the new name. Without a colon, `source.ts_ms` is named `source_ts_ms`. A listed field that
    the event does not have is skipped. If the event does not even have the struct of a listed field, the event is
    rejected. Added fields are always optional. A whole struct can become a header, but not a field. Tombstones only get
    the header `op`, with the value `d`.

    In a table of columns (one column for each field of the value), the output schema must be the same for inserted,
    updated and deleted rows. The rewriting modes therefore reject an event if its rows before and after the change have
    different schemas. A missing field is an error, even for rows that are dropped. With `drop.fields.header.name`, the
    schema of a record depends on its header. The option therefore works in sinks of records and is rejected for tables
    of columns.

    Debezium caches the added fields by a row's schema and `op`. If a later event has more or fewer fields, Debezium
    fails or leaves a field null. Here, each event is transformed independently of earlier events (decision 13).
    """

    connect_class = "io.debezium.transforms.ExtractNewRecordState"
    sided = False
    purpose = "read the state of a row"
    delete_tombstone_handling_mode: _Mode = option(
        "The treatment of deleted rows and tombstones: `drop`, `tombstone`, `rewrite`, `rewrite-with-tombstone` or "
        "`delete-to-tombstone`.",
        "tombstone",
    )
    route_by_field: RawText = option("Field of the row that becomes the topic, unless the field is null or blank.", "")
    add_fields_prefix: RawText = option("Prefix of the names of added fields.", "__")
    add_fields: Names = option("Fields of the event to add to the row.", ())
    add_headers_prefix: RawText = option("Prefix of the names of added headers.", "__")
    add_headers: Names = option("Fields of the event to add to the headers.", ())
    drop_fields_header_name: RawText = option("Header with a list of fields to drop.", "")
    drop_fields_from_key: Flag = option(
        "If `true`, the fields that the header lists are also dropped from the key.", False
    )
    drop_fields_keep_schema_compatible: Flag = option("If `true`, only optional fields are dropped.", True)
    replace_null_with_default: Flag = option("If `true`, nulls become defaults in the rewriting modes.", True)
    examples = (
        Example(
            "a changed row",
            {"add.fields": "op,source.ts_ms:changed"},
            event("u", {"id": 7, "name": "Ann"}, {"id": 7, "name": "Anne"}),
            row({"id": 7, "name": "Anne", "__op": "u", "__changed": 1559033904863}, __op="string", __changed="int64"),
        ),
        Example(
            "a deleted row",
            {"delete.tombstone.handling.mode": "rewrite"},
            event("d", {"id": 7, "name": "Anne"}, None),
            row({"id": 7, "name": "Anne", "__deleted": "true"}, __deleted="string"),
        ),
        Example(
            "a header with the kind of change",
            {"add.headers": "op"},
            event("c", None, {"id": 7, "name": "Ann"}),
            '[{"key":"__op","value":"c"}]',
            shows="headers",
            input_part="value",
        ),
        Example("a tombstone", {}, "null", None),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        for key, items in (("add.fields", self.add_fields), ("add.headers", self.add_headers)):
            try:
                references(items, "")
            except ValueError as error:
                yield key, str(error), "write struct.field:name"

    @property
    def mode(self) -> str:
        return self.delete_tombstone_handling_mode

    @property
    def rewrites(self) -> bool:
        """True if events of deleted rows result in rows, with the additional field ``__deleted``."""
        return self.mode.startswith("rewrite")

    @property
    def passes_null(self) -> bool:
        """True if tombstones pass through."""
        return self.mode == "rewrite-with-tombstone"

    def on_null(self) -> NullRule:
        if self.passes_null:
            return "apply"
        return "drop"

    @cached_property
    def _fields(self) -> tuple[Reference, ...]:
        return references(self.add_fields, self.add_fields_prefix)

    @cached_property
    def _headers(self) -> tuple[Reference, ...]:
        return references(self.add_headers, self.add_headers_prefix)

    def effects(self) -> tuple[Code, ...]:
        reads: set[Part] = {"value", "headers"}
        if self.drop_fields_header_name and self.drop_fields_from_key:
            reads.add("key")
        return (Code(self._entries(), frozenset(reads)),)

    def _entries(self) -> tuple[Entry, ...]:
        entries = [Entry("added", r.name, r.text, "headers") for r in self._headers]
        entries += [Entry("added", r.name, r.text, "value") for r in self._fields]
        if self.route_by_field:
            entries.append(Entry("routed", self.route_by_field, "", "topic"))
        if self.rewrites:
            entries.append(Entry("added", DELETED, "", "value"))
        if self.drop_fields_header_name:  # the fields to drop are only known from the header of each record
            entries.append(Entry("dropped", self.drop_fields_header_name, explicit=False))
        return tuple(entries)

    @cached_property
    def _dropper(self) -> change_states.DropHeader:
        return change_states.DropHeader(self.drop_fields_header_name, self.drop_fields_keep_schema_compatible)

    def variant(self, record: Record) -> Hashable:
        """Returns two items. The first item is the names of the fields to drop, which a header of ``record`` lists;
        None if the header is not a list of names. The second item is True if the row was deleted.
        """
        if not self.drop_fields_header_name or record.value is None or not is_change_event(record.value_schema):
            return ((), False)
        deleted, gone = change_states.without_row(record, self.mode)
        return () if gone else self._dropper.names(record), deleted

    def narrower(self, record: Record) -> Hashable:
        """Returns the state of a change event, such as ``DROPPED``, if the event has all fields that its transformation
        needs. Returns None for all other records.
        """
        return change_states.state_of(record, self.mode, self._dropper.names(record) != ())

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        node = record.value
        if node is None or not is_change_event(node.schema):
            if self.passes_null:
                return replace(record, headers=self._added(record, None, at))
            return record
        if at.variant == change_states.NO_EVENT:
            return replace(record, dropped=True)
        if at.variant == change_states.TOMBSTONE:
            return replace(record, headers=self._added(record, None, at))
        event = struct_of(node, self.purpose)
        headers = self._added(record, event, at)  # Debezium also requires these fields in events that it drops
        if at.variant == change_states.DROPPED:
            return replace(record, dropped=True)
        after = image(event, "after", self.purpose)
        # an event with a row after the change may lack the row before it
        if at.variant == change_states.CHANGED_ROW:
            before = after
        else:
            before = image(event, "before", self.purpose)
        images = (presence(after),) if self.mode == "drop" else (presence(after), presence(before))
        nulls = {"tombstone": after.schema, "delete-to-tombstone": None, "rewrite-with-tombstone": event.schema}
        return replace(
            self._planned(record, event, (after, before), at),
            headers=headers,
            dropped=Call(NoneThere(), (presence(event), *images)),
            null_value=nulls.get(self.mode, False),
        )

    def _planned(self, record: PlanRecord, event: Group, images: tuple[Group, Group], at: Planning) -> PlanRecord:
        """Returns ``record`` with the row of its event as its value, and with the topic of the event. Fields that a
        header drops are left out.
        """
        after, before = images
        row, topic = self._row(after, before, at), record.topic
        # the entries after the entries of headers and fields, in the order of `_entries`
        other_entries = iter(range(len(self._headers) + len(self._fields), len(self.ledger())))
        if self.route_by_field:
            topic, routed = routed_topic(topic, self.route_by_field, row, before, presence(after))
            at.touch(next(other_entries), routed)
        if self.rewrites:
            at.touch(next(other_entries), row.present)
        deleted, tombstones = isinstance(at.variant, tuple) and at.variant[1], self.mode == "delete-to-tombstone"
        # as in Debezium, fields of a deleted row are dropped before `add.fields` adds fields, otherwise after that
        if deleted:
            row = self._without(row, self._dropper.planned(at.variant, tombstones))
        # without a row there is nothing to add to, so the event may lack the fields of `add.fields`
        if at.variant != change_states.NULL_ROW:
            row = with_event_fields(row, event, self._fields, at, len(self._headers))
        names = self._dropper.planned(at.variant, tombstones)
        row = row if deleted else self._without(row, names)
        if names:
            at.touch(next(other_entries), row.present)
            if self.drop_fields_from_key and record.key is not None:
                record = replace(record, key=self._without(record.key, names))
        return replace(record, value=row, topic=topic)

    def _added(self, record: PlanRecord, event: Group | None, at: Planning) -> Cell:
        return with_event_headers(record, event, self._headers, self.passes_null, at)

    def _row(self, after: Group, before: Group, at: Planning) -> Group:
        nullable = self.mode not in ("drop", "rewrite")
        if self.rewrites:
            row = latest_row(before if at.variant == change_states.DELETED_ROW else after, before, presence(after))
            return new_row(row, self.replace_null_with_default, nullable)
        return new_row(after, False, nullable)

    def _without(self, node: Node, names: tuple[str, ...]) -> Group:
        return without_fields(struct_of(node, self.purpose), names, self.drop_fields_keep_schema_compatible)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        """Returns the function that transforms values without a schema.

        The function only adds the header ``op`` to tombstones that pass through.
        """
        op_headers = []
        # the entries of headers are the first ones, so their bits are the first bits
        for reference, bit in zip(self._headers, bits, strict=False):
            if reference.field == "op":
                op_headers.append((reference.name, bit))

        def mark(value: Any, record: Record) -> None:
            if value is None and op_headers:
                record.headers = [*record.headers, *(Header(name, STRING, "d") for name, _ in op_headers)]
                record.touched |= sum(bit for _, bit in op_headers)

        return mark
