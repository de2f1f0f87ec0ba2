"""Handles Protobuf's descriptors: pools of files, published files, field options, and message indexes.

A schema may import files that Confluent and Google have published. A registry does not store these files, because it
expects that clients have them (``ProtobufSchema.KNOWN_DEPENDENCIES``).

Message indexes are the position of a message in its file: ``[1]`` is the second message. The message indexes are
written before each value (``MessageIndexes``).
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FieldOptions, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from dagster_smt.errors import ConfigError, DataError, Problem, data_error
from dagster_smt.model.schema_size import MAX_LEVELS

CONNECT_PROTOBUF = "io.confluent.connect.protobuf"
TAG, TYPE, ENUM, UNION = (f"{CONNECT_PROTOBUF}.{name}" for name in ("Tag", "Type", "Enum", "Union"))
CONNECT_TYPE = "connect.type"
VARIANT = "org.apache.kafka.connect.data.Variant"
ENTRY = "Entry"
"""The suffix in the name of a message type for one entry of a map. For the map ``tags``, protoc creates the message
type ``TagsEntry``.
"""
LOCATIONS = {
    "confluent.type.Decimal": "confluent/type/decimal.proto",
    "confluent.type.Variant": "confluent/type/variant.proto",
    "google.type.Date": "google/type/date.proto",
    "google.type.TimeOfDay": "google/type/timeofday.proto",
    "google.protobuf.Timestamp": "google/protobuf/timestamp.proto",
}
SCALARS = {
    "double": 1, "float": 2, "int64": 3, "uint64": 4, "int32": 5, "fixed64": 6, "fixed32": 7, "bool": 8, "string": 9,
    "bytes": 12, "uint32": 13, "sfixed32": 15, "sfixed64": 16, "sint32": 17, "sint64": 18,
}  # fmt: skip
GROUP, MESSAGE, ENUMERATION = 10, 11, 14
REPEATED = 3
_SHIPPED = {
    "confluent/type/decimal.proto": "confluent.type.Decimal value:bytes precision:uint32 scale:int32",
    "confluent/type/variant.proto": "confluent.type.Variant metadata:bytes value:bytes",
    "google/type/date.proto": "google.type.Date year:int32 month:int32 day:int32",
    "google/type/timeofday.proto": "google.type.TimeOfDay hours:int32 minutes:int32 seconds:int32 nanos:int32",
}
META = "confluent/meta.proto"
"""The name of the file with Confluent's field options, which schemas use."""
_FIELD_META = 1088
_GENERATED = re.compile(r"google/(protobuf|type)/[a-z_]+\.proto")
_FAILED = "Couldn't build proto file into descriptor pool: "


def refused(place: str, statement: str, hint: str = "read the values as bytes, or change the schema") -> ConfigError:
    """Returns the error SMT273 for a schema that cannot be used. ``place`` is the name of the schema, and ``statement``
    is the reason. Both are parts of the error message.
    """
    return ConfigError(Problem("SMT273", place, statement, hint))


def pool_of(files: Sequence[bytes], place: str) -> tuple[DescriptorPool, FileDescriptorProto]:
    """Returns a pool that contains ``files``, and the last file. Each item of ``files`` is a serialized file, and comes
    after the files that it imports.

    Raises:
        ConfigError: SMT273 if ``files`` is empty, or if an item is not a Protobuf file or does not fit the other files.
    """
    pool, known = DescriptorPool(), set[str]()
    if not files:
        raise refused(place, "the schema has no file", "set the schema of the message")
    for raw in files:
        file = _parsed(raw, place)
        _add(pool, file, known, place)
    return pool, file


def _parsed(raw: bytes, place: str) -> FileDescriptorProto:
    try:
        file = FileDescriptorProto.FromString(raw)
    except (DecodeError, TypeError):
        hint = "create it with protoc or the registry"
        raise refused(place, "it is not a serialized FileDescriptorProto", hint) from None
    return file


def _add(pool: DescriptorPool, file: FileDescriptorProto, known: set[str], place: str) -> None:
    for name in file.dependency:
        if name not in known:
            published = well_known(name)
            if published is None:
                statement = f"it imports '{name}', which is missing"
                raise refused(place, statement, "register the file as a reference of the schema")
            _add(pool, published, known, place)
    try:
        pool.Add(file)
    except (TypeError, ValueError) as error:
        statement = f"it is not a Protobuf schema: {str(error).removeprefix(_FAILED)}"
        raise refused(place, statement, "fix the schema at its source") from None
    known.add(file.name)


def well_known(name: str) -> FileDescriptorProto | None:
    """Returns the file ``name`` if Confluent or Google has published it; None for other names."""
    if name == META:
        return _meta_file()
    if name in _SHIPPED:
        return _one_message(name, _SHIPPED[name])
    # the name comes from a schema, and ``import_module`` runs the module: only Google's own packages are permitted
    if not _GENERATED.fullmatch(name):
        return None
    try:
        module = import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    except ImportError:
        return None
    return FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)


def _one_message(name: str, text: str) -> FileDescriptorProto:
    full, *fields = text.split()
    package, _, short = full.rpartition(".")
    pairs = [field.split(":") for field in fields]
    descriptors = []
    for number, (field, kind) in enumerate(pairs, 1):
        descriptors.append(FieldDescriptorProto(name=field, number=number, type=SCALARS[kind], label=1))
    message = DescriptorProto(name=short, field=descriptors)
    return FileDescriptorProto(name=name, package=package, syntax="proto3", message_type=[message])


