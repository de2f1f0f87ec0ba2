"""Defines planned tables. When definitions load, the chain of each table is parsed, and its output schema is computed
(the plan). Runs use the result.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import dagster as dg

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.schema import Schema
from dagster_smt.orchestration.check_specs import CHECKS_OF_DESTINATIONS, check_specs, checks_of, contract_of
from dagster_smt.orchestration.checks import SmtChecks
from dagster_smt.orchestration.definitions.many_tables import (
    PER_TOPIC,
    check_destinations,
    destination_specs,
    writes_many,
)
from dagster_smt.orchestration.definitions.partition_keys import topic_dimension
from dagster_smt.orchestration.definitions.policies import definition_policy, run_policy
from dagster_smt.orchestration.definitions.tables import SmtTable, parsed_chain
from dagster_smt.orchestration.definitions.translator import SmtAssetData, SmtTranslator, topic_keys
from dagster_smt.orchestration.launch.config_schema import RunSettings, decode_config
from dagster_smt.orchestration.metadata.definition_metadata import DEAD_LETTER_PLACE, policy_metadata, table_key
from dagster_smt.orchestration.resources import need_packages
from dagster_smt.privacy.applied_policy import AppliedPolicy
from dagster_smt.tables.planning import plan_sink
from dagster_smt.tables.sink_options import KafkaSink, Sink, TableSink
from dagster_smt.tables.spark_packages import packages_of
from dagster_smt.tables.topic_table import TopicTable

_PLANNED: "WeakValueDictionary[int, PlannedTable]" = WeakValueDictionary()
"""The planned tables of this process. A table stays in this dictionary as long as its definition exists."""


@dataclass(frozen=True, kw_only=True)
class PlannedTable:
    """A table that an op runs.

    Attributes:
        name: The name in reports and logs. The state of the table remembers its writer by this name.
        definition: The table as the user has declared it.
        chain: The stages of the policy, followed by the chain of the definition.
        own_chain: The chain without the policy. A run config may replace it, unless ``required_chain`` is set.
        sink: The sink of the definition. A sink that writes to topics of a cluster has a consumer group named after the
            table.
        topics: The asset keys of the topics.
        searches_masked: True if each run searches the other fields of the output for original values of masked fields.
        contract: The columns that the table must have; None: no contract.
        counts_keys: True if each run counts the keys that have several rows.
        small_below: If set, each run counts the files of the table, and also the files with fewer bytes than this
            number.
        policy: The policy of the table; None: no policy.
        certified_records: The number of records of each run whose results are compared with those of Kafka Connect;
            None: no comparison.
        connector_chain: The chain that Kafka Connect's classes run when the results are compared; None: the chain of
            the run.
    """

    name: str
    definition: SmtTable
    chain: Chain
    own_chain: Chain
    sink: Sink
    topics: Sequence[dg.AssetKey]
    searches_masked: bool = False
    contract: Schema | None = None
    counts_keys: bool = False
    small_below: int | None = None
    policy: AppliedPolicy | None = None
    certified_records: int | None = None
    connector_chain: Chain | None = None

    def __post_init__(self) -> None:
        # by id, because a planned table contains dicts, and therefore cannot be hashed
        _PLANNED[id(self)] = self

    @property
    def table(self) -> TopicTable:
        """The topic table that runs read."""
        return self.definition.table

    @property
    def required_chain(self) -> Chain | None:
        """The chain that every run must have, without the stages of the policy; None if a run config may choose a
        different chain.
        """
        allowed = self.definition.allow_chain_override
        if allowed is None:
            allowed = not self.chain.hides
        if allowed:
            return None
        return self.own_chain

    def settings(self, config: Mapping[str, Any], place: str, topics: tuple[str, ...] = ()) -> RunSettings:
        """Returns the settings in ``config``, a run config. The chain in the settings begins with the stages of the
        table's policy.

        The arguments are the same as for ``decode_config``.

        Raises:
            ConfigError: See ``decode_config``.
            SmtError: See ``run_policy``.
        """
        settings = decode_config(config, place, topics, only=self.required_chain, foreign=self.own_chain.foreign)
        return self.under_policy(settings)

    def under_policy(self, settings: RunSettings) -> RunSettings:
        """Returns ``settings`` with the stages of the table's policy before the chain. The chain in ``settings`` must
        not yet contain these stages.

        Raises:
            SmtError: See ``run_policy``.
        """
        if self.policy is None:
            return replace(settings, defined=self.chain)
        policy, own = run_policy(self.policy, self.definition), settings.chain
        return replace(settings, chain=policy.on(own), defined=policy.on(self.own_chain), policy=policy, own=own)

    @property
    def letter_place(self) -> str:
        """A phrase with the destination of the dead letters; empty if there are no dead letters."""
        place, topic = self.definition.dead_letters, self.definition.dead_letter_topic
        if isinstance(place, TableSink):
            return place.place
        if topic:
            return f"{(place or self.table.source).place}: {topic}"
        return ""


@dataclass(frozen=True, kw_only=True)
class PlannedAsset(PlannedTable):
    """A table that is an asset.

    Attributes:
        spec: The spec of the asset.
        check_names: The names of the asset's checks.
        topic_dimension: For partitions by both topic and time, the name of the dimension whose keys are topics.
            Otherwise empty.
    """

    spec: dg.AssetSpec
    check_names: Sequence[str] = ()
    topic_dimension: str = ""

    @property
    def key(self) -> dg.AssetKey:
        """The key of the asset."""
        return self.spec.key

    @property
    def checks(self) -> SmtChecks:
        """The settings of the checks, as the user has declared them."""
        return self.definition.checks or SmtChecks()

    @property
    def specs(self) -> list[dg.AssetSpec]:
        """The specs of the asset, and of its tables that are separate assets."""
        return [self.spec, *destination_specs(self.definition.destinations, self.sink, self.spec, self.topics)]

    @property
    def destination_check_names(self) -> list[str]:
        """The names of the checks that each table in ``destinations`` gets. These tables are separate assets."""
        names = []
        for name in CHECKS_OF_DESTINATIONS:
            fits = {"keys_unique": self.sink.keyed is not None, "schema_matches_plan": self.sink.kind == "columns"}
            if fits.get(name, True) and name not in self.checks.off:
                names.append(name)
        return names

    @property
    def check_specs(self) -> list[dg.AssetCheckSpec]:
        """The specs of the checks."""
        specs = check_specs(self.key, self.check_names, self.checks)
        for topic in self.definition.destinations:
            specs += check_specs(table_key(self.key, topic), self.destination_check_names, self.checks)
        return specs


def planned_tables(name: str) -> list[PlannedTable]:
    """Returns the planned tables called ``name``, among the definitions that this process has loaded."""
    tables = []
    for table in _PLANNED.values():
        if table.name == name:
            tables.append(table)
    return tables


def planned_op(table: SmtTable, name: str) -> PlannedTable:
    """Reads and plans the chain of an op's table, and returns the planned table.

    Args:
        table: The table.
        name: The name of the op.

    Raises:
        ConfigError: The chain is wrong; the error lists all of its problems.
        PlanError: No record with the table's declared schema can pass through the chain, or a mask, drop or rename can
            never change a record.
    """
    own, policy, chain = _chains(table, name)
    plan_sink(chain, table.table, table.sink)
    return PlannedTable(
        name=name,
        definition=table,
        chain=chain,
        own_chain=own,
        sink=_sink_of(table, name),
        topics=topic_keys(table.table),
        policy=policy,
    )


def planned_asset(table: SmtTable, translator: SmtTranslator | None = None) -> PlannedAsset:
    """Reads and plans the chain of an asset's table, and returns the planned table with its asset spec.

    Args:
        table: The table.
        translator: Customises the asset spec.

    Raises:
        ConfigError: The table has no key; or the chain is wrong, and the error lists all of its problems.
        PlanError: No record with the table's declared schema can pass through the chain, or a mask, drop or rename can
            never change a record.
    """
    if table.key is None:
        raise ConfigError(Problem("SMT040", "SmtTable key", "no option is set", "give the asset a key"))
    own, policy, data = _asset_data(table, dg.AssetKey.from_coercible(table.key))
    translator = translator or SmtTranslator()
    # skippable: a run without new records observes the asset and does not materialize it
    spec = translator.get_asset_spec(data).replace_attributes(skippable=True)
    # the translator may have changed the key and the partitions, so both are read from its spec
    name = spec.key.to_user_string()
    check_destinations(table.destinations, table.sink, spec.partitions_def, name)
    if writes_many(table.sink):
        spec = spec.merge_attributes(metadata={PER_TOPIC: table.sink.place})
    checks = table.checks or SmtChecks()
    check_names = checks_of(checks, data.chain, table.sink, table.table.row)
    planned = PlannedAsset(
        name=name,
        definition=table,
        chain=data.chain,
        own_chain=own,
        policy=policy,
        sink=_sink_of(table, name),
        topics=translator.get_topic_keys(data),
        searches_masked="masked_values" in check_names,
        contract=contract_of(checks, table.sink, name) if "contract" in check_names else None,
        counts_keys="keys_unique" in check_names,
        small_below=checks.small_file_bytes if "small_files" in check_names else None,
        certified_records=checks.same_as_connect if "same_as_connect" in check_names else None,
        connector_chain=_connector_chain(checks, own),
        spec=spec,
        check_names=check_names,
        topic_dimension=topic_dimension(spec.partitions_def, name),
    )
    if policy is not None:
        spec = spec.merge_attributes(metadata=policy_metadata(policy))
    if planned.letter_place:
        spec = spec.merge_attributes(metadata={DEAD_LETTER_PLACE: planned.letter_place})
    return replace(planned, spec=spec)


def _connector_chain(checks: SmtChecks, chain: Chain) -> Chain | None:
    """Returns the chain in the file ``checks.connector``, with the jars of ``chain``; None if there is no such file.

    Raises:
        ConfigError: SMT971, the connector and ``chain`` have different numbers of stages. Or the connector's chain is
            wrong, and the error lists all of its problems.
    """
    if checks.connector is None:
        return None
    from dagster_smt.certify import check_same_stages  # loads slowly, and few tables need it

    connector = parse_chain(
        Path(checks.connector), smt_jars=chain.foreign.jars, connect_version=chain.foreign.connect_version
    )
    check_same_stages(chain, connector, "checks.connector")
    return connector


def _asset_data(table: SmtTable, key: dg.AssetKey) -> tuple[Chain, AppliedPolicy | None, SmtAssetData]:
    """Returns three things: the user's own chain of ``table``; the policy that applies to the table, or None; and the
    data for a translator. The chain and the plan in this data begin with the stages of the policy.
    """
    own, policy, chain = _chains(table, key.to_user_string())
    attributes = {}
    # not with asdict, which would also convert the dataclasses inside, such as the sink, into dicts
    for field in fields(SmtTable):
        attributes[field.name] = getattr(table, field.name)
    data = SmtAssetData(
        **{**attributes, "key": key, "chain": chain},
        plan=plan_sink(chain, table.table, table.sink),
        chain_file=table.chain if isinstance(table.chain, Path) else None,
    )
    return own, policy, data


def _chains(table: SmtTable, name: str) -> tuple[Chain, AppliedPolicy | None, Chain]:
    """Returns three things: the user's own chain of ``table``; the policy that applies to the table, or None; and the
    own chain after the stages of the policy. ``name`` is the name of the table in messages.
    """
    own = parsed_chain(table.chain, name, table.dead_paths, table.smt_jars, table.connect_version)
    policy = definition_policy(table)
    if policy is None:
        return own, None, own
    return own, policy, policy.on(own)


def _sink_of(table: SmtTable, name: str) -> Sink:
    """Returns the sink of ``table``. If the sink writes to topics of a cluster, the result also has a consumer group
    called ``name``.
    """
    sink = table.sink
    if isinstance(sink, KafkaSink):
        # the asset ``lake/orders`` has the consumer group ``lake.orders``
        sink = sink.of(re.sub(r"[^A-Za-z0-9._-]+", ".", name))
    # the Spark session starts later, with the packages that all loaded definitions need
    need_packages(packages_of(table.table, sink, table.dead_letters))
    if table.erasure is not None:
        need_packages(packages_of(table.erasure.register_table))
    return sink
