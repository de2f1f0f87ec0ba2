"""Yields the Dagster events of a run: materializations, observations, dead letters and check results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import dagster as dg
from dagster_shared.check import CheckError

from dagster_smt.orchestration.check_specs import check_results
from dagster_smt.orchestration.checks import Evidence
from dagster_smt.orchestration.definitions.partition_keys import partition_key_to_topic, topic_to_partition_key
from dagster_smt.orchestration.definitions.planned_table import PlannedAsset
from dagster_smt.orchestration.launch.code_versions import code_version, data_version, version_tags
from dagster_smt.orchestration.launch.time_keys import TimeKeys
from dagster_smt.orchestration.metadata.definition_metadata import Metadata, dead_letters_key
from dagster_smt.orchestration.metadata.run_metadata import bare_metadata, letters_metadata, observed_metadata
from dagster_smt.orchestration.runs.destination_events import destination_events
from dagster_smt.orchestration.runs.execution import SmtOutcome, SmtRun, summary
from dagster_smt.visible import visible

Context = dg.OpExecutionContext | dg.AssetExecutionContext
Events = Iterator[dg.MaterializeResult[Any] | dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckResult]
_MOST_LINES = 5
"""The largest number of partitions for which a run logs a line. The counts of all partitions are in their
materializations.
"""


def asset_events(
    context: dg.AssetExecutionContext,
    table: PlannedAsset,
    run: SmtRun,
    keys: Sequence[str],
    times: TimeKeys | None,
) -> Events:
    """Yields all Dagster events of the run of an asset.

    Args:
        context: The context of the step.
        table: The table.
        run: The run.
        keys: The partition keys of the run; empty without partitions.
        times: The time partitions of the run; None if partitions are topics.
    """
    if table.spec.partitions_def is None:
        yield from _of_whole_table(table, run)
    elif times is not None:
        yield from _of_times(context, table, run, times)
    else:
        yield from _of_topics(context, table, run, keys)
    yield from letter_events(table, run)
    yield from destination_events(context, table, run, own_op=True)
    yield from _check_results(context, table, run)


def letter_events(table: PlannedAsset, run: SmtRun) -> Iterator[dg.AssetMaterialization]:
    """Yields the materialization of the dead letters of ``run``, if the run has published any."""
    if run.report.failed and table.letter_place:
        metadata = run.afterwards.get("metadata of dead letters", lambda: letters_metadata(run.report), Metadata())
        yield dg.AssetMaterialization(dead_letters_key(table.key), metadata=metadata)


def check_evaluations(context: Context, table: PlannedAsset, run: SmtRun) -> Iterator[dg.AssetCheckEvaluation]:
    """Yields the check results of ``run`` as ``AssetCheckEvaluation`` objects. An op that is not the op of the asset,
    such as the op of a repair job, must yield such objects instead of ``AssetCheckResult`` objects.
    """
    for result in _check_results(context, table, run):
        yield dg.AssetCheckEvaluation(
            asset_key=table.key,
            check_name=str(result.check_name),
            passed=result.passed,
            metadata=result.metadata,
            severity=result.severity,
            description=result.description,
        )


def _check_results(context: Context, table: PlannedAsset, run: SmtRun) -> Iterator[dg.AssetCheckResult]:
    # a chain in a run config contains only stages, so the mask exceptions of the definition still apply
    exceptions = run.settings.chain.mask_exceptions or table.chain.mask_exceptions
    readers: dict[str, list[str]] = {}
    if run.facts.broken:
        readers = run.afterwards.get("the list of readers", lambda: columns_read(context, table.key), readers)
    evidence = Evidence(
        run.report,
        run.facts,
        exceptions,
        readers,
        table.checks,
        run.certificate or run.no_certificate,
    )
    yield from check_results(table.key, table.check_names, table.checks, evidence)


def _of_whole_table(table: PlannedAsset, run: SmtRun) -> Events:
    outcome = whole_outcome(run)
    version = data_version(outcome.ends, outcome.chain_hash)
    if run.error is not None:
        # committed topics are reported even if the step fails
        tags = _tags(table, run, version)
        yield dg.AssetMaterialization(table.key, metadata=outcome.metadata, tags=tags)
    elif outcome.news:
        yield dg.MaterializeResult(asset_key=table.key, metadata=outcome.metadata, data_version=version)
    else:
        yield dg.AssetObservation(table.key, metadata=observed_metadata(outcome.metadata))


def _of_times(context: dg.AssetExecutionContext, table: PlannedAsset, run: SmtRun, times: TimeKeys) -> Events:
    """Yields one result that materializes all time partitions in ``times``, each with its own metadata. Partitions
    without records are also materialized. If a topic was left out, yields nothing.
    """
    if run.error is not None:  # a time window in which topics are missing is not materialized
        return
    outcomes = {}
    for key, part in times.parts.items():
        outcomes[key] = _time_outcome(run, key, part)
    _log_partitions(context.log, outcomes)
    for key, outcome in outcomes.items():
        context.add_asset_metadata(outcome.metadata, asset_key=table.key, partition_key=key)
    chain_hash = next(outcome.chain_hash for outcome in outcomes.values())
    yield dg.MaterializeResult(asset_key=table.key, data_version=data_version(run.facts.ends, chain_hash))


def _of_topics(context: dg.AssetExecutionContext, table: PlannedAsset, run: SmtRun, keys: Sequence[str]) -> Events:
    """Yields the events of a run over the topics in ``keys``.

    If the run failed for a topic, each of the other topics gets its own event. If no topic has anything to report, each
    topic gets an observation. Otherwise, one ``MaterializeResult`` covers all topics, because the run committed them
    together; each topic still has its own metadata.
    """
    outcomes = topic_outcomes(context.log, run, keys)
    if run.error is not None or not any(outcome.news for outcome in outcomes.values()):
        yield from materializations(table, run, outcomes)
        return
    ends: dict[str, Mapping[str, int]] = {}
    for key, outcome in outcomes.items():
        metadata = outcome.metadata
        # the materialization keeps the metadata of the partition, and adds the current totals
        if outcome.shown is not None:
            metadata = {**outcome.shown, **observed_metadata(metadata)}
        context.add_asset_metadata(metadata, asset_key=table.key, partition_key=key)
        ends |= outcome.ends
    # all partitions of a commit have the same chain
    chain_hash = next(outcome.chain_hash for outcome in outcomes.values())
    yield dg.MaterializeResult(asset_key=table.key, data_version=data_version(ends, chain_hash))


def materializations(table: PlannedAsset, run: SmtRun, outcomes: Mapping[str, SmtOutcome]) -> Events:
    """Yields an event for each partition in ``outcomes``: a materialization, or an observation if the run has nothing
    to report about the partition. The events are not an output of the step.
    """
    for key, outcome in outcomes.items():
        if not outcome.news:
            yield dg.AssetObservation(table.key, partition=key, metadata=observed_metadata(outcome.metadata))
            continue
        tags = _tags(table, run, data_version(outcome.ends, outcome.chain_hash))
        yield dg.AssetMaterialization(table.key, partition=key, metadata=outcome.metadata, tags=tags)


def _tags(table: PlannedAsset, run: SmtRun, version: dg.DataVersion) -> dict[str, str]:
    return {
        **version_tags(version),
        "dagster/code_version": table.spec.code_version or code_version(run.settings.chain, table.table, table.sink),
    }


def whole_outcome(run: SmtRun) -> SmtOutcome:
    """Returns the outcome of ``run`` for the whole table. If the metadata cannot be created, the outcome contains only
    the counts.
    """
    counts = SmtOutcome(run.report, bare_metadata(run.report), run.facts.ends)
    return _outcome(run, "metadata", run.outcome, counts)


def topic_outcomes(log: dg.DagsterLogManager, run: SmtRun, keys: Sequence[str]) -> dict[str, SmtOutcome]:
    """Maps each partition key in ``keys`` to the outcome of ``run`` for this partition. Topics that the run has left
    out are missing.
    """
    outcomes = {}
    for key in keys:
        topic = partition_key_to_topic(key)
        if topic not in run.report.failures:
            outcomes[key] = _topic_outcome(run, topic)
    _log_partitions(log, outcomes)
    return outcomes


def _topic_outcome(run: SmtRun, topic: str) -> SmtOutcome:
    ends = {}
    for t, offsets in run.facts.ends.items():
        if t == topic:
            ends[t] = offsets
    counts = SmtOutcome(run.report, bare_metadata(run.report), ends)
    return _outcome(run, f"metadata of {topic}", lambda: run.outcome_of_topic(topic), counts)


def _time_outcome(run: SmtRun, key: str, part: int) -> SmtOutcome:
    status = SmtOutcome(run.report, {"dagster_smt/status": run.report.status}, run.facts.ends)
    return _outcome(run, f"metadata of {key}", lambda: run.outcome_of_time(key, part), status)


def _outcome(run: SmtRun, subject: str, make: Callable[[], SmtOutcome], fallback: SmtOutcome) -> SmtOutcome:
    outcome = run.afterwards.get(subject, make, fallback)
    return replace(outcome, metadata={**outcome.metadata, **run.afterwards.metadata})


def _log_partitions(log: dg.DagsterLogManager, outcomes: Mapping[str, SmtOutcome]) -> None:
    """Logs a line for each partition in ``outcomes`` that has records, up to a limit. Logs nothing if there is only one
    partition.
    """
    lines = []
    if len(outcomes) > 1:
        for outcome in outcomes.values():
            if outcome.report.records_in:
                lines.append(summary(outcome.report))
    for line in lines[:_MOST_LINES]:
        log.info(visible(line))
    if len(lines) > _MOST_LINES:
        more = len(lines) - _MOST_LINES
        log.info(f"and so on for {more} more partitions: their materializations have the counts")


def last_metadata(context: Context, key: dg.AssetKey, topic: str | None) -> Metadata | None:
    """Returns the metadata of the last materialization of the asset ``key``; None if there is no materialization.

    With ``topic``, returns the metadata of the partition for this topic.
    """
    partitions = [topic_to_partition_key(topic)] if topic is not None else None
    latest = dg.AssetRecordsFilter(asset_key=key, asset_partitions=partitions)
    records = context.instance.fetch_materializations(latest, limit=1).records
    event = records[0].asset_materialization if records else None
    if event:
        return dict(event.metadata)
    return None


def columns_read(context: Context, key: dg.AssetKey) -> dict[str, list[str]]:
    """Maps each column of the asset ``key`` to those columns of other assets that are derived from this column. The
    information comes from the lineage metadata in Dagster's catalog.
    """
    readers: dict[str, list[str]] = {}
    try:
        graph = context.repository_def.asset_graph
    # in dg.materialize, the catalog contains only the assets of the call, so an asset may be missing
    except CheckError:
        graph = context.job_def.asset_layer.asset_graph
    for child in graph.get(key).child_keys:
        lineage = (last_metadata(context, child, None) or {}).get("dagster/column_lineage")
        if lineage is None:
            lineage = graph.get(child).metadata.get("dagster/column_lineage")
        lineage = getattr(lineage, "value", lineage)
        if not isinstance(lineage, dg.TableColumnLineage):
            continue
        for column, deps in lineage.deps_by_column.items():
            for dep in deps:
                if dep.asset_key == key:
                    readers.setdefault(dep.column_name, []).append(f"{child.to_user_string()}.{column}")
    return readers
