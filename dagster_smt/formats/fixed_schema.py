"""Reads and writes Avro and Protobuf with one schema per topic. A record contains only the value, without a schema
id.
"""

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
    """Returns the Avro or Protobuf schema of ``form``, with a reader. The schema comes from the option ``schema`` or
    ``descriptor``. Without these options, it comes from the declared columns. Without declared columns, returns None.

    Raises:
        ConfigError: SMT273 if the option is not a schema of the format; SMT274 if the format rejects column names.
    """
    settings, columns = form.settings, form.schema and form.schema.with_(optional=False)
    if form.kind == "avro":
        if "schema" in settings:
            return avro_of(settings["schema"], place="avro.schema")
        if columns is None:
            return None
        return avro_of(avro_out(columns).text, declared=True)
    if "descriptor" in settings:
        return protobuf_of(
            descriptor_files(settings["descriptor"]), settings["message-name"], place="protobuf.descriptor"
        )
    if columns is None:
        return None
    return protobuf_of([protobuf_out(columns).file], (0,))


def descriptor_files(text: str) -> list[bytes]:
    """Returns the files in ``text``, a Protobuf descriptor set in base64.

    Raises:
        ConfigError: SMT273 if ``text`` is not a descriptor set in base64.
    """
    try:
        files = FileDescriptorSet.FromString(base64.b64decode(text, validate=True)).file
    except (ValueError, DecodeError):
        hint = "create it with protoc --include_imports --descriptor_set_out"
        raise ConfigError(Problem("SMT273", "protobuf.descriptor", "it is not a set of descriptors", hint)) from None
    return [file.SerializeToString() for file in files]


class DescribedCodec:
    """A codec for the values of a topic, which all have the same schema.

    If the format has no schema, the codec can only write: it writes each record with the schema of the record.
    """

    def __init__(self, form: Format):
        self.form, self.known = form, described(form)
        self.writers = BySchema(self._writer)

    def read(self, data: bytes | None, topic: str = "") -> tuple[Schema | None, Any]:
        """Returns the schema and the value of ``data``, the bytes of a record. If ``data`` is None, returns ``(None,
        None)``.
        """
        if data is None:
            return None, None
        if self.known is None:
            raise data_error("SMT414", "the format has no schema for reading", "declare columns or a schema")
        return self.form.schema or self.known.schema, self.known.read(data)

    def write(self, schema: Schema | None, value: Any, topic: str = "") -> bytes | None:
        """Returns the bytes of ``value``, a value of ``schema``; null stays null."""
        if value is None:
            return None
        if schema is None:
            raise without_schema(self.form)
        return self.writers[schema](value)

    def _writer(self, schema: Schema) -> Write:
        schema = schema.with_(
            optional=False
        )  # a plain record, not a union with null, because a null value has no bytes
        try:
            if self.form.kind == "avro":
                text = self.form.settings.get("schema")
                if text is None:
                    return avro_out(schema).write
                return avro_writer(schema, text)
            # The option ``descriptor`` fixes the numbers of the fields. A message type built from the schema may number
            # them differently.
            if isinstance(self.known, Protobuf):
                return self.known.write
            return protobuf_out(schema).write
        except ConfigError as error:
            raise DataError(error.problems[0]) from None
