"""The page on writing a transform: what it names is there, and there is nothing more to know."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dagster_smt.authoring import options, predicate, transform
from dagster_smt.chain.plugins import transforms
from dagster_smt.effects import code, condition, effect
from dagster_smt.effects.python_field_rules import FieldRules
from tests.transforms.helpers import Case, check, envelope

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/writing-a-transform.md").read_text(encoding="utf-8")
DERIVED = {"ledger", "reads", "writes"}
"""What follows from the effects of a transform: nobody who writes one needs it."""


def table(heading):
    """The names in the first column of a table."""
    rows = PAGE.partition(heading)[2].partition("\n\n")[0]
    return {name for row in rows.splitlines() for name in re.findall(r"`(\w+)", row.partition(" | ")[0])}


def own_names(*classes):
    """The public names that classes have beside those of pydantic."""
    names = {name for cls in classes for name in (*vars(cls), *vars(cls).get("__annotations__", ()))}
    return {name for name in names if not name.startswith(("_", "model_"))}


def test_files_are_there():
    results = {name for name in re.findall(r"`([\w/]+(?:\.py|/))`", PAGE) if "<" not in name}
    places = (ROOT, ROOT / "dagster_smt", ROOT / "tests/extension/acme_transforms")
    assert results and [name for name in results if not any((place / name).exists() for place in places)] == []


def test_the_words_are_all_that_there_is_to_know():
    """At most twenty words; and the bases have no other names that a class could have."""
    words = table("| name | where |")
    rows = PAGE.partition("| name | where |")[2].partition("\n\n")[0].count("\n| ")
    assert rows <= 20
    for name, place in re.findall(r"^\| `([A-Z]\w+)`[^|]*\| `([\w/]+\.py)`", PAGE, re.MULTILINE):
        assert re.search(rf"^(class )?{name}\b", (ROOT / "dagster_smt" / place).read_text(), re.MULTILINE), name
    hooks = own_names(transform.Transform, predicate.Predicate) | {"check", "connect_class", "former_options"}
    assert all(hasattr(options.Options, name) for name in ("check", "connect_class", "former_options"))
    assert hooks - DERIVED - {"plugin"} <= words


def test_the_way_out_has_the_methods_of_the_page():
    methods = table("| method |")
    assert methods | {"plans_key_alone"} == own_names(code.CodeTransform) and "`plans_key_alone`" in PAGE
    assert own_names(code.CodePredicate) == {"test", "schemaless"} and hasattr(FieldRules, "rule")


def test_effects_are_there():
    assert table("| effect |") - {"side"} == {kind.__name__ for kind in effect.Effect.__args__}


def test_conditions_are_there():
    assert table("| condition |") == {kind.__name__ for kind in condition.Condition.__args__}
    names = set(re.findall(r"`([A-Z]\w+)\(", PAGE.partition("| condition |")[2].partition("\n\n")[0]))
    assert {kind.__name__ for kind in condition.FieldCheck.__args__} - {"NoTest"} <= names


def test_every_null_rule_is_explained():
    assert all(f"`{rule}` (" in PAGE for rule in transform.NullRule.__args__)


def test_the_readme_leads_there():
    assert "(docs/writing-a-transform.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


EMPTY = (
    Case("no fields", {}, "{}", None),
    Case("an empty string is a value", {}, '{"a":null,"b":""}', '{"a":null,"b":""}'),
    Case("a tombstone passes", {}, "null", "null"),
    Case("a schema, null fields", {}, envelope("a:string? b:int32?", '{"a":null,"b":null}'), None),
    Case("a default", {}, envelope('a:string?="x"', '{"a":null}'), envelope('a:string?="x"', '{"a":null}')),
)


@pytest.mark.parametrize("case", EMPTY, ids=lambda case: case.title)
def test_the_transform_in_python_runs(case, monkeypatch):
    (source,) = re.findall(r"<!-- drop_if_empty.py -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    module = ModuleType("dagster_smt.transforms.kafka.drop_if_empty")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(source, vars(module))
    transform = module.DropIfEmpty
    monkeypatch.setitem(transforms(), transform.connect_class, transform)
    for one in (case, *transform.examples):
        check(transform, one)
