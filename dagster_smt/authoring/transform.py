"""``Transform``, the base class of all transforms: options, effects, null rule, examples."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol

from pydantic import PrivateAttr

from dagster_smt.authoring.options import Options
from dagster_smt.errors import DATA_EXCEPTION, PlanError, Problem, UnsupportedError
from dagster_smt.model.cell import Expr, Node
from dagster_smt.model.record import PlanRecord, Record, Side, Touch
from dagster_smt.model.reports.run_report import SILENT
from dagster_smt.values.value_rule import NotNull

PACKAGE = "org.apache.kafka.connect.transforms."

NullRule = Literal["pass", "reject", "apply", "wrap", "drop"]
"""The possible treatments of a null key or value by a stage.

``pass``: the stage skips the record. ``apply``: the key or value stays null and gets the new schema. ``reject``: the
record fails. ``drop``: the record is dropped. ``wrap``: the key or value becomes something other than null.
"""
Part = Literal["key", "value", "metadata", "timestamp_type", "leader_epoch", "headers", "timestamp", "partition"]
"""The names of the parts of a record that a stage may read or write.

``metadata`` is the partition, the offset or the timestamp; ``leader_epoch`` is the epoch of the leader that wrote the
record. A stage that adds headers also reads ``headers``.
"""
Parts = frozenset[Part]
SideFunction = Callable[[Any, Record], Any]


@dataclass(frozen=True)
class Example:
    """A documented example, which also runs as a test.

    JSON with exactly the fields ``schema`` and ``payload`` is a value together with its schema, as Connect's JSON
    converter writes it. Headers are a list of ``{"key", "value"}``. The rest of the record is fixed: topic ``orders``,
    partition 0, offset 42, timestamp 1556204536123.

    Attributes:
        title: The title of the example.
        options: The options of the transform.
        before: The shown part of the record before the transform, as JSON.
        after: The shown part after the transform; None if the record is dropped.
        shows: The name of the shown part: ``value``, ``key``, ``headers``, or ``topic`` (the bare name).
        input_part: The name of the part that ``before`` shows; empty if ``after`` shows the same part.
    """

    title: str
    options: dict[str, Any]
    before: str
    after: str | None
    shows: str = "value"
    input_part: str = ""


@dataclass(frozen=True)
class Entry:
    """An entry of the ledger, which counts the records that each action of a stage changed. For example, an entry
    counts the records in which the path ``email`` was masked.

    Attributes:
        action: One of ``model.reports.run_report.ACTIONS``.
        path: The path, as configured.
        target: The new name, type or location.
        side: The side (key, value, headers or topic), if it is not the side of the stage.
        explicit: True if the user configured the field with ``path``. A path without any match then causes a warning.
    """

    action: str
    path: str
    target: str = ""
    side: str = ""
    explicit: bool = True

    @property
    def relied_on(self) -> bool:
        """True if the user expects the action to change at least one record. If the action changes no record, a warning
        is due.
        """
        return self.explicit and self.action in SILENT


@dataclass(frozen=True)
class Missing:
    """A configured path that a schema does not have, such as ``customer.nmae``.

    Attributes:
        path: The path as configured.
        known: The names at the point where the path has no match: the fields of ``customer``.
        asked: The name that the path expects at that point: ``nmae``.
    """

    path: str
    known: tuple[str, ...]
    asked: str


@dataclass
class Planning:
    """The planning of one stage, which computes the schema after the stage. It contains the record before the stage,
    and the reports of the transform.

    Attributes:
        record: The record before the stage, with schemas and expressions instead of values.
        side: ``key`` or ``value``.
        first: The number of the transform's first ledger entry. The ledger counts changed records.
        touches: The reports of changes so far. Each report contains a ledger entry and a condition: the entry counts
            the records that satisfy the condition.
        missing: The configured paths that the schema does not have.
        matches: Maps the number of a ledger entry to the fields that the entry's pattern path matches.
        variant: The result of ``CodeTransform.variant`` for the record; None if only schemas are known.
        free: The sides (key or value) that are not null but have no schema. A transform that reads such a side is
            rejected.
    """

    record: PlanRecord
    side: Side
    first: int = 0
    touches: list[Touch] = field(default_factory=list)
    missing: list["Missing"] = field(default_factory=list)
    matches: dict[int, tuple[str, ...]] = field(default_factory=dict)
    variant: Hashable = None
    free: frozenset[Side] = frozenset()

    def side_of(self, record: PlanRecord) -> Node:
        """Returns the node of the key or value of ``record`` on which the stage acts. The record must have this key or
        value.
        """
        node = record.key if self.side == "key" else record.value
        assert node is not None, "the null rule handles a side that is null in all records"
        return node

    def with_side(self, record: PlanRecord, node: Node) -> PlanRecord:
        """Returns ``record`` with ``node`` in place of the key or value on which the stage acts."""
        if self.side == "key":
            return replace(record, key=node)
        return replace(record, value=node)

    def miss(self, path: str, known: tuple[str, ...], asked: str = "") -> None:
        """Reports that the schema lacks the field at ``path``, such as ``customer.nmae``.

        Args:
            path: The path as configured.
            known: The names at the point where the path has no match: the fields of ``customer``.
            asked: The name that the path expects at that point: ``nmae``. Empty for the whole path.
        """
        self.missing.append(Missing(path, known, asked or path))

    def match(self, effect: int, routes: tuple[str, ...]) -> None:
        """Reports that the path of the ledger entry ``effect`` matches the fields ``routes`` of the schema. For
        example, ``**.email`` matches ``customer.email``.
        """
        number = self.first + effect
        self.matches[number] = tuple(dict.fromkeys((*self.matches.get(number, ()), *routes)))

    def touch(self, effect: int, when: Expr | None = None) -> None:
        """Reports a change of records, which the ledger entry ``effect`` counts. The changed records are those for
        which ``when`` is not null. If ``when`` is None, all records are changed.
        """
        self.touches.append(Touch(self.first + effect, when))


def refuse(code: str, statement: str, hint: str = "", connect_class: str = DATA_EXCEPTION) -> PlanError:
    """Returns the error of a stage that cannot process a schema. The message consists of ``statement`` and ``hint``."""
    return PlanError(Problem(code, "", statement, hint, connect_class))


# effects are classes of `effects.effect`, which imports this module, so they cannot be imported here
class Effect(Protocol):
    """The interface of an effect: the properties that planning reads. An effect (``effects.effect``) is one action of a
    transform, as data: for example, the change or the removal of a field.
    """

    @property
    def entries(self) -> tuple[Entry, ...]: ...
    @property
    def reads(self) -> Parts: ...
    @property
    def writes(self) -> Parts: ...


class Transform(Options):
    """A single message transform, as in ``org.apache.kafka.connect.transforms.Transformation``.

    The class docstring is the documentation. ``effects`` returns the actions as data. A transform with sides acts on
    the key or the value of a record; a transform without sides acts on the parts that its effects name.
    """

    plugin: ClassVar[str] = "transform"
    sided: ClassVar[bool] = True
    purpose: ClassVar[str] = ""
    """The purpose of the transform in error messages. With the purpose ``mask fields``, a message says ``only a struct
    can be used for [mask fields]``.
    """
    null: ClassVar[NullRule] = "apply"
    """The treatment of a null key or value. A class in which the treatment depends on options overrides ``on_null``."""
    examples: ClassVar[tuple[Example, ...]] = ()

    _passes_nulls: bool = PrivateAttr(default=False)

    def on_null(self) -> NullRule:
        """Returns the treatment of a null key or value, according to the options."""
        if self._passes_nulls and self.null == "reject":
            return "pass"
        return self.null

    def effects(self) -> tuple[Any, ...]:
        """Returns the effects of the transform (``effects.effect.Effect``), which depend only on its options."""
        raise NotImplementedError

    def ledger(self) -> tuple[Entry, ...]:
        """Returns the ledger entries that the transform may write: the entries of its effects, in the same order. The
        ledger counts the records that each effect has changed.
        """
        return tuple(entry for effect in self._effects for entry in effect.entries)

    @property
    def reads(self) -> Parts:
        """The parts of a record that the transform reads, besides the side (key or value) on which it acts.

        If the transform reads both the key and the value, its rule for nulls applies to the value.
        """
        return frozenset[Part]().union(*(effect.reads for effect in self._effects))

    @property
    def writes(self) -> Parts:
        """The properties of a record that the transform sets: ``timestamp`` or ``partition``."""
        return frozenset[Part]().union(*(effect.writes for effect in self._effects))

    @property
    def _effects(self) -> tuple[Effect, ...]:
        return self.effects()


def passing_nulls(transform: Transform) -> Transform:
    """Returns a copy of ``transform`` that leaves a null key or value unchanged if the class rejects nulls (``null``).
    A class that overrides ``on_null`` keeps its own rule.
    """
    copy = transform.model_copy()
    copy._passes_nulls = True
    return copy


def null_side(transform: Transform, record: PlanRecord) -> PlanRecord:
    """Returns ``record`` after the stage. In ``record``, the key or value on which the transform acts is always null,
    and has no schema. The transform's rule for nulls (``on_null``) determines the result.

    Raises:
        PlanError: The rule rejects nulls.
        UnsupportedError: SMT904 if the null would become an object without a schema.
    """
    rule = transform.on_null()
    if rule == "reject":
        raise PlanError(NotNull(transform.purpose).failure().problem)
    if rule == "drop":
        return replace(record, dropped=True)
    if rule == "wrap":
        name = type(transform).__name__
        statement = f"the key or value is always null, and {name} would make an object without a schema of it"
        raise UnsupportedError(Problem("SMT904", "", statement, "drop the stage, or write records"))
    return record
