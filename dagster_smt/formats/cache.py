"""Bounded caches for objects that are built only once per schema. A topic may have any number of schemas, so a cache
without a limit could use up the memory.
"""

from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

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

    def __reduce__(self) -> tuple[type["Cache[K, V]"], tuple[()]]:
        # a copy starts empty: in another process, the ids belong to other objects
        return type(self), ()

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= LIMIT and key not in self:
            self.clear()
        super().__setitem__(key, value)


class _SizedCache(Cache[K, V]):
    """A cache that is also emptied before the sizes of its entries add up to more than ``most``."""

    most: ClassVar[int]

    def __init__(self) -> None:
        super().__init__()
        self._total = 0

    def size_of(self, key: K, value: V) -> int:
        """Returns the size of an entry."""
        raise NotImplementedError

    def clear(self) -> None:
        super().clear()
        self._total = 0

    def __setitem__(self, key: K, value: V) -> None:
        is_new, size = key not in self, self.size_of(key, value)
        if is_new and self._total + size > self.most:
            self.clear()
        super().__setitem__(key, value)
        # only now, because the limit of entries may have emptied the cache as well
        if is_new:
            self._total += size


class TextCache(_SizedCache[bytes, V]):
    """A cache whose keys are byte strings from records. The total length of the keys is limited."""

    most = MOST_BYTES

    def size_of(self, key: bytes, value: V) -> int:
        return len(key)


class _SchemaCache(_SizedCache[int, tuple[Schema, V]]):
    most = MOST_NODES

    def size_of(self, key: int, value: tuple[Schema, V]) -> int:
        return value[0].nodes


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
        self._known: _SchemaCache[V] = _SchemaCache()

    def __getitem__(self, schema: Schema) -> V:
        entry = self._known.get(id(schema))
        if entry is None:
            entry = self._known[id(schema)] = (schema, self._make(schema))
        return entry[1]
