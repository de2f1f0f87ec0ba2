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
from dagster_smt.tables.erasure.row_erasure import RowErasure
from dagster_smt.tables.erasure.spec import SmtErasure
from dagster_smt.tables.sink_options import DeltaSink

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
