"""Checks topic names: whether Kafka accepts a name, and whether records can be written to a topic of this name."""

import re

# the rules of org.apache.kafka.common.internals.Topic: at most 249 characters, and neither "." nor ".."
_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
_FILE_TOPIC = re.compile(r"(?!\.)" + _TOPIC.pattern)
INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
"""The brokers' internal topics, which reject records of clients."""


def is_file_topic(name: str) -> bool:
    """Returns True if a folder of file topics can contain a topic called ``name``.

    Names that begin with a dot are reserved for the folder itself.
    """
    return _FILE_TOPIC.fullmatch(name) is not None


def takes_records(name: str, place: str) -> bool:
    """Returns True if clients can write records to the topic ``name``. ``place`` is ``kafka``, or ``file_topics`` for
    topics in a folder.
    """
    pattern, refused = names_of(place)
    return name not in refused and re.fullmatch(pattern, name) is not None


def names_of(place: str) -> tuple[str, frozenset[str]]:
    """Returns two items: a regular expression for the topics to which records can be written, and a set of topics that
    match the expression but are not permitted. ``place`` is ``kafka``, or ``file_topics`` for topics in a folder. The
    expression has the same meaning in Python and Java.
    """
    if place == "file_topics":
        return (_FILE_TOPIC.pattern, frozenset())
    return (_TOPIC.pattern, INTERNAL)
