"""Reads Avro in Spark with ``from_avro``, without Python. All keys, or all values, must name the same schema.

``from_avro`` receives a changed schema: its fields have technical names such as ``f0``, and decimals are its only
logical types. ``from_avro`` can still read the records, because the bytes of a record contain neither names nor logical
types. This module adds the original names and the logical types afterwards.

This module makes two checks that ``from_avro`` does not make. It appends an end marker to each value, to detect
left-over bytes. And it checks that strings are UTF-8.

Python (``formats.avro``) reads two kinds of values instead: unions, which Connect converts into structs, and arrays of
key-value entries, which Connect converts into maps.

Spark reads the string fields at the top of a record as bytes, which saves a tenth of the run's time: for each string,
Avro's reader would look up a Java class. This is possible, because Avro encodes strings and bytes in the same way.
"""

import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce
from itertools import count
from operator import or_
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from dagster_smt.errors import Problem
from dagster_smt.formats.avro.read import ENUM, Avro, entry_of, too_long, unreadable
from dagster_smt.formats.avro.write import avro_out
from dagster_smt.formats.registry.versions import HEADER
from dagster_smt.formats.registry.wire import no_header
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import INT64, MAX_DIGITS, Schema, Type
from dagster_smt.model.schema_size import MAX_BYTES
from dagster_smt.spark import sql as F
from dagster_smt.spark.column_values import unfit, unplanned
from dagster_smt.spark.sql import Column
from dagster_smt.spark.typed_literals import MAX_MILLIS
from dagster_smt.spark.types import internal_names

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_VALUE, _END, _SKIPPED = "v", "e", "u"
_MOST_NESTED, _MOST_FIXED = 4, 2**16
"""Two limits for schemas that Spark reads: at most 4 levels of nested arrays or maps, and at most 65,536 bytes in a
value of a fixed type. Without the limits, a record of a few bytes could make Java's reader allocate very much memory.
"""
_MARK = secrets.randbits(63)
"""The end marker, a number that is appended to the bytes of each record. If Avro reads the marker directly after the
record, the record had exactly the right length.

The number is random, so a producer cannot write it into a record. All records of a process get the same number, because
Spark compiles the number into its code.
"""
Doubt = tuple[Column, Problem]
"""A pair: a boolean column, and the problem of each record for which the column is true."""


class UnableError(Exception):
    """Raised for an Avro schema that ``from_avro`` cannot read, or reads differently from Connect."""


