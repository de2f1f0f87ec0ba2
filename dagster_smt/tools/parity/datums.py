"""Converts records in the format of the parity cases (recorded results of Kafka) into our records, and back. In this
format, a value is a dict with JSON text, such as ``{"schemaless": "5"}``. ``tests/parity/README.md`` describes the
format.
"""

import base64
import gzip
import json
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import Any

from dagster_smt.authoring.stage import Chain
from dagster_smt.chain import parse_chain
from dagster_smt.errors import DataError, Problem
from dagster_smt.formats.sides import EnvelopeReader, SideCodec, side_codec
from dagster_smt.interpret.interpreter import FAILED, Interpreter, Outcome
from dagster_smt.model.record import Header, Record
from dagster_smt.model.runtime import OwnStruct, kind_of
from dagster_smt.model.schema import JavaDate, Schema, Type
from dagster_smt.model.schema_json import schema_to_json
from dagster_smt.model.topics.format import Format
from dagster_smt.values.json.lazy import whole
from dagster_smt.values.numbers import decimal_text, float_text

PASSED, DROPPED = 0, 1
# the first two bytes of a gzip file
_PACKED = b"\x1f\x8b"
_SYNTAX = ".field.syntax.version"


class Converter:
    """The JSON converter of a case. It reads and writes datums, which are keys, values and headers as dicts, such as
    ``{"schemaless": "5"}``.
    """

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
        """Reads ``datum``, a key, value or header such as ``{"schemaless": "5"}``. Returns its schema (None if
        ``datum`` has no schema) and its value. Raises ``DataError`` if ``datum`` is not readable.
        """
        if datum is None:
            return None, None
        if "envelope" in datum:
            # some cases contain half of a surrogate pair, which strict UTF-8 cannot encode
            return self.envelope.read(datum["envelope"].encode(errors="surrogatepass"))
        return self.plain.read(datum["schemaless"].encode(errors="surrogatepass"))

    def write(self, schema: Schema | None, value: Any) -> dict[str, Any] | None:
        """Returns ``value`` as a datum (a dict with JSON text), such as ``{"schemaless": "5"}``; None if the converter
        writes no JSON for it. If JSON cannot express the value, the datum has the key ``unserialisable``.
        """
        if isinstance(value, OwnStruct):
            datum = {"unserialisable": "the struct has another schema", "java": java_form(value.schema, value)}
            return datum if schema is None else {**datum, "schema": java_schema(schema)}
        try:
            data = (self.plain if schema is None else self.envelope).write(schema, value)
        except DataError as error:
            return self._unserialisable(error, schema, value)
        if data is None:
            return None
        return {"schemaless" if schema is None else "envelope": data.decode()}

    def _unserialisable(self, error: DataError, schema: Schema | None, value: Any) -> dict[str, Any]:
        datum: dict[str, Any] = {"unserialisable": error.problem.statement}
        with suppress(DataError):  # the value may never have been JSON
            datum["java"] = java_form(schema, whole(value))
        if schema is None:
            return datum
        return {**datum, "schema": java_schema(schema)}


def java_schema(schema: Schema) -> str:
    """Returns ``schema`` as JSON text. Each default in it names its Java type, as in ``{"int64": 5}``."""
    return json.dumps(schema_to_json(schema, lambda s: java_form(s.with_(default=None), s.default)))


def java_form(schema: Schema | None, value: Any) -> Any:
    """Returns ``value`` as JSON data that names its Java type. For example, the number 5 becomes ``{"int64": 5}``, and
    ``Decimal("1.50")`` becomes ``{"decimal": "1.50"}``. Strings, booleans and null stay as they are.
    """
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    # before the integers, because True is an int in Python
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, JavaDate):
        return {"date_ms": int(value)}
    if isinstance(value, Decimal):
        return {"decimal": decimal_text(value)}
    if isinstance(value, list):
        return {"list": [java_form(schema and schema.values, item) for item in value]}
    if schema is not None and schema.type is Type.STRUCT:
        return {"struct": [[name, java_form(child, value.get(name))] for name, child in schema.fields]}
    if isinstance(value, dict):
        keys, values = (schema.keys, schema.values) if schema else (None, None)
        entries = []
        for k, v in value.items():
            entries.append([java_form(keys, k), java_form(values, v)])
        return {"map": entries}
    kind = kind_of(value) if schema is None else schema.type.value
    name = {"float": "float32", "double": "float64"}.get(kind, kind)
    return {name: int(value) if isinstance(value, int) else float_text(value, name == "float32")}


