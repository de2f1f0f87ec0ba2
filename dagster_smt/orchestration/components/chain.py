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
from dagster_smt.orchestration.components.scaffolder import SmtChainScaffolder
from dagster_smt.orchestration.components.shared_topics import observed_elsewhere
from dagster_smt.orchestration.components.table_models import (
    ResolvedChain,
    ResolvedChecks,
    ResolvedErasure,
    ResolvedJars,
    ResolvedLetters,
    ResolvedLineage,
    ResolvedMaintenance,
    ResolvedPartitions,
    ResolvedPolicy,
    ResolvedSink,
    ResolvedTable,
)
from dagster_smt.orchestration.definitions.assets import build_smt_asset, two_writers
from dagster_smt.orchestration.definitions.dead_letters import build_dead_letters_asset, build_redrive_job
from dagster_smt.orchestration.definitions.erasure_asset import build_erasure_asset
from dagster_smt.orchestration.definitions.maintenance import build_maintenance_job
from dagster_smt.orchestration.definitions.many_tables import build_tables_asset, writes_many
from dagster_smt.orchestration.definitions.partition_keys import OF_TIME
from dagster_smt.orchestration.definitions.tables import SmtTable
from dagster_smt.orchestration.definitions.topic_assets import build_topic_assets
from dagster_smt.orchestration.definitions.translator import SmtAssetData, SmtTranslator, topic_keys
from dagster_smt.orchestration.resources import SparkSessionResource
from dagster_smt.tables.sink_options import TableSink

ERASURES = "erasures"
"""The last part of the asset key of an erasure asset, which erases people from a table."""
KIND_PREFIX = "dagster/kind/"
"""The prefix of the tags in which Dagster stores the kinds of an asset. These tags are not copied from tables to
topics, which have their own kinds.
"""


class NewTopicSensorModel(dg.Model):
    """The arguments of ``build_new_topic_sensor``."""

    name: str = Field(default="", description="The name of the sensor; by default it follows from the asset.")
    exclude: str = Field(
        default="", description="A regular expression for topics to leave out although they match the pattern."
    )
    request_runs: bool = Field(default=True, description="True: new partitions get a run at once.")
    max_new_per_tick: int = Field(default=200, description="Limit of the new partitions in a tick.")
    max_topics: int = Field(default=5_000, description="Limit of the partitions.")
    on_vanished: Literal["report", "delete"] = Field(
        default="report",
        description="The reaction to topics that have vanished: report them, or delete their partitions.",
    )
    minimum_interval_seconds: int = Field(default=60, description="Seconds between two ticks.")


class LagSensorModel(dg.Model):
    """The arguments of ``build_lag_sensor``."""

    name: str = Field(default="", description="The name of the sensor; by default it follows from the asset.")
    min_records: int | None = Field(default=None, description="The least number of unread records that starts a run.")
    min_bytes: int | None = Field(default=None, description="The same in bytes; for file topics only.")
    max_age_seconds: float | None = Field(
        default=None, description="Start a run with fewer records once the last run is so many seconds old."
    )
    minimum_interval_seconds: int = Field(default=60, description="Seconds between two ticks.")


class SparkModel(dg.Model):
    """The settings of a Spark session for this component. Components with equal settings share the session."""

    conf: dict[str, str] = Field(default_factory=dict, description="Settings of Spark, as flat names.")
    remote: str | None = Field(default=None, description="Address of a Spark Connect server: sc://host:15002.")


@cache
def _session(text: str) -> SparkSessionResource:
    """Returns the session resource with the settings in ``text``, which is the JSON of a ``SparkModel``.

    For equal models, the function returns the same object, so that Dagster can merge the resources of several
    components.
    """
    model = SparkModel.model_validate_json(text)
    return SparkSessionResource(conf=model.conf, remote=model.remote)


