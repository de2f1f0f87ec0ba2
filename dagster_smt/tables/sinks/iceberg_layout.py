"""Contains SQL for the layout of Iceberg tables, and finds the differences between a table and its definition."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from dagster_smt.model.topics.layout import (
    NUMBERED,
    TIMES,
    Layout,
    PartitionField,
    Path,
    column_path,
    partition_field,
    path_text,
)
from dagster_smt.spark.sql import quoted
from dagster_smt.spark.versions import partition_functions
from dagster_smt.tables.sinks.delta_layout import different_properties, pairs

TARGET_SIZE = "write.target-file-size-bytes"
DISTRIBUTION = "write.distribution-mode"
_SORT_ORDER = "sort-order"
_PARTITIONING = ("# Partitioning", "# Partition Information")


@dataclass(frozen=True)
class TableLayout:
    """The layout that an existing table has now.

    Attributes:
        partition_by: The partition fields. A field that this package does not know is a string.
        sort_order: The sort order, as Iceberg shows it.
        comment: The description of the table.
        properties: The properties of the table.
    """

    partition_by: tuple[PartitionField | str, ...]
    sort_order: str
    comment: str
    properties: Mapping[str, str]


def column_sql(path: Path) -> str:
    """Returns ``path`` as SQL: ``("customer", "id")`` becomes ```customer`.`id```."""
    return ".".join(map(quoted, path))


def transform_sql(field: PartitionField) -> str:
    """Returns ``field`` as Iceberg's SQL spells partition fields, such as ``days(`at`)``."""
    if field.transform in NUMBERED:
        return f"{field.transform}({field.number}, {column_sql(field.path)})"
    if field.transform in TIMES:
        return f"{field.transform}s({column_sql(field.path)})"
    return column_sql(field.path)


def transform_columns(layout: Layout) -> list[Column]:
    """Returns the partition fields of ``layout`` as PySpark columns, such as ``days(at)``. Fields with ``truncate`` are
    left out, because PySpark's writer does not support them.
    """
    times = {
        "year": partition_functions().years,
        "month": partition_functions().months,
        "day": partition_functions().days,
        "hour": partition_functions().hours,
    }
    columns = []
    for field in layout.partition_by:
        column = F.col(column_sql(field.path))
        if field.transform in times:
            columns.append(times[field.transform](column))
        elif field.transform == "bucket":
            columns.append(partition_functions().bucket(field.number, column))
        elif not field.transform:
            columns.append(column)
    return columns


def layout_properties(layout: Layout) -> dict[str, str]:
    """Returns the table properties that ``layout`` requires, such as ``write.target-file-size-bytes`` or ``comment``.
    The result maps their names to their values.
    """
    properties = dict(layout.properties)
    if layout.target_file_size:
        properties[TARGET_SIZE] = str(layout.target_file_size)
    if layout.comment:
        properties["comment"] = layout.comment
    return properties


def create_statement(table: str, columns: str, layout: Layout, properties: Mapping[str, str]) -> str:
    """Returns the statement that creates an empty Iceberg table.

    Args:
        table: The table's name as SQL.
        columns: The columns as SQL.
        layout: The layout.
        properties: The properties.
    """
    partitioned = ""
    if layout.partition_by:
        partitioned = f"PARTITIONED BY ({', '.join(map(transform_sql, layout.partition_by))}) "
    return f"CREATE TABLE {table} ({columns}) USING iceberg {partitioned}TBLPROPERTIES ({pairs(properties)})"


def order_changes(layout: Layout) -> Iterator[str]:
    """Yields the ALTER TABLE clauses that give a table the sort order of ``layout``."""
    if not layout.cluster_by:
        return
    yield f"WRITE ORDERED BY {', '.join(map(column_sql, layout.cluster_by))}"
    if DISTRIBUTION in layout.properties:  # a sort order changes this property
        yield f"SET TBLPROPERTIES ({pairs({DISTRIBUTION: layout.properties[DISTRIBUTION]})})"


