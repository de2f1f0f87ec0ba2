"""Change events and rows as JSON texts with their schema, for examples of the transforms that read them."""

import json
from typing import Any

_TEXT, _NUMBER = {"type": "string", "optional": True}, {"type": "int64", "optional": True}
_FIELDS = [{"field": "id", "type": "int32"}, {"field": "name", **_TEXT}]
_NAME = "shop.public.orders"


def event(op: str, before: Any, after: Any, name: str = _NAME) -> str:
    """A change of a row with ``id`` and ``name``, made by the table ``orders`` at a fixed time."""
    row = {"type": "struct", "name": f"{name}.Value", "optional": True, "fields": _FIELDS}
    source = {"type": "struct", "fields": [{"field": "ts_ms", **_NUMBER}, {"field": "table", **_TEXT}]}
    fields = [{"field": "before", **row}, {"field": "after", **row}, {"field": "source", **source}]
    schema = {"type": "struct", "name": f"{name}.Envelope", "fields": [*fields, {"field": "op", "type": "string"}]}
    payload = {"before": before, "after": after, "source": {"ts_ms": 1559033904863, "table": "orders"}, "op": op}
    return _text(schema, payload)


def row(payload: Any, name: str = f"{_NAME}.Value", **added: str) -> str:
    """A row as a value of its own, with optional fields behind it: name and type."""
    fields = _FIELDS + [{"field": field, "type": kind, "optional": True} for field, kind in added.items()]
    return _text({"type": "struct", "name": name, "fields": fields}, payload)


def _text(schema: Any, payload: Any) -> str:
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":"))
