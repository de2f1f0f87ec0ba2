"""What a transform does to a key or value, as data.

A transform says its effects once (``Transform.effects``). Everything else reads them: the plan of a schema
(``on_plan_record``), Python functions for records without a schema (``on_values_record``), the ledger, and the
JVM lane.

The effects of one transform are of one family: changes; drops, keeps and renames; inserts; copies to headers with
drops; or one effect of another kind. ``Rebuild`` and ``NeedsSchema`` stand beside others.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

from dagster_smt.authoring.transform import Entry, Parts
from dagster_smt.effects.code import Code
from dagster_smt.effects.condition import Condition
from dagster_smt.effects.rule import FieldRule
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.extended import WHOLE
from dagster_smt.values.containers import NewName

Source = Literal["topic", "partition", "offset", "timestamp", "static"]
OnExisting = Literal["overwrite", "ignore", "refuse"]
NO_OFFSET = ("SMT409", "only records read from Kafka have an offset", "drop offset.field for source records")
"""The error of an inserted offset that a record does not have: code, statement, hint."""


class _Effect:
    """What every effect says beside its own attributes."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What the effect may write into the ledger."""
        return ()

    @property
    def reads(self) -> Parts:
        """What it looks at beside the side of its stage and the topic; headers also where it makes some."""
        return frozenset()

    @property
    def writes(self) -> Parts:
        """Whether it sets the record's ``timestamp`` or ``partition``."""
        return frozenset()


@dataclass(frozen=True)
class Change(_Effect):
    """The value at a path goes through a rule. Changes act in their order, what is below before what is above.

    Attributes:
        path: Where the value is; a path without steps is the whole key or value.
        rule: What becomes of it.
        action: What the ledger says of it, such as ``masked``.
        target: What the ledger says it becomes.
        fills: Whether, without a schema, a missing field of the top level becomes null, as in Kafka's own transforms.
        refuses_default: Whether, with a schema, a struct that has a default is refused; else its default is changed.
        required: Whether, with a schema, a missing field is refused; else it is reported.
        in_place: Whether, with a schema, nothing else is touched; else all fields are copied, as Kafka's transforms do
            it: nulls become defaults, and the struct's own default is changed, too. Only for fields of the top level.
        in_maps: Whether, with a schema, entries of a map are changed, too, if it is one of texts that may be null: a
            missing one becomes null.
    """

    path: FieldPath
    rule: FieldRule
    action: str = "changed"
    target: str = ""
    fills: bool = False
    refuses_default: bool = False
    required: bool = False
    in_place: bool = False
    in_maps: bool = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry(self.action, self.path.text or WHOLE, self.target),)


@dataclass(frozen=True)
class Drop(_Effect):
    """A field goes. The drops of a transform act at once, before its other effects."""

    path: FieldPath

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("dropped", self.path.text),)


@dataclass(frozen=True)
class Keep(_Effect):
    """Only these fields stay, with what is on the way to them. The paths mean the fields before any rename."""

    paths: tuple[FieldPath, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("dropped", "all but " + ", ".join(path.text for path in self.paths), explicit=False),)


@dataclass(frozen=True)
class Rename(_Effect):
    """A field gets another name beside its siblings. The renames of a transform act at once, after drops and keeps.

    Attributes:
        path: The field.
        name: The new name.
        target: The new name as the user wrote it.
    """

    path: FieldPath
    name: NewName
    target: str

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("renamed", self.path.text, self.target),)


@dataclass(frozen=True)
class Rebuild(_Effect):
    """With a schema the struct is a new one: required, without a default (``SchemaUtil.copySchemaBasics``)."""


@dataclass(frozen=True)
class Insert(_Effect):
    """A field is added.

    Attributes:
        path: Where; only names.
        source: What of the record it holds: ``topic``, ``partition``, ``offset``, ``timestamp``, or ``static``.
        text: The value, if the source is ``static``.
        required: Whether its schema is required.
        makes_parents: Whether structs on the way are made where they are missing.
        existing: What happens to a field that exists: ``overwrite`` or ``ignore``.
        existing_in_schema: The same where there is a schema; Kafka's V1 refuses it there (``refuse``).
    """

    path: FieldPath
    source: Source
    text: str | None = None
    required: bool = False
    makes_parents: bool = True
    existing: OnExisting = "overwrite"
    existing_in_schema: OnExisting = "refuse"

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("added", self.path.text, self.source),)

    @property
    def reads(self) -> Parts:
        if self.source in ("topic", "static"):
            return frozenset()
        return frozenset({"metadata"})


