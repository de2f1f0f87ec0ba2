"""Computes the offsets at which new topics and partitions begin, and finds offsets that known topics have lost.

Each commit stores the earliest offset of every partition, including partitions without records. So if records after
that offset are deleted before a run has read them, a later run can report the loss.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from dagster_smt.errors import Problem
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import OffsetSet, TopicPartition, minus, offsets_of, topics_in
from dagster_smt.model.windows.window import Range, ends_of, topics_of
from dagster_smt.tables.available import Available
from dagster_smt.tables.topic_table import millis_of


def begins_of(there: Iterable[Range], state: TableState) -> dict[TopicPartition, int]:
    """Returns the offset at which the table begins in each topic-partition of ``there``.

    In a partition that has been added to a known topic, the table begins at offset 0, even if its first records have
    been deleted. States written by earlier versions do not contain partitions without records; in such a partition, the
    table begins at the earliest offset.
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
            begins[place] = 0 if r.topic in topics else r.start
    return begins


def skipped(start: str, available: Available, topics: Collection[str]) -> tuple[OffsetSet, list[tuple[str, Problem]]]:
    """Returns the offsets of ``topics`` that a run skips, because they are before ``start``. Also returns a problem for
    each topic for which the consumer group in ``start`` has committed no offset.

    The table has not read ``topics`` before.
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
        begin = min(max(begins.get((r.topic, r.partition), r.start), r.start), r.end)
        before.append(Range(r.topic, r.partition, r.start, begin))
    return offsets_of(before), problems


def lost(there: Iterable[Range], begins: Mapping[TopicPartition, int], passed: OffsetSet) -> list[Range]:
    """Returns the offsets in the partitions of ``there`` that were deleted before any run read them. Offsets in
    ``passed`` are left out, because the table holds them or a run has accepted their loss.
    """
    ranges = []
    for r in there:
        place = (r.topic, r.partition)
        gone = minus([(begins.get(place, r.start), r.start)], passed.of(*place))
        for part in gone:
            ranges.append(Range(*place, *part))
    return ranges


def lost_problem(range_: Range) -> Problem:
    """Returns the problem of the lost offsets ``range_``. The problem makes a run fail."""
    statement = f"offsets {range_.start} to {range_.end} were deleted before they were read"
    hint = f"launch with window.accept_gap: true to continue at offset {range_.end}; the table notes the gap"
    return Problem("SMT511", f"{range_.topic}-{range_.partition}", statement, hint)


def gap_warning(range_: Range) -> Problem:
    """Returns the warning about the lost offsets ``range_``, which a run accepts."""
    count = range_.records
    statement = f"offsets {range_.start} to {range_.end} were deleted before they were read: a gap of {count} now"
    hint = "run more often, or let the topic keep its records longer"
    return Problem("SMT518", f"{range_.topic}-{range_.partition}", statement, hint)


def other_topics(
    state: TableState, available: Available, topics: Iterable[str], explicit: OffsetSet
) -> list[tuple[str, Problem]]:
    """Finds topics that have changed since the table read them: a topic was deleted and created again, has lost a
    partition, or its log was cut back. Returns pairs of a topic and its problem.

    Args:
        state: The state of the table.
        available: The offsets that the topics hold.
        topics: The topics.
        explicit: Offsets that the run reads again in any case. If they include all lost offsets of a partition, the run
            repairs the table, and the loss is not reported.
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
    """Returns, for each partition, the end of the offsets that the table holds. If the table holds no offset of a
    partition, the end is the offset at which the table begins.
    """
    return {**state.begins, **{place: intervals[-1][1] for place, intervals in state.held.parts.items()}}


def _cut_back(
    state: TableState, available: Available, ends: Mapping[TopicPartition, int], places: Sequence[TopicPartition]
) -> Mapping[TopicPartition, int]:
    """Finds partitions whose log was cut back and then grew again, so that its length does not show the loss. Returns
    the first offset that each of them has lost.

    Only a change of the leader can cut a log back, so only partitions with a new leader are checked.
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
    """Returns the hint on how to read the topic ``topic`` again from its beginning."""
    return f"launch with window.rebuild: true and window.topics: [{topic}], which replaces the rows of this topic"


def _anew_hint(topic: str) -> str:
    """Returns the hint for a run that finds ``topic`` created again: keep the rows of the former topic, or rebuild."""
    return (
        f"launch once with window.begin_anew: true, which keeps the rows of the former topic; or {rebuild_hint(topic)}"
    )
