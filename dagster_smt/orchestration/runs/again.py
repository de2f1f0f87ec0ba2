"""Jobs that run some records of a table again: failed records, or records that a mask left unmasked."""

from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import dagster as dg

from dagster_smt.orchestration.definitions.partitions import OF_TIME
from dagster_smt.orchestration.definitions.planned import PlannedAsset
from dagster_smt.orchestration.launch.config_schema import smt_config_schema
from dagster_smt.orchestration.runs.failures import problems_as_failure
from dagster_smt.orchestration.runs.steps import run_all_topics

PLANNED: WeakKeyDictionary[Any, PlannedAsset] = WeakKeyDictionary()
"""The table of each asset of ``build_smt_asset``, by the op of the asset."""


def job_that_runs_again(asset: dg.AssetsDefinition, flag: str, name: str, description: str) -> Any:
    """Returns a job that launches an asset with a switch of ``window`` turned on.

    A job of a partitioned asset needs partitions, and its Launchpad has no defaults before somebody chooses them. For
    an asset with a partition per topic, the job therefore has an op of its own that runs all topics.

    Args:
        asset: An asset of ``build_smt_asset``.
        flag: The switch: ``redrive`` or ``repair``.
        name: The name of the job.
        description: The description of the job.
    """
    table = PLANNED.get(asset.op)
    if asset.partitions_def is None or isinstance(asset.partitions_def, OF_TIME) or table is None:
        config = {"ops": {asset.op.name: {"config": {"window": {flag: True}}}}}
        return dg.define_asset_job(name, selection=[asset], config=config, description=description)
    step_name = f"{name}_topics"  # names of ops and jobs must differ
    step = _op(table, asset.op, step_name, description)

    @dg.job(name=name, description=description, config={"ops": {step_name: {"config": {"window": {flag: True}}}}})
    def run_again() -> None:
        step()

    return run_again


def _op(table: PlannedAsset, asset_op: Any, name: str, description: str) -> dg.OpDefinition:
    (spark_key,) = asset_op.required_resource_keys

    @dg.op(
        name=name,
        description=description,
        out={},
        config_schema=smt_config_schema(table.chain, table.definition.errors_tolerance),
        required_resource_keys={spark_key},
        pool=asset_op.pool,
    )
    def run_topics_again(context: dg.OpExecutionContext) -> Iterator[Any]:
        config: Mapping[str, Any] = context.op_config
        with problems_as_failure():
            spark = getattr(context.resources, spark_key)
            yield from run_all_topics(table, config, f"ops.{name}.config", spark, context)

    return run_topics_again
