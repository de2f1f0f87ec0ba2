"""Computes column lineage as a list of edges. An edge connects a column of the table with a field of the topic from
which the column's values come. The edge also lists the stages that changed the values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.chain.plan import Plan, Step, columns
from dagster_smt.model.cell import Cell, Ref, split_mark
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.reports.run_report import RunReport

EdgeKind = Literal["identity", "transformation", "masking", "partly masked", "opened", "unknown"]
WHOLE_VALUE = "value"
"""The field that an edge names if its column may come from any part of the value."""
Place = tuple[str, str]
"""The location of a field: its side (key or value), and its path within the side."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A connection between one column and one field of a topic from which the column's values come.

    Attributes:
        column: The path of the column in the result.
        field: The path of the field in the topic, such as ``value.customer.email``.
        kind: ``identity``: the value is the same. ``transformation``: the value is computed from the field.
            ``masking``: a stage hides the value. ``partly masked``: a stage hides the value only in some records, or
            only a part of the value. ``opened``: a stage decrypts the value, or turns a token back into the value, and
            no later stage hides it. ``unknown``: the schema came with the records, or a stage from a jar may have
            created the column. After a stage from a jar, ``field`` is ``value``, the whole value.
        stages: The aliases of the stages that changed the value, in order.
    """

    column: str
    field: str
    kind: EdgeKind
    stages: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the edge as JSON data for metadata."""
        return {"column": self.column, "field": self.field, "kind": self.kind, "stages": list(self.stages)}


def edges_of(plan: Plan) -> tuple[Edge, ...]:
    """Returns the lineage edges of all columns. An edge connects a column with a field from which its values come. The
    records of ``plan`` must have a schema.

    If a predicate splits the records into different schemas (variants), the result contains the edges of all these
    schemas.

    Args:
        plan: The plan.
    """
    if plan.chain.has_foreign:
        return tuple(_edges_after_foreign(plan))
    edges: dict[Edge, None] = {}
    ways, always = _ways(plan), _always_masking(plan)
    for variant, record in plan.results.items():
        stages = ways.get(variant, {})
        for path, cell in columns(record.value):
            names = stages.get(("value", path), ())
            for source in sorted(cell.sources):
                edges[Edge(path, source, _kind(cell, names, always), names)] = None
    return tuple(edges)


def _edges_after_foreign(plan: Plan) -> Iterator[Edge]:
    """Yields one edge for each column of ``plan``, if its chain contains a Java class from a jar. The edge says that
    the origin of the column is unknown.

    The class may have filled any column from any field, even if the column has the same name as a field.
    """
    stages = tuple(stage.alias for stage in plan.chain.stages if stage.foreign)
    for path in plan.lineage:
        yield Edge(path, WHOLE_VALUE, "unknown", stages)


def edges_of_report(report: RunReport, chain: Chain) -> tuple[Edge, ...]:
    """Returns the lineage edges of a run whose records contained or named their schemas. An edge connects a column with
    a field from which its values come. These edges name no stages.

    The report does not show which stage masked a column. If no mask in the chain has a predicate, the edge of a masked
    column is ``masking``. Otherwise it is ``partly masked``, because some records may have skipped the mask. The edges
    of all other columns are ``unknown``.

    Args:
        report: The report of the run.
        chain: The chain of the run.
    """
    certain = all(stage.predicate is None for stage in chain.stages if _masks(stage))
    edges = []
    for path, sources in report.lineage.items():
        kind: EdgeKind = "unknown"
        if path in report.masked:
            kind = "masking" if certain else "partly masked"
        for source in sorted(sources):
            edges.append(Edge(path, source, kind))
    return tuple(edges)


def _kind(cell: Cell, stages: Sequence[str], always: frozenset[str]) -> EdgeKind:
    marks = {split_mark(mark) for mark in cell.marks}
    opened = set()
    for word, place in marks:
        if word == "opened":
            opened.add(place)
    masked = set()
    for word, place in marks:
        if word == "masked":
            masked.add(place)
    # the empty place is the whole value: it was masked, and not decrypted anywhere
    if "" in masked and "" not in opened and always.intersection(stages):
        return "masking"
    # for the elements of a map, it is unknown whether they were masked before or after they were decrypted
    if "" in masked or masked - opened:
        return "partly masked"
    if opened:
        return "opened"
    return "identity" if cell.copied else "transformation"


