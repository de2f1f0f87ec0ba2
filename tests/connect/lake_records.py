"""Records made to fit connectors of lakes: in the format of each side, with what chains and partitions read."""

import json
from collections.abc import Mapping
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient, topic_record_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from dagster_smt.tables.sources.file_writer import NewRecord

ROWS = [(1, "Ann"), (2, "Bea")]
AT = 1_700_000_000_123
FIELDS = [{"field": "id", "type": "int32", "optional": False}, {"field": "name", "type": "string", "optional": True}]
AVRO = [
    {"name": "id", "type": "long"},
    {"name": "name", "type": ["null", "string"], "default": None},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
]
JSON_SCHEMA = {"id": {"type": "integer"}, "name": {"type": "string"}}
PROTOBUF = {"id": 3, "name": 9}
"""The fields of a message, with their types in a ``FileDescriptorProto``: int64 and string."""
STRATEGY = "value.converter.value.subject.name.strategy"


def enveloped(payload: Any, fields: list[dict] = FIELDS, **more: Any) -> bytes:
    schema = {"type": "struct", "optional": False, "fields": fields, **more}
    return json.dumps({"schema": schema, "payload": payload}).encode()


def change(row: dict[str, Any]) -> bytes:
    """A change event of Debezium, with its schema."""
    inner = {"type": "struct", "optional": True, "fields": FIELDS}
    fields = [{**inner, "field": "before"}, {**inner, "field": "after"}]
    fields += [{"field": "op", "type": "string", "optional": False}]
    return enveloped({"before": None, "after": row, "op": "c"}, fields, name="shop.orders.Envelope")


def order_message() -> type:
    """The class of the message ``shop.Order``, as ``protoc`` makes it."""
    file = FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate(PROTOBUF.items(), 1):
        message.field.add(name=name, number=number, type=kind, label=1)
    pool = DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


class Records:
    """Writes the records of a connector.

    Attributes:
        config: The options of the connector.
        kinds: The format of each side (``key``, ``value``).
        url: The address of the schema registry.
    """

    def __init__(self, config: Mapping[str, str], kinds: Mapping[str, str], url: str):
        self.kinds, self.url = kinds, url
        self.writer = {}
        if config.get(STRATEGY, "").endswith("TopicRecordNameStrategy"):
            self.writer = {"subject.name.strategy": topic_record_subject_name_strategy}
        self.unwraps = any(text.startswith("io.debezium") for text in config.values())

    def of(self, topic: str) -> list[NewRecord]:
        """Returns a record of ``topic`` for each of ``ROWS``."""
        records = []
        for number, name in ROWS:
            row = {"id": number, "name": name}
            records.append(NewRecord(self._key(topic, number), self._value(topic, row)))
        return records

    def _key(self, topic: str, number: int) -> bytes:
        kind, key = self.kinds["key"], {"id": number}
        if kind == "envelope":
            return enveloped(key, FIELDS[:1])
        if kind.endswith("-confluent"):
            return self._registered(kind, key, SerializationContext(topic, MessageField.KEY))
        return b"{}" if kind == "json" else b"k"

    def _value(self, topic: str, row: dict[str, Any]) -> bytes:
        kind = self.kinds["value"]
        if kind == "envelope":
            return change(row) if self.unwraps else enveloped(row)
        if kind.endswith("-confluent"):
            return self._registered(kind, row, SerializationContext(topic, MessageField.VALUE))
        return json.dumps(row).encode()

    def _registered(self, kind: str, data: dict[str, Any], context: SerializationContext) -> bytes:
        """The bytes that a serializer of Confluent's makes of ``data``, whose schema it registers."""
        client = SchemaRegistryClient({"url": self.url})
        if kind == "avro-confluent":
            fields = AVRO if context.field == MessageField.VALUE else AVRO[:1]
            schema = json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})
            return AvroSerializer(client, schema, conf=self.writer)({**data, "at": AT}, context)
        if kind == "json-confluent":
            properties = {name: JSON_SCHEMA[name] for name in data}
            document = {"type": "object", "title": "Order", "properties": properties, "required": ["id"]}
            return JSONSerializer(json.dumps(document), client, conf=self.writer)(data, context)
        message = order_message()
        conf = {**self.writer, "use.deprecated.format": False}
        return ProtobufSerializer(message, client, conf)(message(**data), context)
