"""Determines which records pass through a stage that only drops records. The result is a condition (see
``model.keeps``). A run need not read records for which the condition is false (decision 16).
"""

from dagster_smt.authoring.fields.jayway_paths import finding
from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.stage import Stage
from dagster_smt.effects.code import CodeTransform
from dagster_smt.effects.condition import (
    Always,
    Condition,
    FieldPasses,
    Not,
    NoTest,
    NullValue,
    PathFinds,
    TopicPasses,
)
from dagster_smt.effects.effect import Reject, only
from dagster_smt.model import keeps
from dagster_smt.values.json.path import MATCH


def passes(stage: Stage) -> keeps.Condition | None:
    """Returns the condition that is true for the records that pass through ``stage``. Returns None if the stage does
    more than drop records.

    If the stage has a predicate, the condition includes it. For a record that fails in the stage, the result of the
    condition has no meaning.
    """
    effects = stage.transform.effects()
    rejects = only(effects, Reject)
    if not rejects or len(rejects) < len(effects) or isinstance(stage.transform, CodeTransform):
        return None
    passing = _with_null_rule(
        stage, keeps.AllConditions(tuple(keeps.NotCondition(_known(reject.condition)) for reject in rejects))
    )
    if stage.predicate is None:
        return passing
    holds = _holds(stage.predicate)
    return keeps.AnyCondition((holds if stage.negate else keeps.NotCondition(holds), passing))


def _with_null_rule(stage: Stage, passing: keeps.Condition) -> keeps.Condition:
    """Returns the condition that is true for the records that pass through ``stage``. ``passing`` is the condition for
    records whose value is not null. For a null value, the result is true if the stage passes nulls through, and false
    if it drops or rejects nulls. If the stage acts on the key, the result is ``Unknown``, because no condition tests a
    null key.
    """
    if not stage.acts_on:
        return passing
    if stage.acts_on == "key":
        return keeps.Unknown()
    if stage.transform.on_null() in ("drop", "reject"):
        return keeps.AllConditions((keeps.NotCondition(keeps.NullTest()), passing))
    return keeps.AnyCondition((keeps.NullTest(), passing))


def _holds(predicate: Predicate) -> keeps.Condition:
    condition = predicate.condition()
    known = _known(condition)
    # a condition on fields is false for a null value
    if "value" in condition.reads:
        return keeps.AllConditions((keeps.NotCondition(keeps.NullTest()), known))
    return known


def _known(condition: Condition) -> keeps.Condition:
    match condition:
        case Always():
            return keeps.AllConditions(())
        case Not(inner):
            return keeps.NotCondition(_known(inner))
        case NullValue():
            return keeps.NullTest()
        case TopicPasses(rule):
            return keeps.TopicTest(rule.python)
        case FieldPasses(path, test) if path.flat and not isinstance(test, NoTest):
            return keeps.FieldTest(path.leaf, test)
        case PathFinds(path, answers):
            finds = finding(path)
            if MATCH in answers:
                return finds
            return keeps.NotCondition(finds)
    return keeps.Unknown()
