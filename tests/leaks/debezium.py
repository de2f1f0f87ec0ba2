"""The schemas of change events about people, as Kafka Connect's JSON converter writes them."""

from tests.run.debezium_world import LONG, TEXT, connect_struct

_ROW = {"name": TEXT, "mail": TEXT, "note": TEXT}
_SOURCE = {"lsn": LONG, "table": TEXT}
KEY_SCHEMA = connect_struct({"mail": TEXT}, "people.Key")
VALUE_SCHEMA = connect_struct(
    {
        "before": connect_struct(_ROW, "people.Value", True),
        "after": connect_struct(_ROW, "people.Value", True),
        "source": connect_struct(_SOURCE, "io.debezium.connector.postgresql.Source"),
        "op": {"type": "string"},
        "ts_ms": LONG,
    },
    "people.Envelope",
)


def connect_schema(row):
    """Returns the schema of a row of strings, numbers and objects."""
    fields = {}
    for name, value in row.items():
        if isinstance(value, dict):
            fields[name] = {"type": "struct", "optional": True, "fields": connect_schema(value)["fields"]}
        else:
            fields[name] = LONG if isinstance(value, int) else TEXT
    return connect_struct(fields, "people.Row")
