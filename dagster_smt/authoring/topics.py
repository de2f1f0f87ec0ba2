"""Topics taken from a text of the record: what is refused or skipped, and what the ledger counts."""

from dataclasses import replace

from dagster_smt.authoring.transform import Planning
from dagster_smt.model.cell import Call, Cell
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.schema import STRING
from dagster_smt.values.texts import Filled, FilledOrNull, Otherwise


def needed_topic(what: str) -> Filled:
    """Refuses a topic that is null or empty; ``what`` should hold it."""
    hint = "set skip.missing.or.null=true, or guard the stage with a predicate"
    return Filled("SMT451", f"{what} is missing, null or empty, but it is the topic", hint)


def routed(record: PlanRecord, text: Cell, needed: Filled, skip: bool, at: Planning) -> PlanRecord:
    """A record whose topic is a text; where that is null or empty it is refused, or the topic stays.

    Args:
        record: The record before.
        text: The text.
        needed: Refuses a text that is null or empty.
        skip: Whether the topic stays instead.
        at: Where to report a touch of the first ledger line.
    """
    topic = record.topic
    if not skip:
        at.touch(0)
        return replace(record, topic=Cell(STRING, Call(needed, (text.expr,)), text.sources, marks=text.marks))
    at.touch(0, Call(FilledOrNull(), (text.expr,)))
    expr = Call(Otherwise(), (text.expr, topic.expr))
    sources = text.sources | topic.sources
    return replace(record, topic=Cell(STRING, expr, sources, nullable=topic.nullable, marks=text.marks))
