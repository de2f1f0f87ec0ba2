"""Topic tables beside Flink SQL, on a broker: it reads what we write, and we read what it writes."""

import json
import struct
import uuid
from dataclasses import dataclass
from decimal import Decimal

import pytest

from dagster_smt import KafkaTopics, TopicTable
from dagster_smt.chain import parse_chain
from dagster_smt.errors import problem_of_record
from dagster_smt.formats.sides import side_codec
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import KEY_DIRTY, VALUE_DIRTY, Record
from dagster_smt.model.schema import JavaDate, Type
from dagster_smt.tables.rows.row_stages import with_row
from dagster_smt.tables.sources.file_writer import NewRecord
from tests.flink import flink
from tests.kafka import Topics

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not flink.jars().is_dir(), reason="no jars of Flink: run python -m tests.flink.flink"),
]
DAY = 86_400_000
NOON = 1_580_472_000_123
NAN, INFINITY = float("nan"), float("inf")
VALUES = {
    "BOOLEAN": [True, False, None],
    "TINYINT": [-128, 127, 0, None],
    "SMALLINT": [-(2**15), 2**15 - 1, None],
    "INT": [-(2**31), 2**31 - 1, 0, None],
    "BIGINT": [-(2**63), 2**63 - 1, None],
    "FLOAT": [1.1, -0.5, 1e-10, 3.4e38, NAN, INFINITY, None],
    "DOUBLE": [0.1, -1e300, 5e-324, 1e15, NAN, -INFINITY, None],
    "STRING": ["", "a", 'say "yes", twice', "l\nf;g", "äöü €𝄞", "null", None],
    "BYTES": [b"", b"\x00\xff", b"abc", None],
    "DECIMAL(10, 2)": ["0.00", "1.50", "-12345678.99", "99999999.99", None],
    "DECIMAL(38, 18)": ["1e-18", "12345678901234567890.123456789012345678", None],
    "DECIMAL(5)": ["0", "-99999", None],
    "DATE": [0, -1, 18292, -719162, 2932896, None],
    "TIME(0)": [0, 43_200_000, 86_399_000, None],
    "TIMESTAMP(3)": [0, -1, NOON, 253_402_300_799_999, -62_135_596_800_000, None],
    "TIMESTAMP_LTZ(3)": [0, -1, NOON, None],
    "ARRAY<INT>": [[1, None, 3], [], None],
    "ARRAY<STRING>": [["a", "b c"], ["x"], None],
    "ARRAY<DECIMAL(10, 2)>": [["1.50"], None],
    "MAP<STRING, INT>": [{"a": 1, "b": None}, {}, None],
    "ROW<x INT, y STRING>": [{"x": 1, "y": "a"}, {"x": None, "y": None}, None],
    "ROW<x ROW<z DATE>, y ARRAY<TIMESTAMP(3)>>": [{"x": {"z": 18292}, "y": [NOON]}, None],
}
LOCAL = tuple(kind for kind in VALUES if kind != "TIMESTAMP_LTZ(3)")
NESTED = tuple(kind for kind in VALUES if "<" in kind)
MOMENTS = ("DATE", "TIME(0)", "TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", "ROW<x ROW<z DATE>, y ARRAY<TIMESTAMP(3)>>")
PLAIN = tuple(kind for kind in VALUES if kind not in NESTED)
FORMATS = {
    "json": ("'format' = 'json'", tuple(VALUES)),
    "iso": ("'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'", MOMENTS),
    "csv": ("'format' = 'csv', 'csv.null-literal' = 'n/a'", (*PLAIN, "ARRAY<INT>", "ARRAY<STRING>")),
    "avro": ("'format' = 'avro'", LOCAL),
    "avro, new": ("'format' = 'avro', 'avro.timestamp_mapping.legacy' = 'false'", ("TIMESTAMP_LTZ(3)",)),
    "registry": ("'format' = 'avro-confluent', 'avro-confluent.url' = '{url}'", tuple(VALUES)),
    "debezium": ("'format' = 'debezium-json', 'debezium-json.timestamp-format.standard' = 'SQL'", tuple(VALUES)),
    "canal": ("'format' = 'canal-json'", tuple(VALUES)),
    "raw": ("'format' = 'raw'", ("BOOLEAN", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "BYTES")),
    "keyed": ("'key.format' = 'json', 'key.fields' = 'a', 'value.format' = 'json', "
              "'value.fields-include' = 'EXCEPT_KEY'", PLAIN),
}  # fmt: skip
_NO_TYPE = "Flink's Avro has no schema for the type, unless an option says so that it does not have with a registry"
LISTED = {
    "flink reads registry TIMESTAMP_LTZ(3)": _NO_TYPE,
    "we read registry TIMESTAMP_LTZ(3)": _NO_TYPE,
    "flink reads csv ARRAY<INT>": "the null literal in place of an array is one null in an array to Flink",
    "flink reads csv ARRAY<STRING>": "the null literal in place of an array is one null in an array to Flink",
}
"""Tables that differ, or that one of the two refuses, and why."""
NO_LITERAL = {"FLOAT": (NAN, INFINITY), "ARRAY<INT>": ([],), "MAP<STRING, INT>": ({},)}
"""Values that Flink has no literal for."""


