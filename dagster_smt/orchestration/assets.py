"""Assets: a chain on a topic table, as one Dagster asset."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.errors import ConfigError, Problem, SmtError
from dagster_smt.orchestration.config_schema import RunSettings, Tolerance, decode_config, smt_config_schema
from dagster_smt.orchestration.execution import (
    Executed,
    SmtWork,
    failure,
    make_run,
    problems_as_failure,
    summary,
)
from dagster_smt.orchestration.partitions import partition_key_to_topic, topic_to_partition_key
from dagster_smt.orchestration.resources import spark_session_of
from dagster_smt.orchestration.translator import SmtAssetData, SmtTranslator
from dagster_smt.orchestration.versions import EndOffsets, code_version, data_version
from dagster_smt.tables.planning import plan_table
from dagster_smt.tables.spec import LetterPlace, Sink, TopicTable

ChainSource = Path | Mapping[str, Any] | Sequence[Mapping[str, Any]] | Chain
Events = Iterator[dg.MaterializeResult | dg.AssetMaterialization]


def build_smt_asset(
    *,
    key: dg.AssetKey | Sequence[str] | str,
    chain: ChainSource,
    table: TopicTable,
    sink: Sink,
    spark_key: str = "spark",
    partitions_def: dg.PartitionsDefinition | None = None,
    pool: str | None = None,
    errors_tolerance: Tolerance = "none",
    dead_letters: LetterPlace | None = None,
    dead_letter_topic: str = "",
    retry_policy: dg.RetryPolicy | None = None,
    translator: SmtTranslator | None = None,
    group_name: str | None = None,
    description: str | None = None,
) -> dg.AssetsDefinition:
    """Make an asset that applies a chain to the new records of a topic table.

    Schema, lineage and the chain are its metadata before any run; each run adds counts, the ledger, the schema diff,
    offsets and dead letters. The run config may override chain, window and ``errors.tolerance``.

    Example:
        .. code-block:: python

            orders = build_smt_asset(
                key=["lake", "orders"],
                chain=Path("chains/orders.properties"),
                table=TopicTable(FileTopics(Path("topics")), topics=("orders",)),
                sink=DeltaSink(Path("lake/orders")),
            )

    Args:
        key: The asset key.
        chain: A file, flat connector properties, a list of stages, or a parsed chain.
        table: What to read.
        sink: Where to write.
        spark_key: Resource key of the Spark session (see ``spark_session_of`` for what is accepted).
        partitions_def: One partition per topic, keys made by ``topic_to_partition_key``: all partitions of a run are
            one window, one Spark job and one commit, and a topic that fails is left out and does not stop the others.
            Or time windows: a partition is what the topics hold from the first record of its time up to the first of
            the next, and running it again replaces exactly that.
        pool: Dagster pool; one per asset by default, as a table has one writer.
        errors_tolerance: ``none`` fails the run before it commits, ``all`` makes dead letters.
        dead_letters, dead_letter_topic: Where dead letters go.
        retry_policy: Safe: a retried run takes the same window. Wrong configurations and rejected records never retry.
        translator: Customises the asset spec.
        group_name, description: As in ``dg.AssetSpec``.

    Raises:
        ConfigError: The chain is wrong, with all problems.
        PlanError: No record of the table's declared schema can pass the chain.
    """
    asset_key = dg.AssetKey.from_coercible(key)
    parsed = chain if isinstance(chain, Chain) else parse_chain(chain, place=_place(chain, asset_key))
    file = chain if isinstance(chain, Path) else None
    plan = plan_table(parsed, table)
    data = SmtAssetData(asset_key, table, sink, plan, file, description, group_name, partitions_def)
    translator = translator or SmtTranslator()
    spec, topics = translator.get_asset_spec(data), translator.get_topic_keys(data)
    work = SmtWork(spec.key.to_user_string(), parsed, table, sink, topics, dead_letters, dead_letter_topic)
    return _definition(_Step(work, spec, op_name(spec.key), spark_key), errors_tolerance, pool, retry_policy)


def _definition(
    step: "_Step", errors_tolerance: Tolerance, pool: str | None, retry_policy: dg.RetryPolicy | None
) -> dg.AssetsDefinition:
    @dg.multi_asset(
        name=step.name,
        specs=[step.spec],
        config_schema=smt_config_schema(step.work.chain, errors_tolerance),
        required_resource_keys={step.spark_key},
        pool=pool or step.name,
        retry_policy=retry_policy,
        backfill_policy=dg.BackfillPolicy.single_run() if step.spec.partitions_def else None,
    )
    def smt_asset(context: dg.AssetExecutionContext) -> Events:
        yield from step.run(context)

    return smt_asset


@dataclass(frozen=True)
class _Step:
    """The body of an asset."""

    work: SmtWork
    spec: dg.AssetSpec
    name: str
    spark_key: str

    def run(self, context: dg.AssetExecutionContext) -> Events:
        by_topic = self.spec.partitions_def is not None and not self.by_time
        keys = list(context.partition_keys) if by_topic else None
        with problems_as_failure():
            settings = self._timed(context) if self.by_time else self._settings(context, keys or [])
            session = spark_session_of(getattr(context.resources, self.spark_key))
            told = partial(_told, context, self.spec.key)
            done = make_run(self.work, settings, session, context.op_execution_context, told).execute()
        context.log.info(summary(done.report))
        failed = done.failure()
        if keys is None:
            yield from self._unpartitioned(done, failed)
        else:
            yield from self._partitioned(context, done, keys, failed)

    @property
    def by_time(self) -> bool:
        """Whether partitions are windows of time."""
        return isinstance(self.spec.partitions_def, dg.TimeWindowPartitionsDefinition)

    def _timed(self, context: dg.AssetExecutionContext) -> RunSettings:
        """The settings of a run of time partitions: the range of their time."""
        place = f"ops.{self.name}.config"
        settings = decode_config(context.op_execution_context.op_config, place)
        if settings.window.fixed or settings.micro_batch is not None:
            hint = "leave explicit, since, until and micro_batch out, or launch an asset without partitions"
            statement = "a partition of time is a fixed range of its own"
            raise ConfigError(Problem("SMT035", f"{place}.window", statement, hint))
        span = context.partition_time_window
        since, until = (round(moment.timestamp() * 1000) for moment in (span.start, span.end))
        return replace(settings, window=replace(settings.window, since=since, until=until))

    def _settings(self, context: dg.AssetExecutionContext, keys: Sequence[str]) -> RunSettings:
        topics = tuple(sorted(map(partition_key_to_topic, keys)))
        place = f"ops.{self.name}.config"
        settings = decode_config(context.op_execution_context.op_config, place, topics)
        explicit = settings.window.explicit
        missing = sorted(set(topics) - set(explicit.topics)) if explicit is not None else []
        if missing:
            hint = f"add ranges for {', '.join(missing[:5])}, or launch only the partitions that it names"
            statement = "does not name every topic of the run"
            raise ConfigError(Problem("SMT032", f"{place}.window.explicit", statement, hint))
        return settings

    def _unpartitioned(self, done: Executed, failed: SmtError | None) -> Events:
        outcome = done.outcome()
        version = data_version(outcome.ends, done.run.settings.chain)
        if failed is None:
            yield dg.MaterializeResult(asset_key=self.spec.key, metadata=outcome.metadata, data_version=version)
            return
        if self.by_time:  # a window of time without some of its topics is not materialized
            raise failure(failed)
        tags = self._tags(version, done.run.settings.chain)  # what is committed is told although the step fails
        yield dg.AssetMaterialization(self.spec.key, metadata=outcome.metadata, tags=tags)
        raise failure(failed)

    def _partitioned(
        self, context: dg.AssetExecutionContext, done: Executed, keys: Sequence[str], failed: SmtError | None
    ) -> Events:
        """One window, one commit; a materialization for each topic that is in it."""
        chain = done.run.settings.chain
        topics = {key: partition_key_to_topic(key) for key in keys}
        outcomes = {k: done.outcome_of(t) for k, t in topics.items() if t not in done.report.failures}
        if failed is not None:
            for key, outcome in outcomes.items():
                tags = self._tags(data_version(outcome.ends, chain), chain)
                yield dg.AssetMaterialization(self.spec.key, partition=key, metadata=outcome.metadata, tags=tags)
            raise failure(failed)
        for key, outcome in outcomes.items():
            context.add_asset_metadata(outcome.metadata, asset_key=self.spec.key, partition_key=key)
        ends = {t: parts for outcome in outcomes.values() for t, parts in outcome.ends.items()}
        yield dg.MaterializeResult(asset_key=self.spec.key, data_version=data_version(ends, chain))

    def _tags(self, version: dg.DataVersion, chain: Chain) -> dict[str, str]:
        return {
            "dagster/data_version": version.value,
            "dagster/data_version_is_user_provided": "true",
            "dagster/code_version": self.spec.code_version or code_version(chain),
        }


def _told(context: dg.AssetExecutionContext, key: dg.AssetKey, topic: str | None) -> EndOffsets | None:
    """The end offsets of the last materialization that Dagster knows."""
    partitions = [topic_to_partition_key(topic)] if topic is not None else None
    wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=partitions)
    records = context.instance.fetch_materializations(wanted, limit=1).records
    event = records[0].asset_materialization if records else None
    value = event.metadata.get("dagster_smt/end_offsets") if event else None
    return value.value if value is not None else None


def op_name(key: dg.AssetKey) -> str:
    """The name of an asset's op: Dagster's own where keys and names correspond, else with a hash that tells apart."""
    plain = all(re.fullmatch(r"[A-Za-z0-9_]+", part) and "__" not in part for part in key.path)
    name = "__".join(re.sub(r"[^A-Za-z0-9_]", "_", part) for part in key.path)
    return name if plain else f"{name}_{hashlib.sha256(key.to_string().encode()).hexdigest()[:6]}"


def _place(chain: ChainSource, key: dg.AssetKey) -> str:
    return chain.name if isinstance(chain, Path) else f"{key.to_user_string()} chain"
