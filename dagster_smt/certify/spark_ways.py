"""The execution paths ("ways") that need a Spark session. There are two kinds:

- The JVM lane (this package's Java code) runs the chain on whole records.
- Spark runs the chain on columns, after the JVM lane or Python has parsed the records.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from dagster_smt.authoring.stage import Chain
from dagster_smt.certify.column_types import type_findings
from dagster_smt.certify.compared_ways import AbsentWay, ComparedWay, Result
from dagster_smt.certify.judging import ChainComparison
from dagster_smt.chain.plan import plan_chain
from dagster_smt.errors import PlanError, UnsupportedError
from dagster_smt.interpret.interpreter import DROPPED_STATUS, PASSED
from dagster_smt.interpret.preview import Sample
from dagster_smt.jvm.availability import has_lane
from dagster_smt.model.topics.format import Formats
from dagster_smt.model.windows.window import topics_of
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.spark.outcome_columns import LEFT
from dagster_smt.spark.packages import session_settings
from dagster_smt.spark.versions import frame_of_arrow
from dagster_smt.spark.ways import COLUMNS_IN_JVM, COLUMNS_IN_PYTHON, RECORDS_IN_JVM, Way
from dagster_smt.tools.parity.bridges import BYTES, SPARK
from dagster_smt.tools.parity.datums import case_chain
from dagster_smt.tools.parity.on_spark import RECORD_FRAME, SparkAnswers
from dagster_smt.values.headers.literals import parse_simple_header

_NO_LANE = "the session has no JVM lane"
_NO_SCHEMA = "no value has a schema"
_FOREIGN = "a stage runs from a jar"


@contextmanager
def local_session() -> Iterator[SparkSession]:
    """Yields the active Spark session. If there is none, starts a local session with two cores, and stops it at the end
    of the block.
    """
    import pyspark

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.sql.session.timeZone", "UTC")
    for name, setting in session_settings([], {}, pyspark.__version__).items():
        builder = builder.config(name, setting)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


def samples_of_frame(frame: DataFrame) -> list[Sample]:
    """Returns the records of ``frame``, sorted by topic, partition and offset. ``frame`` has Kafka's columns."""
    columns = ("topic", "partition", "offset", "unix_micros(timestamp) AS micros", "key", "value", "headers")
    samples = []
    for row in frame.selectExpr(*columns).collect():
        millis = None if row["micros"] is None else row["micros"] // 1000
        key, value = _bytes(row["key"]), _bytes(row["value"])
        pairs = []
        for header in row["headers"] or ():
            pairs.append((header["key"], _bytes(header["value"])))
        headers = tuple(pairs)
        samples.append(Sample(row["topic"], row["partition"], row["offset"], millis, key, value, headers))
    # collect returns the rows of a topic-partition in any order, but a stage may remember earlier records
    return sorted(samples, key=lambda sample: (sample.topic, sample.partition, sample.offset))


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)


def spark_ways(session: SparkSession) -> Callable[[ChainComparison], Iterator[ComparedWay | AbsentWay]]:
    """Returns a function that lists the execution paths that need Spark, such as the JVM lane (this package's Java
    code). The function takes the comparison that a certificate makes.
    """
    return lambda comparison: _ways(session, comparison)


def _ways(session: SparkSession, comparison: ChainComparison) -> Iterator[ComparedWay | AbsentWay]:
    if comparison.pair.ours.has_foreign:
        yield from (AbsentWay(way.name, _FOREIGN) for way in (RECORDS_IN_JVM, COLUMNS_IN_JVM, COLUMNS_IN_PYTHON))
        return
    yield _records(session, comparison)
    has_schema = any("envelope" in (case["value"] or {}) for case in comparison.readings.cases)
    for way, lane in ((COLUMNS_IN_JVM, True), (COLUMNS_IN_PYTHON, False)):
        if not has_schema:
            yield AbsentWay(way.name, _NO_SCHEMA)
        elif lane and not has_lane(session):
            yield AbsentWay(way.name, _NO_LANE)
        else:
            yield ComparedWay(way.name, _Columns(session, comparison, lane))
    if has_schema:
        comparison.findings += type_findings(session, comparison, COLUMNS_IN_PYTHON.name)


class _Columns:
    """Evaluates a chain on Spark's columns. An instance is called with a number of stages, and returns one result per
    record after that many stages.

    The result is None for a record without a schema, and for a record that the JVM lane (this package's Java code)
    leaves to Python.
    """

    def __init__(self, session: SparkSession, comparison: ChainComparison, lane: bool):
        self.comparison = comparison
        self.answers = SparkAnswers(session, lanes=(lane,), rest=False)

    def __call__(self, stages: int) -> Sequence[Result | None]:
        case = self.comparison.case(stages)
        (answer,) = self.answers([(case, case_chain(case))])
        if answer is None or "results" not in answer:
            statement = "" if answer is None else answer.get("broken", "")
            raise UnsupportedError(_broken(statement))
        results: list[Result | None] = answer["results"]
        return results


