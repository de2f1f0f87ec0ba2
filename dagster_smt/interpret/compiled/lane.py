"""The compiled lane: a chain over batches of JSON objects without schema, without decoding them.

Each batch goes three ways in turn: compiled code finds the fields that the chain names (``members``) and runs the
stages on them (``machine``); what stages compute from a value is computed by their own functions, on that value alone;
compiled code writes the records (``writer``). The interpreter is the judge of it all: a record that is anything but
plain is left to it, and for the rest both give the same bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dagster_smt.authoring.field_changes import Change
from dagster_smt.authoring.stage import Chain
from dagster_smt.interpret.cache import Cache
from dagster_smt.interpret.compiled import machine, members, writer
from dagster_smt.interpret.compiled.acts import Acts
from dagster_smt.interpret.compiled.arrays import Bytes, bytes_of
from dagster_smt.interpret.compiled.json_scan import hashed
from dagster_smt.interpret.compiled.places import Array, Names, Texts, new_items, new_rows, new_seen, new_slots
from dagster_smt.interpret.compiled.program import Program, program_of
from dagster_smt.interpret.stages import runners
from dagster_smt.values.lazy import encode, encoder

Numbers = Callable[[str], Array]
"""The column ``partition``, ``offset`` or ``timestamp`` (milliseconds), as 64-bit integers without nulls."""

_NUMBER = 20
"""Characters of a 64-bit number at most."""


@dataclass(frozen=True)
class Done:
    """What became of a batch.

    Attributes:
        topic: The topic of all that are not odd.
        touched: The bits of the ledger.
        odd: 1 where the interpreter has to run the record.
        values: The values after the chain, those of odd records empty; None: the bytes stay as they are.
    """

    topic: str | None
    touched: Array
    odd: Array
    values: Bytes | None


class Lane:
    """A chain ready to run on batches of one topic each.

    Args:
        chain: One that ``program.eligible`` accepts.
    """

    def __init__(self, chain: Chain):
        self.chain, self.runners = chain, runners(chain)
        self.programs: Cache[str | None, _Ready | None] = Cache()

    def run(self, values: Bytes, topic: str | None, odd: Array, numbers: Numbers) -> Done | None:
        """Run a batch.

        Args:
            values: The bytes of the values, in UTF-8.
            topic: Where the records are from.
            odd: 1 for those that are left to the interpreter in any case, such as tombstones; changed in place.
            numbers: Gives columns that the chain puts into records.

        Returns:
            None: the interpreter has to run them all.
        """
        if topic not in self.programs:
            program = program_of(self.chain, self.runners, topic)
            self.programs[topic] = None if program is None else _Ready(program)
        ready = self.programs[topic]
        return None if ready is None else ready.run(values, odd, numbers)


class _Ready:
    """A program with the arrays that compiled code takes."""

    def __init__(self, program: Program):
        self.program = program
        names = list(program.names)
        self.names, self.texts = _names(names), _texts(names, program.constants)
        self.steps = np.array(program.steps, np.int64).reshape(-1, 5)
        longest = max(_NUMBER, *np.diff(self.texts.constants).tolist())
        self.room = int(self.texts.names[-1]) + len(names) * (longest + 1) + 2  # what records grow by at most
        self.seen = new_seen()
        self.acts = Acts(program)

    def run(self, values: Bytes, odd: Array, numbers: Numbers) -> Done:
        """See ``Lane.run``."""
        program, size = self.program, len(odd)
        rows, slots = new_rows(odd), new_slots(max(program.slots, 1), size)
        items = new_items(size, len(values.data))
        self.seen.stamps[:] = -1
        members.scan(values.data, values.ends, self.names, rows, slots, items, self.seen)
        if not program.changes:
            return Done(program.topic, rows.touched | program.touched, rows.odd, None)
        machine.run(values.data, self.steps, slots, items, rows, self.texts)
        columns = np.array([numbers(name) for name in program.numbers], np.int64).reshape(-1, size)
        made = self.acts.run(values, slots, rows, columns)
        out = np.empty(len(values.data) + len(made) + size * self.room, np.uint8)
        ends = np.empty(size + 1, np.int32)
        writer.write(out, ends, values.data, rows, slots, items, self.texts, columns, made)
        return Done(program.topic, rows.touched | program.touched, rows.odd, Bytes(out[: ends[-1]], ends))


def warm() -> None:
    """Have all code compiled, or loaded from numba's cache.

    Raises:
        RuntimeError: There is no folder for the cache.
    """
    program = Program("", changes=True)
    program.add(Change("a", lambda box, key, record: None, 0, rule=lambda kind: lambda value: value), "")
    _Ready(program).run(bytes_of([b'{"a":1}']), np.zeros(1, np.uint8), lambda name: np.zeros(1, np.int64))


def _names(names: list[str]) -> Names:
    texts = bytes_of([name.encode() for name in names])
    size = 4
    while size < 2 * len(names) + 1:
        size *= 2
    hashes, table = np.zeros(max(len(names), 1), np.uint64), np.full(size, -1, np.int64)
    for slot in range(len(names)):
        found = hashed(texts.data, texts.ends[slot], texts.ends[slot + 1])
        at = int(found) % size
        while table[at] >= 0:
            at = (at + 1) % size
        hashes[slot], table[at] = found, slot
    return Names(texts.data, texts.ends, hashes, table)


def _texts(names: list[str], constants: list[Any]) -> Texts:
    written = bytes_of([*(encoder.encode(name) + b":" for name in names), *(encode(c) or b"null" for c in constants)])
    return Texts(written.data, written.ends[: len(names) + 1], written.ends[len(names) :])
