"""The recorded cases in the stages that Spark's JVM calls: they give what the host gives, and what Connect gave.

A plain JVM runs these stages, so the test needs no Spark.
"""

import json
import os
import struct
import subprocess
from collections import Counter
from dataclasses import dataclass, replace
from io import BytesIO

import pyarrow as pa
import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.chain.plan import ledger_entries
from dagster_smt.errors import ConfigError, EngineError
from dagster_smt.foreign.check import classes_for
from dagster_smt.foreign.kafkas_classes import runs_in_jvm, why_in_host
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.records import arrow_map
from dagster_smt.spark.records.arrow_map import ArrowMap
from dagster_smt.spark.records.connect_records import _setup
from tests.certify.test_vendors import DEBEZIUM, form_of, samples_of_case
from tests.foreign.jar import KAFKA, VENDORS, chain_of, missing_vendor
from tests.foreign.java_judges import command_of
from tests.parity.cases import KAFKAS, cases_of
from tests.parity.cases import VENDORS as VENDORS_FILES

PASSED, DROPPED, FAILED = range(3)
RECORDED = [path for path in KAFKAS if path.name != "kip821.jsonl"]
"""Kafka's classes have no paths yet, so the cases of KIP-821 are the proposal's."""
FORMS = {"json": "schemaless", "envelope": "envelope"}
EMPTY = {"key": None, "value": None, "topic": None, "timestamp": None, "target_partition": None, "headers": None}


@dataclass(frozen=True)
class Ready:
    """A recorded case with its chain and its records."""

    case: dict
    job: ArrowMap
    samples: list


def is_of_a_topic(record):
    """Returns whether a topic can have a record: those of sources have no place yet."""
    return record["kind"] == "sink" and record["topic"] and None not in (record["partition"], record["offset"])


def ready(case, **more):
    """Returns a case; None if the classes refuse its options, or a side has several formats."""
    forms = [form_of([record[side] for record in case["records"]]) for side in ("key", "value")]
    if None in forms or case.get("converter") or "results" not in case["expect"]:
        return None
    if not all(map(is_of_a_topic, case["records"])):
        return None
    properties = {name: text for name, text in case["config"].items() if text is not None}
    try:
        chain = parse_chain({**properties, "engine": "connect"}, unknown_options="warn", **more)
    except ConfigError:
        return None
    job = ArrowMap(chain, *forms, len(ledger_entries(chain)))
    samples = []
    for sample, record in zip(samples_of_case(case), case["records"], strict=True):
        samples.append(replace(sample, partition=record["partition"], offset=record["offset"]))
    return Ready(case, job, samples) if runs_in_jvm(chain, *forms) else None


def packed(data):
    if data is None:
        return struct.pack(">i", -1)
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">i", len(data)) + data


def sent(one):
    """Returns a case in the words of the harness."""
    setup = _setup(one.job, classes_for(one.job.chain.foreign)).split("\n")[0]
    parts = [packed(setup), struct.pack(">i", len(one.samples))]
    for s in one.samples:
        time = struct.pack(">?", False) if s.timestamp is None else struct.pack(">?q", True, s.timestamp)
        parts += [packed(s.key), packed(s.value), packed(s.topic), struct.pack(">iq", s.partition, s.offset), time]
        parts.append(struct.pack(">ii", 1, len(s.headers)))
        for name, raw in s.headers:
            parts += [packed(name), packed(raw)]
    return b"".join(parts)


