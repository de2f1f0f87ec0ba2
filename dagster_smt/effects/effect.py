"""Effects: the actions of transforms on a record, described as data.

A transform lists its effects in only one method, ``Transform.effects``. Four parts of this package read that list:

- the plans for records with a schema (``on_plan_record``)
- the Python functions for records without a schema (``on_values_record``)
- the ledger, which counts changed records
- the JVM lane, which is Java code inside Spark

All effects of one transform belong to one of these families:

- changes
- drops, keeps and renames
- inserts
- copies to headers, and drops
- a single effect of another kind

``Rebuild`` and ``NeedsSchema`` may accompany any family.
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
"""The problem of a record without an offset, if a stage inserts the offset into the record. The three strings are the
code, the statement and the hint.
"""


class _Effect:
    """The base class of all effects."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The ledger entries of the effect: the actions whose records a report counts, such as "masked ``email``"."""
        return ()

    @property
    def reads(self) -> Parts:
        """The parts of a record that the effect reads, such as ``headers``. The topic is not listed, nor is the key or
        value on which the stage acts.

        An effect that adds headers also reads the existing headers.
        """
        return frozenset()

    @property
    def writes(self) -> Parts:
        """The parts that the effect sets: ``timestamp`` or ``partition`` of the record."""
        return frozenset()


@dataclass(frozen=True)
class Change(_Effect):
    """An effect that changes the value at a path by a rule. The changes of a transform act in their order, except that
    a value inside a struct, map or array is changed before the struct, map or array itself.

    Attributes:
        path: The path of the value; a path without steps is the whole key or value.
        rule: The rule that computes the new value.
        action: The ledger's word for the change, such as ``masked``.
        target: The new type or value, as the ledger shows it.
        fills: Without a schema: True if a missing top-level field becomes null, as in Kafka's own transforms.
        refuses_default: With a schema: True to reject a struct that has a default, False to change its default.
        required: With a schema: True to reject a schema without the field, False to report the missing field as a
            warning.
        in_place: With a schema: True to leave all other fields unchanged, which is only possible for top-level fields.
            False to copy all fields as Kafka's transforms do. A null then becomes the default of its field, and the
            default of the struct itself also changes.
        in_maps: With a schema: True to accept a key or value that is a map from strings to optional strings. The path
            is then the key of an entry. A missing entry is added with the value null.
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
    """An effect that removes a field. All drops of a transform act at once, before its other effects."""

    path: FieldPath

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("dropped", self.path.text),)


@dataclass(frozen=True)
class Keep(_Effect):
    """An effect that removes all fields except the listed fields. With the path ``address.city``, the struct
    ``address`` also stays, but only with its field ``city``.

    The paths contain the names of fields before any rename.
    """

    paths: tuple[FieldPath, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("dropped", "all but " + ", ".join(path.text for path in self.paths), explicit=False),)


@dataclass(frozen=True)
class Rename(_Effect):
    """An effect that renames a field. All renames of a transform act at once, after drops and keeps.

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
    """An effect that replaces the schema of the struct with a new schema of the same fields. As in Kafka's
    ``SchemaUtil.copySchemaBasics``, the new schema requires a value and has no default. Records without a schema stay
    as they are.
    """


