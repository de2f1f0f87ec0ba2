"""Stages that one walk does together: the JVM lane gives what the interpreter gives, which runs them in turn."""

import random

import pytest

from tests.jvm.harness import agree, batch_of, program
from tests.jvm.test_paths import chain_of, without
from tests.jvm.test_paths import mask as mask_with

NAMES = ["a", "b", "c", "d", "e", "é", "ab", "longer_name_here", ""]
PATHS = """**.a **.b **.c **./^[ab]$/ **./[cd]/ a.b a.**.c b.* a[*].b **./^a$/.b **./b|c/.a a b /^c$/ *.d **.a.b a.b.c
    **.é **.longer_name_here **./^$/ d.*.a **././ *.* a.**./d|e/ **./a/.**./b/""".split()
TEXTS = ["1", "null", '"s"', '"\\n"', '"é"', "true", "-0", "1.5", '"a long text"', "[]", "{}", "7"]
RARE = ["1e400", "123456789012345678901", '"\\u0061"', '{"a" :1}', '{"a":1, "b":2}', '{"b":1,"b":2}', '{"\\u0061":1}']


def mask(*fields, replacement="7"):
    """A mask that strings and numbers take."""
    return mask_with(*fields, replacement=replacement)


def value(rng, depth=0):
    kind = rng.random()
    if depth > 4 or kind < 0.45:
        return rng.choice(RARE if rng.random() < 0.03 else TEXTS)
    if kind < 0.85:
        return an_object(rng, depth)
    return "[" + ",".join(value(rng, depth + 1) for _ in range(rng.randrange(4))) + "]"


def an_object(rng, depth=0):
    return "{" + ",".join(f'"{name}":{value(rng, depth + 1)}' for name in rng.sample(NAMES, rng.randrange(6))) + "}"


def stage(rng):
    paths = rng.sample(PATHS, rng.randrange(1, 4))
    kind = rng.random()
    if kind < 0.45:
        return mask(*paths, replacement=rng.choice(["***", "7"]))
    if kind < 0.9:
        return without(*paths)
    others = [
        ("Cast", {"spec": f"{paths[0]}:int8"}),
        ("ReplaceField", {"renames": "a:b"}),
        ("MaskField", {"fields": "**.b"}),
    ]
    others += [("InsertField", {"topic.field": "c"}), ("ValueToKey", {"fields": "a"}), without(include="a,b,c.**.d")]
    return rng.choice(others)


def compare(seed, chains):
    rng = random.Random(seed)
    for _ in range(chains):
        chain = chain_of(*(stage(rng) for _ in range(rng.randrange(2, 5))))
        values = [an_object(rng).encode() for _ in range(25)]
        agree(chain, batch_of(values), key=rng.choice(["string", "json"]))


def test_any_stages_on_any_records():
    compare(1, 20)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 5))
def test_many_stages_on_many_records(seed):
    compare(seed, 250)


IN_TURN = {
    "a field that is gone is masked": [without("**.a"), mask("**.a", "**.b")],
    "a field that was masked goes": [mask("**.a", "**.b"), without("**.a")],
    "fields go inside of one that goes later": [without("**.b"), without("**.c", "a")],
    "fields go inside of one that is gone": [without("a", "**.c"), without("**.b", "**./c/")],
    "masked three times": [mask("**.b", "**./b/", replacement="1"), mask("**.b", replacement="2")],
    "a name of the top level that is missing": [without("**.b"), mask("**.c", "**.d", "new")],
    "a name of the top level that is gone": [without("**.b", "**.a"), mask("**.c", "id"), mask("**.d", "a")],
}
COMPACT = [
    b'{"a":{"b":"x","c":[{"b":"y"},{"b":7},{"d":[["b"]]}]},"b":"z","id":7}',
    b'{"a":[{"b":null},{"c":"in"},"t",{}],"c":{"d":{"c":"s","b":{}},"x":1},"id":"k"}',
    b'{"a":{"a":1,"x":{"a":2,"c":3},"b":4},"d":{"c":"t"}}',
    b'{"c":{"b":1},"d":{"b":1,"c":2},"e":{"c":1,"b":2},"x":{"b":1,"c":2,"b2":3}}',
    b"{}",
]


@pytest.mark.parametrize("stages", IN_TURN.values(), ids=IN_TURN)
def test_stages_act_in_turn(stages):
    assert len(agree(chain_of(*stages), batch_of(COMPACT))) < 5  # a mask of an object leaves the record


def test_a_text_with_blanks_runs_stage_by_stage():
    values = [b'{"a": {"b" : "x", "c": 1}, "d":{"b":1, "c":2}}', b'{"a":{"b":1,"b":2,"c":3}}', COMPACT[0]]
    assert agree(chain_of(without("**.b"), mask("**.c")), batch_of(values)) == [0]  # that of an array


@pytest.mark.parametrize("text", [b'{"x":{"c":{"a":"\\n", "b":1},"d":{"a":1, "b":2}}}', b'{"x":{"a" :"\\u00e9"}}'])
def test_a_text_with_another_spelling_and_blanks_keeps_them(text):
    agree(chain_of(without("**.é")), batch_of([text]))


def test_names_without_end_are_forgotten():
    chain = chain_of(without("**./7$/"), mask("**./^m.*3$/"))
    values = [("{" + ",".join(f'"n{n}x{m}":{{"m{n}":{m}}}' for m in range(40)) + "}").encode() for n in range(600)]
    assert program(chain) is not None
    assert agree(chain, batch_of([*values, *values[:5]])) == []
