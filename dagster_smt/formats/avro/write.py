"""Writes Connect schemas and values as Avro, as ``io.confluent.connect.avro.AvroData`` does.

The converter's defaults apply:

- The Avro schema contains Connect's metadata.
- Enums that were read as strings are written as strings.
- A union that was read as a struct becomes a union again.
"""

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import fastavro
from fastavro.schema import parse_schema

from dagster_smt.errors import DATA_EXCEPTION, ConfigError, DataError, Problem, data_error
from dagster_smt.formats.avro.read import CONNECT_AVRO, UNION, bare
from dagster_smt.model.schema import DECIMAL_PRECISION, Schema, Type
from dagster_smt.values.java.calendar import DAY
from dagster_smt.values.numbers import EXACT, MOST_DIGITS, integer_bytes

Convert = Callable[[Any], Any]
_SIMPLE = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPACE = CONNECT_AVRO.rstrip(".")
_SIZE, _FLAG = "connect.fixed.size", f"{CONNECT_AVRO}field.default"
_LOGICAL = {"Date": "date", "Time": "time-millis", "Timestamp": "timestamp-millis"}
_HINT = "rename the field with ReplaceField (renames), or write another format than Avro"


@dataclass(frozen=True)
class AvroOut:
    """The Avro form of a Connect schema, with a writer.

    Attributes:
        text: The Avro schema, with its keys in Avro's order.
        name: The full name of the record; None for other types.
        write: A function from a value to bytes; raises ``DataError`` SMT440 if the value cannot be written.
    """

    text: str
    name: str | None
    write: Callable[[Any], bytes]


def avro_out(schema: Schema) -> AvroOut:
    """Returns the Avro schema for ``schema``, with a writer.

    Raises:
        ConfigError: SMT274, with a problem for each name in ``schema`` that Avro rejects; or if two types have the same
            name.
    """
    builder = _AvroBuilder()
    avro = builder.build(schema)
    if builder.problems:
        raise ConfigError(list(dict.fromkeys(builder.problems)))
    printed = _printed(avro, "", {})
    if _is_record(avro):
        name = ".".join(filter(None, (avro.get("namespace"), avro["name"])))
    else:
        name = None
    text = json.dumps(printed, ensure_ascii=False, separators=(",", ":"))
    return AvroOut(text, name, avro_writer(schema, text))


def avro_writer(schema: Schema, text: str) -> Callable[[Any], bytes]:
    """Returns a function that writes values of the Connect schema ``schema`` as Avro with the Avro schema ``text``. The
    function raises ``DataError`` SMT440.
    """
    parsed = parse_schema(bare(json.loads(text)), named_schemas={})
    convert = _converter(schema)

    def write(value: Any) -> bytes:
        out = io.BytesIO()
        try:
            fastavro.schemaless_writer(out, parsed, value if convert is None else convert(value))
        except (ValueError, TypeError, OverflowError, AttributeError, KeyError):
            raise _unwritable() from None
        return out.getvalue()

    return write


def avro_problems(schema: Schema) -> list[Problem]:
    """Returns a problem SMT274 for each name in ``schema`` that Avro rejects."""
    builder = _AvroBuilder()
    builder.build(schema)
    return list(dict.fromkeys(builder.problems))


def _unwritable() -> DataError:
    return data_error("SMT440", "the value does not fit its Avro schema", "cast the value with Cast", DATA_EXCEPTION)


def _is_record(avro: Any) -> bool:
    return isinstance(avro, dict) and avro.get("type") == "record"