@dataclass(frozen=True)
class Insert(_Effect):
    """An effect that inserts a new field.

    Attributes:
        path: The path of the field; names only.
        source: The origin of the value: ``topic``, ``partition``, ``offset``, ``timestamp``, or ``static``.
        text: The value, if the source is ``static``.
        required: True if the schema of the field is required.
        makes_parents: True to create missing structs on the path.
        existing: Without a schema: what happens to a field that exists already. ``overwrite`` replaces its value,
            ``ignore`` keeps its value.
        existing_in_schema: The same for records with a schema. In addition, ``refuse`` rejects the record, as Kafka
            does with ``field.syntax.version=V1``.
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
    """An effect that replaces the whole key or value with one of its fields.

    Attributes:
        path: A path that selects at most one field. Without a schema, a missing field gives null.
        missing_class: The exception class that Connect raises for a schema without the field.
    """

    path: FieldPath
    missing_class: str

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("extracted", self.path.text),)


@dataclass(frozen=True)
class Wrap(_Effect):
    """An effect that wraps a value: a new struct contains the value as its only field. Without a schema, an object
    takes the place of the struct. For example, the key ``7`` becomes ``{"id": 7}``.

    Attributes:
        path: The path of the value; a path without steps is the whole key or value.
        name: For the whole key or value, the name of the field. For an inner field, the name of the new struct: with
            the path ``a`` and the name ``w``, ``{"a": 1}`` becomes ``{"w": {"a": 1}}``.
    """

    path: FieldPath
    name: str

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("renamed", self.path.text or WHOLE, self.name),)


@dataclass(frozen=True)
class MakeKey(_Effect):
    """An effect that creates a key from fields of the value. The paths ``id`` and ``customer.name`` create the key
    ``{"id": 7, "name": "Ann"}``: the last name of each path becomes a field of the key.
    """

    paths: tuple[FieldPath, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(Entry("added", path.leaf, f"value.{path}", "key") for path in self.paths)

    @property
    def reads(self) -> Parts:
        return frozenset({"value"})


@dataclass(frozen=True)
class ByPattern:
    """A change of the topic by a regular expression. If the whole topic matches the expression, the first match in the
    topic is replaced with ``replacement``.
    """

    regex: str
    replacement: str

    @property
    def entry(self) -> Entry:
        return Entry("routed", self.regex, self.replacement, "topic")

    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class ByTime:
    """A change of the topic by time. The new topic comes from a template, in which ``${topic}`` stands for the topic,
    and ``${timestamp}`` for the timestamp of the record.
    """

    topic_format: str
    timestamp_format: str

    @property
    def entry(self) -> Entry:
        return Entry("routed", self.topic_format, self.timestamp_format, "topic")

    reads: ClassVar[Parts] = frozenset({"metadata"})


@dataclass(frozen=True)
class ByHeader:
    """A change of the topic to the value of a header. If several headers have the name, the last one applies.

    Attributes:
        name: The name of the header.
        skips: True to keep the topic if the header is missing or contains no topic, False to reject the record.
    """

    name: str
    skips: bool

    @property
    def entry(self) -> Entry:
        return Entry("routed", self.name, "topic", "topic")

    reads: ClassVar[Parts] = frozenset({"headers"})


@dataclass(frozen=True)
class ByField:
    """A change of the topic to the value of a field. The value must be a string, unless ``converts`` is set. A null or
    empty field contains no topic.

    Attributes:
        path: The path of the field; without steps, the whole key or value.
        skips: True to keep the topic if the field contains no topic, False to reject the record.
        converts: True to convert numbers and booleans to strings as Java does, False to reject them.
        blank_is_none: Without a schema: True if a field with a blank string, such as ``" "``, also contains no topic.
        by_type: With a schema, for a field whose type cannot be a topic, such as an array. True: every record is
            rejected. False: if ``skips`` is set, a record in which the field is null keeps its topic; every other
            record is rejected.
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
        """The field's name in messages."""
        if self.path.steps:
            return f"the field '{self.path.text}'"
        return "the key or value"

    reads: ClassVar[Parts] = frozenset()


