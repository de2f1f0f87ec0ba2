"""Checks of topic names: which topics can take records."""

import re

_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
_FILE_TOPIC = re.compile(r"(?!\.)" + _TOPIC.pattern)
INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
"""Topics of the brokers: they refuse records of clients."""


def is_topic(name: str) -> bool:
    """Returns whether Kafka accepts the name for a topic."""
    return _TOPIC.fullmatch(name) is not None


def is_file_topic(name: str) -> bool:
    """Returns whether a folder of topics can hold a topic of this name.

    Names with a dot at first are the folder's own.
    """
    return _FILE_TOPIC.fullmatch(name) is not None


def takes_records(name: str, place: str) -> bool:
    """Returns whether records can be written to a topic; ``place`` is that of ``Formats``."""
    pattern, refused = names_of(place)
    return name not in refused and re.fullmatch(pattern, name) is not None


def names_of(place: str) -> tuple[str, frozenset[str]]:
    """Returns the pattern of topics that take records, for Python and Java, and the exceptions that take none."""
    if place == "file_topics":
        return (_FILE_TOPIC.pattern, frozenset())
    return (_TOPIC.pattern, INTERNAL)
