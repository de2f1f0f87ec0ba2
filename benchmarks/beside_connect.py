"""Compares three programs on the same records and chains: Kafka Connect's converters and transforms, Spark alone, and
this package.

Kafka Connect runs in a new JVM for each case, with two threads, and has the values in memory. Spark and this package
read Parquet files with Kafka's columns.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from benchmarks.cases import (
    NESTED,
    NOTHING,
    Case,
    Setting,
    Taken,
    Target,
    bare_columns,
    bare_json,
    bare_nested,
    declared,
    declared_nested,
    declared_records,
    lazy,
    plan_of,
    struct_type,
)
from benchmarks.connect.in_memory import passes
from benchmarks.measure import Result
from benchmarks.records import FIELDS as FLAT_FIELDS
from benchmarks.records import TOPIC, value_schema
from benchmarks.runs import one_topic
from benchmarks.wide_records import wide_schema
from dagster_smt.chain import parse_chain
from dagster_smt.chain.properties import read_properties
from dagster_smt.interpret.interpreter import PASSED
from dagster_smt.jvm.availability import VARIABLE
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.format import Format
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.spark.garbage import no_collection
from dagster_smt.spark.records.arrow_map import ArrowMap
from dagster_smt.spark.session_conf import SESSION_CONF
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.topic_table import FileTopics, TopicTable

_KAFKA = "org.apache.kafka.connect.transforms."
FIVE = {
    "transforms": "hide,amount,when,tidy,origin",
    "transforms.hide.type": f"{_KAFKA}MaskField$Value",
    "transforms.hide.fields": "note,ref",
    "transforms.amount.type": f"{_KAFKA}Cast$Value",
    "transforms.amount.spec": "amount:float64",
    "transforms.when.type": f"{_KAFKA}TimestampConverter$Value",
    "transforms.when.field": "ts",
    "transforms.when.target.type": "string",
    "transforms.when.format": "yyyy-MM-dd HH:mm:ss",
    "transforms.tidy.type": f"{_KAFKA}ReplaceField$Value",
    "transforms.tidy.exclude": "device",
    "transforms.tidy.renames": "status:state",
    "transforms.origin.type": f"{_KAFKA}InsertField$Value",
    "transforms.origin.static.field": "origin",
    "transforms.origin.static.value": "benchmark",
    "transforms.origin.topic.field": "topic",
}
"""A chain of five stages for flat records. One stage prints a timestamp with a date pattern."""
DEMO = Path(__file__).parents[1] / "definitions" / "chains" / "webhooks.properties"
_TEXTS = [name for name, kind in FLAT_FIELDS.items() if kind is Type.STRING]
_WIDE_TEXTS = [name for name, schema in wide_schema().fields if schema.type is Type.STRING]
_WARM = 2
_SMALL_RUNS = 5
_BATCH = int(SESSION_CONF["spark.sql.execution.arrow.maxRecordsPerBatch"])  # records


def masks(fields: Sequence[str]) -> dict[str, str]:
    """Returns a chain with one ``MaskField`` stage for each field in ``fields``."""
    chain = {"transforms": ",".join(f"m{n}" for n in range(len(fields)))}
    for n, name in enumerate(fields):
        chain |= {f"transforms.m{n}.type": f"{_KAFKA}MaskField$Value", f"transforms.m{n}.fields": name}
    return chain


def connect(name: str, chain: Mapping[str, str], schema: Schema | None = None, data: str = "flat") -> Case:
    """Returns a case that runs ``chain`` in Kafka Connect's own classes. Each round starts a new JVM. The JVM is warmed
    up before the time is measured.

    Args:
        name: The name of the case.
        chain: The ``transforms`` properties.
        schema: The schema of the values; None for values without a schema.
        data: The name of the data set.
    """

    def measured(setting: Setting) -> Taken:
        with passes(setting.scratch.parent / "connect", setting.folder, chain, schema) as running:
            for _ in range(_WARM):
                running.round()
            done = running.round()
        shutil.rmtree(setting.scratch.parent / "connect")
        if done.passed != setting.records:
            raise RuntimeError(f"{setting.records} records were to come through; {done.passed} did")
        return Taken(done.seconds, done.cpu)

    return Case(name, measured, data=data)


def without_lane(work: Callable[[Setting], None]) -> Callable[[Setting], None]:
    """Returns a function that does the same as ``work``, but without the JVM lane (this package's Java code)."""

    def measured(setting: Setting) -> None:
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = "off"
        try:
            work(setting)
        finally:
            os.environ.pop(VARIABLE)
            if before is not None:
                os.environ[VARIABLE] = before

    return measured


def bare_read(setting: Setting) -> None:
    """Reads the records and discards them. No other case on Spark can be faster."""
    setting.discard(setting.frame)


def bare_wide(setting: Setting) -> None:
    """Parses the wide records into columns with Spark alone, and discards them."""
    parsed = F.from_json(F.col("value").cast("string"), struct_type(wide_schema()))
    setting.discard(setting.frame.select(parsed.alias("v")).select("v.*"))


def wide(chain: dict[str, str]) -> Callable[[Setting], None]:
    """Returns a case that runs ``chain`` on the wide records, with a declared schema. The resulting columns are
    discarded.
    """
    return lambda s: declared_records(s, chain, wide_schema(), ledger=True, discard=True)


def _values(setting: Setting) -> list[bytes]:
    return [bytes(row["value"]) for row in setting.frame.select("value").collect()]


def in_process(work: Callable[[list[bytes]], None]) -> Callable[[Setting], Taken]:
    """Returns a case that calls ``work`` with all values, in this process and on one thread. The time for reading the
    values is not counted.
    """

    def measured(setting: Setting) -> Taken:
        values = _values(setting)
        start = time.perf_counter()
        work(values)
        return Taken(time.perf_counter() - start)

    return measured


def decoded_and_encoded(values: list[bytes]) -> None:
    """Parses and prints each value, and does nothing else. Python needs at least this time for a chain on JSON."""
    decode, encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode
    with no_collection():
        for value in values:
            encode(decode(value))


def evaluated(values: list[bytes]) -> None:
    """Runs the demo's chain on the values in batches, as a Python worker of Spark does."""
    chain = parse_chain(DEMO)
    entries = sum(len(stage.transform.ledger()) for stage in chain.stages)
    for done in ArrowMap(chain, Format("string"), Format("json"), entries)(_batches(values)):
        if pc.any(pc.not_equal(done.column("__status"), PASSED)).as_py():
            raise RuntimeError("records were to come through, some did not")


def _batches(values: list[bytes]) -> Iterator[pa.RecordBatch]:
    """Yields the values as records of one topic, in batches of ``_BATCH`` records."""
    for first in range(0, len(values), _BATCH):
        batch = values[first : first + _BATCH]
        size = len(batch)
        columns = {
            "topic": pa.repeat("github.issues", size),
            "partition": pa.repeat(pa.scalar(0, pa.int32()), size),
            "offset": pa.array(range(first, first + size), pa.int64()),
            "timestamp": pa.repeat(pa.scalar(0, pa.timestamp("us", tz="UTC")), size),
            "timestampType": pa.repeat(pa.scalar(0, pa.int32()), size),
            "headers": pa.nulls(size, pa.string()),
            "key": pa.nulls(size, pa.binary()),
            "value": pa.array(batch, pa.binary()),
        }
        yield pa.RecordBatch.from_pydict(columns)


def demo(setting: Setting) -> None:
    """Runs the demo's chain on Spark, from JSON to JSON."""
    lazy(read_properties(DEMO.read_text()))(setting)


def put_together(setting: Setting) -> None:
    """Plans forty stages over records with 300 fields, and builds the Spark columns. No record is read."""
    schema = wide_schema()
    plan = plan_of(masks(_WIDE_TEXTS[:40]), schema)
    table = TopicTable(FileTopics(Path()), topics=(TOPIC,), key=Format("string"), value=Format("json_schema", schema))
    evaluate(setting.frame, plan, table, "columns", whole=False)  # as a run does


def small_run(*, again: bool) -> Callable[[Setting], Taken]:
    """Returns a case that runs a small topic into a new Delta table. With ``again``, the case measures a second run,
    for which the topic has no new records.

    A process that has been serving runs for a while is warm: Java has compiled the code of a run. So each round does
    several such runs, and measures the last one.
    """

    def measured(setting: Setting) -> Taken:
        for _ in range(_SMALL_RUNS):
            seconds = _small_run(setting, again=again)
        return Taken(seconds)

    return measured


def _small_run(setting: Setting, *, again: bool) -> float:
    """Runs a small topic into a new Delta table, and returns the seconds of the run. With ``again``, these are the
    seconds of a second run.
    """
    table = TopicTable(one_topic(setting), pattern=".*", value=Format("json"))
    spec = RunSpec("benchmark", parse_chain(FIVE), table, DeltaSink(setting.scratch, "records"))
    for _ in range(2 if again else 1):
        start = time.perf_counter()
        report = run(spec, setting.frame.sparkSession)
        taken = time.perf_counter() - start
    if report.records_in != (0 if again else setting.records):
        raise RuntimeError(f"{report.records_in} records were read")
    shutil.rmtree(setting.scratch)
    return taken


_FLAT, _FLAT_SCHEMA = "Connect: flat, five stages", "Connect: flat with a schema, five stages"
_JSON, _COLUMNS = "flat: bare from_json + to_json", "flat: bare from_json to Parquet columns"
_NESTED, _WIDE = "nested: bare from_json + to_json", "wide: bare from_json to columns, discarded"
_FEW, _FEW_DATA = "Connect: 100,000 flat records, five stages", "flat, 100,000"
_HOOKS, _PARSED = "Connect: webhooks, no stage", "webhooks: msgspec decode + encode, one thread"
_STAGES = (1, 5, 20, 40)


def _wide_cases() -> Iterator[Case]:
    yield Case(_WIDE, bare_wide, data="wide")
    for count in (0, 1, 10):
        chain = masks(_WIDE_TEXTS[:count])
        plain, with_schema = f"Connect: wide, {count} masks", f"Connect: wide with a schema, {count} masks"
        yield connect(plain, chain, data="wide")
        yield connect(with_schema, chain, wide_schema(), "wide")
        name = f"wide: JSON to JSON, {count} masks"
        yield Case(name, lazy(chain), data="wide", connect=plain, target=Target(connect=0.6))
        name = f"wide: declared JSON to columns, {count} masks"
        yield Case(name, wide(chain), _WIDE, "wide", connect=with_schema, target=Target(connect=1))


def _stage_cases() -> Iterator[Case]:
    for count in _STAGES:
        chain = masks([_TEXTS[n % len(_TEXTS)] for n in range(count)])
        original = f"Connect: flat, {count} cheap stages"
        yield connect(original, chain)
        yield Case(f"flat: JSON to JSON, {count} cheap stages", lazy(chain), connect=original)


CASES = (
    Case("flat: reading alone, discarded", bare_read),
    Case(_JSON, bare_json),
    connect(_FLAT, FIVE),
    Case("flat: JSON to JSON, five stages", lazy(FIVE), _JSON, connect=_FLAT, target=Target(0.45, 0.45)),
    Case("flat: JSON to JSON, five stages, no ledger", lazy(FIVE, ledger=False), _JSON, connect=_FLAT),
    Case(
        "flat: JSON to JSON, five stages, engine: connect",
        lazy({**FIVE, "engine": "connect"}),
        _JSON,
        connect=_FLAT,
        target=Target(connect=1.2),
    ),
    Case(
        "flat: JSON to JSON, five stages, engine: connect in the host",
        without_lane(lazy({**FIVE, "engine": "connect"})),
        _JSON,
        connect=_FLAT,
    ),
    connect(_FEW, FIVE, data=_FEW_DATA),
    Case(
        "100,000 flat records: JSON to JSON, five stages",
        lazy(FIVE),
        data=_FEW_DATA,
        connect=_FEW,
        target=Target(connect=0.8),
    ),
    Case(_COLUMNS, bare_columns),
    connect(_FLAT_SCHEMA, FIVE, value_schema()),
    Case(
        "flat: declared JSON to Parquet columns, five stages",
        declared(FIVE, discard=False),
        _COLUMNS,
        connect=_FLAT_SCHEMA,
        target=Target(0.7, 1.0),
    ),
    Case(
        "flat: declared JSON to Parquet columns, five stages, no ledger",
        declared(FIVE, ledger=False, discard=False),
        _COLUMNS,
        connect=_FLAT_SCHEMA,
    ),
    Case(_NESTED, bare_nested, data="nested"),
    Case("nested: JSON to JSON, **.email masked", lazy(NESTED), _NESTED, "nested", target=Target(bare=0.5)),
    Case("nested: declared JSON, **.email masked", declared_nested(NESTED), _NESTED, "nested", target=Target(bare=0.8)),
    Case(_PARSED, in_process(decoded_and_encoded), data="webhooks"),
    Case(
        "webhooks: the demo's chain, one thread",
        in_process(evaluated),
        _PARSED,
        "webhooks",
        target=Target(bare=1.5),
    ),
    Case("webhooks: reading alone, discarded", bare_read, data="webhooks"),
    connect(_HOOKS, NOTHING, data="webhooks"),
    Case("webhooks: the demo's chain", demo, data="webhooks", connect=_HOOKS, target=Target(connect=1)),
    *_wide_cases(),
    *_stage_cases(),
    Case("40 stages x 300 fields put together", put_together, data="wide", target=Target(seconds=2)),
    Case("a run that finds nothing new", small_run(again=True), data="flat, 1,000", target=Target(seconds=0.5)),
    Case("a run of 1,000 records", small_run(again=False), data="flat, 1,000", target=Target(seconds=0.8)),
)


def summary(results: Sequence[Result], megabytes: int) -> list[str]:
    """Returns sentences that follow from several cases, such as the cost of the ledger. If a figure has a target, the
    sentence also shows the target.

    Args:
        results: The times of the cases.
        megabytes: The memory of the largest Python worker, or 0 if it is unknown.
    """
    medians = {r.case.name: r.median for r in results}
    result = []
    for name in ("flat: JSON to JSON, five stages", "flat: declared JSON to Parquet columns, five stages"):
        whole, without = medians.get(name), medians.get(f"{name}, no ledger")
        if whole and without:
            result.append(f"ledger ({name}): {_share(whole / without - 1, 0.05)}")
    for who in ("flat: JSON to JSON", "Connect: flat"):
        first, last = (medians.get(f"{who}, {n} cheap stages") for n in (_STAGES[0], _STAGES[-1]))
        if first and last:
            each = (last / first - 1) / (_STAGES[-1] - _STAGES[0])
            # only our case, "flat: …", has a target
            result.append(f"one more cheap stage ({who}): {_share(each, 0.01 if who[0] == 'f' else None)}")
    if megabytes:
        result.append(f"memory of a Python worker at most: {megabytes} MB {'<=' if megabytes <= 300 else '>'} 300 MB")
    return result


def _share(part: float, target: float | None) -> str:
    shown = f"{part * 100:+.1f} %"
    return shown if target is None else f"{shown} {'<=' if part <= target else '>'} {target * 100:.0f} %"
