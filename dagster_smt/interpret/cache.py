"""What is made once per schema, kept within bounds: a topic may have more schemas than memory."""

from typing import TypeVar

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
