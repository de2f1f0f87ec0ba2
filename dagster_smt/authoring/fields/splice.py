"""Deep scans for names that change values only, done in the bytes of undecoded JSON.

Decoding every level costs more than all else. Where a path ends with ``**`` and a name (or pattern), and what happens
to the value leaves names and places alone, the values are found by a regular expression and replaced in the text. That
is safe in JSON that has been parsed once: a quote that no backslash precedes opens or closes a string, and a string
that a colon follows is a key. Values that are objects or arrays, and new values that JSON text cannot tell apart (a
32-bit number), go the long way.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dagster_smt.authoring.fields.scan import Act
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.steps import Deep, Match
from dagster_smt.model.record import Record
from dagster_smt.values.java.regex import compile_java
from dagster_smt.values.json.lazy import Raw, decode, encoder, is_raw, look

_STRING = rb'[^"\\]*(?:\\.[^"\\]*)*'
_STRINGS = re.compile(rb'"(' + _STRING + rb')"\s*(:?)')
_OPENERS = (ord("{"), ord("["))
_TEXT_TYPES = frozenset({str, int, float, bool, type(None)})


class _LongWay(Exception):
    """A text whose values cannot be replaced in place."""


@dataclass(frozen=True, slots=True)
class Texts:
    """What an act makes of every text: one JSON text, and the bit it sets in ``record.touched``."""

    new: bytes
    bit: int


def splicer(path: FieldPath, act: Act, texts: Texts | None = None) -> Callable[[Any, Record], None] | None:
    """A function that applies an act to all that a path leads to, or None if the path is not of the kind.

    Args:
        path: Names, then ``**``, then a name or pattern.
        act: Replaces the value under a key; it may do nothing else.
        texts: What the act makes of texts, if it makes the same of all.
    """
    *above, deep, last = path.steps if len(path.steps) > 1 else ("", "")
    if not isinstance(deep, Deep) or not isinstance(last, str | Match) or not all(isinstance(s, str) for s in above):
        return None
    scan = _Splice(_Pattern(last) if isinstance(last, Match) else _Name(last), act, texts)

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
        if name.isprintable() and not set(name) & set('"\\/'):
            self.escape = b"\\u"
        else:
            self.escape = b"\\"
        self.values = _Values([name.encode()])

    def keys(self, node: dict[str, Any]) -> list[str]:
        """The wanted keys of an object."""
        if self.name in node:
            return [self.name]
        return []

    def find(self, data: bytes) -> "_Values | None":
        """Finds the wanted keys of a text and their values; None if there are none."""
        if b"\\" in data and self.escape in data:  # one character is found much faster than two
            raise _LongWay
        if self.needle in data:
            return self.values
        return None


class _Pattern:
    """A pattern of names; remembers what it has said of each name."""

    needle = b'"'

    def __init__(self, pattern: Match):
        self.search = compile_java(pattern.java).search
        self.known: dict[bytes, bool] = {}
        self.values: dict[frozenset[bytes], _Values] = {}

    def keys(self, node: dict[str, Any]) -> list[str]:
        return [key for key in node if self.search(key)]

    def find(self, data: bytes) -> "_Values | None":
        texts_before_colons = {text for text, colon in _STRINGS.findall(data) if colon}
        wanted = frozenset(key for key in texts_before_colons if self._wants(key))
        if not wanted:
            return None
        if wanted not in self.values:
            self.values[wanted] = _Values(wanted)
        return self.values[wanted]

    def _wants(self, key: bytes) -> bool:
        if key not in self.known:
            self.known[key] = self.search(decode(b'"' + key + b'"')) is not None
        return self.known[key]


class _Values:
    """Expressions for some keys and their values.

    ``texts`` finds keys with texts, for each way to write the colon; ``all`` finds (key with colon) (value) or (key
    with colon) () (opening bracket). A quote after a backslash ends another key.
    """

    def __init__(self, names: Iterable[bytes]):
        keys = [re.escape(name) for name in sorted(names)]
        if len(keys) == 1:  # the search then looks for the letters of the name, which is fast
            key = rb'"' + keys[0] + rb'"(?<!\\"' + keys[0] + rb'")'
        else:
            key = rb'"(?<!\\")(?:' + b"|".join(keys) + rb')"'
        self.all = re.compile(rb"(" + key + rb'\s*:\s*)(?:("' + _STRING + rb'"|[-+.\w]+)|([\[{]))')
        self.texts = [(colon, re.compile(key + colon + b'"' + _STRING + b'"')) for colon in (b":", b": ")]


class _Splice:
    """The scan of one path. ``fixed``: what keys with texts become, for each way to write the colon."""

    def __init__(self, wanted: _Name | _Pattern, act: Act, texts: Texts | None):
        self.wanted, self.act, self.texts = wanted, act, texts
        self.fixed: list[tuple[re.Pattern[bytes], bytes]] = []
        if texts is not None and isinstance(wanted, _Name):
            new = [(pattern, wanted.needle + colon + texts.new) for colon, pattern in wanted.values.texts]
            self.fixed = [(pattern, text.replace(b"\\", rb"\\")) for pattern, text in new]

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
            if values is None:
                return
            done = 0
            for pattern, text in self.fixed:
                data, count = pattern.subn(text, data)
                done += count
                if count and self.texts is not None:
                    record.touched |= self.texts.bit
                if done == data.count(self.wanted.needle):
                    parent[key] = Raw(data)
                    return
            parent[key] = Raw(values.all.sub(self._replacing(record), data))
        except _LongWay:
            self.node(look(parent, key), record)

    def _replacing(self, record: Record) -> Callable[[re.Match[bytes]], bytes]:
        act, encode = self.act, encoder.encode

        def replaced(found: re.Match[bytes]) -> bytes:
            name, text, opener = found.groups()
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
