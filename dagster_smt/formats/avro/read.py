"""Avro: schemas and values as Confluent's ``AvroConverter`` gives them (``io.confluent.connect.avro.AvroData``).

fastavro reads the bytes; logical types, unions and names become Connect's here. Read with the converter's defaults:
metadata of Connect is kept, enums are texts, a union of null and one type is that type, any other a struct.
"""

import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import fastavro
from fastavro.schema import parse_schema

from dagster_smt.errors import ConfigError, DataError, Problem, data_error
from dagster_smt.formats.avro.empty import Empty
from dagster_smt.model.runtime import as_key
from dagster_smt.model.schema import (
    DECIMAL_PRECISION,
    INTEGER_BITS,
    MAX_DIGITS,
    STRING,
    JavaDate,
    Schema,
    Type,
    date,
    decimal,
    optional,
    time,
    timestamp,
)
from dagster_smt.model.schema_size import MAX_BYTES, MAX_ITEMS, excess, room
from dagster_smt.values.json.lazy import check_depth, with_room
from dagster_smt.values.numbers import scaled_decimal

Convert = Callable[[Any], Any]
CONNECT_AVRO = "io.confluent.connect.avro."
UNION, ENUM, _DEFAULT_NAME = f"{CONNECT_AVRO}Union", f"{CONNECT_AVRO}Enum", f"{CONNECT_AVRO}ConnectDefault"
DAY = 86_400_000
_LOGICAL = "dagster_smt.logical"
_SIMPLE = {
    "boolean": Type.BOOLEAN,
    "int": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "bytes": Type.BYTES,
    "string": Type.STRING,
}
_TYPES: Mapping[str, tuple[type, ...]] = {
    "boolean": (bool,), "int": (int,), "long": (int,), "float": (float,), "double": (float,), "bytes": (bytes,),
    "string": (str,), "array": (list,), "map": (dict,),
}  # fmt: skip
_WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, DataError)
"""What converting a default may raise, which is whatever JSON has."""
_SAME = (("int", "long"), ("float", "double"))


@dataclass(frozen=True)
class Avro:
    """An Avro schema, ready to read with.

    Attributes:
        schema: The Connect schema.
        read: A function from bytes to the value; raises ``DataError`` SMT416.
        told: The Avro schema that ``schema`` was made of.
        names: The named types that it uses.
    """

    schema: Schema
    read: Callable[[bytes], Any]
    told: Any
    names: Mapping[str, Any]

    @property
    def top(self) -> Any:
        """``told`` in full: the list of a union, or a dict."""
        if isinstance(self.told, str):
            return self.names.get(self.told, {"type": self.told})
        return self.told

    @property
    def name(self) -> str | None:
        """The full name of the record (``AvroSchema.name``); None if it is none."""
        top = self.top
        if isinstance(top, dict) and top["type"] == "record":
            return top["name"]
        return None


def avro_of(text: str, references: Sequence[str] = (), place: str = "avro", *, declared: bool = False) -> Avro:
    """Prepare an Avro schema.

    Args:
        text: The schema as JSON.
        references: Schemas of the names that it uses, each after those that it uses itself.
        place: How messages call it.
        declared: Whether people declare it as columns: then no decimal has more digits than its precision. In Connect
            nobody looks at that.

    Raises:
        ConfigError: SMT273, it is no Avro schema, it is too large, or Connect has no schema for it.
    """
    try:
        return with_room(lambda texts: _prepared(texts, _Builder(place, declared)), (*references, text))
    except ConfigError:
        raise
    except Exception:  # noqa: BLE001 - an attribute may be anything that JSON has, and nobody lists what is raised then
        raise ConfigError(Problem("SMT273", place, "it is no Avro schema", "look for its first mistake")) from None


def _prepared(texts: Sequence[str], builder: "_Builder") -> Avro:
    """The last of some schemas; the others are of names that it uses."""
    named: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for text in texts:
        check_depth(text.encode())
        data = json.loads(text)
        parsed = parse_schema(bare(data), named_schemas=named[0])
        told = parse_schema(_marked(data), named_schemas=named[1])
        schema, convert = builder.build(told)

    def read(raw: bytes) -> Any:
        if len(raw) > MAX_BYTES:
            raise too_long()
        source = io.BytesIO(raw)
        room.reset()
        try:
            value = fastavro.schemaless_reader(source, parsed, None, return_named_type=True)
        except (EOFError, ValueError, IndexError, KeyError, TypeError, OverflowError, UnicodeDecodeError):
            raise unreadable() from None
        if source.tell() != len(raw):
            raise unreadable()
        return convert(value)

    return Avro(schema, read, told, builder.names)


