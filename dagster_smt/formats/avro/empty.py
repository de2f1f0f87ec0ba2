"""Recognizes Avro types whose values take up no bytes, such as null.

Without this check, a few bytes of a record could describe billions of values: an array of nulls takes up only the bytes
of its length.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_MOST = 16
"""The largest permitted number of values without bytes, such as nulls, in one item of an array or map.

Arrays whose items take up no bytes at all are always rejected, so each item takes up at least one byte. For each byte
of a record, a reader therefore creates at most 16 values without bytes.
"""


@dataclass
class Empty:
    """A counter of values that take up no bytes in Avro, such as nulls and empty records.

    The method ``of`` calls itself for the inner types of a type. The recursion ends, because a type with a Connect
    schema never contains itself.

    Attributes:
        names: Maps the names of the Avro types to their definitions.
        known: Caches the results of the method ``of``, by the name of the type.
    """

    names: Mapping[str, Any]
    known: dict[str, tuple[int, bool]] = field(default_factory=dict)

    def endless(self, items: Any, *, keyed: bool = False) -> bool:
        """Returns True if an array or map must be rejected, because a few bytes of a record could describe a huge
        number of values: for example, an array of a billion nulls. ``items`` is the Avro type of the items.

        ``keyed`` is true for a map. Each item of a map has a key, which takes up at least one byte.
        """
        count, whole = self.of(items)
        return (whole and not keyed) or count > _MOST

    def of(self, avro: Any) -> tuple[int, bool]:
        """Returns a pair for the type ``avro``: the largest number of values that take up no bytes, such as nulls,
        inside one value of the type; and True if the whole value takes up no bytes.

        The value itself is counted. A record with two null fields gives ``(3, True)``: two nulls, and the record.
        """
        if isinstance(avro, list):  # a union takes up at least one byte, for the number of its member
            return max((self.of(member)[0] for member in avro), default=0), False
        if isinstance(avro, str):
            if avro in self.known:
                return self.known[avro]
            return self._typed(self.names.get(avro, {"type": avro}))
        inner = avro["type"]
        if isinstance(inner, list | dict):
            return self.of(inner)
        return self._typed(avro)

    def _typed(self, avro: dict[str, Any]) -> tuple[int, bool]:
        kind, count, whole = avro["type"], 0, avro["type"] == "null"
        if kind == "fixed":
            whole = avro["size"] == 0
        if kind == "record":
            parts = []
            for part in avro["fields"]:
                parts.append(self.of(part["type"]))
            count, whole = sum(inner for inner, _ in parts), all(nothing for _, nothing in parts)
        result = count + whole, whole
        if "name" in avro:
            self.known[avro["name"]] = result
        return result
