"""Builds assets for tables. Many tables can share one step and one Spark session."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

import dagster as dg

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.orchestration.definitions.op_names import op_name
from dagster_smt.orchestration.definitions.planned_table import PlannedAsset, planned_asset
from dagster_smt.orchestration.definitions.tables import SmtTable, table_argument
from dagster_smt.orchestration.definitions.translator import SmtTranslator
from dagster_smt.orchestration.launch.config_schema import smt_config_schema
from dagster_smt.orchestration.runs.dagster_events import Events
from dagster_smt.orchestration.runs.failures import one_after_the_other, problems_as_failure
from dagster_smt.orchestration.runs.step_bodies import run_asset
from dagster_smt.orchestration.runs.tables_of_ops import TABLES_OF_OPS


@overload
def build_smt_asset(
    table: SmtTable,
    /,
    *,
    spark_key: str = "spark",
    backfill_policy: dg.BackfillPolicy | None = None,
    pool: str | None = None,
    retry_policy: dg.RetryPolicy | None = None,
    translator: SmtTranslator | None = None,
    op_tags: Mapping[str, Any] | None = None,
) -> dg.AssetsDefinition: ...


@overload
def build_smt_asset(**former: Any) -> dg.AssetsDefinition: ...


def build_smt_asset(
    table: SmtTable | None = None,
    /,
    *,
    spark_key: str = "spark",
    backfill_policy: dg.BackfillPolicy | None = None,
    pool: str | None = None,
    retry_policy: dg.RetryPolicy | None = None,
    translator: SmtTranslator | None = None,
    op_tags: Mapping[str, Any] | None = None,
    **former: Any,
) -> dg.AssetsDefinition:
    """Builds an asset that applies a chain to the new records of a topic table.

    The asset has metadata with its schema, lineage and chain even before its first run. Each run adds metadata about
    itself, such as counts, schema differences, offsets and dead letters, and a result for each check. A run without new
    records observes the asset instead of materializing it. The run config may override the window, ``errors.tolerance``
    and, if permitted, the chain.

    Example:
        .. code-block:: python

            orders = build_smt_asset(
                SmtTable(
                    key=["lake", "orders"],
                    chain=Path("chains/orders.properties"),
                    table=TopicTable(FileTopics(Path("topics")), topics=("orders",)),
                    sink=DeltaSink(Path("lake/orders")),
                )
            )

    Args:
        table: The table, with its chain, topics, sink, checks and partitions, and with the attributes of the asset.
        spark_key: The resource key of the Spark session; ``spark_session_of`` lists the accepted resources.
        backfill_policy: By default, one run handles all partitions of a backfill. With partitions by both topic and
            time, each partition gets its own run.
        pool: The Dagster pool; by default a pool per asset, because a table may have only one writer.
        retry_policy: The policy by which Dagster retries the step. A retry is safe, because it reads the same range of
            offsets. If the configuration is wrong, or if a run rejected records, Dagster never retries.
        translator: Customises the asset spec.
        op_tags: As in ``dg.asset``.
        former: Deprecated: the fields of the table as keyword arguments.

    Raises:
        ConfigError: SMT040, the table has no key; or the chain is wrong, and the error lists all of its problems.
        PlanError: No record with the table's declared schema can pass through the chain, or a mask, drop or rename can
            never change a record.
    """
    planned = planned_asset(table_argument("build_smt_asset", table, former), translator)
    name = op_name(planned.key)

    # not ``dg.asset``, because each table in ``destinations`` is one more asset of this op
    @dg.multi_asset(
        name=name,
        description=planned.spec.description,
        specs=planned.specs,
        check_specs=planned.check_specs,
        config_schema=_config_schema(planned),
        required_resource_keys={spark_key},
        # if the deployment sets the limit of the pool to 1, a run of the asset waits for the run before it
        pool=pool or name,
        retry_policy=retry_policy,
        backfill_policy=_backfill(backfill_policy, planned),
        op_tags=op_tags,
    )
    def smt_asset(context: dg.AssetExecutionContext) -> Events:
        # AssetExecutionContext.op_config is deprecated
        config = context.op_execution_context.op_config
        with problems_as_failure():
            spark = getattr(context.resources, spark_key)
            yield from run_asset(planned, config, f"ops.{name}.config", spark, context)

    TABLES_OF_OPS[smt_asset.op] = {"": planned}
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
    """Builds an asset for each table, all in one op with one step and one Spark session. Any subset of the tables can
    be selected.

    The tables run one after the other. If a table fails, the next tables still run, and the step fails at its end. The
    run config has a part for each table, under the name that ``table_name`` returns.

    Args:
        name: The name of the op.
        tables: The tables. Either all have the same ``partitions_def``, or none has one.
        spark_key: As in ``build_smt_asset``.
        backfill_policy: As in ``build_smt_asset``.
        retry_policy: As in ``build_smt_asset``.
        translator: As in ``build_smt_asset``.
        op_tags: As in ``build_smt_asset``.
        pool: The Dagster pool; named after the op by default.

    Raises:
        ConfigError: A chain is wrong; SMT037, two tables share a key or a sink; SMT040, there is no table, or a table
            has no key; SMT735, a table has ``destinations``.
        PlanError: No record with a table's declared schema can pass through its chain, or a mask, drop or rename can
            never change a record.
    """
    if not tables:
        raise ConfigError(Problem("SMT040", f"{name} tables", "no table is given", "give at least one SmtTable"))
    planned_tables = {}
    for table in tables:
        planned = planned_asset(table, translator)
        if table.destinations:
            hint = "make an asset of its own of this table: build_smt_asset"
            statement = "destinations and other tables cannot share a step"
            raise ConfigError(Problem("SMT735", f"{name} {planned.name}", statement, hint))
        planned_tables[table_name(planned.key)] = planned
    _check_together(name, tables, planned_tables.values())

    @dg.multi_asset(
        name=name,
        description="; ".join(planned.spec.description or "" for planned in planned_tables.values()),
        specs=[planned.spec for planned in planned_tables.values()],
        check_specs=[spec for planned in planned_tables.values() for spec in planned.check_specs],
        config_schema={part: _config_schema(planned) for part, planned in planned_tables.items()},
        required_resource_keys={spark_key},
        pool=pool or name,
        retry_policy=retry_policy,
        can_subset=True,
        backfill_policy=_backfill(backfill_policy, next(iter(planned_tables.values()))),
        op_tags=op_tags,
    )
    def smt_assets(context: dg.AssetExecutionContext) -> Events:
        yield from _run_selected(context, name, planned_tables, getattr(context.resources, spark_key))

    TABLES_OF_OPS[smt_assets.op] = planned_tables
    return smt_assets


def _config_schema(table: PlannedAsset) -> dict[str, dg.Field]:
    return smt_config_schema(table.own_chain, table.definition.errors_tolerance)


def _run_selected(
    context: dg.AssetExecutionContext, name: str, tables: Mapping[str, PlannedAsset], spark: object
) -> Events:
    """Runs the selected ``tables`` one after the other. After the last table, raises the errors of all tables
    together.
    """
    config = context.op_execution_context.op_config
    runs = []
    for part, table in tables.items():
        if table.key in context.selected_asset_keys:
            events = run_asset(table, config[part], f"ops.{name}.config.{part}", spark, context)
            runs.append((table.name, events))
    yield from one_after_the_other(runs, context.log)


def two_writers(name: str, place: str, other: dg.AssetKey) -> Problem:
    """Returns the problem that two assets, ``name`` and ``other``, write to the same sink, ``place``."""
    statement = f"writes to {place}, as {other.to_user_string()} does"
    return Problem("SMT037", name, statement, "a table has one chain that writes it: give each asset a sink of its own")


def _check_together(name: str, tables: Sequence[SmtTable], planned: Iterable[PlannedAsset]) -> None:
    places: dict[str, dg.AssetKey] = {}
    problems = []
    for table in planned:
        other = places.setdefault(table.sink.place, table.key)
        if other != table.key:
            problems.append(two_writers(f"{name} {table.name}", table.sink.place, other))
    # ``planned`` has one entry for tables with equal keys, so it then has fewer entries than ``tables``
    if len(places) + len(problems) < len(tables):
        problems.append(Problem("SMT037", name, "two tables have the same asset key", "give each its own"))
    if problems:
        raise ConfigError(problems)


def _backfill(policy: dg.BackfillPolicy | None, table: PlannedAsset) -> dg.BackfillPolicy | None:
    if policy is not None or table.spec.partitions_def is None:
        return policy
    # a run covers one topic in one span of time, because the window of a run is a single span for all of its topics
    if table.topic_dimension:
        return dg.BackfillPolicy.multi_run(1)
    return dg.BackfillPolicy.single_run()


table_name = op_name
"""Returns the name of a table's part in the run config of ``build_smt_assets``. For the asset key ``lake/orders``, the
name is ``lake__orders``.
"""
