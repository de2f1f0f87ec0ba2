"""Shows records before and after each stage. The output contains field values, so previews run only on request."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from dagster_smt.authoring.stage import Chain
from dagster_smt.errors import problem_of_record
from dagster_smt.formats.sides import side_codec
from dagster_smt.interpret.arrays import rows_of
from dagster_smt.interpret.interpreter import DROPPED_STATUS, Interpreter, reads_keys
from dagster_smt.interpret.stage_runs import DROPPED
from dagster_smt.model.record import KEY_DIRTY, VALUE_DIRTY, DropRecord, Header, Record
from dagster_smt.model.topics.format import Format, Formats
from dagster_smt.values.headers.fields import header_as_read, header_bytes

_SKIPPED = "predicate: skipped"
_JSON = side_codec(Format())


@dataclass(frozen=True)
class Sample:
    """A stored record, with its topic, partition, offset, timestamp in milliseconds, and bytes."""

    topic: str
    partition: int = 0
    offset: int = 0
    timestamp: int | None = 0
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    leader_epoch: int | None = None

    @property
    def place(self) -> str:
        """The coordinates, such as ``orders-0@17``."""
        return f"{self.topic}-{self.partition}@{self.offset}"


@dataclass(frozen=True)
class RecordSnapshot:
    """A record between two stages. Its key, value and headers are strings."""

    topic: str
    key: str | None
    value: str | None
    headers: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True)
class StageResult:
    """The record after one stage of a preview, or the reason why the preview shows no record.

    Attributes:
        stage: The stage's alias; ``input`` before the first stage.
        record: The record after the stage; None if the stage skipped, dropped or rejected the record.
        note: The reason why ``record`` is None: the predicate is false, the record is dropped, or the text of a
            problem.
        failed: True if ``note`` is the text of a problem.
    """

    stage: str
    record: RecordSnapshot | None = None
    note: str = ""
    failed: bool = False

    @property
    def is_skip(self) -> bool:
        """True if the predicate of the stage is false for the record."""
        return self.note == _SKIPPED


@dataclass(frozen=True)
class Previewed:
    """A record with its states before and after the stages.

    Attributes:
        sample: The record as stored.
        steps: The record after each stage.
        key, value: The key and value after the chain, as JSON without a schema. None if they are null, or if the chain
            dropped or rejected the record.
    """

    sample: Sample
    steps: list[StageResult]
    key: bytes | None = None
    value: bytes | None = None

    @property
    def last(self) -> StageResult:
        """The last step that acted on the record. Steps of stages whose predicate is false are skipped."""
        return next(step for step in reversed(self.steps) if not step.is_skip)


def preview(
    chain: Chain, samples: Iterable[Sample], key: Format | None = None, value: Format | None = None
) -> Iterator[tuple[Sample, list[StageResult]]]:
    """Yields each of ``samples`` with its state after each stage. Keys and values in binary formats are shown as JSON.

    If the format ``value`` turns arrays into rows, a record is yielded once for each element of its array.
    """
    for previewed in previewed_records(chain, samples, key, value):
        yield previewed.sample, previewed.steps


def previewed_records(
    chain: Chain, samples: Iterable[Sample], key: Format | None = None, value: Format | None = None
) -> Iterator[Previewed]:
    """Yields each of ``samples`` with its state after each stage, as ``preview`` does. Each item also has the key and
    value after the chain.
    """
    key, value = key or Format("string"), value or Format()
    shown = Formats(_readable(key), _readable(value))
    interpreter = Interpreter(chain, key, value, shown)
    as_read = (KEY_DIRTY if shown.key == key else 0) | (VALUE_DIRTY if shown.value == value else 0)
    preview_ = _Preview(interpreter, reads_keys(chain, key), as_read)
    arrays = value.arrays_as_rows
    for sample in samples:
        rows = rows_of(sample.value) if arrays else [sample.value]
        if not rows:
            yield Previewed(sample, [StageResult("input", note="an array without elements: no row")])
        for row in rows:
            yield replace(_previewed(preview_, replace(sample, value=row)), sample=sample)


@dataclass(frozen=True)
class _Preview:
    """The settings of one preview.

    Attributes:
        interpreter: The prepared chain.
        reads_keys: True if the chain decodes keys.
        as_read: Two bits, for key and value. A bit is set if the preview shows the key (or value) in the format in
            which it was read. If a bit is set and no stage changes the key (or value), the preview shows its original
            bytes.
    """

    interpreter: Interpreter
    reads_keys: bool
    as_read: int


def _previewed(preview_: _Preview, sample: Sample) -> Previewed:
    record = _record(preview_, sample)
    previewed = Previewed(sample, list(_steps(preview_, sample, record)))
    if previewed.last.record is None:
        return previewed
    try:
        topic = record.topic or ""
        key = _JSON.write(record.key_schema, record.key, topic)
        return replace(previewed, key=key, value=_JSON.write(record.value_schema, record.value, topic))
    except Exception as error:  # noqa: BLE001 whatever it is, this record has it
        failed = StageResult(previewed.last.stage, note=str(problem_of_record(error)), failed=True)
        return replace(previewed, steps=[*previewed.steps, failed])


def _record(preview_: _Preview, sample: Sample) -> Record:
    interpreter = preview_.interpreter
    if interpreter.reads_headers:
        headers = []
        for name, raw in sample.headers:
            headers.append(header_as_read(name, raw))
    else:
        headers = []
        for name, raw in sample.headers:
            headers.append(Header(name, raw=raw, from_stage=False))
    record = Record(sample.topic, sample.partition, sample.offset, sample.timestamp, "CreateTime", headers=headers)
    record.leader_epoch = sample.leader_epoch
    return record


def _steps(preview_: _Preview, sample: Sample, record: Record) -> Iterator[StageResult]:
    interpreter = preview_.interpreter
    outcome = interpreter.read(record, sample.key, sample.value, keys=preview_.reads_keys)
    if outcome.problem is not None:
        yield StageResult("input", note=str(outcome.problem), failed=True)
    elif outcome.status == DROPPED_STATUS:
        yield StageResult("input", note="a message without a row")
    else:
        shown = list(_stages(preview_, record))
        # a key that is not decoded stays as it was read
        as_read = (preview_.as_read if preview_.reads_keys else preview_.as_read | KEY_DIRTY) & ~record.dirty
        yield from (_as_read(step, sample, as_read) for step in shown)


def _as_read(shown: StageResult, sample: Sample, sides: int) -> StageResult:
    """Replaces unchanged keys and values in ``shown`` by the original bytes of ``sample``, as a run does. ``sides`` has
    a bit for the key and a bit for the value; a bit is set if this key or value is unchanged.
    """
    if shown.record is None:
        return shown
    key = _text(sample.key) if sides & KEY_DIRTY else shown.record.key
    value = _text(sample.value) if sides & VALUE_DIRTY else shown.record.value
    return replace(shown, record=replace(shown.record, key=key, value=value))


def _readable(form: Format) -> Format:
    if form.kind in ("json", "json_schema", "envelope", "string", "bytes"):
        return form
    return Format()


def _stages(preview_: _Preview, record: Record) -> Iterator[StageResult]:
    interpreter = preview_.interpreter
    count = len(interpreter.runners)
    yield _shown(preview_, record, "input", last=not count)
    for number, runner in enumerate(interpreter.runners, 1):
        alias = runner.stage.alias
        try:
            if runner.test is not None and not runner.test(record):
                yield StageResult(alias, note=_SKIPPED)
                continue
            if runner.apply(record) is DROPPED:
                yield StageResult(alias, note="dropped")
                return
        except DropRecord:
            yield StageResult(alias, note="dropped")
            return
        except Exception as error:  # noqa: BLE001 whatever it is, this record has it
            yield StageResult(alias, note=str(problem_of_record(error)), failed=True)
            return
        yield _shown(preview_, record, alias, last=number == count)


def _shown(preview_: _Preview, record: Record, stage: str, *, last: bool) -> StageResult:
    """Returns ``record`` as it is after the stage with the alias ``stage``. If the record cannot be encoded, the result
    has a note instead of the record. Such a result is marked as failed only if ``last`` is True, that is, after the
    last stage of the chain.
    """
    sides = {}
    for side in (KEY_DIRTY, VALUE_DIRTY):
        outcome, key, value = preview_.interpreter.write(record, side)
        # an unchanged side is shown with its original bytes, so it does not matter that it cannot be encoded
        if outcome.problem is not None and (side & ~preview_.as_read or side & record.dirty):
            return StageResult(stage, note=str(outcome.problem), failed=last)
        sides[side] = key if side == KEY_DIRTY else value
    headers = tuple((header.key, _header(header)) for header in record.headers)
    return StageResult(
        stage, RecordSnapshot(record.topic or "", _text(sides[KEY_DIRTY]), _text(sides[VALUE_DIRTY]), headers)
    )


def _header(header: Header) -> str | None:
    return _text(header_bytes(header))


def _text(side: bytes | None) -> str | None:
    if side is None:
        return None
    # keys and values may be any bytes; a byte that is not UTF-8 appears as \xff
    return side.decode("utf-8", "backslashreplace")