def stamped(schema: Schema, version: int) -> Schema | None:
    """A schema with a version (``AvroData.toConnectSchema``); None if it has another one already."""
    if version < 0 or schema.version == version:
        return schema
    if schema.version is not None:
        return None
    return schema.with_(version=version)


def with_version(avro: Avro, version: int) -> Schema | None:
    """The Connect schema with the version that a registry has; None if it is a logical type of another version.

    ``connect.version`` counts more. A union of null and a type, or of one type, passes none on to its member.
    """
    top = avro.top
    if isinstance(top, list):
        own = avro.schema.name != UNION
    else:
        own = "connect.version" in top
    if own:
        return avro.schema
    return stamped(avro.schema, version)


def unreadable() -> DataError:
    """What is said of bytes that do not fit."""
    return data_error("SMT416", "the bytes do not fit the Avro schema", "look at the dead letter, or the schema")


def too_long() -> DataError:
    """What is said of a record that has more bytes than any is read of: SMT459."""
    return data_error("SMT459", f"the record has more than {MAX_BYTES} bytes", "look at its producer")


def _take(items: int, width: int) -> None:
    """Ask for room for the items of an array or map.

    Raises:
        DataError: SMT459, they are too many.
    """
    if items > MAX_ITEMS:
        statement = f"an array or a map has more than {MAX_ITEMS} items"
        raise data_error("SMT459", statement, "look at the dead letter, and at its producer")
    room.take(items * width)


def bare(data: Any) -> Any:
    """A schema without logical types: fastavro would turn their values into objects that hold less."""
    return _keyed(data, None)


def _marked(data: Any) -> Any:
    """A schema whose logical types fastavro does not see: it refuses some that Connect writes."""
    return _keyed(data, _LOGICAL)


def _keyed(data: Any, logical: str | None) -> Any:
    """A schema with another key for logical types; None: without them."""
    if isinstance(data, list):
        return [_keyed(item, logical) for item in data]
    if not isinstance(data, dict):
        return data
    pairs = ((logical if key == "logicalType" else key, value) for key, value in data.items())
    results = {}
    for key, value in pairs:
        if key is not None:
            results[key] = value if key == "default" else _keyed(value, logical)
    return results


