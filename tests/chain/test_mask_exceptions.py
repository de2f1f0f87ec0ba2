"""``mask.exceptions``: what they cover, in both spellings, and what is wrong with them, all at once."""

from pathlib import Path

import pytest

from dagster_smt.authoring.mask_exception import MaskException
from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError
from dagster_smt.model.paths.connect import EXTENDED, parse_path

COVERED = [
    ("value.a", "value.a", True),
    ("value.a", "value.a.b", False),
    ("value.a", "value.ab", False),
    ("value.a", "value.a[]", True),
    ("value.a", "key.a", False),
    ("value.a.*", "value.a.b", True),
    ("value.a.*", "value.a.b.c", False),
    ("value.**.b", "value.b", True),
    ("value.**.b", "value.x[].y.b[]", True),
    ("value.**.b", "value.x.bb", False),
    ("value.`a.b`", "value.`a.b`", True),
    ("value.`a.b`", "value.a.b", False),
    ("value.a.b", "value.`a.b`", False),
    ("value.*", "value.`a.b`", True),
    ("value.*", "value.`a.b`[].c", False),
    ("value.*", "value.a.b", False),
    ("value.*", "value.a[]", True),
    ("value.*.c", "value.`a.b`[].c", True),
    ("value.*", r"value.`a\`.b`", True),
    ("value.*", r"value['a.b\\']", True),
    ("value.*", "value.``", True),
    ("value.**.b", "value.`x.b`", False),
    ("value.**.b", "value.`x.y`.``.b", True),
    ("value.``", "value.``", True),
    ("value.``", "value", False),
    ("value", "value", True),
    ("key", "key", True),
    ("topic", "topic", True),
    ("topic", "value.topic", False),
    ("header.by", "header[3] by", True),
    ("header.by", "header[3] bye", False),
    ("value.a+", "value.aa", False),
]


@pytest.mark.parametrize(("path", "place", "covered"), COVERED)
def test_what_a_path_covers(path, place, covered):
    assert MaskException((parse_path(path, EXTENDED),), "why").covers(place) is covered


PROPERTIES = {
    "transforms": "",
    "mask.exceptions": "links, names",
    "mask.exceptions.links.fields": "value.**.url,key",
    "mask.exceptions.links.reason": "public",
    "mask.exceptions.names.fields": ["value.name"],
    "mask.exceptions.names.reason": "of repositories",
}
YAML = """
stages: []
mask.exceptions:
  - {fields: [value.**.url, key], reason: public}
  - {fields: [value.name], reason: of repositories}
"""


def test_both_spellings_mean_the_same(tmp_path):
    file = tmp_path / "chain.yaml"
    file.write_text(YAML)
    plain, exported = parse_chain(PROPERTIES), parse_chain({"name": "c", "config": PROPERTIES})
    assert parse_chain(file).mask_exceptions == plain.mask_exceptions == exported.mask_exceptions
    assert [(len(e.fields), e.reason) for e in plain.mask_exceptions] == [(2, "public"), (1, "of repositories")]


def test_they_change_no_record_and_so_not_the_hash():
    assert parse_chain(PROPERTIES).hash == parse_chain({"transforms": ""}).hash


WRONG = [
    ({"mask.exceptions.a.fields": "key", "mask.exceptions.a.reason": "x"}, "mask.exceptions.a: it is not in"),
    ({"mask.exceptions": "a", "mask.exceptions.a.fields": "key"}, "mask.exceptions.a.reason: the reason is missing"),
    (
        {"mask.exceptions": "a", "mask.exceptions.a.reason": "x"},
        "mask.exceptions.a.fields: the option 'fields' is missing",
    ),
    (
        {"mask.exceptions": [{"fields": ["email"], "reason": "x"}]},
        "[0].fields: 'email' is not a path to fields of a record",
    ),
    (
        {"mask.exceptions": [{"fields": ["value./x/"], "reason": "x"}]},
        "'value./x/' is not a path to fields of a record",
    ),
    ({"mask.exceptions": [{"fields": ["value.**"], "reason": "x"}]}, "SMT103"),
    ({"mask.exceptions": [{"field": ["key"], "reason": "x"}]}, "unknown option 'field'"),
    ({"mask.exceptions": ["key"]}, "the option 'fields' is missing"),
]


@pytest.mark.parametrize(("source", "text"), WRONG)
def test_what_is_wrong_is_said(source, text):
    with pytest.raises(ConfigError) as error:
        parse_chain({"transforms": "", **source}, place="orders")
    assert text in str(error.value) and "orders" in str(error.value)


def test_problems_of_exceptions_and_of_stages_are_told_together():
    with pytest.raises(ConfigError) as error:
        parse_chain({"transforms": "x", "mask.exceptions": "a"})
    assert [p.code for p in error.value.problems] == ["SMT024", "SMT024", "SMT009"]


def test_the_demo_has_some():
    chain = parse_chain(Path(__file__).parents[2] / "definitions" / "chains" / "webhooks.properties")
    assert len(chain.mask_exceptions) >= 3
