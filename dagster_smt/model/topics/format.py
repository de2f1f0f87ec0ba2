"""How one side of a record is encoded."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.schema import Schema
from dagster_smt.model.secrets import as_reference, shows_secret
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
"""Options of formats with a registry: the first three as Flink names them, files of certificates as librdkafka does."""
WRITING_OPTIONS = ("subject", "subject.name.strategy", "auto.register.schemas")
"""Options of formats with a registry: the first as Flink, the others as Confluent names them. Two name the subject, for
reading as well: schemas have versions there."""
ARRAYS_AS_ROWS = "arrays-as-rows"
"""Option of JSON values with columns: an array at the top makes a row of each object in it, as in Flink's ``json``."""
MOMENTS = "timestamp-format.standard"
"""Option of JSON with a schema: Flink's name for how moments are written; here it says so of days and decimals, too."""
STANDARDS = ("SQL", "ISO-8601", "CONNECT")
"""What it may be: Flink's two, and the numbers and base64 of Connect's converter."""
PLAIN_DECIMALS = "encode.decimal-as-plain-number"
"""Option of JSON, as in Flink: decimals are written without an exponent."""
WRAPPED = "wrap-single-value"
"""Option of values with one column, ksqlDB's ``WRAP_SINGLE_VALUE``: false, and the value is the column itself."""
_JSON_OPTIONS = MOMENTS, PLAIN_DECIMALS
_TRUE_OR_FALSE = ARRAYS_AS_ROWS, PLAIN_DECIMALS, WRAPPED
STRATEGIES = ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy")
SELF_DESCRIBED = ("envelope", "avro-confluent", "protobuf-confluent")
"""Formats whose records bring their schema along, or name it."""
SCHEMALESS = ("json", "json_schema", "envelope", "string", "bytes", "debezium-json", "canal-json", "avro-confluent")
"""Formats that values without a schema can be written in: as JSON, or as Connect writes them as Avro."""
DESCRIBED = ("avro", "protobuf")
"""Formats whose schema is given beside the topic."""
READ_WHOLE = ("csv", *DESCRIBED)
"""Formats whose values are read as they are: a field that nobody needs cannot be passed over."""
DECLARED = ("json_schema", "csv", "debezium-json", "canal-json")
"""Formats whose texts are read as what people declare: decimals with digits are rounded to them, as Flink does."""
REGISTERED = ("avro-confluent", "protobuf-confluent")
"""Formats whose schemas a registry has."""

_KNOWN = {
    **dict.fromkeys(("json", "json_schema"), (ARRAYS_AS_ROWS, WRAPPED, *_JSON_OPTIONS)),
    **dict.fromkeys(("debezium-json", "canal-json"), _JSON_OPTIONS),
    "csv": CSV_OPTIONS,
    "avro": ("schema", WRAPPED),
    "protobuf": ("descriptor", "message-name"),
    "avro-confluent": (*REGISTRY_OPTIONS, *WRITING_OPTIONS, WRAPPED),
    "protobuf-confluent": (*REGISTRY_OPTIONS, *WRITING_OPTIONS),
}

_SECRETS = "put it into the environment and write ${env:NAME}, or EnvVar('NAME') of Dagster"


