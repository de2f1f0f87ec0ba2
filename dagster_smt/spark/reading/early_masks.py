"""Applies masks while Spark reads records, if the first stages of a chain do nothing but mask. Spark then never sees
the original values.

This is fast for a field of structs inside an array. In the Arrow columns of the reader (``json_columns``), such a field
is a single column, and the mask replaces this column. Spark itself would build each struct again.

Spark still computes the ledger of these stages, which counts the masked records. This is possible because a mask never
changes whether a field is null.
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
"""A path of field names from the top of a record, such as ``("value", "items", None, "email")``. None means every
element of an array, or every value of a map.
"""
Masks = Mapping[Place, Any]
"""Maps a path to a mask: the Python value that replaces all values at the path. Nulls stay null."""
MaskColumn = Callable[[pa.Array], pa.Array]
_CONTAINERS = (Type.STRUCT, Type.ARRAY, Type.MAP)


def early_masks(plan: Plan) -> tuple[Plan, dict[Place, Any]]:
    """Removes the masks from the first stages of ``plan``. The reader of the records must then apply these masks.

    Returns:
        The plan, in which the first stages no longer mask; and a dict from path to mask. A path begins with ``key`` or
        ``value``, such as ``("value", "email")``.
    """
    masks: dict[Place, Any] = {}
    steps = list(plan.steps)
    for number, step in enumerate(plan.steps):
        own = _only_masks(step)
        # only a prefix of the chain qualifies, because a stage before a mask must see the original value
        if not own:
            break
        masks |= own
        steps[number] = replace(step, plan=_idle(step.plan))
    return replace(plan, steps=tuple(steps)), masks


def _idle(plan: StagePlan) -> StagePlan:
    assert plan.after is not None
    # the entries in ``touched`` stay, so that Spark still counts the masked records
    return replace(plan, after=replace(plan.after, key=plan.before.key, value=plan.before.value))


def _only_masks(step: Step) -> dict[Place, Any] | None:
    """Returns the masks of a stage (``step``) that only masks fields, and does so in all records. Returns None for any
    other stage.
    """
    plan, masks = step.plan, dict[Place, Any]()
    before, after = plan.before, plan.after
    # variant 0 before and after the stage: all records have one schema, as the reader assumes
    if after is None or after.dropped or plan.condition is not True or step.variant or step.taken:
        return None
    # nothing else may have changed, such as the topic or the headers
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
    """Returns True if a stage leaves a value unchanged, or only masks the value or parts of it. The function adds these
    masks to the dict ``masks``.

    Args:
        node: The value after the stage, as described in the plan.
        path: The path of the same value before the stage. Inside an array, it begins at the element.
        place: The key for ``masks``: the path, with None for each element of an array.
        masks: Receives the masks by path.
    """
    if isinstance(node, Group):
        fields = ((child, (*path, name), (*place, name)) for name, child in node.fields)
        return node.present == Ref(path) and all(_same(*field, masks) for field in fields)
    match node.expr:
        # ``KeepNull`` leaves nulls alone, as the reader's masks do. If a default is filled in first, ``value`` is not a
        # plain ``Ref``, and the mask stays a stage.
        case Call(KeepNull(), (value, Const(mask))) if value == Ref(path) and node.schema.type not in _CONTAINERS:
            masks[place] = mask
            return _fits(mask, node.schema)
        # only masks of all elements: a column of the reader has no room for a condition on the position or key
        case Each(container, _, Every(), item, body) if container == Ref(path) and body is not None:
            return _same(body, (item,), (*place, None), masks)
    return node.expr == Ref(path)


def _fits(mask: Any, schema: Schema) -> bool:
    """Returns True if a column of ``schema`` can hold the value ``mask``.

    If the column cannot hold the value, the reader leaves the mask to the Spark evaluator, which reports the problem
    (SMT903) when it creates a literal for the mask.
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
    # the empty path is the value itself
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
    """Returns the masks whose paths begin with ``step``, without this step. For ``step="a"``, the mask at ``("a",
    "b")`` is at ``("b",)`` in the result, and the mask at ``("c",)`` is missing.
    """
    results = {}
    for place, mask in masks.items():
        if place[0] == step:
            results[place[1:]] = mask
    return results


def _gone(column: pa.Array) -> pa.Array | None:
    # pyarrow takes the missing mask (None) for "no nulls", and need not compute one
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
