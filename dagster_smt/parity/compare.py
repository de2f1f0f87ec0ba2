"""Whether an answer equals what Kafka Connect did (rules: ``tests/parity/README.md``, How to compare)."""

import json
import math
import re
from decimal import Decimal
from typing import Any

from dagster_smt.values.numbers import float_text, to_float32

_COORDINATES = ("topic", "partition", "offset", "timestamp", "timestampType", "kind")
_SCHEMA_TEXTS = ("name", "version", "doc", "field", "parameters")
_JAVA_DOUBLE = re.compile(r"-?\d\.\d+(E-?\d+)?")
_CONNECT = ("org.apache.kafka.",)


class _Fraction(str):
    """A JSON number written with a fraction or an exponent."""


def difference(case: dict[str, Any], answer: dict[str, Any]) -> str:
    """Why the answer is not equal to the expectation or one of its alternatives; empty if it is."""
    reason = _differs(case["expect"], answer)
    if reason and any(not _differs(other, answer) for other in case.get("alternatives", ())):
        return ""
    return reason


def _differs(want: dict[str, Any], got: dict[str, Any]) -> str:
    if ("configError" in want) != ("configError" in got):
        said = f": {got['configError']['message']}" if "configError" in got else ""
        return (
            "a configuration error was expected" if "configError" in want else "an unexpected configuration error"
        ) + said
    if "configError" in want:
        return ""
    for number, (w, g) in enumerate(zip(want["results"], got["results"], strict=True)):
        reason = result_difference(w, g)
        if reason:
            return f"record {number}: {reason}"
    return ""


def result_difference(want: dict[str, Any], got: dict[str, Any]) -> str:
    """Why the result of one record is not equal; empty if it is."""
    kind = next(iter(want))
    if kind not in got:
        extra = f" ({got['error']['code']} {got['error']['message']})" if "error" in got else ""
        return f"expected {kind}, got {next(iter(got))}{extra}"
    if kind == "error":
        return _error(want["error"], got["error"])
    if kind == "dropped":
        return ""
    a, b = canonical_record(want["record"]), canonical_record(got["record"])
    wrong = [name for name in a if a[name] != b[name]]
    return f"{', '.join(wrong)} differ: {[b[n] for n in wrong]}, expected {[a[n] for n in wrong]}" if wrong else ""


def _error(want: dict[str, Any], got: dict[str, Any]) -> str:
    if want["stage"] != got["stage"]:
        return f"failed in {got['stage']}, expected {want['stage']}"
    if want["class"].startswith(_CONNECT) and want["class"] != got["class"]:
        return f"the error is a {got['class']}, expected {want['class']}"
    return ""


def canonical_record(record: dict[str, Any]) -> dict[str, Any]:
    """A record as comparable values."""
    found: dict[str, Any] = {name: record.get(name) for name in _COORDINATES}
    found["key"], found["value"] = canonical_datum(record.get("key")), canonical_datum(record.get("value"))
    found["headers"] = [(h["key"], canonical_datum(h["value"])) for h in record.get("headers", ())]
    return found


def canonical_datum(datum: dict[str, Any] | None) -> Any:
    """A datum as a comparable value."""
    if datum is None:
        return None
    if "schemaless" in datum:
        value = _load(datum["schemaless"])
        return None if value is None else ("schemaless", _free(value))
    if "envelope" in datum:
        envelope = _load(datum["envelope"])
        return ("schema", _schema(envelope["schema"]), _payload(envelope["schema"], envelope["payload"]))
    return ("unserialisable",)


def _load(text: str) -> Any:
    return json.loads(text, parse_float=_Fraction)


def _free(value: Any) -> Any:
    """Without a schema: 1 and 1.0 differ, the order of keys does not matter."""
    if isinstance(value, _Fraction):
        return ("double", _shortest(value))
    if isinstance(value, dict):
        return {k: _free(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_free(v) for v in value]
    if isinstance(value, str) and _JAVA_DOUBLE.fullmatch(value):
        return repr(_shortest(value))
    return ("int", value) if type(value) is int else value


def _shortest(text: str) -> float:
    """A number that Java before 19 may have printed with superfluous digits, as the shortest text has it.

    With 64 bits both texts are the same number; with 32 bits, eight or nine digits, they are not.
    """
    value = float(text)
    single = to_float32(value)
    if _digits(text) not in (8, 9) or not math.isfinite(single):
        return value
    short = float_text(single, single=True)
    return float(short) if _digits(short) < _digits(text) else value


def _digits(text: str) -> int:
    return len(Decimal(text).normalize().as_tuple().digits)


def _schema(schema: dict[str, Any] | None) -> Any:
    if schema is None:
        return None
    found = {"type": schema["type"], "optional": bool(schema.get("optional"))}
    found.update({k: schema[k] for k in _SCHEMA_TEXTS if schema.get(k) not in (None, {})})
    if schema["type"] == "struct":
        found["fields"] = [_schema(f) for f in schema["fields"]]
    found.update({k: _schema(schema[k]) for k in ("items", "keys", "values") if k in schema})
    if schema.get("default") is not None:
        found["default"] = _payload(schema, schema["default"])
    return found


def _payload(schema: dict[str, Any] | None, value: Any) -> Any:
    if schema is None or value is None:
        return _free(value)
    kind = schema["type"]
    if kind in ("float", "double") and isinstance(value, _Fraction):
        return ("double", to_float32(float(value)) if kind == "float" else float(value))
    if kind == "array":
        return [_payload(schema.get("items"), v) for v in value]
    if kind == "map" and isinstance(value, dict):
        return {k: _payload(schema.get("values"), v) for k, v in value.items()}
    if kind == "map":
        pairs = [(_payload(schema.get("keys"), k), _payload(schema.get("values"), v)) for k, v in value]
        return ("pairs", sorted(pairs, key=repr))
    if kind == "struct":
        fields = {f["field"]: f for f in schema["fields"]}
        return {k: _payload(fields.get(k), v) for k, v in value.items()}
    return ("decimal", str(Decimal(value))) if isinstance(value, _Fraction) else _free(value)
