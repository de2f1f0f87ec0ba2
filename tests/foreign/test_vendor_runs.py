"""Jars of vendors in runs on Spark: from Python, from YAML, and from the JSON of a connector."""

import base64
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

from dagster_smt.cli import main
from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration import SmtTable, build_smt_asset
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.foreign.jar import VENDORS, missing_vendor
from tests.foreign.test_vendors import COMMON, EVENT, ICEBERG, INT64, envelope, struct

WAYS = ("python", "yaml", "connector")
TEXT = {"type": "string", "optional": False}
ROW = envelope(struct("orders", id=INT64, name=TEXT), {"id": 7, "name": "Ann"})
SOURCE = struct("io.debezium.connector.postgresql.Source", db=TEXT)
CHANGE = {"before": None, "after": {"id": 7, "name": "Ann"}, "source": {"db": "shop"}, "op": "r", "ts_ms": 5}
BYTES = {"type": "bytes", "optional": True}
MESSAGE = struct("io.debezium.connector.postgresql.Message", prefix=TEXT, content=BYTES)
MESSAGES = struct("io.debezium.connector.postgresql.MessageValue", op=TEXT, ts_ms=INT64, source=SOURCE, message=MESSAGE)
CONTENT = base64.b64encode(b'{"id": 7, "name": "Ann"}').decode()


@dataclass(frozen=True)
class Jar:
    """One stage of a jar: what goes in, and what must come out."""

    type: str
    options: dict[str, str]
    value: bytes
    payload: Any
    form: str = "envelope"
    headers: dict[str, str] = field(default_factory=dict)


JARS = {
    "debezium": Jar(
        "io.debezium.transforms.ExtractChangedRecordState",
        {"header.changed.name": "Changed"},
        envelope(EVENT, {**CHANGE, "before": {"id": 7, "name": "Eve"}}),
        {**CHANGE, "before": {"id": 7, "name": "Eve"}},
        headers={"Changed": '["name"]'},
    ),
    "debezium-mysql": Jar(
        "io.debezium.connector.mysql.transforms.ReadToInsertEvent", {}, envelope(EVENT, CHANGE), {**CHANGE, "op": "c"}
    ),
    "debezium-postgres": Jar(
        "io.debezium.connector.postgresql.transforms.DecodeLogicalDecodingMessageContent",
        {},
        envelope(
            MESSAGES, {"op": "m", "ts_ms": 5, "source": {"db": "d"}, "message": {"prefix": "", "content": CONTENT}}
        ),
        {"op": "c", "ts_ms": 5, "source": {"db": "d"}, "after": {"id": 7, "name": "Ann"}},
    ),
    "iceberg": Jar(
        f"{ICEBERG}CopyValue",
        {"source.field": "id", "target.field": "copy"},
        ROW,
        {"id": 7, "name": "Ann", "copy": 7},
    ),
    "jcustenborder": Jar(
        f"{COMMON}ChangeCase$Value",
        {"from": "LOWER_UNDERSCORE", "to": "UPPER_UNDERSCORE"},
        ROW,
        {"ID": 7, "NAME": "Ann"},
    ),
    "landoop": Jar(
        "com.landoop.connect.sql.Transformation",
        {"connect.transforms.sql.value": "SELECT id AS number FROM orders WHERE name = 'Ann'"},
        b'{"id": 7, "name": "Ann"}',
        {"number": 7},
        "json",
    ),
}


def properties(jar):
    options = {f"transforms.s.{name}": text for name, text in jar.options.items()}
    return {"transforms": "s", "transforms.s.type": jar.type, **options}


def python_asset(jar, jars, tmp_path):
    """Returns the asset of a table that Python declares."""
    topics = TopicTable(FileTopics(tmp_path / "topics"), ("orders",), value=Format(jar.form))
    sink = DeltaSink(tmp_path / "lake", "records")
    return build_smt_asset(SmtTable(key="mine", chain=properties(jar), table=topics, sink=sink, smt_jars=jars))


