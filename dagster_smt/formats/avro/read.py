"""Reads Avro as Confluent's ``AvroConverter`` does (``io.confluent.connect.avro.AvroData``).

fastavro reads the bytes. This module converts logical types, unions and names to Connect's. The converter's defaults
apply:

- Connect's metadata stays.
- Enums become strings.
- A union of null and one type becomes that type.
- Any other union becomes a struct.
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
    FLOATS,
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
from dagster_smt.values.java.calendar import DAY
from dagster_smt.values.json.lazy import check_depth, with_room
from dagster_smt.values.numbers import scaled_decimal, to_float32, wrap

Convert = Callable[[Any], Any]
CONNECT_AVRO = "io.confluent.connect.avro."
UNION, ENUM, _DEFAULT_NAME = f"{CONNECT_AVRO}Union", f"{CONNECT_AVRO}Enum", f"{CONNECT_AVRO}ConnectDefault"
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
_IN_JSON: Mapping[Type, tuple[type, ...]] = {
    Type.BOOLEAN: (bool,), Type.STRING: (str,), Type.BYTES: (str,), Type.ARRAY: (list,), Type.STRUCT: (dict,),
    Type.MAP: (dict, list),  # a list of entries, if the keys are not strings
}  # fmt: skip
"""Maps types to the Python types of their defaults in JSON. All other types are numbers."""
_WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, DataError)
"""The errors that may occur while a default is converted. The default in an Avro schema may be any JSON, so many errors
are possible.
"""
_SAME = (("int", "long"), ("float", "double"))


@dataclass(frozen=True)
class Avro:
    """An Avro schema, with its Connect schema and a reader.

    Attributes:
        schema: The Connect schema.
        read: A function from bytes to the value; raises ``DataError`` SMT416.
        source: The Avro schema from which ``schema`` was built, as parsed JSON. A named type may be represented by its
            name alone.
        names: Maps the names of the types in the schema to their definitions.
    """

    schema: Schema
    read: Callable[[bytes], Any]
    source: Any
    names: Mapping[str, Any]

    @property
    def top(self) -> Any:
        """The Avro schema as parsed JSON: a list for a union, else a dict. If the schema is only a name, such as
        ``"int"``, the result is a dict: ``{"type": "int"}``.
        """
        if isinstance(self.source, str):
            return self.names.get(self.source, {"type": self.source})
        return self.source

    @property
    def name(self) -> str | None:
        """The full name of the record (``AvroSchema.name``). None if the schema is not a record."""
        top = self.top
        if isinstance(top, dict) and top["type"] == "record":
            return top["name"]
        return None


def avro_of(text: str, references: Sequence[str] = (), place: str = "avro", *, declared: bool = False) -> Avro:
    """Returns the Avro schema ``text`` with its Connect schema and a reader.

    Args:
        text: The schema as JSON.
        references: The schemas whose types ``text`` uses. Each of these schemas comes after the schemas whose types it
            uses.
        place: The schema's name in messages.
        declared: True if the schema comes from declared columns. Decimals are then limited to their precision, which
            Connect does not check.

    Raises:
        ConfigError: SMT273 if the string is not an Avro schema or is too large, or if Connect has no schema for it.
    """
    try:
        return with_room(lambda texts: _prepared(texts, _ConnectBuilder(place, declared)), (*references, text))
    except ConfigError:
        raise
    except Exception:  # noqa: BLE001 - attributes may be any JSON, and no list of the resulting errors exists
        raise ConfigError(Problem("SMT273", place, "it is not an Avro schema", "fix its first mistake")) from None


def _prepared(texts: Sequence[str], builder: "_ConnectBuilder") -> Avro:
    """Returns the last of the schemas in ``texts``, with its Connect schema and a reader. The other schemas define
    types that the last schema uses.
    """
    bare_names: dict[str, Any] = {}
    marked_names: dict[str, Any] = {}
    for text in texts:
        check_depth(text.encode())
        data = json.loads(text)
        # parsed twice: fastavro reads the bytes without logical types, and the Connect schema needs them
        parsed = parse_schema(bare(data), named_schemas=bare_names)
        marked = parse_schema(_marked(data), named_schemas=marked_names)
        schema, convert = builder.build(marked)

    def read(raw: bytes) -> Any:
        if len(raw) > MAX_BYTES:
            raise too_long()
        source = io.BytesIO(raw)
        room.reset()
        try:
            # For a record, an enum or a fixed inside a union, ``return_named_type`` returns a pair of name and value.
            # The value alone does not tell which type of the union it has.
            value = fastavro.schemaless_reader(source, parsed, None, return_named_type=True)
        except (EOFError, ValueError, IndexError, KeyError, TypeError, OverflowError, UnicodeDecodeError):
            raise unreadable() from None
        # fastavro ignores the bytes after the value, but Connect rejects them
        if source.tell() != len(raw):
            raise unreadable()
        return convert(value)

    return Avro(schema, read, marked, builder.names)


def stamped(schema: Schema, version: int) -> Schema | None:
    """Returns ``schema`` with the version number ``version`` (``AvroData.toConnectSchema``). A negative version changes
    nothing.

    Returns None if the schema already has a different version.
    """
    if version < 0 or schema.version == version:
        return schema
    if schema.version is not None:
        return None
    return schema.with_(version=version)


def with_version(avro: Avro, version: int) -> Schema | None:
    """Returns the Connect schema of ``avro`` with ``version``, the version that a registry gives to the schema.

    Three cases are different:

    - If the schema contains ``connect.version``, the schema keeps that version.
    - If the schema is a union of null and one type, or of only one type, this type gets no version.
    - The version of a logical type is always 1. If ``version`` is a different number, the result is None.
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
    """Returns the error for bytes that do not fit their schema."""
    return data_error("SMT416", "the bytes do not fit the Avro schema", "check the dead letter, or the schema")


