"""Builds readers and writers for the fields of a Protobuf message. Each reader and each writer is built only once per
schema.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from google.protobuf import message_factory

from dagster_smt.formats.protobuf.kinds import Fill, Kind, unwritable
from dagster_smt.model.runtime import as_key
from dagster_smt.model.schema import Schema
from dagster_smt.model.schema_size import room

Take = Callable[[Any], Any]


@dataclass(frozen=True)
class FieldCodec:
    """The name and the Connect schema of one field of a message, with two functions. ``take`` reads the field from a
    message, and ``put`` writes a value into it. ``put`` is never called with None.
    """

    name: str
    schema: Schema
    take: Take
    put: Fill


def getter(descriptor: Any, kind: Kind) -> Take:
    """Returns a function that reads the field ``descriptor`` of a message. For a field that is not set, the function
    returns Protobuf's default.
    """
    get, convert = attrgetter(descriptor.name), kind.read
    if convert is None:
        return get
    return lambda message: convert(get(message))


def if_present(descriptor: Any, take: Take) -> Take:
    """Returns a function that calls ``take`` if the field ``descriptor`` is set, and otherwise returns None."""
    has, name = message_factory.GetMessageClass(descriptor.containing_type).HasField, descriptor.name
    return lambda message: take(message) if has(message, name) else None


def putter(descriptor: Any, kind: Kind) -> Fill:
    """Returns a function that sets the field ``descriptor`` of a message."""
    name, write, fill = descriptor.name, kind.write, kind.fill
    if fill is None:
        assert write is not None
        return lambda message, value: setattr(message, name, write(value))
    mark = message_factory.GetMessageClass(descriptor.message_type).SetInParent

    def put(message: Any, value: Any) -> None:
        inner = getattr(message, name)
        # without this call, a message whose fields all have Protobuf's defaults would not be written
        mark(inner)
        fill(inner, value)

    return put


def struct_reader(parts: Sequence[FieldCodec]) -> Take:
    """Returns a function that converts a message into a dictionary with all fields in ``parts``."""
    takes = tuple((part.name, part.take) for part in parts)
    return lambda message: {name: take(message) for name, take in takes}


def struct_writer(parts: Sequence[FieldCodec], where: str) -> Fill:
    """Returns a function that writes a dictionary into the fields ``parts`` of a message. A field whose value is None
    is not set.
    """
    puts = tuple((part.name, part.put) for part in parts)

    def fill(message: Any, value: Any) -> None:
        if not isinstance(value, dict):
            raise unwritable(where, "is not a struct")
        for name, put in puts:
            child = value.get(name)
            if child is not None:
                put(message, child)

    return fill


def list_reader(name: str, kind: Kind) -> Take:
    """Returns a function that converts the repeated field ``name`` into a list."""
    get, convert, width = attrgetter(name), kind.read, kind.schema.width

    def read(message: Any) -> list[Any]:
        items = get(message)
        room.take(len(items) * width)
        if convert is None:
            return list(items)
        return list(map(convert, items))

    return read


def list_writer(name: str, kind: Kind, where: str) -> Fill:
    """Returns a function that writes a list into the repeated field ``name``."""
    write, fill = kind.write, kind.fill

    def put(message: Any, value: Any) -> None:
        if not isinstance(value, list):
            raise unwritable(where, "is not an array")
        if None in value:
            raise unwritable(where, "is an array with a null, which Protobuf cannot hold")
        items = getattr(message, name)
        if fill is None:
            items.extend(value if write is None else map(write, value))
            return
        for item in value:
            fill(items.add(), item)

    return put


def map_reader(name: str, keys: Kind, values: Kind) -> Take:
    """Returns a function that converts the Protobuf map ``name`` into a dictionary."""
    get, key, value = attrgetter(name), keys.read or _same, values.read or _same
    width = values.schema.width

    def read(message: Any) -> dict[Any, Any]:
        entries = get(message)
        room.take(len(entries) * width)
        return {key(k): value(v) for k, v in entries.items()}

    return read


def entries_reader(name: str, key: Take, value: Take, width: int) -> Take:
    """Returns a function that reads a dictionary from the repeated field ``name``, whose messages have the fields
    ``key`` and ``value``.

    If two of these messages have equal keys, the later message wins. A missing key or value has Protobuf's default.

    ``width`` is the number of values in each message. It is needed to limit the number of values in a record.
    """
    get = attrgetter(name)

    def read(message: Any) -> dict[Any, Any]:
        entries = get(message)
        room.take(len(entries) * width)
        return {as_key(key(entry)): value(entry) for entry in entries}

    return read


def map_writer(name: str, keys: Kind, values: Kind, where: str) -> Fill:
    """Returns a function that writes a dictionary into the Protobuf map ``name``.

    If the value of an entry is null, Protobuf's default is written, as in ``ProtobufData``.
    """
    key, write, fill = keys.write, values.write, values.fill
    assert key is not None

    def put(message: Any, value: Any) -> None:
        entries = getattr(message, name)
        for k, v in _items(value, where):
            at = key(k)
            if v is None:
                entries[at]  # the access creates the entry, with Protobuf's default
            elif fill is not None:
                fill(entries[at], v)
            else:
                entries[at] = v if write is None else write(v)

    return put


def entries_writer(name: str, key: Fill, value: Fill, where: str) -> Fill:
    """Returns a function that writes a dictionary into the repeated field ``name``. Each message in the field gets a
    ``key`` and a ``value``. If a value is null, the message contains only the key.
    """

    def put(message: Any, pairs: Any) -> None:
        entries = getattr(message, name)
        for k, v in _items(pairs, where):
            entry = entries.add()
            key(entry, k)
            if v is not None:
                value(entry, v)

    return put


def _items(value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise unwritable(where, "is not a map")
    if None in value:
        raise unwritable(where, "is a map with the key null, which Protobuf cannot hold")
    return value.items()


def _same(value: Any) -> Any:
    return value
