"""Applies effects to a symbolic record (the description of all records of one schema). ``on_plan`` applies effects that
change the key or value. This module applies effects that change the topic, the headers or the timestamp, and effects
that create a key.
"""

from dataclasses import replace
from typing import Literal

from dagster_smt.authoring.copying import copied
from dagster_smt.authoring.fields.edit import all_sources, field_of, present, struct_of
from dagster_smt.authoring.fields.field_reading import read_field
from dagster_smt.authoring.node_texts import with_default
from dagster_smt.authoring.transform import Planning, Transform, null_side, refuse
from dagster_smt.effects.code import CodeTransform
from dagster_smt.effects.condition import FieldPasses, NullValue, inside
from dagster_smt.effects.conditions_on_plan import plan_condition, where_there
from dagster_smt.effects.effect import (
    AddHeader,
    CopyToHeader,
    Drop,
    DropHeaders,
    Effect,
    KeepHeaders,
    MakeKey,
    Nullify,
    Reject,
    Route,
    SetTimestamp,
    family_of,
    only,
)
from dagster_smt.effects.on_plan import Settings, plan_on_side
from dagster_smt.effects.routes_on_plan import plan_route
from dagster_smt.effects.timestamp_fields import TIMES, needed_time, no_time
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, schemas_of
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.schema import Schema, Type, optional
from dagster_smt.values.containers import MapValue
from dagster_smt.values.headers.fields import (
    AppendHeader,
    AppendLiteral,
    DropNamed,
    HasHeaderOrNull,
    HasOtherHeaderOrNull,
    KeepNamed,
)
from dagster_smt.values.headers.literals import parse_literal
from dagster_smt.values.times.timestamps import RecordTime


def plan_record(transform: Transform, record: PlanRecord, at: Planning) -> PlanRecord:
    """Returns ``record``, the description of all records of one schema, after the effects of ``transform``.

    Args:
        transform: The transform.
        record: The record before the transform.
        at: Collects the changes that a report counts, and the configured paths that match no field.

    Raises:
        PlanError: No record with the schemas of ``record`` can pass the stage.
    """
    if isinstance(transform, CodeTransform):
        return transform.plan_record(record, at)
    if transform.sided and (record.key if at.side == "key" else record.value) is None:
        return null_side(transform, record)
    # a transform without the option of KIP-1040 copies fields as Connect did before the KIP
    replace_nulls = getattr(transform, "replace_null_with_default", True)
    settings = Settings(transform.purpose, replace_nulls, getattr(transform, "strict", False))
    return _plan_effects(transform.effects(), record, at, settings)


def _plan_effects(effects: tuple[Effect, ...], record: PlanRecord, at: Planning, settings: Settings) -> PlanRecord:
    if CopyToHeader in family_of(effects):
        return _copy_to_headers(effects, record, at, settings)
    match effects[0] if len(effects) == 1 else None:
        case Reject() as effect:
            return _reject(effect, record, at, settings)
        case Route() as effect:
            return plan_route(effect, record, at, settings)
        case AddHeader() as effect:
            return _add_header(effect, record, at)
        case DropHeaders() as effect:
            return _drop_headers(effect, record, at)
        case KeepHeaders() as effect:
            return _keep_headers(effect, record, at)
        case SetTimestamp() as effect:
            return _set_timestamp(effect, record, at, settings)
        case Nullify() as effect:
            return _nullify(effect, record, at)
        case MakeKey() as effect:
            return _make_key(effect, record, at, settings)
    return _on_side(effects, record, at, settings)


def _on_side(effects: tuple[Effect, ...], record: PlanRecord, at: Planning, settings: Settings) -> PlanRecord:
    return at.with_side(record, plan_on_side(effects, at.side_of(record), at, settings))


def _reject(effect: Reject, record: PlanRecord, at: Planning, settings: Settings) -> PlanRecord:
    condition = effect.condition
    if isinstance(condition, NullValue):
        return record  # the null rule has already dropped or rejected the record
    if effect.side:
        # the copy shares the lists of reports with the original
        at = replace(at, side=effect.side)
    test = plan_condition(condition, record, at, settings.purpose)
    # a null struct passes by the null rule, so not even a negated test may drop it; a JSONPath on it has a null answer
    if isinstance(inside(condition), FieldPasses):
        test = where_there(at.side_of(record), test)
    return replace(record, dropped=test)


