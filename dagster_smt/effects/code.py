"""The one way out: a transform or predicate that has no form as data is Python code."""

from collections.abc import Callable
from dataclasses import dataclass

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.transform import Parts
from dagster_smt.model.cell import Expr
from dagster_smt.model.record import PlanRecord, Record


@dataclass(frozen=True)
class Code:
    """What Python code does, as far as it is known without running it.

    Attributes:
        reads: What it looks at. Looking at a side that is not among them raises SMT910.
    """

    reads: Parts = frozenset()


class CodePredicate(Predicate):
    """A predicate whose condition is ``Code``: an expression for records with a schema, a function for others."""

    def test(self, record: PlanRecord) -> Expr | bool:
        """Returns an expression that yields a boolean, or the answer if it is known when planning."""
        raise NotImplementedError

    def schemaless(self) -> Callable[[Record], bool]:
        """Returns the condition on a record whose side has no schema and is not null (lazily decoded)."""
        raise NotImplementedError