def changes(layout: Layout, now: TableLayout) -> Iterator[str]:
    """Yields the ALTER TABLE clauses that change the layout of a table from ``now`` to ``layout``, such as
    ``ADD PARTITION FIELD days(`at`)``. Only rows that are written later get the new layout.
    """
    if layout.places_rows:
        fields = set(layout.partition_by)
        for field in now.partition_by:
            if field not in fields:
                text = field if isinstance(field, str) else transform_sql(field)
                yield f"DROP PARTITION FIELD {text}"
        for field in layout.partition_by:
            if field not in now.partition_by:
                yield f"ADD PARTITION FIELD {transform_sql(field)}"
        if not layout.cluster_by and now.sort_order:
            yield "WRITE UNORDERED"
    if properties := layout_properties(layout):
        yield f"SET TBLPROPERTIES ({pairs(properties)})"
    yield from order_changes(layout)


def current_layout(session: SparkSession, table: str, properties: Mapping[str, str]) -> TableLayout:
    """Returns the layout that ``table`` has now."""
    rows = session.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    comment = ""
    details = False
    for row in rows:
        # a column may also have the name Comment, and the output lists columns first
        details = details or row.col_name == "# Detailed Table Information"
        if details and row.col_name == "Comment":
            comment = row.data_type
    return TableLayout(tuple(_fields(rows)), properties.get(_SORT_ORDER, ""), comment, properties)


def _fields(rows: list[Any]) -> Iterator[PartitionField | str]:
    """Yields the partition fields in ``rows``, the output of ``DESCRIBE``. This output lists the fields as numbered
    parts, such as ``Part 0`` with ``days(at)``. If no field has a transform, it lists the partition columns instead.
    """
    section = ""
    for row in rows:
        if not row.col_name:
            section = ""
        elif row.col_name.startswith("# "):
            section = row.col_name if row.col_name in _PARTITIONING else section
        elif section == _PARTITIONING[0]:
            yield _read(row.data_type)
        elif section == _PARTITIONING[1]:
            yield _read(row.col_name)


def _read(text: str) -> PartitionField | str:
    try:
        return partition_field(text)
    except ValueError:
        pass
    try:
        # the output shows an unusual name, such as it's, without backticks
        return PartitionField(column_path(quoted(text)))
    except ValueError:
        return text


def differences(layout: Layout, now: TableLayout) -> list[str]:
    """Compares the layout of a table with its definition, and returns a text for each difference. An example is
    ``partition_by (none instead of day(at))``: the table has no partitions, and the definition requires ``day(at)``.
    For comments and properties, the text contains no values.

    Args:
        layout: The layout of the definition.
        now: The layout of the table.
    """
    texts = []
    if layout.places_rows:
        fields = set()
        for field in now.partition_by:
            fields.add(field if isinstance(field, str) else field.text)
        partition_texts = [field.text for field in layout.partition_by]
        if fields != set(partition_texts):
            texts.append(f"partition_by ({_listed(sorted(fields))} instead of {_listed(partition_texts)})")
        # the form in which Iceberg shows a sort order
        order = ", ".join(f"{'.'.join(path)} ASC NULLS FIRST" for path in layout.cluster_by)
        if now.sort_order != order:
            clustered = now.sort_order.replace(" ASC NULLS FIRST", "") or "none"
            texts.append(f"cluster_by ({clustered} instead of {_listed(map(path_text, layout.cluster_by))})")
    if layout.comment and now.comment != layout.comment:
        texts.append("comment")
    size = now.properties.get(TARGET_SIZE, "")
    if layout.target_file_size and size != str(layout.target_file_size):
        texts.append(f"target_file_size ({size or 'none'} instead of {layout.target_file_size})")
    return [*texts, *different_properties(layout, now.properties)]


def _listed(texts: Any) -> str:
    return ", ".join(texts) or "none"
