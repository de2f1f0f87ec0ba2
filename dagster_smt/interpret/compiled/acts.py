"""What stages compute from values, in Python: all at once where one function does it, else one by one."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from dagster_smt.authoring.field_changes import Act
from dagster_smt.interpret.cache import Cache
from dagster_smt.interpret.compiled import spans
from dagster_smt.interpret.compiled.arrays import Bytes, ends_of
from dagster_smt.interpret.compiled.places import CONSTANT, MADE, SPAN, Array, Rows, Slots
from dagster_smt.interpret.compiled.program import Program
from dagster_smt.model.record import Record
from dagster_smt.model.runtime import JavaInteger
from dagster_smt.values.lazy import Raw, encoder

_KINDS = {spans.TEXT: "string", spans.WHOLE: "int64"}
_decode = msgspec.json.Decoder(list).decode
Chosen = tuple[tuple[str, Act], ...]


class Acts:
    """Does to values what is noted for them.

    Args:
        program: The program that notes it.
    """

    def __init__(self, program: Program):
        self.program = program
        self.known: Cache[tuple[int, int], tuple[bytes, int]] = Cache()
        rules = enumerate(change.rule for change in program.acts)
        self.rules = {1 << number: rule for number, rule in rules if rule is not None}
        self.functions: dict[tuple[int, str], Callable[[Any], Any] | None] = {}

    def run(self, values: Bytes, slots: Slots, rows: Rows, columns: Array) -> Array:
        """Give slots their new values, and records their bits; where a value is refused, the record is odd.

        Returns:
            The bytes that the slots point to.
        """
        slots.acts[:, rows.odd == 1] = 0
        made = bytearray()
        for slot in np.nonzero(slots.acts.any(axis=1))[0]:
            noted = slots.acts[slot]
            for flag in self.rules:
                where = np.nonzero((noted == flag) & (slots.kind[slot] == SPAN))[0]
                if len(where):
                    self._together(values.data, slot, flag, where, slots, rows, made)
        self._one_by_one(values, slots, rows, columns, made)
        return np.frombuffer(bytes(made) or b"\0", np.uint8)

    def _together(
        self, data: Array, slot: int, flag: int, where: Array, slots: Slots, rows: Rows, made: bytearray
    ) -> None:
        """Change those texts and whole numbers of a slot that one function changes; what it refuses is left over."""
        classes = np.empty(len(where), np.uint8)
        spans.classify(data, slots.start[slot, where], slots.end[slot, where], classes)
        for number, kind in _KINDS.items():
            function, chosen = self._function(flag, kind), where[classes == number]
            if function is None or not len(chosen):
                continue
            starts, ends = slots.start[slot, chosen], slots.end[slot, chosen]
            given = np.empty(int((ends - starts).sum()) + len(chosen) + 1, np.uint8)
            spans.gather(data, starts, ends, given)
            try:
                text = encoder.encode(list(map(function, _decode(given))))
            except Exception:  # noqa: BLE001 one by one it shows which value it was
                continue
            spans.spread(np.frombuffer(text, np.uint8), starts, ends)
            slots.kind[slot, chosen], slots.acts[slot, chosen] = MADE, 0
            slots.start[slot, chosen], slots.end[slot, chosen] = starts + len(made), ends + len(made)
            made += text
            rows.touched[chosen] |= self.program.acts[flag.bit_length() - 1].bit

    def _function(self, flag: int, kind: str) -> Callable[[Any], Any] | None:
        if (flag, kind) not in self.functions:
            try:
                self.functions[flag, kind] = self.rules[flag](kind)
            except Exception:  # noqa: BLE001 a rule may refuse a kind: the act says so
                self.functions[flag, kind] = None
        return self.functions[flag, kind]

    def _one_by_one(self, values: Bytes, slots: Slots, rows: Rows, columns: Array, made: bytearray) -> None:
        which, where = np.nonzero(slots.acts)
        given = [part[which, where].tolist() for part in (slots.kind, slots.start, slots.end, slots.acts)]
        texts: list[bytes] = []
        bits: list[int] = []
        view, record, last = memoryview(values.data), Record(None), 0
        chosen: Chosen = ()
        for kind, start, end, acts in zip(*given, strict=True):
            if acts != last:
                last, chosen = acts, self._chosen(acts)
            if kind == CONSTANT:
                text, touched = self._constant(start, acts, chosen)
            else:
                record.touched = 0
                number = None if kind == SPAN else columns[start, where[len(texts)]]
                value = Raw(view[start:end]) if number is None else self._number(start, number)
                text, touched = _acted_on(value, chosen, record), record.touched
            if not text:
                rows.odd[where[len(texts)]] = 1
            texts.append(text)
            bits.append(touched)
        ends = ends_of(texts) + len(made)
        made += b"".join(texts)
        slots.kind[which, where] = MADE
        slots.start[which, where], slots.end[which, where] = ends[:-1], ends[1:]
        np.bitwise_or.at(rows.touched, where, np.array(bits, np.int64))

    def _chosen(self, acts: int) -> Chosen:
        return tuple((change.name, change.act) for n, change in enumerate(self.program.acts) if acts >> n & 1)

    def _constant(self, number: int, acts: int, chosen: Chosen) -> tuple[bytes, int]:
        """(JSON text, bits of the ledger) of a constant after its acts, worked out once."""
        found = self.known.get((number, acts))
        if found is None:
            record = Record(None)
            text = _acted_on(self.program.constants[number], chosen, record)
            found = self.known[number, acts] = (text, record.touched)
        return found

    def _number(self, column: int, number: Any) -> int:
        return JavaInteger(number) if self.program.numbers[column] == "partition" else int(number)


def _acted_on(value: Any, chosen: Chosen, record: Record) -> bytes:
    """The JSON text of a value after its acts; nothing if they refuse it."""
    try:
        for name, act in chosen:
            box = {name: value}
            act(box, name, record)
            value = box[name]
        return encoder.encode(value)
    except Exception:  # noqa: BLE001 the interpreter comes upon it again, and says what it is
        return b""
