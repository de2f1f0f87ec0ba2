"""Random chains of all transforms on random records: everything that goes wrong is a problem with a code, and no
problem quotes what was in a record."""

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.registry import predicates, transforms
from dagster_smt.errors import ConfigError, PlanError, SmtError, UnsupportedError
from dagster_smt.interpret.interpreter import FAILED, KEPT, Interpreter
from dagster_smt.model.format import Format
from dagster_smt.model.record import Header, Record
from dagster_smt.model.schema import Schema, Type, date, decimal, time, timestamp

SECRET = "sEcReT"  # in every text of a record
EXAMPLES = settings(max_examples=settings.default.max_examples * 3, suppress_health_check=list(HealthCheck))

# -- chains ------------------------------------------------------------------------------------------------------------

some = st.sampled_from
names = some(["a", "b", "c", "a.b", "b.c", "none", "", "`a.b`", "a.", "`a"])
paths = names | some(
    [
        "a.b.c",
        "a[0]",
        "a[*].b",
        "*",
        "**.b",
        "a['b']",
        "/^[ab]/",
        "a./b/i.c",
        "type(string)",
        "**.type(int32)",
        "logical(Date)",
        "a[",
        "**",
    ]
)
lists = st.lists(paths, max_size=3).map(",".join)
types = some("int8 int16 int32 int64 float32 float64 boolean string INT8 bytes".split())
flags = some(["true", "false", "maybe"])
topics = some(["orders", "a|b", "(.*)", "o(.).*", "(", ".*-eu"])
texts = some(["", "x", "***", "7", "300", "1e400", "-1.5", "null", "[1,2]", '{"a":1}', "2020-01-01", "true"])
SHARED = {
    "field.syntax.version": some(["V1", "V2", "extended", "v2"]),
    "strict_paths": some(["relaxed", "kafka"]),
    "replace.null.with.default": flags,
}
REQUIRED = {
    "Cast": {"spec": st.lists(st.tuples(paths, types).map(":".join), max_size=3).map(",".join) | types},
    "DropHeaders": {"headers": lists},
    "ExtractField": {"field": paths},
    "HeaderFrom": {"fields": lists, "headers": lists, "operation": some(["move", "copy"])},
    "HoistField": {"field": paths},
    "InsertHeader": {"header": names, "value.literal": texts},
    "MaskField": {"fields": lists},
    "RegexRouter": {"regex": topics, "replacement": some(["x", "$1", "$2", "", "a-$1", "${n}"])},
    "TimestampConverter": {"target.type": some(["string", "unix", "Date", "Time", "Timestamp"])},
    "ValueToKey": {"fields": lists},
    "HasHeaderKey": {"name": names},
    "TopicNameMatches": {"pattern": topics},
}
inserted = st.tuples(paths, some(["", "!", "?"])).map("".join)
FREE = {
    "Flatten": {"delimiter": some([".", "_", ""])},
    "HoistField": {"hoisted": paths},
    "InsertField": {f"{source}.field": inserted for source in ("topic", "partition", "offset", "timestamp", "static")}
    | {
        "static.value": texts,
        "field.on.missing.parent": some(["create", "ignore"]),
        "field.on.existing.field": some(["overwrite", "ignore"]),
    },
    "MaskField": {"replacement": texts},
    "ReplaceField": {
        "exclude": lists,
        "include": lists,
        "renames": st.lists(st.tuples(paths, names).map(":".join), max_size=2).map(",".join),
    },
    "SetSchemaMetadata": {"schema.name": texts, "schema.version": texts},
    "TimestampConverter": {
        "field": paths,
        "fields": lists,
        "format": some(["yyyy-MM-dd", "HH:mm:ss.SSS", "x", "b"]),
        "unix.precision": some(["seconds", "milliseconds", "microseconds", "nanoseconds"]),
    },
    "TimestampRouter": {
        "topic.format": some(["${topic}", "${topic}-${timestamp}", ""]),
        "timestamp.format": some(["yyyy", "b"]),
    },
}


