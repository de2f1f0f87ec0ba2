"""Runs foreign stages in the Python evaluator. These are stages with a Java class from a jar, either as the transform
or as the predicate. The class runs in the host, a separate Java process.

There are three kinds of such stages. (1) Transform and predicate both run in the host. (2) The transform runs in the
host, but only Python can test the predicate. (3) The transform runs in Python, but the host tests the predicate.
Adjacent stages of kind 1 run together, one batch at a time.
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
    """Adjacent foreign stages of a chain (stages with Java classes). They run together in the host, a separate Java
    process.

    Attributes:
        chain: The chain.
        indexes: The positions of the stages in the chain.
        classes: The jars with the classes; None for the jars in the chain's settings.
        test: A function that tests the predicate in Python; None if the host tests it. With ``test``, there is only one
            stage.
        apply: A function that runs the transform in Python; None if the host runs it. With ``apply``, there is only one
            stage.
    """

    chain: Chain
    indexes: range
    classes: Classes | None = None
    test: Test | None = None
    apply: Apply | None = None
    _open: list[ForeignSegment] = field(default_factory=list)

    @cached_property
    def segment(self) -> ForeignSegment:
        """The stages, as the host (a separate Java process) runs them. The process starts with the first batch."""
        classes = self.classes or classes_for(self.chain.foreign)
        entries, firsts, operations = {}, first_entries(self.chain), []
        for index in self.indexes:
            stage = self.chain.stages[index]
            if stage.transform.foreign:
                entries[index] = firsts[index]
            operations.append(operation(index, stage, classes.plugins, test=self.test is None))
        segment = ForeignSegment(operations, entries, classes, self.chain.foreign)
        # ``close`` reads this list, because the property would create a segment even if there was no batch
        self._open.append(segment)
        return segment

    def run(self, records: list[Record]) -> dict[int, Lost]:
        """Runs the stages on ``records``, and changes the records in place. Returns a dict that has an entry for each
        record that a stage drops or rejects. The key is the position of the record in ``records``.

        Raises:
            EngineError: The host, the Java process of the stages, cannot run.
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
            # such a record only skips the stage, and continues with the next one
            if loss.stage != UNTESTED_STAGE:
                losses[number] = loss
        return losses

    def _tested(self, records: list[Record], test: Test, lost: dict[int, Lost]) -> list[int]:
        """Calls ``test``, the predicate, for each of ``records``. Returns the positions of the records on which the
        stage acts. If ``test`` raises an exception, the record fails, and is added to ``lost``.
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
        """Closes the stages in the host, the Java process that runs them."""
        for segment in self._open:
            segment.close()


Functions = Callable[[int], tuple[Test | None, Apply]]
"""A function that receives the position of a stage in the chain. It returns the stage's predicate (None if there is
none) and its transform, both as Python functions.
"""


def foreign_runs(
    chain: Chain, functions: Functions, classes: Classes | None = None, *, join: bool = True
) -> dict[int, ForeignRun]:
    """Returns the foreign stages of ``chain`` (stages with Java classes) in groups. Adjacent stages form a group, which
    runs together. The result maps the position of a group's first stage to the group.

    Args:
        chain: The chain.
        functions: Receives the position of a stage, and returns the stage's predicate and transform as Python
            functions.
        classes: The jars with the classes; None for the jars in the chain's settings.
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
        # a stage of kind 2 or 3 needs Python between its predicate and its transform, so it runs alone
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
