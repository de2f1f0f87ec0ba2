"""Replaces values in the bytes of undecoded JSON: the values that deep scans for names find.

Decoding every level would cost more than all other work. This module avoids the decoding for a path that ends with
``**`` and a name or pattern, if the act only replaces values. A regular expression then finds the values and replaces
them in the JSON.

This is safe if a parser has already accepted the JSON: every quote that does not follow a backslash opens or closes a
string, and a string before a colon is a key. Two cases are decoded after all. The first is a value that is an object or
array. The second is a new value whose type JSON cannot express, such as a 32-bit number.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dagster_smt.authoring.fields.scan import Act, escape_of
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.steps import Deep, Index, Match, Step
from dagster_smt.model.record import Record
from dagster_smt.values.java.regex import compile_java
from dagster_smt.values.json.lazy import Raw, decode, encoder, is_raw, look

# the inside of a JSON string, in which a backslash belongs to the byte after it; each byte can match in only one way,
# so that a long string causes no backtracking
_STRING = rb'[^"\\]*(?:\\.[^"\\]*)*'
_STRINGS = re.compile(rb'"(' + _STRING + rb')"\s*(:?)')
_OPENERS = (ord("{"), ord("["))
_TEXT_TYPES = frozenset({str, int, float, bool, type(None)})


class _NeedsDecoding(Exception):
    """Raised for JSON whose values cannot be replaced without decoding."""


@dataclass(frozen=True, slots=True)
class TextReplacement:
    """A constant replacement for strings: the JSON text that an act writes, such as ``"***"``, and a bit. The act sets
    the bit in ``record.touched``, so that the change of the record is counted.
    """

    new: bytes
    bit: int


def splicer(path: FieldPath, act: Act, texts: TextReplacement | None = None) -> Callable[[Any, Record], None] | None:
    """Returns a function that applies ``act`` to all matches of ``path``, such as ``customer.**.email``. Returns None
    for a path of a different form.

    Args:
        path: Names (or none), then ``**``, then a name or pattern.
        act: A function that replaces the value of a key, and does nothing else.
        texts: The replacement of strings, if the act replaces all strings with the same string.
    """
    if not _is_scan(path):
        return None
    *above, _, last = path.steps
    assert isinstance(last, str | Match)
    scan = _Splice(_Pattern(last) if isinstance(last, Match) else _Name(last), act, texts)

    def visit(value: Any, record: Record) -> None:
        for step in above:
            if type(value) is not dict or step not in value:
                return
            value = look(value, step)
        if type(value) is dict or type(value) is list:
            scan.node(value, record)

    return visit


def scans_first(paths: Iterable[FieldPath]) -> bool:
    """Returns True if the acts of all scans for names (see ``splicer``) may run before the acts of the other paths in
    ``paths``, whatever their order.

    This is not so if another path may match a value that a scan also matches, or a value inside it: the acts on one
    value run in the order of the paths, and inner values change before outer values.
    """
    scans: list[Step] = []
    others: list[Step] = []
    for path in paths:
        if _is_scan(path):
            scans.append(path.steps[-1])
        else:
            others.extend(path.steps)
    return not any(_may_meet(scan, step) for scan in scans for step in others)


def _may_meet(scan: Step, step: Step) -> bool:
    if isinstance(step, Index):
        return False  # a scan matches only values that have a name
    if isinstance(step, str) and isinstance(scan, Match):
        return compile_java(scan.java).search(step) is not None
    return not isinstance(step, str) or step == scan


def _is_scan(path: FieldPath) -> bool:
    # a path of one step cannot have a `**`: with the two empty strings, the check below rejects it
    *above, deep, last = path.steps if len(path.steps) > 1 else ("", "")
    return isinstance(deep, Deep) and isinstance(last, str | Match) and all(isinstance(s, str) for s in above)


class _Name:
    """A plain name that a scan of JSON looks for. A scan replaces the values of keys with this name."""

    def __init__(self, name: str):
        self.name = name
        self.needle = f'"{name}"'.encode()
        self.escape = escape_of(name)
        self.values = _Values([name.encode()])

    def keys(self, node: dict[str, Any]) -> list[str]:
        """Returns the keys of ``node`` that are equal to the name."""
        if self.name in node:
            return [self.name]
        return []

    def find(self, data: bytes) -> "_Values | None":
        """Returns the regular expressions for the name's values in ``data``; None if the JSON does not contain the
        name.
        """
        if b"\\" in data and self.escape in data:  # a search for one character is much faster than for two
            raise _NeedsDecoding
        if self.needle in data:
            return self.values
        return None


class _Pattern:
    """A pattern of names that a scan looks for, with a cache of the result for each name."""

    needle = b'"'

    def __init__(self, pattern: Match):
        self.search = compile_java(pattern.java).search
        self.known: dict[bytes, bool] = {}
        self.values: dict[frozenset[bytes], _Values] = {}

    def keys(self, node: dict[str, Any]) -> list[str]:
        return [key for key in node if self.search(key)]

    def find(self, data: bytes) -> "_Values | None":
        texts_before_colons = set()
        for text, colon in _STRINGS.findall(data):
            if colon:
                texts_before_colons.add(text)
        keys = frozenset(key for key in texts_before_colons if self._wants(key))
        if not keys:
            return None
        if keys not in self.values:
            self.values[keys] = _Values(keys)
        return self.values[keys]

    def _wants(self, key: bytes) -> bool:
        if key not in self.known:
            self.known[key] = self.search(decode(b'"' + key + b'"')) is not None
        return self.known[key]


class _Values:
    """The regular expressions that match some keys in JSON, together with their values.

    ``texts`` matches a key with a string as its value: one expression is for ``"a":"x"``, the other for ``"a": "x"``.
    ``all`` matches a key with any value, and has three groups: the key with the colon; the value, if it is a scalar;
    the opening bracket, if the value is an array or object. No match starts at a quote after a backslash, because such
    a quote is inside a string.
    """

    def __init__(self, names: Iterable[bytes]):
        keys = [re.escape(name) for name in sorted(names)]
        if len(keys) == 1:  # the search then compares the letters of the name first, which is fast
            key = rb'"' + keys[0] + rb'"(?<!\\"' + keys[0] + rb'")'
        else:
            key = rb'"(?<!\\")(?:' + b"|".join(keys) + rb')"'
        self.all = re.compile(rb"(" + key + rb'\s*:\s*)(?:("' + _STRING + rb'"|[-+.\w]+)|([\[{]))')
        patterns = []
        for colon in (b":", b": "):
            patterns.append((colon, re.compile(key + colon + b'"' + _STRING + b'"')))
        self.texts = patterns


class _Splice:
    """Scans JSON for the matches of one path, and replaces their values.

    If the path ends with a plain name, and every string gets the same new text, ``fixed`` contains pairs: a regular
    expression that matches a key with its string, such as ``"email":"a@b.c"``, and the JSON text that replaces the
    match. Otherwise, ``fixed`` is empty.
    """

    def __init__(self, target: _Name | _Pattern, act: Act, texts: TextReplacement | None):
        self.target, self.act, self.texts = target, act, texts
        self.fixed: list[tuple[re.Pattern[bytes], bytes]] = []
        if texts is not None and isinstance(target, _Name):
            new = []
            for colon, pattern in target.values.texts:
                new.append((pattern, target.needle + colon + texts.new))
            # `subn` would read a backslash in a replacement as an escape
            self.fixed = [(pattern, text.replace(b"\\", rb"\\")) for pattern, text in new]

    def node(self, node: Any, record: Record) -> None:
        """Scans ``node``, a decoded object or array, inner values first, and replaces the matches."""
        for key in list(node) if type(node) is dict else range(len(node)):
            child = node[key]
            if is_raw(child):
                if memoryview(child)[0] in _OPENERS:
                    self._raw(node, key, record)
            elif type(child) is dict or type(child) is list:
                self.node(child, record)
        if type(node) is dict:
            for key in self.target.keys(node):
                self.act(node, key, record)

    def _raw(self, parent: Any, key: Any, record: Record) -> None:
        """Scans the undecoded JSON at ``key`` of ``parent``, and replaces matches in its bytes if possible."""
        data = bytes(parent[key])
        try:
            values = self.target.find(data)
            if values is None:
                return
            done = 0
            for pattern, text in self.fixed:
                data, count = pattern.subn(text, data)
                done += count
                if count and self.texts is not None:
                    record.touched |= self.texts.bit
                # every occurrence of the name was a key with a string; otherwise there may be keys with other values
                # or spaces, which `all` matches as well
                if done == data.count(self.target.needle):
                    parent[key] = Raw(data)
                    return
            parent[key] = Raw(values.all.sub(self._replacing(record), data))
        except _NeedsDecoding:
            self.node(look(parent, key), record)

    def _replacing(self, record: Record) -> Callable[[re.Match[bytes]], bytes]:
        act, encode = self.act, encoder.encode

        def replaced(match: re.Match[bytes]) -> bytes:
            name, text, opener = match.groups()
            if opener is not None:
                raise _NeedsDecoding
            old = Raw(text)
            # an act changes the value under a key of a container
            box = [old]
            act(box, 0, record)
            new = box[0]
            if new is old:
                return match[0]
            if type(new) not in _TEXT_TYPES:
                raise _NeedsDecoding
            return name + encode(new)

        return replaced
