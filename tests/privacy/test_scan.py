"""The scan: kinds of values, names of fields, proposals; and no value in any output."""

import json
import re
import sys
from types import SimpleNamespace
from typing import ClassVar

import pytest
import yaml

from dagster_smt.cli import main
from dagster_smt.interpret.preview import Sample
from dagster_smt.model.schema import INT64, STRING, Schema, Type
from dagster_smt.model.topics.format import Format
from dagster_smt.privacy.applied_policy import Subject, apply_policy
from dagster_smt.privacy.field_paths import EVERY
from dagster_smt.privacy.field_scan import fields_only, new_personal, scan, schema_without_data
from dagster_smt.privacy.patterns import kinds_in, tag_of_name
from dagster_smt.privacy.policy import policy_of
from dagster_smt.privacy.tags import read_tags

VALUES = [
    ("ada@example.org", ["e-mail"]),
    ("write to Ada.L+x@mail.example.co.uk, please", ["e-mail"]),
    ("no mail: a@b", []),
    ("DE89370400440532013000", ["IBAN"]),
    ("GB82 WEST 1234 5698 7654 32", ["IBAN"]),
    ("DE89370400440532013001", []),
    ("4111 1111 1111 1111", ["card"]),
    ("4111-1111-1111-1112", []),
    ("+49 170 1234567", ["phone"]),
    ("0049 170 1234567", ["phone"]),
    ("2026-01-02T03:04:05+00:00", []),
    ("192.168.0.1", ["IP address"]),
    ("2001:db8::1", ["IP address"]),
    ("1.2.3", []),
    ("078-05-1120", ["national id"]),
    ("000-05-1120", []),
    ("12345678Z", ["national id"]),
    ("12345678A", []),
    ("RSSMRA85T10A562S", ["national id"]),
    ("RSSMRA85T10A562T", []),
    ("550e8400-e29b-41d4-a716-446655440000", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "kinds"), VALUES)
def test_kinds_of_values(text, kinds):
    assert list(kinds_in(text)) == kinds


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("email", "PII.email"),
        ("customerEmail", "PII.email"),
        ("E-Mail", "PII.email"),
        ("emailed", ""),
        ("first_name", "PII.name"),
        ("ip_address", "PII.ip"),
        ("ship", ""),
        ("dateOfBirth", "PII.birth_date"),
        ("api_key", "secret"),
        ("name", ""),
    ],
)
def test_names_of_fields(name, tag):
    assert tag_of_name(name) == tag


def fields(*rows, headers=()):
    samples = [
        Sample("t", 0, n, 0, b"ada@example.org", json.dumps(row).encode(), headers) for n, row in enumerate(rows)
    ]
    return scan(samples, Format("string"), Format())


def test_a_field_has_the_tags_of_its_values_else_of_its_name():
    tags = {
        (one.part, one.path): (one.values, one.tags)
        for one in fields(
            {
                "id": 1,
                "contact": "ada@example.org",
                "firstName": None,
                "items": [{"to": "bob@example.org"}, {"to": "x"}],
            },
            {"id": 2, "contact": "unknown", "firstName": "Ada"},
            headers=(("reply", b"ada@example.org"),),
        )
    }
    assert tags == {
        ("headers", "reply"): (2, ("PII.email",)),
        ("key", ""): (2, ("PII.email",)),
        ("value", "id"): (2, ()),
        ("value", "contact"): (2, ("PII.email",)),
        ("value", "firstName"): (1, ("PII.name",)),
        ("value", "items[*].to"): (2, ("PII.email",)),
    }


def test_numbers_that_pass_luhn_by_chance_are_no_cards():
    rows = [{"order": str(4111111111111111 + n)} for n in range(100)]
    (order,) = [one for one in fields(*rows) if one.path == "order"]
    assert 0 < order.kinds["card"] < 50 and order.tags == ()


def test_names_that_are_data_never_appear():
    rows = [{"by": {f"user{n}@example.org": {"n": 1}}, "many": {f"k{n}": 1}} for n in range(300)]
    tags = {one.path: one.tags for one in fields(*rows) if one.part == "value"}
    assert tags == {"by": ("PII.email",), "by[*].n": (), "many[*]": ()}
    top = [{f"user{n}@example.org": 1, "id": n} for n in range(3)]
    assert {one.path for one in fields(*top) if one.part == "value"} == {"", "[*]", "id"}


SECRETS = ("ada@example.org", "DE89370400440532013000", "+49 170 1234567", "4711")
ROWS = [
    {"id": 4711, "mail": SECRETS[0], "bank": {"iban": SECRETS[1]}, "note": f"call {SECRETS[2]}", SECRETS[0]: 1},
    {"id": 4711, "mail": None, "bank": {"iban": SECRETS[1]}, "note": "x", "users": {SECRETS[0]: "y"}},
]


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return path


def test_the_command_prints_counts_and_no_value_and_writes_tags(rows, tmp_path, capsys):
    tags = tmp_path / "tags.yaml"
    assert main(["scan", str(rows), "--topic", "shop.orders", "--write", str(tags)]) == 0
    printed = capsys.readouterr().out + tags.read_text(encoding="utf-8")
    assert not [secret for secret in SECRETS[1:] if secret in printed]
    assert "value bank.iban  " in printed and "IBAN 2" in printed
    (topic,) = read_tags(tags)
    assert topic.matches("shop.orders") and not topic.matches("shopXorders")
    assert {f.path: [t.name for t in f.tags] for f in topic.fields}["bank.iban"] == ["PII.iban"]


