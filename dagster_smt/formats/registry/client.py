"""The client of a schema registry. The client looks up the schema with an id, or the id of a schema.

This module uses the client of ``confluent-kafka``, which works with every registry that has Confluent's REST interface.
That client caches schemas, so that a process requests each schema only once.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from dagster_smt.errors import DATA_EXCEPTION, ConfigError, DataError, EngineError, Problem, data_error, needs_extras
from dagster_smt.formats.registry.rules import RegistryRule, rules_of
from dagster_smt.model.schema_size import MAX_LEVELS
from dagster_smt.model.secrets import resolved, without_login

SchemaKind = Literal["AVRO", "PROTOBUF", "JSON"]
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
"""The longest time in seconds for one answer of the registry. The time runs from the request to the last byte."""
_MOST_BYTES = 10_000_000
"""The largest size in bytes of one answer. The same limit applies to a schema with all its references."""
_MOST_REFERENCES = 1000
"""The largest number of references of a schema, including the references of its references. Each reference costs a
request.
"""
_LARGEST_ID = 2**31 - 1
"""The largest schema id, because Confluent's clients and registries use Java's ``int``."""
_REFUSED = (400, 409, 422)
"""The status codes with which a registry rejects the registration of a schema."""


@dataclass(frozen=True)
class RegistrySchema:
    """A schema in a registry.

    Attributes:
        text: The schema: JSON for Avro and JSON Schema; for Protobuf the file's descriptor in base64, or the source
            text if the registry has no other form.
        references: Pairs of a reference's name and its schema text. Each reference comes after the references that it
            needs.
        rules: The rules that consumers apply; in a ``Contract``, the rules that producers apply.
        tags: The tags in the schema's metadata. ``("shop.*.email", ("PII",))`` gives the tag ``PII`` to all fields
            whose full name matches the pattern.
    """

    text: str
    references: tuple[tuple[str, str], ...]
    rules: tuple[RegistryRule, ...] = ()
    tags: tuple[tuple[str, tuple[str, ...]], ...] = ()


def schema_by_id(options: Options, number: int, kind: SchemaKind) -> RegistrySchema:
    """Returns the schema with the id ``number``.

    Raises:
        DataError: SMT441 if the registry has no such schema, or the schema is of a different kind; SMT273 if the
            schema's references form a cycle, or if there are too many references.
        EngineError: SMT636 if the registry does not answer; SMT582 if an option refers to a secret that this process
            does not have.
    """
    if number > _LARGEST_ID:  # a record can claim any id; registries answer such a request in various ways
        raise _unknown(number, "no registry gives such an id")
    form = "serialized" if kind == "PROTOBUF" else None

    def ask(client: Any) -> tuple[Any, dict[str, str]]:
        schema = client.get_schema(number, fmt=form)
        _refuse_long(schema.schema_str, {})
        references: dict[str, str] = {}
        _collect(client, schema, references, form, ())
        return schema, references

    schema, references = _response(
        options, ask, lambda status: _unknown(number, "the registry does not know it"), (404,)
    )
    if (schema.schema_type or "AVRO") != kind:
        raise _unknown(number, f"it is {schema.schema_type or 'AVRO'}, not {kind}")
    rules = rules_of(schema, "READ")
    return RegistrySchema(schema.schema_str, tuple(references.items()), rules, _tags(schema))


@dataclass(frozen=True)
class SubjectVersion:
    """A version of a subject.

    Attributes:
        number: The version.
        kind: The kind of the schema.
        schema: The schema.
        tags: The tags in the version's metadata. ``("shop.*.email", ("PII",))`` gives the tag ``PII`` to all fields
            whose full name matches the pattern.
    """

    number: int
    kind: SchemaKind
    schema: RegistrySchema
    tags: tuple[tuple[str, tuple[str, ...]], ...] = ()


def versions_of(options: Options, subject: str) -> tuple[SubjectVersion, ...]:
    """Returns the versions of ``subject``, the oldest first. Deleted versions are included, because records may still
    use them.

    Raises:
        DataError: SMT442 if the registry has no such subject; SMT273, as in ``schema_by_id``.
        EngineError: SMT636 if the registry does not answer.
    """

    def ask(client: Any) -> list[SubjectVersion]:
        return [_subject_version(client, subject, number) for number in client.get_versions(subject, deleted=True)]

    return tuple(_response(options, ask, lambda status: _refused(subject, status), (404,), "versions of subjects"))


def _subject_version(client: Any, subject: str, number: int) -> SubjectVersion:
    # Only the first answer says which kind the schema has. The second request is for the binary form of Protobuf.
    schema = client.get_version(subject, number, deleted=True).schema
    kind: SchemaKind = schema.schema_type or "AVRO"
    form = "serialized" if kind == "PROTOBUF" else None
    if form is not None:
        schema = client.get_version(subject, number, deleted=True, fmt=form).schema
    _refuse_long(schema.schema_str, {})
    references: dict[str, str] = {}
    _collect(client, schema, references, form, ())
    return SubjectVersion(number, kind, RegistrySchema(schema.schema_str, tuple(references.items())), _tags(schema))


def _tags(schema: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Returns the tags in the metadata of ``schema``. ``("shop.*.email", ("PII",))`` gives the tag ``PII`` to all
    fields whose full name matches the pattern.
    """
    tags = getattr(getattr(schema.metadata, "tags", None), "tags", None) or {}
    pairs = []
    for pattern, names in tags.items():
        pairs.append((pattern, tuple(names)))
    return tuple(pairs)


