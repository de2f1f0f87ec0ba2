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


class Items(NamedTuple):
    """What records consist of, in the order of their bytes.

    Attributes:
        first: For each row its first item, and the end of the last row's.
        slot: A slot, ``RUN`` or ``MEMBER``.
        start, end: The bytes of a run, or of a member's value.
        name_start, name_end: The name of a member, with its quotes.
    """

    first: Array
    slot: Array
    start: Array
    end: Array
    name_start: Array
    name_end: Array


class Slots(NamedTuple):
    """The values that a chain may look at, by slot and row.

    Attributes:
        place: The index of its item in the row; from ``APPENDED`` on: appended; -1: not there.
        kind: ``SPAN`` and so on.
        start, end: The bytes; for constants and numbers ``start`` says which.
        acts: What is still to be done to it: a bit for each act of the program.
    """

    place: Array
    kind: Array
    start: Array
    end: Array
    acts: Array


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


class Seen(NamedTuple):
    """Hashes of the names of one record: an open hash table that is emptied by another stamp."""

    hashes: Array
    stamps: Array


APPENDED = 1 << 24
MAX_MEMBERS = 1024


def new_items(rows: int, size: int) -> Items:
    """Room for the items of rows with so many bytes: a member takes five at least."""
    most = size // 5 + rows + 1
    return Items(np.empty(rows + 1, np.int64), *(np.empty(most, np.int32) for _ in range(5)))


def new_slots(slots: int, rows: int) -> Slots:
    """Room for values, none there yet."""
    shape = (slots, rows)
    start, end = np.empty(shape, np.int32), np.empty(shape, np.int32)
    return Slots(np.full(shape, -1, np.int32), np.zeros(shape, np.uint8), start, end, np.zeros(shape, np.uint64))


def new_rows(odd: Array) -> Rows:
    """Rows, with those that are odd already."""
    return Rows(odd, np.zeros(len(odd), np.int64), np.zeros(len(odd), np.uint8), np.zeros(len(odd), np.int32))


def new_seen() -> Seen:
    """An empty table."""
    return Seen(np.empty(2 * MAX_MEMBERS, np.uint64), np.full(2 * MAX_MEMBERS, -1, np.int64))
