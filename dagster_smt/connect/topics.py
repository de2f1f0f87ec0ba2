"""The topics that a component reads in the place of a connector, or behind one that writes topics."""

import re
from typing import Any

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.options import family_of
from dagster_smt.connect.survey import Verdict

_IDENTITY = "IdentityReplicationPolicy"
_ONE_TOPIC = ("topic", "kafka.topic")
"""What sources call the one topic that they write."""


def topics_of(connector: Connector, notes: list[Verdict]) -> dict[str, Any]:
    """``topics`` or ``pattern``, as ``defs.yaml`` has them.

    Args:
        connector: The connector.
        notes: Gets a line about those of a source.
    """
    if connector.is_sink and connector.topics:
        return {"topics": list(connector.topics)}
    if connector.is_sink:
        return {"pattern": connector.config["topics.regex"]}
    found, name = _written(connector)
    what = "a source connector: the table reads the topics that it writes"
    if connector.chain["transforms"].strip():
        what += ", and the chain is applied to them again; take the chain out of the connector, or name others"
    notes.append(Verdict("topics", name, "differs", what))
    return found


def _written(connector: Connector) -> tuple[dict[str, Any], str]:
    """The topics that a source writes, and what its configuration calls them."""
    config = connector.config
    if family_of(connector) == "mirror":
        return {"pattern": _mirrored(connector)}, config.get("topics", "")
    for option in _ONE_TOPIC:
        if config.get(option, "").strip():
            return {"topics": [config[option].strip()]}, config[option].strip()
    prefix = config.get("topic.prefix") or connector.name
    return {"pattern": f"{re.escape(prefix)}.*"}, prefix


def _mirrored(connector: Connector) -> str:
    """A pattern of topics as MirrorMaker calls them in the target cluster: ``west.orders``."""
    config = connector.config
    names = "|".join(connector.topics) or ".*"
    if config.get("replication.policy.class", "").endswith(_IDENTITY):
        return names
    alias, separator = config.get("source.cluster.alias", ""), config.get("replication.policy.separator", ".")
    return f"{re.escape(alias + separator)}({names})"
