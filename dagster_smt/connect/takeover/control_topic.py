"""Reads the control topic of Apache's Iceberg sink, to find data files in flight. Tasks have written such files, but no
snapshot contains them yet.

A task writes data files, and then sends their names to the control topic in one transaction with the offsets of its
consumer group. The coordinator reads these names and adds the files to the table. Each snapshot stores the offset of
the control topic up to which the coordinator has read: ``kafka.connect.offsets.TOPIC.GROUP``. If the name of a file is
at a later offset of the control topic, the file is in flight. The consumer group has then committed offsets after the
records of the file, but the table does not contain these records yet.

Source of the format: ``org.apache.iceberg.connect.events`` (Iceberg 1.10), and ``AvroUtil``: two bytes, the schema as
``DataOutput.writeUTF`` writes it, and the event.
"""

import io
import json
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import fastavro

from dagster_smt.errors import EngineError, Problem
from dagster_smt.tables.kafka.client import KafkaClient

# in Iceberg: AvroEncoderUtil.MAGIC_BYTES, and the id of PayloadType.DATA_WRITTEN
_MAGIC = b"\xc2\x01"
_DATA_WRITTEN = 1
_SPACE = "dagster_smt"
_KINDS = ("record", "fixed", "enum")
_SECONDS = 30
_PAUSE = 0.2


@dataclass
class InFlight:
    """Data files in flight. The control topic names them, but no snapshot of the table contains them.

    Attributes:
        files: The number of data files and delete files.
        records: The number of records in these files.
        open_transactions: The number of partitions of the control topic that have an open transaction.
        read_to: The end offset of each partition that was read.
    """

    files: int = 0
    records: int = 0
    open_transactions: int = 0
    read_to: dict[int, int] = field(default_factory=dict)

    def and_(self, other: "InFlight") -> "InFlight":
        """Returns the data in flight of two tables together: ``self`` and ``other``. Both tables must use the same
        control topic. Its open transactions are therefore counted only once.
        """
        return InFlight(
            self.files + other.files,
            self.records + other.records,
            max(self.open_transactions, other.open_transactions),
            {**self.read_to, **other.read_to},
        )

    @property
    def is_empty(self) -> bool:
        """True if nothing is in flight."""
        return not self.files and not self.open_transactions

    @property
    def text(self) -> str:
        """A phrase that describes the data in flight."""
        if self.open_transactions:
            return f"an open transaction in {self.open_transactions} partitions of the control topic"
        return f"{self.files} files with {self.records} records that no snapshot has"


def in_flight(client: KafkaClient, topic: str, group: str, table: str, committed: Mapping[int, int]) -> InFlight:
    """Returns the data in flight for the table ``table``: the files that tasks have written, but that no snapshot
    contains yet.

    Args:
        client: The brokers of the control topic.
        topic: The control topic.
        group: The consumer group of the connector; several connectors may share a control topic.
        table: The table as the connector names it, such as ``shop.orders``.
        committed: The offsets in the newest snapshot of the connector; empty if there is none.

    Raises:
        EngineError: SMT793, an event cannot be read, or the brokers do not respond.
    """
    from confluent_kafka import IsolationLevel
    from confluent_kafka.admin import OffsetSpec

    result = InFlight()
    if topic not in client.names():
        return result
    partitions = client.described([topic])[topic][1]
    places = [(topic, partition) for partition in partitions]
    firsts = client.offsets(places, OffsetSpec.earliest())
    # The last stable offset is asked for before the end offset: a transaction that begins in between then counts as
    # open. In the other order, its events would be missed.
    stable = client.offsets(places, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED)
    ends = client.offsets(places, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)
    for place in places:
        if stable[place] < ends[place]:
            result.open_transactions += 1
        result.read_to[place[1]] = stable[place]
    starts = {}
    for place in places:
        # events expire, so the coordinator's offset may no longer exist
        starts[place] = max(firsts[place], committed.get(place[1], 0))
    spans = {}
    for place in places:
        spans[place] = (starts[place], stable[place])
    for value in _values(client, spans):
        _add(result, value, group, table)
    return result


