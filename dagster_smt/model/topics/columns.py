"""The columns of a topic table. Each column contains a part of a record (FLIP-107, KLIP Kafka headers).

| column | contents |
|---|---|
| physical | a field of the key or of the value |
| metadata | a property of the record: ``topic``, ``offset``, ``headers``, … |
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
"""Which header to take if a record has several headers of the same name. With ``error``, such a record fails."""
DUPLICATES: tuple[Duplicates, ...] = ("first", "last", "all", "error")
HeaderMatch = Duplicates | int
"""Which header a column takes if a record has several headers of the same name. A number is a position, counted
from 1.
"""
FieldsInclude = Literal["ALL", "EXCEPT_KEY"]
Integrity = bool | Literal["check"]
PushDown = Literal["off", "exact", "no-tombstones"]
PUSH_DOWN: tuple[PushDown, ...] = ("off", "exact", "no-tombstones")


@dataclass(frozen=True)
class Metadata:
    """The metadata that a column contains: a property of the Kafka record, or of the message in its value.

    Attributes:
        key: The metadata key: ``topic``, ``partition``, ``offset``, ``timestamp``, ``timestamp-type``, ``headers`` or
            ``leader-epoch``; or a key of a format's metadata, such as ``value.source.table``.
        duplicates: Only for a column with all headers as a map: the header to take if several headers have the same
            name.
    """

    key: str
    duplicates: Duplicates = "last"


@dataclass(frozen=True)
class HeaderValue:
    """The value of one header.

    Attributes:
        key: The header's name; case matters.
        match: The header to take if several headers have this name. ``all`` takes all of them as an array, and ``2``
            takes the second. The column is null if there is no such header.
        decode: The decoder of the header's bytes, such as ``int_from_bytes`` or ``int_from_bytes(LITTLE_ENDIAN)``.
        strict: What happens if the header's bytes cannot be decoded. True: the record fails. False: the column is null
            for this record, and the report counts the record.
    """

    key: str
    match: HeaderMatch = "last"
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
"""Maps the name of each decoder of header bytes to the type of the decoded value. None means that the value has the
type of the column.
"""
_ORDERED = ("short_from_bytes", "int_from_bytes", "bigint_from_bytes", "float_from_bytes", "double_from_bytes")
_DECODER = re.compile(r"\s*([a-z0-9_]+)\s*(?:\(\s*'?(BIG_ENDIAN|LITTLE_ENDIAN)'?\s*\))?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Decoder:
    """A decoder of a header's bytes, as it is written in the declaration of a column.

    Attributes:
        name: One of ``DECODERS``.
        order: The byte order, for numbers.
    """

    name: str
    order: str = "BIG_ENDIAN"


def match_of(text: Any) -> Any:
    """Returns ``text`` as a value of the option ``match``. A number that is written as a string becomes an ``int``. All
    other values, such as a word of ``DUPLICATES``, stay unchanged.
    """
    if isinstance(text, str) and re.fullmatch(r"[0-9]{1,9}", text):
        return int(text)
    return text


def decoder(text: str) -> Decoder | None:
    """Parses ``text``, such as ``int_from_bytes`` or ``INT_FROM_BYTES(LITTLE_ENDIAN)``, into a decoder. If there is no
    such decoder, returns None.
    """
    match = _DECODER.fullmatch(text)
    if match is None:
        return None
    name, order = match[1].lower(), match[2]
    if name not in DECODERS or (order and name not in _ORDERED):
        return None
    return Decoder(name, (order or ORDERS[0]).upper())


@dataclass(frozen=True)
class Column:
    """A column of a topic table.

    Attributes:
        name: The name; any string.
        schema: The type of the column.
        source: The metadata or the header of the column; None for a field of the key or value (a physical column).
        virtual: For metadata and headers: true if the column is only read, and records are written without it.
        keyed: True if the column is marked ``KEY``, as in ksqlDB. If it is the only key column, it may contain the
            whole key, such as the string ``a``, instead of a field of the key (see ``Row.is_key``).
        bare_moments: True if the column is a ``TIMESTAMP`` that is declared without a precision.
    """

    name: str
    schema: Schema
    source: Metadata | HeaderValue | None = None
    virtual: bool = False
    keyed: bool = False
    bare_moments: bool = field(default=False, compare=False)

    @property
    def origin(self) -> str:
        """The part of the record from which the column comes, as plans show it: ``offset`` or ``headers.trace``. The
        string is empty for a field of the key or value.
        """
        if isinstance(self.source, HeaderValue):
            return below("headers", self.source.key)
        if self.source is None:
            return ""
        return self.source.key

    @property
    def place(self) -> str:
        """The column as messages name it, such as ``column id``."""
        return f"column {below('', self.name)}"


HEADER_ITEM = Schema(Type.STRUCT, fields=(("key", optional(STRING)), ("value", Schema(Type.BYTES, optional=True))))
HEADER_LIST = "ARRAY<STRUCT<key STRING, value BYTES>>"
_BYTES = Schema(Type.BYTES)


@dataclass(frozen=True)
class MetadataKey:
    """The properties of a metadata key, such as ``partition`` or ``timestamp``.

    Attributes:
        types: The permitted types of a column with this metadata key, by their names in Connect. The first type is the
            natural type.
        writable: True if the value of the column can be written to the record. A partition can be written only from a
            column of its natural type.
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
"""Maps Kafka's metadata keys to their properties, as in Flink's FLIP-107. One property differs: the natural type of a
timestamp is a number in FLIP-107, but Connect's ``Timestamp`` here.
"""
_SAID_OTHERWISE = {
    "header-list": f"declare it {HEADER_LIST} METADATA FROM 'headers': as an array they keep their order"
}
"""Maps metadata keys of other systems to a hint with the declaration that users should write instead."""


