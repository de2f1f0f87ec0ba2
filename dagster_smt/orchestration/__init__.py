"""Builds Dagster assets and ops that apply a chain of transforms to records.

Importing this package loads neither PySpark nor a JVM. The first run loads both.
"""

from dagster_shared.libraries import DagsterLibraryRegistry

from dagster_smt.errors import ConfigError as ConfigError
from dagster_smt.errors import SmtError as SmtError
from dagster_smt.orchestration.automation.repair import build_repair_job as build_repair_job
from dagster_smt.orchestration.automation.schedules import build_smt_schedule as build_smt_schedule
from dagster_smt.orchestration.automation.sensors import build_lag_sensor as build_lag_sensor
from dagster_smt.orchestration.automation.sensors import build_new_topic_sensor as build_new_topic_sensor
from dagster_smt.orchestration.checks import SmtChecks as SmtChecks
from dagster_smt.orchestration.components import SmtChainComponent as SmtChainComponent
from dagster_smt.orchestration.components import SmtTopicCollectionComponent as SmtTopicCollectionComponent
from dagster_smt.orchestration.definitions.assets import build_smt_asset as build_smt_asset
from dagster_smt.orchestration.definitions.assets import build_smt_assets as build_smt_assets
from dagster_smt.orchestration.definitions.dead_letters import build_dead_letters_asset as build_dead_letters_asset
from dagster_smt.orchestration.definitions.dead_letters import build_redrive_job as build_redrive_job
from dagster_smt.orchestration.definitions.erasure_asset import build_erasure_asset as build_erasure_asset
from dagster_smt.orchestration.definitions.maintenance import build_maintenance_job as build_maintenance_job
from dagster_smt.orchestration.definitions.many_tables import build_tables_asset as build_tables_asset
from dagster_smt.orchestration.definitions.ops import build_smt_op as build_smt_op
from dagster_smt.orchestration.definitions.partition_keys import partition_key_to_topic as partition_key_to_topic
from dagster_smt.orchestration.definitions.partition_keys import topic_to_partition_key as topic_to_partition_key
from dagster_smt.orchestration.definitions.tables import SmtTable as SmtTable
from dagster_smt.orchestration.definitions.topic_assets import build_topic_assets as build_topic_assets
from dagster_smt.orchestration.definitions.translator import SmtAssetData as SmtAssetData
from dagster_smt.orchestration.definitions.translator import SmtTranslator as SmtTranslator
from dagster_smt.orchestration.launch.config_schema import smt_config_schema as smt_config_schema
from dagster_smt.orchestration.pipes.external import run_external as run_external
from dagster_smt.orchestration.pipes.pipes_spark import PipesSpark as PipesSpark
from dagster_smt.orchestration.pipes.pipes_spark import SparkSubmit as SparkSubmit
from dagster_smt.orchestration.resources import SparkSessionResource as SparkSessionResource
from dagster_smt.orchestration.resources import spark_session_of as spark_session_of
from dagster_smt.orchestration.runs.guard import Cancelled as Cancelled
from dagster_smt.orchestration.runs.guard import run_cancellable as run_cancellable
from dagster_smt.spark.environment import check_java as check_java
from dagster_smt.tables.erasure.spec import SmtErasure as SmtErasure
from dagster_smt.tables.maintenance.maintenance_options import SmtMaintenance as SmtMaintenance
from dagster_smt.version import __version__

# Dagster warns if one of its own packages has a different version than Dagster; this package has its own versions
DagsterLibraryRegistry.register("dagster-smt", __version__, is_dagster_package=False)
