"""The JVM lane reads declared JSON as Python does: the same values, and nothing that Python refuses."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.model.schema import (
    BOOLEAN,
    FLOATS,
    INT32,
    INT64,
    INTEGER_BITS,
    STRING,
    JavaDate,
    Schema,
    Type,
    date,
    decimal,
    optional,
    time,
    timestamp,
)
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.reading.json_columns import SideColumns
from dagster_smt.spark.reading.jvm_columns import lane_programs
from dagster_smt.spark.stages.early_calls import EarlyCall
from dagster_smt.values.cast import CastTo
from dagster_smt.values.times.timestamps import ConvertTime
from tests.jvm.columns_harness import LEFT, agree, in_java
from tests.spark.made_up import structs, texts_of
from tests.spark.test_json_columns import BYTES, DOES_NOT_FIT, FITS, ONLY_SPARK_REFUSES, OPTIONAL

ALL = OPTIONAL.with_(fields=tuple(field for field in OPTIONAL.fields if field[0] != "pairs"))
"""Maps whose keys are not texts are pairs in JSON: the lane has no Java for them."""
LEAVES = {
    '{"q\\"é/":"1"}',  # a name that is spelled with escapes
    '{"q\\"\\u00e9\\/":"1"}',
    '{"i":"x","i":1}',  # the first of two values does not fit, and does not count
    '{"f":-0.0,"f4":-0.0}',
    '{"d":1e2}',
}
"""Texts that fit, and that the lane leaves to Python."""


FLAT = ALL.with_(
    fields=tuple(
        (name, child)
        for name, child in ALL.fields
        if child.type not in (Type.STRUCT, Type.ARRAY, Type.MAP) and child.logical != "Decimal"
    )
)
"""Only types that the lane writes into Spark's own row format."""


def side(schema, fill=True, masks=(), calls=(), **options):
    form = Format("json_schema", schema, fill, options=options)
    return SideColumns("value", form, schema, dict(masks), tuple(calls))


@pytest.mark.parametrize("fill", [True, False])
def test_texts_that_fit(fill):
    texts = [text for text in FITS if "pairs" not in text]
    assert set(agree(side(ALL, fill), [text.encode() for text in texts])) == {text.encode() for text in LEAVES}


@pytest.mark.parametrize("fill", [True, False])
def test_texts_that_do_not_fit(fill):
    texts = [text.encode() for text in [*DOES_NOT_FIT, *ONLY_SPARK_REFUSES] if "pairs" not in text] + BYTES
    assert set(agree(side(ALL, fill), texts)) <= {b'{"d":1.555}'}


@pytest.mark.parametrize("fill", [True, False])
def test_flat_records(fill):
    texts = [text.encode() for text in [*FITS, *DOES_NOT_FIT, *ONLY_SPARK_REFUSES] if "pairs" not in text] + BYTES
    flat = side(FLAT, fill)
    agree(flat, texts)
    values = {name: "null" for name, _ in FLAT.fields}
    numbers = [name for name, child in FLAT.fields if child.type is Type.INT32 and child.logical is None]
    texts = [name for name, child in FLAT.fields if child.type is Type.STRING]
    values |= dict.fromkeys(numbers, "7") | dict.fromkeys(texts, '"a text of some length"')
    members = [f'"{json.dumps(name)[1:-1]}":{text}' for name, text in values.items() if name.isalnum()]
    orders = [members, members[::-1], members[1::2] + members[::2], [*members, *members], members[3:5], []]
    many = orders + [members[::-1]] * 120 + orders  # after so many in another order, it reads them in another way
    assert agree(flat, [("{" + ",".join(order) + "}").encode() for order in many]) == []
    masked = side(FLAT, fill, masks=[((texts[0],), "***"), ((numbers[0],), 0)])
    assert agree(masked, [("{" + ", ".join(order) + "}").encode() for order in orders]) == []


def test_the_fields_of_a_call_are_read_in_any_order():
    schema = Schema(
        Type.STRUCT, fields=(("n", optional(STRING)), ("s", optional(STRING)), ("i", INT64.with_(default=3)))
    )
    source = optional(STRING)
    calls = [EarlyCall("e0", "f0", CastTo("string", Type.FLOAT64, "n"), source, optional(Schema(Type.FLOAT64)))]
    texts = [b'{"n":"1.5","s":"x"}', b'{"s":"x","n":"2e3"}', b'{"i":7}', b'{"n":null,"i":1}', b'{"n":"1","n":"2"}']
    assert agree(side(schema, calls=calls), texts) == []


