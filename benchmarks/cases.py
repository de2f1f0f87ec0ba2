"""What is measured: one function per case, all listed in ``CASES``. A case runs once, from Parquet to its sink."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from benchmarks.nested_records import nested_schema
from benchmarks.records import FIELDS, TOPIC, value_schema
from dagster_smt.chain import Plan, parse_chain, plan_chain
from dagster_smt.model.reports.run_report import TopicCounts
from dagster_smt.model.schema import STRING, Schema, Type
from dagster_smt.model.topics.format import Format
from dagster_smt.run.counts import count_columns, read_counts
from dagster_smt.spark.evaluate import SinkKind, evaluate
from dagster_smt.spark.types import spark_type
from dagster_smt.tables.topic_table import FileTopics, TopicTable

# Six stages on flat records. RegexRouter stands where TimestampConverter will.
FLAT = {
    "transforms": "hide,amount,route,tidy,origin,where",
    "transforms.hide.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.hide.fields": "note,ref",
    "transforms.amount.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.amount.spec": "amount:float64",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": "payments\\.(.*)",
    "transforms.route.replacement": "clean.$1",
    "transforms.tidy.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "transforms.tidy.exclude": "device",
    "transforms.tidy.renames": "status:state",
    "transforms.origin.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.origin.static.field": "origin",
    "transforms.origin.static.value": "benchmark",
    "transforms.where.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.where.topic.field": "topic",
}

# Every e-mail address, wherever it is.
NESTED = {
    "transforms": "hide",
    "transforms.hide.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.hide.fields": "**.email",
    "transforms.hide.field.syntax.version": "extended",
}
NOTHING = {"transforms": ""}

SPARK_TYPES = {
    Type.STRING: "string",
    Type.INT64: "bigint",
    Type.INT32: "int",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
}
DDL = ", ".join(f"`{name}` {SPARK_TYPES[type_]}" for name, type_ in FIELDS.items())
OTHERS = ("topic", "partition", "offset", "timestamp", "timestampType", "headers")


@dataclass(frozen=True)
class Setting:
    """What a case gets.

    Attributes:
        frame: The records.
        records: How many they are.
        scratch: A folder of its own that it may fill.
        folder: Where the records are, as Parquet.
    """

    frame: DataFrame
    records: int
    scratch: Path
    folder: Path = Path()

    def discard(self, frame: DataFrame) -> None:
        """Compute every row and column, and throw them away."""
        frame.write.format("noop").mode("overwrite").save()

    def to_parquet(self, frame: DataFrame) -> None:
        """Write Parquet files, and remove them."""
        frame.write.mode("overwrite").parquet(str(self.scratch))
        shutil.rmtree(self.scratch)


@dataclass(frozen=True)
class Taken:
    """What a round took: wall seconds, and CPU seconds of all its processes; None where nothing tells them."""

    seconds: float
    cpu: float | None = None


@dataclass(frozen=True)
class Target:
    """What a case is to take at most; None: no target.

    Attributes:
        bare: Times the bare case.
        connect: Times the case of Kafka Connect.
        seconds: Seconds.
        micros: Microseconds of CPU time for each record, beyond those of the bare case.
    """

    bare: float | None = None
    connect: float | None = None
    seconds: float | None = None
    micros: float | None = None


@dataclass(frozen=True)
class Case:
    """A measured path.

    Attributes:
        name: As printed; ``--only`` looks for parts of it.
        run: Does the work once; gives what it took only if it has a clock of its own, so that a start does not count.
        bare: Name of the case it is compared with; empty for bare Spark itself.
        data: Name of its data set; see ``benchmarks.data``.
        rounds: It runs in so many rounds at most; 0 for all.
        connect: Name of the case of Kafka Connect it is compared with, if any.
        target: What it is to take at most.
        alone: True for one stage beside no stage: the table shows the cost of the stage for each record.
    """

    name: str
    run: "Callable[[Setting], Taken | None]"
    bare: str = ""
    data: str = "flat"
    rounds: int = 0
    connect: str = ""
    target: "Target" = field(default_factory=lambda: Target())
    alone: bool = False


def bare_json(setting: Setting) -> None:
    """Parse and print again: what a typed JSON to JSON path costs at least."""
    text = F.to_json(F.from_json(F.col("value").cast("string"), DDL)).cast("binary")
    setting.discard(setting.frame.select("key", text.alias("value"), *OTHERS))


def bare_columns(setting: Setting) -> None:
    """Parse into columns and write them."""
    parsed = F.from_json(F.col("value").cast("string"), DDL)
    setting.to_parquet(setting.frame.select(parsed.alias("v")).select("v.*"))


def bare_bytes(setting: Setting) -> None:
    """Every column to Python and back, untouched: what any Python evaluator costs at least."""
    setting.discard(setting.frame.mapInArrow(_same, setting.frame.schema))


def _same(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    return batches


def lazy(chain: dict[str, str], ledger: bool = True) -> Callable[[Setting], None]:
    """Schemaless JSON topic to JSON topic."""
    return lambda s: lazy_records(s, chain, ledger=ledger)


def lazy_records(setting: Setting, chain: dict[str, str], *, ledger: bool) -> None:
    """The same for any records."""
    _through(setting, plan_of(chain, None), Format("json"), "records", ledger)


def declared(chain: dict[str, str], ledger: bool = True, *, discard: bool = True) -> Callable[[Setting], None]:
    """JSON with a declared schema to table columns, flat records; written to Parquet unless discarded."""
    return lambda s: declared_records(s, chain, value_schema(), ledger=ledger, discard=discard)


def declared_records(
    setting: Setting, chain: dict[str, str], schema: Schema, *, ledger: bool, discard: bool = False
) -> None:
    """The same for any records."""
    form = Format("json_schema", schema)
    _through(setting, plan_of(chain, schema), form, "columns", ledger, discard=discard)


def plan_of(chain: dict[str, str], schema: Schema | None) -> Plan:
    """The plan of a chain over the benchmark's topic. ``schema``: of the values; None without."""
    key = None if schema is None else STRING.with_(optional=True)
    return plan_chain(parse_chain(chain), key, schema, topics=(TOPIC,), typed=schema is not None)