@dataclass(frozen=True)
class AvroSide:
    """A reader that decodes the keys or the values of records from Avro.

    Attributes:
        header: The header bytes, which are the same in all values. They contain the schema's id.
        schema: The schema of the values.
        needed: The schema with only the fields that the chain and its result need. Only the values of these fields must
            fit into Spark's types.
        text: The schema for ``from_avro``, as JSON text. It has one more field at the end, for the end marker. The
            marker shows that the value has been read to its last byte. A value that is not a struct is wrapped in a
            record with this field.
    """

    header: bytes
    schema: Schema
    needed: Schema
    text: str

    def parsed(self, side: Column) -> Column:
        """Returns a column with the Avro record that Spark decodes from the bytes in the column ``side``. The record's
        last field is an end marker, which shows that all bytes have been read. If the bytes cannot be read, all fields
        are null.
        """
        end = avro_out(INT64).write(_MARK)
        # positions in SQL begin with 1, so this is everything after the header
        text = F.call_function("concat", F.call_function("substring", side, F.lit(HEADER + 1)), F.lit(end))
        text = text.cast("binary")  # with some session settings, ``concat`` converts bytes into strings
        # In the default mode, FAILFAST, one malformed record would end the job. PERMISSIVE returns null fields instead.
        options = F.create_map(F.lit("mode"), F.lit("PERMISSIVE"))
        return F.call_function("from_avro", text, F.lit(self.text), options)

    def value(self, parsed: Column) -> Column:
        """Returns the column with the value itself, from the column ``parsed`` of decoded records. The fields of a
        struct are called ``f0``, ``f1`` and so on.

        Dates and timestamps are numbers. The string fields in ``texts`` are still bytes.
        """
        if _is_record(self.schema):
            return parsed
        return parsed.getField(_VALUE)

    @property
    def texts(self) -> list[str]:
        """The names, such as ``f0``, of the string fields at the top of a struct. Spark reads these fields as bytes at
        first.
        """
        if not _is_record(self.schema):
            return []
        fields = zip(_top(self.schema, self.needed), self.schema.fields, strict=True)
        names = []
        for name, (_, child) in fields:
            if _is_text(child):
                names.append(name)
        return names

    def as_text(self, parsed: Column, name: str) -> Column:
        """Returns the field ``name`` (such as ``f0``) of the column ``parsed`` as a string column. Spark has read this
        field as bytes.
        """
        return self.value(parsed).getField(name).cast("string")

    def bad(self, side: Column, parsed: Column, known: Mapping[str, Column]) -> Iterator[Doubt]:
        """Yields a pair for each problem that a key or value may have: a boolean column, and the problem. The column is
        true for the records that have the problem. The most important problem comes first. A null has no problem.

        Args:
            side: The column with the bytes of the key or value.
            parsed: The column with the decoded records.
            known: Maps field names such as ``f0`` to string columns, for the string fields that Spark has read as
                bytes.
        """
        yield (F.length(side) < HEADER) | ~side.startswith(b"\0"), no_header().problem
        # after the check of the header's form, so that a value without a header gets the problem of Python's reader
        yield ~side.startswith(self.header), unplanned("").problem
        yield F.length(side) > MAX_BYTES + HEADER, too_long().problem
        reached = F.coalesce(parsed.getField(_END) == _MARK, F.lit(False))
        # null if the value cannot be decoded; another number if bytes of the record are left over
        yield ~reached, unreadable().problem
        value = self.value(parsed)
        places = [(value, self.schema)]
        if _is_record(self.schema):
            names = _top(self.schema, self.needed)
            triples = zip(names, _parts(value, self.schema, names), strict=True)
            places = []
            for name, (_, part, child) in triples:
                places.append((known.get(name, part), child))
        texts: list[Column] = []
        for place in places:
            texts.extend(_texts(*place))
        if texts:
            yield F.coalesce(reduce(or_, texts), F.lit(False)), unreadable().problem
        yield from _ranges(value, self.needed, "", _top(self.needed, self.needed))


def avro_side(header: bytes, avro: Avro, needed: Schema) -> AvroSide:
    """Returns the Avro reader for keys or values that begin with the bytes ``header``.

    Args:
        header: The header bytes. They contain the schema's id.
        avro: The schema.
        needed: The schema with only the fields that the chain and its result need.

    Raises:
        UnableError: ``from_avro`` cannot read the values. Python must read them instead (``formats.avro``).
    """
    names = _Names(avro.names, _top(avro.schema, needed))
    bare = names.bare(avro.source, avro.schema, top=True)
    if _is_record(avro.schema):
        fields = bare["fields"]
    else:
        fields = [{"name": _VALUE, "type": bare}]
    fields = [*fields, {"name": _END, "type": "long"}]
    text = json.dumps({"type": "record", "name": names.fresh(), "fields": fields}, separators=(",", ":"))
    return AvroSide(header, avro.schema, needed, text)


def _is_record(schema: Schema) -> bool:
    return schema.type is Type.STRUCT


def reads_avro(session: SparkSession) -> bool:
    """Returns True if ``session`` has the function ``from_avro``."""
    try:
        # Spark resolves the function at once, but runs no job
        session.range(0).selectExpr("from_avro(CAST(NULL AS BINARY), '\"int\"')")
    except AnalysisException:
        return False
    return True


