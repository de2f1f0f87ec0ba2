"""Converts records into MessagePack for the host (the Java process of foreign stages), and back, without loss.

Each schema is sent only once, and gets a number. Python gives its schemas the numbers 0, 1, 2 and so on. Java gives its
schemas -1, -2 and so on.

A value with a schema is plain MessagePack, because the schema shows its type. A value without a schema is sent as JSON
text. If JSON lacks a type in the value, the value is sent with MessagePack extensions.
"""

import math
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from dagster_smt.model.record import Header, Record
from dagster_smt.model.runtime import JavaByte, JavaDouble, JavaFloat, JavaInteger, JavaShort, OwnStruct, as_key
from dagster_smt.model.schema import JavaDate, Schema, Type
from dagster_smt.values.headers.fields import header_as_read
from dagster_smt.values.json.lazy import decode_whole, encode

JSON, INT8, INT16, INT32, FLOAT32, DECIMAL, DATE, PAIRS, NOT_FINITE = range(1, 10)
"""The numbers of MessagePack's extension types, as in ``Free.java``."""
TIMESTAMP_TYPES = {None: 0, "NoTimestampType": 0, "CreateTime": 1, "LogAppendTime": 2}
# ``Type`` lists the types in the order of Java's ``Schema.Type``, because Java sends their ordinals.
_TYPES = tuple(Type)
_ORDINALS = {type_: number for number, type_ in enumerate(_TYPES)}
_MOST = 5000
Convert = Callable[[Any], Any]
_SIZES = {INT8: ">b", INT16: ">h", INT32: ">i"}


def _plain(value: Any) -> Any:
    """Converts a value of a class that the MessagePack encoder does not know, such as ``Decimal``, into a plain
    ``int``, ``float``, ``str``, ``dict`` or ``list``. The type is not lost, because the value has a schema.
    """
    # subclasses such as ``JavaInteger`` and ``JavaDate``, which MessagePack does not know
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return dict(value)
    return list(value)


def _ext(code: int, data: memoryview) -> Any:
    """Decodes a MessagePack extension from the host (the Java process) into a Python value. ``code`` is the type of the
    extension, such as ``DECIMAL``, and ``data`` contains its bytes.
    """
    if code == JSON:
        return decode_whole(bytes(data))
    if code == DECIMAL:
        return Decimal(bytes(data).decode())
    if code == DATE:
        return JavaDate(struct.unpack(">q", data)[0])
    if code == FLOAT32:
        return JavaFloat(struct.unpack(">d", data)[0])
    if code == NOT_FINITE:
        return JavaDouble(struct.unpack(">d", data)[0])
    if code == PAIRS:
        return {as_key(key): value for key, value in decoder.decode(bytes(data))}
    box = {INT8: JavaByte, INT16: JavaShort, INT32: JavaInteger}[code]
    return box(struct.unpack(_SIZES[code], data)[0])


encoder = msgspec.msgpack.Encoder(enc_hook=_plain)
decoder = msgspec.msgpack.Decoder(ext_hook=_ext)


class Schemas:
    """The numbers of all schemas that Python and the host (the Java process) have exchanged."""

    def __init__(self) -> None:
        self.numbers: dict[int, tuple[int, Schema]] = {}
        self.by_number: dict[int, Schema] = {}
        self.converts: dict[int, tuple[Convert | None, Convert | None]] = {}
        self.fresh: list[list[Any]] = []

    def number(self, schema: Schema | None) -> int | None:
        """Returns the number of ``schema``. A schema that has no number yet gets one, and is sent with the next
        batch.
        """
        if schema is None:
            return None
        known = self.numbers.get(id(schema))
        if known is None:
            number = len(self.by_number)
            # the schema is stored as well, so that its id stays valid
            known = self.numbers[id(schema)] = (number, schema)
            self._add(number, schema)
            self.fresh.append([number, _sent(schema)])
        return known[0]

    def take_fresh(self) -> list[list[Any]]:
        """Returns the schemas that have not been sent to the host (the Java process) yet. The returned schemas then
        count as sent.
        """
        fresh, self.fresh = self.fresh, []
        return fresh

    def receive(self, schemas: list[list[Any]]) -> None:
        """Stores schemas that come from the host (the Java process). Each item contains a number, which the host has
        chosen, and the schema.
        """
        for number, data in schemas:
            schema = _schema_received(data)
            self.numbers[id(schema)] = (number, schema)
            self._add(number, schema)

    def _add(self, number: int, schema: Schema) -> None:
        self.by_number[number] = schema
        self.converts[number] = (outgoing(schema), incoming(schema))

    @property
    def full(self) -> bool:
        """True if so many schemas have been exchanged that Python and the host (the Java process) should start again
        with an empty list of schemas. The stages are then closed, and opened again for the next batch.
        """
        return len(self.by_number) > _MOST


