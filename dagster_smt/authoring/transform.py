"""What a transform is: options, effects, null rule, examples."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol

from dagster_smt.authoring.options import Options
from dagster_smt.errors import DATA_EXCEPTION, PlanError, Problem, UnsupportedError
from dagster_smt.model.cell import Expr, Node
from dagster_smt.model.record import PlanRecord, Record, Side, Touch
from dagster_smt.model.reports.run_report import SILENT
from dagster_smt.values.basic import NotNull

PACKAGE = "org.apache.kafka.connect.transforms."

NullRule = Literal["pass", "reject", "apply", "wrap", "drop"]
"""What a null key or value meets: ``pass``, the stage leaves it alone; ``apply``, it stays null under the new schema;
``reject``, an error; ``drop``, the record is dropped; ``wrap``, it becomes something else."""
Part = Literal["key", "value", "metadata", "timestamp_type", "leader_epoch", "headers", "timestamp", "partition"]
"""What a stage may read or write of a record.

``metadata`` is the partition, the offset or the timestamp; ``leader_epoch`` that of the leader that wrote the record.
Headers are read also where some are made.
"""
Parts = frozenset[Part]
SideFunction = Callable[[Any, Record], Any]


@dataclass(frozen=True)
class Example:
    """A documented example; it runs as a test.

    ``before`` and ``after`` are JSON texts of the value, or of the part named by ``shows`` (``key``, ``headers``, or
    ``topic``: the bare name); ``given`` names the part that ``before`` is, if it is another. A text with exactly
    ``schema`` and ``payload`` is an envelope. Headers are a list of ``{"key", "value"}``. The rest of the record:
    topic ``orders``, partition 0, offset 42, timestamp 1556204536123. ``after=None``: the record is dropped.
    """

    title: str
    options: dict[str, Any]
    before: str
    after: str | None
    shows: str = "value"
    given: str = ""


@dataclass(frozen=True)
class Entry:
    """An entry the transform may write into the ledger (actions as in ``model.report.ACTIONS``).

    ``explicit``: true if the user names in ``path`` a field that must exist. A run warns if there is no such field.
    """

    action: str
    path: str
    target: str = ""
    side: str = ""
    explicit: bool = True

    @property
    def relied_on(self) -> bool:
        """Whether somebody relies on it: that it touches nothing is worth a warning."""
        return self.explicit and self.action in SILENT


@dataclass(frozen=True)
class Missing:
    """A configured path that a schema does not have: the path, the names there are, and which of them it looks for."""

    path: str
    known: tuple[str, ...]
    asked: str


@dataclass
class Planning:
    """Where a transform is planned: the record so far, and what the stage has to report.

    Attributes:
        record: The symbolic record before the stage.
        side: ``key`` or ``value``.
        first: Number of the transform's first ledger entry.
        touches: Ledger entries reported so far.
        missing: Configured paths that the schema does not have.
        matches: What paths match in the schema that are not written so, by number of ledger entry.
        variant: What ``CodeTransform.variant`` says of the record; None if no record is there, only schemas.
        free: Sides that are not null, but have no schema; a transform that looks at one is refused.
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
        """Returns the node of the stage's side in a record that has one."""
        node = record.key if self.side == "key" else record.value
        assert node is not None, "a side that is null in all records is the null rule's"
        return node

    def with_side(self, record: PlanRecord, node: Node) -> PlanRecord:
        """Returns a record with another node as the stage's side."""
        if self.side == "key":
            return replace(record, key=node)
        return replace(record, value=node)

    def miss(self, path: str, known: tuple[str, ...], asked: str = "") -> None:
        """Report that no record of this schema has a configured field.

        Args:
            path: The path as configured.
            known: The names there are.
            asked: The name the path looks for among them; empty: the whole path.
        """
        self.missing.append(Missing(path, known, asked or path))

    def match(self, effect: int, routes: tuple[str, ...]) -> None:
        """Report which fields of the schema the path of an effect matches."""
        number = self.first + effect
        self.matches[number] = tuple(dict.fromkeys((*self.matches.get(number, ()), *routes)))

    def touch(self, effect: int, when: Expr | None = None) -> None:
        """Report that an effect happens, in the records where ``when`` is not null."""
        self.touches.append(Touch(self.first + effect, when))


def refuse(code: str, statement: str, hint: str = "", connect_class: str = DATA_EXCEPTION) -> PlanError:
    """The error of a stage that cannot work on this schema."""
    return PlanError(Problem(code, "", statement, hint, connect_class))


class Effect(Protocol):
    """What planning needs to know of an effect (``effects.effect``), whatever it does."""

    @property
    def entries(self) -> tuple[Entry, ...]: ...
    @property
    def reads(self) -> Parts: ...
    @property
    def writes(self) -> Parts: ...


class Transform(Options):
    """A single message transform, as in ``org.apache.kafka.connect.transforms.Transformation``.

    The class docstring is its documentation. What it does is data: ``effects``. A transform with sides acts on the key
    or the value of a record; one without acts on whatever its effects say.
    """

    plugin: ClassVar[str] = "transform"
    sided: ClassVar[bool] = True
    purpose: ClassVar[str] = ""
    """What it does, as messages say it: ``only a struct can be used for [mask fields]``."""
    null: ClassVar[NullRule] = "apply"
    """What a null key or value meets; a class whose options decide overrides ``on_null``."""
    examples: ClassVar[tuple[Example, ...]] = ()

    def on_null(self) -> NullRule:
        """Returns what a null key or value meets under these options."""
        return self.null

    def effects(self) -> tuple[Any, ...]:
        """Returns what the transform does, as data, from its options alone (``effects.effect.Effect``)."""
        raise NotImplementedError

    def ledger(self) -> tuple[Entry, ...]:
        """Returns the lines this transform may write into the ledger: those of its effects, in their order."""
        return tuple(entry for effect in self._effects for entry in effect.entries)

    @property
    def reads(self) -> Parts:
        """What it looks at beside its side. The null rule is about the value if it reads both sides."""
        return frozenset[Part]().union(*(effect.reads for effect in self._effects))

    @property
    def writes(self) -> Parts:
        """Whether it sets the record's ``timestamp`` or ``partition``."""
        return frozenset[Part]().union(*(effect.writes for effect in self._effects))

    @property
    def _effects(self) -> tuple[Effect, ...]:
        return self.effects()


def null_side(transform: Transform, record: PlanRecord) -> PlanRecord:
    """Returns what a side that is null in every record, without schema, becomes: what the null rule says.

    Raises:
        PlanError: It is refused.
        UnsupportedError: SMT904, it would become an object without a schema.
    """
    rule = transform.on_null()
    if rule == "reject":
        raise PlanError(NotNull(transform.purpose).failure().problem)
    if rule == "drop":
        return replace(record, dropped=True)
    if rule == "wrap":
        name = type(transform).__name__
        statement = f"{name} makes an object without schema of a key or value that is always null"
        raise UnsupportedError(Problem("SMT904", "", statement, "drop the stage, or write records"))
    return record
