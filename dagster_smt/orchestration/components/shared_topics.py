"""Determines which component observes a topic that several components read. Only one component may observe the topic,
because an asset can be defined only once.
"""

from collections.abc import Sequence
from typing import Protocol

import dagster as dg

from dagster_smt.errors import ConfigError
from dagster_smt.orchestration.definitions.topic_assets import same_key
from dagster_smt.orchestration.definitions.translator import SmtAssetData, topic_keys
from dagster_smt.tables.topic_table import TopicTable


class ReadsTopics(Protocol):
    """A component that reads the topics of ``table``. If ``observe_topics`` is set, the component also observes
    them.
    """

    asset_key: dg.AssetKey
    table: TopicTable
    observe_topics: bool

    def get_topic_spec(self, spec: dg.AssetSpec, data: SmtAssetData) -> dg.AssetSpec:
        """Returns the spec of a topic, given the default ``spec``."""
        ...


def observed_elsewhere(component: ReadsTopics, data: SmtAssetData, others: Sequence[ReadsTopics]) -> set[dg.AssetKey]:
    """Returns the keys of a component's topics that another component observes.

    If several components read a topic of the same cluster, the component whose asset key sorts first observes the
    topic. If two clusters have a topic of the same name, both components define its asset, and Dagster reports the
    duplicate key.

    Args:
        component: The component.
        data: The data of the component's asset. ``get_topic_spec`` needs it to determine the keys of topics.
        others: All components of the project.

    Raises:
        ConfigError: SMT037, the pattern of another component is different, but has the same asset key.
    """
    elsewhere = set()
    keys = set(topic_keys(component.table))
    for other in others:
        if not other.observe_topics or other.asset_key.to_user_string() >= component.asset_key.to_user_string():
            continue
        if other.table.source.place != component.table.source.place:
            continue
        for key in keys.intersection(topic_keys(other.table)):
            # if the translations of two components differ, such as in key_prefix, each has its own asset for the topic
            spec = dg.AssetSpec(key)
            if other.get_topic_spec(spec, data).key != component.get_topic_spec(spec, data).key:
                continue
            # the key of a pattern has three parts, as in kafka/pattern/orders; the key of a topic has two
            if len(key.path) > 2 and other.table.pattern != component.table.pattern:
                raise ConfigError(same_key(key, other.table.pattern, component.table.pattern))
            elsewhere.add(key)
    return elsewhere