@dataclass
class _AvroBuilder:
    """A builder of Avro schemas as JSON data. All uses of the same struct schema share one object."""

    problems: list[Problem] = field(default_factory=list)
    known: dict[Schema, Any] = field(default_factory=dict)
    unnamed: int = 0

    def build(self, schema: Schema, *, bare: bool = False) -> Any:
        """Returns the Avro schema for ``schema``, a Connect schema. With ``bare``, the result does not allow null, even
        if ``schema`` is optional.
        """
        if schema.name == UNION:
            return [*(["null"] if schema.optional else []), *(self.build(c, bare=True) for _, c in schema.fields)]
        if schema.type is Type.STRUCT:
            # An optional struct and a required struct are the same Avro type. Avro does not permit a second type of
            # this name.
            required = schema.with_(optional=False, default=None)
        else:
            required = None
        avro = self.known.get(required) if required is not None else None
        if avro is None:
            avro = self.described(schema)
            if required is not None:
                self.known[required] = avro
        if bare or not schema.optional:
            return avro
        if schema.default is not None:
            return [avro, "null"]  # in Avro, the default of a union is a value of its first member
        return ["null", avro]

    def described(self, schema: Schema) -> Any:
        """Returns the Avro type of ``schema`` with Connect's metadata, in the same order as the converter writes it."""
        avro = self.typed(schema)
        parameters = dict(schema.parameters)
        if schema.doc is not None:
            avro["connect.doc"] = schema.doc
        if schema.version is not None:
            avro["connect.version"] = schema.version
        own = {}
        for key, value in parameters.items():
            # the parameter was set by the reader, for a default that the Avro field itself had
            if key != _FLAG:
                own[key] = value
        if own:
            avro["connect.parameters"] = own
        # without the flag, the default comes from Connect, and AvroData writes it twice: here and in the field
        if schema.default is not None and _FLAG not in parameters:
            avro["connect.default"] = _default(schema, schema.default)
        if schema.name is not None:
            avro["connect.name"] = schema.name
        if schema.type in (Type.INT8, Type.INT16):
            avro["connect.type"] = schema.type.value
        if schema.logical is not None:
            avro["logicalType"] = _LOGICAL.get(schema.logical, "decimal")
        for key, value in parameters.items():
            if key.startswith("avro."):
                avro[key] = value
        if list(avro) == ["type"] and isinstance(avro["type"], str):
            return avro["type"]
        return avro

    def typed(self, schema: Schema) -> dict[str, Any]:
        if schema.type is Type.STRUCT:
            return self.record(schema)
        if schema.values is not None and schema.type is Type.ARRAY:
            return {"type": "array", "items": self.build(schema.values)}
        if schema.values is not None and schema.keys is not None:
            if schema.keys.type is Type.STRING and not schema.keys.optional:
                return {"type": "map", "values": self.build(schema.values)}
            return {"type": "array", "items": self.entry(schema)}
        if schema.type not in _SIMPLE:
            self.wrong(schema.label, "the schema of its items is missing")
        avro: dict[str, Any] = {"type": _SIMPLE.get(schema.type, "string")}
        size = dict(schema.parameters).get(_SIZE)
        # a fixed was read as bytes, and the parameter contains its size
        if schema.type is Type.BYTES and schema.name is not None and size is not None:
            avro = {"type": "fixed", **self.name_of(schema), "size": int(size)}
        if schema.logical == "Decimal":
            avro |= {"scale": schema.scale, "precision": int(dict(schema.parameters).get(DECIMAL_PRECISION, 64))}
        return avro

    def record(self, schema: Schema) -> dict[str, Any]:
        parameters = dict(schema.parameters)
        avro: dict[str, Any] = {"type": "record", **self.name_of(schema)}
        if doc := parameters.get(f"{CONNECT_AVRO}record.doc"):
            avro["doc"] = doc
        fields = []
        for n, c in schema.fields:
            fields.append(self.field(n, c, parameters.get(f"{CONNECT_AVRO}field.doc.{n}")))
        avro["fields"] = fields
        return avro

    def field(self, name: str, schema: Schema, doc: str | None = None) -> dict[str, Any]:
        if not _NAME.fullmatch(name):
            self.wrong(name, "a field's name in Avro has letters, digits and _ only, and does not begin with a digit")
        avro: dict[str, Any] = {"name": name, "type": self.build(schema)}
        if doc is not None:
            avro["doc"] = doc
        if schema.default is not None:
            avro["default"] = _default(schema, schema.default)
        elif schema.optional:
            avro["default"] = None
        return avro

    def entry(self, schema: Schema) -> dict[str, Any]:
        """Returns the record type for an entry of ``schema``, a map whose keys are not strings. Avro represents such a
        map as an array of entries.
        """
        assert schema.keys is not None and schema.values is not None
        # AvroData recognizes an entry by the name MapEntry, or by the marker if the map has a name of its own
        if schema.name is None:
            names = {"name": "MapEntry", "namespace": _SPACE}
        else:
            names = self.name_of(schema)
        if schema.name is None:
            marks = {}
        else:
            marks = {"connect.internal.type": "MapEntry"}
        fields = [self.field("key", schema.keys), self.field("value", schema.values)]
        return {"type": "record", **names, "fields": fields, **marks}

    def name_of(self, schema: Schema) -> dict[str, str]:
        if schema.name is None:
            self.unnamed += 1
            return {"name": f"ConnectDefault{self.unnamed if self.unnamed > 1 else ''}", "namespace": _SPACE}
        space, _, name = schema.name.rpartition(".")
        if not all(map(_NAME.fullmatch, schema.name.split("."))):
            self.wrong(schema.name, "each part of a schema's name in Avro has letters, digits and _ only")
        if space:
            return {"name": name, "namespace": space}
        return {"name": name}

    def wrong(self, name: str, statement: str) -> None:
        self.problems.append(Problem("SMT274", f"avro name '{name}'", statement, _HINT))