@dataclass(frozen=True)
class Row:
    """The columns of a topic table, and the location of each column in the record.

    Attributes:
        columns: The columns, in order.
        key_fields: The names of the columns that are in the key.
        key_fields_prefix: The prefix of the names of key columns. With ``k_``, the column ``k_id`` is the field ``id``
            of the key.
        value_fields_include: ``ALL`` if the value also contains the columns of the key.
        verify_integrity: What happens to a record in which a column has different values in the key and in the value.
            ``True``: the record fails. ``check``: the report counts the record.
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
        """The physical columns, which are fields of the key or value."""
        return tuple(column for column in self.columns if column.source is None)

    @property
    def others(self) -> tuple[Column, ...]:
        """The columns that contain metadata or headers."""
        return tuple(column for column in self.columns if column.source is not None)

    def key_name(self, column: str) -> str:
        """Returns the name that the column ``column`` has as a field of the key."""
        return column.removeprefix(self.key_fields_prefix)

    def in_value(self, column: str) -> bool:
        """Returns True if the value contains the physical column ``column``."""
        return column not in self.key_fields or self.value_fields_include == "ALL"

    @property
    def in_both(self) -> tuple[Column, ...]:
        """The physical columns that are both in the key and in the value."""
        columns = []
        for c in self.physical:
            if c.name in self.key_fields and self.in_value(c.name):
                columns.append(c)
        return tuple(columns)

    @property
    def key_column(self) -> Column | None:
        """The column that contains the whole key, for example a key that is a plain string. None if there is no such
        column. A key that is not a struct can only be in such a column.
        """
        columns = [c for c in self.physical if c.name in self.key_fields]
        if len(columns) == 1 and columns[0].keyed:
            return columns[0]
        return None

    def is_key(self, column: Column, inside: Schema | None) -> bool:
        """Returns True if ``column`` contains the whole key instead of a field of the key.

        Args:
            column: The column.
            inside: If the key is a struct with a field of the column's name, the schema of this field. Otherwise None.
        """
        if self.key_column != column:
            return False
        # with the key {"id": 1}, the column "id STRUCT<id INT> KEY" is the whole key, although the key has a field id
        return inside is None or (column.schema.type is Type.STRUCT and inside.type is not Type.STRUCT)

    def key_schema(self) -> Schema | None:
        """Returns the schema of all key columns; None if the key contains no column."""
        key_columns = []
        for c in self.physical:
            if c.name in self.key_fields:
                key_columns.append((self.key_name(c.name), c.schema))
        fields = tuple(key_columns)
        if fields:
            return Schema(Type.STRUCT, optional=True, fields=fields)
        return None

    def value_schema(self) -> Schema | None:
        """Returns the schema of all value columns; None if no physical column is declared."""
        fields = tuple((c.name, c.schema) for c in self.physical if self.in_value(c.name))
        if self.physical:
            return Schema(Type.STRUCT, optional=True, fields=fields)
        return None

    def problems(self) -> list[Problem]:
        """Returns all problems of the columns' declaration."""
        of_columns: list[Problem] = []
        for column in self.columns:
            of_columns.extend(_column_problems(column))
        return [*self._names(), *self._key(), *of_columns]

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
                parts = []
                for part in name.split(","):
                    parts.append(part.strip())
                known = f"physical columns are: {', '.join(below('', n) for n in names) or 'none'}"
                # other options separate names with commas, so commas are a likely mistake here
                several = len(parts) > 1 and set(parts) <= set(names)
                hint = f"a semicolon separates names: '{';'.join(parts)}'" if several else known
                yield Problem("SMT261", f"key.fields {below('', name)}", "is not a physical column", hint)
            elif not name.startswith(self.key_fields_prefix):
                hint = f"name the column {self.key_fields_prefix}{name}, or remove key.fields-prefix"
                yield Problem("SMT261", f"key.fields {below('', name)}", "does not begin with key.fields-prefix", hint)
        if self.key_fields_prefix and self.value_fields_include == "ALL":
            hint = "set value.fields-include to EXCEPT_KEY: the value cannot hold columns with the prefix of the key"
            yield Problem("SMT261", "key.fields-prefix", "needs value.fields-include = EXCEPT_KEY", hint)
        if self.verify_integrity and not (self.key_fields and self.value_fields_include == "ALL"):
            hint = "set key.fields, and value.fields-include to ALL; or remove fields.verify-integrity"
            yield Problem("SMT261", "fields.verify-integrity", "no column is in both the key and the value", hint)
        if self.verify_integrity not in (True, False, "check"):
            hint = "use true to fail records with a difference, check to count them, or false"
            yield Problem("SMT261", "fields.verify-integrity", "has an unknown value", hint)
        if self.value_fields_include not in ("ALL", "EXCEPT_KEY"):
            yield Problem("SMT261", "value.fields-include", "has an unknown value", "use ALL or EXCEPT_KEY")


