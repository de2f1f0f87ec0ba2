"""Determines the columns of a table after a run. A run may add columns and widen types, such as ``int`` to ``bigint``.

If the sink does not permit a change, the run fails before it writes rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
)

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.caseless import caseless
from dagster_smt.model.paths.extended import below
from dagster_smt.spark.sql import quoted
from dagster_smt.spark.types import nullable, types_by_name
from dagster_smt.spark.versions import missing
from dagster_smt.tables.sink_options import DeltaSink, SchemaEvolution, Sink, TableSink

WIDER = {
    "tinyint": ("smallint", "int", "bigint"),
    "smallint": ("int", "bigint"),
    "int": ("bigint",),
    "float": ("double",),
}
"""Maps each type to the types that can hold all of its values, for Delta and Iceberg."""
_OF_OLD_DELTA = ("smallint", "int")
"""The types to which Delta on Spark 3.5 can widen a column."""


@dataclass
class _Merge:
    """Merges the columns that a run writes into the columns of the table. It collects the changes that are not
    permitted.
    """

    evolution: SchemaEvolution
    old_delta: bool = False
    problems: list[Problem] = field(default_factory=list)

    def struct(self, old: StructType, new: StructType, path: str) -> StructType:
        fields = {f.name: f for f in old.fields}
        for column in new.fields:
            known, kind, place = fields.get(column.name), column.dataType, below(path, column.name)
            if known is not None:
                # the metadata contains Connect's schema of the column (``spark.types``); the table keeps its own
                kind, metadata = self.type(known.dataType, kind, place), {**column.metadata, **known.metadata}
            else:
                metadata = column.metadata
                if self.evolution == "none":
                    hint = "drop the field in the chain, or set schema_evolution of the sink to add"
                    self.problems.append(Problem("SMT571", place, "the table has no such column", hint))
            fields[column.name] = StructField(column.name, nullable(kind), True, metadata)
        return StructType(list(fields.values()))

    def type(self, old: DataType, new: DataType, place: str) -> DataType:
        if isinstance(old, StructType) and isinstance(new, StructType):
            return self.struct(old, new, place)
        if isinstance(old, ArrayType) and isinstance(new, ArrayType):
            return ArrayType(self.type(old.elementType, new.elementType, f"{place}[]"))
        if isinstance(old, MapType) and isinstance(new, MapType):
            keys = self.type(old.keyType, new.keyType, f"{place}.key")
            return MapType(keys, self.type(old.valueType, new.valueType, f"{place}.value"))
        if old == new or _holds(old, new):
            return old
        wider = _wider(old, new)
        # if the table has the wider type, only the rows change
        widens = not self.old_delta or wider == old or (wider is not None and wider.simpleString() in _OF_OLD_DELTA)
        if wider is not None and self.evolution == "widen" and widens:
            return wider
        statement = f"the table has {old.simpleString()}, the run would write {new.simpleString()}"
        hint = "cast or rename the field in the chain, or rebuild the table"
        if wider is not None and widens:
            hint = "cast the field in the chain, or set schema_evolution of the sink to widen"
        elif wider is not None:
            hint = "cast the field, rebuild the table, or run on Spark 4: Delta of Spark 3.5 does not widen it"
        self.problems.append(Problem("SMT521", place, statement, hint))
        return old


def _holds(old: DataType, new: DataType) -> bool:
    """Returns True if a column of the type ``old`` can hold decimals of the type ``new``.

    For example, ``decimal(10, 2)`` can hold ``decimal(4, 2)``.
    """
    if not (isinstance(old, DecimalType) and isinstance(new, DecimalType)):
        return False
    return old.scale == new.scale and old.precision >= new.precision


def _wider(one: DataType, other: DataType) -> DataType | None:
    """Returns the wider of the two types ``one`` and ``other``: for ``int`` and ``bigint``, this is ``bigint``.

    Returns None if ``WIDER`` names neither type for the other. Of two decimal types, the type with more digits is
    wider; if their scales differ, the result is None.
    """
    if isinstance(one, DecimalType) and isinstance(other, DecimalType):
        if one.scale == other.scale:
            return max(one, other, key=lambda d: d.precision)
        return None
    if other.simpleString() in WIDER.get(one.simpleString(), ()):
        return other
    if one.simpleString() in WIDER.get(other.simpleString(), ()):
        return one
    return None


def evolved_schema(sink: Sink, table: StructType | None, new: StructType, *, case_sensitive: bool) -> StructType:
    """Returns the columns that a table has after a run.

    Args:
        sink: The sink.
        table: The current columns; None if the run creates the table or replaces all of its rows.
        new: The columns that the run writes.
        case_sensitive: True if Spark distinguishes names that differ only in case.

    Returns:
        The columns of the table, followed by the new columns of the run. Every column may be null.

    Raises:
        TableError: All problems. SMT521: a column has a different type; SMT526: two columns or fields differ only in
            case; SMT527: there is no column; SMT529: a struct has no fields; SMT571: ``schema_evolution`` permits no
            new column.
    """
    old_delta = isinstance(sink, DeltaSink) and "wide types in Delta" in missing()
    # without a table, every column is new, and ``none`` must not reject it
    merge = _Merge(sink.schema_evolution if table is not None else "add", old_delta)
    merged = merge.struct(table or StructType(), new, "")
    problems = merge.problems + ([] if case_sensitive else _twins(merged))
    if not new.fields:
        problems.append(Problem("SMT527", sink.place, "the chain leaves no column to write", "keep one field"))
    for path, struct in all_structs(new):
        if path and not struct.fields:
            statement = "a struct without fields cannot be written to a table"
            problems.append(Problem("SMT529", path, statement, "drop the field with ReplaceField"))
    if problems:
        raise TableError(problems)
    return merged


def schema_with(sink: TableSink, table: StructType, new: StructType) -> StructType:
    """Returns the columns of ``table`` after rows with the columns ``new`` have been appended. Types may become wider,
    and columns may be added, whatever the sink's ``schema_evolution`` permits to runs.

    Raises:
        TableError: All problems. SMT521: a column has a different type; see ``evolved_schema``.
    """
    return evolved_schema(replace(sink, schema_evolution="widen"), table, new, case_sensitive=True)


def conformed(frame: DataFrame, schema: StructType) -> DataFrame:
    """Returns the rows of ``frame`` with exactly the columns of ``schema``; see ``conformed_columns``."""
    return frame.select(*conformed_columns(frame, schema))


def conformed_columns(frame: DataFrame, schema: StructType) -> list[Column]:
    """Returns one expression on ``frame`` for each column of ``schema``. Columns are matched by name.

    A column with a narrower type is cast to the type in ``schema``. A missing column becomes null.
    """
    have = types_by_name(frame.schema)
    columns = []
    for target in schema.fields:
        kind = have.get(target.name)
        if kind is not None and nullable(kind) == nullable(target.dataType) and not target.metadata:
            # without a cast and an alias, which take some thirty calls into the JVM
            columns.append(F.col(quoted(target.name)))
            continue
        if kind is None:
            column = F.lit(None)
        else:
            column = conformed_value(frame[quoted(target.name)], kind, target.dataType)
        columns.append(column.cast(target.dataType).alias(target.name, metadata=target.metadata))
    return columns


def conformed_value(column: Column, have: DataType, want: DataType) -> Column:
    """Returns ``column`` converted from the type ``have`` to the type ``want``. Fields are matched by name, and missing
    fields are null.
    """
    if nullable(have) == nullable(want):
        return column
    if isinstance(have, StructType) and isinstance(want, StructType):
        numbers = {}
        for n, f in enumerate(have.fields):
            numbers[f.name] = n
        fields = []
        for field in want.fields:
            number = numbers.get(field.name)
            if number is None:
                child = F.lit(None)
            else:
                child = conformed_value(column.getField(field.name), have.fields[number].dataType, field.dataType)
            fields.append(child.cast(field.dataType).alias(field.name))
        # without the condition, a null struct would become a struct of nulls
        return F.when(column.isNotNull(), F.struct(*fields))
    if isinstance(have, ArrayType) and isinstance(want, ArrayType):
        old, new = have.elementType, want.elementType
        return F.transform(column, lambda v: conformed_value(v, old, new))
    if isinstance(have, MapType) and isinstance(want, MapType):
        old, new, old_key, new_key = have.valueType, want.valueType, have.keyType, want.keyType
        if old_key != new_key:
            column = F.transform_keys(column, lambda k, _: conformed_value(k, old_key, new_key))
        return F.transform_values(column, lambda _, v: conformed_value(v, old, new))
    return column


def case_twins(schema: StructType) -> Iterator[tuple[str, str]]:
    """Yields the paths of two fields whose names differ only in case, such as ``("customer.id", "customer.ID")``.

    Only the names of fields in the same struct are compared.
    """
    for path, struct in all_structs(schema):
        seen: dict[str, str] = {}
        for name in struct.names:
            first = seen.setdefault(caseless(name), name)
            if first != name:
                yield below(path, first), below(path, name)


def nul_names(schema: StructType, table: str) -> list[Problem]:
    """Returns a problem for each name in ``schema`` that contains the character NUL. Spark can write such names, but
    other readers of the table would fail.

    ``table`` describes the kind of the table in messages.
    """
    hint = "rename the field with ReplaceField"
    results = []
    for path, struct in all_structs(schema):
        for name in struct.names:
            if "\0" in name:
                results.append(
                    Problem("SMT214", below(path, name), f"{table} cannot hold a name with the character NUL", hint)
                )
    return results


def _twins(schema: StructType) -> list[Problem]:
    hint = "rename one, or set spark.sql.caseSensitive=true"
    results = []
    for first, other in case_twins(schema):
        results.append(Problem("SMT526", other, f"columns '{first}' and '{other}' differ only in case", hint))
    return results


def all_structs(kind: DataType, path: str = "") -> Iterator[tuple[str, StructType]]:
    """Yields each struct in ``kind`` with its path, the outermost struct first. The path of the outermost struct is
    ``path``.
    """
    if isinstance(kind, StructType):
        yield path, kind
        for column in kind.fields:
            yield from all_structs(column.dataType, below(path, column.name))
    elif isinstance(kind, ArrayType):
        yield from all_structs(kind.elementType, f"{path}[]")
    elif isinstance(kind, MapType):
        yield from all_structs(kind.keyType, f"{path}.key")
        yield from all_structs(kind.valueType, f"{path}.value")


def changed_types(old: DataType, new: DataType, path: str) -> Iterator[tuple[str, DataType]]:
    """Yields ``(path, new type)`` for each column or nested field whose type differs between ``old`` and ``new``.

    The path has the syntax of ``ALTER TABLE``, such as ```tags`.element`` for the items of the array ``tags``.
    """
    if isinstance(old, StructType) and isinstance(new, StructType):
        known = {f.name: f.dataType for f in old.fields}
        for column in new.fields:
            if column.name in known:
                place = f"{path}.{quoted(column.name)}" if path else quoted(column.name)
                yield from changed_types(known[column.name], column.dataType, place)
    elif isinstance(old, ArrayType) and isinstance(new, ArrayType):
        yield from changed_types(old.elementType, new.elementType, f"{path}.element")
    elif isinstance(old, MapType) and isinstance(new, MapType):
        yield from changed_types(old.keyType, new.keyType, f"{path}.key")
        yield from changed_types(old.valueType, new.valueType, f"{path}.value")
    elif old != new:
        yield path, new
