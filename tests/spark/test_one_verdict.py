"""A record has one verdict: what columns take records take, and what one of them refuses the other refuses alike.

No Spark is needed: the readers are called as Spark's workers call them.
"""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_smt.errors import DataError
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.schema import INT32, STRING, Schema, Type, optional
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.reading.json_columns import ReadColumns, SideColumns
from dagster_smt.values.json.lazy import make_room
from tests.spark.test_json_columns import FAST, OPTIONAL

INNER = Schema(Type.STRUCT, True, fields=(("s", optional(STRING)), ("n", optional(INT32))))
PLAIN = Schema(
    Type.STRUCT,
    fields=(
        ("s", optional(STRING)),
        ("i", optional(INT32)),
        ("f", optional(Schema(Type.FLOAT64))),
        ("in", INNER),
        ("list", Schema(Type.ARRAY, True, values=INNER)),
        ("tags", Schema(Type.MAP, True, keys=STRING, values=optional(STRING))),
    ),
)
SCHEMAS = {"plain": PLAIN, "all that is fast": FAST, "all": OPTIONAL}


@pytest.fixture(params=[False, True], ids=["as a worker begins", "once something deep was read"])
def room(request, monkeypatch):
    """Python's stack has more room in a process that has read something deep; the verdicts are the same."""
    import sys

    before = sys.getrecursionlimit()
    if request.param:
        make_room()
    yield
    sys.setrecursionlimit(before)


def as_columns(schema, texts):
    """For each text: the problem's code, None if it is taken."""
    side = SideColumns("value", Format("json_schema", schema), schema)
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.binary())], ["value"])
    (read,) = ReadColumns((side,), ())([batch])
    return [None if bad is None else bad["code"] for bad in read.column(side.bad).to_pylist()]


def as_records(schema, texts):
    read = side_codec(Format("json_schema", schema)).read
    return [verdict(read, text) for text in texts]


def verdict(read, text):
    try:
        read(text)
    except DataError as error:
        return error.problem.code
    return None


def nested(levels, opening=b"[", closing=b"]"):
    return opening * levels + closing * levels


NUMBERS = b"1e999 1E400 -1e999 1.8e308 1e-999 -0.0 1e+308 0e999 00 01 1. .5 +1 1e 0x1 1e400000 9007199254740993".split()
NUMBERS += [b"1" * 400, b"-" + b"9" * 5000, b"NaN", b"Infinity", b"-Infinity", b"1e99999999999999999"]
INSIDE = [rb"\ud800", rb"\udc00\ud800", rb"\x", rb"\u12", rb"\u0000", b"\x01", b"\n", b"\\", b"\xff"]
TEXTS = [
    *(rb'"%s"' % text for text in INSIDE),
    b'"\xed\xa0\x80"', b"'s'", b'"', b'"\xc3\xa9"', b'"\\ud83d\\ude00"', b'"\xf4\x90\x80\x80"',
]  # fmt: skip
ODD = [
    *NUMBERS,
    *TEXTS,
    *(nested(levels) for levels in (500, 998, 999, 1000, 1001, 3000, 5000)),
    *(nested(levels, b'{"a":', b"}").replace(b":}", b":1}") for levels in (500, 998, 999, 1000, 3000, 5000)),
    b'"' + b"[{" * 3000 + b'"',
    b"[1,]", b"{,}", b'{"a":1,}', b'{"a" 1}', b"[1 2]", b"tru", b"nul", b"True", b"/**/1", b"1//", b"", b" ",
    b"\xef\xbb\xbf1", b'\xef\xbb\xbf{"s":"x"}', '{"s":"x"}'.encode("utf-16-le"), '{"s":"é"}'.encode("utf-32"),
    b'{"a":1,"a":2}', b'{"":1}', b"{1:2}", b"[", b"]", b"{", b"}",
]  # fmt: skip
PLACES = {
    "a field that is not declared": b'{"s":"x","u":%s}',
    "the first of all": b'{"u":%s,"s":"x"}',
    "inside of one that is not declared": b'{"u":{"v":[1,%s]},"i":1}',
    "a field of a struct that is not declared": b'{"in":{"s":"x","u":%s}}',
    "a declared text": b'{"s":%s}',
    "a declared number": b'{"i":%s}',
    "a declared double": b'{"f":%s}',
    "a declared struct": b'{"in":%s}',
    "a declared map": b'{"tags":{"a":%s}}',
    "all of it": b"%s",
    "after it": b'{"s":"x"}%s',
    "a name": b'{%s:1,"s":"x"}',
    "a name twice": b'{"s":1,"s":%s,"s":"x"}',
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_odd_texts_at_every_place(schema, place, room):
    texts = [place.replace(b"%s", odd) for odd in ODD]
    want = as_records(schema, texts)
    together, apart = as_columns(schema, texts), [as_columns(schema, [text])[0] for text in texts]
    verdicts = zip(texts, want, together, apart, strict=True)
    assert [(text[:60], *result) for text, *result in verdicts if len(set(result)) > 1] == []
    assert len(set(want)) > 1


def test_what_nobody_declares_is_no_reason_to_refuse_a_record():
    """Connect reads numbers as BigDecimal; one that no double holds is refused where a double is to hold it."""
    for number in (b"1e999", b"-1e999", b"1E400", b"1" * 400):
        assert as_records(PLAIN, [b'{"s":"x","u":[%s]}' % number]) == [None]
        assert as_records(PLAIN, [b'{"f":%s}' % number])[0] in ("SMT412", "SMT414")
    assert as_records(PLAIN, [b'{"s":"x","u":%s}' % nested(1000)]) == ["SMT411"]
    assert as_records(PLAIN, [b'{"s":"x","u":%s}' % nested(999)]) == [None]


names = st.sampled_from(["s", "i", "f", "in", "list", "tags", "n", "u", "a", ""])
leaves = st.sampled_from(ODD[: len(NUMBERS) + len(TEXTS)]) | st.sampled_from(
    [b"1", b'"x"', b"null", b"true", b"2.5", nested(70)]
)


def containers(inner):
    pairs = st.lists(st.tuples(names, inner), max_size=4)
    objects = pairs.map(
        lambda verdicts: b"{" + b",".join(b'"%s":%s' % (n.encode(), text) for n, text in verdicts) + b"}"
    )
    return objects | st.lists(inner, max_size=3).map(lambda verdicts: b"[" + b",".join(verdicts) + b"]")


documents = st.recursive(leaves, containers, max_leaves=8)
mutations = st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=2)), max_size=2)


def mutated(text, changes):
    for place, more in changes:
        at = int(place * len(text))
        text = text[:at] + more + text[at + len(more) :]
    return text


@settings(max_examples=settings.default.max_examples * 15)
@given(st.lists(st.builds(mutated, documents, mutations), min_size=1, max_size=3), st.sampled_from(list(SCHEMAS)))
def test_any_document(texts, schema):
    assert as_columns(SCHEMAS[schema], texts) == as_records(SCHEMAS[schema], texts)
