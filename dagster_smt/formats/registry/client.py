"""A schema registry: schemas by id, and ids of schemas.

The client is that of ``confluent-kafka``, for every registry that has Confluent's REST interface. It keeps schemas;
one process asks for each once.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from dagster_smt.errors import DATA_EXCEPTION, DataError, EngineError, Problem, data_error
from dagster_smt.model.schema_size import MAX_LEVELS
from dagster_smt.model.secrets import resolved, without_login

SchemaKind = Literal["AVRO", "PROTOBUF"]
Options = tuple[tuple[str, str], ...]
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
_SECONDS = 30
"""What the registry may take for one answer, from the question to its last byte."""
_MOST_BYTES = 10_000_000
"""Of one answer, and of the texts of a schema and all that it refers to."""
_MOST_REFERENCES = 1000
"""Of a schema, those of its references among them: each is a question to the registry."""
_REFUSED = (400, 409, 422)
"""What a registry answers to a schema that it does not take."""


@dataclass(frozen=True)
class Fetched:
    """A schema of a registry.

    Attributes:
        text: Avro as JSON; of Protobuf the file's descriptor in base64, or its text if the registry has no other form.
        references: (name, text) of those that it refers to, each after those that it refers to itself.
    """

    text: str
    references: tuple[tuple[str, str], ...]


def fetched(options: Options, number: int, kind: SchemaKind) -> Fetched:
    """The schema of an id.

    Raises:
        DataError: SMT441, the registry has no such schema, or it is of another kind; SMT273, its references go in a
            circle, or are too many.
        EngineError: SMT636, the registry does not answer.
    """
    form = "serialized" if kind == "PROTOBUF" else None

    def ask(client: Any) -> tuple[Any, dict[str, str]]:
        schema = client.get_schema(number, fmt=form)
        _refuse_long(schema.schema_str, {})
        references: dict[str, str] = {}
        _collect(client, schema, references, form, ())
        return schema, references

    schema, references = _asked(options, ask, lambda status: _unknown(number, "the registry does not know it"), (404,))
    if (schema.schema_type or "AVRO") != kind:
        raise _unknown(number, f"it is {schema.schema_type or 'AVRO'}, not {kind}")
    return Fetched(schema.schema_str, tuple(references.items()))


def version_of(options: Options, number: int, subject: str, kind: SchemaKind) -> int:
    """The version that a schema has under a subject (``AbstractKafkaAvroDeserializer.schemaVersion``).

    The schema's own metadata says more than the subject. Deleted versions count, as they do to the converter.

    Raises:
        DataError: SMT441, the subject does not have it: the converter fails there, too.
        EngineError: SMT636, the registry does not answer.
    """

    def error_of(status: int) -> DataError:
        why = f"the subject {subject}, where Connect looks for its version, does not have it"
        return _unknown(number, why, "say where it is with the option subject.name.strategy, or subject")

    use = "as registered" if kind == "PROTOBUF" else ""
    schema = _asked(options, lambda client: client.get_schema(number), error_of, (404,), use)
    own = _own_version(schema)
    if own is not None:
        return own

    def ask(client: Any) -> Any:
        return client.lookup_schema(subject, schema, deleted=True).version

    return int(_asked(options, ask, error_of, (*_REFUSED, 404), "versions"))


def _own_version(schema: Any) -> int | None:
    """``Metadata.getConfluentVersionNumber``."""
    properties = getattr(schema.metadata, "properties", None)
    if properties:
        given = properties.properties.get("confluent:version")
    else:
        given = None
    try:
        if given is None:
            return None
        return int(given)
    except ValueError:
        return None


def registered(options: Options, subject: str, text: str, kind: SchemaKind, *, register: bool) -> int:
    """The id of a schema under a subject.

    Args:
        options: Of the format.
        subject: The subject.
        text: The schema.
        kind: What it is.
        register: Whether it is registered if it is not there.

    Raises:
        DataError: SMT442, the registry does not take it, or does not have it.
        EngineError: SMT636, the registry does not answer.
    """
    from confluent_kafka.schema_registry import Schema as Registered

    schema = Registered(text, kind)

    def ask(client: Any) -> int:
        if register:
            return int(client.register_schema(subject, schema))
        return int(client.lookup_schema(subject, schema).schema_id)

    return int(_asked(options, ask, lambda status: _refused(subject, status), (*_REFUSED, 404)))


def _asked(
    options: Options,
    ask: Callable[[Any], Any],
    error_of: Callable[[int], DataError],
    known: tuple[int, ...],
    use: str = "",
) -> Any:
    """An answer of the registry; ``error_of`` makes the error of what it answers on purpose."""
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    url = dict(options)["url"]
    try:
        return ask(_client(options, use))
    except DataError:
        raise
    except SchemaRegistryError as error:
        if error.http_status_code in known:
            raise error_of(error.http_status_code) from None
        raise silent_registry(url, f"it answers {error.http_status_code}") from None
    except Exception as error:  # noqa: BLE001 - whatever the HTTP client raises
        raise silent_registry(url, type(error).__name__) from None


@cache
def _client(options: Options, use: str) -> Any:
    """A client for one use: it keeps a schema whatever form it was asked for in, and versions though deleted."""
    from confluent_kafka.schema_registry import SchemaRegistryClient

    given: Mapping[str, str] = resolved(dict(options), "schema registry")
    settings = {"url": given["url"], **{name: given[key] for key, name in _NAMES.items() if key in given}}
    if "bearer.auth.token" in settings:
        settings = {**_BEARER, **settings}
    client = SchemaRegistryClient({**settings, "timeout": _SECONDS})
    session = client._rest_client.session  # the library has no setting for the size of an answer
    session.headers["Accept-Encoding"] = "identity"
    session.event_hooks["response"].append(_bound)
    return client


def _bound(response: Any) -> None:
    """Bound an answer whose body has not been read; a compressed one could be any size, and nobody asked for it."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise ValueError("a compressed answer")
    chunks: Iterator[bytes] = response.iter_raw()
    body, end = bytearray(), time.monotonic() + _SECONDS
    for chunk in chunks:
        body += chunk
        if len(body) > _MOST_BYTES:
            raise _too_long()
        if time.monotonic() > end:
            raise TimeoutError
    response._content = bytes(body)  # what ``read`` keeps


