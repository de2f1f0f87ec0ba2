"""Creates the Dagster asset spec of a table. To customise specs, write a subclass of the translator."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from dagster_smt.chain import Chain, Plan
from dagster_smt.model.reports.markdown import code, plain
from dagster_smt.orchestration.definitions.tables import SmtTable
from dagster_smt.orchestration.launch.code_versions import code_version
from dagster_smt.orchestration.metadata.definition_metadata import definition_metadata
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.topic_table import TopicTable

_KINDS = {"delta": "deltalake"}
"""Maps kinds of storage to the names that Dagster uses for them. With these names, Dagster shows its icons."""


@dataclass(frozen=True, kw_only=True)
class SmtAssetData(SmtTable):
    """The data of a table that a translator receives. It is an ``SmtTable`` with a parsed chain, and with the plan of
    the chain.

    Attributes:
        key: The asset key that the definition requests.
        chain: The chain.
        plan: The plan of the chain: the schema and the lineage after each stage.
        chain_file: The file with the chain, if the chain is in a file.
    """

    key: dg.AssetKey
    chain: Chain
    plan: Plan
    chain_file: Path | None = None


class SmtTranslator:
    """A translator that creates asset specs. To customise specs, write a subclass and change the spec that
    ``super().get_asset_spec(data)`` returns.
    """

    def get_asset_spec(self, data: SmtAssetData) -> dg.AssetSpec:
        """Returns the asset spec of the table in ``data``, with key, upstream topics, metadata, code version and
        kinds.
        """
        topics = self.get_topic_keys(data)
        return dg.AssetSpec(
            key=data.key,
            deps=[*topics, *data.deps],
            description=data.description or default_description(data.table, data.plan.chain),
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
        """Returns the asset keys of the topics that the table in ``data`` reads. By default, these are the keys that
        ``topic_keys`` returns.
        """
        keys = []
        for key in topic_keys(data.table):
            keys.append(self.get_topic_spec(dg.AssetSpec(key)).key)
        return keys

    def get_topic_spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        """Returns the asset spec of a topic, given the default ``spec``.

        ``build_topic_assets`` uses this spec. The asset of a table depends on the key of this spec.
        """
        return spec


def topic_keys(table: TopicTable) -> list[dg.AssetKey]:
    """Returns the asset keys of a table's topics.

    Examples are ``kafka/orders``, and ``kafka/pattern/orders`` for the pattern ``orders\\..*``. The keys of file
    topics, and of topics in a table, begin with ``topics`` instead of ``kafka``.
    """
    root = "kafka" if isinstance(table.source, KafkaTopics) else "topics"
    keys = [dg.AssetKey([root, topic]) for topic in table.topics]
    if table.pattern:
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", table.pattern.replace("\\", "")).strip("._-")
        keys.append(dg.AssetKey([root, "pattern", name or "all"]))
    return keys


def _kinds(data: SmtAssetData) -> set[str]:
    kinds = {"pyspark", _KINDS.get(data.sink.storage, data.sink.storage)}
    if isinstance(data.table.source, KafkaTopics):
        return kinds | {"kafka"}
    return kinds


def default_description(table: TopicTable, chain: Chain) -> str:
    """Returns the default description of an asset or op. The description names the topics of ``table`` and the stages
    of ``chain``.
    """
    names = ", ".join(map(plain, table.topics[:5])) or f"topics like {code(table.pattern)}"
    return f"{names} after {', '.join(plain(s.alias) for s in chain.stages) or 'no stage'}"
