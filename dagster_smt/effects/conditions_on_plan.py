"""Plans conditions for records of one schema, which a symbolic record describes. The result is an expression. If
planning already knows the result for all records, it is True or False.
"""

from dagster_smt.authoring.fields.edit import struct_of
from dagster_smt.authoring.fields.field_reading import read_field
from dagster_smt.authoring.fields.jayway_paths import planned_answer
from dagster_smt.authoring.node_texts import default_of, literal_text_of
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
from dagster_smt.values.headers import fields as headers
from dagster_smt.values.java.regex_equals import EqualsLiteral, IsLiteral
from dagster_smt.values.needs import Differs, Needed, Unless
from dagster_smt.values.text_rules import IsOneOf, TextPasses
from dagster_smt.values.value_rule import IsNull, WhereThere


def plan_condition(condition: Condition, record: PlanRecord, at: Planning, purpose: str) -> Expr | bool:
    """Returns an expression that is true for the records that satisfy ``condition``. If planning already knows the
    result for all records, returns True or False.

    Args:
        condition: The condition.
        record: The description of all records of one schema. In at least some of them, the key or value that the
            condition tests is not null.
        at: Says whether the condition tests fields of the key or of the value. It also collects the missing fields.
        purpose: The purpose of the stage, as messages word it, such as ``mask fields``.

    Raises:
        PlanError: The condition can test no record with the schemas of ``record``.
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
            return Call(headers.HasHeaderRule(name), (record.headers.expr,))
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
    field = _field_of(condition, node, purpose)
    if field is None:
        return False
    return _test_of(condition, field, around)


def _field_of(condition: FieldPasses, node: Node, purpose: str) -> Node | None:
    """Returns the field of ``node`` that ``condition`` tests. If the schema has no such field, the condition is false,
    and the result is None. If ``condition`` declares a problem for a missing field, raises this problem instead.
    """
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


def _test_of(condition: FieldPasses, field: Node, around: Expr | None) -> Expr:
    """Returns an expression that is true if ``field`` satisfies the test of ``condition``.

    ``around`` is an expression for the key or value that contains the field. If this key or value is null, the field is
    also null. Such a record must not be rejected because of the field.
    """
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
    """Returns an expression that is false if the struct ``node`` (the key or value) is null, and otherwise equals
    ``test``. Returns ``test`` unchanged in three cases: ``test`` is True or False; ``node`` is not a struct; or
    ``node`` cannot be null.
    """
    if isinstance(test, bool) or node.schema.type is not Type.STRUCT:
        return test
    present = open_struct(node).present
    if present is None:
        return test
    return Call(WhereThere(), (present, test))
