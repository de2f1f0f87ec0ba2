"""Merges schemas by field name, so that one table can contain rows of all these schemas. There are several schemas if a
predicate depends on data, or if the records carry their own schemas.
"""

from collections.abc import Sequence

from dagster_smt.errors import PlanError, Problem
from dagster_smt.model.cell import Node
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import Schema, Type, optional


def merged_schema(nodes: Sequence[Node]) -> Schema | None:
    """Merges the schemas of ``nodes`` into one. Each node describes the key or value in one variant of the plan. A
    field that is missing in some variants becomes optional.

    Raises:
        PlanError: SMT203 for every field that has two types.
    """
    schemas = [n.schema for n in nodes]
    if not schemas:
        return None
    problems: list[Problem] = []
    merged = schemas[0]
    for other in schemas[1:]:
        merged = merge(merged, other, "", problems)
    if problems:
        raise PlanError(dict.fromkeys(problems))
    return merged


def merge(a: Schema, b: Schema, path: str, problems: list[Problem]) -> Schema:
    """Merges the schemas ``a`` and ``b`` into one, by field name. For each field that has two types, adds a problem to
    ``problems`` and keeps the type in ``a``. ``path`` is the path of both schemas in the record.
    """
    if a == b:
        return a
    if a.type is not b.type or a.logical != b.logical or (a.logical == "Decimal" and a.scale != b.scale):
        statement = f"the field is {_type(a)} in some records and {_type(b)} in others"
        hint = "make the types equal with Cast, or write records instead of columns"
        problems.append(Problem("SMT203", path or "value", statement, hint))
        return a
    null = a.optional or b.optional
    if a.logical == "Decimal" and b.precision != a.precision:
        a = _wider_decimal(a, b)
    if a.type is not Type.STRUCT:
        keys = a.keys and b.keys and merge(a.keys, b.keys, f"{path} key", problems)
        values = a.values and b.values and merge(a.values, b.values, f"{path}[]", problems)
        return a.with_(optional=null, keys=keys, values=values)
    names = dict.fromkeys([n for n, _ in a.fields] + [n for n, _ in b.fields])
    fields = []
    for name in names:
        left, right = a.by_name.get(name), b.by_name.get(name)
        if left is not None and right is not None:
            fields.append((name, merge(left, right, below(path, name), problems)))
        else:
            # only some records have the field; in the rows of all other records it is null
            # (`or a` only satisfies the type checker)
            fields.append((name, optional(left or right or a)))
    return a.with_(optional=null, fields=tuple(fields))


def _wider_decimal(a: Schema, b: Schema) -> Schema:
    """Returns the schema that permits more digits: ``a`` or ``b``, which are two decimal schemas of the same scale. A
    schema without a precision permits any number of digits, so it is returned if there is one.
    """
    if a.precision is None or (b.precision is not None and b.precision < a.precision):
        return a
    return b


def _type(schema: Schema) -> str:
    return schema.label.removesuffix("?")
