"""What a predicate is."""

from typing import ClassVar

from dagster_smt.model.cell import Expr
from dagster_smt.model.record import PlanRecord
from dagster_smt.spec.options import Options
from dagster_smt.spec.transform import Example

PACKAGE = "org.apache.kafka.connect.transforms.predicates."


class Predicate(Options):
    """A condition on a record, as in ``org.apache.kafka.connect.transforms.predicates.Predicate``.

    A predicate is one expression over the record; both evaluators run it. The class docstring says when it is true.
    """

    plugin: ClassVar[str] = "predicate"
    reads_headers: ClassVar[bool] = False
    examples: ClassVar[tuple[Example, ...]] = ()
    """Here ``after`` is ``true`` or ``false``."""

    def test(self, record: PlanRecord) -> Expr | bool:
        """The condition: an expression that yields a boolean, or the answer if it is known when planning."""
        raise NotImplementedError
