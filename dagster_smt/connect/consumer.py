"""Translates a connector's options for topics, clients and headers, and its references such as
``${file:/secrets:password}``. Components of tables and components of topics share this code.
"""

from collections.abc import Iterator
from typing import Any

from dagster_smt.connect.catalog import catalog
from dagster_smt.connect.chains import is_looked_up
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.option_rules import UNRESOLVED, OptionVerdict
from dagster_smt.connect.option_verdicts import family_of
from dagster_smt.connect.template_text import template_texts
from dagster_smt.connect.worker import Worker
from dagster_smt.model.secrets import refers, shows_secret

ISOLATION = "consumer.override.isolation.level"
DEAD_LETTERS = "errors.deadletterqueue.topic.name"
_LEVELS = ("read_committed", "read_uncommitted")
_NAMES = ("name", "topics", "topics.regex", "topic.prefix", "fields.whitelist", "iceberg.tables", DEAD_LETTERS)
"""The options whose values are written into the component unchanged."""
_LOGIN = "consumer.override."
_OF_LOGIN = ("sasl.", "ssl.", "security.protocol")
_HEADER_TRANSFORMS = (
    "HeaderFrom",
    "InsertHeader",
    "DropHeaders",
    "HasHeaderKey",
    "HeaderToValue",
    "ExtractNewRecordState",
)
_OF_ALL = ("topics", "topics.regex", "transforms", "predicates", "input.data.format", "input.key.format")
_OF_CONVERTERS = ("key.converter", "value.converter", "header.converter", "transforms.", "predicates.")
_SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"


def client_source(connector: Connector, source: dict[str, Any], worker: Worker) -> dict[str, Any]:
    """Returns ``source`` with the isolation level and the login of the connector's consumer.

    The login is added only if its secrets are references, such as ``${file:/secrets:password}``.
    """
    if "kafka" not in source:
        return source
    kafka = dict(source["kafka"])
    level = (connector.config.get(ISOLATION, "").strip() or worker.consumer("isolation.level")).lower()
    if level in _LEVELS and connector.is_sink:
        kafka["isolation_level"] = level
    login = _login(connector)
    if login:
        options = {}
        for name, value in login.items():
            options[f"kafka.{name}"] = value
        kafka["options"] = template_texts({**kafka.get("options", {}), **options})
    return {**source, "kafka": kafka}


def _login(connector: Connector) -> dict[str, str]:
    """Returns the login options of the consumer of ``connector``. If one of these options contains a secret in plain
    text, the result is empty.
    """
    login = {}
    for option, value in connector.config.items():
        name = option.removeprefix(_LOGIN)
        if option.startswith(_LOGIN) and name.startswith(_OF_LOGIN):
            login[name] = value.strip()
    if any(shows_secret(name, value) for name, value in login.items()):
        return {}
    return login


def _unresolved_login(connector: Connector) -> Iterator[OptionVerdict]:
    """Yields verdicts on login options that refer to a configuration provider of Connect. This package has no such
    provider.
    """
    for option, value in connector.config.items():
        name = option.removeprefix(_LOGIN)
        is_login = option.startswith(_LOGIN) and name.startswith(_OF_LOGIN)
        if is_login and is_looked_up(value) and not refers(value):
            yield OptionVerdict(option, "not done", UNRESOLVED)


def topic_sink(source: dict[str, Any]) -> dict[str, Any]:
    """Returns a sink that writes to topics in the cluster or folder of ``source``."""
    if "kafka" not in source:
        return {"files": {"path": source["files"]}}
    options = {}
    for name, value in source["kafka"].items():
        # only a consumer has an isolation level
        if name != "isolation_level":
            options[name] = value
    return {"kafka": options}


def of_topics_and_consumer(connector: Connector, source: dict[str, Any]) -> Iterator[OptionVerdict]:
    """Yields a verdict on each option of ``connector`` that concerns topics or the consumer."""
    config = connector.config
    if "topics" in config and not connector.is_sink:
        yield OptionVerdict("topics", "changed", "table.pattern: their names in the target cluster")
    elif "topics" in config:
        several = len(connector.topics) > 1
        text = "one table holds all topics; its source columns name the topic"
        yield OptionVerdict("topics", *(("changed", text) if several else ("used", "table.topics")))
    if "topics.regex" in config:
        text = "table.pattern: one table holds all topics; its source columns name the topic"
        yield OptionVerdict("topics.regex", "changed", text)
    level = config.get(ISOLATION, "").strip().lower()
    if level and level not in _LEVELS:
        yield OptionVerdict(ISOLATION, "not done", "the level is unknown")
    if family_of(connector) == "search" and not _each_is_new(connector):
        text = "a record replaces the document of its key (key.ignore is false); the table has a row for each record"
        yield OptionVerdict("connector.class", "not done", text)
    if "kafka" in source:
        for name in _login(connector):
            yield OptionVerdict(f"{_LOGIN}{name}", "used", "table.source.kafka.options")
        yield from _unresolved_login(connector)


def _each_is_new(connector: Connector) -> bool:
    names = ("key.ignore", "use.autogenerated.ids")
    for name in names:
        if connector.config.get(name, "").strip().lower() == "true":
            return True
    return False


def of_options_that_stay(connector: Connector) -> Iterator[OptionVerdict]:
    """Yields a verdict on each option of ``connector`` that all connectors have, such as ``tasks.max``. The connector
    stays in use, so these options stay as they are.
    """
    for option in connector.config:
        known = None
        for rule in catalog().rules:
            if not rule.families and rule.names(option):
                known = rule
                break
        if known is not None or option in _OF_ALL or option.startswith(_OF_CONVERTERS):
            yield OptionVerdict(option, "not needed", "the connector stays as it is")


def of_headers(connector: Connector, kind: str) -> Iterator[OptionVerdict]:
    """Yields the verdict "not needed" on each option of the header converter. Yields nothing if the converter is
    Connect's default, or if a transform may read or write headers.

    Args:
        connector: The connector.
        kind: The output of the component: ``columns``, ``records`` or ``topic``.
    """
    if connector.config.get("header.converter", "").strip() == _SIMPLE:
        return
    types = []
    for name, value in connector.chain.items():
        if name.endswith(".type"):
            types.append(value.rsplit(".", 1)[-1])
    # the beginning of the name, because of HeaderFrom$Key and HeaderFrom$Value
    if any(type_.startswith(_HEADER_TRANSFORMS) for type_ in types):
        return
    text = "no transform reads headers, and the table has no column for one"
    if kind != "columns":
        text = "no transform reads headers: they are written as they are"
    for option in connector.config:
        if option == "header.converter" or option.startswith("header.converter."):
            yield OptionVerdict(option, "not needed", text)


def of_references(connector: Connector) -> Iterator[OptionVerdict]:
    """Yields a verdict on each option of ``connector`` that contains a reference in place of a name, such as
    ``topics=${file:/names:topic}``. The component would use the text of the reference itself as the name.
    """
    for option in _NAMES:
        if is_looked_up(connector.config.get(option, "")):
            yield OptionVerdict(option, "not done", "Connect resolves this reference: write the value itself")
