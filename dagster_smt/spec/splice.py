"""Deep scans for names that change values only, done in the bytes of undecoded JSON.

Decoding every level costs more than all else. Where a path ends with ``**`` and a name (or pattern), and what happens
to the value leaves names and places alone, the values are found by a regular expression and replaced in the text. That
is safe in JSON that has been parsed once: a quote that no backslash precedes opens or closes a string, and a string
that a colon follows is a key. Values that are objects or arrays, and new values that JSON text cannot tell apart (a
32-bit number), go the long way.
"""

import re
from collections.abc import Callable
from typing import Any

from dagster_smt.model.path import Deep, FieldPath, Match
from dagster_smt.model.record import Record
from dagster_smt.values.java_regex import compile_java
from dagster_smt.values.lazy import Raw, decode, encoder, is_raw, look

Act = Callable[[Any, Any, Record], None]
_STRING = rb'[^"\\]*(?:\\.[^"\\]*)*'
_STRINGS = re.compile(rb'"(' + _STRING + rb')"\s*(:?)')
_OPENERS, _BACKSLASH = (ord("{"), ord("[")), ord("\\")
_TEXT_TYPES = frozenset({str, int, float, bool, type(None)})


class _LongWay(Exception):
    """A text whose values cannot be replaced in place."""


def splicer(path: FieldPath, act: Act) -> Callable[[Any, Record], None] | None:
    """A function that applies an act to all that a path leads to, or None if the path is not of the kind.

    Args:
        path: Names, then ``**``, then a name or pattern.
        act: Replaces the value under a key; it may do nothing else.
    """
    *above, deep, last = path.steps if len(path.steps) > 1 else ("", "")
    if not isinstance(deep, Deep) or not isinstance(last, str | Match) or not all(isinstance(s, str) for s in above):
        return None
    scan = _Splice(_Pattern(last) if isinstance(last, Match) else _Name(last), act)

    def visit(value: Any, record: Record) -> None:
        for step in above:
            if type(value) is not dict or step not in value:
                return
            value = look(value, step)
        if type(value) is dict or type(value) is list:
            scan.node(value, record)

    return visit


class _Name:
    """A name that is looked for."""

    def __init__(self, name: str):
        self.name = name
        self.needle = f'"{name}"'.encode()
        # other spellings of the name have a backslash: the escapes of single characters, or \u
        self.escape = b"\\u" if name.isprintable() and not set(name) & set('"\\/') else b"\\"
        self.values = _values_of([name.encode()])

    def keys(self, node: dict[str, Any]) -> list[str]:
        """The wanted keys of an object."""
        return [self.name] if self.name in node else []

    def find(self, data: bytes) -> re.Pattern[bytes] | None:
        """An expression for the wanted keys of a text and their values; None if there are none."""
        if self.escape in data:
            raise _LongWay
        return self.values if self.needle in data else None


class _Pattern:
    """A pattern of names; remembers what it has said of each name."""

    def __init__(self, pattern: Match):
        self.search = compile_java(pattern.java).search
        self.known: dict[bytes, bool] = {}
        self.values: dict[frozenset[bytes], re.Pattern[bytes]] = {}

    def keys(self, node: dict[str, Any]) -> list[str]:
        return [key for key in node if self.search(key)]

    def find(self, data: bytes) -> re.Pattern[bytes] | None:
        wanted = frozenset(key for key in {s for s, colon in _STRINGS.findall(data) if colon} if self._wants(key))
        if not wanted:
            return None
        if wanted not in self.values:
            self.values[wanted] = _values_of(wanted)
        return self.values[wanted]

    def _wants(self, key: bytes) -> bool:
        if key not in self.known:
            self.known[key] = self.search(decode(b'"' + key + b'"')) is not None
        return self.known[key]


def _values_of(names: Any) -> re.Pattern[bytes]:
    """Finds keys and their values: (key with colon) (value), or (key with colon) () (opening bracket)."""
    keys = b"|".join(map(re.escape, sorted(names)))  # without a group the search looks for the letters, which is fast
    keys = keys if len(names) == 1 else b"(?:" + keys + b")"
    return re.compile(rb'("' + keys + rb'"\s*:\s*)(?:("' + _STRING + rb'"|[-+.\w]+)|([\[{]))')


class _Splice:
    """The scan of one path."""

    def __init__(self, wanted: _Name | _Pattern, act: Act):
        self.wanted, self.act = wanted, act

    def node(self, node: Any, record: Record) -> None:
        """Scan a decoded object or array, what is inside first."""
        for key in list(node) if type(node) is dict else range(len(node)):
            child = node[key]
            if is_raw(child):
                if memoryview(child)[0] in _OPENERS:
                    self._raw(node, key, record)
            elif type(child) is dict or type(child) is list:
                self.node(child, record)
        if type(node) is dict:
            for key in self.wanted.keys(node):
                self.act(node, key, record)

    def _raw(self, parent: Any, key: Any, record: Record) -> None:
        """Scan a text that nobody has looked at."""
        data = bytes(parent[key])
        try:
            values = self.wanted.find(data)
            if values is not None:
                parent[key] = Raw(values.sub(self._replacing(record), data))
        except _LongWay:
            self.node(look(parent, key), record)

    def _replacing(self, record: Record) -> Callable[[re.Match[bytes]], bytes]:
        act, encode = self.act, encoder.encode

        def replaced(found: re.Match[bytes]) -> bytes:
            name, text, opener = found.groups()
            if found.string[found.start() - 1] == _BACKSLASH:
                return found[0]  # the end of another key
            if opener is not None:
                raise _LongWay
            old = Raw(text)
            box = [old]
            act(box, 0, record)
            new = box[0]
            if new is old:
                return found[0]
            if type(new) not in _TEXT_TYPES:
                raise _LongWay
            return name + encode(new)

        return replaced
