"""``SmtChainComponent``: a chain between topics and a table, declared in ``defs.yaml``."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Literal

import dagster as dg
from dagster.components.resolved.core_models import OpSpec
from dagster.components.utils.translation import TranslationFn, TranslationFnResolver
from pydantic import Field

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.orchestration.automation.repair import build_repair_job
from dagster_smt.orchestration.automation.schedules import build_smt_schedule
from dagster_smt.orchestration.automation.sensors import build_lag_sensor, build_new_topic_sensor
from dagster_smt.orchestration.checks import DEFAULT_SMALL_FILES, SmtChecks
from dagster_smt.orchestration.components.fields import (
    ResolvedChain,
    ResolvedChecks,
    ResolvedLetters,
    ResolvedMaintenance,
    ResolvedPartitions,
    ResolvedSink,
    ResolvedTable,
)
from dagster_smt.orchestration.components.scaffolder import SmtChainScaffolder
from dagster_smt.orchestration.definitions.assets import build_smt_asset
from dagster_smt.orchestration.definitions.dead_letters import build_dead_letters_asset, build_redrive_job
from dagster_smt.orchestration.definitions.maintenance import build_maintenance_job
from dagster_smt.orchestration.definitions.partitions import OF_TIME
from dagster_smt.orchestration.definitions.tables import SmtTable
from dagster_smt.orchestration.definitions.topic_assets import build_topic_assets
from dagster_smt.orchestration.definitions.translator import SmtAssetData, SmtTranslator
from dagster_smt.orchestration.resources import SparkSessionResource

KIND_PREFIX = "dagster/kind/"
"""Dagster keeps kinds among tags; a topic has its own."""


class NewTopicSensorModel(dg.Model):
    """See ``build_new_topic_sensor``."""

    name: str = Field(default="", description="The sensor's name; after the asset by default.")
    exclude: str = Field(default="", description="Topics to leave out though they match: a regular expression.")
    request_runs: bool = Field(default=True, description="Whether new partitions are run at once.")
    max_new_per_tick: int = Field(default=200, description="No more new partitions at a time than this.")
    max_topics: int = Field(default=5_000, description="More topics than this are refused.")
    on_vanished: Literal["report", "delete"] = Field(
        default="report", description="What becomes of partitions whose topic is gone: report, or delete them."
    )
    minimum_interval_seconds: int = Field(default=60, description="Seconds between two looks.")


class LagSensorModel(dg.Model):
    """See ``build_lag_sensor``."""

    name: str = Field(default="", description="The sensor's name; after the asset by default.")
    min_records: int | None = Field(default=None, description="A run is asked for from so many unread records on.")
    min_bytes: int | None = Field(default=None, description="The same in bytes; of file topics only.")
    max_age_seconds: float | None = Field(
        default=None, description="Fewer are enough once the last run is so many seconds ago."
    )
    minimum_interval_seconds: int = Field(default=60, description="Seconds between two looks.")


class SparkModel(dg.Model):
    """A Spark session for this component, and for others that say the same."""

    conf: dict[str, str] = Field(default_factory=dict, description="Settings of Spark, flat.")
    remote: str | None = Field(default=None, description="Address of a Spark Connect server: sc://host:15002.")


@cache
def _session(text: str) -> SparkSessionResource:
    """The resource for a ``SparkModel``: one object for all that say the same, for Dagster merges them by identity."""
    given = SparkModel.model_validate_json(text)
    return SparkSessionResource(conf=given.conf, remote=given.remote)


@dg.scaffold_with(SmtChainScaffolder)
@dataclass
class SmtChainComponent(dg.Component, dg.Resolvable):
    """Kafka Connect's single message transforms between topics and a table, as one asset.

    The chain is the ``transforms.*`` properties of a connector, in a file beside ``defs.yaml``, or stages in place.
    Topics become observable assets, and what can start runs (a schedule, sensors) is declared with the table, switched
    off until somebody switches it on in the UI.
    """

    asset_key: Annotated[
        dg.ResolvedAssetKey, dg.Resolver.default(description="The asset's key.", examples=["lake/orders"])
    ]
    chain: ResolvedChain
    table: ResolvedTable
    sink: ResolvedSink
    spark_key: Annotated[str, dg.Resolver.default(description="Resource key of the Spark session.")] = "spark"
    spark: Annotated[
        SparkModel | None,
        dg.Resolver.default(
            description="The session, for this component and all that say the same or nothing; better one resource "
            "under spark_key for the project, in defs/spark.py."
        ),
    ] = None
    errors_tolerance: Annotated[
        Literal["none", "all"],
        dg.Resolver.default(
            description="Connect's errors.tolerance: none (topics with records that fail are left out), or all (dead "
            "letters)."
        ),
    ] = "none"
    dead_letters: ResolvedLetters = None
    dead_letter_topic: Annotated[str, dg.Resolver.default(description="Topic of the dead letters; empty: none.")] = ""
    partitions_def: ResolvedPartitions = None
    checks: ResolvedChecks = field(default_factory=SmtChecks)
    dead_paths: Annotated[
        Literal["error", "warn"] | None,
        dg.Resolver.default(
            description="What a mask, drop or rename is that can touch nothing: error (the default), or warn."
        ),
    ] = None
    allow_chain_override: Annotated[
        bool | None,
        dg.Resolver.default(
            description="Whether a run config may give another chain; by default not where it masks or drops something."
        ),
    ] = None
    observe_topics: Annotated[
        bool, dg.Resolver.default(description="Whether the topics become observable assets of this component.")
    ] = True
    schedule: Annotated[str | None, dg.Resolver.default(description="A cron schedule.", examples=["*/15 * * * *"])] = (
        None
    )
    execution_timezone: Annotated[
        str | None,
        dg.Resolver.default(
            description="The zone of the schedule; by default that of partitions of time, else UTC.",
            examples=["Europe/Berlin"],
        ),
    ] = None
    new_topic_sensor: Annotated[
        NewTopicSensorModel | None,
        dg.Resolver.default(description="Finds new topics and makes partitions of them, with a partition per topic."),
    ] = None
    lag_sensor: Annotated[
        LagSensorModel | None, dg.Resolver.default(description="Asks for a run when there are unread records.")
    ] = None
    maintenance: ResolvedMaintenance = None
    op: Annotated[
        OpSpec | None, dg.Resolver.default(description="Of the asset's step: pool, tags, backfill_policy.")
    ] = None
    translation: (
        Annotated[
            TranslationFn[SmtAssetData],
            TranslationFnResolver(template_vars_for_translation_fn=lambda data: {"data": data}),
        ]
        | None
    ) = None

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """What ``dg utils inspect-component`` shows beside the schema."""
        return dg.ComponentTypeSpec(
            description=(cls.__doc__ or "").split("\n")[0],
            tags=["kafka", "spark", "delta", "iceberg"],
        )

    def get_asset_spec(self, data: SmtAssetData) -> dg.AssetSpec:
        """The asset's spec. Override it in a subclass; ``translation`` in the file comes on top."""
        spec = SmtTranslator.get_asset_spec(_OfComponent(self, data), data)
        if self.translation is not None:
            return self.translation(spec, data)
        return spec

    def get_topic_spec(self, spec: dg.AssetSpec, data: SmtAssetData) -> dg.AssetSpec:
        """The spec of one of its topics: group, owners, tags and key prefix as ``translation`` gives the asset.

        The rest of ``translation`` is the table's alone. Topics that another component observes stay as they are.
        """
        if self.translation is None or not self.observe_topics:
            return spec
        told = self.translation(spec, data)
        prefixed = told.key.path[-len(spec.key.path) :] == spec.key.path
        tags = {}
        for key, text in told.tags.items():
            if not key.startswith(KIND_PREFIX):
                tags[key] = text
        kinds = {}
        for key, text in spec.tags.items():
            if key.startswith(KIND_PREFIX):
                kinds[key] = text
        return spec.replace_attributes(
            key=told.key if prefixed else spec.key,
            group_name=told.group_name,
            owners=told.owners,
            tags={**tags, **kinds},
        )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The asset, its topics, and what can start its runs."""
        translator = _OfComponent(self)
        asset = self._asset(translator)
        name, topics = asset.op.name, []
        if self.observe_topics:
            topics.append(build_topic_assets(self.table, name=f"{name}_topics", translator=translator))
        schedules = []
        if self.schedule:
            schedules.append(build_smt_schedule(asset, self.schedule, execution_timezone=self.execution_timezone))
        if self.spark is not None:
            tree = context.component_tree
            self.check_session(tree.get_all_components(SmtChainComponent))
        if self.spark is not None:
            resources = {self.spark_key: _session(self.spark.model_dump_json())}
        else:
            resources = {}
        letters: list[dg.AssetSpec] = []
        again = self.sink.coordinates is not None and not isinstance(asset.partitions_def, OF_TIME)
        jobs = [build_repair_job(asset)] if again else []
        if self.dead_letter_topic or self.dead_letters is not None:
            letters.append(build_dead_letters_asset(asset))
            jobs += [build_redrive_job(asset)] if again else []
        if self.maintenance is not None:
            jobs.append(build_maintenance_job(asset, self.maintenance))
            schedules += self._maintenance_schedule(jobs[-1])
        return dg.Definitions(
            assets=[asset, *topics, *letters],
            jobs=jobs,
            sensors=list(self._sensors(asset, name)),
            schedules=schedules,
            resources=resources,
        )

    def check_session(self, others: Sequence["SmtChainComponent"]) -> None:
        """Refuse another session under the same resource key: a process has one, and so has a project.

        Raises:
            ConfigError: SMT050, with both components.
        """
        for other in others:
            if other.spark in (None, self.spark) or other.spark_key != self.spark_key:
                continue
            names = sorted(c.asset_key.to_user_string() for c in (self, other))
            statement = f"{names[0]} and {names[1]} say different settings of Spark for the resource {self.spark_key}"
            hint = (
                "leave spark out of both and give the project one SparkSessionResource, in defs/spark.py: "
                "docs/dagster.md shows it; or give one of them another spark_key"
            )
            raise ConfigError(Problem("SMT050", "spark", statement, hint))

    def _maintenance_schedule(self, job: Any) -> list[dg.ScheduleDefinition]:
        if self.maintenance is None or not self.maintenance.schedule:
            return []
        schedule = dg.ScheduleDefinition(
            name=f"{job.name}_schedule",
            job=job,
            cron_schedule=self.maintenance.schedule,
            execution_timezone=self.execution_timezone,
        )
        return [schedule]

    def _checks(self) -> SmtChecks:
        """Returns the checks: with a maintenance job, runs report small files as well."""
        if self.maintenance is None or self.checks.max_small_files is not None:
            return self.checks
        return replace(self.checks, max_small_files=DEFAULT_SMALL_FILES)

    def _asset(self, translator: SmtTranslator) -> dg.AssetsDefinition:
        op = self.op or OpSpec()
        table = SmtTable(
            key=self.asset_key,
            chain=self.chain,
            table=self.table,
            sink=self.sink,
            partitions_def=self.partitions_def,
            errors_tolerance=self.errors_tolerance,
            dead_letters=self.dead_letters,
            dead_letter_topic=self.dead_letter_topic,
            checks=self._checks(),
            dead_paths=self.dead_paths,
            allow_chain_override=self.allow_chain_override,
        )
        return build_smt_asset(
            table,
            spark_key=self.spark_key,
            backfill_policy=op.backfill_policy,
            pool=op.pool,
            op_tags=op.tags,
            translator=translator,
        )

    def _sensors(self, asset: dg.AssetsDefinition, name: str) -> Iterator[dg.SensorDefinition]:
        wanted: list[tuple[dg.Model | None, str, Callable[..., dg.SensorDefinition]]] = [
            (self.new_topic_sensor, "new_topics", build_new_topic_sensor),
            (self.lag_sensor, "lag", build_lag_sensor),
        ]
        for model, kind, build in wanted:
            if model is not None:
                given = model.model_dump()
                yield build(asset, self.table, **{**given, "name": given["name"] or f"{name}_{kind}"})


class _OfComponent(SmtTranslator):
    """Asks a component for its specs. What it says of topics depends on its asset, which is asked for first."""

    def __init__(self, component: SmtChainComponent, data: SmtAssetData | None = None):
        self.component, self.data = component, data

    def get_asset_spec(self, data: SmtAssetData) -> dg.AssetSpec:
        self.data = data
        return self.component.get_asset_spec(data)

    def get_topic_spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        if self.data is not None:
            return self.component.get_topic_spec(spec, self.data)
        return spec
