"""What is made once per schema, kept within bounds: a topic may have more schemas than memory."""

from collections.abc import Callable
from typing import Generic, TypeVar

from dagster_smt.model.schema import Schema

K = TypeVar("K")
V = TypeVar("V")
LIMIT = 1000


class Cache(dict[K, V]):
    """A dict that forgets everything before it holds more than ``LIMIT`` entries.

    A key may be the ``id`` of a schema if the entry holds that schema: the id is then no other object's for as long as
    the entry is there.
    """

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= LIMIT and key not in self:
            self.clear()
        super().__setitem__(key, value)


class BySchema(Generic[V]):
    """What is made once per schema. Schemas are told apart by identity, and kept so that it stays theirs.

    Args:
        make: Makes it; what it raises is not kept.
    """

    def __init__(self, make: Callable[[Schema], V]):
        self._make = make
        self._known: Cache[int, tuple[Schema, V]] = Cache()

    def __getitem__(self, schema: Schema) -> V:
        found = self._known.get(id(schema))
        if found is None:
            found = self._known[id(schema)] = (schema, self._make(schema))
        return found[1]
