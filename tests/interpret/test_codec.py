"""JSON payloads with a schema: read strictly, written as Kafka's JsonConverter writes them."""

import base64
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.errors import DATA_EXCEPTION, DataError
from dagster_smt.formats.json import reader, resolve_defaults, writer
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.runtime import KeyDict, KeyList
from dagster_smt.model.schema import JavaDate, Schema, Type, date, decimal, optional, time, timestamp
from dagster_smt.model.schema_json import schema_from_json
from dagster_smt.model.topics.format import Format

DAY = 86_400_000
INT8, INT64, TEXT, BYTES, BOOL = (Schema(t) for t in (Type.INT8, Type.INT64, Type.STRING, Type.BYTES, Type.BOOLEAN))
FLOAT, DOUBLE = Schema(Type.FLOAT32), Schema(Type.FLOAT64)
TEXTS, NUMBERS = Schema(Type.ARRAY, values=TEXT), Schema(Type.MAP, keys=TEXT, values=INT8)
BY_NUMBER = Schema(Type.MAP, keys=INT8, values=optional(TEXT))
BY_OPTIONAL_TEXT = Schema(Type.MAP, keys=optional(TEXT), values=INT8)
BY_STRUCT = Schema(Type.MAP, keys=Schema(Type.STRUCT, fields=(("c", optional(INT8)),)), values=INT8)
BY_LIST = Schema(Type.MAP, keys=TEXTS, values=INT8)
ROW = Schema(
    Type.STRUCT, fields=(("a", INT8), ("b", optional(TEXT)), ("r", Schema(Type.STRUCT, True, fields=(("c", INT8),))))
)
DEEP = Schema(Type.STRUCT, fields=(("l", Schema(Type.ARRAY, values=Schema(Type.STRUCT, fields=(("c", INT8),)))),))

# (schema, JSON text, Python value); they are written as they were read
SAME = [
    (INT8, "-128", -128),
    (INT64, "9223372036854775807", 2**63 - 1),
    (BOOL, "true", True),
    (TEXT, '"ä"', "ä"),
    (BYTES, '"AQI="', b"\x01\x02"),
    (BYTES, '""', b""),
    (FLOAT, "0.1", 0.10000000149011612),
    (FLOAT, "1.0E10", 1e10),
    (DOUBLE, "0.1", 0.1),
    (DOUBLE, "1e300", 1e300),
    (TEXTS, '["a","b"]', ["a", "b"]),
    (TEXTS, "[]", []),
    (NUMBERS, '{"a":1}', {"a": 1}),
    (BY_NUMBER, '[[1,"a"],[2,null]]', {1: "a", 2: None}),
    (ROW, '{"a":1,"b":null,"r":{"c":2}}', {"a": 1, "b": None, "r": {"c": 2}}),
    (ROW, '{"a":1,"b":"x","r":null}', {"a": 1, "b": "x", "r": None}),
    (decimal(2), '"AJw="', Decimal("1.56")),
    (decimal(2), '"nA=="', Decimal("-1.00")),
    (decimal(0), '"AA=="', Decimal(0)),
    (decimal(-3), '"AQ=="', Decimal("1E+3")),
    (date(), "1", JavaDate(DAY)),
    (date(), "-1", JavaDate(-DAY)),
    (time(), "86400000", JavaDate(DAY)),
    (timestamp(), "-1", JavaDate(-1)),
    (optional(date()), "null", None),
]
# read, but written otherwise
READ = [
    (FLOAT, "1", 1.0),
    (FLOAT, "16777217", 16777216.0),
    (FLOAT, "16777217.0000000001", 16777218.0),  # as a double it is the middle of two floats, as written it is not
    (FLOAT, "-1e-400", -0.0),
    (FLOAT, "-0.0", 0.0),
    (DOUBLE, "-0.0", 0.0),
    (DOUBLE, "-1e-400", -0.0),
    (DOUBLE, "7", 7.0),
    (BY_OPTIONAL_TEXT, '{"a":1}', {"a": 1}),
    (BY_STRUCT, '[[{"c":1},2],[{"c":null},3],[{"c":1},4]]', {KeyDict({"c": 1}): 4, KeyDict({"c": None}): 3}),
    (BY_LIST, '[[["a","b"],1],[["a","b"],2],[[],3]]', {KeyList(["a", "b"]): 2, KeyList(): 3}),
    (ROW, '{"a":1,"x":2}', {"a": 1, "b": None, "r": None}),
    (ROW, '{"a":1,"a":2}', {"a": 2, "b": None, "r": None}),
    (decimal(2), "1.5", Decimal("1.5")),
    (decimal(2), "1", Decimal(1)),
    (decimal(2), "12345678901234567890.123", Decimal("12345678901234567890.123")),
    (decimal(2), "-0.00", Decimal("0.00")),
    (decimal(0), "1e2", Decimal("1E+2")),
]
FIT = "{} does not fit the declared type {}"
REFUSED = [
    *((INT8, text, FIT.format("the value", "int8")) for text in ("128", "1.0", '"5"', "true", "[]", "{}")),
    *((INT64, text, FIT.format("the value", "int64")) for text in ("9223372036854775808", "1e3")),
    *((BOOL, text, FIT.format("the value", "boolean")) for text in ('"true"', "1")),
    *((TEXT, text, FIT.format("the value", "string")) for text in ("1", "{}", "true")),
    *((BYTES, text, FIT.format("the value", "bytes")) for text in ('"AQI"', '"*"', "1", '"ä"')),
    *((FLOAT, text, FIT.format("the value", "float32")) for text in ('"1"', "1e39", "true", "1" * 400)),
    *((decimal(2), text, FIT.format("the value", "Decimal(2)")) for text in ('"x"', "true", "{}")),
    (date(), "1.0", FIT.format("the value", "Date")),
    (date(), "2147483648", FIT.format("the value", "Date")),
    (time(), "86400001", FIT.format("the value", "Time")),
    (time(), "-1", FIT.format("the value", "Time")),
    (timestamp(), '"2020-01-01"', FIT.format("the value", "Timestamp")),
    (TEXTS, '["a",1]', FIT.format("[]", "string")),
    (TEXTS, '{"a":1}', FIT.format("the value", "array<string>")),
    (NUMBERS, '[["a",1]]', FIT.format("the value", "map<string,int8>")),
    (NUMBERS, '{"a":"1"}', FIT.format("[]", "int8")),
    (BY_NUMBER, '{"1":"a"}', FIT.format("the value", "map<int8,string?>")),
    (BY_NUMBER, "[[1]]", FIT.format("the value", "map<int8,string?>")),
    (ROW, "[]", FIT.format("the value", "struct")),
    (ROW, '{"a":1,"r":{"c":"x"}}', FIT.format("r.c", "int8")),
    (DEEP, '{"l":[{"c":1},{"c":1.5}]}', FIT.format("l[].c", "int8")),
]  # fmt: skip
NULLS = [
    (INT8, "null", "null, but required"),
    (ROW, "{}", "null in the required field 'a'"),
    (ROW, '{"a":1,"r":{}}', "null in the required field 'r.c'"),
    (TEXTS, "[null]", "null in the required field '[]'"),
]


