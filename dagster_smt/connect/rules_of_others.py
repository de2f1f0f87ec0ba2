"""Rules about options of sinks into stores of keys, of events and of columns, and of copies of clusters."""

from dagster_smt.connect.rules import AUTO, KEYED, LIST, PACE, PARTS, SHAPE, STORE, TABLES, OptionRule

KEYS, LENSES, CLICKHOUSE, SPLUNK, MIRROR = ("keys",), ("lenses",), ("clickhouse",), ("splunk",), ("mirror",)
OTHER_FAMILIES = {
    "com.redis.kafka.connect.RedisSinkConnector": "keys",
    "com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector": "keys",
    "RedisSink": "keys",
    "com.datastax.oss.kafka.sink.CassandraSinkConnector": "keys",
    "com.datastax.kafkaconnector.DseSinkConnector": "keys",
    "io.confluent.connect.cassandra.CassandraSinkConnector": "keys",
    "io.confluent.connect.aws.dynamodb.DynamoDbSinkConnector": "keys",
    "DynamoDbSink": "keys",
    "com.azure.cosmos.kafka.connect.CosmosSinkConnector": "keys",
    "com.azure.cosmos.kafka.connect.sink.CosmosDBSinkConnector": "keys",
    "CosmosDbSink": "keys",
    "com.couchbase.connect.kafka.CouchbaseSinkConnector": "keys",
    "com.aerospike.connect.kafka.inbound.AerospikeSinkConnector": "keys",
    "io.debezium.connector.mongodb.MongoDbSinkConnector": "keys",
    "streams.kafka.connect.sink.Neo4jSinkConnector": "keys",
    "org.neo4j.connectors.kafka.sink.Neo4jConnector": "keys",
    "com.clickhouse.kafka.connect.ClickHouseSinkConnector": "clickhouse",
    "com.altinity.clickhouse.sink.connector.ClickHouseSinkConnector": "clickhouse",
    "ClickHouseSink": "clickhouse",
    "com.splunk.kafka.connect.SplunkSinkConnector": "splunk",
    "SplunkSink": "splunk",
    "io.lenses.streamreactor.connect.aws.s3.sink.S3SinkConnector": "lenses",
    "io.lenses.streamreactor.connect.gcp.storage.sink.GCPStorageSinkConnector": "lenses",
    "io.lenses.streamreactor.connect.datalake.sink.DatalakeSinkConnector": "lenses",
    "org.apache.kafka.connect.mirror.MirrorSourceConnector": "mirror",
    "org.apache.kafka.connect.mirror.MirrorCheckpointConnector": "mirror",
    "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector": "mirror",
}
"""Families of these sinks by class."""
_STATEMENT = "what its statement says of fields, targets and partitions is not read: say it in the chain and the sink"
_LENSES = ("s3", "gcpstorage", "datalake")
_GOES_ON = "the connector still uses the option; the table reads the topics that the connector writes"

