"""Compares two tables cell by cell, including types, nulls and nested values. The order of rows is ignored, and no
result contains a value.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from dagster_smt.spark.sql import quoted
from dagster_smt.spark.types import types_by_name
from dagster_smt.tables.sink_options import SourceColumns

SHOWN = 20
"""The largest number of rows whose differences are listed."""
_CANDIDATES = 500
"""If the connector's table lacks a row of the chain, the comparison searches for the most similar row of the table. It
compares the chain's row with at most this many rows of the table. It skips each row of the table that is equal to a row
of the chain.
"""
_NUMBER, _PLACE = "__smt_number", "__smt_place"


@dataclass(frozen=True)
class RowDifference:
    """A row that the chain produces and the connector's table lacks.

    Attributes:
        place: The coordinates of the record, such as ``orders-0 offset 17``.
        rows: The number of such rows.
        columns: The columns in which the most similar row of the table differs; empty if no row is similar.
    """

    place: str
    rows: int
    columns: tuple[str, ...]


@dataclass
class RowComparison:
    """The result of comparing the rows of a chain with the rows of a connector.

    Attributes:
        columns: The compared columns, with their types.
        ours: The number of rows that the chain produces.
        of_connector: The number of rows that the connector has written.
        only_ours: The number of rows that only the chain produces.
        only_connectors: The number of rows that only the connector's table contains.
        first: The first differences.
    """

    columns: Mapping[str, str]
    ours: int
    of_connector: int
    only_ours: int = 0
    only_connectors: int = 0
    first: list[RowDifference] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Returns the result as JSON data."""
        return asdict(self)


def compared_rows(
    ours: DataFrame, of_connector: DataFrame, source: SourceColumns, keys: Sequence[str] = ()
) -> RowComparison:
    """Compares two tables as multisets of rows. Only the columns with the same name and type in both tables are
    compared.

    Args:
        ours: The rows of the chain, with the source columns.
        of_connector: The rows of the connector.
        source: The names of the source columns.
        keys: The columns that identify a row. Rows with the same values in these columns are compared. If empty, a row
            is compared with the most similar row.
    """
    own = set(source.names)
    there = types_by_name(of_connector.schema)
    names = []
    for column in ours.schema.fields:
        if column.name not in own and there.get(column.name) == column.dataType:
            names.append(column.name)
    kinds = {}
    for name in names:
        kinds[name] = there[name]
    cells = []
    for name in names:
        cells.append(comparable(F.col(quoted(name)), kinds[name]).alias(name))
    coordinates = []
    for name in source.names:
        coordinates.append(F.col(quoted(name)))
    # A row counts +1 in our table and -1 in the connector's, so equal rows cancel each other out: two of our rows and
    # one of the connector's leave 1. Unlike a join on equal columns, groupBy treats nulls as equal.
    left = ours.select(*cells, F.lit(1).alias(_NUMBER), F.struct(*coordinates).alias(_PLACE))
    place_type = left.schema[_PLACE].dataType
    # the connector's rows have no coordinates, and min ignores their nulls
    right = of_connector.select(*cells, F.lit(-1).alias(_NUMBER), F.lit(None).cast(place_type).alias(_PLACE))
    both = left.unionByName(right).groupBy(*map(quoted, names))
    # three queries below use the totals, and each would read both tables again
    totals = both.agg(F.sum(_NUMBER).alias(_NUMBER), F.min(_PLACE).alias(_PLACE)).where(F.col(_NUMBER) != 0).persist()
    try:
        more, fewer = F.col(_NUMBER) > 0, F.col(_NUMBER) < 0
        sums = totals.agg(
            F.coalesce(F.sum(F.when(more, F.col(_NUMBER))), F.lit(0)).alias("ours"),
            F.coalesce(-F.sum(F.when(fewer, F.col(_NUMBER))), F.lit(0)).alias("of_connector"),
        ).collect()[0]
        types = {}
        for name, kind in kinds.items():
            types[name] = kind.simpleString()
        result = RowComparison(
            types,
            ours.count(),
            of_connector.count(),
            int(sums.ours),
            int(sums.of_connector),
        )
        first = totals.where(more).orderBy(_PLACE).limit(SHOWN).collect()
        others = totals.where(fewer).limit(_CANDIDATES).collect() if first else []
    finally:
        totals.unpersist()
    result.first = [_difference(row, others, names, keys) for row in first]
    return result


def comparable(value: Column, kind: DataType) -> Column:
    """Converts ``value`` into a form by which Spark can group rows. For example, a map becomes the list of its entries,
    sorted by key.
    """
    if isinstance(kind, StructType):
        fields = []
        for f in kind.fields:
            fields.append(comparable(value[f.name], f.dataType).alias(f.name))
        return F.when(value.isNotNull(), F.struct(*fields)) if _has_map(kind) else value
    if isinstance(kind, ArrayType):
        element = kind.elementType
        return F.transform(value, lambda one: comparable(one, element)) if _has_map(element) else value
    if isinstance(kind, MapType):
        of_value = kind.valueType
        entries = F.array_sort(F.map_entries(value))
        # array_sort compares whole entries, and Spark cannot order maps: if the values contain maps, only keys are
        # sorted
        if not _has_map(of_value):
            return entries
        keys = F.array_sort(F.map_keys(value))
        return F.transform(
            keys, lambda key: F.struct(key.alias("key"), comparable(value[key], of_value).alias("value"))
        )
    return value


def _has_map(kind: DataType) -> bool:
    if isinstance(kind, MapType):
        return True
    if isinstance(kind, ArrayType):
        return _has_map(kind.elementType)
    return isinstance(kind, StructType) and any(_has_map(f.dataType) for f in kind.fields)


def _difference(row: Row, others: Iterable[Row], names: Sequence[str], keys: Sequence[str]) -> RowDifference:
    place = row[_PLACE]
    where = f"{place[0]}-{place[1]} offset {place[2]}"
    best: tuple[str, ...] = ()
    for other in others:
        if keys and any(row[key] != other[key] for key in keys):
            continue
        different = []
        for name in names:
            if row[name] != other[name]:
                different.append(name)
        columns = tuple(different)
        # a row that differs in every column has nothing in common with this one
        if len(columns) < len(names) and (not best or len(columns) < len(best)):
            best = columns
    return RowDifference(where, int(row[_NUMBER]), best)
