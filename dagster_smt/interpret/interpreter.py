"""The Python evaluator: runs a chain on records, one by one, without Spark."""

from dataclasses import dataclass, replace

from dagster_smt.errors import DataError, Problem
from dagster_smt.interpret.sides import SideCodec, side_codec
from dagster_smt.interpret.stages import DROPPED, runners
from dagster_smt.model.format import Format
from dagster_smt.model.record import Record
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


_KEPT = Outcome()


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
        self.dropped = tuple(Outcome(DROPPED_STATUS, n) for n in range(len(self.runners)))

    def run(self, record: Record) -> Outcome:
        """Send a record through the stages; it is changed in place."""
        number = NO_STAGE
        try:
            for number, test, apply in self.runners:
                if (test is None or test(record)) and apply(record) is DROPPED:
                    return self.dropped[number]
        except DataError as error:
            return Outcome(FAILED, number, self._placed(error.problem, number))
        return _KEPT

    def _placed(self, problem: Problem, stage: int) -> Problem:
        return replace(problem, place=self.chain.stages[stage].place)

    def read(self, record: Record, key: bytes | None, value: bytes | None) -> Outcome:
        """Decode both sides into a record."""
        try:
            record.key_schema, record.key = self.key.read(key)
        except DataError as error:
            return Outcome(FAILED, KEY_CONVERTER, error.problem.at("key.converter"))
        try:
            record.value_schema, record.value = self.value.read(value)
        except DataError as error:
            return Outcome(FAILED, VALUE_CONVERTER, error.problem.at("value.converter"))
        return _KEPT

    def write(self, record: Record) -> tuple[Outcome, bytes | None, bytes | None]:
        """Encode both sides of a record."""
        key = None
        try:
            key = self.key.write(record.key_schema, record.key)
        except DataError as error:
            return Outcome(FAILED, KEY_CONVERTER, error.problem.at("key.converter")), None, None
        try:
            return _KEPT, key, self.value.write(record.value_schema, record.value)
        except DataError as error:
            return Outcome(FAILED, VALUE_CONVERTER, error.problem.at("value.converter")), None, None
