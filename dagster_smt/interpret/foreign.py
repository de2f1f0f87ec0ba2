"""Runs foreign stages in the Python evaluator. Adjacent stages run together in the host, one batch at a time.

Three kinds of stages need the host. First, a foreign transform whose predicate the host can also test. Second, a
foreign transform with a predicate that only Python can test. Third, a transform of this package with a foreign
predicate. Only stages of the first kind run together.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from dagster_smt.authoring.stage import Chain
from dagster_smt.chain.plan import first_entries
from dagster_smt.errors import DataError, problem_of_record
from dagster_smt.foreign.check import classes_for
from dagster_smt.foreign.segment import UNTESTED_STAGE, Classes, ForeignSegment, Lost, operation, tested_by_host
from dagster_smt.model.record import DropRecord, Record

DROPPED = object()
Apply = Callable[[Record], object]
Test = Callable[[Record], bool]


@dataclass
class ForeignRun:
    """Adjacent foreign stages of a chain, which run together in the host.

    Attributes:
        chain: The chain.
        indexes: The indexes of the stages.
        classes: The locations of their classes; None to use the settings of the chain.
        test: The test of the predicate, if Python runs it. There is then only one stage.
        apply: The function of the transform, if the transform is one of ours. There is then only one stage.
    """

    chain: Chain
    indexes: range
    classes: Classes | None = None
    test: Test | None = None
    apply: Apply | None = None
    _open: list[ForeignSegment] = field(default_factory=list)

    @cached_property
    def segment(self) -> ForeignSegment:
        """The stages as they run inside the host. The host process starts with the first batch."""
        classes = self.classes or classes_for(self.chain.foreign)
        entries, firsts, operations = {}, first_entries(self.chain), []
        for index in self.indexes:
            stage = self.chain.stages[index]
            if stage.transform.foreign:
                entries[index] = firsts[index]
            operations.append(operation(index, stage, classes.plugins, test=self.test is None))
        segment = ForeignSegment(operations, entries, classes, self.chain.foreign)
        self._open.append(segment)
        return segment

    def run(self, records: list[Record]) -> dict[int, Lost]:
        """Runs the stages on ``records``, which are changed in place. Returns the records that a stage drops or
        rejects, by their position in ``records``.

        Raises:
            EngineError: The host cannot run.
        """
        if self.test is None and self.apply is None:
            return self.segment.run(records)
        lost: dict[int, Lost] = {}
        if self.test is not None:
            positions = self._tested(records, self.test, lost)
            for place, loss in self.segment.run([records[number] for number in positions]).items():
                lost[positions[place]] = loss
            return lost
        for number, loss in self.segment.run(records).items():
            lost[number] = loss
        assert self.apply is not None
        for number, record in enumerate(records):
            if number not in lost:
                self._apply(self.apply, number, record, lost)
        losses = {}
        for number, loss in lost.items():
            if loss.stage != UNTESTED_STAGE:
                losses[number] = loss
        return losses

    def _tested(self, records: list[Record], test: Test, lost: dict[int, Lost]) -> list[int]:
        """Returns the positions of those ``records`` on which the stage acts, according to ``test``. If ``test`` fails
        for a record, adds the record to ``lost``.
        """
        positions = []
        for number, record in enumerate(records):
            try:
                if test(record):
                    positions.append(number)
            except Exception as error:  # noqa: BLE001 - any error is a failure of this record
                lost[number] = Lost(self.indexes[0], problem_of_record(error))
        return positions

    def _apply(self, apply: Apply, number: int, record: Record, lost: dict[int, Lost]) -> None:
        try:
            if apply(record) is DROPPED:
                lost[number] = Lost(self.indexes[0])
        except DropRecord:
            lost[number] = Lost(self.indexes[0])
        except Exception as error:  # noqa: BLE001 - any error is a failure of this record
            lost[number] = Lost(self.indexes[0], problem_of_record(error))

    def one(self, record: Record) -> object:
        """Runs the stages on a single record, which is changed in place. Returns ``DROPPED`` if the record is dropped.

        Raises:
            DataError: A stage rejects the record.
        """
        loss = self.run([record]).get(0)
        if loss is None:
            return None
        if loss.problem is not None:
            raise DataError(loss.problem)
        return DROPPED

    def close(self) -> None:
        """Closes the stages in the host."""
        for segment in self._open:
            segment.close()


Functions = Callable[[int], tuple[Test | None, Apply]]
"""A function that returns the predicate and the transform of a stage as Python functions."""


def foreign_runs(
    chain: Chain, functions: Functions, classes: Classes | None = None, *, join: bool = True
) -> dict[int, ForeignRun]:
    """Returns the foreign stages of ``chain``, grouped so that adjacent stages run together. The key of a group is the
    index of its first stage.

    Args:
        chain: The chain.
        functions: Receives the index of a stage, and returns the stage's predicate and transform as Python functions.
        classes: The locations of the classes.
        join: False to run each stage alone, as a preview does.
    """
    runs: dict[int, ForeignRun] = {}
    for indexes in _groups(chain, join):
        stage = chain.stages[indexes[0]]
        test, apply = None, None
        if not stage.transform.foreign:
            apply = functions(indexes[0])[1]
        elif not tested_by_host(stage):
            test = functions(indexes[0])[0]
        runs[indexes[0]] = ForeignRun(chain, indexes, classes, test, apply)
    return runs


def _groups(chain: Chain, join: bool) -> Iterator[range]:
    first: int | None = None
    for index, stage in enumerate(chain.stages):
        joins = join and stage.transform.foreign and tested_by_host(stage)
        if first is not None and not joins:
            yield range(first, index)
            first = None
        if joins:
            first = index if first is None else first
        elif stage.foreign:
            yield range(index, index + 1)
    if first is not None:
        yield range(first, len(chain.stages))
