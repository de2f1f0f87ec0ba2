"""Connect schemas: types and logical types. The table shows the Python values of each type.

| Connect type | Python value |
|---|---|
| INT8 .. INT64 | ``int`` |
| FLOAT32, FLOAT64 | ``float`` (FLOAT32 holds a value rounded to 32 bits) |
| BOOLEAN, STRING, BYTES | ``bool``, ``str``, ``bytes`` |
| ARRAY | ``list`` |
| MAP | ``dict`` |
| STRUCT | ``dict`` with one entry per field |
| Decimal (on BYTES) | ``decimal.Decimal`` |
| Date, Time (INT32), Timestamp (INT64) | ``JavaDate``: milliseconds since 1970-01-01T00:00Z |

``None`` is null in every type.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

from dagster_smt.model.caseless import caseless


class Type(Enum):
    """The types of ``org.apache.kafka.connect.data.Schema.Type``. The value is the type's name in schema JSON."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


INTEGERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)
FLOATS = (Type.FLOAT32, Type.FLOAT64)
INTEGER_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}

_DATA = "org.apache.kafka.connect.data."
DECIMAL, DATE, TIME, TIMESTAMP = (_DATA + n for n in ("Decimal", "Date", "Time", "Timestamp"))
DECIMAL_SCALE, DECIMAL_PRECISION = "scale", "connect.decimal.precision"
MAX_DIGITS = 38
"""The largest number of digits of a decimal in Spark, in Flink and in tables. Connect's decimals have no limit."""
_LOGICAL = {DECIMAL: Type.BYTES, DATE: Type.INT32, TIME: Type.INT32, TIMESTAMP: Type.INT64}


class JavaDate(int):
    """A ``java.util.Date`` in milliseconds since 1970. As in Connect, a date is not a number."""

    __slots__ = ()


