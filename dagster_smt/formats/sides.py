"""Codecs for keys and values of records. The format determines the codec."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import msgspec

from dagster_smt.errors import DATA_EXCEPTION, ConfigError, DataError, data_error, problem_of_record
from dagster_smt.formats.cache import BySchema, TextCache
from dagster_smt.formats.changes import change_reader
from dagster_smt.formats.csv import csv_codec
from dagster_smt.formats.json import Convert, reader, resolve_defaults, writer
from dagster_smt.formats.parsing import converted as converted
from dagster_smt.formats.parsing import has_decimals, parse_json
from dagster_smt.formats.primitives import Decode, Encode, primitive_codec
from dagster_smt.model.schema import STRING, Schema, Type, optional
from dagster_smt.model.schema_json import schema_from_json, schema_to_json
from dagster_smt.model.schema_size import MAX_TEXT, excess
from dagster_smt.model.topics.change_formats import is_change
from dagster_smt.model.topics.format import ARRAYS_AS_ROWS, DESCRIBED, REGISTERED, Format
from dagster_smt.model.topics.primitives import PRIMITIVES
from dagster_smt.values.json.lazy import (
    UNREADABLE,
    check_depth,
    decode_whole,
    deeper,
    encode,
    encoder,
    in_any_encoding,
    with_room,
)

_OPTIONAL_STRING = optional(STRING)
_OPTIONAL_BYTES = Schema(Type.BYTES, optional=True)


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    schema: msgspec.Raw
    payload: msgspec.Raw


_envelopes = msgspec.json.Decoder(_Envelope)


class Read(Protocol):
    """A function that decodes the bytes of a key or value, and returns its schema and value. The function also gets the
    topic of the record, because the same schema may have different versions in the subjects of two topics.
    """

    def __call__(self, data: bytes | None, topic: str = "") -> tuple[Schema | None, Any]: ...


class Write(Protocol):
    """A function that encodes a key or value, and returns the bytes. The function also gets the target topic, because
    by default the subject of a schema is called after the topic, for example ``orders-value``.
    """

    def __call__(self, schema: Schema | None, value: Any, topic: str = "") -> bytes | None: ...


@dataclass(frozen=True)
class SideCodec:
    """The two functions that read and write a record's key or value.

    If ``fills_nulls`` is true, both functions replace a null with the default of its field. A record whose schema has
    defaults is then always encoded again, even if no stage has changed it. Otherwise, one topic would contain nulls in
    some records and defaults in others.
    """

    read: Read
    write: Write
    fills_nulls: bool = False


_ARRAY = f"to turn each element of a value into a row of a table of columns, set json.{ARRAYS_AS_ROWS} to true"
"""The hint of an error. The error is raised if a value is a JSON array, although each value should be one row."""


def side_codec(form: Format, side: Literal["key", "value"] = "value") -> SideCodec:
    """Returns the codec of the format ``form`` for keys or values (``side``)."""
    if form.kind == "json" and form.options:
        return SideCodec(_read_schemaless, _SideWriter(form).write_payload)
    if form.kind == "json":
        return SideCodec(_read_schemaless, _write_schemaless)
    if form.kind == "string":
        return SideCodec(_read_text, _SideWriter(form).write_text)
    if form.kind == "bytes":
        return SideCodec(_read_bytes, _SideWriter(form).write_bytes)
    if form.kind == "envelope":
        return SideCodec(self_described(form).read, _SideWriter(form).write_envelope, form.replace_null_with_default)
    if form.kind in REGISTERED:
        from dagster_smt.formats.registry.wire import RegistryWriter  # loads fastavro

        return SideCodec(self_described(form, side).read, RegistryWriter(form, side).write)
    if form.kind in DESCRIBED:
        from dagster_smt.formats.fixed_schema import DescribedCodec  # loads fastavro

        described = DescribedCodec(form)
        return SideCodec(described.read, described.write)
    if form.kind in PRIMITIVES:
        return _of_codec(form, *primitive_codec(form))
    if form.kind == "csv":
        return _of_codec(form, *csv_codec(form))
    if is_change(form):
        if form.schema is not None:
            read = _DeclaredReader(form, change_reader(form)).read
        else:
            read = _unread
        return SideCodec(read, _SideWriter(form).write_change)
    read = _DeclaredReader(form).read if form.schema is not None else _unread
    return SideCodec(read, _SideWriter(form).write_payload, form.replace_null_with_default)


def has_defaults(schema: Schema) -> bool:
    """Returns True if ``schema`` contains a default at any depth. Such a default can replace a null."""
    return schema.default is not None or any(map(has_defaults, schema.children))


class SelfDescribed(Protocol):
    """A reader of records that say which schema they have. A record contains either the schema itself
    (``EnvelopeReader``), or the id of the schema in a registry (``RegistryReader``).
    """

    def read(self, data: bytes | None, topic: str = "") -> tuple[Schema | None, Any]: ...
    def schema_text(self, data: bytes | None) -> bytes | None: ...
    def schema(self, text: bytes, topic: str = "") -> Schema | None: ...
    def schema_id(self, text: bytes) -> str: ...


def self_described(form: Format, side: Literal["key", "value"] = "value") -> SelfDescribed:
    """Returns the reader for ``form``. The format must be one of ``SELF_DESCRIBED``, whose records contain their schema
    or its id.
    """
    if form.kind in REGISTERED:
        from dagster_smt.formats.registry.wire import RegistryReader  # loads fastavro

        return RegistryReader(form, side)
    return EnvelopeReader(form)


def schema_names(form: Format) -> Callable[[Sequence[bytes | None]], list[bytes | None]]:
    """Returns a function that finds out which schemas keys or values have. The function gets a list of keys or values,
    and returns a list with one item for each of them: the header with the schema id, or the JSON of the schema in an
    envelope. If a key or value has neither, the item is None.
    """
    text = self_described(form).schema_text

    def name(data: bytes | None) -> bytes | None:
        try:
            return text(data)
        except Exception as error:  # noqa: BLE001 - the reader of the record reports the problem
            problem_of_record(error)
            return None

    return lambda sides: list(map(name, sides))


def _unread(data: bytes | None, topic: str = "") -> tuple[Schema | None, Any]:
    """Raises an error for any ``data``, because a format without a schema can only be written, not read."""
    raise data_error("SMT414", "the format has no schema for reading", "declare a schema")


def _of_codec(form: Format, decode: Decode, encode_value: Encode) -> SideCodec:
    schema = form.known_schema
    return SideCodec(
        lambda data, topic="": (None, None) if data is None else (schema, decode(data)),
        lambda schema, value, topic="": None if value is None else encode_value(schema, value),
    )


def _write_schemaless(schema: Schema | None, value: Any, topic: str = "") -> bytes | None:
    # a stage has set a key or value with a schema; for example, ValueToKey has made a key from a value with a schema
    if schema is not None:
        return encoder.encode(writer(schema, Format())(value))
    return encode(value)


def _read_schemaless(data: bytes | None, topic: str = "") -> tuple[Schema | None, Any]:
    return None, None if data is None else decode_whole(data)


def _read_bytes(data: bytes | None, topic: str = "") -> tuple[Schema | None, Any]:
    return None if data is None else _OPTIONAL_BYTES, data


def _read_text(data: bytes | None, topic: str = "") -> tuple[Schema | None, Any]:
    if data is None:
        return None, None
    try:
        return _OPTIONAL_STRING, data.decode()
    except UnicodeDecodeError:
        raise data_error("SMT416", "the text is not valid UTF-8") from None


class _DeclaredReader:
    def __init__(self, form: Format, convert: Convert | None = None):
        assert form.schema is not None
        self.schema, self.exact = form.schema, has_decimals(form.schema)
        self.convert = convert or reader(form.schema, form)
        structs = form.kind == "json_schema" and form.schema.type is Type.STRUCT
        self.hint = _ARRAY if structs and not form.arrays_as_rows else ""

    def read(self, data: bytes | None, topic: str = "") -> tuple[Schema | None, Any]:
        # as in JsonConverter, empty bytes are null, like a tombstone
        if not data:
            return None, None
        try:
            return self.schema, converted(self.convert, data, self.exact)
        except DataError as error:
            if self.hint and error.problem.code == "SMT414" and data.lstrip().startswith(b"["):
                raise DataError(replace(error.problem, hint=self.hint)) from None
            raise


class EnvelopeReader:
    """A reader of envelopes, which are records such as ``{"schema": …, "payload": …}``. The reader caches one decoder
    for each schema.
    """

    def __init__(self, form: Format):
        self.form = form
        self.known: TextCache[tuple[Schema | None, Convert | None, bool]] = TextCache()
        self.by_text: TextCache[Schema] = TextCache()

    def read(self, data: bytes | None, topic: str = "") -> tuple[Schema | None, Any]:
        """Returns the schema and the value of ``data``, an envelope. If ``data`` is None, returns ``(None, None)``.

        Empty bytes are not an envelope, and are an error.
        """
        if data is None:
            return None, None
        schema, convert, exact, payload = self._parts(data)
        if schema is None or convert is None:
            return None, decode_whole(payload)
        return schema, converted(convert, payload, exact)

    def split(self, data: bytes) -> tuple[Schema | None, bytes]:
        """Returns the schema of ``data``, an envelope, and the JSON of its payload."""
        schema, _, _, payload = self._parts(data)
        return schema, payload

    def schema_text(self, data: bytes | None) -> bytes | None:
        """Returns the JSON of the schema in ``data``, an envelope. Returns None if ``data`` is None."""
        if data is None:
            return None
        return bounded_text(bytes(_envelope(data).schema))

    def schema(self, text: bytes, topic: str = "") -> Schema | None:
        """Returns the schema that the JSON ``text`` describes. If the JSON is ``null``, returns None."""
        return self._known(text)[0]

    def schema_id(self, text: bytes) -> str:
        """Returns a string that identifies a schema in reports. The string consists of the schema's name and the first
        eight hex digits of a hash: ``Order 3f2a9c01``. The hash is the SHA-256 of ``text``, the JSON of the schema.
        """
        try:
            schema = self._known(text)[0]
        except Exception as error:  # noqa: BLE001 - its records become dead letters
            problem_of_record(error)
            schema = None
        name = "" if schema is None else schema.name or ""
        return f"{name} {hashlib.sha256(text).hexdigest()[:8]}".strip()

    def _parts(self, data: bytes) -> tuple[Schema | None, Convert | None, bool, bytes]:
        envelope = _envelope(data)
        return *self._known(bytes(envelope.schema)), bytes(envelope.payload)

    def _known(self, text: bytes) -> tuple[Schema | None, Convert | None, bool]:
        entry = self.known.get(bounded_text(text))
        if entry is None:
            # ``_schema`` calls itself for each level of the schema
            entry = self.known[text] = with_room(self._schema, text)
        return entry

    def _schema(self, text: bytes) -> tuple[Schema | None, Convert | None, bool]:
        data = parse_json(text, exact=True)  # a Decimal's default may be a number
        if data is None:
            return None, None, False
        try:
            schema = resolve_defaults(schema_from_json(data), self.form)
            reason = excess(schema)
            if reason is not None:
                raise unusable_schema(reason)
        except ConfigError as error:
            first = error.problems[0]
            # the schema comes from a record, so only this record fails; JsonConverter throws a DataException for it
            raise DataError(replace(first, connect_class=first.connect_class or DATA_EXCEPTION)) from None
        # schemas with the same JSON are one object; the cache key is a string, because the defaults 1.0 and 1.00 are
        # equal in Python, but not in Connect
        canonical = encoder.encode(schema_to_json(schema, lambda s: repr(s.default)))
        schema = self.by_text.get(canonical) or schema
        self.by_text[canonical] = schema
        return schema, reader(schema, self.form), has_decimals(schema)


def bounded_text(text: bytes) -> bytes:
    """Returns ``text`` unchanged, after a check of its length. ``text`` is the JSON of a schema, as a record contains
    it.

    Raises:
        DataError: SMT467 if the JSON is too long.
    """
    if len(text) > MAX_TEXT:
        raise unusable_schema(f"it takes more than {MAX_TEXT} bytes")
    return text


def unusable_schema(reason: str) -> DataError:
    """Returns the error for a record whose schema is too large. ``reason`` names the limit."""
    return data_error("SMT467", f"the record's schema is too large: {reason}", "check the producer of the records")


def _envelope(data: bytes) -> _Envelope:
    return in_any_encoding(data, _parsed_envelope)


def _parsed_envelope(data: bytes) -> _Envelope:
    check_depth(data)
    try:
        return _envelopes.decode(data)
    except RecursionError as error:
        envelope: _Envelope = deeper(data, _envelopes.decode, error)
        return envelope
    except UNREADABLE:
        raise not_an_envelope() from None


def not_an_envelope() -> DataError:
    """Returns the error for a value that is not an envelope."""
    statement = "the text is not a JSON object with exactly 'schema' and 'payload'"
    return data_error("SMT417", statement, "set the format to json if the values have no schema")


class _SideWriter:
    """A writer of keys or values. The object caches the JSON of each schema, and a function that writes values of the
    schema.
    """

    def __init__(self, form: Format):
        self.form = form
        self.known = BySchema(self._prepared)

    def _prepared(self, schema: Schema) -> tuple[Convert, msgspec.Raw]:
        text = encoder.encode(schema_to_json(schema, self._default))
        return writer(schema, self.form), msgspec.Raw(text)

    def _default(self, schema: Schema) -> Any:
        return writer(schema, self.form)(schema.default)

    def write_payload(self, schema: Schema | None, value: Any, topic: str = "") -> bytes | None:
        if schema is None:
            return encode(value)
        return encoder.encode(self.known[schema][0](value))

    def write_envelope(self, schema: Schema | None, value: Any, topic: str = "") -> bytes | None:
        if schema is None:
            # as in JsonConverter, only a null without a schema becomes null bytes
            if value is None:
                return None
            return encoder.encode({"schema": None, "payload": value})
        convert, text = self.known[schema]
        return encoder.encode({"schema": text, "payload": convert(value)})

    def write_change(self, schema: Schema | None, value: Any, topic: str = "") -> bytes | None:
        """Returns the bytes of a message that inserts the row ``value``, in the form that Flink writes: ``{"before":
        null, "after": …, "op": "c"}`` for Debezium, ``{"data": […], "type": "INSERT"}`` for Canal.
        """
        if value is None:
            return None
        if schema is None:
            row = msgspec.Raw(encode(value) or b"null")
        else:
            row = self.known[schema][0](value)
        if self.form.kind == "debezium-json":
            return encoder.encode({"before": None, "after": row, "op": "c"})
        return encoder.encode({"data": [row], "type": "INSERT"})

    def write_text(self, schema: Schema | None, value: Any, topic: str = "") -> bytes | None:
        """Returns ``value`` as UTF-8 if it is a string. A stage may have replaced the string with a value of a
        different type. Such a value is returned as JSON (see decision 0002).
        """
        if value is None or isinstance(value, str):
            if value is None:
                return None
            return value.encode()
        return self.write_payload(schema, value)

    def write_bytes(self, schema: Schema | None, value: Any, topic: str = "") -> bytes | None:
        if value is None or isinstance(value, bytes):
            return value
        return self.write_payload(schema, value)
