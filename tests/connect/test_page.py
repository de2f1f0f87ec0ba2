"""The examples of the how-to page about imports are true."""

import json
import re
from pathlib import Path

import pytest
import yaml

from dagster_smt.connect import Connector, written_component

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "import-connectors.md").read_text(encoding="utf-8")
SOURCE = {"kafka": {"bootstrap_servers": "kafka:9092"}}
AVRO = {"value.converter": "io.confluent.connect.avro.AvroConverter", "value.converter.schema.registry.url": "http://r"}


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_connector_with_keys():
    (connector,), (becomes,) = blocks("json"), blocks("yaml")
    data = json.loads(connector)
    result = written_component(Connector(data["name"], data["config"]), SOURCE)
    assert result.attributes["sink"] == yaml.safe_load(becomes)["sink"]
    assert not result.refused


ROWS = [line.split("|")[1:3] for line in PAGE.split("### Partitions")[1].split("###")[0].splitlines() if "`" in line]
ROWS = [row for row in ROWS if len(row) == 2 and "partition_by" in row[1]]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip()[:40])
def test_partitions(row):
    text, becomes = row
    if "the same" in text:
        text = ROWS[1][0].replace("RecordField", "Record")
    options = dict(part.split("=", 1) for part in re.findall(r"`([^`]+)`", text) if "=" in part)
    config = {"connector.class": "io.confluent.connect.s3.S3SinkConnector", "topics": "t", **AVRO, **options}
    for name in ("Field", "TimeBased"):
        if f"`{name}Partitioner`" in text:
            config["partitioner.class"] = f"io.confluent.connect.storage.partitioner.{name}Partitioner"
    if "iceberg" in text:
        config["connector.class"] = "org.apache.iceberg.connect.IcebergSinkConnector"
        config["iceberg.tables"] = "d.t"
    ((_, sink),) = written_component(Connector("c", config), SOURCE).attributes["sink"].items()
    assert sink["partition_by"] == yaml.safe_load(re.findall(r"`(partition_by.*)`", becomes)[0])["partition_by"]
