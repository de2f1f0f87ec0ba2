"""The columns of a table after a run: names inside of maps count too, and values go to the fields of their names."""

import pytest
from pyspark.sql.types import StructType

from dagster_smt.errors import TableError
from dagster_smt.tables.schemas import case_twins, conformed, evolved_schema, nul_names
from dagster_smt.tables.sink_options import DeltaSink


def schema(text):
    return StructType.fromDDL(text)


@pytest.mark.spark
def test_names_in_the_keys_of_maps_are_seen(spark):
    twins = schema("m MAP<STRUCT<id: INT, ID: INT>, INT>, n ARRAY<MAP<STRUCT<a: STRUCT<x: INT, X: INT>>, INT>>")
    assert list(case_twins(twins)) == [("m.key.id", "m.key.ID"), ("n[].key.a.x", "n[].key.a.X")]
    nul = schema("m MAP<STRUCT<`a\0b`: INT>, INT>")
    assert [p.code for p in nul_names(nul, "a table")] == ["SMT214"]
    with pytest.raises(TableError, match=r"SMT529 m\.key"):
        evolved_schema(DeltaSink("t"), None, schema("m MAP<STRUCT<>, INT>"), case_sensitive=False)


CONFORMED = [
    ("MAP<BIGINT, STRUCT<a: INT, b: INT>>", "map(1, named_struct('b', 2, 'a', 1))", {1: {"a": 1, "b": 2}}),
    ("MAP<BIGINT, STRUCT<a: INT, b: INT>>", "map(1, named_struct('b', 2))", {1: {"a": None, "b": 2}}),
    ("MAP<BIGINT, STRUCT<a: INT>>", "CAST(NULL AS MAP<INT, STRUCT<b: INT, a: INT>>)", None),
    ("MAP<INT, ARRAY<STRUCT<a: INT, b: INT>>>", "map(1, array(named_struct('b', 2, 'a', 1)))", {1: [{"a": 1, "b": 2}]}),
    ("MAP<BIGINT, BIGINT>", "map(1, 2, 3, NULL)", {1: 2, 3: None}),
]


@pytest.mark.spark
@pytest.mark.parametrize(("target", "value", "result"), CONFORMED)
def test_values_of_maps_go_to_the_fields_of_their_names(spark, target, value, result):
    (row,) = conformed(spark.sql(f"SELECT {value} AS m"), schema(f"m {target}")).collect()
    assert row.asDict(recursive=True) == {"m": result}


@pytest.mark.spark
def test_keys_of_maps_go_to_the_fields_of_their_names(spark):
    frame = spark.sql("SELECT map(named_struct('b', 2, 'a', 1), 7) AS m")
    rows = conformed(frame, schema("m MAP<STRUCT<a: BIGINT, b: INT, c: INT>, BIGINT>"))
    (row,) = rows.selectExpr("map_keys(m)[0].a", "map_keys(m)[0].b", "map_keys(m)[0].c", "map_values(m)[0]").collect()
    assert tuple(row) == (1, 2, None, 7)
