"""The search for masked values elsewhere in the output: it finds what is there, and says nothing of what."""

import json

import pyarrow as pa
import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.interpret.preview import Sample
from dagster_smt.interpret.residue import residue
from dagster_smt.model.topics.format import Format
from dagster_smt.privacy.patterns import is_personal
from dagster_smt.spark.residue import _samples

HIDE = {"alias": "hide", "type": "MaskField$Value", "options": {"fields": ["login"], "replacement": "*"}}


def residue_in(value, key=None, headers=(), chain=(HIDE,), topic="t"):
    sample = Sample(topic, value=json.dumps(value).encode(), key=key, headers=headers)
    return dict(residue(parse_chain(list(chain)), [sample], Format("string"), Format()))


MATCH = [
    ({"login": "octocat", "url": "https://example.org/octocat/repo"}, ["value.url"]),
    ({"login": "octocat", "url": "https://example.org/octocats/repo"}, []),
    ({"login": "octocat", "text": "by @octocat."}, ["value.text"]),
    ({"login": "octocat", "text": "myoctocat octocat2"}, []),
    ({"login": "octocat", "text": "xoctocat octocat"}, ["value.text"]),
    ({"login": "octocat", "a": [{"b": "octocat"}, {"b": "octocat"}]}, ["value.a[].b"]),
    ({"login": "octocat", "a": {"octocat": 1}}, []),  # names of fields are no values
    ({"login": "ab", "text": "ab"}, []),  # too short to mean anything
    ({"login": "none", "text": "none"}, []),
    ({"login": 123456, "text": "id 123456"}, ["value.text"]),
    ({"login": 123456, "id": 123456}, ["value.id"]),
    ({"login": 1234, "id": 1234}, []),
    ({"login": None, "text": "None"}, []),
    ({"login": "a.b+c", "text": "mail a.b+c now"}, ["value.text"]),
    ({"login": "*abc*", "text": "x*abc*y"}, ["value.text"]),
]


@pytest.mark.parametrize(("value", "places"), MATCH)
def test_whole_words_in_other_fields(value, places):
    options = HIDE["options"] if isinstance(value["login"], str) else {"fields": ["login"]}
    assert residue_in(value, chain=({**HIDE, "options": options},)) == {("value.login", place): 1 for place in places}


def test_key_headers_and_topic_are_searched():
    hits = residue_in({"login": "octocat"}, b"octocat", (("by", b"octocat"),), topic="octocat")
    assert set(hits) == {("value.login", p) for p in ("key", "header[0] by", "topic")}


def test_what_a_later_stage_drops_is_no_residue():
    drop = {"alias": "drop", "type": "ReplaceField$Value", "options": {"exclude": ["url"]}}
    assert residue_in({"login": "octocat", "url": "/octocat"}, chain=(HIDE, drop)) == {}


def test_what_was_renamed_before_its_mask_is_found_under_its_new_name():
    rename = {"alias": "name", "type": "ReplaceField$Value", "options": {"renames": ["user:login"]}}
    assert set(residue_in({"user": "octocat", "x": "octocat"}, chain=(rename, HIDE))) == {("value.login", "value.x")}


def test_dropped_and_failing_records_hold_nothing():
    gone = {"alias": "gone", "type": "Filter"}
    assert residue_in({"login": "octocat", "x": "octocat"}, chain=(HIDE, gone)) == {}
    fails = {"alias": "f", "type": "Cast$Value", "options": {"spec": "x:int32"}}
    assert residue_in({"login": "octocat", "x": "octocat"}, chain=(HIDE, fails)) == {}


def test_records_are_counted_not_places():
    chain = parse_chain([HIDE])
    value = json.dumps({"login": "octocat", "x": ["octocat", "octocat"]}).encode()
    hits = residue(chain, [Sample("t", value=value)] * 3, Format("string"), Format())
    assert hits == {("value.login", "value.x[]"): 3}


def test_a_mask_that_did_not_act_took_nothing_away():
    guarded = {**HIDE, "predicate": {"type": "TopicNameMatches", "options": {"pattern": "other"}}}
    assert residue_in({"login": "octocat", "x": "octocat"}, chain=(guarded,)) == {}


def test_records_with_far_timestamps_are_looked_at_like_others():
    """A producer that stamps microseconds writes moments of the year 55840, for which Python has no date."""
    far, headers = 1_700_000_000_000_000, pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    columns = {name: [0] for name in ("partition", "offset")} | {"topic": ["t"], "key": [None], "value": [b"{}"]}
    columns |= {"headers": pa.array([None], headers), "timestamp": pa.array([far * 1000], pa.timestamp("us", tz="UTC"))}
    (sample,) = _samples(pa.RecordBatch.from_pydict(columns))
    assert sample.timestamp == far


def test_a_name_that_is_data_is_not_in_the_result():
    mask = {"alias": "m", "type": "MaskField$Value", "options": {"fields": ["card"]}}
    value = b'{"card":"4111111111111111","visits":{"ada@example.org":"4111111111111111"}}'
    sample = Sample("t", value=value, headers=(("ada@example.org", b"4111111111111111"),))
    hits = residue(parse_chain([mask]), [sample], Format("string"), Format(), is_personal)
    assert set(hits) == {("value.card", "value.visits[*]"), ("value.card", "header[*]")}
