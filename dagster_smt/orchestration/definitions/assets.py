"""Assets: chains on topic tables, one by one, or many tables in one step and one Spark session."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import dagster as dg

from dagster_smt.errors import ConfigError, Problem, SmtError
from dagster_smt.orchestration.checks import SmtChecks
from dagster_smt.orchestration.definitions.names import op_name
from dagster_smt.orchestration.definitions.tables import ChainSource, Prepared, SmtTable
from dagster_smt.orchestration.definitions.translator import SmtTranslator
from dagster_smt.orchestration.launch.config_schema import DeadPaths, Tolerance, smt_config_schema
from dagster_smt.orchestration.runs.again import MADE, Made
from dagster_smt.orchestration.runs.execution import problems_as_failure
from dagster_smt.orchestration.runs.steps import Events, SmtStep, raised
from dagster_smt.tables.spec import LetterPlace, Sink, TopicTable


def build_smt_asset(
    *,
    key: dg.AssetKey | Sequence[str] | str,
    chain: ChainSource,
    table: TopicTable,
    sink: Sink,
    spark_key: str = "spark",
    partitions_def: dg.PartitionsDefinition | None = None,
    backfill_policy: dg.BackfillPolicy | None = None,
    pool: str | None = None,
    errors_tolerance: Tolerance = "none",
    dead_letters: LetterPlace | None = None,
    dead_letter_topic: str = "",
    checks: SmtChecks | None = None,
    dead_paths: DeadPaths | None = None,
    allow_chain_override: bool | None = None,
    retry_policy: dg.RetryPolicy | None = None,
    translator: SmtTranslator | None = None,
    group_name: str | None = None,
    description: str | None = None,
    tags: Mapping[str, str] | None = None,
    owners: Sequence[str] | None = None,
    kinds: set[str] | None = None,
    deps: Iterable[Any] = (),
    metadata: Mapping[str, Any] | None = None,
    automation_condition: dg.AutomationCondition[Any] | None = None,
    freshness_policy: dg.FreshnessPolicy | None = None,
    op_tags: Mapping[str, Any] | None = None,
) -> dg.AssetsDefinition:
    """Make an asset that applies a chain to the new records of a topic table.

    Schema, lineage and the chain are its metadata before any run; each run adds counts, the ledger, the schema diff,
    offsets and dead letters, and a result for each of its checks. A run that finds nothing new observes the asset, and
    does not materialize it. The run config may override window, ``errors.tolerance`` and, where it is allowed, the
    chain.

    Example:
        .. code-block:: python

            orders = build_smt_asset(
                key=["lake", "orders"],
                chain=Path("chains/orders.properties"),
                table=TopicTable(FileTopics(Path("topics")), topics=("orders",)),
                sink=DeltaSink(Path("lake/orders")),
            )

    Args:
        key: The asset key.
        chain: A file, flat connector properties, a list of stages, or a parsed chain.
        table: What to read.
        sink: Where to write.
        spark_key: Resource key of the Spark session (see ``spark_session_of`` for what is accepted).
        partitions_def: One partition per topic, keys made by ``topic_to_partition_key``: all partitions of a run are
            one window, one Spark job and one commit, and a topic that fails is left out and does not stop the others.
            Or time windows: a partition is what the topics hold from the first record of its time up to the first of
            the next, and running it again replaces exactly that. Or both, a ``MultiPartitionsDefinition`` of topics
            and time windows: a partition is one topic's records of its time.
        backfill_policy: All partitions of a backfill in one run by default; of topics and times each in its own.
        pool: Dagster pool; one per asset by default, as a table has one writer.
        errors_tolerance: ``none`` fails the run before it commits, ``all`` makes dead letters.
        dead_letters: Where dead letters go, if not beside the topics read.
        dead_letter_topic: The topic of the dead letters; empty for none.
        checks: Which checks it has, and what a failed one means.
        dead_paths: What a mask, drop or rename is that can touch nothing: an ``error`` (by default, unless the chain
            says otherwise), or only a warning (``warn``).
        allow_chain_override: Whether the run config may give another chain. By default it may not where the chain masks
            or drops something: who may launch a run could see it unmasked.
        retry_policy: Safe: a retried run takes the same window. Wrong configurations and rejected records never retry.
        translator: Customises the asset spec.
        group_name: As in ``dg.AssetSpec``.
        description: As in ``dg.AssetSpec``.
        tags: As in ``dg.AssetSpec``.
        owners: As in ``dg.AssetSpec``.
        kinds: As in ``dg.AssetSpec``; they replace the kinds of source and sink.
        metadata: As in ``dg.AssetSpec``.
        automation_condition: As in ``dg.AssetSpec``.
        freshness_policy: As in ``dg.AssetSpec``.
        deps: Upstream assets beside the topics.
        op_tags: As in ``dg.asset``.

    Raises:
        ConfigError: The chain is wrong, with all problems.
        PlanError: No record of the table's declared schema can pass the chain.
    """
    given = locals()  # the arguments that say what the table is have the names of its fields
    described = SmtTable(**{f.name: given[f.name] for f in fields(SmtTable)})
    prepared = described.prepared(translator)
    policies = {"retry_policy": retry_policy, "backfill_policy": _backfill(backfill_policy, prepared)}
    return _single(prepared, spark_key, pool=pool or op_name(prepared.spec.key), op_tags=op_tags, **policies)


def _single(table: Prepared, spark_key: str, **of_op: Any) -> dg.AssetsDefinition:
    name = op_name(table.spec.key)

    @dg.multi_asset(
        name=name,
        description=table.spec.description,
        specs=[table.spec],
        check_specs=table.check_specs,
        config_schema=smt_config_schema(table.work.chain, table.errors_tolerance),
        required_resource_keys={spark_key},
        **of_op,
    )
    def smt_asset(context: dg.AssetExecutionContext) -> Events:
        config = context.op_execution_context.op_config
        step = SmtStep(table, config, f"ops.{name}.config", getattr(context.resources, spark_key))
        with problems_as_failure():
            yield from step.run(context)

    MADE[smt_asset.op] = Made(table, spark_key, of_op["pool"])
    return smt_asset


def build_smt_assets(
    *,
    name: str,
    tables: Sequence[SmtTable],
    spark_key: str = "spark",
    backfill_policy: dg.BackfillPolicy | None = None,
    pool: str | None = None,
    retry_policy: dg.RetryPolicy | None = None,
    translator: SmtTranslator | None = None,
    op_tags: Mapping[str, Any] | None = None,
) -> dg.AssetsDefinition:
    """Make several tables as one op: one step, one Spark session, any part of them selectable.

    Tables run one after the other; one that fails does not stop the others, and the step fails at its end. Each has
    its part of the run config, named as ``table_name`` names it.

    Args:
        name: Name of the op.
        tables: The tables; all with the same ``partitions_def``, or none.
        spark_key: As in ``build_smt_asset``.
        backfill_policy: As in ``build_smt_asset``.
        retry_policy: As in ``build_smt_asset``.
        translator: As in ``build_smt_asset``.
        op_tags: As in ``build_smt_asset``.
        pool: Dagster pool; named after the op by default.

    Raises:
        ConfigError: A chain is wrong, or SMT037: two tables share a key or a sink; with all problems.
        PlanError: No record of a table's declared schema can pass its chain.
    """
    prepared = {}
    for table in tables:
        data = table.prepared(translator)
        prepared[table_name(data.spec.key)] = data
    _check_together(name, tables, prepared.values())

    @dg.multi_asset(
        name=name,
        description="; ".join(p.spec.description or "" for p in prepared.values()),
        specs=[p.spec for p in prepared.values()],
        check_specs=[spec for p in prepared.values() for spec in p.check_specs],
        config_schema={n: smt_config_schema(p.work.chain, p.errors_tolerance) for n, p in prepared.items()},
        required_resource_keys={spark_key},
        pool=pool or name,
        retry_policy=retry_policy,
        can_subset=True,
        backfill_policy=_backfill(backfill_policy, next(iter(prepared.values()))),
        op_tags=op_tags,
    )
    def smt_assets(context: dg.AssetExecutionContext) -> Events:
        yield from _each(context, name, prepared, getattr(context.resources, spark_key))

    return smt_assets


def _each(context: dg.AssetExecutionContext, name: str, tables: Mapping[str, Prepared], spark: object) -> Events:
    """Run the tables that are selected, one after the other; what fails is raised at the end."""
    config = context.op_execution_context.op_config
    errors: list[SmtError] = []
    for part, table in tables.items():
        if table.spec.key not in context.selected_asset_keys:
            continue
        try:
            yield from SmtStep(table, config[part], f"ops.{name}.config.{part}", spark).run(context)
        except SmtError as error:
            context.log.error(f"{table.spec.key.to_user_string()}: {error}")
            errors.append(error)
    if errors:
        raise raised(errors)


def _check_together(name: str, tables: Sequence[SmtTable], prepared: Iterable[Prepared]) -> None:
    places: dict[str, dg.AssetKey] = {}
    problems = []
    for table in prepared:
        other = places.setdefault(table.work.sink.place, table.spec.key)
        if other != table.spec.key:
            statement = f"writes to {table.work.sink.place}, as {other.to_user_string()} does"
            hint = "a table has one chain that writes it: give each asset a sink of its own"
            problems.append(Problem("SMT037", f"{name} {table.spec.key.to_user_string()}", statement, hint))
    if len(places) + len(problems) < len(tables):
        problems.append(Problem("SMT037", name, "two tables have the same asset key", "give each its own"))
    if problems:
        raise ConfigError(problems)


def _backfill(policy: dg.BackfillPolicy | None, table: Prepared) -> dg.BackfillPolicy | None:
    if policy is not None or table.spec.partitions_def is None:
        return policy
    if table.topic_dimension:
        return dg.BackfillPolicy.multi_run(1)
    return dg.BackfillPolicy.single_run()


table_name = op_name
"""The name of a table's part in the run config of ``build_smt_assets``."""