@dataclass
class _Builder:
    """Builds Connect's schemas. A named type is built once, and shared by all who use it.

    Attributes:
        place: How messages call the schema.
        declared: Whether the digits of decimals count.
        names: The named types.
        open: Those that are being built.
        built: Those that are, by name and whether they have a default.
        nothing: Which values take no bytes.
    """

    place: str
    declared: bool = False
    names: dict[str, Any] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    built: dict[tuple[str, bool], tuple[Schema, Convert]] = field(default_factory=dict)
    nothing: Empty = field(init=False)

    def __post_init__(self) -> None:
        self.nothing = Empty(self.names)

    def build(self, avro: Any, *, nullable: bool = False, default: Any = None) -> tuple[Schema, Convert]:
        """The Connect schema of an Avro schema, and the function for its values."""
        if isinstance(avro, list):
            return self.union(avro, nullable)
        if isinstance(avro, str) and avro in self.names:
            avro = self.names[avro]
        if isinstance(avro, str):
            avro = {"type": avro}
        kind = avro["type"]
        if isinstance(kind, list | dict):
            return self.build(kind, nullable=nullable, default=default)
        schema, convert = self.shared(kind, avro, default)
        if default is not None:
            schema = schema.with_(default=_default(schema, convert, default))
        return (optional(schema) if nullable else schema), _nullable(convert)

    def shared(self, kind: str, avro: dict[str, Any], default: Any) -> tuple[Schema, Convert]:
        """What ``build`` gives for a type, but for null and default."""
        name = avro.get("name")
        if name is not None:
            known = self.built.get((name, default is not None))
        else:
            known = None
        if known is not None:
            return known
        if name is not None:
            self.names[name] = avro
        schema, convert = self.typed(kind, avro)
        schema = self.bounded(self.described(schema, avro, default))
        if name is not None:
            self.built[name, default is not None] = (schema, convert)
        return schema, convert

    def bounded(self, schema: Schema) -> Schema:
        """The schema, if it is not too large."""
        reason = excess(schema)
        if reason is not None:
            raise self.refused(reason)
        return schema

    def typed(self, kind: str, avro: dict[str, Any]) -> tuple[Schema, Convert]:
        logical = avro.get(_LOGICAL)
        if kind in ("bytes", "fixed"):
            if logical == "decimal":
                return self.bytes(avro)
            return _bytes(avro)
        if kind == "int" and logical in ("date", "time-millis"):
            unit = DAY if logical == "date" else 1
            return (date() if logical == "date" else time()), lambda value: JavaDate(value * unit)
        if kind == "long" and logical == "timestamp-millis":
            return timestamp(), JavaDate
        if kind == "int" and avro.get("connect.type") in ("int8", "int16"):
            return _narrow(Type(avro["connect.type"]))
        if kind in _SIMPLE:
            return Schema(_SIMPLE[kind]), _same
        others = {"record": self.record, "enum": _enum, "array": self.array, "map": self.map}
        if kind not in others:
            raise self.refused(f"Connect has no schema for '{kind}'")
        return others[kind](avro)

    def record(self, avro: dict[str, Any]) -> tuple[Schema, Convert]:
        name = avro["name"]
        if name in self.open:
            raise self.refused(f"'{name}' holds itself, which a table cannot")
        self.open.add(name)
        parts = [(f["name"], *self.build(f["type"], default=f.get("default"))) for f in avro["fields"]]
        self.open.discard(name)
        schema = Schema(Type.STRUCT, fields=tuple((n, child) for n, child, _ in parts))
        converts = [(n, convert) for n, _, convert in parts]

        def convert(value: Any) -> dict[str, Any]:
            fields = value[1] if isinstance(value, tuple) else value
            return {n: make(fields[n]) for n, make in converts}

        return schema, convert

    def array(self, avro: dict[str, Any]) -> tuple[Schema, Convert]:
        entry = entry_of(avro, self.names)
        if entry is not None:
            return self.entries(entry)
        schema, convert = self.build(avro["items"])
        self.refuse_endless(avro["items"])
        width = schema.width

        def read(value: Any) -> list[Any]:
            _take(len(value), width)
            return [convert(item) for item in value]

        return Schema(Type.ARRAY, values=schema), read

    def entries(self, entry: dict[str, Any]) -> tuple[Schema, Convert]:
        """A map whose keys are no texts, which Connect writes as an array of entries."""
        struct, convert = self.build(entry)
        self.refuse_endless(entry)
        found, width = struct.by_name, struct.width
        if not {"key", "value"} <= found.keys():
            raise self.refused("the entries of a map need a key and a value")

        def read(value: Any) -> dict[Any, Any]:
            _take(len(value), width)
            rows = map(convert, value)
            return {as_key(row["key"]): row["value"] for row in rows}

        return Schema(Type.MAP, keys=found["key"], values=found["value"]), read

    def map(self, avro: dict[str, Any]) -> tuple[Schema, Convert]:
        schema, convert = self.build(avro["values"])
        self.refuse_endless(avro["values"], keyed=True)
        width = schema.width

        def read(value: Any) -> dict[str, Any]:
            _take(len(value), width)
            return {k: convert(v) for k, v in value.items()}

        return Schema(Type.MAP, keys=STRING, values=schema), read

    def refuse_endless(self, items: Any, *, keyed: bool = False) -> None:
        if self.nothing.endless(items, keyed=keyed):
            raise self.refused("it has arrays or maps of values that take no bytes, so few bytes could be any number")

    def union(self, members: list[Any], nullable: bool) -> tuple[Schema, Convert]:
        others = [member for member in members if member != "null"]
        if len(members) == 1:  # flatten.singleton.unions
            return self.build(members[0])
        if len(others) == 1 and len(members) == 2:
            return self.build(others[0], nullable=True)
        kinds = set(map(_kind, others))
        if any(kinds.issuperset(pair) for pair in _SAME):
            raise self.refused("a union of int and long, or of float and double, cannot be told apart once it is read")
        parts = [(_member(m), m, *self.build(m, nullable=True)) for m in others]
        if len({name for name, *_ in parts}) < len(parts):
            raise self.refused("a union has two types of one name")
        fields = tuple((name, child) for name, _, child, _ in parts)
        schema = self.bounded(Schema(Type.STRUCT, len(others) < len(members) or nullable, UNION, fields=fields))
        empty = dict.fromkeys(schema.by_name)
        choices = [(name, _test(member), convert) for name, member, _, convert in parts]

        def convert(value: Any) -> dict[str, Any]:
            for name, fits, make in choices:
                if fits(value):
                    return {**empty, name: make(value)}
            raise unreadable()

        return schema, _nullable(convert)

    def described(self, schema: Schema, avro: dict[str, Any], default: Any) -> Schema:
        """The schema with what Connect keeps of an Avro schema: name, version, doc, parameters."""
        own = avro.get("connect.parameters", {})
        if not isinstance(own, dict):
            raise self.refused("connect.parameters is no object")
        parameters = {**dict(schema.parameters), **_parameters(avro), **own}
        parameters |= {key: str(value) for key, value in avro.items() if key.startswith("avro.")}
        if default is not None and "connect.default" not in avro:
            parameters[f"{CONNECT_AVRO}field.default"] = "true"
        name = avro.get("connect.name", avro.get("name") if schema.logical is None else None)
        texts = [*parameters.values(), *(one for one in (name, avro.get("connect.doc")) if one is not None)]
        if not all(isinstance(one, str) for one in texts):
            raise self.refused("its names, docs and parameters are texts only")
        return schema.with_(
            name=schema.name if name is None or name.startswith(_DEFAULT_NAME) else name,
            version=self.version(schema, avro),
            doc=avro.get("connect.doc"),
            parameters=tuple(sorted(parameters.items())),
        )

    def version(self, schema: Schema, avro: dict[str, Any]) -> int | None:
        """What ``connect.version`` says; a logical type of Connect's has 1 already, and no other."""
        if "connect.version" not in avro:
            return schema.version
        given = avro["connect.version"]
        if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
            raise self.refused("connect.version is no number")
        found = stamped(schema, int(given))
        if found is None:
            raise self.refused("connect.version is not that of the logical type")
        return found.version

    def bytes(self, avro: dict[str, Any]) -> tuple[Schema, Convert]:
        """A decimal. As in ``AvroData``, a scale that is no number is 0."""
        scale, precision = avro.get("scale"), avro.get("precision")
        number = _whole(scale) or 0
        if not -(2**31) <= number < 2**31:
            raise self.refused("the scale of a decimal has 32 bits")
        if precision is not None and _whole(precision) is None:
            raise self.refused("the precision of a decimal is no number")
        schema, convert = _decimal(avro, number, precision)
        return schema, _within_digits(schema, convert) if self.declared else convert

    def refused(self, statement: str) -> ConfigError:
        hint = "read the values as bytes, or change the schema"
        return ConfigError(Problem("SMT273", self.place, statement, hint))


