"""Finds records that a run need not read, because the first stages would drop them by topic, partition, offset or time.

For example, a first stage keeps only records from offset 100 on. The run then does not read the offsets before 100.

Before it reads a record, a run knows the record's topic, partition and offset. The run knows less about timestamps: a
broker returns the first offset at or after a time, and all earlier records that have a timestamp are older. Other parts
of a condition are unknown, so the run assumes that they may be true. The run may read too many records, but never too
few.

The module ``effects.passing`` derives the condition of a stage from its effects. Decision 16 explains the design.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise

from dagster_smt.authoring.stage import Chain
from dagster_smt.effects.passing import passes
from dagster_smt.errors import problem_of_record
from dagster_smt.model.keeps import (
    AllConditions,
    AnyCondition,
    Condition,
    FieldTest,
    NotCondition,
    NullTest,
    TopicTest,
    Unknown,
    fields_of,
    tests_topic,
)
from dagster_smt.model.reports.run_report import Unread
from dagster_smt.model.schema import Type
from dagster_smt.model.topics.columns import Column
from dagster_smt.model.windows.offsets import Intervals, TopicPartition, common, minus, union
from dagster_smt.model.windows.window import Range, Window, number_of_records
from dagster_smt.tables.available import OffsetsAt
from dagster_smt.tables.rows.row_stages import RowStage
from dagster_smt.tables.topic_table import TopicTable

# greater than every offset: Kafka's offsets are signed numbers of 64 bits
EVERY = 2**63
_KNOWN = ("topic", "partition", "offset", "timestamp")


@dataclass(frozen=True)
class Narrowed:
    """The part of a window (the range of offsets of a run) that the run must read.

    Attributes:
        window: The offsets to read: at most one range for each range of the whole window.
        unread: The offsets that the run leaves out, by topic and stage. Their records have not been counted yet.
    """

    window: Window
    unread: tuple[Unread, ...] = ()


def narrowed(
    window: Window, chain: Chain, table: TopicTable, offsets_at: OffsetsAt | None, *, found_schemas: bool = False
) -> Narrowed:
    """Returns the part of ``window`` that a run must read. The first stages would drop all records outside of this
    part.

    Only the beginning and the end of a range are left out. The run reads all records between two records that it needs.

    Args:
        window: The offsets of the run.
        chain: The chain, with the stage that reads columns.
        table: The topic table.
        offsets_at: Finds the first offset at or after a time; see ``Source.offsets_at``. None if the source cannot
            answer without reading records.
        found_schemas: True if the sink gets its columns from the records, even from records that a stage drops. The run
            then reads the whole window.
    """
    if table.push_down != "off" and not found_schemas:
        stages = deciding(chain)
    else:
        stages = []
    if not stages:
        return Narrowed(window)
    times = _Times(window.topics, offsets_at)
    # with no-tombstones, the author of the topic table promises that no value is null
    nulls = (False,) if table.push_down == "no-tombstones" else (False, True)
    ranges, left = [], list[tuple[int, Range]]()
    for r in window.ranges:
        place = RecordPlace(((r.start, r.end),), (r.topic, r.partition), _metadata(table), times)
        read, dropped = _split(place, stages, nulls)
        for part in read:
            ranges.append(Range(r.topic, r.partition, *part))
        for index, parts in dropped:
            for part in parts:
                left.append((index, Range(r.topic, r.partition, *part)))
    return Narrowed(Window(tuple(ranges)), tuple(_unread(chain, left)))


def deciding(chain: Chain) -> list[tuple[int, Condition]]:
    """Returns the first stages of ``chain`` that do nothing except drop records.

    Each item is a pair: the number of the stage, and the condition of the records that the stage keeps. The list ends
    at the first stage that does something else, because the run must read every record that reaches this stage.
    """
    conditions = []
    for index, stage in enumerate(chain.stages):
        # the stage that reads the columns drops no record, so the list does not end at this stage
        if index == 0 and isinstance(stage, RowStage):
            continue
        keeps = passes(stage)
        if keeps is None:
            break
        conditions.append((index, keeps))
    return conditions


def explained(chain: Chain, table: TopicTable) -> list[str]:
    """Returns lines of text for users about the first stages of ``chain``.

    There is one line for each of these stages that drops records by topic, partition, offset or timestamp. An example
    is ``stage 'recent' keeps records by offset: only offsets from 100``. An additional first line states the option
    ``push-down``. Without such a stage, the list is empty.
    """
    lines = []
    columns = _metadata(table)
    for index, keeps in deciding(chain):
        tested = set()
        for name in fields_of(keeps):
            if name in columns:
                tested.add(columns[name].origin)
        by = sorted(tested | ({"topic"} if tests_topic(keeps) else set()))
        if not by:
            continue
        place = RecordPlace(((0, EVERY),), None, columns, _Times((), None))
        offsets = place.possible(keeps)
        only = "" if offsets == place.whole else f": only {_offsets(offsets)}"
        line = f"stage '{chain.stages[index].alias}' keeps records by {', '.join(by)}{only}"
        # true if the condition keeps a record with a null value at every offset
        if table.push_down != "no-tombstones" and not replace(place, null=True).possible(NotCondition(keeps)):
            line += "; and tombstones, so the run reads all records unless push-down is no-tombstones"
        lines.append(line)
    if lines:
        return [f"push-down is {table.push_down}", *lines]
    return []


def _offsets(offsets: Intervals) -> str:
    if not offsets:
        return "none"
    start, end = offsets[0][0], offsets[-1][1]
    if end == EVERY:
        return f"offsets from {start}"
    return f"offsets from {start} to {end - 1}"


def _metadata(table: TopicTable) -> dict[str, Column]:
    """Returns the columns of ``table`` that contain a record's topic, partition, offset or timestamp, by column name.

    A column with a default value is left out. A timestamp column with a date-time type is left out as well.
    """
    columns = {}
    for c in table.row.others:
        if c.origin in _KNOWN and c.schema.default is None:
            columns[c.name] = c
    # a TIMESTAMP column contains a date in records with a schema, and conditions cannot compare dates (SMT458)
    moments = set()
    for n, c in columns.items():
        if c.origin == "timestamp" and c.schema.logical is not None:
            moments.add(n)
    metadata = {}
    for n, c in columns.items():
        if n not in moments:
            metadata[n] = c
    return metadata


def _split(
    place: "RecordPlace", stages: Sequence[tuple[int, Condition]], nulls: Sequence[bool]
) -> tuple[Intervals, list[tuple[int, Intervals]]]:
    """Splits the offsets of ``place`` into the offsets that the run must read, and the offsets whose records are
    dropped.

    The dropped offsets are grouped by stage. An offset belongs to a stage only if the record certainly reaches this
    stage and is certainly dropped there.

    Args:
        place: The offsets of one topic-partition.
        stages: The number of each stage, with the condition of the records that the stage keeps.
        nulls: The kinds of records that may be at an offset: True for tombstones, False for records with a value. The
            stages must drop each of these kinds.
    """
    drops: list[list[Intervals]] = []
    for null in nulls:
        at, alive = replace(place, null=null), place.whole
        drops.append([])
        # `alive` contains only the offsets whose records certainly reach the stage. For example, a stage keeps the
        # offsets from 100 on: it drops [0, 100), and [100, 200) reaches the next stage. An offset at which the stage
        # may keep or drop the record is neither dropped for certain nor alive.
        for _, keeps in stages:
            drops[-1].append(minus(alive, at.possible(keeps)))
            alive = minus(alive, at.possible(NotCondition(keeps)))
    sure = []
    for parts in zip(*drops, strict=True):
        sure.append(reduce(common, parts))
    rest = minus(place.whole, reduce(union, sure, ()))
    # the run does not split a range: if it needs 7 and 9, it also reads 8
    read: Intervals = ((rest[0][0], rest[-1][1]),) if rest else ()
    return read, [(index, minus(parts, read)) for (index, _), parts in zip(stages, sure, strict=True)]


def _unread(chain: Chain, left: Sequence[tuple[int, Range]]) -> Iterator[Unread]:
    for topic, index in sorted({(r.topic, index) for index, r in left}):
        unread = []
        for i, r in left:
            if (r.topic, i) == (topic, index):
                unread.append(r)
        ranges = tuple(unread)
        yield Unread(topic, index, chain.stages[index].alias, number_of_records(ranges), ranges)


@dataclass
class _Times:
    """A cache from a time to the first offsets at or after this time. Each time is requested once, and only if a stage
    needs it.
    """

    topics: Sequence[str]
    offsets_at: OffsetsAt | None
    offsets: dict[int, Mapping[TopicPartition, int]] = field(default_factory=dict)

    def first(self, place: TopicPartition, millis: int) -> int:
        """Returns the first offset of the topic-partition ``place`` whose record has the timestamp ``millis`` or a
        later one. All earlier records that have a timestamp are older.

        Returns 0 if the offset is unknown.
        """
        if self.offsets_at is None or millis <= 0:  # to brokers, negative times have a special meaning
            return 0
        if millis not in self.offsets:
            self.offsets[millis] = self.offsets_at(self.topics, millis)
        return self.offsets[millis].get(place, 0)


@dataclass(frozen=True)
class RecordPlace:
    """The offsets of one topic-partition, with the facts that a run knows before it reads their records.

    Attributes:
        whole: The offsets.
        of: The topic and the partition. None stands for any partition.
        columns: The columns that contain metadata, such as the offset, by name.
        times: Finds the first offset at or after a time.
        null: True if the values of the records are assumed to be null (tombstones); False if not.
    """

    whole: Intervals
    of: TopicPartition | None
    columns: Mapping[str, Column]
    times: _Times
    null: bool = False

    def possible(self, condition: Condition, outcome: bool = True) -> Intervals:
        """Returns the offsets at which ``condition`` can be true (or false, if ``outcome`` is False).

        The result includes the offsets for which the run cannot know the outcome.
        """
        if isinstance(condition, NotCondition):
            return self.possible(condition.condition, not outcome)
        if isinstance(condition, AllConditions | AnyCondition):
            parts = [self.possible(part, outcome) for part in condition.conditions]
            if isinstance(condition, AllConditions) is outcome:
                return reduce(common, parts, self.whole)
            return reduce(union, parts, ())
        if isinstance(condition, NullTest):
            return self._all(self.null is outcome)
        if isinstance(condition, TopicTest):
            return self._all(self.of is None or outcome in _answer(condition.test, self.of[0]))
        if isinstance(condition, Unknown):
            return self.whole
        return self._tested(condition, outcome)

    def _all(self, possible: bool) -> Intervals:
        if possible:
            return self.whole
        return ()

    def _tested(self, test: FieldTest, outcome: bool) -> Intervals:
        column = self.columns.get(test.name)
        # a null value has no columns; what a stage does with it is a NullTest next to this test (``effects.passing``)
        if column is None or self.null:
            return self.whole
        if column.origin in ("topic", "partition"):
            if self.of is None:
                return self.whole
            value = self.of[0] if column.origin == "topic" else self.of[1]
            text = column.schema.type is Type.STRING
            return self._all(outcome in _answers(test, column, str(value) if text else value))
        # strings have another order than numbers: '9' is greater than '100'
        if test.cuts is None or column.schema.type is Type.STRING:
            return self.whole
        spans = tuple(_spans(test, column, outcome))
        if column.origin == "offset":
            return common(self.whole, spans)
        if outcome in _answers(test, column, None):  # the timestamp of a record may be null
            return self.whole
        # records may not be in the order of their timestamps, so an upper limit excludes no offset
        return minus(self.whole, [(0, self._first(spans[0][0]) if spans else EVERY)])

    def _first(self, millis: int) -> int:
        if self.of is None:
            return 0
        return self.times.first(self.of, millis)


def _answers(test: FieldTest, column: Column, value: object) -> set[bool]:
    """Applies ``test`` to ``value`` twice: as in a record with a schema, and as in a record without a schema. Returns
    both results.
    """
    return _answer(test.test, column.schema, value) | _answer(test.test, None, value)


def _answer(test: Callable[..., bool], *of: object) -> set[bool]:
    """Applies ``test`` to the arguments ``of``, and returns the result as a set with one element.

    If the test raises an error, the set contains both True and False. So the run reads the record, and the stage
    reports the error.
    """
    try:
        return {test(*of)}
    except Exception as error:  # noqa: BLE001 a predicate may be one of the user's
        problem_of_record(error)
        return {True, False}


def _spans(test: FieldTest, column: Column, outcome: bool) -> Iterator[tuple[int, int]]:
    """Yields the ranges ``(start, end)`` of integers for which ``test`` can have the result ``outcome``.

    For example, the test "at least 100" is true for the ranges from 100 on.
    """
    assert test.cuts is not None
    neighbours = []
    for cut in test.cuts:
        for n in (cut, cut + 1):
            if -EVERY < n < EVERY:
                neighbours.append(n)
    bounds = sorted({-EVERY, *neighbours, EVERY})
    # between two neighbouring bounds, the result of the test cannot change, so one number stands for the whole range
    for start, end in pairwise(bounds):
        if outcome in _answers(test, column, start):
            yield start, end