def version_of(options: Options, number: int, subject: str, kind: SchemaKind) -> int:
    """Returns the version that the schema with the id ``number`` has in ``subject``
    (``AbstractKafkaAvroDeserializer.schemaVersion``).

    A version in the schema's own metadata takes precedence. Deleted versions are included, as in the converter.

    Raises:
        DataError: SMT441 if the subject does not have the schema. The converter also fails in this case.
        EngineError: SMT636 if the registry does not answer.
    """

    def error_of(status: int) -> DataError:
        reason = f"the subject {subject}, in which Connect looks for its version, does not have it"
        return _unknown(number, reason, "set its subject with the option subject.name.strategy, or subject")

    # The lookup needs the text as it was registered. The client of ``schema_by_id`` caches serialized descriptors under
    # the same ids.
    use = "as registered" if kind == "PROTOBUF" else ""
    schema = _response(options, lambda client: client.get_schema(number), error_of, (404,), use)
    own = _own_version(schema)
    if own is not None:
        return own

    def ask(client: Any) -> Any:
        return client.lookup_schema(subject, schema, deleted=True).version

    return int(_response(options, ask, error_of, (*_REFUSED, 404), "versions"))


def _own_version(schema: Any) -> int | None:
    """Returns the version number from the property ``confluent:version`` in the metadata of ``schema``
    (``Metadata.getConfluentVersionNumber``). Returns None if the property is missing or not a number.
    """
    properties = getattr(schema.metadata, "properties", None)
    text = properties.properties.get("confluent:version") if properties else None
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        return None


def schema_id(
    options: Options,
    subject: str,
    text: str,
    kind: SchemaKind,
    *,
    register: bool,
    parts: Mapping[str, Any] = MappingProxyType({}),
) -> int:
    """Returns the id of the schema ``text`` in ``subject``.

    Args:
        options: The format's options.
        subject: The subject.
        text: The schema.
        kind: The schema's kind.
        register: True to register the schema if the subject does not have it.
        parts: More parts of the schema, with the names of ``confluent-kafka``'s client: ``metadata``, ``rule_set``.

    Raises:
        DataError: SMT442 if the registry rejects the schema, or does not have it.
        EngineError: SMT636 if the registry does not answer.
    """
    with needs_extras():
        from confluent_kafka.schema_registry import Schema as SchemaWithId

    schema = SchemaWithId(text, kind, **parts)

    def ask(client: Any) -> int:
        if register:
            return int(client.register_schema(subject, schema))
        return int(client.lookup_schema(subject, schema).schema_id)

    return int(_response(options, ask, lambda status: _refused(subject, status), (*_REFUSED, 404)))