@dataclass(frozen=True)
class Extract(_Effect):
    """A field takes the place of the whole key or value.

    Attributes:
        path: The field; it leads to one at most. Without a schema a missing field gives null.
        missing_class: The exception with which Connect refuses a schema that does not have it.
    """

    path: FieldPath
    missing_class: str

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("extracted", self.path.text),)


@dataclass(frozen=True)
class Wrap(_Effect):
    """A value becomes the only field of a struct (without a schema: an object) in its place.

    Attributes:
        path: The value; a path without steps is the whole key or value.
        name: The whole value: the field's name. A field inside: the name of the new struct beside its siblings; the
            field keeps its own name inside it.
    """

    path: FieldPath
    name: str

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("renamed", self.path.text or WHOLE, self.name),)


@dataclass(frozen=True)
class MakeKey(_Effect):
    """The key becomes a struct (without a schema: an object) of fields of the value, named by their last names."""

    paths: tuple[FieldPath, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(Entry("added", path.leaf, f"value.{path}", "key") for path in self.paths)

    @property
    def reads(self) -> Parts:
        return frozenset({"value"})


@dataclass(frozen=True)
class ByPattern:
    """If a regular expression matches the whole topic, its first find in it is replaced."""

    regex: str
    replacement: str

    @property
    def entry(self) -> Entry:
        return Entry("routed", self.regex, self.replacement, "topic")

    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class ByTime:
    """A text in which the topic stands for ``${topic}``, and the record's timestamp for ``${timestamp}``."""

    topic_format: str
    timestamp_format: str

    @property
    def entry(self) -> Entry:
        return Entry("routed", self.topic_format, self.timestamp_format, "topic")

    reads: ClassVar[Parts] = frozenset({"metadata"})


@dataclass(frozen=True)
class ByHeader:
    """The text of the last header of a name.

    Attributes:
        name: The header's.
        skips: Whether the topic stays where there is none, or no text in it; else the record is refused.
    """

    name: str
    skips: bool

    @property
    def entry(self) -> Entry:
        return Entry("routed", self.name, "topic", "topic")

    reads: ClassVar[Parts] = frozenset({"headers"})


@dataclass(frozen=True)
class ByField:
    """The text of a field; one that is null or empty is none.

    Attributes:
        path: The field; without steps the whole key or value.
        skips: Whether the topic stays where there is no text; else the record is refused.
        converts: Whether numbers and booleans become texts, as Java writes them; else they are refused.
        blank_is_none: Whether, without a schema, a text of blanks is none, too.
        by_type: Whether, with a schema, a field of another type is refused although it is null, and skipped.
    """

    path: FieldPath
    skips: bool
    converts: bool = False
    blank_is_none: bool = False
    by_type: bool = False

    @property
    def entry(self) -> Entry:
        return Entry("routed", self.path.text or WHOLE, "topic", "topic")

    @property
    def label(self) -> str:
        """What messages call the field."""
        if self.path.steps:
            return f"the field '{self.path.text}'"
        return "the key or value"

    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class ByFieldTime:
    """As ``ByTime``, with a time that a field of the value has as a text. Values with a schema are refused.

    Attributes:
        topic_format, timestamp_format: As in ``ByTime``.
        names: Fields of the top level, of which the first that is there and not null counts.
        field_format: Pattern of its text.
    """

    topic_format: str
    timestamp_format: str
    names: tuple[str, ...]
    field_format: str

    @property
    def entry(self) -> Entry:
        return Entry("routed", self.topic_format, self.timestamp_format, "topic")

    reads: ClassVar[Parts] = frozenset({"value"})


@dataclass(frozen=True)
class Route(_Effect):
    """The topic becomes another one; partition, offset and timestamp stay."""

    by: ByPattern | ByTime | ByHeader | ByField | ByFieldTime

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (self.by.entry,)

    @property
    def reads(self) -> Parts:
        return self.by.reads


@dataclass(frozen=True)
class Reject(_Effect):
    """Records go for which a condition is true.

    Attributes:
        condition: The condition. Where it is ``NullValue``, the null rule says what becomes of them.
        side: For a transform without sides: the side whose fields the condition looks at.
    """

    condition: Condition
    side: Literal["", "key", "value"] = ""

    @property
    def reads(self) -> Parts:
        side: Parts = frozenset({self.side} if self.side else ())
        return side | (self.condition.reads - {"value"})


@dataclass(frozen=True)
class AddHeader(_Effect):
    """A header is appended; ``text`` is its value, as Connect reads the value of a header."""

    name: str
    text: str

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("added", self.name, "", "headers"),)

    @property
    def reads(self) -> Parts:
        return frozenset({"headers"})


