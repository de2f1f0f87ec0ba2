"""The examples of the documentation run."""

import re
from pathlib import Path

import dagster as dg
import pytest
import yaml

from tests.orchestration.test_component import LEAST, loaded

ROOT = Path(__file__).parents[1]
PAGES = [
    "docs/asset.md",
    "docs/tables.md",
    "docs/dagster.md",
    "docs/kafka.md",
    "docs/repair.md",
    "docs/topic-tables.md",
]


def blocks(page, language):
    """The blocks of a language; those in lists lose the indentation of their list."""
    text = (ROOT / page).read_text(encoding="utf-8")
    results = []
    for indentation, block in re.findall(rf"^( *)```{language}\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE):
        results.append(re.sub(f"^{indentation}", "", block, flags=re.MULTILINE))
    return results


@pytest.mark.parametrize("page", PAGES)
def test_python_examples_are_python(page):
    result = blocks(page, "python")
    assert result
    for text in result:
        compile(text, page, "exec")


@pytest.mark.parametrize("page", ["docs/asset.md", "docs/dagster.md"])
def test_definitions_in_examples_load(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chains").mkdir()
    chain = "transforms=hide\ntransforms.hide.type=MaskField$Value\ntransforms.hide.fields=customer\n"
    (tmp_path / "chains" / "orders.properties").write_text(chain)
    (text,) = [b for b in blocks(page, "python") if "\ndefs = dg.Definitions(" in b]
    names: dict = {}
    exec(text, names)
    assert isinstance(names["defs"], dg.Definitions)
    dg.Definitions.validate_loadable(names["defs"])


def test_examples_of_the_page_about_dagster_go_on_from_one_another():
    names: dict = {}
    for text in [*blocks("docs/dagster.md", "python"), *blocks("docs/repair.md", "python")]:
        exec(text, names)
    assert names["letters"].key.path[-1] == "dead_letters" and names["redrive"].name == "lake__orders_redrive"


def test_exceptions_of_the_page_are_read():
    from dagster_smt.chain import parse_chain
    from dagster_smt.chain.properties import read_properties

    (text,) = blocks("docs/dagster.md", "properties")
    (result,) = parse_chain({"transforms": "", **read_properties(text)}).mask_exceptions
    assert result.covers("value.issue.repo.name") and result.covers("key") and not result.covers("value.name")


def test_the_component_of_the_page_loads():
    (text,) = [b for b in blocks("docs/dagster.md", "yaml") if "SmtChainComponent" in b]
    component, defs = loaded(yaml.safe_load(text)["attributes"], orders__sql="id BIGINT NOT NULL, name STRING")
    assert component.table.source.bootstrap_servers == "${env:KAFKA_SERVERS}"
    assert [s.name for s in defs.sensors] == ["lake__orders_lag"]


def test_three_spellings_of_a_topic_table_mean_the_same():
    from dagster_smt import TopicTable

    names: dict = {}
    statements, pythons, texts = (blocks("docs/topic-tables.md", kind) for kind in ("sql", "python", "yaml"))
    for name in ("orders", "readings"):
        (statement,) = [b for b in statements if f"TABLE {name} " in b]
        (python,) = [b for b in pythons if f"{name} = TopicTable(" in b]
        (text,) = [b for b in texts if f"topics: [{name}]" in b]
        exec(python, names)
        columns = {"sink": {"delta": {"path": "lake/t", "kind": "columns"}}, "dead_paths": "warn"}
        component, _ = loaded({**LEAST, **columns, **yaml.safe_load(text)})
        assert TopicTable.create(statement) == names[name] == component.table
    assert names["readings"].value.arrays_as_rows and not names["orders"].value.arrays_as_rows


def test_a_statement_names_the_key_and_the_partitions_of_its_sink():
    (statement,) = [b for b in blocks("docs/topic-tables.md", "sql") if "PRIMARY KEY" in b]
    cluster = {"source": {"kafka": {"bootstrap_servers": "localhost:9092"}}}
    sink = {"iceberg": {"path": "lake/customers", "kind": "columns", "mode": "upsert"}}
    table = {**cluster, "statement": "customers.sql"}
    component, _ = loaded({**LEAST, "table": table, "sink": sink, "spark": {}}, customers__sql=statement)
    assert (component.table.primary_key, component.table.partitioned_by) == (("id",), ("bucket(16, id)",))


def test_the_example_of_records_left_unread_leaves_some():
    from dagster_smt.model.windows.window import Range, Window
    from dagster_smt.tables.push_down import narrowed
    from dagster_smt.tables.rows.row_stages import with_row

    names: dict = {}
    (text,) = [b for b in blocks("docs/topic-tables.md", "python") if "push_down" in b]
    exec(text, names)
    table, asked = names["recent"], []

    def offsets_at(topics, millis):
        asked.append(millis)
        return {("orders", 0): 0, ("orders", 1): 150}

    chain = with_row(names["chain"], table, "columns")
    window = Window((Range("orders", 0, 50, 200), Range("orders", 1, 50, 200), Range("orders", 2, 0, 90)))
    result = narrowed(window, chain, table, offsets_at)
    assert result.window == Window((Range("orders", 0, 100, 200), Range("orders", 1, 150, 200)))
    assert [(u.alias, u.records) for u in result.unread] == [("new", 50 + 100 + 90)] and asked == [1767225600000]


def test_chains_of_the_page_about_chains_are_read():
    from dagster_smt.chain import parse_chain
    from dagster_smt.chain.properties import read_properties

    (properties,) = blocks("docs/chains.md", "properties")
    (stages,) = blocks("docs/chains.md", "yaml")
    assert parse_chain(read_properties(properties)).hash == parse_chain(yaml.safe_load(stages)).hash


def test_every_code_that_a_page_names_is_one():
    known = set()
    for file in (ROOT / "dagster_smt").rglob("*.py"):
        known |= set(re.findall(r"SMT\d{3}", file.read_text(encoding="utf-8")))
    for page in ["README.md", *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md"))]:
        assert set(re.findall(r"SMT\d{3}", (ROOT / page).read_text(encoding="utf-8"))) <= known, page


def test_the_index_lists_every_decision_by_its_title():
    folder = ROOT / "docs" / "decisions"
    listed = dict(re.findall(r"^- \[(.+)\]\((.+)\)$", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    titles = {}
    for page in folder.glob("0*.md"):
        first, *_ = page.read_text(encoding="utf-8").splitlines()
        titles[first.removeprefix("# ")] = page.name
    assert listed == titles
