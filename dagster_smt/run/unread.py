"""Leaves records unread if the first stages of the chain would drop them in any case. The module shortens the window to
the needed offsets, and adds the unread records to the counts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dagster_smt.model.reports.run_report import TopicCounts, Unread
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.model.windows.window import Window, number_of_records
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.push_down import Narrowed, narrowed
from dagster_smt.tables.sources import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOST_LINES = 5
"""The largest number of log lines about unread records. There is a line for each topic and stage."""


def needed(spec: RunSpec, window: Window, source: Source) -> Narrowed:
    """Returns the part of ``window`` that a run must read, and the offsets that it leaves out. The first stages would
    drop the left-out records, for example because their timestamps are too old.
    """
    offsets_at = source.offsets_at if source.knows_times else None
    return narrowed(window, spec.chain, spec.table, offsets_at, found_schemas=spec.finds_schemas)


def records_of(spec: RunSpec, source: Source, window: Window, say: Callable[[str], None]) -> "DataFrame":
    """Reads the records of ``window``, and returns all columns that the chain uses. ``window`` is the needed part of
    the run's window.
    """

    def beat() -> None:
        say("")

    if not spec.chain.reads_leader_epoch:
        return source.read(window, beat)
    if isinstance(spec.table.source, KafkaTopics):
        say("leader epochs: the client of confluent-kafka reads the records, slower than Spark's reader")
    return source.read_with_epochs(window, beat)


def what_is_unread(narrowed: Narrowed) -> list[str]:
    """Returns log lines about the unread records in ``narrowed``: a line for each topic and stage. After
    ``_MOST_LINES`` lines, a last line gives the number of further topics and stages.
    """
    lines = [unread.text for unread in narrowed.unread[:_MOST_LINES]]
    more = len(narrowed.unread) - _MOST_LINES
    if more > 0:
        return [*lines, f"records of {more} more topics and stages were not read"]
    return lines


def counted(narrowed: Narrowed, source: Source) -> Narrowed:
    """Returns ``narrowed`` after asking ``source`` for the number of unread records."""
    return replace(narrowed, unread=tuple(_counted(unread, source) for unread in narrowed.unread))


def _counted(unread: Unread, source: Source) -> Unread:
    counts = source.count(Window(unread.ranges))
    if counts is None:
        return replace(unread, counted=False)
    return replace(unread, records=counts.get(unread.topic, 0))


def unread_in(window: Window, unread: Sequence[Unread], source: Source) -> tuple[Unread, ...]:
    """Returns the entries of ``unread``, limited to the records in ``window``. ``window`` is a part of the run's whole
    window.
    """
    parts, inside = [], offsets_of(window)
    for one in unread:
        ranges = tuple((offsets_of(one.ranges) & inside).ranges())
        if ranges:
            part = replace(one, ranges=ranges, records=number_of_records(ranges), counted=True)
            parts.append(_counted(part, source))
    return tuple(parts)


def with_erased(
    topics: Mapping[str, TopicCounts], erased: Mapping[str, int], stages: int, entries: int
) -> dict[str, TopicCounts]:
    """Returns the counts in ``topics`` with the records of erased people added. These records count as dropped,
    although no stage dropped them.
    """
    counts_by_topic = dict(topics)
    for topic, records in erased.items():
        # if all records of a topic were left out, the topic has no counts yet
        counts = counts_by_topic.get(topic) or _no_records(stages, entries)
        counts_by_topic[topic] = replace(counts, records=counts.records + records, erased=records)
    return dict(sorted(counts_by_topic.items()))


def with_unread(
    topics: Mapping[str, TopicCounts], unread: Sequence[Unread], stages: int, entries: int
) -> dict[str, TopicCounts]:
    """Returns the counts in ``topics`` with the unread records added. The run did not read these records, because a
    stage would drop them. So each counts as a record that this stage dropped. The ledger, which counts changed fields,
    stays the same.
    """
    counts_by_topic = dict(topics)
    for part in unread:
        counts = counts_by_topic.get(part.topic) or _no_records(stages, entries)
        numbers = []
        for index, n in enumerate(counts.dropped):
            numbers.append(n + part.records * (index == part.stage))
        dropped = tuple(numbers)
        counts_by_topic[part.topic] = replace(counts, records=counts.records + part.records, dropped=dropped)
    return dict(sorted(counts_by_topic.items()))


def _no_records(stages: int, entries: int) -> TopicCounts:
    """Returns the counts of a topic without records. The chain has ``stages`` stages and ``entries`` ledger entries."""
    return TopicCounts(dropped=(0,) * stages, failed=(0,) * stages, touched=(0,) * entries)
