"""What many connectors of the tests share."""

SECRET = "planted-4711"
KAFKA = "org.apache.kafka.connect."
AVRO = {
    "value.converter": "io.confluent.connect.avro.AvroConverter",
    "value.converter.schema.registry.url": "http://registry:8081",
    "value.converter.basic.auth.credentials.source": "USER_INFO",
    "value.converter.basic.auth.user.info": f"ann:{SECRET}",
}
JSON = {"value.converter": f"{KAFKA}json.JsonConverter", "value.converter.schemas.enable": "false"}
STRING_KEY = {"key.converter": f"{KAFKA}storage.StringConverter"}
UNWRAP = {"transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState"}
