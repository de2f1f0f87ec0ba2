"""Collects the tags of a field: those in the schema itself, and those in the schema's metadata. Rules of a registry
apply to the fields with certain tags.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dagster_smt.errors import needs_extras

Tags = tuple[tuple[str, tuple[str, ...]], ...]
"""The tags in the metadata of a schema. ``("shop.*.email", ("PII",))`` gives the tag ``PII`` to all fields whose full
name matches the pattern.
"""
Change = Callable[[bytes, bool], bytes]
"""A function that returns the new data of a field. Its arguments are the old data, and True if the field is a
string.
"""
_INLINE = "confluent:tags"


def all_tags(name: str, own: Iterable[str], tags: Tags) -> set[str]:
    """Returns all tags of the field with the full name ``name``: ``own``, and the tags in ``tags`` whose pattern
    matches the name.
    """
    with needs_extras():
        from confluent_kafka.schema_registry.wildcard_matcher import wildcard_match
    names = set(own)
    for pattern, more in tags:
        if wildcard_match(name, pattern):
            names.update(more)
    return names


def inline_tags(node: Mapping[str, Any]) -> Iterable[str]:
    """Returns the tags in ``node``, a field of Avro or a property of JSON Schema."""
    inline = node.get(_INLINE) or ()
    if isinstance(inline, str):
        return (inline,)
    names: Iterable[str] = inline
    return names