def _default(schema: Schema, value: Any) -> Any:
    """Returns ``value``, the default of a field, as JSON. Bytes become a string in ISO 8859-1."""
    if value is None:
        return None
    if schema.type is Type.STRUCT:
        parts = []
        for name, child in schema.fields:
            parts.append(_default(child, value.get(name)))
        if schema.name == UNION and parts:
            # in Avro, the default of a union is a value of its first type
            return parts[0]
        return dict(zip(schema.by_name, parts, strict=True))
    if schema.values is not None and schema.type is Type.ARRAY:
        return [_default(schema.values, item) for item in value]
    if schema.values is not None and schema.keys is not None:
        pairs = []
        for k, v in value.items():
            pairs.append((_default(schema.keys, k), _default(schema.values, v)))
        # Avro's maps have strings as keys; Connect writes other maps as arrays of entries
        texts = schema.keys.type is Type.STRING and not schema.keys.optional
        if texts:
            return dict(pairs)
        return [list(pair) for pair in pairs]
    convert = _converter(schema.with_(optional=False))
    plain = value if convert is None else convert(value)
    if isinstance(plain, bytes):
        return plain.decode("latin-1")
    return plain


def _printed(avro: Any, space: str, seen: dict[str, Any]) -> Any:
    """Returns the Avro schema ``avro`` as Avro prints it. At its first use, a named type is printed in full; after
    that, only its name is printed.

    ``space`` is the surrounding namespace. ``seen`` contains the types that have been printed in full, by name.
    """
    if isinstance(avro, list):
        return [_printed(member, space, seen) for member in avro]
    if not isinstance(avro, dict):
        return avro
    out = dict(avro)
    if "name" in avro and "type" in avro and avro["type"] in ("record", "fixed"):
        own = avro.get("namespace", "")
        full = f"{own}.{avro['name']}" if own else avro["name"]
        # a schema of Avro may define each name only once, even if both definitions would be equal
        if full in seen:
            if seen[full] != avro:
                hint = "set different names with SetSchemaMetadata"
                raise ConfigError(Problem("SMT274", f"avro name '{full}'", "two types have this name", hint))
            if own == space:
                return avro["name"]
            return full
        seen[full] = avro
        if own == space:
            out.pop("namespace", None)
        space = own
    for key in ("items", "values"):
        if key in out:
            out[key] = _printed(out[key], space, seen)
    if "fields" in out:
        fields = []
        for f in out["fields"]:
            fields.append({**f, "type": _printed(f["type"], space, seen)})
        out["fields"] = fields
    return out


def _converter(schema: Schema) -> Convert | None:
    """Returns a function that converts values of ``schema`` into values that fastavro can write. Returns None if no
    conversion is needed.
    """
    convert = _required_converter(schema)
    if convert is None or not schema.optional:
        return convert
    return lambda value: None if value is None else convert(value)


