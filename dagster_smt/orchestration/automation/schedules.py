"""Builds schedules of assets, with and without partitions."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import dagster as dg

from dagster_smt.orchestration.automation.sensors import SENSOR_TAG, range_tags
from dagster_smt.orchestration.definitions.op_names import main_spec, op_name
from dagster_smt.orchestration.definitions.partition_keys import OF_TIME

_SCHEDULE_TAG, _RUN_KEY_TAG = "dagster/schedule_name", "dagster/run_key"
_UNSUCCESSFUL = {dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED}
Schedule = dg.ScheduleDefinition | Any  # the schedule of a partitioned job has a class that is not public


def build_smt_schedule(
    asset: dg.AssetsDefinition,
    cron_schedule: str,
    *,
    name: str = "",
    execution_timezone: str | None = None,
    default_status: dg.DefaultScheduleStatus = dg.DefaultScheduleStatus.STOPPED,
) -> Schedule:
    """Builds a schedule that materializes an asset.

    Without partitions, each tick starts a run that reads the new records. With a partition per topic, each tick starts
    one run over all topics. With time partitions, a tick requests every partition that has ended since the last tick.
    For example, the schedule ``30 3 * * *`` ticks every night at 03:30. With daily partitions, a tick runs yesterday's
    partition, with the records that have arrived by 03:30. With hourly partitions, a tick runs the 24 partitions that
    ended since the last tick. If the schedule ticks more often than partitions end, a partition is requested only once;
    if its run fails or is cancelled, the next tick requests the partition again.

    Args:
        asset: An asset from ``build_smt_asset``.
        cron_schedule: The cron expression.
        name: The name of the schedule; by default the name is derived from the asset.
        execution_timezone: The time zone of ``cron_schedule``; by default the zone of the time partitions, or UTC.
        default_status: The status of the schedule before a user changes it, as in ``dg.ScheduleDefinition``.
    """
    name = name or f"{op_name(main_spec(asset).key)}_schedule"
    partitions = asset.partitions_def
    if execution_timezone is None and isinstance(partitions, OF_TIME):
        execution_timezone = _windows_of(partitions).timezone
    common: dict[str, Any] = {
        "name": name,
        "cron_schedule": cron_schedule,
        "target": asset,
        "execution_timezone": execution_timezone,
        "default_status": default_status,
    }
    if isinstance(partitions, OF_TIME):
        ended = _ended(name, main_spec(asset).key, partitions, cron_schedule, execution_timezone)
        return dg.ScheduleDefinition(**common, execution_fn=ended)
    if not isinstance(partitions, dg.DynamicPartitionsDefinition):
        return dg.ScheduleDefinition(**common)
    return dg.ScheduleDefinition(**common, execution_fn=_every_partition(name, main_spec(asset).key, partitions))


def _windows_of(partitions: OF_TIME) -> dg.TimeWindowPartitionsDefinition:
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return partitions
    dimensions = [dimension.partitions_def for dimension in partitions.partitions_defs]
    return next(d for d in dimensions if isinstance(d, dg.TimeWindowPartitionsDefinition))


def _ended(name: str, asset: dg.AssetKey, partitions: OF_TIME, cron: str, zone: str | None) -> Any:
    windows = _windows_of(partitions)
    # this definition serves to calculate ticks: each of its windows is the time between two ticks of the schedule
    between_ticks = dg.TimeWindowPartitionsDefinition(
        start=windows.start, fmt="%Y-%m-%d-%H:%M", cron_schedule=cron, timezone=zone
    )

    def requests(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        # a tick may be late, but requests what had ended at its scheduled time; the instance stores dynamic partitions
        with dg.partition_loading_context(context.scheduled_execution_time, context.instance):
            # the last window that has ended is the time from the previous tick to this tick
            last = between_ticks.get_last_partition_window()
            ended = _ended_since(windows, last.start if last is not None else windows.start)
            keys = []
            for window in ended:
                keys.extend(_keys_of(partitions, window))
        if not ended:
            yield dg.SkipReason("no partition of time has ended yet")
        elif not keys:
            yield dg.SkipReason(f"there are no topics of {ended[-1]} yet")
        # Dagster compares the run keys of one tick only, so this function looks for the runs of earlier ticks
        runs = _runs(context.instance, name, keys)
        missing = [key for key in keys if key not in runs]
        if keys and not missing:
            yield dg.SkipReason(f"earlier ticks have requested {keys[-1]} and all partitions before it")
        for key in missing:
            yield dg.RunRequest(run_key=key, partition_key=key, asset_selection=[asset])

    return requests


def _runs(instance: dg.DagsterInstance, schedule: str, keys: Sequence[str]) -> set[str]:
    """Returns the run keys in ``keys`` for which the schedule called ``schedule`` has already requested a run that has
    succeeded or is not finished yet.
    """
    if not keys:
        return set()
    filters = dg.RunsFilter(tags={_SCHEDULE_TAG: schedule, _RUN_KEY_TAG: [*keys]})
    run_keys = set()
    for run in instance.get_runs(filters):
        if run.status not in _UNSUCCESSFUL:
            run_keys.add(run.tags[_RUN_KEY_TAG])
    return run_keys


def _ended_since(windows: dg.TimeWindowPartitionsDefinition, tick: datetime) -> list[str]:
    """Returns the keys of the time partitions that have ended since ``tick``, the time of the schedule's previous tick.

    For example, if the ends of two days lie between the two ticks, daily partitions give two keys. The newest ended
    partition is always included, because its run may have failed at an earlier tick.
    """
    keys = list(windows.get_partition_keys())
    ended = []
    for key in keys[:-1]:
        if windows.time_window_for_partition_key(key).end > tick:
            ended.append(key)
    return ended + keys[-1:]


def _keys_of(partitions: OF_TIME, window: str) -> list[str]:
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return [window]
    of_time = next(d.name for d in partitions.partitions_defs if d.partitions_def is _windows_of(partitions))
    return list(partitions.get_multipartition_keys_with_dimension_value(of_time, window))


def _every_partition(name: str, asset: dg.AssetKey, partitions: dg.DynamicPartitionsDefinition) -> Any:
    def requested(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        keys = context.instance.get_dynamic_partitions(str(partitions.name))
        if not keys:
            return dg.SkipReason(f"there are no partitions of {partitions.name} yet")
        # without a run key, because each tick is to start a run
        return dg.RunRequest(tags={SENSOR_TAG: name, **range_tags(keys)}, asset_selection=[asset])

    return requested
