"""The metadata that an asset has before any run: columns, lineage, chain, location."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from dagster_smt.chain import Chain, Plan
from dagster_smt.orchestration.metadata.schema_metadata import (
    PlanOrReport,
    chain_markdown,
    column_lineage,
    column_schema,
)
from dagster_smt.orchestration.metadata.table_values import problem_table, table
from dagster_smt.privacy.applied_policy import AppliedPolicy
from dagster_smt.tables.local import is_uri
from dagster_smt.tables.sink_options import Sink

Metadata = dict[str, Any]
DEAD_LETTER_PLACE = "dagster_smt/dead_letter_place"
"""The metadata key for the destination of a table's dead letters."""


def definition_metadata(
    plan: Plan, key: dg.AssetKey, sink: Sink, topics: Sequence[dg.AssetKey], chain_file: Path | None = None
) -> Metadata:
    """Returns the metadata that the asset ``key`` has before any run."""
    metadata: Metadata = {
        **column_metadata(plan, sink, topics),
        **masked_metadata(sorted({e.path for e in plan.entries if e.action == "masked"})),
        **_chain_metadata(plan.chain),
        "dagster/table_name": sink.table or ".".join(key.path),
        "dagster/storage_kind": sink.storage,
    }
    if sink.path:
        metadata["dagster/uri"] = uri_of(sink.path)
    if plan.warnings:
        metadata["dagster_smt/plan_warnings"] = problem_table(plan.warnings)
    if chain_file is not None:
        metadata["dagster/code_references"] = _code_reference(chain_file)
    return metadata


def uri_of(path: str | Path) -> str:
    """Returns the location ``path`` of a table as a URI."""
    if is_uri(path):
        return str(path)
    return Path(path).absolute().as_uri()


def _code_reference(path: Path) -> dg.CodeReferencesMetadataValue:
    with warnings.catch_warnings():
        # Dagster has no stable class for this entry, and nothing depends on the entry
        warnings.simplefilter("ignore", dg.BetaWarning)
        reference = dg.LocalFileCodeReference(file_path=str(path.absolute()), line_number=1, label="chain")
        return dg.CodeReferencesMetadataValue(code_references=[reference])


def column_metadata(described: PlanOrReport, sink: Sink, topics: Sequence[dg.AssetKey]) -> Metadata:
    """Returns metadata with the column schema and the column lineage of a table. The schema or the lineage is left out
    if ``described`` (a plan or a report) does not contain it.
    """
    schema, lineage = column_schema(described, sink), column_lineage(described, sink, topics)
    metadata: Metadata = {"dagster/column_schema": schema} if schema is not None else {}
    if lineage is None:
        return metadata
    return {**metadata, "dagster/column_lineage": lineage}


def masked_metadata(masked: list[str]) -> Metadata:
    """Returns metadata with ``masked``, the paths of the masked fields; empty if no field is masked."""
    if masked:
        return {"dagster_smt/masked_fields": dg.MetadataValue.json(masked)}
    return {}


_DECISION_COLUMNS = dict.fromkeys(("topics", "part", "field", "tags", "action", "reason"), "string")
MOST_DECISIONS = 500
"""The largest number of a policy's decisions in metadata. ``dagster-smt explain --policy`` shows all decisions."""


def policy_metadata(policy: AppliedPolicy) -> Metadata:
    """Returns metadata with the decisions of ``policy``."""
    rows = []
    for one in policy.decisions[:MOST_DECISIONS]:
        tags = ", ".join(tag.name for tag in one.tags)
        field = one.path or "(whole)"
        values = (one.topics or "all topics of the table", one.part, field, tags, one.action, one.reason)
        rows.append(dict(zip(_DECISION_COLUMNS, values, strict=True)))
    return {"dagster_smt/policy": table(rows, _DECISION_COLUMNS)}


def _chain_metadata(chain: Chain) -> Metadata:
    return {
        "dagster_smt/chain": dg.MetadataValue.md(chain_markdown(chain)),
        "dagster_smt/chain_hash": chain.hash,
    }


def table_key(key: dg.AssetKey, topic: str) -> dg.AssetKey:
    """Returns the asset key of one of the tables that the asset ``key`` writes. For the key ``cdc`` and the topic
    ``orders``, returns ``cdc/orders``. The asset has a sink with ``{topic}``, so it writes a table for each topic.
    """
    return dg.AssetKey([*key.path, topic])


def tables_key(key: dg.AssetKey) -> dg.AssetKey:
    """Returns the key of the asset whose partitions are the tables that the asset ``key`` writes. For the key ``cdc``,
    returns ``cdc/tables``.
    """
    return dg.AssetKey([*key.path, "tables"])


def dead_letters_key(key: dg.AssetKey) -> dg.AssetKey:
    """Returns the key of the asset that shows the dead letters of the table ``key``. For ``lake/orders``, returns
    ``lake/orders/dead_letters``.
    """
    return dg.AssetKey([*key.path, "dead_letters"])
