"""Applies masks while records are read, so that Spark never sees values that the first stages of a chain mask.

To mask a field of structs inside an array, Catalyst builds each struct again, in interpreted code. In the Arrow columns
of the reader (``json_columns``), such a field is a single column at any depth, and the mask replaces this column. So
if the first stages of a chain do nothing but mask, the reader applies them. Spark still computes the ledger of these
stages. It can do so afterwards, because a mask does not change which fields are null.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dagster_smt.chain.plan import Plan, StagePlan, Step
from dagster_smt.errors import DataError
from dagster_smt.model.cell import Call, Const, Each, Group, Node, Ref
from dagster_smt.model.paths.steps import Every
from dagster_smt.model.schema import Schema, Type
from dagster_smt.spark.column_values import arrow_type, column_writer
from dagster_smt.values.value_rule import KeepNull

Place = tuple[str | None, ...]
"""A path of field names, beginning at the top. None represents every element of an array, or every value of a map."""
Masks = Mapping[Place, Any]
"""Maps a path to a mask: the Python value that replaces all values at the path. Nulls stay null."""
MaskColumn = Callable[[pa.Array], pa.Array]
_CONTAINERS = (Type.STRUCT, Type.ARRAY, Type.MAP)


def early_masks(plan: Plan) -> tuple[Plan, dict[Place, Any]]:
    """Splits the typed plan ``plan`` into two parts: the masks at its beginning, and the remaining plan.

    Returns:
        The remaining plan, in which the stages that the reader replaces have no effect; and the masks by path. Each
        path begins with ``key`` or ``value``.
    """
    masks: dict[Place, Any] = {}
    steps = list(plan.steps)
    for number, step in enumerate(plan.steps):
        own = _only_masks(step)
        if not own:
            break
        masks |= own
        steps[number] = replace(step, plan=_idle(step.plan))
    return replace(plan, steps=tuple(steps)), masks


def _idle(plan: StagePlan) -> StagePlan:
    assert plan.after is not None
    return replace(plan, after=replace(plan.after, key=plan.before.key, value=plan.before.value))


def _only_masks(step: Step) -> dict[Place, Any] | None:
    """Returns the masks of ``step``, if it does nothing but mask fields of all records. Otherwise returns None."""
    plan, masks = step.plan, dict[Place, Any]()
    before, after = plan.before, plan.after
    if after is None or after.dropped or plan.condition is not True or step.variant or step.taken:
        return None
    if replace(after, key=before.key, value=before.value, touched=before.touched) != before:
        return None
    for side, old, new in (("key", before.key, after.key), ("value", before.value, after.value)):
        if new is None or old is None:
            if new is not old:
                return None
        elif new.schema != old.schema or not _same(new, (side,), (side,), masks):
            return None
    return masks


def _same(node: Node, path: tuple[str, ...], place: Place, masks: dict[Place, Any]) -> bool:
    """Returns True if a step leaves ``node`` unchanged, or only masks it or values inside it. The function adds these
    masks to ``masks``, by location. ``place`` is the location of ``node``, and ``path`` refers to the same value before
    the step.
    """
    if isinstance(node, Group):
        fields = ((child, (*path, name), (*place, name)) for name, child in node.fields)
        return node.present == Ref(path) and all(_same(*field, masks) for field in fields)
    match node.expr:
        case Call(KeepNull(), (value, Const(mask))) if value == Ref(path) and node.schema.type not in _CONTAINERS:
            masks[place] = mask
            return _fits(mask, node.schema)
        case Each(container, _, Every(), item, body) if container == Ref(path) and body is not None:
            return _same(body, (item,), (*place, None), masks)
    return node.expr == Ref(path)


def _fits(mask: Any, schema: Schema) -> bool:
    """Returns True if a column of ``schema`` can hold the value ``mask``.

    If it cannot, the reader leaves the stage to Spark, where the creation of a literal for the mask fails (SMT903).
    """
    try:
        column_writer(schema, schema)(mask)
    except DataError:
        return False
    return True


def masking(schema: Schema, masks: Masks) -> MaskColumn | None:
    """Returns a function that masks a column of ``schema``. Returns None if no mask applies to the column.

    Args:
        schema: The schema of the column's values; ``arrow_type`` gives the column's type.
        masks: The masks by their path inside the column.
    """
    if not masks:
        return None
    if () in masks:
        kind = arrow_type(schema)
        mask, null = pa.scalar(column_writer(schema, schema)(masks[()]), kind), pa.scalar(None, kind)
        return lambda column: pc.if_else(column.is_valid(), mask, null)
    if schema.type is Type.STRUCT:
        masks_of_fields = []
        for name, child in schema.fields:
            masks_of_fields.append(masking(child, below(masks, name)))
        return _struct(masks_of_fields, list(arrow_type(schema)))
    assert schema.values is not None
    inside = masking(schema.values, below(masks, None))
    assert inside is not None
    return _items(inside, arrow_type(schema))


def below(masks: Masks, step: str | None) -> dict[Place, Any]:
    """Returns those of ``masks`` whose paths begin with ``step``. In the result, the paths no longer contain this
    step.
    """
    results = {}
    for place, mask in masks.items():
        if place[0] == step:
            results[place[1:]] = mask
    return results


def _gone(column: pa.Array) -> pa.Array | None:
    if column.null_count:
        return column.is_null()
    return None


def _struct(inside: list[MaskColumn | None], fields: list[pa.Field]) -> MaskColumn:
    def mask(column: pa.Array) -> pa.Array:
        children = [column.field(number) for number in range(len(fields))]
        done = []
        for one, child in zip(inside, children, strict=True):
            done.append(child if one is None else one(child))
        return pa.StructArray.from_arrays(done, fields=fields, mask=_gone(column))

    return mask


def _items(inside: MaskColumn, kind: pa.DataType) -> MaskColumn:
    def mask(column: pa.Array) -> pa.Array:
        if pa.types.is_map(kind):
            return pa.MapArray.from_arrays(column.offsets, column.keys, inside(column.items), mask=_gone(column))
        return pa.ListArray.from_arrays(column.offsets, inside(column.values), mask=_gone(column))

    return mask
