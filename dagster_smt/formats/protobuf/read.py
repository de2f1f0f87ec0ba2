"""Reads and writes Protobuf as Confluent's ``ProtobufConverter`` does (``ProtobufData``).

The Protobuf runtime reads the bytes; this module converts names, oneofs, maps and logical types into Connect's.
The converter's defaults apply (``ProtobufDataConfig``):

- Every field is optional, and has its number as the parameter ``Tag``.
- An enum is a string.
- A oneof ``x`` is a struct ``x_0``, in which only one field is set.
- Google's wrappers are structs within a message, and plain values at the root.

In proto3, a field without ``optional`` that is not a message is never null. If such a field is missing, it gets
Protobuf's default: 0, "" or an empty list. Unknown fields are skipped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError, EncodeError

from dagster_smt.errors import ConfigError
from dagster_smt.formats.protobuf.files import (
    ENTRY,
    ENUMERATION,
    GROUP,
    MESSAGE,
    TAG,
    UNION,
    VARIANT,
    field_params,
    fields_in,
    message_of,
    pool_of,
    refused,
)
from dagster_smt.formats.protobuf.kinds import (
    LOGICAL,
    Kind,
    enumeration,
    is_published,
    scalar,
    unreadable,
    unwritable,
)
from dagster_smt.formats.protobuf.parts import (
    FieldCodec,
    entries_reader,
    entries_writer,
    getter,
    if_present,
    list_reader,
    list_writer,
    map_reader,
    map_writer,
    putter,
    struct_reader,
    struct_writer,
)
from dagster_smt.model.schema import Schema, Type, optional
from dagster_smt.model.schema_size import MAX_LEVELS, MAX_NODES, excess, room
from dagster_smt.values.json.lazy import with_room

_WRAPPERS = {
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}
_WRONG = (TypeError, ValueError, OverflowError, AttributeError, KeyError, EncodeError)


@dataclass(frozen=True)
class Protobuf:
    """A Protobuf message type, with its Connect schema, a reader and a writer.

    Attributes:
        schema: The Connect schema.
        read: A function from bytes to the value; raises ``DataError`` SMT416.
        write: A function from a value to bytes; raises ``DataError`` SMT440.
        name: The message's full name.
    """

    schema: Schema
    read: Callable[[bytes], Any]
    write: Callable[[Any], bytes]
    name: str


def protobuf_of(files: Sequence[bytes], message: str | Sequence[int], place: str = "protobuf") -> Protobuf:
    """Returns the message type ``message``, with its Connect schema, a reader and a writer.

    Args:
        files: The files, each as a serialized ``FileDescriptorProto``. Each file comes after the files that it imports,
            and the last file contains the message. Files that Confluent or Google has published may be missing.
        message: The message's full name; or its position in the file, such as ``(1,)`` for the second message.
        place: The schema's name in messages.

    Raises:
        ConfigError: SMT273 if the files are not a Protobuf schema or are too large, or if Connect has no schema for
            them.
    """
    try:
        return with_room(lambda files: _prepared(files, message, place), files)
    except ConfigError:
        raise
    except Exception:  # noqa: BLE001 - descriptors may hold anything, and no list of the resulting errors exists
        raise refused(place, "it is not a Protobuf schema", "fix the schema at its source") from None


def _prepared(files: Sequence[bytes], message: str | Sequence[int], place: str) -> Protobuf:
    pool, file = pool_of(files, place)
    descriptor = message_of(pool, file, message, place)
    builder = _KindBuilder(place)
    if fields_in(descriptor, {}) > MAX_NODES:  # as in Connect, each field of a message type gets its own schema
        raise refused(place, f"it has more than {MAX_NODES} fields, each counted where its message is used")
    kind = builder.root(descriptor)
    message_class = message_factory.GetMessageClass(descriptor)
    read, write = _reader(message_class, kind, demanding=builder.demanding), _writer(message_class, kind)
    return Protobuf(kind.schema, read, write, descriptor.full_name)


def _reader(message_class: Any, kind: Kind, *, demanding: bool) -> Callable[[bytes], Any]:
    parse, complete, convert = message_class.FromString, message_class.IsInitialized, kind.read
    assert convert is not None

    def read(raw: bytes) -> Any:
        room.reset()
        try:
            message = parse(raw)
            if demanding and not complete(message):
                raise unreadable("a required field is missing")
            return convert(message)
        except (DecodeError, UnicodeDecodeError):
            raise unreadable() from None

    return read


def _writer(message_class: Any, kind: Kind) -> Callable[[Any], bytes]:
    dump, fill = message_class.SerializeToString, kind.fill
    assert fill is not None

    def write(value: Any) -> bytes:
        if value is None:
            raise unwritable("", "is null, which a message cannot be")
        out = message_class()
        try:
            fill(out, value)
            # Protobuf does not define the order of a map's entries; equal values must have equal bytes
            data: bytes = dump(out, deterministic=True)
        except _WRONG:
            raise unwritable("", "does not fit its Protobuf schema") from None
        return data

    return write


@dataclass
class _KindBuilder:
    """A builder of Connect schemas, readers and writers for Protobuf messages and fields.

    Attributes:
        place: The schema's name in messages.
        demanding: True if a message has required fields. The reader must then check them itself, because the Protobuf
            runtime does not.
        open: The names of the message types that are being built at the moment.
        first: Maps each message type to the number of the first field with this type, or to None if that field is a
            list. Connect stores the number in the schema of the message type.
        syntaxes: Caches the syntax of each file, by the file's name. For proto2, the syntax is an empty string.
    """

    place: str
    demanding: bool = False
    open: set[str] = field(default_factory=set)
    first: dict[str, int | None] = field(default_factory=dict)
    syntaxes: dict[str, str] = field(default_factory=dict)

    def root(self, descriptor: Any) -> Kind:
        """Returns the Connect schema, the reader and the writer for records of the message type ``descriptor``. A
        record of a Google wrapper message, such as ``StringValue``, becomes the value inside the wrapper.
        """
        if descriptor.full_name not in _WRAPPERS or [part.name for part in descriptor.fields] != ["value"]:
            return self.message(descriptor, "")
        (part,) = descriptor.fields
        kind = self.kind(part, "")
        put = putter(part, kind)
        return Kind(Schema(kind.schema.type), getter(part, kind), fill=put)

    def message(self, descriptor: Any, where: str) -> Kind:
        """Returns the Connect schema, the reader and the writer for the message type ``descriptor``. In Connect, the
        message is a struct. The oneofs come before all other fields.
        """
        name = descriptor.full_name
        if name in self.open:
            raise self.refused(f"'{name}' contains itself, which a table cannot hold")
        self.open.add(name)
        if len(self.open) > MAX_LEVELS:
            raise self.refused(f"it nests more than {MAX_LEVELS} messages")
        self.first.setdefault(name, None)
        prefix = f"{where}." if where else ""
        proto = DescriptorProto()
        descriptor.CopyToProto(proto)
        # protoc puts each 'optional' field of proto3 into its own oneof, which Connect does not show
        lone = {part.name for part in proto.field if part.proto3_optional}
        unions = []
        for one in descriptor.oneofs:
            if not all(part.name in lone for part in one.fields):
                unions.append(one)
        parts = [self.union(one, prefix) for one in unions]
        inside = set()
        for one in unions:
            for part in one.fields:
                inside.add(part.name)
        for child in descriptor.fields:
            if child.name not in inside:
                parts.append(self.part(child, prefix + child.name, nullable=child.name in lone or self.proto2(child)))
        # a message may appear next to itself, but not inside itself
        self.open.discard(name)
        if len({part.name for part in parts}) < len(parts):
            raise self.refused(f"'{name}' has a oneof and a field with the same name in Connect")
        schema = Schema(Type.STRUCT, name=descriptor.name, fields=tuple((part.name, part.schema) for part in parts))
        reason = excess(schema)
        if reason is not None:
            raise self.refused(reason)
        return Kind(schema, struct_reader(parts), fill=struct_writer(parts, where))

    def part(self, proto_field: Any, where: str, *, nullable: bool) -> FieldCodec:
        """Returns the schema, the reader and the writer of a field that is not in a oneof. With ``nullable``, an unset
        field is read as null. An unset field whose type is a message is always read as null.
        """
        if proto_field.is_repeated and proto_field.type == MESSAGE and _is_entry(proto_field.message_type):
            return self.map(proto_field, where)
        kind = self.kind(proto_field, where)
        if not proto_field.is_repeated:
            schema = kind.schema
        else:
            schema = Schema(Type.ARRAY, values=optional(kind.schema))
        schema = _tagged(schema, proto_field.number)
        if proto_field.is_repeated:
            return FieldCodec(
                proto_field.name,
                schema,
                list_reader(proto_field.name, kind),
                list_writer(proto_field.name, kind, where),
            )
        take = getter(proto_field, kind)
        if nullable or proto_field.type == MESSAGE:
            take = if_present(proto_field, take)
        return FieldCodec(proto_field.name, schema, take, putter(proto_field, kind))

    def kind(self, proto_field: Any, where: str) -> Kind:
        """Returns the Connect schema, the reader and the writer for the type of ``proto_field``. For a repeated field,
        the result is for a single item.
        """
        self.demanding = self.demanding or proto_field.is_required
        if proto_field.type == GROUP:
            raise self.refused(f"Connect has no schema for the group '{proto_field.name}'")
        if proto_field.type == ENUMERATION:
            return enumeration(proto_field.enum_type, where)
        if proto_field.type != MESSAGE:
            return scalar(proto_field, where, checked=self.syntax(proto_field) == "proto3")
        descriptor = proto_field.message_type
        name = descriptor.full_name
        if name in LOGICAL:
            fields, make = LOGICAL[name]
            if not is_published(descriptor, fields):
                raise self.refused(f"'{name}' differs from the published message of this name")
            return make(field_params(proto_field), where)
        seen, before = name in self.first, self.first.get(name)
        kind = self.message(descriptor, where)
        if name == "confluent.type.Variant":
            children = tuple((n, Schema(child.type)) for n, child in kind.schema.fields)
            return replace(kind, schema=Schema(Type.STRUCT, name=VARIANT, fields=children))
        if not seen and not proto_field.is_repeated:
            self.first[name] = proto_field.number
        # Connect's ``SchemaWrapper`` keeps the number of the first field on the schema of the message, also inside
        # lists
        if before is not None:
            kind = replace(kind, schema=kind.schema.with_(parameters=((TAG, str(before)),)))
        return kind

    def union(self, one: Any, prefix: str) -> FieldCodec:
        """Returns the schema, the reader and the writer of the oneof ``one``. In Connect, its value is null, or a
        struct in which exactly one field is not null.
        """
        name = f"{one.name}_{one.index}"
        parts = [self.part(child, f"{prefix}{name}.{child.name}", nullable=False) for child in one.fields]
        fields = tuple((part.name, part.schema) for part in parts)
        schema = Schema(Type.STRUCT, True, f"{UNION}.{one.name}", fields=fields)
        which = message_factory.GetMessageClass(one.containing_type).WhichOneof
        takes, puts = {part.name: part.take for part in parts}, {part.name: part.put for part in parts}
        empty, oneof = dict.fromkeys(takes), one.name

        def take(message: Any) -> dict[str, Any] | None:
            member = which(message, oneof)
            if member is None:
                return None
            return {**empty, member: takes[member](message)}

        def put(message: Any, value: Any) -> None:
            members = [key for key in puts if value.get(key) is not None]
            if len(members) != 1:
                raise unwritable(prefix + name, f"has {len(members)} fields with a value, but a oneof has one")
            puts[members[0]](message, value[members[0]])

        return FieldCodec(name, schema, take, put)

    def map(self, proto_field: Any, where: str) -> FieldCodec:
        """Returns the schema, the reader and the writer of ``proto_field``, which is a map. As in Connect, a list is
        also read as a map if its messages look like the entries of a map.
        """
        entry = proto_field.message_type
        key, value = entry.fields
        keys, values = self.kind(key, f"{where}.key"), self.kind(value, f"{where}.value")
        schema = Schema(
            Type.MAP,
            name=_map_name(entry.name),
            keys=_tagged(keys.schema, key.number),
            values=_tagged(values.schema, value.number),
        )
        if entry.GetOptions().map_entry:
            take, put = map_reader(proto_field.name, keys, values), map_writer(proto_field.name, keys, values, where)
        else:
            width = keys.schema.width + values.schema.width
            take = entries_reader(proto_field.name, getter(key, keys), getter(value, values), width)
            put = entries_writer(proto_field.name, putter(key, keys), putter(value, values), where)
        return FieldCodec(proto_field.name, _tagged(schema, proto_field.number), take, put)

    def proto2(self, proto_field: Any) -> bool:
        """Returns True if ``proto_field`` is an optional field of proto2, which may be unset."""
        return self.syntax(proto_field) == "" and not proto_field.is_required and not proto_field.is_repeated

    def syntax(self, proto_field: Any) -> str:
        file = proto_field.file
        if file.name not in self.syntaxes:
            proto = FileDescriptorProto()
            file.CopyToProto(proto)
            # descriptors of proto2 may leave out the syntax
            self.syntaxes[file.name] = "" if proto.syntax == "proto2" else proto.syntax
        return self.syntaxes[file.name]

    def refused(self, statement: str) -> ConfigError:
        return refused(self.place, statement)


def _is_entry(descriptor: Any) -> bool:
    """Returns True if Connect reads a list of the message ``descriptor`` as a map. The name of the message then ends
    with ``Entry``, and its only fields are ``key`` and ``value``, in this order. Neither of the two is repeated.
    """
    names = [part.name for part in descriptor.fields]
    alike = names == ["key", "value"] and not any(part.is_repeated for part in descriptor.fields)
    return alike and descriptor.name.endswith(ENTRY)


def _map_name(entry: str) -> str:
    """Returns the name of a map in Connect. ``entry`` is the name of the message type for one entry: ``LineItemsEntry``
    becomes ``line_items``.
    """
    name = entry.removesuffix(ENTRY)
    chars = []
    for c in name[1:]:
        chars.append(f"_{c.lower()}" if "A" <= c <= "Z" else c)
    return name[:1].lower() + "".join(chars)


def _tagged(schema: Schema, number: int) -> Schema:
    parameters = {**dict(schema.parameters), TAG: str(number)}
    return schema.with_(optional=True, parameters=tuple(sorted(parameters.items())))
