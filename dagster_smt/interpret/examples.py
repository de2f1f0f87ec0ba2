"""Runs the documented examples of transforms and predicates. Tests and the reference pages use this module."""

import os
from typing import Any

import msgspec

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.chain.plan import plan_chain
from dagster_smt.errors import PlanError
from dagster_smt.formats.sides import SideCodec, side_codec
from dagster_smt.interpret.interpreter import PASSED, Interpreter
from dagster_smt.interpret.stage_runs import predicate_function
from dagster_smt.model.record import Header, Record
from dagster_smt.model.reports.markdown import code
from dagster_smt.model.reports.run_report import schema_diff
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.format import Format

TIMESTAMP = 1_556_204_536_123
EXAMPLE_KEY = "EXAMPLE_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
"""The name and the value of an environment variable. The examples of transforms that need a key refer to it; its value
is the bytes 0 to 31 in base64.
"""
_PLAIN, _ENVELOPE = side_codec(Format()), side_codec(Format("envelope"))


def set_example_key() -> None:
    """Sets the environment variable to which the examples refer, for this process and the processes that it starts."""
    os.environ.setdefault(*EXAMPLE_KEY)


def example_chain(cls: type[Transform], example: Example) -> Chain:
    """Returns a chain whose only stage is the transform ``cls`` with the options of ``example``. If the example shows a
    key, the stage changes the key.
    """
    side = "key" if (example.input_part or example.shows) == "key" else "value"
    return Chain((Stage("t", cls.model_validate(example.options), side if cls.sided else ""),))


def example_record(example: Example) -> Record:
    """Returns the record of ``example`` before the transform."""
    record = Record("orders", 0, 42, TIMESTAMP, "CreateTime")
    part, text = example.input_part or example.shows, example.before
    if part == "topic":
        record.topic = text
    elif part == "headers":
        headers = []
        for h in msgspec.json.decode(text):
            raw = None if h["value"] is None else str(h["value"]).encode()
            headers.append(Header(h["key"], None, h["value"], raw, from_stage=False))
        record.headers = headers
    else:
        schema, value = _codec(text).read(text.encode())
        setattr(record, part, value)
        setattr(record, f"{part}_schema", schema)
    return record


def _codec(text: str) -> SideCodec:
    if is_envelope(msgspec.json.decode(text)):
        return _ENVELOPE
    return _PLAIN


def is_envelope(value: Any) -> bool:
    """Returns True if ``value``, the JSON of an example, is an envelope."""
    return isinstance(value, dict) and value.keys() == {"schema", "payload"}


def run_example(cls: type[Transform] | type[Predicate], example: Example) -> str | None:
    """Runs ``example``, and returns the result as a string. Returns None if the record is dropped."""
    record = example_record(example)
    if issubclass(cls, Predicate):
        return str(predicate_function(cls.model_validate(example.options))(record)).lower()
    outcome = Interpreter(example_chain(cls, example)).run(record)
    if outcome.problem is not None:
        return f"{outcome.problem.code} {outcome.problem.statement}"
    if outcome.status == PASSED:
        return _shown(record, example.shows)
    return None


def _shown(record: Record, part: str) -> str:
    if part == "topic":
        return record.topic or ""
    if part == "headers":
        items = (f'{{"key":{_quoted(h.key)},"value":{_written(_PLAIN, h.schema, h.value)}}}' for h in record.headers)
        return f"[{','.join(items)}]"
    schema = getattr(record, f"{part}_schema")
    return _written(_PLAIN if schema is None else _ENVELOPE, schema, getattr(record, part))


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _written(codec: SideCodec, schema: Schema | None, value: Any) -> str:
    data = codec.write(schema, value)
    if data is None:
        return "null"
    return data.decode()


def run_once(cls: type[Transform], options: dict[str, Any], before: str, *, typed: bool) -> str:
    """Runs the transform ``cls`` on the value ``before``, a JSON text, and returns the result as JSON text. If the
    transform rejects the record, returns ``refused: `` and the problem.

    If ``typed`` is True, the value has a schema, which ``schema_of`` derives from the JSON.
    """
    chain = Chain((Stage("t", cls.model_validate(options), "value"),))
    if typed:
        form = Format("json_schema", schema_of(msgspec.json.decode(before)))
    else:
        form = Format()
    interpreter, record = Interpreter(chain, None, form), Record("orders", 0, 42, TIMESTAMP, "CreateTime")
    outcome = interpreter.read(record, None, before.encode())
    outcome = outcome if outcome.status != PASSED else interpreter.run(record)
    if outcome.status != PASSED:
        return f"refused: {outcome.problem.statement if outcome.problem else ''}"
    _, _, value = interpreter.write(record)
    if value is None:
        return "null"
    return value.decode()


def with_schema(cls: type[Transform], example: Example) -> str:
    """Returns the changes that ``example`` makes to the schema of a value, as a string for the reference pages.

    The string is empty in these cases: the example is about the key, topic or headers; its input is not a JSON object;
    its input is an envelope; or the chain rejects the schema.
    """
    if (example.input_part or example.shows) == "value":
        value = msgspec.json.decode(example.before)
    else:
        value = None
    if not isinstance(value, dict) or is_envelope(value):
        return ""
    before = schema_of(value)
    try:
        plan = plan_chain(example_chain(cls, example), None, before, topics=("orders",), typed=True)
    except PlanError:
        return ""
    changes = schema_diff(before, plan.after)
    texts = []
    for c in changes:
        texts.append(f"{code(c.field)} {c.change} ({' to '.join(filter(None, (c.before, c.after)))})")
    return ", ".join(texts)


def schema_of(value: Any) -> Schema:
    """Returns the Connect schema of ``value``, a JSON value. All fields in the schema are required."""
    if isinstance(value, dict):
        fields = []
        for name, child in value.items():
            fields.append((name, schema_of(child)))
        return Schema(Type.STRUCT, fields=tuple(fields))
    if isinstance(value, list):
        return Schema(Type.ARRAY, values=schema_of(value[0]) if value else Schema(Type.STRING))
    kinds = {bool: Type.BOOLEAN, int: Type.INT64, float: Type.FLOAT64}
    return Schema(kinds.get(type(value), Type.STRING), optional=value is None)
