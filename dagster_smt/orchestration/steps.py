"""The body of an asset's step: run config in, one run, and what Dagster is told of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import dagster as dg
from dagster_shared.check import CheckError

from dagster_smt.chain import Chain
from dagster_smt.errors import ConfigError, Problem, SmtError
from dagster_smt.orchestration.afterwards import Afterwards
from dagster_smt.orchestration.checks import Evidence, check_results
from dagster_smt.orchestration.config_schema import RunSettings, decode_config
from dagster_smt.orchestration.dead_letters import dead_letters_key, letters_metadata
from dagster_smt.orchestration.execution import Executed, SmtOutcome, failure, make_run, summary
from dagster_smt.orchestration.metadata import Metadata, bare_metadata, observed_metadata
from dagster_smt.orchestration.partitions import OF_TIME, partition_key_to_topic, topic_to_partition_key
from dagster_smt.orchestration.resources import spark_session_of
from dagster_smt.orchestration.tables import Prepared
from dagster_smt.orchestration.versions import code_version, data_version

Events = Iterator[dg.MaterializeResult[Any] | dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckResult]


_NAMED = 100
"""Topics that get a line of their own in the log."""


@dataclass(frozen=True)
class SmtStep:
    """One table in a step.

    Attributes:
        table: The table.
        config: Its part of the run config.
        place: What to call that in problems.
        spark: The Spark resource.
    """

    table: Prepared
    config: Mapping[str, Any]
    place: str
    spark: Any

    @property
    def key(self) -> dg.AssetKey:
        return self.table.spec.key

    @property
    def by_time(self) -> bool:
        """Whether partitions are windows of time, be it of one topic each."""
        return isinstance(self.table.spec.partitions_def, OF_TIME)

    def run(self, context: dg.AssetExecutionContext) -> Events:
        """Run, and tell.

        Raises:
            SmtError: The run failed, or some of its topics did; what is committed was told before.
        """
        by_topic = self.table.spec.partitions_def is not None and not self.by_time
        keys = list(context.partition_keys) if by_topic else None
        settings = self._timed(context) if self.by_time else self._settings(keys or [])
        session = spark_session_of(self.spark)
        told = partial(last_told, context, self.key)
        done = make_run(self.table.work, settings, session, context.op_execution_context, told).execute()
        for warning in done.report.warnings:
            context.log.warning(str(warning))
        context.log.info(summary(done.report))
        failed = done.failure()
        afterwards = Afterwards(self.key.to_user_string(), context.log.warning)
        afterwards.tell(*dict.fromkeys(done.facts.unseen.values()))
        if keys is None:
            yield from self._unpartitioned(done, failed, afterwards)
        else:
            yield from self._partitioned(context, done, keys, failed, afterwards)
        if done.report.failed and self.table.work.letter_place:
            metadata = afterwards.get("metadata of dead letters", lambda: letters_metadata(done.report), Metadata())
            yield dg.AssetMaterialization(dead_letters_key(self.key), metadata=metadata)
        yield from self._checked(context, done, settings, afterwards)
        if failed is not None:
            raise failed

    def _checked(
        self, context: dg.AssetExecutionContext, done: Executed, settings: RunSettings, afterwards: Afterwards
    ) -> Iterator[dg.AssetCheckResult]:
        """The results of the checks."""
        # the run config holds stages only; the exceptions of the definition stay valid for a chain of the run
        exceptions = settings.chain.mask_exceptions or self.table.work.chain.mask_exceptions
        readers: dict[str, list[str]] = {}
        if done.facts.broken:
            readers = afterwards.get("the list of readers", lambda: columns_read(context, self.key), readers)
        limits = self.table.checks.max_lag or 0, exceptions, self.table.checks.failed_share
        evidence = Evidence(done.report, done.facts, *limits, readers)
        yield from check_results(self.key, self.table.check_names, self.table.checks, evidence)

    def _timed(self, context: dg.AssetExecutionContext) -> RunSettings:
        """The settings of a run of time partitions: the range of their time; of a topic at a time, the topic too."""
        settings = decode_config(self.config, self.place, self._topic(context), only=self.table.work.only)
        window = settings.window
        if window.fixed or window.redrive or window.repair or settings.rebuild or settings.micro_batch is not None:
            hint = "leave ranges, redrive, repair, rebuild and micro_batch out, or launch an asset without partitions"
            statement = "a partition of time is a fixed range of its own"
            raise ConfigError(Problem("SMT035", f"{self.place}.window", statement, hint))
        span = context.partition_time_window
        since, until = (round(moment.timestamp() * 1000) for moment in (span.start, span.end))
        return replace(settings, window=replace(settings.window, since=since, until=until))

    def _topic(self, context: dg.AssetExecutionContext) -> tuple[str, ...]:
        if not self.table.topic_dimension:
            return ()
        keys = [key for key in context.partition_keys if isinstance(key, dg.MultiPartitionKey)]
        topics = sorted({key.keys_by_dimension[self.table.topic_dimension] for key in keys})
        if len(keys) > 1:
            hint = "leave the backfill policy out: then each partition is a run"
            statement = f"one run is to make {len(keys)} partitions of {len(topics)} topics"
            raise ConfigError(Problem("SMT045", f"{self.place}", statement, hint))
        return tuple(map(partition_key_to_topic, topics))

    def _settings(self, keys: Sequence[str]) -> RunSettings:
        topics = tuple(sorted(map(partition_key_to_topic, keys)))
        settings = decode_config(self.config, self.place, topics, only=self.table.work.only)
        explicit = settings.window.explicit
        missing = sorted(set(topics) - set(explicit.topics)) if explicit is not None else []
        if missing:
            hint = f"add ranges for {', '.join(missing[:5])}, or launch only the partitions that it names"
            statement = "does not name every topic of the run"
            raise ConfigError(Problem("SMT032", f"{self.place}.window.explicit", statement, hint))
        return settings

    def _unpartitioned(self, done: Executed, failed: SmtError | None, afterwards: Afterwards) -> Events:
        bare = SmtOutcome(done.report, bare_metadata(done.report), done.facts.ends)
        outcome = afterwards.get("metadata", done.outcome, bare)
        outcome = replace(outcome, metadata={**outcome.metadata, **afterwards.metadata})
        chain = done.run.settings.chain
        version = data_version(outcome.ends, outcome.chain_hash)
        if failed is None:
            if outcome.news or self.by_time:
                yield dg.MaterializeResult(asset_key=self.key, metadata=outcome.metadata, data_version=version)
            else:
                yield dg.AssetObservation(self.key, metadata=observed_metadata(outcome.metadata))
        elif not self.by_time:  # a window of time without some of its topics is not materialized
            tags = self._tags(version, chain)  # what is committed is told although the step fails
            yield dg.AssetMaterialization(self.key, metadata=outcome.metadata, tags=tags)

    def _partitioned(
        self,
        context: dg.AssetExecutionContext,
        done: Executed,
        keys: Sequence[str],
        failed: SmtError | None,
        afterwards: Afterwards,
    ) -> Events:
        """One window, one commit; a materialization for each topic that is in it."""
        chain = done.run.settings.chain
        topics = {key: partition_key_to_topic(key) for key in keys}
        outcomes = {k: _outcome_of(done, t, afterwards) for k, t in topics.items() if t not in done.report.failures}
        for outcome in [o for o in outcomes.values() if o.report.records_in][:_NAMED]:
            context.log.info(summary(outcome.report))
        if failed is None and any(o.news for o in outcomes.values()):
            for key, outcome in outcomes.items():
                metadata = outcome.metadata
                if outcome.shown is not None:  # what the catalog showed of the partition, with today's totals
                    metadata = {**outcome.shown, **observed_metadata(metadata)}
                context.add_asset_metadata(metadata, asset_key=self.key, partition_key=key)
            ends = {t: parts for outcome in outcomes.values() for t, parts in outcome.ends.items()}
            made_by = next(o.chain_hash for o in outcomes.values())  # one commit, one chain
            yield dg.MaterializeResult(asset_key=self.key, data_version=data_version(ends, made_by))
            return
        for key, outcome in outcomes.items():
            if not outcome.news:
                metadata = observed_metadata(outcome.metadata)
                yield dg.AssetObservation(self.key, partition=key, metadata=metadata)
                continue
            tags = self._tags(data_version(outcome.ends, outcome.chain_hash), chain)
            yield dg.AssetMaterialization(self.key, partition=key, metadata=outcome.metadata, tags=tags)

    def _tags(self, version: dg.DataVersion, chain: Chain) -> dict[str, str]:
        return {
            "dagster/data_version": version.value,
            "dagster/data_version_is_user_provided": "true",
            "dagster/code_version": self.table.spec.code_version
            or code_version(chain, self.table.work.table, self.table.work.sink),
        }


def _outcome_of(done: Executed, topic: str, afterwards: Afterwards) -> SmtOutcome:
    """What a run did to one topic's partition."""
    ends = {t: parts for t, parts in done.facts.ends.items() if t == topic}
    bare = SmtOutcome(done.report, bare_metadata(done.report), ends)
    outcome = afterwards.get(f"metadata of {topic}", lambda: done.outcome_of(topic), bare)
    return replace(outcome, metadata={**outcome.metadata, **afterwards.metadata})


