"""Header rules: both forms of each give the same."""

import pytest

from dagster_smt.model.record import Header
from dagster_smt.model.schema import Schema, Type, timestamp
from dagster_smt.values.headers.fields import (
    AppendHeader,
    DropNamed,
    HasHeaderOrNull,
    HasHeaderRule,
    HasOtherHeaderOrNull,
    HeaderBytes,
    KeepNamed,
)

STRING = Schema(Type.STRING, optional=True)
LISTS = [[], [("a", b"1")], [("a", b"1"), ("b", None), ("a", b"2"), ("A", b"\xff")]]
RULES = [
    (DropNamed(("a",)), [[], [], [("b", None), ("A", b"\xff")]]),
    (DropNamed(("zz", "b")), [[], [("a", b"1")], [("a", b"1"), ("a", b"2"), ("A", b"\xff")]]),
    (HasHeaderRule("a"), [False, True, True]),
    (HasHeaderRule("B"), [False, False, False]),
    (HasHeaderOrNull("b"), [None, None, True]),
    (KeepNamed(("a", "zz")), [[], [("a", b"1")], [("a", b"1"), ("a", b"2")]]),
    (KeepNamed(()), [[], [], []]),
    (HasOtherHeaderOrNull(("a",)), [None, None, True]),
    (HasOtherHeaderOrNull(()), [None, True, True]),
]
BYTES = [
    (STRING, ["x", "ü", "", None], [b"x", "ü".encode(), b"", None]),
    (Schema(Type.BOOLEAN), [True, False], [b"true", b"false"]),
    (Schema(Type.INT64), [-5, 2**63 - 1], [b"-5", b"9223372036854775807"]),
    (Schema(Type.INT8), [127], [b"127"]),
]
SPARK_TYPES = {Type.STRING: "string", Type.BOOLEAN: "boolean", Type.INT64: "bigint", Type.INT8: "tinyint"}


def python_headers(pairs):
    return [Header(key, raw=raw, from_stage=False) for key, raw in pairs]


def pairs_of(headers):
    return [(h.key, h.raw) for h in headers] if isinstance(headers, list) else headers


@pytest.mark.parametrize(("rule", "wants"), RULES, ids=lambda x: repr(x) if not isinstance(x, list) else "")
def test_the_python_form(rule, wants):
    for source, want in zip(LISTS, wants, strict=True):
        headers = python_headers(source)
        assert pairs_of(rule.python(headers)) == want
        assert pairs_of(headers) == source, "the list it was given is changed"


def test_appending_makes_a_new_list():
    before = python_headers([("a", b"1")])
    after = AppendHeader("a", STRING).python(before, "x")
    assert after == [before[0], Header("a", STRING, "x")]
    assert len(before) == 1


@pytest.mark.parametrize(
    "schema", [Schema(Type.FLOAT64), Schema(Type.ARRAY, values=STRING), timestamp()], ids=lambda s: s.label
)
def test_what_catalyst_writes_differently_needs_python(schema):
    assert HeaderBytes(schema).needs_python and AppendHeader("h", schema).needs_python


@pytest.mark.parametrize(("schema", "values", "wants"), BYTES, ids=lambda x: x.label if isinstance(x, Schema) else "")
def test_the_bytes_in_python(schema, values, wants):
    rule = HeaderBytes(schema)
    assert not rule.needs_python
    assert [rule.python(v) for v in values] == wants


def test_the_spark_form(spark):
    from pyspark.sql import functions as F

    from dagster_smt.values.headers.fields import HEADERS_DDL

    frame = spark.createDataFrame([(n, pairs) for n, pairs in enumerate(LISTS)], f"n int, h {HEADERS_DDL}").orderBy("n")
    for rule, wants in RULES:
        rows = [row[0] for row in frame.select(rule.column(F, F.col("h"))).collect()]
        results = [[(k, bytes(v) if v is not None else None) for k, v in r] if isinstance(r, list) else r for r in rows]
        assert results == wants


def test_the_spark_form_of_no_headers(spark):
    from pyspark.sql import functions as F

    from dagster_smt.values.headers.fields import HEADERS_DDL

    frame = spark.range(1).select(F.lit(None).cast(HEADERS_DDL).alias("h"))
    rules = [DropNamed(("a",)), HasHeaderRule("a"), HasHeaderOrNull("a"), KeepNamed(()), HasOtherHeaderOrNull(())]
    assert list(frame.select(*(r.column(F, F.col("h")) for r in rules)).first()) == [None, False, None, None, None]


def test_the_spark_form_of_made_headers(spark):
    from pyspark.sql import functions as F

    from dagster_smt.values.headers.fields import HEADERS_DDL

    for schema, values, wants in BYTES:
        rows = [(None if n % 2 else [("a", b"1")], v) for n, v in enumerate(values)]
        frame = spark.createDataFrame(rows, f"h {HEADERS_DDL}, v {SPARK_TYPES[schema.type]}")
        result = frame.select(AppendHeader("x", schema).column(F, F.col("h"), F.col("v"))).collect()
        results = [[(k, bytes(v) if v is not None else None) for k, v in row[0]] for row in result]
        assert results == [[*([] if n % 2 else [("a", b"1")]), ("x", want)] for n, want in enumerate(wants)]