def _broken(exception: str) -> Any:
    from dagster_smt.errors import Problem

    hint = "run with --no-spark for the certificate of the Python evaluator, and report the chain"
    return Problem("SMT972", "certify", f"Spark stopped with {exception or 'an error'}", hint)


def _records(session: SparkSession, comparison: ChainComparison) -> ComparedWay | AbsentWay:
    """Returns the execution path through the JVM lane (this package's Java code). If the lane cannot run the chain,
    returns an ``AbsentWay`` with the reason.
    """
    if not has_lane(session):
        return AbsentWay(RECORDS_IN_JVM.name, _NO_LANE)
    ways: list[Way] = []
    try:
        # builds the frame, whose rows nobody reads: evaluate has chosen the execution path by then
        _evaluated(session, comparison, len(comparison.connect), ways.append)
    except (PlanError, UnsupportedError) as error:
        return AbsentWay(RECORDS_IN_JVM.name, error.problems[0].statement)
    if ways != [RECORDS_IN_JVM]:
        return AbsentWay(RECORDS_IN_JVM.name, "the JVM lane cannot run the chain on this format")

    numbers = {(s.topic, s.partition, s.offset): number for number, s in enumerate(comparison.readings.samples)}

    def after(stages: int) -> Sequence[Result | None]:
        evaluated = _evaluated(session, comparison, stages, ways.append)
        rows = evaluated.selectExpr("*", "unix_micros(__out.timestamp) AS __micros").collect()
        results: list[Result | None] = [None] * len(numbers)
        for row in rows:
            number = numbers[row["__topic"], row["__partition"], row["__offset"]]
            results[number] = _result(row, number, comparison)
        return results

    return ComparedWay(RECORDS_IN_JVM.name, after)


def _evaluated(session: SparkSession, comparison: ChainComparison, stages: int, note: Callable[[Way], None]) -> Any:
    """Runs the first ``stages`` stages of our chain on Spark, in the JVM lane (this package's Java code) if possible.
    Returns the rows, and calls ``note`` with the execution path on which the stages actually ran.
    """
    pair, reader = comparison.pair, comparison.reader
    chain: Chain = replace(pair.ours, stages=pair.ours.stages[:stages])
    samples = comparison.readings.samples
    plan = plan_chain(chain, None, None, topics=tuple(topics_of(samples)), typed=False)
    frame = frame_of_arrow(session, _table(samples))
    # whole=False: Python must not run the records that the lane leaves to it, since they would count for the lane
    return evaluate(frame, plan, Formats(reader.key, reader.value), "records", whole=False, note=note)


def _table(samples: Sequence[Sample]) -> pa.Table:
    headers = []
    for sample in samples:
        headers.append([{"key": name, "value": raw} for name, raw in sample.headers])
    columns: dict[str, list[Any]] = {
        "key": [sample.key for sample in samples],
        "value": [sample.value for sample in samples],
        "topic": [sample.topic for sample in samples],
        "partition": [sample.partition for sample in samples],
        "offset": [sample.offset for sample in samples],
        # CreateTime
        "timestampType": [0] * len(samples),
        "headers": headers,
    }
    micros = []
    for sample in samples:
        micros.append(None if sample.timestamp is None else 1000 * sample.timestamp)
    arrays = {}
    for name, column in columns.items():
        arrays[name] = pa.array(column, RECORD_FRAME.field(name).type)
    arrays["timestamp"] = pa.array(micros, pa.int64()).cast(RECORD_FRAME.field("timestamp").type)
    return pa.table({name: arrays[name] for name in RECORD_FRAME.names}, schema=RECORD_FRAME)


def _result(row: Any, number: int, comparison: ChainComparison) -> Result | None:
    if row["__status"] == LEFT:
        return None
    if row["__status"] == DROPPED_STATUS:
        return {"dropped": True}
    assert row["__status"] == PASSED
    case, out = comparison.readings.cases[number], row["__out"]
    reader = comparison.reader
    key, value = _bytes(out["key"]), _bytes(out["value"])
    headers = comparison.readings.samples[number].headers
    known = {}
    for (_, raw), datum in zip(headers, case["headers"], strict=True):
        known[raw] = datum["value"]
    record = {
        **case,
        "topic": out["topic"],
        "timestamp": None if row["__micros"] is None else row["__micros"] // 1000,
        "key": reader.converter.write(*reader.interpreter.key.read(key, out["topic"])) if reader.keys else None,
        "value": None if value is None else {"schemaless": value.decode()},
        "headers": [_header(header, known, comparison) for header in out["headers"] or ()],
    }
    return {"record": record, SPARK: True}


def _header(header: Any, known: dict[bytes | None, Any], comparison: ChainComparison) -> dict[str, Any]:
    """Returns ``header`` as a dict with its name and its decoded value, which can be compared. The value of an input
    header is in ``known``. The value of any other header is decoded from its bytes.
    """
    data = _bytes(header["value"])
    if data in known:
        return {"key": header["key"], "value": known[data]}
    schema, value = parse_simple_header(data)
    return {"key": header["key"], "value": comparison.reader.converter.write(schema, value), BYTES: data}
