"""Declared JSON by compiled code: the columns that msgspec's reader makes, for whatever the records hold."""

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_smt.interpret.compiled.build import warm
from dagster_smt.model.format import Format
from dagster_smt.model.schema import Schema, Type, optional
from dagster_smt.spark import compiled_columns
from dagster_smt.spark.json_columns import ReadColumns, SideColumns
from tests.spark.made_up import structs, texts_of
from tests.spark.test_json_columns import DOES_NOT_FIT, FAST, FIELDS, FITS

REQUIRED = FAST.with_(fields=tuple((name, FIELDS[name]) for name, _ in FAST.fields))
PLAIN = [
    b'{"s":"x","i8":-128,"i":7,"l":-123456789012345678,"f":1.5,"f4":0.5,"b":"QUI=","bo":true,"day":3,"time":1,"at":5}',
    b'{ "s" : "\\u00e9\\n\\"\\\\\\/\\b\\f\\r\\t\\u20ac\\u0041\\u007f\\u0080\\u07FF\\u0800\\uffff" , "bo" : false , "f" : 1E+2 , "more" : [ 1 , { } ] }',
    '{"s":"zwölf Boxkämpfer","l":null,"f":0.0,"tags":["a","b"],"m":{"a":1},"in":{"s":"x","n":null}}'.encode(),
    b'{"f":123456789012345678901234567890,"i":0,"names":{"a":null},"days":[1,2],"s":""}',
    b"{}",
    b"",
    None,
]


@pytest.fixture(autouse=True, scope="module")
def compiled():
    warm()


@pytest.fixture
def switch(monkeypatch):
    """Turns compiled code on or off."""

    def turn(on):
        monkeypatch.setattr(compiled_columns, "ready", lambda records: on)

    return turn


def columns(schema, texts, fill=True):
    side = SideColumns("value", Format("json_schema", schema, fill), schema)
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.binary())], names=["value"])
    return pa.Table.from_batches(ReadColumns((side,), ())([batch.slice(0, len(texts))]))


def agree(switch, schema, texts, fill=True):
    """Assert that both make the same of some records; returns how many were left to msgspec."""
    switch(False)
    wanted = columns(schema, texts, fill)
    switch(True)
    left = []
    real = compiled_columns.CompiledColumns.columns

    def noted(self, array):
        found = real(self, array)
        left.append(len(array) if found is None else int((found[1] == 1).sum()))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_columns.CompiledColumns, "columns", noted)
        found = columns(schema, texts, fill)
    assert found.schema == wanted.schema
    assert repr(found.to_pylist()) == repr(wanted.to_pylist())  # as text: -0.0 is not 0.0
    found.validate(full=True)
    return sum(left)


@pytest.mark.parametrize("fill", [True, False])
def test_what_is_plain_is_read_by_compiled_code(switch, fill):
    assert agree(switch, FAST, PLAIN, fill) == 0


@pytest.mark.parametrize("text", [*FITS, *DOES_NOT_FIT])
def test_one_record_among_others(switch, text):
    assert agree(switch, FAST, [*PLAIN, text.encode(), *PLAIN]) in (0, 1, 2 * len(PLAIN) + 1)


def test_all_of_them_together(switch):
    texts = [text.encode() for text in [*FITS, *DOES_NOT_FIT]]
    agree(switch, FAST, texts + [b'{"s":"\xff"}'])
    agree(switch, REQUIRED, [*PLAIN, *texts])


def test_a_required_field_that_is_missing_or_null(switch):
    fields = tuple((name, FIELDS[name]) for name in ("s", "i", "bo", "f", "in"))
    whole = b'{"s":"x","i":1,"bo":true,"f":1.5,"in":{"s":"y"}}'
    texts = [whole, whole.replace(b'"s":"x",', b""), whole.replace(b"true", b"null"), None, whole]
    texts += [whole.replace(b"1.5", b"null"), whole.replace(b'"i":1,', b""), b'{"s":"x","i":1,"bo":true,"f":2}']
    assert agree(switch, Schema(Type.STRUCT, fields=fields), texts) == 5


@pytest.mark.parametrize("number", ["1e400", "-1e400", "-0.0", "-0", "-1e-400"])
def test_numbers_that_doubles_cannot_tell(switch, number):
    schema = Schema(Type.STRUCT, fields=(("f", optional(FIELDS["f"])),))
    assert agree(switch, schema, [b'{"f":1}', b'{"f":%s}' % number.encode(), b'{"f":0.0}']) == 1


def test_fields_with_defaults_are_read_by_msgspec(switch):
    schema = Schema(Type.STRUCT, fields=(("i", FIELDS["i"].with_(default=7)),))
    assert agree(switch, schema, [b"{}", b'{"i":1}', None]) == 0
    switch(True)
    assert columns(schema, [b"{}"])["read_value"].to_pylist() == [{"f0": 7}]


def test_records_that_are_never_plain_are_not_looked_at_twice(switch):
    switch(True)
    looked = []
    side = SideColumns("value", Format("json_schema", FAST), FAST)
    batch = pa.RecordBatch.from_arrays([pa.array([b'{"s":"\\ud83d\\ude00"}'] * 10_001, pa.binary())], names=["value"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_columns, "is_utf8", lambda texts: looked.append(len(texts)) or True)
        list(ReadColumns((side,), ())([batch] * 4))
    assert sum(looked) < 3 * 10_001


@settings(
    max_examples=settings.default.max_examples * 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(
    structs(2).flatmap(lambda schema: st.tuples(st.just(schema), st.lists(texts_of(schema), min_size=1, max_size=12)))
)
def test_random_records(switch, pair):
    agree(switch, *pair)