def _set_timestamp(effect: SetTimestamp, record: PlanRecord, at: Planning, settings: Settings) -> PlanRecord:
    field = _timestamp_field(effect, at.side_of(record), settings.purpose)
    kind = field.schema.logical or field.schema.type.value
    if kind not in TIMES or not isinstance(field, Cell):
        raise refuse(*no_time(effect.name, field.schema.label))
    at.touch(0)
    expr: Expr = Call(needed_time(effect.name), (field.expr,)) if field.may_be_null else field.expr
    rule = RecordTime("unix" if kind == "int64" else kind, "Timestamp", precision=effect.unit)
    cell = replace(record.timestamp, expr=Call(rule, (expr,)), sources=field.sources, copied=False)
    return replace(record, timestamp=cell)


def _timestamp_field(effect: SetTimestamp, node: Node, purpose: str) -> Node:
    """Returns the field of ``node`` (a struct or a map) that contains the timestamp for ``effect``."""
    keys, values = node.schema.keys, node.schema.values
    if isinstance(node, Cell) and keys is not None and values is not None and keys.type is Type.STRING:
        return Cell(optional(values), Call(MapValue(effect.name, values), (node.expr,)), node.sources, nullable=True)
    group = struct_of(node, purpose)
    return with_default(field_of(group, effect.name), group)


def _nullify(effect: Nullify, record: PlanRecord, at: Planning) -> PlanRecord:
    """Returns ``record`` after its key or value has been set to null.

    With the option ``nullify``, the null has no schema in Kafka. In the plan it still has a type, because every column
    has a type.
    """
    node = at.side_of(record)
    schema = node.schema
    if effect.schema == "validate" and not schema.optional:
        hint = "let the schema allow null, or set schema.behavior to nullify or force_optional"
        raise refuse("SMT222", f"the schema requires a value, so the value cannot become null: {schema.label}", hint)
    at.touch(0, present(node))
    after = schema if effect.schema == "retain" else optional(schema)
    record = at.with_side(record, Cell(after, Const(None, after), frozenset(), nullable=True))
    null: Literal[False] | None = None if effect.schema == "nullify" else False
    if at.side == "key":
        return replace(record, null_key=null)
    return replace(record, null_value=null)


def _add_header(effect: AddHeader, record: PlanRecord, at: Planning) -> PlanRecord:
    at.touch(0)
    headers = record.headers
    expr = Call(AppendLiteral(effect.name, *parse_literal(effect.text)), (headers.expr,))
    return replace(record, headers=Cell(headers.schema, expr, headers.sources))


def _drop_headers(effect: DropHeaders, record: PlanRecord, at: Planning) -> PlanRecord:
    headers = record.headers
    for number, name in enumerate(effect.names):
        at.touch(number, Call(HasHeaderOrNull(name), (headers.expr,)))
    return replace(record, headers=headers.call(DropNamed(effect.names), headers.schema))


def _keep_headers(effect: KeepHeaders, record: PlanRecord, at: Planning) -> PlanRecord:
    headers = record.headers
    at.touch(0, Call(HasOtherHeaderOrNull(effect.names), (headers.expr,)))
    return replace(record, headers=headers.call(KeepNamed(effect.names), headers.schema))


def _copy_to_headers(effects: tuple[Effect, ...], record: PlanRecord, at: Planning, settings: Settings) -> PlanRecord:
    """Copies fields of ``record`` into headers in the order of ``effects``. If ``effects`` also contains drops, the
    drops are applied after all copies.
    """
    group = struct_of(at.side_of(record), settings.purpose)
    headers = record.headers
    for number, copy in enumerate(only(effects, CopyToHeader)):
        field, parent = read_field(group, copy.path, settings.strict)
        headers = _appended(headers, copy.header, copied(copy.path.leaf, field, parent, settings.replace_nulls))
        at.touch(number, group.present)
    record = replace(record, headers=headers)
    if only(effects, Drop):
        return _on_side(effects, record, at, settings)
    return record


def _appended(headers: Cell, key: str, node: Node) -> Cell:
    expr = node.expr if isinstance(node, Cell) else node.present
    assert expr is not None  # in the input of a stage, each field has an expression
    call = Call(AppendHeader(key, node.schema), (headers.expr, expr))
    return Cell(headers.schema, call, headers.sources | all_sources(node))


def _make_key(effect: MakeKey, record: PlanRecord, at: Planning, settings: Settings) -> PlanRecord:
    assert record.value is not None  # the null rule rejects null
    value = struct_of(record.value, settings.purpose)
    fields: list[tuple[str, Node]] = []
    for number, path in enumerate(effect.paths):
        field, parent = read_field(value, path, settings.strict)
        fields.append((path.leaf, copied(path.leaf, field, parent, settings.replace_nulls)))
        at.touch(number, value.present)
    schema = Schema(Type.STRUCT, fields=schemas_of(fields))
    return replace(record, key=Group(schema, tuple(fields), None))
