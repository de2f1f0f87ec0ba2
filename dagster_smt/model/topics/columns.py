"""The columns of a topic table: which part of a record each field of its rows is (FLIP-107, KLIP Kafka headers).

| column | from |
|---|---|
| physical | a field of the key or of the value |
| metadata | what is known of a record beside them: ``topic``, ``offset``, ``headers``, … |
| header | the value of one header, decoded |
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from dagster_smt.errors import Problem
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import STRING, Schema, Type, optional

Duplicates = Literal["first", "last", "all", "error"]
"""Which header counts where several have one name; ``error``: the record fails."""
DUPLICATES: tuple[Duplicates, ...] = ("first", "last", "all", "error")
Match = Duplicates | int
"""Which header of one name a column holds; a number counts from 1."""
FieldsInclude = Literal["ALL", "EXCEPT_KEY"]
Integrity = bool | Literal["check"]
PushDown = Literal["off", "exact", "no-tombstones"]
PUSH_DOWN: tuple[PushDown, ...] = ("off", "exact", "no-tombstones")


@dataclass(frozen=True)
class Metadata:
    """A part of the record beside key and value.

    Attributes:
        key: ``topic``, ``partition``, ``offset``, ``timestamp``, ``timestamp-type``, ``headers`` or
            ``leader-epoch``; or what a format
            tells beside the row: ``value.source.table``.
        duplicates: For ``headers`` as a map: which of several headers of one name counts.
    """

    key: str
    duplicates: Duplicates = "last"


@dataclass(frozen=True)
class HeaderValue:
    """The value of one header.

    Attributes:
        key: The header's name; case counts.
        match: Which of several; null where there is none. ``all``: an array of them; ``2``: the second.
        decode: How its bytes become a value, such as ``int_from_bytes`` or ``int_from_bytes(LITTLE_ENDIAN)``.
        strict: Whether bytes that cannot be decoded fail the record; else the column is null, and the report counts it.
    """

    key: str
    match: Match = "last"
    decode: str = "bytes"
    strict: bool = False


ORDERS = ("BIG_ENDIAN", "LITTLE_ENDIAN")
DECODERS: Mapping[str, Type | None] = {
    "bytes": Type.BYTES,
    **dict.fromkeys(("utf8", "ascii", "hex", "base64", "uuid"), Type.STRING),
    "boolean_from_bytes": Type.BOOLEAN,
    "short_from_bytes": Type.INT16,
    "int_from_bytes": Type.INT32,
    "bigint_from_bytes": Type.INT64,
    "float_from_bytes": Type.FLOAT32,
    "double_from_bytes": Type.FLOAT64,
    "json": None,
    "simple": None,
}
"""How a header's bytes can become a value, and the type that each gives; None: the column's own."""
_ORDERED = ("short_from_bytes", "int_from_bytes", "bigint_from_bytes", "float_from_bytes", "double_from_bytes")
_DECODER = re.compile(r"\s*([a-z0-9_]+)\s*(?:\(\s*'?(BIG_ENDIAN|LITTLE_ENDIAN)'?\s*\))?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Decoder:
    """A decoder, as a column names it.

    Attributes:
        name: One of ``DECODERS``.
        order: For numbers of several bytes.
    """

    name: str
    order: str = "BIG_ENDIAN"


def match_of(text: Any) -> Any:
    """What ``match`` says: a word of ``DUPLICATES``, or a number, be it written as a text."""
    if isinstance(text, str) and re.fullmatch(r"[0-9]{1,9}", text):
        return int(text)
    return text


def decoder(text: str) -> Decoder | None:
    """Read ``int_from_bytes`` or ``INT_FROM_BYTES(LITTLE_ENDIAN)``; None: there is no such decoder."""
    found = _DECODER.fullmatch(text)
    name = found[1].lower() if found else ""
    if found is None or name not in DECODERS or (found[2] and name not in _ORDERED):
        return None
    return Decoder(name, (found[2] or ORDERS[0]).upper())


@dataclass(frozen=True)
class Column:
    """A column of a topic table.

    Attributes:
        name: Its name; any text.
        schema: Its type.
        source: Where it comes from; None: a field of the key or value (a physical column).
        virtual: For metadata and headers: whether it is only read, and left out where records are written.
        keyed: Whether it is marked ``KEY``, as in ksqlDB: a single one is the key itself, no field of it.
        bare_moments: Whether it holds a ``TIMESTAMP`` that does not say how many digits of a second it has.
    """

    name: str
    schema: Schema
    source: Metadata | HeaderValue | None = None
    virtual: bool = False
    keyed: bool = False
    bare_moments: bool = field(default=False, compare=False)

    @property
    def origin(self) -> str:
        """Where it comes from, in the words of plans: ``offset``, ``headers.trace``; empty for a physical column."""
        if isinstance(self.source, HeaderValue):
            return below("headers", self.source.key)
        if self.source is None:
            return ""
        return self.source.key

    @property
    def place(self) -> str:
        """What messages call it."""
        return f"column {below('', self.name)}"


HEADER_ITEM = Schema(Type.STRUCT, fields=(("key", optional(STRING)), ("value", Schema(Type.BYTES, optional=True))))
HEADER_LIST = "ARRAY<STRUCT<key STRING, value BYTES>>"
_BYTES = Schema(Type.BYTES)


@dataclass(frozen=True)
class MetadataKey:
    """What sources offer beside key and value.

    Attributes:
        types: The types that a column of it may have, by Connect's names; the first is its own.
        writable: Whether a topic can be given it (a partition of its own type only).
    """

    types: tuple[str, ...]
    writable: bool = False


RECORD_METADATA: Mapping[str, MetadataKey] = {
    "topic": MetadataKey(("string",)),
    "partition": MetadataKey(("int32", "int64", "string"), writable=True),
    "offset": MetadataKey(("int64", "int32", "string")),
    "timestamp": MetadataKey(("Timestamp", "int64"), writable=True),
    "timestamp-type": MetadataKey(("string",)),
    "headers": MetadataKey((HEADER_LIST, "MAP<STRING, BYTES>", "MAP<STRING, ARRAY<BYTES>>"), writable=True),
    "leader-epoch": MetadataKey(("int32",)),
}
"""Kafka's metadata of FLIP-107. A timestamp's own type there is a number; here it is Connect's ``Timestamp``."""
_SAID_OTHERWISE = {
    "header-list": f"declare it {HEADER_LIST} METADATA FROM 'headers': as an array they keep their order"
}
"""Keys that others have, and what to write here."""