def last_told(
    context: dg.OpExecutionContext | dg.AssetExecutionContext, key: dg.AssetKey, topic: str | None
) -> Metadata | None:
    """The metadata of the last materialization that Dagster knows, of a topic's partition or (None) of the table."""
    partitions = [topic_to_partition_key(topic)] if topic is not None else None
    wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=partitions)
    records = context.instance.fetch_materializations(wanted, limit=1).records
    event = records[0].asset_materialization if records else None
    return dict(event.metadata) if event else None


def columns_read(context: dg.AssetExecutionContext, key: dg.AssetKey) -> dict[str, list[str]]:
    """Which columns of the assets below come from each column of this one, as the lineage in the catalog says."""
    found: dict[str, list[str]] = {}
    try:
        graph = context.repository_def.asset_graph
    except CheckError:  # dg.materialize has only the assets that it was given
        graph = context.job_def.asset_layer.asset_graph
    for child in graph.get(key).child_keys:
        shown = last_told(context, child, None) or {}
        lineage = shown.get("dagster/column_lineage")
        if lineage is None:
            lineage = graph.get(child).metadata.get("dagster/column_lineage")
        given = getattr(lineage, "value", lineage)
        for column, deps in given.deps_by_column.items() if isinstance(given, dg.TableColumnLineage) else ():
            for dep in deps:
                if dep.asset_key == key:
                    found.setdefault(dep.column_name, []).append(f"{child.to_user_string()}.{column}")
    return found


def raised(errors: Sequence[SmtError]) -> dg.Failure:
    """The failure of a step: of one error, or of several tables' errors together."""
    joined = type(errors[0])([problem for error in errors for problem in error.problems])
    return failure(joined)
