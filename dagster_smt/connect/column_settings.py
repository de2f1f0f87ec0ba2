"""Fits the settings of a table to its kind. The kinds are ``columns`` (a column for each field of the value) and
``records`` (Kafka's columns).
"""

from dagster_smt.connect.settings import RECORD_TIME, ExtraStage, TableSettings
from dagster_smt.model.topics.format import SELF_DESCRIBED

_INSERT = "org.apache.kafka.connect.transforms.InsertField$Value"
_NO_COLUMNS = (
    "the values have no schema, so the table has no columns: import again where brokers are reachable, or declare the "
    "columns of the values"
)
_NO_KEY = "the keys have no schema, so their fields are unknown: declare the keys' format, or name the key columns"


def fit_to_kind(settings: TableSettings, kind: str, key: str) -> None:
    """Removes settings that the table does not support.

    If ``settings.record_time`` is set, also partitions the table by the time of the records. A table of kind
    ``columns`` then gets a stage that inserts the time as a field.

    Args:
        settings: The settings, which this function changes.
        kind: ``columns`` or ``records``.
        key: The format of the keys.
    """
    if kind == "records":
        for option in settings.of_columns.pop("schema_evolution", ()):
            settings.say(option, "changed", "the table has whole records, whose fields are not columns")
        settings.sink.pop("schema_evolution", None)
        for name in list(settings.of_columns):
            settings.take_back(name, _NO_COLUMNS)
        for name in ("mode", "keys", "deletes", "delete_flag"):
            settings.sink.pop(name, None)
    elif settings.key_fields and key not in SELF_DESCRIBED:
        for name in ("mode", "keys", "deletes"):
            settings.take_back(name, _NO_KEY)
        settings.sink.pop("delete_flag", None)
    if not settings.record_time:
        return
    if kind == "records":
        settings.sink["partition_by"] = [f"{settings.record_time}(timestamp)"]
        return
    settings.stages = [*settings.stages, ExtraStage("recordTime", {"type": _INSERT, "timestamp.field": RECORD_TIME})]
    settings.sink["partition_by"] = [f"{settings.record_time}({RECORD_TIME})"]
