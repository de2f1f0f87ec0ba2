"""Computes which columns contain the values of tagged fields (such as fields with the tag ``PII.email``), and which
stages hide these values.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.effects.effect import Change
from dagster_smt.lineage.edges import WHOLE_VALUE, Edge
from dagster_smt.model.paths.extended import extended_steps
from dagster_smt.privacy.applied_policy import AppliedPolicy
from dagster_smt.privacy.field_paths import covers, path_steps
from dagster_smt.privacy.policy import DROP, HOLD_BACK, KEEP, Decision

State = Literal["unmasked", "masked", "partly masked", "transformed", "unknown", "not in the table"]


@dataclass(frozen=True, slots=True)
class TaggedColumn:
    """A column that contains the value of a tagged field, such as a field with the tag ``PII.email``. It may also be a
    tagged field without a column.

    Attributes:
        column: The path of the column. In a table of records, the path begins with ``value``, ``key`` or ``headers``.
            Empty if no column contains the field, or if the column is unknown.
        field: The path of the field in the topic. The path of a field of the key begins with ``key``, and the name of a
            header with ``headers.``.
        tags: The tags of the field.
        state: ``unmasked``: the column has the value of the topic, or a value that a stage has decrypted. ``masked``:
            the value is masked. ``partly masked``: only some records, or only a part of the value, are masked.
            ``transformed``: the chain or the policy has changed the value, which may still reveal something.
            ``unknown``: a stage from a jar may have put the value into any column, or a stage of the chain may have
            decrypted it. ``not in the table``: no column has the value.
        stages: The stages that changed the value.
    """

    column: str
    field: str
    tags: tuple[str, ...]
    state: State
    stages: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the column as JSON data for metadata."""
        return {**asdict(self), "tags": list(self.tags), "stages": list(self.stages)}


def tagged_columns(
    policy: AppliedPolicy, edges: Sequence[Edge], *, has_columns: bool, chain: Chain
) -> tuple[TaggedColumn, ...]:
    """Returns one item for each column that contains the value of a tagged field, such as a field with the tag
    ``PII.email``. A tagged field without a column also gets an item.

    Args:
        policy: The policy, with its decisions (such as mask or drop) about the fields of a run.
        edges: The column lineage: the fields from which each column comes. Empty if records have no schema.
        has_columns: True if the table has one column per field, False if it contains records.
        chain: The chain of the run. In a table of records, a field that the policy encrypts has the state ``unknown``
            if a stage of this chain decrypts values.
    """
    opening = tuple(stage.alias for stage in chain.stages if getattr(stage.transform, "opens", False))
    rows: dict[TaggedColumn, None] = {}
    for decision in policy.decisions:
        if decision.tags:
            for one in _of_decision(decision, policy, edges, has_columns, opening):
                rows[one] = None
    return tuple(rows)


def _of_decision(
    decision: Decision,
    policy: AppliedPolicy,
    edges: Sequence[Edge],
    has_columns: bool,
    opening: tuple[str, ...],
) -> Iterator[TaggedColumn]:
    tags = tuple(tag.name for tag in decision.tags)
    field = decision.path if decision.part == "value" else _in_record(decision)
    own = []
    for edge in edges:
        if _is_inside(edge.field, decision):
            own.append(edge)
    for edge in own:
        state: State = "transformed"
        if edge.kind == "masking":
            state = "masked"
        elif edge.kind == "partly masked":
            state = "partly masked"
        elif edge.kind in ("identity", "opened") or (edge.kind == "unknown" and decision.action == KEEP):
            state = "unmasked"
        yield TaggedColumn(edge.column, field, tags, state, edge.stages)
    if own:
        return
    # no column is traced to the field: the chain dropped it, or a stage from a jar hides the origin of its columns
    foreign = next((edge.stages for edge in edges if _is_after_foreign(edge)), ())
    # the stages of a policy drop every tagged header that they do not keep
    removed = decision.action in (DROP, HOLD_BACK) or (decision.part == "headers" and decision.action != KEEP)
    if removed or (has_columns and not foreign):
        yield TaggedColumn("", field, tags, "not in the table")
        return
    aliases = []
    for s in policy.stages:
        if s.part == decision.part and s.action == decision.action and decision.path in s.paths:
            aliases.append(s.alias)
    stages = tuple(aliases)
    actions = set()
    for s in policy.stages:
        if s.alias in stages:
            for e in s.transform.ledger():
                actions.add(e.action)
    if decision.action == KEEP or not stages:
        state = "unmasked"
    else:
        state = "masked" if "masked" in actions else "transformed"
    column = "" if has_columns else _in_record(decision)
    # a mask of the policy runs before the class from the jar, which then receives masked values; any other state is
    # unknown
    if foreign and state != "masked":
        state = "unknown"
    if opening and any(_seals(s) for s in policy.stages if s.alias in stages):
        state, stages = "unknown", (*stages, *opening)
    yield TaggedColumn(column, field, tags, state, (*stages, *foreign))


def _seals(stage: Stage) -> bool:
    """Returns True if ``stage`` encrypts values, or hides them in another way that a holder of the key can reverse."""
    for e in stage.transform.effects():
        if isinstance(e, Change) and e.rule.protection == "seals":
            return True
    return False


def _is_after_foreign(edge: Edge) -> bool:
    """Returns True if a stage from a jar filled the column of ``edge``. Such a column may depend on any part of the
    value."""
    return edge.kind == "unknown" and edge.field == WHOLE_VALUE and bool(edge.stages)


def _in_record(decision: Decision) -> str:
    """Returns the path of a field in a record, for a decision of a policy about this field. The path begins with
    ``key``, ``value`` or ``headers``, as in ``key.id``.
    """
    if not decision.path:  # the whole key
        return decision.part
    if decision.path.startswith("["):
        return f"{decision.part}{decision.path}"
    return f"{decision.part}.{decision.path}"


def _is_inside(field: str, decision: Decision) -> bool:
    """Returns True if ``field`` is the field of ``decision``, or is inside that field.

    Args:
        field: A field in the spelling of lineage, such as ``value.items[].sku``.
        decision: The decision of a policy.
    """
    if decision.part == "headers" or not decision.path:
        return field == _in_record(decision)
    if not field.startswith((f"{decision.part}.", f"{decision.part}[")):
        return False
    text = field.removeprefix(decision.part).removeprefix(".").replace("[]", "[*]")
    return covers(path_steps(decision.path, ""), extended_steps(text))
