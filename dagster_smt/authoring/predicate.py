"""What a predicate is."""

from collections.abc import Callable
from typing import ClassVar

from dagster_smt.authoring.options import Options
from dagster_smt.authoring.transform import Example
from dagster_smt.model.cell import Expr
from dagster_smt.model.keeps import Condition, Unknown
from dagster_smt.model.record import PlanRecord, Record

PACKAGE = "org.apache.kafka.connect.transforms.predicates."


class Predicate(Options):
    """A condition on a record, as in ``org.apache.kafka.connect.transforms.predicates.Predicate``.

    A predicate is one expression over the record; both evaluators run it. The class docstring says when it is true.
    One that looks at the fields of a side says so, and implements ``schemaless`` too. It is false where that side is
    null. What it does not declare raises when it is looked at; no rule of the expression may fail.
    """

    plugin: ClassVar[str] = "predicate"
    reads_headers: ClassVar[bool] = False
    reads_value: ClassVar[bool] = False
    """Whether it looks at the value's fields."""
    reads_key: ClassVar[bool] = False
    """Whether it looks at the key's fields. A predicate reads one side."""
    examples: ClassVar[tuple[Example, ...]] = ()
    """Here ``after`` is ``true`` or ``false``."""

    def test(self, record: PlanRecord) -> Expr | bool:
        """The condition: an expression that yields a boolean, or the answer if it is known when planning."""
        raise NotImplementedError

    def holds(self) -> Condition:
        """When it is true, as data: optional, see ``Transform.keeps``."""
        return Unknown()

    def schemaless(self) -> Callable[[Record], bool]:
        """The condition on a record whose side has no schema and is not null (lazily decoded, as for transforms)."""
        raise NotImplementedError
