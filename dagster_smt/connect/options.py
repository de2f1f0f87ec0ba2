"""What becomes of each option of a connector, by one table of rules: nothing is left out without a word."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from dagster_smt.connect.connectors import Connector

OptionOutcome = Literal["used", "not needed", "changed", "not done"]
OUTCOMES: tuple[OptionOutcome, ...] = ("used", "changed", "not needed", "not done")


@dataclass(frozen=True)
class OptionVerdict:
    """One line of a report: an option and what becomes of it. It never holds the option's value, which may be a secret.

    Attributes:
        option: The option's name.
        verdict: ``used``; ``not needed``; ``changed``; or ``not done``, which makes the command fail.
        text: As what it is used, why it is not needed, how it changed, or what is missing.
    """

    option: str
    verdict: OptionOutcome
    text: str


@dataclass(frozen=True)
class Rule:
    """What becomes of an option. The first rule that fits decides.

    Attributes:
        option: Its name; with ``*`` at the end, what the name begins with.
        verdict: As in ``OptionVerdict``.
        text: As in ``OptionVerdict``.
        families: The families of sinks that it holds for; empty: all connectors.
        values: The values that it holds for, in lower case; empty: all values.
    """

    option: str
    verdict: OptionOutcome
    text: str
    families: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    def fits(self, option: str, value: str, family: str) -> bool:
        """Whether it is about this option of a connector of that family."""
        if self.families and family not in self.families:
            return False
        if self.values and value.strip().lower() not in self.values:
            return False
        if self.option.endswith("*"):
            return option.startswith(self.option[:-1])
        return option == self.option


JDBC, FILES, SEARCH, ICEBERG, DELTA = ("jdbc",), ("files",), ("search",), ("iceberg",), ("delta",)
SNOWFLAKE, BIGQUERY, MONGO, HTTP, LOCAL = ("snowflake",), ("bigquery",), ("mongo",), ("http",), ("local file",)
SOURCE = ("source",)

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
}
"""Families of sinks by class, Confluent Cloud's short names among them."""

_TRUE, _FALSE = ("true",), ("false",)
_LOGIN = (
    "the login of the connector's own clients: the component's is in table.source.kafka.options, secrets as ${env:NAME}"
)
_STORE = "the connection to the store that the table takes the place of"
_PACE = (
    "how much goes at once and how often: a run writes what is there, and micro_batch, a schedule or a sensor say when"
)
_REPEAT = "how requests are repeated: a commit is made once or not at all"
_KEYED = "rows are added for each record: none is replaced, merged or deleted by key"
_LIST = "lists of fields are not read: all fields would come into the table; say it as a ReplaceField stage"
_NULLS = "what becomes of null values is not as the connector does it: a Filter stage drops them, an append keeps them"
_PARTS = "the table has no partitions of its own"
_TABLES = "one component writes one table: import the connector once for each of them"
_AUTO = "tables are made and get columns by themselves"
_SHAPE = "how values become what the store holds; the table keeps the types of the records"
_HEADERS = "headers come where the table declares a column for them"
_TEXTS = "how texts stand in files; the table's files are Parquet"
_METRICS = "the worker's own monitoring"
_UNKNOWN = "it is unknown here what it does: look it up, say it in defs.yaml or the chain, and take it out of this file"

