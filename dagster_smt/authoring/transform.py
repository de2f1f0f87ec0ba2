"""What a transform is: options, effect on a record with schema, effect on a record without, ledger, examples."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from dagster_smt.authoring.options import Options
from dagster_smt.errors import DATA_EXCEPTION, PlanError, Problem, UnsupportedError
from dagster_smt.model.cell import Expr, Node
from dagster_smt.model.record import PlanRecord, Record, Side, Touch
from dagster_smt.model.report import SILENT
from dagster_smt.values.basic import NotNull

PACKAGE = "org.apache.kafka.connect.transforms."

NullRule = Literal["pass", "reject", "apply", "wrap", "drop"]
"""What a null key or value meets: ``pass``, the stage leaves it alone; ``apply``, it stays null under the new schema;
``reject``, an error; ``drop``, the record is dropped; ``wrap``, it becomes something else."""
Part = Literal["key", "value", "metadata", "timestamp_type", "headers", "timestamp", "partition"]
"""What a stage may read or write of a record; ``metadata`` is the partition, the offset or the timestamp."""
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

    ``named``: whether the user names with ``path`` what must be there. That nothing is there is then worth a warning.
    """

    action: str
    path: str
    target: str = ""
    side: str = ""
    named: bool = True

    @property
    def relied_on(self) -> bool:
        """Whether somebody relies on it: that it touches nothing is worth a warning."""
        return self.named and self.action in SILENT


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
        variant: What ``Transform.variant`` says of the record; None if no record is there, only schemas.
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
        return replace(record, key=node) if self.side == "key" else replace(record, value=node)

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


class Transform(Options):
    """A single message transform, as in ``org.apache.kafka.connect.transforms.Transformation``.

    The class docstring is its documentation. A transform with sides acts on the key or the value of a record and
    implements ``plan_side`` and ``schemaless``; one without sides implements ``plan_record`` alone, which serves both
    evaluators. One without sides that looks at the fields of a side says so (``reads_value``, ``reads_key``) and
    implements ``schemaless`` too; what it does not declare raises when it is looked at.
    """

    plugin: ClassVar[str] = "transform"
    sided: ClassVar[bool] = True
    reads_value: ClassVar[bool] = False
    """For a transform without sides: whether it reads the value's fields, and so has a schemaless form too."""
    reads_key: ClassVar[bool] = False
    """The same for the key. The null rule is about the value if it reads both."""
    plans_key_alone: ClassVar[bool] = False
    """Whether it can plan a key with a schema beside a value without one, which it then must not look at."""
    reads_metadata: ClassVar[bool] = False
    """Whether it looks at partition, offset or timestamp."""
    reads_timestamp_type: ClassVar[bool] = False
    """Whether it looks at the timestamp's type."""
    reads_leader_epoch: ClassVar[bool] = False
    """Whether it looks at the epoch of the leader that wrote the record."""
    writes_timestamp: ClassVar[bool] = False
    """Whether it changes the record's timestamp."""
    writes_partition: ClassVar[bool] = False
    """Whether it chooses the partition that the record goes to."""
    reads_headers: ClassVar[bool] = False
    """Whether it looks at headers or makes some."""
    purpose: ClassVar[str] = ""
    """What it does, as messages say it: ``only a struct can be used for [mask fields]``."""
    null: ClassVar[NullRule] = "apply"
    """What a null key or value meets; a class whose options decide overrides ``on_null``."""
    examples: ClassVar[tuple[Example, ...]] = ()

    def on_null(self) -> NullRule:
        """What a null key or value meets under these options."""
        return self.null

    def ledger(self) -> tuple[Entry, ...]:
        """The lines this transform may write into the ledger, in a fixed order."""
        return ()

    def variant(self, record: Record) -> Hashable:
        """What else of a record with schema its plan depends on, such as the name of a field in a header.

        The Python evaluator makes a plan for each variant it meets; ``plan_record`` sees it as ``Planning.variant``,
        which is None where the plan is made of schemas alone, for columns. Only for transforms that act on a side.
        """
        return None

    def narrower(self, record: Record) -> Hashable:
        """What a record is that needs less of its schema than others, such as the event of a deleted row.

        The Python evaluator asks for it where the schema of a record lacks what the plan for all such records needs,
        and plans again with this as ``Planning.variant``. None: the record is refused.
        """
        return None

    def plan_side(self, node: Node, at: Planning) -> Node:
        """Effect on a side with schema. Raises ``PlanError`` if no record of this schema can pass."""
        raise NotImplementedError

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        """Effect on a side without schema: a function of the value and the record that gives the new value.

        The value is lazily decoded JSON (``values.lazy``) and may be changed in place; what ends up in two places of
        the record must be copied (``values.lazy.copied``). For a transform without sides (``reads_value``) the function
        changes the record itself, ``record.dirty`` too, and its result does not count. To drop the record it raises
        ``DropRecord``.

        Args:
            bits: For each effect of ``ledger()`` the bit to set in ``record.touched`` when it happens.
        """
        raise NotImplementedError

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        """Effect on the whole record; by default the effect on the stage's side.

        It is not called for a side that is null in every record, unless the null rule is ``apply`` or ``wrap``.
        """
        node = record.key if at.side == "key" else record.value
        if node is None:
            return self.plan_absent(record)
        after = self.plan_side(node, at)
        return replace(record, key=after) if at.side == "key" else replace(record, value=after)

    def plan_absent(self, record: PlanRecord) -> PlanRecord:
        """Effect on a side that is null in every record, without schema: what the null rule says."""
        rule = self.on_null()
        if rule == "reject":
            raise PlanError(NotNull(self.purpose).failure().problem)
        if rule == "drop":
            return replace(record, dropped=True)
        if rule == "wrap":
            statement = f"{type(self).__name__} makes an object without schema of a key or value that is always null"
            raise UnsupportedError(Problem("SMT904", "", statement, "drop the stage, or write records"))
        return record
