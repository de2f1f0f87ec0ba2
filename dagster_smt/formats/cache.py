"""Bounded caches for objects that are built only once per schema. A topic may have any number of schemas, so a cache
without a limit could use up the memory.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from dagster_smt.model.schema import Schema

K = TypeVar("K")
V = TypeVar("V")
LIMIT = 1000
MOST_BYTES = 8 << 20
MOST_NODES = 1_000_000


class Cache(dict[K, V]):
    """A dictionary with at most ``LIMIT`` entries. If a new entry would exceed the limit, the dictionary is emptied
    first.

    A key may be ``id(schema)`` if the value of the entry contains the same schema. As long as the entry exists, the
    schema then stays in memory, and no other object gets its id.
    """

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= LIMIT and key not in self:
            self.clear()
        super().__setitem__(key, value)


class TextCache(Cache[bytes, V]):
    """A cache whose keys are byte strings from records. The cache is also emptied before the total length of its keys
    exceeds ``MOST_BYTES``.
    """

    def __init__(self) -> None:
        super().__init__()
        self._bytes = 0

    def __setitem__(self, key: bytes, value: V) -> None:
        if key not in self:
            if self._bytes + len(key) > MOST_BYTES:
                self.clear()
            # the count begins again if the dictionary has just been emptied
            self._bytes = len(key) + (self._bytes if self else 0)
        super().__setitem__(key, value)


class BySchema(Generic[V]):
    """A cache with one object per schema. ``cache[schema]`` calls ``make(schema)`` at the first lookup, and later
    returns the same object.

    A schema is recognized by its ``id``, because it takes too long to hash a large schema. The cache is emptied before
    its schemas together have more than ``MOST_NODES`` fields.

    Args:
        make: Builds the object of a schema. If it raises an error, nothing is cached.
    """

    def __init__(self, make: Callable[[Schema], V]):
        self._make = make
        self._known: Cache[int, tuple[Schema, V]] = Cache()
        self._nodes = 0

    def __getitem__(self, schema: Schema) -> V:
        entry = self._known.get(id(schema))
        if entry is None:
            value = self._make(schema)
            if self._nodes + schema.nodes > MOST_NODES:
                self._known.clear()
            self._nodes = schema.nodes + (self._nodes if self._known else 0)
            entry = self._known[id(schema)] = (schema, value)
        return entry[1]
