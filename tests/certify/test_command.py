"""``dagster-smt certify``: exit codes, forms, formats of connectors, and topics."""

import json
from pathlib import Path

import pytest

from dagster_smt.certify import chain_pair
from dagster_smt.cli import main
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from dagster_smt.testing import assert_same_as_connect
from tests.certify.records import CHAIN, KAFKA, MASK, SECRET, chain_of, envelope


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a chain and records, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain.properties").write_text("".join(f"{k}={v}\n" for k, v in CHAIN.properties.items()))
    rows = [{"id": 1, "email": SECRET, "amount": "1.5"}, {"id": 2, "email": SECRET, "amount": "none"}]
    (tmp_path / "orders.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


def certified(*arguments):
    return main(["certify", *map(str, arguments), "--no-spark"])


def plant(monkeypatch, *stages):
    parsed, other = chain_pair._parsed, chain_of(*stages)
    monkeypatch.setattr(chain_pair, "_parsed", lambda chain, **settings: parsed(other, **settings))


def test_equal_chains_end_with_0(folder, capsys):
    assert certified("chain.properties", "orders.jsonl") == 0
    text = capsys.readouterr().out
    assert "**✓ equal**: 2 records have the results of Kafka Connect 4.3.1." in text
    assert "| ✓ | `a` | `MaskField$Value` | 2 | equal |" in text and SECRET not in text


def test_different_chains_end_with_1(folder, capsys, monkeypatch):
    plant(monkeypatch, ("MaskField$Value", {"fields": "id"}))
    (folder / "chain.properties").write_text(
        f"transforms=a\ntransforms.a.type={KAFKA}MaskField$Value\ntransforms.a.fields=email\n"
    )
    for form in ("html", "md", "json"):
        assert certified("chain.properties", "orders.jsonl", "--out", f"c.{form}") == 1
        assert SECRET not in (folder / f"c.{form}").read_text()
    out = capsys.readouterr().out
    assert out.startswith("different: 2 of 2 records differ from Kafka Connect 4.3.1\n  2 records, first records-0@0")
    assert (folder / "c.html").read_text().startswith("<!doctype html>")
    data = json.loads((folder / "c.json").read_text())
    assert (data["version"], data["verdict"], data["stages"][0]["verdict"]) == (1, "different", "different")
    assert data["stages"][0]["findings"][0]["first"]["path"] == "id"
    assert certified("chain.properties", "orders.jsonl", "--format", "json", "--show-values", "--sample", 1) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["records"]["compared"] == 1 and "values" in shown["stages"][0]["findings"][0]["first"]


def test_the_chain_of_a_connector_is_compared(folder, capsys):
    """The connector masks another field than the copy of its chain does."""
    config = {**CHAIN.properties, "transforms.a.fields": "id"}
    (folder / "sink.json").write_text(json.dumps({"name": "sink", "config": config}))
    assert certified("chain.properties", "orders.jsonl", "--connector", "sink.json", "--format", "json") == 1
    data = json.loads(capsys.readouterr().out)
    assert data["chain"]["name"] == "chain.properties, compared with sink.json"
    assert {finding["first"]["path"] for finding in data["stages"][0]["findings"]} == {"id"}
    assert SECRET not in json.dumps(data)
    (folder / "sink.json").write_text(json.dumps({"name": "sink", "config": chain_of(MASK).properties}))
    assert certified("chain.properties", "orders.jsonl", "--connector", "sink.json") == 2
    assert "SMT971" in capsys.readouterr().err


def test_a_test_of_a_user_compares_with_the_chain_of_a_connector(folder):
    records, connector = Path("orders.jsonl"), {**CHAIN.properties, "transforms.a.fields": "id"}
    assert assert_same_as_connect(CHAIN, records).verdict == "equal"
    with pytest.raises(AssertionError, match="value id") as failure:
        assert_same_as_connect(Path("chain.properties"), records, connector=connector)
    assert SECRET not in str(failure.value)


@pytest.mark.parametrize(
    ("chain", "records", "code"),
    [
        ("no.properties", "orders.jsonl", "SMT002"),
        ("chain.properties", "empty.jsonl", "SMT971"),
        ("chain.properties", "none.jsonl", "No such file"),
    ],
)
def test_what_cannot_be_compared_ends_with_2(folder, capsys, chain, records, code):
    (folder / "empty.jsonl").write_text("")
    assert certified(chain, records) == 2
    assert code in capsys.readouterr().err


def test_a_connector_names_its_formats(folder, capsys):
    config = {"connector.class": "x.Sink", "value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    (folder / "sink.json").write_text(json.dumps({"name": "sink", "config": {**CHAIN.properties, **config}}))
    (folder / "rows.jsonl").write_bytes(envelope(id=1, email=SECRET, amount="1.5") + b"\n")
    assert certified("sink.json", "rows.jsonl", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["records"] == {"compared": 1, "refused": 0, "without_row": 0}


def test_topics_and_whole_records(folder, capsys):
    topics = FileTopics(folder / "topics")
    append_records(topics, "orders", [NewRecord(b"k", b'{"email":"x","amount":1}', (("h", b"1"),), 5)] * 3)
    assert certified("chain.properties", "topics", "--topic", "orders", "--sample", 2, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["records"]["compared"] == 2
    line = {"key": "k", "value": {"email": "x", "amount": 1}, "timestamp": 5, "headers": [{"key": "h", "value": "1"}]}
    (folder / "whole.jsonl").write_text(json.dumps(line) + "\n")
    assert certified("chain.properties", "whole.jsonl", "--records", "--key", "string") == 0
    assert certified("chain.properties", "orders.jsonl", "--schema", "id BIGINT, email STRING, amount STRING") == 0
