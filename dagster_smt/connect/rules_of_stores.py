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
    Rule,
)

RULES_OF_STORES: tuple[Rule, ...] = (
    # every connector
    Rule("name", "used", "name of the folder and of the asset"),
    Rule("tasks.max", "not needed", "Spark reads partitions side by side"),
    Rule("tasks.max.enforce", "not needed", "there are no tasks"),
    Rule("errors.tolerance", "used", "errors_tolerance", values=("all", "none")),
    Rule("errors.deadletterqueue.topic.name", "used", "dead_letter_topic"),
    Rule("errors.deadletterqueue.context.headers.enable", "used", "letters have Connect's headers", values=TRUE),
    Rule("errors.deadletterqueue.context.headers.enable", "changed", "letters have Connect's headers all the same"),
    Rule("errors.deadletterqueue.topic.*", "changed", "how topics are made is in table.source.kafka.create"),
    Rule("errors.log.enable", "not needed", "runs report each failure's kind, with examples by offset"),
    Rule("errors.log.include.messages", "changed", "no log shows a record's values", values=TRUE),
    Rule("errors.log.include.messages", "not needed", "no log shows a record's values"),
    Rule("errors.retry.*", "not needed", "Dagster repeats runs that fail (retry_policy)"),
    Rule("consumer.override.auto.offset.reset", "used", "table.start", values=("earliest", "latest")),
    Rule("consumer.override.isolation.level", "used", "isolation_level of a Kafka source"),
    Rule(
        "consumer.override.group.id", "changed", "the table keeps the progress; group:NAME as table.start begins there"
    ),
    Rule("consumer.override.bootstrap.servers", "not done", "another cluster: name it with --bootstrap-servers"),
    *(Rule(f"consumer.override.{n}", "not needed", PACE) for n in ("max.poll.*", "fetch.*", "max.partition.*")),
    *(
        Rule(f"consumer.override.{n}", "not needed", "how the connector's consumer kept in touch with its group")
        for n in ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy", "client.*")
    ),
    *(Rule(f"consumer.override.{n}", "not needed", REPEAT) for n in ("request.timeout.ms", "retry.backoff.*")),
    *(Rule(f"consumer.override.{n}", "changed", LOGIN) for n in ("sasl.*", "ssl.*", "security.protocol")),
    Rule("consumer.override.interceptor.classes", "not needed", METRICS),
    Rule("consumer.interceptor.classes", "not needed", METRICS),
    Rule(
        "producer.override.*", "not needed", "the connector's producer writes dead letters; Dagster's runs do that here"
    ),
    Rule(
        "admin.override.*",
        "not needed",
        "the connector's client makes topics; table.source.kafka.create does that here",
    ),
    Rule("producer.interceptor.classes", "not needed", METRICS),
    Rule("config.action.reload", "not needed", "references are looked up in each run"),
    Rule("confluent.license*", "not needed", "the licence of the connector"),
    Rule("confluent.topic*", "not needed", "where the connector's licence is kept"),
    Rule("confluent.monitoring.*", "not needed", METRICS),
    Rule("confluent.custom.*", "not done", UNKNOWN),
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
        Rule(n, "changed", LOGIN)
        for n in ("kafka.api.key", "kafka.api.secret", "kafka.auth.mode", "kafka.service.account.id", "kafka.endpoint")
    ),
    Rule("cloud.environment", "not needed", "where Confluent runs the connector"),
    Rule("cloud.provider", "not needed", "where Confluent runs the connector"),
    Rule("schema.context.name", "not done", "schemas are looked up in the registry's default context"),
    Rule("max.poll.interval.ms", "not needed", PACE),
    Rule("max.poll.records", "not needed", PACE),
    # sources: the connector goes on, and this package reads what it writes
    Rule("connector.class", "not needed", "the connector goes on; the table reads the topics that it writes", SOURCE),
    Rule("topic.prefix", "used", "table.pattern: the topics that it writes", SOURCE),
    *(Rule(n, "used", "table.topics: the topic that it writes", SOURCE) for n in ("topic", "kafka.topic")),
    Rule("*", "not needed", "the connector goes on with it; the table reads the topics that it writes", SOURCE),
    # databases
    Rule("connector.class", "changed", "a table of the lake takes the place of the database's", JDBC),
    Rule("insert.mode", "used", "rows are added", JDBC, ("insert",)),
    Rule("insert.mode", "not done", KEYED, JDBC),
    Rule("delete.enabled", "not needed", "no row is deleted", JDBC, FALSE),
    Rule("delete.enabled", "not done", KEYED, JDBC),
    Rule("truncate.enabled", "not needed", "no table is emptied", JDBC, FALSE),
    Rule("truncate.enabled", "not done", "a record that says so does not empty the table", JDBC),
    Rule("pk.mode", "not needed", "there is no key", JDBC, ("none",)),
    Rule("pk.mode", "not done", f"{KEYED}; fields of the record's key are no columns", JDBC),
    Rule("pk.fields", "not needed", "there is no key", JDBC, ("",)),
    Rule("pk.fields", "not done", f"{KEYED}; fields of the record's key are no columns", JDBC),
    Rule("primary.key.mode", "not needed", "there is no key", JDBC, ("none",)),
    Rule("primary.key.*", "not done", f"{KEYED}; fields of the record's key are no columns", JDBC),
    Rule("fields.whitelist", "not needed", "an empty list leaves out nothing", JDBC, ("",)),
    Rule("fields.whitelist", "changed", "a ReplaceField stage at the end of the chain keeps these fields only", JDBC),
    *(Rule(n, "not done", LIST, JDBC) for n in ("field.include.list", "field.exclude.list")),
    *(
        Rule(n, "used", "the component's table", JDBC, ("${topic}",))
        for n in ("table.name.format", "collection.name.format")
    ),
    *(Rule(n, "not done", TABLES, JDBC) for n in ("table.name.format", "collection.name.format")),
    *(Rule(n, "not done", TABLES, JDBC) for n in ("table.naming.strategy", "collection.naming.strategy")),
    Rule(
        "column.naming.strategy", "not done", "columns have the fields' names; a ReplaceField stage renames them", JDBC
    ),
    Rule("topics.to.tables.mapping", "not done", TABLES, JDBC),
    *(Rule(n, "used", AUTO, JDBC, TRUE) for n in ("auto.create", "auto.evolve")),
    Rule("auto.create", "changed", AUTO, JDBC),
    Rule("auto.evolve", "changed", "sink.delta.schema_evolution: none keeps the table's columns", JDBC),
    Rule("schema.evolution", "used", AUTO, JDBC, ("basic",)),
    Rule("schema.evolution", "changed", "sink.delta.schema_evolution: none keeps the table's columns", JDBC),
    *(Rule(n, "not needed", STORE, JDBC) for n in ("connection.*", "aws.redshift.*")),
    *(Rule(n, "not needed", STORE, JDBC) for n in ("db.name", "ssl.mode", "ssl.rootcertfile", "ssl.root.cert*")),
    *(Rule(n, "not needed", STORE, JDBC) for n in ("dialect.*", "hibernate.*", "use.reduction.buffer", "database.*")),
    *(Rule(n, "not needed", PACE, JDBC) for n in ("batch.size", "batch.sizes", "flush.*")),
    *(Rule(n, "not needed", REPEAT, JDBC) for n in ("max.retries", "retry.backoff.ms")),
    *(Rule(n, "not needed", "names are quoted where they have to be", JDBC) for n in ("quote.*", "sql.quote.*")),
    Rule("mssql.use.merge.holdlock", "not needed", STORE, JDBC),
    Rule("table.types", "not needed", STORE, JDBC),
    *(Rule(n, "changed", SHAPE, JDBC) for n in ("db.timezone", "use.time.zone", "date.timezone", "timestamp.*")),
    Rule("replace.null.with.default", "used", "nulls of declared defaults", JDBC, TRUE),
    # objects and files
    Rule(
        "partitioner.class",
        "not needed",
        "the source's columns name each row's partition",
        FILES,
        ("io.confluent.connect.storage.partitioner.defaultpartitioner",),
    ),
    Rule("hive.integration", "not needed", "Hive has no part in it", FILES, FALSE),
    Rule("file.name.prefix", "changed", "--lake says where tables go", FILES),
    Rule("connector.class", "changed", "a table takes the place of the files", (*FILES, *LOCAL)),
    *(
        Rule(n, "not done", PARTS, FILES)
        for n in ("partitioner.class", "path.format", "partition.*", "file.name.*", "locale", "topics.dir.format")
    ),
    *(
        Rule(n, "not done", f"{PARTS} by the record's time", FILES)
        for n in ("timestamp.*", "time.interval", "timezone")
    ),
    Rule("behavior.on.null.values", "not done", NULLS, FILES),
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
        Rule(n, "changed", TEXTS, FILES)
        for n in ("format.class", "output.data.format", "format.output.*", "parquet.*", "avro.*", "json.*", "format.*")
    ),
    *(Rule(n, "changed", TEXTS, FILES) for n in ("s3.compression.*", "gcs.compression.*", "az.compression.*")),
    Rule("file.compression.type", "changed", TEXTS, FILES),
    *(Rule(n, "not needed", PACE, FILES) for n in ("flush.size", "rotate.*", "file.max.records", "schema.cache.*")),
    Rule("schema.compatibility", "changed", "sink.delta.schema_evolution says what happens to the columns", FILES),
    *(Rule(n, "changed", "--lake says where tables go", FILES) for n in ("topics.dir", "storage.class", "store.url")),
    *(Rule(n, "changed", "--lake says where tables go", FILES) for n in ("s3.bucket.name", "gcs.bucket.name")),
    *(Rule(n, "changed", "--lake says where tables go", FILES) for n in ("az.container.name", "azblob.container.name")),
    *(Rule(n, "changed", "--lake says where tables go", FILES) for n in ("hdfs.url", "logs.dir", "aws.s3.bucket.name")),
    Rule("aws.s3.prefix", "not done", PARTS, FILES),
    Rule("kafka.retry.*", "not needed", REPEAT, FILES),
    Rule("connect.hdfs.*", "changed", "how Spark reaches the store stands in the settings of its session", FILES),
    *(
        Rule(n, "changed", "how Spark reaches the store stands in the settings of its session", FILES)
        for n in ("s3.*", "aws.*", "gcs.*", "azblob.*", "az.*", "azure.*", "hdfs.*", "hadoop.*", "kerberos.*")
    ),
    Rule("hive.*", "not done", "the table is not entered into Hive: name it in a catalog (sink.delta.table)", FILES),
    Rule("file", "changed", "a table takes the place of the file", LOCAL),
    # search indexes
    Rule("connector.class", "changed", "a table takes the place of the index", SEARCH),
    Rule("key.ignore", "used", "each record is a row of its own", SEARCH, TRUE),
    Rule("key.ignore*", "not done", KEYED, SEARCH),
    Rule("write.method", "not done", KEYED, SEARCH),
    Rule("index.write.method", "not done", KEYED, SEARCH),
    Rule("behavior.on.null.values", "not done", NULLS, SEARCH),
    Rule(
        "behavior.on.malformed.documents",
        "changed",
        "errors_tolerance and dead letters say what becomes of them",
        SEARCH,
    ),
    Rule("schema.ignore*", "not needed", "an index's mapping", SEARCH),
    Rule("topic.schema.ignore", "not needed", "an index's mapping", SEARCH),
    *(Rule(n, "not needed", "a name in the index", SEARCH) for n in ("type.name", "type_name")),
    Rule("behavior.on.version.conflict", "not done", KEYED, SEARCH),
    *(Rule(n, "not done", TABLES, SEARCH) for n in ("topic.index.map", "topic.to.*", "data.stream.*", "external.*")),
    Rule("use.autogenerated.ids", "used", "each record is a row of its own", SEARCH, TRUE),
    Rule("use.autogenerated.ids", "not done", KEYED, SEARCH),
    Rule(
        "drop.invalid.message",
        "not done",
        "a record that fails is a dead letter or fails the run: it is not dropped",
        SEARCH,
    ),
    Rule("compact.map.entries", "changed", SHAPE, SEARCH),
    *(
        Rule(n, "not needed", STORE, SEARCH)
        for n in ("connection.*", "elastic.*", "proxy.*", "kerberos.*", "auto.create*")
    ),
    *(Rule(n, "not needed", PACE, SEARCH) for n in ("batch.size", "bulk.size.bytes", "linger.ms", "flush.*", "max.*")),
    *(Rule(n, "not needed", REPEAT, SEARCH) for n in ("retry.backoff.ms", "read.timeout.ms", "log.sensitive.data")),
)
"""In order: the first that fits decides."""
