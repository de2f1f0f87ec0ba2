"""Reading change events, as Debezium sends them, when planning: the images of the row, and what is told about it."""

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
    """One item of ``add.fields`` or ``add.headers``.

    Attributes:
        text: The item as configured.
        struct: The struct of the event that has the field; None: the event itself.
        field: The field.
        name: The name of what is added.
    """

    text: str
    struct: str | None
    field: str
    name: str


def references(items: Iterable[str], prefix: str) -> tuple[Reference, ...]:
    """Read items ``field`` or ``struct.field``, with ``:name`` behind it or not.

    Raises:
        ValueError: An item is no such thing.
    """
    found = (_reference(item) for item in items if item)
    return tuple(replace(reference, name=prefix + reference.name) for reference in found)


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


def no_variant(what: str = "headers", instead: str = "change fields with ReplaceField") -> PlanError:
    """The error of a plan that is made of schemas alone, where something in each record decides."""
    hint = f"write records, of a format whose schema each of them brings along (envelope, avro-confluent); or {instead}"
    return refuse("SMT476", f"{what} decide about each record's schema", hint, "")


def there(node: Node) -> Expr:
    """The expression that is null where a node of the stage's input is."""
    if isinstance(node, Cell):
        return node.expr
    if node.present is None:
        return TRUE
    return node.present


def image(event: Group, name: str, purpose: str, connect_class: str = ILLEGAL_ARGUMENT) -> Group:
    """The row before or after the change. Raises ``PlanError`` if events have none, or none with fields."""
    node = event.by_name.get(name)
    if node is None:
        statement = f"a change event has no field '{name}'"
        raise refuse("SMT470", statement, "check which topics the stage is for", connect_class)
    return struct_of(node, purpose)


def told(event: Group, reference: Reference, at: Planning) -> Node | None:
    """What a reference leads to, null where its struct is; None if it leads nowhere, which is reported."""
    parent: Node = event
    if reference.struct is not None:
        if reference.struct not in event.by_name:
            statement = f"change events have no struct '{reference.struct}', where '{reference.text}' is looked for"
            hint = f"the fields are: {', '.join(event.by_name)}"
            raise refuse("SMT471", statement, hint, NULL_POINTER)
        parent = struct_of(event.by_name[reference.struct], f"look for '{reference.text}'")
    found = dict(field_nodes(parent)).get(reference.field)
    if found is not None:
        return found
    found = event.by_name.get(reference.field)
    if found is None:
        at.miss(reference.text, tuple(name for name, _ in field_nodes(parent)), reference.field)
        return None
    cell = found if isinstance(found, Cell) else whole(found)
    return Cell(cell.schema, Call(Pick(), (cell.expr, Const(None, cell.schema), there(parent))), cell.sources)


def whole(group: Group) -> Cell:
    """A struct that was taken apart, as one value."""
    return Cell(group.schema, there(group), group.sources)


def new_schema(struct: Group) -> Schema:
    """What a new struct with the fields of an old one keeps of its schema (``SchemaUtil.copySchemaBasics``)."""
    schema = struct.schema
    return Schema(Type.STRUCT, False, schema.name, schema.version, schema.doc, schema.parameters)


def text_field(struct: Group, name: str) -> Cell:
    """A field that ``Struct.getString`` can read."""
    node = struct.by_name.get(name)
    if not isinstance(node, Cell) or node.schema.type is not Type.STRING:
        raise refuse("SMT474", f"{_what(node, name)}, but a text is needed", _names(struct))
    return node


def said(expr: Expr, what: str, *around: Expr) -> Call:
    """A value that an event must have, where the others are not null."""
    hint = "check which topics the stage is for"
    return Call(Needed("SMT483", f"the event does not say {what}", hint, NULL_POINTER), (expr, *around))


def whole_number(struct: Group, name: str, kind: Type) -> Cell:
    """A field that ``Struct.getInt32`` or ``getInt64`` can read."""
    node = struct.by_name.get(name)
    if not isinstance(node, Cell) or node.schema.type is not kind or node.schema.logical:
        raise refuse("SMT487", f"{_what(node, name)}, but {kind.value} is needed", _names(struct))
    return node


def _what(node: Node | None, name: str) -> str:
    if node is None:
        return f"there is no field '{name}'"
    return f"the field '{name}' is {node.schema.label}"


def _names(struct: Group) -> str:
    return f"the fields are: {', '.join(struct.by_name)}"
