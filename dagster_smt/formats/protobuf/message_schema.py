"""Builds Protobuf schemas for structs, as ``ProtobufData.fromConnectSchema`` does.

The syntax is proto3. Nested structs and enums become nested messages and enums. A map becomes a list of entries, which
has the same bytes as a map. Defaults are left out.

If a field has the parameter ``Tag``, the parameter is the number of the field. All other fields are numbered from 1, in
their order. If a number is already taken, for example after a stage has added a field, this module uses the next free
number. ``ProtobufData`` would fail.
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
_HINT = "rename the field or the schema with ReplaceField or SetSchemaMetadata, or write another format than Protobuf"


def descriptor_of(schema: Schema, name: str = f"{_DEFAULT_NAME}1") -> bytes:
    """Returns a serialized Protobuf file whose first message represents a struct.

    Args:
        schema: The Connect schema.
        name: The full name of the message if the schema has no name.

    Raises:
        ConfigError: SMT274 if Protobuf rejects a name, a number or a type.
    """
    if schema.type is not Type.STRUCT or is_union(schema):
        raise _refused(schema.label, "a message of Protobuf must be a struct")
    package, _, short = (schema.name or name).rpartition(".")
    file = FileDescriptorProto(name="default", syntax="proto3")
    # a struct without a name takes the number 1, so the types inside it begin with ConnectDefault2
    builder = _DescriptorBuilder(file, 0 if schema.name else 1)
    try:
        if package:
            file.package = package
        file.message_type.append(builder.message(short, schema))
        raw: bytes = file.SerializeToString(deterministic=True)
    except ValueError:  # a name is not valid Unicode, or a parameter is not a number
        raise _refused(short, "it has a name or a number that Protobuf refuses") from None
    try:
        # building the descriptor checks nothing; the pool rejects names, numbers and types that Protobuf does not
        # permit
        pool_of([raw], "")
    except ConfigError as error:
        raise _refused(short, error.problems[0].statement) from None
    return raw


def is_union(schema: Schema) -> bool:
    """Returns True if the struct ``schema`` represents a oneof."""
    return schema.type is Type.STRUCT and (schema.name or "").startswith(UNION)


def _refused(name: str, statement: str) -> ConfigError:
    return ConfigError(Problem("SMT274", f"protobuf name '{name}'", statement, _HINT))


@dataclass
class _DescriptorBuilder:
    """A builder of descriptors for Connect schemas.

    Types without a name are numbered in the order in which ``ProtobufData`` visits them.

    Attributes:
        file: The file of the messages. The builder adds its imports.
        unnamed: The number of types without a name so far.
        before: The value of ``unnamed`` before a nested message was built, for each nested message. A key is a pair:
            the Python ``id`` of the outer message, and the name of the nested message.
    """

    file: FileDescriptorProto
    unnamed: int
    before: dict[tuple[int, str], int] = field(default_factory=dict)

    def message(self, name: str, schema: Schema) -> DescriptorProto:
        message = DescriptorProto(name=name)
        tags = _tags(schema)
        for key, child in schema.fields:
            if not is_union(child):
                message.field.append(self.field(message, key, child, next(tags)))
                continue
            index = len(message.oneof_decl)
            message.oneof_decl.add(name=self.short((child.name or "").removeprefix(f"{UNION}.")))
            for inner, member in child.fields:
                if member.type in (Type.ARRAY, Type.MAP) or is_union(member):
                    raise _refused(inner, "a oneof cannot contain lists, maps or oneofs")
                member_field = self.field(message, inner, member, next(tags))
                member_field.oneof_index = index
                message.field.append(member_field)
        return message

    def field(self, parent: DescriptorProto, name: str, schema: Schema, tag: int) -> FieldDescriptorProto:
        label = REPEATED if schema.type in (Type.ARRAY, Type.MAP) else 1
        if schema.type is Type.ARRAY:
            if schema.values is None or schema.values.type in (Type.ARRAY, Type.MAP) or is_union(schema.values):
                raise _refused(name, "a list of Protobuf cannot contain lists, maps or oneofs")
            schema = schema.values
        descriptor = FieldDescriptorProto(name=name, number=tag, label=label)
        kind, full = self.typed(parent, name, schema)
        descriptor.type = kind
        if full:
            descriptor.type_name = full
        if params := _params(schema):
            descriptor.options.CopyFrom(field_options(params))
        return descriptor

    def typed(self, parent: DescriptorProto, name: str, schema: Schema) -> tuple[int, str]:
        """Returns the number of the Protobuf type for ``schema``, and the type's name: ``(9, "")`` for a string, ``(11,
        "Address")`` for a struct.
        """
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
        # Protobuf does not permit a field and a type of the same name in one message. As in Confluent's converter, the
        # type gets a suffix.
        if short == name:
            short += "Message"
        if short == parent.name:
            raise _refused(short, "a struct contains another struct with the same name")
        return self.nested(parent, short, lambda: self.message(short, schema))

    def entry(self, parent: DescriptorProto, name: str, schema: Schema) -> str:
        short = _entry_name(self.short(schema.name))
        keys, values = schema.keys, schema.values
        if keys is None or values is None or {keys.type, values.type} & {Type.ARRAY, Type.MAP}:
            raise _refused(name, "a map of Protobuf cannot contain lists or maps")
        if is_union(keys) or is_union(values):
            raise _refused(name, "a map of Protobuf cannot contain oneofs")

        def make() -> DescriptorProto:
            message = DescriptorProto(name=short)
            message.field.append(self.field(message, "key", keys, 1))
            message.field.append(self.field(message, "value", values, 2))
            return message

        return self.nested(parent, short, make)

    def nested(self, parent: DescriptorProto, name: str, make: Callable[[], DescriptorProto]) -> str:
        """Adds a nested message to the message ``parent``, and returns its name. ``make`` builds the message.

        If ``parent`` already has a message with this name, nothing is added. ``make`` then builds the message only for
        a comparison. If the two messages differ, an error is raised.
        """
        at = (id(parent), name)
        existing = next((one for one in parent.nested_type if one.name == name), None)
        if existing is None:
            self.before[at] = self.unnamed
            parent.nested_type.append(make())
            return name
        # the second message must number its types without a name from the same number as the first
        now, self.unnamed = self.unnamed, self.before[at]
        again = make()
        self.unnamed = now
        if again != existing:
            raise _refused(name, "two types have this name")
        return name

    def enum(self, parent: DescriptorProto, parameters: Mapping[str, str]) -> str:
        """Adds an enum to the message ``parent``, and returns the enum's name. The symbols are ordered by their
        numbers, because proto3 requires that 0 comes first.
        """
        name = parameters[ENUM]
        prefix = f"{ENUM}."
        symbols = []
        for key, text in parameters.items():
            if key.startswith(prefix):
                symbols.append((int(text), key.removeprefix(prefix)))
        enum = EnumDescriptorProto(name=name)
        for number, symbol in sorted(symbols, key=lambda pair: (pair[0] != 0, *pair)):
            enum.value.add(name=symbol, number=number)
        existing = next((one for one in parent.enum_type if one.name == name), None)
        if existing is None:
            parent.enum_type.append(enum)
        elif existing != enum:
            raise _refused(name, "two enums have this name")
        return name

    def short(self, name: str | None) -> str:
        if not name:
            self.unnamed += 1
            return f"{_DEFAULT_NAME}{self.unnamed}"
        return name.rpartition(".")[2]


def _tags(schema: Schema) -> Any:
    """Yields the Protobuf number of each field in the struct ``schema``, in the order of the fields. For a oneof,
    yields the numbers of its members.
    """
    fields = []
    for _, child in schema.fields:
        fields += [member for _, member in child.fields] if is_union(child) else [child]
    tags: list[int | None] = []
    for child in fields:
        tag = dict(child.parameters).get(TAG)
        number = None if tag is None else int(tag)
        # a stage has flattened two structs whose fields have the same numbers: the first field keeps the number
        tags.append(None if number in tags else number)
    taken, index = set(tags), 0
    for number in tags:
        if number is None:
            index += 1
            while index in taken:
                index += 1
        yield index if number is None else number


def _params(schema: Schema) -> dict[str, str]:
    """Returns the parameters for the option ``(confluent.field_meta)`` of a field. The parameters contain the
    properties of the Connect schema that a Protobuf type cannot express: the scale and precision of a decimal, or that
    a number is an INT8 or INT16.
    """
    if schema.logical == "Decimal":
        parameters, results = dict(schema.parameters), {}
        for key, name in (("precision", DECIMAL_PRECISION), ("scale", DECIMAL_SCALE)):
            if name in parameters:
                results[key] = parameters[name]
        return results
    if schema.type in (Type.INT8, Type.INT16):
        return {CONNECT_TYPE: schema.type.value}
    return {}


def _entry_name(name: str) -> str:
    """Returns the name of the message type for one entry of the map type ``name``, as ``ProtobufSchema.toMapEntry``
    does. ``line_items`` becomes ``LineItemsEntry``; ``tags`` becomes ``tagsEntry``.
    """
    if "_" in name:
        words = []
        for word in name.split("_"):
            words.append(word[:1].upper() + word[1:].lower())
        name = "".join(words)
    return name + ENTRY
