"""The records of a certificate, as they are read before the chain."""

import pytest

from dagster_smt.certify.reading import Reader
from dagster_smt.chain import parse_chain
from dagster_smt.interpret.preview import Sample
from dagster_smt.model.topics.format import Format


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b'{"a":1.50}', '{"a":1.50}'),
        ('{"a":"é"}'.encode("utf-16-le"), '{"a":"é"}'),
        (b"\xef\xbb\xbf[1]", "[1]"),
        (b"\xff\xfe", ""),
    ],
)
def test_json_of_a_case_is_utf8(value, text):
    chain = parse_chain([{"alias": "m", "type": "MaskField$Value", "options": {"fields": ["a"]}}])
    readings = Reader(chain, Format("string"), Format("json")).readings([Sample("orders", value=value)])
    assert readings.refused == []
    assert readings.cases[0]["value"] == {"schemaless": text}