def attributes(jar, jars, tmp_path):
    """Returns a component as YAML declares it."""
    return {
        "asset_key": "mine",
        "chain": properties(jar),
        "smt_jars": jars,
        "table": {
            "source": {"files": str(tmp_path / "topics")},
            "topics": ["orders"],
            "value": {"kind": jar.form},
        },
        "sink": {"delta": {"path": str(tmp_path / "lake"), "kind": "records"}},
    }


def imported(jar, jars, tmp_path, root):
    """Imports a connector with the chain of a jar into a folder of definitions; its sink keeps records."""
    schemas = str(jar.form == "envelope").lower()
    config = {
        "name": "mine",
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": "orders",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": schemas,
        **properties(jar),
    }
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"name": "mine", "config": config}))
    arguments = [part for entry in jars for part in ("--smt-jars", entry)]
    main(["import", str(file), "--files", str(tmp_path / "topics"), "--to", str(root), "--sample", "0", *arguments])
    defs = root / "mine" / "defs.yaml"
    written = yaml.safe_load(defs.read_text())
    written["attributes"]["sink"] = {"delta": {"path": str(tmp_path / "lake"), "kind": "records"}}
    defs.write_text(yaml.safe_dump(written))


def run_component(way, jar, jars, tmp_path, spark):
    """Runs the component of YAML or of a connector."""
    with create_defs_folder_sandbox() as sandbox:
        if way == "yaml":
            from dagster_smt import SmtChainComponent

            contents = {"type": "dagster_smt.SmtChainComponent", "attributes": attributes(jar, jars, tmp_path)}
            sandbox.scaffold_component(SmtChainComponent, defs_path="mine", defs_yaml_contents=contents)
        else:
            imported(jar, jars, tmp_path, Path(sandbox.defs_folder_path))
        with sandbox.load_component_and_build_defs(defs_path="mine") as (component, defs):
            (asset,) = [a for a in defs.assets if isinstance(a, dg.AssetsDefinition) and component.asset_key in a.keys]
            session = type("Session", (), {"spark_session": spark})()
            resources = {"spark": dg.ResourceDefinition.hardcoded_resource(session)}
            assert dg.materialize([asset], resources=resources).success


def check_run(way, jar, jars, tmp_path, spark):
    """Runs two records through a jar, and compares the rows of the table."""
    append_records(FileTopics(tmp_path / "topics"), "orders", [NewRecord(b"k", jar.value)] * 2)
    if way == "python":
        assert dg.materialize([python_asset(jar, jars, tmp_path)], resources={"spark": spark}).success
    else:
        run_component(way, jar, jars, tmp_path, spark)
    rows = open_table(spark, DeltaSink(tmp_path / "lake", "records")).read().collect()
    assert len(rows) == 2
    for row in rows:
        value = json.loads(row.value)
        assert (value["payload"] if jar.form == "envelope" else value) == jar.payload
        headers = {header.key: bytes(header.value).decode() for header in row.headers or ()}
        assert headers.items() >= jar.headers.items()


def test_the_page_lists_the_jars():
    page = Path(__file__).parents[2] / "docs" / "how-to" / "run-any-transform.md"
    rows = re.findall(r"^\| `([\w.-]+:[\w.-]+:[\w.-]+)` \| `([\w.$]+)` \|$", page.read_text(encoding="utf-8"), re.M)
    assert sorted(rows) == sorted((VENDORS[vendor], jar.type) for vendor, jar in JARS.items())


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("vendor", JARS)
def test_a_vendors_jar_runs(vendor, way, tmp_path, spark):
    if reason := missing_vendor(vendor):
        pytest.skip(reason)
    check_run(way, JARS[vendor], [VENDORS[vendor]], tmp_path, spark)


OURS = Jar("acme.Upper", {"option": "name"}, b'{"id":7,"name":"ann"}', {"id": 7, "name": "ANN"}, "json")


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("way", ["connector", "yaml"])
def test_a_jar_of_the_users_own_runs(way, jar, tmp_path, spark):
    check_run(way, OURS, [str(jar)], tmp_path, spark)
