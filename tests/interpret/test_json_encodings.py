"""JSON in other encodings than UTF-8, which Jackson, Connect's JSON reader, recognizes by the first bytes."""

import codecs
import json

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import DataError
from dagster_smt.model.schema import STRING, Schema, Type, optional
from dagster_smt.model.topics.format import Format
from dagster_smt.values.json.lazy import converted_to_utf8
from tests.foreign.jar import ran

TEXT = '{"id":1,"name":"Zoë","more":[1,{"x":"€"}]}'
ENCODINGS = {
    "UTF-8 with a mark": codecs.BOM_UTF8 + TEXT.encode(),
    "UTF-16 BE": TEXT.encode("utf-16-be"),
    "UTF-16 LE": TEXT.encode("utf-16-le"),
    "UTF-16 BE with a mark": codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
    "UTF-16 LE with a mark": codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
    "UTF-32 BE": TEXT.encode("utf-32-be"),
    "UTF-32 LE": TEXT.encode("utf-32-le"),
    "UTF-32 BE with a mark": codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"),
    "UTF-32 LE with a mark": codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"),
}
MASK = [{"alias": "m", "type": "MaskField$Value", "options": {"fields": ["id"]}}]
OTHER = [{"alias": "t", "type": "RegexRouter", "options": {"regex": "(.*)", "replacement": "x.$1"}}]


def recoded(text, data):
    """``text`` in the encoding of ``data``."""
    encoding = json.detect_encoding(data)
    if encoding in ("utf-16", "utf-32"):
        encoding += "-be" if data[0] in (0xFE, 0) else "-le"
    return text.encode(encoding)


@pytest.mark.parametrize("data", ENCODINGS.values(), ids=ENCODINGS)
@pytest.mark.parametrize(("stages", "result"), [(MASK, TEXT.replace('"id":1', '"id":0')), (OTHER, TEXT)])
def test_values_without_a_schema(data, stages, result):
    ((lost, _, value, _),) = ran(parse_chain(stages), [data])
    assert lost is None
    assert value == result.encode()


@pytest.mark.parametrize("data", ENCODINGS.values(), ids=ENCODINGS)
def test_keys(data):
    assert converted_to_utf8(data) == TEXT.encode()


@pytest.mark.parametrize("data", ENCODINGS.values(), ids=ENCODINGS)
def test_declared_values(data):
    schema = Schema(Type.STRUCT, fields=(("id", Schema(Type.INT32)), ("name", optional(STRING))))
    ((lost, _, value, _),) = ran(parse_chain(MASK), [data], value=Format("json_schema", schema))
    assert lost is None
    assert b'"id":0' in value
    assert "Zoë".encode() in value


@pytest.mark.parametrize("data", ENCODINGS.values(), ids=ENCODINGS)
def test_envelopes(data):
    fields = [{"field": "id", "type": "int32", "optional": False}]
    envelope = json.dumps({"schema": {"type": "struct", "fields": fields, "optional": False}, "payload": {"id": 7}})
    ((lost, _, value, _),) = ran(parse_chain(MASK), [recoded(envelope, data)], value="envelope")
    assert lost is None
    assert json.loads(value)["payload"] == {"id": 0}


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe{",  # half a character
        TEXT.encode("utf-16-le")[:-1],
        '{"a":"'.encode("utf-16-le") + b"\x00\xd8" + '"}'.encode("utf-16-le"),  # half a pair of surrogates
        b"\x00\x00\x00\x00",
        b"\x00{",
        "{".encode("utf-16-le"),
        b"\xef\xbb\xbf{",
        b"{\x00",
        '{"a":"é"}'.encode("latin-1"),
    ],
)
def test_text_that_is_broken_in_its_encoding_is_a_dead_letter(data):
    ((lost, _, _, _),) = ran(parse_chain(MASK), [data])
    assert lost is not None
    assert lost.problem.code == "SMT411"


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE])
def test_a_mark_alone_is_null(mark):
    ((lost, _, value, _),) = ran(parse_chain(OTHER), [mark])
    assert lost is None
    assert value is None  # as Connect: JSON without content is null, and null without a schema is a tombstone


def test_text_in_utf8_is_not_converted():
    assert converted_to_utf8(TEXT.encode()) is None
    with pytest.raises(DataError, match="SMT411"):
        converted_to_utf8(b"\xff\xfe{")
