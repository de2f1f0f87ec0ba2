"""The format of keys or values, with its options and their checks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.schema import Schema
from dagster_smt.model.secrets import as_reference, refers, shows_secret
from dagster_smt.model.topics.csv_options import CSV_OPTIONS, csv_problems
from dagster_smt.model.topics.primitives import WHOLE

Structured = Literal[
    "json",
    "json_schema",
    "envelope",
    "csv",
    "debezium-json",
    "canal-json",
    "avro",
    "avro-confluent",
    "protobuf",
    "protobuf-confluent",
    "json-confluent",
]
Single = Literal["string", "bytes", "short", "integer", "long", "float", "double", "boolean"]
FormatKind = Structured | Single
REGISTRY_OPTIONS = (
    "url",
    "basic-auth.user-info",
    "bearer-auth.token",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
)
"""The options for the address of a registry and for the connection to it. All formats with a registry have these
options.

The first three names are the same as in Flink. The names of the certificate options are the same as in librdkafka.
"""
WRITING_OPTIONS = ("subject", "subject.name.strategy", "auto.register.schemas")
"""Options for writing, in formats with a registry. The first name is Flink's. The other two names come from Confluent's
serializers.

The first two options determine the subject of a schema. Readers also need the subject, because the registry numbers the
versions of a schema within a subject.
"""
RULES = "rules"
"""The name of an option of formats with a registry. The option sets the treatment of fields that a rule of the schema
encrypts.
"""
RULE_CHOICES = ("refuse", "sealed", "open")
"""The values of the option ``rules``. ``refuse`` rejects records with encrypted fields, ``sealed`` leaves the fields
encrypted, and ``open`` decrypts them.
"""
KMS = "kms."
"""The prefix of options for the key management service. The rest of the name is the option's name in
``confluent-kafka``.
"""
KMS_KEYS = "kms.keys"
"""The option that lists the keys with which fields may be decrypted. Each item is a prefix of a key's address, such as
``aws-kms://arn:aws:kms:eu-north-1:``.
"""
NON_REQUIRED = "use.optional.for.nonrequired"
"""The option of JSON Schema that treats properties as optional if they are not required. The name is Confluent's."""
ARRAYS_AS_ROWS = "arrays-as-rows"
"""The option that turns each object of an array at the top of a JSON value into a row, as in Flink's ``json``."""
MOMENTS = "timestamp-format.standard"
"""The option that sets the format of timestamps in JSON with a schema.

The option has the same name as in Flink, but also applies to dates and decimals.
"""
STANDARDS = ("SQL", "ISO-8601", "CONNECT")
"""The values of ``timestamp-format.standard``. ``SQL`` and ``ISO-8601`` are Flink's. ``CONNECT`` means the numbers and
Base64 strings of Connect's converter.
"""
PLAIN_DECIMALS = "encode.decimal-as-plain-number"
"""The option of JSON that writes decimals without an exponent, as in Flink."""
WRAPPED = "wrap-single-value"
"""The option for values with a single column, called ``WRAP_SINGLE_VALUE`` in ksqlDB. If the option is false, the value
is the column itself instead of a struct: ``7`` instead of ``{"id": 7}``.
"""
_JSON_OPTIONS = MOMENTS, PLAIN_DECIMALS
_TRUE_OR_FALSE = ARRAYS_AS_ROWS, PLAIN_DECIMALS, WRAPPED
STRATEGIES = ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy")
SELF_DESCRIBED = ("envelope", "avro-confluent", "protobuf-confluent", "json-confluent")
"""The formats whose records contain their schema, or the id of their schema in a registry."""
SCHEMALESS = ("json", "json_schema", "envelope", "string", "bytes", "debezium-json", "canal-json", "avro-confluent")
"""The formats that can write values without a schema. For example, ``json`` writes such a value as JSON, and
``avro-confluent`` writes it as Connect's Avro converter does.
"""
DESCRIBED = ("avro", "protobuf")
"""The formats with one schema for all records. The schema comes from an option, from a file that an option names, or
from the columns of the topic table.
"""
READ_WHOLE = ("csv", *DESCRIBED)
"""The formats whose values are always decoded completely, because fields cannot be skipped."""
DECLARED = ("json_schema", "csv", "debezium-json", "canal-json")
"""The formats whose values are converted to the declared types. For example, a decimal is rounded to its declared
number of digits, as in Flink.
"""
REGISTERED = ("avro-confluent", "protobuf-confluent", "json-confluent")
"""The formats whose schemas are in a registry."""

