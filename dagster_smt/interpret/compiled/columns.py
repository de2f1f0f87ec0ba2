"""Columns of declared fields, out of the bytes of many records.

Each function takes one slot and fills in one column. ``valid`` is 1 where the column has a value. A value that is not
plainly of the declared type makes its record odd, as a null in a required field does: then another reader has to look.
"""

import numpy as np

from dagster_smt.interpret.compiled.native import compiled, copy_bytes, low_zeros, word_at

_QUOTE, _BACKSLASH, _MINUS, _NULL = 0x22, 0x5C, 0x2D, 0x6E
_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_BACKSLASHES = _ONES * np.uint64(_BACKSLASH)
_DIGITS = 18


@compiled
def is_there(data, slot, row, nullable, slots, rows):  # type: ignore[no-untyped-def]
    """Whether a record has a value that is not null."""
    if rows.odd[row] != 0:
        return False
    if slots.place[slot, row] >= 0 and data[slots.start[slot, row]] != _NULL:
        return True
    if not nullable:
        rows.odd[row] = 1
    return False


@compiled
def whole_number(data, start, end):  # type: ignore[no-untyped-def]
    """(number, whether it is one of at most 18 digits)."""
    negative = data[start] == _MINUS
    first = start + 1 if negative else start
    if end - first > _DIGITS:
        return 0, False
    number = 0
    for at in range(first, end):
        if data[at] < 0x30 or data[at] > 0x39:
            return 0, False
        number = 10 * number + (data[at] - 0x30)
    return (-number if negative else number), True


@compiled
def whole_numbers(data, slot, least, most, nullable, slots, rows, out, valid):  # type: ignore[no-untyped-def]
    for row in range(len(valid)):
        if is_there(data, slot, row, nullable, slots, rows):
            number, whole = whole_number(data, slots.start[slot, row], slots.end[slot, row])
            if whole and least <= number <= most:
                out[row], valid[row] = number, 1
            else:
                rows.odd[row] = 1


@compiled
def flags(data, slot, nullable, slots, rows, out, valid):  # type: ignore[no-untyped-def]
    for row in range(len(valid)):
        if is_there(data, slot, row, nullable, slots, rows):
            first = data[slots.start[slot, row]]
            if first == 0x74 or first == 0x66:
                out[row], valid[row] = first == 0x74, 1
            else:
                rows.odd[row] = 1


@compiled
def hex_number(data, start):  # type: ignore[no-untyped-def]
    """The value of four hexadecimal digits."""
    number = 0
    for at in range(start, start + 4):
        digit = data[at]
        number = 16 * number + (digit - 0x30 if digit <= 0x39 else (digit | 0x20) - 0x57)
    return number


@compiled
def utf8_written(out, at, code):  # type: ignore[no-untyped-def]
    """Write a character below U+10000; the position after it."""
    if code < 0x80:
        out[at] = code
        return at + 1
    if code < 0x800:
        out[at], out[at + 1] = 0xC0 | (code >> 6), 0x80 | (code & 0x3F)
        return at + 2
    out[at], out[at + 1], out[at + 2] = 0xE0 | (code >> 12), 0x80 | ((code >> 6) & 0x3F), 0x80 | (code & 0x3F)
    return at + 3


@compiled
def escape_written(out, at, data, i):  # type: ignore[no-untyped-def]
    """Write what an escape stands for; the position after it. ``i``: that of the letter behind the backslash."""
    letter = data[i]
    if letter == 0x75:
        return utf8_written(out, at, hex_number(data, i + 1))
    code = letter
    if letter == 0x62:
        code = 0x08
    elif letter == 0x66:
        code = 0x0C
    elif letter == 0x6E:
        code = 0x0A
    elif letter == 0x72:
        code = 0x0D
    elif letter == 0x74:
        code = 0x09
    out[at] = code
    return at + 1


@compiled
def next_backslash(data, i, end):  # type: ignore[no-untyped-def]
    """The position of the next backslash, ``end`` if there is none."""
    while i + 8 <= end:
        word = word_at(data, i) ^ _BACKSLASHES
        found = (word - _ONES) & ~word & _HIGHS
        if found != np.uint64(0):
            return i + (low_zeros(found) >> 3)
        i += 8
    while i < end and data[i] != _BACKSLASH:
        i += 1
    return i


@compiled
def text_written(out, at, data, start, end):  # type: ignore[no-untyped-def]
    """Write a text without its quotes and escapes; the position after it."""
    i, last = start + 1, end - 1
    while True:
        found = next_backslash(data, i, last)
        copy_bytes(out, at, data, i, found - i)
        at += found - i
        if found >= last:
            return at
        at = escape_written(out, at, data, found + 1)
        i = found + (6 if data[found + 1] == 0x75 else 2)


@compiled
def texts(data, slot, nullable, slots, rows, out, ends, valid):  # type: ignore[no-untyped-def]
    at = 0
    ends[0] = 0
    for row in range(len(valid)):
        if is_there(data, slot, row, nullable, slots, rows):
            start = slots.start[slot, row]
            if data[start] == _QUOTE:
                at = text_written(out, at, data, start, slots.end[slot, row])
                valid[row] = 1
            else:
                rows.odd[row] = 1
        ends[row + 1] = at


@compiled
def numbers(data, slot, nullable, slots, rows, out, ends, valid):  # type: ignore[no-untyped-def]
    """The texts of numbers of any kind."""
    at = 0
    ends[0] = 0
    for row in range(len(valid)):
        if is_there(data, slot, row, nullable, slots, rows):
            start, end = slots.start[slot, row], slots.end[slot, row]
            if data[start] == _MINUS or 0x30 <= data[start] <= 0x39:
                copy_bytes(out, at, data, start, end - start)
                at += end - start
                valid[row] = 1
            else:
                rows.odd[row] = 1
        ends[row + 1] = at


@compiled
def values(data, slot, nullable, slots, rows, out):  # type: ignore[no-untyped-def]
    """Values of any kind as a JSON array, null where there is none; how long it is."""
    at = 0
    for row in range(len(rows.odd)):
        out[at] = 0x5B if row == 0 else 0x2C
        at += 1
        if is_there(data, slot, row, nullable, slots, rows):
            start, end = slots.start[slot, row], slots.end[slot, row]
            copy_bytes(out, at, data, start, end - start)
            at += end - start
        else:
            out[at], out[at + 1], out[at + 2], out[at + 3] = _NULL, 0x75, 0x6C, 0x6C
            at += 4
    out[at] = 0x5D
    return at + 1
