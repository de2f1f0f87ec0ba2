"""Jobs that run some records of a table again: those that failed, those that a mask left as they were."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import dagster as dg

from dagster_smt.orchestration.definitions.partitions import OF_TIME
from dagster_smt.orchestration.definitions.tables import Prepared
from dagster_smt.orchestration.launch.config_schema import smt_config_schema
from dagster_smt.orchestration.runs.execution import problems_as_failure
from dagster_smt.orchestration.runs.steps import SmtStep


@dataclass(frozen=True)
class Made:
    """What an asset was made of.

    Attributes:
        table: The table.
        spark_key: Resource key of the Spark session.
        pool: Its pool.
    """

    table: Prepared
    spark_key: str
    pool: str


MADE: WeakKeyDictionary[Any, Made] = WeakKeyDictionary()
"""By the op of an asset: what it was made of."""


def job_that_runs_again(asset: dg.AssetsDefinition, flag: str, name: str, description: str) -> Any:
    """Make a job that launches an asset with a switch of ``window`` turned on.

    A job of an asset with partitions asks for some of them, and its Launchpad knows no defaults before that. With a
    partition per topic it is therefore a job of an op of its own, over all topics there are.

    Args:
        asset: An asset of ``build_smt_asset``.
        flag: The switch: ``redrive`` or ``repair``.
        name: The job's name.
        description: What it does.
    """
    made = MADE.get(asset.op)
    if asset.partitions_def is None or isinstance(asset.partitions_def, OF_TIME) or made is None:
        config = {"ops": {asset.op.name: {"config": {"window": {flag: True}}}}}
        return dg.define_asset_job(name, selection=[asset], config=config, description=description)
    step_name = f"{name}_topics"  # names of ops and jobs must differ
    step = _op(made, step_name, description)

    @dg.job(name=name, description=description, config={"ops": {step_name: {"config": {"window": {flag: True}}}}})
    def run_again() -> None:
        step()

    return run_again


def _op(made: Made, name: str, description: str) -> dg.OpDefinition:
    table = made.table

    @dg.op(
        name=name,
        description=description,
        out={},
        config_schema=smt_config_schema(table.work.chain, table.errors_tolerance),
        required_resource_keys={made.spark_key},
        pool=made.pool,
    )
    def run_topics_again(context: dg.OpExecutionContext) -> Iterator[Any]:
        config: Mapping[str, Any] = context.op_config
        step = SmtStep(table, config, f"ops.{name}.config", getattr(context.resources, made.spark_key))
        with problems_as_failure():
            yield from step.run_all_topics(context)

    return run_topics_again