@dataclass(frozen=True)
class Contract:
    """The latest version of a subject's schema, and the rules that producers must apply to each record of the subject.

    Attributes:
        rules: The rules that producers apply.
        source: The latest schema, with the tags of its metadata.
        parts: The rules and metadata of the schema, in the form of ``confluent-kafka``'s client.
    """

    rules: tuple[RegistryRule, ...] = ()
    source: RegistrySchema = RegistrySchema("", ())
    parts: Mapping[str, Any] = field(default_factory=dict)


def contract_of(options: Options, subject: str) -> Contract:
    """Returns the latest schema of ``subject``, and the rules that its producers must apply. If the subject has no
    versions, the result contains no rules and an empty schema.

    Raises:
        DataError: SMT442 if the registry rejects the request, because it is then unknown whether the subject has rules.
        EngineError: SMT636 if the registry does not answer.
    """
    with needs_extras():
        from confluent_kafka.schema_registry.error import SchemaRegistryError

    def ask(client: Any) -> Contract:
        try:
            schema = client.get_latest_version(subject).schema
        except SchemaRegistryError as error:
            # a new subject has no rules; any other error could hide rules
            if error.http_status_code == 404:
                return Contract()
            raise
        rules = rules_of(schema, "WRITE")
        references: dict[str, str] = {}
        if rules:
            _refuse_long(schema.schema_str, {})
            _collect(client, schema, references, None, ())
        source = RegistrySchema(schema.schema_str, tuple(references.items()), rules, _tags(schema))
        return Contract(rules, source, {"metadata": schema.metadata, "rule_set": schema.rule_set})

    contract: Contract = _response(options, ask, lambda status: _refused(subject, status), _REFUSED, "rules")
    return contract


def _response(
    options: Options,
    ask: Callable[[Any], Any],
    error_of: Callable[[int], DataError],
    known: tuple[int, ...],
    use: str = "",
) -> Any:
    """Calls ``ask`` with a registry client, and returns the result. The function ``ask`` sends a request to the
    registry.

    If the registry answers with an error status in ``known``, such as 404, raises the error ``error_of(404)``. If the
    registry answers with another error status, or does not answer, raises the error SMT636. If the client cannot be
    created from ``options``, raises an ``EngineError`` with the problems of the options.
    """
    with needs_extras():
        from confluent_kafka.schema_registry.error import SchemaRegistryError

    url = dict(options)["url"]
    try:
        return ask(_client(options, use))
    except DataError:
        # such as SMT273 for a long answer: it concerns one schema, and does not end the run as SMT636 does
        raise
    except ConfigError as error:
        raise EngineError(error.problems) from None
    except SchemaRegistryError as error:
        if error.http_status_code in known:
            raise error_of(error.http_status_code) from None
        raise silent_registry(url, f"it answers {error.http_status_code}") from None
    except Exception as error:  # noqa: BLE001 - whatever the HTTP client raises
        raise silent_registry(url, type(error).__name__) from None


@cache
def _client(options: Options, use: str) -> Any:
    """Returns the registry client for ``use``, a name such as ``rules`` or ``versions``.

    Each use has its own client, because a client caches schemas by their ids alone. A shared client could return a
    schema in the wrong format to another use, or a schema that has been deleted.
    """
    from confluent_kafka.schema_registry import SchemaRegistryClient

    return bounded_client(SchemaRegistryClient, client_settings(options))


def client_settings(options: Options) -> dict[str, Any]:
    """Returns the settings of a registry client for ``options``, including the login.

    Raises:
        ConfigError: SMT582 if an option refers to a secret that this process does not have.
    """
    values: Mapping[str, str] = resolved(dict(options), "schema registry")
    client_values = {}
    for key, name in _NAMES.items():
        if key in values:
            client_values[name] = values[key]
    settings = {"url": values["url"], **client_values}
    if "bearer.auth.token" in settings:
        # the client rejects a token without these settings, which only Confluent Cloud needs
        settings = {**_BEARER, **settings}
    return {**settings, "timeout": _SECONDS}


