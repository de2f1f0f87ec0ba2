"""Expressions as text mean what PySpark's columns mean."""

import math
import re
from decimal import Decimal

import pytest
from pyspark.sql import functions as pyspark
from pyspark.sql import types as T

from dagster_smt.spark import sql

ODD = [
    "",
    "it's",
    'a "b"',
    "\\d+",
    "\\'",
    "a\nb",
    "\x00",
    "${spark.app.name}",
    "${x}",
    "`",
    "é",
    "𐐀",
    "--",
    "/*",
    "%s {}",
]
LITERALS = [
    None,
    True,
    False,
    0,
    -1,
    2**31 - 1,
    -(2**31),
    2**31,
    2**63 - 1,
    -(2**63),
    0.0,
    -0.0,
    1.5,
    -1e-300,
    1e300,
    math.inf,
    -math.inf,
    math.nan,
    Decimal("1.20"),
    Decimal("-0.000"),
    Decimal("1E+3"),
    Decimal("9" * 38),
    b"",
    b"\x00\xff",
    *ODD,
]


@pytest.mark.parametrize("escaped", ["true", "false"])
def test_literals_are_what_pyspark_makes_of_them(spark, escaped):
    spark.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
    try:
        values = [bytearray(v) if isinstance(v, bytes) else v for v in LITERALS]
        ours = sql.select(spark.range(1), *(sql.lit(v).alias(f"c{n}") for n, v in enumerate(LITERALS)))
        original = spark.range(1).select(*(pyspark.lit(v).alias(f"c{n}") for n, v in enumerate(values)))
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    assert [f.dataType for f in ours.schema] == [f.dataType for f in original.schema]
    assert repr(ours.first()) == repr(original.first())


@pytest.mark.parametrize("name", ["x", "a b", "`", "a`b", "a.b", "{}", "select", "ä", "1", "'", "\\", '"'])
def test_fields_of_any_name(spark, name):
    kind = T.StructType([T.StructField(name, T.LongType())])
    built = sql.struct((sql.col("id") + 7).alias(name)).cast(kind)
    frame = sql.select(spark.range(1), built.alias("s"))
    assert frame.schema["s"].dataType.names == [name]
    result = sql.select(frame, sql.col("s").getField(name).alias("v"))
    assert result.first()["v"] == 7


def test_a_field_without_a_name(spark):
    frame = sql.select(spark.range(1), sql.struct(sql.lit(7).alias("")).alias("s"))
    assert sql.select(frame, sql.col("s").getField("").alias("v")).first()["v"] == 7


BARE = re.compile(r"(?<![\w`])\((?!_x)")
"""A parenthesis that belongs to no function: what Spark's parser keeps of it once took a gigabyte after 700 chains."""
EXPRESSIONS = [
    lambda F, a, b: a + b * 2 - 1,
    lambda F, a, b: (a - 1) / (b + 1),
    lambda F, a, b: a % 3,
    lambda F, a, b: -a,
    lambda F, a, b: (a > 1) & (b < 2) | ~(a == 3),
    lambda F, a, b: (a >= 1) | (b <= 2) & (a != 3),
    lambda F, a, b: a.isNull() & b.isNotNull(),
    lambda F, a, b: a.isin(1, 3) | a.between(2, 4),
    lambda F, a, b: a.eqNullSafe(b),
    lambda F, a, b: a.bitwiseOR(8).bitwiseOR(b),
    lambda F, a, b: F.when(a == 1, "one").when(a == 2, "two").otherwise(F.when(b == 0, "none").otherwise("more")),
    lambda F, a, b: F.when(a == 1, "one").otherwise(F.when(b == 0, "none")),
    lambda F, a, b: F.coalesce(F.when(a > 2, a), b, F.lit(-1)),
    lambda F, a, b: F.concat_ws("-", a.cast("string"), b.cast("string")),
    lambda F, a, b: F.regexp_replace(a.cast("string"), r"\A(\d)", "$1\\$"),
    lambda F, a, b: F.format_string("%04d", a),
    lambda F, a, b: F.translate(a.cast("string"), "12", "xy"),
    lambda F, a, b: F.call_function("div", a, F.lit(2)),
    lambda F, a, b: F.shiftleft(a.cast("bigint"), 3),
    lambda F, a, b: F.lit("q").try_cast("int") if hasattr(pyspark.Column, "try_cast") else F.lit(None).cast("int"),
    lambda F, a, b: a.cast("string").rlike(r"^\d$") & a.cast("string").startswith("1"),
    lambda F, a, b: a.cast("string").endswith("1") | a.cast("string").contains("2"),
    lambda F, a, b: F.transform(F.array(a, b), lambda x: F.when(x > 1, x).otherwise(0)),
    lambda F, a, b: F.transform(F.array(a, b), lambda x, i: F.transform(F.array(a), lambda y: x * i + y)),
    lambda F, a, b: F.filter(F.array(a, b), lambda x: x.isNotNull()),
    lambda F, a, b: F.exists(F.array(a, b), lambda x: x == 1),
    lambda F, a, b: F.transform_values(F.create_map(F.lit("k"), a), lambda k, v: F.concat(k, v.cast("string"))),
    lambda F, a, b: F.create_map(F.lit("k"), a)["k"],
    lambda F, a, b: F.struct(a.alias("x"), b.alias("it's")).getField("it's"),
    lambda F, a, b: F.array(a, b).getItem(1),
    lambda F, a, b: F.array().cast("array<bigint>"),
]


