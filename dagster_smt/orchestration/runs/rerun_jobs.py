"""Builds jobs that process certain records of a table again: failed records, or records that a mask left unmasked."""

from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg

from dagster_smt.orchestration.definitions.planned_table import PlannedAsset
from dagster_smt.orchestration.launch.config_schema import smt_config_schema
from dagster_smt.orchestration.runs.failures import one_after_the_other, problems_as_failure
from dagster_smt.orchestration.runs.step_bodies import run_all_topics
from dagster_smt.orchestration.runs.tables_of_ops import run_config, tables_of


def job_that_runs_again(asset: dg.AssetsDefinition, specs: list[dg.AssetSpec], flag: str, name: str) -> Any:
    """Returns a job that runs some tables of an asset, with a flag in the run config of each table, such as
    ``window: {redrive: true}``.

    A job of a partitioned asset can only be launched for partitions, and its Launchpad shows no defaults before
    somebody chooses partitions. For an asset with a partition per topic, the job therefore has a separate op that runs
    all topics.

    Args:
        asset: An asset that ``build_smt_asset`` or ``build_smt_assets`` returns, without time partitions.
        specs: The specs of the tables.
        flag: The name of the flag: ``redrive`` or ``repair``.
        name: The name of the job.
    """
    keys = [spec.key for spec in specs]
    tables = {}
    for part, table in tables_of(asset).items():
        if table.key in keys:
            tables[part] = table
    description = f"{_WORDS[flag]} {', '.join(key.to_user_string() for key in keys)}, once the chain is fixed."
    configs = {}
    for part in tables or [""]:
        configs[part] = {"window": {flag: True}}
    if asset.partitions_def is None or not tables:
        config = run_config(asset.op.name, configs)
        return dg.define_asset_job(name, dg.AssetSelection.assets(*keys), config=config, description=description)
    step_name = f"{name}_topics"  # an op and its job must have different names
    step = _op(tables, asset.op, step_name, description)

    @dg.job(name=name, description=description, config=run_config(step_name, configs))
    def run_again() -> None:
        step()

    return run_again


_WORDS = {"redrive": "Rerun the failed records of", "repair": "Rerun the records that masks left unmasked in"}


def _op(tables: Mapping[str, PlannedAsset], asset_op: Any, name: str, description: str) -> dg.OpDefinition:
    (spark_key,) = asset_op.required_resource_keys
    schemas = {}
    for part, t in tables.items():
        schemas[part] = smt_config_schema(t.own_chain, t.definition.errors_tolerance)

    @dg.op(
        name=name,
        description=description,
        out={},
        config_schema=schemas.get("", schemas),
        required_resource_keys={spark_key},
        pool=asset_op.pool,
    )
    def run_topics_again(context: dg.OpExecutionContext) -> Iterator[Any]:
        config: Mapping[str, Any] = context.op_config
        with problems_as_failure():
            spark = getattr(context.resources, spark_key)
            yield from _run_tables(tables, config, f"ops.{name}.config", spark, context)

    return run_topics_again


def _run_tables(
    tables: Mapping[str, PlannedAsset],
    config: Mapping[str, Any],
    place: str,
    spark: Any,
    context: dg.OpExecutionContext,
) -> Iterator[Any]:
    """Runs all topics of each table in ``tables``, one table after the other. After the last table, raises the errors
    of all tables together.
    """
    runs = []
    for part, table in tables.items():
        part_config, part_place = (config[part], f"{place}.{part}") if part else (config, place)
        runs.append((table.name, run_all_topics(table, part_config, part_place, spark, context)))
    yield from one_after_the_other(runs, context.log)