class Answers:
    """Reads the answers of the harness."""

    def __init__(self, data):
        self.data = BytesIO(data)

    def number(self, form=">i"):
        return struct.unpack(form, self.data.read(struct.calcsize(form)))[0]

    def raw(self):
        length = self.number()
        return None if length < 0 else self.data.read(length)

    def text(self):
        raw = self.raw()
        return None if raw is None else raw.decode()

    def row(self, sample):
        """Returns the row of a record; None if it was left."""
        if not self.number(">?"):
            return None
        row = {"status": self.number(), "stage": self.number(), "thrown": self.text()}
        row |= {"key": self.raw(), "value": self.raw(), "topic": self.text()}
        partition, timestamp = self.text(), self.text()
        row["target_partition"] = None if partition is None else int(partition)
        row["timestamp"] = None if timestamp is None else int(timestamp)
        count = self.number()
        headers = [(self.text(), self.raw()) for _ in range(count)]
        row["headers"] = list(sample.headers) if count < 0 else headers
        return row if row["status"] == PASSED else row | EMPTY


def of_spark(cases, folder):
    """Returns the rows of each case in a plain JVM."""
    records, results = folder / "cases", folder / "results"
    records.write_bytes(struct.pack(">i", len(cases)) + b"".join(map(sent, cases)))
    command = command_of("LocalHarness", folder, "-Duser.timezone=UTC")
    subprocess.run([*command, records, results], check=True, capture_output=True)
    answers = Answers(results.read_bytes())
    return [[answers.row(sample) for sample in one.samples] for one in cases]


def of_host(one):
    """Returns the rows of a case in the host; None if its class refuses the options."""
    headers = [[{"key": name, "value": raw} for name, raw in s.headers] for s in one.samples]
    times = [None if s.timestamp is None else s.timestamp * 1000 for s in one.samples]
    size = len(one.samples)
    columns = {
        "topic": pa.array([s.topic for s in one.samples], pa.string()),
        "partition": pa.array([s.partition for s in one.samples], pa.int32()),
        "offset": pa.array([s.offset for s in one.samples], pa.int64()),
        "timestamp": pa.array(times, pa.timestamp("us", tz="UTC")),
        "timestampType": pa.repeat(pa.scalar(0, pa.int32()), size),
        "headers": pa.array(headers, arrow_map._HEADERS),
        "key": pa.array([s.key for s in one.samples], pa.binary()),
        "value": pa.array([s.value for s in one.samples], pa.binary()),
    }
    try:
        (batch,) = one.job([pa.RecordBatch.from_pydict(columns)])
    except EngineError as error:
        assert error.problems[0].code == "SMT646"
        return None
    micros = batch.schema.get_field_index("timestamp")
    plain = batch.set_column(micros, "timestamp", batch.column(micros).cast(pa.int64()))
    return list(map(comparable, plain.to_pylist()))


def comparable(row):
    problem = row["__problem"]
    out = {"status": row["__status"], "stage": row["__stage"], "thrown": problem and problem["connect_class"]}
    if row["__status"] != PASSED:
        return out | EMPTY
    out |= {name: row[name] for name in ("key", "value", "topic", "target_partition")}
    out["timestamp"] = None if row["timestamp"] is None else row["timestamp"] // 1000
    out["headers"] = [(header["key"], header["value"]) for header in row["headers"] or ()]
    return out


def as_single(text):
    """Returns a number in 32 bits, whose digits are not the same in all versions of Java."""
    try:
        return struct.unpack(">f", struct.pack(">f", float(text)))[0]
    except OverflowError:
        return float(text)


def spelled(row, real=float):
    """Returns a row with JSON as data."""
    out = dict(row)
    for side in ("key", "value"):
        try:
            out[side] = None if row[side] is None else json.loads(row[side], parse_float=real)
        except (ValueError, RecursionError):
            out[side] = row[side] if isinstance(row[side], str) else row[side].decode("utf-8", "replace")
    return out


def is_as_recorded(one, sample, row, recorded):
    """Returns whether Connect made the same of a record. What no stage changes keeps its spelling (D5)."""
    if "record" not in recorded:
        if "dropped" in recorded:
            return row["status"] == DROPPED
        return row["status"] == FAILED and row["thrown"] == recorded["error"]["class"]
    expected = recorded["record"]
    if row["status"] != PASSED or (row["topic"], row["timestamp"]) != (expected["topic"], expected["timestamp"]):
        return False
    written = {"key": one.job.key.kind, "value": one.job.value.kind}
    for side, form in written.items():
        text = (expected[side] or {}).get(FORMS[form])
        if text is None or row[side] == getattr(sample, side):
            continue
        if spelled(row)[side] != spelled({"key": text, "value": text})[side]:
            return False
    return True


