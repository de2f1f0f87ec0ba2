"""Runs a program's steps on the slots of records. Values are not looked into: it is said where they come from.

A step goes through all records before the next one does, as the interpreter does it too.
"""

import numpy as np

from dagster_smt.interpret.compiled.native import compiled
from dagster_smt.interpret.compiled.places import APPENDED, CONSTANT, NUMBER, SPAN
from dagster_smt.interpret.compiled.spots import change_spots, has_spots, is_text, leave_out, lose, read_key
from dagster_smt.interpret.compiled.steps import (
    CHANGE,
    CHANGE_SPOTS,
    DROP,
    DROP_SPOTS,
    FILL,
    INSERT,
    KEEP,
    PUT,
    READ_KEY,
    TAKE,
)

_NO_ACTS = np.uint64(0)


@compiled
def lose_slot(slot, row, slots, spots):  # type: ignore[no-untyped-def]
    """The value of a slot goes, and all that is inside."""
    if slots[slot, row].kind == SPAN:
        lose(spots, row, np.int64(slots[slot, row].start), np.int64(slots[slot, row].end))


@compiled
def make_room(slot, row, slots, spots, rows):  # type: ignore[no-untyped-def]
    """Let a slot have another value: in the place of what is there, or at the end."""
    if slots[slot, row].place < 0:
        slots[slot, row].place = APPENDED + rows.appended[row]
        rows.appended[row] += 1
    else:
        lose_slot(slot, row, slots, spots)
    if slots[slot, row].acts != _NO_ACTS:
        rows.odd[row] = 1
        slots[slot, row].acts = _NO_ACTS


@compiled
def change(data, slot, text, act, bit, slots, spots, rows, texts):  # type: ignore[no-untyped-def]
    flag = np.uint64(1) << np.uint64(act)
    for row in range(len(rows.odd)):
        found = slots[slot, row]
        if found.place >= 0:
            if text >= 0 and found.acts == _NO_ACTS and is_text(data, found.kind, found.start, texts):
                found.kind, found.start = CONSTANT, text
                rows.touched[row] |= bit
            elif found.kind == SPAN and has_spots(spots, row, np.int64(found.start), np.int64(found.end)):
                rows.odd[row] = 1
            else:
                found.acts |= flag


@compiled
def fill(slot, slots, spots, rows):  # type: ignore[no-untyped-def]
    for row in range(len(rows.odd)):
        if slots[slot, row].place < 0:
            make_room(slot, row, slots, spots, rows)
            slots[slot, row].kind, slots[slot, row].start = CONSTANT, 0


@compiled
def drop(slot, bit, slots, spots, rows):  # type: ignore[no-untyped-def]
    for row in range(len(rows.odd)):
        if slots[slot, row].place >= 0:
            slots[slot, row].place = -1
            rows.touched[row] |= bit
            lose_slot(slot, row, slots, spots)


@compiled
def hide(bit, items, spots, rows):  # type: ignore[no-untyped-def]
    """Drop all members that have no slot."""
    for row in range(len(rows.hidden)):
        for at in range(items.first[row], items.first[row + 1]):
            if items.at[at].slot < 0 and rows.hidden[row] == 0:
                rows.hidden[row] = 1
                rows.touched[row] |= bit
            if items.at[at].slot < 0:
                lose(spots, row, np.int64(items.at[at].start), np.int64(items.at[at].end))


@compiled
def move(source, target):  # type: ignore[no-untyped-def]
    """Let a slot have what another one had, but not its place."""
    target.kind, target.start, target.end, target.acts = source.kind, source.start, source.end, source.acts
    source.place, source.acts = -1, _NO_ACTS


@compiled
def take(slot, other, bit, slots, rows):  # type: ignore[no-untyped-def]
    for row in range(len(rows.odd)):
        slots[other, row].place = -1
        if slots[slot, row].place >= 0:
            move(slots[slot, row], slots[other, row])
            slots[other, row].place = 0
            rows.touched[row] |= bit


@compiled
def put(slot, other, slots, spots, rows):  # type: ignore[no-untyped-def]
    for row in range(len(rows.odd)):
        if slots[slot, row].place >= 0:
            make_room(other, row, slots, spots, rows)
            move(slots[slot, row], slots[other, row])


@compiled
def insert(slot, kind, value, keeps, bit, slots, spots, rows):  # type: ignore[no-untyped-def]
    for row in range(len(rows.odd)):
        if keeps == 0 or slots[slot, row].place < 0:
            make_room(slot, row, slots, spots, rows)
            slots[slot, row].kind, slots[slot, row].start = kind, value
            rows.touched[row] |= bit


@compiled
def run_step(data, step, slots, items, spots, rows, texts, ways, keys):  # type: ignore[no-untyped-def]
    """One step on all records; those that are odd already do not count, whatever becomes of them."""
    what, slot, other, act, bit = step[0], step[1], step[2], step[3], step[4]
    if what in (CHANGE, FILL):
        change(data, slot, other, act, bit, slots, spots, rows, texts)
        if what == FILL:
            fill(slot, slots, spots, rows)
    elif what == DROP:
        drop(slot, bit, slots, spots, rows)
    elif what == KEEP:
        for one in range(len(slots)):
            if (other >> one) & 1 == 0:
                drop(one, bit, slots, spots, rows)
        hide(bit, items, spots, rows)
    elif what == TAKE:
        take(slot, other, bit, slots, rows)
    elif what == PUT:
        put(slot, other, slots, spots, rows)
    elif what == CHANGE_SPOTS:
        change_spots(data, other, act, spots, rows, texts, ways)
    elif what == DROP_SPOTS:
        leave_out(other, spots, rows, ways)
    elif what == READ_KEY:
        read_key(data, slot, other, act, bit, slots, spots, rows, keys)
    else:
        insert(slot, CONSTANT if what == INSERT else NUMBER, other, act, bit, slots, spots, rows)


@compiled
def run(data, steps, slots, items, spots, rows, texts, ways, keys):  # type: ignore[no-untyped-def]
    """All steps."""
    for n in range(len(steps)):
        run_step(data, steps[n], slots, items, spots, rows, texts, ways, keys)
