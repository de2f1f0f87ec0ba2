"""Runs parity cases (chains with records and Kafka's results) on Spark. Records with schemas run in the Spark
evaluator, all other records in ``mapInArrow``.
"""

import json
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from dagster_smt.chain import Chain
from dagster_smt.chain.plan import fold_chain
from dagster_smt.errors import DataError, PlanError, Problem, UnsupportedError
from dagster_smt.interpret.interpreter import KEY_CONVERTER, PASSED, VALUE_CONVERTER
from dagster_smt.jvm.availability import has_lane
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.format import Format
from dagster_smt.spark import sql as F
from dagster_smt.spark.flat_columns import Layout, built
from dagster_smt.spark.outcome_columns import LEFT
from dagster_smt.spark.plain import reader, to_plain
from dagster_smt.spark.reading.start import typed_evaluator
from dagster_smt.spark.sql import Column, select
from dagster_smt.spark.stages.typed import State, TypedEvaluator
from dagster_smt.spark.typed_literals import MAX_MILLIS
from dagster_smt.spark.versions import frame_of_arrow
from dagster_smt.spark.workers import map_in_arrow
from dagster_smt.tools.parity.bridges import BYTES, SPARK
from dagster_smt.tools.parity.datums import DROPPED, Converter, case_chain, failure
from dagster_smt.tools.parity.runner import answer_to, broken
from dagster_smt.values.headers.literals import parse_simple_header

Case = dict[str, Any]
Answer = dict[str, Any]
RECORD_FRAME = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)
"""The schema of records as Spark's Kafka source returns them."""
_FRAME = RECORD_FRAME.append(pa.field("in_row", pa.int32()))
_THREADS = 4  # most of the time goes into calls from Python to the driver and back
_TYPES = {"CreateTime": 0, "LogAppendTime": 1}
_SIDES = ("key", "value")


@dataclass
class SparkAnswers:
    """A runner of cases in a Spark session. The runner also counts how many records each evaluator processed.

    Attributes:
        session: The Spark session.
        lanes: The parsers of values, in order: True is the JVM lane (this package's Java code), False is Python. With
            ``(True, False)``, Python parses the values that the JVM lane cannot parse. None stands for
            ``(True, False)``, or for ``(False,)`` if the session has no JVM lane.
        rest: False to skip records without a schema, so that their results are None.
        typed, other: The number of records processed by the Spark evaluator, and in ``mapInArrow``.
        unplanned: The reasons why batches of records with schemas could not use the Spark evaluator.
    """

    session: SparkSession
    lanes: tuple[bool, ...] | None = None
    rest: bool = True
    typed: int = 0
    other: int = 0
    unplanned: list[str] = field(default_factory=list)

    def __call__(self, cases: list[tuple[Case, Chain]]) -> list[Answer | None]:
        answers = []
        for case, chain in cases:
            answers.append(_Answers(case, chain))
        with ThreadPoolExecutor(_THREADS) as pool:
            self.typed += sum(pool.map(self._attempt, answers))
        if not self.rest:
            return [a.broken or {"results": a.results} for a in answers]
        rest = []
        for number, a in enumerate(answers):
            if a.missing and a.broken is None:
                rest.append((number, a))
        self.other += sum(len(a.missing) for _, a in rest)
        jobs = []
        for number, answer in rest:
            records = []
            for i in answer.missing:
                records.append(answer.case["records"][i])
            jobs.append((number, {**answer.case, "records": records}))
        for number, batch_answer in self._in_arrow(jobs):
            answers[number].take(batch_answer)
        return [a.broken or {"results": a.results} for a in answers]

    def _attempt(self, answer: "_Answers") -> int:
        """Runs the records of ``answer`` that have schemas, and returns their number. If an exception occurs, the
        exception becomes the answer of this case, so that the other cases continue.
        """
        try:
            return self._typed(answer)
        except Exception as error:  # noqa: BLE001 - whatever Spark raises, it belongs to this case
            answer.broken = broken(error)
            return 0

    def _typed(self, answer: "_Answers") -> int:
        """Runs a part of the case ``answer`` in the Spark evaluator: the records that have schemas. Adds their results
        to ``answer``. Returns the number of records with a result.
        """
        done = 0
        for batch in answer.batches():
            try:
                results = list(batch.run(self.session, answer, self.lanes))
            except (PlanError, UnsupportedError) as error:
                self.unplanned.append(f"{answer.case['id']}: {error.problems[0].code} {error.problems[0].statement}")
                continue
            for number, result in results:
                if result is not None:
                    answer.results[number] = {**result, SPARK: True}
                    done += 1
        return done

    def _in_arrow(self, jobs: list[tuple[int, Case]]) -> Iterator[tuple[int, Answer]]:
        if not jobs:
            return
        texts = []
        for _, c in jobs:
            texts.append(json.dumps(c).encode())
        table = pa.table({"number": [n for n, _ in jobs], "text": texts})
        frame = map_in_arrow(frame_of_arrow(self.session, table), _run_batches, "number bigint, text binary")
        for row in frame.collect():
            yield row["number"], json.loads(row["text"])


