"""Paths below the top level, and keys made of fields: the JVM lane gives what the interpreter gives."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain
from tests.jvm.harness import agree, batch_of, program
from tests.jvm.random_records import OPTIONS, PLAIN, chains, names, on, spelled

MANY = settings(max_examples=settings.default.max_examples * 12)
TOPICS = Path(__file__).parents[2] / "definitions" / "demo" / "topics"
WEBHOOKS = Path(__file__).parents[2] / "definitions" / "chains" / "webhooks.properties"


def chain_of(*stages):
    """A chain of (kind, options) with paths of the extended syntax."""
    options = {"transforms": ",".join(f"s{n}" for n in range(len(stages)))}
    for number, (kind, source) in enumerate(stages):
        options[f"transforms.s{number}.type"] = on(kind)
        sided = {"field.syntax.version": "extended"} | source
        options |= {f"transforms.s{number}.{key}": value for key, value in sided.items()}
    return parse_chain(options)


def mask(*fields, replacement="***"):
    return "MaskField", {"fields": ",".join(fields), "replacement": replacement}


def without(*fields, **others):
    return "ReplaceField", {"exclude": ",".join(fields), **others}


def key_of(*fields):
    return "ValueToKey", {"fields": ",".join(fields)}


def extracted(field):
    return "ExtractField$Key", {"field": field}


DEEP = [
    b'{"a":{"b":"x","c":[{"b":"y"},{"b":7},{"d":[["b"]]}]},"b":"z","id":7}',
    b'{"a":[{"b":null},{"b":{"b":"in"}},"t",{}],"id":"k"}',
    b'{"a":{"b":{"c":"x","d":1}},"c":{"a":{"b":"\\n"}},"id":null}',
    b'{"id":-12,"a":{"":"x","a.b":"y","b":[]},"e":{},"b":{"c":{"b":true}}}',
    b'{"a":{"b":"only"},"id":1}',
    b'{"a":"flat","id":true}',
    b"{}",
]
RUN = {
    "names everywhere": [mask("**.b")],
    "patterns everywhere": [mask("**./^[bd]$/")],
    "a name below another": [mask("a.b")],
    "elements": [mask("a[0].b", "a.c[1].b", "a[2]")],
    "every element": [mask("a[*].b")],
    "everything below": [mask("b.*")],
    "a pattern at the top": [mask("/^[be]$/")],
    "a name that is known, by a pattern": [without("b"), mask("**.b")],
    "a field that was put in": [("InsertField", {"topic.field": "b"}), mask("**.b")],
    "dropped everywhere": [without("**.b")],
    "the first, the last, all of them": [without("a[0]", "**.c", "**./^$/", "b.*")],
    "a field that was put in is dropped by two paths": [
        ("InsertField", {"topic.field": "b"}),
        without("**.b", "/^b$/"),
    ],
    "dropped inside what is dropped": [without("**.b", "a", "**.d")],
    "dropped and kept": [without("**.b", include="a,b,id")],
    "dropped and renamed": [without("**.b", renames="a:x")],
    "masked inside what goes after": [mask("**.b"), without("a")],
    "masked in what is gone": [without("a"), mask("**.b")],
    "dropped in what is gone": [without("a"), without("**.b")],
    "masked in what has been replaced": [("InsertField", {"static.field": "a", "static.value": "s"}), mask("**.b")],
    "masked in what is not kept": [("ReplaceField", {"include": "id"}), mask("**.b")],
    "dropped in what is not kept": [("ReplaceField", {"include": "id"}), without("**.b")],
    "masked twice": [mask("**.b", replacement="1"), mask("**.b", replacement="2")],
    "masked, then renamed": [mask("a.b"), ("ReplaceField", {"renames": "a:x"})],
    "renamed, then masked below all": [("ReplaceField", {"renames": "a:x"}), mask("**.b")],
    "a key": [key_of("id"), extracted("id")],
    "a key from inside": [key_of("a"), extracted("a.b")],
    "a key before it is masked": [key_of("id"), extracted("id"), mask("**./id|b/")],
    "a key after something else is dropped": [without("**.c"), key_of("id"), extracted("id")],
}


@pytest.mark.parametrize("stages", RUN.values(), ids=RUN)
def test_deep_stages(stages):
    chain = chain_of(*stages)
    assert program(chain) is not None
    values = [*DEEP, *PLAIN, b"{}", b"{}", b"{}"]
    left = agree(chain, batch_of(values))
    agree(chain, batch_of(values), "json")
    assert len(left) < len(values) * 0.7  # enough of them took the lane


MANY_LEFT = {
    "two paths to one value": [("MaskField", {"fields": "**./b/,**./^b$/"})],
    "what is masked becomes the key": [mask("a.b"), key_of("a"), extracted("a.b")],
    "what has a number put in becomes the key": [
        ("InsertField", {"offset.field": "id"}),
        key_of("id"),
        extracted("id"),
    ],
    "masked, and what it is in": [("MaskField", {"fields": "**.b,a"})],
    "masked in what has been masked": [("MaskField", {"fields": "a"}), mask("**.b")],
    "masked in what has been masked below": [("MaskField", {"fields": "**.c"}), mask("**./^[bd]$/")],
    "cast, and dropped": [("Cast", {"spec": "**.b:int8"}), without("a")],
    "cast by a name, then by a scan": [("Cast", {"spec": "b:int8,a.b:int8,**.b:string"})],
    "cast by a scan, then by a name": [("Cast", {"spec": "**.b:int8,a.b:string"})],
    "masked by a name inside what a scan masks": [("MaskField", {"fields": "**.a,a.b,/^c/"})],
    "cast, and what it is in is masked": [("Cast", {"spec": "**.b:string"}), ("MaskField", {"fields": "a"})],
}


@pytest.mark.parametrize("key", ["string", "json"])
@pytest.mark.parametrize("stages", MANY_LEFT.values(), ids=MANY_LEFT)
def test_deep_stages_that_are_often_left_to_the_interpreter(stages, key):
    numbers = [b'{"a":{"b":300}}', b'{"a":{"b":7,"c":[{"b":-1}]}}', b'{"b":{"b":1.5}}', b'{"a":{"b":[{"b":1}]}}']
    chain = chain_of(*stages)
    assert program(chain) is not None
    agree(chain, batch_of([*DEEP, *numbers, *PLAIN]), key=key)


ODD_INSIDE = [
    b'{"a":{"\\u0062":"x"}}',
    b'{"a":{"c":"\\u0062", "b":{}}}',
    b'{"a":{"b":"x",}}',
    b'{"a":{"b":[1,2}}}',
    b'{"a":{"b":tru}}',
    b'{"a":{"b":' + b'{"c":' * 70 + b"1" + b"}" * 72,
]


@pytest.mark.parametrize("value", ODD_INSIDE, ids=lambda value: repr(value)[:30])
def test_records_that_are_odd_inside(value):
    assert agree(chain_of(mask("**.b")), batch_of([DEEP[5], DEEP[6], value, DEEP[5]])) == [0]


BLANKS_INSIDE = [
    b'{"a":{"b":"x","b":"y"}}',
    b'{"a":{"b" :"x"}}',
    b'{"a":[ "x"]}',
    b'{"a": {"b" : [ "x" , {"b" : 1 } ] , "c" : { } }}',
    b'{"a":{"c":"\\u0062", "b":"x"}}',
    b'{"a":{"c":"\\u0062", "d":"x"}}',
    b'{"a":{"c":"\\n", "b":"x"}}',
]


@pytest.mark.parametrize("path", ["**.b", "a.b", "a[*]", "**./b/"])
def test_blanks_and_doubled_names_inside(path):
    values = [*BLANKS_INSIDE, *DEEP]
    assert len(agree(chain_of(mask(path)), batch_of(values))) <= 7
    assert len(agree(chain_of(without(path)), batch_of(values))) <= 7


HIDDEN_TWICE = [
    b'{"a":{"x":{"x":1},"x":7}}',
    b'{"a":[{"x":{"y":{"x":{"x":0}},"x":1},"x":7}]}',
    b'{"a":{"b":{"c":{"b":"s"}},"c":"t","b":"u"}}',
    b'{"a":{"b":[{"b":"s"},{"b":"t"}],"b":"u"}}',
]
ONCE_EACH = [
    b'{"a":{"c":{"c":{"b":"s"}},"b":"u"},"c":{"b":"t"}}',
    b'{"a":{"before":{"id":1,"b":"s"},"after":{"id":2,"b":"t"},"id":3,"b":"u"}}',
    b'{"a":[{"b":"s"},{"b":"t"},{"x":{"b":"s"}}]}',
]


def test_a_name_inside_a_container_hides_none_around_it():
    """An object with a name twice, whatever lies between, and equal names at other places."""
    assert agree(chain_of(mask("**.b")), batch_of(ONCE_EACH)) == []
    for path in ("**.b", "**.x", "a.**.x", "**./^[bx]$/"):
        agree(chain_of(mask(path)), batch_of(HIDDEN_TWICE))
        agree(chain_of(without(path)), batch_of([*ONCE_EACH, *HIDDEN_TWICE]))


again = st.sampled_from(["a", "b", "x"])


def twice(value):
    """Objects of few names, which have most of them twice, side by side or around each other."""
    members = st.lists(st.tuples(again, value), min_size=1, max_size=4)
    inside = members.map(lambda parts: "{" + ",".join(f'"{name}":{text}' for name, text in parts) + "}")
    return inside | st.lists(value, max_size=2).map(lambda parts: f"[{','.join(parts)}]")


doubled = st.recursive(st.sampled_from(["1", '"s"', "null", "{}"]), twice, max_leaves=10)


@MANY
@given(
    doubled.map(lambda text: f'{{"a":{text},"id":1}}'.encode()), st.sampled_from(["**.b", "**.x", "a.**.a", "a.x.b"])
)
def test_names_twice_at_any_place(value, path):
    agree(chain_of(mask(path)), batch_of([value]))
    agree(chain_of(without(path), mask("**.a")), batch_of([value]))


KEYS = {
    "two fields": [key_of("id", "b")],
    "a field inside": [key_of("a.b", "id")],
    "an element": [key_of("id", "a[0]")],
}
TEXTS = [
    b'{"a":1}',
    b'"k"',
    b"7",
    b" null ",
    b"",
    None,
    b"1e400",
    b"-0",
    b'"\\ud800"',
    b"[1,",
    b"x",
    b'{"a":1e400}',
]


@pytest.mark.parametrize("stages", KEYS.values(), ids=KEYS)
def test_keys_that_are_objects(stages):
    chain, scalars = (
        chain_of(*stages),
        [b'{"id":1,"a":{"b":"x"},"b":null}', b'{"a":["x",{}],"b":-7}', b"{}", b'{"a":5}'],
    )
    assert agree(chain, batch_of(scalars), key="json") == []
    numbers = [
        f'{{"id":{n},"a":{{"b":{n}}},"b":{n}}}'.encode() for n in ("-0", "0", "1e2", "1.0", "1" * 19, "-" + "1" * 18)
    ]
    agree(chain, batch_of([*scalars, *numbers, *DEEP, *PLAIN]), key="json")
    assert len(agree(chain, batch_of(scalars))) == len(scalars)  # as a text: only the interpreter can write it


@pytest.mark.parametrize("key", TEXTS, ids=repr)
@pytest.mark.parametrize("kind", ["string", "json"])
@pytest.mark.parametrize("topics", [("raw.eu",), ("other",)])
def test_keys_that_are_given(key, kind, topics):
    """A key that cannot be read is a problem, even where the chain makes another one."""
    only = {"predicates": "eu", "predicates.eu.type": "TopicNameMatches", "predicates.eu.pattern": "raw.*"}
    stages = {"k.type": "ValueToKey", "k.fields": "id", "x.type": "ExtractField$Key", "x.field": "id"}
    stages |= {"k.predicate": "eu", "x.predicate": "eu"}
    chain = parse_chain({"transforms": "k,x", **{f"transforms.{name}": v for name, v in stages.items()}, **only})
    values = [b'{"id":1}', b'{"id": 2}', b'{"id":"\xc3\xa9"}']
    assert len(agree(chain, batch_of(values, topics, keys=[b'"x"', key, None]), key=kind)) < 3
    agree(chain, batch_of(values, topics, keys=[b'"\xff"', key, None]), key=kind)


def test_names_that_never_end():
    """More of them than a pattern remembers, each at several places."""
    values = [json.dumps({f"n{n}": 1, "in": {f"n{n}": n, f"m{n}": 2}}).replace(" ", "").encode() for n in range(6000)]
    many = json.dumps({f"n{n}": n for n in range(5000)}).replace(" ", "").encode()
    assert agree(chain_of(mask("**./[37]$/", replacement="7")), batch_of([*values, many, *values[:10]])) == []


def test_the_webhooks():
    """Every one of GitHub's webhooks takes the lane in the demo's chain."""
    chain, count = parse_chain(WEBHOOKS), 0
    for file in sorted(TOPICS.glob("*/*/*.jsonl")):
        lines = list(map(json.loads, file.read_text().splitlines()))
        count += len(lines)
        assert agree(chain, batch_of([line["value"].encode() for line in lines], (lines[0]["topic"],))) == []
    assert count > 300


paths = st.sampled_from(
    """a.b b.a **.a **./a|c/
    * *.a a[0] a[*] b[0].a **.a.b a.**.b /[ab]/ *.*.c **[0] **.`a.b` `a.b`.c **.é **./^$/ a[*].b "
    "**./b/.a c.b.a **.* [0] a.b[1] **.c""".split()
)
deep_lists = st.lists(paths | names, min_size=1, max_size=3).map(",".join)
extended = st.fixed_dictionaries({"field.syntax.version": st.just("extended")})


