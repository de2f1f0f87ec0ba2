"""Converters as formats: those of Apache Kafka and Confluent, and what Confluent Cloud calls them."""

from dataclasses import dataclass, field
from typing import Any

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.rules import OptionVerdict
from dagster_smt.connect.survey import Verdict
from dagster_smt.connect.template_text import template_text
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
}
_CLOUD = {
    "JSON": "json",
    "STRING": "string",
    "BYTES": "bytes",
    "AVRO": "avro-confluent",
    "PROTOBUF": "protobuf-confluent",
}
"""Values of Confluent Cloud's ``input.data.format`` and ``input.key.format``; its JSON has no schema."""
_CLOUD_OPTIONS = {"key": "input.key.format", "value": "input.data.format"}
_REGISTRY_URL = "${env:SCHEMA_REGISTRY_URL}"
_SECRETS = {
    "basic.auth.user.info": ("basic-auth.user-info", "${env:SCHEMA_REGISTRY_USER_INFO}"),
    "schema.registry.basic.auth.user.info": ("basic-auth.user-info", "${env:SCHEMA_REGISTRY_USER_INFO}"),
    "bearer.auth.token": ("bearer-auth.token", "${env:SCHEMA_REGISTRY_TOKEN}"),
}
"""Options of converters that hold secrets: what they are called here, and the variable that takes their place."""
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
class Converted:
    """What stands for a converter.

    Attributes:
        format: The format, as ``defs.yaml`` has it.
        options: A verdict on each option that the converter has.
        notes: What was assumed.
    """

    format: dict[str, Any]
    options: list[OptionVerdict] = field(default_factory=list)
    notes: list[Verdict] = field(default_factory=list)

    def say(self, option: str, verdict: Any, text: str) -> None:
        """Add a verdict."""
        self.options.append(OptionVerdict(option, verdict, text))


def converted(connector: Connector, side: str, seen: Encoding | None = None) -> Converted:
    """The format of a side of a connector's records.

    Args:
        connector: The connector.
        side: ``key`` or ``value``.
        seen: What the last records are, for a side of which the connector does not say it.
    """
    name, cloud = f"{side}.converter", _CLOUD_OPTIONS[side]
    config, head = connector.config, f"{side}.converter."
    given = config.get(name, "").strip()
    own = {}
    for key, value in config.items():
        if key.startswith(head):
            own[key.removeprefix(head)] = value
    if given:
        found = _of_kind(name, given, _CONVERTERS.get(given))
    else:
        found = _of_cloud(config.get(cloud, "").strip(), cloud, side, seen)
    if given and cloud in config:
        found.say(cloud, "not needed", f"{name} says it")
    if not given and name in config:
        found.say(name, "not needed", "it is empty")
    if not given and not config.get(cloud, "").strip():
        for option in own:
            found.say(head + option, "not needed", f"Kafka ignores it, too, without {name}")
    elif found.format["kind"] == "json":
        _of_json(found, own, head, "true" if given else "false")
    elif found.format["kind"] in REGISTERED:
        _of_registry(found, own, head)
    else:
        _of_others(found, own, head)
    return found


def _of_cloud(given: str, option: str, side: str, seen: Encoding | None) -> Converted:
    if given:
        return _of_kind(option, given, _CLOUD.get(given.upper()))
    if seen is not None and seen.kind is not None:
        what = f"the connector leaves it to its worker; the last records are {seen.text}"
        return _of_records(side, seen.kind, what)
    assumed = "string" if side == "key" else "json"
    what = f"the connector leaves it to its worker: {assumed} is assumed; change it in defs.yaml"
    return Converted({"kind": assumed}, notes=[Verdict(f"{side}.converter", "", "differs", what)])


def _of_records(side: str, kind: str, what: str) -> Converted:
    """The format that records have, which is no word of the connector's."""
    found = Converted({"kind": kind}, notes=[Verdict(f"{side}.converter", kind, "differs", what)])
    if kind in REGISTERED:
        _of_registry(found, {}, f"{side}.converter.")
    return found


def _of_kind(option: str, given: str, kind: str | None) -> Converted:
    """The format that an option names, with a verdict on the option; bytes where it names none that is read."""
    if kind is None:
        what = "bytes is written; choose a format in defs.yaml, or convert the topic to one that is read"
        unknown = Converted({"kind": "bytes"}, notes=[Verdict(option, given, "not supported", what)])
        unknown.say(option, "not done", f"this encoding is not read: {what}")
        return unknown
    known = Converted({"kind": kind})
    known.say(option, "used", f"the format {kind}")
    return known


