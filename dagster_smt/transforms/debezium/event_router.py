"""EventRouter: messages from the rows of an outbox table."""

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
from dagster_smt.transforms.debezium.events.values import is_change_event, keep_value
from dagster_smt.transforms.debezium.outbox import shape as outbox
from dagster_smt.transforms.debezium.outbox.json_payload import ExpandJson
from dagster_smt.values.java.regex import ReplaceIfMatches

_OTHERS = 6  # the number of ledger entries that precede those of additional columns


class EventRouter(CodeTransform):
    """Turn rows that are inserted into an outbox table into messages.

    A change event of Debezium, which is a value whose schema's name ends with `.Envelope`, becomes a message. Key,
    value and topic come from columns of the row. The timestamp is a column or the event's `ts_ms`, and the header `id`
    identifies the event. Events of deleted rows and null values are dropped. Events of updated rows are also dropped,
    unless `table.op.invalid.behavior` is `fatal`. Other values pass through unchanged, such as heartbeats and values
    without a schema.

    The topic comes from the column `route.by.field`. If `route.topic.regex` matches the whole value of the column, the
    match is replaced as in RegexRouter: by default, `Order` becomes `outbox.event.Order`. If the expression does not
    match, the value itself is the topic. Columns keep their schemas, and their nulls become defaults. A null topic, an
    event without a row, and a timestamp that Spark cannot hold (after the year 294247) are rejected.

    `table.fields.additional.placement` lists more columns of the row. Each item has one of these forms:

    - `column:header` or `column:header:name`: the column becomes a header.
    - `column:envelope` or `column:envelope:name`: the column becomes a field of the value.
    - `column:partition`: the column, an int32, contains the partition of the message. Without this item, or if the
      column is null, the producer chooses the partition by the key. Later stages then see no partition.

    Without an item `column:envelope`, the value is the payload: the column `table.field.event.payload`. With such
    items, the value is an envelope: a struct of `payload` and the listed columns. The version of the envelope's schema
    comes from the column `table.field.event.schema.version`. The name of the envelope's schema combines the name of the
    row's schema and the value of the topic column, for example `shop.Order.Value` for `shop.Value`. In a table of
    columns, the schema has neither name nor version.

    `table.expand.json.payload` parses a string that begins with `{` into a struct. The schema is inferred from the
    values: all fields are optional, numbers are int32, int64 or double, and structs are named after their paths. Nulls
    are skipped or become optional bytes; empty arrays are skipped. The elements of an array must have one type; objects
    may differ in their fields. Any other string stays a string, even if it contains an array. The schema of each record
    then depends on its payload. The option therefore works in sinks of records, and is rejected for tables of columns
    (one column for each field of the value).

    Debezium wrote the transform for source connectors. In a sink connector, Debezium's class fails for each record
    without a column for the partition. Here records without a column for the partition also become messages.

    Differences from Debezium 3.6.1:

    - Debezium caches the first schema of a value, with the schema of the payload or the version as the cache key.
      Debezium therefore also uses this schema for values of other topics (decision 13).
    - For an array, Debezium writes a string with a schema that does not fit. Here the array stays a string.
    - Debezium loses values whose fields are renamed by `field.name.adjustment.mode`. Debezium also loses fields that
      only some objects of an array have, depending on the order of a hash set. Here no value is lost.
    - Some databases, such as Oracle, have column names in upper case. If an option has its default, such as
      `aggregateid`, the transform also finds the column `AGGREGATEID`. Debezium finds the upper-case column only for
      some connectors.
    - `table.field.event.type` and the tracing options have no effect.
    - In a table of columns, a row without a configured column is rejected, even if the row was deleted.
    """

    connect_class = "io.debezium.transforms.outbox.EventRouter"
    sided = False
    purpose = "route an event of the outbox"
    null = "drop"
    table_field_event_id: RawText = option("Column for the header `id`.", "id")
    table_field_event_key: RawText = option("Column for the key.", "aggregateid")
    table_field_event_type: Text = option("Has no effect, as in Debezium.", "type")
    table_field_event_payload: RawText = option("Column for the value.", "payload")
    table_field_event_timestamp: RawText | None = option(
        "Column for the timestamp. If the option is not set or the column is null, the timestamp is the event's "
        "`ts_ms`.",
        None,
    )
    table_fields_additional_placement: Names = option(
        "More columns of the row: `column:header:name`, `column:envelope` or `column:partition`.", ()
    )
    table_field_additional_missing: Annotated[Text, one_of("error", "ignore"), AnyCase] = option(
        "The treatment of a row without one of the additional columns: `error` rejects the row, `ignore` skips the "
        "column.",
        "error",
    )
    table_field_event_schema_version: RawText | None = option(
        "Column with the version of the value's schema, if the value is an envelope.", None
    )
    table_op_invalid_behavior: Annotated[Text, one_of("warn", "error", "fatal"), AnyCase] = option(
        "The treatment of updated rows: `warn` and `error` drop them, `fatal` rejects them.", "warn"
    )
    table_expand_json_payload: Flag = option("If `true`, JSON objects in the payload become structs.", False)
    table_json_payload_null_behavior: Annotated[Text, one_of("ignore", "optional_bytes"), AnyCase] = option(
        "The treatment of nulls in JSON payloads: `ignore` skips them; `optional_bytes` turns them into fields of "
        "optional bytes.",
        "ignore",
    )
    route_by_field: RawText = option("Column for the topic.", "aggregatetype")
    route_topic_regex: Regex = option(
        "The regular expression that must match the whole value of the column.", "(?<routedByValue>.*)"
    )
    route_topic_replacement: Text = option(
        "The topic. `${name}` stands for a group of the regular expression.", "outbox.event.${routedByValue}"
    )
    route_tombstone_on_empty_payload: Flag = option("If `true`, a null or blank payload results in a tombstone.", False)
    tracing_span_context_field: Text = option(
        "Has no effect, because this package has no tracing.", "tracingspancontext"
    )
    tracing_operation_name: Text = option("Has no effect.", "debezium-read")
    tracing_with_context_field_only: Flag = option("Has no effect.", False)
    field_name_adjustment_mode: Annotated[Text, one_of(NONE, AVRO, AVRO_UNICODE), AnyCase] = option(
        "How JSON field names are adjusted to Avro's rules: `none`, `avro` or `avro_unicode`.", NONE
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
            yield key, "the list is empty", "remove the option"

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
        """Returns the name of the row's column for ``option``, such as ``aggregateid``. If the option is not set and
        only the upper-case name is in ``names``, returns the upper-case name: ``AGGREGATEID``.
        """
        name: str = getattr(self, option)
        upper = name not in names and option not in self.model_fields_set and name.upper() in names
        if upper:
            return name.upper()
        return name

    def _json(self, name: str) -> ExpandJson:
        nulls = self.table_json_payload_null_behavior == "optional_bytes"
        return ExpandJson(name, nulls, self.field_name_adjustment_mode)

    def variant(self, record: Record) -> Hashable:
        """Returns the values in ``record`` that determine the output schema. For an envelope, these are the topic and
        the version. For a JSON payload, this is the schema of the payload. Returns None in two cases: the value is not
        a change event, or no option asks for an envelope or for a JSON payload.
        """
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
            return outbox.EnvelopeVariant()
        return self._envelope_variant(row, names)

    def _envelope_variant(self, row: Mapping[str, Any], names: Mapping[str, Schema]) -> outbox.EnvelopeVariant:
        name, payload = self._name("table_field_event_payload", names), None
        if self.table_expand_json_payload and name in names:
            # Debezium reads the payload with `Struct.get`, which replaces a null with the default; it reads the topic
            # and the version with `getString` and `getInt32`, which do not
            text = names[name].default if row.get(name) is None else row[name]
            payload = self._json(name).schema(text) if isinstance(text, str) else None
        if not self._makes_envelope:
            return outbox.EnvelopeVariant(payload=payload)
        route = row.get(self._name("route_by_field", names))
        version = row.get(self.table_field_event_schema_version or "")
        return outbox.EnvelopeVariant.of(route, version, payload)

    def narrower(self, record: Record) -> Hashable:
        """Returns a variant (an object that selects a plan, the output schema for some records) if ``record`` is an
        event of a deleted or updated row, else None. Such an event results in no message, so its plan needs no columns.
        If the options treat updates as errors, the result for an updated row is also None.
        """
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
        if isinstance(at.variant, outbox.EnvelopeVariant):
            variant = at.variant
        else:
            variant = outbox.EnvelopeVariant()
        if self.table_expand_json_payload and not isinstance(at.variant, outbox.EnvelopeVariant):
            raise no_variant("JSON", "set table.expand.json.payload=false")
        payload, tombstones = self._payload(row, variant, at), self.route_tombstone_on_empty_payload
        timestamp = outbox.event_time(record.timestamp, event, row, self.table_field_event_timestamp)
        headers = outbox.appended(row, record.headers, "id", self._name("table_field_event_id", row.by_name))
        value, version = outbox.filled(payload) if tombstones else payload, self.table_field_event_schema_version
        inside, beside = outbox.placements(self._added, _OTHERS, self.table_field_additional_missing == "ignore")
        if self._makes_envelope:
            fields = outbox.placed(headers, row, inside, at).fields
            value = outbox.envelope(row, payload, fields, tombstones, version, variant)
        placed = outbox.placed(headers, row, beside, at)
        # every message has these entries; `_payload` touches the last one, for JSON
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
            target_partition=outbox.chosen_partition(placed.partition),
            timestamp=timestamp,
            dropped=sent,
            null_value=None if tombstones else False,
        )

    def _payload(self, row: Group, variant: outbox.EnvelopeVariant, at: Planning) -> Node:
        name = self._name("table_field_event_payload", row.by_name)
        node = outbox.column(row, name, CONNECT_EXCEPTION)
        if variant.payload is None or not isinstance(node, Cell):
            return node
        at.touch(_OTHERS - 1)
        return Cell(variant.payload, Call(self._json(name), (node.expr,)), node.sources, marks=node.marks)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        return keep_value