def configured(draw, cls, prefix):
    """Random options of a class; required ones nearly always."""
    free = {k: v for k, v in SHARED.items() if k in cls.keys()} | FREE.get(cls.__name__, {})
    options = {k: draw(v) for k, v in REQUIRED.get(cls.__name__, {}).items()}
    options |= {k: draw(v) for k, v in free.items() if draw(st.integers(0, 2)) == 0}
    return {f"{prefix}.{k}": v for k, v in options.items()}


@st.composite
def stages(draw, alias):
    """The properties of one stage, without the lists of aliases."""
    cls, prefix = draw(some(list(transforms().values()))), f"transforms.{alias}"
    side = draw(some(["$Value", "$Value", "$Value", "$Key"])) if cls.sided else ""
    found = {f"{prefix}.type": cls.connect_class + side, **configured(draw, cls, prefix)}
    if draw(st.integers(0, 3)) == 0:
        condition = draw(some(list(predicates().values())))
        found |= {f"{prefix}.predicate": f"p{alias}", f"predicates.p{alias}.type": condition.connect_class}
        found |= configured(draw, condition, f"predicates.p{alias}")
        found |= {f"{prefix}.negate": "true"} if draw(st.booleans()) else {}
    return found


def joined(found):
    """The properties of a chain of stages, by alias."""
    properties = {k: v for stage in found.values() for k, v in stage.items()}
    conditions = [f"p{alias}" for alias, stage in found.items() if f"transforms.{alias}.predicate" in stage]
    return properties | {"transforms": ",".join(found), "predicates": ",".join(conditions)}


@st.composite
def chains(draw):
    """A chain of the stages that can be parsed, out of some random ones."""
    found = {}
    for number in range(draw(st.integers(1, 6))):
        stage = draw(stages(f"t{number}"))
        if parsed(joined({f"t{number}": stage})) is not None:
            found[f"t{number}"] = stage
    return parse_chain(joined(found))


def parsed(properties):
    """The chain, or None; broken properties must be refused in an orderly way."""
    try:
        return parse_chain(properties)
    except ConfigError as error:
        for problem in error.problems:
            check_problem(problem)
        return None


def check_problem(problem):
    assert re.fullmatch(r"SMT\d{3}", problem.code) and problem.code != "SMT999"
    assert problem.statement and SECRET not in str(problem)


# -- records -----------------------------------------------------------------------------------------------------------

fields = some(["a", "b", "c", "a.b", ""])
secrets = st.text(max_size=3).map(lambda text: SECRET + text)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | secrets
    | st.just("2020-01-01")
)
values = st.recursive(scalars, lambda v: st.lists(v, max_size=2) | st.dictionaries(fields, v, max_size=3), max_leaves=8)
documents = (st.dictionaries(fields, values, max_size=4) | values).map(lambda v: json.dumps(v).encode()) | some(
    [None, b"", b"{", b'{"a":01}', b'{"a":"\\ud800"}']
)

SCALARS = {
    Type.BOOLEAN: st.booleans(),
    Type.STRING: secrets | st.just("7"),
    Type.BYTES: some(["AQI=", "", "*"]),
    Type.FLOAT32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    Type.FLOAT64: st.floats(allow_nan=False, allow_infinity=False),
    Type.INT8: st.integers(-128, 127),
    Type.INT16: st.integers(-(2**15), 2**15 - 1),
    Type.INT32: st.integers(0, 2**26),
    Type.INT64: st.integers(-(2**63), 2**63 - 1),
}


def structs(inner):
    """Structs of some fields, each optional or not."""
    members = st.tuples(inner, st.booleans()).map(lambda m: m[0].with_(optional=m[1]))
    return st.dictionaries(some(["a", "b", "c", "a.b"]), members, min_size=1, max_size=3).map(
        lambda found: Schema(Type.STRUCT, fields=tuple(found.items()))
    )


plain = some([*map(Schema, SCALARS), decimal(2), date(), time(), timestamp()])
typed = st.recursive(
    plain,
    lambda s: (
        st.builds(lambda v: Schema(Type.ARRAY, values=v), s)
        | st.builds(lambda v: Schema(Type.MAP, keys=Schema(Type.STRING), values=v), s)
        | structs(s)
    ),
    max_leaves=6,
)


