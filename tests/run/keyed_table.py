"""A table with keys over topics of changes, as tests run it and read it, and what other writers do to it."""

import atexit
import json
import random
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import deltalake

from dagster_smt.chain import parse_chain
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources.file_writer import append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.tables.window_request import WindowRequest

KEY = Format("json_schema", parse_ddl("id INT"))
VALUE = Format("json_schema", parse_ddl("id INT, name STRING, note STRING, seq BIGINT, __deleted STRING"))
AMOUNTS = Format(
    "json_schema", parse_ddl("id INT, name STRING, note STRING, amount STRING, seq BIGINT, __deleted STRING")
)
WIDER = Format("json_schema", parse_ddl("id INT, name STRING, note STRING, seq BIGINT, __deleted STRING, more STRING"))
SINKS = {"delta": DeltaSink, "iceberg": IcebergSink}


class Keys:
    """Topics of changes, and a table with the keys' rows."""

    def __init__(self, folder: Path, session, kind="delta", chain=None, **sink):
        self.folder, self.session, self.kind = folder, session, kind
        self.topics = FileTopics(folder / "topics")
        self.sink = SINKS[kind](folder / "table", "columns", **{"mode": "upsert", **sink})
        self.chain, self.value = parse_chain(chain or []), VALUE
        self.options: dict[str, Any] = {}
        self.lines: list[str] = []
        self.by_others_elsewhere = False

    def add(self, events):
        """Append events to their partitions; they are in the order of their offsets."""
        places = {}
        for event in events:
            places.setdefault((event.topic, event.partition), []).append(event.record())
        for (topic, partition), records in places.items():
            append_records(self.topics, topic, records, partition)

    def run(self, table=None, **changes):
        pattern = {"pattern": "people.*", "key": KEY, "value": self.value, **(table or {})}
        spec = RunSpec(
            "people", self.chain, TopicTable(self.topics, **pattern), self.sink, **{**self.options, **changes}
        )
        return run(spec, self.session, self.lines.append)

    def committed(self):
        """The number of the last commit."""
        state = open_table(self.session, self.sink).state()
        return state.number if state is not None else 0

    @property
    def name(self):
        """The table's name in SQL, for other writers."""
        return open_table(self.session, self.sink).name

    def compact(self):
        """Somebody else writes the files of the table anew."""
        if self.kind == "delta":
            self.session.sql(f"OPTIMIZE {self.name}").collect()
            return
        name, options = self.name.replace("`", ""), "map('min-input-files', '2')"
        catalog, _, rest = name.partition(".")
        where = f"table => '{catalog}.`{rest}`', options => {options}"
        self.session.sql(f"CALL {catalog}.system.rewrite_data_files({where})").collect()

    def insert_by_others(self, keys, name):
        """Somebody else makes rows, which no record stands behind."""
        rows = []
        for key in keys:
            values = []
            for column in self.session.table(self.name).columns:
                values.append({"id": str(key), "name": f"'{name}'"}.get(column, "NULL"))
            rows.append(f"({', '.join(values)})")
        self._by_others("INSERT INTO", f"VALUES {', '.join(rows)}")

    def _by_others(self, words, rest):
        """Somebody else runs a statement on the table, in the session of the runs or in one elsewhere."""
        if self.kind == "iceberg" and self.by_others_elsewhere:
            self._by_other_session(f"{words} TABLE {rest}")
        else:
            self.session.sql(f"{words} {self.name} {rest}").collect()

    def _by_other_session(self, statement):
        """A session elsewhere runs a statement: what this session has cached stays as it is."""
        order = {"folder": str(self.folder), "statement": statement}
        writer = other_session()
        writer.stdin.write(json.dumps(order) + "\n")
        writer.stdin.flush()
        for line in writer.stdout:
            if line == "done\n":
                return
        raise RuntimeError("the other session has ended")

    def update_by_others(self, keys, note, rng=random):
        """Somebody else changes rows: with Spark, or with another library."""
        condition = f"id IN ({', '.join(map(str, keys))})"
        if self.kind == "delta" and rng.random() < 0.5:
            table = deltalake.DeltaTable(str(self.folder / "table"))
            table.update(predicate=condition, updates={"note": f"'{note}'"})
        else:
            self._by_others("UPDATE", f"SET note = '{note}' WHERE {condition}")

    def delete_by_others(self, keys, rng=random):
        """Somebody else removes rows: with Spark, or with another library."""
        condition = f"id IN ({', '.join(map(str, keys))})"
        if self.kind == "delta" and rng.random() < 0.5:
            deltalake.DeltaTable(str(self.folder / "table")).delete(condition)
        else:
            self._by_others("DELETE FROM", f"WHERE {condition}")

    def plain_rows(self):
        """The rows, as the fold has them."""
        rows = []
        for row in self.read():
            at = row["_source_topic"], row["_source_partition"], row["_source_offset"]
            shown = {name: row[name] for name in ("id", "name", "note")}
            rows.append({**shown, "at": at, "_deleted": row.get("_is_deleted", False)})
        return rows

    def by_key(self):
        rows = {}
        for row in self.plain_rows():
            key = row.pop("id")
            assert key not in rows, f"two rows of key {key}"
            rows[key] = row
        return rows

    def versions(self):
        versions = []
        for row in self.read():
            at = row["_source_topic"], row["_source_partition"], row["_source_offset"]
            times = {name: _millis(row[name]) for name in ("valid_from", "valid_to")}
            shown = {name: row[name] for name in ("id", "name", "note")}
            versions.append({**shown, **times, "at": at, "current": row["is_current"]})
        return sorted(versions, key=lambda row: (row["id"], row["at"]))

    def read(self):
        if self.kind == "delta":
            return deltalake.DeltaTable(str(self.folder / "table")).to_pyarrow_table().to_pylist()
        from pyiceberg.table import StaticTable

        metadata = max((self.folder / "table" / "metadata").glob("v*.metadata.json"), key=lambda p: int(p.name[1:-14]))
        return StaticTable.from_metadata(str(metadata)).scan().to_arrow().to_pylist()


@cache
def other_session():
    """A process with a Spark session of its own, for all tables with keys of this process."""
    command = [sys.executable, "-m", "tests.run.other_session"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    return process


def _millis(moment):
    return None if moment is None else round(moment.timestamp() * 1000)


def window_of(*ranges):
    return WindowRequest(explicit=Window(tuple(Range(*r) for r in ranges)), accept_gap=True)
