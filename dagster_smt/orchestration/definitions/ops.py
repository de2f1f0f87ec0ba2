"""Builds ops for jobs without assets, such as replays."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, overload

import dagster as dg

from dagster_smt.orchestration.definitions.planned_table import PlannedTable, planned_op
from dagster_smt.orchestration.definitions.tables import SmtTable, table_argument
from dagster_smt.orchestration.definitions.translator import default_description
from dagster_smt.orchestration.launch.code_versions import data_version, version_tags
from dagster_smt.orchestration.launch.config_schema import smt_config_schema
from dagster_smt.orchestration.metadata.run_metadata import observed_metadata
from dagster_smt.orchestration.runs.dagster_events import last_metadata, whole_outcome
from dagster_smt.orchestration.runs.execution import LastMetadata, execute, summary
from dagster_smt.orchestration.runs.failures import failure_of, problems_as_failure
from dagster_smt.orchestration.runs.lineage_events import lineage_events

Events = Iterator[dg.AssetMaterialization | dg.AssetObservation | dg.Output[dict[str, object]]]


@overload
def build_smt_op(
    table: SmtTable,
    /,
    *,
    name: str,
    spark_key: str = "spark",
    ins: Mapping[str, dg.In] | None = None,
    pool: str | None = None,
    retry_policy: dg.RetryPolicy | None = None,
) -> dg.OpDefinition: ...


@overload
def build_smt_op(*, name: str, **former: Any) -> dg.OpDefinition: ...


def build_smt_op(
    table: SmtTable | None = None,
    /,
    *,
    name: str,
    spark_key: str = "spark",
    ins: Mapping[str, dg.In] | None = None,
    pool: str | None = None,
    retry_policy: dg.RetryPolicy | None = None,
    **former: Any,
) -> dg.OpDefinition:
    """Builds an op that applies a chain to the new records of a topic table.

    The op has the same config schema as an asset, so ``dg.configured`` can create variants of the op. The output
    contains no records: it is a small mapping of counts (``records_in``, ``records_out``, ``dropped``, ``failed``,
    ``status``) with the metadata of the run.

    Example:
        .. code-block:: python

            replay = build_smt_op(SmtTable(chain=chain, table=table, sink=sink), name="replay_orders")

    Args:
        table: The table. If the table has a key, each run logs a materialization of the asset with this key. The op
            ignores the other attributes of the asset, except ``description``.
        name: The name of the op. The table remembers its writer by this name.
        spark_key: As in ``build_smt_asset``.
        ins: Inputs that the op only waits for: ``{"start": dg.In(dg.Nothing)}``.
        pool: The Dagster pool; named after the op by default.
        retry_policy: As in ``dg.op``.
        former: Deprecated: the fields of the table as keyword arguments, and its key as ``asset_key``.

    Raises:
        ConfigError: The chain is wrong; the error lists all of its problems.
        PlanError: No record with the table's declared schema can pass through the chain, or a mask, drop or rename can
            never change a record.
    """
    if table is None and "asset_key" in former:
        former["key"] = former.pop("asset_key")
    table = table_argument("build_smt_op", table, former)
    planned = planned_op(table, name)
    asset_key = dg.AssetKey.from_coercible(table.key) if table.key is not None else None

    @dg.op(
        name=name,
        description=table.description or default_description(planned.table, planned.chain),
        ins=dict(ins or {}),
        out=dg.Out(dict),
        config_schema=smt_config_schema(planned.own_chain, table.errors_tolerance),
        required_resource_keys={spark_key},
        pool=pool or name,
        retry_policy=retry_policy,
    )
    def smt_op(context: dg.OpExecutionContext) -> Events:
        yield from _run(context, planned, getattr(context.resources, spark_key), asset_key)

    return smt_op


def _run(
    context: dg.OpExecutionContext, table: PlannedTable, resource: object, asset_key: dg.AssetKey | None
) -> Events:
    shown: LastMetadata = lambda topic: None  # noqa: E731 - an op without an asset shows no metadata
    if asset_key is not None:
        shown = partial(last_metadata, context, asset_key)
    with problems_as_failure():
        settings = table.settings(context.op_config, f"ops.{context.op_handle}.config")
        with lineage_events(table, context) as lineage:
            run = lineage.ran(execute(table, settings, resource, context, shown))
            if run.error is not None:
                lineage.error = run.error
    # one problem may be the reason why several facts are unknown, but it is logged once
    run.afterwards.add(*dict.fromkeys(run.facts.unseen.values()))
    outcome = whole_outcome(run)
    report = outcome.report
    context.log.info(summary(report))
    for warning in report.warnings:
        context.log.warning(str(warning))
    if asset_key is not None and not outcome.news:
        yield dg.AssetObservation(asset_key, metadata=observed_metadata(outcome.metadata))
    elif asset_key is not None:
        tags = version_tags(data_version(outcome.ends, outcome.chain_hash))
        yield dg.AssetMaterialization(asset_key, metadata=outcome.metadata, tags=tags)
    if run.error is not None:
        raise failure_of(run.error)
    counts = {}
    for name in ("records_in", "records_out", "dropped", "failed", "status"):
        counts[name] = getattr(report, name)
    yield dg.Output(counts, metadata=outcome.metadata)
