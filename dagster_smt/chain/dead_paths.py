"""Finds masks, drops and renames whose path can never touch a field. Either the schema has no such field, or the path
is a pattern that the stage reads as a plain name.

Connect runs such a stage without a message, and the values that the stage should hide stay visible. A declared schema
reveals the mistake before a run reads anything. Without a schema, only the spelling of the path can reveal it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.authoring.transform import Entry
from dagster_smt.chain.plan import Plan, StagePlan, columns, first_entries, fold_chain, missing_problem, plan_stage
from dagster_smt.chain.problems import config_problem, pattern_hint
from dagster_smt.errors import PlanError, Problem
from dagster_smt.model.cell import Cell
from dagster_smt.model.paths.connect import seems_pattern
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.schema import Schema

KEY = "dead.paths"
_SWITCH = "if this is intended, set dead_paths to warn"


def dead_paths_of(source: Any) -> tuple[Literal["error", "warn"], list[Problem]]:
    """Returns the setting ``dead.paths`` of the chain ``source`` (``error`` or ``warn``), and the problems of this
    setting. In YAML, the setting is next to ``stages``.
    """
    if isinstance(source, Mapping):
        value = source.get(KEY, "error")
    else:
        value = "error"
    if value == "warn":
        return "warn", []
    if value == "error":
        return "error", []
    return "error", [config_problem("SMT309", KEY, "is neither 'error' nor 'warn'", "remove it, or write warn")]


def refuse_dead_paths(plan: Plan, value: Schema | None = None) -> Plan:
    """Raises an error if ``plan`` has dead paths, and otherwise returns the plan. A dead path is a path of a mask, drop
    or rename that can never touch a field. If the chain sets ``dead.paths`` to ``warn``, each dead path adds a warning
    to the plan instead of raising an error.

    Args:
        plan: The plan.
        value: The declared schema of the values. It is used if ``plan`` contains no schemas because the keys have no
            schema. Only the stages that act on values are then checked.

    Raises:
        PlanError: SMT303, SMT305 or SMT308 for dead paths.
    """
    problems = dead_paths(plan, value)
    if problems and plan.chain.dead_paths == "error":
        raise PlanError(replace(p, hint="; ".join(filter(None, (p.hint, _SWITCH)))) for p in problems)
    return replace(plan, warnings=tuple(dict.fromkeys((*plan.warnings, *problems))))


def dead_paths(plan: Plan, value: Schema | None = None) -> tuple[Problem, ...]:
    """Returns the problems of the masks, drops and renames in ``plan`` whose path can never touch a field.

    The arguments have the same meaning as in ``refuse_dead_paths``.
    """
    stages = plan.chain.stages
    if plan.typed:
        planned = stages
        problems = list(_in_schema(plan))
    elif value is not None:
        values_only = _without_keys(plan.chain)
        planned = values_only.stages
        problems = list(_in_schema(fold_chain(values_only, None, value, topics=plan.topics)))
    else:
        planned, problems = (), []
    for stage in stages:
        # headers are in no schema, so only the spelling of their paths can show a mistake
        effects = []
        for e in stage.transform.ledger():
            if stage not in planned or e.side == "headers":
                effects.append(e)
        problems += _patterns(stage, effects)
    return tuple(dict.fromkeys(problems))


def _without_keys(chain: Chain) -> Chain:
    """Returns ``chain`` with only the stages that can be planned without knowing the key. Stages that act on the key
    are left out. The result ends before the first stage that runs from a jar, or whose transform or predicate reads the
    key.
    """
    stages: list[Stage] = []
    for stage in chain.stages:
        if stage.foreign:
            break  # later stages work on a schema that only the jar knows
        if stage.side == "key":
            continue
        # in which records such a stage acts is unknown, and so are the names of the fields after it
        tests_key = stage.predicate is not None and "key" in stage.predicate.reads
        if tests_key or "key" in stage.transform.reads:
            break
        stages.append(stage)
    return replace(chain, stages=tuple(stages))


def _patterns(stage: Stage, effects: Sequence[Entry]) -> Iterator[Problem]:
    """Yields a problem for each path that looks like a pattern, such as ``**.email``, but that ``stage`` reads as a
    plain name. ``effects`` contains the ledger entries of the stage, which are the actions that a report counts.
    """
    version = getattr(stage.transform, "field_syntax_version", "")
    for effect in effects:
        if effect.relied_on and stage.relied_on and seems_pattern(effect.path, version):
            statement = f"'{effect.path}' looks like a pattern, but it is read as a plain name"
            yield Problem("SMT305", stage.place, statement, pattern_hint(version))


def _in_schema(plan: Plan) -> Iterator[Problem]:
    """Yields a problem for each mask, drop or rename in ``plan`` that touches no field of the schemas.

    A stage is ignored if it never acts or if it rejects all records.
    """
    for first, (index, stage) in zip(first_entries(plan.chain), enumerate(plan.chain.stages), strict=True):
        acting = []
        for step in plan.steps:
            if step.plan.index == index and _acts(step.plan):
                acting.append(step.plan)
        if not acting:
            continue
        touched = set()
        for planned_stage in acting:
            if planned_stage.after is not None:
                for touch in planned_stage.after.touched:
                    touched.add(touch.entry)
        for number, effect in enumerate(stage.transform.ledger(), first):
            if effect.relied_on and stage.relied_on and number not in touched:
                yield from _dead(plan, acting, effect.path, number - first)


def _acts(plan: StagePlan) -> bool:
    """Returns True if the stage of ``plan`` acts on some records and does not reject all of them. A stage that rejects
    all records leaves no value that should be hidden.
    """
    return plan.condition is not False and plan.after is not None


def _dead(plan: Plan, acting: Sequence[StagePlan], path: str, effect: int) -> Iterator[Problem]:
    """Yields the problem of the path ``path``, which touches no field. ``acting`` contains the plans of the stage to
    which the path belongs, one for each schema of the records.

    If an earlier stage has dropped the field, there is no problem. If an earlier stage has renamed or moved the field,
    the problem says so. ``effect`` is the number of the action within its stage.
    """
    stage = acting[0].stage
    sources = _reached(plan, stage, effect)
    if sources:
        # as the first stage of the chain, the stage would touch fields, so an earlier stage has moved or dropped them
        if any(_holds(step.before, sources) for step in acting):
            hint = "an earlier stage renames or moves the field: use its new name, or put this stage before that stage"
            yield Problem("SMT303", stage.place, f"no record has the field '{path}' any more", hint)
        return
    miss = None
    for m in acting[0].missing:
        if m.path == path:
            miss = m
            break
    if miss is not None:
        yield missing_problem(stage, miss)
        return
    hint = "name a field that the stage changes"
    yield Problem("SMT308", stage.place, f"'{path}' leads to values that this stage leaves alone", hint)


def _reached(plan: Plan, stage: Stage, effect: int) -> frozenset[str]:
    """Returns the fields of the chain's input that one action of ``stage`` would change if ``stage`` were the first
    stage of the chain. ``effect`` is the number of the action within the stage.
    """
    # the record before the first stage of the chain
    record = plan.steps[0].plan.before
    alone = plan_stage(stage, 0, record)
    if alone.after is None or effect not in {touch.entry for touch in alone.after.touched}:
        return frozenset()
    after = dict(_cells(alone.after))
    # cells are compared without their expressions, which differ even if a stage only splits a struct into its fields
    changed = []
    for place, cell in _cells(record):
        if place not in after or _contents(after[place]) != _contents(cell):
            changed.append(cell)
    return frozenset(source for cell in changed for source in cell.sources)


def _holds(record: PlanRecord, sources: frozenset[str]) -> bool:
    """Returns True if some value of ``record`` comes from one of the input fields in ``sources``."""
    cells = [record.topic, record.headers, record.timestamp]
    for _, cell in _cells(record):
        cells.append(cell)
    return any(cell.sources & sources for cell in cells)


def _contents(cell: Cell) -> tuple[object, ...]:
    return cell.schema, cell.sources, cell.copied, cell.marks


def _cells(record: PlanRecord) -> Iterator[tuple[tuple[str, str], Cell]]:
    for side, node in (("key", record.key), ("value", record.value)):
        for path, cell in columns(node):
            yield ((side, path), cell)
