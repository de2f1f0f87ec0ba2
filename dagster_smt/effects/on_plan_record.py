"""Effects on a symbolic record: on one of its sides (``on_plan``), or on its topic, headers and key."""

from dataclasses import replace

from dagster_smt.authoring.copying import copied
from dagster_smt.authoring.edit import all_sources, struct_of
from dagster_smt.authoring.reading import read_field
from dagster_smt.authoring.topics import needed_topic, routed
from dagster_smt.authoring.transform import Planning
from dagster_smt.effects.condition import FieldPasses, NullValue, inside
from dagster_smt.effects.conditions_on_plan import plan_condition, where_there
from dagster_smt.effects.effect import (
    AddHeader,
    ByPattern,
    ByTime,
    CopyToHeader,
    Drop,
    DropHeaders,
    Effect,
    MakeKey,
    Reject,
    Route,
    family_of,
    only,
)
from dagster_smt.effects.on_plan import Settings, plan_side
from dagster_smt.model.cell import Call, Cell, Const, Group, Node
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.schema import STRING, Schema, Type, optional
from dagster_smt.values.header_literals import parse_literal
from dagster_smt.values.headers import (
    AppendHeader,
    AppendLiteral,
    DropNamed,
    HasHeaderOrNull,
    HeaderText,
    LastHeader,
)
from dagster_smt.values.java_regex import Matches, MatchesOrNull, ReplaceIfMatches
from dagster_smt.values.timestamps import RouteByTime

_BYTES = Schema(Type.BYTES, optional=True)


def plan_record(effects: tuple[Effect, ...], record: PlanRecord, at: Planning, settings: Settings) -> PlanRecord:
    """Returns a record after the effects of a transform.

    Args:
        effects: The effects, of one family.
        record: The record before; the side of the stage is not null in all records.
        at: Is told what the effects touch and what they miss.
        settings: The transform's other options.

    Raises:
        PlanError: No record of these schemas can pass.
    """
    family = family_of(effects)
    if CopyToHeader in family:
        return _copy_to_headers(effects, record, at, settings)
    for effect in effects:
        if isinstance(effect, Reject):
            return _reject(effect, record, at, settings)
        if isinstance(effect, Route):
            return _route(effect, record, at)
        if isinstance(effect, AddHeader):
            return _add_header(effect, record, at)
        if isinstance(effect, DropHeaders):
            return _drop_headers(effect, record, at)
        if isinstance(effect, MakeKey):
            return _make_key(effect, record, at, settings)
    return _on_side(effects, record, at, settings)


def _on_side(effects: tuple[Effect, ...], record: PlanRecord, at: Planning, settings: Settings) -> PlanRecord:
    return at.with_side(record, plan_side(effects, at.side_of(record), at, settings))


def _reject(effect: Reject, record: PlanRecord, at: Planning, settings: Settings) -> PlanRecord:
    condition = effect.condition
    if isinstance(condition, NullValue):
        return record  # the null rule has seen to it
    if effect.side:
        at = replace(at, side=effect.side)
    test = plan_condition(condition, record, at, settings.purpose)
    if isinstance(inside(condition), FieldPasses):
        test = where_there(at.side_of(record), test)
    return replace(record, dropped=test)


def _route(route: Route, record: PlanRecord, at: Planning) -> PlanRecord:
    by = route.by
    if isinstance(by, ByPattern):
        return _route_by_pattern(by, record, at)
    if isinstance(by, ByTime):
        at.touch(0)
        rule = RouteByTime(by.topic_format, by.timestamp_format)
        return replace(record, topic=record.topic.call(rule, STRING, record.timestamp))
    data = record.headers.call(LastHeader(by.name), _BYTES)
    text = data.call(HeaderText(by.name), optional(STRING))
    return routed(record, text, needed_topic(f"the header '{by.name}'"), by.skips, at)


def _route_by_pattern(by: ByPattern, record: PlanRecord, at: Planning) -> PlanRecord:
    rule = ReplaceIfMatches(by.regex, by.replacement)
    topic = record.topic
    if not isinstance(topic.expr, Const):
        at.touch(0, Call(MatchesOrNull(by.regex), (topic.expr,)))
        return replace(record, topic=topic.call(rule, STRING))
    name = topic.expr.value
    if Matches(by.regex).python(name):
        at.touch(0)
    return replace(record, topic=Cell(STRING, Const(rule.python(name), STRING), topic.sources, False))


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


def _copy_to_headers(effects: tuple[Effect, ...], record: PlanRecord, at: Planning, settings: Settings) -> PlanRecord:
    """Copies fields into headers, in their order, then drops what is moved."""
    group = struct_of(at.side_of(record), settings.purpose)
    headers = record.headers
    for number, copy in enumerate(only(effects, CopyToHeader)):
        field, parent = read_field(group, copy.path, settings.strict)
        headers = _appended(headers, copy.header, copied(copy.path.leaf, field, parent, settings.replace_nulls))
        at.touch(number, group.present)
    record = replace(record, headers=headers)
    return _on_side(effects, record, at, settings) if only(effects, Drop) else record


def _appended(headers: Cell, key: str, node: Node) -> Cell:
    expr = node.expr if isinstance(node, Cell) else node.present
    assert expr is not None  # the fields of a stage's input come from references
    call = Call(AppendHeader(key, node.schema), (headers.expr, expr))
    return Cell(headers.schema, call, headers.sources | all_sources(node))


def _make_key(effect: MakeKey, record: PlanRecord, at: Planning, settings: Settings) -> PlanRecord:
    assert record.value is not None  # the null rule refuses null
    value = struct_of(record.value, settings.purpose)
    fields: list[tuple[str, Node]] = []
    for number, path in enumerate(effect.paths):
        field, parent = read_field(value, path, settings.strict)
        fields.append((path.leaf, copied(path.leaf, field, parent, settings.replace_nulls)))
        at.touch(number, value.present)
    schema = Schema(Type.STRUCT, fields=tuple((name, node.schema) for name, node in fields))
    return replace(record, key=Group(schema, tuple(fields), None))
