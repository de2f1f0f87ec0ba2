"""Sixty connectors of public repositories import with a verdict on each option; those of lakes run."""

import json
import re
from collections import Counter
from pathlib import Path

import dagster as dg
import pytest
from dagster.components.testing import create_defs_folder_sandbox

from dagster_smt.cli import main
from dagster_smt.connect import written_component
from dagster_smt.connect.catalog import catalog
from dagster_smt.connect.option_verdicts import family_of
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from tests.connect.real_connectors import real_connectors
from tests.connect.shapes_basics import SECRET

REAL = real_connectors()
SOURCE = {"kafka": {"bootstrap_servers": "localhost:9092"}}
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "import-connectors.md"
WRITTEN = {source: written_component(connector, SOURCE) for source, connector in REAL.items()}


def test_there_are_sixty_of_many_families():
    assert len(REAL) >= 60
    assert len({family_of(connector) for connector in REAL.values()}) >= 10


def test_each_has_a_commit_and_a_licence():
    text = (Path(__file__).with_name("real") / "sources.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")][1:]
    assert [f"{repository} {path}" for repository, path, _, _ in rows] == list(REAL)
    assert all(re.fullmatch("[0-9a-f]{40}", commit) and licence for _, _, commit, licence in rows)


@pytest.mark.parametrize("source", REAL)
def test_every_option_has_a_verdict(source):
    result = WRITTEN[source]
    assert [v.option for v in result.options] == list(REAL[source].config)
    assert all(v.text for v in result.options)
    assert SECRET not in result.chain + json.dumps([result.attributes, result.patch, result.proposals])


def test_the_page_has_the_counts():
    counts = Counter(v.verdict for result in WRITTEN.values() for v in result.options)
    complete = sum(not result.refused for result in WRITTEN.values())
    text = PAGE.read_text(encoding="utf-8")
    (row,) = re.findall(
        r"^\| connectors of (\d+) public files \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", text, re.M
    )
    results = [len(REAL), complete, *(counts[v] for v in ("used", "changed", "not needed", "not done"))]
    assert [int(cell) for cell in row] == results


def is_ready(source):
    """Whether the component can load: a transform that is not supported must not."""
    result = WRITTEN[source]
    return bool(result.attributes) and not any(v.verdict == "not supported" for v in result.stages)


@pytest.mark.parametrize("source", [source for source in REAL if is_ready(source)])
def test_each_component_loads(source, monkeypatch):
    monkeypatch.setenv("KAFKA_SERVERS", "localhost:9092")
    with create_defs_folder_sandbox() as sandbox:
        folder = WRITTEN[source].save(Path(sandbox.defs_folder_path))
        with sandbox.load_component_and_build_defs(defs_path=folder.name) as (_, defs):
            assert isinstance(defs, dg.Definitions)


# -- those of lakes and databases, on records made to fit --------------------------------------------------------------

FIELDS = [{"field": "id", "type": "int32", "optional": False}, {"field": "name", "type": "string", "optional": True}]
LAKES = [source for source in REAL if is_ready(source) and catalog().goals.get(family_of(REAL[source])) == "table"]
RUN = [source for source in LAKES if not {"avro-confluent", "protobuf-confluent", "json-confluent", "bytes"} & {
    WRITTEN[source].attributes["table"].get(side, {}).get("kind") for side in ("key", "value")
}]  # fmt: skip
DEFAULT = "abhistac/mysql-to-postgres-cdc connectors/jdbc-sink.json"


def enveloped(payload, fields=FIELDS, **more):
    schema = {"type": "struct", "optional": False, "fields": fields, **more}
    return json.dumps({"schema": schema, "payload": payload}).encode()


def change(row):
    """A change event of Debezium, with its schema."""
    inner = {"type": "struct", "optional": True, "fields": FIELDS}
    fields = [{**inner, "field": "before"}, {**inner, "field": "after"}]
    fields += [{"field": "op", "type": "string", "optional": False}]
    return enveloped({"before": None, "after": row, "op": "c"}, fields, name="shop.orders.Envelope")


def records(config, kinds):
    """Two records that a connector's chain and formats take."""
    results = []
    for number in (1, 2):
        row = {"id": number, "name": "Ann"}
        key = {"envelope": enveloped({"id": number}, FIELDS[:1]), "json": b"{}"}.get(kinds["key"], b"k")
        unwraps = any(text.startswith("io.debezium") for text in config.values())
        value = (
            (change(row) if unwraps else enveloped(row)) if kinds["value"] == "envelope" else json.dumps(row).encode()
        )
        results.append(NewRecord(key, value))
    return results


def runs(source, tmp_path, spark):
    """Imports a connector from file topics with its records, runs the component, and returns its rows."""
    connector, table = REAL[source], WRITTEN[source].attributes["table"]
    kinds = {side: table[side]["kind"] for side in ("key", "value")}
    topics = list(connector.topics) or ["shop.orders"]
    for topic in topics:
        append_records(FileTopics(tmp_path / "topics"), topic, records(connector.config, kinds))
    (tmp_path / "c.json").write_text(json.dumps({"name": "mine", "config": connector.config}))
    with create_defs_folder_sandbox() as sandbox:
        root = Path(sandbox.defs_folder_path)
        main(["import", str(tmp_path / "c.json"), "--files", str(tmp_path / "topics"), "--lake", str(tmp_path / "lake"),
              "--to", str(root)])  # fmt: skip
        with sandbox.load_component_and_build_defs(defs_path="mine") as (component, defs):
            key = component.asset_key
            (asset,) = [a for a in defs.assets if isinstance(a, dg.AssetsDefinition) and key in a.keys]
            result = dg.materialize([asset], resources={"spark": spark_resource(spark)})
            assert result.success
            tables = [log.parent for log in (tmp_path / "lake").rglob("_delta_log") if "_smt_" not in log.parent.name]
            rows = [row for table in tables for row in spark.read.format("delta").load(str(table)).collect()]
            return rows, len(topics)


def spark_resource(spark):
    return dg.ResourceDefinition.hardcoded_resource(type("Session", (), {"spark_session": spark})())


@pytest.mark.long
@pytest.mark.spark
def test_a_connector_with_keys_runs(tmp_path, spark):
    rows, _ = runs(DEFAULT, tmp_path, spark)
    assert sorted((row.id, row.name) for row in rows) == [(1, "Ann"), (2, "Ann")]


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("source", [s for s in RUN if s != DEFAULT and "iceberg" not in WRITTEN[s].attributes["sink"]])
def test_each_connector_of_a_lake_runs(source, tmp_path, spark):
    rows, topics = runs(source, tmp_path, spark)
    assert len(rows) == 2 * topics
