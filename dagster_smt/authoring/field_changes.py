"""What transforms do to fields of an object without schema, said as data.

A transform that can say all it does with these (``Transform.field_changes``) takes part in the compiled lane, which
finds the fields in the bytes and leaves the rest alone. Names are those of the top level; paths may lead below it.
What is said here is no second definition of the transform: the compiled lane gives what ``Transform.schemaless``
gives, byte for byte.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dagster_smt.model.path import FieldPath
from dagster_smt.model.record import Record

Act = Callable[[Any, Any, Record], None]
"""Changes what is in a container (dict or list) under a key or index."""


@dataclass(frozen=True)
class Change:
    """Values are replaced.

    Attributes:
        path: Where they are.
        act: Replaces the value under a key. It looks at that value alone, and at nothing of the record but
            ``touched``, where it sets its bit.
        bit: The bit.
        text: The JSON text that it makes of each text, if it makes the same of all.
        fills: Whether a missing field becomes null, where the path is one name.
        rule: Gives the function that it puts many values of a kind (``string``, ``int64``) through, if it does just
            that to each and sets its bit; None, or an error, if not.
    """

    path: FieldPath
    act: Act
    bit: int
    text: bytes | None = None
    fills: bool = False
    rule: Callable[[str], Callable[[list[Any]], list[Any]] | None] | None = None


@dataclass(frozen=True)
class Drop:
    """What a path leads to is dropped; ``bit`` is set where anything was. Where two lead to one place, the last one's.

    The drops of a stage happen at once, before anything else.
    """

    path: FieldPath
    bit: int


@dataclass(frozen=True)
class Keep:
    """All other fields are dropped; ``bit`` is set where there were any."""

    names: frozenset[str]
    bit: int


@dataclass(frozen=True)
class Rename:
    """Fields get new names, all at once: (old, new, bit)."""

    names: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class Insert:
    """A field is put at the end, or in the place of one with its name.

    Attributes:
        name: The field.
        source: ``topic``, ``partition``, ``offset``, ``timestamp`` or ``static``.
        text: The value, if it is ``static``.
        bit: Set where it is put in.
        overwrites: Whether it takes the place of one that is there.
    """

    name: str
    source: str
    text: str | None
    bit: int
    overwrites: bool = True


@dataclass(frozen=True)
class MakeKey:
    """The key becomes an object of values: for each its path; its name is the last one on it. ``bits`` are set."""

    paths: tuple[FieldPath, ...]
    bits: int


@dataclass(frozen=True)
class Extract:
    """A value takes the place of the whole object; ``bit`` is set unless it is null or missing."""

    path: FieldPath
    bit: int


FieldChange = Change | Drop | Keep | Rename | Insert | MakeKey | Extract


def speaks_for(cls: type, says: str, does: str) -> bool:
    """Whether what a method says of another holds for a class: not if a class below has another way of doing it."""
    where = {name: number for number, one in reversed(list(enumerate(cls.__mro__))) for name in vars(one)}
    return where[says] <= where[does]
