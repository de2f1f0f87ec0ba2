"""Reads and writes the wire format of a schema registry: a zero byte, the schema id in four bytes, and the value.

With Protobuf, message indexes are between the id and the value.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dagster_smt.errors import ConfigError, DataError, data_error
from dagster_smt.formats.avro import anything as avro_anything
from dagster_smt.formats.avro.write import avro_out
from dagster_smt.formats.cache import BySchema, Cache
from dagster_smt.formats.json_schema.write import json_schema_out
from dagster_smt.formats.primitives import without_schema
from dagster_smt.formats.protobuf.files import read_indexes, write_indexes
from dagster_smt.formats.protobuf.write import protobuf_out
from dagster_smt.formats.registry.client import contract_of, schema_id
from dagster_smt.formats.registry.rules import check_write
from dagster_smt.formats.registry.sealing import SubjectSealing, sealing_of
from dagster_smt.formats.registry.versions import (
    HEADER,
    KINDS,
    KeyOrValue,
    SchemaWithId,
    header_of,
    number_of,
    registered_schema,
    subject_of,
    versioned,
)
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.format import RULES, Format

_MOST_REFUSED = 1000
_ANYTHING = avro_anything.NAME, avro_anything.TEXT, avro_anything.write_anything


def no_header() -> DataError:
    """Returns the error for a record without a schema id."""
    hint = "choose another format if the producer does not use a registry's serializer"
    return data_error("SMT441", "the bytes do not begin with a schema's id", hint)


@dataclass(frozen=True)
class _TopicSchema:
    """The result of a schema lookup for one topic: the schema with its version in the topic's subject, and the reader
    for values of the topic.
    """

    schema: Schema | None
    read: Callable[[bytes], Any]


class RegistryReader:
    """A reader of records with a schema id. The reader caches every answer of the registry, including errors.

    An attacker could write a different unusable id into each record, and each of these ids would cause a request. After
    ``_MOST_REFUSED`` unusable schemas, further records with unknown ids therefore become dead letters without a
    request.
    """

    def __init__(self, form: Format, side: KeyOrValue = "value"):
        self.form, self.side, self.kind = form, side, KINDS[form.kind]
        self.schemas: Cache[bytes, SchemaWithId] = Cache()
        self.known: Cache[tuple[str, bytes], _TopicSchema] = Cache()
        self.refused: dict[tuple[str, bytes], DataError] = {}

    def read(self, data: bytes | None, topic: str = "") -> tuple[Schema | None, Any]:
        """Returns the schema and the value of ``data``, a key or value in ``topic``. If ``data`` is None, returns
        ``(None, None)``.
        """
        if data is None:
            return None, None
        header = self.schema_text(data) or b""
        entry = self._entry(header, topic)
        return entry.schema, entry.read(data[len(header) :])

    def schema_text(self, data: bytes | None) -> bytes | None:
        """Returns the first bytes of ``data``: the header with the schema id. Returns None if ``data`` is None."""
        if data is None:
            return None
        if len(data) < HEADER or data[0] != 0:
            raise no_header()
        if self.kind == "PROTOBUF":
            return data[: read_indexes(data, HEADER)[1]]
        return data[:HEADER]

    def schema(self, text: bytes, topic: str = "") -> Schema | None:
        """Returns the schema whose id is in the header ``text``, for records of ``topic``."""
        return self._entry(text, topic).schema

    def schema_id(self, text: bytes) -> str:
        """Returns the schema id in the header ``text``, as a string for reports."""
        return str(number_of(text))

    def _entry(self, header: bytes, topic: str) -> _TopicSchema:
        entry = self.known.get((topic, header))
        if entry is None:
            entry = self.known[topic, header] = self._requested(header, topic)
        return entry

    def _requested(self, header: bytes, topic: str) -> _TopicSchema:
        refused = self.refused.get((topic, header)) or self.refused.get(("", header))
        if refused is not None:
            raise refused
        if len(self.refused) >= _MOST_REFUSED:
            statement = f"{_MOST_REFUSED} other schemas of the topic cannot be used, so this one is not requested"
            hint = "check the producer; after it is fixed, redrive the failed records"
            raise data_error("SMT468", statement, hint)
        place = "", header  # an error of the schema itself applies to every topic
        try:
            schema = self._schema(header)
            place = topic, header
            in_topic = versioned(schema, self.form, header, self.side, topic)
            return _TopicSchema(in_topic, schema.reading(self.form, self.side, topic))
        except DataError as error:
            self.refused[place] = error
            raise

    def _schema(self, header: bytes) -> SchemaWithId:
        schema = self.schemas.get(header)
        if schema is None:
            schema = self.schemas[header] = registered_schema(self.form, header)
        return schema


class RegistryWriter:
    """A writer of values whose schemas are in a registry.

    The writer registers schemas and caches their ids. In Avro, a schemaless value is written with Confluent's schema
    ``AvroData.ANYTHING_SCHEMA``. The other formats reject such a value.

    As in Confluent's serializers, the subjects are ``<topic>-key`` and ``<topic>-value``, unless the option ``subject``
    or ``subject.name.strategy`` sets different subjects.
    """

    def __init__(self, form: Format, side: KeyOrValue):
        self.form, self.side, self.kind, self.settings = form, side, KINDS[form.kind], form.settings
        self.known = BySchema(self._prepared)
        self.headers: Cache[tuple[str, str], tuple[bytes, Callable[[bytes], bytes]]] = Cache()

    def write(self, schema: Schema | None, value: Any, topic: str = "") -> bytes | None:
        """Returns ``value`` as bytes for ``topic``; null stays null."""
        if value is None:
            return None
        if schema is None and self.kind != "AVRO":
            raise without_schema(self.form)
        name, text, write = _ANYTHING if schema is None else self.known[schema]
        subject = subject_of(self.settings, self.side, topic, name)
        place = subject, text
        known = self.headers.get(place)
        if known is None:
            known = self.headers[place] = self._header(subject, text)
        header, seal = known
        return header + seal(write(value))

    def _prepared(self, schema: Schema) -> tuple[str | None, str, Callable[[Any], bytes]]:
        try:
            if self.kind == "AVRO":
                avro = avro_out(schema)
                return avro.name, avro.text, avro.write
            if self.kind == "JSON":
                document = json_schema_out(schema, self.form)
                return document.name, document.text, document.write
            message = protobuf_out(schema)
            return message.name, base64.b64encode(message.file).decode(), message.write
        except ConfigError as error:
            raise DataError(error.problems[0]) from None

    def _header(self, subject: str, text: str) -> tuple[bytes, Callable[[bytes], bytes]]:
        """Registers the schema ``text`` in ``subject``. Returns the header for its values, and the function that
        encrypts their fields.
        """
        register = self.settings.get("auto.register.schemas", "true").lower() == "true"
        options = tuple(self.settings.items())
        contract = contract_of(options, subject)
        check_write(self.settings, contract.rules, subject)
        sealing = SubjectSealing()
        if contract.rules and self.settings.get(RULES) == "open":
            sealing = sealing_of(options, subject, self.kind, text, contract)
        number = schema_id(options, subject, text, self.kind, register=register, parts=sealing.parts)
        # ``protobuf_out`` makes the struct the first message of its file
        indexes = write_indexes((0,)) if self.kind == "PROTOBUF" else b""
        return header_of(number) + indexes, sealing.seal
