"""Translates converters into formats. The module knows the converters of Apache Kafka and Confluent, and the format
names of Confluent Cloud.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.option_rules import OptionVerdict
from dagster_smt.connect.option_verdicts import family_of
from dagster_smt.connect.survey import TransformVerdict
from dagster_smt.connect.template_text import template_text
from dagster_smt.connect.worker import NO_WORKER, Worker
from dagster_smt.model.secrets import is_reference, refers, shows_secret, without_login
from dagster_smt.model.topics.format import REGISTERED, STRATEGIES
from dagster_smt.tables.proposal.encodings import Encoding

_KAFKA = "org.apache.kafka.connect."
_CONVERTERS = {
    f"{_KAFKA}storage.StringConverter": "string",
    f"{_KAFKA}converters.ByteArrayConverter": "bytes",
    f"{_KAFKA}json.JsonConverter": "json",
    f"{_KAFKA}converters.ShortConverter": "short",
    f"{_KAFKA}converters.IntegerConverter": "integer",
    f"{_KAFKA}converters.LongConverter": "long",
    f"{_KAFKA}converters.FloatConverter": "float",
    f"{_KAFKA}converters.DoubleConverter": "double",
    f"{_KAFKA}converters.BooleanConverter": "boolean",
    "io.confluent.connect.avro.AvroConverter": "avro-confluent",
    "io.confluent.connect.protobuf.ProtobufConverter": "protobuf-confluent",
    "io.confluent.connect.json.JsonSchemaConverter": "json-confluent",
}
_CLOUD = {
    "JSON": "json",
    "STRING": "string",
    "BYTES": "bytes",
    "AVRO": "avro-confluent",
    "PROTOBUF": "protobuf-confluent",
    "JSON_SR": "json-confluent",
}
"""Maps the values of Confluent Cloud's ``input.data.format`` and ``input.key.format`` to formats. In Confluent Cloud,
JSON has no schema.
"""
_CLOUD_OPTIONS = {"key": "input.key.format", "value": "input.data.format"}
_REGISTRY_URL = "${env:SCHEMA_REGISTRY_URL}"
_SECRETS = {
    "basic.auth.user.info": ("basic-auth.user-info", "${env:SCHEMA_REGISTRY_USER_INFO}"),
    "schema.registry.basic.auth.user.info": ("basic-auth.user-info", "${env:SCHEMA_REGISTRY_USER_INFO}"),
    "bearer.auth.token": ("bearer-auth.token", "${env:SCHEMA_REGISTRY_TOKEN}"),
}
"""Maps each converter option that contains a secret to two strings: the option's name in this package, and a reference
to a variable in place of the secret.
"""
_SOURCES = {"basic.auth.credentials.source": ("USER_INFO",), "bearer.auth.credentials.source": ("STATIC_TOKEN",)}
_OF_WRITERS = (
    "auto.register.schemas",
    "use.latest.version",
    "latest.compatibility.strict",
    "normalize.schemas",
    "enhanced.avro.schema.support",
    "connect.meta.data",
    "generalized.sum.type.support",
    "optional.for.nullables",
    "flatten.unions",
    "id.compatibility.strict",
)
_OF_CACHES = ("schemas.cache.size", "schemas.cache.config", "max.schemas.per.subject", "schemas.enable")
_JSON_FLAGS = {"replace.null.with.default": "replace_null_with_default"}


@dataclass
class ConverterFormat:
    """The format that this package uses in place of a converter, with verdicts on the converter's options.

    Attributes:
        format: The format, as written in ``defs.yaml``.
        options: A verdict on each option of the converter.
        notes: The assumptions about the format.
    """

    format: dict[str, Any]
    options: list[OptionVerdict] = field(default_factory=list)
    notes: list[TransformVerdict] = field(default_factory=list)

    def say(self, option: str, verdict: Any, text: str) -> None:
        """Adds a verdict on ``option``: what became of the option, and an explanation (``text``)."""
        self.options.append(OptionVerdict(option, verdict, text))


def converter_format(
    connector: Connector, side: str, encoding: Encoding | None = None, worker: Worker = NO_WORKER
) -> ConverterFormat:
    """Returns the format of the keys or values (``side``) of a connector's records.

    Args:
        connector: The connector.
        side: ``key`` or ``value``.
        encoding: The encoding of the topics' last records. This encoding determines the format if neither the connector
            nor the worker sets a converter.
        worker: The worker's properties.
    """
    own = connector.config.get(f"{side}.converter", "") or connector.config.get(_CLOUD_OPTIONS[side], "")
    if own.strip() or not worker.converter(side).get(f"{side}.converter", "").strip():
        return _format_of(connector, side, encoding)
    # Connect creates a converter from the configuration that names its class (Plugins.newConverter). So if the worker
    # names it, only the worker's options apply.
    other_options = {}
    for k, v in connector.config.items():
        if not k.startswith(f"{side}.converter"):
            other_options[k] = v
    result = _format_of(replace(connector, config={**other_options, **worker.converter(side)}), side, None)
    unknown = [v for v in result.options if v.verdict == "not done"]
    ignored = []
    for option in connector.config:
        if option.startswith(f"{side}.converter"):
            ignored.append(
                OptionVerdict(option, "not needed", f"without {side}.converter, Kafka also ignores the option")
            )
    result.options = ignored
    text = "the worker's converter"
    if unknown:
        text += f": {unknown[0].option} {unknown[0].text}"
    verdict: Any = "not supported" if unknown else "exact"
    result.notes.append(TransformVerdict(f"{side}.converter", result.format["kind"], verdict, text))
    return result


def _format_of(connector: Connector, side: str, encoding: Encoding | None) -> ConverterFormat:
    name, cloud = f"{side}.converter", _CLOUD_OPTIONS[side]
    config, head = connector.config, f"{side}.converter."
    type_ = config.get(name, "").strip()
    own = {}
    for key, value in config.items():
        if key.startswith(head):
            own[key.removeprefix(head)] = value
    if type_:
        result = _of_kind(name, type_, _CONVERTERS.get(type_))
    else:
        result = _of_cloud(config.get(cloud, "").strip(), cloud, side, encoding, _assumed(connector, side))
    if type_ and cloud in config:
        result.say(cloud, "not needed", f"{name} decides")
    if not type_ and name in config:
        result.say(name, "not needed", "the option is empty")
    if not type_ and not config.get(cloud, "").strip():
        for option in own:
            result.say(head + option, "not needed", f"without {name}, Kafka also ignores the option")
    elif result.format["kind"] == "json":
        # Kafka's JsonConverter expects schemas by default; the formats of cloud connectors do not
        _of_json(result, own, head, "true" if type_ else "false")
    elif result.format["kind"] in REGISTERED:
        _of_registry(result, own, head)
    else:
        _of_others(result, own, head)
    return result


def _assumed(connector: Connector, side: str) -> str:
    """Returns the format to assume for keys or values (``side``) if neither the connector nor its records show the
    format.

    For most connectors, the result is ``string`` for keys and ``json`` for values. For a JDBC sink, values are JSON
    with a schema (``envelope``), because such a sink rejects values without a schema. Keys of a JDBC sink also have
    this format if their fields become columns.
    """
    if family_of(connector) != "jdbc":
        return "string" if side == "key" else "json"
    mode = connector.config.get("pk.mode", connector.config.get("primary.key.mode", "")).strip().lower()
    if side == "value" or mode == "record_key":
        return "envelope"
    return "string"


def _of_cloud(value: str, option: str, side: str, encoding: Encoding | None, assumed: str) -> ConverterFormat:
    if value:
        return _of_kind(option, value, _CLOUD.get(value.upper()))
    if encoding is not None and encoding.kind is not None:
        text = f"the connector uses its worker's converter; the last records are {encoding.text}"
        return _of_records(side, encoding.kind, text)
    text = f"the connector uses its worker's converter: the format is assumed to be {assumed}; change it in defs.yaml"
    return ConverterFormat({"kind": assumed}, notes=[TransformVerdict(f"{side}.converter", "", "differs", text)])


def _of_records(side: str, kind: str, text: str) -> ConverterFormat:
    """Returns a format of the kind ``kind`` for keys or values (``side``) for which the connector sets no converter.

    ``kind`` is the encoding of the topics' last records. ``text`` is a note about the format, for the report.
    """
    result = ConverterFormat({"kind": kind}, notes=[TransformVerdict(f"{side}.converter", kind, "differs", text)])
    if kind in REGISTERED:
        _of_registry(result, {}, f"{side}.converter.")
    return result


def _of_kind(option: str, value: str, kind: str | None) -> ConverterFormat:
    """Returns the format ``kind`` with a verdict on the option that names it. If ``kind`` is None, the value of the
    option is unknown, and the format is bytes.
    """
    if kind is None:
        text = (
            "the component has the format bytes; choose a format in defs.yaml, or convert the topic to a supported one"
        )
        unknown = ConverterFormat({"kind": "bytes"}, notes=[TransformVerdict(option, value, "not supported", text)])
        unknown.say(option, "not done", f"this encoding is not supported: {text}")
        return unknown
    known = ConverterFormat({"kind": kind})
    known.say(option, "used", f"the format {kind}")
    return known


def _of_json(result: ConverterFormat, own: dict[str, str], head: str, default: str) -> None:
    """Adds the options of Connect's JSON converter to ``result``. If ``schemas.enable`` is true, the format is
    ``envelope`` (JSON with a schema).

    Args:
        result: The format, which this function changes.
        own: The options of the converter, without the prefix, such as ``schemas.enable``.
        head: The prefix, such as ``value.converter.``.
        default: The value of ``schemas.enable`` if this option is missing.
    """
    if own.get("schemas.enable", default).strip().lower() != "false":
        result.format["kind"] = "envelope"
    for option, value in own.items():
        text = value.strip().lower()
        if option == "schemas.enable":
            result.say(head + option, "used", f"the format {result.format['kind']}")
        elif option in _JSON_FLAGS and text in ("true", "false"):
            result.format[_JSON_FLAGS[option]] = text == "true"
            result.say(head + option, "used", _JSON_FLAGS[option])
        elif option == "decimal.format" and text in ("base64", "numeric"):
            result.format["decimal_format"] = text.upper()
            result.say(head + option, "used", "decimal_format")
        elif option == "schemas.cache.size":
            result.say(head + option, "not needed", "caches have their own limits")
        else:
            _unknown(result, head, option)


def _unknown(result: ConverterFormat, head: str, option: str) -> None:
    """Adds a verdict on ``option``. The option is unknown, or only the converters of a schema registry read it."""
    if option.startswith(("schema.registry.", "basic.auth.", "bearer.auth.")) and result.format["kind"] != "bytes":
        result.say(head + option, "not needed", "this converter asks no registry, and ignores the option")
    else:
        result.say(head + option, "not done", "the effect of the option on this converter is unknown")


def _of_registry(result: ConverterFormat, own: dict[str, str], head: str) -> None:
    """Adds the options of Confluent's converters for a schema registry to ``result``. Secrets become references to
    environment variables.
    """
    settings = {"url": _REGISTRY_URL}
    for option, value in own.items():
        name = head + option
        if option == "schema.registry.url":
            settings["url"] = _address(result, name, value)
        elif option in _SECRETS:
            key, variable = _SECRETS[option]
            # a secret in plain text would be stored in defs.yaml
            settings[key] = value.strip() if is_reference(value.strip()) else variable
            if is_reference(value.strip()):
                how = ("used", f"options.{key}")
            else:
                how = ("changed", _set(variable))
            result.say(name, *how)
        elif option.removeprefix("schema.registry.") in _SOURCES:
            _credentials(result, name, option.removeprefix("schema.registry."), value)
        elif option in ("key.subject.name.strategy", "value.subject.name.strategy"):
            _strategy(result, settings, name, value)
        elif option in _OF_WRITERS:
            result.say(name, "not needed", "the option is for writing, and runs read topics")
        elif option in _OF_CACHES:
            result.say(name, "not needed", "caches have their own limits, and each record names its schema")
        elif option.startswith("schema.registry.ssl."):
            text = "Java's keystores are not supported: set ssl.ca.location and similar options in the format's options"
            result.say(name, "not done", text)
        else:
            result.say(name, "not done", "the effect of the option on this converter is unknown")
    if "schema.registry.url" not in own:
        text = f"the connector uses its worker's registry: {_set(_REGISTRY_URL)}"
        result.notes.append(TransformVerdict(f"{head}schema.registry.url", "", "differs", text))
    result.format["options"] = {key: template_text(value) for key, value in settings.items()}


def _address(result: ConverterFormat, name: str, value: str) -> str:
    """Returns the address of the registry without a login. ``value`` is the address as configured. If ``value`` is
    empty, or a reference that this package does not resolve, returns a reference to an environment variable.
    """
    plain = value.strip()
    foreign = "${" in plain and not refers(plain)
    if not plain or foreign:
        result.say(name, "changed", _set(_REGISTRY_URL))
        return _REGISTRY_URL
    if shows_secret("url", plain):
        result.say(name, "changed", f"options.url without the login: set basic-auth.user-info to a reference {_ENV}")
        return without_login(plain)
    result.say(name, "used", "options.url")
    return plain


_ENV = "${env:NAME}"


def _set(variable: str) -> str:
    return f"defs.yaml has {variable}: set that variable where runs execute"


def _credentials(result: ConverterFormat, name: str, option: str, value: str) -> None:
    if value.strip().upper() in _SOURCES[option]:
        result.say(name, "used", "the login is in the format's options")
    else:
        result.say(
            name, "not done", "logins come from the format's options only: basic-auth.user-info, bearer-auth.token"
        )


def _strategy(result: ConverterFormat, settings: dict[str, str], name: str, value: str) -> None:
    strategy = value.strip().rsplit(".", 1)[-1]
    if strategy in STRATEGIES:
        settings["subject.name.strategy"] = strategy
        result.say(name, "used", "options.subject.name.strategy")
    else:
        result.say(name, "not done", f"the strategy is unknown; the strategies are: {', '.join(STRATEGIES)}")


def _of_others(result: ConverterFormat, own: dict[str, str], head: str) -> None:
    """Adds a verdict on each option in ``own`` to ``result``, for a converter that reads no option except
    ``encoding``.
    """
    for option, value in own.items():
        if option == "schemas.enable":
            result.say(head + option, "not needed", "this converter has no schemas")
        elif option == "encoding" and value.strip().upper() in ("UTF-8", "UTF8"):
            result.say(head + option, "used", "texts are UTF-8")
        elif option == "encoding":
            result.say(head + option, "not done", "strings are read only as UTF-8")
        else:
            _unknown(result, head, option)
