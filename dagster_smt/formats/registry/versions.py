"""Looks up a schema in a registry by the schema id that a record contains. Also looks up the version that this schema
has under the record's subject, and adds the version to the schema.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

from dagster_smt.errors import DATA_EXCEPTION, ConfigError, DataError, data_error
from dagster_smt.formats.avro import anything as avro_anything
from dagster_smt.formats.avro.read import Avro, avro_of, with_version
from dagster_smt.formats.json_schema.read import json_schema_of
from dagster_smt.formats.protobuf.files import read_indexes
from dagster_smt.formats.protobuf.read import protobuf_of
from dagster_smt.formats.protobuf.text import proto_files
from dagster_smt.formats.registry.client import RegistrySchema, SchemaKind, schema_by_id, version_of
from dagster_smt.formats.registry.data_keys import DataKeys
from dagster_smt.formats.registry.rules import RegistryRule, check_read
from dagster_smt.formats.registry.sealed_fields import opener
from dagster_smt.formats.registry.sealed_json import json_opener
from dagster_smt.formats.registry.sealed_protobuf import protobuf_opener
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.format import RULES, Format

KeyOrValue = Literal["key", "value"]
Opened = Callable[[bytes], bytes]
"""A function that decrypts the encrypted fields in the bytes of a value, and returns the changed bytes."""
Opening = Callable[[str], Opened]
"""A function that receives a subject, and returns the function that decrypts fields in the bytes of a value."""
HEADER = 5
"""The number of bytes before an Avro value: a zero byte, and the four bytes of the schema id."""
KINDS: dict[str, SchemaKind] = {"avro-confluent": "AVRO", "protobuf-confluent": "PROTOBUF", "json-confluent": "JSON"}


def header_of(number: int) -> bytes:
    """Returns the bytes before an Avro value: a zero byte, and ``number`` (the id of the schema) in four bytes."""
    return b"\0" + number.to_bytes(HEADER - 1, "big")


def number_of(header: bytes) -> int:
    """Returns the schema id in ``header``, the bytes before a value: a zero byte, and the id in four bytes."""
    return int.from_bytes(header[1:HEADER], "big")


def subject_of(settings: Mapping[str, str], side: KeyOrValue, topic: str, name: str | None) -> str:
    """Returns the subject of a schema. The option ``subject``, or one of Confluent's strategies, determines the
    subject.

    Args:
        settings: The format's options.
        side: The side that has the schema, ``key`` or ``value``.
        topic: The topic of the records.
        name: The full name of the schema's record; None if the schema is not a record.

    Raises:
        DataError: SMT442 if the strategy needs a name (``RecordNameStrategy.getRecordName``).
    """
    strategy = settings.get("subject.name.strategy", "TopicNameStrategy")
    if "subject" in settings:
        return settings["subject"]
    if strategy == "TopicNameStrategy":
        return f"{topic}-{side}"
    if name is None:
        hint = "use TopicNameStrategy, or structs"
        raise data_error("SMT442", f"{strategy} needs a record with a name", hint, DATA_EXCEPTION)
    if strategy == "RecordNameStrategy":
        return name
    return f"{topic}-{name}"


@dataclass(frozen=True)
class SchemaWithId:
    """A schema in a registry, with the parts that are needed to read its values.

    Attributes:
        schema: The Connect schema, without the version in the registry; None if the values have no schema in Connect.
        read: A function from the bytes of a value to the value.
        name: The full name of the record; None for other types.
        with_version: A function from a version number to ``schema`` with this version. Its result is None if the schema
            already has a different version.
        opening: A function that receives a subject, and returns the function that decrypts fields in the bytes of a
            value; None if no field is decrypted.
    """

    schema: Schema | None
    read: Callable[[bytes], Any]
    name: str | None
    with_version: Callable[[int], Schema | None]
    opening: "Opening | None" = None

    def reading(self, form: Format, side: KeyOrValue, topic: str) -> Callable[[bytes], Any]:
        """Returns a function that reads the keys or values (``side``) of records in ``topic``. The function first
        decrypts encrypted fields.
        """
        if self.opening is None:
            return self.read
        read, opened = self.read, self.opening(subject_of(form.settings, side, topic, self.name))
        return lambda data: read(opened(data))


def registered_schema(form: Format, header: bytes) -> SchemaWithId:
    """Returns the schema whose id is in ``header``, the bytes before a value.

    Raises:
        DataError: SMT441 if the registry does not have the schema; SMT273 if Connect has no schema for it; SMT752 if
            the schema has a rule that is not applied.
    """
    kind, number = KINDS[form.kind], number_of(header)
    source = schema_by_id(tuple(form.settings.items()), number, kind)
    check_read(form.settings, source.rules, number)
    if kind == "AVRO":
        return _avro(source, form, number)[0]
    place = f"schema {number}"
    if kind == "JSON":
        return _json(source, form, place)
    return _protobuf(source, form, place, read_indexes(header, HEADER)[0])


def _protobuf(source: RegistrySchema, form: Format, place: str, indexes: Sequence[int]) -> SchemaWithId:
    try:
        files = proto_files(source.text, source.references, place)
        message = protobuf_of(files, indexes, place)
    except ConfigError as error:
        raise DataError(error.problems[0]) from None
    # Writers cache by the identity of a schema (``BySchema``), so each version must be one object.
    stamped = cache(lambda version: message.schema.with_(version=version))
    opening: Opening | None = None
    if _opens(source, form):

        def opening(subject: str) -> Opened:
            return protobuf_opener(files, indexes, source.rules, source.tags, _keys(form, subject))

    return SchemaWithId(message.schema, message.read, message.name, stamped, opening)


def _json(source: RegistrySchema, form: Format, place: str) -> SchemaWithId:
    try:
        document = json_schema_of(source.text, dict(source.references), form, place)
    except ConfigError as error:
        raise DataError(error.problems[0]) from None
    stamped = cache(lambda version: document.schema.with_(version=version))
    opening: Opening | None = None
    if _opens(source, form):
        others = dict(source.references)

        def opening(subject: str) -> Opened:
            return json_opener(source.text, others, source.rules, source.tags, _keys(form, subject))

    return SchemaWithId(document.schema, document.read, document.name, stamped, opening)


def _avro(source: RegistrySchema, form: Format, number: int) -> tuple[SchemaWithId, Avro | None]:
    if avro_anything.is_anything(source.text):
        return SchemaWithId(None, avro_anything.read_anything, avro_anything.NAME, lambda version: None), None
    try:
        avro = avro_of(source.text, [text for _, text in source.references], f"schema {number}")
    except ConfigError as error:
        raise DataError(error.problems[0]) from None
    opening: Opening | None = None
    if _opens(source, form):

        def opening(subject: str) -> Opened:
            return opener(avro, source.rules, source.tags, _keys(form, subject))

    return SchemaWithId(avro.schema, avro.read, avro.name, cache(partial(with_version, avro)), opening), avro


def _opens(source: RegistrySchema, form: Format) -> bool:
    return form.settings.get(RULES) == "open" and bool(source.rules)


def _keys(form: Format, subject: str) -> Callable[[RegistryRule], DataKeys]:
    options = tuple(form.settings.items())
    return lambda rule: DataKeys(options, rule, subject)


def versioned(registered: SchemaWithId, form: Format, header: bytes, side: KeyOrValue, topic: str) -> Schema | None:
    """Returns the schema of ``registered`` with its version in the subject of ``topic``, as
    ``AvroConverter.toConnectData`` and ``ProtobufConverter`` do. If ``topic`` is empty, returns the schema without a
    version.

    Like the converters, the function always looks up the version. If the subject does not have the schema, the records
    fail, even if no stage needs the version.

    Raises:
        DataError: SMT441 if the subject of the topic does not have the schema. SMT442 if the subject is named after the
            record type, but the schema is not a record. SMT273 if the schema is a logical type, such as ``Date``, and
            its version in the subject is not 1.
    """
    if not topic:
        return registered.schema
    number = number_of(header)
    subject = subject_of(form.settings, side, topic, registered.name)
    version = version_of(tuple(form.settings.items()), number, subject, KINDS[form.kind])
    schema = registered.with_version(version)
    if schema is None and registered.schema is not None:
        statement = f"a {registered.schema.logical} has version 1, but version {version} under {subject}"
        hint = "let the producer use a subject in which the schema is the first version"
        raise data_error("SMT273", f"schema {number} cannot be used: {statement}", hint, DATA_EXCEPTION)
    return schema


def registered_avro(form: Format, number: int, side: KeyOrValue, topics: Sequence[str]) -> Avro | None:
    """Returns the Avro schema with the id ``number``, for records of ``topics``. The result has the version that
    the schema has in the subject of the first topic.

    Returns:
        The schema. None if Connect has no equivalent schema, or if fields of the records must be decrypted.

    Raises:
        DataError: The records of a topic cannot be read.
    """
    source = schema_by_id(tuple(form.settings.items()), number, "AVRO")
    check_read(form.settings, source.rules, number)
    registered, avro = _avro(source, form, number)
    if registered.opening is not None:
        return None  # only Python decrypts fields
    schemas = []
    for topic in topics:
        # a topic whose subject does not have the schema raises an error
        schemas.append(versioned(registered, form, header_of(number), side, topic))
    if avro is None or schemas[0] is None:
        return None
    return replace(avro, schema=schemas[0])
