"""Applies effects to records without a schema. ``on_values`` applies effects that change the key or value. This module
applies effects that change the topic, the headers or the timestamp, and effects that create a key.
"""

from typing import Any

from dagster_smt.authoring.fields.schemaless import require_map, value_at, visitor
from dagster_smt.authoring.topic_texts import needed_topic
from dagster_smt.authoring.transform import SideFunction, Transform
from dagster_smt.effects.code import CodeTransform
from dagster_smt.effects.conditions_on_values import test_function
from dagster_smt.effects.effect import (
    ByField,
    ByFieldTime,
    CopyToHeader,
    Drop,
    Effect,
    MakeKey,
    NeedsSchema,
    Nullify,
    Reject,
    Route,
    SetTimestamp,
    family_of,
    numbered_only,
    only,
)
from dagster_smt.effects.on_values import drop_act, function_on_side
from dagster_smt.effects.routes_on_plan import CONVERTED, no_topic
from dagster_smt.effects.timestamp_fields import needed_time, no_time
from dagster_smt.errors import data_error
from dagster_smt.model.record import KEY_DIRTY, DropRecord, Header, Record
from dagster_smt.model.runtime import kind_of
from dagster_smt.values.json.lazy import copied, look, whole
from dagster_smt.values.text_rules import is_blank, java_text
from dagster_smt.values.times.timestamps import ConvertTime, RecordTime, RouteByTime

_CONVERTED = frozenset(kind.value for kind in CONVERTED)


def side_function(transform: Transform, bits: tuple[int, ...]) -> SideFunction:
    """Returns a function that applies ``transform`` to a key or value without a schema. The function takes two
    arguments: first the key or value, then the record.

    Args:
        transform: A transform that reads the key or value of the record.
        bits: One number for each ledger entry (an action that a report counts), with a single bit set. If the action
            changes a record, the function sets this bit in ``record.touched``.
    """
    if isinstance(transform, CodeTransform):
        return transform.schemaless(bits)
    return effects_function(transform.effects(), bits, transform.purpose)


def effects_function(effects: tuple[Effect, ...], bits: tuple[int, ...], purpose: str) -> SideFunction:
    """Returns a function that applies ``effects``, the effects of one transform, to a key or value without a schema.
    The function takes two arguments: first the key or value, then the record.

    ``bits`` contains one number for each ledger entry (an action that a report counts), with a single bit set. If the
    action changes a record, the function sets this bit in ``record.touched``. Error messages contain ``purpose``, such
    as ``mask fields``.
    """
    for needs in only(effects, NeedsSchema):
        return _refuse(needs)
    if CopyToHeader in family_of(effects):
        return _copy_to_headers(effects, bits, purpose)
    match effects[0] if len(effects) == 1 else None:
        case Reject() as effect:
            return _reject(effect, purpose)
        case Route(by=ByField() as by):
            return _route_by_field(by, bits[0], purpose)
        case Route(by=ByFieldTime() as by):
            return _route_by_time(by, bits[0], purpose)
        case MakeKey() as effect:
            return _make_key(effect, bits, purpose)
        case SetTimestamp() as effect:
            return _set_timestamp(effect, bits[0], purpose)
        case Nullify():
            return _nullify(bits[0])
    return function_on_side(effects, bits, purpose)


def _refuse(needs: NeedsSchema) -> SideFunction:
    def refuse(value: Any, record: Record) -> None:
        if value is not None:
            raise data_error(needs.code, needs.statement, needs.hint)

    return refuse


def _reject(effect: Reject, purpose: str) -> SideFunction:
    test = test_function(effect.condition, purpose)

    def reject(value: Any, record: Record) -> Any:
        if test(value):
            raise DropRecord
        return value

    return reject