@dataclass(frozen=True)
class ByFieldTime:
    """A change of the topic by time. The class ``ByTime`` uses the record's timestamp. This class uses a string field
    of the value instead. Values with a schema are rejected.

    Attributes:
        topic_format, timestamp_format: The template for the topic and the format of the timestamp, as in ``ByTime``.
        names: Top-level fields. The first one that is present and not null contains the time.
        field_format: The date pattern of the field.
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
    """An effect that changes the topic of the record. Partition, offset and timestamp stay."""

    by: ByPattern | ByTime | ByHeader | ByField | ByFieldTime

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (self.by.entry,)

    @property
    def reads(self) -> Parts:
        return self.by.reads


@dataclass(frozen=True)
class Reject(_Effect):
    """An effect that removes the records for which a condition is true.

    Attributes:
        condition: The condition. With ``NullValue``, this effect removes nothing, because the transform's rule for
            nulls (``on_null``) has already dropped or rejected each null.
        side: For a transform that acts on the whole record: the part (``key`` or ``value``) whose fields the condition
            reads. Otherwise empty.
    """

    condition: Condition
    side: Literal["", "key", "value"] = ""

    @property
    def reads(self) -> Parts:
        side: Parts = frozenset({self.side} if self.side else ())
        # `value` in the reads of a condition means the side on which the stage acts, which effects do not list
        return side | (self.condition.reads - {"value"})


@dataclass(frozen=True)
class AddHeader(_Effect):
    """An effect that appends a new header. Connect parses ``text`` as the value of the header."""

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
    """An effect that removes all headers with the listed names."""

    names: tuple[str, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(Entry("dropped", name, side="headers") for name in self.names)

    @property
    def reads(self) -> Parts:
        return frozenset({"headers"})


@dataclass(frozen=True)
class KeepHeaders(_Effect):
    """An effect that removes all headers except those with the listed names."""

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
    """An effect that adds a header with the value of a field. If the transform also drops fields, it drops them after
    all copies.

    If the record has a schema, the field must exist. In a record without a schema, a missing field results in a null
    header.
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
    """An effect that sets the name or the version of the struct's schema, or both. An attribute that is None is not
    set.
    """

    name: str | None
    version: int | None

    @property
    def changes(self) -> dict[str, str | int]:
        """The attributes of the schema that change, with their new values."""
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
    """An effect that rejects keys and values without a schema, unless they are null. ``code``, ``statement`` and
    ``hint`` describe the reported problem.
    """

    code: str
    statement: str
    hint: str


@dataclass(frozen=True)
class SetTimestamp(_Effect):
    """An effect that sets the record's timestamp from a field. The field is an int64, counted in ``unit``, or a
    Timestamp, Date or Time. A record in which the field is null is rejected.

    Attributes:
        name: The name of the field, at the top level. With a schema, the field may also be an entry of a map.
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
    """An effect that joins the values of several fields into one string and adds the string as a new field. With the
    delimiter ``-``, ``{"a": 1, "b": "x"}`` gets the new field ``"1-x"``. Each value is converted to a string as in
    Java.

    If the record has a schema, the struct gets a new schema without name, version, doc and parameters. A schema that
    already has a field with the new name is rejected. Without a schema, an existing field is overwritten.

    Attributes:
        name: The name of the new field.
        names: The fields to join, at the top level, in their order.
        delimiter: The delimiter between the strings.
        missing: The string for a field that is null or missing.
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
    """An effect that sets the key or value to null.

    Attributes:
        schema: What happens to the schema. ``nullify`` removes it. ``retain`` keeps it. ``validate`` keeps it, and
            rejects a record whose schema does not allow null. ``force_optional`` makes it optional.
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
# the last one is HeaderFrom with operation=move
_FAMILIES: tuple[set[type[Effect]], ...] = ({Change}, {Insert}, {Drop, Keep, Rename}, {CopyToHeader, Drop})


def family_of(effects: Iterable[Effect]) -> set[type[Effect]]:
    """Returns the set of the classes of ``effects``, such as ``{Drop, Rename}``. ``Rebuild`` and ``NeedsSchema`` are
    left out, because they can accompany all other effects.

    Raises:
        TypeError: A transform cannot have these effects together.
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
    """Returns the effects of the class ``kind``, in their order."""
    return tuple(effect for effect in effects if isinstance(effect, kind))


def numbered(effects: tuple[Effect, ...]) -> list[tuple[int, Effect]]:
    """Returns a list of pairs: a number and an effect. The number is that of the effect's first ledger entry, counted
    from 0 within the transform.
    """
    pairs = []
    first = 0
    for effect in effects:
        pairs.append((first, effect))
        first += len(effect.entries)
    return pairs


def numbered_only(effects: tuple[Effect, ...], kind: type[_E]) -> list[tuple[int, _E]]:
    """Returns the effects of the class ``kind``, each with the number of its first ledger entry (see ``numbered``)."""
    pairs: list[tuple[int, _E]] = []
    for number, effect in numbered(effects):
        if isinstance(effect, kind):
            pairs.append((number, effect))
    return pairs