def too_long() -> DataError:
    """Returns the error for a record with too many bytes: SMT459."""
    return data_error("SMT459", f"the record has more than {MAX_BYTES} bytes", "check the producer")


def _take(items: int, width: int) -> None:
    """Counts values of the record that is being read, because a record may have only a limited number of values.

    An array or map with ``items`` items, each of which consists of ``width`` values, counts as ``items * width``
    values.

    Raises:
        DataError: SMT459 if the array or map has too many items, or the record has too many values.
    """
    if items > MAX_ITEMS:
        statement = f"an array or a map has more than {MAX_ITEMS} items"
        raise data_error("SMT459", statement, "check the dead letter, and its producer")
    room.take(items * width)


def bare(data: Any) -> Any:
    """Returns the Avro schema ``data`` without logical types. For a value of a logical type, fastavro would return a
    Python object that lacks some of the information in the bytes.
    """
    return _keyed(data, None)


def _marked(data: Any) -> Any:
    """Returns the Avro schema ``data``, in which a key of this package replaces each key ``logicalType``. With the
    usual key, fastavro would reject some of Connect's types.
    """
    return _keyed(data, _LOGICAL)


def _keyed(data: Any, logical: str | None) -> Any:
    """Returns the Avro schema ``data``, in which the key ``logical`` replaces each key ``logicalType``. If ``logical``
    is None, the keys ``logicalType`` are removed.
    """
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
class _ConnectBuilder:
    """A builder of Connect schemas from Avro schemas. All uses of a named type share one schema.

    Attributes:
        place: The schema's name in messages.
        declared: True if the schema comes from declared columns, whose decimals have a limited number of digits.
        names: Maps the name of each type to its definition.
        open: The names of the types that are being built at the moment.
        built: The types that have been built. The key is a pair: the name of a type, and True if the type is used with
            a default. The value is the type's schema, and the function that converts its values.
        nothing: Counts values that take up no bytes, such as nulls.
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
        """Returns the Connect schema of ``avro``, and a function that converts its values."""
        if isinstance(avro, list):
            return self.union(avro, nullable)
        if isinstance(avro, str) and avro in self.names:
            avro = self.names[avro]
        if isinstance(avro, str):
            avro = {"type": avro}
        kind = avro["type"]
        # {"type": {"type": "int"}} is the same as {"type": "int"}
        if isinstance(kind, list | dict):
            return self.build(kind, nullable=nullable, default=default)
        schema, convert = self.shared(kind, avro, default)
        # Connect writes its default into the type as well. For a type in a union, no default of a field comes with it.
        if default is None:
            default = avro.get("connect.default")
        if default is not None:
            schema = schema.with_(default=_default(schema, convert, default))
        return (optional(schema) if nullable else schema), _nullable(convert)

    def shared(self, kind: str, avro: dict[str, Any], default: Any) -> tuple[Schema, Convert]:
        """Returns the Connect schema of the Avro type ``avro``, and a function that converts its values. A record or
        another named type is built at most twice: with a default, and without.

        The result is not optional and has no default. The method ``build`` adds both.
        """
        name = avro.get("name")
        if name is not None:
            # A default adds the parameter ``field.default`` to the schema of the type itself (see ``described``).
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
        """Returns ``schema``, or raises an error if the schema has too many fields."""
        reason = excess(schema)
        if reason is not None:
            raise self.refused(reason)
        return schema

    def typed(self, kind: str, avro: dict[str, Any]) -> tuple[Schema, Convert]:
        logical = avro.get(_LOGICAL)
        # Connect knows only the logical types below. A value of any other logical type, such as timestamp-micros or
        # uuid, stays a plain number, string or bytes.
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
            raise self.refused(f"'{name}' contains itself, which a table cannot hold")
        self.open.add(name)
        parts = [(f["name"], *self.build(f["type"], default=f.get("default"))) for f in avro["fields"]]
        self.open.discard(name)
        schema = Schema(Type.STRUCT, fields=tuple((n, child) for n, child, _ in parts))
        converts = [(n, convert) for n, _, convert in parts]

        def convert(value: Any) -> dict[str, Any]:
            # inside a union, a pair of name and value (``return_named_type``)
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
        """Returns the schema of a map whose keys are not strings, and a function that converts its values. In Avro,
        such a map is an array of records ``{"key": …, "value": …}``. ``entry`` is the Avro type of one such record.
        """
        struct, convert = self.build(entry)
        self.refuse_endless(entry)
        fields, width = struct.by_name, struct.width
        if not {"key", "value"} <= fields.keys():
            raise self.refused("the entries of a map need a key and a value")

        def read(value: Any) -> dict[Any, Any]:
            _take(len(value), width)
            rows = map(convert, value)
            return {as_key(row["key"]): row["value"] for row in rows}

        return Schema(Type.MAP, keys=fields["key"], values=fields["value"]), read

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
            raise self.refused(
                "its arrays or maps have items without bytes, so a few bytes could describe any number of items"
            )

    def union(self, members: list[Any], nullable: bool) -> tuple[Schema, Convert]:
        others = [member for member in members if member != "null"]
        if len(members) == 1:  # flatten.singleton.unions
            return self.build(members[0])
        if len(others) == 1 and len(members) == 2:
            return self.build(others[0], nullable=True)
        kinds = set(map(_kind, others))
        # fastavro returns an int for int and long, and a float for float and double
        if any(map(kinds.issuperset, _SAME)):
            raise self.refused("a union has int and long, or float and double, whose values cannot be distinguished")
        parts = [(_member(m), m, *self.build(m, nullable=True)) for m in others]
        if len({name for name, *_ in parts}) < len(parts):
            raise self.refused("a union has two types with the same name")
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
        """Returns ``schema`` with the metadata that Connect takes from the Avro type: name, version, doc and
        parameters.
        """
        own = avro.get("connect.parameters", {})
        if not isinstance(own, dict):
            raise self.refused("connect.parameters is not an object")
        parameters = {**dict(schema.parameters), **_parameters(avro), **own}
        parameters |= {key: str(value) for key, value in avro.items() if key.startswith("avro.")}
        # Connect writes a default of its own as ``connect.default``. The parameter marks a default of the Avro field.
        if default is not None and "connect.default" not in avro:
            parameters[f"{CONNECT_AVRO}field.default"] = "true"
        name = avro.get("connect.name", avro.get("name") if schema.logical is None else None)
        own_texts = []
        for one in (name, avro.get("connect.doc")):
            if one is not None:
                own_texts.append(one)
        texts = [*parameters.values(), *own_texts]
        if not all(isinstance(one, str) for one in texts):
            raise self.refused("its names, docs and parameters must be texts")
        return schema.with_(
            # Avro requires a name for each record. Connect writes ConnectDefault, ConnectDefault2, … for structs
            # without a name.
            name=schema.name if name is None or name.startswith(_DEFAULT_NAME) else name,
            version=self.version(schema, avro),
            doc=avro.get("connect.doc"),
            parameters=tuple(sorted(parameters.items())),
        )

    def version(self, schema: Schema, avro: dict[str, Any]) -> int | None:
        """Returns the version that ``avro`` names in ``connect.version``, or else the version of ``schema``. A logical
        type of Connect, such as ``Date``, always has the version 1. If ``connect.version`` contains a different number,
        an error is raised.
        """
        if "connect.version" not in avro:
            return schema.version
        version = _whole(avro["connect.version"])
        if version is None:
            raise self.refused("connect.version is not a number")
        with_version = stamped(schema, version)
        if with_version is None:
            raise self.refused("connect.version is not that of the logical type")
        return with_version.version

    def bytes(self, avro: dict[str, Any]) -> tuple[Schema, Convert]:
        """Returns the Connect schema of ``avro``, a type for bytes or decimals, and a function that converts its
        values. As in ``AvroData``, a scale that is not a number is treated as 0.
        """
        scale, precision = avro.get("scale"), avro.get("precision")
        number = _whole(scale) or 0
        # the scale of a BigDecimal is an int in Java
        if not -(2**31) <= number < 2**31:
            raise self.refused("the scale of a decimal needs more than 32 bits")
        if precision is not None and _whole(precision) is None:
            raise self.refused("the precision of a decimal is not a number")
        schema, convert = _decimal(avro, number, precision)
        return schema, _within_digits(schema, convert) if self.declared else convert

    def refused(self, statement: str) -> ConfigError:
        hint = "read the values as bytes, or change the schema"
        return ConfigError(Problem("SMT273", self.place, statement, hint))


def _parameters(avro: dict[str, Any]) -> dict[str, str]:
    """Returns the parameters that the Connect schema of the Avro type ``avro`` gets: the docs of a record type and its
    fields; or the doc, the default and the symbols of an enum.
    """
    kind, short = avro["type"], str(avro.get("name", "")).rpartition(".")[2]
    parameters: dict[str, str] = {}
    if kind in ("record", "enum") and avro.get("doc"):
        owner = "record.doc" if kind == "record" else f"enum.doc.{short}"
        parameters[f"{CONNECT_AVRO}{owner}"] = avro["doc"]
    if kind == "record":
        for child in avro["fields"]:
            if child.get("doc"):
                parameters[f"{CONNECT_AVRO}field.doc.{child['name']}"] = child["doc"]
    if kind == "enum":
        if avro.get("default") is not None:
            parameters[f"{CONNECT_AVRO}enum.default.{short}"] = avro["default"]
        parameters[ENUM] = avro["name"]
        parameters |= {f"{ENUM}.{symbol}": symbol for symbol in avro["symbols"]}
    return parameters


def _whole(value: Any) -> int | None:
    """Returns the number ``value`` without its fraction (``Number.intValue``). Returns None if ``value`` is not a
    number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value)


