"""Plans stages that take a record's new topic from a field or header of the record."""

from dataclasses import replace

from dagster_smt.authoring.transform import Planning
from dagster_smt.model.cell import Call, Cell
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.schema import STRING
from dagster_smt.values.text_rules import Filled, FilledOrNull, Otherwise


def needed_topic(origin: str) -> Filled:
    """Returns the rule that rejects a record whose new topic is null or empty. In error messages, ``origin`` is the
    source of the topic, such as ``the field 'name'``.
    """
    hint = "set skip.missing.or.null=true, or guard the stage with a predicate"
    return Filled("SMT451", f"{origin} is missing, null or empty, but the topic comes from there", hint)


def routed(record: PlanRecord, text: Cell, needed: Filled, skip: bool, at: Planning) -> PlanRecord:
    """Returns ``record`` with the topic ``text``. If the new topic is null or empty, the record is rejected, or keeps
    its old topic with ``skip``.

    Args:
        record: The record before the stage.
        text: A cell with the new topic.
        needed: The rule that rejects a topic that is null or empty.
        skip: True to keep the old topic instead of rejecting the record.
        at: The planning of the stage. This function reports to it which records get the new topic.
    """
    topic = record.topic
    if not skip:
        at.touch(0)
        return replace(record, topic=Cell(STRING, Call(needed, (text.expr,)), text.sources, marks=text.marks))
    at.touch(0, Call(FilledOrNull(), (text.expr,)))
    expr = Call(Otherwise(), (text.expr, topic.expr))
    sources = text.sources | topic.sources
    return replace(record, topic=Cell(STRING, expr, sources, nullable=topic.nullable, marks=text.marks))
