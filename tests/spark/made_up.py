"""Random schemas, records and chains for comparing the two evaluators."""

import base64
import json
from dataclasses import dataclass

from hypothesis import strategies as st

from dagster_smt.model.schema import Schema, Type, date, decimal, optional, time, timestamp
from dagster_smt.values.cast import DAY

NAMES = ("a", "b c", "d.e", "é", "`x`", "f0", "nested", "ts", "present", "value", "in_x", "c1")
TOPICS = ("orders", "orders-eu", "x")
LIMITS = {Type.INT8: 7, Type.INT16: 15, Type.INT32: 31, Type.INT64: 63}
SIMPLE = (
    *(Schema(t) for t in Type if t not in (Type.ARRAY, Type.MAP, Type.STRUCT)),
    decimal(2),
    date(),
    time(),
    timestamp(),
)
_DEFAULTS = {Type.STRING: "none", Type.BOOLEAN: True, Type.FLOAT32: 0.5, Type.FLOAT64: 1.5, Type.BYTES: b"x"}


def _flavour(schema, wish):
    """A schema as it is, optional, or with a default."""
    if wish == "default" and schema.logical is None and schema.type not in (Type.ARRAY, Type.MAP, Type.STRUCT):
        return schema.with_(optional=True, default=_DEFAULTS.get(schema.type, 7))
    return optional(schema) if wish == "optional" else schema


flavours = st.sampled_from(["required", "optional", "optional", "default"])
simple = st.builds(_flavour, st.sampled_from(SIMPLE), flavours)


def structs(depth, names=NAMES):
    """Schemas of structs; fields may be structs, arrays and maps down to a depth."""
    return st.lists(st.sampled_from(names), min_size=1, max_size=5, unique=True).flatmap(
        lambda found: st.tuples(*(_fields(depth) for _ in found)).map(
            lambda schemas: Schema(Type.STRUCT, fields=tuple(zip(found, schemas, strict=True)))
        )
    )


def _fields(depth):
    if depth == 0:
        return simple
    below = st.builds(_flavour, structs(depth - 1), st.sampled_from(["required", "optional"]))
    arrays = st.builds(lambda v: Schema(Type.ARRAY, True, values=v), _fields(depth - 1))
    maps = st.builds(
        lambda k, v: Schema(Type.MAP, True, keys=k, values=v),
        st.sampled_from([Schema(Type.STRING), Schema(Type.STRING), Schema(Type.INT32)]),
        _fields(depth - 1),
    )
    return st.one_of(simple, simple, simple, below, arrays, maps)


def payloads(schema):
    """JSON values that fit a schema."""
    fitting = _payloads(schema)
    if schema.optional:
        return st.one_of(fitting, fitting, st.none())
    return fitting


def _payloads(schema):
    if schema.logical == "Decimal":
        return st.integers(-(10**9), 10**9).map(_unscaled)
    if schema.logical == "Date":
        return st.integers(-30_000, 60_000)
    if schema.logical == "Time":
        return st.integers(0, DAY - 1)
    if schema.logical == "Timestamp":
        return st.integers(-(10**13), 10**13)
    if schema.type in LIMITS:
        limit = 1 << LIMITS[schema.type]
        return st.one_of(st.integers(-limit, limit - 1), st.sampled_from([-limit, limit - 1, 0]))
    return _others(schema)


def _others(schema):
    if schema.type is Type.STRUCT:
        return st.fixed_dictionaries({name: payloads(child) for name, child in schema.fields})
    if schema.type is Type.ARRAY:
        return st.lists(payloads(schema.values), max_size=3)
    if schema.type is Type.MAP and schema.keys.type is Type.STRING:
        return st.dictionaries(st.sampled_from(NAMES), payloads(schema.values), max_size=2)
    if schema.type is Type.MAP:
        pairs = st.tuples(st.integers(-9, 9), payloads(schema.values)).map(list)
        return st.lists(pairs, max_size=2, unique_by=lambda pair: pair[0])
    return {
        Type.BOOLEAN: st.booleans(),
        Type.STRING: st.one_of(texts, st.sampled_from(["12", " 7", "-1.5e3", "true", "2020-02-30", '{"a":1}', "[]"])),
        Type.BYTES: st.binary(max_size=4).map(lambda data: base64.b64encode(data).decode()),
        Type.FLOAT32: st.floats(width=32, allow_nan=False, allow_infinity=False),
        Type.FLOAT64: st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-9, 9)),
    }[schema.type]


texts = st.text(st.characters(codec="utf-8"), max_size=6)


def _unscaled(number):
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()


MISFITS = (1, 1.5, True, "x", "12", [], {}, [1], {"a": 1}, None, 2**70, "AQ==")
BROKEN = (
    "{text}x",
    "{text} {text}",
    "{text}]",
    "{text}]}}",
    "[{text}]",
    "{text},{text}",
    '{text}],"v":[{text}',
    "",
    " ",
    "null",
    "NaN",
)
BROKEN_BYTES = (
    b'{"a":"\xff"}',
    b"\xef\xbb\xbf{}",
    b'{"a":"\\ud800"}',
    b'{"a":01}',
    b"{'a':1}",
    b'{"a":"\t"}',
    b"{} //",
)


def texts_of(schema):
    """JSON texts for a schema: most fit, some do not, some are no JSON."""
    fitting = payloads(schema.with_(optional=False))
    bent = st.tuples(fitting, st.integers(0, 999), st.sampled_from(MISFITS)).map(lambda t: _bent(*t))
    cut = st.tuples(fitting, st.integers(0, 40)).map(lambda t: _text(t[0])[: t[1]].encode())
    broken = st.tuples(fitting, st.sampled_from(BROKEN)).map(lambda t: t[1].replace("{text}", _text(t[0])).encode())
    good = fitting.map(lambda value: _text(value).encode())
    return st.one_of(
        good, good, good, good, bent.map(lambda v: _text(v).encode()), broken, cut, st.sampled_from(BROKEN_BYTES)
    )


