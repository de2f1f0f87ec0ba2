"""Describes Kafka clusters as plain data: servers, client options, and references to secrets.

Options are spelled as in Spark: ``kafka.`` in front of Kafka's own names. A value may contain references to environment
variables (``${env:NAME}``), as for Connect's ``EnvVarConfigProvider``, or it may be a Dagster ``EnvVar``. The
references are resolved when a client is created. So a definition, its ``repr``, its metadata and its messages contain
only the names of variables. There is one exception: if no broker responds, the message shows the addresses of the
brokers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.secrets import as_reference, resolved, shows_secret

_ADDRESSES = re.compile(r"[\w.\-\[\]:]+:\d+(\s*,\s*[\w.\-\[\]:]+:\d+)*")
OURS = {
    "kafka.bootstrap.servers": "it is bootstrap_servers",
    "kafka.group.id": "Spark names a group for each read; progress is the table's",
    "kafka.isolation.level": "it is isolation_level",
    "assign": "the run names partitions and offsets",
    "subscribe": "topics are named by the topic table",
    "subscribePattern": "topics are named by the topic table",
    "startingOffsets": "the run names partitions and offsets",
    "endingOffsets": "the run names partitions and offsets",
    "startingTimestamp": "the run config has window.since",
    "endingTimestamp": "the run config has window.until",
    "startingOffsetsByTimestamp": "the run config has window.since",
    "endingOffsetsByTimestamp": "the run config has window.until",
    "failOnDataLoss": "the topic table has on_data_loss",
    "includeHeaders": "headers are always read",
    "topic": "the chain's routers choose it",
    **dict.fromkeys(
        (
            *("kafka.auto.offset.reset", "kafka.enable.auto.commit", "kafka.interceptor.classes"),
            *("kafka.key.deserializer", "kafka.value.deserializer", "kafka.key.serializer", "kafka.value.serializer"),
        ),
        "Spark sets it",
    ),
}
"""Maps options that users cannot set to the reason why they cannot set them."""


@dataclass(frozen=True)
class NewTopics:
    """Settings for the creation of missing topics.

    Attributes:
        partitions: The number of partitions of each topic.
        replication_factor: The number of copies of each partition; -1 for the broker's default.
        settings: Topic settings, such as ``cleanup.policy``.
    """

    partitions: int = 1
    replication_factor: int = -1
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class KafkaTopics:
    """The topics of a Kafka cluster.

    Attributes:
        bootstrap_servers: ``host:port``, or several of them separated by commas. The value may refer to an environment
            variable.
        options: Options of Kafka's Java clients as Spark spells them (``kafka.security.protocol``), and options of
            Spark's reader and writer. Secrets are references: ``${env:NAME}`` or a Dagster ``EnvVar``.
        client_options: Options of librdkafka, for the client that lists topics and offsets. Most of librdkafka's
            options are derived from ``options``. Set only those that librdkafka spells differently.
        isolation_level: ``read_committed`` skips aborted transactions, and ends before the first open transaction.
            ``read_uncommitted`` also reads the records of aborted and open transactions.
        create: Settings with which a run creates missing target topics. If None, a missing target topic is an error.
        timeout: The time limit of each request to the brokers, in seconds.
    """

    bootstrap_servers: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    client_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    isolation_level: Literal["read_committed", "read_uncommitted"] = "read_committed"
    create: NewTopics | None = None
    timeout: float = 30.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "bootstrap_servers", as_reference(self.bootstrap_servers))
        for name in ("options", "client_options"):
            references = {}
            for k, v in getattr(self, name).items():
                references[k] = as_reference(v)
            object.__setattr__(self, name, references)
        problems = [*_option_problems(self.options), *_secret_problems(self.client_options, "client_options")]
        choices = {
            "bootstrap_servers": (bool(self.bootstrap_servers.strip()), "host:port, several with commas"),
            "isolation_level": (self.isolation_level in ("read_committed", "read_uncommitted"), "read_committed"),
            "timeout": (self.timeout > 0, "a number of seconds above 0"),
        }
        for name, (fine, hint) in choices.items():
            if not fine:
                problems.append(
                    Problem("SMT580", f"KafkaTopics {name}", "is not an option of Kafka topics", f"use {hint}")
                )
        if problems:
            raise ConfigError(problems)

    @property
    def place(self) -> str:
        """The name of the cluster in messages."""
        return self.bootstrap_servers

    @property
    def servers(self) -> str:
        """The bootstrap servers.

        Raises:
            ConfigError: SMT582, a variable is not set.
        """
        return resolved({"bootstrap_servers": self.bootstrap_servers}, "KafkaTopics")["bootstrap_servers"]

    @property
    def addressed(self) -> str:
        """The name of the cluster in messages, together with the addresses of its brokers:
        ``${env:SERVERS} (broker-1:9092)``. If the variable contains anything but addresses, only the name is returned,
        because the variable may contain a secret.
        """
        servers = self.servers
        if servers == self.bootstrap_servers or not _ADDRESSES.fullmatch(servers):
            return self.place
        return f"{self.place} ({servers})"

    def kafka_options(self) -> dict[str, str]:
        """Returns the options for Kafka's own clients, without Spark's prefix. The options contain secrets, so do not
        show them.

        Raises:
            ConfigError: SMT582, a variable is not set.
        """
        options = {}
        for k, v in self.options.items():
            if k.startswith("kafka."):
                options[k] = v
        client_options = {}
        for k, v in resolved(options, "KafkaTopics options").items():
            client_options[k.removeprefix("kafka.")] = v
        return client_options

    def spark_options(self) -> dict[str, str]:
        """Returns the options without the prefix ``kafka.``, such as ``minPartitions``. Spark itself reads these
        options.
        """
        results = {}
        for k, v in self.options.items():
            if not k.startswith("kafka."):
                results[k] = v
        return results

    def connector_options(self) -> dict[str, str]:
        """Returns the options for Spark's reader and writer of the cluster. The options contain secrets, so do not show
        them.

        Raises:
            ConfigError: SMT582, a variable is not set.
        """
        own = {}
        for key, value in self.kafka_options().items():
            own[f"kafka.{key}"] = value
        return {**self.spark_options(), **own, "kafka.bootstrap.servers": self.servers}


def _option_problems(options: Mapping[str, Any]) -> list[Problem]:
    # the annotations of the options say that values are strings, but users may pass any type
    refused = []
    for key in options:
        if key in OURS:
            refused.append((key, "is not yours to set", OURS[key]))
    for key, value in options.items():
        if not isinstance(value, str):
            refused.append((key, "is no text", "write it in quotes"))
    problems = []
    for key, *why in refused:
        problems.append(Problem("SMT580", f"KafkaTopics options {key}", *why))
    return problems + _secret_problems(options, "options")


def _secret_problems(options: Mapping[str, Any], place: str) -> list[Problem]:
    hint = "put the secret into the environment and write ${env:NAME}, or EnvVar('NAME') of Dagster"
    results = []
    for key, value in options.items():
        if isinstance(value, str) and shows_secret(key, value):
            results.append(Problem("SMT581", f"KafkaTopics {place} {key}", "the definition contains a secret", hint))
    return results
