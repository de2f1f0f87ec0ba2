"""Which chains the compiled lane may run, as far as their stages show."""

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.chain.plan import first_entries, input_record, plan_test
from dagster_smt.interpret.compiled.field_changes import Change, Drop, Extract, FieldChange, MakeKey, field_changes
from dagster_smt.interpret.compiled.paths import Paths
from dagster_smt.interpret.stages import reads_topic_only
from dagster_smt.model.cell import Call, Expr, Ref
from dagster_smt.values.basic import IsNull

MOST = 62
"""Names, acts, steps of paths and ledger entries that a program may have: they are bits of signed words."""


def eligible(chain: Chain) -> bool:
    """Whether the compiled lane can run a chain; ``program_of`` may still say no for a topic."""
    if chain.reads_headers or chain.writes_timestamp or chain.writes_partition:
        return False
    if chain.reads_timestamp_type or chain.reads_leader_epoch:
        return False
    entries = first_entries(chain)[-1] + len(chain.stages[-1].transform.ledger()) if chain.stages else 0
    return entries <= MOST and all(map(_known, chain.stages))


def changes_of(stage: Stage, first: int) -> tuple[FieldChange, ...] | None:
    """What a stage does to fields, if it says so; ``first``: its first entry of the ledger."""
    entries = range(first, first + len(stage.transform.ledger()))
    return field_changes(stage.transform, tuple(1 << entry for entry in entries))


def _known(stage: Stage) -> bool:
    predicate = stage.predicate
    if predicate is not None and not _same_for_objects(predicate):
        return False
    if not stage.acts_on:
        return "metadata" not in stage.transform.reads
    changes = None if "key" in stage.transform.reads else changes_of(stage, 0)
    return changes is not None and all(_runs(change, stage.acts_on) for change in changes)


def _runs(change: FieldChange, side: str) -> bool:
    """Whether the lane has steps for a change; of a key it knows what the chain itself has made it of."""
    if isinstance(change, Extract) or side == "key":
        return isinstance(change, Extract) and side == "key" and change.path.plain
    if isinstance(change, MakeKey):
        return all(isinstance(path.steps[0], str) and Paths().add(path) is not None for path in change.paths)
    return not isinstance(change, Change | Drop) or Paths().add(change.path) is not None


def _same_for_objects(predicate: Predicate) -> bool:
    """Whether a predicate says the same of all objects of a topic."""
    if predicate.reads:
        return False
    test = plan_test(predicate, input_record(None, None, nullable=True))
    return isinstance(test, bool) or _of_topic(test)


def _of_topic(expr: Expr) -> bool:
    if isinstance(expr, Call) and isinstance(expr.rule, IsNull) and expr.args == (Ref(("value",)),):
        return True  # objects are not null
    if isinstance(expr, Call):
        return all(map(_of_topic, expr.args))
    return reads_topic_only(expr)
