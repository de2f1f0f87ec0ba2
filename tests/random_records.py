"""Random records for any chain: JSON without a schema, and schemas of every kind with payloads that fit them.

Among them what is rare in practice and has been wrong before: map keys that are optional, structs or bytes, nulls,
infinities, values a thousand levels deep, and schemas whose name, scale or default is odd.
"""

import json
import re

from hypothesis import strategies as st

from dagster_smt.model.record import Header, Record
from dagster_smt.model.schema import DECIMAL_SCALE, Schema, Type, date, decimal, time, timestamp
from dagster_smt.values.cast import DAY
from tests.random_chains import SECRET, some

fields = some(["a", "b", "c", "a.b", "", "\u3000a"])
secrets = st.text(max_size=3).map(lambda text: SECRET + text)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()  # NaN and infinity too: Kafka's parser takes both names
    | secrets
    | st.just("2020-01-01")
)
values = st.recursive(scalars, lambda v: st.lists(v, max_size=2) | st.dictionaries(fields, v, max_size=3), max_leaves=8)


def deep(levels):
    """An object inside objects, so many levels."""
    return b'{"a":' * levels + b"null" + b"}" * levels


documents = (st.dictionaries(fields, values, max_size=4) | values).map(lambda v: json.dumps(v).encode()) | some(
    [None, b"", b"{", b'{"a":01}', b'{"a":"\\ud800"}', b'{"a":1e400,"b":[-1e400,-0.0]}', *map(deep, (60, 999, 1001))]
)

LIMITS = {Type.INT8: 7, Type.INT16: 15, Type.INT32: 31, Type.INT64: 63}
SCALARS = {
    Type.BOOLEAN: st.booleans(),
    Type.STRING: secrets | some(["7", "", " 7", "1e400", "-Infinity", "NaN", "2020-01-01"]),
    Type.BYTES: some(["AQI=", "", "*", "QUJD" * 40]),
    Type.FLOAT32: st.floats(width=32, allow_nan=False, allow_infinity=False) | some(["1e400", "-1e400"]),
    Type.FLOAT64: st.floats(allow_nan=False, allow_infinity=False) | some(["1e400", "-1e400"]),
    **{
        kind: st.integers(-(2**bits), 2**bits - 1) | some([0, -(2**bits), 2**bits - 1]) for kind, bits in LIMITS.items()
    },
}
_DEFAULTS = {
    Type.BOOLEAN: True,
    Type.STRING: "none",
    Type.BYTES: b"x",
    Type.FLOAT32: float("inf"),
    Type.FLOAT64: -0.0,
    "Date": 3 * DAY,
}


def _logical(kind, name, **parameters):
    return Schema(kind, name=f"org.apache.kafka.connect.data.{name}", parameters=tuple(parameters.items()))


def _odd_decimal(scale):
    return decimal(2).with_(parameters=((DECIMAL_SCALE, str(scale)),))


odd = some(
    [
        _logical(Type.INT64, "Date"),
        _logical(Type.STRING, "Decimal"),
        _logical(Type.INT32, "Timestamp"),
        _logical(Type.BOOLEAN, "Time", of="day"),
        _odd_decimal(-3),
        _odd_decimal(40),
        Schema(Type.INT32, name="org.example.Size", version=-1, doc="", parameters=(("", ""),)),
    ]
)
simple = some([*map(Schema, SCALARS), decimal(2), date(), time(), timestamp()])
plain = simple | simple | simple | odd


def _flavoured(schema, wish):
    """A schema as it is, optional, or with a default: a value of its type, or null."""
    if wish == "default" and schema.logical in (None, "Date") and not schema.mislabelled:
        simple = schema.type in SCALARS
        default = _DEFAULTS.get(schema.logical or schema.type, 7) if simple else None
        return schema.with_(optional=True, default=default)
    return schema.with_(optional=wish == "optional")


flavours = some(["required", "required", "optional", "optional", "default"])


def structs(inner):
    """Structs of some fields, each required, optional or with a default."""
    members = st.builds(_flavoured, inner, flavours)
    return st.dictionaries(some(["a", "b", "c", "a.b", "\u3000a"]), members, min_size=1, max_size=3).map(
        lambda fields: Schema(Type.STRUCT, fields=tuple(fields.items()))
    )


keys = st.builds(
    _flavoured,
    some([Schema(Type.STRING)]) | some([Schema(Type.INT32), Schema(Type.BYTES), Schema(Type.FLOAT64), timestamp()]),
    flavours,
) | st.just(Schema(Type.STRUCT, fields=(("a", Schema(Type.STRING, True)),)))


def _wider(inner):
    """Arrays, maps and structs of some schemas."""
    child = st.builds(_flavoured, inner, flavours)
    arrays = st.builds(lambda v: Schema(Type.ARRAY, values=v), child)
    return arrays | st.builds(lambda k, v: Schema(Type.MAP, keys=k, values=v), keys, child) | structs(inner)


typed = st.recursive(plain, _wider, max_leaves=6)


def payload(draw, schema):
    """A JSON value that fits a schema (nearly always); texts like ``1e400`` stand for the numbers."""
    if schema.optional and draw(st.booleans()):
        return None
    if schema.type is Type.BYTES and schema.logical == "Decimal":
        return draw(some(["AQI=", "AA==", "////////////////////////", ""]))
    if schema.type is Type.ARRAY:
        return [payload(draw, schema.values) for _ in range(draw(st.integers(0, 2)))]
    if schema.type is Type.MAP and schema.keys.type is Type.STRING:
        return {draw(fields): payload(draw, schema.values) for _ in range(draw(st.integers(0, 2)))}
    if schema.type is Type.MAP:
        return [[payload(draw, schema.keys), payload(draw, schema.values)] for _ in range(draw(st.integers(0, 2)))]
    if schema.type is Type.STRUCT:
        return {name: payload(draw, child) for name, child in schema.fields}
    return draw(SCALARS[schema.type])


_FLOATS = re.compile(r'"(-?1e400)"')


def as_text(value):
    """A payload as JSON. Python has no number that it writes as ``1e400``."""
    return _FLOATS.sub(r"\1", json.dumps(value)).encode()


def record(kind="sink"):
    """A record, without its sides; one from a source has no topic, partition or offset."""
    headers = [Header("a", None, SECRET, SECRET.encode(), from_stage=False)]
    if kind == "source":
        return Record(None, kind="source", headers=headers)
    return Record("orders", 1, 7, 1_556_204_536_123, "CreateTime", headers=headers)
