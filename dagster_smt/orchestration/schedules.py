"""Schedules of assets, whatever partitions they have."""

from typing import Any

import dagster as dg

from dagster_smt.orchestration.names import op_name
from dagster_smt.orchestration.partitions import OF_TIME
from dagster_smt.orchestration.sensors import SENSOR_TAG, range_tags

Schedule = dg.ScheduleDefinition | Any  # a partitioned job's schedule has a class of its own, which is not public


def build_smt_schedule(
    asset: dg.AssetsDefinition,
    cron_schedule: str,
    *,
    name: str = "",
    execution_timezone: str | None = None,
    default_status: dg.DefaultScheduleStatus = dg.DefaultScheduleStatus.STOPPED,
) -> Schedule:
    """Make a schedule that materializes an asset.

    Without partitions each tick is a run that reads what is new. With a partition per topic it is one run over all of
    them. With partitions of time it is the one whose time has ended, and the schedule's hour is that of the partitions.

    Args:
        asset: An asset of ``build_smt_asset``.
        cron_schedule: When; of partitions of time only its minute and hour count.
        name: The schedule's name; after the asset by default.
        execution_timezone, default_status: As in ``dg.ScheduleDefinition``.
    """
    name = name or f"{op_name(asset.key)}_schedule"
    partitions = asset.partitions_def
    if isinstance(partitions, OF_TIME):
        job = dg.define_asset_job(f"{name}_job", selection=[asset])
        return dg.build_schedule_from_partitioned_job(job, name=name, default_status=default_status)
    common: dict[str, Any] = {
        "name": name,
        "cron_schedule": cron_schedule,
        "target": asset,
        "execution_timezone": execution_timezone,
        "default_status": default_status,
    }
    if not isinstance(partitions, dg.DynamicPartitionsDefinition):
        return dg.ScheduleDefinition(**common)
    return dg.ScheduleDefinition(**common, execution_fn=_every_partition(name, asset.key, partitions))


def _every_partition(name: str, asset: dg.AssetKey, partitions: dg.DynamicPartitionsDefinition) -> Any:
    def requested(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        keys = context.instance.get_dynamic_partitions(str(partitions.name))
        if not keys:
            return dg.SkipReason(f"there are no partitions of {partitions.name} yet")
        return dg.RunRequest(tags={SENSOR_TAG: name, **range_tags(keys)}, asset_selection=[asset])

    return requested
