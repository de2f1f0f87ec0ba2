"""Helps transforms of records without a schema. The values are lazily decoded JSON (``values.json.lazy``): inner values
stay bytes until a stage reads them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dagster_smt.authoring.fields.scan import Act, Location, finder
from dagster_smt.authoring.fields.splice import TextReplacement, scans_first, splicer
from dagster_smt.errors import data_error
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.steps import Deep, Index
from dagster_smt.model.record import VALUE_DIRTY, Record
from dagster_smt.model.runtime import java_class
from dagster_smt.values.json.lazy import kind_at, look

Visit = Callable[[Any, Record], None]


def require_map(value: Any, purpose: str) -> dict[str, Any]:
    """Returns ``value`` if it is an object. Otherwise raises the error of Connect's ``requireMap``, with ``purpose`` in
    the message.
    """
    if type(value) is not dict:
        statement = f"only an object can be used for [{purpose}] without a schema, but this is {java_class(value)}"
        hint = "guard the stage with a predicate, such as RecordIsTombstone with negate=true"
        raise data_error("SMT408", statement, hint)
    return value


def parent_of(value: Any, steps: Sequence[Any]) -> dict[str, Any] | None:
    """Returns the inner object of ``value`` to which the names in ``steps`` lead: for ``("a", "b")``, the object
    ``value["a"]["b"]``. Returns None if a name is missing, or if a value on the way is not an object.
    """
    for step in steps:
        if type(value) is not dict or step not in value:
            return None
        value = look(value, step)
    if type(value) is dict:
        return value
    return None


def element_of(value: Any, index: Index) -> Any:
    """Returns the element ``index`` of the array ``value``; None if the array is too short or the value is not an
    array.
    """
    if type(value) is list and -len(value) <= index.number < len(value):
        return look(value, index.number)
    return None


def value_at(value: Any, path: FieldPath) -> Any:
    """Returns the value at ``path``, which matches at most one field; None if a step has no match."""
    for step in path.steps:
        if isinstance(step, Index):
            value = element_of(value, step)
        elif type(value) is dict and isinstance(step, str) and step in value:
            value = look(value, step)
        else:
            return None
    return value


def value_visitor(
    paths: Sequence[FieldPath], acts: Sequence[Act], texts: Sequence[TextReplacement | None] = ()
) -> Visit:
    """Returns a function that applies ``acts`` to all matches of ``paths`` in a value. ``acts`` contains one function
    for each path. Such an act may only replace the matched value, so deep scans do not need to decode the JSON. They
    decode it only if they must not run before the other paths (see ``scans_first``).

    A top-level field that is missing is added with the value null, as in Connect. ``texts`` has an item for each act.
    If the act replaces all strings with the same string, the item describes this string; otherwise the item is None.
    """
    if not scans_first(paths):
        return visitor(paths, acts, fills=True)
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
    """Yields the records whose values are objects without a schema, and marks these records as changed. Calls the
    function ``other`` with every record whose value is not such an object.
    """
    for record in records:
        if type(record.value) is dict and record.value_schema is None:
            record.dirty |= VALUE_DIRTY
            yield record
        else:
            other(record)


def visitor(paths: Sequence[FieldPath], acts: Sequence[Act], fills: bool = False, once: bool = False) -> Visit:
    """Returns a function that applies ``acts`` (one for each path) to all matches of ``paths`` in a value. Inner values
    are changed before outer values.

    Args:
        paths: The paths.
        acts: A function for each path, which changes one matched value.
        fills: True to add a missing top-level field with the value null, as in Connect. Fields inside other objects are
            not added.
        once: True if only the last act applies when several paths match one value. Otherwise all acts run, in their
            order.
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
    """Returns a function that applies ``acts`` to all matches of ``paths`` in a value. ``acts`` contains one function
    for each path, and some of the paths contain patterns. All matches are collected before the first act, because acts
    change names and positions.
    """
    find, flat = collector(paths, once), tuple(path.leaf for path in paths if fills and path.flat)

    def visit(value: Any, record: Record) -> None:
        missing = [name for name in flat if name not in value]
        for number, container, key in find(value):
            acts[number](container, key, record)
        for name in missing:
            value[name] = None

    return visit


Collect = Callable[[Any], Iterable[tuple[int, Any, Any]]]
"""A function that returns a triple for each match: the number of the path, the container, and the key or index in the
container.
"""


def collector(paths: Sequence[FieldPath], once: bool = True) -> Collect:
    """Returns a function that collects all matches of ``paths``.

    Inner values come before outer values, and later elements of an array before earlier elements. With ``once``, if
    several paths match one value, only the last path applies.
    """
    if all(path.plain for path in paths):
        return _plain_collector(paths)
    finders = tuple(map(finder, paths))
    simple = len(paths) == 1 and sum(isinstance(step, Deep) for step in paths[0].steps) < 2

    def collect(value: Any) -> Iterable[tuple[int, Any, Any]]:
        if simple:  # the finder returns outer values first, so the reverse order is right
            return [(0, container, key) for container, key, _, _ in reversed(finders[0](value))]
        targets = []
        for number, find in enumerate(finders):
            for location in find(value):
                targets.append((number, location))
        # Containers are compared by `id`, because dicts and lists are not hashable.
        # With `once`, the first part of the key is True for all paths, so the entry of the last path replaces earlier
        # entries.
        distinct = {(once or number, id(place[0]), place[1]): (number, place) for number, place in targets}
        return [(number, place[0], place[1]) for number, place in sorted(distinct.values(), key=_order)]

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


def _order(target: tuple[int, Location]) -> tuple[int, int]:
    _, (_, key, _, depth) = target
    # an act on an outer value may remove inner values, and dropping an element moves the elements after it
    return -depth, -key if type(key) is int else 0


def pruner(paths: Sequence[FieldPath]) -> Callable[[dict[str, Any]], bool]:
    """Returns a function that drops fields of an object. Fields that ``paths`` match stay, and so do the objects around
    these fields. The function returns True if it dropped a field.

    In an array on the path of a match, nulls, objects and arrays stay, and all other elements are dropped. If such an
    object or array contains no match, it becomes empty.
    """
    names = frozenset(path.leaf for path in paths if path.flat)
    finders = tuple(map(finder, paths))

    def prune_flat(value: dict[str, Any]) -> bool:
        others = value.keys() - names
        for name in others:
            del value[name]
        return bool(others)

    def prune(value: dict[str, Any]) -> bool:
        locations: list[Location] = []
        for find in finders:
            locations += find(value)
        ends = {(id(container), key) for container, key, _, _ in locations}
        ways: set[tuple[int, Any]] = set()
        for _, _, trail, _ in locations:
            # every container on the way to a match stays
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
    # the loop deletes: it needs a copy of the names, and goes through an array from its end
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


def ensured_parent(value: dict[str, Any], names: Iterable[Any], create: bool) -> dict[str, Any] | None:
    """Returns the inner object of ``value`` to which ``names`` lead: for ``("a", "b")``, the object
    ``value["a"]["b"]``. With ``create``, missing objects are added on the way. Otherwise, returns None if an object is
    missing. Also returns None if a value on the way is not an object.
    """
    for name in names:
        if name not in value:
            if not create:
                return None
            value[name] = {}
        value = look(value, name)
        if type(value) is not dict:
            return None
    return value
