"""Determines the topics that a component reads: the topics of a sink connector, or the topics that a source connector
writes.
"""

import re
from typing import Any

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.option_verdicts import family_of
from dagster_smt.connect.survey import TransformVerdict

_IDENTITY = "IdentityReplicationPolicy"
_ONE_TOPIC = ("topic", "kafka.topic")
"""The options that contain the topic of a source with only one topic."""


def topics_of(connector: Connector, notes: list[TransformVerdict]) -> dict[str, Any]:
    """Returns the topics of ``connector`` as they are written in ``defs.yaml``: under ``topics``, or as a pattern under
    ``pattern``.

    Args:
        connector: The connector.
        notes: Receives a line about the topics of a source.
    """
    if connector.is_sink and connector.topics:
        return {"topics": list(connector.topics)}
    if connector.is_sink:
        return {"pattern": connector.config["topics.regex"]}
    topics, name = _written(connector)
    text = "a source connector: the table reads the topics that the connector writes"
    if connector.chain["transforms"].strip():
        text += ", and applies its chain; apply the changes in connector.patch.json, which remove the connector's chain"
    notes.append(TransformVerdict("topics", name, "differs", text))
    return topics


def _written(connector: Connector) -> tuple[dict[str, Any], str]:
    """Returns two items: the topics that the source ``connector`` writes, and the value of the option for these topics,
    such as a prefix.
    """
    config = connector.config
    if family_of(connector) == "mirror":
        return {"pattern": _mirrored(connector)}, config.get("topics", "")
    for option in _ONE_TOPIC:
        if config.get(option, "").strip():
            return {"topics": [config[option].strip()]}, config[option].strip()
    prefix = config.get("topic.prefix") or connector.name
    return {"pattern": f"{re.escape(prefix)}.*"}, prefix


def _mirrored(connector: Connector) -> str:
    """Returns a pattern for the names that the MirrorMaker ``connector`` gives to topics in the target cluster, such as
    ``west.orders``.
    """
    config = connector.config
    names = "|".join(connector.topics) or ".*"
    if config.get("replication.policy.class", "").endswith(_IDENTITY):
        return names
    alias, separator = config.get("source.cluster.alias", ""), config.get("replication.policy.separator", ".")
    return f"{re.escape(alias + separator)}({names})"
