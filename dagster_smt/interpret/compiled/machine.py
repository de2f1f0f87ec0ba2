"""Runs a program's steps on the slots of records. Values are not looked into: it is said where they come from.

A step goes through all records before the next one does, as the interpreter does it too.
"""

import numpy as np

from dagster_smt.interpret.compiled.native import compiled
from dagster_smt.interpret.compiled.places import APPENDED, CONSTANT, NUMBER, SPAN
from dagster_smt.interpret.compiled.steps import CHANGE, DROP, FILL, INSERT, KEEP, PUT, TAKE

_NO_ACTS, _QUOTE = np.uint64(0), 0x22


@compiled
def make_room(slot, row, slots, rows):  # type: ignore[no-untyped-def]
    """Let a slot have another value: in the place of what is there, or at the end."""
    if slots.place[slot, row] < 0:
        slots.place[slot, row] = APPENDED + rows.appended[row]
        rows.appended[row] += 1
    if slots.acts[slot, row] != _NO_ACTS:
        rows.odd[row] = 1
        slots.acts[slot, row] = _NO_ACTS


@compiled
def is_text(data, kind, start, texts):  # type: ignore[no-untyped-def]
    """Whether a value is a text, as far as that can be seen from its first byte."""
    if kind == CONSTANT:
        return texts.bytes[texts.constants[start]] == _QUOTE
    return kind == SPAN and data[start] == _QUOTE


@compiled
def change(data, slot, text, act, bit, slots, rows, texts):  # type: ignore[no-untyped-def]
    places, kinds, starts, acts = slots.place[slot], slots.kind[slot], slots.start[slot], slots.acts[slot]
    touched, flag = rows.touched, np.uint64(1) << np.uint64(act)
    for row in range(len(places)):
        if places[row] >= 0:
            if text >= 0 and acts[row] == _NO_ACTS and is_text(data, kinds[row], starts[row], texts):
                kinds[row], starts[row] = CONSTANT, text
                touched[row] |= bit
            else:
                acts[row] |= flag


@compiled
def fill(slot, slots, rows):  # type: ignore[no-untyped-def]
    places, kinds, starts = slots.place[slot], slots.kind[slot], slots.start[slot]
    for row in range(len(places)):
        if places[row] < 0:
            make_room(slot, row, slots, rows)
            kinds[row], starts[row] = CONSTANT, 0


@compiled
def drop(slot, bit, slots, rows):  # type: ignore[no-untyped-def]
    places, touched = slots.place[slot], rows.touched
    for row in range(len(places)):
        if places[row] >= 0:
            places[row] = -1
            touched[row] |= bit


@compiled
def hide(bit, items, rows):  # type: ignore[no-untyped-def]
    """Drop all members that have no slot."""
    for row in range(len(rows.hidden)):
        for at in range(items.first[row], items.first[row + 1]):
            if items.slot[at] < 0 and rows.hidden[row] == 0:
                rows.hidden[row] = 1
                rows.touched[row] |= bit


@compiled
def take(slot, other, bit, slots, rows):  # type: ignore[no-untyped-def]
    places, touched = slots.place[slot], rows.touched
    for row in range(len(places)):
        slots.place[other, row] = -1
        if places[row] >= 0:
            places[row], slots.place[other, row] = -1, 0
            slots.kind[other, row], slots.acts[other, row] = slots.kind[slot, row], slots.acts[slot, row]
            slots.start[other, row], slots.end[other, row] = slots.start[slot, row], slots.end[slot, row]
            slots.acts[slot, row] = _NO_ACTS
            touched[row] |= bit


@compiled
def put(slot, other, slots, rows):  # type: ignore[no-untyped-def]
    for row in range(len(rows.odd)):
        if slots.place[slot, row] >= 0:
            make_room(other, row, slots, rows)
            slots.kind[other, row], slots.acts[other, row] = slots.kind[slot, row], slots.acts[slot, row]
            slots.start[other, row], slots.end[other, row] = slots.start[slot, row], slots.end[slot, row]
            slots.place[slot, row], slots.acts[slot, row] = -1, _NO_ACTS


@compiled
def insert(slot, kind, value, keeps, bit, slots, rows):  # type: ignore[no-untyped-def]
    for row in range(len(rows.odd)):
        if keeps == 0 or slots.place[slot, row] < 0:
            make_room(slot, row, slots, rows)
            slots.kind[slot, row], slots.start[slot, row] = kind, value
            rows.touched[row] |= bit


@compiled
def run_step(data, what, slot, other, act, bit, slots, items, rows, texts):  # type: ignore[no-untyped-def]
    """One step on all records; those that are odd already do not count, whatever becomes of them."""
    if what in (CHANGE, FILL):
        change(data, slot, other, act, bit, slots, rows, texts)
        if what == FILL:
            fill(slot, slots, rows)
    elif what == DROP:
        drop(slot, bit, slots, rows)
    elif what == KEEP:
        for one in range(len(slots.place)):
            if (other >> one) & 1 == 0:
                drop(one, bit, slots, rows)
        hide(bit, items, rows)
    elif what == TAKE:
        take(slot, other, bit, slots, rows)
    elif what == PUT:
        put(slot, other, slots, rows)
    else:
        insert(slot, CONSTANT if what == INSERT else NUMBER, other, act, bit, slots, rows)


@compiled
def run(data, steps, slots, items, rows, texts):  # type: ignore[no-untyped-def]
    """All steps."""
    for n in range(len(steps)):
        what, slot, other, act, bit = steps[n, 0], steps[n, 1], steps[n, 2], steps[n, 3], steps[n, 4]
        run_step(data, what, slot, other, act, bit, slots, items, rows, texts)