@dataclass
class _Names:
    """A translator of Avro schemas into schemas with technical names.

    Attributes:
        known: Maps the names of types in the schema to their definitions.
        top: The new names of the top-level fields.
        numbers: Numbers for the new names of types, such as ``t0``.
        nested: The number of arrays and maps around the current part of the schema.
    """

    known: Mapping[str, Any]
    top: Sequence[str]
    numbers: Iterator[int] = field(default_factory=count)
    nested: int = 0

    def fresh(self) -> str:
        return f"t{next(self.numbers)}"

    def bare(self, avro: Any, schema: Schema, *, top: bool = False) -> Any:
        """Returns the Avro schema ``avro`` with technical names instead of Connect's names. Both schemas read the same
        bytes, because Avro does not encode names. With ``top``, the fields of a record get the names in ``self.top``,
        such as ``f0``.
        """
        if isinstance(avro, list):
            return self._union(avro, schema, top)
        # the name of a type that the schema has defined before, or of a primitive type such as "long"
        if isinstance(avro, str):
            avro = self.known.get(avro, {"type": avro})
        kind = avro["type"]
        # a type may be wrapped in itself: {"type": {"type": "string"}}
        if isinstance(kind, list | dict):
            return self.bare(kind, schema, top=top)
        if schema.logical == "Decimal":
            return self._decimal(avro, schema)
        if kind == "record" and schema.type is Type.STRUCT:
            # the bytes contain no names, so the fields may get names that Spark can distinguish
            names = self.top if top else internal_names(schema)
            children = []
            for n, (_, child) in zip(names, schema.fields, strict=True):
                # a decimal in a field that nothing needs must not fail, even if it has more than 38 digits
                children.append(_raw(child) if top and n[0] == _SKIPPED else child)
            parts = zip(names, avro["fields"], children, strict=True)
            field_type = self._field_at_top if top else self.bare
            fields = []
            for n, f, child in parts:
                fields.append({"name": _valid(n), "type": field_type(f["type"], child)})
            return {"type": "record", "name": self.fresh(), "fields": fields}
        if kind == "enum":
            return {"type": "enum", "name": self.fresh(), "symbols": [_valid(s) for s in avro["symbols"]]}
        if kind == "fixed" and avro["size"] <= _MOST_FIXED:
            return {"type": "fixed", "name": self.fresh(), "size": avro["size"]}
        if kind == "array" and schema.values and entry_of(avro, self.known) is None:
            return {"type": "array", "items": self._items(avro["items"], schema.values)}
        if kind == "map" and schema.values:
            return {"type": "map", "values": self._items(avro["values"], schema.values)}
        # Connect converts these to different types than from_avro, so the records of this schema go through Python
        if kind in ("array", "fixed", "record", "map", "null") or schema.type in (Type.INT8, Type.INT16):
            raise UnableError(kind)
        return kind

    def _items(self, avro: Any, schema: Schema) -> Any:
        # the depth of the current branch; ``bare`` comes back here for arrays in arrays
        self.nested += 1
        if self.nested > _MOST_NESTED:
            raise UnableError("arrays in arrays")
        inner = self.bare(avro, schema)
        self.nested -= 1
        return inner

    def _field_at_top(self, avro: Any, schema: Schema) -> Any:
        bare = self.bare(avro, schema)
        if not _is_text(schema):
            return bare
        if isinstance(bare, list):
            members = []
            for member in bare:
                members.append("bytes" if member == "string" else member)
            return members
        return "bytes"

    def _union(self, members: list[Any], schema: Schema, top: bool) -> Any:
        others = [member for member in members if member != "null"]
        # only ["null", T] is read here; Connect reads a union of several other types as a struct
        if len(members) != 2 or len(others) != 1 or top:
            raise UnableError("a union")
        results = []
        for member in members:
            results.append(member if member == "null" else self.bare(member, schema))
        return results

    def _decimal(self, avro: dict[str, Any], schema: Schema) -> Any:
        """Returns the decimal type ``avro`` with as many digits as Spark allows, because Connect does not limit the
        digits of decimals.
        """
        # Avro does not accept 38 digits for a fixed type of a few bytes.
        if not 0 <= schema.scale <= MAX_DIGITS or avro["type"] == "fixed":
            raise UnableError("a decimal")
        return {"type": "bytes", "logicalType": "decimal", "precision": MAX_DIGITS, "scale": schema.scale}


