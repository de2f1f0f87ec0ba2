"""Conditions on a symbolic record: the expression that yields a boolean, or the answer where it is known."""

from dagster_smt.authoring.fields.edit import struct_of
from dagster_smt.authoring.fields.json_path import planned_answer
from dagster_smt.authoring.fields.read import read_field
from dagster_smt.authoring.texts import default_of, literal_text_of
from dagster_smt.authoring.transform import Planning, refuse
from dagster_smt.effects.condition import (
    Always,
    Condition,
    FieldPasses,
    HasHeader,
    Not,
    NoTest,
    NullValue,
    PathFinds,
    TopicPasses,
)
from dagster_smt.errors import PlanError
from dagster_smt.model.cell import Call, Cell, Const, Expr, Node, Ref, open_struct
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.schema import BOOLEAN, Type
from dagster_smt.values.basic import IsNull, WhereThere
from dagster_smt.values.headers import fields as headers
from dagster_smt.values.java.regex_equals import EqualsLiteral, IsLiteral
from dagster_smt.values.needs import Differs, Needed, Unless
from dagster_smt.values.texts import IsOneOf, TextPasses


def plan_condition(condition: Condition, record: PlanRecord, at: Planning, purpose: str) -> Expr | bool:
    """Returns when a condition is true of a record.

    Args:
        condition: The condition.
        record: The record; the side that the condition is about is not null in all records.
        at: Its side is the one that conditions on fields are about; it is told of fields that are missing.
        purpose: What the stage does, as messages say it.

    Raises:
        PlanError: The condition has an answer for no record of these schemas.
    """
    match condition:
        case Always():
            return True
        case Not(inner):
            test = plan_condition(inner, record, at, purpose)
            if isinstance(test, bool):
                return not test
            return Call(Differs(True), (test,))
        case NullValue():
            return Call(IsNull(), (Ref(("value",)),))
        case TopicPasses(rule):
            topic = record.topic.expr
            if isinstance(topic, Const):
                return bool(rule.python(topic.value))
            return Call(rule, (topic,))
        case HasHeader(name):
            return Call(headers.HasHeader(name), (record.headers.expr,))
        case PathFinds():
            return _path(condition, at.side_of(record), at, purpose)
        case FieldPasses():
            return _field(condition, at.side_of(record), purpose)


def _path(condition: PathFinds, node: Node, at: Planning, purpose: str) -> Expr:
    expr: Expr = planned_answer(struct_of(node, purpose), condition.path, at)
    for answer, refusal in condition.refusals:
        expr = Call(Unless(*refusal.problem(), text=answer), (expr,))
    return Call(IsOneOf(condition.answers), (expr,))


def _field(condition: FieldPasses, node: Node, purpose: str) -> Expr | bool:
    is_struct = node.schema.type is Type.STRUCT
    if condition.no_object is not None and not is_struct:
        raise refuse(*condition.no_object.problem(what=node.schema.label))
    around = open_struct(node).present if is_struct else None
    found = _found(condition, node, purpose)
    if found is None:
        return False
    return _tested(condition, found, around)


def _found(condition: FieldPasses, node: Node, purpose: str) -> Node | None:
    """The field; None if the schema has none and the condition is false then."""
    path, missing = condition.path, condition.missing
    if not path.steps:
        if missing is not None:
            raise refuse(*missing.problem(fields=", ".join(node.schema.by_name)))
        return node
    try:
        field, parent = read_field(struct_of(node, purpose), path, condition.strict)
    except PlanError:
        if missing is None:
            return None
        raise refuse(*missing.problem(fields=", ".join(node.schema.by_name))) from None
    return default_of(field, parent)


def _tested(condition: FieldPasses, field: Node, around: Expr | None) -> Expr:
    """The test of a field; ``around`` is null where the key or value is, and that is not the field's fault."""
    test = condition.test
    if isinstance(test, NoTest):
        raise refuse(*test.refusal.problem())
    if isinstance(test, TextPasses):
        return Call(test.rule, (literal_text_of(field),))
    if isinstance(field, Cell):
        expr = field.expr
    else:
        expr = field.present or Const(True, BOOLEAN)
    if isinstance(test, IsLiteral):
        if condition.null is not None:
            expr = Call(Needed(*condition.null.problem()), (expr,) if around is None else (expr, around))
        return Call(EqualsLiteral(field.schema, test.text), (expr,))
    return Call(test.rule, (expr,))


def where_there(node: Node, test: Expr | bool) -> Expr | bool:
    """Returns a condition that is false where a key or value is null."""
    if isinstance(test, bool) or node.schema.type is not Type.STRUCT:
        return test
    present = open_struct(node).present
    if present is None:
        return test
    return Call(WhereThere(), (present, test))
