"""Nested paths of every form: the Spark evaluator and the Python evaluator give the same results."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain
from dagster_smt.model.paths.extended import route_text
from dagster_smt.model.paths.steps import Every, Index, Match
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Schema, Type
from tests.spark.made_up import NAMES, TOPICS, Example, payloads, structs
from tests.spark.test_evaluators_agree import SLOW, compare
from tests.spark.test_every_row import Group, on_spark

EXTENDED = {"field.syntax.version": "extended"}
CASTS = ("int8", "int64", "float64", "boolean", "string")
TARGETS = ("unix", "string", "Date", "Timestamp")
ANYWHERE = ["**.a", "**.é", "**./^[a-f]/", "**.type(string)", "**.logical(Timestamp)", "**[0]", "*", "zz.a"]


def routes(schema):
    """Every place in a schema, elements and map values as [*]."""
    children = schema.fields if schema.type is Type.STRUCT else ()
    if schema.values is not None and (schema.type is Type.ARRAY or schema.keys.type is Type.STRING):
        children = ((Every(), schema.values),)
    for step, child in children:
        yield (step,)
        yield from ((step, *below) for below in routes(child))


def nested_paths(schema):
    """Paths to places in a schema, with names, elements, keys and patterns, and some that lead to many or nowhere."""
    some = st.sampled_from(list(routes(schema)))
    forms = st.sampled_from([None, Index(0), Index(-1), Match("[a-d]")])
    result = st.builds(_varied, some, forms, st.sampled_from(NAMES))
    deep = some.map(lambda route: "**." + route_text(route[-1:]) if isinstance(route[-1], str) else "**[*]")
    return st.one_of(result, result, result, deep, st.sampled_from(ANYWHERE))


def _varied(route, form, key):
    """A route with its elements chosen otherwise; [*] of a map may become one key."""
    chosen = key if isinstance(form, Match) else form or Every()
    steps = [chosen if isinstance(step, Every) else step for step in route]
    if isinstance(form, Match) and isinstance(route[-1], str):
        steps[-1] = form
    return route_text(tuple(steps)).replace(".**", "**")


def single_paths(schema):
    """Paths that lead to one field at most."""
    return st.sampled_from(list(routes(schema))).map(
        lambda route: route_text(tuple(Index(0) if isinstance(s, Every) else s for s in route))
    )


def nested_stages(schema):
    """One stage with paths of the extended syntax."""
    path = nested_paths(schema)
    some = st.lists(path, min_size=1, max_size=2, unique=True)
    single = single_paths(schema)
    nulls = st.sampled_from([{}, {"replace.null.with.default": False}])
    insert = st.lists(st.sampled_from(["a", "é", "nested", "x"]), min_size=2, max_size=3).map(".".join)
    policies = st.sampled_from([{}, {"field.on.missing.parent": "ignore"}, {"field.on.existing.field": "ignore"}])
    results = {
        "MaskField$Value": (some.map(lambda f: {"fields": f}), nulls),
        "Cast$Value": (st.builds(lambda f, t: {"spec": [f"{f}:{t}"]}, path, st.sampled_from(CASTS)), nulls),
        "TimestampConverter$Value": (st.builds(_time, path, st.sampled_from(TARGETS)), nulls),
        "ReplaceField$Value": (st.one_of(some.map(_excluded), some.map(_included), path.map(_renamed)), nulls),
        "HoistField$Value": (path.map(lambda p: {"hoisted": p, "field": "w"}),),
        "ExtractField$Value": (single.map(lambda p: {"field": p}), nulls),
        "HeaderFrom$Value": (single.map(lambda p: {"fields": [p], "headers": ["h"], "operation": "move"}), nulls),
        "ValueToKey": (single.map(lambda p: {"fields": [p]}), nulls),
        "InsertField$Value": (insert.map(lambda p: {"static.field": p, "static.value": "v"}), policies, nulls),
    }
    kinds = [(st.just(kind), *parts) for kind, parts in results.items()]
    return st.one_of(*(st.tuples(*parts) for parts in kinds)).map(_stage)


def _stage(parts):
    options = {key: value for part in parts[1:] for key, value in part.items()}
    return {"type": parts[0], "options": options | EXTENDED}


def _time(path, target):
    return {"fields": [path], "target.type": target, "format": "yyyy-MM-dd"}


def _excluded(paths):
    return {"exclude": paths}


def _included(paths):
    return {"include": paths}


def _renamed(path):
    return {"renames": [f"{path}:renamed"]}


@st.composite
def nested_examples(draw, rows=6):
    """A schema with structs, arrays and maps, one or two stages, and records that fit."""
    schema = draw(structs(3))
    stages = draw(st.lists(nested_stages(schema), min_size=1, max_size=2))
    chain = [{"alias": f"s{number}", **stage} for number, stage in enumerate(stages)]
    values = st.lists(payloads(schema).map(lambda v: json.dumps(v).encode()), min_size=rows, max_size=rows)
    return Example(schema, chain, [(value, "orders", ()) for value in draw(values)])


@SLOW
@given(example=nested_examples())
def test_random_nested_paths_agree(spark, example):
    compare(spark, example, TOPICS)


def struct(**fields):
    return Schema(Type.STRUCT, optional=True, fields=tuple(fields.items()))


TEXT, NUMBER = Schema(Type.STRING, optional=True), Schema(Type.INT64, optional=True)
ITEM = struct(sku=TEXT, price=TEXT, n=NUMBER)
DEEP = struct(
    items=Schema(Type.ARRAY, True, values=ITEM),
    attrs=Schema(Type.MAP, True, keys=Schema(Type.STRING), values=TEXT),
    rows=Schema(Type.ARRAY, True, values=Schema(Type.ARRAY, True, values=ITEM)),
)
ROWS = [
    b'{"items":[{"sku":"a","price":"1.5","n":7},null,{"sku":null,"price":"x","n":1}],"attrs":{"a":"1","b":null}}',
    b'{"items":[],"attrs":{},"rows":[[{"sku":"s","price":"3"}],[],null]}',
    b'{"items":null,"rows":[[null,{"price":"4","n":2}]]}',
    b'{"attrs":{"b":"x","a":"y"},"rows":null}',
]
CHAINS = [
    [
        ("MaskField$Value", {"fields": "items[-1].sku,attrs./b/,rows[0][*].price", "replacement": "*"}),
        ("Cast$Value", {"spec": "items[*].price:float64,rows[*][*].n:string"}),
        ("HoistField$Value", {"hoisted": "rows[*][*].n", "field": "w"}),
        ("HeaderFrom$Value", {"fields": "attrs.a,items[0].n", "headers": "a,n", "operation": "copy"}),
        ("ReplaceField$Value", {"exclude": "items[0],attrs.b,rows[*][*].sku"}),
    ],
    [
        ("TimestampConverter$Value", {"field": "**.n", "target.type": "string", "format": "yyyy"}),
        ("ReplaceField$Value", {"renames": "attrs./^(.)$/:k_$1,**.sku:code"}),
        ("Cast$Value", {"spec": "attrs[*]:int32"}),
    ],
    [
        ("TimestampConverter$Value", {"fields": "**.price", "target.type": "unix", "format": "y"}),
        ("ReplaceField$Value", {"include": "items[*].n,attrs.a"}),
        ("ReplaceField$Value", {"exclude": "items[*].n"}),
    ],
    [("ValueToKey", {"fields": "attrs.a,items[0]"}), ("ExtractField$Value", {"field": "rows[0][-1].price"})],
]


@pytest.mark.parametrize("stages", CHAINS, ids=lambda stages: "-".join(name.split("$")[0] for name, _ in stages))
def test_arrays_and_maps_agree(spark, stages):
    """Every transform inside arrays and maps, values that fail and rules that run in Python among them."""
    chain = [{"alias": f"s{n}", "type": t, "options": o | EXTENDED} for n, (t, o) in enumerate(stages)]
    compare(spark, Example(DEEP, chain, [(row, "orders", ()) for row in ROWS]))


INNER, FRACTION = struct(r=TEXT), Schema(Type.FLOAT64, optional=True)
FILLED = struct(
    p=struct(q=INNER, x=NUMBER).with_(default={"q": {"r": "a"}, "x": 1}),
    m=Schema(Type.MAP, True, keys=Schema(Type.STRING), values=struct(r=TEXT, d=FRACTION)),
    a=Schema(Type.ARRAY, True, values=struct(d=FRACTION)),
    f=Schema(Type.MAP, True, keys=Schema(Type.STRING), values=struct(q=INNER).with_(default={"q": {"r": "f"}})),
)
FILLED_ROWS = [
    b'{"p":null,"m":{"k":{"r":"a","d":1.5}}}',
    b'{"p":{"q":null,"x":2},"m":{"k":null}}',
    b'{"p":{"q":{"r":"k"},"x":2},"m":{"k":{"r":null,"d":2}},"a":[{"d":3}],"f":{"k":{"q":{"r":"x"}}}}',
    b'{"p":{"q":{"r":null}}}',
]
NULLS_STAY = {"replace.null.with.default": False}
FILLED_CHAINS = [
    [("MaskField$Value", {"fields": "p.q.r"} | NULLS_STAY), ("MaskField$Value", {"fields": "p.x"})],
    [("MaskField$Value", {"fields": "p.q.r"}), ("ExtractField$Value", {"field": "p.q"})],
    [("InsertField$Value", {"topic.field": "p.q.t"}), ("ReplaceField$Value", {"renames": "p.q.r:z"})],
    [("MaskField$Value", {"fields": "p.q.r"} | NULLS_STAY), ("ValueToKey", {"fields": "p.q"})],
    [("ExtractField$Value", {"field": "p.q.r"})],
    [("ExtractField$Value", {"field": "f.k.q"}), ("ReplaceField$Value", {"renames": "r:z"})],
]


@pytest.mark.parametrize("stages", FILLED_CHAINS, ids=lambda stages: "-".join(name.split("$")[0] for name, _ in stages))
def test_structs_inside_a_struct_with_a_default_agree(spark, stages):
    """The records have nulls, as records in Avro have: a reader of JSON would put the default in their place."""
    chain = parse_chain([{"alias": f"s{n}", "type": t, "options": o | EXTENDED} for n, (t, o) in enumerate(stages)])
    rows = []
    for number, text in enumerate(FILLED_ROWS):
        value = dict.fromkeys(FILLED.by_name) | json.loads(text)
        record = Record("orders", 0, number, 0, "CreateTime", value_schema=FILLED, value=value)
        rows.append((f"row {number}", record))
    assert on_spark(spark, Group(chain, rows)) == []


@pytest.mark.parametrize("field", ["m.k", "m.k.r", "m.k.d", "a[0].d", "p", "p.q"])
def test_what_a_predicate_reads_as_a_text_agrees(spark, field):
    options = {"field": field, "value.pattern": ".*[a3].*"} | EXTENDED
    predicate = {"name": "p", "type": "FieldValueMatches", "options": options}
    chain = [{"alias": "f", "type": "Filter", "predicate": predicate}]
    compare(spark, Example(FILLED, chain, [(row, "orders", ()) for row in FILLED_ROWS]))
