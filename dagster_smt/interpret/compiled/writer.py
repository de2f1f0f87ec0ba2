"""Writes records again: the bytes nobody changed as they are, the slots where they belong."""

import numpy as np

from dagster_smt.interpret.compiled.native import compiled, copy_bytes
from dagster_smt.interpret.compiled.places import APPENDED, CONSTANT, MEMBER, NUMBER, RUN, SPAN

_COMMA = 0x2C


@compiled
def copied(out, at, data, start, end):  # type: ignore[no-untyped-def]
    """Copy bytes; the position after them."""
    copy_bytes(out, at, data, start, end - start)
    return at + end - start


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
def slot_written(out, at, data, row, slot, slots, texts, numbers, made):  # type: ignore[no-untyped-def]
    """Write a slot, its name first; the position after it."""
    at = copied(out, at, texts.bytes, texts.names[slot], texts.names[slot + 1])
    start, end, kind = slots.start[slot, row], slots.end[slot, row], slots.kind[slot, row]
    if kind == SPAN:
        return copied(out, at, data, start, end)
    if kind == CONSTANT:
        return copied(out, at, texts.bytes, texts.constants[start], texts.constants[start + 1])
    if kind == NUMBER:
        return number_text(out, at, numbers[start, row])
    return copied(out, at, made, start, end)


@compiled
def row_written(out, at, data, row, slots, items, hidden, texts, numbers, made):  # type: ignore[no-untyped-def]
    """Write one record; the position after it. A comma follows each member, until the last one."""
    out[at] = 0x7B
    at, first, empty, appended = at + 1, items.first[row], True, 0
    for item in range(first, items.first[row + 1]):
        slot = items.slot[item]
        if slot >= 0:
            if slots.place[slot, row] != item - first:
                continue
            at = slot_written(out, at, data, row, slot, slots, texts, numbers, made)
        elif hidden:
            continue
        elif slot == RUN:
            at = copied(out, at, data, items.start[item], items.end[item])
        elif slot == MEMBER:
            at = copied(out, at, data, items.name_start[item], items.name_end[item])
            out[at] = 0x3A
            at = copied(out, at + 1, data, items.start[item], items.end[item])
        out[at] = _COMMA
        at, empty = at + 1, False
    for slot in range(len(texts.names) - 1):
        appended += 1 if slots.place[slot, row] >= APPENDED else 0
    place = APPENDED
    while appended > 0:
        for slot in range(len(texts.names) - 1):
            if slots.place[slot, row] == place:
                at = slot_written(out, at, data, row, slot, slots, texts, numbers, made)
                out[at] = _COMMA
                at, empty, appended = at + 1, False, appended - 1
        place += 1
    at = at if empty else at - 1
    out[at] = 0x7D
    return at + 1


@compiled
def write(out, ends, data, rows, slots, items, texts, numbers, made):  # type: ignore[no-untyped-def]
    """Write all records that are not odd; of the others nothing."""
    at = 0
    ends[0] = 0
    for row in range(len(rows.odd)):
        if rows.odd[row] == 0:
            at = row_written(out, at, data, row, slots, items, rows.hidden[row] == 1, texts, numbers, made)
        ends[row + 1] = at
