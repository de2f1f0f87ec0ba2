"""Which columns an erasure can change."""

from types import SimpleNamespace

import pytest
from pyspark.sql.types import (
    ByteType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
)

from dagster_smt.errors import TableError
from dagster_smt.tables.erasure.row_erasure import RowErasure, replacements
from dagster_smt.tables.erasure.spec import SmtErasure
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sinks.delta import DeltaTable

TABLE = SimpleNamespace(spec=SimpleNamespace(place="lake/people"))


def problems(kind, **options):
    spec = SmtErasure(DeltaSink("register"), ["e1=${env:ERASURE_KEY}"], ["value.id"], ["customer.id"], **options)
    schema = StructType().add("customer", StructType().add("id", kind)).add("mail", "string")
    try:
        RowErasure(None, TABLE, spec, {}).check_columns(schema)
    except TableError as error:
        return [f"{problem.code} {problem.statement}" for problem in error.problems]
    return []


@pytest.mark.parametrize("kind", [StringType(), IntegerType(), LongType()])
def test_columns_that_hold_random_ids(kind):
    assert problems(kind, mode="rekey") == problems(kind) == []


@pytest.mark.parametrize("kind", [ByteType(), ShortType(), DecimalType(10, 0), DoubleType()])
def test_columns_into_which_no_random_id_fits(kind):
    """All of them are reported before anything is changed."""
    statement = "the column customer.id holds neither strings nor integers of 32 or 64 bits, so no random id fits"
    assert problems(kind, mode="rekey", clear=["fax"]) == ["SMT758 the table has no column fax", f"SMT758 {statement}"]
    assert problems(kind) == []


def test_random_ids_of_two_people_are_never_equal():
    people = [f"person {n}" for n in range(10_000)]
    random_ids = replacements(people)
    assert list(random_ids) == sorted(people)
    for kind, low in ((IntegerType(), -(2**31)), (LongType(), -(2**63)), (StringType(), None)):
        ids = {one.of_type(kind) for one in random_ids.values()}
        assert len(ids) == 10_000
        if low is not None:
            assert all(low <= int(one) < 0 for one in ids)


@pytest.mark.spark
def test_columns_that_are_too_short_for_random_ids_of_strings(spark, tmp_path):
    columns = "a VARCHAR(10), b CHAR(38), c VARCHAR(39), d STRUCT<id: VARCHAR(38), other: STRING>, e STRING"
    table = DeltaTable(spark, DeltaSink(tmp_path / "table", "columns"))
    spark.sql(f"CREATE TABLE {table.name} ({columns}) USING delta")
    paths = ["a", "b", "c", "d.id", "d.other", "e"]
    spec = SmtErasure(DeltaSink("register"), ["e1=${env:ERASURE_KEY}"], ["value.id"], paths, mode="rekey")
    with pytest.raises(TableError) as refused:
        RowErasure(spark, table, spec, {}).check_columns(table.read().schema)
    statements = [f"{problem.code} {problem.statement}" for problem in refused.value.problems]
    assert statements == [
        "SMT758 the column a holds at most 10 characters, and a random id has 39",
        "SMT758 the column b holds at most 38 characters, and a random id has 39",
        "SMT758 the column d.id holds at most 38 characters, and a random id has 39",
    ]


@pytest.mark.spark
def test_a_person_has_one_random_id_in_all_columns_and_tables_of_a_type(spark, tmp_path):
    random_ids = replacements(["7", "8"])
    rows = []
    for name in ("one", "two"):
        table = DeltaTable(spark, DeltaSink(tmp_path / name, "columns"))
        table.append(spark.sql("SELECT 7 AS a, 7L AS b, '7' AS c, 7 AS d, n FROM VALUES (1), (2) AS t(n)"))
        paths = ["a", "b", "c", "d"]
        spec = SmtErasure(DeltaSink("register"), ["e1=${env:ERASURE_KEY}"], ["value.id"], paths, mode="rekey")
        assert RowErasure(spark, table, spec, random_ids).erase(table.read().schema) == 2
        rows += [tuple(row) for row in table.read().drop("n").collect()]
    ids = random_ids["7"]
    assert rows == 4 * [(ids.integer, ids.long, ids.text, ids.integer)]
