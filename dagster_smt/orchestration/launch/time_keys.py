"""Determines the time partitions of a run and their times. The report of the run is divided into one part for each
partition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.orchestration.definitions.partition_keys import OF_TIME, partition_key_to_topic


@dataclass(frozen=True)
class TimeKeys:
    """The time partitions of a run.

    For example, a run of the daily partitions ``2026-01-01`` and ``2026-01-02`` has one cut, at the midnight between
    the two days. ``parts`` is ``{"2026-01-01": 0, "2026-01-02": 1}``.

    Attributes:
        since, until: The beginning and the end of all partitions together, in milliseconds.
        cuts: The points in time between ``since`` and ``until`` at which a partition ends or begins.
        parts: Maps each partition key to the number of its part of the window. The cuts separate these parts.
    """

    since: int
    until: int
    cuts: tuple[int, ...]
    parts: Mapping[str, int]


def time_keys(context: dg.AssetExecutionContext, partitions: OF_TIME) -> TimeKeys:
    """Returns the time partitions that the run of ``context`` covers."""
    span = context.partition_time_window
    since, until = _millis(span)
    # with partitions by topic and time, each partition is a separate run
    if not isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return TimeKeys(since, until, (), dict.fromkeys(context.partition_keys, 0))
    windows = {}
    for key in context.partition_keys:
        windows[key] = _millis(partitions.time_window_for_partition_key(key))
    bounds: list[int] = []
    for window in windows.values():
        bounds.extend(window)
    times = sorted({since, until, *bounds})
    parts = {}
    for key, (start, _) in windows.items():
        parts[key] = times.index(start)
    return TimeKeys(since, until, tuple(times[1:-1]), parts)


def _millis(span: dg.TimeWindow) -> tuple[int, int]:
    return round(span.start.timestamp() * 1000), round(span.end.timestamp() * 1000)


def topic_of_run(keys: Sequence[str], dimension: str, place: str) -> tuple[str, ...]:
    """Returns the topic in the partition key of a run, as a tuple: from ``2026-01-01|orders``, returns ``("orders",)``.

    Only partitions by both topic and time have such keys. A run covers only one such partition. For partitions by time
    alone, the tuple is empty.

    Args:
        keys: The partition keys of the run.
        dimension: The dimension that names topics; empty for partitions by time alone.
        place: The location of the run config, for messages.

    Raises:
        ConfigError: SMT045, the run has several partitions.
    """
    if not dimension:
        return ()
    several = []
    for key in keys:
        if isinstance(key, dg.MultiPartitionKey):
            several.append(key)
    # the string of a key is not split, because Dagster orders the dimensions in it by their names
    topics = sorted({key.keys_by_dimension[dimension] for key in several})
    if len(several) > 1:
        hint = "leave the backfill policy out: then each partition is a run"
        statement = f"one run is to make {len(several)} partitions of {len(topics)} topics"
        raise ConfigError(Problem("SMT045", place, statement, hint))
    return tuple(map(partition_key_to_topic, topics))
