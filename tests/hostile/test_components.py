"""What a connector says comes back as it was from the files that are written of it, through Dagster's own loader."""

import json
import os
import re
from contextlib import suppress
from pathlib import Path

import dagster as dg
import pytest
from click import ClickException
from dagster.components.testing import create_defs_folder_sandbox

from dagster_smt import SmtChainComponent
from dagster_smt.chain import parse_chain
from dagster_smt.chain.properties import read_properties, written_comment, written_property
from dagster_smt.connect import Connector, written_component
from dagster_smt.connect.component import CHAIN_FILE
from dagster_smt.connect.proposed_columns import proposed_schema
from dagster_smt.connect.template_text import template_text
from dagster_smt.interpret.preview import Sample
from dagster_smt.orchestration.components import scaffolder
from dagster_smt.tables.proposal.column_proposal import propose
from dagster_smt.tables.proposal.look import TopicSamples
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.hostile.texts import HOSTILE

SOURCE = {"kafka": {"bootstrap_servers": "{{ env('SMT_SERVERS') }}"}}
ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"
TEXTS = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("SMT_PLANTED", "planted-4711")
    monkeypatch.setenv("SMT_SERVERS", "kafka:9092")
    yield
    assert "SMT_BROKEN" not in os.environ


def loaded(write):
    """The component that Dagster makes of the files that ``write`` puts into a folder."""
    with create_defs_folder_sandbox() as sandbox:
        folder = Path(sandbox.defs_folder_path) / "imported"
        folder.mkdir(parents=True)
        write(folder)
        with sandbox.load_component_and_build_defs(defs_path="imported") as (component, _):
            return component, (folder / CHAIN_FILE).read_text(encoding="utf-8")


def imported(connector):
    def write(folder):
        written = written_component(connector, SOURCE)
        folder.rmdir()
        written.folder = folder.name
        written.save(folder.parent)

    return write


def scaffolded(connector, monkeypatch):
    monkeypatch.setattr(scaffolder, "connectors_at", lambda source: [connector])
    params = scaffolder.SmtScaffoldParams(from_connector="x", bootstrap_servers="{{ env('SMT_SERVERS') }}")

    def write(folder):
        request = dg.ScaffoldRequest(
            type_name="dagster_smt.SmtChainComponent",
            target_path=folder,
            scaffold_format="yaml",
            project_root=None,
            params=params,
            append=False,
        )
        with suppress(ClickException):  # not all of it is done
            scaffolder.SmtChainScaffolder().scaffold(request)

    return write


def connector_of(text):
    return Connector(
        text,
        {
            "topics.regex": text,
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": text,
            "transforms": "r",
            "transforms.r.type": ROUTER,
            "transforms.r.regex": "a",
            "transforms.r.replacement": text,
            f"transforms.gone.{text}": text,
        },
    )


@TEXTS
@pytest.mark.parametrize("way", ["import", "scaffold"])
def test_each_attribute_is_the_text_of_the_connector(text, way, monkeypatch):
    connector = connector_of(text)
    monkeypatch.setattr(SmtChainComponent, "build_defs", lambda self, context: dg.Definitions())  # attributes only
    component, chain = loaded(imported(connector) if way == "import" else scaffolded(connector, monkeypatch))
    assert isinstance(component, SmtChainComponent)
    assert (component.table.pattern, component.dead_letter_topic) == (text, text)
    assert component.table.source.bootstrap_servers == "kafka:9092", "our own templates are rendered"
    assert re.fullmatch(r"lake/\w{1,100}", component.asset_key.to_user_string())
    assert component.asset_key.to_user_string() == component.sink.path
    assert read_properties(chain) == {k: v for k, v in connector.chain.items() if "gone" not in k}
    assert len(chain.splitlines()) == 1 + len(connector.chain)


@TEXTS
def test_named_topics_are_those_of_the_connector(text):
    names = [name for name in (text, "orders") if "," not in name]
    connector = Connector("c", {"topics": ",".join(names)})
    attributes = written_component(connector, SOURCE).attributes
    assert [_rendered(t) for t in attributes["table"]["topics"]] == list(connector.topics)


@TEXTS
def test_the_prefix_of_a_source_connector_is_in_the_pattern(text):
    attributes = written_component(Connector("c", {"topic.prefix": text}), SOURCE).attributes
    assert re.fullmatch(_rendered(attributes["table"]["pattern"]), f"{text}orders")


@TEXTS
def test_names_in_a_proposed_statement_are_those_of_the_records(text):
    value = json.dumps({text: {text: [None], "a": 1}}).encode()
    samples = [Sample("orders", 0, n, 0, value, value) for n in range(2)]
    result = proposed_schema("x.sql", {"pattern": text}, "transforms=", TopicSamples(samples))
    if "\ud800" in text:
        assert not result.wired and "half a character" in result.lines[0]
        return
    assert result.wired and result.statement.encode()
    table = TopicTable.create(result.statement, FileTopics(Path()))
    assert ([c.name for c in table.row.columns], table.pattern) == ([text], text)
    assert text in table.row.columns[0].schema.by_name
    keyed = TopicTable.create(propose(samples).statement(text, {"topic": "orders"}), FileTopics(Path()))
    assert keyed.key_fields == (f"key_{text}",)


def _rendered(text):
    return dg.ResolutionContext.default().resolve_value(text)


@TEXTS
def test_a_template_text_is_rendered_to_the_text(text):
    result = _rendered(template_text(text))
    assert (result, type(result)) == (text, str)


def test_what_needs_no_template_is_written_as_it_is():
    for text in ("orders", "shop\\.orders.*", "grüße", "a b", "${env:X}", "a{2}", "lake/orders", "$1"):
        assert template_text(text) == text


@TEXTS
def test_properties_come_back(text):
    assert read_properties(written_property(text, text)) == {text: text}
    lines = f"{written_comment(text)}\na=b"
    lines.encode()
    assert read_properties(lines) == {"a": "b"}


def test_the_chain_of_a_hostile_name_is_that_of_the_connector(tmp_path):
    connector = Connector("a\ntransforms=", connector_of("x").config)
    folder = written_component(connector, SOURCE).save(tmp_path)
    assert [s.alias for s in parse_chain(folder / CHAIN_FILE).stages] == ["r"]