RULES: tuple[Rule, ...] = (
    # every connector
    Rule("name", "used", "name of the folder and of the asset"),
    Rule("tasks.max", "not needed", "Spark reads partitions side by side"),
    Rule("tasks.max.enforce", "not needed", "there are no tasks"),
    Rule("errors.tolerance", "used", "errors_tolerance", values=("all", "none")),
    Rule("errors.deadletterqueue.topic.name", "used", "dead_letter_topic"),
    Rule("errors.deadletterqueue.context.headers.enable", "used", "letters have Connect's headers", values=_TRUE),
    Rule("errors.deadletterqueue.context.headers.enable", "changed", "letters have Connect's headers all the same"),
    Rule("errors.deadletterqueue.topic.*", "changed", "how topics are made is in table.source.kafka.create"),
    Rule("errors.log.enable", "not needed", "runs report each failure's kind, with examples by offset"),
    Rule("errors.log.include.messages", "changed", "no log shows a record's values", values=_TRUE),
    Rule("errors.log.include.messages", "not needed", "no log shows a record's values"),
    Rule("errors.retry.*", "not needed", "Dagster repeats runs that fail (retry_policy)"),
    Rule("consumer.override.auto.offset.reset", "used", "table.start", values=("earliest", "latest")),
    Rule("consumer.override.isolation.level", "used", "isolation_level of a Kafka source"),
    Rule(
        "consumer.override.group.id", "changed", "the table keeps the progress; group:NAME as table.start begins there"
    ),
    Rule("consumer.override.bootstrap.servers", "not done", "another cluster: name it with --bootstrap-servers"),
    *(Rule(f"consumer.override.{n}", "not needed", _PACE) for n in ("max.poll.*", "fetch.*", "max.partition.*")),
    *(
        Rule(f"consumer.override.{n}", "not needed", "how the connector's consumer kept in touch with its group")
        for n in ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy", "client.*")
    ),
    *(Rule(f"consumer.override.{n}", "not needed", _REPEAT) for n in ("request.timeout.ms", "retry.backoff.*")),
    *(Rule(f"consumer.override.{n}", "changed", _LOGIN) for n in ("sasl.*", "ssl.*", "security.protocol")),
    Rule("consumer.override.interceptor.classes", "not needed", _METRICS),
    Rule("consumer.interceptor.classes", "not needed", _METRICS),
    Rule(
        "producer.override.*", "not needed", "the connector's producer writes dead letters; Dagster's runs do that here"
    ),
    Rule(
        "admin.override.*",
        "not needed",
        "the connector's client makes topics; table.source.kafka.create does that here",
    ),
    Rule("producer.interceptor.classes", "not needed", _METRICS),
    Rule("config.action.reload", "not needed", "references are looked up in each run"),
    Rule("confluent.license*", "not needed", "the licence of the connector"),
    Rule("confluent.topic*", "not needed", "where the connector's licence is kept"),
    Rule("confluent.monitoring.*", "not needed", _METRICS),
    Rule("confluent.custom.*", "not done", _UNKNOWN),
    Rule("reporter.*", "not done", "no topic gets a report for each record: runs and dead letters report"),
    Rule(
        "header.converter",
        "used",
        "headers are read so",
        values=("org.apache.kafka.connect.storage.simpleheaderconverter",),
    ),
    Rule(
        "header.converter*", "not done", "headers are read as SimpleHeaderConverter does; a column declares another way"
    ),
    *(
        Rule(n, "not needed", "keeps the connector's own records")
        for n in ("exactly.once.support", "transaction.boundary")
    ),
    *(
        Rule(n, "changed", _LOGIN)
        for n in ("kafka.api.key", "kafka.api.secret", "kafka.auth.mode", "kafka.service.account.id", "kafka.endpoint")
    ),
    Rule("cloud.environment", "not needed", "where Confluent runs the connector"),
    Rule("cloud.provider", "not needed", "where Confluent runs the connector"),
    Rule("schema.context.name", "not done", "schemas are looked up in the registry's default context"),
    Rule("max.poll.interval.ms", "not needed", _PACE),
    Rule("max.poll.records", "not needed", _PACE),
    # sources: the connector goes on, and this package reads what it writes
    Rule("connector.class", "not needed", "the connector goes on; the table reads the topics that it writes", SOURCE),
    Rule("topic.prefix", "used", "table.pattern: the topics that it writes", SOURCE),
    Rule("*", "not needed", "the connector goes on with it; the table reads the topics that it writes", SOURCE),
    # databases
    Rule("connector.class", "changed", "a table of the lake takes the place of the database's", JDBC),
    Rule("insert.mode", "used", "rows are added", JDBC, ("insert",)),
    Rule("insert.mode", "not done", _KEYED, JDBC),
    Rule("delete.enabled", "not needed", "no row is deleted", JDBC, _FALSE),
    Rule("delete.enabled", "not done", _KEYED, JDBC),
    Rule("truncate.enabled", "not needed", "no table is emptied", JDBC, _FALSE),
    Rule("truncate.enabled", "not done", "a record that says so does not empty the table", JDBC),
    Rule("pk.mode", "not needed", "there is no key", JDBC, ("none",)),
    Rule("pk.mode", "not done", f"{_KEYED}; fields of the record's key are no columns", JDBC),
    Rule("pk.fields", "not needed", "there is no key", JDBC, ("",)),
    Rule("pk.fields", "not done", f"{_KEYED}; fields of the record's key are no columns", JDBC),
    Rule("primary.key.mode", "not needed", "there is no key", JDBC, ("none",)),
    Rule("primary.key.*", "not done", f"{_KEYED}; fields of the record's key are no columns", JDBC),
    Rule("fields.whitelist", "not needed", "an empty list leaves out nothing", JDBC, ("",)),
    Rule("fields.whitelist", "changed", "a ReplaceField stage at the end of the chain keeps these fields only", JDBC),
    *(Rule(n, "not done", _LIST, JDBC) for n in ("field.include.list", "field.exclude.list")),
    *(
        Rule(n, "used", "the component's table", JDBC, ("${topic}",))
        for n in ("table.name.format", "collection.name.format")
    ),
    *(Rule(n, "not done", _TABLES, JDBC) for n in ("table.name.format", "collection.name.format")),
    *(Rule(n, "not done", _TABLES, JDBC) for n in ("table.naming.strategy", "collection.naming.strategy")),
    Rule(
        "column.naming.strategy", "not done", "columns have the fields' names; a ReplaceField stage renames them", JDBC
    ),
    Rule("topics.to.tables.mapping", "not done", _TABLES, JDBC),
    *(Rule(n, "used", _AUTO, JDBC, _TRUE) for n in ("auto.create", "auto.evolve")),
    Rule("auto.create", "changed", _AUTO, JDBC),
    Rule("auto.evolve", "changed", "sink.delta.schema_evolution: none keeps the table's columns", JDBC),
    Rule("schema.evolution", "used", _AUTO, JDBC, ("basic",)),
    Rule("schema.evolution", "changed", "sink.delta.schema_evolution: none keeps the table's columns", JDBC),
    Rule("connection.*", "not needed", _STORE, JDBC),
    *(Rule(n, "not needed", _STORE, JDBC) for n in ("db.name", "ssl.mode", "ssl.rootcertfile", "ssl.root.cert*")),
    *(Rule(n, "not needed", _STORE, JDBC) for n in ("dialect.*", "hibernate.*", "use.reduction.buffer", "database.*")),
    *(Rule(n, "not needed", _PACE, JDBC) for n in ("batch.size", "batch.sizes", "flush.*")),
    *(Rule(n, "not needed", _REPEAT, JDBC) for n in ("max.retries", "retry.backoff.ms")),
    *(Rule(n, "not needed", "names are quoted where they have to be", JDBC) for n in ("quote.*", "sql.quote.*")),
    Rule("mssql.use.merge.holdlock", "not needed", _STORE, JDBC),
    Rule("table.types", "not needed", _STORE, JDBC),
    *(Rule(n, "changed", _SHAPE, JDBC) for n in ("db.timezone", "use.time.zone", "date.timezone", "timestamp.*")),
    Rule("replace.null.with.default", "used", "nulls of declared defaults", JDBC, _TRUE),
    # objects and files
    Rule(
        "partitioner.class",
        "not needed",
        "the source's columns name each row's partition",
        FILES,
        ("io.confluent.connect.storage.partitioner.defaultpartitioner",),
    ),
    Rule("hive.integration", "not needed", "Hive has no part in it", FILES, _FALSE),
    Rule("connector.class", "changed", "a table takes the place of the files", (*FILES, *LOCAL)),
    *(
        Rule(n, "not done", _PARTS, FILES)
        for n in ("partitioner.class", "path.format", "partition.*", "file.name.*", "locale", "topics.dir.format")
    ),
    *(
        Rule(n, "not done", f"{_PARTS} by the record's time", FILES)
        for n in ("timestamp.*", "time.interval", "timezone")
    ),
    Rule("behavior.on.null.values", "not done", _NULLS, FILES),
    *(
        Rule(n, "not done", "no file is written of keys and headers", FILES)
        for n in ("store.kafka.*", "keys.format.class")
    ),
    *(
        Rule(n, "not done", "no file is written of keys and headers", FILES)
        for n in ("headers.format.class", "tombstone.*")
    ),
    Rule("format.output.fields", "not done", "the table has what the chain gives and the source's columns", FILES),
    *(
        Rule(n, "changed", _TEXTS, FILES)
        for n in ("format.class", "output.data.format", "format.output.*", "parquet.*", "avro.*", "json.*", "format.*")
    ),
    *(Rule(n, "changed", _TEXTS, FILES) for n in ("s3.compression.*", "gcs.compression.*", "az.compression.*")),
    Rule("file.compression.type", "changed", _TEXTS, FILES),
    *(Rule(n, "not needed", _PACE, FILES) for n in ("flush.size", "rotate.*", "file.max.records", "schema.cache.*")),
    Rule("schema.compatibility", "changed", "sink.delta.schema_evolution says what happens to the columns", FILES),
    *(Rule(n, "changed", "--lake says where tables go", FILES) for n in ("topics.dir", "storage.class", "store.url")),
    *(Rule(n, "changed", "--lake says where tables go", FILES) for n in ("s3.bucket.name", "gcs.bucket.name")),
    *(Rule(n, "changed", "--lake says where tables go", FILES) for n in ("az.container.name", "azblob.container.name")),
    *(Rule(n, "changed", "--lake says where tables go", FILES) for n in ("hdfs.url", "logs.dir", "aws.s3.bucket.name")),
    Rule("aws.s3.prefix", "not done", _PARTS, FILES),
    *(
        Rule(n, "changed", "how Spark reaches the store stands in the settings of its session", FILES)
        for n in ("s3.*", "aws.*", "gcs.*", "azblob.*", "az.*", "azure.*", "hdfs.*", "hadoop.*", "kerberos.*")
    ),
    Rule("hive.*", "not done", "the table is not entered into Hive: name it in a catalog (sink.delta.table)", FILES),
    Rule("file", "changed", "a table takes the place of the file", LOCAL),
    # search indexes
    Rule("connector.class", "changed", "a table takes the place of the index", SEARCH),
    Rule("key.ignore", "used", "each record is a row of its own", SEARCH, _TRUE),
    Rule("key.ignore*", "not done", _KEYED, SEARCH),
    Rule("write.method", "not done", _KEYED, SEARCH),
    Rule("index.write.method", "not done", _KEYED, SEARCH),
    Rule("behavior.on.null.values", "not done", _NULLS, SEARCH),
    Rule(
        "behavior.on.malformed.documents",
        "changed",
        "errors_tolerance and dead letters say what becomes of them",
        SEARCH,
    ),
    Rule("schema.ignore*", "not needed", "an index's mapping", SEARCH),
    Rule("topic.schema.ignore", "not needed", "an index's mapping", SEARCH),
    Rule("type.name", "not needed", "a name in the index", SEARCH),
    *(Rule(n, "not done", _TABLES, SEARCH) for n in ("topic.index.map", "topic.to.*", "data.stream.*", "external.*")),
    Rule("use.autogenerated.ids", "used", "each record is a row of its own", SEARCH, _TRUE),
    Rule("use.autogenerated.ids", "not done", _KEYED, SEARCH),
    Rule(
        "drop.invalid.message",
        "not done",
        "a record that fails is a dead letter or fails the run: it is not dropped",
        SEARCH,
    ),
    Rule("compact.map.entries", "changed", _SHAPE, SEARCH),
    *(
        Rule(n, "not needed", _STORE, SEARCH)
        for n in ("connection.*", "elastic.*", "proxy.*", "kerberos.*", "auto.create*")
    ),
    *(Rule(n, "not needed", _PACE, SEARCH) for n in ("batch.size", "bulk.size.bytes", "linger.ms", "flush.*", "max.*")),
    *(Rule(n, "not needed", _REPEAT, SEARCH) for n in ("retry.backoff.ms", "read.timeout.ms", "log.sensitive.data")),
    # Iceberg
    Rule("iceberg.tables.route-field", "not done", _TABLES, ICEBERG),
    Rule("iceberg.tables.dynamic-enabled", "not needed", "the table is named", ICEBERG, _FALSE),
    Rule("iceberg.tables.dynamic-enabled", "not done", _TABLES, ICEBERG),
    Rule("iceberg.tables.upsert-mode-enabled", "not needed", "rows are added", ICEBERG, _FALSE),
    Rule("iceberg.tables.upsert-mode-enabled", "not done", _KEYED, ICEBERG),
    Rule("iceberg.tables.cdc-field", "not done", _KEYED, ICEBERG),
    Rule("iceberg.tables.default-id-columns", "not done", _KEYED, ICEBERG),
    Rule("iceberg.tables.default-partition-by", "not done", _PARTS, ICEBERG),
    Rule("iceberg.tables.default-commit-branch", "not done", "commits go to the table's main branch", ICEBERG),
    Rule("iceberg.tables.auto-create-enabled", "used", _AUTO, ICEBERG, _TRUE),
    Rule("iceberg.tables.auto-create-enabled", "changed", _AUTO, ICEBERG),
    Rule("iceberg.tables.auto-create-props.*", "not done", "the table is made without these properties", ICEBERG),
    Rule("iceberg.tables.evolve-schema-enabled", "used", "sink.iceberg.schema_evolution", ICEBERG, _TRUE),
    Rule("iceberg.tables.evolve-schema-enabled", "changed", "schema_evolution: none keeps the columns", ICEBERG),
    Rule("iceberg.tables.schema-force-optional", "changed", _SHAPE, ICEBERG),
    Rule("iceberg.tables.schema-case-insensitive", "changed", "Spark's spark.sql.caseSensitive says it", ICEBERG),
    Rule("iceberg.tables.write-props.*", "not done", "the table keeps its own properties for writes", ICEBERG),
    Rule("iceberg.tables.json-converter*", "changed", _SHAPE, ICEBERG),
    Rule("iceberg.table.*", "not done", "routes, keys, partitions and branches of single tables are not read", ICEBERG),
    Rule("iceberg.catalog*", "changed", "say it in Spark's settings: spark.sql.catalog.NAME and below", ICEBERG),
    Rule("iceberg.hadoop*", "changed", "say it in Spark's settings: spark.hadoop and below", ICEBERG),
    Rule("iceberg.control.commit.*", "not needed", _PACE, ICEBERG),
    *(
        Rule(f"iceberg.{n}", "not needed", "how the connector's tasks agree on a commit", ICEBERG)
        for n in ("control.*", "kafka.*", "connect.group.id", "coordinator.*")
    ),
    # Delta
    Rule("connector.class", "used", "a Delta table", DELTA),
    *(
        Rule(n, "not done", _TABLES, DELTA)
        for n in ("topic2table.map", "delta.lake.topic2table.map", "table.name.format")
    ),
    *(Rule(n, "not done", _PARTS, DELTA) for n in ("delta.lake.table2partition.map", "table2partition.map")),
    *(Rule(n, "used", _AUTO, DELTA, _TRUE) for n in ("delta.lake.table.auto.create", "delta.lake.tables.auto.create")),
    *(
        Rule(n, "changed", "--lake says where tables go", DELTA)
        for n in ("delta.lake.host.name", "delta.lake.http.path")
    ),
    *(Rule(f"delta.lake.{n}", "not needed", _STORE, DELTA) for n in ("token", "catalog", "database", "staging.*")),
    *(Rule(n, "not needed", _STORE, DELTA) for n in ("staging.*", "delta.lake.port")),
    *(Rule(n, "not needed", _PACE, DELTA) for n in ("flush.*", "rotate.*")),
    # Snowflake
    Rule("connector.class", "changed", "a table of the lake takes the place of Snowflake's", SNOWFLAKE),
    Rule("snowflake.topic2table.map", "not done", _TABLES, SNOWFLAKE),
    Rule("snowflake.enable.schematization", "changed", "sink kind: columns, where records have a schema", SNOWFLAKE),
    Rule("behavior.on.null.values", "not done", _NULLS, SNOWFLAKE),
    *(Rule(n, "changed", _HEADERS, SNOWFLAKE) for n in ("snowflake.metadata.*", "snowflake.streaming.metadata.*")),
    *(Rule(n, "not needed", _PACE, SNOWFLAKE) for n in ("buffer.*", "snowflake.streaming.*")),
    Rule("snowflake.ingestion.method", "not needed", _STORE, SNOWFLAKE),
    *(
        Rule(f"snowflake.{n}", "not needed", _STORE, SNOWFLAKE)
        for n in ("url.name", "user.name", "user.role", "private.key*", "database.name", "schema.name", "role.name")
    ),
    *(Rule(f"snowflake.{n}", "not needed", _STORE, SNOWFLAKE) for n in ("authenticator", "oauth.*", "jdbc.*")),
    *(
        Rule(n, "not needed", _STORE, SNOWFLAKE)
        for n in ("provider", "jmx", "jvm.proxy.*", "enable.streaming.client.*")
    ),
    # BigQuery
    Rule("bigQueryPartitionDecorator", "not needed", "the table has no partitions of its own", BIGQUERY, _FALSE),
    Rule("connector.class", "changed", "a table of the lake takes the place of BigQuery's", BIGQUERY),
    *(Rule(n, "not needed", "rows are added", BIGQUERY, _FALSE) for n in ("upsertEnabled", "deleteEnabled")),
    *(
        Rule(n, "not done", _KEYED, BIGQUERY)
        for n in (
            "upsertEnabled",
            "deleteEnabled",
            "mergeIntervalMs",
            "mergeRecordsThreshold",
            "intermediateTableSuffix",
        )
    ),
    Rule(
        "kafkaKeyFieldName",
        "not done",
        "the record's key is no column: key_fields and columns of the table make it one",
        BIGQUERY,
    ),
    Rule("kafkaDataFieldName", "changed", "topic, partition and offset are the source's columns", BIGQUERY),
    *(
        Rule(n, "not done", _PARTS, BIGQUERY)
        for n in (
            "timestampPartitionFieldName",
            "bigQueryPartition*",
            "partition*",
            "clusteringPartitionFieldNames",
            "timePartitioningType",
        )
    ),
    *(
        Rule(n, "not done", _TABLES, BIGQUERY)
        for n in ("topic2TableMap", "topic2table.map", "topicsToTables", "datasets")
    ),
    *(
        Rule(n, "used", _AUTO, BIGQUERY, _TRUE)
        for n in ("autoCreateTables", "auto.create.tables", "auto.update.schemas")
    ),
    *(Rule(n, "changed", _AUTO, BIGQUERY) for n in ("autoCreateTables", "auto.create.tables", "auto.update.schemas")),
    *(
        Rule(n, "changed", "sink.delta.schema_evolution", BIGQUERY)
        for n in ("allow*", "schemaRetriever", "sanitizeFieldNames")
    ),
    Rule("sanitizeTopics", "not needed", "the table has the connector's name", BIGQUERY),
    Rule("sanitize.topics", "not needed", "the table has the connector's name", BIGQUERY),
    *(
        Rule(n, "not needed", _STORE, BIGQUERY)
        for n in ("project", "defaultDataset", "keyfile", "keySource", "keyfile.*")
    ),
    *(
        Rule(n, "not needed", _STORE, BIGQUERY)
        for n in ("gcsBucketName", "autoCreateBucket", "gcsFolderName", "enableBatchLoad")
    ),
    *(
        Rule(n, "not needed", _PACE, BIGQUERY)
        for n in ("queueSize", "threadPoolSize", "batchLoadIntervalSec", "maxWriteSize")
    ),
    Rule("bigQueryRetry*", "not needed", _REPEAT, BIGQUERY),
    *(
        Rule(n, "changed", _SHAPE, BIGQUERY)
        for n in ("convertDoubleSpecialValues", "includeKafkaData", "useMessageTime*")
    ),
    # MongoDB
    Rule("connector.class", "changed", "a table takes the place of the collection", MONGO),
    *(
        Rule(n, "not done", _KEYED, MONGO)
        for n in ("document.id.strategy*", "writemodel.strategy", "delete.*", "doc.id.*")
    ),
    *(Rule(n, "not done", _KEYED, MONGO) for n in ("change.data.capture.handler", "write.strategy")),
    *(
        Rule(n, "not done", _LIST, MONGO)
        for n in ("post.processor.chain", "value.projection.*", "key.projection.*", "field.renamer.*")
    ),
    *(Rule(n, "not done", _TABLES, MONGO) for n in ("namespace.mapper*", "topic.override.*")),
    *(Rule(n, "not done", "the collection is no series of times here", MONGO) for n in ("timeseries.*",)),
    Rule("mongo.errors.*", "changed", "errors_tolerance and dead letters say what becomes of failures", MONGO),
    *(
        Rule(n, "not needed", _STORE, MONGO)
        for n in ("connection.*", "database", "collection", "server.api.*", "ssl.*")
    ),
    *(Rule(n, "not needed", _PACE, MONGO) for n in ("max.batch.size", "bulk.write.ordered", "rate.limiting.*")),
    *(Rule(n, "not needed", _REPEAT, MONGO) for n in ("max.num.retries", "retries.defer.timeout")),
    # requests
    Rule(
        "connector.class",
        "not done",
        "no request is made: let the chain write to a topic (sink: kafka) that the connector reads without transforms",
        HTTP,
    ),
    *(
        Rule(n, "not needed", "requests stay the connector's", HTTP)
        for n in ("http.*", "request.*", "auth.*", "oauth2.*")
    ),
    *(
        Rule(n, "not needed", "requests stay the connector's", HTTP)
        for n in ("headers", "header.*", "connection.*", "api*.*")
    ),
    *(
        Rule(n, "not needed", "requests stay the connector's", HTTP)
        for n in ("batch.*", "batching.*", "retry.*", "max.*")
    ),
    *(
        Rule(n, "not needed", "requests stay the connector's", HTTP)
        for n in ("https.*", "regex.*", "behavior.*", "oauth.*")
    ),
)
"""All rules, in order. Topics, converters, transforms and Iceberg's table are decided elsewhere."""


def family_of(connector: Connector) -> str:
    """The family that a connector's class belongs to; ``source`` for sources; empty if it is unknown."""
    class_ = connector.config.get("connector.class", "").strip()
    if class_ in FAMILIES:
        return FAMILIES[class_]
    is_source = class_.endswith(("SourceConnector", "Source")) or class_.startswith("io.debezium.connector.")
    return "source" if is_source and not connector.is_sink else ""


def option_verdicts(connector: Connector, decided: Iterable[OptionVerdict]) -> list[OptionVerdict]:
    """A verdict for each option of a connector, in the order of its file.

    Args:
        connector: The connector.
        decided: Verdicts on options that something else than the rules decided.
    """
    found = {verdict.option: verdict for verdict in decided}
    family = family_of(connector)
    return [found.get(option) or _by_rule(option, value, family) for option, value in connector.config.items()]


def _by_rule(option: str, value: str, family: str) -> OptionVerdict:
    for rule in RULES:
        if rule.fits(option, value, family):
            return OptionVerdict(option, rule.verdict, rule.text)
    if option == "connector.class":
        text = "it is unknown here what this class does with records; the written component adds them to a table"
        return OptionVerdict(option, "not done", text)
    return OptionVerdict(option, "not done", _UNKNOWN)
