"""Describes the layout of Delta tables: SQL statements, generated columns, and the differences between a table and its
definition.

Delta cannot partition by a time transform, so the transform becomes a generated column. For example, ``day(at)``
becomes ``at_day DATE GENERATED ALWAYS AS (CAST(at AS DATE))``. Delta computes this column, and translates filters on
``at`` into filters on partitions. A table property lists the generated columns, because Delta does not show readers
which columns are generated.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from dagster_smt.errors import Problem, UnsupportedError
from dagster_smt.model.topics.layout import OWN_PREFIX, TIMES, Layout, path_text, size_in_bytes
from dagster_smt.spark.java_classes import java_class
from dagster_smt.spark.sql import quoted
from dagster_smt.spark.types import nullable
from dagster_smt.tables.layout_problems import added_name
from dagster_smt.tables.schemas import all_structs
from dagster_smt.tables.sinks.replaced_rows import packed, unpacked
from dagster_smt.tables.sql import SESSION_CATALOG, hides_paths, literal

ANY_PROPERTY = {"spark.databricks.delta.allowArbitraryProperties.enabled": "true"}
"""A session setting that permits a table to set ``delta.targetFileSize``. Delta on Spark does not know this property,
but other writers read it.
"""
GENERATED = f"{OWN_PREFIX}generated"
"""The table property that lists the generated columns, as compressed JSON. The JSON maps each column to its entry in
the option ``partition_by``: ``{"at_day": "day(at)"}``.
"""
TARGET_SIZE = "delta.targetFileSize"
_MAPPED = re.compile(r"[ ,;{}()\n\t=]")
_EXPRESSIONS = {
    "year": ("INT", "YEAR({})"),
    "month": ("STRING", "DATE_FORMAT({}, 'yyyy-MM')"),
    "day": ("DATE", "CAST({} AS DATE)"),
    "hour": ("STRING", "DATE_FORMAT({}, 'yyyy-MM-dd-HH')"),
}
"""Maps each time transform to the type and the SQL expression of its generated column. For example, ``day(at)`` becomes
a column of type ``DATE`` with the expression ``CAST(at AS DATE)``. From these expressions, Delta can derive filters on
partitions.
"""
_OF_DELTA = ("delta.minReaderVersion", "delta.minWriterVersion", "delta.columnMapping.maxColumnId", "delta.feature.")
REDACTED = "*********(redacted)"


def generated_columns(layout: Layout) -> dict[str, str]:
    """Returns the generated columns that ``layout`` requires. The result maps each column to its entry in the option
    ``partition_by``: ``{"at_day": "day(at)"}``.
    """
    columns = {}
    for field in layout.partition_by:
        if field.transform:
            columns[added_name(field)] = field.text
    return columns


def partition_columns(layout: Layout) -> list[str]:
    """Returns the names of the partition columns of ``layout`` in their order. For ``day(at)``, this is the generated
    column ``at_day``.
    """
    columns = []
    for field in layout.partition_by:
        columns.append(added_name(field) if field.transform else field.path[0])
    return columns


def layout_properties(layout: Layout) -> dict[str, str]:
    """Returns the table properties that ``layout`` requires, such as ``delta.targetFileSize`` for the size of the
    files.
    """
    properties = dict(layout.properties)
    if layout.target_file_size:
        properties[TARGET_SIZE] = str(layout.target_file_size)
    if generated := generated_columns(layout):
        properties[GENERATED] = packed(json.dumps(generated))
    return properties


def create_as(table: str, view: str, layout: Layout, properties: Mapping[str, str], *, replace: bool) -> str:
    """Returns the ``CREATE TABLE … AS SELECT`` statement that creates ``table`` from the rows of ``view``. With
    ``replace``, the statement begins with ``CREATE OR REPLACE TABLE``. ``layout`` must not require generated columns,
    because this statement cannot create them.
    """
    clauses = ["CREATE OR REPLACE TABLE" if replace else "CREATE TABLE", table, "USING delta"]
    if layout.partition_by:
        clauses.append(f"PARTITIONED BY ({', '.join(map(quoted, partition_columns(layout)))})")
    if layout.cluster_by:
        columns = []
        for path in layout.cluster_by:
            columns.append(".".join(map(quoted, path)))
        clauses.append(f"CLUSTER BY ({', '.join(columns)})")
    if layout.comment:
        clauses.append(f"COMMENT {literal(layout.comment)}")
    if properties:
        clauses.append(f"TBLPROPERTIES ({pairs(properties)})")
    return " ".join((*clauses, f"AS SELECT * FROM {view}"))


def pairs(properties: Mapping[str, str]) -> str:
    """Formats ``properties`` for SQL: ``{"a": "1", "b": "2"}`` becomes ``'a' = '1', 'b' = '2'``."""
    texts = []
    for name, value in properties.items():
        texts.append(f"{literal(name)} = {literal(value)}")
    return ", ".join(texts)


def create_generated(
    session: SparkSession, place: tuple[str, str], columns: StructType, layout: Layout, properties: Mapping[str, str]
) -> None:
    """Creates an empty table with generated columns. The function uses Delta's own builder, because SQL cannot create
    such a table.

    Args:
        session: A classic session that nothing else uses, because the function may change its current catalog.
        place: A pair: the table's name and the table's path. One of them is empty.
        columns: The columns that are not generated.
        layout: The layout, which names the generated columns.
        properties: The table's properties.

    Raises:
        UnsupportedError: SMT569, the session is a Spark Connect session.
    """
    table, path = place
    try:
        delta = java_class(session, "io.delta.tables.DeltaTable")
        gateway: Any = session.sparkContext._gateway
    except Exception:  # noqa: BLE001 - what PySpark raises depends on its version
        hint = "use a classic session, or leave the transform out of partition_by"
        statement = "a session of Spark Connect cannot make generated columns"
        raise UnsupportedError(Problem("SMT569", "partition_by", statement, hint)) from None
    if path and hides_paths(session):  # the builder takes no name of three parts
        session.catalog.setCurrentCatalog(SESSION_CATALOG)
    builder = delta.create(session._jsparkSession)
    builder = builder.tableName(table) if table else builder.location(path)
    builder = builder.addColumns(java_class(session, "org.apache.spark.sql.types.DataType").fromJson(columns.json()))
    for field in layout.partition_by:
        if field.transform in TIMES:
            kind, expression = _EXPRESSIONS[field.transform]
            column = delta.columnBuilder(session._jsparkSession, added_name(field)).dataType(kind)
            builder = builder.addColumn(column.generatedAlwaysAs(expression.format(quoted(field.path[0]))).build())
    # partitionedBy takes a variable number of names, which Py4J can only pass as a Java array
    names = gateway.new_array(java_class(session, "java.lang.String"), len(layout.partition_by))
    for number, name in enumerate(partition_columns(layout)):
        names[number] = name
    builder = builder.partitionedBy(names)
    if layout.comment:
        builder = builder.comment(layout.comment)
    for name, value in properties.items():
        builder = builder.property(name, value)
    builder.execute()


def generated_in(properties: Mapping[str, str]) -> dict[str, str]:
    """Reads the generated columns of a table from ``properties``, the table's properties. The result maps each column
    to its entry in the option ``partition_by``: ``{"at_day": "day(at)"}``.
    """
    text = properties.get(GENERATED)
    if not text:
        return {}
    try:
        columns: dict[str, str] = json.loads(unpacked(text))
    except ValueError:
        return {}
    return columns


def without_generated(columns: StructType, properties: Callable[[], Mapping[str, str]]) -> StructType:
    """Returns ``columns`` without the generated columns, because runs do not write these columns.

    ``properties`` returns the table's properties, which list the generated columns. The function calls ``properties``
    only if there is a column such as ``at_day`` next to a column ``at``.
    """
    names = set(columns.names)
    if not any(name.rpartition("_")[2] in TIMES and name.rpartition("_")[0] in names for name in names):
        return columns
    generated = generated_in(properties())
    return StructType([field for field in columns.fields if field.name not in generated])


def other_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Returns ``properties``, the properties of a table, without the properties that Delta itself or this package sets.
    Properties whose values Spark has redacted are also left out. The remaining properties stay when a run replaces the
    table.
    """
    others = {}
    for name, value in properties.items():
        if not name.startswith((OWN_PREFIX, *_OF_DELTA)) and value != REDACTED:
            others[name] = value
    return others


