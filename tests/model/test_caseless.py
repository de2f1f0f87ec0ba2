"""Names are compared as Spark compares them, so what it would confuse is told when a run is planned."""

from itertools import combinations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from dagster_smt.chain import parse_chain
from dagster_smt.errors import PlanError, SmtError
from dagster_smt.model.caseless import caseless
from dagster_smt.model.schema import INT32, Schema, Type, optional
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.sql import quoted
from dagster_smt.tables.planning import plan_sink
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.topic_table import FileTopics, TopicTable

NAMES = (
    r"a A b i I \u0130 \u0131 i\u0307 ss \u00df \u1e9e \u03c3 \u03c2 \u03a3 k \u212a \u00e5 \u212b \u00e9 \u00c9 "
    r"e\u0301 \u01c4 \u01c5 "
    r"\u01c6 \u10d0 \u1c90 \ufb01 fi \U00010400 \U00010428 \u0149 \u03b8 \u03d1 \u03f4 \u1e9b \u1e61"
)
NAMES = NAMES.encode().decode("unicode_escape").split()
CHAIN = parse_chain({"transforms": "d", "transforms.d.type": "DropHeaders", "transforms.d.headers": "h"})


def table(*names, inside=False):
    schema = Schema(Type.STRUCT, fields=tuple((name, optional(INT32)) for name in names))
    if inside:
        schema = Schema(Type.STRUCT, fields=(("in", schema),))
    return TopicTable(FileTopics("topics"), ("t",), value=Format("json_schema", schema))


def sinks():
    return DeltaSink("table", "columns"), IcebergSink("table", "columns")


def test_what_spark_confuses_is_the_same_to_us(spark):
    """Spark itself says for each pair whether it tells the two apart, as columns and as fields."""
    pairs = list(combinations(dict.fromkeys(NAMES), 2))
    for first, other in pairs:
        frame = spark.range(0).select(F.lit(1).alias(first), F.lit(2).alias(other))
        try:
            frame.select(quoted(first), quoted(other))
        except AnalysisException:
            assert caseless(first) == caseless(other), (first, other)
    assert len({caseless(name) for name in NAMES}) < len(set(NAMES)) - 8


@pytest.mark.parametrize(
    "pair", [("\u0130", "\u0131"), ("i", "\u0130"), ("K", "\u212a"), ("\u03c2", "\u03a3"), ("a", "A")]
)
@pytest.mark.parametrize("sink", sinks(), ids=["delta", "iceberg"])
def test_names_that_differ_in_case_only_are_refused_when_planning(sink, pair):
    with pytest.raises(PlanError, match=r"SMT210|SMT572"):
        plan_sink(CHAIN, table(*pair), sink)


@pytest.mark.parametrize("pair", [("ss", "\u00df"), ("e\u0301", "\u00e9"), ("i", "j"), ("fi", "\ufb01")])
def test_names_that_look_alike_are_taken(pair):
    assert plan_sink(CHAIN, table(*pair), sinks()[0]).after.by_name.keys() == set(pair)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("sink", sinks(), ids=["delta", "iceberg"])
def test_a_name_with_nul_is_refused_when_planning(sink, inside):
    with pytest.raises(SmtError, match="SMT214"):
        plan_sink(CHAIN, table("a\0b", inside=inside), sink)
