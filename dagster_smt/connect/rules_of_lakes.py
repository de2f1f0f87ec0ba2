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
    Rule,
)

RULES_OF_LAKES: tuple[Rule, ...] = (
    # Iceberg
    Rule("iceberg.tables.route-field", "not done", TABLES, ICEBERG),
    Rule("iceberg.tables.dynamic-enabled", "not needed", "the table is named", ICEBERG, FALSE),
    Rule("iceberg.tables.dynamic-enabled", "not done", TABLES, ICEBERG),
    Rule("iceberg.tables.upsert-mode-enabled", "not needed", "rows are added", ICEBERG, FALSE),
    Rule("iceberg.tables.upsert-mode-enabled", "not done", KEYED, ICEBERG),
    Rule("iceberg.tables.cdc-field", "not done", KEYED, ICEBERG),
    Rule("iceberg.tables.default-id-columns", "not done", KEYED, ICEBERG),
    Rule("iceberg.tables.default-partition-by", "not done", PARTS, ICEBERG),
    Rule("iceberg.tables.default-commit-branch", "not done", "commits go to the table's main branch", ICEBERG),
    Rule("iceberg.tables.auto-create-enabled", "used", AUTO, ICEBERG, TRUE),
    Rule("iceberg.tables.auto-create-enabled", "changed", AUTO, ICEBERG),
    Rule("iceberg.tables.auto-create-props.*", "not done", "the table is made without these properties", ICEBERG),
    Rule("iceberg.tables.evolve-schema-enabled", "used", "sink.iceberg.schema_evolution", ICEBERG, TRUE),
    Rule("iceberg.tables.evolve-schema-enabled", "changed", "schema_evolution: none keeps the columns", ICEBERG),
    Rule("iceberg.tables.schema-force-optional", "changed", SHAPE, ICEBERG),
    Rule("iceberg.tables.schema-case-insensitive", "changed", "Spark's spark.sql.caseSensitive says it", ICEBERG),
    Rule("iceberg.tables.write-props.*", "not done", "the table keeps its own properties for writes", ICEBERG),
    Rule("iceberg.tables.json-converter*", "changed", SHAPE, ICEBERG),
    Rule("iceberg.table.*", "not done", "routes, keys, partitions and branches of single tables are not read", ICEBERG),
    Rule("iceberg.catalog*", "changed", "say it in Spark's settings: spark.sql.catalog.NAME and below", ICEBERG),
    Rule("aws.region", "changed", "say it in Spark's settings: spark.hadoop and below", ICEBERG),
    Rule("iceberg.hadoop*", "changed", "say it in Spark's settings: spark.hadoop and below", ICEBERG),
    Rule("iceberg.control.commit.*", "not needed", PACE, ICEBERG),
    *(
        Rule(f"iceberg.{n}", "not needed", "how the connector's tasks agree on a commit", ICEBERG)
        for n in ("control.*", "kafka.*", "connect.group.id", "coordinator.*")
    ),
    # Delta
    Rule("connector.class", "used", "a Delta table", DELTA),
    *(
        Rule(n, "not done", TABLES, DELTA)
        for n in ("topic2table.map", "delta.lake.topic2table.map", "table.name.format")
    ),
    *(Rule(n, "not done", PARTS, DELTA) for n in ("delta.lake.table2partition.map", "table2partition.map")),
    *(Rule(n, "used", AUTO, DELTA, TRUE) for n in ("delta.lake.table.auto.create", "delta.lake.tables.auto.create")),
    *(
        Rule(n, "changed", "--lake says where tables go", DELTA)
        for n in ("delta.lake.host.name", "delta.lake.http.path")
    ),
    *(Rule(f"delta.lake.{n}", "not needed", STORE, DELTA) for n in ("token", "catalog", "database", "staging.*")),
    *(Rule(n, "not needed", STORE, DELTA) for n in ("staging.*", "delta.lake.port")),
    *(Rule(n, "not needed", PACE, DELTA) for n in ("flush.*", "rotate.*")),
    # Snowflake
    Rule("connector.class", "changed", "a table of the lake takes the place of Snowflake's", SNOWFLAKE),
    Rule("snowflake.topic2table.map", "not done", TABLES, SNOWFLAKE),
    Rule("snowflake.enable.schematization", "changed", "sink kind: columns, where records have a schema", SNOWFLAKE),
    Rule("behavior.on.null.values", "not done", NULLS, SNOWFLAKE),
    *(Rule(n, "changed", HEADERS, SNOWFLAKE) for n in ("snowflake.metadata.*", "snowflake.streaming.metadata.*")),
    *(Rule(n, "not needed", PACE, SNOWFLAKE) for n in ("buffer.*", "snowflake.streaming.*")),
    Rule("snowflake.ingestion.method", "not needed", STORE, SNOWFLAKE),
    *(
        Rule(f"snowflake.{n}", "not needed", STORE, SNOWFLAKE)
        for n in ("url.name", "user.name", "user.role", "private.key*", "database.name", "schema.name", "role.name")
    ),
    *(Rule(f"snowflake.{n}", "not needed", STORE, SNOWFLAKE) for n in ("authenticator", "oauth.*", "jdbc.*")),
    *(Rule(n, "not needed", STORE, SNOWFLAKE) for n in ("provider", "jmx", "jvm.proxy.*", "enable.streaming.client.*")),
    # BigQuery
    Rule("bigQueryPartitionDecorator", "not needed", "the table has no partitions of its own", BIGQUERY, FALSE),
    Rule("connector.class", "changed", "a table of the lake takes the place of BigQuery's", BIGQUERY),
    *(Rule(n, "not needed", "rows are added", BIGQUERY, FALSE) for n in ("upsertEnabled", "deleteEnabled")),
    *(
        Rule(n, "not done", KEYED, BIGQUERY)
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
        Rule(n, "not done", PARTS, BIGQUERY)
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
        Rule(n, "not done", TABLES, BIGQUERY)
        for n in ("topic2TableMap", "topic2table.map", "topicsToTables", "datasets")
    ),
    *(Rule(n, "used", AUTO, BIGQUERY, TRUE) for n in ("autoCreateTables", "auto.create.tables", "auto.update.schemas")),
    *(Rule(n, "changed", AUTO, BIGQUERY) for n in ("autoCreateTables", "auto.create.tables", "auto.update.schemas")),
    *(
        Rule(n, "changed", "sink.delta.schema_evolution", BIGQUERY)
        for n in ("allow*", "schemaRetriever", "sanitizeFieldNames", "sanitize.field.names")
    ),
    Rule("ingestion.mode", "not needed", "rows are added", BIGQUERY, ("streaming", "batch loading")),
    Rule("ingestion.mode", "not done", KEYED, BIGQUERY),
    Rule("sanitizeTopics", "not needed", "the table has the connector's name", BIGQUERY),
    Rule("sanitize.topics", "not needed", "the table has the connector's name", BIGQUERY),
    *(
        Rule(n, "not needed", STORE, BIGQUERY)
        for n in ("project", "defaultDataset", "keyfile", "keySource", "keyfile.*")
    ),
    *(
        Rule(n, "not needed", STORE, BIGQUERY)
        for n in ("gcsBucketName", "autoCreateBucket", "gcsFolderName", "enableBatchLoad")
    ),
    *(
        Rule(n, "not needed", PACE, BIGQUERY)
        for n in ("queueSize", "threadPoolSize", "batchLoadIntervalSec", "maxWriteSize")
    ),
    Rule("bigQueryRetry*", "not needed", REPEAT, BIGQUERY),
    *(
        Rule(n, "changed", SHAPE, BIGQUERY)
        for n in ("convertDoubleSpecialValues", "includeKafkaData", "useMessageTime*")
    ),
    # MongoDB
    Rule("connector.class", "changed", "a table takes the place of the collection", MONGO),
    *(
        Rule(n, "not done", KEYED, MONGO)
        for n in ("document.id.strategy*", "writemodel.strategy", "delete.*", "doc.id.*")
    ),
    *(Rule(n, "not done", KEYED, MONGO) for n in ("change.data.capture.handler", "write.strategy")),
    *(
        Rule(n, "not done", LIST, MONGO)
        for n in ("post.processor.chain", "value.projection.*", "key.projection.*", "field.renamer.*")
    ),
    *(Rule(n, "not done", TABLES, MONGO) for n in ("namespace.mapper*", "topic.override.*")),
    *(Rule(n, "not done", "the collection is no series of times here", MONGO) for n in ("timeseries.*",)),
    Rule("mongo.errors.*", "changed", "errors_tolerance and dead letters say what becomes of failures", MONGO),
    *(Rule(n, "not needed", STORE, MONGO) for n in ("connection.*", "database", "collection", "server.api.*", "ssl.*")),
    *(Rule(n, "not needed", PACE, MONGO) for n in ("max.batch.size", "bulk.write.ordered", "rate.limiting.*")),
    *(Rule(n, "not needed", REPEAT, MONGO) for n in ("max.num.retries", "retries.defer.timeout")),
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
"""In order: the first that fits decides."""
