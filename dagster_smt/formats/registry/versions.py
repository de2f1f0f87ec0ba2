"""Schemas of a registry as records name them: by id, with the version that they have under the records' subject."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

from dagster_smt.errors import DATA_EXCEPTION, ConfigError, DataError, data_error
from dagster_smt.formats.avro import anything as avro_anything
from dagster_smt.formats.avro.read import Avro, avro_of, with_version
from dagster_smt.formats.protobuf.files import read_indexes
from dagster_smt.formats.protobuf.read import protobuf_of
from dagster_smt.formats.protobuf.text import proto_files
from dagster_smt.formats.registry.client import Fetched, SchemaKind, fetched, version_of
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.format import Format

KeyOrValue = Literal["key", "value"]
HEADER = 5
"""Bytes before an Avro value."""
KINDS: dict[str, SchemaKind] = {"avro-confluent": "AVRO", "protobuf-confluent": "PROTOBUF"}


def header_of(number: int) -> bytes:
    """What an Avro value begins with that names a schema."""
    return b"\0" + number.to_bytes(HEADER - 1, "big")


def number_of(header: bytes) -> int:
    """The id in what a value begins with."""
    return int.from_bytes(header[1:HEADER], "big")


def subject_of(settings: Mapping[str, str], side: KeyOrValue, topic: str, name: str | None) -> str:
    """The subject of a schema, as the option ``subject`` says or one of Confluent's strategies.

    Args:
        settings: Of the format.
        side: Whose schema it is.
        topic: The topic of the records.
        name: The full name of the record that the schema is of; None if it is of none.

    Raises:
        DataError: SMT442, the strategy asks for a name (``RecordNameStrategy.getRecordName``).
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
class Registered:
    """A schema with an id.

    Attributes:
        schema: Connect's, without a version of the registry; None if values of it have none.
        read: A function from bytes to the value.
        name: The full name of the record; None if it is none.
        with_version: ``schema`` with a version; None if it is of another one already.
    """

    schema: Schema | None
    read: Callable[[bytes], Any]
    name: str | None
    with_version: Callable[[int], Schema | None]


def registered_schema(form: Format, header: bytes) -> Registered:
    """The schema that a value begins with.

    Raises:
        DataError: SMT441, the registry has none; SMT273, Connect has no schema for it.
    """
    kind, number = KINDS[form.kind], number_of(header)
    there = fetched(tuple(form.settings.items()), number, kind)
    if kind == "AVRO":
        return _avro(there, number)[0]
    try:
        files = proto_files(there.text, there.references, place := f"schema {number}")
        message = protobuf_of(files, read_indexes(header, HEADER)[0], place)
    except ConfigError as error:
        raise DataError(error.problems[0]) from None
    stamped = cache(lambda version: message.schema.with_(version=version))
    return Registered(message.schema, message.read, message.name, stamped)


def _avro(there: Fetched, number: int) -> tuple[Registered, Avro | None]:
    if avro_anything.is_anything(there.text):
        return Registered(None, avro_anything.read_anything, avro_anything.NAME, lambda version: None), None
    try:
        avro = avro_of(there.text, [text for _, text in there.references], f"schema {number}")
    except ConfigError as error:
        raise DataError(error.problems[0]) from None
    return Registered(avro.schema, avro.read, avro.name, cache(partial(with_version, avro))), avro


def versioned(found: Registered, form: Format, header: bytes, side: KeyOrValue, topic: str) -> Schema | None:
    """A schema with its version, as ``AvroConverter.toConnectData`` and ``ProtobufConverter`` give it.

    They ask for the version though no record of this schema gets it: where the subject does not have the schema, its
    records fail. Without a topic there is no subject, and no version.

    Raises:
        DataError: SMT441, it is not under the subject of the topic; SMT442, the subject asks for a name; SMT273, it is
            a logical type, which have version 1.
    """
    if not topic:
        return found.schema
    number = number_of(header)
    subject = subject_of(form.settings, side, topic, found.name)
    version = version_of(tuple(form.settings.items()), number, subject, KINDS[form.kind])
    schema = found.with_version(version)
    if schema is None and found.schema is not None:
        statement = f"it is a {found.schema.logical}, which is of version 1, and of version {version} under {subject}"
        hint = "let the producer use a subject of which it is the first version"
        raise data_error("SMT273", f"schema {number} cannot be used: {statement}", hint, DATA_EXCEPTION)
    return schema


def registered_avro(form: Format, number: int, side: KeyOrValue, topics: Sequence[str]) -> Avro | None:
    """The Avro schema with an id, as records of some topics name it; its version is the one under the first's subject.

    Returns:
        None if values of it have no Connect schema.

    Raises:
        DataError: The records of a topic cannot be read.
    """
    there = fetched(tuple(form.settings.items()), number, "AVRO")
    found, avro = _avro(there, number)
    schemas = [versioned(found, form, header_of(number), side, topic) for topic in topics]
    if avro is None or schemas[0] is None:
        return None
    return replace(avro, schema=schemas[0])
