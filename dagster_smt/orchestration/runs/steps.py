"""The body of an asset's step: run config in, one run, and what Dagster is told of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import dagster as dg
from dagster_shared.check import CheckError

from dagster_smt.chain import Chain
from dagster_smt.errors import ConfigError, Problem, SmtError
from dagster_smt.orchestration.checks import Evidence, check_results
from dagster_smt.orchestration.definitions.partitions import OF_TIME, partition_key_to_topic, topic_to_partition_key
from dagster_smt.orchestration.definitions.tables import Prepared
from dagster_smt.orchestration.launch.config_schema import RunSettings, decode_config
from dagster_smt.orchestration.launch.time_keys import TimeKeys, time_keys, topic_of_run
from dagster_smt.orchestration.launch.versions import code_version, data_version
from dagster_smt.orchestration.metadata.definition_metadata import Metadata, dead_letters_key
from dagster_smt.orchestration.metadata.run_metadata import bare_metadata, letters_metadata, observed_metadata
from dagster_smt.orchestration.resources import spark_session_of
from dagster_smt.orchestration.runs.afterwards import Afterwards
from dagster_smt.orchestration.runs.execution import Executed, SmtOutcome, ask_brokers, failure, make_run, summary
from dagster_smt.visible import visible

Context = dg.OpExecutionContext | dg.AssetExecutionContext
Events = Iterator[dg.MaterializeResult[Any] | dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckResult]


_NAMED = 5
"""Partitions that get a line of their own in the log; each tells its own counts."""


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

    def run(self, context: dg.AssetExecutionContext) -> Events:
        """Run, and tell.

        Raises:
            SmtError: The run failed, or some of its topics did; what is committed was told before.
        """
        partitions = self.table.spec.partitions_def
        if partitions is not None and not (context.has_partition_key or context.has_partition_key_range):
            hint = "choose partitions where it is launched, or in Materialize… on the asset's page"
            statement = "the run has no partition, and the asset is made of partitions"
            raise ConfigError(Problem("SMT049", self.key.to_user_string(), statement, hint))
        if isinstance(partitions, OF_TIME):
            times = time_keys(context, partitions)
        else:
            times = None
        keys = list(context.partition_keys) if partitions is not None else []
        if times is not None:
            settings = self._timed(keys, times)
        else:
            settings = self._settings(keys)
        done, afterwards = self._executed(context.op_execution_context, settings)
        failed = done.failure()
        if partitions is None:
            yield from self._unpartitioned(done, failed, afterwards)
        elif times is not None:
            yield from self._by_time(context, done, times, failed, afterwards)
        else:
            yield from self._partitioned(context, done, keys, failed, afterwards)
        yield from self._letters(done, afterwards)
        yield from self._checked(context, done, afterwards)
        if failed is not None:
            raise failed

    def run_all_topics(self, context: dg.OpExecutionContext) -> Iterator[Any]:
        """Run a table with a partition per topic in an op that is not the asset's: for all topics that there are.

        Raises:
            SmtError: As ``run``.
        """
        partitions = self.table.spec.partitions_def
        assert partitions is not None
        keys = list(partitions.get_partition_keys(dynamic_partitions_store=context.instance))
        if not keys:
            context.log.info("there are no partitions yet: nothing to run again")
            return
        settings = self._settings(keys)
        asked = set(settings.window.topics)
        keys = [key for key in keys if partition_key_to_topic(key) in asked]
        done, afterwards = self._executed(context, settings)
        yield from self._materializations(done, self._outcomes(context.log, done, keys, afterwards))
        yield from self._letters(done, afterwards)
        for result in self._checked(context, done, afterwards):
            yield dg.AssetCheckEvaluation(
                asset_key=self.key,
                check_name=str(result.check_name),
                passed=result.passed,
                metadata=result.metadata,
                severity=result.severity,
                description=result.description,
            )
        failed = done.failure()
        if failed is not None:
            raise failed

    def _executed(self, context: dg.OpExecutionContext, settings: RunSettings) -> tuple[Executed, Afterwards]:
        """Run, and say so in the log."""
        ask_brokers(self.table.work)
        session = spark_session_of(self.spark)
        told = partial(last_told, context, self.key)
        done = make_run(self.table.work, settings, session, context, told).execute()
        for warning in done.report.warnings:
            context.log.warning(str(warning))
        context.log.info(summary(done.report))
        afterwards = Afterwards(self.key.to_user_string(), context.log.warning)
        afterwards.tell(*dict.fromkeys(done.facts.unseen.values()))
        return done, afterwards

    def _letters(self, done: Executed, afterwards: Afterwards) -> Iterator[dg.AssetMaterialization]:
        """What is told of the dead letters, if there are any."""
        if done.report.failed and self.table.work.letter_place:
            metadata = afterwards.get("metadata of dead letters", lambda: letters_metadata(done.report), Metadata())
            yield dg.AssetMaterialization(dead_letters_key(self.key), metadata=metadata)

    def _checked(self, context: Context, done: Executed, afterwards: Afterwards) -> Iterator[dg.AssetCheckResult]:
        """The results of the checks."""
        settings = done.run.settings
        # the run config holds stages only; the exceptions of the definition stay valid for a chain of the run
        exceptions = settings.chain.mask_exceptions or self.table.work.chain.mask_exceptions
        readers: dict[str, list[str]] = {}
        if done.facts.broken:
            readers = afterwards.get("the list of readers", lambda: columns_read(context, self.key), readers)
        limits = self.table.checks.max_lag or 0, exceptions, self.table.checks.failed_share
        evidence = Evidence(done.report, done.facts, *limits, readers)
        yield from check_results(self.key, self.table.check_names, self.table.checks, evidence)

    def _timed(self, keys: Sequence[str], times: TimeKeys) -> RunSettings:
        """The settings of a run of time partitions: the range of their time; of a topic at a time, the topic too."""
        topic = topic_of_run(keys, self.table.topic_dimension, self.place)
        settings = decode_config(self.config, self.place, topic, only=self.table.work.only)
        window = settings.window
        if window.fixed or window.redrive or window.repair or settings.rebuild or settings.micro_batch is not None:
            hint = "leave ranges, redrive, repair, rebuild and micro_batch out, or launch an asset without partitions"
            statement = "a partition of time is a fixed range of its own"
            raise ConfigError(Problem("SMT035", f"{self.place}.window", statement, hint))
        window = replace(settings.window, since=times.since, until=times.until, cuts=times.cuts)
        return replace(settings, window=window)

    def _settings(self, keys: Sequence[str]) -> RunSettings:
        topics = tuple(sorted(map(partition_key_to_topic, keys)))
        settings = decode_config(self.config, self.place, topics, only=self.table.work.only)
        explicit = settings.window.explicit
        if explicit is not None:
            missing = sorted(set(topics) - set(explicit.topics))
        else:
            missing = []
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
            if outcome.news:
                yield dg.MaterializeResult(asset_key=self.key, metadata=outcome.metadata, data_version=version)
            else:
                yield dg.AssetObservation(self.key, metadata=observed_metadata(outcome.metadata))
        else:
            tags = self._tags(version, chain)  # what is committed is told although the step fails
            yield dg.AssetMaterialization(self.key, metadata=outcome.metadata, tags=tags)

    def _by_time(
        self,
        context: dg.AssetExecutionContext,
        done: Executed,
        times: TimeKeys,
        failed: SmtError | None,
        afterwards: Afterwards,
    ) -> Events:
        """One window, one commit; a materialization for each partition of time, be it without records."""
        if failed is not None:  # a window of time without some of its topics is not materialized
            return
        outcomes = {key: _outcome_of_time(done, key, part, afterwards) for key, part in times.parts.items()}
        _tell_partitions(context.log, outcomes)
        for key, outcome in outcomes.items():
            context.add_asset_metadata(outcome.metadata, asset_key=self.key, partition_key=key)
        made_by = next(o.chain_hash for o in outcomes.values())
        yield dg.MaterializeResult(asset_key=self.key, data_version=data_version(done.facts.ends, made_by))

    def _partitioned(
        self,
        context: dg.AssetExecutionContext,
        done: Executed,
        keys: Sequence[str],
        failed: SmtError | None,
        afterwards: Afterwards,
    ) -> Events:
        """One window, one commit; a materialization for each topic that is in it."""
        outcomes = self._outcomes(context.log, done, keys, afterwards)
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
        yield from self._materializations(done, outcomes)

    def _outcomes(
        self, log: dg.DagsterLogManager, done: Executed, keys: Sequence[str], afterwards: Afterwards
    ) -> dict[str, SmtOutcome]:
        """What the run did to each partition, but for topics that were left out."""
        topics = {key: partition_key_to_topic(key) for key in keys}
        outcomes = {}
        for k, t in topics.items():
            if t not in done.report.failures:
                outcomes[k] = _outcome_of(done, t, afterwards)
        _tell_partitions(log, outcomes)
        return outcomes

    def _materializations(self, done: Executed, outcomes: Mapping[str, SmtOutcome]) -> Events:
        """One event for each partition, apart from the step's own output."""
        for key, outcome in outcomes.items():
            if not outcome.news:
                metadata = observed_metadata(outcome.metadata)
                yield dg.AssetObservation(self.key, partition=key, metadata=metadata)
                continue
            tags = self._tags(data_version(outcome.ends, outcome.chain_hash), done.run.settings.chain)
            yield dg.AssetMaterialization(self.key, partition=key, metadata=outcome.metadata, tags=tags)

    def _tags(self, version: dg.DataVersion, chain: Chain) -> dict[str, str]:
        return {
            "dagster/data_version": version.value,
            "dagster/data_version_is_user_provided": "true",
            "dagster/code_version": self.table.spec.code_version
            or code_version(chain, self.table.work.table, self.table.work.sink),
        }


