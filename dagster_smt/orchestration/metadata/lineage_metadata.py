"""Lineage as metadata: the edges between columns, and the columns that contain values of tagged fields."""

import dagster as dg

from dagster_smt.chain import Chain, Plan
from dagster_smt.lineage.edges import Edge, edges_of, edges_of_report
from dagster_smt.lineage.tagged import TaggedColumn, tagged_columns
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.orchestration.metadata.definition_metadata import Metadata
from dagster_smt.privacy.applied_policy import AppliedPolicy
from dagster_smt.tables.sink_options import Sink

EDGES = "dagster_smt/column_edges"
TAGGED = "dagster_smt/tagged_columns"
"""The metadata key for the columns that contain values of tagged fields. ``dagster-smt privacy`` reads this
metadata.
"""
MOST_EDGES = 5_000


def run_edges(plan: Plan, report: RunReport | None) -> tuple[Edge, ...]:
    """Returns the lineage edges of a run. They come from ``plan``, or from ``report`` if the records carried their own
    schemas.
    """
    if plan.typed:
        return edges_of(plan)
    return edges_of_report(report, plan.chain) if report is not None else ()


def run_columns(
    policy: AppliedPolicy | None, edges: tuple[Edge, ...], sink: Sink, chain: Chain
) -> tuple[TaggedColumn, ...]:
    """Returns the columns that contain values of fields with a tag in ``policy``. Returns an empty tuple if there is no
    policy.
    """
    if policy is None:
        return ()
    return tagged_columns(policy, edges, has_columns=sink.kind == "columns", chain=chain)


def lineage_metadata(plan: Plan, report: RunReport | None, policy: AppliedPolicy | None, sink: Sink) -> Metadata:
    """Returns metadata with the lineage edges of the run in ``report``, and with the columns that contain values of
    tagged fields.
    """
    edges, metadata = run_edges(plan, report), Metadata()
    if edges and sink.kind == "columns":
        metadata[EDGES] = dg.MetadataValue.json([edge.to_json() for edge in edges[:MOST_EDGES]])
    if policy is not None:
        columns = []
        for column in run_columns(policy, edges, sink, plan.chain):
            columns.append(column.to_json())
        metadata[TAGGED] = dg.MetadataValue.json(columns)
    return metadata