def _required_converter(schema: Schema) -> Convert | None:
    if schema.logical is not None:
        return _logical(schema)
    if schema.name == UNION:
        return _of_union(schema)
    if schema.type is Type.STRUCT:
        return _of_struct(schema)
    if schema.values is not None and schema.type is Type.ARRAY:
        item = _converter(schema.values)
        if item is None:
            return None
        return lambda value: list(map(item, value))
    if schema.values is not None and schema.keys is not None:
        return _of_map(schema.keys, schema.values)
    return None


def _logical(schema: Schema) -> Convert:
    if schema.logical == "Decimal":
        scale, size = schema.scale, dict(schema.parameters).get(_SIZE)
        return lambda value: _unscaled(value, scale, None if size is None else int(size))
    unit = DAY if schema.logical == "Date" else 1
    return lambda value: int(value) // unit


def _unscaled(value: Decimal, scale: int, size: int | None) -> bytes:
    """Returns the digits of ``value`` as an integer in two's complement (``BigInteger.toByteArray``): for 1.23 with the
    scale 2, the bytes of 123.

    If the Avro type is fixed, ``size`` is its size in bytes.

    Raises:
        ValueError: ``value`` has a different scale, or too many digits.
    """
    _, digits, exponent = value.as_tuple()
    if exponent != -scale or len(digits) > MOST_DIGITS:
        raise ValueError("another scale, or too many digits")
    # not through a string: Python's ``int`` rejects strings of more than 4,300 digits
    whole = int(value.scaleb(scale, EXACT))
    if size is None:
        return integer_bytes(whole)
    return whole.to_bytes(size, "big", signed=True)


def _of_struct(schema: Schema) -> Convert | None:
    converts = []
    for name, child in schema.fields:
        if (convert := _converter(child)) is not None:
            converts.append((name, convert))
    if not converts:
        return None
    names = tuple(schema.by_name)

    def convert_all(value: Mapping[str, Any]) -> dict[str, Any]:
        fields = {}
        for name in names:
            fields[name] = value[name]
        for name, convert in converts:
            fields[name] = convert(fields[name])
        return fields

    return convert_all


def _of_union(schema: Schema) -> Convert:
    """Returns a function that prepares the struct of a union for fastavro. The struct ``{"int": None, "string": "a"}``
    becomes the pair ``("string", "a")``. Without the name ``string``, fastavro would have to guess which type of the
    union the value has.
    """
    parts = []
    for name, child in schema.fields:
        parts.append((name, _avro_name(child), _converter(child)))

    def choose(value: Mapping[str, Any]) -> Any:
        for name, kind, convert in parts:
            member = value.get(name)
            # in the struct of a union, at most one field is set
            if member is not None:
                return kind, member if convert is None else convert(member)
        return None

    return choose


def _avro_name(schema: Schema) -> str:
    """Returns the name by which fastavro selects the Avro type of ``schema`` in a union: for example ``string``, or the
    full name of a record.
    """
    if schema.type is Type.STRUCT or (schema.type is Type.BYTES and _SIZE in dict(schema.parameters)):
        return schema.name or f"{CONNECT_AVRO}ConnectDefault"
    texts = schema.keys is None or (schema.keys.type is Type.STRING and not schema.keys.optional)
    if schema.type in (Type.ARRAY, Type.MAP):
        if schema.type is Type.MAP and texts:
            return "map"
        return "array"
    return _SIMPLE[schema.type]


def _of_map(keys: Schema, values: Schema) -> Convert | None:
    key, value = _converter(keys), _converter(values)
    if keys.type is Type.STRING and not keys.optional:
        if value is None:
            return None
        return lambda pairs: {k: value(v) for k, v in pairs.items()}

    def entries(pairs: Mapping[Any, Any]) -> list[dict[str, Any]]:
        return list(_entries(pairs, key, value))

    return entries


def _entries(pairs: Mapping[Any, Any], key: Convert | None, value: Convert | None) -> Iterator[dict[str, Any]]:
    for k, v in pairs.items():
        yield {"key": k if key is None else key(k), "value": v if value is None else value(v)}
