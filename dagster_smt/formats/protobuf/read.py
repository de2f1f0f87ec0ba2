"""Protobuf: schemas and values as Confluent's ``ProtobufConverter`` gives them (``ProtobufData``).

The runtime reads the bytes; names, oneofs, maps and logical types become Connect's here. With the converter's
defaults (``ProtobufDataConfig``): every field is optional and has its number as the parameter ``Tag``; an enum is a
text; a oneof ``x`` is a struct ``x_0`` with the one field that is set; Google's wrappers are structs within a message
and plain values at the root. A field of proto3 without ``optional`` is never null but a message: 0, "" or an empty
list is what Protobuf has for absent. The bytes of unknown fields are passed over.
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
    Part,
    entries_reader,
    entries_writer,
    if_present,
    list_reader,
    list_writer,
    map_reader,
    map_writer,
    putter,
    struct_reader,
    struct_writer,
    taken,
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
    """A Protobuf message, ready to read and write.

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
    """Prepare a message of a Protobuf schema.

    Args:
        files: Serialized ``FileDescriptorProto``, each after those that it imports; Confluent's and Google's published
            ones may be missing. The last one holds the message.
        message: The message's full name, or its indexes.
        place: How messages call it.

    Raises:
        ConfigError: SMT273, it is no Protobuf schema, it is too large, or Connect has no schema for it.
    """
    try:
        return with_room(lambda given: _prepared(given, message, place), files)
    except ConfigError:
        raise
    except Exception:  # noqa: BLE001 - descriptors may say anything, and nobody lists what is raised then
        raise refused(place, "it is no Protobuf schema", "correct it where it comes from") from None


def _prepared(files: Sequence[bytes], message: str | Sequence[int], place: str) -> Protobuf:
    pool, file = pool_of(files, place)
    descriptor = message_of(pool, file, message, place)
    builder = _Builder(place)
    if fields_in(descriptor, {}) > MAX_NODES:  # a message is built for each field that holds it, as Connect does
        raise refused(place, f"it has more than {MAX_NODES} fields, each counted where its message is used")
    kind = builder.root(descriptor)
    made = message_factory.GetMessageClass(descriptor)
    read, write = _reader(made, kind, demanding=builder.demanding), _writer(made, kind)
    return Protobuf(kind.schema, read, write, descriptor.full_name)


def _reader(made: Any, kind: Kind, *, demanding: bool) -> Callable[[bytes], Any]:
    parse, complete, convert = made.FromString, made.IsInitialized, kind.read
    assert convert is not None

    def read(raw: bytes) -> Any:
        room.reset()
        try:
            found = parse(raw)
            if demanding and not complete(found):
                raise unreadable("a required field is missing")
            return convert(found)
        except (DecodeError, UnicodeDecodeError):
            raise unreadable() from None

    return read


def _writer(made: Any, kind: Kind) -> Callable[[Any], bytes]:
    dump, fill = made.SerializeToString, kind.fill
    assert fill is not None

    def write(value: Any) -> bytes:
        if value is None:
            raise unwritable("", "is null, a message is not")
        out = made()
        try:
            fill(out, value)
            data: bytes = dump(out, deterministic=True)
        except _WRONG:
            raise unwritable("", "does not fit its Protobuf schema") from None
        return data

    return write


