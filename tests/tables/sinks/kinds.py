"""The kinds of sinks that the conformance suite runs over: how to make one, read it back, and what its upkeep does.

Another sink is one more class here with one more line in ``KINDS``.
"""

import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.model.windows.window import Range
from dagster_smt.spark.outcome_columns import RECORD_DDL
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, IcebergSink, KafkaSink, Sink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.iceberg import IcebergTable
from dagster_smt.tables.sinks.protocol import Replaced, Table
from tests import kafka

NOTHING = Replaced()
SOURCE = [
    StructField("_source_topic", StringType()),
    StructField("_source_partition", IntegerType()),
    StructField("_source_offset", LongType()),
]


def state(number: int, attempt: str = "") -> TableState:
    """The state of a commit."""
    held = offsets_of([Range("t", 0, 0, number)])
    result = TableState(number, attempt or f"attempt{number}", "columns", held=held)
    return replace(result, identities={"t": "url: it's $x"})


def offsets(*ranges: Range) -> Replaced:
    """The rows of some offsets."""
    return Replaced(offsets=offsets_of(ranges))


@dataclass
class Kind:
    """A sink below a folder, or in a catalog."""

    spark: Any
    folder: Path
    columns: ClassVar[bool] = True
    """Whether it has columns, which runs add and widen; else it holds records."""
    exact: ClassVar[bool] = True
    """Whether a commit that is refused leaves nothing behind."""

    @property
    def spec(self) -> Sink:
        raise NotImplementedError

    def read_from(self, *topics: str) -> None:
        """Make topics that rows come from."""

    def open(self) -> Table:
        return open_table(self.spark, self.spec)

    def rows(self, *numbers: int, topic: str = "t", partition: int = 0) -> DataFrame:
        """Rows whose column n is their offset."""
        schema = StructType([*SOURCE, StructField("n", IntegerType())])
        return self.spark.createDataFrame([(topic, partition, n, n) for n in numbers], schema).coalesce(1)

    def held(self) -> list[int]:
        """The numbers of the rows, as this package reads them."""
        return sorted(r.n for r in self.open().read().collect())

    def plain(self) -> list[int]:
        """The same, as Spark reads the place without this package."""
        raise NotImplementedError

    def outside(self) -> list[int]:
        """The same, as another reader sees the files."""
        raise NotImplementedError

    def files(self) -> int:
        """How many files of rows the committed table has."""
        raise NotImplementedError

    def make(self) -> None:
        """Somebody else makes a table with a row whose n is 5."""
        raise NotImplementedError

    def upkeep(self) -> None:
        """Whatever its format's maintenance does, as hard as it may."""
        raise NotImplementedError

    def damage(self, text: str) -> None:
        """Put this in the place of the state."""
        raise NotImplementedError


class Delta(Kind):
    """A Delta table by its path."""

    @property
    def spec(self) -> DeltaSink:
        return DeltaSink(self.folder / "a folder ü", "columns")

    @property
    def place(self) -> str:
        return str(self.folder / "a folder ü")

    @property
    def name(self) -> str:
        return self.open().name

    def plain(self) -> list[int]:
        return sorted(r.n for r in self.spark.read.format("delta").load(self.place).collect())

    def outside(self) -> list[int]:
        from deltalake import DeltaTable

        return sorted(DeltaTable(self.place).to_pyarrow_table(columns=["n"])["n"].to_pylist())

    def files(self) -> int:
        from deltalake import DeltaTable

        return len(DeltaTable(self.place).file_uris())

    def make(self) -> None:
        self.rows(5).write.format("delta").save(self.place)

    def upkeep(self) -> None:
        """OPTIMIZE, a checkpoint, log clean-up that removes all it may, VACUUM of everything."""
        sql = self.spark.sql
        settings = "'delta.enableExpiredLogCleanup' = 'true', 'delta.logRetentionDuration' = 'interval 1 day'"
        sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ({settings})")
        sql(f"OPTIMIZE {self.name}")
        conf = {
            "spark.databricks.delta.retentionDurationCheck.enabled": "false",
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",  # as shipped it is 10,000 tasks
        }
        for key, value in conf.items():
            self.spark.conf.set(key, value)
        sql(f"VACUUM {self.name} RETAIN 0 HOURS")
        for key in conf:
            self.spark.conf.unset(key)

    def forget(self) -> None:
        """A checkpoint, and all of the log before it is old and goes."""
        from deltalake import DeltaTable

        log = Path(self.place) / "_delta_log"
        for path in log.iterdir():
            old = time.time() - 90 * 86400
            os.utime(path, (old, old))
        table = DeltaTable(self.place)
        table.create_checkpoint()
        table.cleanup_metadata()
        assert not (log / "00000000000000000000.json").exists()

    def damage(self, text: str) -> None:
        self.rows(9).write.format("delta").mode("append").option("userMetadata", text).save(self.place)


class DeltaName(Delta):
    """A Delta table by its name in the session's catalog."""

    @property
    def table(self) -> str:
        return "t" + str(abs(hash(self.folder)))

    @property
    def spec(self) -> DeltaSink:
        return DeltaSink(kind="columns", table=f"default.`{self.table}`")

    @property
    def place(self) -> str:
        return self.spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:") + f"/{self.table}"

    def plain(self) -> list[int]:
        return sorted(r.n for r in self.spark.table(self.spec.table).collect())

    def make(self) -> None:
        self.rows(5).write.format("delta").saveAsTable(self.spec.table)