@dataclass(frozen=True)
class Row:
    """How the columns of a topic table lie in a record.

    Attributes:
        columns: In order.
        key_fields: Physical columns that are in the key.
        key_fields_prefix: What their names have in front that the key's fields do not.
        value_fields_include: Whether the value holds those of the key, too.
        verify_integrity: What becomes of a record whose key and value tell different things of one column: True makes
            it fail, ``check`` counts it.
    """

    columns: tuple[Column, ...] = ()
    key_fields: tuple[str, ...] = ()
    key_fields_prefix: str = ""
    value_fields_include: FieldsInclude = "ALL"
    verify_integrity: Integrity = False

    def __bool__(self) -> bool:
        return bool(self.columns)

    @property
    def physical(self) -> tuple[Column, ...]:
        """The columns that are fields of the key or value."""
        return tuple(column for column in self.columns if column.source is None)

    @property
    def others(self) -> tuple[Column, ...]:
        """The columns from metadata and headers."""
        return tuple(column for column in self.columns if column.source is not None)

    def key_name(self, column: str) -> str:
        """What the key calls one of its columns."""
        return column.removeprefix(self.key_fields_prefix)

    def in_value(self, column: str) -> bool:
        """Whether the value holds a physical column."""
        return column not in self.key_fields or self.value_fields_include == "ALL"

    @property
    def in_both(self) -> tuple[Column, ...]:
        """The physical columns that the key and the value hold."""
        return tuple(c for c in self.physical if c.name in self.key_fields and self.in_value(c.name))

    @property
    def key_column(self) -> Column | None:
        """The column that is the key itself instead of a field of it, where a format can hold it so."""
        found = [c for c in self.physical if c.name in self.key_fields]
        if len(found) == 1 and found[0].keyed:
            return found[0]
        return None

    def is_key(self, column: Column, inside: Schema | None) -> bool:
        """Whether a column is the key itself; ``inside``: what a key that is a struct has under the column's name."""
        if self.key_column != column:
            return False
        return inside is None or (column.schema.type is Type.STRUCT and inside.type is not Type.STRUCT)

    def key_schema(self) -> Schema | None:
        """The schema of the key's columns together; None if the key holds none."""
        fields = tuple((self.key_name(c.name), c.schema) for c in self.physical if c.name in self.key_fields)
        if fields:
            return Schema(Type.STRUCT, optional=True, fields=fields)
        return None

    def value_schema(self) -> Schema | None:
        """The schema of the value's columns together; None if no physical column is declared."""
        fields = tuple((c.name, c.schema) for c in self.physical if self.in_value(c.name))
        if self.physical:
            return Schema(Type.STRUCT, optional=True, fields=fields)
        return None

    def problems(self) -> list[Problem]:
        """Everything that is wrong with it."""
        return [*self._names(), *self._key(), *(p for column in self.columns for p in _column_problems(column))]

    def _names(self) -> Iterator[Problem]:
        seen: set[str] = set()
        for column in self.columns:
            if column.name in seen:
                yield Problem("SMT260", column.place, "is declared twice", "give each column its own name")
            seen.add(column.name)

    def _key(self) -> Iterator[Problem]:
        names = [column.name for column in self.physical]
        for name in self.key_fields:
            if name not in names:
                parts = [part.strip() for part in name.split(",")]
                known = f"physical columns are: {', '.join(below('', n) for n in names) or 'none'}"
                several = len(parts) > 1 and set(parts) <= set(names)
                hint = f"a semicolon separates names: '{';'.join(parts)}'" if several else known
                yield Problem("SMT261", f"key.fields {below('', name)}", "is no physical column", hint)
            elif not name.startswith(self.key_fields_prefix):
                hint = f"name it {self.key_fields_prefix}{name}, or leave key.fields-prefix out"
                yield Problem("SMT261", f"key.fields {below('', name)}", "does not begin with key.fields-prefix", hint)
        if self.key_fields_prefix and self.value_fields_include == "ALL":
            hint = "set value.fields-include to EXCEPT_KEY: the value cannot hold columns with a prefix of the key's"
            yield Problem("SMT261", "key.fields-prefix", "needs value.fields-include = EXCEPT_KEY", hint)
        if self.verify_integrity and not (self.key_fields and self.value_fields_include == "ALL"):
            hint = "name key.fields and set value.fields-include to ALL, or leave it out"
            yield Problem("SMT261", "fields.verify-integrity", "no column is in both the key and the value", hint)
        if self.verify_integrity not in (True, False, "check"):
            hint = "use true: such a record fails; false; or check: it is counted"
            yield Problem("SMT261", "fields.verify-integrity", "has another word", hint)
        if self.value_fields_include not in ("ALL", "EXCEPT_KEY"):
            yield Problem("SMT261", "value.fields-include", "has another word", "use ALL or EXCEPT_KEY")


