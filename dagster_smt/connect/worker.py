"""Reads the configuration of a Connect worker: the default converters of its connectors, and its configuration
providers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dagster_smt.chain.properties import read_properties
from dagster_smt.connect.connectors import Connector
from dagster_smt.errors import ConfigError, Problem

_PROVIDERS = {
    "FileConfigProvider": "file",
    "DirectoryConfigProvider": "dir",
    "EnvVarConfigProvider": "env",
    "EnvironmentVariableConfigProvider": "env",
}
"""Maps class names of configuration providers to the usual names of these providers. The mapping contains the providers
of Kafka and Strimzi whose references this package resolves.
"""
# the beginning of a reference with the name of its provider: ${secrets:
_REFERENCE = re.compile(r"\$\{([\w.-]+):")


@dataclass(frozen=True)
class Worker:
    """The properties of a Connect worker.

    Attributes:
        config: The properties; empty if they are unknown.
    """

    config: Mapping[str, str] = field(default_factory=dict)

    def converter(self, side: str) -> dict[str, str]:
        """Returns the worker's converter for keys or values, with the options of the converter. ``side`` is ``key`` or
        ``value``.
        """
        name = f"{side}.converter"
        options = {}
        for k, v in self.config.items():
            if k == name or k.startswith(f"{name}."):
                options[k] = v
        return options

    def consumer(self, option: str) -> str:
        """Returns the worker's setting of ``option`` for the consumers of sinks; empty if the worker does not set the
        option.
        """
        return self.config.get(f"consumer.{option}", "").strip()

    def with_usual_providers(self, connector: Connector) -> Connector:
        """Returns ``connector`` with references that name each provider by its usual name.

        A worker may give ``FileConfigProvider`` any name. If the name is ``secrets``, the reference
        ``${secrets:/run/db.properties:password}`` becomes ``${file:/run/db.properties:password}``.
        """
        usual = {}
        for name in self.config.get("config.providers", "").split(","):
            class_ = self.config.get(f"config.providers.{name.strip()}.class", "").strip().rpartition(".")[2]
            if class_ in _PROVIDERS:
                usual[name.strip()] = _PROVIDERS[class_]
        if not usual:
            return connector
        config = {}
        for option, value in connector.config.items():
            config[option] = _REFERENCE.sub(lambda m: f"${{{usual.get(m[1], m[1])}:", value)
        return replace(connector, config=config)


NO_WORKER = Worker()


def read_worker(file: Path) -> Worker:
    """Returns the worker that the properties in ``file`` describe.

    Raises:
        ConfigError: SMT002, the file is not UTF-8 text.
    """
    try:
        return Worker(read_properties(file.read_text(encoding="utf-8")))
    except UnicodeDecodeError:
        problem = Problem("SMT002", file.name, "the file is not UTF-8 text", "save the file as UTF-8")
        raise ConfigError(problem) from None