def _sent(schema: Schema | None) -> Any:
    if schema is None:
        return None
    convert = outgoing(schema)
    default = schema.default
    if default is not None and convert is not None:
        default = convert(default)
    return [
        _ORDINALS[schema.type],
        schema.optional,
        schema.name,
        schema.version,
        schema.doc,
        dict(schema.parameters),
        [[name, _sent(child)] for name, child in schema.fields],
        _sent(schema.keys),
        _sent(schema.values),
        default,
    ]


def _received(data: Any) -> Schema | None:
    if data is None:
        return None
    return _schema_received(data)


def _schema_received(data: list[Any]) -> Schema:
    type_, optional, name, version, doc, parameters, fields, keys, values, default = data
    schema = Schema(
        _TYPES[type_],
        optional,
        name,
        version,
        doc,
        # Java's map has no order, and equal schemas must be equal here
        tuple(sorted(parameters.items())),
        None,
        tuple((field, _schema_received(child)) for field, child in fields),
        _received(keys),
        _received(values),
    )
    convert = incoming(schema)
    if default is not None and convert is not None:
        default = convert(default)
    return schema.with_(default=default)


def schema_bytes(schema: Schema) -> bytes:
    """Returns ``schema`` as bytes. Equal schemas have the same bytes."""
    return encoder.encode(_sent(schema))


def schema_of_bytes(data: bytes) -> Schema:
    """Reads a schema from ``data``, the result of ``schema_bytes``."""
    return _schema_received(decoder.decode(data))


def outgoing(schema: Schema | None) -> Convert | None:
    """Returns a function that converts a value of ``schema`` into data for MessagePack. Returns None if the value needs
    no conversion.
    """
    if schema is None:
        return _or_null(free)
    if schema.type is Type.ARRAY:
        return _items(outgoing(schema.values))
    if schema.type is Type.MAP:
        keys, values = outgoing(schema.keys), outgoing(schema.values)
        if schema.keys is not None and schema.keys.type is Type.STRING:
            return _entries(values)
        return _or_null(lambda value: [[_of(keys, k), _of(values, v)] for k, v in value.items()])
    if schema.type is Type.STRUCT:
        return _fields({name: outgoing(child) for name, child in schema.fields})
    return None


def incoming(schema: Schema | None) -> Convert | None:
    """Returns a function that converts data from MessagePack into a value of ``schema``. Returns None if the data needs
    no conversion.
    """
    if schema is None:
        return None  # the decoder has already converted the extensions in the data
    if schema.logical == "Decimal":
        return _or_null(Decimal)
    if schema.logical is not None:
        return _or_null(JavaDate)
    if schema.type is Type.ARRAY:
        return _items(incoming(schema.values))
    if schema.type is Type.MAP:
        keys, values = incoming(schema.keys), incoming(schema.values)
        if schema.keys is not None and schema.keys.type is Type.STRING:
            return _entries(values)
        return _or_null(lambda value: {as_key(_of(keys, k)): _of(values, v) for k, v in value})
    if schema.type is Type.STRUCT:
        return _fields({name: incoming(child) for name, child in schema.fields})
    return None


