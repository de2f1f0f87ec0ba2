"""Effects of transforms as the compiled lane runs them: with functions, and with the bits of the ledger.

The compiled lane finds fields in the bytes of objects without a schema and leaves the rest alone. It gives what
``effects.on_values`` gives, byte for byte. Names are those of the top level; paths may lead below it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from dagster_smt.authoring.scan import Act
from dagster_smt.authoring.transform import Transform
from dagster_smt.effects import effect as effects
from dagster_smt.effects.code import CodeTransform
from dagster_smt.effects.on_values import act_of, many, text_of
from dagster_smt.model.path import FieldPath


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


def field_changes(transform: Transform, bits: tuple[int, ...]) -> tuple[FieldChange, ...] | None:
    """Returns what a transform does to objects; None where the compiled lane has no form for it.

    Args:
        transform: Any transform.
        bits: For each of its ledger entries the bit to set in ``record.touched``.
    """
    if isinstance(transform, CodeTransform):
        return None
    changes: list[FieldChange] = []
    renames: list[tuple[str, str, int]] = []
    for first, effect in effects.numbered(transform.effects()):
        if isinstance(effect, effects.Rebuild):
            continue
        if not _has_form(effect):
            return None
        if isinstance(effect, effects.Rename):
            renames.append((effect.path.leaf, effect.name(effect.path.leaf), bits[first]))
        else:
            changes.append(_field_change(effect, bits[first : first + len(effect.entries)]))
    # renames come last, all at once
    return (*changes, Rename(tuple(renames))) if renames else tuple(changes)


def _has_form(effect: effects.Effect) -> bool:
    """Whether the compiled lane can run an effect; drops, changes and keys may lead below the top level."""
    if isinstance(effect, effects.Change):
        return bool(effect.path.steps)
    if isinstance(effect, effects.Keep):
        return all(path.flat for path in effect.paths)
    if isinstance(effect, effects.Rename | effects.Insert):
        return effect.path.flat
    return isinstance(effect, effects.Drop | effects.MakeKey | effects.Extract)


def _field_change(effect: effects.Effect, bits: tuple[int, ...]) -> FieldChange:
    match effect:
        case effects.Change(path, rule):
            function = partial(many, rule)
            return Change(path, act_of(rule, bits[0]), bits[0], text_of(rule), effect.fills, function)
        case effects.Drop(path):
            return Drop(path, bits[0])
        case effects.Keep(paths):
            return Keep(frozenset(path.leaf for path in paths), bits[0])
        case effects.Insert(path, source, text):
            return Insert(path.leaf, source, text, bits[0], effect.existing == "overwrite")
        case effects.MakeKey(paths):
            return MakeKey(paths, sum(bits))
        case effects.Extract(path):
            return Extract(path, bits[0])
    raise AssertionError(f"no form for {effect}")
