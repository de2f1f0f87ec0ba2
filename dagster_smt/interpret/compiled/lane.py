"""The compiled lane: a chain over batches of JSON objects without schema, without decoding them.

Each batch goes three ways in turn: compiled code finds the fields that the chain names (``members``) and runs the
stages on them (``machine``); what stages compute from a value is computed by their own functions, on that value alone;
compiled code writes the records (``writer``). The interpreter is the judge of it all: a record that is anything but
plain is left to it, and for the rest both give the same bytes.
"""

from typing import Any

import numpy as np

from dagster_smt.authoring.stage import Chain
from dagster_smt.interpret.cache import Cache
from dagster_smt.interpret.compiled import keys, machine, members, writer
from dagster_smt.interpret.compiled.acts import Acts, of_slots, of_spots
from dagster_smt.interpret.compiled.arrays import Bytes, bytes_of
from dagster_smt.interpret.compiled.batch import Done, Given
from dagster_smt.interpret.compiled.field_changes import Change, Drop, MakeKey
from dagster_smt.interpret.compiled.json_scan import hashed
from dagster_smt.interpret.compiled.places import (
    MAX_NAMES,
    Array,
    Keys,
    Met,
    Names,
    Rows,
    Texts,
    Ways,
    new_items,
    new_keys,
    new_levels,
    new_met,
    new_rows,
    new_seen,
    new_slots,
    new_spots,
)
from dagster_smt.interpret.compiled.program import Acting, Program, built, program_of
from dagster_smt.interpret.stages import runners
from dagster_smt.model.path import EXTENDED, parse_path
from dagster_smt.values.lazy import encode, encoder

MOST_ROOM = 2**31 - 1
"""Bytes that a batch may need at most: positions are 32-bit numbers."""
_NUMBER = 20
"""Characters of a 64-bit number at most."""


class Lane:
    """A chain ready to run on batches of one topic each.

    Args:
        chain: One that ``eligible`` accepts.
        key_kind: The format of its keys: ``string``, ``json``, or another one if the chain makes no keys.
    """

    def __init__(self, chain: Chain, key_kind: str):
        self.chain, self.key_kind, self.runners = chain, key_kind, runners(chain)
        self.programs: Cache[str | None, _Ready | None] = Cache()
        self.met = new_met()

    def run(self, given: Given, topic: str | None) -> Done | None:
        """Run a batch from a topic; None: the interpreter has to run it all."""
        if topic not in self.programs:
            self.programs[topic] = self._ready(topic)
        ready = self.programs[topic]
        if ready is not None and given.keys is not None:
            keys.check_given(given.keys.data, given.keys.ends, given.odd)
        return None if ready is None else ready.run(given)

    def _ready(self, topic: str | None) -> "_Ready | None":
        program = program_of(self.chain, self.runners, topic)
        if program is None or (program.key is not None and not _writes(program, self.key_kind)):
            return None
        return _Ready(program, self.key_kind, self.met)


def _writes(program: Program, key_kind: str) -> bool:
    return key_kind == "json" or (key_kind == "string" and program.key is not None and program.key.extracted)


class _Ready:
    """A program with the arrays that compiled code takes."""

    def __init__(self, program: Program, key_kind: str, met: Met):
        self.program, self.met, self.levels, self.resolved = program, met, new_levels(), 0
        names = list(program.names)
        self.names, self.texts, self.ways = _names(names), _texts(names, program.constants), _ways(program)
        self.steps = np.array(program.steps, np.int64).reshape(-1, 5)
        self.longest = max(_NUMBER, *np.diff(self.texts.constants).tolist())
        self.room = int(self.texts.names[-1]) + len(names) * (self.longest + 1) + 2  # what records grow by at most
        self.seen = new_seen()
        self.acts = Acts(program)
        self.key = None if program.key is None else _KeyWriter(program, key_kind)

    def run(self, given: Given) -> Done:
        """See ``Lane.run``."""
        program, values, size = self.program, given.values, len(given.odd)
        rows, slots, items = (
            new_rows(given.odd),
            new_slots(max(program.slots, 1), size),
            new_items(size, len(values.data)),
        )
        inside = (self.met, self.levels, new_spots(size, len(values.data) if self.ways.first else 0))
        while True:
            self.seen.stamps[:] = -1
            members.scan(values.data, values.ends, self.names, rows, slots, items, self.seen, self.ways, inside)
            if not self._new_names():
                break
        spots, made_of = inside[2], new_keys(0 if self.key is None else self.key.count, size)
        machine.run(values.data, self.steps, slots, items, spots, rows, self.texts, self.ways, made_of)
        made_keys = (None, None) if self.key is None else self.key.write(values.data, made_of, rows)
        written = None
        if program.changes:
            columns = np.array([given.numbers(name) for name in program.numbers], np.int64).reshape(-1, size)
            made = self.acts.run(values, [*of_slots(slots), *of_spots(spots)], rows, columns)
            room = len(values.data) + len(made) + size * self.room + int(spots.first[-1]) * self.longest
            if room > MOST_ROOM:
                rows.odd[:], room = 1, 1
            out, ends = np.empty(room, np.uint8), np.empty(size + 1, np.int32)
            writer.write(out, ends, values.data, rows, slots, items, spots, self.texts, columns, made)
            written = Bytes(out[: ends[-1]], ends)
        return Done(program.topic, rows.touched | program.touched, rows.odd, written, *made_keys)

    def _new_names(self) -> bool:
        """Whether names have been met that paths have not been asked about: what is inside has to be found again."""
        met, first, last = self.met, self.resolved, int(self.met.counts[0]) if self.ways.first else 0
        for number in range(first, last):
            name = met.texts[met.ends[number] : met.ends[number + 1]].tobytes().decode()
            self.ways.names[number] = self.program.paths.of_name(name)
        self.resolved = last
        return last > first


