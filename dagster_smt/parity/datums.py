"""Records of the parity format (docs: ``tests/parity/README.md``) to and from our records."""

from dataclasses import replace
from typing import Any

import msgspec

from dagster_smt.errors import DataError, Problem
from dagster_smt.interpret.interpreter import FAILED, Interpreter, Outcome
from dagster_smt.interpret.sides import EnvelopeReader, SideCodec, side_codec
from dagster_smt.model.format import Format
from dagster_smt.model.record import Header, Record
from dagster_smt.model.schema import Schema
from dagster_smt.spec.stage import Chain

KEPT, DROPPED = 0, 1


class Converter:
    """The JSON converter of a case: reads and writes datums."""

    def __init__(self, settings: dict[str, str]):
        form = Format(
            "envelope",
            replace_null_with_default=settings.get("replace.null.with.default", "true") == "true",
            decimal_format="NUMERIC" if settings.get("decimal.format", "").upper() == "NUMERIC" else "BASE64",
        )
        self.form = form
        self.envelope: SideCodec = side_codec(form)
        self.split = EnvelopeReader(form).split
        self.plain: SideCodec = side_codec(replace(form, kind="json"))

    def read(self, datum: dict[str, str] | None) -> tuple[Schema | None, Any]:
        """(schema, value) of a datum; raises ``DataError``."""
        if datum is None:
            return None, None
        if "envelope" in datum:
            return self.envelope.read(datum["envelope"].encode())
        return self.plain.read(datum["schemaless"].encode())

    def write(self, schema: Schema | None, value: Any) -> dict[str, str] | None:
        """The datum of a value; one that JSON cannot carry is ``unserialisable``."""
        try:
            data = (self.plain if schema is None else self.envelope).write(schema, value)
        except DataError as error:
            return {"unserialisable": error.problem.statement}
        if data is None:
            return None
        return {"schemaless" if schema is None else "envelope": data.decode()}


def run_case(case: dict[str, Any], chain: Chain) -> dict[str, Any]:
    """Run the records of a case through one chain, on the Python evaluator; the answer has the shape of ``expect``."""
    interpreter, converter = Interpreter(chain), Converter(case.get("converter") or {})
    return {"results": [_run(r, interpreter, converter) for r in case["records"]]}


def _run(data: dict[str, Any], interpreter: Interpreter, converter: Converter) -> dict[str, Any]:
    try:
        record = read_record(data, converter)
    except DataError as error:
        return failure(error.problem, error.problem.place.split()[0])
    outcome: Outcome = interpreter.run(record)
    if outcome.status == FAILED and outcome.problem is not None:
        return failure(outcome.problem, interpreter.chain.stages[outcome.stage].alias)
    return {"dropped": True} if outcome.status == DROPPED else {"record": write_record(data, record, converter)}


def failure(problem: Problem, stage: str) -> dict[str, Any]:
    """The answer for a record that failed."""
    error = {"class": problem.connect_class, "message": problem.statement, "stage": stage, "code": problem.code}
    return {"error": error}


def read_record(data: dict[str, Any], converter: Converter) -> Record:
    """Read a record; raises ``DataError`` whose place is the converter that refused."""
    record = Record(
        data["topic"], data["partition"], data["offset"], data["timestamp"], data["timestampType"], kind=data["kind"]
    )
    record.key_schema, record.key = _read(data["key"], converter, "key.converter")
    record.value_schema, record.value = _read(data["value"], converter, "value.converter")
    headers = [(h["key"], *_read(h["value"], converter, "header.converter")) for h in data["headers"]]
    record.headers = [Header(key, schema, value) for key, schema, value in headers]
    return record


def _read(datum: dict[str, str] | None, converter: Converter, place: str) -> tuple[Schema | None, Any]:
    try:
        return converter.read(datum)
    except DataError as error:
        raise DataError(error.problem.at(place)) from error


def write_record(data: dict[str, Any], record: Record, converter: Converter) -> dict[str, Any]:
    """The answer for a record that went through."""
    headers = [{"key": h.key, "value": converter.write(h.schema, h.value)} for h in record.headers]
    return {
        **data,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": converter.write(record.key_schema, record.key),
        "value": converter.write(record.value_schema, record.value),
        "headers": headers,
    }


def parse_cases(lines: bytes) -> list[dict[str, Any]]:
    """Read a file of cases."""
    return [msgspec.json.decode(line) for line in lines.splitlines() if line.strip()]