def _tell_partitions(log: dg.DagsterLogManager, outcomes: Mapping[str, SmtOutcome]) -> None:
    """A line for each of the first few partitions that have records, where there are several."""
    if len(outcomes) > 1:
        told = [summary(o.report) for o in outcomes.values() if o.report.records_in]
    else:
        told = []
    for line in told[:_NAMED]:
        log.info(visible(line))
    if len(told) > _NAMED:
        log.info(f"and so on for {len(told) - _NAMED} more partitions: their materializations have the counts")


def _outcome_of(done: Executed, topic: str, afterwards: Afterwards) -> SmtOutcome:
    """What a run did to one topic's partition."""
    ends = {}
    for t, parts in done.facts.ends.items():
        if t == topic:
            ends[t] = parts
    bare = SmtOutcome(done.report, bare_metadata(done.report), ends)
    outcome = afterwards.get(f"metadata of {topic}", lambda: done.outcome_of(topic), bare)
    return replace(outcome, metadata={**outcome.metadata, **afterwards.metadata})


def _outcome_of_time(done: Executed, key: str, part: int, afterwards: Afterwards) -> SmtOutcome:
    """What a run did to one partition of time."""
    bare = SmtOutcome(done.report, {"dagster_smt/status": done.report.status}, done.facts.ends)
    outcome = afterwards.get(f"metadata of {key}", lambda: done.outcome_of_time(key, part), bare)
    return replace(outcome, metadata={**outcome.metadata, **afterwards.metadata})


def last_told(context: Context, key: dg.AssetKey, topic: str | None) -> Metadata | None:
    """The metadata of the last materialization that Dagster knows, of a topic's partition or (None) of the table."""
    if topic is not None:
        partitions = [topic_to_partition_key(topic)]
    else:
        partitions = None
    wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=partitions)
    records = context.instance.fetch_materializations(wanted, limit=1).records
    event = records[0].asset_materialization if records else None
    if event:
        return dict(event.metadata)
    return None


def columns_read(context: Context, key: dg.AssetKey) -> dict[str, list[str]]:
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
