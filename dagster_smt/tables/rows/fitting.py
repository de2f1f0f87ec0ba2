"""Converts records that have their own schemas, such as Avro, into declared columns. Fields are matched by name.

The rules are Avro's rules for a writer's and a reader's schema. Numbers may become wider, such as ``INT`` to
``BIGINT``, and missing fields become null. There is one exception: a 32-bit integer may become narrower, with 8 or 16
bits. Flink writes ``TINYINT`` and ``SMALLINT`` as 32 bits.
"""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from dagster_smt.authoring.transform import refuse
from dagster_smt.errors import data_error
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, open_struct
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import BOOLEAN, FLOATS, INTEGER_BITS, INTEGERS, MAX_DIGITS, Schema, Type
from dagster_smt.values.value_rule import Required, ValueRule

# INT64 is missing, because a double holds integers exactly only up to 53 bits
_WIDER: dict[Type, tuple[Type, ...]] = {
    **{kind: (*INTEGERS[number + 1 :], Type.FLOAT64) for number, kind in enumerate(INTEGERS[:-1])},
    Type.FLOAT32: (Type.FLOAT64,),
}
_HINT = "declare the column as the records have it, or send them to another table"


@dataclass(frozen=True, slots=True)
class Widened(ValueRule):
    """A rule that converts a number into a wider type without a loss, such as INT into BIGINT, or FLOAT into DOUBLE."""

    schema: Schema

    @property
    def returns(self) -> Schema:  # type: ignore[override]
        """The type of the rule's result."""
        return self.schema

    def python(self, value: Any) -> Any:
        if value is not None and self.schema.type is Type.FLOAT64:
            return float(value)
        return value

    def column(self, F: Any, value: Any) -> Any:
        names = {Type.INT16: "smallint", Type.INT32: "int", Type.INT64: "bigint", Type.FLOAT64: "double"}
        return value.cast(names[self.schema.type])


@dataclass(frozen=True, slots=True)
class NarrowedNumber(ValueRule):
    """A rule that narrows an integer to 8 or 16 bits. Avro and Protobuf have no such types, so their integers are
    wider. A number that is out of range is an error.
    """

    schema: Schema
    name: str
    may_fail = True

    @property
    def returns(self) -> Schema:  # type: ignore[override]
        """The type of the rule's result."""
        return self.schema

    @property
    def _limit(self) -> int:
        return 1 << (INTEGER_BITS[self.schema.type] - 1)

    def python(self, value: Any) -> Any:
        if value is not None and not -self._limit <= value < self._limit:
            raise self.failure()
        return value

    def column(self, F: Any, value: Any) -> Any:
        kind = {Type.INT8: "tinyint", Type.INT16: "smallint"}[self.schema.type]
        return F.when(~self.failed(F, None, value), value).cast(kind)

    def failed(self, F: Any, result: Any, value: Any) -> Any:
        return ~value.between(-self._limit, self._limit - 1)

    def failure(self) -> Any:
        statement = f"a number does not fit column {self.name}, which is {self.schema.label.rstrip('?')}"
        return data_error("SMT443", statement, "declare a wider type, or check the dead letter")


@dataclass(frozen=True, slots=True)
class Digits(ValueRule):
    """A rule that fits a decimal into a column with fewer digits. A number that is too large for the column is an
    error.

    For example, a column ``DECIMAL(4, 2)`` accepts numbers below 100.
    """

    schema: Schema
    name: str
    may_fail = True

    @property
    def returns(self) -> Schema:  # type: ignore[override]
        """The type of the rule's result."""
        return self.schema

    @property
    def _digits(self) -> tuple[int, int]:
        return self.schema.precision or MAX_DIGITS, self.schema.scale

    @property
    def _limit(self) -> Decimal:
        precision, scale = self._digits
        return Decimal(10 ** (precision - scale))

    def python(self, value: Any) -> Any:
        if value is not None and value.copy_abs() >= self._limit:  # abs() would round the decimal
            raise self.failure()
        return value

    def column(self, F: Any, value: Any) -> Any:
        precision, scale = self._digits
        return F.when(~self.failed(F, None, value), value).cast(f"decimal({precision},{scale})")

    def failed(self, F: Any, result: Any, value: Any) -> Any:
        return F.abs(value) >= F.lit(self._limit)

    def failure(self) -> Any:
        precision, scale = self._digits
        statement = f"a number does not fit column {self.name}, which is DECIMAL({precision}, {scale})"
        return data_error("SMT443", statement, "declare more digits, or check the dead letter")


