"""What transforms do to fields of an object without schema, said as data.

A transform that can say all it does with these (``Transform.field_changes``) takes part in the compiled lane, which
finds the fields in the bytes and leaves the rest alone. Names are those of the top level. What is said here is no
second definition of the transform: the compiled lane gives what ``Transform.schemaless`` gives, byte for byte.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dagster_smt.authoring.splice import Texts
from dagster_smt.model.record import Record

Act = Callable[[Any, Any, Record], None]


@dataclass(frozen=True)
class Change:
    """A value is replaced.

    Attributes:
        name: The field.
        act: Replaces the value under a key. It looks at that value alone, and at nothing of the record but
            ``touched``, where it sets its bit.
        texts: What it makes of texts, if it makes the same of all.
        fills: Whether a missing field becomes null.
    """

    name: str
    act: Act
    texts: Texts | None = None
    fills: bool = False


@dataclass(frozen=True)
class Drop:
    """A field is dropped; ``bit`` is set where it was there."""

    name: str
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


FieldChange = Change | Drop | Keep | Rename | Insert
