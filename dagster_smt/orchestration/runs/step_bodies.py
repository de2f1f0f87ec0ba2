"""The bodies of Dagster steps. A body decodes the run config, executes a run, and yields the events of the run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import dagster as dg

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.orchestration.definitions.partition_keys import OF_TIME, partition_key_to_topic
from dagster_smt.orchestration.definitions.planned_table import PlannedAsset
from dagster_smt.orchestration.launch.config_schema import RunSettings
from dagster_smt.orchestration.launch.time_keys import TimeKeys, time_keys, topic_of_run
from dagster_smt.orchestration.runs.dagster_events import (
    Events,
    asset_events,
    check_evaluations,
    last_metadata,
    letter_events,
    materializations,
    topic_outcomes,
)
from dagster_smt.orchestration.runs.destination_events import destination_events
from dagster_smt.orchestration.runs.execution import SmtRun, execute, summary
from dagster_smt.orchestration.runs.lineage_events import lineage_events


def run_asset(
    table: PlannedAsset, config: Mapping[str, Any], place: str, spark: Any, context: dg.AssetExecutionContext
) -> Events:
    """Runs a table, and yields the Dagster events of the run.

    Args:
        table: The table.
        config: The table's part of the run config.
        place: The location of the config, for messages.
        spark: The Spark resource.
        context: The context of the step.

    Raises:
        SmtError: The run failed, or some of its topics failed. Committed topics have been reported before.
    """
    partitions = table.spec.partitions_def
    if partitions is not None and not (context.has_partition_key or context.has_partition_key_range):
        hint = "choose partitions in the Launchpad, or in Materialize… on the asset's page"
        statement = "the run has no partition, and the asset has partitions"
        raise ConfigError(Problem("SMT049", table.name, statement, hint))
    keys = list(context.partition_keys) if partitions is not None else []
    times = time_keys(context, partitions) if isinstance(partitions, OF_TIME) else None
    if times is not None:
        settings = _settings_of_time(table, config, place, keys, times)
    else:
        settings = _settings(table, config, place, keys)
    with lineage_events(table, context.op_execution_context) as lineage:
        run = lineage.ran(_executed(table, settings, spark, context.op_execution_context))
        yield from lineage.watch(asset_events(context, table, run, keys, times))
        if run.error is not None:
            raise run.error


def run_all_topics(
    table: PlannedAsset, config: Mapping[str, Any], place: str, spark: Any, context: dg.OpExecutionContext
) -> Iterator[Any]:
    """Runs all topics of ``table``, which has a partition per topic, and yields the Dagster events. Ops call this
    function if they are not the asset's own op, such as the op of a repair job.

    The arguments have the same meaning as in ``run_asset``.

    Raises:
        SmtError: See ``run_asset``.
    """
    partitions = table.spec.partitions_def
    assert partitions is not None
    keys = list(partitions.get_partition_keys(dynamic_partitions_store=context.instance))
    if not keys:
        context.log.info("there are no partitions yet: nothing to run again")
        return
    settings = _settings(table, config, place, keys)
    topics = set(settings.window.topics)
    keys = [key for key in keys if partition_key_to_topic(key) in topics]
    with lineage_events(table, context) as lineage:
        run = lineage.ran(_executed(table, settings, spark, context))
        yield from materializations(table, run, topic_outcomes(context.log, run, keys))
        yield from letter_events(table, run)
        yield from destination_events(context, table, run, own_op=False)
        yield from lineage.watch(check_evaluations(context, table, run))
        if run.error is not None:
            raise run.error


def _executed(table: PlannedAsset, settings: RunSettings, spark: Any, context: dg.OpExecutionContext) -> SmtRun:
    """Executes a run of ``table``, logs a summary, and returns the finished run."""
    run = execute(table, settings, spark, context, partial(last_metadata, context, table.key))
    for warning in run.report.warnings:
        context.log.warning(str(warning))
    context.log.info(summary(run.report))
    run.afterwards.add(*dict.fromkeys(run.facts.unseen.values()))
    return run


def _settings_of_time(
    table: PlannedAsset, config: Mapping[str, Any], place: str, keys: Sequence[str], times: TimeKeys
) -> RunSettings:
    """Returns the settings of a run over the time partitions ``keys``.

    The window in these settings reaches from the beginning of the first partition to the end of the last partition. If
    each partition belongs to a single topic, the window is limited to the topic in ``keys``.
    """
    topic = topic_of_run(keys, table.topic_dimension, place)
    settings = table.settings(config, place, topic)
    window = settings.window
    if window.fixed or window.redrive or window.repair or settings.rebuild or settings.micro_batch is not None:
        hint = "leave ranges, redrive, repair, rebuild and micro_batch out, or launch an asset without partitions"
        statement = "a partition of time is a fixed range of its own"
        raise ConfigError(Problem("SMT035", f"{place}.window", statement, hint))
    return replace(settings, window=replace(window, since=times.since, until=times.until, cuts=times.cuts))


def _settings(table: PlannedAsset, config: Mapping[str, Any], place: str, keys: Sequence[str]) -> RunSettings:
    """Returns the settings of a run over the topics of the partitions ``keys``. If ``keys`` is empty, the run covers
    all topics.
    """
    topics = tuple(sorted(map(partition_key_to_topic, keys)))
    settings = table.settings(config, place, topics)
    explicit = settings.window.explicit
    missing = sorted(set(topics) - set(explicit.topics)) if explicit is not None else []
    if missing:
        hint = f"add ranges for {', '.join(missing[:5])}, or launch only the partitions that it names"
        statement = "does not name every topic of the run"
        raise ConfigError(Problem("SMT032", f"{place}.window.explicit", statement, hint))
    return settings
