"""Avro and Protobuf whose schema is given beside the topic: the records hold values alone."""

import base64
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import DecodeError

from dagster_smt.errors import ConfigError, DataError, Problem, data_error
from dagster_smt.formats.avro.read import Avro, avro_of
from dagster_smt.formats.avro.write import avro_out, avro_writer
from dagster_smt.formats.cache import BySchema
from dagster_smt.formats.primitives import without_schema
from dagster_smt.formats.protobuf.read import Protobuf, protobuf_of
from dagster_smt.formats.protobuf.write import protobuf_out
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.format import Format

Write = Callable[[Any], bytes]


def described(form: Format) -> Avro | Protobuf | None:
    """What a format reads with: its option ``schema`` or ``descriptor``, else its schema; None if it has neither.

    Raises:
        ConfigError: SMT273, it is no such schema; SMT274, names of the columns that the format does not take.
    """
    given, columns = form.settings, form.schema and form.schema.with_(optional=False)
    if form.kind == "avro":
        if "schema" in given:
            return avro_of(given["schema"], place="avro.schema")
        if columns is None:
            return None
        return avro_of(avro_out(columns).text, declared=True)
    if "descriptor" in given:
        return protobuf_of(_files(given["descriptor"]), given["message-name"], place="protobuf.descriptor")
    if columns is None:
        return None
    return protobuf_of([protobuf_out(columns).file], (0,))


def _files(text: str) -> list[bytes]:
    try:
        files = FileDescriptorSet.FromString(base64.b64decode(text, validate=True)).file
    except (ValueError, DecodeError):
        hint = "make it with protoc --include_imports --descriptor_set_out"
        raise ConfigError(Problem("SMT273", "protobuf.descriptor", "it is no set of descriptors", hint)) from None
    return [file.SerializeToString() for file in files]


class DescribedCodec:
    """Reads and writes values of one schema; without one it only writes, each record as its own schema says."""

    def __init__(self, form: Format):
        self.form, self.known = form, described(form)
        self.writers = BySchema(self._writer)

    def read(self, data: bytes | None, topic: str = "") -> tuple[Schema | None, Any]:
        """(schema, value) of a record; no value at all is null without schema."""
        if data is None:
            return None, None
        if self.known is None:
            raise data_error("SMT414", "the format has no schema to read with", "declare columns or a schema")
        return self.form.schema or self.known.schema, self.known.read(data)

    def write(self, schema: Schema | None, value: Any, topic: str = "") -> bytes | None:
        """The bytes of a value; null stays null."""
        if value is None:
            return None
        if schema is None:
            raise without_schema(self.form)
        return self.writers[schema](value)

    def _writer(self, schema: Schema) -> Write:
        schema = schema.with_(optional=False)  # a record, not a union of null and it: null has no bytes at all
        try:
            if self.form.kind == "avro":
                text = self.form.settings.get("schema")
                if text is None:
                    return avro_out(schema).write
                return avro_writer(schema, text)
            if isinstance(self.known, Protobuf):
                return self.known.write
            return protobuf_out(schema).write
        except ConfigError as error:
            raise DataError(error.problems[0]) from None
