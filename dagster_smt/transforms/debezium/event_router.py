"""EventRouter: the events of an outbox table."""

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any

from dagster_smt.authoring.fields.edit import struct_of
from dagster_smt.authoring.options import Flag, Names, RawText, Text, option
from dagster_smt.authoring.transform import Entry, Example, Part, Planning, SideFunction
from dagster_smt.authoring.validate import AnyCase, Regex, one_of
from dagster_smt.effects.code import Code, CodeTransform
from dagster_smt.errors import CONNECT_EXCEPTION
from dagster_smt.model.cell import Call, Cell, Group, Node
from dagster_smt.model.record import PlanRecord, Record
from dagster_smt.model.schema import Schema
from dagster_smt.transforms.debezium.events.avro_names import AVRO, AVRO_UNICODE, NONE
from dagster_smt.transforms.debezium.events.examples import outbox_event
from dagster_smt.transforms.debezium.events.shape import image, no_variant
from dagster_smt.transforms.debezium.events.values import is_change_event
from dagster_smt.transforms.debezium.outbox import shape as outbox
from dagster_smt.transforms.debezium.outbox.json_payload import ExpandJson
from dagster_smt.values.java.regex import ReplaceIfMatches

_OTHERS = 6  # lines of the ledger before those of additional fields


class EventRouter(CodeTransform):
    """Make messages of the rows that are inserted into an outbox table.

    A change event of Debezium, a value whose schema has a name that ends with `.Envelope`, becomes a message: its key,
    value and topic are columns of the row, its timestamp is a column or the `ts_ms` of the event, and the header `id`
    says which event it was. Deleted rows and null values are dropped, and so are changed rows, unless
    `table.op.invalid.behavior` is `fatal`. Other values pass unchanged: those without a schema, heartbeats.

    The topic is the column of `route.by.field` under `route.topic.regex`, as RegexRouter has it: one that does not
    match as a whole is the topic as it is. Columns keep their schemas, and their nulls become defaults. A null topic is
    refused, and so are an event without a row and a timestamp that Spark cannot hold (beyond the year 294247).

    `table.fields.additional.placement` takes items `column:header` and `column:envelope`, with `:name` behind them or
    not, and `column:partition`: an int32 that says to which partition of its topic a message goes. Without that, or
    where it is null, the topic places the message by its key, and later stages see no partition. Without an envelope
    the value is the payload alone; with one it is a struct of `payload` and those columns, with the version of
    `table.field.event.schema.version`. Its schema is named after the row's and the topic before the regular expression:
    `shop.Order.Value` for `shop.Value`. Columns of a table have neither name nor version.

    `table.expand.json.payload` makes a struct of a text that begins with `{`. Its schema is that of the values in it:
    all optional, numbers int32, int64 or double, structs named after their path. Nulls are left out or become optional
    bytes, empty arrays are left out. The elements of an array have one type; objects may differ in fields. A text that
    is not so stays a text, as do arrays. The payload of each record then decides about its schema: that works where
    records are written, and is refused for columns.

    The original is made for source connectors: in a sink connector it fails with each record for which no column gives
    the partition. Such records become messages here.

    Differences to the original (Debezium 3.6.1): it remembers the first schema of a value by that of the payload, or by
    the version, and gives it to later ones of other topics (decision 13). For an array it puts the text under a schema
    that it does not have; here it stays what it is. It loses values whose fields get other names under
    `field.name.adjustment.mode`, and what objects in an array differ in is left to the order of a hash set: here no
    value is lost. Defaults of columns that a row has in upper case only, as in Oracle, are found there, whatever the
    connector. `table.field.event.type` and the options of tracing have no effect. For columns a row without a column
    that is named is refused, deleted or not.
    """

    connect_class = "io.debezium.transforms.outbox.EventRouter"
    sided = False
    purpose = "route an event of the outbox"
    null = "drop"
    table_field_event_id: RawText = option("Column that becomes the header `id`.", "id")
    table_field_event_key: RawText = option("Column that becomes the key.", "aggregateid")
    table_field_event_type: Text = option("Has no effect, as in the original.", "type")
    table_field_event_payload: RawText = option("Column that becomes the value.", "payload")
    table_field_event_timestamp: RawText | None = option(
        "Column that becomes the timestamp; where it is null, as without it, that is the `ts_ms` of the event.", None
    )
    table_fields_additional_placement: Names = option(
        "More columns: `column:header:name`, `column:envelope` or `column:partition`.", ()
    )
    table_field_additional_missing: Annotated[Text, one_of("error", "ignore"), AnyCase] = option(
        "Whether a row without one of them is refused (`error`) or does without (`ignore`).", "error"
    )
    table_field_event_schema_version: RawText | None = option(
        "Column with the version of the value's schema, where it is an envelope.", None
    )
    table_op_invalid_behavior: Annotated[Text, one_of("warn", "error", "fatal"), AnyCase] = option(
        "What becomes of changed rows: `warn` or `error` drops them, `fatal` refuses them.", "warn"
    )
    table_expand_json_payload: Flag = option("Whether JSON in the payload becomes a struct.", False)
    table_json_payload_null_behavior: Annotated[Text, one_of("ignore", "optional_bytes"), AnyCase] = option(
        "Whether nulls in it are left out (`ignore`) or become `optional_bytes`.", "ignore"
    )
    route_by_field: RawText = option("Column that becomes the topic.", "aggregatetype")
    route_topic_regex: Regex = option("The expression the whole of it must match.", "(?<routedByValue>.*)")
    route_topic_replacement: Text = option("The topic then.", "outbox.event.${routedByValue}")
    route_tombstone_on_empty_payload: Flag = option("Whether a null or blank payload makes a tombstone.", False)
    tracing_span_context_field: Text = option("Has no effect: there is no tracing here.", "tracingspancontext")
    tracing_operation_name: Text = option("Has no effect.", "debezium-read")
    tracing_with_context_field_only: Flag = option("Has no effect.", False)
    field_name_adjustment_mode: Annotated[Text, one_of(NONE, AVRO, AVRO_UNICODE), AnyCase] = option(
        "`none`, `avro` or `avro_unicode`: how the names of fields in JSON are made to fit Avro's rules.", NONE
    )
    examples = (
        Example(
            "a message",
            {},
            outbox_event("c", '{"id": 1}'),
            '{"schema":{"type":"string","optional":true},"payload":"{\\"id\\": 1}"}',
        ),
        Example("its topic", {}, outbox_event("c", "x"), "outbox.event.Order", shows="topic", input_part="value"),
        Example(
            "another one",
            {"route.topic.regex": "(.*)", "route.topic.replacement": "$1s"},
            outbox_event("c", "x"),
            "Orders",
            shows="topic",
            input_part="value",
        ),
        Example("a deleted row", {}, outbox_event("d", None), None),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        key = "table.fields.additional.placement"
        for statement in outbox.placement_problems(self.table_fields_additional_placement):
            yield key, statement, "write column:header:name, column:envelope:name, or column:partition"
        if not self.table_fields_additional_placement and "table_fields_additional_placement" in self.model_fields_set:
            yield key, "the list is empty", "leave the option out"

    @cached_property
    def _added(self) -> tuple[outbox.Placement, ...]:
        return tuple(map(outbox.placement, self.table_fields_additional_placement))

    @property
    def _makes_envelope(self) -> bool:
        return any(item.where == outbox.ENVELOPE for item in self._added)

    def effects(self) -> tuple[Code, ...]:
        writes: set[Part] = {"timestamp"}
        if any(item.where == outbox.PARTITION for item in self._added):
            writes.add("partition")
        return (Code(self._entries(), frozenset({"value", "metadata", "headers"}), frozenset(writes)),)

    def _entries(self) -> tuple[Entry, ...]:
        return (
            Entry("routed", self.route_by_field, "", "topic"),
            Entry("extracted", self.table_field_event_key, "", "key"),
            Entry("extracted", self.table_field_event_payload, "", "value"),
            Entry("extracted", self.table_field_event_timestamp or "ts_ms", "timestamp"),
            Entry("added", "id", self.table_field_event_id, "headers"),
            Entry("changed", self.table_field_event_payload, "JSON", "value", explicit=False),
            *(item.effect for item in self._added),
        )

    def _name(self, option: str, names: Collection[str]) -> str:
        """The column that an option names: defaults are found in upper case, too."""
        name: str = getattr(self, option)
        upper = name not in names and option not in self.model_fields_set and name.upper() in names
        if upper:
            return name.upper()
        return name

    def _json(self, name: str) -> ExpandJson:
        nulls = self.table_json_payload_null_behavior == "optional_bytes"
        return ExpandJson(name, nulls, self.field_name_adjustment_mode)

    def variant(self, record: Record) -> Hashable:
        """What each record's schema depends on: topic and version of an envelope, JSON in the payload."""
        schema = record.value_schema
        if (
            schema is None
            or not (self.table_expand_json_payload or self._makes_envelope)
            or not is_change_event(schema)
        ):
            return None
        if "after" in schema.by_name:
            names = schema.by_name["after"].by_name
        else:
            names = {}
        row = record.value.get("after") if names else None
        if row is None:
            return outbox.Seen()
        return self._seen(row, names)

    def _seen(self, row: Mapping[str, Any], names: Mapping[str, Schema]) -> outbox.Seen:
        name, payload = self._name("table_field_event_payload", names), None
        if self.table_expand_json_payload and name in names:
            text = names[name].default if row.get(name) is None else row[name]
            payload = self._json(name).schema(text) if isinstance(text, str) else None
        if not self._makes_envelope:
            return outbox.Seen(payload=payload)
        route = row.get(self._name("route_by_field", names))
        version = row.get(self.table_field_event_schema_version or "")
        return outbox.Seen.of(route, version, payload)

    def narrower(self, record: Record) -> Hashable:
        """Deleted and changed rows, which make no message: no column is looked for in them."""
        return outbox.no_message(record, self.table_op_invalid_behavior == "fatal")

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        node = record.value
        if node is None or not is_change_event(node.schema):
            return record
        if at.variant == outbox.NO_MESSAGE:
            return replace(record, dropped=True)
        event = struct_of(node, self.purpose)
        sent = outbox.not_sent(event, self.table_op_invalid_behavior == "fatal")
        row = image(event, "after", self.purpose)
        if isinstance(at.variant, outbox.Seen):
            seen = at.variant
        else:
            seen = outbox.Seen()
        if self.table_expand_json_payload and not isinstance(at.variant, outbox.Seen):
            raise no_variant("texts of JSON", "set table.expand.json.payload=false")
        payload, tombstones = self._payload(row, seen, at), self.route_tombstone_on_empty_payload
        timestamp = outbox.event_time(record.timestamp, event, row, self.table_field_event_timestamp)
        headers = outbox.appended(row, record.headers, "id", self._name("table_field_event_id", row.by_name))
        value, version = outbox.filled(payload) if tombstones else payload, self.table_field_event_schema_version
        inside, beside = outbox.placements(self._added, _OTHERS, self.table_field_additional_missing == "ignore")
        if self._makes_envelope:
            fields = outbox.placed(headers, row, inside, at).fields
            value = outbox.envelope(row, payload, fields, tombstones, version, seen)
        placed = outbox.placed(headers, row, beside, at)
        for line in range(_OTHERS - 1):
            at.touch(line)
        rule = ReplaceIfMatches(self.route_topic_regex, self.route_topic_replacement)
        return replace(
            record,
            key=outbox.column(row, self._name("table_field_event_key", row.by_name)),
            value=value,
            topic=outbox.routed(row, self._name("route_by_field", row.by_name), rule),
            headers=placed.headers,
            partition=placed.partition,
            target_partition=outbox.chosen(placed.partition),
            timestamp=timestamp,
            dropped=sent,
            null_value=None if tombstones else False,
        )

    def _payload(self, row: Group, seen: outbox.Seen, at: Planning) -> Node:
        name = self._name("table_field_event_payload", row.by_name)
        node = outbox.column(row, name, CONNECT_EXCEPTION)
        if seen.payload is None or not isinstance(node, Cell):
            return node
        at.touch(_OTHERS - 1)
        return Cell(seen.payload, Call(self._json(name), (node.expr,)), node.sources, marks=node.marks)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        def keep(value: Any, record: Record) -> None:
            """It is no change event."""

        return keep