def _masks(stage: Stage) -> bool:
    for entry in stage.transform.ledger():
        if entry.action == "masked":
            return True
    return False


def _always_masking(plan: Plan) -> frozenset[str]:
    """Returns the aliases of the stages that mask values in every record, because they have no condition."""
    conditional = set()
    for step in plan.steps:
        if step.plan.condition is not True:
            conditional.add(step.plan.stage.alias)
    aliases = set()
    for stage in plan.chain.stages:
        if stage.alias not in conditional and _masks(stage):
            aliases.add(stage.alias)
    return frozenset(aliases)


Stages = Mapping[Place, tuple[str, ...]]


def _ways(plan: Plan) -> dict[int, Stages]:
    """Returns a dict of dicts. The outer dict maps the number of a variant (the schemas that some records have after
    the chain) to the inner dict. The inner dict maps each field after the chain to the aliases of the stages that have
    changed the field.
    """
    ways: dict[int, dict[Place, tuple[str, ...]]] = {0: {}}
    for index, _ in enumerate(plan.chain.stages):
        following: dict[int, dict[Place, tuple[str, ...]]] = {}
        for step in plan.steps:
            if step.plan.index == index:
                _follow(step, ways.get(step.variant, {}), following)
        ways = {**ways, **following}
    return dict(ways)


def _follow(step: Step, before: Stages, following: dict[int, dict[Place, tuple[str, ...]]]) -> None:
    """Adds the fields after a stage to ``following``.

    Args:
        step: The stage, for records of one schema (a variant).
        before: Maps each field before the stage to the aliases of the stages that have changed it.
        following: The same for the fields after the stage, for each variant. The key is the number of the variant.
    """
    if step.skipped is not None:
        _merge(following.setdefault(step.skipped, {}), before)
    if step.taken is not None and step.plan.after is not None and step.plan.condition is not False:
        changed = _changed(step.plan.before, step.plan.after, step.plan.stage.alias, before)
        _merge(following.setdefault(step.taken, {}), changed)


def _changed(before: PlanRecord, after: PlanRecord, alias: str, stages: Stages) -> Stages:
    """Returns a dict from each field after the stage ``alias`` to the aliases of all stages that have changed it so
    far.

    ``stages`` is the dict for the fields before this stage. A field inherits the aliases of the fields from which it
    comes. If this stage changed the field, the alias of the stage is added.
    """
    cells = list(_cells(before))
    results: dict[Place, tuple[str, ...]] = {}
    for place, cell in _cells(after):
        same = []
        for other, one in cells:
            if _contents(one) == _contents(cell):
                same.append(other)
        # A second mask of a masked field leaves schema, sources and marks as they were, so equal contents prove
        # nothing.
        changed_again = not cell.marks.isdisjoint({"masked", "opened"}) and not isinstance(cell.expr, Ref)
        if same and not changed_again:
            own: Iterable[str] = ()
            # two fields may have equal contents; the one with the same path is the origin, if there is one
            origins = [place] if place in same else same
        else:
            own = (alias,)
            origins = []
            for other, one in cells:
                if one.sources & cell.sources:
                    origins.append(other)
        names: list[str] = []
        for origin in origins:
            names.extend(stages.get(origin, ()))
        results[place] = tuple(dict.fromkeys((*names, *own)))
    return results


def _contents(cell: Cell) -> tuple[object, ...]:
    return cell.schema, cell.sources, cell.copied, cell.marks


def _cells(record: PlanRecord) -> Iterator[tuple[Place, Cell]]:
    for side, node in (("key", record.key), ("value", record.value)):
        for path, cell in columns(node):
            yield ((side, path), cell)


def _merge(into: dict[Place, tuple[str, ...]], more: Stages) -> None:
    for place, names in more.items():
        into[place] = tuple(dict.fromkeys((*into.get(place, ()), *names)))
