"""The demo's numbers, computed again from the raw payloads with nothing but ``json`` and ``re``.

Only the run itself uses the package. What a stage should have touched is worked out from the text of the chain file:
a mask touches a path that is there and not null, an exclusion a name that is there.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

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
    """Where a path leads to, as tuples of names and indexes: steps are names, patterns between slashes, or ``**``."""
    return set(reached(value, tuple(re.findall(r"/[^/]+/|[^.]+", path))))


def reached(value, steps, place=()):
    if not steps:
        yield place
        return
    if steps[0] == "**":
        for result, child in [((), value), *inside(value)]:
            if isinstance(child, dict):
                yield from reached(child, steps[1:], (*place, *result))
    elif isinstance(value, dict):
        for name, child in value.items():
            if re.search(steps[0].strip("/"), name) if steps[0].startswith("/") else name == steps[0]:
                yield from reached(child, steps[1:], (*place, name))


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
    config, counts = properties(), Counter()
    aliases = config["transforms"].split(",")
    for topic, _, value in payloads():
        for alias in aliases:
            prefix = f"transforms.{alias}."
            if not acts(config, alias, topic):
                continue
            if config[f"{prefix}type"].endswith("MaskField$Value"):
                for path in config[f"{prefix}fields"].split(","):
                    counts[alias, "masked", path] += any(at(value, p) is not None for p in places(value, path))
            paths = [p for p in config.get(f"{prefix}exclude", "").split(",") if p]
            for path in paths:
                counts[alias, "dropped", path] += bool(places(value, path))
            value = without(value, paths)
    return counts


def without(value, paths):
    """A value without what some paths lead to."""
    gone = {place for path in paths for place in places(value, path)}

    def without_gone(value, place=()):
        if isinstance(value, dict):
            return {k: without_gone(v, (*place, k)) for k, v in value.items() if (*place, k) not in gone}
        return [without_gone(v, (*place, n)) for n, v in enumerate(value)] if isinstance(value, list) else value

    return without_gone(value)


@pytest.fixture(scope="module")
def done(spark, tmp_path_factory):
    """All shipped records through the demo's chain in one window: the report and the rows."""
    from dagster_smt.chain import parse_chain
    from dagster_smt.run.batch import run
    from dagster_smt.run.run_spec import RunSpec
    from dagster_smt.tables.sink_options import DeltaSink
    from dagster_smt.tables.sinks import open_table
    from dagster_smt.tables.topic_table import FileTopics, TopicTable

    sink = tmp_path_factory.mktemp("lake") / "masked"
    table = TopicTable(FileTopics(TOPICS), pattern=r"github\..*")
    report = run(RunSpec("demo", parse_chain(CHAIN), table, DeltaSink(sink, "records")), spark)
    rows = open_table(spark, DeltaSink(sink)).read().select("source_topic", "offset", "topic", "key", "value").collect()
    return report, {(r.source_topic, r.offset): r for r in rows}


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
    target = expected()
    assert {key: ledger[key] for key in target} == dict(target)
    assert sum(target.values()) > 1000


def test_masked_values_are_gone_and_everything_else_is_as_it_was(done):
    _, rows = done
    config = properties()
    for topic, offset, value in payloads():
        row = rows[topic, offset]
        after = json.loads(row.value)
        repository = value.get("repository") or {}
        assert row.key == (str(repository["id"]).encode() if repository else None)
        assert row.topic == topic.replace("github.", "masked.github.", 1)
        assert (after.pop("source_topic"), after.pop("source_offset")) == (topic, offset)
        value = without(value, config["transforms.noise.exclude"].split(","))
        masked = set()
        for alias in config["transforms"].split(","):
            if config[f"transforms.{alias}.type"].endswith("MaskField$Value") and acts(config, alias, topic):
                paths = config[f"transforms.{alias}.fields"].split(",")
                masked.update(place for path in paths for place in places(value, path))
        assert_same(value, after, masked)


def assert_same(before, after, masked, place=()):
    """Walk both values: masked places hold a zero or the replacement, the rest is equal."""
    if place in masked:
        assert after in ("***", [], {}, None), place
    elif isinstance(before, dict):
        assert list(after) == list(before)
        for name, child in after.items():
            assert_same(before[name], child, masked, place=(*place, name))
    elif isinstance(before, list):
        assert len(after) == len(before)
        for number, child in enumerate(after):
            assert_same(before[number], child, masked, place=(*place, number))
    else:
        assert after == before, place


ADDRESS = re.compile(r"[\w.%+\[\]-]+@[\w.-]+\.[A-Za-z]{2,}")


