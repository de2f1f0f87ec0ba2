"""Converts topics to partition keys, and partition keys to topics.

Kafka's topic names are valid partition keys, with one exception: ``a...b`` is Dagster's syntax for a range of keys.
Three dots therefore become ``%2E%2E%2E``: the key of ``a...b`` is ``a%2E%2E%2Eb``. A ``%``, which Kafka does not allow
in topic names, becomes ``%25``. So every topic can be restored from its key.
"""

import dagster as dg

from dagster_smt.errors import ConfigError, Problem

OF_TIME = dg.TimeWindowPartitionsDefinition | dg.MultiPartitionsDefinition
"""The types of Dagster partitions by time. In the first type, a partition is a time span, and covers all topics. In the
second type, a partition is a time span of a single topic. To process records again, users launch a partition again.
"""
_DOTS = "..."
_DOTS_CODE = "%2E%2E%2E"


def topic_to_partition_key(topic: str) -> str:
    """Returns the partition key for ``topic``. The key equals the topic, but three dots become ``%2E%2E%2E``, and ``%``
    becomes ``%25``.
    """
    return topic.replace("%", "%25").replace(_DOTS, _DOTS_CODE)


def partition_key_to_topic(key: str) -> str:
    """Returns the topic for the partition key ``key``."""
    return key.replace(_DOTS_CODE, _DOTS).replace("%25", "%")


def topic_dimension(partitions: dg.PartitionsDefinition | None, place: str) -> str:
    """Returns the name of the topic dimension, if ``partitions`` has two dimensions: topics and time windows.

    Returns an empty string if ``partitions`` has only one dimension, or is None.

    Raises:
        ConfigError: SMT045, ``partitions`` has two dimensions, but they are not topics and time windows.
    """
    if not isinstance(partitions, dg.MultiPartitionsDefinition):
        return ""
    kinds = {}
    for d in partitions.partitions_defs:
        kinds[d.name] = isinstance(d.partitions_def, dg.TimeWindowPartitionsDefinition)
    topics = []
    for name, is_time in kinds.items():
        if not is_time:
            topics.append(name)
    if len(topics) != 1 or len(kinds) != 2:
        hint = "give one dimension of time windows, and one of topics, dynamic or static"
        raise ConfigError(Problem("SMT045", f"{place} partitions_def", "its dimensions are not topic and time", hint))
    return topics[0]
