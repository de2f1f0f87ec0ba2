"""Contains SQL for Iceberg tables: names, literals, conditions and changes of columns. The module also finds types that
these tables cannot hold.
"""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    IntegralType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from dagster_smt.errors import Problem, TableError, UnsupportedError
from dagster_smt.model.caseless import caseless
from dagster_smt.model.paths.extended import route_text
from dagster_smt.spark.catalogs import CATALOG_CLASS, copy_name, copy_of, is_jdbc, is_uncached, secrets_of
from dagster_smt.spark.packages import SETTINGS, remedy
from dagster_smt.spark.sql import parts_of, quoted, sql_type
from dagster_smt.spark.types import types_by_name
from dagster_smt.spark.versions import settings_of
from dagster_smt.tables.schemas import nul_names
from dagster_smt.tables.sink_options import IcebergSink
from dagster_smt.tables.sql import literal

CATALOG = "smt_paths"
# scheme, authority and path of a URI, such as s3, //bucket and /lake/orders
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//[^/]*)?(/.*)")
_RESERVED = ("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number")
_KNOWN = (
    *(IntegralType, FloatType, DoubleType, DecimalType, BooleanType),
    *(StringType, BinaryType, DateType, TimestampType, TimestampNTZType),
)
# besides more digits of a decimal, format 2 of Iceberg permits only these changes of a column's type
_WIDER = {("int", "bigint"), ("float", "double")}
_METADATA = "connect"

# --- where a table is ---


def located(session: SparkSession, sink: IcebergSink) -> tuple[str, str]:
    """Returns two strings for SQL statements: the catalog of ``sink``, and the full name of its table. For a table that
    is identified by its path, the function also sets up the catalog.

    Raises:
        UnsupportedError: SMT560, the session lacks Iceberg's extensions, or its catalog is not an Iceberg catalog.
        TableError: SMT562, the path is the root of a file system.
    """
    if SETTINGS["iceberg"]["spark.sql.extensions"] not in str(session.conf.get("spark.sql.extensions", "") or ""):
        raise no_iceberg(session, sink.place)
    if not sink.table:
        return _by_path(session, sink.place)
    catalog, parts = catalog_and_parts(session, sink.table)
    if not str(session.conf.get(f"spark.sql.catalog.{catalog}", "")).startswith("org.apache.iceberg."):
        raise no_iceberg(session, sink.place, catalog)
    if len(parts) == 1:
        parts = [quoted(session.catalog.currentDatabase()), *parts]
    own = quoted(_uncached(session, catalog))
    return own, ".".join((own, *parts))


def catalog_and_parts(session: SparkSession, table: str) -> tuple[str, list[str]]:
    """Returns the Spark catalog that the table name ``table`` refers to, and the other parts of the name.

    For ``ice.db.orders``, these are ``ice`` and ``["`db`", "`orders`"]`` if the session has a catalog ``ice``. A name
    without a catalog, such as ``db.orders``, refers to the current catalog of the session. All parts but the catalog
    are in backticks.
    """
    names = parts_of(table)
    parts = [quoted(name) for name in names]
    if len(parts) > 1 and session.conf.get(f"spark.sql.catalog.{names[0]}", None):
        return names[0], parts[1:]
    return session.catalog.currentCatalog(), parts


