"""Rules about options of every connector, of sources, and of sinks into databases, files and search indexes."""

from dagster_smt.connect.rules import (
    AUTO,
    FALSE,
    FILES,
    JDBC,
    KEYED,
    LIST,
    LOCAL,
    LOGIN,
    METRICS,
    NULLS,
    PACE,
    PARTS,
    REPEAT,
    SEARCH,
    SHAPE,
    SOURCE,
    STORE,
    TABLES,
    TEXTS,
    TRUE,
    UNKNOWN,
    OptionRule,
)

RULES_OF_STORES: tuple[OptionRule, ...] = (
    # every connector
    OptionRule("name", "used", "name of the folder and of the asset"),
    OptionRule("tasks.max", "not needed", "Spark reads partitions side by side"),
    OptionRule("tasks.max.enforce", "not needed", "there are no tasks"),
    OptionRule("errors.tolerance", "used", "errors_tolerance", values=("all", "none")),
    OptionRule("errors.deadletterqueue.topic.name", "used", "dead_letter_topic"),
    OptionRule("errors.deadletterqueue.context.headers.enable", "used", "letters have Connect's headers", values=TRUE),
    OptionRule(
        "errors.deadletterqueue.context.headers.enable", "changed", "letters have Connect's headers all the same"
    ),
    OptionRule("errors.deadletterqueue.topic.*", "changed", "how topics are made is in table.source.kafka.create"),
    OptionRule("errors.log.enable", "not needed", "runs report each failure's kind, with examples by offset"),
    OptionRule("errors.log.include.messages", "changed", "no log shows a record's values", values=TRUE),
    OptionRule("errors.log.include.messages", "not needed", "no log shows a record's values"),
    OptionRule("errors.retry.*", "not needed", "Dagster repeats runs that fail (retry_policy)"),
    OptionRule("consumer.override.auto.offset.reset", "used", "table.start", values=("earliest", "latest")),
    OptionRule("consumer.override.isolation.level", "used", "isolation_level of a Kafka source"),
    OptionRule(
        "consumer.override.group.id", "changed", "the table keeps the progress; group:NAME as table.start begins there"
    ),
    OptionRule("consumer.override.bootstrap.servers", "not done", "another cluster: name it with --bootstrap-servers"),
    *(OptionRule(f"consumer.override.{n}", "not needed", PACE) for n in ("max.poll.*", "fetch.*", "max.partition.*")),
    *(
        OptionRule(f"consumer.override.{n}", "not needed", "how the connector's consumer kept in touch with its group")
        for n in ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy", "client.*")
    ),
    *(OptionRule(f"consumer.override.{n}", "not needed", REPEAT) for n in ("request.timeout.ms", "retry.backoff.*")),
    *(OptionRule(f"consumer.override.{n}", "changed", LOGIN) for n in ("sasl.*", "ssl.*", "security.protocol")),
    OptionRule("consumer.override.interceptor.classes", "not needed", METRICS),
    OptionRule("consumer.interceptor.classes", "not needed", METRICS),
    OptionRule(
        "producer.override.*", "not needed", "the connector's producer writes dead letters; Dagster's runs do that here"
    ),
    OptionRule(
        "admin.override.*",
        "not needed",
        "the connector's client makes topics; table.source.kafka.create does that here",
    ),
    OptionRule("producer.interceptor.classes", "not needed", METRICS),
    OptionRule("config.action.reload", "not needed", "references are looked up in each run"),
    OptionRule("confluent.license*", "not needed", "the licence of the connector"),
    OptionRule("confluent.topic*", "not needed", "where the connector's licence is kept"),
    OptionRule("confluent.monitoring.*", "not needed", METRICS),
    OptionRule("confluent.custom.*", "not done", UNKNOWN),
    OptionRule("reporter.*", "not done", "no topic gets a report for each record: runs and dead letters report"),
    OptionRule(
        "header.converter",
        "used",
        "headers are read so",
        values=("org.apache.kafka.connect.storage.simpleheaderconverter",),
    ),
    OptionRule(
        "header.converter*", "not done", "headers are read as SimpleHeaderConverter does; a column declares another way"
    ),
    *(
        OptionRule(n, "not needed", "keeps the connector's own records")
        for n in ("exactly.once.support", "transaction.boundary")
    ),
    *(
        OptionRule(n, "changed", LOGIN)
        for n in ("kafka.api.key", "kafka.api.secret", "kafka.auth.mode", "kafka.service.account.id", "kafka.endpoint")
    ),
    OptionRule("cloud.environment", "not needed", "where Confluent runs the connector"),
    OptionRule("cloud.provider", "not needed", "where Confluent runs the connector"),
    OptionRule("schema.context.name", "not done", "schemas are looked up in the registry's default context"),
    OptionRule("max.poll.interval.ms", "not needed", PACE),
    OptionRule("max.poll.records", "not needed", PACE),
    # sources: the connector stays, and this package reads its topics
    OptionRule(
        "connector.class",
        "not needed",
        "the connector stays; the table reads the topics that the connector writes",
        SOURCE,
    ),
    OptionRule("topic.prefix", "used", "table.pattern: the topics that it writes", SOURCE),
    *(OptionRule(n, "used", "table.topics: the topic that it writes", SOURCE) for n in ("topic", "kafka.topic")),
    OptionRule(
        "*",
        "not needed",
        "the connector still uses the option; the table reads the topics that the connector writes",
        SOURCE,
    ),
    # databases
    OptionRule("connector.class", "changed", "a table of the lake takes the place of the database's", JDBC),
    OptionRule("insert.mode", "used", "rows are added", JDBC, ("insert",)),
    OptionRule("insert.mode", "not done", KEYED, JDBC),
    OptionRule("delete.enabled", "not needed", "no row is deleted", JDBC, FALSE),
    OptionRule("delete.enabled", "not done", KEYED, JDBC),
    OptionRule("truncate.enabled", "not needed", "no table is emptied", JDBC, FALSE),
    OptionRule("truncate.enabled", "not done", "a record that says so does not empty the table", JDBC),
    OptionRule("pk.mode", "not needed", "there is no key", JDBC, ("none",)),
    OptionRule("pk.mode", "not done", f"{KEYED}; fields of the record's key are not columns", JDBC),
    OptionRule("pk.fields", "not needed", "there is no key", JDBC, ("",)),
    OptionRule("pk.fields", "not done", f"{KEYED}; fields of the record's key are not columns", JDBC),
    OptionRule("primary.key.mode", "not needed", "there is no key", JDBC, ("none",)),
    OptionRule("primary.key.*", "not done", f"{KEYED}; fields of the record's key are not columns", JDBC),
    OptionRule("fields.whitelist", "not needed", "an empty list leaves out nothing", JDBC, ("",)),
    OptionRule(
        "fields.whitelist", "changed", "a ReplaceField stage at the end of the chain keeps these fields only", JDBC
    ),
    *(OptionRule(n, "not done", LIST, JDBC) for n in ("field.include.list", "field.exclude.list")),
    *(
        OptionRule(n, "used", "the component's table", JDBC, ("${topic}",))
        for n in ("table.name.format", "collection.name.format")
    ),
    *(OptionRule(n, "not done", TABLES, JDBC) for n in ("table.name.format", "collection.name.format")),
    *(OptionRule(n, "not done", TABLES, JDBC) for n in ("table.naming.strategy", "collection.naming.strategy")),
    OptionRule(
        "column.naming.strategy", "not done", "columns have the fields' names; a ReplaceField stage renames them", JDBC
    ),
    OptionRule("topics.to.tables.mapping", "not done", TABLES, JDBC),
    *(OptionRule(n, "used", AUTO, JDBC, TRUE) for n in ("auto.create", "auto.evolve")),
    OptionRule("auto.create", "changed", AUTO, JDBC),
    OptionRule("auto.evolve", "changed", "sink.delta.schema_evolution: none keeps the table's columns", JDBC),
    OptionRule("schema.evolution", "used", AUTO, JDBC, ("basic",)),
    OptionRule("schema.evolution", "changed", "sink.delta.schema_evolution: none keeps the table's columns", JDBC),
    *(OptionRule(n, "not needed", STORE, JDBC) for n in ("connection.*", "aws.redshift.*")),
    *(OptionRule(n, "not needed", STORE, JDBC) for n in ("db.name", "ssl.mode", "ssl.rootcertfile", "ssl.root.cert*")),
    *(
        OptionRule(n, "not needed", STORE, JDBC)
        for n in ("dialect.*", "hibernate.*", "use.reduction.buffer", "database.*")
    ),
    *(OptionRule(n, "not needed", PACE, JDBC) for n in ("batch.size", "batch.sizes", "flush.*")),
    *(OptionRule(n, "not needed", REPEAT, JDBC) for n in ("max.retries", "retry.backoff.ms")),
    *(OptionRule(n, "not needed", "names are quoted where they have to be", JDBC) for n in ("quote.*", "sql.quote.*")),
    OptionRule("mssql.use.merge.holdlock", "not needed", STORE, JDBC),
    OptionRule("table.types", "not needed", STORE, JDBC),
    *(OptionRule(n, "changed", SHAPE, JDBC) for n in ("db.timezone", "use.time.zone", "date.timezone", "timestamp.*")),
    OptionRule("replace.null.with.default", "used", "nulls of declared defaults", JDBC, TRUE),
    # objects and files
    OptionRule(
        "partitioner.class",
        "not needed",
        "the source's columns name each row's partition",
        FILES,
        ("io.confluent.connect.storage.partitioner.defaultpartitioner",),
    ),
    OptionRule("hive.integration", "not needed", "Hive has no part in it", FILES, FALSE),
    OptionRule("file.name.prefix", "changed", "--lake says where tables go", FILES),
    OptionRule("connector.class", "changed", "a table takes the place of the files", (*FILES, *LOCAL)),
    *(
        OptionRule(n, "not done", PARTS, FILES)
        for n in ("partitioner.class", "path.format", "partition.*", "file.name.*", "locale", "topics.dir.format")
    ),
    *(
        OptionRule(n, "not done", f"{PARTS} by the record's time", FILES)
        for n in ("timestamp.*", "time.interval", "timezone")
    ),
    OptionRule("behavior.on.null.values", "not done", NULLS, FILES),
    *(
        OptionRule(n, "not done", "no file is written of keys and headers", FILES)
        for n in ("store.kafka.*", "keys.format.class")
    ),
    *(
        OptionRule(n, "not done", "no file is written of keys and headers", FILES)
        for n in ("headers.format.class", "tombstone.*")
    ),
    OptionRule(
        "format.output.fields", "not done", "the table has what the chain gives and the source's columns", FILES
    ),
    *(
        OptionRule(n, "changed", TEXTS, FILES)
        for n in ("format.class", "output.data.format", "format.output.*", "parquet.*", "avro.*", "json.*", "format.*")
    ),
    *(OptionRule(n, "changed", TEXTS, FILES) for n in ("s3.compression.*", "gcs.compression.*", "az.compression.*")),
    OptionRule("file.compression.type", "changed", TEXTS, FILES),
    *(
        OptionRule(n, "not needed", PACE, FILES)
        for n in ("flush.size", "rotate.*", "file.max.records", "schema.cache.*")
    ),
    OptionRule(
        "schema.compatibility", "changed", "sink.delta.schema_evolution says what happens to the columns", FILES
    ),
    *(
        OptionRule(n, "changed", "--lake says where tables go", FILES)
        for n in ("topics.dir", "storage.class", "store.url")
    ),
    *(OptionRule(n, "changed", "--lake says where tables go", FILES) for n in ("s3.bucket.name", "gcs.bucket.name")),
    *(
        OptionRule(n, "changed", "--lake says where tables go", FILES)
        for n in ("az.container.name", "azblob.container.name")
    ),
    *(
        OptionRule(n, "changed", "--lake says where tables go", FILES)
        for n in ("hdfs.url", "logs.dir", "aws.s3.bucket.name")
    ),
    OptionRule("aws.s3.prefix", "not done", PARTS, FILES),
    OptionRule("kafka.retry.*", "not needed", REPEAT, FILES),
    OptionRule("connect.hdfs.*", "changed", "the settings of Spark's session have the access to the store", FILES),
    *(
        OptionRule(n, "changed", "the settings of Spark's session have the access to the store", FILES)
        for n in ("s3.*", "aws.*", "gcs.*", "azblob.*", "az.*", "azure.*", "hdfs.*", "hadoop.*", "kerberos.*")
    ),
    OptionRule(
        "hive.*", "not done", "the table is not entered into Hive: name it in a catalog (sink.delta.table)", FILES
    ),
    OptionRule("file", "changed", "a table takes the place of the file", LOCAL),
    # search indexes
    OptionRule("connector.class", "changed", "a table takes the place of the index", SEARCH),
    OptionRule("key.ignore", "used", "each record is a row of its own", SEARCH, TRUE),
    OptionRule("key.ignore*", "not done", KEYED, SEARCH),
    OptionRule("write.method", "not done", KEYED, SEARCH),
    OptionRule("index.write.method", "not done", KEYED, SEARCH),
    OptionRule("behavior.on.null.values", "not done", NULLS, SEARCH),
    OptionRule(
        "behavior.on.malformed.documents",
        "changed",
        "errors_tolerance and dead letters say what becomes of them",
        SEARCH,
    ),
    OptionRule("schema.ignore*", "not needed", "an index's mapping", SEARCH),
    OptionRule("topic.schema.ignore", "not needed", "an index's mapping", SEARCH),
    *(OptionRule(n, "not needed", "a name in the index", SEARCH) for n in ("type.name", "type_name")),
    OptionRule("behavior.on.version.conflict", "not done", KEYED, SEARCH),
    *(
        OptionRule(n, "not done", TABLES, SEARCH)
        for n in ("topic.index.map", "topic.to.*", "data.stream.*", "external.*")
    ),
    OptionRule("use.autogenerated.ids", "used", "each record is a row of its own", SEARCH, TRUE),
    OptionRule("use.autogenerated.ids", "not done", KEYED, SEARCH),
    OptionRule(
        "drop.invalid.message",
        "not done",
        "a record that fails is a dead letter or fails the run: it is not dropped",
        SEARCH,
    ),
    OptionRule("compact.map.entries", "changed", SHAPE, SEARCH),
    *(
        OptionRule(n, "not needed", STORE, SEARCH)
        for n in ("connection.*", "elastic.*", "proxy.*", "kerberos.*", "auto.create*")
    ),
    *(
        OptionRule(n, "not needed", PACE, SEARCH)
        for n in ("batch.size", "bulk.size.bytes", "linger.ms", "flush.*", "max.*")
    ),
    *(
        OptionRule(n, "not needed", REPEAT, SEARCH)
        for n in ("retry.backoff.ms", "read.timeout.ms", "log.sensitive.data")
    ),
)
"""In order: the first that fits decides."""
