"""Protobuf's descriptors: pools of files, the files that need no delivery, options of fields, and message indexes.

A registry keeps its users' files and expects that everybody has Confluent's and Google's: ``ProtobufSchema`` lists
them (``KNOWN_DEPENDENCIES``). Message indexes are the path to a message in its file, which ``MessageIndexes`` writes in
front of a value.
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
"""How the name of a message ends that is the entry of a map."""
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
"""The file of Confluent's options, in which texts say what fields mean."""
_FIELD_META = 1088
_GENERATED = re.compile(r"google/(protobuf|type)/[a-z_]+\.proto")
_FAILED = "Couldn't build proto file into descriptor pool: "


def refused(place: str, statement: str, hint: str = "read the values as bytes, or change the schema") -> ConfigError:
    """The error of a schema that cannot be read with."""
    return ConfigError(Problem("SMT273", place, statement, hint))


def pool_of(files: Sequence[bytes], place: str) -> tuple[DescriptorPool, FileDescriptorProto]:
    """A pool of serialized files, each after those that it imports, and the last of them.

    Raises:
        ConfigError: SMT273, one is no file of Protobuf, or does not go with the others.
    """
    pool, known = DescriptorPool(), set[str]()
    if not files:
        raise refused(place, "there is no file", "name the schema of the message")
    for raw in files:
        file = _parsed(raw, place)
        _add(pool, file, known, place)
    return pool, file


def _parsed(raw: bytes, place: str) -> FileDescriptorProto:
    try:
        file = FileDescriptorProto.FromString(raw)
    except (DecodeError, TypeError):
        raise refused(place, "it is no serialized FileDescriptorProto", "let protoc or the registry write it") from None
    return file


def _add(pool: DescriptorPool, file: FileDescriptorProto, known: set[str], place: str) -> None:
    for name in file.dependency:
        if name not in known:
            found = well_known(name)
            if found is None:
                statement = f"it imports '{name}', which is not there"
                raise refused(place, statement, "register the file as a reference of the schema")
            _add(pool, found, known, place)
    try:
        pool.Add(file)
    except (TypeError, ValueError) as error:
        statement = f"it is no Protobuf schema: {str(error).removeprefix(_FAILED)}"
        raise refused(place, statement, "correct it where it comes from") from None
    known.add(file.name)


def well_known(name: str) -> FileDescriptorProto | None:
    """A file that Confluent or Google publishes, or None."""
    if name == META:
        return _meta_file()
    if name in _SHIPPED:
        return _one_message(name, _SHIPPED[name])
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
    made = []
    for number, (field, kind) in enumerate(pairs, 1):
        made.append(FieldDescriptorProto(name=field, number=number, type=SCALARS[kind], label=1))
    message = DescriptorProto(name=short, field=made)
    return FileDescriptorProto(name=name, package=package, syntax="proto3", message_type=[message])


def _meta_file() -> FileDescriptorProto:
    """``confluent/meta.proto``, as far as Connect reads it; options of fields have it under number 1088."""
    file = _one_message(META, "confluent.Meta doc:string params:string")
    (meta,) = file.message_type
    entry = _one_message("", "x.ParamsEntry key:string value:string").message_type[0]
    entry.options.map_entry = True
    meta.nested_type.append(entry)
    del meta.field[1]
    meta.field.add(name="params", number=2, label=REPEATED, type=MESSAGE, type_name=".confluent.Meta.ParamsEntry")
    options = file.message_type.add(name="Options")
    options.field.add(name="field_meta", number=_FIELD_META, label=1, type=MESSAGE, type_name=".confluent.Meta")
    return file


@cache
def _options() -> Any:
    pool = DescriptorPool()
    pool.Add(_meta_file())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("confluent.Options"))


def field_params(field: Any) -> Mapping[str, str]:
    """The parameters of a field's option ``(confluent.field_meta)``."""
    if not field.has_options:
        return {}
    found = _options().FromString(field.GetOptions().SerializeToString())
    return dict(found.field_meta.params)


def field_options(params: Mapping[str, str]) -> FieldOptions:
    """The options of a field with such parameters."""
    made = _options()(field_meta={"params": dict(params)})
    return FieldOptions.FromString(made.SerializeToString(deterministic=True))


def message_of(pool: DescriptorPool, file: FileDescriptorProto, message: str | Sequence[int], place: str) -> Any:
    """The descriptor of a message by its full name, or by its indexes in a file; none at all are those of the first.

    Raises:
        ConfigError: SMT273, there is no such message.
    """
    if isinstance(message, str):
        name = message
    else:
        name = _name_at(file, message or (0,), place)
    try:
        return pool.FindMessageTypeByName(name.removeprefix("."))
    except KeyError:
        raise refused(place, f"it has no message '{name}'", "look for the message's full name") from None


def fields_in(descriptor: Any, known: dict[str, int]) -> int:
    """How many fields a message has, with those of its messages; ``known``: by full name those that were counted."""
    name = descriptor.full_name
    if name not in known:
        known[name] = 0  # of one that holds itself, which nobody builds
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
            raise refused(place, statement, "look for another version of the schema")
        names.append(messages[index].name)
        messages = messages[index].nested_type
    return ".".join(names)


def read_indexes(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    """The message indexes at a position, and where they end.

    Raises:
        DataError: SMT441, there are none.
    """
    count, at = _varint(data, start)
    if not 0 <= count <= min(len(data) - at, MAX_LEVELS):
        raise _no_indexes()
    indexes = []
    for _ in range(count):
        index, at = _varint(data, at)
        if index < 0:
            raise _no_indexes()
        indexes.append(index)
    return tuple(indexes) or (0,), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Kafka's ``ByteUtils.readVarint``: zigzag, 32 bits in at most five bytes."""
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            raise _no_indexes()
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFF
            return (value >> 1) ^ -(value & 1), at
    raise _no_indexes()


def _no_indexes() -> DataError:
    hint = "look at the dead letter; another serializer may have written it"
    return data_error("SMT441", "the bytes after the schema's id are no indexes of a message", hint)


def write_indexes(indexes: Sequence[int]) -> bytes:
    """The bytes of message indexes; the first message of a file is a single 0."""
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
