"""Reads change data: converts a message of ``debezium-json`` or ``canal-json`` into its row and its metadata."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from dagster_smt.errors import DataError, data_error
from dagster_smt.formats.database_texts import null_or, text_reader
from dagster_smt.formats.json import Convert, misfit, reader
from dagster_smt.model.record import DropRecord
from dagster_smt.model.schema import JavaDate, Schema, Type
from dagster_smt.model.topics.change_formats import ROW
from dagster_smt.model.topics.format import Format
from dagster_smt.values.json.lazy import encoder

Message = Mapping[str, Any]
Take = Callable[[Message], Any]
_SOURCE = {"source.timestamp": "ts_ms", "source.database": "db", "source.schema": "schema"}
_NEEDED = {"c": "after", "r": "after", "u": "after", "d": "before"}
"""Maps the operation ``op`` of a Debezium message to the row that the message must contain. An update (``u``) must
contain the row ``after``.
"""
_SKIP = "let the connector skip such messages (Debezium: skipped.operations), or check the dead letter"
_IDENTITY = "let the database send the row: in PostgreSQL with ALTER TABLE … REPLICA IDENTITY FULL"
_CANAL = {"sql-type": "sqlType", "pk-names": "pkNames", "event-timestamp": "es", "ingestion-timestamp": "ts"}


def change_reader(form: Format) -> Convert:
    """Returns a function that converts a parsed message into a dictionary with the fields that ``form`` declares.

    The function raises ``DataError`` if the message does not fit ``form``, and ``DropRecord`` if it contains no row.
    """
    assert form.schema is not None
    debezium = form.kind == "debezium-json"
    fields = [(name, _field(name, child, form)) for name, child in form.schema.fields]
    payload = _debezium if debezium else _canal

    def read(data: Any) -> dict[str, Any]:
        message = payload(data)
        return {name: take(message) for name, take in fields}

    return read


def _debezium(data: Any) -> Message:
    """Returns the payload of ``data``, a Debezium message. If the message contains a schema, the payload gets an
    additional entry ``(schema)``: the schema as a JSON string. A message without a schema is its own payload.
    """
    if isinstance(data, dict) and isinstance(data.get("payload"), dict) and "schema" in data:
        schema = data["schema"]
        data = {**data["payload"], "(schema)": None if schema is None else encoder.encode(schema).decode()}
    if not isinstance(data, dict) or "op" not in data:
        raise _no_message("Debezium", "an object with 'op'")
    # ``op`` may be any JSON; a list or an object cannot be looked up in a dict
    needed = _NEEDED.get(data["op"]) if isinstance(data["op"], str) else None
    if needed is None:
        raise data_error("SMT447", "the message is not a change of a row: 'op' is not c, r, u or d", _SKIP)
    if not isinstance(data.get(needed), dict):
        hint = _IDENTITY if needed == "before" else "check the dead letter"
        raise data_error("SMT448", f"the message has no row '{needed}' the change", hint)
    return data


def _canal(data: Any) -> Message:
    if not isinstance(data, dict) or "type" not in data or "data" not in data:
        raise _no_message("Canal", "an object with 'type' and 'data'")
    rows = data["data"]
    if data.get("isDdl") is True or (isinstance(rows, list) and not rows) or (rows is None and _is_ddl(data["type"])):
        raise DropRecord  # a message without rows, which Flink also skips
    if not isinstance(rows, list) or any(type(row) is not dict for row in rows):
        raise _no_message("Canal", "an array of rows as 'data'")
    if _is_ddl(data["type"]):
        raise data_error("SMT447", "the message is not a change of a row: 'type' is not a kind of change", _SKIP)
    return data


def _is_ddl(kind: Any) -> bool:
    return kind not in ("INSERT", "UPDATE", "DELETE", "INIT-INSERT")


def _no_message(format_: str, what: str) -> DataError:
    hint = "check the dead letter; schema snapshots and heartbeats belong into separate topics"
    return data_error("SMT438", f"the text is not a message of {format_}, which is {what}", hint)


def _field(name: str, schema: Schema, form: Format) -> Take:
    take = _taker(name, form)
    if name == ROW and form.kind == "canal-json":
        convert = _lenient(schema, form, name)
    else:
        convert = _converter(schema, form, name)
    return lambda message: None if (value := take(message)) is None else convert(value)


def _taker(name: str, form: Format) -> Take:
    if form.kind == "canal-json":
        if name == ROW:
            return _only_row
        key = _CANAL.get(name, name)
        if name == "old":
            return lambda message: _first(message.get("old"))
        return lambda message: message.get(key)
    others: dict[str, Take] = {
        ROW: lambda m: m["before"] if m["op"] == "d" else m["after"],
        "schema": lambda m: m.get("(schema)"),
        "ingestion-timestamp": lambda m: m.get("ts_ms"),
        # Debezium's connector for MongoDB names a collection instead of a table
        "source.table": lambda m: _source(m).get("table", _source(m).get("collection")),
        "source.properties": lambda m: m.get("source"),
        "changed-fields": _changed,
    }
    if name in others:
        return others[name]
    if name in _SOURCE:
        key = _SOURCE[name]
        return lambda m: _source(m).get(key)
    return lambda m: m.get(name)


def _changed(message: Message) -> list[str] | None:
    """Returns the names of the fields whose value differs between the two rows of ``message``: the row before the
    change, and the row after it. Returns None if one of the rows is missing.
    """
    before, after = message.get("before"), message.get("after")
    if not isinstance(before, dict) or not isinstance(after, dict):
        return None
    # a missing field differs from a field with null
    absent = object()
    results = []
    # the order of the new row; fields that only the old row has come last
    for name in {**after, **before}:
        if before.get(name, absent) != after.get(name, absent):
            results.append(name)
    return results


def _source(message: Message) -> Message:
    source = message.get("source")
    if isinstance(source, dict):
        return source
    return {}


def _only_row(message: Message) -> Any:
    rows = message["data"]
    if len(rows) > 1:
        hint = "let Canal write one row per message: canal.instance.parser, or flatMessage of its MQ, splits rows"
        raise data_error("SMT439", f"the message has {len(rows)} rows, but a record is one row", hint)
    return _first(rows)


def _first(rows: Any) -> Any:
    if isinstance(rows, list) and rows:
        return rows[0]
    return None


def _converter(schema: Schema, form: Format, name: str) -> Convert:
    """Returns a function that converts values to the declared type ``schema``. ``name`` is the name of the field in
    messages.

    Any value can become a string, and any object a map of strings. Timestamps are numbers of milliseconds.
    """
    if schema.logical == "Timestamp":
        return lambda data: JavaDate(_whole(data, schema, name))
    if schema.type is Type.STRING:
        return _text
    if schema.type is Type.MAP and schema.values is not None and schema.values.type is Type.STRING:
        return lambda data: _texts(data, schema, name)
    return reader(schema, form, name)


def _whole(data: Any, schema: Schema, name: str) -> int:
    if type(data) is not int:
        raise misfit(schema, name)
    return data


def _texts(data: Any, schema: Schema, name: str) -> dict[str, str | None]:
    if not isinstance(data, dict):
        raise misfit(schema, name)
    results = {}
    for key, value in data.items():
        results[key] = None if value is None else _text(value)
    return results


def _text(data: Any) -> str:
    if isinstance(data, str | Decimal):
        return str(data)
    return encoder.encode(data).decode()


def _lenient(schema: Schema, form: Format, where: str) -> Convert:
    """Returns a function that converts strings to the declared type ``schema``, because Canal writes all values as
    strings. For INT32, ``"12"`` becomes 12. For a struct, the function converts each field.
    """
    if schema.type is Type.STRUCT:
        children = [(name, child, _lenient(child, form, name)) for name, child in schema.fields]

        def read(data: Any) -> Any:
            if not isinstance(data, dict):
                raise misfit(schema, where)
            return {name: null_or(data.get(name), child, name, convert) for name, child, convert in children}

        return read
    return text_reader(schema, form, where)
