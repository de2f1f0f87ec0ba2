"""Odd records of every format in one Spark job, judged record by record against the interpreter.

One record that a converter cannot take must cost nothing but itself: no job ends, no other record changes.
"""

import base64
import io
import json
import random
from dataclasses import dataclass
from datetime import datetime, timezone

import fastavro
import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2 as pb

from dagster_smt.chain import parse_chain
from dagster_smt.interpret.interpreter import FAILED, Interpreter
from dagster_smt.model.record import Header, Record
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.outcome_columns import TIMESTAMP_TYPES
from dagster_smt.spark.records.arrow_map import ArrowMap, evaluate_records
from dagster_smt.spark.versions import frame_of_arrow
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.values.headers.fields import header_bytes
from dagster_smt.values.headers.literals import parse_simple_header
from tests.interpret.test_protobuf import of
from tests.spark.test_evaluators_agree import FRAME

TEXTS = [
    "1e9999999999999999999999", "1e-99999999999999999999", "NaN", "-Infinity", "9" * 400, "-0.0", "0x1p3", "", " 1 ",
    "２", "7", "2020-01-01", "9999-12-31 23:59:59", "-290308-12-21", "true", '"', "\\", "\\u0000", "\ud800", "\x00",
    "'", "[1,", "${x}", "a,b", '"a","b', "é" * 50, "[" * 500, "{}", '{"a":1}', "null",
]  # fmt: skip
NUMBERS = [0, -1, 2**31, 2**63 - 1, -(2**63), 2**63, 2**70, 1.5, 1e308, -0.0, True, None]
MICROS = [None, 0, -1, -62_135_596_800_000_000, 253_402_300_799_999_999, 2**62, -(2**62), 1_700_000_000_123_456]
TYPES = "INT BIGINT FLOAT DOUBLE DECIMAL(9,2) BOOLEAN DATE TIMESTAMP BYTES ARRAY<INT> STRING".split()
AVRO = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "a", "type": ["null", "string", "double", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}},
        {"name": "l", "type": {"type": "array", "items": "int"}},
    ],
}
KINDS = ("json", "json_schema", "csv", "debezium-json", "canal-json", "envelope", "avro", "protobuf")
COPY = {
    "transforms": "copy,drop",
    "transforms.copy.type": "org.apache.kafka.connect.transforms.HeaderFrom$Value",
    "transforms.copy.fields": "a",
    "transforms.copy.headers": "copied",
    "transforms.copy.operation": "copy",
    "transforms.drop.type": "org.apache.kafka.connect.transforms.DropHeaders",
    "transforms.drop.headers": "x",
}
MASK = {
    "transforms": "copy,drop,mask",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "a",
}


