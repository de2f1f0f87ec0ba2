"""What the compiled lane knows of a batch: arrays that its functions share. Positions are in the batch's bytes."""

from typing import Any, NamedTuple

import numpy as np

Array = Any
"""A numpy array: ``np.ndarray`` says nothing about its elements that a type checker could use here."""

SPAN, CONSTANT, NUMBER, MADE = 0, 1, 2, 3
"""Where a value is: in the record, in the program, in a column of numbers, in the bytes that acts have made."""
RUN, MEMBER = -1, -2
"""An item that is no slot: members that follow each other without blanks, or one with blanks inside."""


class Names(NamedTuple):
    """The names that a chain knows; a name's index is its slot.

    Attributes:
        texts: Their bytes, one after the other.
        ends: Where each begins, and where the last one ends.
        hashes: Of each name.
        table: Slots by hash, open addressing; -1 is free.
    """

    texts: Array
    ends: Array
    hashes: Array
    table: Array


class Texts(NamedTuple):
    """What a program writes.

    Attributes:
        bytes: The names with colons, then the constants.
        names: Where each slot's name begins, and where the last ends.
        constants: The same for the constants.
    """

    bytes: Array
    names: Array
    constants: Array


ITEM = np.dtype([(name, np.int32) for name in ("slot", "start", "end", "name_start", "name_end")])
"""Part of a record: a slot, ``RUN`` or ``MEMBER``; the bytes of the run, or of the member's value; its quoted name."""

SLOT = np.dtype(
    [("acts", np.uint64), ("place", np.int32), ("start", np.int32), ("end", np.int32), ("kind", np.int32)], align=True
)
"""A value that a chain may look at.

place: The index of its item in the row; from ``APPENDED`` on: appended; -1: not there.
kind: ``SPAN`` and so on. start, end: Its bytes; for constants and numbers ``start`` says which.
acts: What is still to be done to it: a bit for each act of the program.
"""

SPOT = np.dtype(
    [("ends", np.int64), ("acts", np.uint64)]
    + [(name, np.int32) for name in ("cut", "begin", "close", "kind", "start", "end", "left", "lost")],
    align=True,
)
"""A value that paths end at. Fields of the top level that have slots have no spots.

ends: The bits of the paths that end there.
cut: Where the member or element begins. begin, close: The bytes of its value.
kind, start, end, acts: What is there now; as in ``SLOT``.
left: 1 where it is left out.
lost: 1 where no step looks at it any more: something around it has been left out or replaced.
"""

LEVEL = np.dtype([(name, np.int64) for name in ("active", "is_object", "spot", "element", "serial")])
"""A container around a position: its active bits, whether it is an object, its spot, elements so far, its serial."""


class Items(NamedTuple):
    """What records consist of, in the order of their bytes.

    Attributes:
        first: For each row its first item, and the end of the last row's.
        at: Each an ``ITEM``.
    """

    first: Array
    at: Array


class Spots(NamedTuple):
    """What paths end at, in the order of the bytes.

    Attributes:
        first: For each row its first spot, and the end of the last row's.
        at: Each a ``SPOT``.
    """

    first: Array
    at: Array


class Rows(NamedTuple):
    """What became of each record.

    Attributes:
        odd: 1 where the interpreter has to look.
        touched: The bits of the ledger.
        hidden: 1 where the members that the chain does not know are dropped.
        appended: How many values have been appended.
    """

    odd: Array
    touched: Array
    hidden: Array
    appended: Array


class Ways(NamedTuple):
    """The paths of a program that lead below the top level (``paths``), and what its steps do where they end.

    Attributes:
        first, final, sticky: Bits, as in ``Paths``; ``first`` 0: there are no paths.
        names: The bits that a name passes, by its number among the names met.
        elements: The bits that an element of an array passes, by index.
        acts: By bit the act that is noted.
        touched: By bit what is set in the ledger.
    """

    first: int
    final: int
    sticky: int
    names: Array
    elements: Array
    acts: Array
    touched: Array


class Met(NamedTuple):
    """The names met inside records so far, by number.

    Attributes:
        texts, ends, hashes, table: As in ``Names``.
        container: By level, the last container there that had the name. Containers of one level do not hold each other,
            so a name inside a container hides none of those around it.
        counts: How many names there are, how many containers there have been.
    """

    texts: Array
    ends: Array
    hashes: Array
    table: Array
    container: Array
    counts: Array


class Keys(NamedTuple):
    """The values that make a record's key, by number and row: their bytes; ``there`` 0: null."""

    there: Array
    start: Array
    end: Array


class Seen(NamedTuple):
    """Hashes of the names of one record: an open hash table that is emptied by another stamp."""

    hashes: Array
    stamps: Array


APPENDED = 1 << 24
MAX_MEMBERS = 1024
MAX_LEVELS = 64
MAX_NAMES = 1 << 14
"""Names met inside records; a record with one more is odd."""
_NAME_BYTES = 1 << 19
_BYTES_PER_SPOT = 16


def new_items(rows: int, size: int) -> Items:
    """Room for the items of rows with so many bytes: a member takes five at least."""
    return Items(np.empty(rows + 1, np.int64), np.empty(size // 5 + rows + 1, ITEM))


def new_slots(slots: int, rows: int) -> Array:
    """Room for values by slot and row, none there yet."""
    made = np.zeros((slots, rows), SLOT)
    made["place"] = -1
    return made


def new_rows(odd: Array) -> Rows:
    """Rows, with those that are odd already."""
    return Rows(odd, np.zeros(len(odd), np.int64), np.zeros(len(odd), np.uint8), np.zeros(len(odd), np.int32))


def new_seen() -> Seen:
    """An empty table."""
    return Seen(np.empty(2 * MAX_MEMBERS, np.uint64), np.full(2 * MAX_MEMBERS, -1, np.int64))


def new_met() -> Met:
    """No names yet."""
    table, container = np.full(2 * MAX_NAMES, -1, np.int32), np.zeros((MAX_LEVELS, MAX_NAMES), np.int64)
    ends, hashes = np.zeros(MAX_NAMES + 1, np.int32), np.empty(MAX_NAMES, np.uint64)
    return Met(np.empty(_NAME_BYTES, np.uint8), ends, hashes, table, container, np.zeros(2, np.int64))


def new_levels() -> Array:
    """Room for the levels of a record."""
    return np.empty(MAX_LEVELS, LEVEL)


def new_spots(rows: int, size: int) -> Spots:
    """Room for the spots of rows with so many bytes; those that do not fit make their records odd. None yet."""
    return Spots(np.zeros(rows + 1, np.int64), np.empty(size // _BYTES_PER_SPOT + 8 * rows if size else 0, SPOT))


def new_keys(count: int, rows: int) -> Keys:
    """Room for the values of keys, none there yet."""
    shape = (count, rows)
    return Keys(np.zeros(shape, np.uint8), np.empty(shape, np.int32), np.empty(shape, np.int32))