def _narrow(kind: Type) -> tuple[Schema, Convert]:
    """Returns the Connect schema of ``kind``, an integer with 8 or 16 bits, and a function that checks its values. Avro
    stores the integer with 32 bits.

    A number that needs more bits than ``kind`` is an error. Connect would truncate it: 300 would become 44.
    """
    limit = 1 << (INTEGER_BITS[kind] - 1)

    def convert(value: int) -> int:
        if not -limit <= value < limit:
            hint = "declare a wider type, or check the dead letter"
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
    # 64 stands for an unknown precision: Connect writes it for decimals that have none
    if precision is not None and precision != 64:
        parameters[DECIMAL_PRECISION] = str(precision)

    def convert(value: Any) -> Decimal:
        return scaled_decimal(_plain_bytes(value), scale)

    return schema.with_(parameters=tuple(sorted(parameters.items()))), convert


def _within_digits(schema: Schema, convert: Convert) -> Convert:
    """Returns a function that calls ``convert`` and rejects a number with more digits than the column declares. For
    DECIMAL(5, 2), 1000 is rejected.
    """
    precision = schema.precision or MAX_DIGITS
    limit = Decimal((0, (1,), precision - schema.scale))

    def checked(value: Any) -> Decimal:
        number: Decimal = convert(value)
        if number.copy_abs() >= limit:  # abs() would round to the context's precision
            statement = f"a number has more digits than DECIMAL({precision}, {schema.scale})"
            raise data_error("SMT414", statement, "declare more digits, or check the dead letter")
        return number

    return checked


