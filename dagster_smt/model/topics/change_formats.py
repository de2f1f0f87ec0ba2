"""Formats of change data. Their messages contain a row, and metadata next to the row (FLIP-107).

``debezium-json`` is Debezium's envelope as JSON, with or without a schema around it. ``canal-json`` is Canal's message
about MySQL. Flink's formats of the same names have the same metadata keys. This module adds a few keys that Flink
lacks.
"""

from collections.abc import Mapping

from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.format import Format

ROW = "row"
"""The name of the field with the row, in a decoded message. The field contains the row after the change. For a
deletion, the field contains the deleted row.
"""
_TIME, _TEXT, _MAP, _STRUCT = ("Timestamp", "int64"), ("string",), ("map<string,string>",), ("struct",)
CHANGE_METADATA: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "debezium-json": {
        "schema": _TEXT,
        "ingestion-timestamp": _TIME,
        "source.timestamp": _TIME,
        "source.database": _TEXT,
        "source.schema": _TEXT,
        "source.table": _TEXT,
        "source.properties": _MAP,
        "op": _TEXT,
        "before": _STRUCT,
        "after": _STRUCT,
        "transaction": _MAP,
        "changed-fields": ("array<string>",),
    },
    "canal-json": {
        "database": _TEXT,
        "table": _TEXT,
        "type": _TEXT,
        "sql-type": ("map<string,int32>",),
        "pk-names": ("array<string>",),
        "old": _MAP,
        "es": _TIME,
        "ts": _TIME,
        "event-timestamp": _TIME,
        "ingestion-timestamp": _TIME,
    },
}
"""Maps each format to its metadata keys, and each metadata key to the types that a column for it may have."""


def is_change(form: Format) -> bool:
    """Returns True if ``form`` is a format of change data, such as ``debezium-json``. Its messages contain a row and
    metadata.
    """
    return form.kind in CHANGE_METADATA


def metadata_key(form: Format, key: str) -> str | None:
    """Returns the name that the format itself uses for the metadata key ``key``. For example, ``value.source.table``
    becomes ``source.table``. Returns None if the metadata belongs to the Kafka record, as ``offset`` does, and not to
    the message.

    ``value.source.table``, ``debezium-json.source.table`` and ``value.debezium-json.source.table`` are the same key.
    """
    if not is_change(form):
        return None
    bare = key.removeprefix("value.")
    inside = bare.removeprefix(f"{form.kind}.")
    if inside != key:
        return inside
    return None


def type_label(schema: Schema) -> str:
    """Returns the type of ``schema`` as ``CHANGE_METADATA`` spells it: ``struct``, the name of a logical type such as
    ``Timestamp``, or a label such as ``string``.
    """
    if schema.type is Type.STRUCT:
        return "struct"
    # inner types are optional, too: the label of a map is map<string,string?>
    return (schema.logical or schema.label).replace("?", "")