def both(*parts):
    return st.tuples(*parts).map(lambda parts: {key: value for part in parts for key, value in part.items()})


def one_of(**options):
    return both(extended, st.fixed_dictionaries(options))


to_key = st.lists(st.sampled_from(["a", "b", "c", "a.b", "b.a", "a[0]"]), min_size=1, max_size=2, unique=True)
DEEP_OPTIONS = {
    "MaskField": both(extended, st.fixed_dictionaries({"fields": deep_lists}, optional={"replacement": st.just("7")})),
    "Cast": both(
        extended,
        st.lists(
            st.tuples(paths | names, st.sampled_from("int8 float64 boolean string".split())), min_size=1, max_size=2
        ).map(lambda parts: {"spec": ",".join(map(":".join, parts))}),
    ),
    "ReplaceField": one_of(exclude=deep_lists) | OPTIONS["ReplaceField"],
    "TimestampConverter": both(
        extended,
        st.fixed_dictionaries(
            {"field": paths, "target.type": st.sampled_from(["string", "unix"]), "format": st.just("yyyy-MM-dd")}
        ),
    ),
    "InsertField": OPTIONS["InsertField"],
    "RegexRouter": OPTIONS["RegexRouter"],
    "ValueToKey": one_of(fields=to_key.map(",".join)),
    "ExtractField$Key": one_of(field=st.sampled_from(["a", "b", "a", "a.b", "b.a"])),
}
FIRST = [[], [], ["ValueToKey"], ["ValueToKey", "ExtractField$Key"], ["MaskField", "ValueToKey", "ExtractField$Key"]]


