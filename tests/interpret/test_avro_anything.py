"""Values without a schema as Avro: what Connect's AvroConverter makes of them, and reads of them.

Bytes and the schema's text marked as Avro's are those of its Java library, for records that ``AvroData`` would make.
"""

import io
import json
import math
from decimal import Decimal

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.errors import ConfigError, DataError
from dagster_smt.formats.avro.anything import TEXT, is_anything, read_anything, write_anything
from dagster_smt.formats.avro.read import avro_of
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.runtime import JavaByte, JavaDouble, JavaFloat, JavaInteger, JavaShort, as_key
from dagster_smt.model.schema import JavaDate
from dagster_smt.model.topics.format import Format
from dagster_smt.values.json.lazy import decode, decode_whole
from tests.registry import Registry

SCHEMA = fastavro.parse_schema(json.loads(TEXT), named_schemas={})
OF_JAVA = (
    '{"type":"record","name":"Anything","namespace":"io.confluent.connect.avro","fields":['
    '{"name":"boolean","type":["null","boolean"],"default":null},{"name":"bytes","type":["null","bytes"],"default":null},'
    '{"name":"double","type":["null","double"],"default":null},{"name":"float","type":["null","float"],"default":null},'
    '{"name":"int","type":["null","int"],"default":null},{"name":"long","type":["null","long"],"default":null},'
    '{"name":"string","type":["null","string"],"default":null},'
    '{"name":"array","type":["null",{"type":"array","items":"Anything"}],"default":null},'
    '{"name":"map","type":["null",{"type":"array","items":{"type":"record","name":"MapEntry","fields":['
    '{"name":"key","type":"Anything"},{"name":"value","type":"Anything"}]}}],"default":null}]}'
)
BYTES_OF_JAVA = [
    (5, "0000000000020a000000"),
    ("a", "0000000000000202610000"),
    (None, "000000000000000000"),
    ({"a": 5}, "0000000000000000020200000000000002026100000000000000020a00000000"),
    (
        [{"a": 5}, None, 1.5, False],
        "0000000000000002080000000000000000020200000000000002026100000000000000020a00000000000000000000000000000002"
        "000000000000f83f000000000000020000000000000000000000",
    ),
]


def test_the_schema_is_avros_own_text():
    assert TEXT == OF_JAVA


@pytest.mark.parametrize(("value", "raw"), BYTES_OF_JAVA)
def test_bytes_are_avros(value, raw):
    assert write_anything(value).hex() == raw and read_anything(bytes.fromhex(raw)) == value