def read(schema, text, **options):
    return side_codec(Format("json_schema", schema, **options)).read(text.encode())[1]


def written(schema, value, **options):
    return side_codec(Format("json_schema", schema, **options)).write(schema, value).decode()


def first_line(action):
    with pytest.raises(DataError) as caught:
        action()
    assert caught.value.problem.connect_class == DATA_EXCEPTION
    return str(caught.value).splitlines()[0]


@pytest.mark.parametrize(("schema", "text", "value"), SAME, ids=lambda x: x if isinstance(x, str) else "")
def test_there_and_back(schema, text, value):
    data = read(schema, text)
    assert (type(data), data) == (type(value), value)
    assert written(schema, data) == text


@pytest.mark.parametrize(("schema", "text", "value"), READ, ids=lambda x: x if isinstance(x, str) else "")
def test_read(schema, text, value):
    data = read(schema, text)
    assert (type(data), str(data)) == (type(value), str(value))


@pytest.mark.parametrize(("schema", "text", "statement"), REFUSED, ids=lambda x: x[:40] if isinstance(x, str) else "")
def test_a_payload_that_does_not_fit_is_refused_without_quoting_it(schema, text, statement):
    assert first_line(lambda: read(schema, text)) == f"SMT414 {statement}"


@pytest.mark.parametrize(("schema", "text", "statement"), NULLS)
def test_null_in_a_required_place_is_refused(schema, text, statement):
    assert first_line(lambda: read(schema, text)) == f"SMT401 {statement}"


WITH_DEFAULT = {
    "type": "struct",
    "optional": False,
    "fields": [
        {"field": "a", "type": "int8", "optional": True, "default": 3},
        {
            "field": "d",
            "type": "bytes",
            "optional": False,
            "name": decimal(1).name,
            "version": 1,
            "parameters": {"scale": "1"},
            "default": "Dw==",
        },
        {
            "field": "l",
            "type": "array",
            "optional": False,
            "items": {"type": "string", "optional": True, "default": "x"},
            "default": ["y", None],
        },
    ],
}


def test_defaults_are_read_where_the_schema_is():
    schema = resolve_defaults(schema_from_json(WITH_DEFAULT), Format())
    assert [s.default for _, s in schema.fields] == [3, Decimal("1.5"), ["y", "x"]]
    assert read(schema, '{"l":["z",null]}') == {"a": 3, "d": Decimal("1.5"), "l": ["z", "x"]}
    assert written(schema, {"a": None, "d": None, "l": [None]}) == '{"a":3,"d":"Dw==","l":["x"]}'