commas = st.sampled_from([",", ",", ", "])


def tight(value):
    """Most values inside are without blanks; some have doubled names."""
    members = st.lists(st.tuples(names, value), max_size=4, unique_by=lambda pair: pair[0]) | st.lists(
        st.tuples(names, value), max_size=2
    )
    inside = st.tuples(members, commas).map(
        lambda parts: "{" + parts[1].join(f'"{name}":{text}' for name, text in parts[0]) + "}"
    )
    return inside | st.tuples(st.lists(value, max_size=3), commas).map(lambda parts: f"[{parts[1].join(parts[0])}]")


nested = st.recursive(spelled, tight, max_leaves=12)
deep_objects = st.lists(st.tuples(names, nested), min_size=1, max_size=4, unique_by=lambda pair: pair[0]).map(
    lambda parts: "{" + ",".join(f'"{name}":{text}' for name, text in parts) + "}"
)
deep_records = st.lists(deep_objects.map(str.encode), min_size=1, max_size=5)


@MANY
@given(chains(DEEP_OPTIONS, FIRST), deep_records, st.sampled_from(["string", "json"]))
def test_any_deep_chain_on_any_records(chain, values, key):
    if program(chain) is not None:
        agree(chain, batch_of(values, ("orders", "orders-eu")), key=key)


def test_most_random_deep_chains_and_many_records_take_the_lane():
    seen = []

    @settings(max_examples=300, database=None)
    @given(chains(DEEP_OPTIONS, FIRST), deep_objects)
    def look(chain, text):
        if program(chain) is not None:
            seen.append(len(agree(chain, batch_of([text.encode()]))))
        else:
            seen.append(2)

    look()
    assert seen.count(2) < len(seen) / 4, seen.count(2) / len(seen)
    assert seen.count(0) > len(seen) / 5, seen.count(0) / len(seen)