def _column_problems(column: Column) -> Iterator[Problem]:
    place = column.place
    if column.source is None:
        if column.virtual:
            yield Problem("SMT262", place, "a physical column cannot be VIRTUAL", "remove VIRTUAL")
    elif isinstance(column.source, HeaderValue):
        match = column.source.match
        if match not in DUPLICATES and not (type(match) is int and 0 < match < 2**31):
            hint = f"use {', '.join(DUPLICATES)}, or a number: 2 is the second header of the name"
            yield Problem("SMT265", place, "has an unknown way to match headers", hint)
        elif match == "all" and column.schema.type is not Type.ARRAY:
            yield Problem("SMT265", place, "all headers of a name need an array", "declare ARRAY<…>, or match last")
        else:
            yield from _decoder_problems(place, column.source, column.schema)
    else:
        yield from _metadata_problems(place, column.source, column.schema)


def _decoder_problems(place: str, source: HeaderValue, schema: Schema) -> Iterator[Problem]:
    if source.match == "all" and schema.values is not None:
        schema = schema.values
    decode, label = decoder(source.decode), schema.label.rstrip("?")
    if decode is None:
        hint = f"decoders are: {', '.join(DECODERS)}; decoders of numbers accept (LITTLE_ENDIAN)"
        yield Problem("SMT266", place, f"there is no decoder '{source.decode}'", hint)
        return
    decoded = DECODERS[decode.name]
    if decoded is None or (schema.type is decoded and schema.logical is None):
        return
    fitting = []
    for name, kind in DECODERS.items():
        if schema.logical is None and kind in (schema.type, None):
            fitting.append(name)
    if decode.name == "bytes":
        statement = f"a header's bytes become {label} only with a decoder"
        hint = f"declare it as BYTES, or name a decoder: {', '.join(fitting or ['json', 'simple'])}"
        yield Problem("SMT266", place, statement, hint)
    else:
        statement = f"the decoder '{decode.name}' returns {decoded.name}, but the column is {label}"
        hint = f"declare the column as {decoded.name}, or use: {', '.join(fitting or ['json', 'simple'])}"
        yield Problem("SMT266", place, statement, hint)


def _metadata_problems(place: str, source: Metadata, schema: Schema) -> Iterator[Problem]:
    known = RECORD_METADATA.get(source.key)
    if known is None:
        # keys of a format, such as value.op, contain a dot, and are checked where the format is known
        if "." not in source.key:
            hint = f"keys are: {', '.join(RECORD_METADATA)}; keys of a format begin with value."
            hint = _SAID_OTHERWISE.get(source.key, hint)
            yield Problem("SMT263", place, f"there is no metadata '{source.key}'", hint)
        return
    if source.duplicates not in DUPLICATES:
        yield Problem("SMT265", place, "has an unknown way to match headers", f"use {', '.join(DUPLICATES)}")
    if source.key == "headers":
        if header_form(schema, source.duplicates) is None:
            hint = f"declare the column as {HEADER_LIST}, or as {_map_hint(source)}"
            yield Problem("SMT264", place, "all headers need an array of structs, or a map", hint)
    elif (schema.logical or schema.type.value) not in known.types:
        hint = f"types of {source.key} are: {', '.join(known.types)}"
        yield Problem("SMT264", place, f"'{source.key}' cannot be read as {schema.label.rstrip('?')}", hint)


def _map_hint(source: Metadata) -> str:
    if source.duplicates == "all":
        return "MAP<STRING, ARRAY<BYTES>>"
    return "MAP<STRING, BYTES>"


def header_form(schema: Schema, duplicates: Duplicates) -> Literal["list", "map"] | None:
    """Returns how a column of the type ``schema`` can contain all headers of a record. The result is ``list`` for an
    array of pairs, and ``map`` for a map from name to bytes. With ``duplicates="all"``, the map must be from name to an
    array of bytes. Returns None for any other type.
    """
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
    """Returns a copy of ``schema`` with only its types, its field names and the names of its logical types."""
    return Schema(
        schema.type,
        name=schema.logical,
        fields=tuple((name, _bare(child)) for name, child in schema.fields),
        keys=schema.keys and _bare(schema.keys),
        values=schema.values and _bare(schema.values),
    )


def describe_columns(row: Row) -> Sequence[tuple[str, str, str, str]]:
    """Returns four strings for each column of ``row``, for reports: the column's name; its type; the part of the record
    from which the column is read; and the part to which it is written.
    """
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
