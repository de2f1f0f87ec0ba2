"""The actions of transforms on a record, as data.

A transform lists its effects once (``Transform.effects``), and all other code reads that list: the plan of a schema
(``on_plan_record``), Python functions for records without a schema (``on_values_record``), the ledger, and the
JVM lane.

The effects of one transform belong to one family: changes; drops, keeps and renames; inserts; copies to headers with
drops; or one effect of another kind. ``Rebuild`` and ``NeedsSchema`` may accompany any family.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

from dagster_smt.authoring.transform import Entry, Parts
from dagster_smt.effects.code import Code
from dagster_smt.effects.condition import Condition
from dagster_smt.effects.field_rule import FieldRule
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.extended import WHOLE
from dagster_smt.values.containers import NewName

Source = Literal["topic", "partition", "offset", "timestamp", "static"]
OnExisting = Literal["overwrite", "ignore", "refuse"]
NO_OFFSET = ("SMT409", "only records read from Kafka have an offset", "drop offset.field for source records")
"""The problem of a record without an offset to insert: code, statement, hint."""


class _Effect:
    """The properties of every effect, besides its own attributes."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The ledger entries that the effect may write."""
        return ()

    @property
    def reads(self) -> Parts:
        """The parts of a record that the effect reads, besides the stage's side and the topic.

        Adding headers reads them.
        """
        return frozenset()

    @property
    def writes(self) -> Parts:
        """The parts that the effect sets: ``timestamp`` or ``partition`` of the record."""
        return frozenset()


@dataclass(frozen=True)
class Change(_Effect):
    """A change of the value at a path by a rule. Changes act in their order, but inner values before outer values.

    Attributes:
        path: The path of the value; a path without steps is the whole key or value.
        rule: The rule that gives the new value.
        action: The word of the ledger for the change, such as ``masked``.
        target: The new type or value, as the ledger shows it.
        fills: Without a schema: True if a missing field of the top level becomes null, as in Kafka's own transforms.
        refuses_default: With a schema: True to refuse a struct that has a default, False to change its default.
        required: With a schema: True to refuse a missing field, False to report it.
        in_place: With a schema: True to leave all other fields alone, for fields of the top level only. False to copy
            all fields as Kafka's transforms do: nulls become defaults, and the struct's own default changes, too.
        in_maps: With a schema: True to change the entries of a map, too, if its values are optional texts. A missing
            entry becomes null.
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
    """The removal of a field. All drops of a transform act at once, before its other effects."""

    path: FieldPath

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("dropped", self.path.text),)


@dataclass(frozen=True)
class Keep(_Effect):
    """The removal of all fields except these and the structs around them. Paths mean the fields before any rename."""

    paths: tuple[FieldPath, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("dropped", "all but " + ", ".join(path.text for path in self.paths), explicit=False),)


@dataclass(frozen=True)
class Rename(_Effect):
    """Another name for a field. All renames of a transform act at once, after drops and keeps.

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
    """With a schema: a new schema of the struct, required and without a default (``SchemaUtil.copySchemaBasics``)."""


@dataclass(frozen=True)
class Insert(_Effect):
    """A new field.

    Attributes:
        path: The path of the field; names only.
        source: The origin of the value: ``topic``, ``partition``, ``offset``, ``timestamp``, or ``static``.
        text: The value, if the source is ``static``.
        required: True if the schema of the field is required.
        makes_parents: True to create missing structs on the path.
        existing: The treatment of an existing field: ``overwrite`` or ``ignore``.
        existing_in_schema: The same with a schema, where Kafka's V1 refuses an existing field (``refuse``).
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
    """The replacement of the whole key or value by one of its fields.

    Attributes:
        path: The path of the field, to at most one field. Without a schema, a missing field gives null.
        missing_class: The exception class that Connect raises for a schema without the field.
    """

    path: FieldPath
    missing_class: str

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("extracted", self.path.text),)


@dataclass(frozen=True)
class Wrap(_Effect):
    """A struct (without a schema: an object) around a value, which becomes its only field.

    Attributes:
        path: The path of the value; a path without steps is the whole key or value.
        name: For the whole key or value, the name of the field. For an inner field, the name of the new struct; the
            inner field keeps its name inside the struct.
    """

    path: FieldPath
    name: str

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("renamed", self.path.text or WHOLE, self.name),)


@dataclass(frozen=True)
class MakeKey(_Effect):
    """A new key: a struct (without a schema: an object) of fields of the value, under the last names of their paths."""

    paths: tuple[FieldPath, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(Entry("added", path.leaf, f"value.{path}", "key") for path in self.paths)

    @property
    def reads(self) -> Parts:
        return frozenset({"value"})


@dataclass(frozen=True)
class ByPattern:
    """A route by a regular expression. If it matches the whole topic, its first match in the topic is replaced."""

    regex: str
    replacement: str

    @property
    def entry(self) -> Entry:
        return Entry("routed", self.regex, self.replacement, "topic")

    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class ByTime:
    """A route by time: a text with the topic for ``${topic}`` and the record's timestamp for ``${timestamp}``."""

    topic_format: str
    timestamp_format: str

    @property
    def entry(self) -> Entry:
        return Entry("routed", self.topic_format, self.timestamp_format, "topic")

    reads: ClassVar[Parts] = frozenset({"metadata"})


