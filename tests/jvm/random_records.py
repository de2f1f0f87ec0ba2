"""Random chains and records for the JVM lane."""

import json

from hypothesis import strategies as st

from dagster_smt.chain import parse_chain
from dagster_smt.predicates.record_is_tombstone import RecordIsTombstone
from dagster_smt.predicates.topic_name_matches import TopicNameMatches
from tests.random_chains import configured, joined, parsed, topics

PLAIN = [
    b'{"id":1,"note":"x","ref":"y","amount":"12.5","status":"new","device":"d","ts":1556204536123,"n":7,"m":[1,{}]}',
    b' { "note" : "" , "other" : [ 1 , {"a" : null} ] , "status":"new", "last":true } ',
    b'{"note":null,"ref":5,"amount":1e3,"ts":null,"origin":"own","topic":1,"zz":"\\n\\u00e9\\\\"}',
    b'{"note":true,"ref":-0.5,"device":{},"state":"old","n":9223372036854775807}',
    '{"é":1,"note":"ü","":2,"status":"\\""}'.encode(),
    b"{}",
    b'{"a":[],"b":{},"c":-0,"d":1E+2,"e":0.10,"f":123456789012345678901234567890}',
    b'{"note":[1],"ref":{"a":[]},"amount":7}',
]

names = st.sampled_from(["a", "b", "c", "a.b", "é", ""])
lists = st.lists(names, min_size=1, max_size=3).map(",".join)
OPTIONS = {
    "MaskField": st.fixed_dictionaries({"fields": lists}, optional={"replacement": st.sampled_from(["*", "7"])}),
    "Cast": st.fixed_dictionaries(
        {"spec": st.lists(st.tuples(names, st.sampled_from("int8 int64 float32 float64 boolean string".split())))}
    ).map(lambda parts: {"spec": ",".join(map(":".join, parts["spec"]))}),
    "TimestampConverter": st.fixed_dictionaries(
        {"field": names, "target.type": st.sampled_from(["string", "unix", "Date", "Time", "Timestamp"])}
        | {"format": st.sampled_from(["yyyy-MM-dd"])}
    ),
    "ReplaceField": st.fixed_dictionaries(
        {},
        optional={
            "exclude": lists,
            "include": lists,
            "renames": st.lists(st.tuples(names, names), max_size=3).map(lambda pairs: ",".join(map(":".join, pairs))),
        },
    ),
    "InsertField": st.dictionaries(
        st.sampled_from([f"{source}.field" for source in ("topic", "partition", "offset", "timestamp", "static")]),
        names,
        min_size=1,
    ).map(lambda parts: parts | {"static.value": "7"}),
    "TimestampRouter": st.fixed_dictionaries({"timestamp.format": st.sampled_from(["yyyyMMdd", "HH-mm.SSS", "y-M"])}),
    "Filter": st.just({}),
    "HoistField": st.fixed_dictionaries({"field": names}, optional={"hoisted": names}),
    "Flatten": st.fixed_dictionaries({}, optional={"delimiter": st.sampled_from(["_", "", 'a"\\'])}),
    "ExtractField": st.fixed_dictionaries({"field": names}),
    "RegexRouter": st.fixed_dictionaries({"regex": topics, "replacement": st.sampled_from(["x", "$1", "a-$1"])}),
}


def on(kind):
    """The class and side of a stage."""
    return (
        kind
        if kind in ("Filter", "RegexRouter", "TimestampRouter", "ValueToKey")
        else f"{kind}{'' if '$' in kind else '$Value'}"
    )


@st.composite
def chains(draw, options=OPTIONS, first=()):
    """Chains of the stages that the lane runs: those of ``first``, then others, by their options."""
    results = {}
    kinds = [*draw(st.sampled_from(first))] if first else []
    others = [kind for kind in options if "Key" not in kind]
    kinds += draw(st.lists(st.sampled_from(others), min_size=1, max_size=5))
    for number, kind in enumerate(kinds):
        alias = f"t{number}"
        prefix = f"transforms.{alias}"
        stage = {f"{prefix}.type": on(kind)}
        stage |= {f"{prefix}.{key}": value for key, value in draw(options[kind]).items()}
        if draw(st.integers(0, 3)) == 0:
            condition = draw(st.sampled_from([TopicNameMatches, RecordIsTombstone]))
            stage |= {f"{prefix}.predicate": f"p{alias}", f"predicates.p{alias}.type": condition.connect_class}
            stage |= configured(draw, condition, f"predicates.p{alias}")
            stage |= {f"{prefix}.negate": "true"} if draw(st.booleans()) else {}
        if parsed(joined({alias: stage})) is not None:
            results[alias] = stage
    return parse_chain(joined(results))


blanks = st.sampled_from(["", "", "", " ", "\n\t"])
spelled = st.sampled_from(
    '1 -0 -0.0 1.0 0.1e1 1E5 1e400 12345678901234567890 true false null "" "x" "7" "2020-01-01" "\\u0041" [] {} '
    '[1,"x"] {"a":1} {"a":{"b":{},"":7},"c":[{"a":1}]} "\\ud800" "é" tru 01 nan'.split()
)
members = st.tuples(blanks, names.map(json.dumps) | names.map(lambda n: f'"{n}"'), blanks, blanks, spelled, blanks)
objects = st.lists(members, max_size=6).map(
    lambda parts: "{" + ",".join(f"{a}{name}{b}:{c}{value}{d}" for a, name, b, c, value, d in parts) + "}"
)


@st.composite
def broken(draw):
    """An object with one byte changed, left out or doubled."""
    text = draw(objects).encode()
    at, byte = draw(st.integers(0, len(text) - 1)), bytes([draw(st.integers(0, 255))])
    return draw(
        st.sampled_from([text[:at] + byte + text[at + 1 :], text[:at] + text[at + 1 :], text[: at + 1] + text[at:]])
    )
