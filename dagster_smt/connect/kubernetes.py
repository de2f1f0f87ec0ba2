"""Reads connectors from Kubernetes resources: Strimzi's ``KafkaConnector``, and Confluent's ``Connector``."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dagster_smt.chain.problems import config_problem
from dagster_smt.connect.connectors import Connector, read_connectors
from dagster_smt.connect.worker import NO_WORKER, Worker
from dagster_smt.errors import ConfigError, Problem

_STRIMZI, _CONFLUENT = "KafkaConnector", "Connector"
_CONFIGS = {_STRIMZI: "config", _CONFLUENT: "configs"}
"""Maps the kind of a resource to the field of ``spec`` that contains the options."""
_OF_SPEC = {"class": "connector.class", "tasksMax": "tasks.max", "taskMax": "tasks.max"}
"""Maps fields of ``spec`` to the options of the connector. ``tasksMax`` is Strimzi's name, ``taskMax`` is
Confluent's.
"""
_CLUSTER = "KafkaConnect"
_LABEL = "strimzi.io/cluster"


def resource_connectors(documents: list[Any], place: str) -> list[Connector]:
    """Returns the connectors in ``documents``, the documents of a YAML file. Each document is a Strimzi or Confluent
    resource, or a connector in the same form as in JSON.

    A Strimzi connector names a ``KafkaConnect`` resource. If the file contains this resource, its converters apply to
    the connector, unless the connector sets its own.

    Raises:
        ConfigError: SMT018, there is no connector; SMT003, an option is not a plain value.
    """
    resources: list[Mapping[Any, Any]] = []
    for document in documents:
        resources.extend(_resources(document))
    if any(map(_is_resource, resources)):
        workers = _workers(resources)
        connectors = []
        for resource in resources:
            if resource.get("kind") in _CONFIGS:
                connectors.append(_connector(resource, workers, place))
        if connectors:
            return connectors
        hint = f"name a file with resources of the kind {' or '.join(_CONFIGS)}"
        raise ConfigError(config_problem("SMT018", place, "the file or answer has no connector", hint))
    for mapping in resources:
        config = mapping.get("config")
        _check_plain(config if isinstance(config, Mapping) else mapping, place)
    return read_connectors(resources, place)


def _resources(document: Any) -> Iterator[Mapping[Any, Any]]:
    """Yields ``document`` itself, or the items of ``document`` if it is a ``List`` of resources."""
    if not isinstance(document, Mapping):
        return
    items = document.get("items")
    if document.get("kind") == "List" and isinstance(items, list):
        for item in items:
            if isinstance(item, Mapping):
                yield item
    else:
        yield document


def _is_resource(data: Mapping[Any, Any]) -> bool:
    return "apiVersion" in data and "kind" in data


def _workers(resources: list[Any]) -> dict[str, Worker]:
    """Maps the names of clusters to the workers of the ``KafkaConnect`` resources in a file."""
    workers = {}
    for resource in resources:
        if resource.get("kind") == _CLUSTER:
            name = str(_mapping(resource.get("metadata")).get("name", ""))
            config: dict[str, Any] = {}
            for option, value in _mapping(_mapping(resource.get("spec")).get("config")).items():
                config[str(option)] = value
            workers[name] = Worker(config)
    return workers


def _connector(resource: Mapping[Any, Any], workers: Mapping[str, Worker], place: str) -> Connector:
    metadata, spec = _mapping(resource.get("metadata")), _mapping(resource.get("spec"))
    options = _mapping(spec.get(_CONFIGS[str(resource["kind"])]))
    _check_plain(options, place)
    _check_plain({name: spec.get(name) for name in _OF_SPEC}, place)
    properties: dict[str, Any] = {}
    for name, option in _OF_SPEC.items():
        if spec.get(name) is not None:
            properties[option] = spec[name]
    for name, value in options.items():
        properties[str(name)] = value
    worker = workers.get(str(_mapping(metadata.get("labels")).get(_LABEL, "")), NO_WORKER)
    ignored: list[str] = []
    for side in ("key", "value"):
        name, defaults = f"{side}.converter", worker.converter(side)
        # In Connect, a converter has only the options of the configuration that names its class. If the worker names
        # the class, the connector's own options of the converter are ignored.
        if name not in properties and name in defaults:
            _check_plain(defaults, place)
            own = [option for option in properties if option.startswith(f"{name}.")]
            for option in own:
                del properties[option]
            ignored += own
            properties |= defaults
    state = str(spec.get("state") or "")
    name = str(spec.get("name") or metadata.get("name") or place)
    (connector,) = read_connectors({"name": name, "config": properties}, place)
    return replace(connector, state=state, ignored=tuple(ignored))


def _mapping(value: Any) -> Mapping[Any, Any]:
    if isinstance(value, Mapping):
        return value
    return {}


def _check_plain(options: Mapping[Any, Any], place: str) -> None:
    """Raises an error if ``options`` contain nested values, because options are written as text. With aliases of YAML,
    a small file can describe a nested value whose text is very long.
    """
    problems = []
    for option, value in options.items():
        if isinstance(value, (Mapping, list, set, tuple)):
            problems.append(
                Problem(
                    "SMT003",
                    f"{place} {option}",
                    "the file is not a valid connector: a value is nested",
                    "write a text",
                )
            )
    if problems:
        raise ConfigError(problems)
