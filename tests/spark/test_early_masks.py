"""Stages at the head of a chain that only mask are done while the records are read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.model.schema import INT32, STRING, Schema, Type, date, decimal, optional, timestamp
from dagster_smt.spark.reading.early_masks import early_masks
from tests.spark.made_up import TOPICS, Example
from tests.spark.test_evaluators_agree import SLOW, compare
from tests.spark.test_nested_agree import nested_examples, nested_paths, struct

TEXT, NUMBER = optional(STRING), optional(INT32)


def array(values):
    return Schema(Type.ARRAY, True, values=values)


SCHEMA = struct(
    a=TEXT,
    n=NUMBER,
    d=optional(decimal(2)),
    day=optional(date()),
    at=optional(timestamp()),
    filled=TEXT.with_(default="x"),
    tags=array(TEXT),
    user=struct(mail=TEXT, name=TEXT),
    items=array(struct(sku=TEXT, rows=array(array(struct(mail=TEXT, n=NUMBER))))),
    attrs=Schema(Type.MAP, True, keys=STRING, values=struct(mail=TEXT)),
).with_(optional=False)


def stage(kind, options, **more):
    return {"type": kind, "options": {**options, "field.syntax.version": "extended"}, **more}


def mask(fields, **options):
    return stage("MaskField$Value", {"fields": fields, "replace.null.with.default": False, **options})


RENAMED = stage("ReplaceField$Value", {"renames": "a:b"})
GUARDED = {**mask("a"), "predicate": {"type": "RecordIsTombstone"}, "negate": True}
EARLY = [
    ([mask("a")], {("value", "a"): ""}),
    ([mask("a,n", replacement="7")], {("value", "a"): "7", ("value", "n"): 7}),
    ([mask("d")], {("value", "d"): 0}),
    ([mask("tags[*]")], {("value", "tags", None): ""}),
    (
        [mask("user.mail,items[*].**.mail,attrs[*].mail")],
        {
            ("value", "user", "mail"): "",
            ("value", "items", None, "rows", None, None, "mail"): "",
            ("value", "attrs", None, "mail"): "",
        },
    ),
    ([mask("a"), mask("a", replacement="*"), mask("user.mail")], {("value", "a"): "*", ("value", "user", "mail"): ""}),
    ([mask("a"), RENAMED, mask("n")], {("value", "a"): ""}),
]
NOT_EARLY = [
    [RENAMED, mask("n")],
    [GUARDED],
    [mask("tags[0]")],
    [mask("tags")],
    [mask("attrs.x.mail")],
    [mask("a", **{"replace.null.with.default": True})],  # 'filled' is filled
    [{"type": "RegexRouter", "options": {"regex": "(.*)", "replacement": "x"}}],
    [mask("**.mail")],  # a key of 'attrs' may be called so, and a struct cannot be masked
    [mask("zz")],
    [mask("d", replacement="1e400")],  # no column of decimals holds it
]


def planned(stages):
    chain = parse_chain([{"alias": f"s{n}", **one} for n, one in enumerate(stages)])
    return plan_chain(chain, TEXT, SCHEMA, topics=TOPICS, typed=True)


@pytest.mark.parametrize(("stages", "masks"), EARLY)
def test_masks_at_the_head_of_a_chain_are_early(stages, masks):
    rest, result = early_masks(planned(stages))
    assert result == masks
    changes = [step.plan.after.value is not step.plan.before.value for step in rest.steps]
    assert changes == ([False] * len(stages) if RENAMED not in stages else [False, True, True])


@pytest.mark.parametrize("stages", NOT_EARLY)
def test_other_stages_are_left_to_spark(stages):
    plan = planned(stages)
    assert early_masks(plan) == (plan, {})


ROWS = [
    b'{"a":"x","n":1,"d":1.5,"day":3,"at":4,"tags":["x",null],"user":{"mail":"x","name":"y"}}',
    b'{"items":[{"sku":"s","rows":[[{"mail":"x","n":1},null,{"n":2}],null,[]]},null,{"rows":null}],"tags":[]}',
    b'{"attrs":{"k":{"mail":"x"},"l":null,"m":{}},"user":{"mail":null,"name":"y"},"filled":"f"}',
    b'{"a":1}',
    b'{"user":{"mail":1}}',
    b"{}",
    None,
]


@pytest.mark.parametrize("stages", [stages for stages, _ in EARLY])
def test_both_evaluators_agree(spark, stages):
    rows = [(row, "orders", ()) for row in ROWS]
    compare(spark, Example(SCHEMA, [{"alias": f"s{n}", **one} for n, one in enumerate(stages)], rows))


@st.composite
def masked_examples(draw):
    """Random records through one or two masks, and at times one stage more."""
    example = draw(nested_examples())
    paths = st.lists(nested_paths(example.schema), min_size=1, max_size=3, unique=True)
    masks = [mask(result) for result in draw(st.lists(paths, min_size=1, max_size=2))]
    chain = [*masks, *draw(st.sampled_from([[], example.stages[:1]]))]
    return Example(example.schema, [{**one, "alias": f"s{n}"} for n, one in enumerate(chain)], example.rows)


@SLOW
@given(example=masked_examples())
def test_random_masks_agree(spark, example):
    compare(spark, example, TOPICS)
