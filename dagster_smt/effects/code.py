"""Base classes for transforms and predicates that are implemented in Python code. Use these classes for actions and
tests that no effect or condition can express.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.transform import Entry, Parts, Planning, SideFunction, Transform
from dagster_smt.model.cell import Expr
from dagster_smt.model.record import PlanRecord, Record


@dataclass(frozen=True)
class Code:
    """The effect of a transform that is implemented in Python code. The effect declares the properties of the code that
    planning and reports need without running the code.

    Attributes:
        entries: The ledger entries that the code may write.
        reads: The parts of a record that the code reads in addition to the stage's side. Reading a key or value that is
            not listed raises SMT910.
        writes: The parts that the code sets: ``timestamp`` or ``partition`` of the record.
        java: The name and the parameters of the Java effect that does the same to a key or value without a schema. None
            if the JVM lane has no such effect.
    """

    entries: tuple[Entry, ...] = ()
    reads: Parts = frozenset()
    writes: Parts = frozenset()
    java: Mapping[str, Any] | None = None


class CodeTransform(Transform):
    """A transform implemented in Python code. It has a plan for records with a schema, and a function for records
    without a schema.

    A transform that reads neither the key nor the value needs only the plan, which then also applies to records without
    a schema.
    """

    plans_key_alone: ClassVar[bool] = False
    """True if the transform can plan a key with a schema next to a value without a schema. The transform must not read
    such a value.
    """

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        """Returns the plan of ``record`` after the stage.

        If the transform's rule for nulls is ``apply`` or ``wrap``, this method is also called for a key or value that
        is null in every record.

        Raises:
            PlanError: No record of these schemas can pass the stage.
        """
        raise NotImplementedError

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        """Returns a function that transforms a key or value without a schema. The function takes two arguments: first
        the key or value, then the whole record. It returns the new key or value.

        The key or value is lazily decoded JSON (``values.json.lazy``), and the function may change it in place. If the
        function puts a part of this JSON into two locations of the record, it must copy the part
        (``values.json.lazy.copied``). To drop the record, the function raises ``DropRecord``.

        If the transform does not act on a side (key or value), the function changes the record itself and sets
        ``record.dirty``. Its return value is then ignored.

        Args:
            bits: For each ledger entry, the bit of ``record.touched`` that records the entry.
        """
        raise NotImplementedError

    def variant(self, record: Record) -> Hashable:
        """Returns a property of ``record`` on which the plan depends in addition to the schemas. An example is a header
        that contains a field name.

        The Python evaluator makes a plan for each distinct result of this method. ``plan_record`` reads the result from
        ``Planning.variant``. In a plan of columns, only schemas are known, and ``Planning.variant`` is None. Only
        transforms that act on the key or value have variants.
        """
        return None

    def narrower(self, record: Record) -> Hashable:
        """Returns a variant for a record that has fewer fields than other records, such as the event of a deleted row.

        The Python evaluator calls this method if the schema of ``record`` lacks a field that the ordinary plan needs.
        The evaluator then plans again with the result as ``Planning.variant``. If the result is None, the evaluator
        rejects the record.
        """
        return None


class CodePredicate(Predicate):
    """A predicate implemented in Python code. It has an expression for records with a schema, and a function for
    records without a schema.
    """

    def test(self, record: PlanRecord) -> Expr | bool:
        """Returns an expression that is true if ``record`` satisfies the predicate. If the result is already known
        during planning, returns True or False.
        """
        raise NotImplementedError

    def schemaless(self) -> Callable[[Record], bool]:
        """Returns a function that tests a record whose key or value has no schema. The function is only called if the
        key or value that the predicate reads is not null. This key or value is lazily decoded JSON.
        """
        raise NotImplementedError