def _copy_to_headers(effects: tuple[Effect, ...], bits: tuple[int, ...], purpose: str) -> SideFunction:
    """Returns a function that copies fields into headers in the order of ``effects``. If ``effects`` also contains
    drops, the function applies them after all copies.
    """
    copies = [(copy.path, copy.header) for copy in only(effects, CopyToHeader)]
    drops = numbered_only(effects, Drop)
    touched = sum(bits[: len(copies)])
    drop = visitor([effect.path for _, effect in drops], [drop_act(bits[n]) for n, _ in drops], once=True)

    def change(value: Any, record: Record) -> Any:
        fields = require_map(value, purpose)
        # `whole` copies the value, because a later stage may change the field in place
        headers = [Header(name, None, whole(value_at(fields, path))) for path, name in copies]
        record.headers = [*record.headers, *headers]
        record.touched |= touched
        if drops:
            drop(fields, record)
        return fields

    return change


def _make_key(effect: MakeKey, bits: tuple[int, ...], purpose: str) -> SideFunction:
    touched = sum(bits)

    def make_key(value: Any, record: Record) -> Any:
        fields = require_map(value, purpose)
        record.key = {path.leaf: copied(value_at(fields, path)) for path in effect.paths}
        record.key_schema = None
        record.dirty |= KEY_DIRTY
        record.touched |= touched

    return make_key


def _route_by_field(by: ByField, bit: int, purpose: str) -> SideFunction:
    needed = needed_topic(by.label)

    def route(value: Any, record: Record) -> Any:
        if by.path.steps:
            field = value_at(require_map(value, purpose), by.path)
        else:
            field = value
        text = None if field is None else _topic_text(by, field)
        if text is not None:
            record.topic = text
            record.touched |= bit
        elif not by.skips:
            raise needed.failure()
        return value

    return route


def _topic_text(by: ByField, field: Any) -> str | None:
    """Returns the new topic, which is the value ``field`` as a string. Returns None if the string is empty. With
    ``by.blank_is_none``, also returns None for a blank string.
    """
    if by.converts and kind_of(field) in _CONVERTED:
        text = java_text(None, field)
    elif type(field) is str:
        text = field
    else:
        raise data_error(*no_topic(by, kind_of(field)))
    if not text or (by.blank_is_none and is_blank(text)):
        return None
    return text


def _route_by_time(by: ByFieldTime, bit: int, purpose: str) -> SideFunction:
    instant = ConvertTime("string", "unix", by.field_format)
    rule = RouteByTime(by.topic_format, by.timestamp_format)

    def route(value: Any, record: Record) -> None:
        text = _time_text(by, require_map(value, purpose))
        record.topic = rule.python(record.topic, instant.python(text))
        record.touched |= bit

    return route


def _time_text(by: ByFieldTime, fields: dict[str, Any]) -> str:
    for name in by.names:
        field = look(fields, name) if name in fields else None
        if isinstance(field, str):
            return field
        if field is not None:
            statement = f"the field '{name}' is {kind_of(field)}, but it must be a string with a timestamp"
            raise data_error("SMT463", statement, "first convert the field to string with TimestampConverter")
    names = ", ".join(f"'{name}'" for name in by.names)
    hint = "guard the stage with a predicate, or fill the field first"
    raise data_error("SMT462", f"none of the fields {names} holds a timestamp", hint)


def _set_timestamp(effect: SetTimestamp, bit: int, purpose: str) -> SideFunction:
    name = effect.name
    # without a schema, Connect treats every `java.util.Date` as a Timestamp, so there is no Date and no Time
    rules = {
        "int64": RecordTime("unix", "Timestamp", precision=effect.unit),
        "Timestamp": RecordTime("Timestamp", "Timestamp", precision=effect.unit),
    }

    def extract(value: Any, record: Record) -> Any:
        fields = require_map(value, purpose)
        field = look(fields, name) if name in fields else None
        if field is None:
            raise needed_time(name).failure()
        rule = rules.get(kind_of(field))
        if rule is None:
            raise data_error(*no_time(name, kind_of(field)))
        record.timestamp = int(rule.python(field))
        record.touched |= bit
        return value

    return extract


def _nullify(bit: int) -> SideFunction:
    def nullify(value: Any, record: Record) -> None:
        if value is not None:
            record.touched |= bit

    return nullify
