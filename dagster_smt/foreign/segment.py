"""Runs segments of a chain. A segment is a sequence of adjacent foreign stages (Java classes from jars). The host, a
separate Java process, runs all stages of a segment on each record.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dagster_smt.authoring.foreign_settings import ForeignSettings
from dagster_smt.authoring.options import Options
from dagster_smt.authoring.predicate import PACKAGE as KAFKAS_PREDICATES
from dagster_smt.authoring.stage import Stage
from dagster_smt.errors import CONNECT_EXCEPTION, EngineError, Problem
from dagster_smt.foreign.host import Host, HostDiedError, host_of, not_started
from dagster_smt.foreign.jars import Plugin, plugin_with
from dagster_smt.foreign.stages import ForeignPredicate, ForeignTransform, option_texts
from dagster_smt.foreign.wire import Schemas, datum_received, decoder, encoder, header_received, sent_record
from dagster_smt.model.record import KEY_DIRTY, VALUE_DIRTY, Header, Record

PASSED, DROPPED, FAILED, UNTESTED = range(4)
_KEY, _VALUE, _TOPIC, _PARTITION, _TIMESTAMP, _HEADERS = 1, 2, 4, 8, 16, 32
_CHANGE = 0
UNTESTED_STAGE = -9
"""A special stage number in ``Lost``. The record is not lost: it only skips a stage of this package, because the
foreign predicate of the stage (a Java class) is false.
"""
MOST_RESTARTS = 20
"""The largest number of times that stages may end the host, their Java process, in one task. After that, the task
fails.
"""


@dataclass(frozen=True)
class Classes:
    """The locations of the jars from which the host, the Java process of foreign stages, loads classes.

    Attributes:
        connect: Kafka Connect's own jars.
        plugins: The plug-ins of ``smt_jars``.
    """

    connect: tuple[Path, ...]
    plugins: tuple[Plugin, ...] = ()


class Lost(NamedTuple):
    """A record that the stage at position ``stage`` has dropped or rejected. ``problem`` is None if the record was
    dropped.
    """

    stage: int
    problem: Problem | None = None


class _Changes(NamedTuple):
    """The changes that the stages of a segment made to a record. For each stage that changed the record, ``bits`` has
    the bit of the stage's ledger entry. ``text`` lists the changed fields.
    """

    bits: int
    text: str


def operation(index: int, stage: Stage, plugins: Sequence[Plugin], *, test: bool = True) -> list[Any]:
    """Encodes ``stage`` for the host, the Java process: a list with its position, its transform and its predicate. If
    ``test`` is False, the predicate is left out, because Python tests it.
    """
    transform = stage.transform if isinstance(stage.transform, ForeignTransform) else None
    predicate = stage.predicate if test else None
    return [index, stage.negate, _part(transform, plugins), _part(predicate, plugins)]


def _part(plugin: Options | None, plugins: Sequence[Plugin]) -> list[Any] | None:
    if plugin is None:
        return None
    known_plugin = plugin_with(plugins, plugin.connect_class)
    # -1 stands for the jars of Connect itself
    number = -1 if known_plugin is None else plugins.index(known_plugin)
    return [number, plugin.connect_class, dict(option_texts(plugin.configured()))]


def tested_by_host(stage: Stage) -> bool:
    """Returns True if the host, the Java process of foreign stages, can test the predicate of ``stage``. This is
    possible if the predicate comes from a jar, if it is Kafka's own, or if the stage has no predicate.
    """
    predicate = stage.predicate
    return (
        predicate is None
        or isinstance(predicate, ForeignPredicate)
        or predicate.connect_class.startswith(KAFKAS_PREDICATES)
    )


def setup_of(operations: list[Any], classes: Classes, settings: ForeignSettings) -> list[Any]:
    """Returns the list that the host (the Java process) needs before it can run stages: time limits, jars and the
    stages. ``operations`` lists the stages, each encoded by ``operation``.
    """
    return [
        settings.stage_timeout_ms,
        settings.retry_timeout_ms,
        settings.retry_delay_max_ms,
        [list(map(str, plugin.jars)) for plugin in classes.plugins],
        operations,
        settings.messages,
    ]


class ForeignSegment:
    """Adjacent foreign stages of a chain (Java classes from jars), ready to run in the host, a Java process. The host
    loads their classes when the first batch is sent.

    Args:
        operations: The stages, each encoded by ``operation``.
        entries: Maps the position of a stage to the number of the stage's ledger entry. This entry counts the records
            that the stage changed.
        classes: The jars with the classes.
        settings: The settings of the chain.
    """

    def __init__(self, operations: list[Any], entries: dict[int, int], classes: Classes, settings: ForeignSettings):
        self.operations, self.entries = operations, entries
        self.classes, self.settings = classes, settings
        self.host: Host | None = None
        self.number, self.restarts = 0, 0
        self.schemas = Schemas()
        self.changes: list[tuple[int, str, str, str]] = []
        self.sets: list[_Changes] = []

    def run(self, records: Sequence[Record]) -> dict[int, Lost]:
        """Runs the stages on ``records``, and changes the records in place. Returns the dropped and rejected records by
        position.

        A stage may end the host (the Java process), or never return. The record at that stage then fails, and the host
        starts again. All other records of the batch run again from the first stage, because the stages have lost their
        state.

        Raises:
            EngineError: SMT643 if the host cannot run; SMT644 if too many stages have ended their process.
        """
        lost: dict[int, Lost] = {}
        waiting = list(range(len(records)))
        while waiting:
            try:
                answers = self._answers([records[number] for number in waiting])
                break
            except HostDiedError as died:
                self.host = None
                self._count_restart()
                if died.record is None:
                    return {**lost, **self._halves([records[number] for number in waiting], waiting, died)}
                # without this record, the others run again from the first stage
                place = waiting.pop(died.record)
                lost[place] = self._loss_of(died)
        else:
            answers = []
        for number, answer in zip(waiting, answers, strict=True):
            loss = self._apply(records[number], answer)
            if loss is not None:
                lost[number] = loss
        return lost

    def _halves(self, records: list[Record], numbers: list[int], died: HostDiedError) -> dict[int, Lost]:
        """Runs the two halves of ``records`` separately, to find the record at which the Java process ends. This is
        necessary if the process could not report the record, for example after ``Runtime.halt`` or a lack of memory.
        """
        if len(records) == 1:
            return {numbers[0]: self._loss_of(died)}
        lost, middle = {}, len(records) // 2
        for part in (slice(0, middle), slice(middle, None)):
            for number, loss in self.run(records[part]).items():
                lost[numbers[part][number]] = loss
        return lost

    def _loss_of(self, died: HostDiedError) -> Lost:
        """Returns the loss of the record at which the host (the Java process) has ended. If the stage is unknown, the
        record fails at the first stage of the segment.
        """
        stage = died.stage
        if stage is None:
            stage = self.operations[0][0]
        return Lost(stage, self._problem_of(died))

    def _problem_of(self, died: HostDiedError) -> Problem:
        if died.why == "timeout":
            statement = f"the stage took longer than {self.settings.stage_timeout_ms} ms for one record"
            return Problem("SMT491", "", statement, "set stage.timeout.ms of the chain", CONNECT_EXCEPTION)
        statement = "the stage ended its Java process"
        hint = "the class calls System.exit, or the record needs more memory than DAGSTER_SMT_HOST_OPTIONS allows"
        return Problem("SMT492", "", statement, hint, CONNECT_EXCEPTION)

    def _count_restart(self) -> None:
        self.restarts += 1
        if self.restarts > MOST_RESTARTS:
            statement = f"the process of the stages ended {self.restarts} times in one task"
            hint = "check the dead letters of another run with errors.tolerance=all and a smaller window"
            raise EngineError(Problem("SMT644", "foreign stages", statement, hint))

    def _answers(self, records: Sequence[Record]) -> list[list[Any]]:
        """Sends ``records`` to the host (the Java process), and returns one answer for each record."""
        # the next batch opens the stages again, and both sides begin with empty lists
        if self.schemas.full:
            self.close()
        host = self._ready()
        sent = [sent_record(record, self.schemas) for record in records]
        request = encoder.encode(["run", self.number, self.schemas.take_fresh(), sent])
        schemas, changes, answers = host.send(request, decoder)
        self.schemas.receive(schemas)
        self.note(changes)
        return list(answers)

    def call_plain(self, request: list[Any]) -> list[Any]:
        """Sends a whole batch to the host (the Java process) in one ``request``, as columns instead of records. Returns
        the answer.

        Raises:
            HostDiedError: A stage has ended the host.
        """
        host = self._ready()
        try:
            return host.call("plain", self.number, *request)
        except HostDiedError:
            self.host = None
            self._count_restart()
            raise

    def _ready(self) -> Host:
        # another segment may have ended the shared host
        if self.host is None or not self.host.alive:
            self._open()
        assert self.host is not None
        return self.host

    def _open(self) -> None:
        self.host = host_of(self.classes.connect)
        # set 0 is the empty set, for records that no stage has changed; Java begins with the same lists
        self.schemas, self.changes, self.sets = Schemas(), [], [_Changes(0, "")]
        # a new number, because several segments share the host
        self.number = next(self.host.numbers)
        try:
            (problems,) = self.host.call("open", self.number, setup_of(self.operations, self.classes, self.settings))
        except HostDiedError as died:
            self.host = None
            raise not_started(died) from None
        failures = []
        for problem in problems:
            if problem[2] != "unknown":
                failures.append(problem)
        if failures:
            # the options were checked before the run, so the reason is that this machine's jars differ from those of
            # the driver
            statement = f"a class cannot be used here: {failures[0][4]}"
            hint = "give all machines the same jars"
            raise EngineError(Problem("SMT646", f"stage {failures[0][0] + 1}", statement, hint))

    def note(self, fresh: list[list[Any]]) -> None:
        """Stores new items of two lists that the host (the Java process) and Python both have. ``fresh`` contains the
        items that the host has added since its last answer.

        The first list contains changes of single fields, such as "stage 2 changed ``value.email``". The second list
        contains sets of such changes. The answer for a record names one of the sets by its position.
        """
        for kind, *rest in fresh:
            if kind == _CHANGE:
                stage, action, side, path = rest
                self.changes.append((stage, action, side, path))
                continue
            of_record = [self.changes[number] for number in rest]
            bits = 0
            for stage, *_ in of_record:
                bits |= 1 << self.entries[stage] if stage in self.entries else 0
            self.sets.append(_Changes(bits, "\n".join(map(json.dumps, of_record))))

    def _apply(self, record: Record, answer: list[Any]) -> Lost | None:
        """Writes the new key, value, topic and so on from ``answer`` into ``record``. ``answer`` comes from the host,
        the Java process of foreign stages. If a stage has dropped or rejected the record, returns a ``Lost``; otherwise
        None.
        """
        status, *rest = answer
        if status == UNTESTED:
            return Lost(UNTESTED_STAGE)
        if status == PASSED:
            changes, flags, *parts = rest
        else:
            stage, changes, *parts = rest
        # also for a record that is dropped or fails later: the earlier stages have changed it
        self._touch(record, self.sets[changes])
        if status == PASSED:
            self._change(record, flags, iter(parts).__next__)
            return None
        if status == DROPPED:
            return Lost(stage)
        return Lost(stage, thrown(*parts))

    def _touch(self, record: Record, changes: _Changes) -> None:
        record.touched |= changes.bits
        if changes.text and record.changes:
            record.changes = f"{record.changes}\n{changes.text}"
        elif changes.text:
            record.changes = changes.text

    def _change(self, record: Record, flags: int, take: Callable[[], Any]) -> None:
        if flags & _KEY:
            record.key_schema, record.key = datum_received(take(), take(), self.schemas)
            record.dirty |= KEY_DIRTY
        if flags & _VALUE:
            record.value_schema, record.value = datum_received(take(), take(), self.schemas)
            record.dirty |= VALUE_DIRTY
        if flags & _TOPIC:
            record.topic = take()
        if flags & _PARTITION:
            record.target_partition = take()
        if flags & _TIMESTAMP:
            record.timestamp = take()
        if flags & _HEADERS:
            record.headers = [self._header(record.headers, header) for header in take()]

    def _header(self, before: Sequence[Header], header: Any) -> Header:
        # an unchanged header comes back as its position in the list that was sent
        if isinstance(header, int):
            return before[header]
        return header_received(header, self.schemas)

    def close(self) -> None:
        """Closes the stages of the segment, as Connect does at the end of a task."""
        host, self.host = self.host, None
        if host is not None and host.alive:
            try:
                host.call("close", self.number)
            except HostDiedError:  # a stage that ends the process while it is being closed counts as closed
                return


def thrown(exception: str, message: str | None) -> Problem:
    """Returns the problem of a record on which a stage threw an exception.

    Args:
        exception: The class of the exception.
        message: The message. None if the message could quote the record.
    """
    statement = f"the class threw {exception}"
    if message:
        statement = f"{statement}: {message}"
    return Problem("SMT490", "", statement, "read the dead letter, and the documentation of the class", exception)
