"""Names of topics: which ones records can be written to."""

import re

_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
"""Topics of the brokers themselves: they refuse records of others."""


def is_topic(name: str) -> bool:
    """Whether Kafka accepts the name for a topic."""
    return _TOPIC.fullmatch(name) is not None


def is_file_topic(name: str) -> bool:
    """Whether a folder of topics can hold one of this name: what begins with a dot is the folder's own."""
    return is_topic(name) and not name.startswith(".")


def takes_records(name: str, place: str) -> bool:
    """Whether records can be written to a topic; ``place`` as ``model.format.Formats.place`` says it."""
    if place == "file_topics":
        return is_file_topic(name)
    return is_topic(name) and name not in INTERNAL
