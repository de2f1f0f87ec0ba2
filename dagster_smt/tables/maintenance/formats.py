"""Chooses the class that maintains a table, according to the format of the table."""

from pyspark.sql import SparkSession

from dagster_smt.tables.maintenance.delta import DeltaMaintenance
from dagster_smt.tables.maintenance.iceberg import IcebergMaintenance
from dagster_smt.tables.maintenance.maintenance_options import SmtMaintenance
from dagster_smt.tables.maintenance.maintenance_steps import Maintained
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.iceberg import IcebergTable
from dagster_smt.tables.sinks.protocol import Table


def maintained(session: SparkSession, table: Table, options: SmtMaintenance | None = None) -> Maintained | None:
    """Returns the object that maintains ``table``. If ``table`` consists of topics, returns None.

    Args:
        session: The Spark session.
        table: The table, opened as a sink.
        options: The options of the steps; by default the defaults of ``SmtMaintenance``.
    """
    options = options or SmtMaintenance()
    if isinstance(table, DeltaTable):
        return DeltaMaintenance(session, table, options)
    if isinstance(table, IcebergTable):
        return IcebergMaintenance(session, table, options)
    return None
