"""Sensors: new topics become partitions and runs; records that no run has read start one. No Spark, no payloads.

What a sensor knows is in Dagster's own storage: the partitions there are, and what tables said of themselves. The
cursor holds only which topics were reported missing, so that losing it loses nothing.
"""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import dagster as dg

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.reports.markdown import code
from dagster_smt.model.windows.window import Range
from dagster_smt.orchestration.definitions.partitions import partition_key_to_topic, topic_to_partition_key
from dagster_smt.orchestration.launch.versions import digest
from dagster_smt.tables.spec import FileTopics, TableSource, TopicTable
from dagster_smt.tables.windows import matching
from dagster_smt.visible import visible

SENSOR_TAG = "dagster_smt/sensor"
"""Tag of the runs that a sensor asked for, with its name."""
_RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
_UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_NAMED = 20  # topics that a message names
_PAGE = 500


@dataclass(frozen=True)
class _NewTopics:
    """What ``build_new_topic_sensor`` was given."""

    name: str
    table: TopicTable
    exclude: str
    asset: dg.AssetKey
    partitions: dg.DynamicPartitionsDefinition
    request_runs: bool
    max_new_per_tick: int
    max_topics: int
    on_vanished: Literal["report", "delete"]


def build_new_topic_sensor(
    asset: dg.AssetsDefinition,
    table: TopicTable,
    *,
    name: str = "new_topics",
    exclude: str = "",
    request_runs: bool = True,
    max_new_per_tick: int = 200,
    max_topics: int = 5_000,
    on_vanished: Literal["report", "delete"] = "report",
    minimum_interval_seconds: int = 60,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Make a sensor that turns new topics into partitions of an asset, and asks for their runs in the same tick.

    All new topics of a tick are one run: one window, one Spark job, one commit. A topic that has a partition but was
    never materialized, because the daemon died between both steps, gets its run with a later tick.

    Args:
        asset: An asset of ``build_smt_asset`` with dynamic partitions, one per topic.
        table: Its topic table, with a pattern; or that of the topics which another asset's routers write to.
        name: The sensor's name.
        exclude: A regular expression for topics to leave out though they match.
        request_runs: False only adds partitions; ``AutomationCondition.on_missing()`` can launch them.
        max_new_per_tick: At most so many new topics per tick; the others wait for the next.
        max_topics: No more partitions than this: a guard against routers that make a topic of every value.
        on_vanished: What becomes of partitions whose topics are gone: they are reported, and kept, or deleted.
        minimum_interval_seconds: As in ``dg.sensor``.
        default_status: As in ``dg.sensor``.

    Raises:
        ConfigError: SMT039, the asset has no dynamic partitions, or the table no pattern.
    """
    partitions = _partitions_to_add_to(asset, table, name)
    for expression in (table.pattern, exclude):
        matching(expression, [""])  # one that is wrong is refused now
    limits = (request_runs, max_new_per_tick, max_topics, on_vanished)
    spec = _NewTopics(name, table, exclude, asset.key, partitions, *limits)
    return dg.SensorDefinition(
        name=name,
        target=asset,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"New topics that match {code(table.pattern)} become partitions of {asset.key.to_user_string()}.",
        evaluation_fn=partial(_sense_topics, spec),
    )


def _partitions_to_add_to(asset: dg.AssetsDefinition, table: TopicTable, name: str) -> dg.DynamicPartitionsDefinition:
    partitions = asset.partitions_def
    if not isinstance(partitions, dg.DynamicPartitionsDefinition) or not partitions.name:
        hint = "give build_smt_asset a partitions_def: dg.DynamicPartitionsDefinition(name=...)"
        raise ConfigError(Problem("SMT039", name, "the asset has no dynamic partitions to add to", hint))
    if not table.pattern or isinstance(table.source, TableSource):
        hint = "give TopicTable a pattern, and topics of files or of a cluster as source"
        raise ConfigError(Problem("SMT039", name, "the table has no pattern to find topics by", hint))
    return partitions


def _sense_topics(spec: _NewTopics, context: dg.SensorEvaluationContext) -> dg.SensorResult:
    from dagster_smt.tables.sources import open_source  # may load a Kafka client

    source = open_source(spec.table.source)
    there = matching(spec.table.pattern, source.topics())
    live = sorted(set(there) - set(matching(spec.exclude, there)))
    known = _known_keys(context, spec.partitions)
    added = _added(context, spec, known, live)
    requests = []
    if spec.request_runs:
        wanted = {*added, *_unmaterialized(context, spec, known, set(live))}
        identities = source.identities(map(partition_key_to_topic, wanted))
        requests = [_request(spec, keys, identities) for keys in _spans([*known, *added], wanted)]
    gone = sorted(set(known) - set(map(topic_to_partition_key, there)))
    changes: list[Any] = [spec.partitions.build_add_request(added)] if added else []
    if gone and spec.on_vanished == "delete":
        changes.append(spec.partitions.build_delete_request(gone))
    what = f"{len(live)} topics match, {len(added)} are new" + (f", {len(gone)} are gone" if gone else "")
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=changes,
        skip_reason=None if requests else what,
        cursor=_report_vanished(context, spec, gone),
    )


def _added(
    context: dg.SensorEvaluationContext, spec: _NewTopics, known: Sequence[str], live: Iterable[str]
) -> list[str]:
    """The keys of new topics that this tick adds."""
    there = set(known)
    new = []
    for key in map(topic_to_partition_key, live):
        if key not in there:
            new.append(key)
    room = max(0, spec.max_topics - len(known))
    if len(new) > room:
        context.log.error(
            f"{len(new)} new topics, but {len(known)} partitions leave room for {room} of max_topics="
            f"{spec.max_topics}: narrow the pattern, exclude topics, or raise max_topics"
        )
    return new[: min(room, spec.max_new_per_tick)]


def _unmaterialized(
    context: dg.SensorEvaluationContext, spec: _NewTopics, known: Sequence[str], live: Collection[str]
) -> list[str]:
    """Partitions of topics that no run has touched, unless one of this sensor's is under way."""
    if _under_way(context, spec.name):
        return []
    done = context.instance.get_materialized_partitions(spec.asset)
    waiting = []
    for key in known:
        if key not in done and partition_key_to_topic(key) in live:
            waiting.append(key)
    return waiting[: spec.max_new_per_tick]


def _under_way(context: dg.SensorEvaluationContext, name: str) -> bool:
    """Whether a run that the sensor asked for is not finished."""
    filters = dg.RunsFilter(tags={SENSOR_TAG: name}, statuses=_UNFINISHED)
    return bool(context.instance.get_runs(filters, limit=1))


def _known_keys(context: dg.SensorEvaluationContext, partitions: dg.DynamicPartitionsDefinition) -> list[str]:
    """The keys of the partitions that there are, in the order in which they were added."""
    assert partitions.name
    return list(context.instance.get_dynamic_partitions(partitions.name))


def _spans(order: Sequence[str], wanted: Collection[str]) -> Iterator[list[str]]:
    """The wanted keys in runs of neighbours: a range of dynamic partitions is one in the order of insertion."""
    span: list[str] = []
    for key in order:
        if key in wanted:
            span.append(key)
        elif span:
            yield span
            span = []
    if span:
        yield span


def _request(spec: _NewTopics, keys: Sequence[str], identities: Mapping[str, str]) -> dg.RunRequest:
    """One run for neighbouring partitions. Its key holds the topics' ids: a topic made anew is another one."""
    topics = map(partition_key_to_topic, keys)
    names = sorted(f"{topic}:{identities[topic]}" for topic in topics if topic in identities)
    if len(names) == 1:
        run_key = names[0]
    else:
        run_key = f"{len(names)} topics:{digest(names)}"
    tags = {SENSOR_TAG: spec.name, **range_tags(keys)}
    return dg.RunRequest(run_key=run_key, tags=tags, asset_selection=[spec.asset])


def range_tags(keys: Sequence[str]) -> dict[str, str]:
    """Tags of a run over partitions that are neighbours."""
    return dict(zip(_RANGE, (keys[0], keys[-1]), strict=True))


def _report_vanished(context: dg.SensorEvaluationContext, spec: _NewTopics, gone: Sequence[str]) -> str:
    """Name the topics that are gone, once; the cursor remembers which."""
    cursor = digest(gone) if gone else "none"  # Dagster takes no empty cursor
    if gone and context.cursor != cursor:
        named = ", ".join(map(partition_key_to_topic, gone[:_NAMED])) + (" …" if len(gone) > _NAMED else "")
        if spec.on_vanished == "delete":
            what = "are deleted"
        else:
            what = "are kept: on_vanished='delete' would delete them"
        context.log.warning(visible(f"{len(gone)} topics are gone: {named}. Their partitions {what}"))
    return cursor


@dataclass(frozen=True)
class _Behind:
    """What ``build_lag_sensor`` was given."""

    name: str
    table: TopicTable
    asset: dg.AssetKey
    partitions: dg.DynamicPartitionsDefinition | None
    min_records: int | None
    min_bytes: int | None
    max_age_seconds: float | None

    @property
    def least(self) -> str:
        """From what on it asks."""
        parts = ((self.min_records, "record"), (self.min_bytes, "byte"))
        return " or ".join(f"{number} {unit}{'s' * (number != 1)}" for number, unit in parts if number is not None)

    def turn(self, seconds: float) -> list[str]:
        """What makes another run key of each further ``max_age_seconds``: Dagster asks for a run key only once.

        So a run that failed is asked for again though no record is new.
        """
        if self.max_age_seconds is None or seconds < self.max_age_seconds:
            return []
        return [f"turn {seconds // max(1.0, self.max_age_seconds):.0f}"]

    def enough(self, late: Sequence[Range], there: Sequence[Range]) -> bool:
        """Whether so much is unread, of what there is, that a run is due."""
        if self.min_records is not None and sum(r.records for r in late) >= self.min_records:
            return True
        return self.min_bytes is not None and self._bytes(late, there) >= self.min_bytes

    def _bytes(self, late: Sequence[Range], there: Sequence[Range]) -> float:
        from dagster_smt.tables.sources import open_source

        stored: Counter[str] = Counter()
        for r in there:
            stored[r.topic] += r.records
        sizes = open_source(self.table.source).sizes(sorted({r.topic for r in late})) or {}
        return sum(sizes.get(r.topic, 0) * r.records / max(1, stored[r.topic]) for r in late)


def build_lag_sensor(
    asset: dg.AssetsDefinition,
    table: TopicTable,
    *,
    name: str = "lag",
    min_records: int | None = None,
    min_bytes: int | None = None,
    max_age_seconds: float | None = None,
    minimum_interval_seconds: int = 60,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Make a sensor that asks for a run when topics hold records that their table has not read.

    It compares the topics' end offsets with those that the table's last materialization or observation told. Of an
    asset with a partition per topic the run covers the topics that are behind.

    Args:
        asset: An asset of ``build_smt_asset``, without partitions or with one per topic.
        table: Its topic table.
        name: The sensor's name.
        min_records: Ask from so many unread offsets on; from the first on where ``min_bytes`` is not given either.
        min_bytes: Ask from about so many unread bytes on, by the mean size of the topic's stored records. File topics
            only: a broker does not tell the size of its topics.
        max_age_seconds: Ask for fewer, too, once the last run that told of anything is so long ago, and every so many
            seconds again, also after a run that failed. Without it a run that failed is asked for again once there are
            new records.
        minimum_interval_seconds: As in ``dg.sensor``.
        default_status: As in ``dg.sensor``.

    Raises:
        ConfigError: SMT039, the topics are those of a table, which only Spark can ask; or partitions are times; or the
            source does not know bytes.
    """
    if isinstance(table.source, TableSource):
        hint = "use a schedule, or an automation condition on the table's own asset"
        raise ConfigError(Problem("SMT039", name, "a sensor cannot ask a table without Spark", hint))
    partitions = asset.partitions_def
    if partitions is not None and not isinstance(partitions, dg.DynamicPartitionsDefinition):
        hint = "use build_schedule_from_partitioned_job"
        raise ConfigError(Problem("SMT039", name, "the partitions of the asset are no topics", hint))
    if min_bytes is not None and not isinstance(table.source, FileTopics):
        hint = "give min_records or max_age_seconds"
        raise ConfigError(Problem("SMT039", f"{name} min_bytes", "brokers do not tell the size of topics", hint))
    if min_records is None and min_bytes is None:
        min_records = 1
    spec = _Behind(name, table, asset.key, partitions, min_records, min_bytes, max_age_seconds)
    return dg.SensorDefinition(
        name=name,
        target=asset,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"Runs {asset.key.to_user_string()} when its topics hold at least {spec.least} not read yet.",
        evaluation_fn=partial(_sense_lag, spec),
    )


def _sense_lag(spec: _Behind, context: dg.SensorEvaluationContext) -> dg.SensorResult:
    if _under_way(context, spec.name):
        return dg.SensorResult(skip_reason="a run that this sensor asked for is not finished")
    if spec.partitions is not None:
        known = _known_keys(context, spec.partitions)
    else:
        known = []
    told, last = _told(context, spec, len(known))
    late, there = _unread(spec, known, told)
    old = spec.max_age_seconds is not None and time.time() - last >= spec.max_age_seconds
    if not late or not (old or spec.enough(late, there)):
        return dg.SensorResult(skip_reason=f"{sum(r.records for r in late)} unread records")
    run_key = digest([*(f"{r.topic}-{r.partition}@{r.end}" for r in late), *spec.turn(time.time() - last)])
    tags = {SENSOR_TAG: spec.name}
    if spec.partitions is None:
        return dg.SensorResult(run_requests=[dg.RunRequest(run_key=run_key, tags=tags, asset_selection=[spec.asset])])
    spans = _spans(known, {topic_to_partition_key(r.topic) for r in late})
    run_requests = []
    for s in spans:
        run_requests.append(
            dg.RunRequest(run_key=f"{run_key}:{s[0]}", tags={**tags, **range_tags(s)}, asset_selection=[spec.asset])
        )
    return dg.SensorResult(run_requests=run_requests)


def _unread(
    spec: _Behind, known: Sequence[str], told: Mapping[str, Mapping[str, int]]
) -> tuple[list[Range], list[Range]]:
    """The offsets that there are beyond what the table told, and all that there are."""
    from dagster_smt.tables.sources import open_source  # may load a Kafka client

    source = open_source(spec.table.source)
    listed = source.topics()
    topics = sorted({*set(listed).intersection(spec.table.topics), *matching(spec.table.pattern, listed)})
    if spec.partitions is not None:
        keys = set(known)
        topics = [t for t in topics if topic_to_partition_key(t) in keys]
    late, there = [], source.ranges(topics)
    for r in there:
        read = told.get(r.topic, {}).get(str(r.partition), 0)
        start = r.start if read > r.end else max(r.start, read)  # beyond the end: the topic was made anew
        if start < r.end:
            late.append(replace(r, start=start))
    return late, there


def _told(context: dg.SensorEvaluationContext, spec: _Behind, partitions: int) -> tuple[dict[str, Any], float]:
    """The end offsets that the table told last, of each topic, and when it told something."""
    found: dict[str, Any] = {}
    records = sorted(_events(context, spec.asset, 2 * partitions + 1), key=lambda r: r.timestamp, reverse=True)
    for record in records:
        event = record.asset_materialization or record.asset_observation
        ends = event.metadata.get("dagster_smt/end_offsets") if event else None
        for topic, parts in (ends.value if ends is not None else {}).items():
            found.setdefault(topic, parts)
    return found, records[0].timestamp if records else 0.0


def _events(context: dg.SensorEvaluationContext, asset: dg.AssetKey, limit: int) -> Iterator[Any]:
    """The last materializations and observations of an asset."""
    for fetch in (context.instance.fetch_materializations, context.instance.fetch_observations):
        cursor, left = None, limit
        while left > 0:
            page = fetch(asset, limit=min(left, _PAGE), cursor=cursor)
            yield from page.records
            cursor, left = page.cursor, left - len(page.records)
            if not page.has_more or not page.records:
                break
