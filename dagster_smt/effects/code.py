"""The one way out: a transform or predicate that has no form as data is Python code."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.transform import Entry, Parts, Planning, SideFunction, Transform
from dagster_smt.model.cell import Expr
from dagster_smt.model.record import PlanRecord, Record


@dataclass(frozen=True)
class Code:
    """What Python code does, as far as it is known without running it.

    Attributes:
        entries: What it may write into the ledger.
        reads: What it looks at beside the side of its stage. Looking at another side raises SMT910.
        writes: Whether it sets the record's ``timestamp`` or ``partition``.
    """

    entries: tuple[Entry, ...] = ()
    reads: Parts = frozenset()
    writes: Parts = frozenset()


class CodeTransform(Transform):
    """A transform whose only effect is ``Code``: a plan for records with a schema, and a function for others.

    One that looks at neither side of a record has a plan alone, which serves both.
    """

    plans_key_alone: ClassVar[bool] = False
    """Whether it can plan a key with a schema beside a value without one, which it then must not look at."""

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        """Returns the record after the stage.

        A side that is null in every record is met only where the null rule is ``apply`` or ``wrap``.

        Raises:
            PlanError: No record of these schemas can pass.
        """
        raise NotImplementedError

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        """Returns a function of a side without schema and the record that gives the new side.

        The value is lazily decoded JSON (``values.lazy``) and may be changed in place; what ends up in two places of
        the record must be copied (``values.lazy.copied``). In a transform without sides the function changes the record
        itself, ``record.dirty`` too, and its result does not count. To drop the record it raises ``DropRecord``.

        Args:
            bits: For each ledger entry the bit to set in ``record.touched`` when it happens.
        """
        raise NotImplementedError

    def variant(self, record: Record) -> Hashable:
        """Returns what else of a record with schema its plan depends on, such as the name of a field in a header.

        The Python evaluator makes a plan for each variant it meets; ``plan_record`` sees it as ``Planning.variant``,
        which is None where the plan is made of schemas alone, for columns. Only for transforms that act on a side.
        """
        return None

    def narrower(self, record: Record) -> Hashable:
        """Returns what a record is that needs less of its schema than others, such as the event of a deleted row.

        The Python evaluator asks for it where the schema of a record lacks what the plan for all such records needs,
        and plans again with this as ``Planning.variant``. None: the record is refused.
        """
        return None


class CodePredicate(Predicate):
    """A predicate whose condition is ``Code``: an expression for records with a schema, a function for others."""

    def test(self, record: PlanRecord) -> Expr | bool:
        """Returns an expression that yields a boolean, or the answer if it is known when planning."""
        raise NotImplementedError

    def schemaless(self) -> Callable[[Record], bool]:
        """Returns the condition on a record whose side has no schema and is not null (lazily decoded)."""
        raise NotImplementedError
