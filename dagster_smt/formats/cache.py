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
    """A dictionary that is emptied before it exceeds ``LIMIT`` entries.

    The ``id`` of a schema object may be a key if the value of the entry refers to this schema. The schema then stays in
    memory as long as the entry, so that no other object can get the same id.
    """

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= LIMIT and key not in self:
            self.clear()
        super().__setitem__(key, value)


class TextCache(Cache[bytes, V]):
    """A cache whose keys are strings from records. It is also emptied before its keys exceed ``MOST_BYTES``."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = 0

    def __setitem__(self, key: bytes, value: V) -> None:
        if key not in self:
            if self._bytes + len(key) > MOST_BYTES:
                self.clear()
            self._bytes = len(key) + (self._bytes if self else 0)
        super().__setitem__(key, value)


class BySchema(Generic[V]):
    """A cache of objects that are built once per schema.

    The key of an entry is the ``id`` of the schema object, because it would take too long to hash or compare a large
    schema at each lookup. The entry refers to the schema, so that the id stays valid. The cache is emptied before its
    schemas have more than ``MOST_NODES`` fields together, because large schemas take up more memory.

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
