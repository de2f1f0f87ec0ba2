"""Avro, the way back: from Connect schemas and values to Avro, as ``io.confluent.connect.avro.AvroData`` does it.

The converter's defaults hold here, too: Connect's metadata stands in the schema, enums that were read as texts are
written as texts, a union that was read as a struct becomes a union again.
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
from dagster_smt.formats.avro.read import CONNECT_AVRO, DAY, UNION, bare
from dagster_smt.model.schema import DECIMAL_PRECISION, Schema, Type

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
_HINT = "rename it with ReplaceField (renames), or write another format than Avro"


@dataclass(frozen=True)
class AvroOut:
    """A Connect schema as Avro, ready to write with.

    Attributes:
        text: The Avro schema, in the order of keys in which Avro prints it.
        name: The full name of the record; None if it is none.
        write: A function from a value to bytes; raises ``DataError`` SMT440.
    """

    text: str
    name: str | None
    write: Callable[[Any], bytes]


def avro_out(schema: Schema) -> AvroOut:
    """Prepare a Connect schema to be written as Avro.

    Raises:
        ConfigError: SMT274, all names that Avro does not take.
    """
    builder = _Builder()
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
    """A function that writes values of a Connect schema as an Avro schema says; it raises ``DataError`` SMT440."""
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
    """What Avro does not take of a schema: SMT274, each name."""
    builder = _Builder()
    builder.build(schema)
    return list(dict.fromkeys(builder.problems))


def _unwritable() -> DataError:
    return data_error("SMT440", "the value does not fit its Avro schema", "cast it with Cast", DATA_EXCEPTION)


def _is_record(avro: Any) -> bool:
    return isinstance(avro, dict) and avro.get("type") == "record"


@dataclass
class _Builder:
    """Avro schemas as JSON data; one that is used again is the same object."""

    problems: list[Problem] = field(default_factory=list)
    known: dict[Schema, Any] = field(default_factory=dict)
    unnamed: int = 0

    def build(self, schema: Schema, *, bare: bool = False) -> Any:
        """The Avro schema of a Connect schema; ``bare``: without the union that lets it be null."""
        if schema.name == UNION:
            return [*(["null"] if schema.optional else []), *(self.build(c, bare=True) for _, c in schema.fields)]
        if schema.type is Type.STRUCT:
            required = schema.with_(optional=False, default=None)
        else:
            required = None
        found = self.known.get(required) if required is not None else None
        if found is None:
            found = self.described(schema)
            if required is not None:
                self.known[required] = found
        if bare or not schema.optional:
            return found
        if schema.default is not None:
            return [found, "null"]
        return ["null", found]

    def described(self, schema: Schema) -> Any:
        """The type with Connect's metadata, in the order in which the converter adds it."""
        avro = self.typed(schema)
        made = dict(schema.parameters)
        if schema.doc is not None:
            avro["connect.doc"] = schema.doc
        if schema.version is not None:
            avro["connect.version"] = schema.version
        if kept := {key: value for key, value in made.items() if key != _FLAG}:
            avro["connect.parameters"] = kept
        if schema.default is not None and _FLAG not in made:
            avro["connect.default"] = _default(schema, schema.default)
        if schema.name is not None:
            avro["connect.name"] = schema.name
        if schema.type in (Type.INT8, Type.INT16):
            avro["connect.type"] = schema.type.value
        if schema.logical is not None:
            avro["logicalType"] = _LOGICAL.get(schema.logical, "decimal")
        avro |= {key: value for key, value in made.items() if key.startswith("avro.")}
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
            self.wrong(schema.label, "has no type of its items")
        avro: dict[str, Any] = {"type": _SIMPLE.get(schema.type, "string")}
        size = dict(schema.parameters).get(_SIZE)
        if schema.type is Type.BYTES and schema.name is not None and size is not None:
            avro = {"type": "fixed", **self.named(schema), "size": int(size)}
        if schema.logical == "Decimal":
            avro |= {"scale": schema.scale, "precision": int(dict(schema.parameters).get(DECIMAL_PRECISION, 64))}
        return avro

    def record(self, schema: Schema) -> dict[str, Any]:
        made = dict(schema.parameters)
        avro: dict[str, Any] = {"type": "record", **self.named(schema)}
        if doc := made.get(f"{CONNECT_AVRO}record.doc"):
            avro["doc"] = doc
        avro["fields"] = [self.field(n, c, made.get(f"{CONNECT_AVRO}field.doc.{n}")) for n, c in schema.fields]
        return avro

    def field(self, name: str, schema: Schema, doc: str | None = None) -> dict[str, Any]:
        if not _NAME.fullmatch(name):
            self.wrong(name, "Avro takes letters, digits and _ in the name of a field, and no digit first")
        made: dict[str, Any] = {"name": name, "type": self.build(schema)}
        if doc is not None:
            made["doc"] = doc
        if schema.default is not None:
            made["default"] = _default(schema, schema.default)
        elif schema.optional:
            made["default"] = None
        return made

    def entry(self, schema: Schema) -> dict[str, Any]:
        """A map whose keys are no texts: an array of records."""
        assert schema.keys is not None and schema.values is not None
        if schema.name is None:
            names = {"name": "MapEntry", "namespace": _SPACE}
        else:
            names = self.named(schema)
        if schema.name is None:
            marks = {}
        else:
            marks = {"connect.internal.type": "MapEntry"}
        fields = [self.field("key", schema.keys), self.field("value", schema.values)]
        return {"type": "record", **names, "fields": fields, **marks}

    def named(self, schema: Schema) -> dict[str, str]:
        if schema.name is None:
            self.unnamed += 1
            return {"name": f"ConnectDefault{self.unnamed if self.unnamed > 1 else ''}", "namespace": _SPACE}
        space, _, name = schema.name.rpartition(".")
        if not all(_NAME.fullmatch(part) for part in schema.name.split(".")):
            self.wrong(schema.name, "Avro takes letters, digits and _ in each part of a schema's name")
        if space:
            return {"name": name, "namespace": space}
        return {"name": name}

    def wrong(self, name: str, statement: str) -> None:
        self.problems.append(Problem("SMT274", f"avro name '{name}'", statement, _HINT))


