"""Reads one field by its path, for ExtractField, HeaderFrom and ValueToKey."""

from dagster_smt.authoring.copying import copied
from dagster_smt.authoring.fields.resolve import has_text_keys
from dagster_smt.authoring.opening import open_any_struct
from dagster_smt.authoring.transform import refuse
from dagster_smt.errors import DATA_EXCEPTION
from dagster_smt.model.cell import Call, Cell, Expr, Node, Rule
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.extended import key_text
from dagster_smt.model.paths.steps import Index
from dagster_smt.model.schema import Schema, Type, optional
from dagster_smt.values.containers import ItemAt, MapValue


def read_field(
    node: Node, path: FieldPath, strict: bool = False, missing_class: str = DATA_EXCEPTION
) -> tuple[Node, Expr | None]:
    """Returns two items: the field at ``path`` in ``node``, and an expression that is null in a record whose struct
    around the field is null.

    The expression is None if the struct is never null. If a struct on the path is null and has a default, the field is
    read from the default. A null at the end of the path stays null. The value under a map key and the element of an
    array may be missing, and are therefore optional.

    Args:
        node: A struct.
        path: A path to at most one field.
        strict: True to reject, as Kafka does, a path that selects the key of a map by a plain name.
        missing_class: The exception class that Connect raises for a missing field.

    Raises:
        PlanError: SMT102 if there is no such field; SMT202 if a step leads into a value without fields.
    """
    parent: Expr | None = None
    for number, step in enumerate(path.steps):
        node, parent = _child(node, number, path, strict, missing_class)
        # in Connect, `replace.null.with.default` only concerns the last step: `SingleFieldPath` reads the structs
        # before it with `Struct.get`, which replaces a null with the default
        if number < len(path.steps) - 1 and node.schema.type is Type.STRUCT and node.schema.default is not None:
            node = copied(str(step), open_any_struct(node), parent, True)
    return node, parent


def _child(node: Node, number: int, path: FieldPath, strict: bool, missing_class: str) -> tuple[Node, Expr | None]:
    schema, step = node.schema, path.steps[number]
    if schema.type is Type.STRUCT and isinstance(step, str):
        if step not in schema.by_name:
            if missing_class != DATA_EXCEPTION or not path.flat:
                where = f" for '{path}'"
            else:
                where = ""
            names = ", ".join(schema.by_name)
            raise refuse("SMT102", f"there is no field '{step}'{where}", f"the fields are: {names}", missing_class)
        group = open_any_struct(node)
        return group.by_name[step], group.present
    if isinstance(node, Cell) and schema.values is not None:
        if isinstance(step, str) and has_text_keys(schema) and not strict:
            return _looked_up(node, MapValue(step, schema.values), key_text(step), schema.values), None
        if isinstance(step, Index) and schema.type is Type.ARRAY:
            return _looked_up(node, ItemAt(step.number, schema.values), "[]", schema.values), None
    # neither a struct nor a container: the message names the previous step, which is the step to correct
    before = path.steps[:number]
    if before and isinstance(before[-1], str):
        place = f"'{before[-1]}' in '{path}'"
    else:
        place = f"a value on the path '{path}'"
    raise refuse("SMT202", f"{place} is {schema.label}, not a struct", "name a field of a struct")


def _looked_up(cell: Cell, rule: Rule, place: str, schema: Schema) -> Cell:
    if cell.copied:
        sources = frozenset(f"{s}{place}" for s in cell.sources)
    else:
        sources = cell.sources
    return Cell(optional(schema), Call(rule, (cell.expr,)), sources, cell.copied)