def fields(value):
    """The record as fastavro writes it."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return {"map": [{"key": fields(k), "value": fields(v)} for k, v in value.items()]}
    if isinstance(value, list):
        return {"array": [fields(item) for item in value]}
    names = {bool: "boolean", bytes: "bytes", float: "double", int: "long", str: "string", JavaInteger: "int"}
    return {names.get(type(value), "float"): value}


def by_fastavro(record):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, SCHEMA, record)
    return out.getvalue()


LONGS, DOUBLES = st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | LONGS | DOUBLES | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=15,
)


@given(VALUES)
def test_any_json_is_written_as_fastavro_writes_it_and_comes_back(value):
    raw = write_anything(value)
    result = read_anything(raw)
    assert raw == by_fastavro(fields(value)) and result == value and repr(result) == repr(value)
    text = json.dumps(value).encode()
    assert write_anything(decode(text)) == write_anything(decode_whole(text))


TYPES = [
    ({"boolean": True}, True, bool), ({"bytes": b"\xff"}, b"\xff", bytes), ({"double": 0.1}, 0.1, float),
    ({"double": math.inf}, math.inf, JavaDouble), ({"float": 1.5}, 1.5, JavaFloat), ({"int": -7}, -7, JavaInteger),
    ({"int": -(2**31)}, -(2**31), JavaInteger), ({"long": -(2**63)}, -(2**63), int), ({"string": "grün"}, "grün", str),
    ({"array": []}, [], list), ({"map": []}, {}, dict), ({}, None, type(None)),
    ({"boolean": False, "string": "later"}, False, bool), ({"map": [], "array": [{}]}, [None], list),
]  # fmt: skip


@pytest.mark.parametrize(("record", "value", "kind"), TYPES)
def test_types_that_are_read(record, value, kind):
    result = read_anything(by_fastavro(record))
    assert result == value and type(result) is kind


WRITTEN = [
    (JavaByte(5), "int"), (JavaShort(-5), "int"), (JavaInteger(2**31 - 1), "int"), (2**31, "long"), (True, "boolean"),
    (JavaFloat(1.5), "float"), (JavaDouble(math.inf), "double"), (0.1, "double"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "name"), WRITTEN)
def test_what_stages_make_is_written_under_its_type(value, name):
    read = fastavro.schemaless_reader(io.BytesIO(write_anything(value)), SCHEMA, None)
    assert {key: there for key, there in read.items() if there is not None} == {name: value}


@pytest.mark.parametrize("value", [b"x", Decimal("1.5"), JavaDate(0), {"a": [b"x"]}])
def test_types_that_have_no_field_in_connect(value):
    with pytest.raises(DataError, match=r"SMT440.*without a schema") as caught:
        write_anything(value)
    assert caught.value.problem.connect_class.endswith("DataException")


def test_maps_have_any_keys():
    record = {
        "map": [
            {"key": {"int": 1}, "value": {"string": "x"}},
            {"key": fields([1]), "value": {}},
            {"key": {}, "value": {}},
        ]
    }
    result = read_anything(by_fastavro(record))
    assert result == {1: "x", as_key([1]): None, None: None}
    assert write_anything(result) == by_fastavro(record)


def nested(levels, inner=b"\0" * 9):
    return (b"\0" * 7 + b"\2\2") * levels + inner + b"\0\0" * levels


def test_values_are_nested_as_deeply_as_connects_json():
    result = read_anything(nested(1000))
    assert write_anything(result) == nested(1000)
    levels = 0
    while result:
        (result,), levels = result, levels + 1
    assert levels == 1000


DAMAGED = [
    b"", b"\0" * 8, b"\0" * 10, b"\4\1" + b"\0" * 8, b"\1" + b"\0" * 8, nested(1001),
    nested(100_000), nested(100_000)[:-1],
    b"\0" * 6 + b"\2\x7e" + b"\0" * 2, b"\0" * 6 + b"\2\x01" + b"\0" * 2, b"\0" * 6 + b"\2\2\xff\0\0", b"\0\0\2\0\0",
    b"\0" * 4 + b"\2\x80\x80\x80\x80\x10" + b"\0" * 4, b"\0" * 5 + b"\2" + b"\x80" * 9 + b"\x02" + b"\0" * 3,
    b"\0" * 5 + b"\2" + b"\x80" * 30 + b"\0" + b"\0" * 3, b"\0" * 7 + b"\2\xfe\xff\xff\xff\x0f",
    b"\2", b"\0\2\xff\xff\xff\xff\x0f",
]  # fmt: skip


@pytest.mark.parametrize("raw", DAMAGED, ids=range(len(DAMAGED)))
def test_bytes_that_do_not_fit(raw):
    with pytest.raises(DataError, match="SMT416"):
        read_anything(raw)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_as_fastavro_reads_them_or_refused(raw):
    try:
        result = read_anything(raw)
    except DataError as error:
        assert error.problem.code == "SMT416"
    else:
        source = io.BytesIO(raw)
        fastavro.schemaless_reader(source, SCHEMA, None)
        assert source.tell() == len(raw) and (result is None or result == result or math.isnan(result))


def test_an_array_in_blocks_with_their_sizes():
    item = write_anything(1)
    blocks = b"\3" + bytes([2 * 2 * len(item)]) + item * 2 + b"\2" + item + b"\0"
    assert read_anything(b"\0" * 7 + b"\2" + blocks + b"\0") == [1, 1, 1]


def changed(**changes):
    return json.dumps({**json.loads(TEXT), **changes})


SAME = [
    changed(), changed(doc="what it is"), changed(aliases=["Old"]),
    changed(name="io.confluent.connect.avro.Anything", namespace="other"),
    TEXT.replace('"type":["null","long"]', '"type":["null",{"type":"long"}]'),
    TEXT.replace('"items":"Anything"', '"items":"io.confluent.connect.avro.Anything"'),
]  # fmt: skip
OTHERS = [
    changed(name="Something"), changed(namespace="mine"), changed(fields=json.loads(TEXT)["fields"][:-1]),
    '"int"', "{", "[]", changed(extra=1),
    TEXT.replace('["null","long"],"default":null', '["null","long"]'), TEXT.replace('"long"', '"int"'),
    '{"type":"record","name":"Anything","namespace":"io.confluent.connect.avro","fields":[]}',
]  # fmt: skip


@pytest.mark.parametrize(("text", "same"), [(text, True) for text in SAME] + [(text, False) for text in OTHERS])
def test_which_schemas_are_this_one(text, same):
    assert is_anything(text) is same


def test_it_is_no_schema_for_a_field_or_beside_a_topic():
    inside = {"type": "record", "name": "R", "fields": [{"name": "a", "type": json.loads(TEXT)}]}
    for text in (TEXT, json.dumps(inside), json.dumps(["null", json.loads(TEXT)])):
        with pytest.raises(ConfigError, match=r"SMT273.*contains itself"):
            avro_of(text)


@pytest.mark.parametrize("strategy", ["TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"])
def test_with_a_registry(strategy):
    subject = {"TopicNameStrategy": "orders-value", "RecordNameStrategy": "io.confluent.connect.avro.Anything",
               "TopicRecordNameStrategy": "orders-io.confluent.connect.avro.Anything"}[strategy]  # fmt: skip
    with Registry() as registry:
        form = Format("avro-confluent", options={"url": registry.url, "subject.name.strategy": strategy})
        codec = side_codec(form)
        data = codec.write(None, {"a": [1, None, "x"]}, "orders")
        assert registry.schemas[1]["schema"] == OF_JAVA and list(registry.subjects) == [subject]
        assert data == b"\0\0\0\0\1" + write_anything({"a": [1, None, "x"]})
        assert codec.read(data) == (None, {"a": [1, None, "x"]}) and codec.write(None, None, "orders") is None