def _or_null(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _of(convert: Convert | None, value: Any) -> Any:
    if convert is None:
        return value
    return convert(value)


def _items(item: Convert | None) -> Convert | None:
    if item is None:
        return None
    return _or_null(lambda value: [item(child) for child in value])


def _entries(entry: Convert | None) -> Convert | None:
    if entry is None:
        return None
    return _or_null(lambda value: {key: entry(child) for key, child in value.items()})


def _fields(fields: Mapping[str, Convert | None]) -> Convert | None:
    converts = {}
    for name, convert in fields.items():
        if convert is not None:
            converts[name] = convert
    if not converts:
        return None

    def struct_value(value: Any) -> Any:
        if value is None:
            return None
        # a copy, because the record may still need the value
        changed = dict(value)
        for name, convert in converts.items():
            changed[name] = convert(changed.get(name))
        return changed

    return struct_value


def free(value: Any) -> Any:
    """Converts a value without a schema for MessagePack. If JSON has all types in the value, the result is one JSON
    text. Otherwise the parts that JSON lacks, such as a ``Decimal``, become MessagePack extensions.
    """
    if value is None:
        return None
    if _is_json(value):
        # Connect's own converter parses the text, so each part gets the Java type that it has in Connect
        return msgspec.msgpack.Ext(JSON, encode(value) or b"null")
    return _tagged(value)


def _is_json(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return all(type(key) is str for key in value) and all(map(_is_json, value.values()))
    if kind is list:
        return all(map(_is_json, value))
    if kind is float:
        return math.isfinite(value)
    return kind in (msgspec.Raw, str, int, bool) or value is None


def _tagged(value: Any) -> Any:
    kind = type(value)
    if kind is msgspec.Raw:
        return msgspec.msgpack.Ext(JSON, bytes(value))
    if isinstance(value, dict):
        if all(type(key) is str for key in value):
            return {key: _tagged(child) for key, child in value.items()}
        pairs = []
        for key, child in value.items():
            pairs.append([_tagged(key), _tagged(child)])
        return msgspec.msgpack.Ext(PAIRS, encoder.encode(pairs))
    if isinstance(value, list):
        return [_tagged(child) for child in value]
    if kind is JavaDouble:
        return float(value)
    extension = _EXTENSIONS.get(kind)
    if extension is not None:
        return msgspec.msgpack.Ext(*extension(value))
    return value


_EXTENSIONS: dict[type, Callable[[Any], tuple[int, bytes]]] = {
    JavaByte: lambda value: (INT8, struct.pack(">b", value)),
    JavaShort: lambda value: (INT16, struct.pack(">h", value)),
    JavaInteger: lambda value: (INT32, struct.pack(">i", value)),
    JavaFloat: lambda value: (FLOAT32, struct.pack(">d", value)),
    Decimal: lambda value: (DECIMAL, str(value).encode()),
    JavaDate: lambda value: (DATE, struct.pack(">q", value)),
}


def sent_record(record: Record, schemas: Schemas) -> bytes:
    """Encodes ``record`` for the host, the Java process of foreign stages."""
    return encoder.encode(
        [
            record.topic,
            record.partition if record.target_partition is None else record.target_partition,
            record.offset,
            record.timestamp,
            TIMESTAMP_TYPES.get(record.timestamp_type, 0),
            *_datum(record.key_schema, record.key, schemas),
            *_datum(record.value_schema, record.value, schemas),
            [_header(header, schemas) for header in record.headers],
        ]
    )


def _datum(schema: Schema | None, value: Any, schemas: Schemas) -> tuple[int | None, Any]:
    number = schemas.number(schema)
    if number is None:
        return None, free(value)
    return number, _of(schemas.converts[number][0], value)


def _header(header: Header, schemas: Schemas) -> list[Any]:
    # a header from the topic: its bytes stay as they were read
    if not header.from_stage:
        return [header.key, header.raw]
    if isinstance(header.value, OwnStruct):
        own = _datum(header.value.schema, dict(header.value), schemas)
        return [header.key, schemas.number(header.schema), *own]
    return [header.key, *_datum(header.schema, header.value, schemas)]


def header_received(data: list[Any], schemas: Schemas) -> Header:
    """Decodes a header that the host (the Java process) has sent. ``data`` contains the name, and then either bytes, or
    a schema number and a value.

    If the value is a struct, it has a schema itself, which may differ from the schema of the header. In that case,
    ``data`` contains the number of this schema as well.
    """
    name, *rest = data
    if len(rest) == 1:
        return header_as_read(name, rest[0])
    number, *own, sent = rest
    schema = None if number is None else schemas.by_number[number]
    if own:
        own_schema, value = datum_received(own[0], sent, schemas)
        assert own_schema is not None
        return Header(name, schema, OwnStruct(own_schema, value))
    return Header(name, *datum_received(number, sent, schemas))


def datum_received(number: int | None, data: Any, schemas: Schemas) -> tuple[Schema | None, Any]:
    """Decodes a key, value or header that the host (the Java process) has sent. Returns its schema and its value.
    ``number`` is the number of the schema; None for a value without a schema.
    """
    if number is None:
        return None, data
    return schemas.by_number[number], _of(schemas.converts[number][1], data)
