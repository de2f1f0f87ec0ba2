"""Keys that a chain makes of fields: checked, and written in the format of the topic's keys."""

import numpy as np

from dagster_smt.interpret.compiled.json_scan import ODD, after_blanks, after_digits, after_plain_name, after_value
from dagster_smt.interpret.compiled.native import compiled, copy_bytes

_DIGITS = 18
_QUOTE, _MINUS, _ZERO, _NINE = 0x22, 0x2D, 0x30, 0x39


@compiled
def is_whole(data, start, end):  # type: ignore[no-untyped-def]
    """Whether the text of a JSON value is a whole number that 64 bits hold, as it would be written again."""
    if data[start] == _MINUS:
        start += 1
        if end > start and data[start] == _ZERO:
            return False
    if end - start > _DIGITS:
        return False
    return after_digits(data, start, end) == end


@compiled
def is_plain(data, start, end):  # type: ignore[no-untyped-def]
    """Whether a JSON value is written again as it stands: a text without escapes, a whole number, or a literal."""
    first = data[start]
    if first == _QUOTE:
        return after_plain_name(data, start + 1, end) == end
    if first == 0x74 or first == 0x66 or first == 0x6E:
        return True
    return is_whole(data, start, end)


@compiled
def check_keys(data, keys, rows, extracted, bit):  # type: ignore[no-untyped-def]
    """Records with other values are odd. A null that is extracted is no value; ``bit`` is set for others."""
    for row in range(len(rows.odd)):
        for number in range(len(keys.there)):
            if keys.there[number, row] == 1:
                start, end = np.int64(keys.start[number, row]), np.int64(keys.end[number, row])
                if not is_plain(data, start, end):
                    rows.odd[row] = 1
                elif extracted and data[start] == 0x6E:
                    keys.there[number, row] = 0
                elif extracted:
                    rows.touched[row] |= bit


@compiled
def write_keys(out, ends, data, keys, rows, labels, label_ends, extracted, as_text):  # type: ignore[no-untyped-def]
    """Write the keys of all records that are not odd; of the others nothing.

    ``labels``: what is before each value of an object, and what closes it; the null of JSON is the last one.
    """
    at, count = np.int64(0), len(keys.there)
    ends[0] = 0
    for row in range(len(rows.odd)):
        if rows.odd[row] == 0:
            for number in range(count):
                if not extracted:
                    at = label(out, at, labels, label_ends, number)
                if keys.there[number, row] == 1:
                    start, end = np.int64(keys.start[number, row]), np.int64(keys.end[number, row])
                    if as_text and data[start] == _QUOTE:
                        start, end = start + 1, end - 1
                    at = put(out, at, data, start, end)
                elif not extracted:
                    at = label(out, at, labels, label_ends, count + 1)
            if not extracted:
                at = label(out, at, labels, label_ends, count)
        ends[row + 1] = at


@compiled
def put(out, at, data, start, end):  # type: ignore[no-untyped-def]
    copy_bytes(out, at, data, start, end - start)
    return at + np.int64(end - start)


@compiled
def label(out, at, labels, ends, number):  # type: ignore[no-untyped-def]
    return put(out, at, labels, np.int64(ends[number]), np.int64(ends[number + 1]))


@compiled
def is_number(first):  # type: ignore[no-untyped-def]
    return first == _MINUS or _ZERO <= first <= _NINE


@compiled
def is_readable(data, i, end):  # type: ignore[no-untyped-def]
    """Whether bytes are JSON of a kind that can be read without trouble."""
    start = after_blanks(data, i, end)
    last = after_value(data, start, end) if start < end else ODD
    if last == ODD or after_blanks(data, last, end) != end:
        return False
    return not is_number(data[start]) or is_whole(data, start, last)


@compiled
def check_given(data, ends, odd):  # type: ignore[no-untyped-def]
    """Records are odd whose key is something else."""
    for row in range(len(odd)):
        if odd[row] == 0 and not is_readable(data, np.int64(ends[row]), np.int64(ends[row + 1])):
            odd[row] = 1