def bounded_client(make: Callable[[dict[str, Any]], Any], settings: dict[str, Any]) -> Any:
    """Creates a registry client with ``make``, limits the length of the answers that the client accepts, and returns
    the client.
    """
    client = make(settings)
    session = client._rest_client.session  # a private attribute, because the library cannot limit the size of an answer
    # ``_bound`` counts bytes as they arrive, so the registry must not compress them
    session.headers["Accept-Encoding"] = "identity"
    session.event_hooks["response"].append(_bound)
    return client


def _bound(response: Any) -> None:
    """Reads the body of ``response``. Raises an error if the body has too many bytes, or if the registry needs too much
    time to send it.

    Compressed bodies are rejected, because they could expand to any size.
    """
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
    response._content = bytes(body)  # the attribute in which ``response.content`` would store the body


def _refuse_long(text: str, others: Mapping[str, str]) -> None:
    if len(text) + sum(map(len, others.values())) > _MOST_BYTES:
        raise _too_long()


def _too_long() -> DataError:
    return _unusable(f"with its references it has more than {_MOST_BYTES} bytes")


def _collect(client: Any, schema: Any, texts: dict[str, str], form: str | None, around: tuple[str, ...]) -> None:
    """Adds the references of ``schema`` to ``texts``, a dict from reference name to schema text. References of
    references are included.

    ``around`` contains the names of the references that led to the schema. If the schema refers to one of these names
    again, the references form a cycle, and an error is raised. ``form`` is the format in which the registry returns
    schemas; None for the registry's default.
    """
    for reference in schema.references or ():
        if reference.name in around:
            raise _unusable("its references form a circle")
        if len(around) >= MAX_LEVELS or len(texts) >= _MOST_REFERENCES:
            raise _unusable("it has too many references")
        # two references may need the same schema
        if reference.name not in texts:
            inner = client.get_version(reference.subject, reference.version, fmt=form).schema
            # before the schema itself is added, because a schema comes after the schemas that it needs
            _collect(client, inner, texts, form, (*around, reference.name))
            _refuse_long(inner.schema_str, texts)
            texts[reference.name] = inner.schema_str


def _unusable(statement: str) -> DataError:
    return data_error("SMT273", f"a schema of the registry cannot be used: {statement}", "register another schema")


def _unknown(number: int, why: str, hint: str = "use the registry of the producer") -> DataError:
    return data_error("SMT441", f"the schema with id {number} cannot be used: {why}", hint)


def _refused(subject: str, status: int) -> DataError:
    if status == 404:
        hint = "register the schema, or set auto.register.schemas to true"
        return data_error("SMT442", f"the registry has no such schema under {subject}", hint, DATA_EXCEPTION)
    hint = "check the subject's compatibility level, and its last schema"
    return data_error("SMT442", f"the registry refuses the schema under {subject} ({status})", hint, DATA_EXCEPTION)


def no_protoc() -> EngineError:
    """Returns the error (SMT637) for Protobuf source text if ``protoc`` is missing."""
    statement = "the registry returns Protobuf as text, but protoc is not installed"
    hint = "install dagster_smt[protoc], which adds the package grpcio-tools, on the driver and on Spark's workers"
    return EngineError(Problem("SMT637", "protobuf-confluent", statement, hint))


def silent_registry(url: str, why: str) -> EngineError:
    """Returns the error (SMT636) for the registry at ``url``. ``why`` says why there is no usable answer, for example
    ``it answers 500``.
    """
    hint = "check that the registry runs, its url, and the credentials"
    return EngineError(
        Problem("SMT636", without_login(url), f"the schema registry does not return its schemas: {why}", hint)
    )
