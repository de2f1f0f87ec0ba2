"""Determines and checks the columns that a table has after a run. Nothing has been written yet."""

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from dagster_smt.errors import TableError
from dagster_smt.run.output_rows import output_rows
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.keyed.key_events import Keyed, keyed_rows
from dagster_smt.tables.schemas import evolved_schema
from dagster_smt.tables.sinks.protocol import Replaced, Table


def checked_schema(
    spec: RunSpec, table: Table, evaluated: DataFrame, replaced: Replaced, keyed: Keyed | None
) -> StructType:
    """Returns the columns that a table has after a run.

    Args:
        spec: The run.
        table: The table.
        evaluated: The evaluated window.
        replaced: The rows that the commit removes.
        keyed: The table with keys; None for other tables.

    Raises:
        PlanError, TableError: The table cannot have these columns.
    """
    if keyed is not None:
        rows = keyed_rows(evaluated, keyed).schema
    else:
        rows = output_rows(evaluated, spec).schema
    sensitive = evaluated.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    now = None if replaced.everything else table.schema()
    schema = evolved_schema(spec.sink, now, rows, case_sensitive=sensitive)
    if problems := table.refused(schema):
        raise TableError(problems)
    return schema
