"""JSON of one record, byte by byte: where its members are, and whether it is JSON at all.

What is accepted here is valid JSON (RFC 8259) whose bytes the interpreter would hand on unchanged. Everything else is
refused with ``ODD``, for the interpreter to judge: text that is no JSON, but also names with escapes, escaped
surrogates, and deep nesting. That the bytes are UTF-8 is checked elsewhere, for all records at once.
"""

import numpy as np

from dagster_smt.interpret.compiled.native import compiled, low_zeros, word_at

ODD = -1
"""Instead of a position: the interpreter has to look at this record."""
MAX_DEPTH = 60
_QUOTE, _BACKSLASH, _COLON, _COMMA = 0x22, 0x5C, 0x3A, 0x2C
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = 0x7B, 0x7D, 0x5B, 0x5D
_MINUS, _PLUS, _DOT, _ZERO, _NINE = 0x2D, 0x2B, 0x2E, 0x30, 0x39

_ONES = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)
_QUOTES, _BACKSLASHES, _BLANKS = _ONES * np.uint64(0x22), _ONES * np.uint64(0x5C), _ONES * np.uint64(0x20)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_ZERO_WORD, _SHIFT, _FOUR, _SEVEN = np.uint64(0), np.uint64(29), np.uint64(4), np.uint64(7)


@compiled
def after_blanks(data, i, end):  # type: ignore[no-untyped-def]
    """The position of what follows blanks, ``end`` if nothing does."""
    while i < end:
        byte = data[i]
        if byte > 0x20 or not (byte == 0x20 or byte == 0x0A or byte == 0x0D or byte == 0x09):
            return i
        i += 1
    return i


@compiled
def special_bytes(word):  # type: ignore[no-untyped-def]
    """The highest bits of those bytes of a word that text does not just go on with; the lowest of them is exact."""
    quotes, backslashes = word ^ _QUOTES, word ^ _BACKSLASHES
    found = (quotes - _ONES) & ~quotes
    found |= (backslashes - _ONES) & ~backslashes
    found |= (word - _BLANKS) & ~word
    return found & _HIGHS


@compiled
def is_hex(byte):  # type: ignore[no-untyped-def]
    return (_ZERO <= byte <= _NINE) or (0x41 <= byte <= 0x46) or (0x61 <= byte <= 0x66)


@compiled
def after_escape(data, i, end):  # type: ignore[no-untyped-def]
    """The position after an escape, from its backslash; ``ODD`` for surrogates too: only pairs of them are text."""
    if i + 1 >= end:
        return ODD
    byte = data[i + 1]
    if byte != 0x75:
        known = byte == 0x22 or byte == 0x5C or byte == 0x2F or byte == 0x62 or byte == 0x66
        return i + 2 if known or byte == 0x6E or byte == 0x72 or byte == 0x74 else ODD
    if i + 6 > end or ((data[i + 2] | 0x20) == 0x64 and data[i + 3] > 0x37):
        return ODD
    for k in range(i + 2, i + 6):
        if not is_hex(data[k]):
            return ODD
    return i + 6


@compiled
def next_special(data, i, end):  # type: ignore[no-untyped-def]
    """The position of the next byte that text does not just go on with, ``end`` if there is none."""
    while i + 8 <= end:
        found = special_bytes(word_at(data, i))
        if found != _ZERO_WORD:
            return i + (low_zeros(found) >> 3)
        i += 8
    while i < end and data[i] != _QUOTE and data[i] != _BACKSLASH and data[i] >= 0x20:
        i += 1
    return i


@compiled
def after_string(data, i, end):  # type: ignore[no-untyped-def]
    """The position after a string, from behind its opening quote."""
    while i != ODD:
        i = next_special(data, i, end)
        if i >= end:
            return ODD
        if data[i] == _QUOTE:
            return i + 1
        i = after_escape(data, i, end) if data[i] == _BACKSLASH else ODD
    return ODD


@compiled
def after_digits(data, i, end):  # type: ignore[no-untyped-def]
    while i < end and _ZERO <= data[i] <= _NINE:
        i += 1
    return i


@compiled
def after_number(data, i, end):  # type: ignore[no-untyped-def]
    if data[i] == _MINUS:
        i += 1
    first = i
    i = after_digits(data, i, end)
    if i == first or (data[first] == _ZERO and i > first + 1):
        return ODD
    if i < end and data[i] == _DOT:
        first = i + 1
        i = after_digits(data, first, end)
        if i == first:
            return ODD
    if i < end and (data[i] | 0x20) == 0x65:
        first = i + 1
        if first < end and (data[first] == _PLUS or data[first] == _MINUS):
            first += 1
        i = after_digits(data, first, end)
        if i == first:
            return ODD
    return i


