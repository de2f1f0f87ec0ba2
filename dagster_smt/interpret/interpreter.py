"""The Python evaluator: runs a chain on records, one by one, without Spark."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from dagster_smt.chain.plan import first_entries
from dagster_smt.errors import DataError, Problem
from dagster_smt.interpret.sides import SideCodec, side_codec
from dagster_smt.interpret.stages import DROPPED, runners
from dagster_smt.model.format import Format
from dagster_smt.model.record import KEY_DIRTY, VALUE_DIRTY, Record
from dagster_smt.spec.stage import Chain

KEPT, DROPPED_STATUS, FAILED = 0, 1, 2
NO_STAGE, KEY_CONVERTER, VALUE_CONVERTER = -1, -2, -3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a record.

    Attributes:
        status: ``KEPT``, ``DROPPED_STATUS`` or ``FAILED``.
        stage: Index of the stage that dropped or failed it, or ``NO_STAGE``, ``KEY_CONVERTER``, ``VALUE_CONVERTER``.
        problem: Why it failed.
    """

    status: int = KEPT
    stage: int = NO_STAGE
    problem: Problem | None = None


KEPT_OUTCOME = Outcome()
_CONVERTERS = {KEY_CONVERTER: "key.converter", VALUE_CONVERTER: "value.converter"}
Processed = tuple[Outcome, bytes | None, bytes | None]
Process = Callable[[Record, bytes | None, bytes | None], Processed]


class Interpreter:
    """A chain ready to run on records.

    Args:
        chain: The chain.
        key, value: The formats of the sides; ``read`` and ``write`` use them.
    """

    def __init__(self, chain: Chain, key: Format | None = None, value: Format | None = None):
        self.chain = chain
        self.key: SideCodec = side_codec(key or Format("string"))
        self.value: SideCodec = side_codec(value or Format())
        self.runners = tuple((n, r.test, r.apply) for n, r in enumerate(runners(chain)))
        self.earlier = tuple((1 << first) - 1 for first in first_entries(chain))
        self.dropped = tuple(Outcome(DROPPED_STATUS, n) for n in range(len(self.runners)))

    def run(self, record: Record) -> Outcome:
        """Send a record through the stages; it is changed in place."""
        number = NO_STAGE
        try:
            for number, test, apply in self.runners:
                if (test is None or test(record)) and apply(record) is DROPPED:
                    return self.dropped[number]
        except DataError as error:
            return self._failed(error, number, record)
        return KEPT_OUTCOME

    def _placed(self, problem: Problem, stage: int) -> Problem:
        return replace(problem, place=self.chain.stages[stage].place)

    def read(self, record: Record, key: bytes | None, value: bytes | None) -> Outcome:
        """Decode both sides into a record."""
        where = KEY_CONVERTER
        try:
            record.key_schema, record.key = self.key.read(key)
            where = VALUE_CONVERTER
            record.value_schema, record.value = self.value.read(value)
        except DataError as error:
            return self._failed(error, where, record)
        return KEPT_OUTCOME

    def write(self, record: Record) -> tuple[Outcome, bytes | None, bytes | None]:
        """Encode both sides of a record."""
        where = KEY_CONVERTER
        try:
            key = self.key.write(record.key_schema, record.key)
            where = VALUE_CONVERTER
            return KEPT_OUTCOME, key, self.value.write(record.value_schema, record.value)
        except DataError as error:
            return self._failed(error, where, record), None, None

    def processor(self, *, passes_key: bool = False) -> Process:
        """The whole way of a record as one function: decode, stages, encode. This is the hot loop.

        Args:
            passes_key: Whether keys are handed on without a look; no stage may then need them.
        """
        stages, dropped, failed = self.runners, self.dropped, self._failed
        read_key, read_value = self.key.read, self.value.read
        write_key, write_value = self.key.write, self.value.write

        def process(record: Record, key: bytes | None, value: bytes | None) -> Processed:
            number = KEY_CONVERTER
            try:
                if not passes_key:
                    record.key_schema, record.key = read_key(key)
                number = VALUE_CONVERTER
                record.value_schema, record.value = read_value(value)
                for number, test, apply in stages:
                    if (test is None or test(record)) and apply(record) is DROPPED:
                        return dropped[number], None, None
                number, dirty = KEY_CONVERTER, record.dirty
                if dirty & KEY_DIRTY:
                    key = write_key(record.key_schema, record.key)
                number = VALUE_CONVERTER
                if dirty & VALUE_DIRTY:
                    value = write_value(record.value_schema, record.value)
            except DataError as error:
                return failed(error, number, record), None, None
            return KEPT_OUTCOME, key, value

        return process

    def _failed(self, error: DataError, where: int, record: Record) -> Outcome:
        if where >= 0:
            record.touched &= self.earlier[where]  # what the failing stage had done already does not count
            return Outcome(FAILED, where, self._placed(error.problem, where))
        return Outcome(FAILED, where, error.problem.at(_CONVERTERS[where]))
