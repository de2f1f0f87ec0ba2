"""Kafka Connect's single message transforms, run by Spark, orchestrated by Dagster.

Users import everything from this package. A name loads its module only when it is first used. So importing the package
loads neither PySpark nor a Kafka client nor Dagster.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dagster_smt.version import __version__ as __version__

if TYPE_CHECKING:
    from dagster_smt.chain import Chain as Chain
    from dagster_smt.chain import parse_chain as parse_chain
    from dagster_smt.errors import ConfigError as ConfigError
    from dagster_smt.errors import EngineError as EngineError
    from dagster_smt.errors import PlanError as PlanError
    from dagster_smt.errors import Problem as Problem
    from dagster_smt.errors import RecordsRejected as RecordsRejected
    from dagster_smt.errors import SmtError as SmtError
    from dagster_smt.errors import TableError as TableError
    from dagster_smt.errors import UnsupportedError as UnsupportedError
    from dagster_smt.lineage.open_lineage import OpenLineage as OpenLineage
    from dagster_smt.model.topics.columns import Column as Column
    from dagster_smt.model.topics.format import Format as Format
    from dagster_smt.orchestration import PipesSpark as PipesSpark
    from dagster_smt.orchestration import SmtAssetData as SmtAssetData
    from dagster_smt.orchestration import SmtChainComponent as SmtChainComponent
    from dagster_smt.orchestration import SmtChecks as SmtChecks
    from dagster_smt.orchestration import SmtErasure as SmtErasure
    from dagster_smt.orchestration import SmtMaintenance as SmtMaintenance
    from dagster_smt.orchestration import SmtTable as SmtTable
    from dagster_smt.orchestration import SmtTopicCollectionComponent as SmtTopicCollectionComponent
    from dagster_smt.orchestration import SmtTranslator as SmtTranslator
    from dagster_smt.orchestration import SparkSessionResource as SparkSessionResource
    from dagster_smt.orchestration import SparkSubmit as SparkSubmit
    from dagster_smt.orchestration import build_dead_letters_asset as build_dead_letters_asset
    from dagster_smt.orchestration import build_erasure_asset as build_erasure_asset
    from dagster_smt.orchestration import build_lag_sensor as build_lag_sensor
    from dagster_smt.orchestration import build_maintenance_job as build_maintenance_job
    from dagster_smt.orchestration import build_new_topic_sensor as build_new_topic_sensor
    from dagster_smt.orchestration import build_redrive_job as build_redrive_job
    from dagster_smt.orchestration import build_repair_job as build_repair_job
    from dagster_smt.orchestration import build_smt_asset as build_smt_asset
    from dagster_smt.orchestration import build_smt_assets as build_smt_assets
    from dagster_smt.orchestration import build_smt_op as build_smt_op
    from dagster_smt.orchestration import build_smt_schedule as build_smt_schedule
    from dagster_smt.orchestration import build_tables_asset as build_tables_asset
    from dagster_smt.orchestration import build_topic_assets as build_topic_assets
    from dagster_smt.orchestration import check_java as check_java
    from dagster_smt.orchestration import partition_key_to_topic as partition_key_to_topic
    from dagster_smt.orchestration import run_cancellable as run_cancellable
    from dagster_smt.orchestration import run_external as run_external
    from dagster_smt.orchestration import smt_config_schema as smt_config_schema
    from dagster_smt.orchestration import spark_session_of as spark_session_of
    from dagster_smt.orchestration import topic_to_partition_key as topic_to_partition_key
    from dagster_smt.tables.ddl import parse_ddl as parse_ddl
    from dagster_smt.tables.kafka.spec import KafkaTopics as KafkaTopics
    from dagster_smt.tables.kafka.spec import NewTopics as NewTopics
    from dagster_smt.tables.sink_options import DeltaSink as DeltaSink
    from dagster_smt.tables.sink_options import FileTopicSink as FileTopicSink
    from dagster_smt.tables.sink_options import IcebergSink as IcebergSink
    from dagster_smt.tables.sink_options import KafkaSink as KafkaSink
    from dagster_smt.tables.sink_options import SourceColumns as SourceColumns
    from dagster_smt.tables.topic_table import FileTopics as FileTopics
    from dagster_smt.tables.topic_table import TableSource as TableSource
    from dagster_smt.tables.topic_table import TopicTable as TopicTable

_PLACES = {  # the same names as above, for Python itself; a test compares both lists
    "dagster_smt.chain": "Chain parse_chain",
    "dagster_smt.errors": "ConfigError EngineError PlanError Problem RecordsRejected SmtError TableError "
    "UnsupportedError",
    "dagster_smt.lineage.open_lineage": "OpenLineage",
    "dagster_smt.model.topics.columns": "Column",
    "dagster_smt.orchestration": "PipesSpark SmtAssetData SmtChainComponent SmtChecks SmtErasure SmtMaintenance "
    "SmtTable SmtTopicCollectionComponent SmtTranslator SparkSessionResource SparkSubmit build_dead_letters_asset "
    "build_erasure_asset build_lag_sensor build_maintenance_job build_new_topic_sensor build_redrive_job "
    "build_repair_job build_smt_asset build_smt_assets build_smt_op build_smt_schedule build_tables_asset "
    "build_topic_assets check_java partition_key_to_topic run_cancellable run_external smt_config_schema "
    "spark_session_of topic_to_partition_key",
    "dagster_smt.tables.ddl": "parse_ddl",
    "dagster_smt.model.topics.format": "Format",
    "dagster_smt.tables.kafka.spec": "KafkaTopics NewTopics",
    "dagster_smt.tables.sink_options": "DeltaSink FileTopicSink IcebergSink KafkaSink SourceColumns",
    "dagster_smt.tables.topic_table": "FileTopics TableSource TopicTable",
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}
__all__ = tuple(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    # Python calls this function only for a name that the module lacks, so each name is loaded once
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
