"""Builds sensors for new topics and for unread records. These sensors need no Spark and read no payloads.

One sensor turns new topics into partitions, and requests runs for them. The other sensor requests a run if topics
contain unread records. Both sensors learn about earlier runs from Dagster's storage, which contains the partitions and
the metadata of tables. The first sensor also stores a cursor, so that it does not report at every tick that the same
topics have vanished from the cluster. If the cursor is lost, it reports these topics once more.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import dagster as dg

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.reports.markdown import code
from dagster_smt.model.windows.window import Range, number_of_records, topics_of
from dagster_smt.orchestration.definitions.op_names import main_spec
from dagster_smt.orchestration.definitions.partition_keys import partition_key_to_topic, topic_to_partition_key
from dagster_smt.orchestration.launch.code_versions import digest
from dagster_smt.tables.topic_table import FileTopics, TableSource, TopicTable
from dagster_smt.tables.windows import matching
from dagster_smt.visible import visible

SENSOR_TAG = "dagster_smt/sensor"
"""The tag that a sensor adds to the runs it requests. The tag's value is the name of the sensor."""
_NEW_TOPICS_TAG = "dagster_smt/new_topics"
"""The tag that a sensor adds to a run for new topics. The value identifies the topics. It is the run key of the first
run for these topics.
"""
_RUN_KEY_TAG = "dagster/run_key"
_RETRY_SECONDS = 900
"""The seconds between the end of a failed run for new topics and the next request of a run for the same topics."""
_RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
_UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_MOST_NAMES = 20  # the largest number of topics in a message
_PAGE = 500  # the largest number of events, or of partition keys, in a query
_LEAST_PAGE = 10


