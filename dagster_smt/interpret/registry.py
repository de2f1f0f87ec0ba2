"""Avro in the wire format of a schema registry: a zero byte, the schema's id in four bytes, Avro.

The client is that of ``confluent-kafka``, for every registry that has Confluent's REST interface. It keeps schemas;
one process asks for each id once.
"""

from functools import cache
from typing import Any

from dagster_smt.errors import DataError, EngineError, Problem, data_error
from dagster_smt.interpret.avro import Avro, avro_of
from dagster_smt.interpret.cache import Cache
from dagster_smt.model.format import Format
from dagster_smt.model.schema import Schema
from dagster_smt.model.secrets import resolved

_HEADER = 5
_NAMES = {
    "basic-auth.user-info": "basic.auth.user.info",
    "bearer-auth.token": "bearer.auth.token",
    "ssl.ca.location": "ssl.ca.location",
    "ssl.certificate.location": "ssl.certificate.location",
    "ssl.key.location": "ssl.key.location",
}
_BEARER = {
    "bearer.auth.credentials.source": "STATIC_TOKEN",
    "bearer.auth.logical.cluster": "",
    "bearer.auth.identity.pool.id": "",
}


class RegistryReader:
    """Reads records that name their schema; keeps what it has met."""

    def __init__(self, form: Format):
        self.form = form
        self.known: Cache[bytes, Avro] = Cache()

    def read(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """(schema, value) of a record; no value at all is null without schema."""
        if data is None:
            return None, None
        avro = self._known(self.schema_text(data) or b"")
        return avro.schema, avro.read(data[_HEADER:])

    @staticmethod
    def schema_text(data: bytes | None) -> bytes | None:
        """What names a record's schema, the rest unread; None if there is no value."""
        if data is None:
            return None
        if len(data) < _HEADER or data[0] != 0:
            hint = "choose another format, if no registry's serializer has written it"
            raise data_error("SMT441", "the bytes do not begin with a schema's id", hint)
        return data[:_HEADER]

    def schema(self, text: bytes) -> Schema | None:
        """The schema that it names."""
        return self._known(text).schema

    def _known(self, header: bytes) -> Avro:
        found = self.known.get(header)
        if found is None:
            number = int.from_bytes(header[1:], "big")
            found = self.known[header] = avro_of(*_fetched(self.form.options, number), place=f"schema {number}")
        return found


@cache
def _client(options: tuple[tuple[str, str], ...]) -> Any:
    from confluent_kafka.schema_registry import SchemaRegistryClient

    given = resolved(dict(options), "avro-confluent")
    settings = {"url": given.pop("url"), **{_NAMES[key]: value for key, value in given.items()}}
    if "bearer.auth.token" in settings:
        settings = {**_BEARER, **settings}
    return SchemaRegistryClient(settings)


def _fetched(options: Any, number: int) -> tuple[str, tuple[str, ...]]:
    """A schema's text, and the texts of those that it refers to, in the order in which they are to be read.

    Raises:
        DataError: SMT441, the registry has no such schema, or it is no Avro.
        EngineError: SMT636, the registry does not answer.
    """
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    client = _client(options)
    try:
        schema = client.get_schema(number)
        references: dict[str, str] = {}
        _collect(client, schema, references)
    except SchemaRegistryError as error:
        if error.http_status_code == 404:
            raise _unknown(number, "the registry does not know it") from error
        raise _silent(dict(options)["url"], f"it answers {error.http_status_code}") from error
    except Exception as error:  # whatever the HTTP client raises
        raise _silent(dict(options)["url"], f"{type(error).__name__}") from error
    if (schema.schema_type or "AVRO") != "AVRO":
        raise _unknown(number, f"it is {schema.schema_type}, not Avro")
    return schema.schema_str, tuple(references.values())


def _collect(client: Any, schema: Any, found: dict[str, str]) -> None:
    for reference in schema.references or ():
        if reference.name not in found:
            inner = client.get_version(reference.subject, reference.version).schema
            _collect(client, inner, found)
            found[reference.name] = inner.schema_str


def _unknown(number: int, why: str) -> DataError:
    hint = "look for the registry that its producer has used"
    return data_error("SMT441", f"the schema with id {number} cannot be used: {why}", hint)


def _silent(url: str, why: str) -> EngineError:
    hint = "look whether it runs, and at url and credentials"
    return EngineError(Problem("SMT636", url, f"the schema registry does not give its schemas: {why}", hint))
