"""Effects as JSON: every example of every transform, and what stands for parts that are not texts or numbers."""

import json

import pytest

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.transform import Transform
from dagster_smt.chain.plugins import own
from dagster_smt.effects import condition, effect
from dagster_smt.effects.as_data import as_data, data_of, is_data
from dagster_smt.effects.code import CodeTransform
from dagster_smt.privacy.policy_stages import PolicyHeaders
from dagster_smt.transforms.kafka.cast import Cast
from dagster_smt.transforms.kafka.flatten import Flatten
from dagster_smt.transforms.kafka.mask_field import MaskField
from dagster_smt.transforms.kafka.replace_field import ReplaceField
from tests.effects.test_field_rules import Shout

EXTENDED = {"field.syntax.version": "extended"}
CASES = [
    (
        MaskField,
        {"fields": "**.mail", **EXTENDED},
        {
            "kind": "Change",
            "path": [{"kind": "Deep"}, "mail"],
            "rule": {"name": "mask", "parameters": {"replacement": None}},
            "action": "masked",
            "target": "",
            "fills": True,
        },
    ),
    (
        Cast,
        {"spec": "float64"},
        {
            "kind": "Change",
            "path": [],
            "rule": {"name": "cast", "parameters": {"target": "float64", "field": ""}},
            "action": "cast",
            "target": "float64",
            "fills": True,
            "refuses_default": True,
        },
    ),
    (
        ReplaceField,
        {"renames": "/^a/i:b", **EXTENDED},
        {
            "kind": "Rename",
            "path": [{"kind": "Match", "pattern": "^a", "any_case": True}],
            "name": {"kind": "NewName", "text": "b", "pattern": {"kind": "Match", "pattern": "^a", "any_case": True}},
            "target": "b",
        },
    ),
]


@pytest.mark.parametrize(("cls", "options", "data"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_paths_rules_and_names_are_lists_and_objects(cls, options, data):
    effect = as_data(cls.model_validate(options).effects())[-1]
    assert {key: effect[key] for key in data} == data


EXAMPLES = [
    pytest.param(cls.model_validate(example.options), id=f"{cls.__name__} {example.title}")
    for cls in own(Transform)
    if not issubclass(cls, CodeTransform)
    for example in cls.examples
]


@pytest.mark.parametrize("transform", EXAMPLES)
def test_effects_of_the_packages_own_transforms_are_json(transform):
    data = as_data(transform.effects())
    assert data and json.loads(json.dumps(data)) == data


CONDITIONS = [
    pytest.param(cls.model_validate(example.options).condition(), id=f"{cls.__name__} {example.title}")
    for cls in own(Predicate)
    for example in cls.examples
]


@pytest.mark.parametrize("condition_", CONDITIONS)
def test_so_are_the_conditions_of_its_predicates(condition_):
    data = data_of(condition_)
    assert data["kind"] and json.loads(json.dumps(data)) == data


def kinds_in(part):
    """The kinds of all objects in plain data."""
    if isinstance(part, dict):
        return {part.get("kind")}.union(*map(kinds_in, part.values()))
    return set[str]().union(*map(kinds_in, part)) if isinstance(part, list) else set[str]()


def test_every_kind_of_effect_and_condition_is_what_some_class_does():
    """So what reads them is tested for each by the tables of those classes."""
    transforms = [*(param.values[0] for param in EXAMPLES), PolicyHeaders(headers=("trace",))]
    result = kinds_in([as_data(transform.effects()) for transform in transforms])
    result |= kinds_in([data_of(param.values[0]) for param in CONDITIONS])
    kinds = {*effect.Effect.__args__, *effect.Route.__annotations__["by"].__args__, *condition.Condition.__args__}
    assert {kind.__name__ for kind in kinds} - {"Code"} <= result


def test_what_is_python_code_is_no_data():
    assert not is_data(Flatten.model_validate({}).effects())


def test_a_rule_that_is_python_code_is_no_data():
    effects = Shout.model_validate({"fields": "a"}).effects()
    assert not is_data(effects)
    with pytest.raises(ValueError, match="ByKind is Python code"):
        as_data(effects)