def _values(client: KafkaClient, ranges: Mapping[tuple[str, int], tuple[int, int]]) -> list[bytes]:
    from confluent_kafka import KafkaError, TopicPartition

    open_ = {place: end for place, (start, end) in ranges.items() if start < end}
    values: list[bytes] = []
    if not open_:
        return values
    # EOF ends the loop if the last offset is the marker of a transaction, which no consumer returns. If the first
    # events expire just now, "error" stops the takeover; any other reset would silently skip them.
    more = {"isolation.level": "read_committed", "enable.partition.eof": True, "auto.offset.reset": "error"}
    consumer = client.consumer("dagster_smt.takeover", **more)
    try:
        consumer.assign([TopicPartition(*place, ranges[place][0]) for place in open_])
        until = time.monotonic() + _SECONDS
        while open_:
            messages = consumer.consume(1000, timeout=_PAUSE)
            if messages:
                until = time.monotonic() + _SECONDS
            elif time.monotonic() > until:
                raise _unreadable("no answer from the brokers")
            for message in messages:
                place = (message.topic(), message.partition())
                error = message.error()
                if error is None:
                    # a batch may contain events beyond the end, or events of a partition that is done (its end is then
                    # 0)
                    if message.value() is not None and message.offset() < open_.get(place, 0):
                        values.append(message.value())
                    if message.offset() + 1 >= open_.get(place, 0):
                        open_.pop(place, None)
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_.pop(place, None)
                else:
                    raise _unreadable(error.name())
    finally:
        consumer.close()
    return values


def _add(result: InFlight, value: bytes, group: str, table: str) -> None:
    try:
        event = event_of(value)
        # several connectors may share one control topic
        if event["type"] != _DATA_WRITTEN or event["group_id"] != group:
            return
        payload = event["payload"]
        reference = payload["table_reference"]
        name = ".".join([*reference["namespace"], reference["name"]])
        files = [*(payload["data_files"] or ()), *(payload["delete_files"] or ())]
        records = 0
        for file in files:
            records += int(file["record_count"])
    # an unreadable event is an error, not skipped: it might name files in flight
    except (KeyError, TypeError, ValueError, IndexError, EOFError, struct.error):
        raise _unreadable("an event has another format") from None
    if name == table and files:
        result.files += len(files)
        result.records += records


def event_of(value: bytes) -> dict[str, Any]:
    """Decodes ``value``, an event of the control topic.

    Raises:
        ValueError: The bytes are not an event.
    """
    if value[:2] != _MAGIC:
        raise ValueError("no event")
    # DataOutput.writeUTF: the length as two bytes, big-endian, and then the text
    (length,) = struct.unpack(">H", value[2:4])
    schema = _with_space(json.loads(value[4 : 4 + length]))
    event = fastavro.schemaless_reader(io.BytesIO(value[4 + length :]), schema, None)
    if not isinstance(event, dict):
        raise ValueError("no event")
    return event


def _with_space(schema: Any) -> Any:
    """Returns ``schema`` in a form that an Avro reader accepts: types without a namespace get one, and logical types
    are removed.

    Iceberg defines a type without a namespace once, with ``"namespace": ""``. After that, Iceberg writes only the
    type's name. By Avro's rules, a reader would search for this name in the enclosing namespace, and not find it.
    """
    names: set[str] = set()
    _collect(schema, names)
    return _renamed(schema, names)


def _collect(schema: Any, names: set[str]) -> None:
    if isinstance(schema, list):
        for item in schema:
            _collect(item, names)
    elif isinstance(schema, dict):
        if schema.get("type") in _KINDS and schema.get("namespace") == "":
            names.add(schema["name"])
        for key in ("type", "items", "values"):
            _collect(schema.get(key), names)
        for child in schema.get("fields", ()):
            _collect(child, names)


def _renamed(schema: Any, names: set[str]) -> Any:
    if isinstance(schema, str):
        return f"{_SPACE}.{schema}" if schema in names else schema
    if isinstance(schema, list):
        return [_renamed(item, names) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {**schema}
    if schema.get("type") in _KINDS and schema.get("namespace") == "":
        result["namespace"] = _SPACE
    result.pop("logicalType", None)
    for key in ("type", "items", "values"):
        if key in schema:
            result[key] = _renamed(schema[key], names)
    if "fields" in schema:
        result["fields"] = [_renamed(child, names) for child in schema["fields"]]
    return result


def _unreadable(why: str) -> EngineError:
    hint = "check the control topic of the connector; the takeover needs Apache Iceberg's sink 1.7 or later"
    return EngineError(Problem("SMT793", "control topic", f"the control topic cannot be read: {why}", hint))