def test_expressions_are_what_pyspark_makes_of_them(spark):
    rows = [(1, 0), (2, None), (3, 3), (None, 1), (None, None), (7, 2)]
    frame = spark.createDataFrame(rows, "a int, b int")
    texts = [make(sql, sql.col("a"), sql.col("b")).alias(f"e{n}") for n, make in enumerate(EXPRESSIONS)]
    assert not [text for text in texts if BARE.search(text.text)]
    columns = [make(pyspark, pyspark.col("a"), pyspark.col("b")).alias(f"e{n}") for n, make in enumerate(EXPRESSIONS)]
    ours, original = sql.select(frame, *texts), frame.select(*columns)
    assert [f.dataType for f in ours.schema] == [f.dataType for f in original.schema]
    for mine, expected in zip(ours.collect(), original.collect(), strict=True):
        assert mine.asDict() == expected.asDict()


def test_python_functions_of_python_functions_run_before_what_stands_on_them(spark):
    more = pyspark.udf(lambda x: x + 1, T.LongType())
    one = sql.python(more, sql.col("id"))
    two = sql.python(more, one * 10)
    result = sql.select(spark.range(2), (one + two).alias("both"), two.alias("two"), also=True)
    assert result.columns == ["id", "both", "two"]
    assert [tuple(row) for row in result.collect()] == [(0, 12, 11), (1, 23, 21)]


def test_hundreds_of_conditions_are_no_deeper_than_one(spark):
    """A parser goes as deep as its text does, and ends there."""
    message, met, bits = sql.lit(-1), sql.lit(False), sql.lit(0)
    for number in range(400):
        message = sql.when(sql.col("id") == number, number).otherwise(message)
        met = met | (sql.col("id") == number)
        bits = bits.bitwiseOR(sql.when(sql.col("id") == number, 1).otherwise(0))
    rows = sql.select(spark.range(2), message.alias("t"), met.alias("m"), bits.alias("b")).collect()
    assert [tuple(row) for row in rows] == [(0, True, 1), (1, True, 1)]


def test_what_is_ambiguous_or_unknown_is_refused():
    with pytest.raises(TypeError, match=r"lower: say F.col\('a'\) or F.lit\('a'\)"):
        sql.lower("a")
    with pytest.raises(AttributeError, match="no function lowest"):
        sql.lowest(sql.col("a"))
    with pytest.raises(TypeError, match="combine expressions with"):
        bool(sql.col("a") == 1)
    inside = sql.python(lambda x: x, sql.col("a"))
    with pytest.raises(NotImplementedError, match="not their elements"):
        sql.transform(sql.col("a"), lambda x: inside)


NAMES = [
    ("orders", ["orders"]),
    ("lake.sales.orders", ["lake", "sales", "orders"]),
    ("lake.`a.b`.orders", ["lake", "a.b", "orders"]),
    ("`a``b`.c", ["a`b", "c"]),
    ("````.x", ["`", "x"]),
    ("`a```.`x`", ["a`", "x"]),
]


@pytest.mark.parametrize(("name", "parts"), NAMES)
def test_a_name_has_the_parts_that_were_quoted(name, parts):
    assert sql.parts_of(name) == parts
    assert sql.parts_of(".".join(map(sql.quoted, parts))) == parts
