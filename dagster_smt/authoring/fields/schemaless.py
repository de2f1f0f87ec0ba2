"""Helpers of the transforms' schemaless forms, on lazily decoded JSON (``values.lazy``)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dagster_smt.authoring.fields.scan import Act, Found, finder
from dagster_smt.authoring.fields.splice import Texts, splicer
from dagster_smt.errors import data_error
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.steps import Deep, Index
from dagster_smt.model.record import VALUE_DIRTY, Record
from dagster_smt.model.runtime import java_class
from dagster_smt.values.json.lazy import kind_at, look

Visit = Callable[[Any, Record], None]


def require_map(value: Any, purpose: str) -> dict[str, Any]:
    """The value as an object, or Connect's ``requireMap`` error."""
    if type(value) is not dict:
        statement = f"only an object can be used for [{purpose}] without a schema, but this is {java_class(value)}"
        hint = "guard the stage with a predicate, such as RecordIsTombstone with negate=true"
        raise data_error("SMT408", statement, hint)
    return value


def parent_of(value: Any, steps: Sequence[Any]) -> dict[str, Any] | None:
    """The object at a path of names, or None where a step is missing or is no object."""
    for step in steps:
        if type(value) is not dict or step not in value:
            return None
        value = look(value, step)
    if type(value) is dict:
        return value
    return None


def element_of(value: Any, index: Index) -> Any:
    """An element of an array; None where there is none, or where the value is no array."""
    if type(value) is list and -len(value) <= index.number < len(value):
        return look(value, index.number)
    return None


def value_at(value: Any, path: FieldPath) -> Any:
    """The value at a path that leads to one field at most; None where a step is missing or leads nowhere."""
    for step in path.steps:
        if isinstance(step, Index):
            value = element_of(value, step)
        elif type(value) is dict and isinstance(step, str) and step in value:
            value = look(value, step)
        else:
            return None
    return value


def value_visitor(paths: Sequence[FieldPath], acts: Sequence[Act], texts: Sequence[Texts | None] = ()) -> Visit:
    """As ``visitor``, for acts that replace the value and do nothing else: deep scans for names stay in the bytes.

    A missing field of the top level, named by a path of one name, becomes null as in Connect. ``texts``: for each act
    what it makes of texts, if it makes the same of all.
    """
    splices, others = [], []
    for path, act, text in zip(paths, acts, texts or [None] * len(acts), strict=True):
        splice = splicer(path, act, text)
        if splice is None:
            others.append((path, act))
        else:
            splices.append(splice)
    rest = visitor([path for path, _ in others], [act for _, act in others], fills=True)
    if not splices:
        return rest

    def visit(value: Any, record: Record) -> None:
        for splice in splices:
            splice(value, record)
        rest(value, record)

    return visit


def objects(records: Iterator[Record], other: Callable[[Record], object]) -> Iterator[Record]:
    """The records whose values are objects without schema, marked as changed; what else there is goes to ``other``."""
    for record in records:
        if type(record.value) is dict and record.value_schema is None:
            record.dirty |= VALUE_DIRTY
            yield record
        else:
            other(record)


def visitor(paths: Sequence[FieldPath], acts: Sequence[Act], fills: bool = False, once: bool = False) -> Visit:
    """A function that applies each path's act to everything the path leads to, what is below before what is above.

    Args:
        paths: The paths.
        acts: For each path what to do.
        fills: Whether a missing field of the top level, named by a path of one name, becomes null as in Connect.
        once: Whether only the last act counts where several paths lead to one place; else all, in their order.
    """
    if all(path.plain for path in paths):
        deepest_first = sorted(zip(paths, acts, strict=True), key=lambda pair: -len(pair[0].steps))
        return _in_turn(tuple((path.steps[:-1], path.leaf, act) for path, act in deepest_first), fills)
    return _collected(paths, acts, fills, once)


def _in_turn(places: tuple[tuple[Sequence[Any], str, Act], ...], fills: bool) -> Visit:
    def visit_top(value: Any, record: Record) -> None:
        for leaf, act in tops:
            if leaf in value:
                act(value, leaf, record)
            elif fills:
                value[leaf] = None

    def visit(value: Any, record: Record) -> None:
        for above, leaf, act in places:
            parent = parent_of(value, above) if above else value
            if parent is not None and leaf in parent:
                act(parent, leaf, record)
            elif fills and not above:
                value[leaf] = None

    tops = tuple((leaf, act) for above, leaf, act in places if not above)
    if len(tops) == len(places):
        return visit_top
    return visit