@dg.scaffold_with(SmtChainScaffolder)
@dataclass
class SmtChainComponent(dg.Component, dg.Resolvable):
    """Kafka Connect's single message transforms between topics and a table, as one asset.

    The chain is the ``transforms.*`` properties of a connector, in a file next to ``defs.yaml``, or a list of stages.
    Topics become observable assets. The schedule and the sensors of the table stay off until somebody switches them on
    in the UI.
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
            description="The Spark session of this component, and of components with the same settings or none. One "
            "resource under spark_key for the project, in defs/spark.py, is better."
        ),
    ] = None
    errors_tolerance: Annotated[
        Literal["none", "all"],
        dg.Resolver.default(
            description="Connect's errors.tolerance: none (a topic with failing records is left out), or all (failing "
            "records become dead letters)."
        ),
    ] = "none"
    dead_letters: ResolvedLetters = None
    dead_letter_topic: Annotated[
        str, dg.Resolver.default(description="Topic of the dead letters; empty: no dead letters.")
    ] = ""
    partitions_def: ResolvedPartitions = None
    destinations: Annotated[
        Sequence[str],
        dg.Resolver.default(
            description="Of a sink with {topic}: topics after the chain whose tables are assets of their own.",
            examples=[["orders", "refunds"]],
        ),
    ] = ()
    checks: ResolvedChecks = field(default_factory=SmtChecks)
    dead_paths: Annotated[
        Literal["error", "warn"] | None,
        dg.Resolver.default(
            description="The reaction to a mask, drop or rename that can touch nothing: error (the default), or warn."
        ),
    ] = None
    smt_jars: ResolvedJars = ()
    connect_version: Annotated[
        str,
        dg.Resolver.default(description="The version of Kafka Connect whose classes run them; by default 4.3.1."),
    ] = ""
    policy: ResolvedPolicy = None
    lineage: ResolvedLineage = None
    allow_chain_override: Annotated[
        bool | None,
        dg.Resolver.default(
            description="True: a run config may replace the chain; by default only if nothing is masked or dropped."
        ),
    ] = None
    observe_topics: Annotated[
        bool, dg.Resolver.default(description="True: the topics become observable assets of this component.")
    ] = True
    schedule: Annotated[str | None, dg.Resolver.default(description="A cron schedule.", examples=["*/15 * * * *"])] = (
        None
    )
    execution_timezone: Annotated[
        str | None,
        dg.Resolver.default(
            description="The time zone of the schedule; by default the zone of the time partitions, or UTC.",
            examples=["Europe/Berlin"],
        ),
    ] = None
    new_topic_sensor: Annotated[
        NewTopicSensorModel | None,
        dg.Resolver.default(description="Turns new topics into partitions, for an asset with a partition per topic."),
    ] = None
    lag_sensor: Annotated[
        LagSensorModel | None, dg.Resolver.default(description="Requests a run when there are unread records.")
    ] = None
    maintenance: ResolvedMaintenance = None
    erasure: ResolvedErasure = None
    op: Annotated[
        OpSpec | None, dg.Resolver.default(description="Settings of the asset's step: pool, tags, backfill_policy.")
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
        """Returns the description of the component that ``dg utils inspect-component`` prints."""
        return dg.ComponentTypeSpec(
            description=(cls.__doc__ or "").split("\n")[0],
            tags=["kafka", "spark", "delta", "iceberg"],
        )

    def get_asset_spec(self, data: SmtAssetData) -> dg.AssetSpec:
        """Returns the spec of the asset of the table in ``data``, changed by the option ``translation`` of
        ``defs.yaml``. Subclasses can override this method.
        """
        # not the method of _OfComponent, which would call this method again, without an end
        spec = SmtTranslator.get_asset_spec(_OfComponent(self, data), data)
        if self.translation is not None:
            return self.translation(spec, data)
        return spec

    def get_topic_spec(self, spec: dg.AssetSpec, data: SmtAssetData) -> dg.AssetSpec:
        """Returns the spec of a topic. The option ``translation`` of ``defs.yaml`` changes the asset spec of the table.
        The changed group, owners, tags and key prefix also apply to the topic.

        If the component has no ``translation``, or does not observe its topics, the method returns ``spec`` unchanged.
        """
        if self.translation is None or not self.observe_topics:
            return spec
        translated = self.translation(spec, data)
        # ``key_prefix: crm`` leads to crm/topics/orders, but ``key: gold/orders`` is meant for the table alone
        prefixed = translated.key.path[-len(spec.key.path) :] == spec.key.path
        tags = {}
        for key, text in translated.tags.items():
            if not key.startswith(KIND_PREFIX):
                tags[key] = text
        kinds = {}
        for key, text in spec.tags.items():
            if key.startswith(KIND_PREFIX):
                kinds[key] = text
        return spec.replace_attributes(
            key=translated.key if prefixed else spec.key,
            group_name=translated.group_name,
            owners=translated.owners,
            tags={**tags, **kinds},
        )

    def build_defs(self, context: dg.ComponentLoadContext | None) -> dg.Definitions:
        """Returns the asset with its topics, jobs, schedules and sensors."""
        translator = _OfComponent(self)
        asset = self._asset(translator)
        name = asset.op.name
        schedules = []
        if self.schedule:
            schedules.append(build_smt_schedule(asset, self.schedule, execution_timezone=self.execution_timezone))
        others: Sequence[SmtChainComponent] = ()
        if context is not None:  # a component that is created in Python does not belong to a project
            others = context.component_tree.get_all_components(SmtChainComponent)
        self.check_sink(others)
        topics = self._topics(asset, translator, others)
        if self.spark is not None:
            self.check_session(others)
            resources = {self.spark_key: _session(self.spark.model_dump_json())}
        else:
            resources = {}
        beside: list[dg.AssetSpec | dg.AssetsDefinition] = []
        # the jobs replace rows by the coordinates of their records; partitions of time are launched again instead
        again = self.sink.coordinates is not None and not isinstance(asset.partitions_def, OF_TIME)
        jobs = [build_repair_job(asset)] if again else []
        if self.dead_letter_topic or self.dead_letters is not None:
            beside.append(build_dead_letters_asset(asset))
            jobs += [build_redrive_job(asset)] if again else []
        if writes_many(self.sink):
            beside.append(build_tables_asset(asset))
        if self.erasure is not None:
            beside.append(build_erasure_asset([asset], key=[*self.asset_key.path, ERASURES]))
        if self.maintenance is not None:
            jobs.append(build_maintenance_job(asset, self.maintenance))
            schedules += self._maintenance_schedule(jobs[-1])
        return dg.Definitions(
            assets=[asset, *topics, *beside],
            jobs=jobs,
            sensors=list(self._sensors(asset, name)),
            schedules=schedules,
            resources=resources,
        )

    def _topics(
        self, asset: dg.AssetsDefinition, translator: "_OfComponent", others: Sequence["SmtChainComponent"]
    ) -> list[dg.AssetsDefinition]:
        """Returns the observable assets of the topics in the component's table. Topics that another component observes
        are left out.
        """
        if not self.observe_topics:
            return []
        elsewhere = set()
        if translator.data is not None:
            elsewhere = observed_elsewhere(self, translator.data, others)
        if elsewhere and elsewhere.issuperset(topic_keys(self.table)):
            return []
        name = f"{asset.op.name}_topics"
        return [build_topic_assets(self.table, name=name, translator=translator, without=elsewhere)]

    def check_sink(self, others: Sequence["SmtChainComponent"]) -> None:
        """Raises an error if another component in ``others`` writes to the same table. Without this check, only the
        first run would report the problem (SMT524).

        Raises:
            ConfigError: SMT037, with the names of both components.
        """
        if not isinstance(self.sink, TableSink):
            return
        for other in others:
            # ``others`` are all components of the project, including this one
            if other.asset_key == self.asset_key or not isinstance(other.sink, TableSink):
                continue
            if other.sink.place != self.sink.place:
                continue
            first, second = sorted((self.asset_key, other.asset_key))
            raise ConfigError(two_writers(second.to_user_string(), self.sink.place, first))

    def check_session(self, others: Sequence["SmtChainComponent"]) -> None:
        """Raises an error if another component in ``others`` uses the same resource key for a session with different
        settings.

        A process can have only one session.

        Raises:
            ConfigError: SMT050, with the names of both components.
        """
        for other in others:
            if other.spark in (None, self.spark) or other.spark_key != self.spark_key:
                continue
            names = sorted(c.asset_key.to_user_string() for c in (self, other))
            statement = f"{names[0]} and {names[1]} have different settings of Spark for the resource {self.spark_key}"
            hint = (
                "remove spark from both and give the project one SparkSessionResource, in defs/spark.py, as in "
                "docs/dagster.md; or give one of the components another spark_key"
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
        """Returns the checks of the table. If the component has a maintenance job, they include the check for small
        files.
        """
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
            destinations=tuple(self.destinations),
            dead_letter_topic=self.dead_letter_topic,
            checks=self._checks(),
            dead_paths=self.dead_paths,
            smt_jars=self.smt_jars,
            connect_version=self.connect_version,
            allow_chain_override=self.allow_chain_override,
            policy=self.policy,
            lineage=self.lineage,
            erasure=self.erasure,
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
        sensors: list[tuple[dg.Model | None, str, Callable[..., dg.SensorDefinition]]] = [
            (self.new_topic_sensor, "new_topics", build_new_topic_sensor),
            (self.lag_sensor, "lag", build_lag_sensor),
        ]
        for model, kind, build in sensors:
            if model is not None:
                arguments = model.model_dump()
                yield build(asset, self.table, **{**arguments, "name": arguments["name"] or f"{name}_{kind}"})


class _OfComponent(SmtTranslator):
    """The translator of a component, which creates asset specs. The translator must first create the spec of the asset,
    because the specs of the asset's topics copy attributes from it.
    """

    def __init__(self, component: SmtChainComponent, data: SmtAssetData | None = None):
        self.component, self.data = component, data

    def get_asset_spec(self, data: SmtAssetData) -> dg.AssetSpec:
        self.data = data
        return self.component.get_asset_spec(data)

    def get_topic_spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        if self.data is not None:
            return self.component.get_topic_spec(spec, self.data)
        return spec