class Odd:
    """Odd records, made of a seed."""

    def __init__(self, seed, kind):
        self.draw, self.kind = random.Random(f"{seed} {kind}"), kind

    def text(self):
        """A text, now and then of any characters."""
        if self.draw.random() < 0.2:
            return "".join(chr(self.draw.choice([0, 9, 34, 44, 92, 233, 0x2028, 0x10400])) for _ in range(4))
        return self.draw.choice(TEXTS)

    def any(self, depth=2):
        """A JSON value."""
        chosen = self.draw.random()
        if depth and chosen < 0.15:
            return [self.any(depth - 1) for _ in range(self.draw.randrange(3))]
        if depth and chosen < 0.3:
            return {self.draw.choice(["a", "b", "", "a.b"]): self.any(depth - 1) for _ in range(self.draw.randrange(3))}
        return self.text() if chosen < 0.7 else self.draw.choice(NUMBERS)

    def row(self):
        """The columns of a row, one of them odd; often a row that any declaration takes."""
        if self.draw.random() < 0.3:
            return {"a": None}
        return {"a": self.any()} if self.draw.random() < 0.9 else self.any()

    def value(self):
        """The bytes of a value."""
        if self.draw.random() < 0.05:
            return self.draw.choice([None, b"", b"\xff\xfe", b"\0" * 9, b"{", b"null"])
        raw = getattr(self, self.kind.replace("-", "_"))()
        raw = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
        if self.draw.random() < 0.15 and raw:
            place = self.draw.randrange(len(raw))
            raw = raw[:place] + bytes([self.draw.randrange(256)]) + raw[place + 1 :]
        return raw

    def json(self):
        if self.draw.random() < 0.3:
            return '{"a":' + self.text() + "}"
        return json.dumps(self.row())

    json_schema = json

    def csv(self):
        return self.text()

    def debezium_json(self):
        event = {
            "op": self.draw.choice(["c", "u", "d", "r", "t", "x", None, 1]),
            "before": self.row(),
            "after": self.row(),
        }
        return json.dumps({name: value for name, value in event.items() if self.draw.random() < 0.9})

    def canal_json(self):
        event = {"type": self.draw.choice(["INSERT", "DELETE", "UPDATE", "CREATE", 7, None])}
        event |= {"data": [self.row()], "isDdl": self.draw.choice([False, True, "x"]), "old": [self.row()]}
        return json.dumps({name: value for name, value in event.items() if self.draw.random() < 0.9})

    def envelope(self):
        kind = self.draw.choice(["double", "int8", "int64", "string", "bytes", "boolean", "odd"])
        fields = [{"field": "a", "type": kind, "optional": self.draw.random() < 0.5}]
        if self.draw.random() < 0.3:
            fields[0]["default"] = self.any(0)
        return json.dumps({"schema": {"type": "struct", "fields": fields}, "payload": self.row()})

    def avro(self):
        out, result = (
            io.BytesIO(),
            self.draw.choice([None, "x", 1.5, float("nan"), datetime(9999, 12, 31, tzinfo=timezone.utc)]),
        )
        digits = self.draw.choice([b"", b"\x7f", b"\xff" * 40])
        row = {"a": result, "d": digits, "l": [1] * self.draw.randrange(3)}
        plain = json.loads(json.dumps(AVRO).replace(', "logicalType": "decimal"', ""))
        fastavro.schemaless_writer(out, fastavro.parse_schema(plain), row)
        return out.getvalue()

    def protobuf(self):
        return self.draw.choice(
            [b"\x0a\x01x", b"\x0a\xff", b"\x0a\x02\xed\xa0", b"\x10\x07", b"\x0a\x80\x80\x80\x80\x08x", b"\x1a\x00"]
        )

    def record(self):
        """A row of the frame that a source gives."""
        headers = [("x", self.text()), (self.draw.choice(["h", "", "copied", "é"]), self.text())]
        return {
            "key": self.draw.choice([None, b"k", b"\xff"]),
            "value": self.value(),
            "topic": self.draw.choice(["t", "t.u", "T-1"]),
            "partition": self.draw.choice([0, 2**31 - 1]),
            "timestamp": self.draw.choice(MICROS),
            "timestampType": self.draw.choice([-1, 0, 1, 7]),
            "headers": [
                {"key": name, "value": self.draw.choice([None, text.encode("utf-8", "surrogatepass")])}
                for name, text in headers[: self.draw.randrange(3)]
            ],
        }


@dataclass(frozen=True)
class Case:
    """Records of one format, and the chain that they go through."""

    table: TopicTable
    rows: list

    @property
    def chain(self):
        if self.table.value.kind in ("json", "json_schema", "envelope"):
            return parse_chain({**COPY, **MASK})
        field = "row" if self.table.value.kind in ("debezium-json", "canal-json") else "a"
        return parse_chain(
            {**COPY, "transforms.copy.fields": field}
        )  # what is in lines, messages, Avro is looked at; only JSON is written again


def case_of(kind, seed, count):
    """Odd records of a format."""
    odd = Odd(seed, kind)
    column = "STRING" if kind in ("avro", "protobuf", "envelope") else odd.draw.choice(TYPES)
    options, columns = {}, {"a": column}
    if kind == "avro":
        options, columns = {"schema": json.dumps(AVRO)}, {}
    if kind == "protobuf":
        files = pb.FileDescriptorSet(file=[pb.FileDescriptorProto.FromString(of("a:string", "b:int32", "c:bytes"))])
        options = {"descriptor": base64.b64encode(files.SerializeToString()).decode(), "message-name": "M"}
        columns = {}
    if kind == "envelope" or (kind == "json" and seed % 2):
        columns = {}
    names = "json" if kind == "json_schema" else kind
    table = TopicTable(FileTopics("unused"), ("t", "t.u", "T-1"), value=Format(names, options=options), columns=columns)
    return Case(table, [odd.record() | {"offset": number} for number in range(count)])


