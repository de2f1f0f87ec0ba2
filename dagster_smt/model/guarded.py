"""Symbolic records with a side that a transform or predicate may not look at: looking raises, instead of giving None.

A transform without sides is planned once for records of all schemas, unless it says that it reads a side. ``None``
there would mean that the side is null in every record.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from dagster_smt.errors import ClassError, PlanError, Problem
from dagster_smt.model.cell import Expr, refs_in
from dagster_smt.model.record import PlanRecord, Side

SIDES: tuple[Side, ...] = ("key", "value")
_STORED = {side: getattr(PlanRecord, side) for side in SIDES}


class _Hidden:
    """Stands where a node would be."""

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
    """A record whose hidden sides raise when looked at. ``replace`` leaves them alone, or gives them a node."""

    __slots__ = ()
    # what ``replace`` copies by looking at it; the sides come from the defaults of ``__init__``
    __dataclass_fields__: ClassVar[dict[str, Any]] = {
        name: field for name, field in PlanRecord.__dataclass_fields__.items() if name not in SIDES
    }
    key = _guard("key")
    value = _guard("value")


def hidden(record: PlanRecord, errors: Mapping[Side, ClassError | PlanError]) -> PlanRecord:
    """The record with sides that raise these errors when looked at."""
    if not errors:
        return record
    sides = {}
    for side in SIDES:
        sides[side] = _Hidden(errors[side]) if side in errors else getattr(record, side)
    return _guarded(sides)(**{name: getattr(record, name) for name in GuardedRecord.__dataclass_fields__})


def _guarded(sides: Mapping[Side, Any]) -> type[GuardedRecord]:
    """The class of a record with these sides: it knows what ``replace`` has to leave alone."""

    class Guarded(GuardedRecord):
        __slots__ = ()

        def __init__(self, key: Any = sides["key"], value: Any = sides["value"], **rest: Any):
            PlanRecord.__init__(self, key, value, **rest)
            if key is not sides["key"] or value is not sides["value"]:  # the next ``replace`` starts from these
                object.__setattr__(self, "__class__", _guarded({"key": key, "value": value}))

    return Guarded


def revealed(after: PlanRecord, before: PlanRecord) -> PlanRecord:
    """The record a stage made of a ``hidden`` one; what it could not see is as it was ``before``."""
    if not isinstance(after, GuardedRecord):
        return after
    nodes = {side: _STORED[side].__get__(after) for side in SIDES}
    sides = {}
    for side, node in nodes.items():
        sides[side] = getattr(before, side) if isinstance(node, _Hidden) else node
    return PlanRecord(**sides, **{name: getattr(after, name) for name in GuardedRecord.__dataclass_fields__})


def undeclared(name: str, side: Side) -> ClassError:
    """The error of a class that looks at a side without saying so."""
    statement = f"{name} looks at the {side} of a record, but does not declare that it does"
    return ClassError(Problem("SMT910", "", statement, f"name the {side} in what the Code of {name} reads"))


def check_references(name: str, exprs: Iterable[Expr | bool], seen: Iterable[str]) -> None:
    """Refuse expressions that refer to sides whose nodes the class could not see."""
    roots = set()
    for expr in exprs:
        if not isinstance(expr, bool):
            for ref in refs_in(expr):
                roots.add(ref.path[0])
    for side in SIDES:
        if side in roots and side not in seen:
            raise undeclared(name, side)
