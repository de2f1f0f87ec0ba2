"""Compares an answer (this package's results for a case) with Kafka Connect's results (rules:
``tests/parity/README.md``, How to compare).

The comparison is strict: 1 and 1.0 differ, and so do 0.0 and -0.0, or a number and its string. Only two properties are
ignored, because Connect's JSON does not express them: the order of keys, and the spelling of a number.
"""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from dagster_smt.values.numbers import to_float32

COORDINATES = ("topic", "partition", "offset", "timestamp", "timestampType", "kind")
SIDES = ("key", "value")
_SCHEMA_TEXTS = ("name", "version", "doc", "field", "parameters")
Alike = Callable[[Any, Any], bool]
Default = Callable[[Any, Any], Any]


class _Fraction(str):
    """A JSON number with a fraction or an exponent, such as ``1.50``, as a string with its original spelling."""


def difference(case: dict[str, Any], answer: dict[str, Any]) -> str:
    """Compares ``answer``, our results for a case, with the results that ``case`` expects. Returns an empty string if
    they are equal. Otherwise returns the reason why they differ.

    A case may have several sets of correct results. The answer must equal one of these sets.
    """
    reason = _differs(case["expect"], answer)
    if reason and any(not _differs(other, answer) for other in case.get("alternatives", ())):
        return ""
    return reason


def _differs(want: dict[str, Any], got: dict[str, Any]) -> str:
    if ("configError" in want) != ("configError" in got):
        if "configError" in got:
            message = f": {got['configError']['message']}"
        else:
            message = ""
        return (
            "a configuration error was expected" if "configError" in want else "an unexpected configuration error"
        ) + message
    if "configError" in want:
        return ""
    if len(want["results"]) != len(got["results"]):
        return f"{len(got['results'])} results, expected {len(want['results'])}"
    for number, (w, g) in enumerate(zip(want["results"], got["results"], strict=True)):
        reason = result_difference(w, g)
        if reason:
            return f"record {number}: {reason}"
    return ""


def kind_of_result(result: dict[str, Any]) -> str:
    """Returns the kind of ``result``: ``record``, ``dropped`` or ``error``."""
    return next(kind for kind in ("record", "dropped", "error") if kind in result)


def result_difference(want: dict[str, Any], got: dict[str, Any]) -> str:
    """Returns the reason why our result ``got`` for one record differs from the expected result ``want``. Empty if they
    are equal.
    """
    kind = kind_of_result(want)
    if kind not in got:
        if "error" in got:
            extra = f" ({got['error']['code']} {got['error']['message']})"
        else:
            extra = ""
        return f"expected {kind}, got {kind_of_result(got)}{extra}"
    if kind == "error":
        return _error(want["error"], got["error"])
    if kind == "dropped":
        return ""
    a, b = canonical_record(want["record"]), canonical_record(got["record"])
    parts = []
    for name in a:
        if a[name] != b[name]:
            parts.append(name)
    if parts:
        return f"{', '.join(parts)} differ: {[b[n] for n in parts]}, expected {[a[n] for n in parts]}"
    return ""


def _error(want: dict[str, Any], got: dict[str, Any]) -> str:
    if want["stage"] != got["stage"]:
        return f"failed in {got['stage']}, expected {want['stage']}"
    if want["class"] != got["class"]:
        return f"the error is a {got['class'] or 'problem of ours'} ({got.get('code')}), expected {want['class']}"
    return ""


def canonical_record(record: dict[str, Any]) -> dict[str, Any]:
    """Returns ``record`` in a form that Python can compare with ``==``. Two records are the same result if these forms
    are equal.
    """
    parts: dict[str, Any] = {}
    for name in COORDINATES:
        parts[name] = _scalar(record.get(name))
    parts["key"], parts["value"] = canonical_datum(record.get("key")), canonical_datum(record.get("value"))
    headers = []
    for h in record.get("headers", ()):
        headers.append((h["key"], canonical_datum(h["value"])))
    parts["headers"] = headers
    return parts


def canonical_datum(datum: dict[str, Any] | None) -> Any:
    """Returns ``datum`` (a key, value or header of a case) in a form that Python can compare with ``==``."""
    if datum is None:
        return None
    if "schemaless" in datum:
        value = load(datum["schemaless"])
        if value is None:
            return None
        return ("schemaless", free(value))
    if "envelope" in datum:
        envelope = load(datum["envelope"])
        return ("schema", canonical_schema(envelope["schema"]), payload_of(envelope["schema"], envelope["payload"]))
    schema = datum.get("schema")
    return ("java", None if schema is None else java_schema_of(schema), canonical_java(datum.get("java")))


def java_schema_of(text: str) -> Any:
    """Parses ``text``, the JSON of a schema, into a form that Python can compare with ``==``. Each default in ``text``
    names its Java type, as in ``{"int64": 5}``.
    """
    return canonical_schema(load(text), lambda schema, default: canonical_java(default))


def load(text: str) -> Any:
    """Parses JSON. Fractions keep their spelling, and integers may have any length."""
    return json.loads(text, parse_float=_Fraction, parse_int=_whole)