@dataclass
class _Builder:
    """Kinds of messages and fields.

    Attributes:
        demanding: Whether a message has required fields, which the runtime does not look for when it reads.
        first: The number of the field in which a message came first, which Connect leaves on it; None for a list's.
    """

    place: str
    demanding: bool = False
    open: set[str] = field(default_factory=set)
    first: dict[str, int | None] = field(default_factory=dict)
    syntaxes: dict[str, str] = field(default_factory=dict)

    def root(self, descriptor: Any) -> Kind:
        """The kind of a whole record; a wrapper is the value in it."""
        if descriptor.full_name not in _WRAPPERS or [part.name for part in descriptor.fields] != ["value"]:
            return self.message(descriptor, "")
        (part,) = descriptor.fields
        kind = self.kind(part, "")
        put = putter(part, kind)
        return Kind(Schema(kind.schema.type), taken(part, kind), fill=put)

    def message(self, descriptor: Any, where: str) -> Kind:
        """The kind of a message: a struct, its oneofs first."""
        name = descriptor.full_name
        if name in self.open:
            raise self.refused(f"'{name}' holds itself, which a table cannot")
        self.open.add(name)
        if len(self.open) > MAX_LEVELS:
            raise self.refused(f"it nests more than {MAX_LEVELS} messages")
        self.first.setdefault(name, None)
        prefix = f"{where}." if where else ""
        proto = DescriptorProto()
        descriptor.CopyToProto(proto)
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
        for found in descriptor.fields:
            if found.name not in inside:
                parts.append(self.part(found, prefix + found.name, nullable=found.name in lone or self.proto2(found)))
        self.open.discard(name)
        if len({part.name for part in parts}) < len(parts):
            raise self.refused(f"'{name}' has a oneof and a field that Connect gives one name")
        schema = Schema(Type.STRUCT, name=descriptor.name, fields=tuple((part.name, part.schema) for part in parts))
        reason = excess(schema)
        if reason is not None:
            raise self.refused(reason)
        return Kind(schema, struct_reader(parts), fill=struct_writer(parts, where))

    def part(self, found: Any, where: str, *, nullable: bool) -> Part:
        """A field that is in no oneof; ``nullable``: it has the word ``optional``."""
        if found.is_repeated and found.type == MESSAGE and _is_entry(found.message_type):
            return self.map(found, where)
        kind = self.kind(found, where)
        if not found.is_repeated:
            schema = kind.schema
        else:
            schema = Schema(Type.ARRAY, values=optional(kind.schema))
        schema = _tagged(schema, found.number)
        if found.is_repeated:
            return Part(found.name, schema, list_reader(found.name, kind), list_writer(found.name, kind, where))
        take = taken(found, kind)
        if nullable or found.type == MESSAGE:
            take = if_present(found, take)
        return Part(found.name, schema, take, putter(found, kind))

    def kind(self, found: Any, where: str) -> Kind:
        """The kind of a field's type, or of the items of a list."""
        self.demanding = self.demanding or found.is_required
        if found.type == GROUP:
            raise self.refused(f"Connect has no schema for the group '{found.name}'")
        if found.type == ENUMERATION:
            return enumeration(found.enum_type, where)
        if found.type != MESSAGE:
            return scalar(found, where, checked=self.syntax(found) == "proto3")
        descriptor = found.message_type
        name = descriptor.full_name
        if name in LOGICAL:
            fields, make = LOGICAL[name]
            if not is_published(descriptor, fields):
                raise self.refused(f"'{name}' is not the message that is published under this name")
            return make(field_params(found), where)
        seen, before = name in self.first, self.first.get(name)
        kind = self.message(descriptor, where)
        if name == "confluent.type.Variant":
            children = tuple((n, Schema(child.type)) for n, child in kind.schema.fields)
            return replace(kind, schema=Schema(Type.STRUCT, name=VARIANT, fields=children))
        if not seen and not found.is_repeated:
            self.first[name] = found.number
        if before is not None:
            kind = replace(kind, schema=kind.schema.with_(parameters=((TAG, str(before)),)))
        return kind

    def union(self, one: Any, prefix: str) -> Part:
        """A oneof: a struct of which one field is there, or none of it is."""
        name = f"{one.name}_{one.index}"
        parts = [self.part(found, f"{prefix}{name}.{found.name}", nullable=False) for found in one.fields]
        fields = tuple((part.name, part.schema) for part in parts)
        schema = Schema(Type.STRUCT, True, f"{UNION}.{one.name}", fields=fields)
        which = message_factory.GetMessageClass(one.containing_type).WhichOneof
        takes, puts = {part.name: part.take for part in parts}, {part.name: part.put for part in parts}
        empty, oneof = dict.fromkeys(takes), one.name

        def take(message: Any) -> dict[str, Any] | None:
            found = which(message, oneof)
            if found is None:
                return None
            return {**empty, found: takes[found](message)}

        def put(message: Any, value: Any) -> None:
            there = [key for key in puts if value.get(key) is not None]
            if len(there) != 1:
                raise unwritable(prefix + name, f"has {len(there)} fields with a value, a oneof has one")
            puts[there[0]](message, value[there[0]])

        return Part(name, schema, take, put)

    def map(self, found: Any, where: str) -> Part:
        """A map, or a list of messages that look like a map's entries; Connect takes both for maps."""
        entry = found.message_type
        key, value = entry.fields
        keys, values = self.kind(key, f"{where}.key"), self.kind(value, f"{where}.value")
        schema = Schema(
            Type.MAP,
            name=_map_name(entry.name),
            keys=_tagged(keys.schema, key.number),
            values=_tagged(values.schema, value.number),
        )
        if entry.GetOptions().map_entry:
            take, put = map_reader(found.name, keys, values), map_writer(found.name, keys, values, where)
        else:
            width = keys.schema.width + values.schema.width
            take = entries_reader(found.name, taken(key, keys), taken(value, values), width)
            put = entries_writer(found.name, putter(key, keys), putter(value, values), where)
        return Part(found.name, _tagged(schema, found.number), take, put)

    def proto2(self, found: Any) -> bool:
        return self.syntax(found) == "" and not found.is_required and not found.is_repeated

    def syntax(self, found: Any) -> str:
        file = found.file
        if file.name not in self.syntaxes:
            proto = FileDescriptorProto()
            file.CopyToProto(proto)
            self.syntaxes[file.name] = "" if proto.syntax == "proto2" else proto.syntax
        return self.syntaxes[file.name]

    def refused(self, statement: str) -> ConfigError:
        return refused(self.place, statement)


def _is_entry(descriptor: Any) -> bool:
    """Whether Connect takes a repeated message for the entries of a map."""
    names = [part.name for part in descriptor.fields]
    alike = names == ["key", "value"] and not any(part.is_repeated for part in descriptor.fields)
    return alike and descriptor.name.endswith(ENTRY)


def _map_name(entry: str) -> str:
    """What Connect calls a map: the name of its entry, which protoc makes of the field's, turned back."""
    name = entry.removesuffix(ENTRY)
    return name[:1].lower() + "".join(f"_{c.lower()}" if "A" <= c <= "Z" else c for c in name[1:])


def _tagged(schema: Schema, number: int) -> Schema:
    parameters = {**dict(schema.parameters), TAG: str(number)}
    return schema.with_(optional=True, parameters=tuple(sorted(parameters.items())))
