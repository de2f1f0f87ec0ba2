"""Flattens a record into a dict from path to value, such as ``value.items[3].id`` to ``7``. The dict contains every
field of key and value, every header, and the topic.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dagster_smt.interpret.preview import RecordSnapshot
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema_size import MAX_LEVELS


class Number(str):
    """A number, stored as it is written in JSON."""

    __slots__ = ()


def leaves(record: RecordSnapshot) -> dict[str, Any]:
    """Returns a dict from path to value, such as ``{"topic": "orders", "value.items[3].id": "7"}``. It contains all
    fields of key and value, the headers and the topic.

    A value is a string, a ``Number``, a boolean or None. An empty object or array is also a value, and so is an object
    or array below ``MAX_LEVELS`` levels.
    """
    values: dict[str, Any] = {"topic": record.topic}
    for number, (name, value) in enumerate(record.headers):
        values[f"header[{number}] {name}"] = value
    for side in ("key", "value"):
        text = getattr(record, side)
        values.update(_inside(side, parsed(text)) if text is not None else {side: None})
    return values


def parsed(text: str) -> Any:
    """Parses ``text`` as JSON. Numbers stay as they are written, such as ``1.50``. If ``text`` is not JSON, or its
    brackets are nested too deeply for Python, the function returns ``text`` unchanged.
    """
    try:
        # ``float`` would turn 1.50 into 1.5, and lose digits of long numbers
        return json.loads(text, parse_float=Number, parse_int=Number)
    except (ValueError, RecursionError):  # RecursionError: too many nested brackets for the parser
        return text


def _inside(path: str, value: Any, level: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value and level < MAX_LEVELS:
        for name, child in value.items():
            yield from _inside(below(path, name), child, level + 1)
    elif isinstance(value, list) and value and level < MAX_LEVELS:
        for number, child in enumerate(value):
            yield from _inside(f"{path}[{number}]", child, level + 1)
    else:
        yield path, value