def case_chain(case: dict[str, Any]) -> Chain:
    """Returns the chain of ``case``. In this chain, unknown options are allowed, and paths and class names are checked
    as strictly as in Kafka (decisions 4 and 8 in ``docs/decisions``).
    """
    options = {}
    for k, v in case["config"].items():
        if v is not None:
            options[k] = v
    properties = {"transforms": "", **options}
    strict = {}
    for k in properties:
        if k.endswith(_SYNTAX):
            strict[k.replace(_SYNTAX, ".strict_paths")] = "kafka"
    jars = {"smt_jars": case.get("smt_jars", ()), "connect_version": case.get("connect_version", "")}
    return parse_chain({**strict, **properties}, unknown_options="warn", as_kafka=True, **jars)


def run_case(case: dict[str, Any], chain: Chain, converter: Converter | None = None) -> dict[str, Any]:
    """Runs the records of ``case`` through ``chain``, in the Python evaluator. Returns the results, such as
    ``{"results": [{"dropped": True}, {"record": …}]}``, with one result per record.
    """
    interpreter, converter = Interpreter(chain), converter or Converter(case.get("converter") or {})
    return {"results": [_run(r, interpreter, converter) for r in case["records"]]}


def _run(data: dict[str, Any], interpreter: Interpreter, converter: Converter) -> dict[str, Any]:
    try:
        record = read_record(data, converter)
    except DataError as error:
        # the location begins with the name of the converter, such as ``key.converter``
        return failure(error.problem, error.problem.place.split()[0])
    return run_record(data, record, interpreter, converter)


def run_record(data: dict[str, Any], record: Record, interpreter: Interpreter, converter: Converter) -> dict[str, Any]:
    """Runs ``record`` through the chain of ``interpreter``. Returns ``{"record": ...}``, ``{"dropped": True}`` or
    ``{"error": ...}``.

    Args:
        data: The record in the format of the cases.
        record: The same record, as read from ``data``.
        interpreter: The Python evaluator with the chain.
        converter: Writes the key, the value and the headers.
    """
    outcome: Outcome = interpreter.run(record)
    if outcome.status == FAILED and outcome.problem is not None:
        return failure(outcome.problem, interpreter.chain.stages[outcome.stage].alias)
    if outcome.status == DROPPED:
        return {"dropped": True}
    return {"record": write_record(data, record, converter)}


def failure(problem: Problem, stage: str) -> dict[str, Any]:
    """Returns ``{"error": ...}``, the result for a record that failed with ``problem`` in the stage with the alias
    ``stage``.
    """
    error = {"class": problem.connect_class, "message": problem.statement, "stage": stage, "code": problem.code}
    return {"error": error}


def read_record(data: dict[str, Any], converter: Converter) -> Record:
    """Reads the record in ``data``. If a part of the record is not readable, raises a ``DataError``. The location of
    the error names the converter of this part, such as ``key.converter``.
    """
    record = Record(
        data["topic"], data["partition"], data["offset"], data["timestamp"], data["timestampType"], kind=data["kind"]
    )
    record.key_schema, record.key = _read(data["key"], converter, "key.converter")
    record.value_schema, record.value = _read(data["value"], converter, "value.converter")
    headers = []
    for h in data["headers"]:
        headers.append((h["key"], *_read(h["value"], converter, "header.converter")))
    record.headers = [Header(key, schema, value) for key, schema, value in headers]
    return record


def _read(datum: dict[str, str] | None, converter: Converter, place: str) -> tuple[Schema | None, Any]:
    try:
        return converter.read(datum)
    except DataError as error:
        raise DataError(error.problem.at(place)) from None


def write_record(data: dict[str, Any], record: Record, converter: Converter) -> dict[str, Any]:
    """Returns ``record``, which has been through the chain, as a dict in the format of the cases. Fields that the chain
    cannot change come from ``data``, the record before the chain.
    """
    headers = [{"key": h.key, "value": converter.write(h.schema, h.value)} for h in record.headers]
    return {
        **data,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": None
        if record.timestamp is None
        else int(record.timestamp),  # a stage turns the timestamp into a date
        "key": converter.write(record.key_schema, record.key),
        "value": converter.write(record.value_schema, record.value),
        "headers": headers,
    }


def parse_cases(lines: bytes) -> list[dict[str, Any]]:
    """Parses the cases in ``lines``, the content of a file with one JSON object per line. The content may be compressed
    with gzip.
    """
    if lines.startswith(_PACKED):
        lines = gzip.decompress(lines)
    cases = []
    for line in lines.split(b"\n"):
        if line.strip():
            cases.append(json.loads(line))
    return cases  # msgspec does not accept lone surrogates
