"""Topics as partition keys.

Kafka's names are safe for Dagster but for one thing: ``a...b`` is Dagster's syntax of a range of keys. Three dots are
written ``%2E%2E%2E``, and ``%``, which no topic contains, stays reversible as ``%25``.
"""

import dagster as dg

from dagster_smt.errors import ConfigError, Problem

OF_TIME = dg.TimeWindowPartitionsDefinition | dg.MultiPartitionsDefinition
"""Partitions that are windows of time, of all topics or of one each; they are run again themselves."""
_DOTS = "..."
_DOTS_CODE = "%2E%2E%2E"


def topic_to_partition_key(topic: str) -> str:
    """The partition key of a topic."""
    return topic.replace("%", "%25").replace(_DOTS, _DOTS_CODE)


def partition_key_to_topic(key: str) -> str:
    """The topic of a partition key."""
    return key.replace(_DOTS_CODE, _DOTS).replace("%25", "%")


def topic_dimension(partitions: dg.PartitionsDefinition | None, place: str) -> str:
    """The dimension that names topics, of partitions that are a topic at a time; empty for all others.

    Raises:
        ConfigError: SMT045, there are several dimensions, but not one of time windows and one of topics.
    """
    if not isinstance(partitions, dg.MultiPartitionsDefinition):
        return ""
    kinds = {}
    for d in partitions.partitions_defs:
        kinds[d.name] = isinstance(d.partitions_def, dg.TimeWindowPartitionsDefinition)
    topics = [name for name, is_time in kinds.items() if not is_time]
    if len(topics) != 1 or len(kinds) != 2:
        hint = "give one dimension of time windows, and one of topics, dynamic or static"
        raise ConfigError(Problem("SMT045", f"{place} partitions_def", "its dimensions are not topic and time", hint))
    return topics[0]
