"""Yields the events of a run that writes many tables. Each table gets a materialization, its lineage and its checks."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.windows.window import Window
from dagster_smt.orchestration.check_specs import check_results
from dagster_smt.orchestration.checks import Evidence
from dagster_smt.orchestration.definitions.many_tables import table_partition, tables_partitions, writes_many
from dagster_smt.orchestration.definitions.planned_table import PlannedAsset
from dagster_smt.orchestration.launch.code_versions import data_version, version_tags
from dagster_smt.orchestration.metadata.definition_metadata import Metadata, table_key, tables_key
from dagster_smt.orchestration.metadata.run_metadata import RunContext, bare_metadata, run_metadata
from dagster_smt.tables.sink_options import TableSink

if TYPE_CHECKING:
    from dagster_smt.orchestration.runs.execution import SmtRun

Event = dg.MaterializeResult[Any] | dg.AssetMaterialization | dg.AssetCheckResult


def destination_events(
    context: dg.AssetExecutionContext | dg.OpExecutionContext, table: PlannedAsset, run: "SmtRun", *, own_op: bool
) -> Iterator[Event]:
    """Yields the events of the tables that a run has written. If the asset is a single table, yields nothing.

    Args:
        context: The context of the step.
        table: The asset.
        run: The run.
        own_op: True if this is the step of the asset itself, which has an output for each table in ``destinations``.
    """
    if not writes_many(table.sink):
        return
    with_output = set(table.definition.destinations)
    written = run.report.destination_reports
    keys = []
    for topic in sorted(written):
        if topic not in with_output:
            keys.append(table_partition(topic))
    if keys:
        context.instance.add_dynamic_partitions(str(tables_partitions(table.key).name), keys)
    for topic, report in sorted(written.items()):
        make = partial(_metadata, table, run, topic, report)
        metadata = run.afterwards.get(f"metadata of {topic}", make, bare_metadata(report))
        version = data_version(run.facts.ends, report.chain)
        if topic not in with_output:
            tags = version_tags(version)
            partition = table_partition(topic)
            yield dg.AssetMaterialization(tables_key(table.key), partition=partition, metadata=metadata, tags=tags)
        elif own_op and run.error is None:
            yield dg.MaterializeResult(asset_key=table_key(table.key, topic), metadata=metadata, data_version=version)
        else:
            yield dg.AssetMaterialization(table_key(table.key, topic), metadata=metadata, tags=version_tags(version))
    if own_op:
        yield from destination_checks(table, run)


def destination_checks(table: PlannedAsset, run: "SmtRun") -> Iterator[dg.AssetCheckResult]:
    """Yields the check results of the tables in the definition's ``destinations``, which are separate assets. For a
    table that ``run`` has not written, the checks judge an empty report.
    """
    for topic in table.definition.destinations:
        report = run.report.destination_reports.get(topic)
        if report is None:
            report = RunReport(topic, Window(), status="empty")
        facts = run.destination_facts.get(topic, replace(run.facts, counted=None))
        evidence = Evidence(report, facts, checks=table.checks)
        yield from check_results(table_key(table.key, topic), table.destination_check_names, table.checks, evidence)


def _metadata(table: PlannedAsset, run: "SmtRun", topic: str, report: RunReport) -> Metadata:
    sink = table.sink
    assert isinstance(sink, TableSink)
    context = RunContext(
        plan=run.plan,
        sink=sink.of_topic(topic),
        topics=table.topics,
        overridden=run.settings.overridden(table.chain),
        rows=run.facts.tables.get(topic, 0),
        ends=run.facts.ends,
        app_id=run.app_id,
    )
    return {**run_metadata(replace(report, name=f"{table.name} {topic}"), context), "dagster_smt/topic": topic}