def _column_problems(column: Column) -> Iterator[Problem]:
    place = column.place
    if column.source is None:
        if column.virtual:
            yield Problem("SMT262", place, "a physical column cannot be VIRTUAL", "leave VIRTUAL out")
    elif isinstance(column.source, HeaderValue):
        match = column.source.match
        if match not in DUPLICATES and not (type(match) is int and 0 < match < 2**31):
            hint = f"use {', '.join(DUPLICATES)}, or a number: 2 is the second header of the name"
            yield Problem("SMT265", place, "has no such way to match headers", hint)
        elif match == "all" and column.schema.type is not Type.ARRAY:
            yield Problem("SMT265", place, "all headers of a name are an array", "declare ARRAY<…>, or match last")
        else:
            yield from _decoder_problems(place, column.source, column.schema)
    else:
        yield from _metadata_problems(place, column.source, column.schema)


def _decoder_problems(place: str, source: HeaderValue, schema: Schema) -> Iterator[Problem]:
    if source.match == "all" and schema.values is not None:
        schema = schema.values
    found, label = decoder(source.decode), schema.label.rstrip("?")
    if found is None:
        hint = f"decoders are: {', '.join(DECODERS)}; those of numbers take (LITTLE_ENDIAN)"
        yield Problem("SMT266", place, f"there is no decoder '{source.decode}'", hint)
        return
    wanted = DECODERS[found.name]
    if wanted is None or (schema.type is wanted and schema.logical is None):
        return
    fitting = []
    for name, kind in DECODERS.items():
        if schema.logical is None and kind in (schema.type, None):
            fitting.append(name)
    if found.name == "bytes":
        statement = f"a header's bytes do not become {label} by themselves"
        hint = f"declare it as BYTES, or name a decoder: {', '.join(fitting or ['json', 'simple'])}"
        yield Problem("SMT266", place, statement, hint)
    else:
        statement = f"the decoder '{found.name}' gives {wanted.name}, the column is {label}"
        yield Problem("SMT266", place, statement, f"declare it so, or use: {', '.join(fitting or ['json', 'simple'])}")


