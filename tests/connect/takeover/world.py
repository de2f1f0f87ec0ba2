"""A topic, a connector and its table for tests of take-overs."""

import itertools
import json
from collections import Counter
from pathlib import Path

from dagster_smt.cli import main
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sources.file_writer import NewRecord
from tests.connect.takeover.workers import Worker, iceberg_config
from tests.kafka import Topics

JSON = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
MASK = {
    "transforms": "hide",
    "transforms.hide.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.hide.fields": "email",
}


class World:
    """A topic with two partitions, Apache's Iceberg sink, and the table ``shop.NAME``."""

    def __init__(self, root: Path, servers: str, name: str, catalog: str = "iceberg", kinds: tuple[str, ...] = ()):
        self.catalog, self.kinds = catalog, kinds
        self.root, self.servers, self.name = root, servers, name
        self.topics = Topics(KafkaTopics(servers))
        self.lake, self.defs = root / "lake", root / "defs"
        self.numbers = itertools.count()
        self.written = 0
        self.topics.make(name, partitions=2)
        self.topics.make(f"control-{name}")

    @property
    def config(self) -> dict[str, str]:
        names = (self.name, f"shop.{self.name.replace('-', '_')}", f"control-{self.name}")
        catalog = {"iceberg.catalog": self.catalog}  # Spark keeps a catalog of a name as it was first
        return {**iceberg_config(self.lake, self.servers, *names), **catalog, **JSON, **MASK}

    @property
    def table(self) -> str:
        return f"{self.catalog}.shop.{self.name.replace('-', '_')}"

    @property
    def folders(self) -> list[Path]:
        """The folders of the components that the take-over writes, one for each table."""
        return [self.defs / self.name]

    def expected_ids(self) -> dict[str, list[int]]:
        """The ids that each table must have, by the name of the table."""
        return {self.name.replace("-", "_"): list(range(self.written))}

    def produce(self, count: int) -> None:
        """Adds records, whose ids are the next numbers."""
        records = []
        for number in itertools.islice(self.numbers, count):
            value = {"id": number, "email": "a@b.c", "price": number / 4, "tags": ["x"], "at": {"x": number}}
            if number % 7 == 3:
                value["price"] = None
            if self.kinds:
                value["kind"] = self.kinds[number % len(self.kinds)]
            key = str(number).encode()
            records.append((self.name, number % 2, NewRecord(key, json.dumps(value).encode())))
        self.topics.add(records)
        self.written += count

    def snapshot_rows(self, table: str = "") -> int:
        """The rows of a table, as its metadata says, without Spark."""
        metadata = self.metadata(table)
        current = metadata.get("current-snapshot-id")
        rows = [s["summary"]["total-records"] for s in metadata.get("snapshots", []) if s["snapshot-id"] == current]
        return int(rows[0]) if rows else 0

    def metadata(self, table: str = "") -> dict:
        """The metadata of a table: the file that the folder names, or, of another catalog, the newest one."""
        folder = self.lake / "shop" / (table or self.name.replace("-", "_")) / "metadata"
        try:
            hint = folder / "version-hint.text"
            if hint.exists():
                return json.loads((folder / f"v{hint.read_text().strip()}.metadata.json").read_text())
            newest = max(folder.glob("[0-9]*.metadata.json"), default=None)
            return json.loads(newest.read_text()) if newest else {}
        except (OSError, ValueError):
            return {}

    def connect(self, worker: Worker) -> None:
        worker.create(self.name, self.config)

    def wait_for_rows(self, worker: Worker, rows: int) -> None:
        worker.until(lambda: self.snapshot_rows() >= rows)

    def command(self, command: str, url: str, *more: str) -> list[str]:
        place = ["--url", url, "--to", str(self.defs), "--bootstrap-servers", self.servers]
        return [command, self.name, *place, *more]

    def run(self, command: str, url: str, *more: str) -> int:
        return main(self.command(command, url, *more))


class TwoTables(World):
    """A connector that routes its records by ``kind``: ``a`` and ``b`` have tables, and ``c`` has none."""

    @property
    def config(self):
        route = {"iceberg.tables": "shop.of_a,shop.of_b", "iceberg.tables.route-field": "kind"}
        regex = {f"iceberg.table.shop.of_{kind}.route-regex": kind for kind in "ab"}
        return {**super().config, **route, **regex}

    @property
    def folders(self):
        return [self.folder(kind) for kind in "ab"]

    def folder(self, kind):
        return self.defs / f"{self.name}_shop_of_{kind}"

    def expected(self, kind):
        return [number for number in range(self.written) if self.kinds[number % len(self.kinds)] == kind]

    def expected_ids(self):
        return {f"of_{kind}": self.expected(kind) for kind in "ab"}


def repeated(ids) -> dict[int, int]:
    """The ids that are there more than once."""
    return {number: count for number, count in Counter(ids).items() if count > 1}
