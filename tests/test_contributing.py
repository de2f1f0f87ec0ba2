"""CONTRIBUTING.md: the code of its walk-throughs runs, and the files that it names are there."""

import re
import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

from dagster_smt.chain.plugins import transforms
from dagster_smt.effects.as_data import as_data
from dagster_smt.orchestration.checks import CHECKS
from dagster_smt.tables.sink_options import DeltaSink
from tests.orchestration.test_checks import GOOD, reported

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"<!-- (\S+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))
WRITTEN = {"dagster_smt/transforms/kafka/trim_field.py", "dagster_smt/transforms/kafka/drop_topics.py"}
WRITTEN |= {"tests/transforms/kafka/test_trim_field.py", "tests/transforms/kafka/test_drop_topics.py"}


@pytest.mark.parametrize(("module", "name"), [("trim_field", "TrimField"), ("drop_topics", "DropTopics")])
def test_the_transforms_pass_their_cases(module, name, monkeypatch):
    code = ModuleType(f"dagster_smt.transforms.kafka.{module}")
    monkeypatch.setitem(sys.modules, code.__name__, code)
    exec(BLOCKS[f"dagster_smt/transforms/kafka/{module}.py"], vars(code))
    transform = getattr(code, name)
    monkeypatch.setitem(transforms(), transform.connect_class, transform)
    table: dict = {}
    exec(BLOCKS[f"tests/transforms/kafka/test_{module}.py"], table)
    assert table["CASES"]
    for case in (*table["CASES"], *transform.examples):
        table["check"](transform, case)
    if module == "trim_field":
        assert as_data(transform.model_validate(transform.examples[0].options).effects())


def test_the_check_judges():
    names: dict = {}
    code = "from dagster_smt.orchestration.checks import Evidence, CheckVerdict\n"
    exec(code + BLOCKS["dagster_smt/orchestration/checks.py"], names)
    assert names["few_dropped"](GOOD).passed
    judged = names["few_dropped"](reported(records_out=1, dropped=4))
    assert (judged.passed, judged.statement) == (False, "4 of 5 records were dropped")


def test_files_and_names_are_there():
    files = set(re.findall(r"`((?:dagster_smt|tests|docs)/[\w/.-]+?)/?`", PAGE)) | {
        "README.md",
        "LICENSE",
        "SECURITY.md",
    }
    assert [name for name in sorted(files - WRITTEN) if not (ROOT / name).exists()] == []
    sinks = ROOT / "dagster_smt/tables/sinks"
    assert all(f"def {name}(" in (sinks / "delta.py").read_text() for name in ("_writer", "_make"))
    assert "def _new(" in (sinks / "iceberg.py").read_text()
    assert "deletion_vectors" not in {field.name for field in fields(DeltaSink)}, "the page adds this option"
    matches = re.findall(r"`(test_\w+)`", PAGE)
    tests = "".join(p.read_text() for p in (ROOT / "tests/orchestration").glob("*.py"))
    assert matches and all(f"def {name}(" in tests for name in matches)


def test_links_lead_somewhere():
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", PAGE)]
    assert [link for link in links if not link.startswith("https://") and not (ROOT / link).exists()] == []


def test_every_check_has_a_row_on_the_page_about_dagster():
    page = (ROOT / "docs/dagster.md").read_text(encoding="utf-8")
    assert [name for name in CHECKS if f"| `{name}` |" not in page] == []
