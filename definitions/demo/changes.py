"""Shows a table with keys: change events of a database, and the table before and after them.

The rows come from the table ``inventory.products`` in Debezium's tutorial. The events look as Debezium's Postgres
connector writes them: JSON with schemas, a tombstone after each deletion, and ``__debezium_unavailable_value`` for a
large column that an update has not changed.
"""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from dagster_smt import DeltaSink, FileTopics, Format, SmtTable, SparkSessionResource, TopicTable, build_smt_asset
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from definitions.demo import demo_folder
from definitions.demo.report import grid

TOPIC = "dbserver1.inventory.products"
UNCHANGED = "__debezium_unavailable_value"
COLUMNS = ("id", "name", "description", "weight")
COUNTS = ("rows_inserted", "rows_updated", "rows_deleted", "events_superseded")
Row = tuple[int, str, str, float]


@dataclass(frozen=True)
class Change:
    """A change event of Debezium. Its kind is ``c`` (create), ``r`` (a row of the snapshot), ``u`` (update) or ``d``
    (delete). ``row`` is the row after the change.
    """

    op: str
    key: int
    row: Row | None = None

    def records(self) -> list[NewRecord]:
        """The records of the event. A deletion consists of two records, the second of which is a tombstone."""
        key = _text(_struct("Key", [_field("id", "int32")]), {"id": self.key})
        event: dict[str, Any] = {
            "before": None,
            "after": None,
            "source": _SOURCE,
            "op": self.op,
            "ts_ms": 1767225600000,
        }
        if self.row is not None:
            event["after"] = dict(zip(COLUMNS, self.row, strict=True))
        else:  # without REPLICA IDENTITY FULL, Postgres logs only the key of a deleted row
            event["before"] = {"id": self.key, "name": "", "description": None, "weight": None}
        records = [NewRecord(key, _text(_EVENT, event))]
        if self.op == "d":
            records.append(NewRecord(key, None))
        return records


SNAPSHOT = (
    Change("r", 101, (101, "scooter", "Small 2-wheel scooter", 3.14)),
    Change("r", 102, (102, "car battery", "12V car battery", 8.1)),
    Change("r", 104, (104, "hammer", "12oz carpenter's hammer", 0.75)),
    Change("r", 107, (107, "rocks", "box of assorted rocks", 5.3)),
    Change("r", 109, (109, "spare tire", "24 inch spare tire", 22.2)),
)
CHANGES = (
    Change("u", 104, (104, "hammer", "14oz carpenter's hammer", 0.75)),
    Change("u", 104, (104, "hammer", UNCHANGED, 0.875)),
    Change("u", 102, (102, "car battery", UNCHANGED, 8.4)),
    Change("d", 107),
    Change("c", 108, (108, "jacket", "water resistent black wind breaker", 0.1)),
    Change("d", 101),
    Change("c", 110, (110, "scooter", "Small 2-wheel scooter", 3.14)),
)


def _field(name: str, kind: str, *, optional: bool = False) -> dict[str, Any]:
    return {"field": name, "type": kind, "optional": optional}


def _struct(name: str, fields: Iterable[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    return {"type": "struct", "name": f"{TOPIC}.{name}", "fields": list(fields), "optional": False, **more}


def _text(schema: Mapping[str, Any], payload: Mapping[str, Any]) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}).encode()


_ROW = _struct(
    "Value",
    [
        _field("id", "int32"),
        _field("name", "string"),
        _field("description", "string", optional=True),
        _field("weight", "double", optional=True),
    ],
    optional=True,
)
_SOURCE = {"connector": "postgresql", "name": "dbserver1", "schema": "inventory", "table": "products"}
_EVENT = _struct(
    "Envelope",
    [
        {**_ROW, "field": "before"},
        {**_ROW, "field": "after"},
        {**_struct("Source", [_field(name, "string") for name in _SOURCE]), "field": "source"},
        _field("op", "string"),
        _field("ts_ms", "int64", optional=True),
    ],
)


def folder() -> Path:
    """Returns the folder of the topic and the table."""
    return demo_folder() / "cdc"


def build_products() -> dg.AssetsDefinition:
    """Returns the asset with the current row of each product."""
    unwrap = {
        "alias": "unwrap",
        "type": "io.debezium.transforms.ExtractNewRecordState",
        "options": {"delete.tombstone.handling.mode": "rewrite-with-tombstone"},
    }
    topics = TopicTable(
        FileTopics(folder() / "topics"), topics=(TOPIC,), key=Format("envelope"), value=Format("envelope")
    )
    products = SmtTable(
        key=["inventory", "products"],
        chain=[unwrap],
        table=topics,
        sink=DeltaSink(folder() / "products", "columns", mode="upsert"),
        description="One row for each product, as it is now.",
    )
    return build_smt_asset(products)


def show_changes(products: dg.AssetsDefinition, session: SparkSessionResource, instance: dg.DagsterInstance) -> bool:
    """Fills the topic with the snapshot and runs the asset. Then appends the changes and runs the asset again. Prints
    the table after each run, and returns False if a run failed.
    """
    shutil.rmtree(folder(), ignore_errors=True)
    for title, changes in (("before the changes", SNAPSHOT), ("after them", CHANGES)):
        records = []
        for change in changes:
            for record in change.records():
                records.append(record)
        append_records(FileTopics(folder() / "topics"), TOPIC, records)
        config = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}
        resources = {"spark": session}
        result = dg.materialize([products], config, instance=instance, resources=resources, raise_on_error=False)
        if not result.success:
            return False
        (event,) = result.get_asset_materialization_events()
        metadata = event.step_materialization_data.materialization.metadata
        counts = []
        for name in COUNTS:
            counts.append(f"{metadata[f'dagster_smt/{name}'].value} {name.replace('_', ' ')}")
        print(f"\n{len(records)} records of {TOPIC}: {', '.join(counts)}\n\nThe table {title}:")
        print(grid((*COLUMNS, "offset"), table_rows(session)), flush=True)
    return True


def table_rows(session: SparkSessionResource) -> Sequence[Sequence[object]]:
    """Returns the rows of the table, in the order of their keys."""
    rows = session.spark_session.read.format("delta").load(str(folder() / "products")).orderBy("id")
    return rows.select(*COLUMNS, "_source_offset").collect()
