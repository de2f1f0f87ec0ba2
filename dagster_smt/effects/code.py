"""Base classes for transforms and predicates that are implemented in Python code. Usually a transform lists its actions
as effects, and a predicate returns its test as a condition. Effects and conditions are plain data. These base classes
are for actions and tests that plain data cannot express.
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
    """The declaration of a transform that is implemented in Python code. From the declaration, planning and reports
    learn some properties of the code without running the code.

    Attributes:
        entries: The ledger entries (actions that a report counts) that the code may write.
        reads: The parts of a record that the code reads in addition to the key or value on which the stage acts.
            Reading a key or value that is not listed raises SMT910.
        writes: The parts that the code sets: ``timestamp`` or ``partition`` of the record.
        java: The name and the parameters of the Java code that does the same to a key or value without a schema. None
            if there is no such Java code.
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
    """True if the transform can plan records in which the key has a schema but the value has none. The transform must
    then not read the value.
    """

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        """Returns a description of the record after the stage. ``record`` describes all records of one schema before
        the stage: it contains schemas and expressions instead of values.

        The key or value on which the stage acts may be null in every record. In that case, this method is called only
        if the transform's rule for nulls is ``apply`` or ``wrap``.

        Raises:
            PlanError: No record with the schemas of ``record`` can pass the stage.
        """
        raise NotImplementedError

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        """Returns a function that transforms a key or value without a schema. The function takes two arguments: first
        the key or value, then the whole record. It returns the new key or value.

        The key or value is lazily decoded JSON (``values.json.lazy``), and the function may change it in place. If the
        function puts a part of this JSON into two locations of the record, it must copy the part
        (``values.json.lazy.copied``). To drop the record, the function raises ``DropRecord``.

        Some transforms act on the whole record instead of the key or value. The function of such a transform changes
        the record itself and sets ``record.dirty``. The function's return value is then ignored.

        Args:
            bits: One number for each ledger entry (an action that a report counts), with a single bit set. If the
                action changes a record, the function sets this bit in ``record.touched``.
        """
        raise NotImplementedError

    def variant(self, record: Record) -> Hashable:
        """Returns a property of ``record`` that the plan needs in addition to the schemas of the record. An example is
        the value of a header that names a field.

        The Python evaluator makes a plan for each distinct result of this method. ``plan_record`` reads the result from
        ``Planning.variant``. If Spark columns are planned, only schemas are known, and ``Planning.variant`` is None.
        Only transforms that act on the key or value have variants.
        """
        return None

    def narrower(self, record: Record) -> Hashable:
        """Returns a replacement for the result of the method ``variant``, for a record with fewer fields than usual. An
        example is the event of a deleted row.

        The Python evaluator calls this method if the schema of ``record`` lacks a field that the ordinary plan needs.
        The evaluator then plans again, with the result as ``Planning.variant``. If the result is None, the evaluator
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
