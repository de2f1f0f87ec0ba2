"""Bases of transforms whose effects are data.

``FieldRules`` is where to start: a class names a value rule for each kind of value, and has everything else from here.
``EffectTransform`` is for those with options or effects of their own.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, by_syntax, check_paths
from dagster_smt.authoring.options import option
from dagster_smt.authoring.transform import Entry, Planning, SideFunction, Transform
from dagster_smt.authoring.validate import NonEmptyNames
from dagster_smt.effects.effect import Change, Effect, MakeKey
from dagster_smt.effects.on_plan import Settings, plan_effects, plan_key
from dagster_smt.effects.on_values import side_function
from dagster_smt.effects.rule import FieldRule
from dagster_smt.model.cell import Node, Rule
from dagster_smt.model.record import PlanRecord


class EffectTransform(NestedPaths, Transform):
    """Base of transforms that say what they do as data, once, in ``effects``."""

    @abstractmethod
    def effects(self) -> tuple[Effect, ...]:
        """Returns what the transform does, from its options alone."""

    def ledger(self) -> tuple[Entry, ...]:
        return tuple(entry for effect in self.effects() for entry in effect.entries)

    @property
    def _settings(self) -> Settings:
        # a transform without the option of KIP-1040 copies as Connect did before it
        replace_nulls = getattr(self, "replace_null_with_default", True)
        return Settings(self.purpose, replace_nulls, self.strict)

    def plan_side(self, node: Node, at: Planning) -> Node:
        return plan_effects(self.effects(), node, at, self._settings)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        if self.sided:
            return super().plan_record(record, at)
        (effect,) = self.effects()
        assert isinstance(effect, MakeKey), "the only effect on a whole record"
        return plan_key(effect, record, at, self._settings)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        return side_function(self.effects(), bits, self.purpose)


@dataclass(frozen=True)
class ByKind(FieldRule):
    """A rule that a transform has as a method."""

    rule: Callable[[str], Rule | None]

    def of_kind(self, kind: str) -> Rule | None:
        return self.rule(kind)


class FieldRules(NullDefaults, EffectTransform):
    """Base of transforms that put the values of fields through a rule, chosen by the kind of the value.

    A null stays null, and is not counted. Kinds are Connect's types in lower case (``string``, ``int64``, ``map``,
    ``struct``, …) and its logical types (``Decimal``, ``Date``, ``Time``, ``Timestamp``). Without a schema objects are
    of the kind ``map``, whole numbers ``int64``, others ``float64``.
    """

    action: ClassVar[str] = "changed"
    """What the ledger says of each path."""
    fields: Annotated[NonEmptyNames, by_syntax()] = option("Fields to change.")

    def check(self) -> Iterator[tuple[str, str, str]]:
        return check_paths("fields", self.fields, self.path)

    @abstractmethod
    def rule(self, kind: str) -> Rule | None:
        """Returns the rule for values of a kind; None leaves them alone.

        A rule that gives another type says so (``returns``); it keeps of the schema whether it is optional.

        Raises:
            DataError: Values of this kind are refused, unless they are null.
        """

    def effects(self) -> tuple[Effect, ...]:
        return tuple(Change(self.path(name), ByKind(self.rule), self.action) for name in self.fields)
