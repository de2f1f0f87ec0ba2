"""The Python evaluator, which runs a chain on records without Spark."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import length_hint
from typing import Any, Literal

from dagster_smt.authoring.stage import Chain
from dagster_smt.chain.plan import first_entries
from dagster_smt.errors import DataError, Problem, problem_of_record
from dagster_smt.foreign.segment import Classes
from dagster_smt.formats.cache import BySchema, Cache
from dagster_smt.formats.sides import SideCodec, has_defaults, side_codec
from dagster_smt.interpret.foreign import ForeignRun, foreign_runs
from dagster_smt.interpret.stage_runs import DROPPED, ApplyAll, Runner, functions_of, runners
from dagster_smt.model.record import KEY_DIRTY, VALUE_DIRTY, DropRecord, Record
from dagster_smt.model.topics.format import REGISTERED, Format, Formats, names_topic
from dagster_smt.model.topics.topic_names import takes_records
from dagster_smt.values.json.lazy import may_need_utf8

PASSED, DROPPED_STATUS, FAILED = 0, 1, 2
NO_STAGE, KEY_CONVERTER, VALUE_CONVERTER = -1, -2, -3


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of running a chain on one record.

    Attributes:
        status: ``PASSED``, ``DROPPED_STATUS`` or ``FAILED``.
        stage: The index of the stage that dropped or rejected the record. ``KEY_CONVERTER`` or ``VALUE_CONVERTER`` if a
            converter did. ``NO_STAGE`` if the record passed.
        problem: The reason for a failure.
    """

    status: int = PASSED
    stage: int = NO_STAGE
    problem: Problem | None = None


@dataclass(slots=True)
class Batch:
    """The keys and values of a batch of records that go through the chain together.

    Attributes:
        keys, values: The bytes of the keys and values, in the order of the records. A changed key or value gets new
            bytes. ``keys`` is None if keys are not decoded.
        lost: Maps the position of a dropped or failed record to its result.
    """

    keys: list[bytes | None] | None
    values: list[Any]
    lost: dict[int, Outcome] = field(default_factory=dict)

    def left(self, records: list[Record]) -> list[Record]:
        """Returns those ``records`` that are left: they have neither been dropped nor failed."""
        if self.lost:
            return [record for record in records if record.number not in self.lost]
        return records


KEPT_OUTCOME = Outcome()
AfterStage = Callable[[int, list[Record], dict[int, Outcome]], None]
"""A function that is called after a stage, with three arguments: the position of the stage in the chain, the remaining
records, and a dict from position to result for all dropped or failed records.
"""
NO_ROW = Outcome(DROPPED_STATUS, VALUE_CONVERTER)
"""The result for a message that contains no row. The converter drops such a message before the first stage."""
_CONVERTERS = {KEY_CONVERTER: "key.converter", VALUE_CONVERTER: "value.converter"}


def _codec(side: Literal["key", "value"], read: Format, written: Format) -> SideCodec:
    codec = side_codec(read, side)
    if written == read:
        return codec
    return replace(codec, write=side_codec(written, side).write)


def _by_topic(written: Formats) -> int:
    """Returns a number with one bit for keys and one bit for values. A bit is set if the format in ``written``
    registers schemas under the name of the topic.

    If a stage moves a record from ``orders`` to ``archive``, readers look for the schemas under ``archive``. So a key
    or value whose bit is set must then be encoded again, even if no stage has changed it. Connect's converters do the
    same.
    """
    forms = ((KEY_DIRTY, written.key), (VALUE_DIRTY, written.value))
    bits = 0
    for bit, form in forms:
        if form.kind in REGISTERED and names_topic(form.settings):
            bits += bit
    return bits


_JSON = ("json", "json_schema", "envelope")
"""The formats whose text may be in an encoding other than UTF-8."""
NO_TOPIC = Problem(
    "SMT464",
    "",
    "the record was routed to a topic that cannot take records",
    "a topic's name has up to 249 letters, digits, dots, underscores and hyphens; internal topics take no records",
)
"""The problem of a record with an invalid topic. The problem does not contain the topic, because the topic may be a
field value.
"""


