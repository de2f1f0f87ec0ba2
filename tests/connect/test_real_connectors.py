"""Sixty connectors of public repositories import with a verdict on each option; those of lakes run."""

import json
import re
from base64 import b64encode
from collections import Counter
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

from dagster_smt.cli import main
from dagster_smt.connect import written_component
from dagster_smt.connect.catalog import catalog
from dagster_smt.connect.option_verdicts import family_of
from dagster_smt.tables.sources.file_writer import append_records
from dagster_smt.tables.topic_table import FileTopics
from tests.connect.lake_records import ROWS, Records
from tests.connect.real_connectors import REGISTRY, real_connectors
from tests.connect.shapes_basics import SECRET
from tests.registry import Registry

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

LAKES = [source for source in REAL if catalog().goals.get(family_of(REAL[source])) == "table"]
NOT_RUN = {
    "waiyan1612/postgres-kafka-iceberg-pipeline kafka/config/connect-iceberg-sink.json":
        "no component loads: its transform is Tabular's DebeziumTransform, which this package does not have",
    "dotsering/kafka-connect-minio-pipeline connectors/s3-sink.json":
        "no component loads: its transform is a class of its own repository",
    "musobarlab/debezium-mongo-postgre-example-v1.9 jdbc-sink.json":
        "no component loads: its transform is Debezium's ExtractNewDocumentState, which this package does not have",
}  # fmt: skip
"""The connectors of lakes and databases that do not run, and why."""
RUN = [source for source in LAKES if is_ready(source)]
BYTES = "carlesarnal/database-to-lakehouse-demo connectors/iceberg-sink.json"
"""Apicurio's converter is not supported: the component has the bytes of the values, not their fields."""
LOGIN = "ann:secret"
CATALOG = re.compile(r"spark\.sql\.catalog\.\w+")


def test_each_connector_of_a_lake_runs_or_has_a_reason():
    assert sorted([*RUN, *NOT_RUN]) == sorted(LAKES)
    (count,) = re.findall(r"run the components of (\d+) of the \d+ connectors on records", PAGE.read_text("utf-8"))
    assert len(RUN) == int(count) == 36
    for source in NOT_RUN:
        assert [v for v in WRITTEN[source].stages if v.verdict == "not supported"]


class Lake:
    """A connector that is imported from file topics, and runs.

    Attributes:
        config: The options of the connector, with the address of the running registry.
        topics: The topics that have records.
        root: The folder of the components that the import writes.
    """

    def __init__(self, source, folder, registry):
        self.folder, self.root = folder, None
        self.config = {}
        for option, value in REAL[source].config.items():
            self.config[option] = value.replace(REGISTRY, registry.url)
        self.topics = list(REAL[source].topics) or ["shop.orders"]
        table = WRITTEN[source].attributes["table"]
        self.records = Records(self.config, {side: table[side]["kind"] for side in ("key", "value")}, registry.url)

    def run(self, spark):
        """Imports the connector, runs its components, and returns the rows of each component."""
        for topic in self.topics:
            append_records(FileTopics(self.folder / "topics"), topic, self.records.of(topic))
        (self.folder / "c.json").write_text(json.dumps({"name": "mine", "config": self.config}))
        with create_defs_folder_sandbox() as sandbox:
            self.root = Path(sandbox.defs_folder_path)
            place = ["--files", str(self.folder / "topics"), "--lake", str(self.folder / "lake")]
            main(["import", str(self.folder / "c.json"), *place, "--to", str(self.root)])
            session = self.session(spark)
            rows = {}
            for file in sorted(self.root.glob("*/defs.yaml")):
                name = file.parent.name
                with sandbox.load_component_and_build_defs(defs_path=name) as (component, defs):
                    self.materialize(component, defs, session)
                rows[name] = self.rows(yaml.safe_load(file.read_text())["attributes"]["sink"], session)
        return rows

    def session(self, spark):
        """A session with the catalogs of the session that the import writes; each is a folder."""
        conf = {}
        exec((self.root / "spark.py").read_text(), conf)
        session = spark.newSession()
        for name in filter(CATALOG.fullmatch, conf["CONF"]):
            session.conf.set(name, conf["CONF"][name])
            session.conf.set(f"{name}.type", "hadoop")
            session.conf.set(f"{name}.warehouse", str(self.folder / "ice"))
        return session

    def materialize(self, component, defs, session):
        key = component.asset_key
        (asset,) = [a for a in defs.assets if isinstance(a, dg.AssetsDefinition) and key in a.keys]
        spark = dg.ResourceDefinition.hardcoded_resource(type("Session", (), {"spark_session": session})())
        assert dg.materialize([asset], resources={"spark": spark}).success

    def rows(self, sink, session):
        if "iceberg" in sink:
            return session.table(sink["iceberg"]["table"]).collect()
        rows = []
        for log in (self.folder / "lake").rglob("_delta_log"):
            if "_smt_" not in log.parent.name:
                rows += session.read.format("delta").load(str(log.parent)).collect()
        return rows


@pytest.fixture
def registry(monkeypatch, spark):
    """A running registry. This process and Spark's Python workers have its address and its login, as components ask."""
    workers = spark.sparkContext.environment  # what the setting spark.executorEnv.NAME fills
    with Registry() as running:
        for name, value in (("SCHEMA_REGISTRY_URL", running.url), ("SCHEMA_REGISTRY_USER_INFO", LOGIN)):
            monkeypatch.setenv(name, value)
            monkeypatch.setitem(workers, name, value)
        yield running


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("source", [source for source in RUN if source != BYTES])
def test_each_connector_of_a_lake_runs(source, tmp_path, spark, registry):
    lake = Lake(source, tmp_path, registry)
    (rows,) = lake.run(spark).values()
    assert sorted((row.id, row.name) for row in rows) == sorted(ROWS * len(lake.topics))
    logins = f"Basic {b64encode(LOGIN.encode()).decode()}" in registry.authorization
    assert logins == any(option.startswith("value.converter.basic.auth.") for option in lake.config)


@pytest.mark.spark
@pytest.mark.long
def test_a_connector_with_an_unknown_converter_runs_on_bytes(tmp_path, spark, registry):
    lake = Lake(BYTES, tmp_path, registry)
    tables = lake.run(spark)
    assert [*tables] == ["mine_shop_orders", "mine_shop_returns"]
    values = []
    for topic in lake.topics:
        values += [record.value for record in lake.records.of(topic)]
    for rows in tables.values():
        assert sorted(bytes(row.value) for row in rows) == sorted(values)