def _whole(text: str) -> int | str:
    # Python's default limit for int() is 4,300 digits
    if len(text) < 4000:
        return int(text)
    return _Long(text)


class _Long(str):
    """An integer of a JSON text, as a string. It has about 4,000 digits or more, and Python limits the conversion of
    such long integers.
    """


def free(value: Any) -> Any:
    """Returns ``value``, parsed JSON without a schema, in a form that Python can compare with ``==``. In this form, 1
    and 1.0 differ, and the order of keys is ignored.
    """
    if isinstance(value, _Fraction):
        return ("double", repr(float(value)))
    if isinstance(value, dict):
        members = {}
        for k, v in value.items():
            members[k] = free(v)
        return members
    if isinstance(value, list):
        return [free(v) for v in value]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    # not isinstance, because True is an int in Python
    if type(value) in (int, _Long):
        return ("int", str(value))
    return value


def payload_of(schema: dict[str, Any] | None, value: Any) -> Any:
    """Returns the payload ``value``, whose schema is ``schema``, in a form that Python can compare with ``==``."""
    if schema is None or value is None:
        return free(value)
    kind = schema["type"]
    if kind in ("float", "double") and isinstance(value, _Fraction):
        return (kind, repr(to_float32(float(value)) if kind == "float" else float(value)))
    if kind == "array" and isinstance(value, list):
        return [payload_of(schema.get("items"), v) for v in value]
    if kind == "map" and isinstance(value, dict):
        entries = {}
        for k, v in value.items():
            entries[k] = payload_of(schema.get("values"), v)
        return entries
    if kind == "map" and isinstance(value, list):
        pairs = []
        for k, v in value:
            pairs.append((payload_of(schema.get("keys"), k), payload_of(schema.get("values"), v)))
        # by repr, because keys of different types cannot be compared
        return ("pairs", sorted(pairs, key=repr))
    if kind == "struct" and isinstance(value, dict):
        fields = {}
        for f in schema["fields"]:
            fields[f["field"]] = f
        members = {}
        for k, v in value.items():
            members[k] = payload_of(fields.get(k), v)
        return members
    if kind == "bytes" and type(value) in (int, _Fraction):
        return ("decimal", str(Decimal(value)))  # the string preserves the scale
    return free(value)


def canonical_schema(schema: dict[str, Any] | None, default: Default = payload_of) -> Any:
    """Returns ``schema`` in a form that Python can compare with ``==``. The order of struct fields matters.

    Args:
        schema: The JSON of the schema.
        default: Converts a default of the schema, also into a comparable form.
    """
    if schema is None:
        return None
    parts: dict[str, Any] = {"type": schema["type"], "optional": bool(schema.get("optional"))}
    texts = {}
    for k in _SCHEMA_TEXTS:
        # a missing entry equals null, and missing parameters equal an empty object
        if schema.get(k) not in (None, {}):
            texts[k] = _scalar(schema[k])
    parts.update(texts)
    if schema["type"] == "struct":
        parts["fields"] = [canonical_schema(f, default) for f in schema["fields"]]
    children = {}
    for k in ("items", "keys", "values"):
        if k in schema:
            children[k] = canonical_schema(schema[k], default)
    parts.update(children)
    if schema.get("default") is not None:
        parts["default"] = default(schema, schema["default"])
    return parts


def canonical_java(java: Any) -> Any:
    """Returns ``java`` in a form that Python can compare with ``==``. For example, ``{"int64": 5}`` becomes
    ``("int64", "5")``.
    """
    if not isinstance(java, dict):
        return java
    kind, value = next(iter(java.items()))
    if kind == "list":
        return (kind, [canonical_java(v) for v in value])
    if kind == "map":
        entries = []
        for k, v in value:
            entries.append((canonical_java(k), canonical_java(v)))
        return (kind, sorted(entries, key=repr))
    if kind == "struct":
        return (kind, [(name, canonical_java(v)) for name, v in value])
    if kind in ("float32", "float64"):
        number = float(value)
        return (kind, repr(to_float32(number) if kind == "float32" else number))
    return (kind, str(value))


def _is_leaf(value: Any) -> bool:
    """Returns True if ``value`` is a scalar with the name of its type, such as ``("int", "7")``. Comparable values
    contain such pairs.
    """
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], str)


def alike(want: Any, got: Any, leaf: Alike) -> bool:
    """Returns True if two values in comparable form are equal. Wherever two scalars inside them differ, the function
    ``leaf`` may treat them as equal.
    """
    if type(want) is type(got) and isinstance(want, dict):
        return want.keys() == got.keys() and all(alike(want[k], got[k], leaf) for k in want)
    if type(want) is type(got) and isinstance(want, list | tuple) and len(want) == len(got) and not _is_leaf(want):
        for w, g in zip(want, got, strict=True):
            if not alike(w, g, leaf):
                return False
        return True
    # in Python, True == 1 == 1.0
    return (type(want) is type(got) and want == got) or leaf(want, got)