class _KeyWriter:
    """Writes the keys that a program makes."""

    def __init__(self, program: Program, kind: str):
        assert program.key is not None
        self.key, self.as_text = program.key, kind == "string"
        self.count = len(self.key.names)
        before = [b"{" if n == 0 else b"," for n in range(self.count)]
        names = [encoder.encode(name) + b":" for name in self.key.names]
        self.labels = bytes_of([*map(bytes.__add__, before, names), b"}", b"null"])

    def write(self, data: Array, found: Keys, rows: Rows) -> tuple[Bytes, Array | None]:
        """The keys, and whether they are there if they may be null; other records than it can write are odd."""
        extracted = self.key.extracted
        keys.check_keys(data, found, rows, extracted, self.key.bit)
        size = int(((found.end - found.start) * found.there).sum()) + len(rows.odd) * (
            len(self.labels.data) + 4 * self.count
        )
        out, ends = np.empty(size + 1, np.uint8), np.empty(len(rows.odd) + 1, np.int32)
        keys.write_keys(out, ends, data, found, rows, self.labels.data, self.labels.ends, extracted, self.as_text)
        return Bytes(out[: ends[-1]], ends), found.there[0] == 1 if extracted else None


def warm() -> None:
    """Have all code compiled, or loaded from numba's cache.

    Raises:
        RuntimeError: There is no folder for the cache.
    """
    change = Change(parse_path("a"), lambda box, key, record: None, 0, rule=lambda kind: lambda value: value)
    deep = Drop(parse_path("**.x", EXTENDED), 0)
    program = built([Acting((deep, change, MakeKey((parse_path("k"),), 0)), "", True)], "")
    values, odd = bytes_of([b'{"a":1,"k":1}']), np.zeros(1, np.uint8)
    keys.check_given(values.data, values.ends, odd)
    _Ready(program, "json", new_met()).run(Given(values, odd, lambda name: np.zeros(1, np.int64)))


def _ways(program: Program) -> Ways:
    paths = program.paths
    names, bits = np.zeros(MAX_NAMES if paths.first else 1, np.int64), np.arange(max(len(paths.steps), 1))
    acts = np.array([program.path_acts.get(1 << bit, 0) for bit in bits.tolist()], np.int64)
    touched = np.array([program.path_bits.get(1 << bit, 0) for bit in bits.tolist()], np.int64)
    return Ways(paths.first, paths.final, paths.sticky, names, np.array(paths.of_elements(), np.int64), acts, touched)


def _names(names: list[str]) -> Names:
    texts = bytes_of([name.encode() for name in names])
    size = 4
    while size < 2 * len(names) + 1:
        size *= 2
    hashes, table = np.zeros(max(len(names), 1), np.uint64), np.full(size, -1, np.int64)
    for slot in range(len(names)):
        found = hashed(texts.data, int(texts.ends[slot]), int(texts.ends[slot + 1]))
        at = int(found) % size
        while table[at] >= 0:
            at = (at + 1) % size
        hashes[slot], table[at] = found, slot
    return Names(texts.data, texts.ends, hashes, table)


def _texts(names: list[str], constants: list[Any]) -> Texts:
    written = bytes_of([*(encoder.encode(name) + b":" for name in names), *(encode(c) or b"null" for c in constants)])
    return Texts(written.data, written.ends[: len(names) + 1], written.ends[len(names) :])
