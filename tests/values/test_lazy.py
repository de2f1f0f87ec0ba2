"""Lazily decoded JSON: what is refused, what is decoded, what stays as it was written."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.errors import DataError
from dagster_smt.model.runtime import JavaByte, JavaDouble, JavaFloat, JavaInteger, JavaShort
from dagster_smt.model.schema import JavaDate
from dagster_smt.values.json.lazy import (
    at,
    copied,
    decode,
    decode_whole,
    encode,
    encoder,
    is_object,
    is_raw,
    kind_at,
    look,
    whole,
)

DEEP = 100_000
NOT_JSON = "SMT411 the text is not valid JSON in UTF-8"
LONG, DOUBLE = "SMT412 an integer that 64 bits cannot hold", "SMT412 a number that a double cannot hold"
REFUSED = [
    *(
        (text, NOT_JSON)
        for text in (
            b"   ",
            b"{",
            b'{"a":1',
            b'{"a":1} x',
            b"1 2",
            b'{"a":01}',
            b"007",
            b'{"a":{"b":[1.]}}',
            b'{"a":-}',
            b'{"a":+1}',
            b'{"a":.5}',
            b'{"a":nul}',
            b'{"a":[NaN]}',
            b"Infinity",
            b'{"a":[1,]}',
            b"{a:1}",
            b"{'a':1}",
            b'{"a":"x\ny"}',
            b'{"x\ty":1}',
            b'{"a":"\\x"}',
            b'{"a":"\\ud800"}',
            b'{"a":"\\udc00x"}',
            b'{"a":"\xff"}',
            b'"\xc3"',
            b'{"\xed\xa0\x80":1}',
            b"\x00",
            b'{"a":1}\x00',
        )
    ),
    (b"9223372036854775808", LONG),
    (b"-9223372036854775809", LONG),
    (b"1" * 100, LONG),
    (b"1e400", DOUBLE),
    (b"-1e400", DOUBLE),
    (b"1" * 5000, DOUBLE),
    (b"[" * DEEP + b"]" * DEEP, "SMT411 the JSON is nested too deeply"),
    (b'{"a":' * DEEP + b"1" + b"}" * DEEP, "SMT411 the JSON is nested too deeply"),
]
SCALARS = [
    (b"1", 1),
    (b"1.0", 1.0),
    (b"1e3", 1000.0),
    (b"-0", 0),
    (b"-0.0", 0.0),
    (b'"x"', "x"),
    (b"true", True),
    (b"null", None),
    (b" 7\n", 7),
    (b"9223372036854775807", 2**63 - 1),
    (b"", None),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    (b'"\\u0000"', "\x00"),
]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
documents = st.dictionaries(
    st.text(), st.recursive(scalars, lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=8)
)


@pytest.mark.parametrize(("text", "problem"), REFUSED, ids=lambda x: repr(x)[:30])
def test_refused(text, problem):
    with pytest.raises(DataError) as caught:
        decode_whole(text)
    assert str(caught.value).splitlines()[0] == problem


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_scalars(text, value):
    result = decode_whole(text)
    assert (type(result), str(result)) == (type(value), str(value))


def test_numbers_are_judged_only_where_somebody_looks():
    value = decode_whole(b'{"a":12345678901234567890,"b":[1e400]}')
    assert encode(value) == b'{"a":12345678901234567890,"b":[1e400]}'
    with pytest.raises(DataError, match="SMT412"):
        look(value, "a")


def test_looking_decodes_one_level_and_keeps_what_is_not_changed_as_it_is_written():
    value = decode_whole(b'{"a":{"b":[1, 2.50],"c": "x" },"d":1}')
    assert is_raw(value["a"]) and is_raw(value["d"])
    inner = look(value, "a")
    assert inner is value["a"] and is_raw(inner["b"])
    assert look(look(inner, "b"), 1) == 2.5
    assert encode(value) == b'{"a":{"b":[1,2.50],"c":"x"},"d":1}'


def test_paths():
    value = decode_whole(b'{"a":{"b":{"c":1}},"n":null,"l":[{"b":1}]}')
    assert at(value, ("a", "b", "c")) == 1
    assert (
        at(value, ("a", "x", "c"))
        is at(value, ("n", "b"))
        is at(value, ("l", "b"))
        is at(value, ("a", "b", "c", "d"))
        is None
    )
    assert at(value, ()) is value


def test_kinds_without_decoding():
    value = decode_whole(b'{"s":"x","o":{},"l":[],"t":true,"f":false,"n":null,"i":1,"d":1.0}')
    kinds = {key: kind_at(value, key) for key in value}
    assert kinds == dict(zip(value, "string map array boolean boolean null int64 double".split(), strict=True))
    assert is_raw(value["s"]) and is_raw(value["i"])
    assert is_object(value["o"]) and is_object(look(value, "o")) and not is_object(value["l"])


def test_a_copy_shares_no_object_and_no_list():
    value = decode_whole(b'{"a":{"b":[{"c":1}]}}')
    look(look(look(value, "a"), "b"), 0)
    other = copied(value)
    other["a"]["b"][0]["c"] = 2
    assert encode(value) == b'{"a":{"b":[{"c":1}]}}'
    assert encode(other) == b'{"a":{"b":[{"c":2}]}}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (JavaByte(1), b"1"), (JavaShort(2), b"2"), (JavaInteger(3), b"3"), (True, b"true"), (1.0, b"1.0"),
        (JavaFloat(1.2000000476837158), b"1.2"), (JavaFloat(1e10), b"1.0E10"), (JavaFloat("nan"), b'"NaN"'),
        (JavaFloat("-inf"), b'"-Infinity"'), (JavaDouble("inf"), b'"Infinity"'), ({"a": [JavaByte(1)]}, b'{"a":[1]}'),
    ],
)  # fmt: skip
def test_what_stages_make_is_written_as_java_writes_it(value, text):
    assert encoder.encode(value) == text


def test_null_is_no_bytes():
    assert encode(None) is None


def test_a_date_has_no_json_without_a_schema():
    with pytest.raises(DataError) as caught:
        encode({"a": JavaDate(0)})
    assert str(caught.value).splitlines()[0] == "SMT413 JSON without a schema cannot hold this value"


@given(documents)
def test_whole_is_what_the_parser_makes(value):
    text = msgspec.json.encode(value)
    assert whole(decode_whole(text)) == msgspec.json.decode(text)


@given(documents)
def test_untouched_values_are_written_as_they_were(value):
    text = msgspec.json.encode(value)
    assert encode(decode(text)) == text