def _plain_bytes(value: Any) -> bytes:
    if isinstance(value, str):  # only in the JSON of a default
        return value.encode("latin-1")
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
    """Returns the record type of the items if ``array`` represents a map whose keys are not strings. Otherwise returns
    None.

    In Avro, such a map is an array of records: ``[{"key": 1, "value": "a"}]``.
    """
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
    """Returns the name that Connect gives to ``member``, one type of a union: ``Address`` for the record
    ``shop.Address``, ``int`` for the type ``int``.
    """
    if isinstance(member, dict):
        name = member.get("name")
    elif member not in _TYPES:
        name = member
    else:
        name = None
    if name:
        return str(name).rpartition(".")[2]
    return _kind(member)


def _test(member: Any) -> Callable[[Any], bool]:
    """Returns a function that returns True for values of ``member``, one type of a union. For a value of a named type
    (a record, an enum or a fixed), fastavro returns a pair: the type's name, and the value. The function then compares
    the name.
    """
    kinds = _TYPES.get(_kind(member))
    if kinds is not None:
        return lambda value: type(value) in kinds
    name = member["name"] if isinstance(member, dict) else member
    return lambda value: isinstance(value, tuple) and value[0] == name


def _default(schema: Schema, convert: Convert, default: Any) -> Any:
    """Returns the default of a field, converted from the JSON ``default``. A default that does not fit ``schema``
    becomes None.
    """
    try:
        return convert(_fitting(schema, default))
    except _WRONG:
        return None


def _fitting(schema: Schema, default: Any) -> Any:
    """Returns ``default``, the JSON of a default, if it has the type that ``schema`` needs. A whole number for a float
    becomes a float.

    Raises:
        TypeError: The default has a different type.
        ValueError: The default is too large.
    """
    if schema.type in FLOATS and type(default) in (int, float):
        if schema.type is Type.FLOAT32:
            return to_float32(float(default))
        return float(default)
    if type(default) not in _IN_JSON.get(schema.type, (int,)):
        raise TypeError
    if schema.type in INTEGER_BITS and wrap(default, INTEGER_BITS[schema.type]) != default:
        raise ValueError
    return default