class Iceberg(Kind):
    """An Iceberg table by its path."""

    @property
    def spec(self) -> IcebergSink:
        return IcebergSink(path=self.folder / "a folder, b`t = ü", kind="columns")

    def open(self) -> IcebergTable:
        return IcebergTable(self.spark, self.spec)

    def plain(self) -> list[int]:
        return sorted(r.n for r in self.spark.read.format("iceberg").load(str(self.spec.path)).collect())

    def static(self) -> Any:
        from pyiceberg.table import StaticTable

        table = self.open()
        entries = self.spark.sql(f"SELECT file FROM {table.name}.metadata_log_entries ORDER BY timestamp").collect()
        return StaticTable.from_metadata(entries[-1].file)

    def outside(self) -> list[int]:
        return sorted(self.static().scan().to_arrow()["n"].to_pylist())

    def files(self) -> int:
        return len(list(self.static().scan().plan_files()))

    def make(self) -> None:
        self.rows(5).writeTo(self.open().name).using("iceberg").create()

    def call(self, procedure: str, arguments: str = "") -> None:
        """One of Iceberg's procedures for the table."""
        table = self.open()
        name = table.name.replace("'", "\\'")
        self.spark.sql(f"CALL {table.catalog}.system.{procedure}(table => '{name}'{arguments})").collect()

    def upkeep(self) -> None:
        """Somebody else's snapshot on top, everything rewritten, every snapshot gone but that one."""
        self.spark.sql(f"DELETE FROM {self.open().name} WHERE n = 12345").collect()
        self.call("rewrite_data_files", ", options => map('rewrite-all', 'true')")
        time.sleep(0.01)
        self.call("expire_snapshots", ", older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1")

    def damage(self, text: str) -> None:
        from dagster_smt.tables.sinks.iceberg import STATE
        from dagster_smt.tables.sinks.replaced_rows import packed

        results = [k for k in self.open()._properties() or {} if k.startswith(STATE)]
        self.spark.sql(f"ALTER TABLE {self.open().name} SET TBLPROPERTIES ('{results[-1]}' = '{packed(text)}')")


class IcebergName(Iceberg):
    """An Iceberg table by its name in a catalog."""

    @property
    def spec(self) -> IcebergSink:
        return IcebergSink(table=f"ice.db.`t {abs(hash(self.folder))}`", kind="columns")

    def plain(self) -> list[int]:
        return sorted(r.n for r in self.spark.table(self.spec.table).collect())


class Topics(Kind):
    """Topics below a folder."""

    columns = False

    @property
    def spec(self) -> FileTopicSink:
        return FileTopicSink(self.folder / "topics")

    def rows(self, *numbers: int, topic: str = "t", partition: int = 0) -> DataFrame:
        data = [(None, b"%d" % n, "out", partition, n, None, 0, None, topic) for n in numbers]
        return self.spark.createDataFrame(data, RECORD_DDL).coalesce(1)

    def held(self) -> list[int]:
        return sorted(int(r.value) for r in self.open().read().collect())

    def plain(self) -> list[int]:
        files = str(self.folder / "topics" / "out" / "*" / "*.jsonl")
        return sorted(int(r.value) for r in self.spark.read.schema("value STRING").json(files).collect())

    def outside(self) -> list[int]:
        lines = [line for p in (self.folder / "topics").rglob("*.jsonl") for line in p.read_text().splitlines()]
        return sorted(int(json.loads(line)["value"]) for line in lines)

    def damage(self, text: str) -> None:
        (file,) = (self.folder / "topics" / ".progress").glob("*.json")
        file.write_text(json.dumps({"state": text, "ends": {}}))


class KafkaTopics(Topics):
    """Topics of a broker; progress is a group of each test's own."""

    exact = False

    def __init__(self, spark: Any, folder: Path, servers: str):
        super().__init__(spark, folder)
        self.topics = kafka.KafkaTopics(servers, create=kafka.NewTopics())
        self.world = kafka.Topics(self.topics)
        self.world.remove()
        self.read_from("t")

    @property
    def spec(self) -> KafkaSink:
        return KafkaSink(self.topics, f"g{abs(hash(self.folder))}")

    def read_from(self, *topics: str) -> None:
        self.world.make(*topics)

    def plain(self) -> list[int]:
        options = {"kafka.bootstrap.servers": self.topics.servers, "subscribe": "out"}
        return sorted(int(r.value) for r in self.spark.read.format("kafka").options(**options).load().collect())

    def outside(self) -> list[int]:
        return sorted(int(message.value()) for message in self.world.read("out"))

    def damage(self, text: str) -> None:
        self.world.client.commit(self.spec.group, {("t", 0): kafka.Committed(1, text)})


KINDS = {
    "delta": Delta,
    "delta by name": DeltaName,
    "iceberg": Iceberg,
    "iceberg by name": IcebergName,
    "file topics": Topics,
    "kafka": KafkaTopics,
}
TABLES = {name: kind for name, kind in KINDS.items() if kind.columns}
REPLACEABLE = {name: kind for name, kind in KINDS.items() if kind not in (Topics, KafkaTopics)}
ONE_OF_EACH = {name: KINDS[name] for name in ("delta", "iceberg by name", "file topics", "kafka")}
"""For what does not depend on how a table is named."""