def struct_type(schema: Schema) -> StructType:
    """The schema of records as Spark's type."""
    result = spark_type(schema)
    assert isinstance(result, StructType)
    return result


def bare_nested(setting: Setting) -> None:
    """As ``bare_json``, on nested records."""
    text = F.to_json(F.from_json(F.col("value").cast("string"), struct_type(nested_schema()))).cast("binary")
    setting.discard(setting.frame.select("key", text.alias("value"), *OTHERS))


def declared_nested(chain: dict[str, str]) -> Callable[[Setting], None]:
    """Nested JSON with a declared schema through the Spark evaluator, and printed as JSON again."""

    def run(setting: Setting) -> None:
        schema = nested_schema()
        _through(setting, plan_of(chain, schema), Format("json_schema", schema), "columns", True, as_json=True)

    return run


def _through(
    setting: Setting,
    plan: Plan,
    form: Format,
    sink_kind: SinkKind,
    ledger: bool,
    *,
    as_json: bool = False,
    discard: bool = False,
) -> None:
    table = TopicTable(FileTopics(Path()), topics=(TOPIC,), key=Format("string"), value=form)
    write = setting.discard if discard or as_json or sink_kind == "records" else setting.to_parquet
    frame = evaluate(setting.frame, plan, table, sink_kind, ledger=ledger, whole=False)
    write_counted(setting, frame, plan, write, as_json=as_json, ledger=ledger)


def write_counted(
    setting: Setting,
    frame: DataFrame,
    plan: Plan,
    write: Callable[[DataFrame], None],
    *,
    as_json: bool = False,
    ledger: bool = True,
) -> None:
    """Write what the evaluator made, and count what became of the records; all must have come through."""
    observation = Observation()
    # without observed columns below it, Spark would push the filter into the parsing and parse once per condition
    counted = count_columns(plan.chain, plan.entries) if ledger else [F.count(F.lit(1)).alias("records")]
    frame = frame.observe(observation, *counted)
    out = F.to_json("__out").cast("binary").alias("value") if as_json else "__out.*"
    write(frame.where("__status = 0").select(out))
    if ledger:
        _check(read_counts(observation.get, len(plan.chain.stages), len(plan.entries)), setting.records)


def _check(counts: TopicCounts, records: int) -> None:
    """Records that failed or were dropped would make a case look fast."""
    if (counts.records, counts.rows_out) != (records, records):
        raise RuntimeError(f"{records} records were to come through; {counts.rows_out} of {counts.records} did")


_JSON, _COLUMNS = "bare from_json + to_json", "bare from_json to Parquet columns"
_NESTED = "nested: bare from_json + to_json"

CASES = (
    Case(_JSON, bare_json),
    Case(_COLUMNS, bare_columns),
    Case("bare bytes through mapInArrow", bare_bytes),
    Case("lazy JSON to JSON, without ledger", lazy(FLAT, ledger=False), _JSON),
    Case("lazy JSON to JSON, with ledger", lazy(FLAT), _JSON),
    Case("declared JSON to Parquet columns, without ledger", declared(FLAT, ledger=False, discard=False), _COLUMNS),
    Case("declared JSON to Parquet columns, with ledger", declared(FLAT, discard=False), _COLUMNS),
    Case(_NESTED, bare_nested, data="nested"),
    Case("nested: lazy JSON, **.email masked", lazy(NESTED), _NESTED, "nested"),
    Case("nested: declared JSON, read and printed", declared_nested(NOTHING), _NESTED, "nested"),
    Case("nested: declared JSON, **.email masked", declared_nested(NESTED), _NESTED, "nested"),
)
