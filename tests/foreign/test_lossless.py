"""Records travel to the host and back without loss: every type, with names, versions, parameters and defaults."""

from decimal import Decimal

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain
from dagster_smt.errors import DataError
from dagster_smt.formats.sides import side_codec
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Header, Record
from dagster_smt.model.schema import JavaDate, Schema, Type, date, decimal, time, timestamp
from dagster_smt.model.topics.format import Format
from dagster_smt.values.cast import DAY
from dagster_smt.values.headers.fields import header_bytes
from tests.foreign.jar import KAFKA, chain_of
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


def _row(*fields):
    return Schema(Type.STRUCT, fields=fields)


KINDS = (
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
    (date(), JavaDate(-DAY)),
    (time(), JavaDate(DAY - 1)),
    (timestamp(), JavaDate(-1)),
    (Schema(Type.ARRAY, values=Schema(Type.INT32, True)), [1, None]),
    (Schema(Type.MAP, keys=Schema(Type.INT16), values=timestamp()), {}),
    (Schema(Type.MAP, keys=Schema(Type.STRING), values=_row()), {"a": {}}),
    (Schema(Type.STRING, True, "a.Name", 3, "doc", (("p", "q"),), "default"), "value"),
    (_row(), {}),
    (_row().with_(optional=True, name="bare"), {}),
    (_row(("in", _row()), ("none", _row().with_(optional=True))), {"in": {}, "none": None}),
    (_row(("deep", Schema(Type.ARRAY, values=_row(("at", timestamp()))))), {"deep": [{"at": JavaDate(7)}]}),
)


def test_one_of_each_type():
    schema = _row(*((f"f{n}", kind) for n, (kind, _) in enumerate(KINDS)))
    value = {f"f{n}": value for n, (_, value) in enumerate(KINDS)}
    outcome, back = through("connect", schema, value)
    assert outcome.status == 0
    assert back.value_schema.fields == schema.fields and exact(back.value) == exact(value)


def test_each_type_in_keys_values_and_headers(jar):
    """A class swaps key and value and makes each header anew, so nothing of a record stays in Python."""
    interpreter = Interpreter(chain_of(jar, "Swaps"))
    nulls = [(kind.with_(optional=True), None) for kind, _ in KINDS]
    for schema, value in (*KINDS, *nulls):
        for key, rest in (((schema, value), (None, None)), ((None, None), (schema, value))):
            record = Record("orders", 0, 0, 5, "CreateTime", *key, *rest, headers=[Header("h", schema, value)])
            assert interpreter.run(record).status == 0
            (header,) = record.headers
            sides = [(record.value_schema, record.value), (record.key_schema, record.key)]
            assert sides == [key, rest] and (header.key, header.schema) == ("h2", schema)
            assert exact(header.value) == exact(value) and exact([side[1] for side in sides]) == exact(
                [key[1], rest[1]]
            )
    interpreter.close()


def test_a_header_whose_schema_does_not_say_its_fields(jar):
    """Connect writes such a header by the struct's own schema; the next foreign stage gets both schemas."""
    schema = _row(("id", Schema(Type.INT32)), ("price", decimal(2)))
    value = {"id": 7, "price": Decimal("1.50")}
    for stages in (
        ["Fieldless"],
        ["Fieldless", (f"{KAFKA}InsertHeader", {"header": "ours", "value.literal": "1"}), "Swaps"],
    ):
        interpreter = Interpreter(chain_of(jar, *stages))
        record = Record("orders", 0, 0, 5, "CreateTime", value_schema=schema, value=value)
        assert interpreter.run(record).status == 0
        headers = {header.key.removesuffix("2"): header for header in record.headers}
        texts = {name: header_bytes(header).decode() for name, header in headers.items()}
        text = '{"id":7,"price":1.50}'
        assert texts["struct"] == texts["unknown"] == text
        assert texts["list"] == f"[{text}]" or len(stages) > 1  # deeper down it is bytes, which the next class parses
        assert headers["struct"].schema == _row().with_(name="bare", optional=True)
        assert headers["struct"].value.schema == schema and headers["unknown"].schema == schema
        assert exact(headers["builder"].value) == exact({"a": 1})
        interpreter.close()


def test_a_value_whose_schema_does_not_say_its_fields_fails(jar):
    """No converter of Connect writes it, and no field may get lost without a word."""
    record = Record("orders", 0, 0, 5, "CreateTime", value_schema=_row(("id", Schema(Type.INT32))), value={"id": 7})
    interpreter = Interpreter(chain_of(jar, "Misfit"))
    outcome = interpreter.run(record)
    interpreter.close()
    assert outcome.problem.code == "SMT490" and "errors.DataException" in outcome.problem.statement
