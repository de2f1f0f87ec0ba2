"""Presents the tables of a sink such as ``lake/{topic}`` in Dagster. The sink writes one table for each topic. Tables
in ``destinations`` become separate assets, and all other tables become partitions of one asset.
"""

from collections.abc import Sequence

import dagster as dg

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.topics.table_names import name_in_path, topic_of_name, unfit_topics
from dagster_smt.orchestration.definitions.op_names import main_spec
from dagster_smt.orchestration.definitions.partition_keys import partition_key_to_topic, topic_to_partition_key
from dagster_smt.orchestration.metadata.definition_metadata import table_key, tables_key
from dagster_smt.tables.sink_options import Sink, TableSink

PER_TOPIC = "dagster_smt/tables"
"""The metadata key that marks an asset as consisting of many tables. The value is the path or name of the tables, such
as ``lake/{topic}``.
"""


def writes_many(sink: Sink) -> bool:
    """Returns True if ``sink`` writes a table for each output topic, as the path ``lake/{topic}`` requests."""
    return isinstance(sink, TableSink) and sink.per_topic


def tables_partitions(key: dg.AssetKey) -> dg.DynamicPartitionsDefinition:
    """Returns the definition of the partitions that stand for the tables of the asset ``key``. Each run adds a
    partition for each new table.
    """
    return dg.DynamicPartitionsDefinition(name="__".join([*key.path, "tables"]))


def table_partition(topic: str) -> str:
    """Returns the partition key of the table for ``topic``.

    Characters of ``topic`` that are not valid in the name of a folder or in a partition key are escaped.
    """
    return topic_to_partition_key(name_in_path(topic))


def topic_of_table_partition(partition: str) -> str:
    """Returns the topic for ``partition``, a key that ``table_partition`` returned."""
    return topic_of_name(partition_key_to_topic(partition))


def build_tables_asset(asset: dg.AssetsDefinition) -> dg.AssetSpec:
    """Builds an asset for the tables that ``asset`` writes to a sink with ``{topic}``. The asset has a partition for
    each table.

    Each run adds the partitions of new tables. For each table that it has written, the run materializes the partition,
    with rows, schema, column lineage and offsets. Tables in ``destinations`` are separate assets instead.

    Example:
        .. code-block:: python

            cdc = build_smt_asset(SmtTable(key="cdc", chain=chain, table=topics, sink=DeltaSink("lake/{topic}")))
            defs = dg.Definitions([cdc, build_tables_asset(cdc)], resources={"spark": spark})

    Args:
        asset: An asset that ``build_smt_asset`` returns and whose sink contains ``{topic}``.

    Raises:
        ConfigError: SMT735, the asset writes one table.
    """
    spec = main_spec(asset)
    if PER_TOPIC not in spec.metadata:
        hint = "give its sink a path or name with {topic}"
        raise ConfigError(Problem("SMT735", spec.key.to_user_string(), "the asset is one table", hint))
    return dg.AssetSpec(
        tables_key(spec.key),
        deps=[spec.key],
        group_name=spec.group_name,
        owners=spec.owners,
        kinds=spec.kinds,
        partitions_def=tables_partitions(spec.key),
        metadata={PER_TOPIC: spec.metadata[PER_TOPIC]},
        description=f"A partition for each table that {spec.key.to_user_string()} writes.",
    )


def destination_specs(
    destinations: Sequence[str], sink: Sink, spec: dg.AssetSpec, topics: Sequence[dg.AssetKey]
) -> list[dg.AssetSpec]:
    """Returns an asset spec for each topic in ``destinations``. The tables of these topics are separate assets.

    Args:
        destinations: The output topics.
        sink: The sink of the asset.
        spec: The spec of the asset.
        topics: The keys of the topics that the asset reads.
    """
    specs = []
    for topic in destinations:
        assert isinstance(sink, TableSink)
        own = sink.of_topic(topic)
        specs.append(
            dg.AssetSpec(
                table_key(spec.key, topic),
                deps=list(topics),
                group_name=spec.group_name,
                owners=spec.owners,
                tags=spec.tags,
                # a run without records for the topic does not write its table
                skippable=True,
                code_version=spec.code_version,
                metadata={"dagster/table_name": own.table or topic, "dagster/storage_kind": own.storage},
                description=f"The records that the chain of {spec.key.to_user_string()} sends to the topic {topic}.",
            )
        )
    return specs


def check_destinations(destinations: Sequence[str], sink: Sink, partitions: object, place: str) -> None:
    """Raises an error if ``destinations`` lists a table that no run can write.

    Raises:
        ConfigError: SMT735, the sink is one table, or the asset has partitions; SMT731 or SMT732, a topic in
            ``destinations`` cannot be the name of a table.
    """
    if not destinations:
        return
    where = f"{place} destinations"
    if not writes_many(sink):
        hint = "give the sink a path or name with {topic}, or leave destinations out"
        raise ConfigError(Problem("SMT735", where, "the sink is one table", hint))
    if partitions is not None:
        hint = "leave partitions_def out, or destinations: tables are partitions of build_tables_asset as well"
        raise ConfigError(Problem("SMT735", where, "an asset with partitions cannot have assets for its tables", hint))
    assert isinstance(sink, TableSink)
    keyed = sink.keyed
    problems = unfit_topics(destinations, (), keeps_deletions=keyed is not None and bool(keyed.sequence_by))
    if problems:
        raise ConfigError(problems.values())