def _valid(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UnableError(name)
    return name


def _top(schema: Schema, needed: Schema) -> list[str]:
    """Returns technical names for the top-level fields of ``schema``. The fields in ``needed`` are called ``f0``,
    ``f1`` and so on. All other fields are called ``u`` and their position, such as ``u3``.
    """
    known = {}
    for n, (name, _) in enumerate(needed.fields):
        known[name] = f"f{n}"
    names = []
    for n, (name, _) in enumerate(schema.fields):
        names.append(known.get(name, f"{_SKIPPED}{n}"))
    return names


def _raw(schema: Schema) -> Schema:
    """Returns ``schema`` with bytes instead of decimals, so that decimals may have any number of digits."""
    if schema.logical == "Decimal":
        return schema.with_(name=None)
    fields = tuple((name, _raw(child)) for name, child in schema.fields)
    return schema.with_(fields=fields, values=schema.values and _raw(schema.values))


def _parts(column: Column, schema: Schema, top: Sequence[str] | None = None) -> Iterator[tuple[str, Column, Schema]]:
    names = internal_names(schema) if top is None else top
    for name, (shown, child) in zip(names, schema.fields, strict=True):
        yield shown, column.getField(name), child


def _texts(column: Column, schema: Schema) -> Iterator[Column]:
    """Yields a condition for each field or element of ``column`` that contains strings. The condition is true if a
    string is not UTF-8.
    """
    if schema.type is Type.STRUCT:
        for _, part, child in _parts(column, schema):
            yield from _texts(part, child)
    elif _is_text(schema):
        yield ~F.coalesce(F.is_valid_utf8(column), F.lit(True))
    elif schema.type is Type.MAP and schema.values:
        # keys are never null, and Avro's keys are always strings
        yield F.exists(F.map_keys(column), lambda key: ~F.is_valid_utf8(key))
        yield from _inside(F.map_values(column), schema.values)
    elif schema.type is Type.ARRAY and schema.values:
        yield from _inside(column, schema.values)


def _inside(column: Column, item: Schema) -> Iterator[Column]:
    yield from _each(column, lambda value: list(_texts(value, item)))


def _each(column: Column, wrong: Callable[[Column], list[Column]]) -> Iterator[Column]:
    """Yields columns that check all elements of an array column. ``wrong`` returns boolean columns for one element, one
    for each possible fault. A yielded column is true if at least one element has the fault.
    """

    def holds(number: int) -> Callable[[Column], Column]:
        return lambda value: F.coalesce(wrong(value)[number], F.lit(False))

    # a lambda of SQL returns one column, so each fault gets an ``exists`` of its own
    for number in range(len(wrong(column))):
        yield F.exists(column, holds(number))


def _ranges(column: Column, schema: Schema, where: str, top: Sequence[str] | None = None) -> Iterator[Doubt]:
    """Yields a pair for each timestamp or decimal in ``column``: a condition and a problem. The condition is true if
    the value does not fit its column.
    """
    if schema.logical == "Timestamp":
        yield F.coalesce(~column.between(-MAX_MILLIS, MAX_MILLIS), F.lit(False)), unfit(schema, where).problem
    elif schema.logical == "Decimal":
        # ``from_avro`` reads 38 digits, but the table's column may hold fewer
        if (schema.precision or MAX_DIGITS) < MAX_DIGITS:
            # the first number that is too large: 1000 for decimal(5, 2)
            most = Decimal(f"1E{(schema.precision or 0) - schema.scale}")
            yield F.coalesce(F.abs(column) >= F.lit(most), F.lit(False)), unfit(schema, where).problem
    elif schema.type is Type.STRUCT:
        for name, part, child in _parts(column, schema, top):
            yield from _ranges(part, child, below(where, name))
    elif schema.values is not None:
        items = F.map_values(column) if schema.type is Type.MAP else column
        inner = schema.values
        problems = []
        for _, problem in _ranges(items, inner, f"{where}[]"):
            problems.append(problem)
        conditions = _each(items, lambda value: [wrong for wrong, _ in _ranges(value, inner, f"{where}[]")])
        yield from zip((F.coalesce(c, F.lit(False)) for c in conditions), problems, strict=True)


def _is_text(schema: Schema) -> bool:
    """Returns True if ``schema`` comes from an Avro string."""
    return schema.type is Type.STRING and not any(key == ENUM for key, _ in schema.parameters)
