"""Reads the parts of Debezium's change events during planning, when only the schemas of records are known. An event
contains the row before the change, the row after the change, and other fields.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dagster_smt.authoring.fields.edit import struct_of
from dagster_smt.authoring.options import java_split
from dagster_smt.authoring.transform import Planning, refuse
from dagster_smt.errors import PlanError
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, field_nodes
from dagster_smt.model.schema import BOOLEAN, Schema, Type
from dagster_smt.transforms.debezium.events.values import Pick
from dagster_smt.values.needs import Needed

NULL_POINTER = "java.lang.NullPointerException"
ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
CLASS_CAST = "java.lang.ClassCastException"
NONE, TRUE = Const(None, BOOLEAN), Const(True, BOOLEAN)
_IN_TRANSACTION = ("id", "total_order", "data_collection_order")
_IN_EVENT = ("op", "ts_ms", "ts_us", "ts_ns")


@dataclass(frozen=True)
class Reference:
    """An item of ``add.fields`` or ``add.headers``, such as ``source.table:origin``.

    Attributes:
        text: The item as configured.
        struct: The name of the struct that contains the field, such as ``source``; None if the event itself contains
            the field.
        field: The field.
        name: The name of the new field or header.
    """

    text: str
    struct: str | None
    field: str
    name: str


def references(items: Iterable[str], prefix: str) -> tuple[Reference, ...]:
    """Parses items of the form ``field`` or ``struct.field``, each with an optional ``:name``. ``prefix`` is put before
    each name: with the prefix ``__``, the item ``op`` names the new field ``__op``.

    Raises:
        ValueError: An item has a different form.
    """
    parsed = (_reference(item) for item in items if item)
    return tuple(replace(reference, name=prefix + reference.name) for reference in parsed)


def _reference(item: str) -> Reference:
    parts = java_split(item, ":")
    if not 1 <= len(parts) <= 2:
        raise ValueError(f"'{item}' is not a field, or a field and its new name with ':' between them")
    steps = java_split(parts[0], ".") or [""]
    if len(steps) > 1:
        return Reference(item, steps[0], steps[1], parts[1] if parts[1:] else f"{steps[0]}_{steps[1]}")
    return Reference(item, _struct(steps[0]), steps[0], parts[1] if parts[1:] else steps[0])


def _struct(field: str) -> str | None:
    if field in _IN_TRANSACTION:
        return "transaction"
    if field in _IN_EVENT:
        return None
    if field == "updateDescription":
        return field
    return "source"


def no_variant(cause: str = "headers", instead: str = "change fields with ReplaceField") -> PlanError:
    """Returns the error SMT476: the output schema differs from record to record, but the output needs one schema that
    is known before records are read.

    Args:
        cause: The part of the record that determines the schema, such as ``headers``.
        instead: A remedy in words.
    """
    hint = f"write records in a format with a schema in each record (envelope, avro-confluent), or {instead}"
    return refuse("SMT476", f"the schema of each record depends on its {cause}", hint, "")


def presence(node: Node) -> Expr:
    """Returns an expression that shows whether ``node``, a part of the stage's input, has a value. The expression is
    null exactly in records in which ``node`` is null.
    """
    if isinstance(node, Cell):
        return node.expr
    if node.present is None:
        return TRUE
    return node.present


def image(event: Group, name: str, purpose: str, connect_class: str = ILLEGAL_ARGUMENT) -> Group:
    """Returns one row of the event: the field ``name``, which is ``before`` or ``after``. ``purpose`` and
    ``connect_class`` (an exception class of Java) are used only in error messages.

    Raises:
        PlanError: SMT470 if the event has no such field; SMT201 if the field is not a struct.
    """
    node = event.by_name.get(name)
    if node is None:
        statement = f"a change event has no field '{name}'"
        raise refuse("SMT470", statement, "check which topics the stage should transform", connect_class)
    return struct_of(node, purpose)


def referenced_field(event: Group, reference: Reference, at: Planning) -> Node | None:
    """Returns the field to which ``reference`` refers.

    The field is null if its struct is null. If the event does not have the field, the function reports the missing
    field and returns None.
    """
    parent: Node = event
    if reference.struct is not None:
        if reference.struct not in event.by_name:
            statement = f"change events have no struct '{reference.struct}' for '{reference.text}'"
            hint = f"the fields are: {', '.join(event.by_name)}"
            raise refuse("SMT471", statement, hint, NULL_POINTER)
        parent = struct_of(event.by_name[reference.struct], f"read '{reference.text}'")
    field = dict(field_nodes(parent)).get(reference.field)
    if field is not None:
        return field
    field = event.by_name.get(reference.field)
    if field is None:
        at.miss(reference.text, tuple(name for name, _ in field_nodes(parent)), reference.field)
        return None
    cell = field if isinstance(field, Cell) else whole(field)
    return Cell(cell.schema, Call(Pick(), (cell.expr, Const(None, cell.schema), presence(parent))), cell.sources)


def whole(group: Group) -> Cell:
    """Returns the struct ``group`` as a single cell, which stands for the whole struct instead of its fields."""
    return Cell(group.schema, presence(group), group.sources)


def new_schema(struct: Group) -> Schema:
    """Returns a schema for a copy of ``struct``, still without fields. The new schema is required, and has the name,
    version, doc and parameters of ``struct``, as in Connect's ``SchemaUtil.copySchemaBasics``.
    """
    schema = struct.schema
    return Schema(Type.STRUCT, False, schema.name, schema.version, schema.doc, schema.parameters)


def text_field(struct: Group, name: str) -> Cell:
    """Returns the field ``name`` of ``struct``, which must be a string. Otherwise raises an error, as Connect's
    ``Struct.getString`` does.
    """
    node = struct.by_name.get(name)
    if not isinstance(node, Cell) or node.schema.type is not Type.STRING:
        raise refuse("SMT474", f"{_field_text(node, name)}, but it must be a string", _names(struct))
    return node


def needed_value(expr: Expr, name: str, *around: Expr) -> Call:
    """Returns an expression with the value of ``expr``, which is read from the field ``name``. A record in which this
    value is null is rejected with SMT483. There is one exception: if one of the expressions in ``around``, such as the
    struct that contains the field, is also null, the record passes.
    """
    hint = "check which topics the stage should transform"
    return Call(Needed("SMT483", f"the event has no '{name}'", hint, NULL_POINTER), (expr, *around))


def whole_number(struct: Group, name: str, kind: Type) -> Cell:
    """Returns the field ``name`` of ``struct``, which must have the integer type ``kind``. Otherwise raises an error,
    as Connect's ``Struct.getInt32`` and ``getInt64`` do.
    """
    node = struct.by_name.get(name)
    if not isinstance(node, Cell) or node.schema.type is not kind or node.schema.logical:
        raise refuse("SMT487", f"{_field_text(node, name)}, but it must be {kind.value}", _names(struct))
    return node


def _field_text(node: Node | None, name: str) -> str:
    if node is None:
        return f"there is no field '{name}'"
    return f"the field '{name}' is {node.schema.label}"


def _names(struct: Group) -> str:
    return f"the fields are: {', '.join(struct.by_name)}"