def personal():
    """Everything in the payloads that says who somebody is: logins, names, e-mail addresses, pictures."""
    results = {kind: set() for kind in ("login", "name", "email", "avatar")}
    for _, _, value in payloads():
        for place, child in inside(value):
            if isinstance(child, str):
                results["email"] |= {
                    a for a in ADDRESS.findall(child) if not a.startswith(("git@", "hello-world-npm@"))
                }
            if not isinstance(child, dict):
                continue
            if child.get("type") == "User" and "login" in child:
                results["login"].add(child["login"])
                results["avatar"].add(child.get("avatar_url"))
            if place[-1] in ("author", "committer", "pusher"):
                results["name"] |= {child.get("name"), child.get("username")}
    return {kind: {w for w in words if w} for kind, words in results.items()}


def exceptions():
    """The places that the chain file excepts, as expressions over dotted paths; with their reasons."""
    config = properties()
    results = {}
    for name in config["mask.exceptions"].split(","):
        assert len(config[f"mask.exceptions.{name}.reason"].split()) > 5
        for path in config[f"mask.exceptions.{name}.fields"].split(","):
            text = re.escape(path).replace(r"\.\*\*", r"(\.[^.]+)*").replace(r"\*", "[^.]+")
            results[path] = re.compile(text)
    return results


def survivors(rows, words):
    """Where a word stands in the table, as (place, word): whole words in any text, of key, topic and value."""
    known = re.compile(
        "|".join(rf"(?<![A-Za-z0-9]){re.escape(w)}(?![A-Za-z0-9])" for w in sorted(words, key=len)[::-1])
    )
    for row in rows.values():
        texts = [("key", (row.key or b"").decode()), ("topic", row.topic)]
        for place, child in inside(json.loads(row.value)):
            if isinstance(child, str):
                texts.append((".".join(["value", *(step for step in place if isinstance(step, str))]), child))
        yield from ((place, word) for place, text in texts for word in known.findall(text))


def test_nobody_is_left_in_the_table_outside_of_the_exceptions(done):
    """The demo's claim: no login, name, e-mail address or picture of a person, but where the chain file says why."""
    _, rows = done
    words = personal()
    assert {kind: len(result) > 5 for kind, result in words.items()} == dict.fromkeys(words, True)
    raw = {n: Raw(json.dumps(value), topic) for n, (topic, _, value) in enumerate(payloads())}
    every = {word for result in words.values() for word in result}
    assert len(list(survivors(raw, every))) > 10_000  # the search does find them where they are
    excepted = exceptions()
    left = Counter(
        place for place, _ in survivors(rows, every) if not any(e.fullmatch(place) for e in excepted.values())
    )
    assert left == {}
    assert not list(survivors(rows, words["email"] | words["avatar"]))  # these are nowhere at all


def test_nobody_is_left_in_the_table_of_pushes(spark, tmp_path):
    """Those of its columns that are texts are searched for everybody whom a payload names."""
    from dagster_smt.chain import parse_chain
    from dagster_smt.model.topics.format import Format
    from dagster_smt.run.batch import run
    from dagster_smt.run.run_spec import RunSpec
    from dagster_smt.tables.ddl import parse_ddl
    from dagster_smt.tables.sink_options import DeltaSink
    from dagster_smt.tables.sinks import open_table
    from dagster_smt.tables.topic_table import FileTopics, TopicTable

    value = Format("json_schema", parse_ddl((ROOT / "definitions" / "schemas" / "github_push.sql").read_text()))
    table = TopicTable(FileTopics(TOPICS), topics=("github.push",), value=value)
    sink = DeltaSink(tmp_path / "pushes", "columns")
    chain = parse_chain(CHAIN.with_name("pushes.yaml"))
    run(
        RunSpec(
            "pushes",
            chain,
            table,
            sink,
            errors_tolerance="all",
            dead_letters=FileTopics(tmp_path),
            dead_letter_topic="d",
        ),
        spark,
    )
    rows = {n: Raw(text, "") for n, text in enumerate(open_table(spark, sink).read().toJSON().collect())}
    assert len(rows) > 5
    assert list(survivors(rows, {word for result in personal().values() for word in result})) == []


class Raw(NamedTuple):
    """A payload as a row."""

    value: str
    topic: str
    key: bytes = b""


def test_each_exception_is_needed(done):
    """An exception that nothing needs would hide what comes later."""
    _, rows = done
    from dagster_smt.chain import parse_chain
    from dagster_smt.interpret.preview import Sample
    from dagster_smt.interpret.residue import residue
    from dagster_smt.model.topics.format import Format

    samples = [Sample(topic, 0, offset, 0, b"x", json.dumps(value).encode(), ()) for topic, offset, value in payloads()]
    result = {place.replace("[]", "") for _, place in residue(parse_chain(CHAIN), samples, Format("string"), Format())}
    result |= {place for place, _ in survivors(rows, set().union(*personal().values()))}
    excepted = exceptions()
    assert [path for path, e in excepted.items() if not any(e.fullmatch(place) for place in result)] == []
    assert sorted(place for place in result if not any(e.fullmatch(place) for e in excepted.values())) == []
