"""Protobuf, the way back: the schema that ``ProtobufData.fromConnectSchema`` makes of a struct.

The syntax is proto3, nested structs and enums are nested messages and enums, a map is a list of entries (written as a
map is), a default is left out. Fields have the number of their parameter ``Tag``; others are numbered from 1 in order.
Where ``ProtobufData`` fails because a number is taken (a field was added to those of a topic), the next free one holds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.formats.protobuf.files import (
    CONNECT_TYPE,
    ENTRY,
    ENUM,
    ENUMERATION,
    LOCATIONS,
    MESSAGE,
    REPEATED,
    SCALARS,
    TAG,
    TYPE,
    UNION,
    VARIANT,
    field_options,
    pool_of,
)
from dagster_smt.model.schema import DECIMAL_PRECISION, DECIMAL_SCALE, Schema, Type

_SIMPLE = {
    Type.INT8: "int32",
    Type.INT16: "int32",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "bool",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL = {
    "Decimal": "confluent.type.Decimal",
    "Date": "google.type.Date",
    "Time": "google.type.TimeOfDay",
    "Timestamp": "google.protobuf.Timestamp",
}
_DEFAULT_NAME = "ConnectDefault"
_HINT = "rename it with ReplaceField or SetSchemaMetadata, or write another format than Protobuf"


def descriptor_of(schema: Schema, name: str = f"{_DEFAULT_NAME}1") -> bytes:
    """The file of Protobuf for a struct, serialized; the struct is its first message.

    Args:
        schema: The Connect schema.
        name: The full name of the message if the schema has none.

    Raises:
        ConfigError: SMT274, Protobuf does not take a name, a number or a type.
    """
    if schema.type is not Type.STRUCT or is_union(schema):
        raise _refused(schema.label, "only a struct is a message of Protobuf")
    package, _, short = (schema.name or name).rpartition(".")
    file = FileDescriptorProto(name="default", syntax="proto3")
    builder = _Builder(file, 0 if schema.name else 1)
    try:
        if package:
            file.package = package
        file.message_type.append(builder.message(short, schema))
        raw: bytes = file.SerializeToString(deterministic=True)
    except ValueError:  # a text that is no Unicode, a number that is none
        raise _refused(short, "has a name or a number that Protobuf does not take") from None
    try:
        pool_of([raw], "")
    except ConfigError as error:
        raise _refused(short, error.problems[0].statement) from None
    return raw


def is_union(schema: Schema) -> bool:
    """Whether a struct is a oneof."""
    return schema.type is Type.STRUCT and (schema.name or "").startswith(UNION)


def _refused(name: str, statement: str) -> ConfigError:
    return ConfigError(Problem("SMT274", f"protobuf name '{name}'", statement, _HINT))


@dataclass
class _Builder:
    """Descriptors of messages; what has no name is numbered in the order in which ``ProtobufData`` comes by."""

    file: FileDescriptorProto
    unnamed: int
    before: dict[tuple[int, str], int] = field(default_factory=dict)

    def message(self, name: str, schema: Schema) -> DescriptorProto:
        made = DescriptorProto(name=name)
        tags = _tags(schema)
        for key, child in schema.fields:
            if not is_union(child):
                made.field.append(self.field(made, key, child, next(tags)))
                continue
            index = len(made.oneof_decl)
            made.oneof_decl.add(name=self.short((child.name or "").removeprefix(f"{UNION}.")))
            for inner, member in child.fields:
                if member.type in (Type.ARRAY, Type.MAP) or is_union(member):
                    raise _refused(inner, "a oneof holds no lists, maps or oneofs")
                found = self.field(made, inner, member, next(tags))
                found.oneof_index = index
                made.field.append(found)
        return made

    def field(self, parent: DescriptorProto, name: str, schema: Schema, tag: int) -> FieldDescriptorProto:
        label = REPEATED if schema.type in (Type.ARRAY, Type.MAP) else 1
        if schema.type is Type.ARRAY:
            if schema.values is None or schema.values.type in (Type.ARRAY, Type.MAP) or is_union(schema.values):
                raise _refused(name, "a list of Protobuf holds no lists, maps or oneofs")
            schema = schema.values
        made = FieldDescriptorProto(name=name, number=tag, label=label)
        kind, full = self.typed(parent, name, schema)
        made.type = kind
        if full:
            made.type_name = full
        if params := _params(schema):
            made.options.CopyFrom(field_options(params))
        return made

    def typed(self, parent: DescriptorProto, name: str, schema: Schema) -> tuple[int, str]:
        """The number of a type, and its name if it has one."""
        published = "confluent.type.Variant" if schema.name == VARIANT else _LOGICAL.get(schema.logical or "")
        if published is not None:
            if LOCATIONS[published] not in self.file.dependency:
                self.file.dependency.append(LOCATIONS[published])
            return MESSAGE, published
        if schema.type is Type.MAP:
            return MESSAGE, self.entry(parent, name, schema)
        if schema.type is Type.STRUCT:
            return MESSAGE, self.struct(parent, name, schema)
        parameters = dict(schema.parameters)
        if ENUM in parameters and schema.type in (Type.STRING, Type.INT32):
            return ENUMERATION, self.enum(parent, parameters)
        kind = _SIMPLE[schema.type]
        if schema.type in (Type.INT32, Type.INT64):
            kind = parameters.get(TYPE, kind)
        if kind not in SCALARS:
            raise _refused(name, f"Protobuf has no type '{kind}'")
        return SCALARS[kind], ""

    def struct(self, parent: DescriptorProto, name: str, schema: Schema) -> str:
        short = self.short(schema.name)
        if short == name:
            short += "Message"
        if short == parent.name:
            raise _refused(short, "a struct holds another one of its name")
        return self.nested(parent, short, lambda: self.message(short, schema))

    def entry(self, parent: DescriptorProto, name: str, schema: Schema) -> str:
        short = _entry_name(self.short(schema.name))
        keys, values = schema.keys, schema.values
        if keys is None or values is None or {keys.type, values.type} & {Type.ARRAY, Type.MAP}:
            raise _refused(name, "a map of Protobuf holds no lists or maps")
        if is_union(keys) or is_union(values):
            raise _refused(name, "a map of Protobuf holds no oneofs")

        def make() -> DescriptorProto:
            made = DescriptorProto(name=short)
            made.field.append(self.field(made, "key", keys, 1))
            made.field.append(self.field(made, "value", values, 2))
            return made

        return self.nested(parent, short, make)

    def nested(self, parent: DescriptorProto, name: str, make: Callable[[], DescriptorProto]) -> str:
        """Add a message to another one, unless it is there; two of one name have to be the same."""
        at = (id(parent), name)
        there = next((one for one in parent.nested_type if one.name == name), None)
        if there is None:
            self.before[at] = self.unnamed
            parent.nested_type.append(make())
            return name
        now, self.unnamed = self.unnamed, self.before[at]
        again = make()
        self.unnamed = now
        if again != there:
            raise _refused(name, "two types have this name")
        return name

    def enum(self, parent: DescriptorProto, parameters: Mapping[str, str]) -> str:
        """An enum; its symbols are in the order of their numbers, as proto3 wants 0 to be the first."""
        name = parameters[ENUM]
        prefix = f"{ENUM}."
        symbols = []
        for key, text in parameters.items():
            if key.startswith(prefix):
                symbols.append((int(text), key.removeprefix(prefix)))
        made = EnumDescriptorProto(name=name)
        for number, symbol in sorted(symbols, key=lambda pair: (pair[0] != 0, *pair)):
            made.value.add(name=symbol, number=number)
        there = next((one for one in parent.enum_type if one.name == name), None)
        if there is None:
            parent.enum_type.append(made)
        elif there != made:
            raise _refused(name, "two enums have this name")
        return name

    def short(self, name: str | None) -> str:
        if not name:
            self.unnamed += 1
            return f"{_DEFAULT_NAME}{self.unnamed}"
        return name.rpartition(".")[2]


def _tags(schema: Schema) -> Any:
    """The numbers of a struct's fields in order, those of its oneofs among them."""
    found = []
    for _, child in schema.fields:
        found += [member for _, member in child.fields] if is_union(child) else [child]
    kept: list[int | None] = []
    for child in found:
        tag = dict(child.parameters).get(TAG)
        number = None if tag is None else int(tag)
        kept.append(None if number in kept else number)
    taken, index = set(kept), 0
    for number in kept:
        if number is None:
            index += 1
            while index in taken:
                index += 1
        yield index if number is None else number


def _params(schema: Schema) -> dict[str, str]:
    """What goes into the option ``(confluent.field_meta)``, so that the type is not lost."""
    if schema.logical == "Decimal":
        kept = {
            "precision": dict(schema.parameters).get(DECIMAL_PRECISION),
            "scale": dict(schema.parameters).get(DECIMAL_SCALE),
        }
        results = {}
        for key, value in kept.items():
            if value is not None:
                results[key] = value
        return results
    if schema.type in (Type.INT8, Type.INT16):
        return {CONNECT_TYPE: schema.type.value}
    return {}


def _entry_name(name: str) -> str:
    """``ProtobufSchema.toMapEntry``: protoc's name for the entry of a map."""
    if "_" in name:
        name = "".join(word[:1].upper() + word[1:].lower() for word in name.split("_"))
    return name + ENTRY
