"""Stores that stay with their connector: the component writes topics, and the connector reads them."""

import json
import re

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.chain.properties import read_properties
from dagster_smt.connect import Connector, written_component
from dagster_smt.connect.option_verdicts import family_of
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.topics.format import Format
from tests.connect.shapes import JSON, KAFKA, SECRET, SHAPES, STRING_KEY

SOURCE = {"kafka": {"bootstrap_servers": "localhost:9092"}}
FAMILIES = ("search", "mongo", "http", "keys", "splunk")
STAY = [name for name, (config, _) in SHAPES.items() if family_of(Connector("c", config)) in FAMILIES]
MASK = {"transforms": "m", "transforms.m.type": f"{KAFKA}transforms.MaskField$Value", "transforms.m.fields": "email"}
SEARCH = {
    "connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
    "topics": "orders",
    "connection.password": SECRET,
    **MASK,
    **JSON,
    **STRING_KEY,
}


def written(config, name="search", **more):
    return written_component(Connector(name, config), SOURCE, **more)


@pytest.mark.parametrize("shape", STAY)
def test_each_option_has_one_line_and_none_is_left_undone(shape):
    config, _ = SHAPES[shape]
    result = written(config)
    assert [v.option for v in result.options] == list(config)
    assert [v.option for v in result.options if v.verdict == "not done"] == []
    has_transforms = bool(config.get("transforms", "").strip())
    assert bool(result.attributes) == has_transforms == (result.patch is not None)


@pytest.mark.parametrize("shape", STAY)
def test_a_slip_of_the_pen_is_seen_all_the_same(shape):
    result = written({**SHAPES[shape][0], "planted.option": SECRET, "error.tolerance": "all"})
    undone = {v.option: v.text for v in result.options if v.verdict == "not done"}
    assert undone.keys() == {"planted.option", "error.tolerance"}
    assert "errors.tolerance" in undone["error.tolerance"]
    assert result.refused


def test_the_component_writes_topics_and_the_connector_reads_them(tmp_path):
    result = written(SEARCH)
    assert result.attributes["asset_key"] == "kafka/search"
    assert result.attributes["sink"] == SOURCE
    folder = result.save(tmp_path)
    patch = json.loads((folder / "connector.patch.json").read_text())
    assert patch["topics"] == "orders.search"
    assert (patch["transforms.m.type"], patch["transforms.m.fields"]) == (None, None)
    assert not any(SECRET in file.read_text() for file in folder.iterdir())


@pytest.mark.parametrize(
    ("more", "topic", "before"),
    [
        ({}, "orders.search", "orders"),
        (
            {"transforms": "m,r", "transforms.r.type": f"{KAFKA}transforms.RegexRouter", "transforms.r.regex": "(.*)",
             "transforms.r.replacement": "shop-$1"},
            "shop-orders.search", "shop-orders",
        ),
    ],
)  # fmt: skip
def test_a_record_comes_to_the_connector_under_the_name_that_it_had(more, topic, before):
    result = written({**SEARCH, **more})
    chain = parse_chain(read_properties(result.chain))
    record = Record(topic="orders", partition=0, offset=0, key=None, value=None)
    batch = Interpreter(chain, Format("string"), Format("json")).run_all([record], [None], [b'{"email": "a"}'])
    assert (record.topic, batch.lost) == (topic, {})
    patch = result.patch
    names = patch.get("topics")
    matches = topic in names.split(",") if names else re.fullmatch(patch["topics.regex"], topic)
    assert matches
    restored = re.sub(patch["transforms.topicBefore.regex"], r"\1", topic)
    assert restored == before


def test_a_pattern_of_topics_stays_a_pattern():
    config = {k: v for k, v in SEARCH.items() if k != "topics"}
    patch = written({**config, "topics.regex": "shop-.*"}).patch
    assert re.fullmatch(patch["topics.regex"], "shop-a.search") and "topics" not in patch


def test_an_unknown_class_gets_topics_and_a_line():
    result = written({**SEARCH, "connector.class": "com.example.Sink", "own.option": "x"})
    assert result.attributes["sink"] == SOURCE
    assert {v.option for v in result.options if v.verdict == "not done"} == {"connector.class"}


def test_the_user_may_choose():
    assert "delta" in written(SEARCH, into="table").attributes["sink"]
    jdbc = {**SEARCH, "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector"}
    assert "kafka" in written(jdbc, into="topic").attributes["sink"]


def test_a_source_loses_its_chain_to_the_component():
    config, _ = SHAPES["Debezium's Postgres source"]
    result = written(config)
    assert result.patch == {"transforms": None, "transforms.unwrap.type": None}
    assert "connector.patch.json" in result.notes[0].text


def test_topics_in_folders():
    result = written_component(Connector("search", SEARCH), {"files": "/topics"})
    assert result.attributes["sink"] == {"files": {"path": "/topics"}}