@dataclass(frozen=True)
class _NewTopics:
    """The arguments of ``build_new_topic_sensor``."""

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
    """Builds a sensor that turns new topics into partitions of an asset, and requests their runs in the same tick.

    One run handles all new topics of a tick, in one Spark job and one commit. If the daemon dies after it has added a
    partition, but before it has requested the run, a later tick requests the run. After a failed run, the sensor
    requests the next run for the same topics when 15 minutes have passed.

    Args:
        asset: An asset that ``build_smt_asset`` returns, with dynamic partitions, one per topic.
        table: The asset's topic table, which must have a topic pattern. These topics may be the output of another
            asset, whose transforms (such as ``RegexRouter``) create the topic names.
        name: The name of the sensor.
        exclude: A regular expression for topics to leave out although they match the pattern.
        request_runs: If False, the sensor only adds partitions. ``AutomationCondition.on_missing()`` can launch them.
        max_new_per_tick: The largest number of new topics in a tick. Further topics wait for the next tick.
        max_topics: The largest number of partitions. The limit guards against routers that turn every value into a
            topic.
        on_vanished: The reaction to topics that have vanished: report them and keep their partitions, or delete the
            partitions.
        minimum_interval_seconds: As in ``dg.sensor``.
        default_status: As in ``dg.sensor``.

    Raises:
        ConfigError: SMT039, the asset has no dynamic partitions, or the table has no pattern.
    """
    partitions = _partitions_to_add_to(asset, table, name)
    for expression in (table.pattern, exclude):
        matching(expression, [""])  # raises an error for a wrong expression when the sensor is defined
    limits = (request_runs, max_new_per_tick, max_topics, on_vanished)
    spec = _NewTopics(name, table, exclude, main_spec(asset).key, partitions, *limits)
    return dg.SensorDefinition(
        name=name,
        target=asset,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"New topics that match {code(table.pattern)} become partitions of {spec.asset.to_user_string()}.",
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
    matches = matching(spec.table.pattern, source.topics())
    live = sorted(set(matches) - set(matching(spec.exclude, matches)))
    known = _known_keys(context, spec.partitions)
    added = _added(context, spec, known, live)
    run_requests = []
    if spec.request_runs:
        due = {*added, *_unmaterialized(context, spec, known, set(live))}
        identities = source.identities(map(partition_key_to_topic, due))
        # Dagster appends new keys, so this is their order once the result of this tick is stored
        for keys in _spans([*known, *added], due):
            if (request := _request(context, spec, keys, identities)) is not None:
                run_requests.append(request)
    # not ``live``: an excluded topic still exists, so its partition is not gone
    gone = sorted(set(known) - set(map(topic_to_partition_key, matches)))
    changes: list[Any] = [spec.partitions.build_add_request(added)] if added else []
    if gone and spec.on_vanished == "delete":
        changes.append(spec.partitions.build_delete_request(gone))
    summary = f"{len(live)} topics match, {len(added)} are new" + (f", {len(gone)} are gone" if gone else "")
    return dg.SensorResult(
        run_requests=run_requests,
        dynamic_partitions_requests=changes,
        # Dagster rejects a reason beside run requests; without a reason, it logs a tick that only adds partitions as
        # an empty result
        skip_reason=None if run_requests else summary,
        cursor=_report_vanished(context, spec, gone),
    )


def _added(
    context: dg.SensorEvaluationContext, spec: _NewTopics, known: Sequence[str], live: Iterable[str]
) -> list[str]:
    """Returns the partition keys that this tick adds: the keys of topics in ``live`` that are not in ``known``, the
    list of existing keys. The options ``max_topics`` and ``max_new_per_tick`` limit the number of new keys.
    """
    partitions = set(known)
    new = []
    for key in map(topic_to_partition_key, live):
        if key not in partitions:
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
    """Returns at most ``max_new_per_tick`` of the keys in ``known`` that no run has materialized yet. The topics of
    these keys are in ``live``, which contains the topics that exist now.

    While a run that this sensor requested is in progress, the result is empty.
    """
    # the run may be about to materialize these keys; the run key prevents a second run only for the same group of keys
    if _under_way(context, spec.name):
        return []
    done = context.instance.get_materialized_partitions(spec.asset)
    waiting = []
    for key in known:
        if key not in done and partition_key_to_topic(key) in live:
            waiting.append(key)
    return waiting[: spec.max_new_per_tick]


def _under_way(context: dg.SensorEvaluationContext, name: str) -> bool:
    """Returns True if a run that was requested by the sensor ``name`` has not finished yet."""
    filters = dg.RunsFilter(tags={SENSOR_TAG: name}, statuses=_UNFINISHED)
    return bool(context.instance.get_runs(filters, limit=1))


def _known_keys(context: dg.SensorEvaluationContext, partitions: dg.DynamicPartitionsDefinition) -> list[str]:
    """Returns the existing keys of ``partitions``, in the order in which they were added."""
    assert partitions.name
    return list(context.instance.get_dynamic_partitions(partitions.name))


def _spans(order: Sequence[str], chosen: Collection[str]) -> Iterator[list[str]]:
    """Divides the keys in ``chosen`` into groups of keys that follow each other in ``order``, and yields the groups.

    For example, with the order ``a, b, c, d`` and the chosen keys ``a``, ``b`` and ``d``, the groups are ``["a", "b"]``
    and ``["d"]``. Each group becomes one run over a range of partitions, because Dagster orders dynamic partitions by
    the time at which they were added.
    """
    span: list[str] = []
    for key in order:
        if key in chosen:
            span.append(key)
        elif span:
            yield span
            span = []
    if span:
        yield span


def _request(
    context: dg.SensorEvaluationContext, spec: _NewTopics, keys: Sequence[str], identities: Mapping[str, str]
) -> dg.RunRequest | None:
    """Returns the request for a single run of the partitions ``keys``, which are neighbours in Dagster's order. Returns
    None if a run for the same topics has failed a short time ago.

    Dagster starts only one run for each run key. The run key after a failed run therefore contains the id of this run.

    ``identities`` maps a topic to its id, which becomes a part of the run key. If a topic is deleted and created again,
    its id is new. The new topic therefore gets another run.
    """
    topics = map(partition_key_to_topic, keys)
    topic_identities = []
    for topic in topics:
        if topic in identities:
            topic_identities.append(f"{topic}:{identities[topic]}")
    names = sorted(topic_identities)
    if len(names) == 1:
        first_key = names[0]
    else:
        first_key = f"{len(names)} topics:{digest(names)}"
    run_key, last = first_key, _last_run(context, spec.name, first_key)
    if last is not None and last.dagster_run.status == dg.DagsterRunStatus.FAILURE:
        if time.time() - (last.end_time or 0.0) < _RETRY_SECONDS:
            return None
        run_key = f"{first_key} after {last.dagster_run.run_id}"
    tags = {SENSOR_TAG: spec.name, _NEW_TOPICS_TAG: first_key, **range_tags(keys)}
    return dg.RunRequest(run_key=run_key, tags=tags, asset_selection=[spec.asset])


def _last_run(context: dg.SensorEvaluationContext, name: str, first_key: str) -> dg.RunRecord | None:
    """Returns the last run that the sensor ``name`` requested for the topics that ``first_key`` identifies; None if
    there is no such run.
    """
    # runs of former versions of this package have only the run key
    for tag in (_NEW_TOPICS_TAG, _RUN_KEY_TAG):
        filters = dg.RunsFilter(tags={SENSOR_TAG: name, tag: first_key})
        records = context.instance.get_run_records(filters, limit=1)
        if records:
            return records[0]
    return None


def range_tags(keys: Sequence[str]) -> dict[str, str]:
    """Returns tags for a run that covers all partitions from the first to the last of ``keys``."""
    return dict(zip(_RANGE, (keys[0], keys[-1]), strict=True))


def _report_vanished(context: dg.SensorEvaluationContext, spec: _NewTopics, gone: Sequence[str]) -> str:
    """Logs a warning for the topics in ``gone``, which have vanished, and returns the next cursor.

    The cursor identifies the set of vanished topics. As long as the set stays the same, it is reported only once.
    """
    cursor = digest(gone) if gone else "none"  # Dagster does not accept an empty cursor
    if gone and context.cursor != cursor:
        topics = ", ".join(map(partition_key_to_topic, gone[:_MOST_NAMES])) + (" …" if len(gone) > _MOST_NAMES else "")
        if spec.on_vanished == "delete":
            reaction = "are deleted"
        else:
            reaction = "are kept: on_vanished='delete' would delete them"
        context.log.warning(visible(f"{len(gone)} topics are gone: {topics}. Their partitions {reaction}"))
    return cursor


@dataclass(frozen=True)
class _Behind:
    """The arguments of ``build_lag_sensor``."""

    name: str
    table: TopicTable
    asset: dg.AssetKey
    partitions: dg.DynamicPartitionsDefinition | None
    min_records: int | None
    min_bytes: int | None
    max_age_seconds: float | None
    keys: tuple[dg.AssetKey, ...] = ()

    @property
    def least(self) -> str:
        """The limits at which the sensor starts a run, as a phrase, such as ``100 records or 5000 bytes``."""
        parts = ((self.min_records, "record"), (self.min_bytes, "byte"))
        texts = []
        for number, unit in parts:
            if number is not None:
                texts.append(f"{number} {unit}{'s' * (number != 1)}")
        return " or ".join(texts)

    def turn(self, seconds: float) -> list[str]:
        """Returns a list with an extra part for the run key, such as ``["turn 3"]``. The list may be empty.

        Dagster starts only one run for each run key. After a failed run, the run key must therefore change before the
        sensor can request the run again. The number in the extra part changes every ``max_age_seconds``, even without
        new records: if ``max_age_seconds`` is 60, it is 3 from 180 to 240 seconds after the last report. The list is
        empty until the first ``max_age_seconds`` have passed, or if this option is not set.

        Args:
            seconds: The age of the table's last report.
        """
        if self.max_age_seconds is None or seconds < self.max_age_seconds:
            return []
        # at least 1, because max_age_seconds may be 0
        return [f"turn {seconds // max(1.0, self.max_age_seconds):.0f}"]

    def enough(self, late: Sequence[Range], stored: Sequence[Range]) -> bool:
        """Returns True if the unread ranges contain enough records or bytes to start a run.

        Args:
            late: The unread ranges.
            stored: The ranges of all offsets that the topics hold, read and unread.
        """
        if self.min_records is not None and number_of_records(late) >= self.min_records:
            return True
        return self.min_bytes is not None and self._bytes(late, stored) >= self.min_bytes

    def _bytes(self, late: Sequence[Range], stored: Sequence[Range]) -> float:
        from dagster_smt.tables.sources import open_source

        records: Counter[str] = Counter()
        for r in stored:
            records[r.topic] += r.records
        sizes = open_source(self.table.source).sizes(sorted(topics_of(late))) or {}
        size: float = 0
        for r in late:
            size += sizes.get(r.topic, 0) * r.records / records[r.topic]
        return size


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
    """Builds a sensor that requests a run when topics hold records that their table has not read.

    The sensor compares the topics' end offsets with the end offsets in the table's last materialization or observation.
    For an asset with a partition per topic, the run covers the topics with unread records.

    Args:
        asset: An asset that ``build_smt_asset`` returns, without partitions or with one partition per topic.
        table: The topic table of the asset.
        name: The name of the sensor.
        min_records: The smallest number of unread offsets that starts a run; by default 1, unless ``min_bytes`` is set.
        min_bytes: The smallest number of unread bytes that starts a run, estimated from the mean size of the topic's
            stored records. This limit requires file topics, because a broker does not report the size of its topics.
        max_age_seconds: If the table's last report is at least this old, the sensor starts a run even for fewer records
            than ``min_records``. After a failed run, the sensor starts another run when this number of seconds has
            passed. Without this limit, the sensor requests a failed run again only when there are new records.
        minimum_interval_seconds: As in ``dg.sensor``.
        default_status: As in ``dg.sensor``.

    Raises:
        ConfigError: SMT039, in three cases. The source is a table, which only Spark can read. The asset has time
            partitions. ``min_bytes`` is set, but the source does not know the size of its topics.
    """
    if isinstance(table.source, TableSource):
        hint = "use a schedule, or an automation condition on the table's own asset"
        raise ConfigError(Problem("SMT039", name, "a sensor cannot read a table without Spark", hint))
    partitions = asset.partitions_def
    if partitions is not None and not isinstance(partitions, dg.DynamicPartitionsDefinition):
        hint = "use build_schedule_from_partitioned_job"
        raise ConfigError(Problem("SMT039", name, "the partitions of the asset are not topics", hint))
    if min_bytes is not None and not isinstance(table.source, FileTopics):
        hint = "give min_records or max_age_seconds"
        raise ConfigError(Problem("SMT039", f"{name} min_bytes", "brokers do not report the size of topics", hint))
    if min_records is None and min_bytes is None:
        min_records = 1
    spec = _Behind(
        name, table, main_spec(asset).key, partitions, min_records, min_bytes, max_age_seconds, tuple(asset.keys)
    )
    return dg.SensorDefinition(
        name=name,
        target=asset,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"Runs {spec.asset.to_user_string()} when its topics hold at least {spec.least} not read yet.",
        evaluation_fn=partial(_sense_lag, spec),
    )


def _sense_lag(spec: _Behind, context: dg.SensorEvaluationContext) -> dg.SensorResult:
    if _under_way(context, spec.name):
        return dg.SensorResult(skip_reason="a run that this sensor requested is not finished")
    if spec.partitions is not None:
        known = _known_keys(context, spec.partitions)
    else:
        known = []
    ends, last = _reported(context, spec, known)
    late, stored = _unread(spec, known, ends)
    # ``last`` is 0.0 if the table has no report yet, so that the table is old at once
    old = spec.max_age_seconds is not None and time.time() - last >= spec.max_age_seconds
    if not late or not (old or spec.enough(late, stored)):
        return dg.SensorResult(skip_reason=f"{number_of_records(late)} unread records")
    run_key = digest([*(f"{r.topic}-{r.partition}@{r.end}" for r in late), *spec.turn(time.time() - last)])
    tags = {SENSOR_TAG: spec.name}
    if spec.partitions is None:
        # the keys include the tables in ``destinations``, which only an asset without partitions can have
        return dg.SensorResult(run_requests=[dg.RunRequest(run_key=run_key, tags=tags, asset_selection=spec.keys)])
    spans = _spans(known, {topic_to_partition_key(r.topic) for r in late})
    run_requests = []
    for s in spans:
        run_requests.append(
            dg.RunRequest(run_key=f"{run_key}:{s[0]}", tags={**tags, **range_tags(s)}, asset_selection=[spec.asset])
        )
    return dg.SensorResult(run_requests=run_requests)


def _unread(
    spec: _Behind, known: Sequence[str], ends: Mapping[str, Mapping[str, int]]
) -> tuple[list[Range], list[Range]]:
    """Returns two lists of ranges: the unread offsets, and all offsets of the topics.

    ``ends`` contains the end offsets that the table last reported, by topic and partition: ``{"orders": {"0": 100}}``.
    The offsets of ``orders-0`` from 100 on are then unread. ``known`` are the partition keys of the asset.
    """
    from dagster_smt.tables.sources import open_source  # may load a Kafka client

    source = open_source(spec.table.source)
    listed = source.topics()
    # topics of the table that do not exist yet are left out, because source.ranges raises an error for them
    topics = sorted({*set(listed).intersection(spec.table.topics), *matching(spec.table.pattern, listed)})
    if spec.partitions is not None:
        keys = set(known)
        # records of a topic without a partition do not count, because no run of the asset can read them
        topics = [t for t in topics if topic_to_partition_key(t) in keys]
    late, stored = [], source.ranges(topics)
    for r in stored:
        end = ends.get(r.topic, {}).get(str(r.partition), 0)
        # if the reported end is beyond the end of the topic, the topic has been created again, and all its offsets are
        # unread
        start = r.start if end > r.end else max(r.start, end)
        if start < r.end:
            late.append(replace(r, start=start))
    return late, stored


def _reported(context: dg.SensorEvaluationContext, spec: _Behind, known: Sequence[str]) -> tuple[dict[str, Any], float]:
    """Returns two items: the end offsets that the table of ``spec`` last reported for each topic, and the time of the
    newest report, which is 0.0 if there is no report. ``known`` are the partition keys of the asset.
    """
    keys = known if spec.partitions is not None else [""]
    reports: list[dg.EventLogRecord] = []
    for first in range(0, len(keys), _PAGE):
        chunk, since = keys[first : first + _PAGE], None
        materialized = list(_latest_reports(context.instance.fetch_materializations, spec.asset, chunk))
        if len(materialized) == len(chunk):
            # older observations are not the latest report of any partition
            since = min(report.timestamp for report in materialized)
        observed = _latest_reports(context.instance.fetch_observations, spec.asset, chunk, since)
        reports += [*materialized, *observed]
    reports.sort(key=lambda report: report.timestamp, reverse=True)
    end_offsets: dict[str, Any] = {}
    # the newest report comes first, so setdefault keeps the newest end offsets of each topic
    for report in reports:
        for topic, parts in _end_offsets(report).items():
            end_offsets.setdefault(topic, parts)
    return end_offsets, reports[0].timestamp if reports else 0.0


def _latest_reports(
    fetch: Callable[..., dg.EventRecordsResult],
    asset: dg.AssetKey,
    keys: Sequence[str],
    since: float | None = None,
) -> Iterator[dg.EventLogRecord]:
    """Yields the latest event of each partition in ``keys`` that reports end offsets.

    The events of a busy partition may fill any number of pages. Each page therefore contains only events of the
    partitions whose report is still missing.

    Args:
        fetch: The method of the Dagster instance that returns events, the latest event first.
        asset: The asset.
        keys: Partition keys. For an asset without partitions, the only key is an empty string.
        since: The time after which events count; None: all events count.
    """
    cursor, missing = None, set(keys)
    while missing:
        partitions = sorted(missing) if keys != [""] else None
        records_filter = dg.AssetRecordsFilter(asset, partitions, after_timestamp=since)
        page = fetch(records_filter, limit=max(_LEAST_PAGE, len(missing)), cursor=cursor)
        for record in page.records:
            # observations by maintenance and erasures report no end offsets
            key = record.partition_key or ""
            if key in missing and _end_offsets(record):
                missing.remove(key)
                yield record
        if not page.has_more:
            return
        cursor = page.cursor


def _end_offsets(record: dg.EventLogRecord) -> dict[str, Any]:
    """Returns the end offsets that an event reports, by topic and partition; empty if it reports none."""
    event = record.asset_materialization or record.asset_observation
    ends: Any = event.metadata.get("dagster_smt/end_offsets") if event else None
    return ends.value if ends is not None else {}
