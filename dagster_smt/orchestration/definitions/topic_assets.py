"""Builds assets that let Dagster observe topics: partitions, offsets and rates. Observations do not need Spark.

A topic's data version changes only when there are new records, or when the topic has been created again. Automation
that depends on topics (``AutomationCondition.eager()``, freshness, sensors) uses these observations.
"""

import time
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dagster as dg

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.reports.markdown import code
from dagster_smt.model.windows.window import Range, number_of_records
from dagster_smt.orchestration.definitions.translator import SmtTranslator, topic_keys
from dagster_smt.orchestration.launch.code_versions import digest
from dagster_smt.orchestration.metadata.schema_metadata import topic_columns
from dagster_smt.orchestration.metadata.table_values import table
from dagster_smt.orchestration.runs.failures import problems_as_failure
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.topic_table import SourceSpec, TableSource, TopicTable
from dagster_smt.tables.windows import matching

_COLUMNS = {"topic": "string", "partitions": "int", "records": "int", "end": "int"}
_SHOWN = 500
"""The largest number of rows in a metadata table of topics. Without a limit, the event log could contain tens of
thousands of rows.
"""


@dataclass(frozen=True)
class _Watched:
    """An asset for a topic, or for all topics that match a pattern."""

    key: dg.AssetKey
    topic: str = ""
    pattern: str = ""
    columns: dg.TableSchema | None = None

    @property
    def description(self) -> str:
        if self.topic:
            return f"The topic {code(self.topic)}."
        return f"The topics that match {code(self.pattern)}."

    def topics(self, listed: Sequence[str]) -> list[str]:
        if self.topic:
            return [self.topic]
        return matching(self.pattern, listed)


def build_topic_assets(
    tables: TopicTable | Sequence[TopicTable],
    *,
    name: str = "topics",
    group_name: str | None = None,
    tags: Mapping[str, str] | None = None,
    owners: Sequence[str] | None = None,
    automation_condition: dg.AutomationCondition[Any] | None = None,
    freshness_policy: dg.FreshnessPolicy | None = None,
    translator: SmtTranslator | None = None,
    without: Collection[dg.AssetKey] = (),
) -> dg.AssetsDefinition:
    """Builds observable assets for the topics of tables. The assets of the tables depend on these assets.

    Each topic that is listed by name is an asset. A pattern becomes one asset for all matching topics. Each observation
    reports partitions, end offsets and records. It also reports bytes, if the source knows the bytes. From the second
    observation on, it also reports records per second.
    ``automation_condition=AutomationCondition.on_cron("*/5 * * * *")`` observes every five minutes.

    Args:
        tables: The tables, which must all have the same source. The source must not be a ``TableSource``, because its
            table is already an asset.
        name: The name of the op.
        group_name: As in ``dg.AssetSpec``.
        tags: As in ``dg.AssetSpec``.
        owners: As in ``dg.AssetSpec``.
        automation_condition: As in ``dg.AssetSpec``.
        freshness_policy: As in ``dg.AssetSpec``.
        translator: Customises the specs (``get_topic_spec``). The tables need the same translator.
        without: Keys of topics that other assets observe already, such as ``kafka/orders``.

    Raises:
        ConfigError: SMT038, the tables have several sources, or the source is a table; SMT040, there is no table;
            SMT037, two patterns have the same asset key.
    """
    tables = [tables] if isinstance(tables, TopicTable) else list(tables)
    source = _source(tables, name)
    watched_by_key: dict[dg.AssetKey, _Watched] = {}
    problems = []
    for t in tables:
        for w in _watched(t):
            if w.key in without:
                continue
            other = watched_by_key.get(w.key, w)
            if other.pattern != w.pattern:
                problems.append(same_key(w.key, other.pattern, w.pattern))
            watched_by_key[w.key] = w
    if problems:
        raise ConfigError(problems)
    specs = []
    for w in watched_by_key.values():
        specs.append(
            (translator or SmtTranslator()).get_topic_spec(
                dg.AssetSpec(
                    key=w.key,
                    group_name=group_name,
                    description=w.description,
                    metadata={"dagster/column_schema": w.columns, "dagster_smt/place": source.place},
                    tags=tags,
                    owners=owners,
                    kinds={"topic", "kafka" if isinstance(source, KafkaTopics) else "file"},
                    automation_condition=automation_condition,
                    freshness_policy=freshness_policy,
                )
            )
        )
    watched = {}
    for spec, w in zip(specs, watched_by_key.values(), strict=True):
        watched[spec.key] = replace(w, key=spec.key)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)  # only observations of these assets can start assets downstream

        @dg.multi_observable_source_asset(specs=specs, name=name, can_subset=True)
        def observed(context: dg.AssetExecutionContext) -> Iterator[dg.ObserveResult]:
            selected = []
            for w in watched.values():
                if w.key in context.selected_asset_keys:
                    selected.append(w)
            with problems_as_failure():
                yield from _observe(context, source, selected)

    return observed


