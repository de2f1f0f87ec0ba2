"""Records before and after each stage, for people; shows field values, so it runs only where somebody asks for it."""

from collections.abc import Iterable, Iterator

from dagster_smt.errors import DataError
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.interpret.stages import DROPPED
from dagster_smt.model.format import Format
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Schema
from dagster_smt.spec.stage import Chain


def preview(chain: Chain, values: Iterable[bytes], schema: Schema | None, topic: str) -> Iterator[str]:
    """Lines of text: each record, and what each stage makes of it."""
    form = Format("json_schema", schema) if schema is not None else Format()
    interpreter = Interpreter(chain, None, form)
    for offset, value in enumerate(values):
        record = Record(topic, 0, offset, 0, "CreateTime")
        yield f"record {offset}"
        outcome = interpreter.read(record, None, value)
        if outcome.problem is not None:
            yield f"  {outcome.problem}"
            continue
        yield from _stages(interpreter, record)


def _stages(interpreter: Interpreter, record: Record) -> Iterator[str]:
    yield f"  {'input':20} {_show(interpreter, record)}"
    for runner in interpreter.runners:
        alias = runner.stage.alias
        if runner.test is not None and not runner.test(record):
            yield f"  {alias:20} (predicate: not here)"
            continue
        try:
            if runner.apply(record) is DROPPED:
                yield f"  {alias:20} dropped"
                return
        except DataError as error:
            yield f"  {alias:20} {error.problem}"
            return
        yield f"  {alias:20} {_show(interpreter, record)}"


def _show(interpreter: Interpreter, record: Record) -> str:
    outcome, _, value = interpreter.write(record)
    if outcome.problem is not None:
        return str(outcome.problem)
    return f"{record.topic}: {'null' if value is None else value.decode()}"