def fitted(node: Node | None, schema: Schema, name: str, parent: Expr | None) -> Node:
    """Converts ``node``, a field of a record's own schema, into a column of the declared schema.

    Args:
        node: The field. None if the records do not have the field.
        schema: The declared type.
        name: The name of the column in messages.
        parent: An expression that shows whether the struct around the field is null: in this case, the result of the
            expression is null. Python's None if the struct is never null.

    Raises:
        PlanError: SMT443, the field has an unsuitable type, or is missing although the column is not nullable.
    """
    if node is None:
        if not schema.optional:
            raise refuse("SMT443", f"column {name} is NOT NULL, but the schema of the records has no such field", _HINT)
        return Cell(schema, Const(None, schema), frozenset(), nullable=True)
    if schema.type is Type.STRUCT and node.schema.type is Type.STRUCT:
        group = open_struct(node)
        children = group.by_name
        members = []
        for n, c in schema.fields:
            members.append((n, fitted(children.get(n), c, below(name, n), group.present)))
        fields = tuple(members)
        return Group(schema, fields, group.present, group.sources, group.may_be_null)
    takes = _same(node.schema, schema) or _widens(node.schema, schema) or _narrows(node.schema, schema)
    if not isinstance(node, Cell) or not takes:
        statement = f"column {name} is {schema.label.rstrip('?')}, the records have {node.schema.label.rstrip('?')}"
        raise refuse("SMT443", statement, _HINT)
    cell = replace(node, schema=schema, nullable=node.may_be_null)
    if not _same(node.schema, schema):
        rule = NarrowedNumber(schema, name) if _narrows(node.schema, schema) else Widened(schema)
        cell = replace(cell, expr=Call(rule, (cell.expr,)), copied=False)
    elif _loses_digits(node.schema, schema):
        cell = replace(cell, expr=Call(Digits(schema, name), (cell.expr,)), copied=False)
    if schema.optional or not cell.nullable:
        return cell
    return replace(cell, expr=Call(Required(name), (cell.expr, parent or Const(True, BOOLEAN))))


def comparable(one: Schema, other: Schema) -> bool:
    """Returns True if values of the schemas ``one`` and ``other`` can be equal: the types are the same, or both are
    numbers.
    """
    if one.logical is None and other.logical is None and {one.type, other.type} <= {*INTEGERS, *FLOATS}:
        return True
    return _same(one, other) or one.logical == other.logical == "Decimal"


def _loses_digits(one: Schema, other: Schema) -> bool:
    """Returns True if decimals of the schema ``one`` can have more digits than the schema ``other`` permits.

    For example, it returns True for ``DECIMAL(10, 2)`` and ``DECIMAL(4, 2)``.
    """
    if other.logical != "Decimal" or other.precision in (None, MAX_DIGITS):
        return False
    return one.precision is None or one.precision > other.precision


def _same(one: Schema, other: Schema) -> bool:
    """Returns True if the schemas ``one`` and ``other`` permit the same values. Differences in nullability, and in the
    number of digits of decimals, are ignored.
    """
    if one.type is not other.type or one.logical != other.logical or one.scale != other.scale:
        return False
    if one.field_names != other.field_names:
        return False
    inner = [(one.keys, other.keys), (one.values, other.values)]
    for name, child in one.fields:
        inner.append((child, other.by_name[name]))
    for a, b in inner:
        if not ((a is None and b is None) or (a is not None and b is not None and _same(a, b))):
            return False
    return True


def _widens(one: Schema, other: Schema) -> bool:
    return one.logical is None and other.logical is None and other.type in _WIDER.get(one.type, ())


def _narrows(one: Schema, other: Schema) -> bool:
    plain = one.logical is None and other.logical is None
    return plain and one.type is Type.INT32 and other.type in (Type.INT8, Type.INT16)
