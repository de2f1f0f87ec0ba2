"""A plan as text: what a chain makes of a schema, stage by stage."""

from dagster_smt.chain.plan import Plan, Step, columns, paths_missing_everywhere
from dagster_smt.model.cell import Const
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.reports.report import LedgerEntry, leaf_labels
from dagster_smt.visible import visible


def explain(plan: Plan, *, full: bool = True) -> str:
    """The schema and lineage after each stage, and the warnings; if not ``full``, only what each stage changes."""
    lines = ["input" + (f" from {', '.join(plan.topics)}" if plan.topics else "")]
    if plan.typed:
        lines += _schema("key", leaf_labels(plan.key)) + _schema("value", leaf_labels(plan.value))
    else:
        lines.append("  value: JSON without schema; unknown fields pass untouched")
    for index, stage in enumerate(plan.chain.stages):
        if stage.predicate:
            guard = f" if {'not ' if stage.negate else ''}{stage.predicate_name}"
        else:
            guard = ""
        lines.append(f"{index + 1}. {stage.alias}: {stage.label}{guard}")
        steps = [step for step in plan.steps if step.plan.index == index]
        missing = paths_missing_everywhere([step.plan for step in steps])
        for entry in (e for e in plan.entries if e.stage == index):
            lines.append(_entry(entry) + ("  (no record has that field)" if entry.path in missing else ""))
            lines += [f"    {field}" for field in entry.matched]
        for step in steps:
            lines += [f"  form {step.variant + 1} of the record"] if len(steps) > 1 else []
            lines += _step(step, full)
            if step.taken not in (None, step.variant):
                lines.append(f"  these records are form {step.taken + 1} from here on; the others stay as they were")
    shown = [visible(line) for line in lines]
    shown += ["warnings", *(f"  {w}" for w in plan.warnings)] if plan.warnings else []
    return "\n".join(shown)


def _entry(entry: LedgerEntry) -> str:
    arrow = "<-" if entry.action == "added" else "->"
    return f"  {entry.action} {entry.path}" + (f" {arrow} {entry.target}" if entry.target else "")


def _step(step: Step, full: bool) -> list[str]:
    if step.plan.condition is False:
        return ["  never acts here"]
    if step.plan.failure is not None:
        return [f"  fails: {step.plan.failure.statement}"]
    after = step.plan.after
    if after is None or after.dropped is True:
        return ["  the record is dropped"]
    now, lost = _record(after), ["  some records are dropped"] if after.dropped else []
    if full:
        return [*(f"  {place}: {what}" for place, what in now.items()), *lost]
    before = _record(step.plan.before)
    changes = []
    for place, what in now.items():
        if before.get(place) != what:
            changes.append(f"  {place}: {what}")
    changes += [f"  {place}: gone" for place in sorted(before.keys() - now.keys())]
    return [*changes, *lost] or ["  the schema stays as it is"]


def _record(record: PlanRecord) -> dict[str, str]:
    """What is known of each part, by its place: topic, fields of the key, fields of the value."""
    found = {}
    if isinstance(record.topic.expr, Const):
        found["topic"] = str(record.topic.expr.value)
    for side, node in (("key", record.key), ("value", record.value)):
        for path, cell in columns(node):
            sources = ", ".join(sorted(cell.sources)) or "a constant"
            found[f"{side} {path}"] = f"{cell.schema.label}  <- {sources}"
    return found


def _schema(side: str, labels: dict[str, str]) -> list[str]:
    return [f"  {side} {path}: {label}" for path, label in labels.items()]
