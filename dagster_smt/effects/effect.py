"""What a transform does to a key or value, as data.

A transform says its effects once (``EffectTransform.effects``). Everything else reads them: the plan of a schema
(``on_plan``), Python functions for records without a schema (``on_values``), the ledger, and the compiled lane.

The effects of one transform are of one family: changes; drops, keeps and renames; inserts; an extraction; a wrapping;
a new key.
``Rebuild`` stands beside those of the second and third family.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

from dagster_smt.authoring.transform import Entry
from dagster_smt.effects.rule import FieldRule
from dagster_smt.model.extended_path import WHOLE
from dagster_smt.model.path import FieldPath
from dagster_smt.values.containers import NewName

Source = Literal["topic", "partition", "offset", "timestamp", "static"]
OnExisting = Literal["overwrite", "ignore", "refuse"]
NO_OFFSET = ("SMT409", "only records read from Kafka have an offset", "drop offset.field for source records")
"""The error of an inserted offset that a record does not have: code, statement, hint."""


@dataclass(frozen=True)
class Change:
    """The value at a path goes through a rule. Changes act in their order, what is below before what is above.

    Attributes:
        path: Where the value is; a path without steps is the whole key or value.
        rule: What becomes of it.
        action: What the ledger says of it, such as ``masked``.
        target: What the ledger says it becomes.
        fills: Whether, without a schema, a missing field of the top level becomes null, as in Kafka's own transforms.
    """

    path: FieldPath
    rule: FieldRule
    action: str = "changed"
    target: str = ""
    fills: bool = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What the effect may write into the ledger."""
        return (Entry(self.action, self.path.text or WHOLE, self.target),)


@dataclass(frozen=True)
class Drop:
    """A field goes. The drops of a transform act at once, before its other effects."""

    path: FieldPath

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("dropped", self.path.text),)


@dataclass(frozen=True)
class Keep:
    """Only these fields stay, with what is on the way to them. The paths mean the fields before any rename."""

    paths: tuple[FieldPath, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry("dropped", "all but " + ", ".join(path.text for path in self.paths), named=False),)


@dataclass(frozen=True)
class Rename:
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
class Rebuild:
    """With a schema the struct is a new one: required, without a default (``SchemaUtil.copySchemaBasics``)."""

    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class Insert:
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


@dataclass(frozen=True)
class Extract:
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
class Wrap:
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
class MakeKey:
    """The key becomes a struct (without a schema: an object) of fields of the value, named by their last names."""

    paths: tuple[FieldPath, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(Entry("added", path.leaf, f"value.{path}", "key") for path in self.paths)


_E = TypeVar("_E")
Effect = Change | Drop | Keep | Rename | Rebuild | Insert | Extract | Wrap | MakeKey


def family_of(effects: Iterable[Effect]) -> set[type[Effect]]:
    """Returns the kinds of the effects, but for ``Rebuild``, which stands beside others."""
    return {type(effect) for effect in effects} - {Rebuild}


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
