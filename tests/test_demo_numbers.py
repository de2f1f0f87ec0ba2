"""The demo's numbers, computed again from the raw payloads with nothing but ``json`` and ``re``.

Only the run itself uses the package. What a stage should have touched is worked out from the text of the chain file:
a mask touches a path that is there and not null, an exclusion a name that is there.
"""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOPICS = ROOT / "definitions" / "demo" / "topics"
CHAIN = ROOT / "definitions" / "chains" / "webhooks.properties"


def properties():
    text = re.sub(r"\\\n\s*", "", CHAIN.read_text())
    lines = (line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip().replace("\\\\", "\\") for key, value in lines}


def payloads():
    """(topic, offset, value) of every record that the demo ships."""
    for file in sorted(TOPICS.glob("*/*/*.jsonl")):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            yield row["topic"], row["offset"], json.loads(row["value"])


def at(value, path):
    for step in path.split("."):
        if not isinstance(value, dict) or step not in value:
            return None
        value = value[step]
    return value


def acts(config, alias, topic):
    name = config.get(f"transforms.{alias}.predicate")
    return name is None or re.fullmatch(config[f"predicates.{name}.pattern"], topic) is not None


def expected():
    """Records touched per (alias, action, path)."""
    config, found = properties(), Counter()
    aliases = config["transforms"].split(",")
    for topic, _, value in payloads():
        for alias in aliases:
            prefix = f"transforms.{alias}."
            if not acts(config, alias, topic):
                continue
            if config[f"{prefix}type"].endswith("MaskField$Value"):
                for path in config[f"{prefix}fields"].split(","):
                    found[alias, "masked", path] += at(value, path) is not None
            for name in filter(None, config.get(f"{prefix}exclude", "").split(",")):
                found[alias, "dropped", name] += name in value
    return found


@pytest.fixture(scope="module")
def done(spark, tmp_path_factory):
    """All shipped records through the demo's chain in one window: the report and the rows."""
    from dagster_smt.chain import parse_chain
    from dagster_smt.run.batch import RunSpec, run
    from dagster_smt.tables.sink import read_table
    from dagster_smt.tables.spec import FileTopics, ParquetSink, TopicTable

    sink = tmp_path_factory.mktemp("lake") / "masked"
    table = TopicTable(FileTopics(TOPICS), pattern=r"github\..*")
    report = run(RunSpec("demo", parse_chain(CHAIN), table, ParquetSink(sink, "records")), spark)
    rows = read_table(spark, sink).select("source_topic", "offset", "topic", "value").collect()
    return report, {(r.source_topic, r.offset): (r.topic, json.loads(bytes(r.value))) for r in rows}


def test_the_chain_has_nested_masks_only_where_this_test_can_read_them():
    config = properties()
    assert len(config["transforms"].split(",")) >= 5
    assert any("predicate" in key for key in config)


def test_every_record_arrives_once(done):
    report, rows = done
    raw = {(topic, offset) for topic, offset, _ in payloads()}
    assert (report.records_in, report.records_out, len(raw)) == (329, 329, 329)
    assert rows.keys() == raw


def test_the_ledger_counts_what_the_payloads_hold(done):
    report, _ = done
    ledger = {(line.entry.alias, line.entry.action, line.entry.path): line.records for line in report.ledger}
    wanted = expected()
    assert {key: ledger[key] for key in wanted} == dict(wanted)
    assert sum(wanted.values()) > 1000


def test_masked_values_are_gone_and_everything_else_is_as_it_was(done):
    _, rows = done
    config = properties()
    for topic, offset, value in payloads():
        routed, after = rows[topic, offset]
        assert routed == topic.replace("github.", "masked.github.", 1)
        assert (after.pop("source_topic"), after.pop("source_offset")) == (topic, offset)
        masked = set()
        for alias in config["transforms"].split(","):
            if config[f"transforms.{alias}.type"].endswith("MaskField$Value") and acts(config, alias, topic):
                masked |= set(config[f"transforms.{alias}.fields"].split(","))
        dropped = set(config["transforms.noise.exclude"].split(","))
        assert_same(value, after, masked, dropped)


def assert_same(before, after, masked, dropped, path=""):
    """Walk both values: dropped names are gone, masked paths hold a zero or the replacement, the rest is equal."""
    assert list(after) == [name for name in before if name not in dropped]
    for name, child in after.items():
        place = f"{path}.{name}" if path else name
        if place in masked:
            assert child in ("***", [], {}, None), place
        elif isinstance(child, dict):
            assert_same(before[name], child, masked, set(), place)
        else:
            assert child == before[name], place
