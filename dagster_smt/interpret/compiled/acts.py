"""What stages compute from values, in Python: all at once where one function does it, else one by one."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np

from dagster_smt.authoring.scan import Act
from dagster_smt.interpret.cache import Cache
from dagster_smt.interpret.compiled import spans
from dagster_smt.interpret.compiled.arrays import Bytes, bytes_of
from dagster_smt.interpret.compiled.places import CONSTANT, MADE, SPAN, Array, Rows, Spots
from dagster_smt.interpret.compiled.program import Program
from dagster_smt.model.record import Record
from dagster_smt.model.runtime import JavaInteger
from dagster_smt.values.lazy import Raw, encoder

_KINDS = {spans.TEXT: "string", spans.WHOLE: "int64"}
_decode = msgspec.json.Decoder(list).decode
Chosen = tuple[Act, ...]
_NULL, _OPENERS = ord("n"), (ord("{"), ord("["))


class Noted(NamedTuple):
    """Values, side by side, and what is noted for them: views of what ``Slots`` or ``Spots`` hold; ``row`` of each."""

    kind: Array
    start: Array
    end: Array
    acts: Array
    row: Array


def of_slots(slots: Array) -> list[Noted]:
    """The values of slots, for each slot that has any with acts."""
    rows = np.arange(slots.shape[1])
    chosen = np.nonzero(slots["acts"].any(axis=1))[0]
    return [_noted(slots[n], rows) for n in chosen]


def of_spots(spots: Spots) -> list[Noted]:
    """The values of spots, if any have acts."""
    count = spots.first[-1]
    rows = np.repeat(np.arange(len(spots.first) - 1), np.diff(spots.first))
    noted = _noted(spots.at[:count], rows)
    return [noted] if noted.acts.any() else []


def _noted(values: Array, rows: Array) -> Noted:
    return Noted(values["kind"], values["start"], values["end"], values["acts"], rows)


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
        self.functions: dict[tuple[int, str], Callable[[list[Any]], list[Any]] | None] = {}

    def run(self, values: Bytes, noted: list[Noted], rows: Rows, columns: Array) -> Array:
        """Give values their new ones, and records their bits; where a value is refused, the record is odd.

        Returns:
            The bytes that the new values point to.
        """
        made = bytearray()
        for each in noted:
            each.acts[rows.odd[each.row] == 1] = 0
            self._nulls(values.data, each, rows)
            for flag in self.rules:
                where = np.nonzero((each.acts == flag) & (each.kind == SPAN))[0]
                if len(where):
                    self._together(values.data, flag, where, each, rows, made)
            self._one_by_one(values, each, rows, columns, made)
        return np.frombuffer(bytes(made) or b"\0", np.uint8)

    def _nulls(self, data: Array, noted: Noted, rows: Rows) -> None:
        """Nulls that stay null: most acts leave them alone."""
        where = np.nonzero((noted.acts != 0) & (noted.kind == SPAN))[0]
        where = where[data[noted.start[where]] == _NULL]
        for acts in np.unique(noted.acts[where]).tolist():
            record, chosen = Record(None), where[noted.acts[where] == acts]
            if _acted_on(None, self._chosen(acts), record) == b"null":
                noted.acts[chosen] = 0
                rows.touched[noted.row[chosen]] |= record.touched

    def _together(self, data: Array, flag: int, where: Array, noted: Noted, rows: Rows, made: bytearray) -> None:
        """Change those texts and whole numbers that one function changes; what it refuses is left over."""
        classes = np.empty(len(where), np.uint8)
        spans.classify(data, noted.start[where], noted.end[where], classes)
        for number, kind in _KINDS.items():
            function, chosen = self._function(flag, kind), where[classes == number]
            if function is None or not len(chosen):
                continue
            starts, ends = noted.start[chosen], noted.end[chosen]
            given = np.empty(int((ends - starts).sum()) + len(chosen) + 1, np.uint8)
            spans.gather(data, starts, ends, given)
            try:
                text = encoder.encode(function(_decode(given)))
            except Exception:  # noqa: BLE001 one by one it shows which value it was
                continue
            found = np.frombuffer(text, np.uint8)
            spans.spread(found, starts, ends)
            self._judge(found, starts, ends, noted.row[chosen], rows)
            noted.kind[chosen], noted.acts[chosen] = MADE, 0
            noted.start[chosen], noted.end[chosen] = starts + len(made), ends + len(made)
            made += text
            rows.touched[noted.row[chosen]] |= self.program.acts[flag.bit_length() - 1].bit

    def _judge(self, text: Array, starts: Array, ends: Array, row: Array, rows: Rows) -> None:
        """Where paths lead below the top level, a new object or array with something in it makes its record odd."""
        if self.program.paths.first:
            long = np.nonzero(ends - starts > len("[]"))[0]
            rows.odd[row[long[np.isin(text[starts[long]], _OPENERS)]]] = 1

    def _function(self, flag: int, kind: str) -> Callable[[list[Any]], list[Any]] | None:
        if (flag, kind) not in self.functions:
            try:
                self.functions[flag, kind] = self.rules[flag](kind)
            except Exception:  # noqa: BLE001 a rule may refuse a kind: the act says so
                self.functions[flag, kind] = None
        return self.functions[flag, kind]

    def _one_by_one(self, values: Bytes, noted: Noted, rows: Rows, columns: Array, made: bytearray) -> None:
        where = np.nonzero(noted.acts)[0]
        if not len(where):
            return
        row = noted.row[where]
        given = [part[where].tolist() for part in (noted.kind, noted.start, noted.end, noted.acts)]
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
                number = None if kind == SPAN else columns[start, row[len(texts)]]
                value = Raw(view[start:end]) if number is None else self._number(start, number)
                text, touched = _acted_on(value, chosen, record), record.touched
            if not text:
                rows.odd[row[len(texts)]] = 1
            texts.append(text)
            bits.append(touched)
        new = bytes_of(texts)
        self._judge(new.data, new.ends[:-1], new.ends[1:], row, rows)
        noted.kind[where] = MADE
        noted.start[where], noted.end[where] = new.ends[:-1] + len(made), new.ends[1:] + len(made)
        made += b"".join(texts)
        np.bitwise_or.at(rows.touched, row, np.array(bits, np.int64))

    def _chosen(self, acts: int) -> Chosen:
        return tuple(change.act for n, change in enumerate(self.program.acts) if acts >> n & 1)

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
        box = [value]
        for act in chosen:
            act(box, 0, record)
        return encoder.encode(box[0])
    except Exception:  # noqa: BLE001 the interpreter comes upon it again, and says what it is
        return b""
