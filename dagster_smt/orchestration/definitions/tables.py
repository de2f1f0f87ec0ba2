"""Tables as users declare them: a chain between a topic table and a sink, with the attributes of the asset."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dagster as dg

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.lineage.open_lineage import OpenLineage
from dagster_smt.orchestration.checks import SmtChecks
from dagster_smt.orchestration.launch.config_schema import DeadPaths, Tolerance
from dagster_smt.privacy.policy import Policy
from dagster_smt.tables.erasure.spec import SmtErasure
from dagster_smt.tables.sink_of_statement import sink_of_statement
from dagster_smt.tables.sink_options import LetterPlace, Sink
from dagster_smt.tables.topic_table import TopicTable

ChainSource = Path | Mapping[str, Any] | Sequence[Mapping[str, Any]] | Chain


@dataclass(frozen=True, kw_only=True)
class SmtTable:
    """A chain between a topic table and a sink, with the attributes of its asset.

    ``build_smt_asset``, ``build_smt_assets`` and ``build_smt_op`` build assets and ops from such tables.

    Example:
        .. code-block:: python

            orders = SmtTable(
                key=["lake", "orders"],
                chain=Path("chains/orders.properties"),
                table=TopicTable(FileTopics(Path("topics")), topics=("orders",)),
                sink=DeltaSink(Path("lake/orders")),
            )

    Attributes:
        key: The asset key. Only the table of an op may lack a key; the runs of the op then materialize no asset.
        chain: A file, flat connector properties, a list of stages, or a parsed chain.
        table: The topics that a run reads, and their formats.
        sink: The table or the topics that a run writes to.
        errors_tolerance: With ``none``, a run does not commit a topic with a failed record, and fails after it has
            committed the other topics. With ``all``, failed records become dead letters.
        dead_letters: The destination of dead letters; by default the cluster or folder of the topics.
        dead_letter_topic: The topic of the dead letters. If empty, no dead letters are written.
        checks: The asset checks, and the severity of their failures.
        dead_paths: The reaction to a mask, drop or rename that can never change a record: an ``error``, or a warning
            (``warn``). By default, the setting of the chain applies. If the chain has no such setting, ``error``
            applies.
        smt_jars: Jars with classes of the chain that this package does not contain: files, folders as in Connect's
            ``plugin.path``, and Maven coordinates (``group:artifact:version``).
        connect_version: The version of Kafka Connect for the classes in ``smt_jars``. If empty, the version in the
            chain, or 4.3.1.
        allow_chain_override: True if a run config may replace the chain. By default, a run config may do so only if
            neither the chain nor the policy masks or drops anything. A chain without the masks would show the masked
            values to everyone who launches runs.
        policy: A privacy policy, which sets an action for each tag of a field, such as "mask ``PII.email``": a file,
            its contents, or a ``Policy``. The stages of the policy come before the stages of the chain, and no run
            config can change them.
        lineage: The target of the runs' OpenLineage events; None: no events. A run never fails because an event cannot
            be sent.
        erasure: The fields of records and rows that contain the id of a person, and the register (the table of erased
            people). Runs leave out the records of people in the register. The asset from ``build_erasure_asset`` erases
            people.
        partitions_def: Partitions by topic, by time, or by both. With a partition per topic, all partitions of a run
            share one window, one Spark job and one commit. The function ``topic_to_partition_key`` returns the key of a
            topic. A topic that fails is left out and does not stop the other topics. A time partition begins at the
            first record of its span of time, and ends before the first record of the next partition. A second run of
            the partition replaces exactly these records. In a ``MultiPartitionsDefinition`` of topics and times, a
            partition holds the records of one topic in one span of time.
        destinations: For a sink with ``{topic}``: the output topics whose tables are separate assets with checks. The
            other tables are partitions of one asset (``build_tables_asset``).
        description: As in ``dg.AssetSpec``; the default text names the topics and the stages.
        group_name: As in ``dg.AssetSpec``.
        tags: As in ``dg.AssetSpec``.
        owners: As in ``dg.AssetSpec``.
        kinds: As in ``dg.AssetSpec``. These kinds replace the kinds of source and sink.
        deps: Upstream assets besides the topics.
        metadata: As in ``dg.AssetSpec``.
        automation_condition: As in ``dg.AssetSpec``.
        freshness_policy: As in ``dg.AssetSpec``.
    """

    chain: ChainSource
    table: TopicTable
    sink: Sink
    key: dg.AssetKey | Sequence[str] | str | None = None
    errors_tolerance: Tolerance = "none"
    dead_letters: LetterPlace | None = None
    dead_letter_topic: str = ""
    checks: SmtChecks | None = None
    dead_paths: DeadPaths | None = None
    smt_jars: Sequence[str | Path] = ()
    connect_version: str = ""
    allow_chain_override: bool | None = None
    policy: Policy | Path | Mapping[str, Any] | None = None
    lineage: OpenLineage | None = None
    erasure: SmtErasure | None = None
    partitions_def: dg.PartitionsDefinition | None = None
    destinations: Sequence[str] = ()
    description: str | None = None
    group_name: str | None = None
    tags: Mapping[str, str] | None = None
    owners: Sequence[str] | None = None
    kinds: set[str] | None = None
    deps: Iterable[Any] = ()
    metadata: Mapping[str, Any] | None = None
    automation_condition: dg.AutomationCondition[Any] | None = None
    freshness_policy: dg.FreshnessPolicy | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sink", sink_of_statement(self.sink, self.table))


def parsed_chain(
    chain: ChainSource,
    name: str,
    dead_paths: DeadPaths | None = None,
    smt_jars: Sequence[str | Path] = (),
    connect_version: str = "",
) -> Chain:
    """Parses a chain from a file, from properties or from stages.

    Args:
        chain: A file, properties, stages, or a parsed chain. In a parsed chain, only ``dead_paths`` changes.
        name: The name of the asset or op, for messages.
        dead_paths: The reaction to a mask, drop or rename that can never change a record; None to use the setting of
            the chain.
        smt_jars, connect_version: As in ``SmtTable``; ignored for a parsed chain, which has its own values.

    Raises:
        ConfigError: The chain is wrong; the error lists all of its problems.
    """
    if not isinstance(chain, Chain):
        place = chain.name if isinstance(chain, Path) else f"{name} chain"
        chain = parse_chain(chain, place=place, smt_jars=smt_jars, connect_version=connect_version)
    return replace(chain, dead_paths=dead_paths or chain.dead_paths)


def table_argument(function: str, table: SmtTable | None, former: Mapping[str, Any]) -> SmtTable:
    """Returns the table that a caller has passed to ``function``. The caller passes it as ``table``, or as the
    deprecated keyword arguments in ``former``.

    Args:
        function: The name of the function that is called, for messages.
        table: The positional argument.
        former: The keyword arguments that the function does not declare.

    Raises:
        TypeError: The call has both a table and fields of a table, or an unknown argument.
    """
    if table is None:
        hint = f"call {function}(SmtTable(key=…, chain=…, table=…, sink=…))"
        # with the stack level 3, the warning shows the line that calls ``function``
        warnings.warn(f"{function}(key=…, chain=…, …) is deprecated: {hint}", DeprecationWarning, stacklevel=3)
        return SmtTable(**former)
    if not isinstance(table, SmtTable):
        raise TypeError(f"{function}() takes an SmtTable, not a {type(table).__name__}")
    if former:
        raise TypeError(f"{function}() got unexpected keyword arguments: {', '.join(former)}")
    return table
