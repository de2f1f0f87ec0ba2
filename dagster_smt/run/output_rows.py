"""Converts an evaluated window into the rows of a table."""

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from dagster_smt.errors import PlanError, Problem
from dagster_smt.model.caseless import caseless
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.spark.outcome_columns import TARGET
from dagster_smt.spark.sql import quoted
from dagster_smt.tables.sink_options import TableSink


def output_rows(evaluated: DataFrame, spec: RunSpec) -> DataFrame:
    """Returns the rows of the table for ``evaluated``, with the columns of the chain and the source columns.

    Raises:
        PlanError: SMT573, a column of the chain has the name of a source column.
    """
    coordinates = spec.sink.coordinates
    if spec.sink.kind == "records" or coordinates is None:
        rows = evaluated.select("__out.*")
        if isinstance(spec.sink, TableSink):
            return rows.drop(TARGET)
        return rows
    out = evaluated.schema["__out"].dataType
    assert isinstance(out, StructType)
    # Spark and the table formats do not distinguish column names by case
    names = set(map(caseless, coordinates.names))
    clashes = []
    for name in out.names:
        if caseless(name) in names:
            clashes.append(name)
    if clashes:
        hint = "rename it in the chain, or give source_columns of the sink other names (None leaves them out)"
        statement = "the chain makes a column with the name of a source column"
        raise PlanError([Problem("SMT573", name, statement, hint) for name in clashes])
    columns = zip(("__topic", "__partition", "__offset"), coordinates.names, strict=True)
    named_columns = []
    for column, name in columns:
        named_columns.append(f"{column} AS {quoted(name)}")
    return evaluated.selectExpr("__out.*", *named_columns)