def _uncached(session: SparkSession, catalog: str) -> str:
    """Returns the name of a Spark catalog without a cache for tables. This is ``catalog`` itself if it has no cache.
    Otherwise the function configures a copy of the catalog without a cache, and returns the name of the copy.

    With a cache, the runs in a Java process would share one table object. Iceberg reads the table's metadata twice at
    the beginning of a change. If another run commits between these two reads, the commit of that run may be lost. Or
    both runs may commit, although one of them must fail.

    Raises:
        UnsupportedError: SMT560, the catalog has the type jdbc, so a copy with a different name would not find the
            tables. SMT665, the settings of the catalog contain a secret. Spark would write the settings of a copy to
            its event log.
    """
    conf = settings_of(session)
    if is_uncached(conf, catalog):
        return catalog
    hint = f"set spark.sql.catalog.{catalog}.cache-enabled to false"
    if is_jdbc(conf, catalog):
        raise UnsupportedError(
            Problem("SMT560", catalog, f"the catalog {catalog} is of type jdbc and has a cache", hint)
        )
    # if a session was started with a copy, the copy has all settings, unless somebody has changed the catalog's
    # settings since
    lacking = {}
    for name, value in copy_of(conf, catalog).items():
        if conf.get(name) != value:
            lacking[name] = value
    own = copy_name(catalog)
    if secrets := secrets_of(lacking, own):
        shown = f"the catalog has a cache, and a secret in {', '.join(secrets)}, which its copy would show"
        raise UnsupportedError(Problem("SMT665", catalog, shown, hint))
    for name, value in lacking.items():
        session.conf.set(name, value)
    return own


def no_iceberg(session: SparkSession, place: str, catalog: str = "") -> UnsupportedError:
    """Returns the error for a session that cannot write the Iceberg table ``place``."""
    if catalog:
        statement = f"the catalog {catalog} of this Spark session is not an Iceberg catalog"
        hint = f"set spark.sql.catalog.{catalog} to {CATALOG_CLASS}, or name a table in such a catalog"
    else:
        statement = "this Spark session has no Iceberg"
        hint = remedy("iceberg", session)
    return UnsupportedError(Problem("SMT560", place, statement, hint))


def _by_path(session: SparkSession, path: str) -> tuple[str, str]:
    """Returns two strings for SQL statements about a table at ``path``: the catalog, and the full name of the table. If
    necessary, the function configures the catalog.

    The catalog is a Hadoop catalog, which joins the path of its warehouse and the name of a table. The warehouse is the
    root of the file system, so the name of the table is its path. For example, the table at ``/lake/orders`` has the
    name ```smt_paths`.`lake/orders```.

    Raises:
        TableError: SMT562, the path is the root of a file system.
    """
    uri = _URI.fullmatch(path)
    if uri is None:
        warehouse = _URI.match(str(session.conf.get("spark.sql.warehouse.dir", "") or ""))
        local = warehouse is None or warehouse[1] == "file"
        # Hadoop resolves /. to its default file system
        root, rest = ("file:///" if local else "/."), os.path.abspath(path)
    elif uri[1] == "file":
        root, rest = "file:///", uri[3]
    else:
        root, rest = f"{uri[1]}:{uri[2] or '//'}", uri[3]
    rest = rest.strip("/")
    if not rest:
        raise TableError(Problem("SMT562", path, "a table cannot be the root of a file system", "name a folder"))
    if root == "file:///":
        catalog = CATALOG
    else:
        catalog = f"{CATALOG}_{hashlib.sha256(root.encode()).hexdigest()[:8]}"
    key = f"spark.sql.catalog.{catalog}"
    if session.conf.get(key, None) is None:
        session.conf.set(f"{key}.type", "hadoop")
        session.conf.set(f"{key}.warehouse", root)
        session.conf.set(f"{key}.cache-enabled", "false")
        # last, because other threads take a catalog with this setting for complete
        session.conf.set(key, CATALOG_CLASS)
    return quoted(catalog), f"{quoted(catalog)}.{quoted(rest)}"


# --- rows that go ---


def held_type(kind: DataType) -> DataType:
    """Returns the type in which Iceberg stores the Spark type ``kind``. For ``smallint``, this is ``int``, because
    Iceberg has no integers of less than 32 bits.
    """
    if isinstance(kind, IntegralType) and kind.simpleString() in ("tinyint", "smallint"):
        return IntegerType()
    if type(kind).__name__ in ("CharType", "VarcharType"):
        return StringType()
    return kind


