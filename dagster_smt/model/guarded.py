"""Symbolic records with hidden sides (key or value). Reading a hidden side raises an error.

A transform that declares neither key nor value is planned once for records of all schemas. The plan has no node for a
side that the transform does not declare. ``None`` instead of a node would mean that the side is null in every record. A
transform that reads such a side would then be planned wrongly, without an error.

How it works: a ``GuardedRecord`` replaces the two slots ``key`` and ``value`` of ``PlanRecord`` with properties. A
property reads the slot behind it (``_STORED``) and raises an error if the slot contains a ``_Hidden``.

Transforms change records with ``dataclasses.replace``. This function copies every field in ``__dataclass_fields__``, so
it would also read hidden sides. A ``GuardedRecord`` prevents this in two steps:

- Its ``__dataclass_fields__`` does not contain the two sides, so ``replace`` does not read them.
- Each record has its own class, whose ``__init__`` has the sides of this record as defaults. If ``replace`` is called
  without a side, the new record gets the side from these defaults. If ``replace`` sets a new side, the new record gets
  a new class, whose defaults include the new side.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from dagster_smt.errors import ClassError, PlanError, Problem
from dagster_smt.model.cell import Expr, refs_in
from dagster_smt.model.record import PlanRecord, Side

SIDES: tuple[Side, ...] = ("key", "value")
_STORED = {side: getattr(PlanRecord, side) for side in SIDES}


class _Hidden:
    """The error for reading a hidden key or value. A record stores it in place of the node."""

    def __init__(self, error: ClassError | PlanError):
        self.error = error


def _guard(side: Side) -> Any:
    def look(record: PlanRecord) -> Any:
        node = _STORED[side].__get__(record)
        if isinstance(node, _Hidden):
            raise node.error
        return node

    return property(look, _STORED[side].__set__)


class GuardedRecord(PlanRecord):
    """A record with hidden sides (key or value). Reading a hidden side raises an error.

    A hidden side stays hidden in the result of ``replace``, unless ``replace`` sets it.
    """

    __slots__ = ()
    # ``replace`` reads and copies these fields; the sides come from the defaults of ``__init__``
    __dataclass_fields__: ClassVar[dict[str, Any]] = {
        name: field for name, field in PlanRecord.__dataclass_fields__.items() if name not in SIDES
    }
    key = _guard("key")
    value = _guard("value")


def hidden(record: PlanRecord, errors: Mapping[Side, ClassError | PlanError]) -> PlanRecord:
    """Returns ``record`` with hidden sides (key or value). The keys of ``errors`` are the hidden sides; reading one of
    them raises its error.
    """
    if not errors:
        return record
    sides = {}
    for side in SIDES:
        sides[side] = _Hidden(errors[side]) if side in errors else getattr(record, side)
    return _guarded(sides)(**{name: getattr(record, name) for name in GuardedRecord.__dataclass_fields__})


def _guarded(sides: Mapping[Side, Any]) -> type[GuardedRecord]:
    """Returns a class of records whose ``__init__`` has the key and value in ``sides`` as defaults. ``replace`` relies
    on these defaults.
    """

    class Guarded(GuardedRecord):
        __slots__ = ()

        def __init__(self, key: Any = sides["key"], value: Any = sides["value"], **rest: Any):
            PlanRecord.__init__(self, key, value, **rest)
            # a side has been replaced: the class changes, so that the next ``replace`` starts from the new sides
            if key is not sides["key"] or value is not sides["value"]:
                object.__setattr__(self, "__class__", _guarded({"key": key, "value": value}))

    return Guarded


def revealed(after: PlanRecord, before: PlanRecord) -> PlanRecord:
    """Returns ``after`` as a plain record. A stage has made ``after`` from a version of ``before`` with hidden sides
    (key or value).

    Sides that are still hidden in ``after`` are taken from ``before``.
    """
    if not isinstance(after, GuardedRecord):
        return after
    nodes = {}
    for side in SIDES:
        nodes[side] = _STORED[side].__get__(after)
    sides = {}
    for side, node in nodes.items():
        sides[side] = getattr(before, side) if isinstance(node, _Hidden) else node
    return PlanRecord(**sides, **{name: getattr(after, name) for name in GuardedRecord.__dataclass_fields__})


def undeclared(name: str, side: Side) -> ClassError:
    """Returns the error of the class ``name``, which reads the key or value ``side`` without declaring it."""
    statement = f"{name} reads the {side} of a record, but does not declare it"
    return ClassError(Problem("SMT910", "", statement, f"add '{side}' to the sides that the Code of {name} reads"))


def check_references(name: str, exprs: Iterable[Expr | bool], reads: Iterable[str]) -> None:
    """Raises an error if an expression of the class ``name`` refers to a key or value that is not in ``reads``."""
    roots = set()
    for expr in exprs:
        if not isinstance(expr, bool):
            for ref in refs_in(expr):
                roots.add(ref.path[0])
    for side in SIDES:
        if side in roots and side not in reads:
            raise undeclared(name, side)
