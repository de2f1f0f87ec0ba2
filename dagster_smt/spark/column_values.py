"""Converts the values of records into the plain form, from which Arrow builds a table's columns. In the plain form, a
date is a number of days, and a timestamp is a number of milliseconds. The conversion runs in Python.

If a record's schema has fewer fields than the table, the missing fields become null. If Spark's types cannot hold a
value, only this record fails, not the job.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from dagster_smt.errors import DataError, PlanError, Problem, data_error
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import INTEGER_BITS, MAX_DIGITS, Schema, Type
from dagster_smt.spark.typed_literals import MAX_MILLIS, fits_decimal
from dagster_smt.spark.types import internal_names, spark_type
from dagster_smt.values.cast import DAY

Convert = Callable[[Any], Any]
_ARROW: dict[Type, pa.DataType] = {
    Type.INT8: pa.int8(),
    Type.INT16: pa.int16(),
    Type.INT32: pa.int32(),
    Type.INT64: pa.int64(),
    Type.FLOAT32: pa.float32(),
    Type.FLOAT64: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.STRING: pa.string(),
    Type.BYTES: pa.binary(),
}


def arrow_type(schema: Schema) -> pa.DataType:
    """Returns the Arrow type for values of ``schema`` in the plain form, in which dates and timestamps are whole
    numbers. For example, a STRING is ``pa.string()`` and a Date is a whole number of days.
    """
    if schema.logical == "Decimal":
        return pa.decimal128(MAX_DIGITS, schema.scale)
    if schema.type is Type.STRUCT:
        pairs = zip(internal_names(schema), schema.fields, strict=True)
        fields = []
        for name, (_, child) in pairs:
            fields.append(pa.field(name, arrow_type(child)))
        return pa.struct(fields)
    if schema.type is Type.ARRAY and schema.values:
        return pa.list_(arrow_type(schema.values))
    if schema.type is Type.MAP and schema.keys and schema.values:
        return pa.map_(arrow_type(schema.keys), arrow_type(schema.values))
    return _ARROW[schema.type]


def check_defaults(schema: Schema, where: str = "") -> None:
    """Raises an error if ``schema`` contains a default that Spark's types cannot hold.

    Raises:
        PlanError: SMT207, for the first such default.
    """
    for name, child in schema.fields:
        check_defaults(child, below(where, name))
    for inner in (schema.keys, schema.values):
        if inner is not None:
            check_defaults(inner, f"{where}[]")
    if schema.default is None:
        return
    try:
        column_writer(schema, schema, where)(schema.default)
    except DataError as error:
        hint = "change the default in the schema, or write records instead of columns"
        problem = Problem("SMT207", where, f"the default: {error.problem.statement}", hint)
        raise PlanError(problem) from None


def column_writer(schema: Schema, column: Schema, where: str = "") -> Convert:
    """Returns a function that converts values of ``schema`` for an Arrow column. The converted values are in the plain
    form, in which dates and timestamps are numbers.

    Args:
        schema: The schema of the values.
        column: The schema of the column. It has all fields of ``schema``, and possibly more.
        where: The path of the field, for the problems.

    Returns:
        The function. It raises ``DataError``: SMT426 if the column's type cannot hold the value; SMT427 if a map's key
        is null; SMT428 if no column is prepared for the schema of the value.
    """
    convert = _writer(schema, column, where)
    # such a value needs no conversion, so it need not be compared with None first
    if convert is _same:
        return convert
    return lambda value: None if value is None else convert(value)


def _writer(schema: Schema, column: Schema, where: str) -> Convert:
    if schema.type is not column.type or schema.logical != column.logical:
        return _unplanned(where)
    if schema.logical == "Decimal":
        return _decimal(column, where)
    if schema.type in INTEGER_BITS:
        return _integer(column, where)
    if schema.type is Type.STRUCT:
        return _struct(schema, column, where)
    if schema.type is Type.ARRAY and schema.values and column.values:
        item = column_writer(schema.values, column.values, f"{where}[]")
        return lambda values: [item(v) for v in values]
    if schema.type is Type.MAP:
        return _map(schema, column, where)
    return _same


def _same(value: Any) -> Any:
    return value


def unplanned(where: str) -> DataError:
    """Returns the error for a value whose schema is not in the run's plan, so that no column is prepared for it.
    ``where`` is the path of the value.
    """
    statement = f"{_name_of(where)} has a schema that the plan of the window does not know"
    return data_error("SMT428", statement, "check the dead letter, or write records instead of columns", "")


def _unplanned(where: str) -> Convert:
    """Returns a function that raises the error for a value whose schema is missing from the plan. ``where`` is the path
    of the value. The error is rare. For example, it happens if a stage puts a null into a struct.
    """

    def refuse(value: Any) -> Any:
        raise unplanned(where)

    return refuse


def unfit(column: Schema, where: str) -> DataError:
    """Returns the error for a value that the column at the path ``where`` cannot hold."""
    kind = spark_type(column).simpleString()
    hint = "cast the field to string, or write records instead of columns"
    return data_error("SMT426", f"{_name_of(where)} does not fit Spark's type {kind}", hint, "")


def _name_of(where: str) -> str:
    if where:
        return f"'{where}'"
    return "the value"


def _decimal(column: Schema, where: str) -> Convert:
    scale, precision = column.scale, column.precision or MAX_DIGITS

    def write(value: Any) -> Any:
        if not fits_decimal(value, scale, precision):
            raise unfit(column, where)
        return value

    return write


def _integer(column: Schema, where: str) -> Convert:
    unit = DAY if column.logical == "Date" else 1
    if column.logical == "Timestamp":
        most = MAX_MILLIS
    else:
        most = (1 << INTEGER_BITS[column.type] - 1) - 1
    least = -MAX_MILLIS if column.logical == "Timestamp" else -most - 1

    def write(value: Any) -> int:
        number = int(value) // unit
        if not least <= number <= most:
            raise unfit(column, where)
        return number

    return write


def _struct(schema: Schema, column: Schema, where: str) -> Convert:
    if not schema.by_name.keys() <= column.by_name.keys():
        return _unplanned(where)
    writers = []
    for name, child in column.fields:
        if name in schema.by_name:
            write = column_writer(schema.by_name[name], child, below(where, name))
        else:
            # the record's schema has no such field, so the value is always None
            write = _same
        writers.append((name, write))
    fields = tuple(writers)
    return lambda value: tuple(write(value.get(name)) for name, write in fields)


def _map(schema: Schema, column: Schema, where: str) -> Convert:
    if not (schema.keys and schema.values and column.keys and column.values):
        return _unplanned(where)
    key = column_writer(schema.keys, column.keys, f"{where} key".strip())
    item = column_writer(schema.values, column.values, f"{where}[]")

    def write(values: dict[Any, Any]) -> list[tuple[Any, Any]]:
        # Connect's maps may have a null key; Arrow and Spark accept none
        if None in values:
            hint = "drop the field, or write records instead of columns"
            raise data_error("SMT427", f"{_name_of(where)} has a null key, which Spark's maps cannot hold", hint, "")
        return [(key(k), item(v)) for k, v in values.items()]

    return write
