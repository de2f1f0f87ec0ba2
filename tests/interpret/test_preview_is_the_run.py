"""A preview shows what a run does with the same records: sides, headers, drops, and the problem of one that fails."""

import json

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain
from dagster_smt.chain.plugins import transforms
from dagster_smt.interpret.interpreter import FAILED, PASSED
from dagster_smt.interpret.preview import Sample, preview
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.records.arrow_map import ArrowMap, BatchRunner
from tests.jvm.harness import MOMENT, SCHEMA
from tests.random_chains import chains, joined, parsed, stages
from tests.random_records import documents

EXAMPLES = settings(max_examples=settings.default.max_examples * 4, suppress_health_check=list(HealthCheck))
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
MILLIS = round(MOMENT.timestamp() * 1000)
STRUCT = {"type": "struct", "fields": [{"field": "a", "type": "int32"}, {"field": "b", "type": "string"}]}
ROW = {"a": 1, "b": "x"}
ENVELOPE = json.dumps({"schema": STRUCT, "payload": ROW}).encode()


def of_run(chain, samples, key, value):
    """What becomes of each record in a run: topic, key, value, headers; or which stage drops it, or refuses it, why."""
    entries = sum(len(stage.transform.ledger()) for stage in chain.stages)
    rows = [
        {"topic": s.topic, "partition": s.partition, "offset": s.offset, "timestamp": MOMENT, "timestampType": 0}
        | {"headers": [{"key": k, "value": v} for k, v in s.headers], "key": s.key, "value": s.value}
        for s in samples
    ]
    schema = SCHEMA.set(SCHEMA.get_field_index("headers"), pa.field("headers", HEADERS))
    batch = pa.RecordBatch.from_pylist(rows, schema)
    for row in BatchRunner(ArrowMap(chain, key, value, entries)).run(batch).to_pylist():
        stage = chain.stages[row["__stage"]].alias if row["__stage"] >= 0 else "input"
        if row["__status"] == PASSED:
            headers = tuple((h["key"], text(h["value"])) for h in row["headers"] or ())
            yield row["topic"] or "", text(row["key"]), text(row["value"]), headers
        elif row["__status"] == FAILED:
            yield stage, row["__problem"]["code"]
        else:
            yield stage, "dropped"


def of_preview(chain, samples, key, value):
    """The same, as a preview ends."""
    for _, steps in preview(chain, samples, key, value):
        last = next(step for step in reversed(steps) if not step.note.startswith("predicate"))
        if last.record is not None:
            yield last.record.topic, last.record.key, last.record.value, last.record.headers
        elif last.failed:
            yield last.stage, last.note.split()[0]
        else:
            yield last.stage, "dropped"


def text(side):
    return None if side is None else side.decode("utf-8", "backslashreplace")


def assert_same(chain, samples, key=Format("string"), value=Format()):  # noqa: B008 - formats do not change
    assert list(of_preview(chain, samples, key, value)) == list(of_run(chain, samples, key, value))


def stage(kind, **options):
    return {"alias": "s", "type": kind, "options": {key.replace("_", "."): text for key, text in options.items()}}


def copied(options):
    return [{"alias": "copy", "type": "io.debezium.transforms.HeaderToValue", "options": options}]


TO_VALUE = {"fields": "c", "headers": "h", "operation": "copy"}
CHANGED = "io.debezium.transforms.ExtractNewRecordState"
EVENT = json.dumps(
    {
        "schema": {
            "type": "struct",
            "name": "x.Envelope",
            "fields": [
                {"field": "before", **STRUCT, "optional": True},
                {"field": "after", **STRUCT, "optional": True},
                {"field": "op", "type": "string"},
            ],
        },
        "payload": {"before": None, "after": ROW, "op": "c"},
    }
).encode()
WITH_HEADERS = {
    "a header becomes a field": (copied(TO_VALUE), ENVELOPE),
    "it is moved": (copied({**TO_VALUE, "operation": "move"}), ENVELOPE),
    "its text names fields": (
        [{"alias": "state", "type": CHANGED, "options": {"drop.fields.header.name": "h"}}],
        EVENT,
    ),
    "a stage makes one more": (
        [
            {"alias": "more", "type": "InsertHeader", "options": {"header": "h", "value.literal": "7"}},
            *copied(TO_VALUE),
        ],
        ENVELOPE,
    ),
    "a field goes there": (
        [
            {
                "alias": "from",
                "type": "HeaderFrom$Value",
                "options": {"fields": "a", "headers": "h", "operation": "move"},
            }
        ],
        ENVELOPE,
    ),
}
VALUES = [b"5", b"x", b"", None, b'["a"]', b'["a", "none"]', b'{"a": 1}', b"1.5", b"true", b"\xff", b"2026-01-01"]


@pytest.mark.parametrize(("stages_", "value"), WITH_HEADERS.values(), ids=WITH_HEADERS)
def test_headers_are_read_as_in_a_run(stages_, value):
    samples = [Sample("t", 0, n, MILLIS, b"k", value, (("h", data), ("o", b"1"))) for n, data in enumerate(VALUES)]
    samples += [Sample("t", 0, 99, MILLIS, b"k", value), Sample("t", 0, 100, MILLIS, None, None, (("h", b"5"),))]
    assert_same(parse_chain(stages_), samples, value=Format("envelope"))


@pytest.mark.parametrize("name", [cls.__name__ for cls in transforms().values()])
def test_documented_examples(name):
    cls = next(cls for cls in transforms().values() if cls.__name__ == name)
    for example in cls.examples:
        for side in ("$Key", "$Value") if cls.sided else ("",):
            chain = parsed(joined({"e": {"transforms.e.type": cls.connect_class + side, **options_of(example)}}))
            if chain is not None:
                before = example.before.encode()
                samples = [Sample("orders", 0, 0, MILLIS, before, before, (("h", b"5"), ("trace", b"x")))]
                for form in (Format(), Format("envelope")):
                    assert_same(chain, samples, form, form)


def options_of(example):
    return {f"transforms.e.{key}": value for key, value in example.options.items()}


headers = st.lists(st.tuples(st.sampled_from(["x", "a", "b", "none"]), st.sampled_from(VALUES)), max_size=3).map(tuple)


@EXAMPLES
@given(chains() | st.tuples(stages("a")).map(lambda s: parsed(joined({"a": s[0]}))), documents, documents, headers)
def test_any_chain(chain, key, value, given_headers):
    if chain is not None:
        for form in (Format(), Format("string")):
            assert_same(chain, [Sample("orders", 0, 5, MILLIS, key, value, given_headers)], form)
