"""``assert_chain``: a golden file is written on request only, compared to the letter, and a wrong one is refused."""

import json
from pathlib import Path

import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.testing import Sample, assert_chain

CHAIN = {
    "transforms": "drop,hide",
    "transforms.hide.type": "MaskField$Value",
    "transforms.hide.fields": "mail",
    "transforms.hide.replacement": "***",
    "transforms.drop.type": "Filter",
    "transforms.drop.predicate": "none",
    "predicates": "none",
    "predicates.none.type": "RecordIsTombstone",
}
RECORDS = [
    {"id": 1, "mail": "a@b.c"},
    '{"id": 1.50, "mail": "x"}',
    None,
    b"no json",
    Sample("other", 0, 7, 0, b"k", b'{"mail": 1}', (("by", b"me"),)),
]
LINES = [
    '{"topic": "records", "key": null, "value": {"id":1,"mail":"***"}}',
    '{"topic": "records", "key": null, "value": {"id":1.50,"mail":"***"}}',
    '{"dropped": "drop"}',
]


@pytest.fixture
def golden(tmp_path, monkeypatch):
    monkeypatch.setenv("SMT_UPDATE_GOLDEN", "1")
    assert_chain(CHAIN, RECORDS, tmp_path / "golden" / "orders.jsonl")
    monkeypatch.delenv("SMT_UPDATE_GOLDEN")
    return tmp_path / "golden" / "orders.jsonl"


def test_a_line_is_what_leaves_the_chain(golden):
    lines = golden.read_text().splitlines()
    assert lines[:3] == LINES
    assert json.loads(lines[3])["failed"] == "input" and "SMT4" in lines[3]
    assert json.loads(lines[4])["failed"] == "hide"  # a number has no text in its place
    assert_chain(CHAIN, RECORDS, golden)


def test_records_may_be_a_file_and_keys_and_headers_are_shown(tmp_path, monkeypatch):
    (tmp_path / "records.jsonl").write_text('{"a": 1}\n\n{"a": 2}\n')
    sample = Sample("t", 0, 0, 0, b"k", b"{}", (("by", b"me"),))
    monkeypatch.setenv("SMT_UPDATE_GOLDEN", "1")
    assert_chain({"transforms": ""}, tmp_path / "records.jsonl", tmp_path / "a", topic="t")
    assert_chain({"transforms": ""}, [sample], tmp_path / "b")
    assert (tmp_path / "a").read_text() == "".join(
        f'{{"topic": "t", "key": null, "value": {{"a": {n}}}}}\n' for n in (1, 2)
    )
    assert json.loads((tmp_path / "b").read_text()) == {
        "topic": "t",
        "key": "k",
        "value": {},
        "headers": [["by", "me"]],
    }


@pytest.mark.parametrize(
    "spoil", [lambda t: t.replace("***", "**"), lambda t: t + "{}\n", lambda t: t[t.index("\n") + 1 :]]
)
def test_another_result_is_refused(golden, spoil):
    golden.write_text(spoil(golden.read_text()))
    with pytest.raises(AssertionError, match="SMT_UPDATE_GOLDEN=1 if the present results are right"):
        assert_chain(CHAIN, RECORDS, golden)


def test_texts_with_odd_ends_of_lines_are_one_line(tmp_path, monkeypatch):
    for update in ("1", "0", ""):  # 0 is no wish to write
        monkeypatch.setenv("SMT_UPDATE_GOLDEN", update)
        assert_chain({"transforms": ""}, [{"a": "x\u2028y\x85z"}, {"a": 1}], tmp_path / "a.jsonl")
    with pytest.raises(AssertionError):
        assert_chain({"transforms": ""}, [{"a": 1}], tmp_path / "a.jsonl")


def test_a_changed_chain_is_seen(golden):
    with pytest.raises(AssertionError, match=r"(?m)^\+.*!!!"):
        assert_chain({**CHAIN, "transforms.hide.replacement": "!!!"}, RECORDS, golden)


def test_a_missing_file_is_no_success(tmp_path):
    with pytest.raises(AssertionError, match=": run with SMT_UPDATE_GOLDEN=1"):
        assert_chain(CHAIN, RECORDS, tmp_path / "none.jsonl")
    assert not Path(tmp_path / "none.jsonl").exists()


def test_a_wrong_chain_says_what_is_wrong(tmp_path):
    with pytest.raises(ConfigError, match="SMT004"):
        assert_chain({}, RECORDS, tmp_path / "x")
