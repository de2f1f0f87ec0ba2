"""From a chain on a table to Dagster's asset spec: the one place to customise."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from dagster_smt.chain import Chain, Plan
from dagster_smt.model.reports.markdown import code, plain
from dagster_smt.orchestration.launch.versions import code_version
from dagster_smt.orchestration.metadata.definition_metadata import definition_metadata
from dagster_smt.tables.spec import KafkaTopics, Sink, TopicTable

_KINDS = {"delta": "deltalake"}
"""Storage whose kind has another name in Dagster, which has an icon for it."""


@dataclass(frozen=True, kw_only=True)
class AssetLooks:
    """How an asset looks in Dagster, as given to ``build_smt_asset``."""

    description: str | None = None
    group_name: str | None = None
    partitions_def: dg.PartitionsDefinition | None = None
    tags: Mapping[str, str] | None = None
    owners: Sequence[str] | None = None
    kinds: set[str] | None = None
    deps: Iterable[Any] = ()
    metadata: Mapping[str, Any] | None = None
    automation_condition: dg.AutomationCondition[Any] | None = None
    freshness_policy: dg.FreshnessPolicy | None = None


@dataclass(frozen=True, kw_only=True)
class SmtAssetData(AssetLooks):
    """What is known of an asset when it is defined, beside its looks.

    Attributes:
        key: The asset key that was asked for.
        table: What it reads.
        sink: Where it writes.
        plan: What its chain does.
        chain_file: The file with the chain, if it is in one.
    """

    key: dg.AssetKey
    table: TopicTable
    sink: Sink
    plan: Plan
    chain_file: Path | None = None


class SmtTranslator:
    """Makes the asset spec. Subclass it and change the spec that ``super().get_asset_spec(data)`` returns."""

    def get_asset_spec(self, data: SmtAssetData) -> dg.AssetSpec:
        """The spec: key, upstream topics, metadata, code version, kinds."""
        topics = self.get_topic_keys(data)
        return dg.AssetSpec(
            key=data.key,
            deps=[*topics, *data.deps],
            description=data.description or described(data.table, data.plan.chain),
            metadata={
                **definition_metadata(data.plan, data.key, data.sink, topics, data.chain_file),
                **(data.metadata or {}),
            },
            group_name=data.group_name,
            code_version=code_version(data.plan.chain, data.table, data.sink),
            kinds=data.kinds if data.kinds is not None else _kinds(data),
            partitions_def=data.partitions_def,
            tags=data.tags,
            owners=data.owners,
            automation_condition=data.automation_condition,
            freshness_policy=data.freshness_policy,
        )

    def get_topic_keys(self, data: SmtAssetData) -> Sequence[dg.AssetKey]:
        """The assets that stand for the topics, see ``topic_keys``."""
        return [self.get_topic_spec(dg.AssetSpec(key)).key for key in topic_keys(data.table)]

    def get_topic_spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        """The spec of a topic's asset; ``build_topic_assets`` asks for it, and the table's asset for its key."""
        return spec


def topic_keys(table: TopicTable) -> list[dg.AssetKey]:
    """Asset keys of a table's topics: ``kafka/orders``, and ``kafka/pattern/orders`` for ``orders\\..*``.

    Of file topics, and of a table that holds topics, they begin with ``topics`` instead.
    """
    root = "kafka" if isinstance(table.source, KafkaTopics) else "topics"
    keys = [dg.AssetKey([root, topic]) for topic in table.topics]
    if table.pattern:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "_", table.pattern.replace("\\", "")).strip("._-")
        keys.append(dg.AssetKey([root, "pattern", plain or "all"]))
    return keys


def _kinds(data: SmtAssetData) -> set[str]:
    kinds = {"pyspark", _KINDS.get(data.sink.storage, data.sink.storage)}
    if isinstance(data.table.source, KafkaTopics):
        return kinds | {"kafka"}
    return kinds


def described(table: TopicTable, chain: Chain) -> str:
    """What an asset or op is where nobody describes it: its topics, and the stages that they go through."""
    names = ", ".join(map(plain, table.topics[:5])) or f"topics like {code(table.pattern)}"
    return f"{names} after {', '.join(plain(s.alias) for s in chain.stages) or 'no stage'}"