def _router(chain: Chain) -> int:
    """Returns the position of the last stage that can change the topic. If no stage can, returns the position of the
    last stage, or ``VALUE_CONVERTER`` for an empty chain.
    """
    routers = []
    for n, s in enumerate(chain.stages):
        if any(e.side == "topic" for e in s.transform.ledger()):
            routers.append(n)
    if routers:
        return routers[-1]
    if chain.stages:
        return len(chain.stages) - 1
    return VALUE_CONVERTER


def reads_keys(chain: Chain, key: Format) -> bool:
    """Returns True if the evaluator decodes keys. It decodes all keys except strings and bytes, as Connect does. It
    decodes strings and bytes only if necessary: if a stage reads keys or values, or if the result keeps the key.
    """
    stages_read = chain.reads_key or any("value" in s.transform.reads for s in chain.stages)
    return stages_read or key.kind not in ("string", "bytes")


class Interpreter:
    """A chain that is ready to run on records in Python.

    Args:
        chain: The chain.
        key, value: The formats in which keys and values are read.
        written: The formats in which keys and values are written; None for the formats in which they are read.
        classes: The jars with the Java classes of foreign stages; None for the jars in the chain's settings.
        join: False to run each foreign stage alone. Then ``run_stepwise`` can show the records after each of these
            stages.
    """

    def __init__(
        self,
        chain: Chain,
        key: Format | None = None,
        value: Format | None = None,
        written: Formats | None = None,
        classes: Classes | None = None,
        *,
        join: bool = True,
    ):
        self.chain = chain
        read = Formats(key or Format("string"), value or Format())
        self.key = _codec("key", read.key, written.key if written else read.key)
        self.value = _codec("value", read.value, written.value if written else read.value)
        self.key_is_json, self.value_is_json = read.key.kind in _JSON, read.value.kind in _JSON
        self.by_topic = _by_topic(written or read)
        self.has_defaults = BySchema(has_defaults)
        self.place = written.place if written else ""
        self.topics: Cache[str | None, bool] = Cache()
        self.router = _router(chain)
        self.runners, self.reads_headers = runners(chain), chain.reads_headers
        self.foreign = foreign_runs(chain, lambda index: functions_of(chain, index), classes, join=join)
        masks = []
        for first in first_entries(chain):
            # the bits of all ledger entries before this stage: 0b0111, if its own entries begin with number 3
            masks.append((1 << first) - 1)
        self.earlier = tuple(masks)
        outcomes = []
        for n in range(len(chain.stages)):
            outcomes.append(Outcome(DROPPED_STATUS, n))
        self.dropped = tuple(outcomes)

    def run(self, record: Record) -> Outcome:
        """Runs the stages on ``record``, which is changed in place, and returns the result."""
        record.number, batch = 0, Batch(None, [])
        self._run_stages([record], batch)
        return batch.lost.get(0, KEPT_OUTCOME)

    def run_stepwise(self, records: list[Record], after: AfterStage) -> None:
        """Runs the stages on ``records``, which are already decoded. Calls ``after`` after each stage.

        Args:
            records: The records. They are changed in place. The ``number`` of each record is its position in this list.
            after: Is called with the position of the stage, the remaining records, and a dict from position to result
                for all dropped or failed records.
        """
        self._run_stages(records, Batch(None, []), after)

    def _placed(self, problem: Problem, stage: int) -> Problem:
        return replace(problem, place=self.chain.stages[stage].place)

    def read(self, record: Record, key: bytes | None, value: bytes | None, *, keys: bool = True) -> Outcome:
        """Decodes the bytes ``key`` and ``value`` into ``record``. The record is then ready for the first stage.

        If ``keys`` is False, decodes only the value.
        """
        record.number, batch = 0, Batch([key] if keys else None, [value])
        self._mark_changed(self._read_all([record], batch), batch)
        record.headers_read = record.headers
        return batch.lost.get(0, KEPT_OUTCOME)

    def write(self, record: Record, sides: int = KEY_DIRTY | VALUE_DIRTY) -> tuple[Outcome, bytes | None, bytes | None]:
        """Encodes the key, the value or both, as the bits of ``sides`` select. Returns the result, the bytes of the
        key, and the bytes of the value. If the key or value is not selected, its bytes are None.
        """
        # ``where`` is the converter of the current step; an exception fails the record there
        where, key, value = KEY_CONVERTER, None, None
        try:
            if sides & KEY_DIRTY:
                key = self.key.write(record.key_schema, record.key, record.topic or "")
            where = VALUE_CONVERTER
            if sides & VALUE_DIRTY:
                value = self.value.write(record.value_schema, record.value, record.topic or "")
            return KEPT_OUTCOME, key, value
        except Exception as error:  # noqa: BLE001 - any error is a failure of this record
            return self._failed(error, where, record), None, None

    def run_all(self, records: list[Record], keys: list[bytes | None] | None, values: list[bytes | None]) -> Batch:
        """Decodes ``records``, runs the stages, and encodes the results.

        All records go through the first stage, then all records go through the second stage, and so on. This is faster
        than running the whole chain for one record after the other.

        Args:
            records: Records with topic and metadata. The ``number`` of each is its position in this list. They are
                changed in place.
            keys: The bytes of the keys; None if no stage reads keys.
            values: The bytes of the values.
        """
        batch = Batch(keys, values)
        # the topics before the chain, because a router changes the records in place
        topics = [record.topic for record in records] if self.by_topic else []
        rest = self._read_all(records, batch)
        self._mark_changed(rest, batch)
        rest = self._run_stages(rest, batch)
        if topics:
            for record in rest:
                record.dirty |= self.by_topic if record.topic != topics[record.number] else 0
        if self.place:
            rest = self._routed(rest, batch)
        self._write_all(rest, batch)
        return batch

    def takes(self, topic: str | None) -> bool:
        """Returns True if records can be written to a topic called ``topic``."""
        takes = self.topics.get(topic)
        if takes is None:
            takes = not self.place or (topic is not None and takes_records(topic, self.place))
            self.topics[topic] = takes
        return takes

    def _routed(self, records: list[Record], batch: Batch) -> list[Record]:
        """Checks the topics of ``records``, because a router may use any field value as the topic. Returns the records
        whose topic is valid. Adds each record with an invalid topic to ``batch.lost``, as failed.
        """
        takes, wrong = self.takes, []
        for record in records:
            if not takes(record.topic):
                wrong.append(record)
        for record in wrong:
            batch.lost[record.number] = self._failed(DataError(NO_TOPIC), self.router, record)
        if wrong:
            return batch.left(records)
        return records

    def process(
        self, record: Record, key: bytes | None, value: bytes | None
    ) -> tuple[Outcome, bytes | None, bytes | None]:
        """Runs the chain on ``record``. Returns the outcome, and the bytes of the key and value if the record is
        neither dropped nor rejected.
        """
        record.number = 0
        batch = self.run_all([record], [key], [value])
        assert batch.keys is not None
        lost = batch.lost.get(0)
        if lost is None:
            return (KEPT_OUTCOME, batch.keys[0], batch.values[0])
        return (lost, None, None)

    def _read_all(self, records: list[Record], batch: Batch) -> list[Record]:
        read_key, read_value, keys, where = self.key.read, self.value.read, batch.keys, KEY_CONVERTER
        for record, value in zip(records, batch.values, strict=True):
            try:
                if keys is not None:
                    where = KEY_CONVERTER
                    record.key_schema, record.key = read_key(keys[record.number], record.topic or "")
                where = VALUE_CONVERTER
                record.value_schema, record.value = read_value(value, record.topic or "")
            except DropRecord:
                batch.lost[record.number] = NO_ROW
            except Exception as error:  # noqa: BLE001 - any error is a failure of this record
                batch.lost[record.number] = self._failed(error, where, record)
        return batch.left(records)

    def _mark_changed(self, records: list[Record], batch: Batch) -> None:
        """Finds keys and values that must be encoded again although no stage changes them, and marks them as changed.
        There are two reasons: JSON in an encoding other than UTF-8, or a null that the reader may have replaced with a
        default.
        """
        if batch.keys is not None and self.key_is_json:
            for record in records:
                if may_need_utf8(batch.keys[record.number]):
                    record.dirty |= KEY_DIRTY
        if self.value_is_json:
            for record in records:
                if may_need_utf8(batch.values[record.number]):
                    record.dirty |= VALUE_DIRTY
        filled = self.has_defaults
        if batch.keys is not None and self.key.fills_nulls:
            for record in records:
                if record.key_schema is not None and filled[record.key_schema]:
                    record.dirty |= KEY_DIRTY
        if self.value.fills_nulls:
            for record in records:
                if record.value_schema is not None and filled[record.value_schema]:
                    record.dirty |= VALUE_DIRTY

    def _run_stages(self, records: list[Record], batch: Batch, after: AfterStage | None = None) -> list[Record]:
        if self.reads_headers:
            for record in records:
                record.headers_read = record.headers
        within = range(0)
        for number, runner in enumerate(self.runners):
            # the host has already run this stage together with an earlier one
            if number in within:
                continue
            run = self.foreign.get(number)
            if run is None:
                records = self._stage(number, runner, records, batch)
            else:
                within = run.indexes
                records = self._foreign(run, records, batch)
            if after is not None:
                after(number, records, batch.lost)
        return records

    def _foreign(self, run: ForeignRun, records: list[Record], batch: Batch) -> list[Record]:
        lost = run.run(records)
        for place, loss in lost.items():
            record = records[place]
            if loss.problem is None:
                batch.lost[record.number] = self._dropped(loss.stage, record)
            else:
                batch.lost[record.number] = self._failed(DataError(loss.problem), loss.stage, record)
        if lost:
            return batch.left(records)
        return records

    def close(self) -> None:
        """Closes the foreign stages (Java classes from jars). As in Connect, this happens at the end of a task."""
        for run in self.foreign.values():
            run.close()

    def _stage(self, number: int, runner: Runner, records: list[Record], batch: Batch) -> list[Record]:
        lost, test, apply = len(batch.lost), runner.test, runner.apply
        # with a predicate, each record must be tested first
        if runner.apply_all is not None and test is None:
            self._for_all(number, runner.apply_all, records, batch)
        else:
            for record in records:
                try:
                    if (test is None or test(record)) and apply(record) is DROPPED:
                        # Here the transform returned ``DROPPED`` before it counted anything. Below, it may have counted
                        # the record already, and ``_dropped`` takes this back.
                        batch.lost[record.number] = self.dropped[number]
                except DropRecord:
                    batch.lost[record.number] = self._dropped(number, record)
                except Exception as error:  # noqa: BLE001 - any error is a failure of this record
                    batch.lost[record.number] = self._failed(error, number, record)
        if len(batch.lost) > lost:
            return batch.left(records)
        return records

    def _for_all(self, number: int, apply_all: ApplyAll, records: list[Record], batch: Batch) -> None:
        """Applies the stage ``number`` to all ``records`` with one call of ``apply_all``, which is faster than one call
        for each record.

        ``apply_all`` loops over an iterator of the records. If ``apply_all`` raises an exception, the last record that
        it took from the iterator is dropped or has failed. The method finds this record by the number of records that
        remain in the iterator (``length_hint``). The next call of ``apply_all`` continues with the remaining records.
        """
        waiting = iter(records)
        while True:
            left = length_hint(waiting)
            try:
                return apply_all(waiting)
            except DropRecord:
                record = records[-1 - length_hint(waiting)]
                batch.lost[record.number] = self._dropped(number, record)
            except Exception as error:
                if length_hint(waiting) == left:  # the call has consumed no record, so repeating it would not end
                    raise
                record = records[-1 - length_hint(waiting)]
                batch.lost[record.number] = self._failed(error, number, record)

    def _write_all(self, records: list[Record], batch: Batch) -> None:
        write_key, write_value, keys, values = self.key.write, self.value.write, batch.keys, batch.values
        where = KEY_CONVERTER
        for record in records:
            dirty = record.dirty
            try:
                # an unchanged key or value keeps the bytes that were read (difference D5)
                if dirty & KEY_DIRTY and keys is not None:
                    where = KEY_CONVERTER
                    keys[record.number] = write_key(record.key_schema, record.key, record.topic or "")
                if dirty & VALUE_DIRTY:
                    where = VALUE_CONVERTER
                    values[record.number] = write_value(record.value_schema, record.value, record.topic or "")
            except Exception as error:  # noqa: BLE001 - any error is a failure of this record
                batch.lost[record.number] = self._failed(error, where, record)

    def _dropped(self, where: int, record: Record) -> Outcome:
        record.touched &= self.earlier[where]
        return self.dropped[where]

    def _failed(self, error: Exception, where: int, record: Record) -> Outcome:
        problem = problem_of_record(error)
        if where >= 0:
            record.touched &= self.earlier[where]  # entries of the failing stage are not counted
            return Outcome(FAILED, where, self._placed(problem, where))
        return Outcome(FAILED, where, problem.at(_CONVERTERS[where]))
