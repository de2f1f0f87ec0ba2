"""Connectors as Kafka Connect's REST API and its users write them: many in one file, or one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dagster_smt.chain.problems import config_problem
from dagster_smt.errors import ConfigError


@dataclass(frozen=True)
class Connector:
    """A connector's configuration.

    Attributes:
        name: Its name.
        config: Its properties.
        state: What ``GET /connectors?expand=status`` says of it; empty if unknown.
    """

    name: str
    config: Mapping[str, str]
    state: str = ""

    @property
    def class_name(self) -> str:
        """Its class, or what Confluent Cloud calls it."""
        return self.config.get("connector.class", "").strip()

    @property
    def is_source(self) -> bool:
        """Whether its class writes topics; MirrorMaker has an option ``topics``, too."""
        name = self.class_name
        if name.endswith(("SourceConnector", "Source")) or name.startswith("org.apache.kafka.connect.mirror."):
            return True
        return name.startswith("io.debezium.connector.") and not name.endswith("SinkConnector")

    @property
    def is_sink(self) -> bool:
        """Whether it reads topics, as what this package does."""
        return not self.is_source and bool(self.config.get("topics") or self.config.get("topics.regex"))

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that a sink connector names."""
        return tuple(t.strip() for t in self.config.get("topics", "").split(",") if t.strip())

    @property
    def chain(self) -> dict[str, str]:
        """Its ``transforms.*`` and ``predicates.*`` properties; ``transforms`` is always there."""
        heads = ("transforms.", "predicates.")
        found = {}
        for k, v in self.config.items():
            if k in ("transforms", "predicates") or k.startswith(heads):
                found[k] = v
        return {"transforms": "", **found}


def read_connectors(data: Any, place: str) -> list[Connector]:
    """The connectors of a JSON body: one config, ``{"name", "config"}``, a list of these, or what
    ``GET /connectors?expand=info&expand=status`` answers.

    Raises:
        ConfigError: SMT018, there is none.
    """
    found = list(_connectors(data, place))
    if not found:
        hint = 'give {"name": …, "config": {…}}, or the body of GET /connectors?expand=info&expand=status'
        raise ConfigError(config_problem("SMT018", place, "there is no connector in it", hint))
    return found


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
    return Connector(name, {str(k): _text(v) for k, v in config.items()}, state)


def _text(value: Any) -> str:
    """A value as Connect has it, which knows texts only."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
