"""Random schemas, records and chains for comparing the two evaluators."""

import base64
import json
import re
from dataclasses import dataclass
from decimal import Decimal

from hypothesis import strategies as st

from dagster_smt.model.schema import JavaDate, Schema, Type, date, decimal, optional, time, timestamp
from dagster_smt.model.topics.format import Format
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
ODD = (
    Schema(Type.INT64, name="org.apache.kafka.connect.data.Date"),
    Schema(Type.STRING, name="org.apache.kafka.connect.data.Decimal"),
    Schema(Type.INT32, name="org.example.Size", version=-1, doc="", parameters=(("", ""),)),
)
"""Schemas that are named as a logical type of another type, or oddly."""
_DEFAULTS = {
    Type.STRING: "none",
    Type.BOOLEAN: True,
    Type.FLOAT32: 0.5,
    Type.FLOAT64: float("-inf"),
    Type.BYTES: b"x",
    "Decimal": Decimal("1.50"),
    "Date": JavaDate(3 * DAY),
    "Time": JavaDate(3),
    "Timestamp": JavaDate(-1),
}


def _flavour(schema, wish):
    """A schema as it is, optional, or with a default."""
    if wish == "default" and not schema.mislabelled and schema.type not in (Type.ARRAY, Type.MAP, Type.STRUCT):
        return schema.with_(optional=True, default=_DEFAULTS.get(schema.logical or schema.type, 7))
    return optional(schema) if wish == "optional" else schema


flavours = st.sampled_from(["required", "optional", "optional", "default"])
simple = st.builds(_flavour, st.sampled_from((*SIMPLE, *SIMPLE, *ODD)), flavours)
KEYS = (
    *(Schema(Type.STRING),) * 3,
    optional(Schema(Type.STRING)),
    Schema(Type.INT32),
    optional(timestamp()),
    Schema(Type.STRUCT, fields=(("a", optional(Schema(Type.STRING))),)),
)
"""Schemas of the keys of maps; all but texts are written as pairs. PySpark collects no maps with bytes as keys."""


def structs(depth, names=NAMES):
    """Schemas of structs; fields may be structs, arrays and maps down to a depth."""
    return st.lists(st.sampled_from(names), min_size=1, max_size=5, unique=True).flatmap(
        lambda items: st.tuples(*(_fields(depth) for _ in items)).map(
            lambda schemas: Schema(Type.STRUCT, fields=tuple(zip(items, schemas, strict=True)))
        )
    )


def _fields(depth):
    if depth == 0:
        return simple
    below = st.builds(_flavour, structs(depth - 1), st.sampled_from(["required", "optional"]))
    arrays = st.builds(lambda v: Schema(Type.ARRAY, True, values=v), _fields(depth - 1))
    maps = st.builds(
        lambda k, v: Schema(Type.MAP, True, keys=k, values=v),
        st.sampled_from(KEYS),
        _fields(depth - 1),
    )
    return st.one_of(simple, simple, simple, below, arrays, maps)


def nest(kind, times):
    """A number inside structs, arrays or maps, so many times."""
    inner = Schema(Type.INT32)
    for _ in range(times):
        inner = {
            "struct": Schema(Type.STRUCT, True, fields=(("a", inner),)),
            "array": Schema(Type.ARRAY, True, values=inner),
            "map": Schema(Type.MAP, True, keys=Schema(Type.STRING), values=inner),
        }[kind]
    return inner


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
        pairs = st.tuples(_payloads(schema.keys), payloads(schema.values)).map(list)
        return st.lists(pairs, max_size=2, unique_by=lambda pair: json.dumps(pair[0]))
    return {
        Type.BOOLEAN: st.booleans(),
        Type.STRING: st.one_of(texts, st.sampled_from(_TEXTS)),
        Type.BYTES: st.one_of(st.binary(max_size=4), st.just(b"x" * 90)).map(lambda d: base64.b64encode(d).decode()),
        Type.FLOAT32: st.floats(width=32, allow_nan=False, allow_infinity=False),
        Type.FLOAT64: st.one_of(
            st.floats(allow_nan=False, allow_infinity=False), st.integers(-9, 9), st.sampled_from(HUGE)
        ),
    }[schema.type]


HUGE = ("1e400", "-1e400")
"""Texts that stand for numbers: JSON's way to an infinite float."""
_TEXTS = ("12", " 7", "\u30007", "-1.5e3", "NaN", "Infinity", "true", "2020-02-30", "2020-02-29", '{"a":1}', "[]")
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


_HUGE = re.compile(r'"(-?1e400)"')


def _text(value):
    return _HUGE.sub(r"\1", json.dumps(value, ensure_ascii=False))


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
    """A schema, a chain, and records: value as bytes, topic, names of headers, and the key if it is not ``k``."""

    schema: Schema
    stages: list
    rows: list
    key: Schema | None = None

    @property
    def key_form(self):
        """The key's format: text, or JSON with a schema."""
        return Format("json_schema", self.key) if self.key else Format("string")


def paths_of(schema):
    """Names of the top level, dotted paths below, and one that is not there."""
    result = [name for name, _ in schema.fields]
    for name, child in schema.fields:
        if child.type is Type.STRUCT:
            result += [f"{_quoted(name)}.{_quoted(below)}" for below, _ in child.fields]
    return [*result, "zz"]


def _quoted(name):
    return f"`{name}`" if "." in name or name.startswith("`") else name


_CASTS = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
_TARGETS = ("unix", "string", "Date", "Time", "Timestamp")
_PRECISIONS = ("seconds", "milliseconds", "microseconds", "nanoseconds")
_REPLACEMENTS = ("7", "***", "-1.5", "1e400", "NaN")
_LITERALS = ("7", "x", "1e400", '{"a":[1,null]}', "2020-01-01T00:00:00.000Z")


