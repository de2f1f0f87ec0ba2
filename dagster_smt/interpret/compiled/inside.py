"""Goes through values of the top level that paths lead into, and notes the spots where they end.

A container that is gone into has to be as the interpreter would write it again: without blanks, no name twice.
"""

import numpy as np

from dagster_smt.interpret.compiled.json_scan import MAX_DEPTH, ODD, after_plain_name, after_value, hashed
from dagster_smt.interpret.compiled.native import compiled, copy_bytes
from dagster_smt.interpret.compiled.places import SPAN

_QUOTE, _COLON, _COMMA, _OPEN_OBJECT, _OPEN_ARRAY = 0x22, 0x3A, 0x2C, 0x7B, 0x5B
_MINUS, _ZERO, _NINE, _EXPONENT, _SMALL = 0x2D, 0x30, 0x39, 0x65, 0x20
_DIGITS = 18
_NAMES, _CONTAINERS = 0, 1  # in ``Met.counts``


@compiled
def number_of(met, data, start, end):  # type: ignore[no-untyped-def]
    """The number of a name, a new one if it has not been met; ``ODD`` if there is no more room."""
    found, size = hashed(data, start, end), end - start
    last = np.uint64(len(met.table) - 1)
    at = found & last
    while met.table[at] >= 0:
        number = met.table[at]
        first = met.ends[number]
        if met.hashes[number] == found and met.ends[number + 1] - first == size:
            k = 0
            while k < size and met.texts[first + k] == data[start + k]:
                k += 1
            if k == size:
                return number
        at = (at + np.uint64(1)) & last
    number = met.counts[_NAMES]
    first = met.ends[number]
    if number == len(met.hashes) or first + size > len(met.texts):
        return ODD
    copy_bytes(met.texts, first, data, start, size)
    met.ends[number + 1], met.hashes[number], met.table[at] = first + size, found, number
    met.counts[_NAMES] += 1
    return number


@compiled
def new_spot(spots, row, cut, begin, ends):  # type: ignore[no-untyped-def]
    """The number of a new spot of a row, ``ODD`` if there is no more room; where its value ends is not known yet."""
    number = spots.first[row + 1]
    if number == len(spots.at):
        return ODD
    spot = spots.at[number]
    spot.ends, spot.cut, spot.begin, spot.start = ends, cut, begin, begin
    spot.kind, spot.acts, spot.left, spot.lost = SPAN, np.uint64(0), 0, 0
    spots.first[row + 1] = number + 1
    return number


@compiled
def close(spots, number, at):  # type: ignore[no-untyped-def]
    """Note where the value of a spot ends."""
    if number >= 0:
        spots.at[number].close = spots.at[number].end = at


@compiled
def bits_below(passed, active, ways):  # type: ignore[no-untyped-def]
    """The bits that are active inside a member, of those active around it and those that it passed."""
    return ((passed & ~ways.final) << 1) | (active & ways.sticky)


@compiled
def member(data, i, end, depth, row, ways, met, levels, spots):  # type: ignore[no-untyped-def]
    """(position of the value, active bits inside it, its spot or -1) of the member or element that begins at ``i``."""
    cut = i
    if levels[depth].is_object == 1:
        name_end = after_plain_name(data, i + 1, end) if i < end and data[i] == _QUOTE else ODD
        if name_end == ODD or name_end >= end or data[name_end] != _COLON:
            return ODD, np.int64(0), np.int64(-1)
        number = number_of(met, data, i + 1, name_end - 1)
        if number == ODD or met.container[depth, number] == levels[depth].serial:
            return ODD, np.int64(0), np.int64(-1)
        met.container[depth, number] = levels[depth].serial
        passed, i = ways.names[number], name_end + 1
    else:
        passed = ways.elements[min(levels[depth].element, len(ways.elements) - 1)]
        levels[depth].element += 1
    passed &= levels[depth].active
    ends, spot = passed & ways.final, np.int64(-1)
    if ends != 0:
        spot = new_spot(spots, row, cut, i, ends)
        if spot == ODD:
            return ODD, np.int64(0), np.int64(-1)
    return i, bits_below(passed, levels[depth].active, ways), spot


@compiled
def opened(levels, depth, byte, active, spot, met):  # type: ignore[no-untyped-def]
    """Note a container that is gone into."""
    met.counts[_CONTAINERS] += 1
    levels[depth].active, levels[depth].is_object, levels[depth].spot = active, byte == _OPEN_OBJECT, spot
    levels[depth].element, levels[depth].serial = 0, met.counts[_CONTAINERS]


@compiled
def closed(data, i, end, depth, levels, spots):  # type: ignore[no-untyped-def]
    """(position, depth) after a value, after the comma behind it too; depth -1: it was the outermost."""
    while depth >= 0:
        if i >= end:
            return ODD, depth
        if data[i] == _COMMA:
            return i + 1, depth
        if data[i] != (_OPEN_OBJECT if levels[depth].is_object == 1 else _OPEN_ARRAY) + 2:
            return ODD, depth
        i += 1
        close(spots, levels[depth].spot, i)
        depth -= 1
    return i, depth


@compiled
def is_easy(data, start, end):  # type: ignore[no-untyped-def]
    """Whether a value is no number that may be too large. Looked at it would be refused, and a path looks at it."""
    first = data[start]
    if first != _MINUS and not (_ZERO <= first <= _NINE):
        return True
    if end - start > _DIGITS:
        return False
    while start < end and data[start] | _SMALL != _EXPONENT:
        start += 1
    return start == end


@compiled
def after_inside(data, i, end, active, row, ways, met, levels, spots):  # type: ignore[no-untyped-def]
    """The position after a value in which these bits are active; ``ODD`` for the interpreter."""
    depth, spot = np.int64(-1), np.int64(-1)
    while i < end:
        byte = data[i]
        if active != 0 and byte in (_OPEN_OBJECT, _OPEN_ARRAY) and i + 1 < end and data[i + 1] != byte + 2:
            depth, i = depth + 1, i + 1
            if depth >= MAX_DEPTH:
                return ODD
            opened(levels, depth, byte, active, spot, met)
        else:
            start, i = i, after_value(data, i, end)
            if i == ODD or (active != 0 and not is_easy(data, start, i)):
                return ODD
            close(spots, spot, i)
            i, depth = closed(data, i, end, depth, levels, spots)
            if i == ODD or depth < 0:
                return i
        i, active, spot = member(data, i, end, depth, row, ways, met, levels, spots)
        if i == ODD:
            return ODD
    return ODD
