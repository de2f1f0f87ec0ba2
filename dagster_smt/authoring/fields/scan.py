"""Finds the matches of a path, such as ``**.email``, in lazily decoded JSON (``values.json.lazy``): inner values stay
bytes until a stage reads them. The search decodes as little as possible.

A deep scan for a name skips JSON that does not contain the quoted name. Skipped JSON stays undecoded, and therefore
keeps all its bytes.
"""

from collections.abc import Callable, Iterable
from typing import Any

from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.steps import Deep, Every, Index, Match, OfLogical, OfType, Step
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Type
from dagster_smt.values.java.regex import compile_java
from dagster_smt.values.json.lazy import decode, is_raw, kind_at, look

Act = Callable[[Any, Any, Record], None]
"""A function that changes one value. The function gets the container of the value (a dict or list), the key or index in
the container, and the record.
"""
Trail = tuple[Any, ...]
Location = tuple[Any, Any, Trail, int]
"""The location of a match: (container, key, parent, depth).

The container is a dict or list, and the key is the key or index in it. The parent is the ``Location`` of the container,
or an empty tuple at the top. The depth is counted from the top.
"""
Find = Callable[[Any], list[Location]]
_Walk = Callable[[Any, list[Location], Trail, int], None]
_Keys = Callable[[Any], Iterable[Any]]
_OPENERS = (ord("{"), ord("["))


def finder(path: FieldPath) -> Find:
    """Returns a function that finds all matches of ``path``. The function lists outer values before inner values, and
    elements in order.
    """
    walk = _walk(path.steps)

    def find(value: Any) -> list[Location]:
        locations: list[Location] = []
        walk(value, locations, (), 0)
        return locations

    return find


def _walk(steps: tuple[Step, ...]) -> _Walk:
    head, rest = steps[0], steps[1:]
    if isinstance(head, Deep):
        return _deep(rest)
    keys = _keys(head)
    if not rest:

        def end(node: Any, locations: list[Location], trail: Trail, depth: int) -> None:
            locations += [(node, key, trail, depth) for key in keys(node)]

        return end
    below = _walk(rest)

    def step(node: Any, locations: list[Location], trail: Trail, depth: int) -> None:
        for key in keys(node):
            child = look(node, key)
            if type(child) is dict or type(child) is list:
                below(child, locations, (node, key, trail, depth), depth + 1)

    return step


def _keys(step: Step) -> _Keys:
    """Returns a function that gets a dict or list, and yields the keys or indexes in it that ``step`` matches."""
    if isinstance(step, str):
        return lambda node: (step,) if type(node) is dict and step in node else ()
    if isinstance(step, Index):
        number = step.number
        # -1 becomes the position of the last element, so that two paths to one element have equal locations
        return lambda node: (number % len(node),) if type(node) is list and -len(node) <= number < len(node) else ()
    if isinstance(step, Match):
        search = compile_java(step.java).search
        return lambda node: [k for k in node if search(k)] if type(node) is dict else ()
    if isinstance(step, Every):
        return _all_keys
    kinds = kinds_of(step)
    return lambda node: [key for key in _all_keys(node) if kind_at(node, key) in kinds]


def _all_keys(node: Any) -> Iterable[Any]:
    if type(node) is dict:
        return list(node)
    return range(len(node))


def kinds_of(step: Step) -> frozenset[str]:
    """Returns the kinds of schemaless values that ``step`` selects by type: the step for all strings gives ``string``.
    The kinds are those of ``model.runtime.kind_of``.
    """
    if isinstance(step, OfLogical):
        # without a schema, there are no values of the other logical types (`model.runtime.kind_of`)
        return frozenset({step.name.removeprefix("org.apache.kafka.connect.data.")} & {"Timestamp", "Decimal"})
    assert isinstance(step, OfType)
    return frozenset({"map"} if step.type == "struct" else {Type[step.type.upper()].value})


def _deep(rest: tuple[Step, ...]) -> _Walk:
    """Returns a function for a deep scan (``**``): it applies ``rest``, the steps after ``**``, at every level of a
    value.

    If the first of these steps is a name, the function searches undecoded JSON for the name before it decodes the JSON.
    """
    below, first = _walk(rest), rest[0]
    if isinstance(first, str):
        return _Scan(below, first, ends=len(rest) == 1).node

    def scan(node: Any, locations: list[Location], trail: Trail, depth: int) -> None:
        below(node, locations, trail, depth)
        for key in _all_keys(node):
            child = node[key]
            if is_raw(child):
                # the first byte shows the kind: only objects and arrays have values inside and are decoded
                if memoryview(child)[0] not in _OPENERS:
                    continue
                child = look(node, key)
            if type(child) is dict or type(child) is list:
                scan(child, locations, (node, key, trail, depth), depth + 1)

    return scan


def escape_of(name: str) -> bytes:
    """Returns ``\\`` or ``\\u``: the bytes that JSON must contain if it spells ``name`` with escapes.

    JSON can spell any character by its number, such as ``\\u0061`` for ``a``. Only quotes, slashes, backslashes and
    control characters also have shorter escapes, such as ``\\n``. A name without these characters needs ``\\u``.
    """
    if name and (min(name) < " " or set(name) & set('"\\/')):
        return b"\\"
    return b"\\u"


class _Scan:
    """A scan for a name at every level of a value. The attribute ``ends`` is True if the name is the last step of the
    path.

    If the JSON of an object contains the name exactly once, as a key of the object itself, and ``ends`` is True, the
    scan does not search the values inside the object.
    """

    def __init__(self, below: _Walk, name: str, ends: bool):
        self.below, self.name, self.ends = below, name, ends
        self.needle = f'"{name}"'.encode()
        self.escape = escape_of(name)

    def node(self, node: Any, locations: list[Location], trail: Trail, depth: int) -> None:
        """Scans ``node``, a decoded object or array, and adds the matches to ``locations``."""
        self.below(node, locations, trail, depth)
        for key in _all_keys(node):
            child = node[key]
            if is_raw(child):
                self.raw(node, key, locations, (node, key, trail, depth), depth + 1)
            elif type(child) is dict or type(child) is list:
                self.node(child, locations, (node, key, trail, depth), depth + 1)

    def raw(self, parent: Any, key: Any, locations: list[Location], trail: Trail, depth: int) -> None:
        """Scans the undecoded JSON at ``key`` of ``parent``. The JSON is decoded only if it may contain the name."""
        text = parent[key]
        if memoryview(text)[0] not in _OPENERS:
            return
        data = bytes(text)
        count = data.count(self.needle)
        # a search for one byte is much faster than for two, and is enough for JSON without escapes
        escaped = b"\\" in data and self.escape in data
        if not count and not escaped:
            return
        child = parent[key] = decode(text)
        if self.ends and count == 1 and not escaped and type(child) is dict and self.name in child:
            locations.append((child, self.name, trail, depth))
        else:
            self.node(child, locations, trail, depth)
