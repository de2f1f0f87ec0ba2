"""Reads ``real/connectors.txt``: connectors of public repositories, with our values for names and secrets."""

import re
from pathlib import Path

from dagster_smt.connect import Connector
from tests.connect.shapes_basics import KAFKA, SECRET

FILE = Path(__file__).with_name("real") / "connectors.txt"
REGISTRY = "http://registry:8081"
_CONVERTERS = {
    "STRING": (f"{KAFKA}storage.StringConverter", {}),
    "JSON": (f"{KAFKA}json.JsonConverter", {}),
    "JSON0": (f"{KAFKA}json.JsonConverter", {"schemas.enable": "false"}),
    "JSON1": (f"{KAFKA}json.JsonConverter", {"schemas.enable": "true"}),
    "AVRO": ("io.confluent.connect.avro.AvroConverter", {"schema.registry.url": REGISTRY}),
    "PROTOBUF": ("io.confluent.connect.protobuf.ProtobufConverter", {"schema.registry.url": REGISTRY}),
}
_SIDES = {"K": "key.converter", "V": "value.converter"}
_VALUES = {
    "name": "mine",
    "topics": "orders",
    "topics.regex": "shop\\..*",
    "topic.prefix": "shop",
    "tasks.max": "1",
    "connection.url": f"jdbc:postgresql://db/shop?password={SECRET}",
    "topic.index.map": "orders:o",
    "key.converter.schema.registry.url": REGISTRY,
    "value.converter.schema.registry.url": REGISTRY,
}
_SECRET = re.compile(r"passw|secret|user\.info|private|license|api\.key|access.key|uri$")


def _value(option: str) -> str:
    return _VALUES.get(option) or (f"x://ann:{SECRET}@host" if _SECRET.search(option) else "x")


def _config(words: list[str]) -> dict[str, str]:
    config: dict[str, str] = {}
    for word in words:
        if word == "UNWRAP":
            config |= {"transforms": "unwrap", "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState"}
        elif word[:1] in _SIDES and word[1:] in _CONVERTERS:
            name, (class_, options) = _SIDES[word[0]], _CONVERTERS[word[1:]]
            config |= {name: class_, **{f"{name}.{option}": value for option, value in options.items()}}
        else:
            option, equals, value = word.partition("=")
            config[option] = value if equals else _value(option)
    return config


def real_connectors() -> dict[str, Connector]:
    """The connectors by their source: repository and path."""
    results = {}
    for part in FILE.read_text(encoding="utf-8").split("\n## ")[1:]:
        source, _, body = part.partition("\n")
        name = re.sub(r"\W+", "_", source)[-60:].strip("_")
        results[source] = Connector(name, _config(body.split()))
    return results
