"""Computes the offsets at which new topics begin, and finds records that were deleted before a run has read them.

Each commit stores the earliest offset of every partition, even of empty partitions. Suppose that it stores 0, and the
earliest offset is 50 when the next run begins. The run then reports that the offsets 0 to 49 are lost.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from dagster_smt.errors import Problem
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import OffsetSet, TopicPartition, minus, offsets_of, topics_in
from dagster_smt.model.windows.window import Range, ends_of, topics_of
from dagster_smt.tables.available import Available
from dagster_smt.tables.topic_table import millis_of


def begins_of(there: Iterable[Range], state: TableState) -> dict[TopicPartition, int]:
    """Returns the first offset that a table should hold, for each topic-partition in ``there``.

    - For a partition in the table's state, it is the offset that the state stores.
    - For a new partition of a topic in the state, it is 0, even if the first records have been deleted.
    - For a new topic, it is the topic's earliest offset.

    If an earlier version of this package wrote the state, the state may lack a partition, although the table holds some
    offsets of this partition. The result is then the smaller of two offsets: the first offset that the table holds, and
    the earliest offset of the partition.
    """
    topics = topics_in(state.begins)
    begins = {}
    for r in there:
        place = (r.topic, r.partition)
        covered = state.covered.of(*place)
        if place in state.begins:
            begins[place] = state.begins[place]
        elif covered:
            begins[place] = min(covered[0][0], r.start)
        else:
            # the partition was added after the table began to read the topic, so it should hold all records of the
            # partition
            begins[place] = 0 if r.topic in topics else r.start
    return begins


def skipped(start: str, available: Available, topics: Collection[str]) -> tuple[OffsetSet, list[tuple[str, Problem]]]:
    """Returns the offsets that a run skips, because they are before the start that the user has set.

    Args:
        start: ``latest``, a point in time, or ``group:NAME`` for the committed offsets of a consumer group.
        available: The offsets that the topics hold.
        topics: Topics that the table has not read before.

    Returns:
        Two results. The first contains the skipped offsets. The second lists the topics for which the consumer group
        has committed no offset, as pairs of a topic and a problem.
    """
    there = [r for r in available.ranges if r.topic in topics]
    if start == "latest":
        begins: Mapping[TopicPartition, int] = ends_of(there)
    elif start.startswith("group:"):
        if there:
            begins = available.committed(start.removeprefix("group:"))
        else:
            begins = {}
    else:
        if there:
            begins = available.offsets_at(sorted(topics), millis_of(start))
        else:
            begins = {}
    strange = sorted(topics_of(there) - topics_in(begins))
    hint = "name the group of the connector or consumer that read the topic, or start with earliest"
    problems = []
    for t in strange:
        problems.append((t, Problem("SMT517", t, f"the {start} has committed no offset of the topic", hint)))
    before = []
    for r in there:
        # A group may have committed an offset that does not exist, because the record has been deleted, or because the
        # topic has been created again. A partition without a committed offset is read from its earliest record.
        begin = min(max(begins.get((r.topic, r.partition), r.start), r.start), r.end)
        before.append(Range(r.topic, r.partition, r.start, begin))
    return offsets_of(before), problems


def lost(there: Iterable[Range], begins: Mapping[TopicPartition, int], passed: OffsetSet) -> list[Range]:
    """Returns the ranges of offsets that were deleted before any run read them.

    For example, if the table begins at offset 0 and the earliest offset is now 50, the result is ``orders-0 [0, 50)``.

    Args:
        there: The offsets that the topics hold.
        begins: The first offset that the table should hold, by topic-partition.
        passed: Offsets that are never reported as lost, because the table holds them, or because a run has accepted
            their loss.
    """
    ranges = []
    for r in there:
        place = (r.topic, r.partition)
        gone = minus([(begins.get(place, r.start), r.start)], passed.of(*place))
        for part in gone:
            ranges.append(Range(*place, *part))
    return ranges


def lost_problem(range_: Range) -> Problem:
    """Returns the error for ``range_``, a range of offsets whose records were deleted before a run read them."""
    statement = f"offsets {range_.start} to {range_.end} were deleted before they were read"
    hint = f"launch with window.accept_gap: true to continue at offset {range_.end}; the table notes the gap"
    return Problem("SMT511", f"{range_.topic}-{range_.partition}", statement, hint)


def gap_warning(range_: Range) -> Problem:
    """Returns the warning for ``range_``, a range of deleted records, in a table that accepts such a loss as a gap."""
    count = range_.records
    statement = f"offsets {range_.start} to {range_.end} were deleted before they were read: a gap of {count} now"
    hint = "run more often, or let the topic keep its records longer"
    return Problem("SMT518", f"{range_.topic}-{range_.partition}", statement, hint)


def other_topics(
    state: TableState, available: Available, topics: Iterable[str], explicit: OffsetSet
) -> list[tuple[str, Problem]]:
    """Finds topics that no longer match the rows that the table has read from them.

    There are three cases: the topic was deleted and created again, it has lost a partition, or it has lost records at
    the end of a partition. Returns pairs of a topic and its problem.

    Args:
        state: The state of the table.
        available: The offsets that the topics hold.
        topics: The topics to check.
        explicit: Offsets that the run reads again. If they include all lost offsets of a partition, the run replaces
            the rows, and the loss is not reported.
    """
    problems = []
    for topic in sorted(topics):
        before, now = state.identities.get(topic, ""), available.identities.get(topic, "")
        if before and now and not available.same_topic(before, now):
            statement = "the topic was deleted and created again since the table read it"
            problems.append((topic, Problem("SMT516", topic, statement, _anew_hint(topic))))
    # a topic that has been created again may also be shorter, which is not a second problem
    anew = {topic for topic, _ in problems}
    ends = {}
    for place, end in _ends(state).items():
        if place[0] in topics and place[0] not in anew:
            ends[place] = end
    there = ends_of(available.ranges)
    for place, end in sorted(ends.items()):
        if place not in there and place in state.held.parts:
            problems.append((place[0], _cut(place, end, "but the partition is gone")))
        elif there.get(place, end) < end:
            problems.append((place[0], _cut(place, end, f"but the partition ends at {there[place]}")))
    # a partition that was cut back and has grown again looks complete, and only the epochs of its leaders show the cut
    whole = []
    for place, end in ends.items():
        if there.get(place, -1) >= end:
            whole.append(place)
    for place, cut in sorted(_cut_back(state, available, ends, whole).items()):
        gone = offsets_of([Range(*place, cut, ends[place])])
        if gone - explicit:
            problems.append((place[0], _grown_again(place, ends[place], cut)))
    return problems


def _ends(state: TableState) -> dict[TopicPartition, int]:
    """Returns, for each topic-partition, the offset after the last one that the table holds.

    If the table holds no offset of a partition, the result is the offset at which the table begins.
    """
    return {**state.begins, **{place: intervals[-1][1] for place, intervals in state.held.parts.items()}}


def _cut_back(
    state: TableState, available: Available, ends: Mapping[TopicPartition, int], places: Sequence[TopicPartition]
) -> Mapping[TopicPartition, int]:
    """Finds partitions that have lost records, although their end offset does not show the loss. The reason is that new
    records have arrived since then.

    Returns the first lost offset of each such partition. Records at the end are lost only if the leader changes, so
    only partitions with a new leader epoch are checked.

    Args:
        state: The state of the table.
        available: The offsets that the topics hold.
        ends: The offset that the table has reached in each partition.
        places: The partitions to check.
    """
    moved = {}
    for place in places:
        if place in state.epochs and available.epochs.get(place, state.epochs[place]) != state.epochs[place]:
            moved[place] = (ends[place], state.epochs[place])
    if moved:
        return available.cut_back(moved)
    return {}


def _cut(place: TopicPartition, end: int, what: str) -> Problem:
    topic, partition = place
    statement = f"the table has read up to offset {end}, {what}"
    return Problem("SMT515", f"{topic}-{partition}", statement, rebuild_hint(topic))


def _grown_again(place: TopicPartition, end: int, cut: int) -> Problem:
    topic, partition = place
    statement = (
        f"the table has read up to offset {end}, but the partition lost its records from {cut} on and grew again"
    )
    hint = (
        f"launch with window.explicit from offset {cut} on, which replaces the rows of records that are gone; "
        "where records go to topics, set the group back to it"
    )
    return Problem("SMT593", f"{topic}-{partition}", statement, hint)


def rebuild_hint(topic: str) -> str:
    """Returns advice for users: how to read the topic ``topic`` again from its beginning."""
    return f"launch with window.rebuild: true and window.topics: [{topic}], which replaces the rows of this topic"


def _anew_hint(topic: str) -> str:
    """Returns advice for users whose topic was deleted and created again: keep the rows of the former topic, or
    rebuild.
    """
    return (
        f"launch once with window.begin_anew: true, which keeps the rows of the former topic; or {rebuild_hint(topic)}"
    )
