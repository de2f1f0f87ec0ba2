"""What is made once per schema, kept within bounds: a topic may have more schemas than memory."""

from collections.abc import Callable
from typing import Generic, TypeVar

from dagster_smt.model.schema import Schema

K = TypeVar("K")
V = TypeVar("V")
LIMIT = 1000
MOST_BYTES = 8 << 20
MOST_NODES = 1_000_000


class Cache(dict[K, V]):
    """A dict that forgets everything before it holds more than ``LIMIT`` entries.

    A key may be the ``id`` of a schema if the entry holds that schema: the id is then no other object's for as long as
    the entry is there.
    """

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= LIMIT and key not in self:
            self.clear()
        super().__setitem__(key, value)


class Texts(Cache[bytes, V]):
    """A cache by texts of records, which forgets everything, too, before the texts take more than ``MOST_BYTES``."""

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
    """What is made once per schema. Schemas are told apart by identity, and kept so that it stays theirs.

    Everything is forgotten before the schemas have more than ``MOST_NODES`` fields: large ones take more of memory.

    Args:
        make: Makes it; what it raises is not kept.
    """

    def __init__(self, make: Callable[[Schema], V]):
        self._make = make
        self._known: Cache[int, tuple[Schema, V]] = Cache()
        self._nodes = 0

    def __getitem__(self, schema: Schema) -> V:
        found = self._known.get(id(schema))
        if found is None:
            made = self._make(schema)
            if self._nodes + schema.nodes > MOST_NODES:
                self._known.clear()
            self._nodes = schema.nodes + (self._nodes if self._known else 0)
            found = self._known[id(schema)] = (schema, made)
        return found[1]
