"""Connectors whose chains matter: classes of several vendors, older options, records for search and stores."""

from tests.connect.shapes_basics import JSON, KAFKA, SECRET, STRING_KEY

TRANSFORM = f"{KAFKA}transforms."
SHAPES_WITH_CHAINS: dict[str, tuple[dict[str, str], set[str]]] = {
    "lines in a file": (
        {
            "connector.class": "FileStreamSink",
            "topics.regex": "lines.*",
            "file": f"/tmp/{SECRET}",
            "transforms": "wrap,hide",
            "transforms.wrap.type": f"{TRANSFORM}HoistField$Value",
            "transforms.wrap.field": "line",
            "transforms.hide.type": f"{TRANSFORM}MaskField$Value",
            "transforms.hide.fields": "line",
            **JSON,
            **STRING_KEY,
        },
        set(),
    ),
    "options of other times": (
        {
            "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
            "topics": "orders",
            "connection.password": SECRET,
            "insert.mode": "insert",
            "transforms": "paid,fields,at",
            "transforms.paid.type": "io.confluent.connect.transforms.Filter$Value",
            "transforms.paid.filter.condition": "$[?(@.paid == true)]",
            "transforms.paid.filter.type": "include",
            "transforms.fields.type": f"{TRANSFORM}ReplaceField$Value",
            "transforms.fields.blacklist": "note",
            "transforms.fields.renames": "mail:email",
            "transforms.at.type": f"{TRANSFORM}TimestampConverter$Value",
            "transforms.at.field": "at",
            "transforms.at.target.type": "Timestamp",
            "transforms.at.unix.precision": "microseconds",
            **JSON,
            **STRING_KEY,
        },
        set(),
    ),
    "an index for each day": (
        {
            "connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
            "topics": "orders",
            "connection.password": SECRET,
            "transforms": "key,id,day",
            "transforms.key.type": f"{TRANSFORM}ValueToKey",
            "transforms.key.fields": "id",
            "transforms.id.type": f"{TRANSFORM}ExtractField$Key",
            "transforms.id.field": "id",
            "transforms.day.type": f"{TRANSFORM}TimestampRouter",
            "transforms.day.topic.format": "${topic}-${timestamp}",
            "transforms.day.timestamp.format": "yyyy-MM-dd",
        },
        {"connector.class", "transforms.day.type"},
    ),
    "Hash with a predicate": (
        {
            "connector.class": "com.mongodb.kafka.connect.MongoSinkConnector",
            "topics": "orders",
            "connection.uri": f"mongodb://ann:{SECRET}@mongo",
            "transforms": "hash",
            "transforms.hash.type": "io.aiven.kafka.connect.transforms.Hash$Value",
            "transforms.hash.field.name": "email",
            "transforms.hash.function": "sha256",
            "transforms.hash.predicate": "traced",
            "predicates": "traced",
            "predicates.traced.type": f"{TRANSFORM}predicates.HasHeaderKey",
            "predicates.traced.name": "trace",
            **JSON,
            **STRING_KEY,
        },
        set(),
    ),
    "transforms of other vendors": (
        {
            "connector.class": "FileStreamSink",
            "topics": "orders",
            "transforms": "case,clock",
            "transforms.case.type": "com.github.jcustenborder.kafka.connect.transform.common.ChangeCase$Value",
            "transforms.case.secret": SECRET,
            "transforms.clock.type": "io.lenses.connect.smt.header.InsertWallclock",
        },
        {"transforms.case.type", "transforms.case.secret", "transforms.clock.type"},
    ),
    "Tabular's own transform": (
        {
            "connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector",
            "topics": "users",
            "iceberg.tables": "db.users",
            "iceberg.catalog.credential": SECRET,
            "transforms": "changes",
            "transforms.changes.type": "io.tabular.iceberg.connect.transforms.DebeziumTransform",
            **JSON,
            **STRING_KEY,
        },
        {"transforms.changes.type"},
    ),
}
"""Options by shape, and those of them that are not done."""
