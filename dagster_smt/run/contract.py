"""Compares the columns of a table with its contract, which lists the columns that readers of the table rely on."""

import re
from collections.abc import Collection

from pyspark.sql import types as T

from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import Schema, Type
from dagster_smt.spark.types import spark_type, types_by_name

_DIGITS = re.compile(r"decimal\(\d+,")


def contract_problems(
    declared: Schema, table: T.StructType, planned: Schema | None = None, own: Collection[str] = ()
) -> dict[str, str]:
    """Maps each path at which a table breaks its contract to a description of the problem. Additional columns do not
    break the contract.

    Args:
        declared: The contract, as the schema of a struct. A column that is ``NOT NULL`` in the contract must also be
            required in the plan.
        table: The table's columns.
        planned: The output schema of the value. If the records carry their own schemas, this is the schema of the
            window's records.
        own: The names of the columns that the chain does not create, such as the source columns.
    """
    return dict(_struct(declared, table, planned, "", own))


def _struct(
    declared: Schema, table: T.StructType, planned: Schema | None, place: str, own: Collection[str] = ()
) -> list[tuple[str, str]]:
    there = types_by_name(table)
    if planned is not None and planned.type is Type.STRUCT:
        planned_fields = dict(planned.fields)
    else:
        planned_fields = {}
    breaches: list[tuple[str, str]] = []
    for name, child in declared.fields:
        path = below(place, name)
        have, want = there.get(name), spark_type(child, path)
        if have is None:
            breaches.append((path, f"{want.simpleString()} is promised, but there is no such column"))
        # a table keeps the columns that the chain no longer produces: they are null in all new rows
        elif planned_fields and name not in planned_fields and name not in own:
            breaches.append((path, f"{want.simpleString()} is promised, but the chain no longer makes it"))
        elif isinstance(have, T.StructType) and child.type is Type.STRUCT:
            breaches += _struct(child, have, planned_fields.get(name), path)
        elif _with_all_digits(have) != _with_all_digits(want):
            breaches.append((path, f"{want.simpleString()} is promised, it is {have.simpleString()}"))
        if name in planned_fields and planned_fields[name].optional and not child.optional:
            breaches.append((path, "it is promised never to be null, but it may be"))
    return breaches


def _with_all_digits(kind: T.DataType) -> str:
    """Returns the type ``kind`` in Spark's notation. ``decimal(10,2)`` becomes ``decimal(38,2)``, because a table may
    have more digits than its contract requires.
    """
    return _DIGITS.sub("decimal(38,", kind.simpleString())
