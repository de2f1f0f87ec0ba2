"""How the fields of a Protobuf message become those of a struct, and the way back: functions that are made once."""

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
class Part:
    """A field of a struct: its schema, and how it leaves a message and enters one. None is never put."""

    name: str
    schema: Schema
    take: Take
    put: Fill


def taken(found: Any, kind: Kind) -> Take:
    """What is in a field, whether it was set or not."""
    get, convert = attrgetter(found.name), kind.read
    if convert is None:
        return get
    return lambda message: convert(get(message))


def if_present(found: Any, take: Take) -> Take:
    """What is in a field that was set, else None."""
    has, name = message_factory.GetMessageClass(found.containing_type).HasField, found.name
    return lambda message: take(message) if has(message, name) else None


def putter(found: Any, kind: Kind) -> Fill:
    """Set a field."""
    name, write, fill = found.name, kind.write, kind.fill
    if fill is None:
        assert write is not None
        return lambda message, value: setattr(message, name, write(value))
    mark = message_factory.GetMessageClass(found.message_type).SetInParent

    def put(message: Any, value: Any) -> None:
        inner = getattr(message, name)
        mark(inner)
        fill(inner, value)

    return put


def struct_reader(parts: Sequence[Part]) -> Take:
    """A message as a dict with all its fields."""
    takes = tuple((part.name, part.take) for part in parts)
    return lambda message: {name: take(message) for name, take in takes}


def struct_writer(parts: Sequence[Part], where: str) -> Fill:
    """A dict into a message; null leaves a field out."""
    puts = tuple((part.name, part.put) for part in parts)

    def fill(message: Any, value: Any) -> None:
        if not isinstance(value, dict):
            raise unwritable(where, "is no struct")
        for name, put in puts:
            if (found := value.get(name)) is not None:
                put(message, found)

    return fill


def list_reader(name: str, kind: Kind) -> Take:
    """A repeated field as a list."""
    get, convert, width = attrgetter(name), kind.read, kind.schema.width

    def read(message: Any) -> list[Any]:
        items = get(message)
        room.take(len(items) * width)
        if convert is None:
            return list(items)
        return list(map(convert, items))

    return read


def list_writer(name: str, kind: Kind, where: str) -> Fill:
    """A list into a repeated field."""
    write, fill = kind.write, kind.fill

    def put(message: Any, value: Any) -> None:
        if not isinstance(value, list):
            raise unwritable(where, "is no array")
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
    """A map of Protobuf as a dict."""
    get, key, value = attrgetter(name), keys.read or _same, values.read or _same
    width = values.schema.width

    def read(message: Any) -> dict[Any, Any]:
        entries = get(message)
        room.take(len(entries) * width)
        return {key(k): value(v) for k, v in entries.items()}

    return read


def entries_reader(name: str, key: Take, value: Take, width: int) -> Take:
    """A list of entries, of which a later one with the same key holds; absent parts have what Protobuf has for them."""
    get = attrgetter(name)

    def read(message: Any) -> dict[Any, Any]:
        entries = get(message)
        room.take(len(entries) * width)
        return {as_key(key(entry)): value(entry) for entry in entries}

    return read


def map_writer(name: str, keys: Kind, values: Kind, where: str) -> Fill:
    """A dict into a map of Protobuf; of a null value only the key is there, as ``ProtobufData`` writes it."""
    key, write, fill = keys.write, values.write, values.fill
    assert key is not None

    def put(message: Any, value: Any) -> None:
        entries = getattr(message, name)
        for k, v in _items(value, where):
            at = key(k)
            if v is None:
                entries[at]  # makes the entry, with what Protobuf has for absent
            elif fill is not None:
                fill(entries[at], v)
            else:
                entries[at] = v if write is None else write(v)

    return put


def entries_writer(name: str, key: Fill, value: Fill, where: str) -> Fill:
    """A dict into a list of entries; of a null value only the key is there."""

    def put(message: Any, found: Any) -> None:
        entries = getattr(message, name)
        for k, v in _items(found, where):
            entry = entries.add()
            key(entry, k)
            if v is not None:
                value(entry, v)

    return put


def _items(value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise unwritable(where, "is no map")
    if None in value:
        raise unwritable(where, "is a map with the key null, which Protobuf cannot hold")
    return value.items()


def _same(value: Any) -> Any:
    return value
