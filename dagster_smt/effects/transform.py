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
from dagster_smt.authoring.transform import Entry, Part, Planning, SideFunction, Transform
from dagster_smt.authoring.validate import NonEmptyNames
from dagster_smt.effects.effect import Change, Effect
from dagster_smt.effects.on_plan import Settings
from dagster_smt.effects.on_plan_record import plan_record
from dagster_smt.effects.on_values_record import side_function
from dagster_smt.effects.rule import FieldRule
from dagster_smt.model.cell import Rule
from dagster_smt.model.record import PlanRecord


class EffectTransform(Transform):
    """Base of transforms that say what they do as data, once, in ``effects``."""

    @abstractmethod
    def effects(self) -> tuple[Effect, ...]:
        """Returns what the transform does, from its options alone."""

    def ledger(self) -> tuple[Entry, ...]:
        return tuple(entry for effect in self.effects() for entry in effect.entries)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        if self.sided and (record.key if at.side == "key" else record.value) is None:
            return self.plan_absent(record)
        # a transform without the option of KIP-1040 copies as Connect did before it
        replace_nulls = getattr(self, "replace_null_with_default", True)
        settings = Settings(self.purpose, replace_nulls, getattr(self, "strict", False))
        return plan_record(self.effects(), record, at, settings)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        return side_function(self.effects(), bits, self.purpose)

    def _reads(self, part: Part) -> bool:
        return any(part in effect.reads for effect in self.effects())

    @property
    def reads_value(self) -> bool:  # type: ignore[override]
        return self._reads("value")

    @property
    def reads_key(self) -> bool:  # type: ignore[override]
        return self._reads("key")

    @property
    def reads_metadata(self) -> bool:  # type: ignore[override]
        return self._reads("metadata")

    @property
    def reads_headers(self) -> bool:  # type: ignore[override]
        return self._reads("headers")

    @property
    def writes_timestamp(self) -> bool:  # type: ignore[override]
        return any("timestamp" in effect.writes for effect in self.effects())


@dataclass(frozen=True)
class ByKind(FieldRule):
    """A rule that a transform has as a method."""

    rule: Callable[[str], Rule | None]

    def of_kind(self, kind: str) -> Rule | None:
        return self.rule(kind)


class FieldRules(NullDefaults, NestedPaths, EffectTransform):
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