@compiled
def after_literal(data, i, end):  # type: ignore[no-untyped-def]
    """The position after ``true``, ``false`` or ``null``."""
    first = data[i]
    if first == 0x66:  # the rest of it is four letters too
        i += 1
    if i + 4 > end:
        return ODD
    a, b, c, d = data[i], data[i + 1], data[i + 2], data[i + 3]
    if first == 0x74 and b == 0x72 and c == 0x75 and d == 0x65:
        return i + 4
    if first == 0x66 and a == 0x61 and b == 0x6C and c == 0x73 and d == 0x65:
        return i + 4
    if first == 0x6E and b == 0x75 and c == 0x6C and d == 0x6C:
        return i + 4
    return ODD


@compiled
def after_scalar(data, i, end):  # type: ignore[no-untyped-def]
    byte = data[i]
    if byte == _QUOTE:
        return after_string(data, i + 1, end)
    if byte == _MINUS or _ZERO <= byte <= _NINE:
        return after_number(data, i, end)
    return after_literal(data, i, end)


@compiled
def value_start(data, i, end):  # type: ignore[no-untyped-def]
    """The position of a member's value, from behind its name."""
    i = after_blanks(data, i, end)
    if i >= end or data[i] != _COLON:
        return ODD
    return after_blanks(data, i + 1, end)


@compiled
def after_name(data, i, end):  # type: ignore[no-untyped-def]
    """The position of a member's value, from the opening quote of its name."""
    if i >= end or data[i] != _QUOTE:
        return ODD
    i = after_string(data, i + 1, end)
    return ODD if i == ODD else value_start(data, i, end)


@compiled
def next_value(data, i, end, depth, kinds):  # type: ignore[no-untyped-def]
    """(position, depth, kinds) of the value that follows one, whatever is closed in between; depth 0: none does."""
    while depth > 0:
        i = after_blanks(data, i, end)
        if i >= end:
            return ODD, depth, kinds
        is_object = (kinds & np.uint64(1)) == np.uint64(1)
        if data[i] == _COMMA:
            i = after_blanks(data, i + 1, end)
            return (after_name(data, i, end) if is_object else i), depth, kinds
        if data[i] != (_CLOSE_OBJECT if is_object else _CLOSE_ARRAY):
            return ODD, depth, kinds
        i, depth, kinds = i + 1, depth - 1, kinds >> np.uint64(1)
    return i, depth, kinds


@compiled
def after_value(data, i, end):  # type: ignore[no-untyped-def]
    """The position after a value of any kind."""
    depth, kinds = np.int64(0), _ZERO_WORD  # a bit for each level: 1 is an object
    while i < end:
        byte = data[i]
        if byte in (_OPEN_OBJECT, _OPEN_ARRAY):
            i = after_blanks(data, i + 1, end)
            if i >= end or data[i] != byte + 2:  # the closing bracket
                depth, kinds = depth + 1, (kinds << np.uint64(1)) | np.uint64(byte == _OPEN_OBJECT)
                if depth > MAX_DEPTH:
                    return ODD
                if byte == _OPEN_OBJECT:
                    i = after_name(data, i, end)
                    if i == ODD:
                        return ODD
                continue
            i += 1
        else:
            i = after_scalar(data, i, end)
            if i == ODD:
                return ODD
        i, depth, kinds = next_value(data, i, end, depth, kinds)
        if i == ODD or depth == 0:
            return i
    return ODD


@compiled
def hashed(data, i, end):  # type: ignore[no-untyped-def]
    """A hash of bytes. Names that it takes for equal are compared, or the record is odd: it need not be perfect."""
    found = np.uint64(end - i)
    while i + 8 <= end:
        found = (found ^ word_at(data, i)) * _FACTOR
        found ^= found >> _SHIFT
        i += 8
    rest = _ZERO_WORD
    while i < end:
        rest = (rest << np.uint64(8)) | np.uint64(data[i])
        i += 1
    found = (found ^ rest) * _FACTOR
    return found ^ (found >> _SHIFT)


@compiled
def after_plain_name(data, i, end):  # type: ignore[no-untyped-def]
    """The position after a name without escapes, from behind its opening quote."""
    i = next_special(data, i, end)
    return i + 1 if i < end and data[i] == _QUOTE else ODD