_KNOWN = {
    **dict.fromkeys(("json", "json_schema"), (ARRAYS_AS_ROWS, WRAPPED, *_JSON_OPTIONS)),
    **dict.fromkeys(("debezium-json", "canal-json"), _JSON_OPTIONS),
    "csv": CSV_OPTIONS,
    "avro": ("schema", WRAPPED),
    "protobuf": ("descriptor", "message-name"),
    "avro-confluent": (*REGISTRY_OPTIONS, *WRITING_OPTIONS, RULES, WRAPPED),
    "protobuf-confluent": (*REGISTRY_OPTIONS, *WRITING_OPTIONS, RULES),
    "json-confluent": (*REGISTRY_OPTIONS, *WRITING_OPTIONS, RULES, NON_REQUIRED),
}

_KMS_LOGINS = (f"{KMS}token.id", f"{KMS}access.key.id")
"""The options that contain secrets or logins, although their names do not indicate this."""
_SECRETS = "put the secret into the environment and write ${env:NAME}, or EnvVar('NAME') of Dagster"


@dataclass(frozen=True)
class Format:
    """The format of the keys or the values in a topic.

    Attributes:
        kind: The name of the format. ``json`` is JSON without a schema, ``json_schema`` is JSON with the declared
            ``schema``, and ``envelope`` is Connect's ``{"schema", "payload"}``. ``string`` is UTF-8, and ``bytes`` are
            unchanged. ``short`` to ``boolean`` are single values as Kafka's serializers write them. ``csv`` are lines
            with the columns of ``schema``. ``avro`` and ``protobuf`` have their schema in ``options``;
            ``avro-confluent``, ``protobuf-confluent`` and ``json-confluent`` have it in a registry. ``debezium-json``
            and ``canal-json`` are messages that contain a row, and are possible only for values.
        schema: The declared schema, for example of ``json_schema`` or ``csv``. For messages that contain a row, the
            parts of a message to read.
        replace_null_with_default: True if the value null of a field is replaced with the field's default, as with the
            option ``replace.null.with.default`` of Connect's JSON converter.
        decimal_format: ``BASE64`` or ``NUMERIC``: the JSON converter's ``decimal.format``.
        options: Options with Flink's names and a few others, as pairs or as a mapping. A secret is written as a
            reference such as ``${env:NAME}``.
    """

    kind: FormatKind = "json"
    schema: Schema | None = None
    replace_null_with_default: bool = True
    decimal_format: Literal["BASE64", "NUMERIC"] = "BASE64"
    options: tuple[tuple[str, str], ...] | Mapping[str, str] = ()

    def __post_init__(self) -> None:
        pairs = ((key, as_reference(value)) for key, value in self.settings.items())
        # a frozen dataclass must be hashable, and formats with equal options must be equal in whatever order they are
        # written. EnvVar must be converted here, because as a string it is empty.
        object.__setattr__(self, "options", tuple(sorted(pairs)))
        known = _KNOWN.get(self.kind, ())
        hint = f"options are: {', '.join(known)}" if known else "remove it"
        problems = []
        for k in self.settings:
            if k not in known and not (RULES in known and k.startswith(KMS)):
                problems.append(Problem("SMT272", f"{self.kind}.{k}", "is not an option", hint))
        for k, value in self.settings.items():
            if shows_secret(k, value):
                problems.append(Problem("SMT581", f"{self.kind}.{k}", "the definition contains a secret", _SECRETS))
        for name in _TRUE_OR_FALSE:
            if self.settings.get(name, "true").lower() not in ("true", "false"):
                place = f"{self.kind}.{name}"
                problems.append(Problem("SMT272", place, "is neither true nor false", "use one of them"))
        if MOMENTS in known and self.settings.get(MOMENTS, "SQL").upper() not in STANDARDS:
            hint = f"use {', '.join(STANDARDS)}"
            problems.append(Problem("SMT272", f"{self.kind}.{MOMENTS}", "is not a known standard", hint))
        if self.kind == "csv":
            problems += csv_problems(self.settings)
        if self.kind in REGISTERED:
            problems += self._of_registry()
        if self.kind == "protobuf" and len(self.settings) == 1:
            hint = "set both: descriptor and message-name"
            problems.append(Problem("SMT272", "protobuf", "a descriptor needs the name of its message", hint))
        if problems:
            raise ConfigError(problems)

    def _of_registry(self) -> Iterator[Problem]:
        place, settings = f"{self.kind}.", self.settings
        if "url" not in settings:
            yield Problem("SMT272", f"{place}url", "is missing", "set the registry's address")
        if settings.get("subject.name.strategy", STRATEGIES[0]) not in STRATEGIES:
            yield Problem("SMT272", f"{place}subject.name.strategy", "is unknown", f"use {', '.join(STRATEGIES)}")
        yield from self._of_rules()
        if settings.get("auto.register.schemas", "true").lower() not in ("true", "false"):
            yield Problem("SMT272", f"{place}auto.register.schemas", "is neither true nor false", "use one of them")

    def _of_rules(self) -> Iterator[Problem]:
        place, settings = f"{self.kind}.", self.settings
        choice = settings.get(RULES, RULE_CHOICES[0])
        if choice not in RULE_CHOICES:
            yield Problem("SMT272", f"{place}{RULES}", "is unknown", f"use {', '.join(RULE_CHOICES)}")
        keys = [key for key in settings if key.startswith(KMS)]
        if choice == "open" and "://" not in settings.get(KMS_KEYS, ""):
            hint = "set it to the beginnings of addresses, such as hcvault://vault.example.com:8200/transit/keys/"
            yield Problem("SMT272", f"{place}{KMS_KEYS}", "names no keys", hint)
        if keys and choice != "open":
            yield Problem("SMT272", f"{place}{keys[0]}", f"needs {RULES}=open", "remove it")
        for key in keys:
            if key in _KMS_LOGINS and not refers(settings[key]):
                yield Problem("SMT581", f"{place}{key}", "the definition contains a secret", _SECRETS)

    @property
    def settings(self) -> dict[str, str]:
        """``options`` as a mapping."""
        return dict(self.options)

    @property
    def arrays_as_rows(self) -> bool:
        """True if each object in an array at the top of a value becomes a row."""
        return self.settings.get(ARRAYS_AS_ROWS, "").lower() == "true"

    @property
    def is_column(self) -> bool:
        """True if the value has a single column and is written without a struct around it: ``7`` instead of ``{"id":
        7}``.
        """
        return self.settings.get(WRAPPED, "").lower() == "false"

    @property
    def described(self) -> bool:
        """True if the options of the format contain its schema, as for the formats in ``DESCRIBED``."""
        return self.kind in DESCRIBED and bool({"schema", "descriptor"} & self.settings.keys())

    @property
    def text_standard(self) -> str:
        """``SQL`` or ``ISO-8601`` if the format writes dates and times as strings, and decimals as plain numbers. Empty
        if it writes them as Connect does.
        """
        standard = self.settings.get(MOMENTS, "CONNECT").upper()
        if standard == "CONNECT":
            return ""
        return standard

    @property
    def plain_decimals(self) -> bool:
        """True if decimals are written without an exponent."""
        return self.settings.get(PLAIN_DECIMALS, "").lower() == "true"

    @property
    def known_schema(self) -> Schema | None:
        """The schema that every value of this format has in Connect, such as an optional STRING for the format
        ``string``. None if the format does not determine the schema.
        """
        if self.kind in WHOLE:
            return Schema(WHOLE[self.kind], optional=True)
        return self.schema


def names_topic(settings: Mapping[str, str]) -> bool:
    """Returns True if the topic name is part of the subject under which the registry stores a schema. This is the
    default. ``settings`` are the options of the format.
    """
    return "subject" not in settings and settings.get("subject.name.strategy") != "RecordNameStrategy"


@dataclass(frozen=True)
class Formats:
    """The formats of keys and values.

    Attributes:
        key, value: The formats.
        place: The kind of topics to which records are written: ``file_topics`` (topics in a folder) or ``kafka``.
    """

    key: Format
    value: Format
    place: str = ""


class SideFormats(Protocol):
    """An object with the formats of keys and values, such as a topic table or ``Formats``. Functions that evaluate
    records use this type, because they need no other part of a topic table.
    """

    @property
    def key(self) -> Format:
        """The format of the keys."""
        ...

    @property
    def value(self) -> Format:
        """The format of the values."""
        ...