RULES_OF_OTHERS: tuple[OptionRule, ...] = (
    # stores of keys: what is in them is not what is in a table
    OptionRule(
        "connector.class",
        "not done",
        "a record replaces or deletes what the store has under its key; the table has a row for each record",
        KEYS,
    ),
    *(OptionRule(n, "not done", KEYED, KEYS) for n in ("redis.type", "redis.key", "redis.separator", "redis.command")),
    *(
        OptionRule(n, "not done", KEYED, KEYS)
        for n in ("aws.dynamodb.pk.*", "insert.mode", "delete.*", "cassandra.write.*")
    ),
    *(OptionRule(n, "not done", KEYED, KEYS) for n in ("azure.cosmos.sink.id.strategy", "azure.cosmos.sink.write.*")),
    *(OptionRule(n, "not done", KEYED, KEYS) for n in ("couchbase.document.id", "couchbase.sink.handler")),
    *(
        OptionRule(n, "not done", _STATEMENT, KEYS)
        for n in ("neo4j.topic.*", "neo4j.cypher.*", "neo4j.cud.*", "neo4j.cdc.*")
    ),
    OptionRule("topic.*", "not done", f"{LIST}; {KEYED}", KEYS),
    *(OptionRule(n, "not done", TABLES, KEYS) for n in ("collection.naming.*", "collection.name.format")),
    *(OptionRule(n, "not done", LIST, KEYS) for n in ("field.include.list", "field.exclude.list")),
    *(OptionRule(n, "not needed", STORE, KEYS) for n in ("mongodb.*", "sink.database")),
    *(OptionRule(n, "not done", TABLES, KEYS) for n in ("table.name.format", "azure.cosmos.sink.containers.topicMap")),
    *(OptionRule(n, "not needed", PACE, KEYS) for n in ("max*", "batch.*", "neo4j.batch-*", "queryExecutionTimeout")),
    *(OptionRule(n, "not needed", STORE, KEYS) for n in ("redis.*", "neo4j.*", "cassandra.*", "aws.*", "couchbase.*")),
    *(
        OptionRule(n, "not needed", STORE, KEYS)
        for n in ("azure.*", "connect.cosmos.*", "contactPoints", "loadBalancing.*")
    ),
    *(OptionRule(n, "not needed", STORE, KEYS) for n in ("port", "auth.*", "ssl.*", "cloud.*", "jmx", "compression")),
    *(
        OptionRule(n, "not needed", STORE, KEYS)
        for n in ("connectionPoolLocalSize", "datastax-java-driver.*", "cluster.*")
    ),
    OptionRule("ignoreErrors", "changed", "errors_tolerance and dead letters say what becomes of failures", KEYS),
    # ClickHouse
    OptionRule("connector.class", "changed", "a table of the lake takes the place of ClickHouse's", CLICKHOUSE),
    *(OptionRule(n, "not done", TABLES, CLICKHOUSE) for n in ("topic2TableMap", "clickhouse.topic2table.map")),
    *(OptionRule(n, "not done", KEYED, CLICKHOUSE) for n in ("replacingmergetree.*", "clickhouse.sign.column")),
    OptionRule("deduplication.policy", "not needed", "each record is a row", CLICKHOUSE, ("off",)),
    OptionRule("deduplication.policy", "not done", KEYED, CLICKHOUSE),
    OptionRule("store.kafka.metadata", "changed", "topic, partition and offset are the source's columns", CLICKHOUSE),
    OptionRule("store.raw.data", "not needed", "the table has columns", CLICKHOUSE, ("false",)),
    OptionRule("store.raw.data*", "not done", "no column has the whole record next to the other columns", CLICKHOUSE),
    OptionRule("exactlyOnce", "not needed", "a commit is made once or not at all", CLICKHOUSE),
    OptionRule("auto.create.tables", "used", AUTO, CLICKHOUSE, ("true",)),
    OptionRule("auto.create.tables", "changed", AUTO, CLICKHOUSE),
    OptionRule("errors.tolerance", "used", "errors_tolerance", CLICKHOUSE, ("all", "none")),
    *(OptionRule(n, "changed", SHAPE, CLICKHOUSE) for n in ("insertFormat", "bypass*", "dateTimeFormats", "zkPath")),
    OptionRule("tolerateStateMismatch", "not needed", "a commit is made once or not at all", CLICKHOUSE),
    *(
        OptionRule(n, "not needed", PACE, CLICKHOUSE)
        for n in ("buffer.*", "bufferFlushTime", "bufferCount", "thread.*")
    ),
    *(OptionRule(n, "not needed", STORE, CLICKHOUSE) for n in ("hostname", "port", "database", "username", "password")),
    *(OptionRule(n, "not needed", STORE, CLICKHOUSE) for n in ("ssl*", "clickhouse.*", "clickhouseSettings", "proxy*")),
    *(
        OptionRule(n, "not needed", STORE, CLICKHOUSE)
        for n in ("jdbcConnectionProperties", "keeperOnCluster", "metrics.*")
    ),
    *(OptionRule(n, "not needed", STORE, CLICKHOUSE) for n in ("retryCount", "tableRefreshInterval", "suppress*")),
    # Splunk
    OptionRule("connector.class", "changed", "a table takes the place of the index", SPLUNK),
    OptionRule("splunk.hec.json.event.enrichment", "not done", "an InsertField stage adds such a field", SPLUNK),
    *(OptionRule(n, "not needed", "a name in the index", SPLUNK) for n in ("splunk.sources", "splunk.sourcetypes")),
    OptionRule("splunk.indexes", "changed", "a table takes the place of the index", SPLUNK),
    *(
        OptionRule(n, "changed", SHAPE, SPLUNK)
        for n in ("splunk.hec.raw*", "splunk.hec.json.*", "splunk.hec.track.data")
    ),
    *(OptionRule(n, "not done", "headers come where a column declares them", SPLUNK) for n in ("splunk.header.*",)),
    OptionRule("splunk.*", "not needed", STORE, SPLUNK),
    # statements of Lenses
    OptionRule("connector.class", "changed", "a table takes the place of the files", LENSES),
    *(
        OptionRule(f"connect.{n}.kcql", "not done", f"{_STATEMENT}; {PARTS}", LENSES)
        for n in ("s3", "gcpstorage", "datalake")
    ),
    *(
        OptionRule(f"connect.{n}.*", "changed", "the settings of Spark's session have the access to the store", LENSES)
        for n in ("s3", "gcpstorage", "datalake")
    ),
    # copies of clusters
    OptionRule(
        "connector.class",
        "not needed",
        "the connector stays; the table reads the topics that the connector writes",
        MIRROR,
        ("org.apache.kafka.connect.mirror.mirrorsourceconnector",),
    ),
    OptionRule("connector.class", "not done", "it writes no records that a table could have", MIRROR),
    OptionRule("topics.exclude", "not done", "a pattern has no exceptions here: say it in table.pattern", MIRROR),
    OptionRule("topics.blacklist", "not done", "a pattern has no exceptions here: say it in table.pattern", MIRROR),
    OptionRule("source.cluster.alias", "used", "table.pattern: topics are called so in the target cluster", MIRROR),
    *(OptionRule(f"replication.policy.{n}", "used", "table.pattern", MIRROR) for n in ("class", "separator")),
    OptionRule("*", "not needed", _GOES_ON, MIRROR),
)
"""In order: the first that fits decides."""
