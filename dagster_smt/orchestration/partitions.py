"""Topics as partition keys.

Kafka's names are safe for Dagster but for one thing: ``a...b`` is Dagster's syntax of a range of keys. Three dots are
written ``%2E%2E%2E``, and ``%``, which no topic contains, stays reversible as ``%25``.
"""

_DOTS = "..."
_DOTS_CODE = "%2E%2E%2E"


def topic_to_partition_key(topic: str) -> str:
    """The partition key of a topic."""
    return topic.replace("%", "%25").replace(_DOTS, _DOTS_CODE)


def partition_key_to_topic(key: str) -> str:
    """The topic of a partition key."""
    return key.replace(_DOTS_CODE, _DOTS).replace("%25", "%")