def alterations(old: DataType, new: DataType) -> list[str]:
    """Returns the ALTER TABLE clauses that a table with the columns ``old`` needs, so that it can also hold the columns
    ``new``. Examples are ``ADD COLUMNS (`city` string)`` and ``ALTER COLUMN `id` TYPE bigint``.

    The clauses for new columns come first.
    """
    added, widened = [], []
    for path, have, want in _differences(old, new, ""):
        if isinstance(want, StructField):
            added.append(_column(path, want))
        elif _is_wider(have, want):
            widened.append(f"ALTER COLUMN {path} TYPE {_type(want)}")
    return ([f"ADD COLUMNS ({', '.join(added)})"] if added else []) + widened


def column_list(columns: StructType) -> str:
    """Formats ``columns`` as the column list of a CREATE TABLE statement."""
    return ", ".join(_column(quoted(field.name), field) for field in columns.fields)


def _column(path: str, field: StructField) -> str:
    comment = field.metadata.get("comment")
    return f"{path} {_type(held_type(field.dataType))}" + (f" COMMENT {literal(comment)}" if comment else "")


def keeps(old: DataType, new: DataType) -> bool:
    """Returns True if ALTER TABLE clauses can change the columns of ``old`` into exactly the columns of ``new``."""
    if isinstance(old, StructType) and isinstance(new, StructType):
        fields = {f.name: f for f in new.fields}
        for f in old.fields:
            if not (
                f.name in fields
                and fields[f.name].metadata.get("comment") == f.metadata.get("comment")
                and keeps(f.dataType, fields[f.name].dataType)
            ):
                return False
        return True
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        return keeps(old.elementType, new.elementType)
    if isinstance(old, MapType) and isinstance(new, MapType):
        return old.keyType.simpleString() == new.keyType.simpleString() and keeps(old.valueType, new.valueType)
    want = held_type(new)
    return old == want or _is_wider(old, want)


def _differences(old: DataType, new: DataType, path: str) -> Iterator[tuple[str, DataType, DataType | StructField]]:
    """Yields the differences between the types ``old`` and ``new``, each with its path for ALTER TABLE, such as
    ```customer`.`id```.

    If a field has different types, the item is ``(path, old type, new type)``. If ``old`` lacks a field, the item is
    ``(path, old type of the struct, new field)``. Elements of arrays and values of maps are also compared.
    """
    if isinstance(old, StructType) and isinstance(new, StructType):
        known = types_by_name(old)
        for column in new.fields:
            place = f"{path}.{quoted(column.name)}" if path else quoted(column.name)
            if column.name in known:
                yield from _differences(known[column.name], column.dataType, place)
            else:
                yield place, old, column
    elif isinstance(old, ArrayType) and isinstance(new, ArrayType):
        yield from _differences(old.elementType, new.elementType, f"{path}.element")
    elif isinstance(old, MapType) and isinstance(new, MapType):
        yield from _differences(old.valueType, new.valueType, f"{path}.value")
    elif old != held_type(new):
        yield path, old, held_type(new)


def _is_wider(old: DataType, new: DataType) -> bool:
    if isinstance(old, DecimalType) and isinstance(new, DecimalType):
        return old.scale == new.scale and new.precision > old.precision
    return (old.simpleString(), new.simpleString()) in _WIDER


def _type(kind: DataType) -> str:
    if isinstance(kind, StructType):
        fields = []
        for f in kind.fields:
            comment = f.metadata.get("comment")
            fields.append(
                f"{quoted(f.name)}: {_type(f.dataType)}" + (f" COMMENT {literal(comment)}" if comment else "")
            )
        return f"STRUCT<{', '.join(fields)}>"
    if isinstance(kind, ArrayType):
        return f"ARRAY<{_type(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"MAP<{_type(kind.keyType)}, {_type(kind.valueType)}>"
    return sql_type(kind)


def all_fields(kind: DataType, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], StructField]]:
    """Yields every field of ``kind`` with its path, the outermost fields first."""
    for step, child in _children(kind):
        if isinstance(child, StructField):
            yield (*path, step), child
            child = child.dataType
        yield from all_fields(child, (*path, step))


def _children(kind: DataType) -> list[tuple[str, DataType | StructField]]:
    if isinstance(kind, StructType):
        return [(f.name, f) for f in kind.fields]
    if isinstance(kind, ArrayType):
        return [("element", kind.elementType)]
    if isinstance(kind, MapType):
        return [("key", kind.keyType), ("value", kind.valueType)]
    return []