def payload(draw, schema):
    """A JSON value that fits a schema (nearly always)."""
    if schema.optional and draw(st.booleans()):
        return None
    if schema.logical == "Decimal":
        return draw(some(["AQI=", "AA==", "////////////////////////"]))
    if schema.type is Type.ARRAY:
        return [payload(draw, schema.values) for _ in range(draw(st.integers(0, 2)))]
    if schema.type is Type.MAP:
        return {draw(fields): payload(draw, schema.values) for _ in range(draw(st.integers(0, 2)))}
    if schema.type is Type.STRUCT:
        return {name: payload(draw, child) for name, child in schema.fields}
    return draw(SCALARS[schema.type])


def record():
    return Record(
        "orders",
        1,
        7,
        1_556_204_536_123,
        "CreateTime",
        headers=[Header("a", None, SECRET, SECRET.encode(), made=False)],
    )


# -- properties --------------------------------------------------------------------------------------------------------


def test_every_option_is_drawn():
    for cls in (*transforms().values(), *predicates().values()):
        if cls.__module__.startswith("dagster_smt."):
            drawn = {*SHARED, *REQUIRED.get(cls.__name__, {}), *FREE.get(cls.__name__, {})}
            assert set(cls.keys()) <= drawn, cls.__name__


@EXAMPLES
@given(st.tuples(stages("a"), stages("b")))
def test_a_chain_is_refused_or_comes_back_from_its_own_text(found):
    chain = parsed(joined(dict(zip("ab", found, strict=True))))
    if chain is not None:
        assert parse_chain(chain.properties) == chain == parse_chain(chain.to_stages())
        assert parse_chain(chain.to_stages()).hash == chain.hash


@EXAMPLES
@given(chains(), documents, documents)
def test_records_without_a_schema(chain, key, value):
    for form in (Format(), Format("string")):
        outcome, _, _ = Interpreter(chain, form, Format()).process(record(), key, value)
        if outcome.status == FAILED:
            check_problem(outcome.problem)


@EXAMPLES
@given(chains(), structs(typed) | structs(typed) | typed, st.data())
def test_records_with_a_schema(chain, schema, data):
    process, kept = Interpreter(chain, None, Format("json_schema", schema)).process, []
    for value in (payload(data.draw, schema), payload(data.draw, schema)):
        given = record()
        outcome, _, _ = process(given, b"k", json.dumps(value).encode())
        if outcome.status == FAILED:
            check_problem(outcome.problem)
        elif outcome.status == KEPT:
            kept.append(given)
    check_plan(chain, schema, kept)


def check_plan(chain, schema, kept):
    """What the plan foretells holds for every record that went through."""
    key = Schema(Type.STRING, optional=True)
    try:
        plan = plan_chain(chain, key, schema, topics=("orders",), typed=True)
    except UnsupportedError:
        return
    except PlanError as error:
        for problem in error.problems:
            check_problem(problem)
        assert all(out.value is None for out in kept)  # what passes nulls is planned for the rest
        return
    foretold = [(r.key and r.key.schema, r.value and r.value.schema) for r in plan.results.values()]
    for out in kept:
        if out.value is not None:
            assert (out.key_schema, out.value_schema) in foretold
    roots = {"value", "key", "topic", "partition", "offset", "timestamp", "headers"}
    assert {source.split(".")[0] for sources in plan.lineage.values() for source in sources} <= roots
    assert plan.explain()
    try:
        assert plan.after is None or set(plan.lineage) >= set(plan.masked)
    except SmtError as error:
        for problem in error.problems:
            check_problem(problem)


@pytest.mark.parametrize("depth", [100, 900, 5_000])
@pytest.mark.parametrize("stage", ["HeaderFrom", "ValueToKey", "MaskField", "Flatten"])
def test_deep_values_are_taken_or_refused(stage, depth):
    options = {"HeaderFrom": {"fields": "a", "headers": "h", "operation": "copy"}, "Flatten": {}}.get(
        stage, {"fields": "a"}
    )
    chain = parse_chain(
        [{"alias": "t", "type": stage + ("" if stage == "ValueToKey" else "$Value"), "options": options}]
    )
    value = b'{"a":' * depth + b"1" + b"}" * depth
    outcome, _, _ = Interpreter(chain).process(record(), None, value)
    assert outcome.status in (KEPT, FAILED)
    if outcome.status == FAILED:
        assert outcome.problem.statement == "the JSON is nested too deeply"
