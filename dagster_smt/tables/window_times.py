"""Computes the offsets of time windows, and finds late records.

A time window is a range of offsets. It begins with the first record at or after its start time, and ends before the
first record at or after its end time.

A record may arrive after a run has read the window of its timestamp. There are two cases:

- The record arrives before the first record of the next window. The next window reads the record, because it begins
  where the previous window ended.
- The record arrives even later. It is then a late record, and the window that contains its offset reads it. With
  ``late: include``, the window that contains its timestamp also reads the record.
"""

import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from dagster_smt.model.windows.division import Division
from dagster_smt.model.windows.offsets import Interval, OffsetSet, TopicPartition, minus, topics_in
from dagster_smt.model.windows.time_spans import EVER, Span, Spans, reached
from dagster_smt.model.windows.window import Range, topics_of
from dagster_smt.tables.available import Available
from dagster_smt.tables.window_request import WindowRequest

MOST_PIECES = 2_000
"""The largest number of offset ranges that a run reads. Without a limit, commits would grow with the number
of ranges.
"""


def timed_ranges(
    request: WindowRequest, available: Available, formerly: Mapping[TopicPartition, int], covered: OffsetSet
) -> tuple[list[Range], dict[TopicPartition, Span], Division]:
    """Computes the offsets of the time window that ``request`` contains.

    Args:
        request: The request, with its time window.
        available: The offsets that the topics hold.
        formerly: The offset at which the previous time window ended, by topic-partition; see ``reached_before``.
        covered: The offsets that the table holds.

    Returns:
        Three results: the ranges of offsets; the time span of each topic-partition; and a division of the time window
        into parts, such as days. The division maps each offset to its part.
    """
    topics = sorted(topics_of(available.ranges))
    moments = []
    for m in (request.since, *request.cuts, request.until):
        if m is not None:
            moments.append(m)
    firsts = dict(zip(moments, available.firsts(topics, moments), strict=True))
    starts = firsts[request.since] if request.since is not None else {}
    ends = firsts[request.until] if request.until is not None else {}
    ranges, read = [], {}
    for r in available.ranges:
        place = (r.topic, r.partition)
        start = starts.get(place, r.start)
        end = max(start, ends.get(place, r.end))
        # without a previous window, no offsets are between two windows
        late = _late(r, formerly.get(place, start), start, covered.of(*place))
        for part in (*late, (start, end)):
            ranges.append(Range(*place, *part))
        read[place] = Span(_or(request.since, -EVER), _or(request.until, EVER), end)
    begins = _begins(request.cuts, firsts)
    if request.late == "include":
        ranges += _late_ones(request, available, read, begins)
    return ranges, read, Division(len(request.cuts) + 1, begins)


def _late_ones(
    request: WindowRequest,
    available: Available,
    read: Mapping[TopicPartition, Span],
    begins: dict[TopicPartition, list[tuple[int, int]]],
) -> list[Range]:
    """Returns the late records that belong to the time window of ``request``, as ranges of offsets.

    The records arrived after the end of the window, but their timestamps are in the window. If there are too many
    ranges, neighbouring ranges are joined.

    Args:
        request: The request, with its time window. It may divide the window into parts, such as days.
        available: The offsets that the topics hold.
        read: For each topic-partition, the time span and the offset at which the window ends.
        begins: A dict that the function extends. For each range, the function adds a pair: the first offset of the
            range, and the number of the part that contains the timestamp of the first record.
    """
    after = []
    for r in available.ranges:
        after.append(Range(r.topic, r.partition, read[r.topic, r.partition].end, r.end))
    moments = (_or(request.since, -EVER), *request.cuts, _or(request.until, EVER))
    late = available.late([r for r in after if r.records > 0], moments)
    starts = {}
    for part, own in late.items():
        for r in own.ranges():
            starts[(r.topic, r.partition, r.start)] = part
    every = reduce(operator.or_, late.values(), OffsetSet()).coarse(MOST_PIECES)
    ranges = list(every.ranges())
    pieces = {(r.topic, r.partition, r.start) for r in ranges}
    for (topic, partition, start), part in sorted(starts.items()):
        # a range that coarse() has joined to the range before it counts for the part of that range
        if len(starts) <= MOST_PIECES or (topic, partition, start) in pieces:
            begins.setdefault((topic, partition), []).append((start, part))
    return ranges


def _begins(
    cuts: Sequence[int], firsts: Mapping[int, Mapping[TopicPartition, int]]
) -> dict[TopicPartition, list[tuple[int, int]]]:
    """Returns the first offset of each part of a time window, as pairs ``(offset, number of the part)`` per
    topic-partition.

    If several parts begin at the same offset, only the last part is listed.

    Args:
        cuts: The points in time between the parts, in order.
        firsts: For each point in time, the first offset of each topic-partition.
    """
    begins: dict[TopicPartition, dict[int, int]] = {}
    for part, millis in enumerate(cuts, 1):
        for place, offset in firsts[millis].items():
            begins.setdefault(place, {})[offset] = part
    return {place: sorted(starts.items()) for place, starts in begins.items()}


def reached_before(
    since: int | None, spans: Mapping[TopicPartition, Spans], added: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Returns, for each partition, the offset at which the previous time window ended. This window ended at the time
    ``since``.

    A partition is left out if no run has read its previous window. A partition in ``added`` had no previous window. If
    runs have read the previous window of another partition of this topic, the result for the added partition is its
    first offset.

    Args:
        since: The start of a time window.
        spans: The time spans that runs have read.
        added: Partitions that were added to topics since then, with their first offsets. No run has read them.
    """
    if since is None:
        return {}
    ends = ((place, reached(of_place, since)) for place, of_place in spans.items())
    ends_by_place = {}
    for place, end in ends:
        if end is not None:
            ends_by_place[place] = end
    topics = topics_in(ends_by_place)
    return ends_by_place | {place: begin for place, begin in added.items() if place[0] in topics}


def _late(there: Range, formerly: int, start: int, covered: Iterable[Interval]) -> tuple[Interval, ...]:
    """Returns the unread offsets between two time windows. Their records arrived after a run had read the previous
    window.

    Args:
        there: The offsets that a topic-partition holds.
        formerly: The end of the previous window.
        start: The start of this window.
        covered: The offsets that the table holds.
    """
    # _Resolving.gaps() reports the records before `there.start`, which have been deleted
    return minus([(max(formerly, there.start), start)], covered)


def _or(millis: int | None, instead: int) -> int:
    if millis is None:
        return instead
    return millis
