"""Verdicts on all options of a connector, from one table of rules. No option is skipped silently."""

from collections.abc import Iterable

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.rules import UNKNOWN, OptionRule, OptionVerdict
from dagster_smt.connect.rules_of_lakes import RULES_OF_LAKES
from dagster_smt.connect.rules_of_others import OTHER_FAMILIES, RULES_OF_OTHERS
from dagster_smt.connect.rules_of_stores import RULES_OF_STORES

FAMILIES = {
    "io.confluent.connect.jdbc.JdbcSinkConnector": "jdbc",
    "io.aiven.connect.jdbc.JdbcSinkConnector": "jdbc",
    "io.debezium.connector.jdbc.JdbcSinkConnector": "jdbc",
    "PostgresSink": "jdbc",
    "MySqlSink": "jdbc",
    "MicrosoftSqlServerSink": "jdbc",
    "OracleDatabaseSink": "jdbc",
    "io.confluent.connect.s3.S3SinkConnector": "files",
    "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector": "files",
    "io.aiven.kafka.connect.s3.S3SinkConnector": "files",
    "io.confluent.connect.gcs.GcsSinkConnector": "files",
    "io.aiven.kafka.connect.gcs.GcsSinkConnector": "files",
    "io.confluent.connect.azure.blob.AzureBlobStorageSinkConnector": "files",
    "io.aiven.kafka.connect.azure.sink.AzureBlobSinkConnector": "files",
    "io.confluent.connect.azure.datalake.gen2.AzureDataLakeGen2SinkConnector": "files",
    "io.confluent.connect.hdfs.HdfsSinkConnector": "files",
    "io.confluent.connect.hdfs3.Hdfs3SinkConnector": "files",
    "S3_SINK": "files",
    "GcsSink": "files",
    "AzureBlobSink": "files",
    "AzureDataLakeGen2Sink": "files",
    "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector": "search",
    "io.aiven.connect.elasticsearch.ElasticsearchSinkConnector": "search",
    "io.aiven.kafka.connect.opensearch.OpensearchSinkConnector": "search",
    "ElasticsearchSink": "search",
    "io.tabular.iceberg.connect.IcebergSinkConnector": "iceberg",
    "org.apache.iceberg.connect.IcebergSinkConnector": "iceberg",
    "io.confluent.connect.databricks.deltalake.DatabricksDeltaLakeSinkConnector": "delta",
    "DatabricksDeltaLakeSink": "delta",
    "com.snowflake.kafka.connector.SnowflakeSinkConnector": "snowflake",
    "com.snowflake.kafka.connector.SnowflakeStreamingSinkConnector": "snowflake",
    "SnowflakeSink": "snowflake",
    "com.wepay.kafka.connect.bigquery.BigQuerySinkConnector": "bigquery",
    "BigQuerySink": "bigquery",
    "BigQueryStorageSink": "bigquery",
    "com.mongodb.kafka.connect.MongoSinkConnector": "mongo",
    "MongoDbAtlasSink": "mongo",
    "io.confluent.connect.http.HttpSinkConnector": "http",
    "io.aiven.kafka.connect.http.HttpSinkConnector": "http",
    "HttpSink": "http",
    "HttpSinkV2": "http",
    "FileStreamSink": "local file",
    "FileStreamSinkConnector": "local file",
    "org.apache.kafka.connect.file.FileStreamSinkConnector": "local file",
    "io.confluent.connect.aws.redshift.RedshiftSinkConnector": "jdbc",
    "RedshiftSink": "jdbc",
    **OTHER_FAMILIES,
}
"""Families of sinks by class, Confluent Cloud's short names among them."""

RULES: tuple[OptionRule, ...] = (*RULES_OF_STORES, *RULES_OF_LAKES, *RULES_OF_OTHERS)
"""All rules, in order. Topics, converters, transforms and Iceberg's table are decided elsewhere."""


def family_of(connector: Connector) -> str:
    """Returns the family of a connector's class: ``source`` for sources, empty for unknown sinks."""
    class_ = connector.class_name
    if class_ in FAMILIES:
        return FAMILIES[class_]
    if connector.is_source:
        return "source"
    return ""


def option_verdicts(connector: Connector, decided: Iterable[OptionVerdict]) -> list[OptionVerdict]:
    """Returns a verdict on each option of a connector, in the order of its file.

    Args:
        connector: The connector.
        decided: Verdicts that other modules made; they win over the rules.
    """
    verdicts_by_option = {verdict.option: verdict for verdict in decided}
    family = family_of(connector)
    return [
        verdicts_by_option.get(option) or _by_rule(option, value, family) for option, value in connector.config.items()
    ]


def _by_rule(option: str, value: str, family: str) -> OptionVerdict:
    for rule in RULES:
        if rule.fits(option, value, family):
            return OptionVerdict(option, rule.verdict, rule.text)
    if option == "connector.class":
        text = "it is unknown here what this class does with records; the written component adds them to a table"
        return OptionVerdict(option, "not done", text)
    return OptionVerdict(option, "not done", UNKNOWN)
