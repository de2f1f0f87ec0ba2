"""Follows JSON Pointers (RFC 6901), such as ``/definitions/address``, with which a JSON Schema refers to its parts."""

from typing import Any


def part_at(document: Any, pointer: str) -> Any:
    """Returns the part of ``document`` to which ``pointer`` refers. Returns None if there is no such part."""
    part = document
    for step in filter(None, pointer.split("/")):
        # RFC 6901 requires this order, so that ~01 becomes ~1 and not a slash
        key = step.replace("~1", "/").replace("~0", "~")
        part = part.get(key) if isinstance(part, dict) else None
    return part
