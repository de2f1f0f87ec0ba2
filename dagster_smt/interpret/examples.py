"""Running the documented examples of transforms; the reference prints what the tests have seen."""

from typing import Any

import msgspec

from dagster_smt.chain.plan import plan_chain
from dagster_smt.errors import PlanError
from dagster_smt.interpret.interpreter import KEPT, Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.report import schema_diff
from dagster_smt.model.schema import Schema, Type
from dagster_smt.spec.stage import Chain, Stage
from dagster_smt.spec.transform import Example, Transform
from dagster_smt.values.lazy import encoder

TIMESTAMP = 1_556_204_536_123


def example_chain(cls: type[Transform], example: Example) -> Chain:
    """The example's transform as a chain of one stage on the value."""
    return Chain((Stage("t", cls.model_validate(example.options), "value" if cls.sided else ""),))


def run_example(cls: type[Transform], example: Example) -> str | None:
    """What the example's options make of its input; None if the record is dropped.

    The record has the topic ``orders``, partition 0, offset 42 and a timestamp. For ``shows="topic"`` the input is the
    topic; for ``key`` and ``headers`` it is the value.
    """
    interpreter = Interpreter(example_chain(cls, example))
    routed = example.shows == "topic"
    record = Record(example.before if routed else "orders", 0, 42, TIMESTAMP, "CreateTime")
    outcome = interpreter.read(record, None, b"{}" if routed else example.before.encode())
    outcome = outcome if outcome.status != KEPT else interpreter.run(record)
    if outcome.problem is not None:
        return f"{outcome.problem.code} {outcome.problem.statement}"
    if outcome.status != KEPT:
        return None
    return _shown(record, example.shows)


def _shown(record: Record, shows: str) -> str | None:
    if shows == "topic":
        return record.topic
    if shows == "headers":
        return encoder.encode({h.key: h.value for h in record.headers}).decode()
    return encoder.encode(record.key if shows == "key" else record.value).decode()


def with_schema(cls: type[Transform], example: Example) -> str:
    """What the example does to the schema its input would have, as text; empty if it has no effect on a struct."""
    value = msgspec.json.decode(example.before) if example.shows != "topic" else None
    if not isinstance(value, dict):
        return ""
    before = schema_of(value)
    try:
        plan = plan_chain(example_chain(cls, example), None, before, topics=("orders",), typed=True)
    except PlanError:
        return ""
    changes = schema_diff(before, plan.after)
    return ", ".join(f"`{c.field}` {c.change} ({' to '.join(filter(None, (c.before, c.after)))})" for c in changes)


def schema_of(value: Any) -> Schema:
    """The Connect schema that a JSON value would have, every field required."""
    if isinstance(value, dict):
        return Schema(Type.STRUCT, fields=tuple((name, schema_of(child)) for name, child in value.items()))
    if isinstance(value, list):
        return Schema(Type.ARRAY, values=schema_of(value[0]) if value else Schema(Type.STRING))
    kinds = {bool: Type.BOOLEAN, int: Type.INT64, float: Type.FLOAT64}
    return Schema(kinds.get(type(value), Type.STRING), optional=value is None)
