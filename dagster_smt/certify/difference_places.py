"""Finds the first location in which two results of the same record differ. The location includes the kinds of both
values.

Values may be personal data, so a location contains them only on request. Names of fields and schemas are always shown.
Keys of maps with a schema are treated as values.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from dagster_smt.interpret.preview import Sample
from dagster_smt.tools.parity.compare import COORDINATES, canonical_record, kind_of_result

_MOST = 200
"""The largest number of characters to show of a value."""
_MISSING = object()
_SCHEMA_PARTS = ("type", "optional", "name", "version", "doc", "parameters", "default", "keys", "items", "values")
_TYPES = {"int": "a whole number", "double": "a number with a fraction", "float": "a number with a fraction"}
_TYPES |= {"decimal": "a decimal", "bytes": "bytes", "date_ms": "a date", "list": "an array", "map": "a map"}
_TYPES |= {"struct": "a struct", "float32": "a float32", "float64": "a float64", "pairs": "a map"}
_FORMS = {"schemaless": "a value without a schema", "schema": "a value with a schema", "java": "a value beyond JSON"}


@dataclass(frozen=True)
class DifferencePlace:
    """The first location in which two results of a record differ.

    Attributes:
        record: The coordinates of the record: ``orders-0@17``.
        part: The differing part, such as ``result``, ``topic``, ``timestamp``, ``key``, ``value``, ``value schema``,
            ``headers``, ``header NAME`` or ``type of a column``.
        path: The field inside the part; empty for the whole part.
        connect: The kind of Connect's value.
        here: The kind of this package's value.
        values: Both values as strings; None unless values were requested.
    """

    record: str
    part: str
    path: str
    connect: str
    here: str
    values: tuple[str, str] | None = None

    @property
    def text(self) -> str:
        """The difference as text, such as ``value a.b: Connect has a text, here null``. The text does not name the
        record.
        """
        where = " ".join(filter(None, (self.part, self.path)))
        line = f"{where}: Connect has {self.connect}, here {self.here}"
        if self.values is not None:
            line += f" (Connect: {self.values[0]}; here: {self.values[1]})"
        return line

    def to_json(self) -> dict[str, Any]:
        """Returns the difference as JSON data."""
        data: dict[str, Any] = {"record": self.record, "part": self.part, "path": self.path}
        data |= {"connect": self.connect, "here": self.here}
        if self.values is not None:
            data["values"] = {"connect": self.values[0], "here": self.values[1]}
        return data


class _Difference(NamedTuple):
    """A pair of values that differ, with the path of the field that contains them."""

    part: str
    path: str
    want: Any
    got: Any
    connect: str = ""
    here: str = ""


def first_place(
    sample: Sample, want: Mapping[str, Any], got: Mapping[str, Any], *, values: bool = False
) -> DifferencePlace:
    """Returns the first location in which two different results of a record differ.

    Args:
        sample: The record.
        want: Connect's result.
        got: The result of this package.
        values: True to include both values.
    """
    difference = _of_results(want, got)
    connect, here = difference.connect, difference.here
    if not connect:
        connect, here = kind_of(difference.want), kind_of(difference.got)
        here = here if here != connect else "another value of this kind"
    shown = (_shown(difference.want), _shown(difference.got)) if values else None
    return DifferencePlace(sample.place, difference.part, difference.path, connect, here, shown)


def _of_results(want: Mapping[str, Any], got: Mapping[str, Any]) -> _Difference:
    kinds = kind_of_result(dict(want)), kind_of_result(dict(got))
    if kinds != ("record", "record"):
        return _Difference("result", "", want.get("error"), got.get("error"), _outcome(want), _outcome(got))
    before, after = canonical_record(want["record"]), canonical_record(got["record"])
    return next(_of_records(before, after), _Difference("result", "", None, None, "a record", "a record"))


def _outcome(result: Mapping[str, Any]) -> str:
    if "record" in result:
        return "a record"
    if "dropped" in result:
        return "a dropped record"
    error = result["error"]
    # SMT490 is the code of every exception of a class from a jar
    code = f" ({error['code']})" if error.get("code") and error["code"] != "SMT490" else ""
    return f"a failed record: {error['class'] or 'a problem without a class of Connect'}{code} in {error['stage']}"


def _of_records(want: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[_Difference]:
    for name in COORDINATES:
        if want[name] != got[name]:
            yield _of_coordinate(name, want[name], got[name])
    for side in ("key", "value"):
        yield from _of_datums(side, want[side], got[side])
    if len(want["headers"]) != len(got["headers"]):
        counts = []
        for headers in (want["headers"], got["headers"]):
            counts.append(f"{len(headers)} headers")
        yield _Difference("headers", "", len(want["headers"]), len(got["headers"]), *counts)
    for number, (one, other) in enumerate(zip(want["headers"], got["headers"], strict=False), 1):
        if one[0] != other[0]:
            yield _Difference("headers", f"name of header {number}", one[0], other[0])
        yield from _of_datums(f"header {one[0]}", one[1], other[1])


def _of_coordinate(name: str, want: Any, got: Any) -> _Difference:
    if name == "timestamp" and isinstance(want, tuple) and isinstance(got, tuple):
        apart = int(got[1]) - int(want[1])
        relation = "later" if apart > 0 else "earlier"
        return _Difference(name, "", want, got, "a timestamp", f"one {abs(apart)} ms {relation}")
    return _Difference(name, "", want, got)


def _of_datums(part: str, want: Any, got: Any) -> Iterator[_Difference]:
    if want == got:
        return
    if want is None or got is None or want[0] != got[0]:
        yield _Difference(part, "", want, got, _form(want), _form(got))
    elif want[0] == "schemaless":
        yield from _of_values(part, "", want[1], got[1])
    else:
        yield from _of_schemas(f"{part} schema", "", want[1], got[1])
        yield from _of_values(part, "", want[2], got[2])


def _form(datum: Any) -> str:
    return "null" if datum is None else _FORMS[datum[0]]


def _of_schemas(part: str, path: str, want: Any, got: Any) -> Iterator[_Difference]:
    if want == got:
        return
    if want is None or got is None:
        yield _Difference(part, path, want, got, *("no schema" if one is None else "a schema" for one in (want, got)))
        return
    for name in _SCHEMA_PARTS:
        one, other = want.get(name), got.get(name)
        # the parameters of a schema are a dict of strings, not a schema
        if isinstance(one, dict) and isinstance(other, dict) and name != "parameters":
            yield from _of_schemas(part, _below(path, f"({name})"), one, other)
        elif one != other:
            # a default is a value, and a doc is free text: both may contain personal data
            shown = name not in ("default", "doc")
            texts = []
            for value in (one, other):
                texts.append(f"{name} {_attribute(value)}" if shown else _presence(name, value))
            # defaults and docs are not part of these texts, so both texts may be the same
            if texts[0] == texts[1]:
                texts[1] = f"another {name}"
            yield _Difference(part, path, one, other, *texts)
            return
    fields = [_fields_of(schema) for schema in (want, got)]
    names = [list(one) for one in fields]
    for name in dict.fromkeys((*names[0], *names[1])):
        if name not in fields[0] or name not in fields[1]:
            kinds = [_field_or_none(name, one) for one in fields]
            yield _Difference(part, _below(path, name), name in fields[0], name in fields[1], *kinds)
            return
        yield from _of_schemas(part, _below(path, name), fields[0][name], fields[1][name])
    if names[0] != names[1]:
        yield _Difference(part, path, names[0], names[1], "fields in one order", "the same fields in another order")


def _fields_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    fields = {}
    for field in schema.get("fields", ()):
        fields[field["field"]] = field
    return fields


def _field_or_none(name: str, fields: Mapping[str, Any]) -> str:
    return "a field" if name in fields else "no field"


def _attribute(value: Any) -> str:
    if isinstance(value, tuple):
        return str(value[1])
    return str(value).lower() if isinstance(value, bool) else str(value)


def _presence(name: str, value: Any) -> str:
    return f"no {name}" if value is None else f"a {name}"


def _of_values(part: str, path: str, want: Any, got: Any) -> Iterator[_Difference]:
    """Yields each difference between the values ``want`` and ``got``, with its path. Two structs are compared field by
    field.
    """
    if want == got:
        return
    if isinstance(want, dict) and isinstance(got, dict):
        for name in (*want, *(other for other in got if other not in want)):
            yield from _of_values(part, _below(path, name), want.get(name, _MISSING), got.get(name, _MISSING))
        return
    pairs = _children(want, got)
    if pairs is None:
        yield _Difference(part, path, want, got)
        return
    for step, one, other in pairs:
        yield from _of_values(part, _below(path, step), one, other)


def _children(want: Any, got: Any) -> list[tuple[str, Any, Any]] | None:
    """Pairs the elements of two arrays, or the fields of two structs, as triples of name, Connect's value and our
    value. For example, ``[1, 2]`` and ``[1, 3]`` give ``("[0]", 1, 1)`` and ``("[1]", 2, 3)``. Returns None for all
    other values.

    The function expects structs as tuples that begin with the word ``struct``. It returns None for JSON objects, which
    ``_of_values`` compares itself.
    """
    if isinstance(want, list) and isinstance(got, list):
        both = zip_longest(want, got, fillvalue=_MISSING)
        children = []
        for n, (one, other) in enumerate(both):
            children.append((f"[{n}]", one, other))
        return children
    if not (isinstance(want, tuple) and isinstance(got, tuple) and want[0] == got[0]):
        return None
    if want[0] == "struct":
        fields = []
        for one in (want, got):
            fields.append(dict(one[1]))
        names = dict.fromkeys((*fields[0], *fields[1]))
        members = []
        for name in names:
            members.append((name, fields[0].get(name, _MISSING), fields[1].get(name, _MISSING)))
        return members
    if want[0] == "list":
        return _children(want[1], got[1])
    return None


def _below(path: str, step: str) -> str:
    if not path or step.startswith("["):
        return f"{path}{step}"
    return f"{path}.{step}"


def kind_of(value: Any) -> str:
    """Returns the kind of ``value``, such as ``an array of 3`` or ``null``, but never the value itself."""
    if value is _MISSING:
        return "no field"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, tuple):
        return _TYPES.get(str(value[0]), str(value[0]))
    return "a text" if isinstance(value, str) else "a whole number"


def _shown(value: Any) -> str:
    text = "(none)" if value is _MISSING else json.dumps(_unwrapped(value), ensure_ascii=False, default=str)
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"


def _unwrapped(value: Any) -> Any:
    # a value with its type, such as ("int", "7")
    if isinstance(value, tuple) and len(value) == 2:
        return _unwrapped(value[1])
    if isinstance(value, dict):
        members = {}
        for name, child in value.items():
            if child is not _MISSING:
                members[name] = _unwrapped(child)
        return members
    if isinstance(value, list):
        return [_unwrapped(child) for child in value]
    return value
