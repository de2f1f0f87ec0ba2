"""The page about lineage: its definition loads, its component has the attribute, its command has the columns."""

from pathlib import Path

import yaml

from dagster_smt import DeltaSink, FileTopics, OpenLineage, SmtTable, TopicTable, build_smt_asset
from dagster_smt.cli.privacy_command import HEAD
from dagster_smt.lineage.tagged import State
from tests.orchestration.test_component import LEAST, loaded
from tests.test_docs import blocks

PAGE = "docs/how-to/lineage.md"


def test_the_definition_and_the_component_of_the_page_load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain.properties").write_text("transforms=\n", encoding="utf-8")
    names = {c.__name__: c for c in (DeltaSink, FileTopics, OpenLineage, SmtTable, TopicTable, build_smt_asset)}
    (python,) = blocks(PAGE, "python")
    exec(python, {"Path": Path, **names})
    (text,) = blocks(PAGE, "yaml")
    component, _ = loaded({**LEAST, **yaml.safe_load(text)})
    assert component.lineage.file == "lineage/events.jsonl" and component.lineage.catalogs["lake"].startswith("arn:")


def test_the_page_shows_the_columns_and_states_of_the_command():
    (text,) = blocks(PAGE, "text")
    assert text.splitlines()[0].split() == list(HEAD)
    page = Path(__file__).parents[2].joinpath(PAGE).read_text(encoding="utf-8")
    assert [state for state in State.__args__ if f"| `{state}` |" not in page] == []
