"""Whole batches in the host give what the interpreter gives: bytes, outcomes, ledger, headers."""

import json

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings

from dagster_smt.chain.plan import ledger_entries
from dagster_smt.errors import EngineError
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.records import arrow_map
from dagster_smt.spark.records.arrow_map import ArrowMap
from dagster_smt.spark.records.change_texts import MARK, mark_of
from tests.foreign.jar import chain_of
from tests.foreign.test_random import CONNECT, RECORDS, engine_of_connect
from tests.jvm.random_records import chains

ODD = [
    b'{"a" : 1.50 , "b":[1e2 ],"a":2}',
    b'{"big":12345678901234567890,"small":1e-400,"zero":-0.0,"long":1e3}',
    b'{"a":1} x',
    b"[1,2]",
    b'"text"',
    b"12",
    b"nul",
    b"",
    b'{"a":"\\ud83d\\ude00 \\u0001 \xc3\xa9"}',
    b'{"a":"\xff"}',
    b'{"a":NaN}',
    b'{"marked":true,"id":5}',
    b'{"id":6}',
]
DATA = "org.apache.kafka.connect.data."
SCHEMA = {
    "type": "struct",
    "name": "n",
    "optional": False,
    "fields": [
        {"type": "int32", "optional": True, "field": "a", "default": 7},
        {"type": "string", "optional": True, "field": "b"},
        {
            "type": "int64",
            "optional": False,
            "field": "t",
            "name": "org.apache.kafka.connect.data.Timestamp",
            "version": 1,
        },
    ],
}
ENVELOPES = [
    json.dumps({"schema": SCHEMA, "payload": {"a": None, "b": "x", "t": 5}}).encode(),
    json.dumps({"schema": {**SCHEMA, "fields": SCHEMA["fields"][1:]}, "payload": {"b": None, "t": 6}}).encode(),
    b'{"schema":null,"payload":{"a":1}}',
    b'{"payload":1}',
    None,
]


def batch_of(values, keys=None):
    size = len(values)
    columns = {
        "topic": pa.array([["orders", "other"][n % 2] for n in range(size)]),
        "partition": pa.repeat(pa.scalar(1, pa.int32()), size),
        "offset": pa.array(range(size), pa.int64()),
        "timestamp": pa.array(
            [None if n == 1 else 1556204536123000 for n in range(size)], pa.timestamp("us", tz="UTC")
        ),
        "timestampType": pa.repeat(pa.scalar(0, pa.int32()), size),
        "headers": pa.nulls(size, arrow_map._HEADERS),
        "key": pa.array(keys or [b"k"] * size, pa.binary()),
        "value": pa.array(values, pa.binary()),
    }
    return pa.RecordBatch.from_pydict(columns)


def both(chain, values, monkeypatch, value="json", keys=None, key="string", slices=1):
    """Returns the rows of the host and those of the interpreter."""
    job = ArrowMap(chain, Format(key), Format(value), len(ledger_entries(chain)))
    batch = batch_of(values, keys)
    size = -(-batch.num_rows // slices)
    parts = [batch.slice(first, size) for first in range(0, batch.num_rows, size)]
    taken = []
    with monkeypatch.context() as patch:
        original = arrow_map.run_batch

        def run_batch(*arguments):
            taken.append(1)
            return original(*arguments)

        patch.setattr(arrow_map, "run_batch", run_batch)
        there = [row for done in job(parts) for row in with_texts(done)]
    assert taken
    with monkeypatch.context() as patch:
        patch.setattr(arrow_map, "segment_of", lambda *arguments: None)
        here = [row for done in job(parts) for row in with_texts(done)]
    return [list(map(comparable, rows)) for rows in (there, here)]


def with_texts(batch):
    """Returns rows whose changes are texts in one order."""
    rows = batch.to_pylist()
    texts = {mark_of(row["__changes"]): row["__changes"] for row in rows if not row["__changes"].startswith(MARK)}
    for row in rows:
        row["__changes"] = sorted(texts.get(row["__changes"], row["__changes"]).split("\n"))
        assert not row["__changes"][0].startswith(MARK)
    return rows


def comparable(row):
    """Returns a row without what nobody reads of lost records, and with changes in one order."""
    row = {**row}
    if row["__status"]:
        for name in ("key", "value", "topic", "timestamp", "headers", "timestampType", arrow_map.TARGET):
            row[name] = None
    row["headers"] = row["headers"] or None
    return row


def spelled(row):
    """Returns a row whose value has one spelling: Jackson escapes characters beyond 16 bits, and Python does not."""
    try:
        return {**row, "value": None if row["value"] is None else json.dumps(json.loads(row["value"]))}
    except ValueError:
        return row


STAGES = ["Same", "Drops", "Throws", "Mutates", "Moves", "Boxes", "Schemas", "Missing"]


@pytest.mark.parametrize("stage", STAGES)
def test_each_class(jar, monkeypatch, stage):
    values = [v for v in ODD if stage not in ("Boxes",) or b"id" in v]
    there, here = both(chain_of(jar, stage), values, monkeypatch, slices=2)
    assert there == here


@pytest.mark.parametrize("key", ["string", "json", "bytes"])
def test_keys(jar, monkeypatch, key):
    keys = [b"k", None, b"", b"\xff", b'{"a":1}']
    there, here = both(chain_of(jar, "Same"), [b"{}"] * 5, monkeypatch, keys=keys, key=key)
    assert there == here
    there, here = both(chain_of(jar, "Schemas"), [b'{"id":1}'] * 5, monkeypatch, keys=keys, key=key)
    assert there == here


def test_envelopes(jar, monkeypatch):
    kafka = ("MaskField$Value", {"fields": ["b"]})
    for stages in (["Same"], [kafka, ("InsertField$Value", {"static.field": "s", "static.value": "1"})]):
        there, here = both(chain_of(jar, *stages, engine="connect"), ENVELOPES, monkeypatch, value="envelope")
        assert there == here


@settings(max_examples=60)
@given(chains(CONNECT))
def test_random_chains(chain):
    assume(chain.stages)
    of_kafka = engine_of_connect(chain)
    try:
        there, here = both(of_kafka, [*RECORDS, *ODD], pytest.MonkeyPatch())
    except EngineError:
        return  # Kafka refuses options that ours accepts
    assert list(map(spelled, there)) == list(map(spelled, here))


@pytest.mark.parametrize("stage", ["Fieldless", "Swaps"])
def test_headers_and_schemas_of_envelopes(jar, monkeypatch, stage):
    there, here = both(chain_of(jar, stage), ENVELOPES[:2], monkeypatch, value="envelope", key="envelope",
                       keys=ENVELOPES[1::-1])  # fmt: skip
    assert there == here
    assert stage != "Fieldless" or b'"b":"x"' in {h["key"]: h["value"] for h in there[0]["headers"]}["struct"]


def test_a_class_that_ends_the_host(jar, monkeypatch):
    there, here = both(chain_of(jar, ("Exits", {"option": "exit"})), [b'{"id":1}', b'{"marked":1}', b"{}"], monkeypatch)
    assert there == here and [row["__status"] for row in there] == [0, 2, 0]
