"""Finding what an extended path leads to in lazily decoded JSON (``values.lazy``), decoding no more than it must.

A deep scan for a name skips texts in which the quoted name does not occur: they stay undecoded, and so byte for byte.
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
"""Changes what is in a container (dict or list) under a key or index."""
Trail = tuple[Any, ...]
Found = tuple[Any, Any, Trail, int]
"""What a path leads to: its container (dict or list), its key or index there, the ``Found`` of the container (an empty
tuple for the top), and how many levels it is below the top."""
Find = Callable[[Any], list[Found]]
_Walk = Callable[[Any, list[Found], Trail, int], None]
_Keys = Callable[[Any], Iterable[Any]]
_OPENERS = (ord("{"), ord("["))


def finder(path: FieldPath) -> Find:
    """A function that finds everything a path leads to: what is above before what is below, elements in their order."""
    walk = _walk(path.steps)

    def find(value: Any) -> list[Found]:
        found: list[Found] = []
        walk(value, found, (), 0)
        return found

    return find


def _walk(steps: tuple[Step, ...]) -> _Walk:
    head, rest = steps[0], steps[1:]
    if isinstance(head, Deep):
        return _deep(rest)
    keys = _keys(head)
    if not rest:

        def end(node: Any, found: list[Found], trail: Trail, depth: int) -> None:
            found += [(node, key, trail, depth) for key in keys(node)]

        return end
    below = _walk(rest)

    def step(node: Any, found: list[Found], trail: Trail, depth: int) -> None:
        for key in keys(node):
            child = look(node, key)
            if type(child) is dict or type(child) is list:
                below(child, found, (node, key, trail, depth), depth + 1)

    return step


def _keys(step: Step) -> _Keys:
    """The keys or indexes of a container that one step reaches."""
    if isinstance(step, str):
        return lambda node: (step,) if type(node) is dict and step in node else ()
    if isinstance(step, Index):
        number = step.number
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
    """Kinds of schemaless values (``model.runtime.kind_of``) that a selection by type means."""
    if isinstance(step, OfLogical):
        return frozenset({step.name.removeprefix("org.apache.kafka.connect.data.")} & {"Timestamp", "Decimal"})
    assert isinstance(step, OfType)
    return frozenset({"map"} if step.type == "struct" else {Type[step.type.upper()].value})


def _deep(rest: tuple[Step, ...]) -> _Walk:
    """The rest of the path at every level. A name is looked for in the bytes before anything is decoded."""
    below, first = _walk(rest), rest[0]
    if isinstance(first, str):
        return _Scan(below, first, ends=len(rest) == 1).node

    def scan(node: Any, found: list[Found], trail: Trail, depth: int) -> None:
        below(node, found, trail, depth)
        for key in _all_keys(node):
            child = node[key]
            if is_raw(child):
                if memoryview(child)[0] not in _OPENERS:
                    continue
                child = look(node, key)
            if type(child) is dict or type(child) is list:
                scan(child, found, (node, key, trail, depth), depth + 1)

    return scan


class _Scan:
    """A deep scan for a name.

    ``ends``: nothing follows the name. An object in whose text the name occurs once, as one of its own keys, then has
    no other match inside.
    """

    def __init__(self, below: _Walk, name: str, ends: bool):
        self.below, self.name, self.ends = below, name, ends
        self.needle = f'"{name}"'.encode()
        # other spellings of the name have a backslash: the escapes of single characters, or \u
        if name.isprintable() and not set(name) & set('"\\/'):
            self.escape = b"\\u"
        else:
            self.escape = b"\\"

    def node(self, node: Any, found: list[Found], trail: Trail, depth: int) -> None:
        """Scan a decoded object or array."""
        self.below(node, found, trail, depth)
        for key in _all_keys(node):
            child = node[key]
            if is_raw(child):
                self.raw(node, key, found, (node, key, trail, depth), depth + 1)
            elif type(child) is dict or type(child) is list:
                self.node(child, found, (node, key, trail, depth), depth + 1)

    def raw(self, parent: Any, key: Any, found: list[Found], trail: Trail, depth: int) -> None:
        """Scan a text that nobody has looked at; it is decoded only if the name may be in it."""
        text = parent[key]
        if memoryview(text)[0] not in _OPENERS:
            return
        data = bytes(text)
        count = data.count(self.needle)
        escaped = b"\\" in data and self.escape in data
        if not count and not escaped:
            return
        child = parent[key] = decode(text)
        if self.ends and count == 1 and not escaped and type(child) is dict and self.name in child:
            found.append((child, self.name, trail, depth))
        else:
            self.node(child, found, trail, depth)
