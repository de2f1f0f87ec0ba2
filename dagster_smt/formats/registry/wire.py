"""Records in the wire format of a schema registry: a zero byte, the schema's id in four bytes, the value.

Of Protobuf the places of the message in its file stand between id and value.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dagster_smt.errors import ConfigError, DataError, data_error
from dagster_smt.formats.avro import anything as avro_anything
from dagster_smt.formats.avro.write import avro_out
from dagster_smt.formats.cache import BySchema, Cache
from dagster_smt.formats.primitives import without_schema
from dagster_smt.formats.protobuf.files import read_indexes, write_indexes
from dagster_smt.formats.protobuf.write import protobuf_out
from dagster_smt.formats.registry.client import registered
from dagster_smt.formats.registry.versions import (
    HEADER,
    KINDS,
    KeyOrValue,
    Registered,
    header_of,
    number_of,
    registered_schema,
    subject_of,
    versioned,
)
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.format import Format

_MOST_REFUSED = 1000
_ANYTHING = avro_anything.NAME, avro_anything.TEXT, avro_anything.write_anything


def no_header() -> DataError:
    """What is said of a record that names no schema."""
    hint = "choose another format, if no registry's serializer has written it"
    return data_error("SMT441", "the bytes do not begin with a schema's id", hint)


@dataclass(frozen=True)
class _Known:
    """What records of a topic are read with that name a schema."""

    schema: Schema | None
    read: Callable[[bytes], Any]


class RegistryReader:
    """Reads records that name their schema; keeps what it has met: nothing is asked for twice, whatever the answer.

    Each name of a schema that cannot be used is a question to the registry; after ``_MOST_REFUSED`` of them the next
    are dead letters unasked: whoever may write records could write another one into each.
    """

    def __init__(self, form: Format, side: KeyOrValue = "value"):
        self.form, self.side, self.kind = form, side, KINDS[form.kind]
        self.schemas: Cache[bytes, Registered] = Cache()
        self.known: Cache[tuple[str, bytes], _Known] = Cache()
        self.refused: dict[tuple[str, bytes], DataError] = {}

    def read(self, data: bytes | None, topic: str = "") -> tuple[Schema | None, Any]:
        """(schema, value) of a record of a topic; no value at all is null without schema."""
        if data is None:
            return None, None
        header = self.schema_text(data) or b""
        found = self._found(header, topic)
        return found.schema, found.read(data[len(header) :])

    def schema_text(self, data: bytes | None) -> bytes | None:
        """What names a record's schema, the rest unread; None if there is no value."""
        if data is None:
            return None
        if len(data) < HEADER or data[0] != 0:
            raise no_header()
        if self.kind == "PROTOBUF":
            return data[: read_indexes(data, HEADER)[1]]
        return data[:HEADER]

    def schema(self, text: bytes, topic: str = "") -> Schema | None:
        """The schema that it names in records of a topic."""
        return self._found(text, topic).schema

    def schema_id(self, text: bytes) -> str:
        """What people call the schema that it names."""
        return str(number_of(text))

    def _found(self, header: bytes, topic: str) -> _Known:
        found = self.known.get((topic, header))
        if found is None:
            found = self.known[topic, header] = self._made(header, topic)
        return found

    def _made(self, header: bytes, topic: str) -> _Known:
        refused = self.refused.get((topic, header)) or self.refused.get(("", header))
        if refused is not None:
            raise refused
        if len(self.refused) >= _MOST_REFUSED:
            statement = f"it names another schema than the {_MOST_REFUSED} that cannot be used, and is not asked for"
            hint = "look at what writes the records; once it is mended, read those again that failed"
            raise data_error("SMT468", statement, hint)
        place = "", header  # what is wrong with the schema itself is so in every topic
        try:
            found = self._schema(header)
            place = topic, header
            return _Known(versioned(found, self.form, header, self.side, topic), found.read)
        except DataError as error:
            self.refused[place] = error
            raise

    def _schema(self, header: bytes) -> Registered:
        found = self.schemas.get(header)
        if found is None:
            found = self.schemas[header] = registered_schema(self.form, header)
        return found


class RegistryWriter:
    """Writes values with a schema, which it registers; keeps what it has met. Avro has a schema for those without, too.

    Subjects are those of Confluent's serializers: ``<topic>-key`` and ``<topic>-value``, or what ``subject`` or
    ``subject.name.strategy`` says.
    """

    def __init__(self, form: Format, side: KeyOrValue):
        self.form, self.side, self.kind, self.settings = form, side, KINDS[form.kind], form.settings
        self.known = BySchema(self._made)
        self.headers: Cache[tuple[str, str], bytes] = Cache()

    def write(self, schema: Schema | None, value: Any, topic: str = "") -> bytes | None:
        """The bytes of a value; null stays null."""
        if value is None:
            return None
        if schema is None and self.kind != "AVRO":
            raise without_schema(self.form)
        name, text, write = _ANYTHING if schema is None else self.known[schema]
        subject = subject_of(self.settings, self.side, topic, name)
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
            raise DataError(error.problems[0]) from None

    def _header(self, subject: str, text: str) -> bytes:
        register = self.settings.get("auto.register.schemas", "true").lower() == "true"
        number = registered(tuple(self.settings.items()), subject, text, self.kind, register=register)
        indexes = write_indexes((0,)) if self.kind == "PROTOBUF" else b""
        return header_of(number) + indexes