def check(cases, folder):
    """Compares cases; returns how many rows there were of each status, None for those that were left."""
    statuses = Counter()
    for one, rows in zip(cases, of_spark(cases, folder), strict=True):
        for sample, row, recorded in zip(one.samples, rows, one.case["expect"]["results"], strict=True):
            # bytes of a header have the type that Connect guesses, and Debezium's cases have headers of all types
            if row is not None and not (sample.headers and one.job.chain.foreign.jars):
                assert is_as_recorded(one, sample, row, recorded), one.case["id"]
        host = of_host(one)
        if host is None:
            assert set(rows) == {None}
            continue
        for row, expected in zip(rows, host, strict=True):
            statuses[row and row["status"]] += 1
            # a record with headers takes another way in the host, which spells numbers and objects in another way
            same = row in (None, expected) or spelled(row, as_single) == spelled(expected, as_single)
            assert same, one.case["id"]
    return statuses


def test_why_a_chain_needs_the_host(jar):
    text, json_, avro = Format("string"), Format("json"), Format("avro-confluent", options={"url": "http://localhost"})
    trusted = chain_of(jar, "Upper", stage_process="spark")
    assert why_in_host(trusted, text, json_) == ""
    assert why_in_host(trusted, text, avro) == "Python reads the format of the values"
    assert why_in_host(chain_of(jar, "Upper"), text, json_) == "stage.process is own"
    ours = ("ReplaceField$Value", {"exclude": "a"})
    mixed = chain_of(jar, "Upper", ours, stage_process="spark")
    assert why_in_host(mixed, text, json_) == "transforms.s1 or its predicate is no class of a jar"
    kafkas = chain_of(jar, (f"{KAFKA}ReplaceField$Value", {"exclude": "a"}), engine="connect", stage_process="spark")
    assert why_in_host(kafkas, text, json_) == ""


def test_every_fifteenth_recorded_case_of_kafka(tmp_path):
    cases = [one for path in RECORDED for case in cases_of(path)[::15] if (one := ready(case)) is not None]
    statuses = check(cases, tmp_path)
    assert statuses[PASSED] > 50 and statuses[FAILED] > 5


@pytest.mark.long
def test_every_recorded_case_of_kafka(tmp_path):
    cases = [one for path in RECORDED for case in cases_of(path) if (one := ready(case)) is not None]
    statuses = check(cases, tmp_path)
    assert statuses[PASSED] > 600 and statuses[FAILED] > 100


def of_vendor(names, jar):
    """Returns the cases of a vendor's files, as chains that trust the vendor's jar."""
    cases = []
    for path in VENDORS_FILES:
        if path.name.partition(".")[0] not in names:
            continue
        for case in cases_of(path):
            case = {**case, "config": {**case["config"], "stage.process": "spark"}}
            cases.append(ready(case, smt_jars=[jar]))
    return [one for one in cases if one is not None]


@pytest.mark.long
def test_every_recorded_case_of_debezium(tmp_path):
    if reason := missing_vendor("debezium"):
        pytest.skip(reason)
    statuses = check(of_vendor(DEBEZIUM, VENDORS["debezium"]), tmp_path)
    assert statuses[PASSED] > 300 and statuses[FAILED] > 100


@pytest.mark.long
def test_every_recorded_case_of_aiven(tmp_path):
    jar = os.environ.get("SMT_AIVEN_JAR")
    if not jar:
        pytest.skip("SMT_AIVEN_JAR names no jar of Aiven's transforms")
    statuses = check(of_vendor(["aiven"], jar), tmp_path)
    assert statuses[PASSED] > 150 and statuses[FAILED] > 100
