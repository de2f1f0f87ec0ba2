"""Records before and after each stage, for people; shows field values, so it runs only where somebody asks for it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from dagster_smt.authoring.stage import Chain
from dagster_smt.errors import problem_of_record
from dagster_smt.interpret.arrays import rows_of
from dagster_smt.interpret.interpreter import DROPPED_STATUS, Interpreter
from dagster_smt.interpret.stages import DROPPED
from dagster_smt.model.format import Format, Formats
from dagster_smt.model.record import DropRecord, Header, Record
from dagster_smt.values.headers import header_bytes


@dataclass(frozen=True)
class Sample:
    """A record as it is stored: topic, partition, offset, milliseconds, and bytes."""

    topic: str
    partition: int = 0
    offset: int = 0
    timestamp: int | None = 0
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def place(self) -> str:
        """``orders-0@17``."""
        return f"{self.topic}-{self.partition}@{self.offset}"


@dataclass(frozen=True)
class Snapshot:
    """A record at one point of the chain: printed sides, and headers as texts."""

    topic: str
    key: str | None
    value: str | None
    headers: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True)
class Shown:
    """What a stage made of a record.

    Attributes:
        stage: Its alias; ``input`` before the first.
        record: The record after it; None if there is none any more.
        note: Why there is nothing new: the predicate, a drop, or a problem.
        failed: Whether that is a problem.
    """

    stage: str
    record: Snapshot | None = None
    note: str = ""
    failed: bool = False


def preview(
    chain: Chain, samples: Iterable[Sample], key: Format | None = None, value: Format | None = None
) -> Iterator[tuple[Sample, list[Shown]]]:
    """Each record with what the stages make of it; what is no text in its own format is shown as JSON.

    Where arrays are rows, a record comes once for each of its elements.
    """
    shown = Formats(_readable(key or Format("string")), _readable(value or Format()))
    interpreter = Interpreter(chain, key, value, shown)
    arrays = value is not None and value.arrays_as_rows
    for sample in samples:
        rows = rows_of(sample.value) if arrays else [sample.value]
        if not rows:
            yield sample, [Shown("input", note="an array without elements: no row")]
        for row in rows:
            yield sample, list(_steps(interpreter, replace(sample, value=row)))


def _steps(interpreter: Interpreter, sample: Sample) -> Iterator[Shown]:
    headers = [Header(name, raw=raw, made=False) for name, raw in sample.headers]
    record = Record(sample.topic, sample.partition, sample.offset, sample.timestamp, "CreateTime", headers=headers)
    outcome = interpreter.read(record, sample.key, sample.value)
    if outcome.problem is not None:
        yield Shown("input", note=str(outcome.problem), failed=True)
    elif outcome.status == DROPPED_STATUS:
        yield Shown("input", note="a message without a row")
    else:
        yield from _stages(interpreter, record)


def _readable(form: Format) -> Format:
    return form if form.kind in ("json", "json_schema", "envelope", "string", "bytes") else Format()


def _stages(interpreter: Interpreter, record: Record) -> Iterator[Shown]:
    count = len(interpreter.runners)
    yield _shown(interpreter, record, "input", last=not count)
    for number, runner in enumerate(interpreter.runners, 1):
        alias = runner.stage.alias
        try:
            if runner.test is not None and not runner.test(record):
                yield Shown(alias, note="predicate: not here")
                continue
            if runner.apply(record) is DROPPED:
                yield Shown(alias, note="dropped")
                return
        except DropRecord:
            yield Shown(alias, note="dropped")
            return
        except Exception as error:  # noqa: BLE001 whatever it is, this record has it
            yield Shown(alias, note=str(problem_of_record(error)), failed=True)
            return
        yield _shown(interpreter, record, alias, last=number == count)


def _shown(interpreter: Interpreter, record: Record, stage: str, *, last: bool) -> Shown:
    """The record as it would be printed now; one that cannot be fails only if no stage follows."""
    outcome, key, value = interpreter.write(record)
    if outcome.problem is not None:
        return Shown(stage, note=str(outcome.problem), failed=last)
    headers = tuple((header.key, _header(header)) for header in record.headers)
    return Shown(stage, Snapshot(record.topic or "", _text(key), _text(value), headers))


def _header(header: Header) -> str | None:
    return _text(header_bytes(header))


def _text(side: bytes | None) -> str | None:
    return None if side is None else side.decode("utf-8", "backslashreplace")
