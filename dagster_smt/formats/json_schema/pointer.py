"""Follows JSON Pointers (RFC 6901), such as ``/definitions/address``, with which a JSON Schema refers to its parts."""

from typing import Any
from urllib.parse import unquote


def part_at(document: Any, pointer: str) -> Any:
    """Returns the part of ``document`` to which ``pointer`` refers: the text behind ``#`` in a ``$ref``. Returns None
    if there is no such part.
    """
    part = document
    # a pointer in a URI is percent-encoded: #/definitions/home%20address
    for step in filter(None, unquote(pointer).split("/")):
        # RFC 6901 requires this order, so that ~01 becomes ~1 and not a slash
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(part, dict):
            part = part.get(key)
        elif isinstance(part, list) and key.isdecimal() and int(key) < len(part):
            part = part[int(key)]  # an element of an array, as in #/allOf/0
        else:
            return None
    return part