@dataclass(frozen=True)
class Case:
    """A table of one column beside its number, in one format."""

    form: str
    kind: str
    topic: str
    options: str

    @property
    def columns(self):
        return f"n INT, a {self.kind}" if self.form not in ("raw",) else f"a {self.kind}"

    @property
    def name(self):
        return self.topic.replace("-", "_")

    def statement(self, servers=""):
        where = f"'connector' = 'kafka', 'topic' = '{self.topic}', {self.options}"
        if servers:
            where += f", 'properties.bootstrap.servers' = '{servers}', 'scan.startup.mode' = 'earliest-offset'"
            where += ", 'scan.bounded.mode' = 'latest-offset'"
        return f"CREATE TABLE {self.name} ({self.columns}) WITH ({where})"

    @property
    def rows(self):
        values = VALUES[self.kind]
        if self.topic.startswith("f"):
            without = [repr(value) for value in NO_LITERAL.get(self.kind, ())]
            values = [value for value in values if repr(value) not in without]
        if self.form == "raw":
            return [(value,) for value in values if value is not None]
        return list(enumerate(values))


def literal(kind, value):
    """A value in SQL."""
    kind, inner = kind.strip(), kind[kind.find("<") + 1 : -1]
    if value is None:
        return f"CAST(NULL AS {kind})"
    if kind.startswith("ARRAY"):
        return f"ARRAY[{', '.join(literal(inner, item) for item in value)}]"
    if kind.startswith("MAP"):
        keys, values = inner.split(",", 1)
        parts = [f"{literal(keys, k)}, {literal(values, v)}" for k, v in value.items()]
        return f"CAST(MAP[{', '.join(parts)}] AS {kind})"
    if kind.startswith("ROW"):
        parts = [literal(part, result) for part, result in zip(fields_of(inner), value.values(), strict=True)]
        return f"CAST(ROW({', '.join(parts)}) AS {kind})"
    if kind == "BYTES":
        return f"CAST(X'{value.hex()}' AS BYTES)"
    return f"CAST({simple(kind, value)} AS {kind})"