def test_no_text_at_all_is_null():
    assert in_java(side(ALL), [None, b"", b"null"]) == [(1, None), (1, None), (LEFT, None)]


DEFAULTS = Schema(
    Type.STRUCT,
    fields=(
        ("r", INT32),
        ("o", optional(INT32)),
        ("d", INT32.with_(default=7)),
        ("od", optional(STRING).with_(default="x")),
        ("f", Schema(Type.FLOAT64, default=float("-inf"))),
        ("b", Schema(Type.BYTES, default=b"x")),
        ("at", timestamp().with_(default=JavaDate(-1))),
        ("day", date().with_(default=JavaDate(2 * 86_400_000))),
        ("is", BOOLEAN.with_(default=True)),
    ),
)


@pytest.mark.parametrize("fill", [True, False])
def test_required_fields_and_defaults(fill):
    inner = DEFAULTS.with_(optional=True)
    schema = Schema(Type.STRUCT, fields=(("in", inner), ("items", Schema(Type.ARRAY, True, values=inner))))
    values = ['{"r":1}', '{"r":1,"d":null}', '{"r":1,"d":2,"od":null}', "{}", '{"r":null,"d":1}', "null"]
    texts = [f'{{"in":{v}}}' for v in values] + [f'{{"items":[{v},{v}]}}' for v in values]
    assert agree(side(schema, fill), [text.encode() for text in texts]) == []


TEXTS = {
    "day": ["2020-01-31", "2020-02-30", "1600-02-29", "0000-01-01", "+12020-01-31", "20-1-1", "2020-13-01", ""],
    "time": ["12:00:00", "12:00:00.1", "12:00:00.12", "12:00:00.123", "12:00:00.1230", "12:00", "24:00:00", "1:0:0"],
    "at": [
        "2020-01-31 12:00:00",
        "2020-01-31T12:00:00.5Z",
        "2020-01-31 12:00:00+01:00",
        "2020-01-31",
        "1969-12-31 23:59:59.999",
        "2020-01-31 12:00:60",
        "2020-01-31 12:00:00.1234",
        "9999-12-31 23:59:59",
        "2020-01-31_12:00:00",
    ],
    "d": ["1.25"],
}


@pytest.mark.parametrize("standard", ["SQL", "ISO-8601", "CONNECT"])
def test_days_and_moments_as_texts(standard):
    fields = {"day": date(), "time": time(), "at": timestamp(), "d": decimal(2)}
    schema = Schema(Type.STRUCT, fields=tuple((name, optional(child)) for name, child in fields.items()))
    texts = [f'{{"{name}":"{text}"}}'.encode() for name, many in TEXTS.items() for text in many]
    numbers = [b'{"day":5,"time":7,"at":-3,"d":1.2}', b'{"time":86400001}', b'{"d":123e-2}', b'{"d":0.0}']
    left = agree(side(schema, **{"timestamp-format.standard": standard}), texts + numbers)
    assert b'{"at":"2020-01-31 12:00:00"}' not in left
    assert b'{"at":"1969-12-31 23:59:59.999"}' not in left
    assert numbers[0] not in left


def test_decimals_with_digits():
    schema = Schema(Type.STRUCT, fields=(("d", decimal(2, 4)),))
    base64 = (b'"AA=="', b'"/w=="', b'"JxA="', b'"gAAAAA=="', b'""', b'"AQ"', b'"AQ==\\n"')
    texts = [
        b'{"d":%s}' % n for n in (*base64, b"1", b"12.34", b"-99.99", b"100", b"0.001", b"0", b"-0.0", b"1e1", b"0.10")
    ]
    assert set(agree(side(schema), texts)) <= {b'{"d":0.001}', b'{"d":1e1}'}


