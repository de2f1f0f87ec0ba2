"""Writes values of any Connect struct as Protobuf, as ``ProtobufData.fromConnectData`` does.

The schema of the struct may come from another format or from a chain. If such a struct is written and read again, two
things may differ:

- A field that was null contains the default of its Protobuf type, such as 0.
- The name of a oneof comes from the name of its schema, not from the name of its field.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from dagster_smt.formats.protobuf.files import UNION
from dagster_smt.formats.protobuf.message_schema import descriptor_of, is_union
from dagster_smt.formats.protobuf.read import protobuf_of
from dagster_smt.model.schema import Schema, Type

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class ProtobufOut:
    """The Protobuf form of a Connect schema, with a writer.

    Attributes:
        file: The serialized Protobuf file. The struct is its first message.
        name: The message's full name.
        write: A function from a value to bytes; raises ``DataError`` SMT440.
    """

    file: bytes
    name: str
    write: Callable[[Any], bytes]


def protobuf_out(schema: Schema, name: str = "ConnectDefault1") -> ProtobufOut:
    """Returns the Protobuf message type for a struct, with a writer.

    Args:
        schema: The Connect schema of the struct.
        name: The full name of the message if the schema has no name.

    Raises:
        ConfigError: SMT274 if Protobuf rejects a name, a number or a type.
    """
    file = descriptor_of(schema, name)
    write, convert = protobuf_of([file], (0,)).write, _struct(schema)
    parsed = FileDescriptorProto.FromString(file)
    full = ".".join(filter(None, (parsed.package, parsed.message_type[0].name)))
    return ProtobufOut(file, full, write if convert is None else lambda value: write(convert(value)))


def _converter(schema: Schema) -> Convert | None:
    """Returns a function that converts a value of ``schema`` to a value that the Protobuf writer accepts. For example,
    the function fills in defaults and renames oneofs. Returns None if no conversion is needed.
    """
    if schema.type is Type.STRUCT:
        return _struct(schema)
    inner = _converter(schema.values) if schema.values is not None else None
    keys = _converter(schema.keys) if schema.keys is not None else None
    if schema.type is Type.ARRAY and inner is not None:
        return lambda value: list(map(_null_or(inner), value)) if isinstance(value, list) else value
    if schema.type is Type.MAP and (inner or keys):
        key, item = _null_or(keys), _null_or(inner)
        return lambda value: {key(k): item(v) for k, v in value.items()} if isinstance(value, dict) else value
    return None


def _null_or(convert: Convert | None) -> Convert:
    return lambda value: value if value is None or convert is None else convert(value)


def _struct(schema: Schema) -> Convert | None:
    parts, unions = [], 0
    for name, child in schema.fields:
        target = name
        if is_union(child):
            # the name that ``protobuf_of`` gives to the oneof: its own name, and its number among the oneofs
            target = f"{(child.name or '').removeprefix(f'{UNION}.').rpartition('.')[2]}_{unions}"
            unions += 1
        parts.append((name, target, child.default, _converter(child)))
    if all(name == target and default is None and convert is None for name, target, default, convert in parts):
        return None
    fields = [(name, target, default, _null_or(convert)) for name, target, default, convert in parts]

    def convert_all(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        results = {}
        for name, target, default, convert in fields:
            child = value.get(name)
            # the Protobuf schema has no defaults, so consumers could not fill in the default
            results[target] = convert(default if child is None else child)
        return results

    return convert_all
