"""JSON with a declared schema: Spark reads and refuses what the Python evaluator's reader does."""

import json
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.errors import DataError
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.schema import (
    BOOLEAN,
    INT32,
    INT64,
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
from dagster_smt.spark import sql
from dagster_smt.spark.flat_columns import built
from dagster_smt.spark.plain import reader, to_plain
from dagster_smt.spark.reading.json_columns import ReadColumns, SideColumns
from dagster_smt.spark.reading.start import typed_evaluator
from tests.spark.made_up import structs, texts_of
from tests.spark.test_evaluators_agree import frame_of

FLOAT32, FLOAT64, INT8 = Schema(Type.FLOAT32), Schema(Type.FLOAT64), Schema(Type.INT8)
FIELDS = {
    "s": STRING,
    "i8": INT8,
    "i": INT32,
    "l": INT64,
    "f": FLOAT64,
    "f4": FLOAT32,
    "b": Schema(Type.BYTES),
    "bo": BOOLEAN,
    "d": decimal(2),
    "day": date(),
    "time": time(),
    "at": timestamp(),
    "m": Schema(Type.MAP, keys=STRING, values=INT32),
    "pairs": Schema(Type.MAP, keys=INT32, values=STRING),
    "tags": Schema(Type.ARRAY, values=STRING),
    "days": Schema(Type.ARRAY, values=date()),
    "prices": Schema(Type.ARRAY, values=decimal(1)),
    "names": Schema(Type.MAP, keys=STRING, values=optional(STRING)),
    "in": Schema(Type.STRUCT, fields=(("s", STRING), ("n", optional(INT8)))),
    'q"é/': STRING,
}
OPTIONAL = Schema(Type.STRUCT, fields=tuple((name, optional(schema)) for name, schema in FIELDS.items()))

FAST = OPTIONAL.with_(
    fields=tuple(f for f in OPTIONAL.fields if f[0] not in ("d", "pairs", "prices") and '"' not in f[0])
)
FITS = [
    "{}",
    " {} \n",
    '{"s":"x","i":1,"unknown":[1,{"a":null}]}',
    '{"s":"x","s":"y"}',
    '{"s":"12"}',
    '{"s": "12"}',
    '{"s"  :  "12"}',
    '{"s":"-1.5e+3"}',
    '{"s":"true"}',
    '{"s":"\\u0031"}',
    '{"s":"1\\n2"}',
    '{"s":"{\\"s\\":1}"}',
    '{"s": "[1]"}',
    '{"s":"Infinity"}',
    '{"s":"\\"Infinity\\""}',
    '{"s":"\\ud83d\\ude00 \\\\ud800"}',
    '{"s":"a\\u0000b"}',
    '{"q\\"é/":"1"}',
    '{"q\\"\\u00e9\\/":"1"}',
    '{"i8":127,"i":-2147483648,"l":9223372036854775807}',
    '{"i8":-0}',
    '{"i":"x","i":1}',
    '{"f":1,"f4":1.5}',
    '{"f":-0.0,"f4":-0.0}',
    '{"f":12345678901234567890123}',
    '{"f":1e-400}',
    '{"b":"","d":"AA=="}',
    '{"d":"MDk=","prices":["AQ==","/w=="]}',
    '{"d":12.5}',
    '{"d":1e2}',
    '{"d":-3}',
    '{"day":-719162,"time":0,"at":-62135596800000}',
    '{"time":86400000,"day":2147483647}',
    '{"at":9223372036854775}',
    '{"m":{},"names":{"a":null,"b":"1"}}',
    '{"pairs":[[1,"a"],[-2,"1"]]}',
    '{"pairs":[]}',
    '{"tags":["1","true","{}","[1"]}',
    '{"days":[0,1]}',
    '{"in":{"s":"1"}}',
]
DOES_NOT_FIT = [
    "[]", "5", '"x"', "true", "[{}]", " ", "nul", "{}x", "{} {}", "{},{}", "{}]", "{}]}", "{}]}}", '{}],"v":[{}',
    '{}],"x":[{}', '{}],"x":[1', "{", '{"s"}', "{'s':'x'}", "{s:1}", '{"s":"x",}', "{}//", "{}/**/",
    '{"u":NaN}', '{"u":01}', '{"u":+1}', '{"u":1.}', '{"u":.5}', '{"u":"\\x"}',
    '{"u":"\t"}', '{"u":tru}', '{"s":"\\ud800"}', '{"u":"\\udc00\\ud800"}',
    '{"s":1}', '{"s":1.50}', '{"s":-1e400}', '{"s":true}', '{"s":{}}', '{"s":{"a":"x"}}', '{"s":["x"]}', '{"s" : 1}',
    '{"q\\"é/":1}', '{"q\\"\\u00e9\\/":1}',
    '{"i8":128}', '{"i8":200}', '{"i8":-129}', '{"i":2147483648}', '{"i":1.0}', '{"i":1e2}', '{"i":"1"}', '{"i":true}',
    '{"l":9223372036854775808}', '{"l":1e400}', '{"f":1e400}', '{"f":"1"}', '{"f":"nan"}', '{"f4":1e39}', '{"f":true}',
    '{"bo":"true"}', '{"bo":1}', '{"b":"a"}', '{"b":"YQ"}', '{"b":"Y Q=="}', '{"b":"Y-_="}', '{"b":12}', '{"b":[1]}',
    '{"d":"x"}', '{"d":true}', '{"d":{}}', '{"day":2147483648}', '{"day":"2020-01-01"}', '{"day":1.0}',
    '{"time":-1}', '{"time":86400001}', '{"at":"x"}', '{"at":1.5}', '{"at":9223372036854775808}',
    '{"m":[]}', '{"m":{"a":"x"}}', '{"m":{"a":null}}', '{"m":1}', '{"names":{"a":1}}',
    '{"pairs":{}}', '{"pairs":[[1]]}', '{"pairs":[["1","a"]]}', '{"pairs":[[1,2]]}', '{"pairs":[[1,null]]}',
    '{"tags":[1]}', '{"tags":["1",1]}', '{"tags":[null]}', '{"tags":{}}', '{"tags":"x"}', '{"days":["x"]}',
    '{"prices":[true]}',
    '{"in":{}}', '{"in":{"s":1}}', '{"in":{"s":null}}', '{"in":{"s":"x","n":128}}', '{"in":"x"}', '{"in":[]}',
]  # fmt: skip
ONLY_SPARK_REFUSES = [
    '{"d":1.555}',  # Connect notices it when it writes the value
    '{"d":1e50}',
    '{"d":1e400}',  # Spark's decimals have 38 digits
    '{"at":9223372036854776}',  # Spark's timestamps are microseconds in 64 bits
]


def by_spark(spark, schema, texts, fill=True):
    """For each text (value,), or None where it is refused."""
    plan = plan_chain(parse_chain({"transforms": ""}), None, schema, typed=True)
    rows = [(text if isinstance(text, bytes) else text.encode(), "t", ()) for text in texts]
    form = Format("json_schema", schema, fill)
    evaluator = typed_evaluator(frame_of(spark, rows), plan, Format("bytes"), form)
    evaluator.run()
    value = to_plain(built(evaluator.states[0].sides["value"]), schema).alias("value")
    rows = sql.select(evaluator.frame, sql.col("__offset"), sql.col("__status"), value).collect()
    results = {row["__offset"]: row for row in rows}
    read = reader(schema)
    return [(read(results[n]["value"]),) if results[n]["__status"] == 0 else None for n in range(len(texts))]


def by_python(schema, texts, fill=True):
    codec = side_codec(Format("json_schema", schema, fill))
    return [_by_python(codec, text if isinstance(text, bytes) else text.encode()) for text in texts]


def _by_python(codec, text):
    try:
        return (codec.read(text)[1],)
    except DataError:
        return None


def equal(one, other):
    """As text: ``True`` is not 1, ``-0.0`` not ``0.0``, and dates are numbers here."""
    return repr(_comparable(one)) == repr(_comparable(other))


def _comparable(value):
    """The order of a map says nothing, nor does the number of zeros that a decimal ends with."""
    if isinstance(value, dict):
        return {key: _comparable(value[key]) for key in sorted(value, key=repr)}
    if isinstance(value, (list, tuple)):
        return [_comparable(v) for v in value]
    if isinstance(value, Decimal):
        return value.normalize()
    return int(value) if isinstance(value, JavaDate) else value


def same_values(texts, one, other):
    return {text: (a, b) for text, a, b in zip(texts, one, other, strict=True) if not equal(a, b)}


def test_what_fits_is_read_alike(spark):
    values = by_python(OPTIONAL, FITS)
    assert None not in values
    assert same_values(FITS, by_spark(spark, OPTIONAL, FITS), values) == {}


def test_what_does_not_fit_is_refused_by_both(spark):
    python, result = by_python(OPTIONAL, DOES_NOT_FIT), by_spark(spark, OPTIONAL, DOES_NOT_FIT)
    accepted = {text: (a, b) for text, a, b in zip(DOES_NOT_FIT, python, result, strict=True) if (a, b) != (None, None)}
    assert accepted == {}


@pytest.mark.parametrize("fill", [True, False])
@pytest.mark.parametrize("text", FITS + DOES_NOT_FIT)
def test_the_fast_way_reads_and_refuses_the_same(text, fill):
    """Without decimals and maps with keys that are not texts, msgspec decodes a record into the declared types."""
    side = SideColumns("value", Format("json_schema", FAST, fill), FAST)
    batch = pa.RecordBatch.from_pydict({"value": [text.encode()]})
    (result,) = next(ReadColumns((side,), ())([batch])).to_pylist()
    expected = by_python(FAST, [text], fill)[0]
    assert (result["bad_value"] is None) == (expected is not None)
    if expected is not None:
        plain = reader(FAST)([result[side.column][name] for name in side.fields()])
        assert equal([plain], list(expected))


def test_the_known_differences(spark):
    assert by_spark(spark, OPTIONAL, ONLY_SPARK_REFUSES) == [None] * len(ONLY_SPARK_REFUSES)
    assert None not in by_python(OPTIONAL, ONLY_SPARK_REFUSES)


BYTES = [
    b'{"s":"\xff"}',
    b'{"\xff":1}',
    b"\xff",
    b'{"s":"\xed\xa0\x80"}',
    b"\x00{}",
    b'{"s":"\xc3\xa9"}',
    b"{}\x00",
    b"",
]


def test_bytes_that_are_no_text_are_refused(spark):
    values = by_python(OPTIONAL, BYTES)
    assert [value is None for value in values] == [True] * 5 + [False, True, False]
    assert same_values(BYTES, by_spark(spark, OPTIONAL, BYTES), values) == {}


ROOTS = [
    (STRING, ['"x"', "1", '"1"', "true", '"true"', "{}", "null", "", '""']),
    (optional(STRING), ["null", " null ", '"null"']),
    (INT8.with_(default=7), ["null", "1", "300"]),
    (decimal(2), ['"AQ=="', "1.25", "null", '"x"']),
    (optional(Schema(Type.MAP, keys=INT32, values=date())), ["[[1,2]]", "null", "{}", "[]"]),
    (Schema(Type.ARRAY, values=optional(STRING)), ["[]", '["1"]', "[1]", "[null]", "[[]]", "{}"]),
]


@pytest.mark.parametrize("fill", [True, False])
@pytest.mark.parametrize(("schema", "texts"), ROOTS, ids=[schema.label for schema, _ in ROOTS])
def test_values_that_are_no_structs(spark, schema, texts, fill):
    assert same_values(texts, by_spark(spark, schema, texts, fill), by_python(schema, texts, fill)) == {}


@pytest.mark.parametrize("fill", [True, False])
def test_required_fields_and_defaults(spark, fill):
    fields = (
        ("r", INT32),
        ("o", optional(INT32)),
        ("d", INT32.with_(default=7)),
        ("od", optional(STRING).with_(default="x")),
    )
    inner = Schema(Type.STRUCT, True, fields=fields)
    schema = Schema(Type.STRUCT, fields=(("in", inner), ("items", Schema(Type.ARRAY, True, values=inner))))
    values = ['{"r":1}', '{"r":1,"d":null}', '{"r":1,"d":2,"od":null}', "{}", '{"r":null,"d":1}', "null"]
    texts = [f'{{"in":{v}}}' for v in values] + [f'{{"items":[{v},{v}]}}' for v in values]
    assert same_values(texts, by_spark(spark, schema, texts, fill), by_python(schema, texts, fill)) == {}


@settings(
    max_examples=12,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],  # an example takes most of a second: too slow to look for a smaller one
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
@given(structs(2).flatmap(lambda schema: _with_texts(schema)))
def test_random_texts_are_read_alike(spark, pair):
    schema, texts = pair
    assert same_values(texts, by_spark(spark, schema, texts), by_python(schema, texts)) == {}


def _with_texts(schema):
    from hypothesis import strategies as st

    return st.tuples(st.just(schema), st.lists(texts_of(schema), min_size=30, max_size=30))


REASONS = [
    ('{"i8":128}', "SMT414", "i8 does not fit the declared type int8?"),
    ('{"in":{"n":1}}', "SMT401", "null in the required field 'in.s'"),
    ('{"f4":1e39}', "SMT414", "f4 does not fit the declared type float32?"),
    ('{"d":1e50}', "SMT426", "'d' does not fit Spark's type decimal(38,2)"),
    ("{", "SMT411", "the text is not valid JSON in UTF-8"),
]


@pytest.mark.parametrize(("text", "code", "statement"), REASONS)
def test_the_problem_names_the_field_and_the_other_records_of_the_batch_are_read(text, code, statement):
    side = SideColumns("value", Format("json_schema", OPTIONAL), OPTIONAL)
    batch = pa.RecordBatch.from_pydict({"value": [b'{"s":"x"}', text.encode(), None, b'{"s":"y"}']})
    rows = next(ReadColumns((side,), ())([batch])).to_pylist()
    assert [row["read_value"]["f0"] for row in rows] == ["x", None, None, "y"]
    assert [row[side.there] for row in rows] == [True, None, None, True]
    problems = [row["bad_value"] for row in rows]
    assert [p is None for p in problems] == [True, False, True, True]
    assert (problems[1]["code"], problems[1]["statement"]) == (code, statement)


def test_a_batch_of_many_values_is_read_in_parts(monkeypatch):
    side = SideColumns("value", Format("json_schema", OPTIONAL), OPTIONAL)
    texts = [json.dumps({"s": str(n)}).encode() for n in range(7)] + [b"{"]
    batch = pa.RecordBatch.from_pydict({"value": texts, "number": list(range(8))})
    (whole,) = ReadColumns((side,), ("number",))([batch])
    monkeypatch.setattr("dagster_smt.spark.reading.json_columns._VALUES", 3 * (len(OPTIONAL.fields) + 1))
    parts = list(ReadColumns((side,), ("number",))([batch]))
    assert [part.num_rows for part in parts] == [3, 3, 2]
    assert [row for part in parts for row in part.to_pylist()] == whole.to_pylist()
