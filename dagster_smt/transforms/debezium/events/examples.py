"""Creates change events and rows, as JSON with a schema, for the examples of Debezium's transforms."""

import json
from typing import Any

_TEXT, _NUMBER = {"type": "string", "optional": True}, {"type": "int64", "optional": True}
_FIELDS = [{"field": "id", "type": "int32"}, {"field": "name", **_TEXT}]
_NAME = "shop.public.orders"


def event(op: str, before: Any, after: Any, name: str = _NAME) -> str:
    """Returns a change event as JSON. The event changes a row with ``id`` and ``name`` in the table ``orders``, at a
    fixed time.
    """
    row = {"type": "struct", "name": f"{name}.Value", "optional": True, "fields": _FIELDS}
    source = {"type": "struct", "fields": [{"field": "ts_ms", **_NUMBER}, {"field": "table", **_TEXT}]}
    fields = [{"field": "before", **row}, {"field": "after", **row}, {"field": "source", **source}]
    schema = {"type": "struct", "name": f"{name}.Envelope", "fields": [*fields, {"field": "op", "type": "string"}]}
    payload = {"before": before, "after": after, "source": {"ts_ms": 1559033904863, "table": "orders"}, "op": op}
    return _text(schema, payload)


def row(payload: Any, name: str = f"{_NAME}.Value", **added: str) -> str:
    """Returns a row as JSON with a schema. ``added`` maps the names of additional optional fields to their types."""
    fields = _FIELDS + [{"field": field, "type": kind, "optional": True} for field, kind in added.items()]
    return _text({"type": "struct", "name": name, "fields": fields}, payload)


def outbox_event(op: str, payload: str | None) -> str:
    """Returns a change event of an outbox table as JSON. Its row is a new order with ``payload``."""
    names = ("id", "aggregatetype", "aggregateid", "type")
    fields = [{"field": name, "type": "string"} for name in names] + [{"field": "payload", **_TEXT}]
    row = {"type": "struct", "name": "shop.Value", "optional": True, "fields": fields}
    event = [{"field": "before", **row}, {"field": "after", **row}, {"field": "op", "type": "string"}]
    schema = {"type": "struct", "name": "shop.Envelope", "fields": [*event, {"field": "ts_ms", **_NUMBER}]}
    values = dict(zip(names, ("406c07f3", "Order", "1", "OrderCreated"), strict=True)) | {"payload": payload}
    if op == "d":
        images = {"before": values, "after": None}
    else:
        images = {"before": None, "after": values}
    return _text(schema, {**images, "op": op, "ts_ms": 1556890294484})


def zoned_event(created_at: str) -> str:
    """Returns a change event for a new row of the table ``customers``. The row's field ``created_at`` is a time with an
    offset, such as ``2020-01-01T10:00:00+02:00``.
    """
    time = {"type": "string", "name": "io.debezium.time.ZonedTimestamp", "version": 1, "optional": True}
    row = {"type": "struct", "optional": True, "fields": [_FIELDS[0], {"field": "created_at", **time}]}
    source = {"type": "struct", "fields": [{"field": "table", **_TEXT}]}
    fields = [{"field": "before", **row}, {"field": "after", **row}, {"field": "source", **source}]
    after = {"id": 7, "created_at": created_at}
    schema = {"type": "struct", "name": f"{_NAME}.Envelope", "fields": fields}
    return _text(schema, {"before": None, "after": after, "source": {"table": "customers"}})


def _text(schema: Any, payload: Any) -> str:
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":"))