def test_a_second_scan_adds_fields_and_changes_no_decision(rows, tmp_path, capsys):
    tags = tmp_path / "tags.yaml"
    tags.write_text("topics: {orders: {value: {mail: []}}, other: {key: []}}", encoding="utf-8")
    main(["scan", str(rows), "--topic", "orders", "--write", str(tags)])
    data = yaml.safe_load(tags.read_text(encoding="utf-8"))["topics"]
    assert data["orders"]["value"]["mail"] == [] and data["orders"]["value"]["note"] == ["PII.phone"]
    assert data["other"] == {"key": []}


def test_a_wrong_file_is_not_overwritten(rows, tmp_path, capsys):
    tags = tmp_path / "tags.yaml"
    tags.write_text("orders: {}", encoding="utf-8")
    assert main(["scan", str(rows), "--topic", "orders", "--write", str(tags)]) == 1
    assert "SMT762" in capsys.readouterr().err and tags.read_text(encoding="utf-8") == "orders: {}"


def test_records_without_fields_are_said(tmp_path, capsys):
    (tmp_path / "r.jsonl").write_text("1\n2\n", encoding="utf-8")
    assert main(["scan", str(tmp_path / "r.jsonl"), "--topic", "t"]) == 1
    assert "SMT769 t: 2 records have no field" in capsys.readouterr().err


class _Engine:
    """In the place of Presidio: a text that begins with a capital letter is a person."""

    asked: ClassVar[list] = []

    def __init__(self, nlp_engine, supported_languages):
        assert (nlp_engine, supported_languages) == ("en_core_web_md", ["en"])

    def analyze(self, text, language, entities, score_threshold):
        self.asked.append(text)
        return [SimpleNamespace(entity_type="PERSON")] if text.istitle() else []


def _presidio(monkeypatch, model):
    provider = SimpleNamespace(create_engine=lambda: model)
    modules = {
        "presidio_analyzer": SimpleNamespace(AnalyzerEngine=_Engine),
        "presidio_analyzer.nlp_engine": SimpleNamespace(NlpEngineProvider=lambda nlp_configuration: provider),
        "spacy.util": SimpleNamespace(is_package=lambda name: name == model),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)


def test_presidio_is_asked_about_texts_without_a_match(tmp_path, capsys, monkeypatch):
    values = [{"who": "Ada Lovelace", "mail": "ada@example.org", "code": "x7", "n": 1}] * 3
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
    command = ["scan", str(tmp_path / "r.jsonl"), "--topic", "t", "--presidio"]
    for name in ("presidio_analyzer", "presidio_analyzer.nlp_engine", "spacy.util"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(command) == 1
    assert "SMT650" in capsys.readouterr().err
    _presidio(monkeypatch, "fr_core")
    assert main(command) == 1
    assert "SMT774 presidio: no model of spaCy" in capsys.readouterr().err
    _presidio(monkeypatch, "en_core_web_md")
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert re.search(r"value who +3 +person 3 +PII.name", shown) and "Lovelace" not in shown
    assert set(_Engine.asked) == {"Ada Lovelace", "x7"}


def test_new_fields_that_look_personal_are_held_back(tmp_path):
    (tmp_path / "tags.yaml").write_text("topics: {t: {value: {id: [], contact: []}}}", encoding="utf-8")
    policy = policy_of(
        {"rules": {"PII.*": "mask"}, "untagged": "keep", "looks_personal": "hold back", "tags": "tags.yaml"}, tmp_path
    )
    applied = apply_policy(policy, Subject(("t",), Format("string"), Format()))
    scanned = fields({"id": 1, "contact": "ada@example.org", "nick": "ada@example.org", "other": "x"})
    personal = new_personal(scanned, applied.decisions)
    assert personal == {"nick": ("e-mail",)}, "of 'contact' somebody has decided that it needs no tag"
    after = applied.without(personal)
    (stage,) = after.stages
    assert stage.alias == "policy_held" and stage.paths == ("nick",)
    assert after.decisions[-1].reason == "no tag, and sampled values look like e-mail"


@pytest.mark.long
def test_presidio_itself(tmp_path, capsys):
    """With the real package and a model, where they are installed."""
    pytest.importorskip("presidio_analyzer")
    values = [{"who": "Ada Lovelace", "note": "Please call John Smith tomorrow", "code": "x7-q"}] * 5
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
    assert main(["scan", str(tmp_path / "r.jsonl"), "--topic", "t", "--presidio"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"value who +5 +person 5 +PII.name", shown) and re.search(r"value code +5\s*$", shown, re.M)


def test_a_schema_for_reports_names_no_person():
    inside = Schema(Type.STRUCT, fields=(("ada@example.org", STRING), ("bo@example.org", INT64), ("city", STRING)))
    array = Schema(Type.ARRAY, values=inside)
    schema = Schema(Type.STRUCT, fields=(("id", INT64), ("DE89370400440532013000", INT64), ("people", array)))
    shown = schema_without_data(schema)
    assert [name for name, _ in shown.fields] == ["id", "[*]", "people"]
    assert [name for name, _ in dict(shown.fields)["people"].values.fields] == ["[*]", "city"]
    assert fields_only(("people", "[*]", "bo@example.org")) == ("people", EVERY, EVERY)
    plain = Schema(Type.STRUCT, fields=(("id", INT64),))
    assert schema_without_data(plain) == plain