def on_spark(cases: list[tuple[Case, Chain]]) -> list[Answer | None]:
    """Runs ``cases`` on Spark, and returns one answer per case. Uses the active Spark session, or starts a local one
    and stops it at the end.
    """
    session = SparkSession.getActiveSession()
    if session is not None:
        return SparkAnswers(session)(cases)
    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "3g")
    builder = builder.config(
        "spark.sql.ui.retainedExecutions", "1"
    )  # there are thousands of plans, and some take up megabytes
    session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    try:
        return SparkAnswers(session)(cases)
    finally:
        session.stop()


def _run_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs the cases in ``batches`` in the Python evaluator, and yields their results. The batches come from one
    partition of a Spark frame.
    """
    for batch in batches:
        cases = []
        for text in batch.column("text").to_pylist():
            cases.append(json.loads(text))
        texts = []
        for case in cases:
            texts.append(json.dumps(answer_to(case, case_chain(case))).encode())
        yield pa.RecordBatch.from_arrays([batch.column("number"), pa.array(texts, pa.binary())], ["number", "text"])


class _Answers:
    """A case (a chain with records) and the results that its records have so far."""

    def __init__(self, case: Case, chain: Chain):
        self.case, self.chain = case, chain
        self.converter = Converter(case.get("converter") or {})
        self.results: list[Any] = [None] * len(case["records"])
        self.broken: Answer | None = None

    @property
    def missing(self) -> list[int]:
        results = []
        for number, result in enumerate(self.results):
            if result is None:
                results.append(number)
        return results

    def take(self, answer: Answer) -> None:
        """Stores the results in ``answer``. They belong to those records of this case that have no result yet, in the
        same order. An ``answer`` without results becomes the answer of the whole case.
        """
        if "results" not in answer:
            self.broken = answer
            return
        for number, result in zip(self.missing, answer["results"], strict=True):
            self.results[number] = result

    def batches(self) -> list["_Batch"]:
        """Groups the records that have schemas into batches. The records of a batch have the same schemas and the same
        ``kind``, which is ``sink`` or ``source``.

        If a key or value is null, the schema of another record in the case is used.
        """
        shown: dict[str, Schema] = {}
        read = []
        for record in self.case["records"]:
            read.append(self._sides(record, shown))
        batches: dict[Any, _Batch] = {}
        for number, sides in enumerate(read):
            if sides is None:
                continue
            schemas = {}
            for name, side in sides.items():
                schemas[name] = side.schema or shown.get(name)
            if schemas["value"] is None:
                continue
            kind = self.case["records"][number]["kind"]
            group = (schemas["key"], schemas["value"], kind)
            batch = batches.setdefault(group, _Batch(schemas["key"], schemas["value"], kind))
            batch.rows.append((number, sides))
        return list(batches.values())

    def _sides(self, record: Case, shown: dict[str, Schema]) -> "dict[str, _SideText] | None":
        try:
            sides = {}
            for name in _SIDES:
                sides[name] = self._side(record[name])
        except DataError:
            return None
        if any(record[name] is not None and side.schema is None for name, side in sides.items()):
            return None
        for name, side in sides.items():
            if side.schema is not None:
                shown.setdefault(name, side.schema)
        return sides

    def _side(self, datum: dict[str, str] | None) -> "_SideText":
        if datum is None or "envelope" not in datum:
            return _SideText(None, None)
        side = _SideText(*self.converter.split(datum["envelope"].encode()))
        # Spark reads the payload as declared JSON, in which a float may be one of these strings; in an envelope it may
        # not
        if _NOT_FINITE.search(side.payload or b""):
            return _SideText(None, None)
        return side


_NOT_FINITE = re.compile(rb'"-?(NaN|Infinity)"')


@dataclass(frozen=True)
class _SideText:
    schema: Schema | None
    payload: bytes | None


@dataclass
class _Batch:
    """Records of one case (a chain with records) that have the same schemas. They run in Spark as one frame."""

    key: Schema | None
    value: Schema
    kind: str
    rows: list[tuple[int, dict[str, _SideText]]] = field(default_factory=list)

    def run(
        self, session: SparkSession, answer: _Answers, lanes: tuple[bool, ...] | None = None
    ) -> Iterator[tuple[int, Answer | None]]:
        """Runs the batch in the Spark evaluator. Yields pairs of a record's number and its result.

        Args:
            session: The Spark session.
            answer: The case to which the batch belongs.
            lanes: The parsers of values, in order: True is the JVM lane (this package's Java code), False is Python.
                With ``(True, False)``, Python parses the values that the JVM lane cannot parse. None stands for
                ``(True, False)``, or for ``(False,)`` if the session has no JVM lane.

        Raises:
            PlanError: Spark has no type for a schema.
            UnsupportedError: The Spark evaluator does not support the case.
        """
        records = []
        for number, _ in self.rows:
            records.append(answer.case["records"][number])
        topics = {r["topic"] for r in records}
        # the topic of a record may be null in a case
        known = () if None in topics else tuple(topics)
        plan = fold_chain(answer.chain, self.key, self.value, topics=known, kind=self.kind)
        form = answer.converter.form
        formats = []
        for s in (self.key, self.value):
            formats.append(Format("json_schema", s, form.replace_null_with_default, form.decimal_format))
        frame = frame_of_arrow(session, self._table(records))
        if lanes is None:
            lanes = (True, False) if has_lane(session) else (False,)
        for lane in lanes:
            evaluator = typed_evaluator(frame, plan, *formats, headers=True, lane=lane)
            evaluator.run()
            rows = _collected(evaluator.frame, evaluator).collect()
            for row in rows:
                if row["__status"] != LEFT:
                    yield (row["in_row"], _result(row, evaluator, answer))
            left = []
            for row in rows:
                if row["__status"] == LEFT:
                    left.append(row["in_row"])
            if not left:
                return
            frame = frame.where(f"in_row IN ({', '.join(map(str, left))})")

    def _table(self, records: list[Case]) -> pa.Table:
        columns: dict[str, list[Any]] = {}
        for name in ("topic", "partition", "offset"):
            columns[name] = [r.get(name) for r in records]
        for name in _SIDES:
            columns[name] = [sides[name].payload for _, sides in self.rows]
        moments = []
        for r in records:
            moments.append(_micros(r["timestamp"]))
        columns["timestampType"] = [_TYPES.get(r["timestampType"]) for r in records]
        columns["headers"] = []
        for r in records:
            headers = []
            for h in r["headers"]:
                # the bytes are the datum itself, so that _header recognizes a header that no stage has changed
                headers.append({"key": h["key"], "value": msgspec.json.encode(h["value"])})
            columns["headers"].append(headers)
        columns["in_row"] = [number for number, _ in self.rows]
        arrays = {}
        for n, column in columns.items():
            arrays[n] = pa.array(column, _FRAME.field(n).type)
        arrays["timestamp"] = pa.array(moments, pa.int64()).cast(_FRAME.field("timestamp").type)
        return pa.table({name: arrays[name] for name in _FRAME.names}, schema=_FRAME)


def _micros(millis: int | None) -> int | None:
    """Returns ``millis`` in microseconds, or None if Spark cannot store such a timestamp. The function computes with
    integers, because ``datetime`` has a smaller range than Spark.
    """
    if millis is None or abs(millis) > MAX_MILLIS:
        return None
    return millis * 1000


def _collected(frame: DataFrame, evaluator: TypedEvaluator) -> DataFrame:
    """Returns ``frame`` with columns that Python can read. These are the status columns, and the struct columns ``v0``,
    ``v1`` and so on: one for each schema that a record may have after the chain. Each struct contains the key, the
    value and the metadata.
    """
    columns = ["in_row", "__status", "__stage", "__why", "in_problem", *(["__variant"] if evaluator.variants else [])]
    variants = []
    for n, state in evaluator.states.items():
        variants.append(_variant(state).alias(f"v{n}"))
    return select(frame, *map(F.col, columns), *variants)


def _variant(state: State) -> Column:
    sides = []
    for name in _SIDES:
        if name in state.sides:
            sides.append(_plain(state.sides[name]).alias(name))
    metadata = []
    for name in ("topic", "partition", "offset", "headers"):
        metadata.append(F.col(state.columns[name]).alias(name))
    if "timestamp" in state.columns:
        # as a number, because Python's datetime has a smaller range than Spark's timestamps
        metadata.append(F.unix_micros(F.col(state.columns["timestamp"])).alias("timestamp"))
    return F.struct(*sides, *metadata)


def _plain(layout: Layout) -> Column:
    return to_plain(built(layout), layout.schema)


def _result(row: Any, evaluator: TypedEvaluator, answer: _Answers) -> Answer | None:
    """Returns the result in ``row``, a row from Spark: ``{"record": ...}``, ``{"dropped": True}`` or an error.

    Returns None if the plan has no schema for this row. This happens if a key or value is null before a stage that
    rejects all nulls.
    """
    if row["__status"] == DROPPED:
        return {"dropped": True}
    if row["__status"] != PASSED:
        problem_row = row["in_problem"]
        if problem_row is None:
            problem = evaluator.problems[row["__why"]]
        else:
            problem = Problem(place="", **problem_row.asDict())
        return _failure(problem, row["__stage"], answer.chain)
    number = row["__variant"] if evaluator.variants else 0
    if number not in evaluator.states:
        return None
    state, values = evaluator.states[number], row[f"v{number}"]
    before = answer.case["records"][row["in_row"]]
    after = {**before, **{name: values[name] for name in ("topic", "partition", "offset")}}
    after["timestamp"] = _timestamp(values, before, answer.chain)
    for name in _SIDES:
        value = values[name] if name in state.sides else None  # no record with a value for this key or value has passed
        if value is None:
            after[name] = None
        else:
            schema = state.sides[name].schema
            after[name] = answer.converter.write(schema, reader(schema)(value))
    known = {}
    for h in before["headers"]:
        known[msgspec.json.encode(h["value"])] = h["value"]
    headers = []
    for h in values["headers"] or ():
        headers.append(_header(h, known, answer.converter))
    after["headers"] = headers
    return {"record": after}


def _timestamp(values: Any, before: Case, chain: Chain) -> int | None:
    """Returns the record's timestamp after the chain, in milliseconds; None if there is none. If Spark returns no
    column ``timestamp`` and the chain cannot set the timestamp, the result is the timestamp before the chain.
    """
    if "timestamp" not in values and not chain.writes_timestamp:
        return _read_back(_micros(before["timestamp"]))
    return _read_back(values["timestamp"])


def _read_back(micros: int | None) -> int | None:
    if micros is None:
        return None
    return micros // 1000


def _header(row: Any, known: dict[bytes, Any], converter: Converter) -> dict[str, Any]:
    """Returns the header in ``row`` as a dict with its name and datum. ``known`` maps the bytes of the input headers to
    their datums. The bytes of any other header are decoded.
    """
    data = None if row["value"] is None else bytes(row["value"])
    if data in known:
        return {"key": row["key"], "value": known[data]}
    schema, value = parse_simple_header(data)
    return {"key": row["key"], "value": converter.write(schema, value), BYTES: data}


def _failure(problem: Problem, stage: int, chain: Chain) -> Answer:
    places = {KEY_CONVERTER: "key.converter", VALUE_CONVERTER: "value.converter"}
    return failure(problem, places.get(stage) or chain.stages[stage].alias)