@dataclass(frozen=True)
class Format:
    """How one side of a record is encoded.

    Attributes:
        kind: ``json`` (schemaless), ``json_schema`` (JSON with the declared ``schema``), ``envelope`` (Connect's
            ``{"schema", "payload"}``), ``string`` (UTF-8 text) or ``bytes`` (as they are); ``short`` to
            ``boolean``: single values as Kafka's serializers write them; ``csv``: lines with the columns of ``schema``;
            ``avro-confluent``: Avro whose schema a registry has; of values only ``debezium-json`` and ``canal-json``:
            messages with a row inside.
        schema: The declared schema of ``json_schema`` and ``csv``; of messages what is read of them.
        replace_null_with_default: The JSON converter's option of that name.
        decimal_format: ``BASE64`` or ``NUMERIC``: the JSON converter's ``decimal.format``.
        options: Pairs, or a mapping, of Flink's options and of a few more; secrets as ``${env:NAME}``.
    """

    kind: FormatKind = "json"
    schema: Schema | None = None
    replace_null_with_default: bool = True
    decimal_format: Literal["BASE64", "NUMERIC"] = "BASE64"
    options: tuple[tuple[str, str], ...] | Mapping[str, str] = ()

    def __post_init__(self) -> None:
        pairs = ((key, as_reference(value)) for key, value in self.settings.items())
        object.__setattr__(self, "options", tuple(sorted(pairs)))
        known = _KNOWN.get(self.kind, ())
        hint = f"there are: {', '.join(known)}" if known else "leave it out"
        problems = []
        for k in self.settings:
            if k not in known:
                problems.append(Problem("SMT272", f"{self.kind}.{k}", "is no option", hint))
        problems += [
            Problem("SMT581", f"{self.kind}.{k}", "a secret stands in the definition", _SECRETS)
            for k, value in self.settings.items()
            if shows_secret(k, value)
        ]
        for name in _TRUE_OR_FALSE:
            if self.settings.get(name, "true").lower() not in ("true", "false"):
                place = f"{self.kind}.{name}"
                problems.append(Problem("SMT272", place, "is neither true nor false", "use one of them"))
        if MOMENTS in known and self.settings.get(MOMENTS, "SQL").upper() not in STANDARDS:
            hint = f"use {', '.join(STANDARDS)}"
            problems.append(Problem("SMT272", f"{self.kind}.{MOMENTS}", "there is no such standard", hint))
        if self.kind == "csv":
            problems += csv_problems(self.settings)
        if self.kind in REGISTERED:
            problems += self._of_registry()
        if self.kind == "protobuf" and len(self.settings) == 1:
            hint = "give both: descriptor and message-name"
            problems.append(
                Problem("SMT272", "protobuf", "a descriptor and the name of its message belong together", hint)
            )
        if problems:
            raise ConfigError(problems)

    def _of_registry(self) -> Iterator[Problem]:
        place, settings = f"{self.kind}.", self.settings
        if "url" not in settings:
            yield Problem("SMT272", f"{place}url", "is missing", "give the registry's address")
        if settings.get("subject.name.strategy", STRATEGIES[0]) not in STRATEGIES:
            yield Problem("SMT272", f"{place}subject.name.strategy", "there is none", f"use {', '.join(STRATEGIES)}")
        if settings.get("auto.register.schemas", "true").lower() not in ("true", "false"):
            yield Problem("SMT272", f"{place}auto.register.schemas", "is neither true nor false", "use one of them")

    @property
    def settings(self) -> dict[str, str]:
        """``options`` as a mapping."""
        return dict(self.options)

    @property
    def arrays_as_rows(self) -> bool:
        """Whether an array at the top of a value makes a row of each of its objects."""
        return self.settings.get(ARRAYS_AS_ROWS, "").lower() == "true"

    @property
    def is_column(self) -> bool:
        """Whether a value is its only column, without a struct around it."""
        return self.settings.get(WRAPPED, "").lower() == "false"

    @property
    def described(self) -> bool:
        """Whether the options of one of ``DESCRIBED`` give its schema."""
        return self.kind in DESCRIBED and bool({"schema", "descriptor"} & self.settings.keys())

    @property
    def text_standard(self) -> str:
        """``SQL`` or ``ISO-8601`` if days and moments are texts and decimals are plain numbers; else empty."""
        found = self.settings.get(MOMENTS, "CONNECT").upper()
        if found == "CONNECT":
            return ""
        return found

    @property
    def plain_decimals(self) -> bool:
        """Whether decimals are written without an exponent."""
        return self.settings.get(PLAIN_DECIMALS, "").lower() == "true"

    @property
    def known_schema(self) -> Schema | None:
        """The schema that every value has, as Connect's converter of this format gives it; None if it varies."""
        if self.kind in WHOLE:
            return Schema(WHOLE[self.kind], optional=True)
        return self.schema


def names_topic(settings: Mapping[str, str]) -> bool:
    """Whether the subjects of a registry's format are of topics: by default they are."""
    return "subject" not in settings and settings.get("subject.name.strategy") != "RecordNameStrategy"


@dataclass(frozen=True)
class Formats:
    """The formats of both sides of records.

    Attributes:
        key, value: The formats.
        place: What records are written to, if it is topics: ``file_topics`` or ``kafka``.
    """

    key: Format
    value: Format
    place: str = ""
