"""Ops: a chain on a topic table for jobs that are not about assets, such as replays."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import dagster as dg

from dagster_smt.orchestration.definitions.tables import ChainSource, parsed_chain
from dagster_smt.orchestration.definitions.translator import described, topic_keys
from dagster_smt.orchestration.launch.config_schema import DeadPaths, Tolerance, decode_config, smt_config_schema
from dagster_smt.orchestration.launch.versions import data_version
from dagster_smt.orchestration.metadata.run_metadata import bare_metadata, observed_metadata
from dagster_smt.orchestration.resources import spark_session_of
from dagster_smt.orchestration.runs.afterwards import Afterwards
from dagster_smt.orchestration.runs.execution import (
    SmtOutcome,
    SmtWork,
    ask_brokers,
    failure,
    make_run,
    problems_as_failure,
    summary,
)
from dagster_smt.orchestration.runs.steps import last_told
from dagster_smt.tables.planning import plan_sink
from dagster_smt.tables.spec import LetterPlace, Sink, TopicTable

Events = Iterator[dg.AssetMaterialization | dg.AssetObservation | dg.Output[dict[str, object]]]


def build_smt_op(
    *,
    name: str,
    chain: ChainSource,
    table: TopicTable,
    sink: Sink,
    asset_key: dg.AssetKey | None = None,
    spark_key: str = "spark",
    ins: Mapping[str, dg.In] | None = None,
    pool: str | None = None,
    errors_tolerance: Tolerance = "none",
    dead_letters: LetterPlace | None = None,
    dead_letter_topic: str = "",
    dead_paths: DeadPaths | None = None,
    allow_chain_override: bool | None = None,
    retry_policy: dg.RetryPolicy | None = None,
    description: str | None = None,
) -> dg.OpDefinition:
    """Make an op that applies a chain to the new records of a topic table.

    It has the config schema of the assets, so ``dg.configured`` makes variants of it. Its output is a small mapping of
    counts (``records_in``, ``records_out``, ``dropped``, ``failed``, ``status``) with the run's metadata; no records.

    Args:
        name: The op's name.
        asset_key: Logs a materialization of this asset after each run.
        ins: Inputs, only to wait for: ``{"start": dg.In(dg.Nothing)}``.
        chain: As in ``build_smt_asset``.
        table: As in ``build_smt_asset``.
        sink: As in ``build_smt_asset``.
        spark_key: As in ``build_smt_asset``.
        errors_tolerance: As in ``build_smt_asset``.
        dead_letters: As in ``build_smt_asset``.
        dead_letter_topic: As in ``build_smt_asset``.
        dead_paths: As in ``build_smt_asset``.
        allow_chain_override: As in ``build_smt_asset``.
        pool: Dagster pool; named after the op by default.
        retry_policy: As in ``dg.op``.
        description: As in ``dg.op``; by default it names topics and stages.

    Raises:
        ConfigError: The chain is wrong, with all problems.
        PlanError: No record of the table's declared schema can pass the chain.
    """
    parsed = parsed_chain(chain, name, dead_paths)
    plan_sink(parsed, table, sink)
    work = SmtWork(name, parsed, table, sink, topic_keys(table), dead_letters, dead_letter_topic)
    work = replace(work, allow_chain_override=allow_chain_override)

    @dg.op(
        name=name,
        description=description or described(table, parsed),
        ins=dict(ins or {}),
        out=dg.Out(dict),
        config_schema=smt_config_schema(parsed, errors_tolerance),
        required_resource_keys={spark_key},
        pool=pool or name,
        retry_policy=retry_policy,
    )
    def smt_op(context: dg.OpExecutionContext) -> Events:
        yield from _run(context, work, getattr(context.resources, spark_key), asset_key)

    return smt_op


def _run(context: dg.OpExecutionContext, work: SmtWork, resource: object, asset_key: dg.AssetKey | None) -> Events:
    with problems_as_failure():
        settings = decode_config(context.op_config, f"ops.{context.op_handle}.config", only=work.only)
        told = partial(last_told, context, asset_key) if asset_key is not None else lambda topic: None
        ask_brokers(work)
        done = make_run(work, settings, spark_session_of(resource), context, told).execute()
    failed = done.failure()
    afterwards = Afterwards(work.name, context.log.warning)
    afterwards.tell(*dict.fromkeys(done.facts.unseen.values()))
    bare = SmtOutcome(done.report, bare_metadata(done.report), done.facts.ends)
    outcome = afterwards.get("metadata", done.outcome, bare)
    outcome = replace(outcome, metadata={**outcome.metadata, **afterwards.metadata})
    report = outcome.report
    context.log.info(summary(report))
    for warning in report.warnings:
        context.log.warning(str(warning))
    if asset_key is not None and not outcome.news:
        yield dg.AssetObservation(asset_key, metadata=observed_metadata(outcome.metadata))
    elif asset_key is not None:
        tags = {"dagster/data_version": data_version(outcome.ends, outcome.chain_hash).value}
        yield dg.AssetMaterialization(asset_key, metadata=outcome.metadata, tags=tags)
    if failed is not None:
        raise failure(failed)
    counts = {n: getattr(report, n) for n in ("records_in", "records_out", "dropped", "failed", "status")}
    yield dg.Output(counts, metadata=outcome.metadata)