def _meta_file() -> FileDescriptorProto:
    """Returns the part of ``confluent/meta.proto`` that this package reads: option 1088 of a field."""
    file = _one_message(META, "confluent.Meta doc:string params:string")
    (meta,) = file.message_type
    entry = _one_message("", "x.ParamsEntry key:string value:string").message_type[0]
    entry.options.map_entry = True
    # ``_one_message`` builds only single fields, so the map ``params`` and the list ``tags`` are added here
    meta.nested_type.append(entry)
    del meta.field[1]
    meta.field.add(name="params", number=2, label=REPEATED, type=MESSAGE, type_name=".confluent.Meta.ParamsEntry")
    meta.field.add(name="tags", number=3, label=REPEATED, type=SCALARS["string"])
    # A message of our own with the field number of the extension. The bytes of any FieldOptions can be read as this
    # message, without registering the extension in the pool of the schema.
    options = file.message_type.add(name="Options")
    options.field.add(name="field_meta", number=_FIELD_META, label=1, type=MESSAGE, type_name=".confluent.Meta")
    return file


@cache
def _options() -> Any:
    pool = DescriptorPool()
    pool.Add(_meta_file())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("confluent.Options"))


def field_params(field: Any) -> Mapping[str, str]:
    """Returns the parameters in the option ``(confluent.field_meta)`` of ``field``."""
    if not field.has_options:
        return {}
    options = _options().FromString(field.GetOptions().SerializeToString())
    return dict(options.field_meta.params)


def field_tags(field: Any) -> tuple[str, ...]:
    """Returns the tags in the option ``(confluent.field_meta)`` of ``field``. Connect does not read these tags."""
    if not field.has_options:
        return ()
    options = _options().FromString(field.GetOptions().SerializeToString())
    return tuple(options.field_meta.tags)


def field_options(params: Mapping[str, str]) -> FieldOptions:
    """Returns the options of a field with the parameters ``params``."""
    options = _options()(field_meta={"params": dict(params)})
    return FieldOptions.FromString(options.SerializeToString(deterministic=True))


def message_of(pool: DescriptorPool, file: FileDescriptorProto, message: str | Sequence[int], place: str) -> Any:
    """Returns the descriptor of a message type in ``file``. ``message`` is the full name of the type, or its position
    in the file: ``(1, 0)`` is the first message inside the second message. An empty position is the first message.

    Raises:
        ConfigError: SMT273 if the file has no such message.
    """
    if isinstance(message, str):
        name = message
    else:
        name = _name_at(file, message or (0,), place)
    try:
        return pool.FindMessageTypeByName(name.removeprefix("."))
    except KeyError:
        raise refused(place, f"it has no message '{name}'", "use the message's full name") from None


def fields_in(descriptor: Any, known: dict[str, int]) -> int:
    """Returns the number of messages and fields in a message: the message itself, its fields, and all messages inside
    it. ``known`` caches this number by the full name of a message.
    """
    name = descriptor.full_name
    if name not in known:
        known[name] = 0  # a message that contains itself ends here; the builder rejects it later
        inner = []
        for part in descriptor.fields:
            if part.message_type is not None:
                inner.append(fields_in(part.message_type, known))
        known[name] = 1 + len(descriptor.fields) + sum(inner)
    return known[name]


def _name_at(file: FileDescriptorProto, indexes: Sequence[int], place: str) -> str:
    messages, names = file.message_type, [file.package] if file.package else []
    for index in indexes:
        if not 0 <= index < len(messages):
            statement = f"it has no message with the indexes {list(indexes)}"
            raise refused(place, statement, "check the version of the schema")
        names.append(messages[index].name)
        messages = messages[index].nested_type
    return ".".join(names)


def read_indexes(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    """Returns the message indexes in ``data`` that begin at ``start``, and the position after them. Message indexes are
    the position of a message type in its file: ``(1, 0)`` is the first message inside the second message.

    Raises:
        DataError: SMT441 if the bytes are not message indexes.
    """
    count, at = _varint(data, start)
    # each index takes at least one byte, and a claimed count must not cause a long loop
    if not 0 <= count <= min(len(data) - at, MAX_LEVELS):
        raise _no_indexes()
    indexes = []
    for _ in range(count):
        index, at = _varint(data, at)
        if index < 0:
            raise _no_indexes()
        indexes.append(index)
    # a count of 0 is the short form of the first message (see ``write_indexes``)
    return tuple(indexes) or (0,), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Reads a number at the position ``at`` as Kafka's ``ByteUtils.readVarint`` does, in zigzag encoding, with 32 bits
    in at most five bytes.

    Returns the number, and the position after it.
    """
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            raise _no_indexes()
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            # the fifth byte may have more bits than Java's int
            value &= 0xFFFFFFFF
            return (value >> 1) ^ -(value & 1), at
    raise _no_indexes()


def _no_indexes() -> DataError:
    hint = "check the dead letter; another serializer may have written the record"
    return data_error("SMT441", "the bytes after the schema's id are not message indexes", hint)


def write_indexes(indexes: Sequence[int]) -> bytes:
    """Returns ``indexes`` (the position of a message type in its file) as bytes: first the number of indexes, then each
    index. There is one exception: ``(0,)``, the first message of a file, becomes a single zero byte.
    """
    if tuple(indexes) == (0,):
        return b"\0"
    out = bytearray()
    for number in (len(indexes), *indexes):
        value = (number << 1) ^ (number >> 31)
        while value > 0x7F:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
    return bytes(out)
