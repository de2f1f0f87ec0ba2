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


def places(value, path):
    """Where a masked path leads to, as tuples of names and indexes: names, or ``**`` before names or one pattern."""
    if path.startswith("**."):
        rest = path[3:]
        for place, child in [((), value), *inside(value)]:
            if isinstance(child, dict):
                yield from (place + found for found in places(child, rest))
    elif path.startswith("/"):
        yield from ((name,) for name in value if re.search(path.strip("/"), name))
    else:
        name, _, rest = path.partition(".")
        if isinstance(value, dict) and name in value:
            yield from ((name, *found) for found in (places(value[name], rest) if rest else [()]))


def inside(value, place=()):
    """Everything below a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield (*place, key), child
        yield from inside(child, (*place, key))


def at(value, place):
    for step in place:
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
                    found[alias, "masked", path] += any(at(value, p) is not None for p in places(value, path))
            for name in filter(None, config.get(f"{prefix}exclude", "").split(",")):
                found[alias, "dropped", name] += name in value
    return found


@pytest.fixture(scope="module")
def done(spark, tmp_path_factory):
    """All shipped records through the demo's chain in one window: the report and the rows."""
    from dagster_smt.chain import parse_chain
    from dagster_smt.run.batch import run
    from dagster_smt.run.spec import RunSpec
    from dagster_smt.tables.sinks import open_table
    from dagster_smt.tables.spec import DeltaSink, FileTopics, TopicTable

    sink = tmp_path_factory.mktemp("lake") / "masked"
    table = TopicTable(FileTopics(TOPICS), pattern=r"github\..*")
    report = run(RunSpec("demo", parse_chain(CHAIN), table, DeltaSink(sink, "records")), spark)
    rows = open_table(spark, DeltaSink(sink)).read().select("source_topic", "offset", "topic", "value").collect()
    return report, {(r.source_topic, r.offset): (r.topic, bytes(r.value)) for r in rows}


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
        routed, after = rows[topic, offset][0], json.loads(rows[topic, offset][1])
        assert routed == topic.replace("github.", "masked.github.", 1)
        assert (after.pop("source_topic"), after.pop("source_offset")) == (topic, offset)
        masked = set()
        for alias in config["transforms"].split(","):
            if config[f"transforms.{alias}.type"].endswith("MaskField$Value") and acts(config, alias, topic):
                paths = config[f"transforms.{alias}.fields"].split(",")
                masked.update(place for path in paths for place in places(value, path))
        dropped = set(config["transforms.noise.exclude"].split(","))
        assert_same(value, after, masked, dropped)


def assert_same(before, after, masked, dropped=frozenset(), place=()):
    """Walk both values: dropped names are gone, masked places hold a zero or the replacement, the rest is equal."""
    if place in masked:
        assert after in ("***", [], {}, None), place
    elif isinstance(before, dict):
        assert list(after) == [name for name in before if name not in dropped]
        for name, child in after.items():
            assert_same(before[name], child, masked, place=(*place, name))
    elif isinstance(before, list):
        assert len(after) == len(before)
        for number, child in enumerate(after):
            assert_same(before[number], child, masked, place=(*place, number))
    else:
        assert after == before, place


ADDRESS = re.compile(r"[\w.%+\[\]-]+@[\w.-]+\.[A-Za-z]{2,}")
LEFT = ("ssh_url",)
"""Fields that the chain leaves alone on purpose: ``git@github.com`` is how to reach a repository, and nobody's mail."""


def addresses(value):
    """(name of the field, address) of everything in a value that looks like an e-mail address."""
    for place, child in inside(value):
        if isinstance(child, str):
            yield from ((place[-1], found) for found in ADDRESS.findall(child))


def test_no_address_is_left_in_the_bytes(done):
    """One stage masks them all: what the payloads hold is looked for in the bytes of the table."""
    report, rows = done
    found = Counter(pair for _, _, value in payloads() for pair in addresses(value))
    private = {address for (name, address), _ in found.items() if name not in LEFT}
    assert len(private) >= 8 and sum(n for (name, _), n in found.items() if name not in LEFT) > 80
    for _, data in rows.values():
        left = list(addresses(json.loads(data)))
        assert {name for name, _ in left} <= {*LEFT}
        assert not [found for found in private - {address for _, address in left} if found.encode() in data]
    assert sum(line.entry.alias == "mails" for line in report.ledger) == 2