def _collected(paths: Sequence[FieldPath], acts: Sequence[Act], fills: bool, once: bool) -> Visit:
    """Paths with patterns: all that they lead to is found first, since acts change names and places."""
    find, flat = collector(paths, once), tuple(path.leaf for path in paths if fills and path.flat)

    def visit(value: Any, record: Record) -> None:
        missing = [name for name in flat if name not in value]
        for number, container, key in find(value):
            acts[number](container, key, record)
        for name in missing:
            value[name] = None

    return visit


Collect = Callable[[Any], Iterable[tuple[int, Any, Any]]]
"""Finds (number of the path, container, key or index)."""


def collector(paths: Sequence[FieldPath], once: bool = True) -> Collect:
    """A function that finds all that paths lead to.

    What is below comes before what is above, later elements of an array before earlier ones. ``once``: where several
    paths lead to one place, only the last one counts.
    """
    if all(path.plain for path in paths):
        return _plain_collector(paths)
    finders = tuple(map(finder, paths))
    simple = len(paths) == 1 and sum(isinstance(step, Deep) for step in paths[0].steps) < 2

    def collect(value: Any) -> Iterable[tuple[int, Any, Any]]:
        if simple:  # it finds them from above, in their order
            return [(0, container, key) for container, key, _, _ in reversed(finders[0](value))]
        targets = []
        for number, find in enumerate(finders):
            for found in find(value):
                targets.append((number, found))
        distinct = {(once or number, id(found[0]), found[1]): (number, found) for number, found in targets}
        return [(number, found[0], found[1]) for number, found in sorted(distinct.values(), key=_order)]

    return collect


def _plain_collector(paths: Sequence[FieldPath]) -> Collect:
    numbered = sorted(enumerate(paths), key=lambda pair: -len(pair[1].steps))
    places = tuple((number, path.steps[:-1], path.leaf) for number, path in numbered)
    tops = tuple((number, leaf) for number, above, leaf in places if not above)

    def collect_top(value: Any) -> Iterable[tuple[int, Any, Any]]:
        results = []
        for number, leaf in tops:
            if leaf in value:
                results.append((number, value, leaf))
        return results

    def collect(value: Any) -> Iterable[tuple[int, Any, Any]]:
        targets = []
        for number, above, leaf in places:
            parent = parent_of(value, above) if above else value
            if parent is not None and leaf in parent:
                targets.append((number, parent, leaf))
        return targets

    if len(tops) == len(places):
        return collect_top
    return collect


def _order(target: tuple[int, Found]) -> tuple[int, int]:
    _, (_, key, _, depth) = target
    return -depth, -key if type(key) is int else 0


def pruner(paths: Sequence[FieldPath]) -> Callable[[dict[str, Any]], bool]:
    """A function that drops everything from an object but what paths lead to, and what is on the way there.

    It says whether anything was dropped. Arrays on the way keep their nulls, and their objects and arrays, emptied if
    need be.
    """
    names = frozenset(path.leaf for path in paths if path.flat)
    finders = tuple(map(finder, paths))

    def prune_flat(value: dict[str, Any]) -> bool:
        others = value.keys() - names
        for name in others:
            del value[name]
        return bool(others)

    def prune(value: dict[str, Any]) -> bool:
        found = []
        for find in finders:
            for one in find(value):
                found.append(one)
        ends = {(id(container), key) for container, key, _, _ in found}
        ways: set[tuple[int, Any]] = set()
        for _, _, trail, _ in found:
            while trail:
                container, key, trail, _ = trail
                ways.add((id(container), key))
        return _prune(value, ends, ways)

    if all(path.flat for path in paths):
        return prune_flat
    return prune


_EMPTIED: dict[str, Callable[[], Any]] = {"array": list, "map": dict}


def _prune(node: Any, ends: set[tuple[int, Any]], ways: set[tuple[int, Any]]) -> bool:
    dropped, me = False, id(node)
    keys = list(node) if type(node) is dict else range(len(node) - 1, -1, -1)
    for key in keys:
        if (me, key) in ends:
            continue
        if (me, key) in ways:
            dropped |= _prune(node[key], ends, ways)
        elif type(node) is list and kind_at(node, key) in _EMPTIED:
            node[key], dropped = _EMPTIED[kind_at(node, key)](), True
        elif type(node) is dict or kind_at(node, key) != "null":
            del node[key]
            dropped = True
    return dropped


def made_parent(value: dict[str, Any], names: Iterable[Any], create: bool) -> dict[str, Any] | None:
    """The object at the end of some names, made where it is missing (``create``); None if there is none."""
    for name in names:
        if name not in value:
            if not create:
                return None
            value[name] = {}
        value = look(value, name)
        if type(value) is not dict:
            return None
    return value