def fields_of(inner):
    """The types of a row's fields."""
    results, depth, start = [], 0, 0
    for at, letter in enumerate(inner + ","):
        depth += {"<": 1, ">": -1, "(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            results.append(inner[start:at].strip().partition(" ")[2])
            start = at + 1
    return results


def simple(kind, value):
    from dagster_smt.values.times.moment_texts import clock_text, moment_text

    if kind == "STRING":
        return "'" + value.replace("'", "''") + "'"
    if kind == "DATE":
        return f"'{moment_text(value * DAY, day=True)}'"
    if kind.startswith("TIMESTAMP"):
        return f"'{moment_text(value, day=False)}'"
    if kind.startswith("TIME"):
        return f"'{clock_text(value)}'"
    return str(value).upper() if isinstance(value, bool) else f"'{_number(value)}'"


def _number(value):
    if isinstance(value, float) and value in (INFINITY, -INFINITY):
        return "Infinity" if value > 0 else "-Infinity"
    return "NaN" if value != value else value


def ours(schema, value):
    """A value as our codecs have it, of one of ``VALUES``."""
    if value is None:
        return None
    if schema.logical == "Decimal":
        return Decimal(value).quantize(Decimal(1).scaleb(-schema.scale)) if schema.precision < 30 else _exact(value, 18)
    if schema.logical is not None:
        return JavaDate(value * DAY if schema.logical == "Date" else value)
    if schema.type is Type.STRUCT:
        return {name: ours(child, value[name]) for name, child in schema.fields}
    if schema.type is Type.ARRAY:
        return [ours(schema.values, item) for item in value]
    if schema.type is Type.MAP:
        return {key: ours(schema.values, item) for key, item in value.items()}
    return struct.unpack("f", struct.pack("f", value))[0] if schema.type is Type.FLOAT32 else value


def _exact(value, scale):
    from decimal import Context

    return Decimal(value).quantize(Decimal(1).scaleb(-scale), context=Context(prec=40))


def shown(schema, value):
    """A value in the words of ``Judge.java``."""
    if value is None:
        return None
    if schema.logical is not None:
        mark = {"Decimal": "d", "Date": "D", "Time": "T", "Timestamp": "t"}[schema.logical]
        if mark == "d":
            return f"d:{value:f}"
        return f"{mark}:{int(value) // (DAY if mark == 'D' else 1)}"
    if schema.type is Type.STRUCT:
        return [shown(child, value[name]) for name, child in schema.fields]
    if schema.type is Type.ARRAY:
        return [shown(schema.values, item) for item in value]
    if schema.type is Type.MAP:
        return {f"s:{key}": shown(schema.values, item) for key, item in value.items()}
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        return alike(f"f:{value!r}", schema.type is Type.FLOAT32)
    if schema.type is Type.BYTES:
        return f"b:{value.hex()}"
    return f"s:{value}" if schema.type is Type.STRING else f"i:{str(value).lower()}"


def alike(result, single=False):
    """What Flink shows, with numbers of floating point as Python spells them."""
    if isinstance(result, list):
        return [alike(item, single) for item in result]
    if isinstance(result, dict):
        return {key: alike(item, single) for key, item in result.items()}
    if isinstance(result, str) and result.startswith("f:"):
        number = float(result[2:])
        return f"f:{struct.unpack('f', struct.pack('f', number))[0]!r}" if single else f"f:{number!r}"
    return result


def cases(direction, url):
    """All tables of one direction; each has a topic of its own."""
    mark = uuid.uuid4().hex[:6]
    return [
        Case(form, kind, f"{direction}{mark}-{form.replace(', ', '-')}-{number}", options.format(url=url))
        for form, (options, kinds) in FORMATS.items()
        for number, kind in enumerate(kinds)
    ]


def table_of(case):
    return TopicTable.create(case.statement(), KafkaTopics("localhost:1"))


def written(case):
    """Key and value of each row, as our sinks write them."""
    table = table_of(case)
    row = table.row
    key, value = side_codec(table.key, "key"), side_codec(table.value)
    for values in case.rows:
        results = {c.name: ours(c.schema, v) for c, v in zip(row.columns, values, strict=True)}
        inside = {c.name: results[c.name] for c in row.columns if row.in_value(c.name)}
        data = next(iter(inside.values())) if case.form == "raw" else inside
        schema = table.value.known_schema if case.form == "raw" else row.value_schema()
        key_data = None
        if row.key_fields:
            key_data = key.write(table.key.schema, {name: results[name] for name in row.key_fields})
        yield key_data, value.write(schema, data, case.topic)


def expected_rows(case):
    row = table_of(case).row
    single = case.kind == "FLOAT"
    return [
        alike([shown(c.schema, ours(c.schema, v)) for c, v in zip(row.columns, values, strict=True)], single)
        for values in case.rows
    ]


def read(case, messages):
    """The rows that we read."""
    table = table_of(case)
    interpreter = Interpreter(with_row(parse_chain({"transforms": ""}), table, "columns"), table.key, table.value)
    results = []
    for message in messages:
        record = Record(case.topic, 0, 0, 0, "CreateTime", dirty=KEY_DIRTY | VALUE_DIRTY)
        try:
            outcome = interpreter.read(record, message.key(), message.value())
            if outcome.problem is None:
                interpreter.runners[0].apply(record)
        except Exception as error:  # noqa: BLE001
            results.append(f"{problem_of_record(error)}")
            continue
        if outcome.problem is not None or record.value is None:
            results.append(str(outcome.problem))
            continue
        single = case.kind == "FLOAT"
        results.append(alike([shown(c.schema, record.value[c.name]) for c in table.row.columns], single))
    return results


def judged(direction, case, result, failure):
    """A line on what differs; None if nothing does."""
    expected = expected_rows(case)
    if sorted(map(json.dumps, result)) == sorted(map(json.dumps, expected)):
        return None
    return f"{direction} {case.form} {case.kind}: {failure or ''} {[f for f in result if f not in expected][:3]}"


def unlisted(lines):
    """The lines that are not listed, and what is listed and does not differ any more."""
    names = {line.split(": ", 1)[0] for line in lines}
    return [line for line in lines if line.split(": ", 1)[0] not in LISTED], sorted(LISTED.keys() - names)


@pytest.fixture(scope="module")
def cluster(broker):
    return Topics(KafkaTopics(broker.servers))


def test_flink_reads_what_we_write_and_we_read_what_it_writes(broker, apicurio, cluster, tmp_path):
    out, back = cases("w", apicurio), cases("f", apicurio)
    refused, statements = {}, []
    for case in out:
        try:
            records = [(case.topic, 0, NewRecord(key, value)) for key, value in written(case)]
        except Exception as error:  # noqa: BLE001
            refused[case.name] = str(problem_of_record(error))
            continue
        cluster.add(records)
        statements += [(f"create {case.name}", case.statement(broker.servers))]
        statements += [(f"read {case.name}", f"SELECT * FROM {case.name}")]
    for case in back:
        cluster.make(case.topic)
        statements += [(f"create {case.name}", case.statement(broker.servers))]
        rows = [f"({', '.join(parts)})" for parts in sql_rows(case)]
        statements += [(f"insert {case.name}", f"INSERT INTO {case.name} VALUES {', '.join(rows)}")]
    rows, failed = flink.answers(statements, tmp_path)
    lines = []
    for case in out:
        single = case.kind == "FLOAT"
        result = [alike(row, single) for row in rows.get(case.name, [])]
        lines.append(judged("flink reads", case, result, refused.get(case.name) or failed.get(case.name)))
    for case in back:
        result = read(case, cluster.read(case.topic)) if case.name not in failed else []
        lines.append(judged("we read", case, result, failed.get(case.name)))
    differing = [line for line in lines if line is not None]
    print(f"{len(out)} + {len(back)} tables, {len(lines) - len(differing)} equal", *differing, sep="\n")
    assert unlisted(differing) == ([], [])


def sql_rows(case):
    kinds = [case.kind] if case.form == "raw" else ["INT", case.kind]
    for values in case.rows:
        yield [literal(kind, value) for kind, value in zip(kinds, values, strict=True)]