def test_defaults_stay_out_if_the_converter_says_so():
    schema = resolve_defaults(schema_from_json(WITH_DEFAULT), Format())
    off = {"replace_null_with_default": False}
    assert read(schema, '{"d":1,"l":[null]}', **off) == {"a": None, "d": Decimal(1), "l": [None]}
    assert written(schema, {"a": None, "d": Decimal("1.5"), "l": [None]}, **off) == '{"a":null,"d":"Dw==","l":[null]}'
    assert first_line(lambda: read(schema, '{"l":[]}', **off)) == "SMT401 null in the required field 'd'"
    assert first_line(lambda: written(schema, {"d": Decimal(1)}, **off)) == "SMT415 null in the required field 'l'"


@pytest.mark.parametrize("default", [300, "x", {}, [1]], ids=str)
def test_a_default_that_does_not_fit_is_refused(default):
    schema = schema_from_json({"type": "int8", "default": default})
    assert (
        first_line(lambda: resolve_defaults(schema, Format())) == "SMT414 default does not fit the declared type int8"
    )


UNWRITABLE = [
    (INT8, None, "null, but the schema requires a value"),
    (ROW, {"a": 1, "r": {}}, "null in the required field 'r.c'"),
    (ROW.with_(fields=(("d", date()),)), {"d": JavaDate(1)}, "'d' is a Date with a time of day"),
    (ROW.with_(fields=(("t", time()),)), {"t": JavaDate(DAY + 1)}, "'t' is a Time with a date"),
    (ROW.with_(fields=(("n", decimal(1)),)), {"n": Decimal("0.05")}, "'n' has more decimal places than its scale 1"),
    (ROW.with_(fields=(("n", decimal(1)),)), {"n": Decimal("1E+99999999")}, "'n' has too many digits for its scale 1"),
]


@pytest.mark.parametrize(("schema", "value", "statement"), UNWRITABLE, ids=[u[2] for u in UNWRITABLE])
def test_what_cannot_be_written(schema, value, statement):
    assert first_line(lambda: written(schema, value)) == f"SMT415 {statement}"


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (DOUBLE, float("nan"), '"NaN"'),
        (FLOAT, float("-inf"), '"-Infinity"'),
        (decimal(2), Decimal("1.5"), '"AJY="'),
        (decimal(2), Decimal("-1.28"), '"gA=="'),
        (decimal(2), Decimal("1.28"), '"AIA="'),
    ],
)
def test_written(schema, value, text):
    assert written(schema, value) == text


@pytest.mark.parametrize(
    "unscaled", [0, 1, -1, 127, 128, -128, -129, 10**40, -(10**5000)], ids=lambda n: f"{n.bit_length()} bits"
)
def test_decimals_are_the_fewest_bytes_that_keep_the_sign(unscaled):
    data = base64.b64decode(json.loads(written(decimal(0), Decimal(unscaled))))
    assert int.from_bytes(data, "big", signed=True) == unscaled
    assert len(data) == 1 or int.from_bytes(data[1:], "big", signed=True) != unscaled


def test_numeric_decimals():
    schema = decimal(2)
    assert written(schema, Decimal("1.50"), decimal_format="NUMERIC") == "1.50"
    assert written(schema, Decimal("1E+3"), decimal_format="NUMERIC") == "1E+3"
    assert read(schema, "1.50", decimal_format="NUMERIC") == read(schema, '"AJY="', decimal_format="NUMERIC")


integers = st.integers(-(2**63), 2**63 - 1)
documents = st.fixed_dictionaries(
    {
        "i": integers,
        "f": st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0),
        "d": st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0),
        "s": st.none() | st.text(),
        "b": st.binary(),
        "n": st.decimals(places=3, allow_nan=False, allow_infinity=False),
        "l": st.none() | st.lists(st.none() | integers),
        "m": st.dictionaries(st.text(), st.none() | integers),
        "k": st.dictionaries(integers, integers),
        "t": integers.map(JavaDate),
    }
)
WIDE = Schema(
    Type.STRUCT,
    fields=(
        ("i", INT64),
        ("f", FLOAT),
        ("d", DOUBLE),
        ("s", optional(TEXT)),
        ("b", BYTES),
        ("n", decimal(3)),
        ("l", Schema(Type.ARRAY, True, values=optional(INT64))),
        ("m", Schema(Type.MAP, keys=TEXT, values=optional(INT64))),
        ("k", Schema(Type.MAP, keys=INT64, values=INT64)),
        ("t", timestamp()),
    ),
)


@given(documents)
def test_any_value_comes_back(value):
    text = written(WIDE, value)
    assert read(WIDE, text) == value
    assert written(WIDE, read(WIDE, text)) == text


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda v: st.lists(v) | st.dictionaries(st.sampled_from("ifdsbnlmkt"), v),
    max_leaves=6,
)


@given(anything)
def test_any_payload_is_read_or_refused_by_a_problem(data):
    try:
        reader(WIDE, Format())(data)
    except DataError as error:
        assert error.problem.code in ("SMT401", "SMT414")


def test_writers_are_made_once_and_used_often():
    write = writer(ROW, Format())
    assert write({"a": 1}) == write({"a": 1, "b": None, "r": None, "x": 1}) == {"a": 1, "b": None, "r": None}
