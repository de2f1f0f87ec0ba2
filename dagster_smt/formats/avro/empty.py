"""Values of Avro that take no bytes: a few bytes of a record could stand for any number of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_MOST = 16
"""In an item of an array or map that takes bytes itself: so many values are read for a byte of the record."""


@dataclass
class Empty:
    """Looks for values without bytes in types whose Connect schema was built, so none holds itself.

    Attributes:
        names: The named types.
        known: Of named types: how many values without bytes are in one, and whether it is one itself.
    """

    names: Mapping[str, Any]
    known: dict[str, tuple[int, bool]] = field(default_factory=dict)

    def endless(self, items: Any, *, keyed: bool = False) -> bool:
        """Whether a few bytes could be any number of items; ``keyed``: each has a key, which takes a byte."""
        count, whole = self.of(items)
        return (whole and not keyed) or count > _MOST

    def of(self, avro: Any) -> tuple[int, bool]:
        """How many values without bytes are in one of a type, and whether it is such a value itself."""
        if isinstance(avro, list):  # which member it is takes a byte
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
            parts = [self.of(part["type"]) for part in avro["fields"]]
            count, whole = sum(inner for inner, _ in parts), all(nothing for _, nothing in parts)
        found = count + whole, whole
        if "name" in avro:
            self.known[avro["name"]] = found
        return found
