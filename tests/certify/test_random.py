"""Random chains of all transforms: no certificate calls a chain different that is equal to Connect's."""

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dagster_smt.certify import certify
from dagster_smt.errors import ConfigError
from dagster_smt.interpret.preview import Sample
from dagster_smt.model.topics.format import Format
from tests.random_chains import chains

TEXT = {"type": "string", "optional": True}
INNER = {"type": "struct", "optional": True, "fields": [{"field": "c", "type": "int64"}, {**TEXT, "field": "b"}]}
TIME = {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1, "optional": True}
ROW = {
    "type": "struct",
    "fields": [
        {**TEXT, "field": "a"},
        {**INNER, "field": "b"},
        {"field": "c", "type": "int32", "default": 5},
        {"field": "a.b", "type": "double", "optional": True},
        {**TIME, "field": "none"},
    ],
}
JSON = (
    b'{"a":1,"b":"x","c":true,"a.b":"7"}',
    '{"a":"2020-01-01","b":null,"c":1.5,"é":"ü","":2}'.encode(),
    b"{}",
    b'{"a":{"b":1,"c":[1,{}]},"b":[],"c":"12.5"}',
    b"null",
    None,
    b'{"a":9007199254740993,"b":"-0.5","c":"true","topic":1,"d":12345678901234567890}',
)
PAYLOADS = (
    {"a": "x", "b": {"c": 1, "b": "t"}, "c": 3, "a.b": 1.5, "none": 1556204536123},
    {"a": None, "b": None, "c": 4, "a.b": None, "none": None},
    {"a": "2020-01-01", "b": {"c": 7, "b": None}, "c": 5, "a.b": 2.0, "none": 0},
)
ENVELOPES = (*(json.dumps({"schema": ROW, "payload": payload}).encode() for payload in PAYLOADS), None)
HEADERS = (("h", b"1"), ("a", b"text"))


def records(values):
    return [Sample("orders", 0, n, 1556204536123, b'{"id":1}', value, HEADERS) for n, value in enumerate(values)]


@pytest.mark.long
@settings(max_examples=150)
@given(chains(), st.sampled_from([("json", JSON), ("string", JSON), ("string", ENVELOPES)]))
def test_no_equal_chain_is_called_different(chain, formats):
    key, values = formats
    value = "envelope" if values is ENVELOPES else "json"
    try:
        certificate = certify(chain, records(values), Format(key), Format(value))
    except ConfigError:  # no stage has a class in Connect's jars, or Connect refuses its options
        assume(False)
    assert certificate.verdict != "different", [chain.properties, *certificate.lines]
