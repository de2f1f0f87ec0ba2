"""What is kept per schema stays within bounds, and forgetting changes no result."""

import json
import pickle

import pytest

from dagster_smt.formats import cache
from dagster_smt.interpret.interpreter import PASSED, Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.schema import STRING, Schema, Type
from dagster_smt.model.topics.format import Format
from tests.chain.helpers import chain_of, stage


def test_a_full_cache_forgets_everything(monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 3)
    result = cache.Cache()
    for number in range(3):
        result[number] = number
    result[1] = 10
    assert result == {0: 0, 1: 10, 2: 2}
    result[3] = 3
    assert result == {3: 3}


@pytest.mark.parametrize("most", [20, 25, 1000])
def test_a_full_cache_of_texts_counts_anew_whatever_has_emptied_it(most, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 3)
    monkeypatch.setattr(cache.TextCache, "most", most)
    result = cache.TextCache()
    for number in range(1000, 2000):
        text = b"%d" % number * (number % 5)
        result[text] = result[text] = number
        assert 1 <= len(result) <= 3
        assert result._total == sum(map(len, result)) <= most


def test_a_full_cache_of_schemas_counts_anew_whatever_has_emptied_it(monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 3)
    monkeypatch.setattr(cache._SchemaCache, "most", 10)
    result = cache.BySchema(lambda schema: schema.nodes)
    for number in range(100):
        schema = Schema(Type.STRUCT, fields=tuple((f"f{n}", STRING) for n in range(number % 5)))
        assert result[schema] == result[schema] == schema.nodes
        nodes = [of.nodes for of, _ in result._known.values()]
        assert result._known._total == sum(nodes) <= 10 and 1 <= len(nodes) <= 3


def test_a_cache_is_empty_in_another_process():
    """There, the ids of schemas belong to other objects."""
    texts, schemas = cache.TextCache(), cache.BySchema(repr)
    texts[b"a"] = schemas[STRING]
    there, known = pickle.loads(pickle.dumps((texts, schemas)))
    assert there == known._known == {}
    there[b"b"] = known[STRING]
    assert there == {b"b": repr(STRING)} and there._total == 1


def envelope(number):
    """A record with a schema of its own."""
    fields = [{"field": "a", "type": "string"}, {"field": f"f{number}", "type": "int32"}]
    schema = {"type": "struct", "fields": fields, "optional": False}
    return json.dumps({"schema": schema, "payload": {"a": "x", f"f{number}": number}}).encode()


def test_records_come_out_the_same_however_many_schemas_there_are(monkeypatch):
    sizes, rest = [], cache.Cache.__setitem__

    def watched(result, key, value):
        rest(result, key, value)
        sizes.append(len(result))

    monkeypatch.setattr(cache, "LIMIT", 3)
    monkeypatch.setattr(cache.Cache, "__setitem__", watched)
    chain = chain_of(stage("MaskField$Value", fields="a"), stage("InsertField$Value", topic_field="t"))
    process = Interpreter(chain, None, Format("envelope")).process
    for number in [*range(20), *range(20), 1, 1, 19]:
        outcome, _, value = process(Record("orders"), b"k", envelope(number))
        assert outcome.status == PASSED
        data = json.loads(value)
        assert data["payload"] == {"a": "", f"f{number}": number, "t": "orders"}
        assert [f["field"] for f in data["schema"]["fields"]] == ["a", f"f{number}", "t"]
    assert max(sizes) == 3 and len(sizes) > 5 * 40  # by text, by schema, two stages, the writer
