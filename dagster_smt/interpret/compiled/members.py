"""Finds the members of each record's object: slots for the names that a chain knows, runs of bytes for the rest."""

import numpy as np

from dagster_smt.interpret.compiled.inside import after_inside, bits_below, close, new_spot, number_of
from dagster_smt.interpret.compiled.json_scan import (
    ODD,
    after_blanks,
    after_plain_name,
    after_value,
    hashed,
    value_start,
)
from dagster_smt.interpret.compiled.native import compiled
from dagster_smt.interpret.compiled.places import MAX_MEMBERS, MEMBER, RUN, SPAN

_SLOTS = np.uint64(2 * MAX_MEMBERS - 1)


@compiled
def is_new(seen, found, stamp):  # type: ignore[no-untyped-def]
    """Whether a record has had no name with this hash; from now on it has."""
    at = found & _SLOTS
    while seen.stamps[at] == stamp:
        if seen.hashes[at] == found:
            return False
        at = (at + np.uint64(1)) & _SLOTS
    seen.stamps[at], seen.hashes[at] = stamp, found
    return True


@compiled
def slot_of(names, data, start, end, found):  # type: ignore[no-untyped-def]
    """The slot of a name, -1 if the chain does not know it."""
    last = np.uint64(len(names.table) - 1)
    at = found & last
    while names.table[at] >= 0:
        slot = names.table[at]
        first = names.ends[slot]
        if names.hashes[slot] == found and names.ends[slot + 1] - first == end - start:
            k = 0
            while k < end - start and names.texts[first + k] == data[start + k]:
                k += 1
            if k == end - start:
                return slot
        at = (at + np.uint64(1)) & last
    return -1


@compiled
def after_member(data, i, name_end, start, end, slot, row, ways, inner):  # type: ignore[no-untyped-def]
    """The position after a member's value. A member where a path ends gets a spot, unless it has a slot."""
    if ways.first == 0:
        return after_value(data, start, end)
    met, levels, spots = inner
    number = number_of(met, data, i + 1, name_end - 1)
    if number == ODD:
        return ODD
    passed, spot = ways.first & ways.names[number], np.int64(-1)
    if slot < 0 and passed & ways.final != 0:
        spot = new_spot(spots, row, i, start, passed & ways.final)
        if spot == ODD:
            return ODD
    active = bits_below(passed, ways.first, ways)
    value_end = after_inside(data, start, end, active, row, ways, met, levels, spots)
    close(spots, spot, value_end)
    return value_end


@compiled
def is_spot(i, row, before, spots):  # type: ignore[no-untyped-def]
    """Whether the member of the top level that begins at ``i`` has a spot; ``before``: the spots before it."""
    return spots.first[row + 1] > before and spots.at[before].cut == i


@compiled
def scan_members(data, i, end, names, row, slots, items, seen, ways, inner):  # type: ignore[no-untyped-def]
    """Fill in the items, slots and spots of one record; the number of items, or ``ODD``."""
    at, run_end, members = items.first[row], -1, 0
    while True:
        if i >= end or data[i] != 0x22 or members >= MAX_MEMBERS:
            return ODD
        name_end = after_plain_name(data, i + 1, end)
        if name_end == ODD:
            return ODD
        found, members = hashed(data, i + 1, name_end - 1), members + 1
        if not is_new(seen, found, row):
            return ODD
        start = value_start(data, name_end, end)
        if start == ODD:
            return ODD
        slot, before = slot_of(names, data, i + 1, name_end - 1, found), inner[2].first[row + 1]
        value_end = after_member(data, i, name_end, start, end, slot, row, ways, inner)
        if value_end == ODD:
            return ODD
        if slot >= 0:
            slots[slot, row].place, slots[slot, row].kind = at - items.first[row], SPAN
            slots[slot, row].start, slots[slot, row].end = start, value_end
            items.at[at].slot = slot
            run_end, at = -1, at + 1
        elif start != name_end + 1 or is_spot(i, row, before, inner[2]):
            items.at[at].slot, items.at[at].start, items.at[at].end = MEMBER, start, value_end
            items.at[at].name_start, items.at[at].name_end = i, name_end
            run_end, at = -1, at + 1
        elif run_end == i - 1:
            items.at[at - 1].end = run_end = value_end
        else:
            items.at[at].slot, items.at[at].start, items.at[at].end = RUN, i, value_end
            run_end, at = value_end, at + 1
        i = after_blanks(data, value_end, end)
        if i >= end or data[i] != 0x2C:
            break
        i = after_blanks(data, i + 1, end)
    if i >= end or data[i] != 0x7D or after_blanks(data, i + 1, end) != end:
        return ODD
    return at - items.first[row]


@compiled
def scan_record(data, start, end, names, row, slots, items, seen, ways, inner):  # type: ignore[no-untyped-def]
    """As ``scan_members``, for the whole text of a record."""
    i = after_blanks(data, start, end)
    if i >= end or data[i] != 0x7B:
        return ODD
    i = after_blanks(data, i + 1, end)
    if i < end and data[i] == 0x7D:
        return 0 if after_blanks(data, i + 1, end) == end else ODD
    return scan_members(data, i, end, names, row, slots, items, seen, ways, inner)


@compiled
def scan(data, offsets, names, rows, slots, items, seen, ways, inner):  # type: ignore[no-untyped-def]
    """Fill in the items, slots and spots (``inner``: names met, levels, spots) of all records that are not odd."""
    items.first[0], spots = 0, inner[2]
    for row in range(len(rows.odd)):
        count, spots.first[row + 1] = 0, spots.first[row]
        if rows.odd[row] == 0:
            begin, end = np.int64(offsets[row]), np.int64(offsets[row + 1])
            count = scan_record(data, begin, end, names, row, slots, items, seen, ways, inner)
            if count == ODD:
                rows.odd[row], count, spots.first[row + 1] = 1, 0, spots.first[row]
        items.first[row + 1] = items.first[row] + count
