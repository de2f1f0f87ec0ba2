"""The page about policies: its files load, its command prints what the page shows."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from dagster_smt import DeltaSink, FileTopics, SmtTable, TopicTable, build_smt_asset
from dagster_smt.cli import argument_parser, main
from dagster_smt.privacy.policy import policy_of, read_policy
from tests.test_docs import blocks

PAGE = "docs/how-to/policy.md"
CHAIN = "transforms=total\ntransforms.total.type=ReplaceField$Value\ntransforms.total.renames=amount:total\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in blocks(PAGE, "yaml"):
        name = re.match(r"# (\S+)\n", text)
        if name:
            (tmp_path / name[1]).write_text(text, encoding="utf-8")
    (tmp_path / "chain.properties").write_text(CHAIN, encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text('{"id":1,"customer":{"email":"ada@example.org"}}\n', encoding="utf-8")
    return tmp_path


def test_the_commands_print_what_the_page_shows(folder, capsys):
    explain, scan, *presidio = (shlex.split(line)[1:] for text in blocks(PAGE, "sh") for line in text.splitlines())
    assert argument_parser().parse_args(presidio[-1]).presidio
    assert main(explain) == 0
    assert capsys.readouterr().out.strip() == blocks(PAGE, "text")[0].strip()
    (folder / "tags.yaml").unlink()
    assert main(scan) == 0 and (folder / "tags.yaml").exists()


def test_the_definition_and_the_actions_of_the_page_load(folder):
    names = {"Path": Path, **{c.__name__: c for c in (DeltaSink, FileTopics, SmtTable, TopicTable)}}
    for text in blocks(PAGE, "python"):
        exec(text, {"build_smt_asset": build_smt_asset, **names})
    (actions,) = [text for text in blocks(PAGE, "yaml") if text.startswith("actions:")]
    rules = {"a": "stars", "b": "remove", "c": "pseudonymize"}
    policy = policy_of({"rules": rules, "tags": [], **yaml.safe_load(actions)})
    assert set(policy.actions) == set(rules.values())
    assert read_policy(Path("policy.yaml")).untagged == "hold back"
