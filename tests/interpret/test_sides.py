"""The formats of a record's sides: what is read, what is written, what is refused."""

import pytest

from dagster_smt.errors import DATA_EXCEPTION, SCHEMA_BUILDER_EXCEPTION, DataError
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.runtime import JavaInteger
from dagster_smt.model.schema import INT32, STRING, Schema, Type, optional
from dagster_smt.model.topics.format import Format
from dagster_smt.values.json.lazy import look, whole

ROW = Schema(Type.STRUCT, fields=(("a", Schema(Type.INT8)), ("b", optional(STRING))))
ENVELOPE = (
    b'{"schema":{"type":"struct","fields":[{"type":"int8","optional":false,"field":"a"},'
    b'{"type":"string","optional":true,"field":"b"}],"optional":false},"payload":{"a":1,"b":null}}'
)
JSON, TEXT, BYTES, DECLARED, ENVELOPED = (
    side_codec(Format(kind, ROW if kind == "json_schema" else None))
    for kind in ("json", "string", "bytes", "json_schema", "envelope")
)

READ = [
    ("json", JSON, b'{"a":[1]}', None, {"a": [1]}),
    ("json null", JSON, b"null", None, None),
    ("json, no bytes at all", JSON, b"", None, None),
    ("json tombstone", JSON, None, None, None),
    ("json text", JSON, b'"x"', None, "x"),
    ("text", TEXT, "ä".encode(), optional(STRING), "ä"),
    ("text, empty", TEXT, b"", optional(STRING), ""),
    ("no text", TEXT, None, None, None),
    ("bytes", BYTES, b"\xff\x00", Schema(Type.BYTES, True), b"\xff\x00"),
    ("no bytes", BYTES, None, None, None),
    ("declared", DECLARED, b' {"b":"x","a":1,"c":[]} ', ROW, {"a": 1, "b": "x"}),
    ("declared tombstone", DECLARED, None, None, None),
    ("declared, no bytes at all", DECLARED, b"", None, None),
    ("envelope", ENVELOPED, ENVELOPE, ROW, {"a": 1, "b": None}),
    ("envelope without schema", ENVELOPED, b'{"schema":null,"payload":{"a":1.0}}', None, {"a": 1.0}),
    (
        "envelope of null",
        ENVELOPED,
        b'{"payload":null,"schema":{"type":"int8","optional":true}}',
        Schema(Type.INT8, True),
        None,
    ),
    ("envelope tombstone", ENVELOPED, None, None, None),
]
EXACT = "SMT417 the text is not a JSON object with exactly 'schema' and 'payload'"
NOT_JSON = "SMT411 the text is not valid JSON in UTF-8"
DEEP = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
REFUSED = [
    ("json", JSON, b"{", NOT_JSON),
    ("text", TEXT, b"\xff", "SMT416 the text is not valid UTF-8"),
    ("declared", DECLARED, b'{"a":1', NOT_JSON),
    ("declared, invalid UTF-8", DECLARED, b'{"a":1,"b":"\xff"}', NOT_JSON),
    ("declared, deep", DECLARED, DEEP, "SMT411 the JSON is nested too deeply"),
    ("declared null", DECLARED, b"null", "SMT401 null, but required"),
    ("declared, wrong type", DECLARED, b'{"a":"1"}', "SMT414 a does not fit the declared type int8"),
    ("plain json", ENVELOPED, b'{"a":1}', EXACT),
    ("one key too many", ENVELOPED, b'{"schema":null,"payload":1,"x":2}', EXACT),
    ("no payload", ENVELOPED, b'{"schema":null}', EXACT),
    ("no object", ENVELOPED, b"[1]", EXACT),
    ("no JSON", ENVELOPED, b"x", EXACT),
    ("deep", ENVELOPED, b'{"schema":null,"payload":' + DEEP + b"}", "SMT411 the JSON is nested too deeply"),
    ("no schema", ENVELOPED, b'{"schema":{"type":"int9"},"payload":1}', "SMT206 schema: a schema needs a known 'type'"),
    (
        "schema of another kind",
        ENVELOPED,
        b'{"schema":{"type":{}},"payload":1}',
        "SMT206 schema: a schema needs a known 'type'",
    ),
    ("schema no object", ENVELOPED, b'{"schema":5,"payload":1}', "SMT206 schema: a schema needs a known 'type'"),
    (
        "default",
        ENVELOPED,
        b'{"schema":{"type":"int8","default":"x"},"payload":1}',
        "SMT414 default does not fit the declared type int8",
    ),
    (
        "payload",
        ENVELOPED,
        b'{"schema":{"type":"int8"},"payload":"secret"}',
        "SMT414 the value does not fit the declared type int8",
    ),
    ("bad text in the payload", ENVELOPED, b'{"schema":{"type":"string"},"payload":"\xff"}', NOT_JSON),
    ("bad text in a free payload", ENVELOPED, b'{"schema":null,"payload":"\xff"}', NOT_JSON),
]


