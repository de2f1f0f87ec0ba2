"""Applies the effect ``Route``, which changes the topic, to a symbolic record (the description of all records of one
schema). The result contains an expression for the new topic.
"""

from dataclasses import replace

from dagster_smt.authoring.fields.edit import present, refused, struct_of
from dagster_smt.authoring.fields.field_reading import read_field
from dagster_smt.authoring.node_texts import default_of, java_text_of
from dagster_smt.authoring.topic_texts import needed_topic, routed
from dagster_smt.authoring.transform import Planning, refuse
from dagster_smt.effects.effect import ByField, ByHeader, ByPattern, ByTime, Route
from dagster_smt.effects.on_plan import Settings
from dagster_smt.errors import PlanError
from dagster_smt.model.cell import Call, Cell, Const, Node
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.schema import STRING, Schema, Type, optional
from dagster_smt.values.headers.fields import HeaderText, LastHeader
from dagster_smt.values.java.regex import Matches, MatchesOrNull, ReplaceIfMatches
from dagster_smt.values.times.timestamps import RouteByTime

_BYTES = Schema(Type.BYTES, optional=True)
_NUMBERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
CONVERTED = frozenset({*_NUMBERS, Type.BOOLEAN, Type.STRING})
"""The types that ``ByField.converts`` permits for a topic: their values are converted to strings."""


def plan_route(route: Route, record: PlanRecord, at: Planning, settings: Settings) -> PlanRecord:
    """Returns ``record``, the description of all records of one schema, with the topic that ``route`` determines.

    Raises:
        PlanError: No record with the schemas of ``record`` can pass the stage.
    """
    by = route.by
    if isinstance(by, ByPattern):
        return _by_pattern(by, record, at)
    if isinstance(by, ByTime):
        at.touch(0)
        rule = RouteByTime(by.topic_format, by.timestamp_format)
        return replace(record, topic=record.topic.call(rule, STRING, record.timestamp))
    if isinstance(by, ByHeader):
        data = record.headers.call(LastHeader(by.name), _BYTES)
        text = data.call(HeaderText(by.name), optional(STRING))
        return routed(record, text, needed_topic(f"the header '{by.name}'"), by.skips, at)
    if isinstance(by, ByField):
        return _by_field(by, record, at, settings)
    # `ByFieldTime`: Confluent documents MessageTimestampRouter only for values without a schema
    label = at.side_of(record).schema.label
    statement = f"only a value without a schema can be used for [{settings.purpose}], but this is {label}"
    hint = "use TimestampConverter, Aiven's ExtractTimestamp and TimestampRouter, or a format without schema"
    raise refuse("SMT461", statement, hint)


def _by_pattern(by: ByPattern, record: PlanRecord, at: Planning) -> PlanRecord:
    rule = ReplaceIfMatches(by.regex, by.replacement)
    topic = record.topic
    if not isinstance(topic.expr, Const):
        at.touch(0, Call(MatchesOrNull(by.regex), (topic.expr,)))
        return replace(record, topic=topic.call(rule, STRING))
    # the topic is known, so the new topic is a constant, too: later predicates on the topic then add no variant
    name = topic.expr.value
    if Matches(by.regex).python(name):
        at.touch(0)
    return replace(record, topic=Cell(STRING, Const(rule.python(name), STRING), topic.sources, False))


def _by_field(by: ByField, record: PlanRecord, at: Planning, settings: Settings) -> PlanRecord:
    node = at.side_of(record)
    if by.path.steps:
        group = struct_of(node, settings.purpose)
        try:
            node, parent = read_field(group, by.path)
        except PlanError:
            if not by.skips:
                raise
            # no record of this schema has the field, so every record keeps its topic
            at.miss(by.path.text, tuple(group.by_name), by.path.leaf)
            return record
        node = default_of(node, parent)
    return routed(record, _as_text(by, node), needed_topic(by.label), by.skips, at)


def _as_text(by: ByField, node: Node) -> Cell:
    if by.converts and node.schema.type in CONVERTED:
        marks = node.marks if isinstance(node, Cell) else frozenset[str]()
        return Cell(STRING, java_text_of(node), node.sources, marks=marks)
    if isinstance(node, Cell) and node.schema.type is Type.STRING:
        return node
    problem = no_topic(by, node.schema.label)
    if by.by_type or not by.skips or present(node) is None:
        raise refuse(*problem)
    return refused(node, *problem, schema=optional(STRING))


def no_topic(by: ByField, kind: str) -> tuple[str, str, str]:
    """Returns three strings about the problem of a field that cannot contain a topic: a code, a statement and a hint.
    ``kind`` is the kind of the field's values, such as ``map``. It is neither ``string`` nor a kind that ``by``
    converts to strings.
    """
    if by.converts:
        statement = f"only a string, number or boolean can be a topic, but {by.label} is {kind}"
        return "SMT452", statement, "name another field"
    statement = f"only a string can be a topic, but {by.label} is {kind}"
    return "SMT452", statement, "convert the field first, for example with Cast to string"