def _text(value):
    return json.dumps(value, ensure_ascii=False)


def _bent(value, where, misfit):
    """A value with one part replaced, dropped or added."""
    if isinstance(value, dict) and value and where % 7:
        name = sorted(value)[where % len(value)]
        if where % 5 == 1:
            return {k: v for k, v in value.items() if k != name}
        return {**value, name: _bent(value[name], where // 7, misfit)}
    if isinstance(value, list) and value and where % 7:
        return [_bent(value[0], where // 7, misfit), *value[1:]]
    return {**value, "unknown": misfit} if isinstance(value, dict) and where % 2 else misfit


@dataclass(frozen=True)
class Example:
    """A schema, a chain, and records (value as bytes, topic, names of headers)."""

    schema: Schema
    stages: list
    rows: list


def paths_of(schema):
    """Names of the top level, dotted paths below, and one that is not there."""
    found = [name for name, _ in schema.fields]
    for name, child in schema.fields:
        if child.type is Type.STRUCT:
            found += [f"{_quoted(name)}.{_quoted(below)}" for below, _ in child.fields]
    return [*found, "zz"]


def _quoted(name):
    return f"`{name}`" if "." in name or name.startswith("`") else name


_CASTS = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")


def stages(schema):
    """One stage, as ``parse_chain`` takes it; some do not fit the schema."""
    names = [name for name, _ in schema.fields]
    field = st.sampled_from(paths_of(schema))
    top = st.sampled_from([*names, "zz"])
    some = st.lists(top, min_size=1, max_size=2, unique=True)
    nulls = st.sampled_from([{}, {}, {"replace.null.with.default": False}])
    nested = st.sampled_from(["V1", "V2"]).map(lambda version: {"field.syntax.version": version})
    made = {
        "MaskField$Value": (st.builds(lambda f: {"fields": [f]}, field), nested, nulls),
        "ReplaceField$Value": (st.builds(lambda e, r: {"exclude": e, "renames": [f"{r}:{r}2"]}, some, top), nulls),
        "Cast$Value": (st.builds(lambda f, t: {"spec": [f"{f}:{t}"]}, top, st.sampled_from(_CASTS)), nulls),
        "ExtractField$Value": (st.builds(lambda f: {"field": f}, field), nested, nulls),
        "InsertField$Value": (
            st.just({"topic.field": "t!", "offset.field": "o", "static.field": "s", "static.value": "v"}),
        ),
        "TimestampConverter$Value": (st.builds(_time, field, st.sampled_from(_TARGETS)), nested, nulls),
        "Flatten$Value": (st.just({"delimiter": "_"}),),
        "HoistField$Value": (st.just({"field": "w"}),),
        "SetSchemaMetadata$Value": (st.just({"schema.name": "n"}), nulls),
        "HeaderFrom$Value": (st.builds(_headers, some, st.sampled_from(["move", "copy"])), nulls),
        "ValueToKey": (st.builds(lambda f: {"fields": f}, some), nulls),
        "InsertHeader": (st.just({"header": "h", "value.literal": "7"}),),
        "DropHeaders": (st.just({"headers": ["trace"]}),),
        "RegexRouter": (st.just({"regex": "(or)ders", "replacement": "$1-new"}),),
        "TimestampRouter": (st.just({}),),
        "Filter": (st.just({}),),
    }
    kinds = [(st.just(kind), *parts) for kind, parts in made.items()]
    return st.one_of(*(st.tuples(*parts) for parts in kinds)).map(lambda t: {"type": t[0], "options": _joined(t[1:])})


_TARGETS = ("unix", "string", "Date", "Time", "Timestamp")


def _time(field, target):
    return {"field": field, "target.type": target, "format": "yyyy-MM-dd"}


def _headers(fields, operation):
    return {"fields": fields, "headers": [f"h{n}" for n in range(len(fields))], "operation": operation}


def _joined(parts):
    return {key: value for part in parts for key, value in part.items()}


PREDICATES = (
    {"name": "t", "type": "TopicNameMatches", "options": {"pattern": "orders.*"}},
    {"name": "h", "type": "HasHeaderKey", "options": {"name": "trace"}},
    {"name": "n", "type": "RecordIsTombstone", "options": {}},
)


def chains(schema):
    """One to three stages, some with a predicate."""
    wishes = st.tuples(stages(schema), st.sampled_from([None, None, *PREDICATES]), st.booleans())
    return st.lists(wishes, min_size=1, max_size=3).map(
        lambda found: [_stage(n, *wish) for n, wish in enumerate(found)]
    )


def _stage(number, stage, predicate, negate):
    found = {"alias": f"s{number}", **stage}
    if stage["type"] == "Filter":
        predicate = predicate or PREDICATES[1]
    return found if predicate is None else {**found, "predicate": predicate, "negate": negate}


@st.composite
def examples(draw, rows=8):
    """A schema, a chain that knows its names, and records."""
    schema = draw(structs(2))
    value = st.one_of(texts_of(schema), texts_of(schema), texts_of(schema), st.none())
    records = st.tuples(value, st.sampled_from(TOPICS), st.sampled_from([(), ("trace",), ("id", "trace")]))
    return Example(schema, draw(chains(schema)), draw(st.lists(records, min_size=rows, max_size=rows)))