def _source(tables: Sequence[TopicTable], name: str) -> SourceSpec:
    if not tables:
        raise ConfigError(Problem("SMT040", f"{name} tables", "no table is given", "give at least one TopicTable"))
    several = any(t.source != tables[0].source for t in tables)
    if not several and not isinstance(tables[0].source, TableSource):
        return tables[0].source
    if several:
        statement = "the tables have several sources"
    else:
        statement = "a table is an asset itself, not a topic"
    raise ConfigError(Problem("SMT038", name, statement, "make topic assets for each source of topics"))


def same_key(key: dg.AssetKey, one: str, other: str) -> Problem:
    """Returns the problem that two patterns, ``one`` and ``other``, have the same asset key."""
    statement = f"the patterns {one} and {other} have the same asset key"
    hint = "write one of them as (?:…){1}, which matches the same topics and has a key of its own"
    return Problem("SMT037", key.to_user_string(), statement, hint)


def _watched(table_: TopicTable) -> Iterator[_Watched]:
    keys, columns = topic_keys(table_), topic_columns(table_)
    # with a pattern, there is one key more, and it is the last
    for key, topic in zip(keys, table_.topics, strict=False):
        yield _Watched(key, topic, columns=columns)
    if table_.pattern:
        yield _Watched(keys[-1], pattern=table_.pattern, columns=columns)


def _observe(
    context: dg.AssetExecutionContext, spec: SourceSpec, selected: Sequence[_Watched]
) -> Iterator[dg.ObserveResult]:
    from dagster_smt.tables.sources import open_source  # may load a Kafka client

    source = open_source(spec)
    listed = source.topics()
    topics = {}
    for w in selected:
        topics[w.key] = w.topics(listed)
    every = sorted({t for names in topics.values() for t in names})
    ranges, ids = source.ranges(every), source.identities(every)
    sizes = source.sizes(every)
    for w in selected:
        names = set(topics[w.key])
        own = [r for r in ranges if r.topic in names]
        size = sum(sizes[t] for t in names) if sizes is not None else None
        version = dg.DataVersion(topics_version(own, {t: ids.get(t, "") for t in names}))
        metadata = _metadata(w, own, size, _last_seen(context, w.key))
        yield dg.ObserveResult(asset_key=w.key, data_version=version, metadata=metadata)


def topics_version(ranges: Sequence[Range], identities: Mapping[str, str]) -> str:
    """Returns a string that identifies the current state of topics. ``ranges`` are the offsets in the topics, and
    ``identities`` maps each topic to its id.

    The string changes if a topic-partition has new records, if a topic gets another partition, or if a topic has been
    created again.
    """
    ends = [[r.topic, r.partition, r.end] for r in ranges]
    return digest([ends, identities])


def _last_seen(context: dg.AssetExecutionContext, key: dg.AssetKey) -> tuple[float, int] | None:
    """Returns the time of the last observation of the asset ``key``, and the number of messages at that time; None if
    there is no observation.
    """
    records = context.instance.fetch_observations(key, limit=1).records
    observation = records[0].asset_observation if records else None
    if observation:
        messages = observation.metadata.get("dagster_smt/messages")
    else:
        messages = None
    value = messages.value if messages is not None else None
    if isinstance(value, int):
        return (records[0].timestamp, value)
    return None


def _metadata(
    w: _Watched, ranges: Sequence[Range], size: int | None, former: tuple[float, int] | None
) -> dict[str, Any]:
    # offsets begin at 0, so this number includes records that retention has removed, and only a new topic lowers it
    messages = sum(r.end for r in ranges)
    metadata: dict[str, Any] = {
        "dagster_smt/records": number_of_records(ranges),
        "dagster_smt/messages": messages,
        "dagster_smt/partitions": len(ranges),
    }
    if size is not None:
        metadata["dagster_smt/bytes"] = size
    if former is not None:
        spent = max(time.time() - former[0], 0.001)
        # the number is smaller than before if the topic has been created again
        metadata["dagster_smt/messages_per_second"] = round(max(0, messages - former[1]) / spent, 3)
    if w.topic:
        return {**metadata, "dagster_smt/end_offsets": dg.MetadataValue.json({str(r.partition): r.end for r in ranges})}
    by_topic = defaultdict(list)
    for r in ranges:
        by_topic[r.topic].append(r)
    rows = []
    for topic in sorted(by_topic)[:_SHOWN]:
        rows.append(_row(topic, by_topic[topic]))
    return {**metadata, "dagster_smt/topic_count": len(by_topic), "dagster_smt/topics": table(rows, _COLUMNS)}


def _row(topic: str, ranges: Sequence[Range]) -> dict[str, Any]:
    records, end = number_of_records(ranges), sum(r.end for r in ranges)
    return {"topic": topic, "partitions": len(ranges), "records": records, "end": end}