# without slots, because cached_property stores its results in the object's __dict__
@dataclass(frozen=True)
class Schema:
    """A Connect schema, immutable and hashable.

    Attributes:
        type: The Connect type.
        optional: True if null is allowed.
        name, version, doc: As in Connect; ``name`` also marks logical types.
        parameters: Pairs of a parameter's name and its value, sorted by name.
        default: The default as a Python value of the type; ``None`` if there is no default.
        fields: For STRUCT: pairs of name and schema, in order.
        keys: For MAP: the schema of the keys.
        values: For MAP and ARRAY: the schema of the values or items.
        zoned: For a Timestamp: true if it is declared with a time zone (SQL's ``TIMESTAMP_LTZ``), so that its strings
            end in ``Z``. Connect's own schemas have no such attribute.
    """

    type: Type
    optional: bool = False
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    # the default of an array, map or struct is a list or dict, which Python cannot hash
    default: Any = field(default=None, hash=False)
    fields: "tuple[tuple[str, Schema], ...]" = ()
    keys: "Schema | None" = None
    values: "Schema | None" = None
    zoned: bool = False

    @cached_property
    def by_name(self) -> Mapping[str, "Schema"]:
        """The schemas of the fields by name (STRUCT only)."""
        return dict(self.fields)

    @cached_property
    def logical(self) -> str | None:
        """The name of the logical type, ``Decimal``, ``Date``, ``Time`` or ``Timestamp``; None if the schema is not one
        of Connect's logical types.
        """
        name = self.name or ""
        if _LOGICAL.get(name) is self.type:
            return name.removeprefix(_DATA)
        return None

    @property
    def mislabelled(self) -> bool:
        """True if the schema has the name of a logical type, but not its type: for example a Date that is a STRING."""
        return self.name in _LOGICAL and self.logical is None

    @property
    def scale(self) -> int:
        """The scale of a Decimal, as the schema's parameters state it."""
        return int(dict(self.parameters).get(DECIMAL_SCALE, "0"))

    @property
    def precision(self) -> int | None:
        """The number of digits of a Decimal, from a parameter that Debezium and Avro set. None if the parameter is
        missing, or if a table cannot store that many digits.
        """
        text = dict(self.parameters).get(DECIMAL_PRECISION, "")
        if not (text.isdecimal() and len(text) < 3):  # a producer may write any string here
            return None
        # Spark has no decimal with more digits after the point than digits, and none without digits
        if max(self.scale, 1) <= int(text) <= MAX_DIGITS:
            return int(text)
        return None

    @cached_property
    def label(self) -> str:
        """The label of the schema in messages: ``int32``, ``Timestamp``, ``Decimal(2)``, ``array<string>``; with ``?``
        at the end if it is optional.
        """
        if self.logical:
            if self.logical == "Decimal":
                text = f"Decimal({self.scale})"
            else:
                text = self.logical
        elif self.type is Type.ARRAY:
            text = f"array<{self.values.label if self.values else 'any'}>"
        elif self.type is Type.MAP:
            text = f"map<{self.keys.label if self.keys else 'any'},{self.values.label if self.values else 'any'}>"
        else:
            text = self.type.name.lower()
        return text + ("?" if self.optional else "")

    @cached_property
    def field_names(self) -> tuple[str, ...]:
        """The names of the fields (STRUCT only), in order."""
        return tuple(name for name, _ in self.fields)

    @cached_property
    def children(self) -> tuple["Schema", ...]:
        """The schemas directly inside this schema: the schemas of a struct's fields, of a map's keys and values, or of
        an array's items.
        """
        schemas = [child for _, child in self.fields]
        for child in (self.keys, self.values):
            if child is not None:
                schemas.append(child)
        return tuple(schemas)

    @cached_property
    def levels(self) -> int:
        """The depth of nesting, as Arrow counts it: 1 for a simple type, 2 for an array of simple values. A map adds
        two levels, because Arrow stores it as an array of entries.
        """
        return 1 + (self.type is Type.MAP) + max((child.levels for child in self.children), default=0)

    @cached_property
    def nodes(self) -> int:
        """The number of schemas in this schema, including the schema itself.

        A schema that several fields share is counted for each of them.
        """
        return 1 + sum(child.nodes for child in self.children)

    @cached_property
    def width(self) -> int:
        """The number of values in one value of this schema: a struct with two numbers has 3 (itself and its fields).
        Structs inside structs are counted in the same way. An array or a map is always 1, whatever it contains.
        """
        return 1 + sum(child.width for _, child in self.fields)

    @cached_property
    def internal_names(self) -> tuple[str, ...]:
        """The names of the fields in Spark, for a STRUCT. If Spark would confuse the original names, numbered names
        such as ``f0`` replace them.

        Spark confuses names that differ only in case, and reads ``${`` as the beginning of a session variable.
        """
        names = self.field_names
        if len(set(map(caseless, names))) == len(names) and not any("${" in n for n in names):
            return names
        return tuple(f"f{number}" for number in range(len(names)))

    def with_(self, **changes: Any) -> "Schema":
        """Returns a copy of the schema with the attributes in ``changes``."""
        return replace(self, **changes)

    def without_defaults(self) -> "Schema":
        """Returns a copy of the schema without default values, at every level. Reports use the copy, because they must
        not show values.
        """
        children = tuple((name, child.without_defaults()) for name, child in self.fields)
        keys, values = (part.without_defaults() if part is not None else None for part in (self.keys, self.values))
        return replace(self, default=None, fields=children, keys=keys, values=values)

    def with_fields(self, fields: tuple[tuple[str, "Schema"], ...]) -> "Schema":
        """Returns a struct schema with the fields ``fields``. The name, version, doc and parameters are those of this
        schema.

        As in ``SchemaUtil.copySchemaBasics`` of Connect's transforms, the result is required and has no default,
        whatever this schema has.
        """
        return Schema(
            Type.STRUCT, name=self.name, version=self.version, doc=self.doc, parameters=self.parameters, fields=fields
        )


STRING = Schema(Type.STRING)
INT32 = Schema(Type.INT32)
INT64 = Schema(Type.INT64)
BOOLEAN = Schema(Type.BOOLEAN)


def optional(schema: Schema) -> Schema:
    """Returns ``schema`` as an optional schema, which allows null."""
    if schema.optional:
        return schema
    return schema.with_(optional=True)


def decimal(scale: int, precision: int | None = None, *, optional: bool = False) -> Schema:
    """Returns the schema of Connect's Decimal with the scale ``scale``. ``precision`` is the number of digits; None if
    it is not known.
    """
    digits = () if precision is None else ((DECIMAL_PRECISION, str(precision)),)
    return Schema(Type.BYTES, optional, DECIMAL, 1, parameters=(*digits, (DECIMAL_SCALE, str(scale))))


def date(*, optional: bool = False) -> Schema:
    """Returns the schema of Connect's Date: a number of days, stored as INT32."""
    return Schema(Type.INT32, optional, DATE, 1)


def time(*, optional: bool = False) -> Schema:
    """Returns the schema of Connect's Time: a number of milliseconds since midnight, stored as INT32."""
    return Schema(Type.INT32, optional, TIME, 1)


def timestamp(*, optional: bool = False) -> Schema:
    """Returns the schema of Connect's Timestamp: a number of milliseconds since 1970, stored as INT64."""
    return Schema(Type.INT64, optional, TIMESTAMP, 1)