def differences(layout: Layout, detail: Any, properties: Mapping[str, str]) -> list[str]:
    """Compares a table with its definition, and returns a text for each difference. An example is
    ``partition_by (none instead of day(at))``: the table has no partitions, and the definition requires ``day(at)``.
    For comments and properties, the text contains no values.

    Args:
        layout: The layout of the definition.
        detail: The row of ``DESCRIBE DETAIL``.
        properties: The table's properties.
    """
    texts = []
    if layout.places_rows:
        generated = generated_in(properties)
        partitions = []
        for name in detail.partitionColumns:
            partitions.append(generated.get(name, path_text((name,))))
        texts += _different("partition_by", partitions, [field.text for field in layout.partition_by])
        clusters = []
        for name in getattr(detail, "clusteringColumns", None) or ():
            clusters.append(name.replace("`", ""))
        cluster_texts = [path_text(path) for path in layout.cluster_by]
        if clusters != [text.replace("`", "") for text in cluster_texts]:
            texts += _different("cluster_by", clusters, cluster_texts)
    if layout.comment and (detail.description or "") != layout.comment:
        texts.append("comment")
    size = properties.get(TARGET_SIZE, "")
    if layout.target_file_size and _bytes(size) != layout.target_file_size:
        texts += _different("target_file_size", [size] if size else [], [str(layout.target_file_size)])
    return [*texts, *different_properties(layout, properties)]


def different_properties(layout: Layout, properties: Mapping[str, str]) -> list[str]:
    """Compares the properties in ``layout`` with ``properties``, the current properties of the table. For each property
    with a different value, returns a text such as ``property delta.appendOnly``. The text does not contain the values.
    """
    names = []
    for name, value in layout.properties.items():
        # Spark hides values that may be secrets, so they cannot be compared
        if properties.get(name) not in (value, REDACTED):
            names.append(f"property {name}")
    return names


def _bytes(size: str) -> int:
    try:
        return size_in_bytes(size)
    except ValueError:
        return 0


def _different(option: str, table: Iterable[str], definition: Iterable[str]) -> list[str]:
    in_table, in_definition = ", ".join(table) or "none", ", ".join(definition) or "none"
    if in_table == in_definition:
        return []
    return [f"{option} ({in_table} instead of {in_definition})"]


def holds_columns(columns: StructType, others: StructType) -> bool:
    """Returns True if ``columns`` contains all columns of ``others`` with the same types."""
    types = {field.name: nullable(field.dataType) for field in columns.fields}
    for field in others.fields:
        if types.get(field.name) != nullable(field.dataType):
            return False
    return True


def odd_names(schema: StructType) -> bool:
    """Returns True if a name in ``schema`` needs Delta's column mapping, because it contains a character such as a
    space or a comma. Parquet does not permit these characters in names.
    """
    return any(_MAPPED.search(name) for _, struct in all_structs(schema) for name in struct.names)