@pytest.mark.parametrize(("codec", "data", "schema", "value"), [r[1:] for r in READ], ids=[r[0] for r in READ])
def test_read(codec, data, schema, value):
    result = codec.read(data)
    assert (result[0], whole(result[1])) == (schema, value)


@pytest.mark.parametrize(("codec", "data", "problem"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refused(codec, data, problem):
    for _ in range(2):  # what was refused once is refused again
        with pytest.raises(DataError) as caught:
            codec.read(data)
        assert str(caught.value).splitlines()[0] == problem
        assert caught.value.problem.connect_class == DATA_EXCEPTION


def test_a_schema_that_the_schema_builder_refuses_is_its_exception():
    with pytest.raises(DataError) as caught:
        ENVELOPED.read(b'{"schema":{"type":"struct","fields":[{"type":"int8","field":""}]},"payload":{}}')
    assert caught.value.problem.connect_class == SCHEMA_BUILDER_EXCEPTION


def test_one_schema_is_one_object_however_it_is_written():
    texts = (b'{"type":"int8"}', b'{ "type" : "int8", "optional":false}', b'{"type":"int8"}')
    first, *others = (ENVELOPED.read(b'{"schema":' + t + b',"payload":1}')[0] for t in texts)
    assert all(other is first for other in others)


WRITTEN = [
    ("json", JSON, None, {"a": JavaInteger(1)}, b'{"a":1}'),
    ("json null", JSON, None, None, None),
    ("json of a side that got a schema", JSON, ROW, {"a": 1}, b'{"a":1,"b":null}'),
    ("text", TEXT, optional(STRING), "ä", "ä".encode()),
    ("no text", TEXT, optional(STRING), None, None),
    ("a text side that became an object", TEXT, None, {"a": 1}, b'{"a":1}'),
    ("a text side that became a struct", TEXT, ROW, {"a": 1}, b'{"a":1,"b":null}'),
    ("a text side that became a number", TEXT, INT32, 7, b"7"),
    ("bytes", BYTES, Schema(Type.BYTES), b"\xff", b"\xff"),
    ("no bytes", BYTES, Schema(Type.BYTES, True), None, None),
    ("a bytes side that became a struct", BYTES, ROW, {"a": 1}, b'{"a":1,"b":null}'),
    ("declared", DECLARED, ROW, {"b": "x", "a": 1}, b'{"a":1,"b":"x"}'),
    ("declared null is four bytes", DECLARED, optional(INT32), None, b"null"),
    ("a declared side without schema", DECLARED, None, {"a": 1}, b'{"a":1}'),
    ("a declared side, null without schema", DECLARED, None, None, None),
    ("envelope", ENVELOPED, ROW, {"a": 1}, ENVELOPE),
    ("envelope without schema", ENVELOPED, None, {"a": 1}, b'{"schema":null,"payload":{"a":1}}'),
    ("envelope, null without schema", ENVELOPED, None, None, None),
    (
        "envelope of a default",
        ENVELOPED,
        Schema(Type.INT8, True, default=3),
        None,
        b'{"schema":{"type":"int8","optional":true,"default":3},"payload":3}',
    ),
]


@pytest.mark.parametrize(("codec", "schema", "value", "data"), [w[1:] for w in WRITTEN], ids=[w[0] for w in WRITTEN])
def test_written(codec, schema, value, data):
    assert codec.write(schema, value) == data


def test_a_free_payload_stays_as_it_was_written():
    data = b'{"schema":null,"payload":{"a":{"b":1.0, "b":2},"c":1e2}}'
    schema, value = ENVELOPED.read(data)
    assert look(value, "c") == 100.0
    assert ENVELOPED.write(schema, value) == data
