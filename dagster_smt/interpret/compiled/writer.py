"""Writes records again: the bytes nobody changed as they are, the slots where they belong."""

import numpy as np

from dagster_smt.interpret.compiled.native import compiled, copy_bytes
from dagster_smt.interpret.compiled.places import APPENDED, CONSTANT, MEMBER, NUMBER, SPAN
from dagster_smt.interpret.compiled.spots import first_inside

_COMMA = 0x2C


@compiled
def copied(out, at, data, start, end):  # type: ignore[no-untyped-def]
    """Copy bytes; the position after them."""
    copy_bytes(out, at, data, start, end - start)
    return at + np.int64(end - start)


@compiled
def number_text(out, at, number):  # type: ignore[no-untyped-def]
    """Write a whole number; the position after it."""
    rest = np.uint64(number)
    if number < 0:
        out[at], at, rest = 0x2D, at + 1, np.uint64(0) - rest
    digits, left = 1, rest // np.uint64(10)
    while left > np.uint64(0):
        digits, left = digits + 1, left // np.uint64(10)
    for k in range(digits - 1, -1, -1):
        out[at + k] = np.uint8(48) + np.uint8(rest % np.uint64(10))
        rest //= np.uint64(10)
    return at + digits


@compiled
def made_written(out, at, row, kind, start, end, texts, numbers, made):  # type: ignore[no-untyped-def]
    """Write a value that is not the record's own; the position after it."""
    if kind == CONSTANT:
        return copied(out, at, texts.bytes, np.int64(texts.constants[start]), np.int64(texts.constants[start + 1]))
    if kind == NUMBER:
        return number_text(out, at, numbers[start, row])
    return copied(out, at, made, start, end)


@compiled
def spliced(out, at, data, row, start, end, spots, texts, numbers, made):  # type: ignore[no-untyped-def]
    """Copy bytes of a record, with what has become of the spots in them; the position after it."""
    number, last = first_inside(spots, row, start), spots.first[row + 1]
    while number < last and spots.at[number].begin < end:
        kind, after = spots.at[number].kind, np.int64(spots.at[number].close)
        if spots.at[number].left == 1:
            at = copied(out, at, data, start, np.int64(spots.at[number].cut))
            start = after
            if data[start] == _COMMA:
                start += 1
            elif out[at - 1] == _COMMA:  # it was the last one
                at -= 1
        elif kind != SPAN:
            made_at, made_end = np.int64(spots.at[number].start), np.int64(spots.at[number].end)
            at = copied(out, at, data, start, np.int64(spots.at[number].begin))
            at = made_written(out, at, row, kind, made_at, made_end, texts, numbers, made)
            start = after
        else:
            after = np.int64(spots.at[number].begin + 1)
        while number < last and spots.at[number].begin < after:
            number += 1
    return copied(out, at, data, start, end)


@compiled
def slot_written(out, at, data, row, slot, slots, spots, texts, numbers, made):  # type: ignore[no-untyped-def]
    """Write a slot, its name first; the position after it."""
    at = copied(out, at, texts.bytes, np.int64(texts.names[slot]), np.int64(texts.names[slot + 1]))
    start, end, kind = np.int64(slots[slot, row].start), np.int64(slots[slot, row].end), slots[slot, row].kind
    if kind == SPAN:
        return spliced(out, at, data, row, start, end, spots, texts, numbers, made)
    return made_written(out, at, row, kind, start, end, texts, numbers, made)


@compiled
def is_left_out(row, start, spots):  # type: ignore[no-untyped-def]
    """Whether the spot of a member of the top level, if it has one, is left out."""
    number = first_inside(spots, row, start)
    return number < spots.first[row + 1] and spots.at[number].begin == start and spots.at[number].left == 1


@compiled
def row_written(out, at, data, row, slots, items, spots, hidden, texts, numbers, made):  # type: ignore[no-untyped-def]
    """Write one record; the position after it. A comma follows each member, until the last one."""
    out[at] = 0x7B
    at, first, empty, appended = at + 1, items.first[row], True, 0
    for item in range(first, items.first[row + 1]):
        slot, start, end = np.int64(items.at[item].slot), np.int64(items.at[item].start), np.int64(items.at[item].end)
        if slot >= 0:
            if slots[slot, row].place != item - first:
                continue
            at = slot_written(out, at, data, row, slot, slots, spots, texts, numbers, made)
        elif hidden or (slot == MEMBER and is_left_out(row, start, spots)):
            continue
        else:
            if slot == MEMBER:
                at = copied(out, at, data, np.int64(items.at[item].name_start), np.int64(items.at[item].name_end)) + 1
                out[at - 1] = 0x3A
            at = spliced(out, at, data, row, start, end, spots, texts, numbers, made)
        out[at] = _COMMA
        at, empty = at + 1, False
    for slot in range(len(texts.names) - 1):
        appended += 1 if slots[slot, row].place >= APPENDED else 0
    place = APPENDED
    while appended > 0:
        for slot in range(len(texts.names) - 1):
            if slots[slot, row].place == place:
                at = slot_written(out, at, data, row, slot, slots, spots, texts, numbers, made)
                out[at] = _COMMA
                at, empty, appended = at + 1, False, appended - 1
        place += 1
    at = at if empty else at - 1
    out[at] = 0x7D
    return at + 1


@compiled
def write(out, ends, data, rows, slots, items, spots, texts, numbers, made):  # type: ignore[no-untyped-def]
    """Write all records that are not odd; of the others nothing."""
    at = np.int64(0)
    ends[0] = 0
    for row in range(len(rows.odd)):
        if rows.odd[row] == 0:
            hidden = rows.hidden[row] == 1
            at = row_written(out, at, data, row, slots, items, spots, hidden, texts, numbers, made)
        ends[row + 1] = at
