"""Rules about options of sinks into lakes, warehouses and documents, and of sinks that make requests."""

from dagster_smt.connect.rules import (
    AUTO,
    BIGQUERY,
    DELTA,
    FALSE,
    HEADERS,
    HTTP,
    ICEBERG,
    KEYED,
    LIST,
    MONGO,
    NULLS,
    PACE,
    PARTS,
    REPEAT,
    SHAPE,
    SNOWFLAKE,
    STORE,
    TABLES,
    TRUE,
    OptionRule,
)

RULES_OF_LAKES: tuple[OptionRule, ...] = (
    # Iceberg
    OptionRule("iceberg.tables.route-field", "not done", TABLES, ICEBERG),
    OptionRule("iceberg.tables.dynamic-enabled", "not needed", "the table is named", ICEBERG, FALSE),
    OptionRule("iceberg.tables.dynamic-enabled", "not done", TABLES, ICEBERG),
    OptionRule("iceberg.tables.upsert-mode-enabled", "not needed", "rows are added", ICEBERG, FALSE),
    OptionRule("iceberg.tables.upsert-mode-enabled", "not done", KEYED, ICEBERG),
    OptionRule("iceberg.tables.cdc-field", "not done", KEYED, ICEBERG),
    OptionRule("iceberg.tables.default-id-columns", "not done", KEYED, ICEBERG),
    OptionRule("iceberg.tables.default-partition-by", "not done", PARTS, ICEBERG),
    OptionRule("iceberg.tables.default-commit-branch", "not done", "commits go to the table's main branch", ICEBERG),
    OptionRule("iceberg.tables.auto-create-enabled", "used", AUTO, ICEBERG, TRUE),
    OptionRule("iceberg.tables.auto-create-enabled", "changed", AUTO, ICEBERG),
    OptionRule("iceberg.tables.auto-create-props.*", "not done", "the table is made without these properties", ICEBERG),
    OptionRule("iceberg.tables.evolve-schema-enabled", "used", "sink.iceberg.schema_evolution", ICEBERG, TRUE),
    OptionRule("iceberg.tables.evolve-schema-enabled", "changed", "schema_evolution: none keeps the columns", ICEBERG),
    OptionRule("iceberg.tables.schema-force-optional", "changed", SHAPE, ICEBERG),
    OptionRule("iceberg.tables.schema-case-insensitive", "changed", "Spark's spark.sql.caseSensitive says it", ICEBERG),
    OptionRule("iceberg.tables.write-props.*", "not done", "the table keeps its own properties for writes", ICEBERG),
    OptionRule("iceberg.tables.json-converter*", "changed", SHAPE, ICEBERG),
    OptionRule(
        "iceberg.table.*", "not done", "routes, keys, partitions and branches of single tables are not read", ICEBERG
    ),
    OptionRule("iceberg.catalog*", "changed", "say it in Spark's settings: spark.sql.catalog.NAME and below", ICEBERG),
    OptionRule("aws.region", "changed", "say it in Spark's settings: spark.hadoop and below", ICEBERG),
    OptionRule("iceberg.hadoop*", "changed", "say it in Spark's settings: spark.hadoop and below", ICEBERG),
    OptionRule("iceberg.control.commit.*", "not needed", PACE, ICEBERG),
    *(
        OptionRule(f"iceberg.{n}", "not needed", "how the connector's tasks agree on a commit", ICEBERG)
        for n in ("control.*", "kafka.*", "connect.group.id", "coordinator.*")
    ),
    # Delta
    OptionRule("connector.class", "used", "a Delta table", DELTA),
    *(
        OptionRule(n, "not done", TABLES, DELTA)
        for n in ("topic2table.map", "delta.lake.topic2table.map", "table.name.format")
    ),
    *(OptionRule(n, "not done", PARTS, DELTA) for n in ("delta.lake.table2partition.map", "table2partition.map")),
    *(
        OptionRule(n, "used", AUTO, DELTA, TRUE)
        for n in ("delta.lake.table.auto.create", "delta.lake.tables.auto.create")
    ),
    *(
        OptionRule(n, "changed", "--lake says where tables go", DELTA)
        for n in ("delta.lake.host.name", "delta.lake.http.path")
    ),
    *(OptionRule(f"delta.lake.{n}", "not needed", STORE, DELTA) for n in ("token", "catalog", "database", "staging.*")),
    *(OptionRule(n, "not needed", STORE, DELTA) for n in ("staging.*", "delta.lake.port")),
    *(OptionRule(n, "not needed", PACE, DELTA) for n in ("flush.*", "rotate.*")),
    # Snowflake
    OptionRule("connector.class", "changed", "a table of the lake takes the place of Snowflake's", SNOWFLAKE),
    OptionRule("snowflake.topic2table.map", "not done", TABLES, SNOWFLAKE),
    OptionRule(
        "snowflake.enable.schematization", "changed", "sink kind: columns, where records have a schema", SNOWFLAKE
    ),
    OptionRule("behavior.on.null.values", "not done", NULLS, SNOWFLAKE),
    *(OptionRule(n, "changed", HEADERS, SNOWFLAKE) for n in ("snowflake.metadata.*", "snowflake.streaming.metadata.*")),
    *(OptionRule(n, "not needed", PACE, SNOWFLAKE) for n in ("buffer.*", "snowflake.streaming.*")),
    OptionRule("snowflake.ingestion.method", "not needed", STORE, SNOWFLAKE),
    *(
        OptionRule(f"snowflake.{n}", "not needed", STORE, SNOWFLAKE)
        for n in ("url.name", "user.name", "user.role", "private.key*", "database.name", "schema.name", "role.name")
    ),
    *(OptionRule(f"snowflake.{n}", "not needed", STORE, SNOWFLAKE) for n in ("authenticator", "oauth.*", "jdbc.*")),
    *(
        OptionRule(n, "not needed", STORE, SNOWFLAKE)
        for n in ("provider", "jmx", "jvm.proxy.*", "enable.streaming.client.*")
    ),
    # BigQuery
    OptionRule("bigQueryPartitionDecorator", "not needed", "the table has no partitions of its own", BIGQUERY, FALSE),
    OptionRule("connector.class", "changed", "a table of the lake takes the place of BigQuery's", BIGQUERY),
    *(OptionRule(n, "not needed", "rows are added", BIGQUERY, FALSE) for n in ("upsertEnabled", "deleteEnabled")),
    *(
        OptionRule(n, "not done", KEYED, BIGQUERY)
        for n in (
            "upsertEnabled",
            "deleteEnabled",
            "mergeIntervalMs",
            "mergeRecordsThreshold",
            "intermediateTableSuffix",
        )
    ),
    OptionRule(
        "kafkaKeyFieldName",
        "not done",
        "the record's key is not a column: key_fields and columns of the table add it",
        BIGQUERY,
    ),
    OptionRule("kafkaDataFieldName", "changed", "topic, partition and offset are the source's columns", BIGQUERY),
    *(
        OptionRule(n, "not done", PARTS, BIGQUERY)
        for n in (
            "timestampPartitionFieldName",
            "bigQueryPartition*",
            "partition*",
            "clusteringPartitionFieldNames",
            "timePartitioningType",
            "clustering.*",
        )
    ),
    *(
        OptionRule(n, "not done", TABLES, BIGQUERY)
        for n in ("topic2TableMap", "topic2table.map", "topicsToTables", "datasets")
    ),
    *(
        OptionRule(n, "used", AUTO, BIGQUERY, TRUE)
        for n in ("autoCreateTables", "auto.create.tables", "auto.update.schemas")
    ),
    *(
        OptionRule(n, "changed", AUTO, BIGQUERY)
        for n in ("autoCreateTables", "auto.create.tables", "auto.update.schemas")
    ),
    *(
        OptionRule(n, "changed", "sink.delta.schema_evolution", BIGQUERY)
        for n in ("allow*", "schemaRetriever", "sanitizeFieldNames", "sanitize.field.names")
    ),
    OptionRule("ingestion.mode", "not needed", "rows are added", BIGQUERY, ("streaming", "batch loading")),
    OptionRule("ingestion.mode", "not done", KEYED, BIGQUERY),
    OptionRule("sanitizeTopics", "not needed", "the table has the connector's name", BIGQUERY),
    OptionRule("sanitize.topics", "not needed", "the table has the connector's name", BIGQUERY),
    *(
        OptionRule(n, "not needed", STORE, BIGQUERY)
        for n in ("project", "defaultDataset", "keyfile", "keySource", "keyfile.*")
    ),
    *(
        OptionRule(n, "not needed", STORE, BIGQUERY)
        for n in ("gcsBucketName", "autoCreateBucket", "gcsFolderName", "enableBatchLoad")
    ),
    *(
        OptionRule(n, "not needed", PACE, BIGQUERY)
        for n in ("queueSize", "threadPoolSize", "batchLoadIntervalSec", "maxWriteSize")
    ),
    OptionRule("bigQueryRetry*", "not needed", REPEAT, BIGQUERY),
    *(
        OptionRule(n, "changed", SHAPE, BIGQUERY)
        for n in ("convertDoubleSpecialValues", "includeKafkaData", "useMessageTime*")
    ),
    # MongoDB
    OptionRule("connector.class", "changed", "a table takes the place of the collection", MONGO),
    *(
        OptionRule(n, "not done", KEYED, MONGO)
        for n in ("document.id.strategy*", "writemodel.strategy", "delete.*", "doc.id.*")
    ),
    *(OptionRule(n, "not done", KEYED, MONGO) for n in ("change.data.capture.handler", "write.strategy")),
    *(
        OptionRule(n, "not done", LIST, MONGO)
        for n in ("post.processor.chain", "value.projection.*", "key.projection.*", "field.renamer.*")
    ),
    *(OptionRule(n, "not done", TABLES, MONGO) for n in ("namespace.mapper*", "topic.override.*")),
    *(OptionRule(n, "not done", "the table is not a time series collection", MONGO) for n in ("timeseries.*",)),
    OptionRule("mongo.errors.*", "changed", "errors_tolerance and dead letters say what becomes of failures", MONGO),
    *(
        OptionRule(n, "not needed", STORE, MONGO)
        for n in ("connection.*", "database", "collection", "server.api.*", "ssl.*")
    ),
    *(OptionRule(n, "not needed", PACE, MONGO) for n in ("max.batch.size", "bulk.write.ordered", "rate.limiting.*")),
    *(OptionRule(n, "not needed", REPEAT, MONGO) for n in ("max.num.retries", "retries.defer.timeout")),
    # requests
    OptionRule(
        "connector.class",
        "not done",
        "no request is made: let the chain write to a topic (sink: kafka) that the connector reads without transforms",
        HTTP,
    ),
    *(
        OptionRule(n, "not needed", "requests stay the connector's", HTTP)
        for n in ("http.*", "request.*", "auth.*", "oauth2.*")
    ),
    *(
        OptionRule(n, "not needed", "requests stay the connector's", HTTP)
        for n in ("headers", "header.*", "connection.*", "api*.*")
    ),
    *(
        OptionRule(n, "not needed", "requests stay the connector's", HTTP)
        for n in ("batch.*", "batching.*", "retry.*", "max.*")
    ),
    *(
        OptionRule(n, "not needed", "requests stay the connector's", HTTP)
        for n in ("https.*", "regex.*", "behavior.*", "oauth.*")
    ),
)
"""In order: the first that fits decides."""