def frame_of(spark, rows):
    """The records as a source gives them; far moments as numbers of microseconds."""
    table = pa.Table.from_pylist([row | {"timestamp": None} for row in rows], FRAME)
    micros = pa.array([row["timestamp"] for row in rows], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    return frame_of_arrow(spark, table.set_column(table.schema.get_field_index("timestamp"), "timestamp", micros))


def in_python(case):
    """What the interpreter makes of each record, alone."""
    interpreter, results = Interpreter(case.chain, Format("bytes"), case.table.value), []
    for row in case.rows:
        micros = row["timestamp"]
        record = Record(
            row["topic"], row["partition"], row["offset"], None if micros is None else micros // 1000, number=0
        )
        record.timestamp_type = TIMESTAMP_TYPES.get(row["timestampType"])
        headers = []
        for header in row["headers"]:
            schema, value = parse_simple_header(header["value"])
            headers.append(Header(header["key"], schema, value, header["value"], from_stage=False))
        record.headers = headers
        done = interpreter.run_all([record], None, [row["value"]])
        if 0 in done.lost:
            lost = done.lost[0]
            results.append((lost.status, lost.stage, lost.problem and (lost.problem.code, lost.problem.statement)))
            continue
        headers = [(header.key, header_bytes(header)) for header in record.headers]
        results.append((0, done.values[0], record.topic, micros, headers, record.touched))
    return results


def on_spark(spark, cases):
    """The same of Spark: all formats in one job."""
    frames = []
    for number, case in enumerate(cases):
        entries = sum(len(stage.transform.ledger()) for stage in case.chain.stages)
        job = ArrowMap(case.chain, Format("bytes"), case.table.value, entries)
        done = evaluate_records(frame_of(spark, case.rows), job)
        frames.append(
            done.selectExpr(
                f"{number} AS number", "__offset", "__status", "__stage", "__problem", "__touched",
                "__out.value AS value", "__out.topic AS topic", "unix_micros(__out.timestamp) AS micros",
                "__out.headers AS headers",
            )
        )  # fmt: skip
    together = frames[0]
    for frame in frames[1:]:
        together = together.unionByName(frame)
    results = [[None] * len(case.rows) for case in cases]
    for row in together.collect():
        results[row["number"]][row["__offset"]] = row_in_python_form(row)
    return results


def row_in_python_form(row):
    """A row of the result as ``in_python`` tells it."""
    if row["__status"]:
        problem = row["__problem"]
        return row["__status"], row["__stage"], problem and (problem["code"], problem["statement"])
    headers = [(h["key"], None if h["value"] is None else bytes(h["value"])) for h in row["headers"] or ()]
    value = None if row["value"] is None else bytes(row["value"])
    touched = sum(word << 62 * n for n, word in enumerate(row["__touched"]))
    return 0, value, row["topic"], row["micros"], headers, touched


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 150), *(pytest.param(seed, 2_000, marks=pytest.mark.long) for seed in range(2, 12))]
)
def test_odd_records_on_spark_are_as_in_the_interpreter(spark, seed, count):
    cases = [case_of(kind, seed, count) for kind in KINDS]
    for kind, case, result in zip(KINDS, cases, on_spark(spark, cases), strict=True):
        expected = in_python(case)
        wrong = [(case.rows[n], f, w) for n, (f, w) in enumerate(zip(result, expected, strict=True)) if f != w]
        assert wrong == [], (kind, seed, len(wrong), wrong[:2])
        assert {outcome[0] for outcome in expected} >= {0, FAILED}, f"{kind}: records of both fates"
        assert all(outcome[2][0] != "SMT430" for outcome in expected if outcome[0] == FAILED), kind