def _metadata_problems(place: str, source: Metadata, schema: Schema) -> Iterator[Problem]:
    known = RECORD_METADATA.get(source.key)
    if known is None:
        if "." not in source.key:
            hint = f"keys are: {', '.join(RECORD_METADATA)}; those of a format begin with value."
            hint = _SAID_OTHERWISE.get(source.key, hint)
            yield Problem("SMT263", place, f"there is no metadata '{source.key}'", hint)
        return
    if source.duplicates not in DUPLICATES:
        yield Problem("SMT265", place, "has no such way to match headers", f"use {', '.join(DUPLICATES)}")
    if source.key == "headers":
        if header_form(schema, source.duplicates) is None:
            yield Problem("SMT264", place, f"headers must be typed as {HEADER_LIST}", f"or as {_map_hint(source)}")
    elif (schema.logical or schema.type.value) not in known.types:
        hint = f"types of {source.key} are: {', '.join(known.types)}"
        yield Problem("SMT264", place, f"'{source.key}' cannot be read as {schema.label.rstrip('?')}", hint)


def _map_hint(source: Metadata) -> str:
    if source.duplicates == "all":
        return "MAP<STRING, ARRAY<BYTES>>"
    return "MAP<STRING, BYTES>"


def header_form(schema: Schema, duplicates: Duplicates) -> Literal["list", "map"] | None:
    """How a column holds all headers: as a list of pairs, or by name; None for other types."""
    bare = _bare(schema)
    if bare == _bare(Schema(Type.ARRAY, values=HEADER_ITEM)):
        return "list"
    if duplicates == "all":
        item = Schema(Type.ARRAY, values=_BYTES)
    else:
        item = _BYTES
    if bare == _bare(Schema(Type.MAP, keys=STRING, values=item)):
        return "map"
    return None


def _bare(schema: Schema) -> Schema:
    """The types alone."""
    return Schema(
        schema.type,
        name=schema.logical,
        fields=tuple((name, _bare(child)) for name, child in schema.fields),
        keys=schema.keys and _bare(schema.keys),
        values=schema.values and _bare(schema.values),
    )


def describe_columns(row: Row) -> Sequence[tuple[str, str, str, str]]:
    """For people: name, type, where it is read from, and where it is written to, of each column."""
    return [(c.name, c.schema.label, _read_from(row, c), _written_to(row, c)) for c in row.columns]


def _read_from(row: Row, column: Column) -> str:
    if isinstance(column.source, HeaderValue):
        match = column.source.match
        if isinstance(match, int):
            word = f"number {match} of "
        elif match == "last":
            word = ""
        else:
            word = f"{match} "
        return f"{word}header '{column.source.key}', {column.source.decode}"
    if column.source is not None:
        return f"metadata '{column.source.key}'"
    if column.name in row.key_fields:
        in_key = f"key field {below('', row.key_name(column.name))}"
    else:
        in_key = ""
    if row.in_value(column.name):
        in_value = f"value field {below('', column.name)}"
    else:
        in_value = ""
    return in_value or in_key


def _written_to(row: Row, column: Column) -> str:
    if column.virtual:
        return ""
    if isinstance(column.source, HeaderValue):
        return f"header '{column.source.key}'"
    if column.source is not None:
        known = RECORD_METADATA.get(column.source.key)
        own = column.source.key != "partition" or column.schema.type is Type.INT32
        if known is not None and known.writable and own:
            return column.source.key
        return ""
    places = ["key"] if column.name in row.key_fields else []
    return ", ".join([*places, "value"] if row.in_value(column.name) else places)
