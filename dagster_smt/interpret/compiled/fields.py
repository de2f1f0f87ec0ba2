"""Declared fields of many records, as arrays: the compiled lane's way from JSON to columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dagster_smt.interpret.compiled import columns, members
from dagster_smt.interpret.compiled.arrays import Bytes, bytes_of
from dagster_smt.interpret.compiled.lane import names_of
from dagster_smt.interpret.compiled.places import Array, Rows, Slots, new_items, new_rows, new_seen, new_slots


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        data: The values; of texts and numbers their bytes.
        valid: 1 where there is one.
        ends: Of texts and numbers, where each ends.
    """

    data: Array
    valid: Array
    ends: Array | None = None


class Fields:
    """Finds declared fields in records.

    Args:
        names: Their names; a field's index is its slot.
    """

    def __init__(self, names: Sequence[str]):
        self.names, self.count, self.seen = names_of(list(names)), len(names), new_seen()

    def scan(self, texts: Bytes, odd: Array) -> "Found":
        """Find them in a batch.

        Args:
            texts: The records, in UTF-8.
            odd: 1 for those that are not to be looked at, another number for those without a value. It gets 1 for what
                is not plain, now or when columns are made.
        """
        size = len(odd)
        rows, slots = new_rows(odd), new_slots(max(self.count, 1), size)
        self.seen.stamps[:] = -1
        members.scan(texts.data, texts.ends, self.names, rows, slots, new_items(size, len(texts.data)), self.seen)
        return Found(texts.data, rows, slots)


@dataclass(frozen=True)
class Found:
    """Where the fields of a batch are. Each method makes the column of one; nulls are refused unless ``nullable``."""

    data: Array
    rows: Rows
    slots: Slots

    def whole_numbers(self, slot: int, nullable: bool, least: int, most: int) -> Column:
        """64-bit integers within bounds."""
        out, valid = self._room(np.int64)
        columns.whole_numbers(self.data, slot, least, most, nullable, self.slots, self.rows, out, valid)
        return Column(out, valid)

    def flags(self, slot: int, nullable: bool) -> Column:
        """Booleans, a byte each."""
        out, valid = self._room(np.uint8)
        columns.flags(self.data, slot, nullable, self.slots, self.rows, out, valid)
        return Column(out, valid)

    def texts(self, slot: int, nullable: bool) -> Column:
        """Texts, without escapes."""
        out, valid = self._bytes(slot)
        ends = np.empty(len(valid) + 1, np.int32)
        columns.texts(self.data, slot, nullable, self.slots, self.rows, out, ends, valid)
        return Column(out[: ends[-1]], valid, ends)

    def numbers(self, slot: int, nullable: bool) -> Column:
        """Numbers of any kind, as they are written."""
        out, valid = self._bytes(slot)
        ends = np.empty(len(valid) + 1, np.int32)
        columns.numbers(self.data, slot, nullable, self.slots, self.rows, out, ends, valid)
        return Column(out[: ends[-1]], valid, ends)

    def values(self, slot: int, nullable: bool) -> Array:
        """Values of any kind as one JSON array, null where there is none."""
        out, _ = self._bytes(slot, 5)
        return out[: columns.values(self.data, slot, nullable, self.slots, self.rows, out)]

    def _room(self, kind: type) -> tuple[Array, Array]:
        size = len(self.rows.odd)
        return np.zeros(size, kind), np.zeros(size, np.uint8)

    def _bytes(self, slot: int, more: int = 0) -> tuple[Array, Array]:
        """Room for the bytes of a slot's values, and some more for each."""
        size, there = len(self.rows.odd), self.slots.place[slot] >= 0
        length = int((self.slots.end[slot] - self.slots.start[slot])[there].sum())
        return np.empty(length + more * size + 2, np.uint8), np.zeros(size, np.uint8)


def warm() -> None:
    """Have the code compiled, or loaded."""
    odd = np.zeros(1, np.uint8)
    found = Fields(["a"]).scan(bytes_of([b'{"a":1}']), odd)
    found.whole_numbers(0, True, 0, 1), found.flags(0, True), found.texts(0, True), found.numbers(0, True)
    found.values(0, True)