def test_masks():
    inner = Schema(Type.STRUCT, fields=(("email", optional(STRING)), ("n", INT64.with_(default=3))))
    schema = Schema(Type.STRUCT, fields=(("a", inner), ("l", Schema(Type.ARRAY, values=inner)), ("f", optional(INT32))))
    masks = {("a", "email"): "", ("a", "n"): 0, ("l", None, "email"): "***", ("f",): 0}
    texts = [
        b'{"a":{"email":"x"},"l":[{"email":"y","n":5},{"email":null}],"f":7}',
        b'{"a":{"n":7},"l":[],"f":null}',
        b'{"a":{"email":5},"l":[]}',
    ]
    assert agree(side(schema, masks=masks.items()), texts) == []
    status, row = in_java(side(schema, masks=masks.items()), texts)[0]
    assert (status, row) == (0, [["", 0], [["***", 5], [None, 3]], 0])


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        (INT64, ConvertTime("unix", "string", "yyyy-MM-dd HH:mm:ss.SSS")),
        (INT64, ConvertTime("unix", "string", "yyyyMMdd", "seconds")),
        (timestamp(), ConvertTime("Timestamp", "string", "yyyy-MM-dd")),
        (date(), ConvertTime("Date", "string", "dd/MM/yyyy")),
        (time(), ConvertTime("Time", "string", "HH-mm")),
    ],
)
def test_calls(source, rule):
    schema = Schema(Type.STRUCT, fields=(("x", STRING), ("at", optional(source))))
    call = EarlyCall("e0", "f1", rule, source, STRING)
    texts = [b'{"x":"","at":%d}' % n for n in (0, 5, 86_399_999, 12_345, -1, -86_400_000, 10**12, -(10**14), 10**18)]
    left = agree(side(schema, calls=[call]), [*texts, b'{"x":"","at":null}'])
    assert set(left) <= {texts[-1]}


@pytest.mark.parametrize("kind", INTEGER_BITS, ids=lambda kind: kind.name)
def test_the_ends_of_whole_numbers(kind):
    most = 2 ** (INTEGER_BITS[kind] - 1) - 1
    schema = Schema(Type.STRUCT, fields=(("n", Schema(kind)),))
    texts = [b'{"n":%d}' % n for n in (0, 1, most, most + 1, -most - 1, -most - 2, 10 * most)]
    assert agree(side(schema), texts) == []
    assert [row[0] for row in in_java(side(schema), texts)] == [0, 0, 0, LEFT, 0, LEFT, LEFT]


NUMBERS = ["1", " 12 ", "+7", "-0", "1.5", "1e3", "0x1p3", "1f", "1_0", "NaN", "-Infinity", "٣", "much", "", "1e400"]
FLOATING = ["0", "-0.5", "1e10", "123456789.125", "1e-7", "0.1", "3.4e38", "1e7", "9999999.5", "2e-3"]


@pytest.mark.parametrize("target", [kind for kind in Type if kind in (*INTEGER_BITS, *FLOATS)], ids=lambda t: t.name)
def test_casts_of_texts(target):
    schema = Schema(Type.STRUCT, fields=(("x", STRING), ("n", optional(STRING))))
    call = EarlyCall("e0", "f1", CastTo("string", target, "n"), STRING, Schema(target))
    texts = [json.dumps({"x": "", "n": text}).encode() for text in [*NUMBERS, None]]
    assert agree(side(schema, calls=[call]), texts) == []


@pytest.mark.parametrize(("source", "kind"), [(Type.FLOAT32, "float"), (Type.FLOAT64, "double")])
def test_casts_to_texts(source, kind):
    schema = Schema(Type.STRUCT, fields=(("n", Schema(source)),))
    call = EarlyCall("e0", "f0", CastTo(kind, Type.STRING, "n"), Schema(source), STRING)
    assert agree(side(schema, calls=[call]), [f'{{"n":{text}}}'.encode() for text in FLOATING]) == []


@given(structs(2).flatmap(lambda schema: st.tuples(st.just(schema), st.lists(texts_of(schema), min_size=5))))
def test_random_texts(pair):
    schema, texts = pair
    if lane_programs([side(schema)]) is not None:
        agree(side(schema), [text if isinstance(text, bytes) else text.encode() for text in texts])


@given(st.sampled_from(FITS[2:]), st.integers(0, 60), st.binary(max_size=2))
def test_texts_that_are_wrong_somewhere(text, at, other):
    encoded = text.encode()
    wrong = [encoded[:at] + other + encoded[at + len(other) :], encoded[:at] + other + encoded[at:]]
    agree(side(ALL), wrong)
    agree(side(FLAT), wrong)


def test_hostile_texts():
    texts = [
        b'{"s":' + b"[" * 100_000,
        b'{"u":' + b"[" * 1000 + b"]" * 1000 + b"}",
        b'{"u":' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"f":' + b"1" * 400 + b"}",
        b'{"d":' + b"1" * 400 + b"}",
        b'{"d":1e999999999}',
        b'{"s":"' + b"x" * 5_000_000 + b'"}',
        b'{"m":{' + b",".join(b'"k%d":1' % n for n in range(100_000)) + b"}}",
        b"{" + b",".join(b'"u%d":1' % n for n in range(100_000)) + b"}",
    ]
    agree(side(ALL), texts)
