"""The page on writing a transform: what it names is there."""

import re
from pathlib import Path

from dagster_smt.authoring import predicate, transform
from dagster_smt.effects import condition, effect
from dagster_smt.effects.transform import FieldRules

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/writing-a-transform.md").read_text(encoding="utf-8")


def test_files_are_there():
    named = {name for name in re.findall(r"`([\w/]+(?:\.py|/))`", PAGE) if "<" not in name}
    places = (ROOT, ROOT / "dagster_smt", ROOT / "tests/extension/acme_transforms")
    assert named and [name for name in named if not any((place / name).exists() for place in places)] == []


def test_methods_are_there():
    methods = set(re.findall(r"^\| `([a-z]\w+)\(", PAGE, re.MULTILINE))
    assert {"plan_side", "schemaless", "plan_record"} <= methods
    assert all(hasattr(transform.Transform, name) for name in methods | {"on_null", "reads_value", "reads_key"})
    assert hasattr(predicate.Predicate, "condition") and hasattr(FieldRules, "rule")


def test_effects_are_there():
    named = set(re.findall(r"`([A-Z]\w+)\(", PAGE.partition("## Effects as data")[2].partition("```python")[0]))
    assert named == {kind.__name__ for kind in effect.Effect.__args__}


def test_conditions_are_there():
    named = set(re.findall(r"`([A-Z]\w+)\(", PAGE.partition("| condition |")[2].partition("\n\n")[0]))
    tests = {kind.__name__ for kind in condition.FieldCheck.__args__} - {"NoTest"}
    assert named == {kind.__name__ for kind in condition.Condition.__args__} | tests


def test_every_null_rule_is_explained():
    assert all(f"`{rule}` (" in PAGE for rule in transform.NullRule.__args__)


def test_the_readme_leads_there():
    assert "(docs/writing-a-transform.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
