"""Explains a plan as text: the schema and the lineage after each stage of a chain."""

from collections.abc import Sequence

from dagster_smt.authoring.stage import Stage
from dagster_smt.chain.plan import Plan, Step, columns, paths_missing_everywhere
from dagster_smt.model.cell import Const
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.reports.run_report import LedgerEntry, leaf_labels
from dagster_smt.visible import visible


def explain(plan: Plan, *, full: bool = True) -> str:
    """Returns a text with the schema and lineage after each stage of ``plan``, and the warnings of the plan.

    Args:
        plan: The plan.
        full: True for the whole schema after each stage, False for only the changes of each stage.
    """
    lines = _input(plan)
    for index, stage in enumerate(plan.chain.stages):
        lines.append(f"{index + 1}. {stage.alias}: {stage.label}{_guard(stage)}")
        steps = [step for step in plan.steps if step.plan.index == index]
        missing = paths_missing_everywhere([step.plan for step in steps])
        for entry in plan.entries:
            if entry.stage == index:
                lines += _entry(entry, missing)
        lines += _steps(steps, full)
    text = [visible(line) for line in lines]
    if plan.warnings:
        # a problem makes its own text visible, and has line breaks that must stay
        text.append("warnings")
        text += [f"  {warning}" for warning in plan.warnings]
    return "\n".join(text)


def _input(plan: Plan) -> list[str]:
    heading = f"input from {', '.join(plan.topics)}" if plan.topics else "input"
    if not plan.typed:
        return [heading, "  value: JSON without schema; unknown fields pass untouched"]
    return [heading, *_schema("key", leaf_labels(plan.key)), *_schema("value", leaf_labels(plan.value))]


def _guard(stage: Stage) -> str:
    """Returns the end of the line about ``stage``, with its predicate: ``if not isTombstone``. The result is empty if
    the stage has no predicate.
    """
    if stage.predicate is None:
        return ""
    if stage.negate:
        return f" if not {stage.predicate_name}"
    return f" if {stage.predicate_name}"


def _entry(entry: LedgerEntry, missing: set[str]) -> list[str]:
    """Returns the lines about ``entry``, such as ``masked **.email``. If its path is a pattern, each field that the
    pattern matches follows on a line of its own.
    """
    line = f"  {entry.action} {entry.path}"
    if entry.target:
        arrow = "<-" if entry.action == "added" else "->"
        line += f" {arrow} {entry.target}"
    if entry.path in missing:
        line += "  (no record has that field)"
    return [line, *(f"    {field}" for field in entry.matched)]


def _steps(steps: Sequence[Step], full: bool) -> list[str]:
    """Returns the lines about ``steps``, the plans of one stage. A stage has several plans if its records can have
    several schemas. Each of these schemas is called a variant.
    """
    lines = []
    for step in steps:
        if len(steps) > 1:
            lines.append(f"  variant {step.variant + 1} of the record")
        lines += _step(step, full)
        if step.taken is not None and step.taken != step.variant:
            own, other = step.taken + 1, step.variant + 1
            lines.append(f"  these records are variant {own} from here on; the other records stay variant {other}")
    return lines


def _step(step: Step, full: bool) -> list[str]:
    if step.plan.condition is False:
        return ["  never acts here"]
    if step.plan.failure is not None:
        return [f"  fails: {step.plan.failure.statement}"]
    after = step.plan.after
    if after is None or after.dropped is True:
        return ["  the record is dropped"]
    parts = _parts(after)
    lines = []
    if full:
        for place, part in parts.items():
            lines.append(f"  {place}: {part}")
    else:
        lines += _changes(_parts(step.plan.before), parts)
    if after.dropped:
        lines.append("  some records are dropped")
    return lines or ["  the schema stays as it is"]


def _changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Returns a line for each part of the record that a stage adds, changes or drops. ``before`` and ``after`` map each
    part, such as ``value email``, to its description.
    """
    lines = []
    for place, part in after.items():
        if before.get(place) != part:
            lines.append(f"  {place}: {part}")
    for place in sorted(before.keys() - after.keys()):
        lines.append(f"  {place}: gone")
    return lines


def _parts(record: PlanRecord) -> dict[str, str]:
    """Returns a dict that describes ``record``. A key is a part of the record, such as ``value email``. Its value
    contains the type and the sources: ``string  <- value.mail``. The key ``topic`` is present if the plan knows the
    topic.
    """
    parts = {}
    if isinstance(record.topic.expr, Const):
        parts["topic"] = str(record.topic.expr.value)
    for side, node in (("key", record.key), ("value", record.value)):
        for path, cell in columns(node):
            sources = ", ".join(sorted(cell.sources)) or "a constant"
            parts[f"{side} {path}"] = f"{cell.schema.label}  <- {sources}"
    return parts


def _schema(side: str, labels: dict[str, str]) -> list[str]:
    lines = []
    for path, label in labels.items():
        lines.append(f"  {side} {path}: {label}")
    return lines
