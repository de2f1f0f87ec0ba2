"""Defines the cases of the benchmark, which are listed in ``CASES``. A case is a function that processes all records
once, from Parquet to a sink.
"""

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

# six stages on flat records
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
    """The input of a case.

    Attributes:
        frame: The records.
        records: The number of records.
        scratch: A folder for the output of the case.
        folder: The folder with the records as Parquet files.
    """

    frame: DataFrame
    records: int
    scratch: Path
    folder: Path = Path()

    def discard(self, frame: DataFrame) -> None:
        """Makes Spark compute every row and column of ``frame``, and discards the result."""
        frame.write.format("noop").mode("overwrite").save()

    def to_parquet(self, frame: DataFrame) -> None:
        """Writes ``frame`` as Parquet files into the scratch folder, and deletes the files."""
        frame.write.mode("overwrite").parquet(str(self.scratch))
        shutil.rmtree(self.scratch)


@dataclass(frozen=True)
class Taken:
    """The time that one round of a case took.

    Attributes:
        seconds: The elapsed time in seconds.
        cpu: The CPU seconds of all processes; None if they are unknown.
    """

    seconds: float
    cpu: float | None = None


@dataclass(frozen=True)
class Target:
    """The limits that a case should not exceed. None stands for no limit.

    Attributes:
        bare: The time as a multiple of the bare case (Spark alone): 0.5 is half of its time.
        connect: The time as a multiple of Kafka Connect's case.
        seconds: The time in seconds.
        micros: The CPU time per record in microseconds, after subtracting the bare case.
    """

    bare: float | None = None
    connect: float | None = None
    seconds: float | None = None
    micros: float | None = None


@dataclass(frozen=True)
class Case:
    """A case of the benchmark: one way to process all records.

    Attributes:
        name: The name in the table. ``--only`` selects cases by a part of their names.
        run: Processes the records once. The function returns the time only if it measures the time itself, for example
            to leave out the start of a JVM.
        bare: The name of the case to compare with, which uses Spark alone. Empty if this case itself uses Spark alone.
        data: The name of the data set; see ``benchmarks.data``.
        rounds: The largest number of rounds; 0 for no limit.
        connect: The name of Kafka Connect's case to compare with; empty if there is none.
        target: The limits on the time.
        alone: True if the case has one stage, and ``bare`` has none. The table then shows the stage's cost per record.
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
    """Parses the JSON values and prints them again, with Spark alone. This is the least work for a chain from JSON to
    JSON on typed columns.
    """
    text = F.to_json(F.from_json(F.col("value").cast("string"), DDL)).cast("binary")
    setting.discard(setting.frame.select("key", text.alias("value"), *OTHERS))


def bare_columns(setting: Setting) -> None:
    """Parses the JSON values into columns with Spark alone, and writes them as Parquet."""
    parsed = F.from_json(F.col("value").cast("string"), DDL)
    setting.to_parquet(setting.frame.select(parsed.alias("v")).select("v.*"))


def bare_bytes(setting: Setting) -> None:
    """Sends every column to Python and back, unchanged. This is the least work for any evaluator in Python."""
    setting.discard(setting.frame.mapInArrow(_same, setting.frame.schema))


def _same(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    return batches


def lazy(chain: dict[str, str], ledger: bool = True) -> Callable[[Setting], None]:
    """Returns a case that runs ``chain`` on JSON values without a schema, and produces JSON values.

    Args:
        chain: The ``transforms`` properties.
        ledger: True to count, for each stage, the records that the stage changed.
    """
    return lambda s: lazy_records(s, chain, ledger=ledger)


def lazy_records(setting: Setting, chain: dict[str, str], *, ledger: bool) -> None:
    """Runs ``chain`` on the JSON values of ``setting``, without a schema, and discards the resulting JSON values.

    Args:
        setting: The records.
        chain: The ``transforms`` properties.
        ledger: True to count, for each stage, the records that the stage changed.
    """
    _through(setting, plan_of(chain, None), Format("json"), "records", ledger)


def declared(chain: dict[str, str], ledger: bool = True, *, discard: bool = True) -> Callable[[Setting], None]:
    """Returns a case that runs ``chain`` on the flat records, with a declared schema, and produces columns.

    Args:
        chain: The ``transforms`` properties.
        ledger: True to count, for each stage, the records that the stage changed.
        discard: True to discard the columns, False to write them as Parquet.
    """
    return lambda s: declared_records(s, chain, value_schema(), ledger=ledger, discard=discard)


def declared_records(
    setting: Setting, chain: dict[str, str], schema: Schema, *, ledger: bool, discard: bool = False
) -> None:
    """Runs ``chain`` on the JSON values of ``setting``, with the declared schema ``schema``, and produces columns.

    Args:
        setting: The records.
        chain: The ``transforms`` properties.
        schema: The schema of the values.
        ledger: True to count, for each stage, the records that the stage changed.
        discard: True to discard the columns, False to write them as Parquet.
    """
    form = Format("json_schema", schema)
    _through(setting, plan_of(chain, schema), form, "columns", ledger, discard=discard)


def plan_of(chain: dict[str, str], schema: Schema | None) -> Plan:
    """Returns the plan of ``chain`` (the schema after each stage) for the benchmark's topic. ``schema`` is the schema
    of the values; None if they have none.
    """
    key = None if schema is None else STRING.with_(optional=True)
    return plan_chain(parse_chain(chain), key, schema, topics=(TOPIC,), typed=schema is not None)


def struct_type(schema: Schema) -> StructType:
    """Returns the Spark type of values with the schema ``schema``."""
    result = spark_type(schema)
    assert isinstance(result, StructType)
    return result


def bare_nested(setting: Setting) -> None:
    """Parses the nested records' JSON and prints it again, with Spark alone."""
    text = F.to_json(F.from_json(F.col("value").cast("string"), struct_type(nested_schema()))).cast("binary")
    setting.discard(setting.frame.select("key", text.alias("value"), *OTHERS))


def declared_nested(chain: dict[str, str]) -> Callable[[Setting], None]:
    """Returns a case that runs ``chain`` on the nested records, with a declared schema, in the Spark evaluator. The
    resulting columns are printed as JSON.
    """

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
    """Writes the rows of ``frame`` whose records passed through the chain, and counts the records.

    Args:
        setting: The records before the chain.
        frame: The evaluated records.
        plan: The plan of the chain.
        write: Writes a frame, or discards it.
        as_json: True to print each row as JSON.
        ledger: True to count, for each stage, the records that the stage changed.

    Raises:
        RuntimeError: ``ledger`` is set, and not all records passed through the chain.
    """
    observation = Observation()
    # without observed columns below it, Spark would push the filter into the parsing and parse once per condition
    counted = count_columns(plan.chain, plan.entries) if ledger else [F.count(F.lit(1)).alias("records")]
    frame = frame.observe(observation, *counted)
    out = F.to_json("__out").cast("binary").alias("value") if as_json else "__out.*"
    write(frame.where("__status = 0").select(out))
    if ledger:
        _check(read_counts(observation.get, len(plan.chain.stages), len(plan.entries)), setting.records)


def _check(counts: TopicCounts, records: int) -> None:
    """Raises a ``RuntimeError`` if a record failed or was dropped, because such records would make a case look fast."""
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