def _refuse_long(text: str, others: Mapping[str, str]) -> None:
    if len(text) + sum(map(len, others.values())) > _MOST_BYTES:
        raise _too_long()


def _too_long() -> DataError:
    return _unusable(f"with what it refers to it has more than {_MOST_BYTES} bytes")


def _collect(client: Any, schema: Any, found: dict[str, str], form: str | None, around: tuple[str, ...]) -> None:
    """Ask for what a schema refers to; ``around``: the names of the references that lead to it."""
    for reference in schema.references or ():
        if reference.name in around:
            raise _unusable("its references go in a circle")
        if len(around) >= MAX_LEVELS or len(found) >= _MOST_REFERENCES:
            raise _unusable("it has too many references")
        if reference.name not in found:
            inner = client.get_version(reference.subject, reference.version, fmt=form).schema
            _collect(client, inner, found, form, (*around, reference.name))
            _refuse_long(inner.schema_str, found)
            found[reference.name] = inner.schema_str


def _unusable(statement: str) -> DataError:
    return data_error("SMT273", f"a schema of the registry cannot be used: {statement}", "register it anew")


def _unknown(number: int, why: str, hint: str = "look for the registry that its producer has used") -> DataError:
    return data_error("SMT441", f"the schema with id {number} cannot be used: {why}", hint)


def _refused(subject: str, status: int) -> DataError:
    if status == 404:
        hint = "register it, or leave auto.register.schemas at true"
        return data_error("SMT442", f"the registry has no such schema under {subject}", hint, DATA_EXCEPTION)
    hint = "look at the compatibility that the subject asks for, and at the subject's last schema"
    return data_error("SMT442", f"the registry refuses the schema under {subject} ({status})", hint, DATA_EXCEPTION)


def no_protoc() -> EngineError:
    """The error of Protobuf that a registry gives as text where nothing reads it: SMT637."""
    statement = "the registry gives Protobuf as text, and there is no protoc to read it with"
    hint = "install dagster_smt[protoc], which is the package grpcio-tools, where Python runs for Spark"
    return EngineError(Problem("SMT637", "protobuf-confluent", statement, hint))


def silent_registry(url: str, why: str) -> EngineError:
    """The error of a registry that does not answer, or not as a registry does: SMT636."""
    hint = "look whether it runs, and at url and credentials"
    return EngineError(
        Problem("SMT636", without_login(url), f"the schema registry does not give its schemas: {why}", hint)
    )
