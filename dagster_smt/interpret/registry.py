"""Records in the wire format of a schema registry: a zero byte, the schema's id in four bytes, the value.

Of Protobuf the places of the message in its file stand between id and value.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from dagster_smt.errors import DATA_EXCEPTION, ConfigError, DataError, data_error
from dagster_smt.interpret import avro_anything
from dagster_smt.interpret.avro import Avro, avro_of
from dagster_smt.interpret.avro_anything import is_anything, read_anything
from dagster_smt.interpret.avro_write import avro_out
from dagster_smt.interpret.cache import BySchema, Cache
from dagster_smt.interpret.formats import without_schema
from dagster_smt.interpret.protobuf import protobuf_of
from dagster_smt.interpret.protobuf_files import read_indexes, write_indexes
from dagster_smt.interpret.protobuf_text import proto_files
from dagster_smt.interpret.protobuf_write import protobuf_out
from dagster_smt.interpret.registry_client import SchemaKind, fetched, registered
from dagster_smt.model.format import Format
from dagster_smt.model.schema import Schema

HEADER = 5
"""Bytes before an Avro value."""
_KINDS: dict[str, SchemaKind] = {"avro-confluent": "AVRO", "protobuf-confluent": "PROTOBUF"}


def header_of(number: int) -> bytes:
    """What an Avro value begins with that names a schema."""
    return b"\0" + number.to_bytes(HEADER - 1, "big")


def registered_avro(form: Format, number: int) -> Avro:
    """The Avro schema with an id.

    Raises:
        DataError: SMT441, the registry has none; SMT273, Connect has no schema for it.
    """
    there = fetched(tuple(form.settings.items()), number, "AVRO")
    try:
        return avro_of(there.text, [text for _, text in there.references], place=f"schema {number}")
    except ConfigError as error:
        raise DataError(error.problems[0]) from error


def no_header() -> DataError:
    """What is said of a record that names no schema."""
    hint = "choose another format, if no registry's serializer has written it"
    return data_error("SMT441", "the bytes do not begin with a schema's id", hint)


@dataclass(frozen=True)
class _Known:
    """A schema that records name; or why nothing can be read with it."""

    schema: Schema | None
    read: Callable[[bytes], Any]


class RegistryReader:
    """Reads records that name their schema; keeps what it has met."""

    def __init__(self, form: Format):
        self.form, self.kind = form, _KINDS[form.kind]
        self.known: Cache[bytes, _Known | DataError] = Cache()

    def read(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """(schema, value) of a record; no value at all is null without schema."""
        if data is None:
            return None, None
        header = self.schema_text(data) or b""
        found = self._found(header)
        return found.schema, found.read(data[len(header) :])

    def schema_text(self, data: bytes | None) -> bytes | None:
        """What names a record's schema, the rest unread; None if there is no value."""
        if data is None:
            return None
        if len(data) < HEADER or data[0] != 0:
            raise no_header()
        return data[: read_indexes(data, HEADER)[1]] if self.kind == "PROTOBUF" else data[:HEADER]

    def schema(self, text: bytes) -> Schema | None:
        """The schema that it names."""
        return self._found(text).schema

    def schema_id(self, text: bytes) -> str:
        """What people call the schema that it names."""
        return str(int.from_bytes(text[1:HEADER], "big"))

    def _found(self, header: bytes) -> _Known:
        found = self.known.get(header)
        if found is None:
            found = self.known[header] = self._made(header)
        if isinstance(found, DataError):
            raise found
        return found

    def _made(self, header: bytes) -> "_Known | DataError":
        number = int.from_bytes(header[1:HEADER], "big")
        try:
            there = fetched(tuple(self.form.settings.items()), number, self.kind)
            if self.kind == "AVRO" and is_anything(there.text):
                return _Known(None, read_anything)
            if self.kind == "AVRO":
                avro = registered_avro(self.form, number)
                return _Known(avro.schema, avro.read)
            files = proto_files(there.text, there.references, place := f"schema {number}")
            message = protobuf_of(files, read_indexes(header, HEADER)[0], place)
            return _Known(message.schema, message.read)
        except DataError as error:
            return error
        except ConfigError as error:
            return DataError(error.problems[0])


_ANYTHING = avro_anything.NAME, avro_anything.TEXT, avro_anything.write_anything


class RegistryWriter:
    """Writes values with a schema, which it registers; keeps what it has met. Avro has a schema for those without, too.

    Subjects are those of Confluent's serializers: ``<topic>-key`` and ``<topic>-value``, or what ``subject`` or
    ``subject.name.strategy`` says.
    """

    def __init__(self, form: Format, side: Literal["key", "value"]):
        self.form, self.side, self.kind, self.settings = form, side, _KINDS[form.kind], form.settings
        self.known = BySchema(self._made)
        self.headers: Cache[tuple[str, str], bytes] = Cache()

    def write(self, schema: Schema | None, value: Any, topic: str = "") -> bytes | None:
        """The bytes of a value; null stays null."""
        if value is None:
            return None
        if schema is None and self.kind != "AVRO":
            raise without_schema(self.form)
        name, text, write = _ANYTHING if schema is None else self.known[schema]
        subject = self._subject(topic, name)
        header = self.headers.get((subject, text))
        if header is None:
            header = self.headers[subject, text] = self._header(subject, text)
        return header + write(value)

    def _made(self, schema: Schema) -> tuple[str | None, str, Callable[[Any], bytes]]:
        try:
            if self.kind == "AVRO":
                avro = avro_out(schema)
                return avro.name, avro.text, avro.write
            message = protobuf_out(schema)
            return message.name, base64.b64encode(message.file).decode(), message.write
        except ConfigError as error:
            raise DataError(error.problems[0]) from error

    def _header(self, subject: str, text: str) -> bytes:
        register = self.settings.get("auto.register.schemas", "true").lower() == "true"
        number = registered(tuple(self.settings.items()), subject, text, self.kind, register=register)
        indexes = write_indexes((0,)) if self.kind == "PROTOBUF" else b""
        return header_of(number) + indexes

    def _subject(self, topic: str, name: str | None) -> str:
        strategy = self.settings.get("subject.name.strategy", "TopicNameStrategy")
        if "subject" in self.settings:
            return self.settings["subject"]
        if strategy == "TopicNameStrategy":
            return f"{topic}-{self.side}"
        if name is None:
            hint = "use TopicNameStrategy, or write structs"
            raise data_error("SMT442", f"{strategy} needs a record with a name", hint, DATA_EXCEPTION)
        return name if strategy == "RecordNameStrategy" else f"{topic}-{name}"