def column_metadata(schema: StructType) -> dict[str, Any]:
    """Returns Kafka Connect's metadata of the fields in ``schema``. A run stores this metadata in a table property,
    because Iceberg cannot store it with the columns. The result maps the path of a field to the metadata of the field.
    A path is a JSON string, such as ``["customer", "id"]``. Fields without such metadata are left out.
    """
    results = {}
    for path, f in all_fields(schema):
        if _METADATA in f.metadata:
            results[json.dumps(path)] = f.metadata[_METADATA]
    return results


def with_metadata(kind: Any, metadata: Mapping[str, Any], path: tuple[str, ...] = ()) -> Any:
    """Returns the type ``kind`` with Kafka Connect's metadata of its fields. ``metadata`` is a dict that
    ``column_metadata`` has returned.
    """
    if isinstance(kind, StructType):
        fields = []
        for f in kind.fields:
            place = (*path, f.name)
            field_metadata = metadata.get(json.dumps(place))
            more = {} if field_metadata is None else {_METADATA: field_metadata}
            child = with_metadata(f.dataType, metadata, place)
            fields.append(StructField(f.name, child, f.nullable, {**f.metadata, **more}))
        return StructType(fields)
    if isinstance(kind, ArrayType):
        return ArrayType(with_metadata(kind.elementType, metadata, (*path, "element")), kind.containsNull)
    if isinstance(kind, MapType):
        key, value = (with_metadata(k, metadata, (*path, n)) for n, k in _children(kind))
        return MapType(key, value, kind.valueContainsNull)
    return kind


def refused(schema: StructType) -> list[Problem]:
    """Returns a problem for each name and type in ``schema`` that an Iceberg table cannot hold."""
    rename = "rename the field with ReplaceField"
    problems = nul_names(schema, "an Iceberg table")
    fields = list(all_fields(schema))
    for path, field in fields:
        place, kind = route_text(path), field.dataType
        for part in _parts(kind):
            if not isinstance(part, _KNOWN):
                statement = f"an Iceberg table of format 2 has no type {part.simpleString()}"
                problems.append(Problem("SMT565", place, statement, "cast the field in the chain, or drop it"))
        if any(isinstance(part, StructType) and not part.fields for part in _structs(kind)):
            hint = "drop the field with ReplaceField"
            problems.append(Problem("SMT566", place, "an Iceberg table cannot hold a struct without fields", hint))
        if not field.name:
            problems.append(Problem("SMT564", place, "an Iceberg table cannot hold a field without a name", rename))
        # Iceberg adds its own columns beside the outermost columns, so fields of structs may have these names
        if len(path) == 1 and caseless(field.name) in _RESERVED:
            statement = f"Iceberg keeps the name '{field.name}' for a column of its own"
            problems.append(Problem("SMT563", place, statement, rename))
    for name, count in Counter(".".join(path) for path, _ in fields).items():
        if count > 1:
            statement = f"Iceberg calls two fields '{name}': one with dots in its name, one inside a struct"
            problems.append(Problem("SMT567", name, statement, rename))
    return problems


def _parts(kind: DataType) -> Iterator[DataType]:
    """Yields the types inside ``kind`` that are neither arrays nor maps: ``string`` and ``int`` for
    ``array<map<string, int>>``. Structs are left out, because their fields are checked separately.
    """
    if isinstance(kind, StructType):
        return
    inner = []
    for _, c in _children(kind):
        if isinstance(c, DataType):
            inner.append(c)
    if not inner:
        yield kind
    for child in inner:
        yield from _parts(child)


def _structs(kind: DataType) -> Iterator[DataType]:
    """Yields ``kind`` if it is a struct. For an array or a map, yields the structs among its elements."""
    if isinstance(kind, StructType):
        yield kind
    else:
        for _, child in _children(kind):
            if isinstance(child, DataType):
                yield from _structs(child)
