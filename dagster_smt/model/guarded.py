"""Symbolic records (records in a plan) of which the key, the value or both are hidden. Reading a hidden key or value
raises an error.

A transform may declare that it reads neither key nor value. It is then planned only once, for records of all schemas.
So the plan cannot describe the key and the value. ``None`` would be the wrong description, because ``None`` means that
the key or value is null in every record. If the transform reads a key or value in spite of its declaration, it must
fail.

How it works: a ``GuardedRecord`` replaces the two slots ``key`` and ``value`` of ``PlanRecord`` with properties. A
property reads the slot behind it (``_STORED``) and raises an error if the slot contains a ``_Hidden``.

Transforms change records with ``dataclasses.replace``. This function copies every field in ``__dataclass_fields__``, so
it would also read a hidden key or value. A ``GuardedRecord`` prevents this in two steps:

- Its ``__dataclass_fields__`` does not contain ``key`` and ``value``, so ``replace`` does not read them.
- Each record has its own class. The ``__init__`` of this class has the record's key and value as defaults. If
  ``replace`` is called without a key, the new record gets the key from these defaults. If ``replace`` sets a new key,
  the new record gets a new class with the new default. The same is true of the value.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from dagster_smt.errors import ClassError, PlanError, Problem
from dagster_smt.model.cell import Expr, refs_in
from dagster_smt.model.record import PlanRecord, Side

SIDES: tuple[Side, ...] = ("key", "value")
_STORED = {side: getattr(PlanRecord, side) for side in SIDES}


class _Hidden:
    """A placeholder for a hidden key or value. A record stores the placeholder instead of the node (the description of
    the key or value). The placeholder contains the error that is raised if somebody reads the key or value.
    """

    def __init__(self, error: ClassError | PlanError):
        self.error = error


def _guard(side: Side) -> Any:
    def look(record: PlanRecord) -> Any:
        node = _STORED[side].__get__(record)
        if isinstance(node, _Hidden):
            raise node.error
        return node

    # the setter is needed although records are frozen: the __init__ of a frozen dataclass sets its fields with
    # object.__setattr__, which calls the setter
    return property(look, _STORED[side].__set__)


class GuardedRecord(PlanRecord):
    """A record in a plan, with a hidden key, a hidden value, or both. Reading a hidden key or value raises an error.

    If ``dataclasses.replace`` copies the record, a hidden key stays hidden unless the call sets a new key. The same is
    true of the value.
    """

    __slots__ = ()
    # ``replace`` reads and copies these fields; the sides come from the defaults of ``__init__``
    __dataclass_fields__: ClassVar[dict[str, Any]] = {
        name: field for name, field in PlanRecord.__dataclass_fields__.items() if name not in SIDES
    }
    key = _guard("key")
    value = _guard("value")


def hidden(record: PlanRecord, errors: Mapping[Side, ClassError | PlanError]) -> PlanRecord:
    """Returns a copy of ``record`` that hides its key, its value or both. ``errors`` maps each part to hide (``key`` or
    ``value``) to the error that is raised if somebody reads this part.
    """
    if not errors:
        return record
    sides = {}
    for side in SIDES:
        sides[side] = _Hidden(errors[side]) if side in errors else getattr(record, side)
    return _guarded(sides)(**{name: getattr(record, name) for name in GuardedRecord.__dataclass_fields__})


def _guarded(sides: Mapping[Side, Any]) -> type[GuardedRecord]:
    """Returns a new subclass of ``GuardedRecord``. Its ``__init__`` has the key and the value in ``sides`` as defaults.
    ``dataclasses.replace`` relies on these defaults.
    """

    class Guarded(GuardedRecord):
        __slots__ = ()

        def __init__(self, key: Any = sides["key"], value: Any = sides["value"], **rest: Any):
            PlanRecord.__init__(self, key, value, **rest)
            # a side has been replaced: the class changes, so that the next ``replace`` starts from the new sides
            if key is not sides["key"] or value is not sides["value"]:
                # Python changes the class of an object only if both classes have the same slots, so both have an empty
                # __slots__
                object.__setattr__(self, "__class__", _guarded({"key": key, "value": value}))

    return Guarded


def revealed(after: PlanRecord, before: PlanRecord) -> PlanRecord:
    """Returns ``after``, the result of a stage, as a plain ``PlanRecord`` without hidden parts. A key that is still
    hidden in ``after`` has not been changed by the stage. The result then has the key of ``before``, the record before
    the stage. The same is true of the value.
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
    """Returns the error for a class that reads the key or the value, but does not declare that it does so. ``name`` is
    the name of the class, and ``side`` is ``key`` or ``value``.
    """
    statement = f"{name} reads the {side} of a record, but does not declare it"
    return ClassError(Problem("SMT910", "", statement, f"add '{side}' to the sides that the Code of {name} reads"))


def check_references(name: str, exprs: Iterable[Expr | bool], reads: Iterable[str]) -> None:
    """Raises an error if one of a class's expressions reads the key or the value, but the class does not declare that
    it reads this part. ``name`` is the name of the class, and ``exprs`` are its expressions. The class
    declares that it reads the parts in ``reads``, such as ``value``.
    """
    roots = set()
    for expr in exprs:
        if not isinstance(expr, bool):
            for ref in refs_in(expr):
                roots.add(ref.path[0])
    for side in SIDES:
        if side in roots and side not in reads:
            raise undeclared(name, side)