def _of_json(found: Converted, own: dict[str, str], head: str, default: str) -> None:
    """Options of Connect's JSON converter; with schemas, its default, records are envelopes."""
    if own.get("schemas.enable", default).strip().lower() != "false":
        found.format["kind"] = "envelope"
    for option, value in own.items():
        given = value.strip().lower()
        if option == "schemas.enable":
            found.say(head + option, "used", f"the format {found.format['kind']}")
        elif option in _JSON_FLAGS and given in ("true", "false"):
            found.format[_JSON_FLAGS[option]] = given == "true"
            found.say(head + option, "used", _JSON_FLAGS[option])
        elif option == "decimal.format" and given in ("base64", "numeric"):
            found.format["decimal_format"] = given.upper()
            found.say(head + option, "used", "decimal_format")
        elif option == "schemas.cache.size":
            found.say(head + option, "not needed", "caches have bounds of their own")
        else:
            found.say(head + option, "not done", "it is unknown here what it does to this converter")


def _of_registry(found: Converted, own: dict[str, str], head: str) -> None:
    """Options of Confluent's converters with a schema registry; secrets become references to the environment."""
    settings = {"url": _REGISTRY_URL}
    for option, value in own.items():
        name = head + option
        if option == "schema.registry.url":
            settings["url"] = _address(found, name, value)
        elif option in _SECRETS:
            key, variable = _SECRETS[option]
            settings[key] = value.strip() if is_reference(value.strip()) else variable
            if is_reference(value.strip()):
                how = ("used", f"options.{key}")
            else:
                how = ("changed", _set(variable))
            found.say(name, *how)
        elif option.removeprefix("schema.registry.") in _SOURCES:
            _credentials(found, name, option.removeprefix("schema.registry."), value)
        elif option in ("key.subject.name.strategy", "value.subject.name.strategy"):
            _strategy(found, settings, name, value)
        elif option in _OF_WRITERS:
            found.say(name, "not needed", "it is about writing, and topics are read")
        elif option in _OF_CACHES:
            found.say(name, "not needed", "caches have bounds of their own, and records name their schema")
        elif option.startswith("schema.registry.ssl."):
            what = "files of Java are not read: give ssl.ca.location and its like in the format's options"
            found.say(name, "not done", what)
        else:
            found.say(name, "not done", "it is unknown here what it does to this converter")
    if "schema.registry.url" not in own:
        what = f"the connector leaves the registry's address to its worker: {_set(_REGISTRY_URL)}"
        found.notes.append(Verdict(f"{head}schema.registry.url", "", "differs", what))
    found.format["options"] = {key: template_text(value) for key, value in settings.items()}


def _address(found: Converted, name: str, value: str) -> str:
    """The registry's address, without a login; a reference to something else than the environment is a variable."""
    plain = value.strip()
    foreign = "${" in plain and not refers(plain)
    if not plain or foreign:
        found.say(name, "changed", _set(_REGISTRY_URL))
        return _REGISTRY_URL
    if shows_secret("url", plain):
        found.say(name, "changed", f"options.url without the login in it: give it in basic-auth.user-info as {_ENV}")
        return without_login(plain)
    found.say(name, "used", "options.url")
    return plain


_ENV = "${env:NAME}"


def _set(variable: str) -> str:
    return f"{variable} is written: set that variable where runs execute"


def _credentials(found: Converted, name: str, option: str, value: str) -> None:
    if value.strip().upper() in _SOURCES[option]:
        found.say(name, "used", "the login is in the format's options")
    else:
        found.say(
            name, "not done", "logins come from the format's options only: basic-auth.user-info, bearer-auth.token"
        )


def _strategy(found: Converted, settings: dict[str, str], name: str, value: str) -> None:
    strategy = value.strip().rsplit(".", 1)[-1]
    if strategy in STRATEGIES:
        settings["subject.name.strategy"] = strategy
        found.say(name, "used", "options.subject.name.strategy")
    else:
        found.say(name, "not done", f"a strategy of another: {', '.join(STRATEGIES)} are there")


def _of_others(found: Converted, own: dict[str, str], head: str) -> None:
    """Options of converters that have none, but for the encoding of texts."""
    for option, value in own.items():
        if option == "schemas.enable":
            found.say(head + option, "not needed", "this converter has no schemas")
        elif option == "encoding" and value.strip().upper() in ("UTF-8", "UTF8"):
            found.say(head + option, "used", "texts are UTF-8")
        elif option == "encoding":
            found.say(head + option, "not done", "texts are read as UTF-8 only")
        else:
            found.say(head + option, "not done", "it is unknown here what it does to this converter")