@dataclass(frozen=True)
class ByHeader:
    """A route by header: the new topic is the text of the last header of a name.

    Attributes:
        name: The name of the header.
        skips: True to keep the topic if the header is missing or has no text, False to refuse the record.
    """

    name: str
    skips: bool

    @property
    def entry(self) -> Entry:
        return Entry("routed", self.name, "topic", "topic")

    reads: ClassVar[Parts] = frozenset({"headers"})


@dataclass(frozen=True)
class ByField:
    """A route by field: the new topic is the text of a field. A null or empty field has no text.

    Attributes:
        path: The path of the field; without steps the whole key or value.
        skips: True to keep the topic if the field has no text, False to refuse the record.
        converts: True to convert numbers and booleans to texts as Java does, False to refuse them.
        blank_is_none: Without a schema: True if a text of blanks counts as no text, too.
        by_type: With a schema: True to refuse a field of another type even if the field is null or ``skips`` is set.
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
        """The field, as messages name it."""
        if self.path.steps:
            return f"the field '{self.path.text}'"
        return "the key or value"

    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class ByFieldTime:
    """A route as ``ByTime``, with the time from a text field of the value. Values with a schema are refused.

    Attributes:
        topic_format, timestamp_format: As in ``ByTime``.
        names: Fields of the top level. The first present field that is not null counts.
        field_format: The date pattern of the field's text.
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
    """Another topic for the record. Partition, offset and timestamp stay."""

    by: ByPattern | ByTime | ByHeader | ByField | ByFieldTime

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (self.by.entry,)

    @property
    def reads(self) -> Parts:
        return self.by.reads


@dataclass(frozen=True)
class Reject(_Effect):
    """The removal of records for which a condition is true.

    Attributes:
        condition: The condition. If it is ``NullValue``, the null rule decides.
        side: For a transform without sides: the side whose fields the condition reads.
    """

    condition: Condition
    side: Literal["", "key", "value"] = ""

    @property
    def reads(self) -> Parts:
        side: Parts = frozenset({self.side} if self.side else ())
        return side | (self.condition.reads - {"value"})


@dataclass(frozen=True)
class AddHeader(_Effect):
    """A new header at the end of the headers. Connect parses ``text`` as the value of the header."""

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
    """The removal of all headers that have one of some names."""

    names: tuple[str, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(Entry("dropped", name, side="headers") for name in self.names)

    @property
    def reads(self) -> Parts:
        return frozenset({"headers"})


@dataclass(frozen=True)
class KeepHeaders(_Effect):
    """The removal of all headers except those that have one of some names."""

    names: tuple[str, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        if self.names:
            text = "all but " + ", ".join(self.names)
        else:
            text = "all"
        return (Entry("dropped", text, side="headers", explicit=False),)

    @property
    def reads(self) -> Parts:
        return frozenset({"headers"})


@dataclass(frozen=True)
class CopyToHeader(_Effect):
    """A new header with the value of a field. Drops of the same transform act after all copies.

    With a schema the field must exist. Without a schema, a missing field gives a header that is null.
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
    """A new name, a new version or both for the schema of the struct. None keeps the present one."""

    name: str | None
    version: int | None

    @property
    def changes(self) -> dict[str, str | int]:
        """The new attributes of the schema."""
        pairs = {"name": self.name, "version": self.version}
        results = {}
        for key, value in pairs.items():
            if value is not None:
                results[key] = value
        return results

    @property
    def entries(self) -> tuple[Entry, ...]:
        changes = []
        for key, value in self.changes.items():
            changes.append(f"{key} {value}")
        target = ", ".join(changes)
        return (Entry("renamed", "(schema)", target, explicit=False),)


@dataclass(frozen=True)
class NeedsSchema(_Effect):
    """The refusal of keys and values without a schema, unless they are null, with code, statement and hint."""

    code: str
    statement: str
    hint: str


@dataclass(frozen=True)
class SetTimestamp(_Effect):
    """A new timestamp of the record from a field: an int64 in a unit, or a date. A null is refused.

    Attributes:
        name: The name of the field, at the top level. With a schema, an entry of a map counts as a field.
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
    """A new field with the joined texts of other fields, as Java writes them.

    With a schema, the struct gets a new schema without name, version, doc and parameters, and an existing field of the
    name is refused. Without a schema, an existing field is overwritten.

    Attributes:
        name: The name of the new field.
        names: The other fields, at the top level, in their order.
        delimiter: The text between the texts.
        missing: The text of a field that is null or missing.
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
    """Null for the key or value.

    Attributes:
        schema: The treatment of the schema. ``nullify`` removes it. ``retain`` keeps it. ``validate`` keeps it and
            refuses a schema that requires a value. ``force_optional`` makes it optional.
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
    | KeepHeaders
    | CopyToHeader
    | SetSchema
    | SetTimestamp
    | Join
    | Nullify
    | NeedsSchema
    | Code
)


_COMPANIONS = (Rebuild, NeedsSchema)
_FAMILIES: tuple[set[type[Effect]], ...] = ({Change}, {Insert}, {Drop, Keep, Rename}, {CopyToHeader, Drop})


def family_of(effects: Iterable[Effect]) -> set[type[Effect]]:
    """Returns the kinds of the effects, without those that may accompany any family.

    Raises:
        TypeError: The effects belong to different families.
    """
    own: list[type[Effect]] = []
    for effect in effects:
        if not isinstance(effect, _COMPANIONS):
            own.append(type(effect))
    family = set(own)
    if len(own) > 1 and not any(family <= kinds for kinds in _FAMILIES):
        names = ", ".join(kind.__name__ for kind in own)
        raise TypeError(f"one transform cannot have these effects together: {names}")
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
