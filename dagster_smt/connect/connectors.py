"""Reads connectors in the forms that Kafka Connect's REST API and users write. A file contains one connector or
many.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dagster_smt.chain.problems import config_problem
from dagster_smt.errors import ConfigError


@dataclass(frozen=True)
class Connector:
    """A connector's configuration.

    Attributes:
        name: The name of the connector.
        config: The properties.
        state: The state from ``GET /connectors?expand=status``; empty if unknown.
        table: If the connector writes several tables, the name of the one table that this object describes. Empty if
            the object describes the whole connector.
        ignored: The names of options that are not in ``config`` because Connect ignores them: options of a converter
            whose class the worker sets.
    """

    name: str
    config: Mapping[str, str]
    state: str = ""
    table: str = ""
    ignored: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name for reports and for the component's folder: the connector's name, followed by the table if this
        object describes one of several tables.
        """
        return f"{self.name}.{self.table}" if self.table else self.name

    @property
    def class_name(self) -> str:
        """The class of the connector, or its name in Confluent Cloud."""
        return self.config.get("connector.class", "").strip()

    @property
    def is_source(self) -> bool:
        """True if the connector is a source, which writes to topics. MirrorMaker is a source as well, although it has
        the option ``topics``, like a sink.
        """
        name = self.class_name
        if name.endswith(("SourceConnector", "Source")) or name.startswith("org.apache.kafka.connect.mirror."):
            return True
        # Debezium's sources have names such as PostgresConnector; its sinks are called JdbcSinkConnector and so on
        return name.startswith("io.debezium.connector.") and not name.endswith("SinkConnector")

    @property
    def is_sink(self) -> bool:
        """True if the connector is a sink, which reads from topics."""
        return not self.is_source and bool(self.config.get("topics") or self.config.get("topics.regex"))

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that a sink connector names."""
        return tuple(names_in(self.config.get("topics", "")))

    @property
    def group(self) -> str:
        """The consumer group of a sink connector's tasks."""
        return self.config.get("consumer.override.group.id", "").strip() or f"connect-{self.name}"

    @property
    def chain(self) -> dict[str, str]:
        """The ``transforms.*`` and ``predicates.*`` properties. The result always has the key ``transforms``, even if
        the connector has no transforms.
        """
        heads = ("transforms.", "predicates.")
        properties = {}
        for k, v in self.config.items():
            if k in ("transforms", "predicates") or k.startswith(heads):
                properties[k] = v
        return {"transforms": "", **properties}


def names_in(text: str) -> list[str]:
    """Returns the names in ``text``, a comma-separated list."""
    names = []
    for name in text.split(","):
        if name.strip():
            names.append(name.strip())
    return names


def read_connectors(data: Any, place: str) -> list[Connector]:
    """Returns the connectors in ``data``, the JSON body of a file or a response.

    The body is one of these: a connector's properties, an object ``{"name", "config"}``, a list of such items, or the
    response to ``GET /connectors?expand=info&expand=status``.

    Raises:
        ConfigError: SMT018, the body has no connector.
    """
    connectors = list(_connectors(data, place))
    if not connectors:
        hint = 'give {"name": …, "config": {…}}, or the body of GET /connectors?expand=info&expand=status'
        raise ConfigError(config_problem("SMT018", place, "the file or answer has no connector", hint))
    return connectors


def _connectors(data: Any, place: str) -> Iterator[Connector]:
    if isinstance(data, list):
        for item in data:
            yield from _connectors(item, place)
    elif isinstance(data, Mapping) and isinstance(data.get("config"), Mapping):
        yield _connector(str(data.get("name") or data["config"].get("name") or place), data["config"])
    elif isinstance(data, Mapping) and "connector.class" in data:
        yield _connector(str(data.get("name") or place), data)
    elif isinstance(data, Mapping):
        for name, expanded in data.items():
            info = expanded.get("info") if isinstance(expanded, Mapping) else None
            if isinstance(info, Mapping) and isinstance(info.get("config"), Mapping):
                status = expanded.get("status") or {}
                if isinstance(status, Mapping):
                    state = (status.get("connector") or {}).get("state", "")
                else:
                    state = ""
                yield _connector(str(name), info["config"], str(state))


def _connector(name: str, config: Mapping[str, Any], state: str = "") -> Connector:
    texts = {}
    for k, v in config.items():
        texts[str(k)] = _text(v)
    return Connector(name, texts, state)


def _text(value: Any) -> str:
    """Returns ``value`` as a string, as Connect stores it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
