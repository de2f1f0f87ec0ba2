"""Deep scans in the bytes: the same result as the long way, and nothing else in the text changes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_smt.authoring.fields.schemaless import visitor
from dagster_smt.authoring.fields.splice import splicer
from dagster_smt.effects.on_values_record import side_function
from dagster_smt.errors import DataError
from dagster_smt.model.paths.connect import EXTENDED, parse_path
from dagster_smt.model.record import Record
from dagster_smt.transforms.kafka.mask_field import MaskField
from dagster_smt.values.json.lazy import decode_whole, encode

MASK = {"fields": "**.mail", "replacement": "*\\1", "field.syntax.version": "extended"}


def masked(text, **options):
    record = Record("t")
    change = side_function(MaskField.model_validate(MASK | options), (1,))
    return encode(change(decode_whole(text.encode()), record)).decode(), record.touched


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a":{"mail":"x","n":1.50}}', '{"a":{"mail":"*\\\\1","n":1.50}}'),
        ('{"a":{ "mail" :\n"x" , "n":1e2}}', '{"a":{ "mail" :\n"*\\\\1" , "n":1e2}}'),
        ('{"a":[{"mail": "x"},{"mail": ""}]}', '{"a":[{"mail": "*\\\\1"},{"mail": "*\\\\1"}]}'),
        ('{"a":["mail",{"m":"mail"}]}', '{"a":["mail",{"m":"mail"}]}'),
        ('{"a":{"mail":null,"b":[]}}', '{"a":{"mail":null,"b":[]}}'),
        ('{"a":{"b":"say \\"mail\\": no","mail":"\\"x\\\\"}}', '{"a":{"b":"say \\"mail\\": no","mail":"*\\\\1"}}'),
        ('{"a":{"x \\"mail":"keep"}}', '{"a":{"x \\"mail":"keep"}}'),
        ('{"a":{"x\\\\":"mail","y":{"mail":"z"}}}', '{"a":{"x\\\\":"mail","y":{"mail":"*\\\\1"}}}'),
        ('{"a":{"e-mail":"x","Mail":"y","mails":"z"}}', '{"a":{"e-mail":"x","Mail":"y","mails":"z"}}'),
        ('{"a":"\\"mail\\":\\"x\\""}', '{"a":"\\"mail\\":\\"x\\""}'),
        ('{"a":{"\\u006dail":"x"}}', '{"a":{"mail":"*\\\\1"}}'),
    ],
)
def test_texts_are_replaced_in_place(before, after):
    result, touched = masked(before)
    assert (result == after) or (json.loads(result) == json.loads(after) and "\\u" in before)
    if "mail\\\\1" in after:
        assert touched == 1


def test_numbers_that_stay_keep_their_spelling():
    text = '{"a":{"mail":"x","n":[1.10,-0,1E5,12345678901234567890123,"\\/\\u00e9"]}}'
    assert masked(text)[0].endswith('"n":[1.10,-0,1E5,12345678901234567890123,"\\/\\u00e9"]}}')


def test_what_cannot_have_the_name_is_not_decoded():
    value = decode_whole(b'{"a":{"x":[1, 2]},"b":{"mail":"x"}}')
    before = value["a"]
    side_function(MaskField.model_validate(MASK), (1,))(value, Record("t"))
    assert value["a"] is before


def test_objects_and_arrays_are_masked_from_the_inside():
    options = {"fields": "**.mail", "field.syntax.version": "extended"}
    record = Record("t")
    change = side_function(MaskField.model_validate(options), (1,))
    value = change(decode_whole(b'{"a":{"mail":{"mail":"x"}},"b":[{"mail":["y"]}],"mail":"z"}'), record)
    assert encode(value) == b'{"a":{"mail":{}},"b":[{"mail":[]}],"mail":""}'
    assert record.touched == 1


def test_other_values_go_the_same_way():
    change = side_function(MaskField.model_validate({"fields": "**.mail", "field.syntax.version": "extended"}), (1,))
    text = b'{"a":[{"mail":7,"x":{"mail":"x"}},{"mail":1.0},{"mail": true},{"mail":null}]}'
    assert encode(change(decode_whole(text), Record("t"))) == (
        b'{"a":[{"mail":0,"x":{"mail":""}},{"mail":0.0},{"mail": false},{"mail":null}]}'
    )


def test_a_refusal_inside_is_the_records():
    with pytest.raises(DataError, match="SMT403"):
        masked('{"a":{"mail":true}}')


NAMES = ("a", "b", 'q"', "\\", "é", "a b", ":")
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from([1.5, "a", '"a":1', "\\", 'x"', "", "é"])
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)),
    max_leaves=12,
)


def mark(parent, key, record):
    """Puts a mark where there is no object or array; they stay."""
    text = bytes(parent[key]) if not isinstance(parent[key], list | dict) else b"["
    if text[:1] not in b"[{":
        parent[key], record.touched = "#", 1


@settings(max_examples=300, deadline=None)
@given(
    value=st.dictionaries(st.sampled_from(NAMES), values, max_size=4),
    path=st.sampled_from(["**.a", "**.é", "a.**.b", '**.`q"`', "**['\\\\']", "**./^[ab]/", "**./[^a-z]/", "**.`:`"]),
    style=st.sampled_from([{}, {"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}]),
)
def test_the_long_way_gives_the_same(value, path, style):
    text = json.dumps(value, **style).encode()
    parsed = parse_path(path, EXTENDED)
    short, long = Record("t"), Record("t")
    left, right = decode_whole(text), decode_whole(text)
    splicer(parsed, mark)(left, short)
    visitor((parsed,), (mark,))(right, long)
    assert json.loads(encode(left)) == json.loads(encode(right))
    assert short.touched == long.touched