@dataclass(frozen=True)
class DropHeaders(_Effect):
    """Every header that has one of some names goes."""

    names: tuple[str, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(Entry("dropped", name, side="headers") for name in self.names)

    @property
    def reads(self) -> Parts:
        return frozenset({"headers"})


@dataclass(frozen=True)
class CopyToHeader(_Effect):
    """A header with a field's value is appended. Drops of the same transform act after all copies.

    With a schema the field must exist; without one a missing field gives a header that is null.
    """

    path: FieldPath
    header: str

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("added", self.header, self.path.text, "headers"),)

    @property
    def reads(self) -> Parts:
        return frozenset({"headers"})


@dataclass(frozen=True)
class SetSchema(_Effect):
    """The schema of the struct gets a name, a version or both; what is None stays."""

    name: str | None
    version: int | None

    @property
    def changes(self) -> dict[str, str | int]:
        """What the schema gets."""
        pairs = {"name": self.name, "version": self.version}
        results = {}
        for key, value in pairs.items():
            if value is not None:
                results[key] = value
        return results

    @property
    def entries(self) -> tuple[Entry, ...]:
        target = ", ".join(f"{key} {value}" for key, value in self.changes.items())
        return (Entry("renamed", "(schema)", target, explicit=False),)


@dataclass(frozen=True)
class NeedsSchema(_Effect):
    """Keys and values without a schema are refused, unless they are null: code, statement and hint of the problem."""

    code: str
    statement: str
    hint: str


@dataclass(frozen=True)
class SetTimestamp(_Effect):
    """The record's timestamp becomes a field of the key or value: an int64 in a unit, or a date. A null is refused.

    Attributes:
        name: The field, at the top level; the entry of a map under a schema counts as one.
        unit: ``milliseconds`` or ``seconds``.
    """

    name: str
    unit: str

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("extracted", self.name, "timestamp"),)

    @property
    def reads(self) -> Parts:
        return frozenset({"metadata"})

    @property
    def writes(self) -> Parts:
        return frozenset({"timestamp"})


@dataclass(frozen=True)
class Join(_Effect):
    """A field is added with the texts of others, as Java writes them.

    With a schema the struct is a new one, without name, version, doc and parameters, and a field of the name is
    refused; without one it is overwritten.

    Attributes:
        name: The new field.
        names: The others, fields of the top level, in their order.
        delimiter: What stands between the texts.
        missing: The text of what is null or missing.
    """

    name: str
    names: tuple[str, ...]
    delimiter: str
    missing: str

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("added", self.name, ",".join(self.names)),)


@dataclass(frozen=True)
class Nullify(_Effect):
    """The key or value becomes null.

    Attributes:
        schema: What becomes of its schema: ``nullify``, there is none; ``retain``, it stays; ``validate``, it stays,
            and one that requires a value is refused; ``force_optional``, it allows null.
    """

    schema: str

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("dropped", WHOLE),)


_E = TypeVar("_E")
Effect = (
    Change
    | Drop
    | Keep
    | Rename
    | Rebuild
    | Insert
    | Extract
    | Wrap
    | MakeKey
    | Reject
    | Route
    | AddHeader
    | DropHeaders
    | CopyToHeader
    | SetSchema
    | SetTimestamp
    | Join
    | Nullify
    | NeedsSchema
    | Code
)


_BESIDE = (Rebuild, NeedsSchema)
_TOGETHER: tuple[set[type[Effect]], ...] = ({Change}, {Insert}, {Drop, Keep, Rename}, {CopyToHeader, Drop})


def family_of(effects: Iterable[Effect]) -> set[type[Effect]]:
    """Returns the kinds of the effects, but for those that stand beside others.

    Raises:
        TypeError: They do not go together.
    """
    own: list[type[Effect]] = [type(effect) for effect in effects if not isinstance(effect, _BESIDE)]
    family = set(own)
    if len(own) > 1 and not any(family <= kinds for kinds in _TOGETHER):
        names = ", ".join(kind.__name__ for kind in own)
        raise TypeError(f"these effects of one transform do not go together: {names}")
    return family


def only(effects: Iterable[Effect], kind: type[_E]) -> tuple[_E, ...]:
    """Returns the effects of one kind, in their order."""
    return tuple(effect for effect in effects if isinstance(effect, kind))


def numbered(effects: tuple[Effect, ...]) -> list[tuple[int, Effect]]:
    """Returns the effects, each with the number of its first entry among the transform's ledger entries."""
    pairs = []
    first = 0
    for effect in effects:
        pairs.append((first, effect))
        first += len(effect.entries)
    return pairs
