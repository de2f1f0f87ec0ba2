"""The gallery: what its page says of twelve chains is what Spark makes of them."""

import json

import pytest

from dagster_smt.chain.properties import read_properties
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.tools import gallery
from tests.run.world import World

CHAINS = gallery.entries()


def test_there_are_twelve_chains_and_each_does_something():
    assert len(CHAINS) == 12
    for entry in CHAINS:
        result = gallery.run(entry)
        assert any(result.touched) or any(outcome.status for outcome in result.outcomes), entry.title
        assert read_properties(entry.chain)["transforms"]


def test_a_record_that_a_converter_rejects_reaches_no_stage():
    chain = "transforms=h\ntransforms.h.type=MaskField$Value\ntransforms.h.fields=a\n"
    values = ('{"a":"x"}', '{"a":', '{"b":"x"}')
    entry = gallery.GalleryChain("Title", "Text.", chain, [{"value": value} for value in values])
    assert "| `h` | MaskField$Value | 2 | masked `a` in 1 record |" in gallery.page([entry])


@pytest.mark.long
@pytest.mark.parametrize("entry", CHAINS, ids=lambda entry: entry.title)
def test_spark_writes_what_the_page_shows(spark, tmp_path, entry):
    world = World(tmp_path, spark)
    topics = {data.get("topic", "orders") for data in entry.records}
    for data in entry.records:
        headers = tuple((name, text.encode()) for name, text in data.get("headers", {}).items())
        key = data["key"].encode() if "key" in data else None
        record = NewRecord(key, entry.stored(data["value"]), headers, 1_769_860_800_000)
        world.add(record, topic=data.get("topic", "orders"))
    table = TopicTable(world.topics, tuple(sorted(topics)), value=entry.value)
    spec = RunSpec("g", entry.parsed, table, DeltaSink(tmp_path / "table"), errors_tolerance="all")
    report = run(spec, spark, world.lines.append)
    result = gallery.run(entry)
    lines = [json.loads(line) for line in result.lines if line.startswith("{")]
    rows = [
        (row.topic, row.key and row.key.decode(), entry.shown(row.value and bytes(row.value)))
        for row in world.table.read().collect()
    ]
    results = [(x.get("topic", "orders"), x.get("key"), json.dumps(x["value"], separators=(",", ":"))) for x in lines]
    assert sorted(rows, key=str) == sorted(results, key=str)
    assert [line.records for line in report.ledger] == [
        sum(bits >> number & 1 for bits in result.touched) for number in range(len(report.ledger))
    ]
