"""Records travel to the host and back without loss: every type, with names, versions, parameters and defaults."""

from decimal import Decimal

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain
from dagster_smt.errors import DataError
from dagster_smt.formats.sides import side_codec
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Schema, Type, decimal, timestamp
from dagster_smt.model.topics.format import Format
from tests.random_records import as_text, payload, structs, typed

RENAME = {
    "transforms": "s",
    "transforms.s.type": "org.apache.kafka.connect.transforms.SetSchemaMetadata$Value",
    "transforms.s.schema.name": "new.Name",
    "transforms.s.schema.version": "7",
}
"""Another name of the schema makes the whole value travel back; its fields stay as they are."""


def through(engine, schema, value):
    chain = parse_chain({**RENAME, "engine": engine})
    record = Record("orders", 0, 0, 5, "CreateTime", value_schema=schema, value=value)
    interpreter = Interpreter(chain, Format("string"), Format("json_schema", schema))
    return interpreter.run(record), record


@settings(max_examples=150)
@given(st.data())
def test_values_of_random_schemas(data):
    schema = data.draw(structs(typed))
    try:
        _, value = side_codec(Format("json_schema", schema)).read(as_text(payload(data.draw, schema)))
    except DataError:
        assume(False)
    outcome, ours = through("dagster_smt", schema, value)
    assert outcome.status == 0
    outcome, back = through("connect", schema, value)
    if outcome.status:
        return  # Kafka refuses a value whose schema has the name of a logical type on another type
    assert back.value_schema == ours.value_schema and back.value_schema.name == "new.Name"
    assert exact(back.value) == exact(ours.value)


def exact(value):
    """Returns a value with the class of each part, so that 1 and 1.0 differ, and 1.0 and 1.00."""
    if isinstance(value, dict):
        return {str(exact(key)): exact(child) for key, child in value.items()}
    if isinstance(value, list):
        return [exact(child) for child in value]
    return type(value).__name__, str(value)


def test_one_of_each_type():
    kinds = [
        (Schema(Type.INT8), -128),
        (Schema(Type.INT16), 32767),
        (Schema(Type.INT32), -(2**31)),
        (Schema(Type.INT64), 2**63 - 1),
        (Schema(Type.FLOAT32), 0.5),
        (Schema(Type.FLOAT64), 1e308),
        (Schema(Type.BOOLEAN), True),
        (Schema(Type.STRING), "é\U0001f600\0"),
        (Schema(Type.BYTES), b"\x00\xff"),
        (decimal(3), Decimal("-12345678901234567890.120")),
        (Schema(Type.ARRAY, values=Schema(Type.INT32, True)), [1, None]),
        (Schema(Type.MAP, keys=Schema(Type.INT16), values=timestamp()), {}),
        (Schema(Type.STRING, True, "a.Name", 3, "doc", (("p", "q"),), "default"), "value"),
    ]
    schema = Schema(Type.STRUCT, fields=tuple((f"f{n}", kind) for n, (kind, _) in enumerate(kinds)))
    value = {f"f{n}": value for n, (_, value) in enumerate(kinds)}
    outcome, back = through("connect", schema, value)
    assert outcome.status == 0
    assert back.value_schema.fields == schema.fields and exact(back.value) == exact(value)
