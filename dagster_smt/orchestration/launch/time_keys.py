"""The partitions of time of a run: which time they are, and what is told of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.orchestration.definitions.partitions import OF_TIME, partition_key_to_topic


@dataclass(frozen=True)
class TimeKeys:
    """The partitions of time of a run.

    Attributes:
        since, until: The time of all of them, in milliseconds.
        cuts: Moments between, at which one of them ends or begins.
        parts: Which part of the time each key is, cut so.
    """

    since: int
    until: int
    cuts: tuple[int, ...]
    parts: Mapping[str, int]


def time_keys(context: dg.AssetExecutionContext, partitions: OF_TIME) -> TimeKeys:
    """The partitions of time of a run."""
    span = context.partition_time_window
    since, until = _millis(span)
    if not isinstance(partitions, dg.TimeWindowPartitionsDefinition):  # a topic's: each is a run
        return TimeKeys(since, until, (), dict.fromkeys(context.partition_keys, 0))
    windows = {key: _millis(partitions.time_window_for_partition_key(key)) for key in context.partition_keys}
    moments = sorted({since, until, *(moment for window in windows.values() for moment in window)})
    parts = {key: moments.index(start) for key, (start, _) in windows.items()}
    return TimeKeys(since, until, tuple(moments[1:-1]), parts)


def _millis(span: dg.TimeWindow) -> tuple[int, int]:
    return round(span.start.timestamp() * 1000), round(span.end.timestamp() * 1000)


def topic_of_run(keys: Sequence[str], dimension: str, place: str) -> tuple[str, ...]:
    """The topic of a run, where a partition is a topic's time; nothing where it is that of all topics.

    Args:
        keys: The partition keys of the run.
        dimension: The dimension that names topics; empty for partitions of time alone.
        place: What to call the run config in problems.

    Raises:
        ConfigError: SMT045, the run is to make partitions of several times and topics.
    """
    if not dimension:
        return ()
    several = []
    for key in keys:
        if isinstance(key, dg.MultiPartitionKey):
            several.append(key)
    topics = sorted({key.keys_by_dimension[dimension] for key in several})
    if len(several) > 1:
        hint = "leave the backfill policy out: then each partition is a run"
        statement = f"one run is to make {len(several)} partitions of {len(topics)} topics"
        raise ConfigError(Problem("SMT045", place, statement, hint))
    return tuple(map(partition_key_to_topic, topics))