def _default(schema: Schema, value: Any) -> Any:
    """A default in JSON, bytes as ISO 8859-1."""
    if value is None:
        return None
    if schema.type is Type.STRUCT:
        parts = [_default(child, value.get(name)) for name, child in schema.fields]
        if schema.name == UNION and parts:
            return parts[0]
        return dict(zip(schema.by_name, parts, strict=True))
    if schema.values is not None and schema.type is Type.ARRAY:
        return [_default(schema.values, item) for item in value]
    if schema.values is not None and schema.keys is not None:
        pairs = [(_default(schema.keys, k), _default(schema.values, v)) for k, v in value.items()]
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
    """A schema as Avro prints it: a named type in full where it comes first, later by its name."""
    if isinstance(avro, list):
        return [_printed(member, space, seen) for member in avro]
    if not isinstance(avro, dict):
        return avro
    out = dict(avro)
    if "name" in avro and "type" in avro and avro["type"] in ("record", "fixed"):
        own = avro.get("namespace", "")
        full = f"{own}.{avro['name']}" if own else avro["name"]
        if full in seen:
            if seen[full] != avro:
                statement = "two types have this name"
                raise ConfigError(
                    Problem("SMT274", f"avro name '{full}'", statement, "name them with SetSchemaMetadata")
                )
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
        out["fields"] = [{**f, "type": _printed(f["type"], space, seen)} for f in out["fields"]]
    return out


def _converter(schema: Schema) -> Convert | None:
    """What changes a value into the one that Avro writes; None if it stays as it is."""
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
    """Two's complement, as ``BigInteger.toByteArray``; of a fixed type with its sign in front."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or exponent != -scale:
        raise ValueError("another scale")
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    least = (whole if whole >= 0 else ~whole).bit_length() // 8 + 1
    return whole.to_bytes(size or least, "big", signed=True)


def _of_struct(schema: Schema) -> Convert | None:
    converts = [(name, convert) for name, child in schema.fields if (convert := _converter(child)) is not None]
    if not converts:
        return None
    names = tuple(schema.by_name)

    def convert_all(value: Mapping[str, Any]) -> dict[str, Any]:
        made = {name: value[name] for name in names}
        for name, convert in converts:
            made[name] = convert(made[name])
        return made

    return convert_all


def _of_union(schema: Schema) -> Convert:
    """The member that is there; its type's name goes along, so that no other type is taken for it."""
    parts = [(name, _avro_name(child), _converter(child)) for name, child in schema.fields]

    def choose(value: Mapping[str, Any]) -> Any:
        for name, kind, convert in parts:
            if (found := value.get(name)) is not None:
                return kind, found if convert is None else convert(found)
        return None

    return choose


def _avro_name(schema: Schema) -> str:
    """What Avro calls the type of a member of a union."""
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
        return lambda found: {k: value(v) for k, v in found.items()}

    def entries(found: Mapping[Any, Any]) -> list[dict[str, Any]]:
        return list(_entries(found, key, value))

    return entries


def _entries(found: Mapping[Any, Any], key: Convert | None, value: Convert | None) -> Iterator[dict[str, Any]]:
    for k, v in found.items():
        yield {"key": k if key is None else key(k), "value": v if value is None else value(v)}
