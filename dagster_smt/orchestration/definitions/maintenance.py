"""Builds jobs that maintain the tables of assets. The jobs compact files, and remove old versions and unused files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from dagster_smt.errors import ConfigError, Problem, SmtError, TableError
from dagster_smt.model.reports.maintenance_report import MaintenanceReport
from dagster_smt.orchestration.checks import SMALL_FILES, small_files_of
from dagster_smt.orchestration.definitions.many_tables import table_partition
from dagster_smt.orchestration.definitions.planned_table import PlannedAsset
from dagster_smt.orchestration.metadata.definition_metadata import table_key, tables_key
from dagster_smt.orchestration.metadata.maintenance_metadata import maintenance_metadata
from dagster_smt.orchestration.pipes.pipes_spark import PipesSpark
from dagster_smt.orchestration.resources import need_packages, spark_session_of
from dagster_smt.orchestration.runs.failures import joint_failure, problems_as_failure
from dagster_smt.orchestration.runs.spark_work import MaintenanceResult, MaintenanceWork, maintenance_results
from dagster_smt.orchestration.runs.tables_of_ops import own_tables
from dagster_smt.tables.maintenance.maintenance_options import STEPS, SmtMaintenance, check_table
from dagster_smt.tables.sink_options import TableSink
from dagster_smt.tables.spark_packages import packages_of
from dagster_smt.visible import visible

Events = Iterator[dg.AssetObservation | dg.AssetCheckEvaluation]


def build_maintenance_job(
    asset: dg.AssetsDefinition,
    maintenance: SmtMaintenance | None = None,
    *,
    tables: Sequence[dg.AssetKey | Sequence[str] | str] | None = None,
    name: str = "",
    pool: str | None = None,
) -> dg.JobDefinition:
    """Builds a job that maintains the Delta or Iceberg tables of an asset.

    Each launch records an observation of the asset. It contains the number of files and bytes before and after the
    maintenance. For each step, it contains the removed files and the duration. The launch also reports the check
    ``small_files``. A step that fails does not stop the next step; the job fails at its end.

    Runs may commit at the same time. The job never loses the rows or the progress of a run. To ensure this, it compares
    the rows and the progress of the table before and after each step. If a run has disturbed a step, the job repeats
    the step.

    Example:
        .. code-block:: python

            upkeep = build_maintenance_job(orders, SmtMaintenance(retention_hours=336))
            nightly = dg.ScheduleDefinition(job=upkeep, cron_schedule="0 4 * * *")

    Args:
        asset: An asset that ``build_smt_asset`` or ``build_smt_assets`` returns.
        maintenance: The steps, and the age of the versions that they remove. By default, the job runs all steps, and
            the age is 168 hours.
        tables: The asset keys of the tables to maintain, if ``build_smt_assets`` returned the asset; by default all of
            its Delta and Iceberg tables.
        name: The job's name; by default the name of the asset's op with ``_maintenance`` at its end.
        pool: The Dagster pool; by default the pool of the asset. In a pool with one slot, runs of the asset wait for
            the job.

    Raises:
        ConfigError: SMT813, the asset does not come from this package; SMT803, the asset has no Delta or Iceberg table;
            SMT804, ``tables`` contains a name that no table of the asset has; SMT802, the name of a table is not a
            valid name in SQL.
    """
    tables_of_asset = own_tables(asset, "maintain tables of other assets with the statements of their format")
    written = tuple(tables_of_asset.values())
    chosen = _chosen(written, tables)
    name = name or f"{asset.op.name}_maintenance"
    # the Spark session is the only resource of an op of this package
    (spark_key,) = asset.op.required_resource_keys
    step = _op(f"{name}_tables", chosen, maintenance or SmtMaintenance(), spark_key, pool or asset.op.pool)
    listed = ", ".join(chosen)
    description = f"Compact {listed}, and remove old versions and the files that no version needs."

    @dg.job(name=name, description=description)
    def maintain_tables() -> None:
        step()

    return maintain_tables


def _chosen(written: Sequence[PlannedAsset], tables: Sequence[Any] | None) -> dict[str, PlannedAsset]:
    """Returns a dict from name to table. The dict contains those tables of ``written`` that ``tables`` lists. If
    ``tables`` is None, it contains all Delta and Iceberg tables.
    """
    by_key = {table.key: table for table in written}
    if tables is None:
        # without a Delta or Iceberg table, check_table below raises its error for each table
        keys = [table.key for table in written if isinstance(table.sink, TableSink)] or list(by_key)
    else:
        keys = [_key_of(table) for table in tables]
    problems = []
    for key in keys:
        if key not in by_key:
            hint = f"choose of {', '.join(table.name for table in written)}"
            problems.append(Problem("SMT804", "tables", f"the asset has no table {key.to_user_string()}", hint))
    if problems:
        raise ConfigError(problems)
    chosen = {}
    for key in keys:
        chosen[by_key[key].name] = by_key[key]
    for name, table in chosen.items():
        check_table(table.sink, name)
    need_packages(packages_of(*(table.sink for table in chosen.values())))
    return chosen


def _key_of(table: dg.AssetKey | Sequence[str] | str) -> dg.AssetKey:
    """Returns ``table`` as an asset key. The string ``lake/orders`` becomes ``AssetKey(["lake", "orders"])``."""
    if isinstance(table, str):
        return dg.AssetKey.from_user_string(table)
    return dg.AssetKey.from_coercible(table)


def _config(name: str, tables: Sequence[str]) -> dict[str, dg.Field]:
    """Returns the config schema of the maintenance op ``name``. The config has two optional lists: the tables to
    maintain, chosen from ``tables``, and the steps to run.

    The names of the tables are a Dagster enum, whose name contains ``name``. If two ops had enums with the same name,
    Dagster would treat them as one enum.
    """
    return {
        "tables": dg.Field(
            dg.Array(dg.Enum(f"{name}_choice", [dg.EnumValue(table) for table in tables])),
            is_required=False,
            description="Maintain only these tables.",
        ),
        "steps": dg.Field(
            dg.Array(dg.Enum("SmtMaintenanceStep", [dg.EnumValue(step) for step in STEPS])),
            is_required=False,
            description="Run only these steps, of those that the definition switches on.",
        ),
    }


def _op(
    name: str, tables: Mapping[str, PlannedAsset], maintenance: SmtMaintenance, spark_key: str, pool: str | None
) -> dg.OpDefinition:
    @dg.op(
        name=name,
        description="Maintain tables, one after the other.",
        out={},
        config_schema=_config(name, list(tables)),
        required_resource_keys={spark_key},
        pool=pool,
    )
    def maintain_each(context: dg.OpExecutionContext) -> Events:
        with problems_as_failure():
            yield from _maintain_each(context, tables, maintenance, getattr(context.resources, spark_key))

    return maintain_each


def _maintain_each(
    context: dg.OpExecutionContext, tables: Mapping[str, PlannedAsset], maintenance: SmtMaintenance, spark: object
) -> Events:
    """Maintains ``tables``, the tables of a launch, one after the other. After the last table, raises the problems of
    all tables together.
    """
    config = context.op_config
    errors: list[SmtError] = []
    for name in config.get("tables") or tables:
        table = tables[name]
        tag = f"dagster-{context.run.run_id}-{context.op_handle}"
        work = MaintenanceWork(table, maintenance, config.get("steps"), tag)
        for result in _results(work, spark, context):
            if result.report is not None:
                title = name if result.topic is None else f"{name} {result.topic}"
                context.log.info(visible(_summary(title, result.report)))
                yield from _events(table, result.topic, result.report)
            if result.problems:
                errors.append(TableError(result.problems))
                context.log.error(str(errors[-1]))
    if errors:
        raise joint_failure(errors)


def _results(work: MaintenanceWork, spark: Any, context: dg.OpExecutionContext) -> list[MaintenanceResult]:
    """Runs the maintenance ``work`` in this process or in another process, depending on the Spark resource."""
    if isinstance(spark, PipesSpark):
        return spark.maintenance_results(work, context)
    return maintenance_results(work, spark_session_of(spark), lambda line: context.log.info(visible(line)))


def _events(table: PlannedAsset, topic: str | None, report: MaintenanceReport) -> Events:
    metadata = maintenance_metadata(report)
    # a table of a sink with {topic} has no check ``small_files``
    if topic is not None and topic in table.definition.destinations:
        yield dg.AssetObservation(table_key(table.key, topic), metadata=metadata)
        return
    if topic is not None:
        yield dg.AssetObservation(tables_key(table.key), partition=table_partition(topic), metadata=metadata)
        return
    yield dg.AssetObservation(table.key, metadata=metadata)
    if report.after is None:
        return
    compacted = any(step.step == "compact" and step.problem is None for step in report.steps)
    verdict = small_files_of(report.after, table.checks, compacted=compacted)
    severity = table.checks.severity.get(SMALL_FILES, verdict.severity)
    yield dg.AssetCheckEvaluation(
        asset_key=table.key,
        check_name=SMALL_FILES,
        passed=verdict.passed,
        metadata=verdict.metadata,
        severity=dg.AssetCheckSeverity[severity],
        description=verdict.statement,
    )


def _summary(table: str, report: MaintenanceReport) -> str:
    if report.before is None or report.after is None:
        return f"{table}: {'; '.join(report.notes) or 'its files are unknown'}"
    counts = f"{report.before.files} files became {report.after.files}"
    sizes = f"{report.before.bytes} bytes became {report.after.bytes}"
    done = []
    for step in report.steps:
        if step.problem is None:
            done.append(step.step)
    return f"{table}: {counts}, {sizes}; done: {', '.join(done) or 'nothing'}"