def stages(schema, key=None):
    """One stage, as ``parse_chain`` takes it; some do not fit the schema."""
    value, nulls = _sided(schema), st.sampled_from([{}, {}, {"replace.null.with.default": False}])
    some = st.lists(_tops(schema), min_size=1, max_size=2, unique=True)
    built = {f"{kind}$Value": parts for kind, parts in value.items()} | {
        "HeaderFrom$Value": (st.builds(_headers, some, st.sampled_from(["move", "copy"])), nulls),
        "ValueToKey": (st.builds(lambda f: {"fields": f}, some), nulls),
        "InsertHeader": (st.sampled_from(_LITERALS).map(lambda text: {"header": "h", "value.literal": text}),),
        "DropHeaders": (st.just({"headers": ["trace"]}),),
        "RegexRouter": (st.just({"regex": "(or)ders", "replacement": "$1-new"}),),
        "TimestampRouter": (st.just({}),),
        "Filter": (st.just({}),),
    }
    on_keys = {f"{kind}$Key": parts for kind, parts in _sided(key or schema).items()}
    kinds = [(st.just(kind), *parts) for kind, parts in built.items()]
    keyed = st.one_of(*(st.tuples(st.just(kind), *parts) for kind, parts in on_keys.items()))
    result = st.one_of(*(st.tuples(*parts) for parts in kinds), keyed)
    return result.map(lambda t: {"type": t[0], "options": _joined(t[1:])})


def _tops(schema):
    return st.sampled_from([*(name for name, _ in schema.fields), "zz"])


def _sided(schema):
    """The options of the transforms that work on a key or a value."""
    field, top = st.sampled_from(paths_of(schema)), _tops(schema)
    some = st.lists(top, min_size=1, max_size=2, unique=True)
    nulls = st.sampled_from([{}, {}, {"replace.null.with.default": False}])
    nested = st.sampled_from(["V1", "V2"]).map(lambda version: {"field.syntax.version": version})
    cast = st.sampled_from(_CASTS)
    specs = st.one_of(*[st.builds(lambda f, t: {"spec": [f"{f}:{t}"]}, top, cast)] * 3, cast.map(lambda t: {"spec": t}))
    masks = st.sampled_from([{}, {}, *({"replacement": text} for text in _REPLACEMENTS)])
    times = st.builds(_time, field, st.sampled_from(_TARGETS), st.sampled_from(_PRECISIONS))
    insert = {"topic.field": "t!", "offset.field": "o", "timestamp.field": "at?", "partition.field": "p!"}
    return {
        "MaskField": (st.builds(lambda f: {"fields": [f]}, field), masks, nested, nulls),
        "ReplaceField": (st.one_of(st.builds(_dropped, some, top), st.builds(_include, some)), nulls),
        "Cast": (specs, nulls),
        "ExtractField": (st.builds(lambda f: {"field": f}, field), nested, nulls),
        "InsertField": (st.just({**insert, "static.field": "s", "static.value": "v"}),),
        "TimestampConverter": (times, nested, nulls),
        "Flatten": (st.just({"delimiter": "_"}),),
        "HoistField": (st.just({"field": "w"}),),
        "SetSchemaMetadata": (st.just({"schema.name": "n", "schema.version": "-1"}), nulls),
    }


def _time(field, target, precision):
    where = {} if field == "zz" else {"field": field}
    return {**where, "target.type": target, "format": "yyyy-MM-dd", "unix.precision": precision}


def _dropped(excluded, renamed):
    return {"exclude": excluded, "renames": f"{renamed}:{renamed}2"}


def _include(included):
    return {"include": included}


def _headers(fields, operation):
    return {"fields": fields, "headers": [f"h{n}" for n in range(len(fields))], "operation": operation}


def _joined(parts):
    return {key: value for part in parts for key, value in part.items()}


PREDICATES = (
    {"name": "t", "type": "TopicNameMatches", "options": {"pattern": "orders.*"}},
    {"name": "h", "type": "HasHeaderKey", "options": {"name": "trace"}},
    {"name": "n", "type": "RecordIsTombstone", "options": {}},
)


def chains(schema, key=None):
    """One to three stages, some with a predicate."""
    wishes = st.tuples(stages(schema, key), st.sampled_from([None, None, *PREDICATES]), st.booleans())
    return st.lists(wishes, min_size=1, max_size=3).map(
        lambda items: [_stage(n, *wish) for n, wish in enumerate(items)]
    )


def _stage(number, stage, predicate, negate):
    results = {"alias": f"s{number}", **stage}
    if stage["type"] == "Filter":
        predicate = predicate or PREDICATES[1]
    return results if predicate is None else {**results, "predicate": predicate, "negate": negate}


@st.composite
def examples(draw, rows=8, keyed=False):
    """A schema, a chain that knows its names, and records. ``keyed``: with keys of all kinds too."""
    schema = draw(structs(2))
    key = draw(st.one_of(st.none(), structs(1))) if keyed else None
    value = st.one_of(texts_of(schema), texts_of(schema), texts_of(schema), st.none())
    parts = [value, st.sampled_from(TOPICS), st.sampled_from([(), ("trace",), ("id", "trace")])]
    if keyed:
        parts.append(texts_of(key) | st.none() if key else st.sampled_from([b"k", b"7", b"", None, b"\xff"]))
    records = st.lists(st.tuples(*parts), min_size=rows, max_size=rows)
    return Example(schema, draw(chains(schema, key)), draw(records), key)
