"""``FieldRules``, the simplest base class for a transform. A subclass implements only the method ``rule``. This method
returns the function for values of one kind, such as ``string``.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, by_syntax, check_paths
from dagster_smt.authoring.options import option
from dagster_smt.authoring.transform import Transform
from dagster_smt.authoring.validate import NonEmptyNames
from dagster_smt.effects.effect import Change, Effect
from dagster_smt.effects.field_rule import FieldRule
from dagster_smt.model.cell import Rule


@dataclass(frozen=True)
class ByKind(FieldRule):
    """A field rule that calls a method of a transform, ``FieldRules.rule``, to get the rule for each kind of values."""

    rule: Callable[[str], Rule | None]

    def of_kind(self, kind: str) -> Rule | None:
        return self.rule(kind)


class FieldRules(NullDefaults, NestedPaths, Transform):
    """The base class of transforms that apply a rule to field values. The rule depends on the kind of the value.

    A null stays null, and the ledger does not count it. Kinds are Connect's types as schema JSON spells them
    (``string``, ``int64``, ``double``, ``map``, ``struct``, …) and its logical types (``Decimal``, ``Date``, ``Time``,
    ``Timestamp``). Without a schema, objects have the kind ``map``, whole numbers ``int64``, and other numbers
    ``double``.

    The class is intended for transforms from other packages. Its rules are Python methods, which the JVM lane (the Java
    code inside Spark) cannot run. Chains with such a transform therefore run in Python. Transforms in this package do
    not use this class. Like ``MaskField``, they list ``Change`` effects with a ``FieldRule`` that has a ``name``. Such
    effects are plain data.
    """

    action: ClassVar[str] = "changed"
    """The word for the transform's action in the ledger (the part of a report that counts changed records)."""
    fields: Annotated[NonEmptyNames, by_syntax()] = option("Fields to change.")

    def check(self) -> Iterator[tuple[str, str, str]]:
        return check_paths("fields", self.fields, self.path)

    @abstractmethod
    def rule(self, kind: str) -> Rule | None:
        """Returns the rule for values of the kind ``kind``, or None to leave the values as they are.

        If the rule changes the type of the values, its attribute ``returns`` is the new schema. An optional field stays
        optional.

        Raises:
            DataError: Values of this kind are rejected, unless they are null.
        """

    def effects(self) -> tuple[Effect, ...]:
        changes = []
        for name in self.fields:
            changes.append(Change(self.path(name), ByKind(self.rule), self.action))
        return tuple(changes)
