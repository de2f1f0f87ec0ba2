"""Runs steps on spots: the values below the top level, and what paths with patterns find at the top."""

import numpy as np

from dagster_smt.interpret.compiled.native import compiled, high_bit
from dagster_smt.interpret.compiled.places import CONSTANT, SPAN

_NO_ACTS, _QUOTE = np.uint64(0), 0x22


@compiled
def is_text(data, kind, start, texts):  # type: ignore[no-untyped-def]
    """Whether a value is a text, as far as that can be seen from its first byte."""
    if kind == CONSTANT:
        return texts.bytes[texts.constants[start]] == _QUOTE
    return kind == SPAN and data[start] == _QUOTE


@compiled
def first_inside(spots, row, start):  # type: ignore[no-untyped-def]
    """The first spot of a row whose value does not begin before a position."""
    low, high = spots.first[row], spots.first[row + 1]
    while low < high:
        middle = (low + high) // 2
        if spots.at[middle].begin < start:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def has_spots(spots, row, start, end):  # type: ignore[no-untyped-def]
    """Whether there are spots in some bytes."""
    number = first_inside(spots, row, start)
    return number < spots.first[row + 1] and spots.at[number].begin < end


@compiled
def lose(spots, row, start, end):  # type: ignore[no-untyped-def]
    """No step is to look at the spots in some bytes any more."""
    number = first_inside(spots, row, start)
    while number < spots.first[row + 1] and spots.at[number].begin < end:
        spots.at[number].lost = 1
        number += 1


@compiled
def leave_out(mask, spots, rows, ways):  # type: ignore[no-untyped-def]
    """Leave out what paths end at, what is inside first: it counts, too. Of several paths the last one counts."""
    for row in range(len(rows.odd)):
        for number in range(spots.first[row + 1] - 1, spots.first[row] - 1, -1):
            ends = spots.at[number].ends & mask
            if ends != 0 and spots.at[number].lost == 0:
                rows.touched[row] |= ways.touched[high_bit(ends)]
                spots.at[number].left = 1
                lose(spots, row, np.int64(spots.at[number].begin), np.int64(spots.at[number].close))


@compiled
def change_spot(data, number, ends, text, row, spots, rows, texts, ways):  # type: ignore[no-untyped-def]
    """Do what the paths of one stage say: a text may change at once, other values later; see ``machine.change``."""
    kind, start, bit = spots.at[number].kind, spots.at[number].start, high_bit(ends)
    if text >= 0 and spots.at[number].acts == _NO_ACTS and is_text(data, kind, start, texts):
        spots.at[number].kind, spots.at[number].start = CONSTANT, text
        while ends != 0:
            bit = high_bit(ends)
            rows.touched[row] |= ways.touched[bit]
            ends ^= np.int64(1) << np.int64(bit)
    elif ends != np.int64(1) << np.int64(bit) or has_spots(
        spots, row, np.int64(spots.at[number].begin + 1), np.int64(spots.at[number].close)
    ):
        rows.odd[row] = 1
    else:
        spots.at[number].acts |= np.uint64(1) << np.uint64(ways.acts[bit])


@compiled
def change_spots(data, mask, text, spots, rows, texts, ways):  # type: ignore[no-untyped-def]
    """Change what paths end at."""
    for row in range(len(rows.odd)):
        for number in range(spots.first[row], spots.first[row + 1]):
            ends = spots.at[number].ends & mask
            if ends != 0 and spots.at[number].lost == 0:
                change_spot(data, number, ends, text, row, spots, rows, texts, ways)


@compiled
def read_key(data, slot, mask, number, strict, slots, spots, rows, keys):  # type: ignore[no-untyped-def]
    """Take values for the key: those of a slot, or of the one spot inside where a path ends (``mask``).

    ``strict`` 1: what a path leads into has to be an object or null.
    """
    for row in range(len(rows.odd)):
        keys.there[number, row] = 0
        if slots[slot, row].place < 0:
            continue
        start, end = np.int64(slots[slot, row].start), np.int64(slots[slot, row].end)
        if slots[slot, row].kind != SPAN or slots[slot, row].acts != _NO_ACTS:
            rows.odd[row] = 1
        elif mask == 0:
            keys.there[number, row], keys.start[number, row], keys.end[number, row] = 1, start, end
        elif strict == 1 and data[start] != 0x7B and data[start] != 0x6E:
            rows.odd[row] = 1
        else:
            read_inside(start, end, mask, number, row, spots, rows, keys)


@compiled
def read_inside(start, end, mask, number, row, spots, rows, keys):  # type: ignore[no-untyped-def]
    at = first_inside(spots, row, start + 1)
    while at < spots.first[row + 1] and spots.at[at].begin < end:
        if spots.at[at].ends & mask != 0 and spots.at[at].lost == 0:
            if spots.at[at].kind != SPAN or spots.at[at].acts != _NO_ACTS:
                rows.odd[row] = 1
            keys.there[number, row] = 1
            keys.start[number, row], keys.end[number, row] = spots.at[at].begin, spots.at[at].close
        at += 1
