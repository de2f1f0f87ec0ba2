"""Change events as Debezium's own tests make them (``AbstractExtractStateTest``), as texts and as schemas."""

import json

from dagster_smt.model.schema_json import schema_from_json

NAME = "dummy.Envelope"
TEXT, LONG = {"type": "string", "optional": True}, {"type": "int64", "optional": True}
ID, ROW_NAME = {"field": "id", "type": "int8"}, {"field": "name", **TEXT}
SOURCE = {"lsn": {"type": "int32"}, "ts_ms": LONG, "ts_us": LONG, "ts_ns": LONG, "db": TEXT, "table": TEXT}
STAMPS = {"ts_ms": 1588252618953, "ts_us": 1588252618953000, "ts_ns": 1588252618953000000}
FROM = {"lsn": 1234, **STAMPS, "db": "test_db", "table": "test_table"}
TRANSACTION = {"id": {"type": "string"}, "total_order": {"type": "int64"}, "data_collection_order": {"type": "int64"}}
IN_TRANSACTION = {"id": "571", "total_order": 42, "data_collection_order": 42}
AT = {"ts_ms": 1710032523000, "ts_us": 1710032523000123, "ts_ns": 1710032523000123456}
OLD, NEW = {"id": 1, "name": "myRecord"}, {"id": 1, "name": "updatedRecord"}


def struct(fields, name=None, optional=False):
    """The schema of a struct; ``fields`` by name, or a list of them."""
    items = [{"field": n, **schema} for n, schema in fields.items()] if isinstance(fields, dict) else list(fields)
    return {"type": "struct", "fields": items, "optional": optional} | ({"name": name} if name else {})


def row_schema(*fields, optional=False, name="dummy.Value"):
    return struct(fields or (ID, ROW_NAME), name, optional)


def event_schema(after=None, before=None, name=NAME, **more):
    """The schema of an event. A field of ``more`` is added, or left out if it is None."""
    after = after or row_schema(optional=True)
    fields = {"before": before or after, "after": after, "source": struct(SOURCE, "source")}
    fields |= {"op": {"type": "string"}, **dict.fromkeys(AT, LONG)}
    fields |= {"transaction": struct(TRANSACTION, "event.block", True)} | more
    return struct({n: schema for n, schema in fields.items() if schema is not None}, name)


def payload(op, before=None, after=None, transaction=None, **more):
    event = {"before": before, "after": after, "source": FROM, "op": op, **AT, "transaction": transaction}
    return {n: value for n, value in (event | more).items() if n != "none"}


def text(schema, value):
    return json.dumps({"schema": schema, "payload": value})


def event(op, before=None, after=None, transaction=None, schema=None, **more):
    """An event as an envelope of JSON."""
    schema = schema or event_schema()
    known = {field["field"] for field in schema["fields"]}
    result = payload(op, before, after, transaction, **more)
    return text(schema, {n: value for n, value in result.items() if n in known})


CREATE = event("c", None, OLD)
UPDATE = event("u", OLD, NEW, IN_TRANSACTION)
DELETE = event("d", OLD, None)
TRUNCATE = event("t")
MODEL = schema_from_json(event_schema())


def row(value, *added, **schema):
    """A row as a value of its own, with more fields in its schema."""
    return text(row_schema(ID, ROW_NAME, *added, **schema), value)


def added(name, kind="string"):
    return {"field": name, "type": kind, "optional": True}
