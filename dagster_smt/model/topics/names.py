"""Names of topics: which ones records can be written to."""

import re

_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
_FILE_TOPIC = re.compile(r"(?!\.)" + _TOPIC.pattern)
INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
"""Topics of the brokers themselves: they refuse records of others."""


def is_topic(name: str) -> bool:
    """Whether Kafka accepts the name for a topic."""
    return _TOPIC.fullmatch(name) is not None


def is_file_topic(name: str) -> bool:
    """Whether a folder of topics can hold one of this name: what begins with a dot is the folder's own."""
    return _FILE_TOPIC.fullmatch(name) is not None


def takes_records(name: str, place: str) -> bool:
    """Whether records can be written to a topic; ``place`` as ``model.format.Formats.place`` says it."""
    pattern, refused = names_of(place)
    return name not in refused and re.fullmatch(pattern, name) is not None


def names_of(place: str) -> tuple[str, frozenset[str]]:
    """Returns the pattern of topics that take records, as Python and Java read it, and those that take none though."""
    if place == "file_topics":
        return (_FILE_TOPIC.pattern, frozenset())
    return (_TOPIC.pattern, INTERNAL)