def _parameters(avro: dict[str, Any]) -> dict[str, str]:
    """Docs and symbols, as parameters."""
    kind, short = avro["type"], str(avro.get("name", "")).rpartition(".")[2]
    found: dict[str, str] = {}
    if kind == "record":
        found |= {f"{CONNECT_AVRO}record.doc": avro["doc"]} if avro.get("doc") else {}
        found |= {f"{CONNECT_AVRO}field.doc.{f['name']}": f["doc"] for f in avro["fields"] if f.get("doc")}
    if kind == "enum":
        found |= {f"{CONNECT_AVRO}enum.doc.{short}": avro["doc"]} if avro.get("doc") else {}
        found |= {f"{CONNECT_AVRO}enum.default.{short}": avro["default"]} if avro.get("default") is not None else {}
        found |= {ENUM: avro["name"], **{f"{ENUM}.{symbol}": symbol for symbol in avro["symbols"]}}
    return found


def _whole(value: Any) -> int | None:
    """A number of JSON without its fraction (``Number.intValue``); None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value)


def _narrow(kind: Type) -> tuple[Schema, Convert]:
    """An integer of 8 or 16 bits, which Avro has in 32. Connect cuts what is larger: 300 would be 44."""
    limit = 1 << (INTEGER_BITS[kind] - 1)

    def convert(value: int) -> int:
        if not -limit <= value < limit:
            hint = "declare a wider type, or look at the dead letter"
            raise data_error("SMT414", f"a number does not fit the type {kind.value} of its schema", hint)
        return value

    return Schema(kind), convert


def _size(avro: dict[str, Any]) -> dict[str, str]:
    if avro["type"] == "fixed":
        return {"connect.fixed.size": str(avro["size"])}
    return {}


def _bytes(avro: dict[str, Any]) -> tuple[Schema, Convert]:
    return Schema(Type.BYTES, parameters=tuple(_size(avro).items())), _plain_bytes


def _decimal(avro: dict[str, Any], scale: int, precision: Any) -> tuple[Schema, Convert]:
    schema = decimal(scale)
    parameters = {**dict(schema.parameters), **_size(avro)}
    if precision is not None and precision != 64:
        parameters[DECIMAL_PRECISION] = str(precision)

    def convert(value: Any) -> Decimal:
        return scaled_decimal(_plain_bytes(value), scale)

    return schema.with_(parameters=tuple(sorted(parameters.items()))), convert


def _within_digits(schema: Schema, convert: Convert) -> Convert:
    """The same for a column, which has no room for more digits than are declared."""
    precision = schema.precision or MAX_DIGITS
    limit = Decimal((0, (1,), precision - schema.scale))

    def checked(value: Any) -> Decimal:
        number: Decimal = convert(value)
        if number.copy_abs() >= limit:  # abs would round
            statement = f"a number has more digits than DECIMAL({precision}, {schema.scale})"
            raise data_error("SMT414", statement, "declare more digits, or look at the dead letter")
        return number

    return checked


def _plain_bytes(value: Any) -> bytes:
    return bytes(value[1] if isinstance(value, tuple) else value)


def _enum(avro: dict[str, Any]) -> tuple[Schema, Convert]:
    return Schema(Type.STRING), lambda value: value[1] if isinstance(value, tuple) else value


def _same(value: Any) -> Any:
    return value


def _nullable(convert: Convert) -> Convert:
    if convert is _same:
        return convert
    return lambda value: None if value is None else convert(value)


def entry_of(array: dict[str, Any], names: Mapping[str, Any]) -> dict[str, Any] | None:
    """The record that an array has as items, if that is an entry of a map whose keys are no texts."""
    items = array["items"]
    record = names.get(items) if isinstance(items, str) else items
    if isinstance(record, dict) and _is_entry(record):
        return record
    return None


def _is_entry(avro: dict[str, Any]) -> bool:
    ours = avro.get("name") == f"{CONNECT_AVRO}MapEntry" or avro.get("connect.internal.type") == "MapEntry"
    return avro.get("type") == "record" and ours


def _kind(member: Any) -> str:
    return str(member["type"] if isinstance(member, dict) else member)


def _member(member: Any) -> str:
    """What Connect calls a member of a union: the name without its namespace, or the type."""
    if isinstance(member, dict):
        named = member.get("name")
    elif member not in _TYPES:
        named = member
    else:
        named = None
    if named:
        return str(named).rpartition(".")[2]
    return _kind(member)


def _test(member: Any) -> Callable[[Any], bool]:
    """Whether a value that was read is of a member of a union; named types are read with their names."""
    kinds = _TYPES.get(_kind(member))
    if kinds is not None:
        return lambda value: type(value) in kinds
    name = member["name"] if isinstance(member, dict) else member
    return lambda value: isinstance(value, tuple) and value[0] == name


def _default(schema: Schema, convert: Convert, default: Any) -> Any:
    """A field's default: JSON, with bytes as ISO 8859-1. One that does not fit is left out, as Connect does."""
    try:
        if schema.type is Type.BYTES and isinstance(default, str):
            default = default.encode("latin-1")
        return convert(default)
    except _WRONG:
        return None
