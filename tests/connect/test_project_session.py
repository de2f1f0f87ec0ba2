"""The Spark session that an import writes into a project: catalogs, secrets, and what is left to do."""

import json

import dagster as dg
from dagster.components.testing import create_defs_folder_sandbox

from dagster_smt.cli import main
from dagster_smt.connect import Cluster, Connector, session_for, write_session, written_component
from dagster_smt.connect.report import with_installed_versions
from tests.connect.shapes import AVRO, JSON, SECRET, STRING_KEY

SOURCE = {"kafka": {"bootstrap_servers": "localhost:9092"}}
ICEBERG = {
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "topics": "orders",
    "iceberg.tables": "shop.orders",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.uri": "http://rest:8181",
    **AVRO,
    **STRING_KEY,
}


def session_of(**configs):
    """The session of connectors by name, and the tables of their components."""
    parts = []
    for name, more in configs.items():
        connector = Connector(name, {**ICEBERG, **more})
        parts.append((connector, written_component(connector, SOURCE)))
    session = session_for(parts)
    return session, [component.attributes["sink"]["iceberg"]["table"] for _, component in parts]


def test_the_catalog_of_a_sink_becomes_a_catalog_of_the_session():
    more = {"iceberg.catalog": "prod", "iceberg.hadoop.fs.s3a.path.style.access": "true"}
    session, tables = session_of(one=more, two={**more, "iceberg.tables": "shop.returns"})
    head = "spark.sql.catalog.prod"
    assert session.conf == {
        head: "org.apache.iceberg.spark.SparkCatalog",
        f"{head}.type": "rest",
        f"{head}.uri": "http://rest:8181",
        f"{head}.hadoop.fs.s3a.path.style.access": "true",
    }
    assert tables == ["prod.shop.orders", "prod.shop.returns"]


def test_two_catalogs_of_one_name_get_two_names():
    session, tables = session_of(one={}, two={"iceberg.catalog.uri": "http://other:8181"}, three={})
    assert tables == ["iceberg.shop.orders", "iceberg_2.shop.orders", "iceberg.shop.orders"]
    assert session.conf["spark.sql.catalog.iceberg_2.uri"] == "http://other:8181"


REST_CATALOG = "org.apache.iceberg.rest.RESTCatalog"


def test_the_first_versions_of_tabulars_sink_have_the_class_in_place_of_the_name():
    config = {k: v for k, v in ICEBERG.items() if k != "iceberg.catalog.type"} | {"iceberg.catalog": REST_CATALOG}
    component = written_component(Connector("c", config), SOURCE)
    session = session_for([(Connector("c", config), component)])
    assert component.attributes["sink"]["iceberg"]["table"] == "iceberg.shop.orders"
    assert session.conf == {
        "spark.sql.catalog.iceberg": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.iceberg.uri": "http://rest:8181",
        "spark.sql.catalog.iceberg.catalog-impl": REST_CATALOG,
    }
    (verdict,) = [v for v in component.options if v.option == "iceberg.catalog"]
    assert (verdict.verdict, "catalog-impl" in verdict.text) == ("used", True)


def test_a_name_with_dots_is_not_done():
    config = {**ICEBERG, "iceberg.catalog": "prod.eu"}
    component = written_component(Connector("c", config), SOURCE)
    session_for([(Connector("c", config), component)])
    assert component.attributes["sink"]["iceberg"]["table"] == "iceberg.shop.orders"
    assert [v.option for v in component.options if v.verdict == "not done"] == ["iceberg.catalog"]


def test_a_secret_becomes_a_variable_that_the_report_names(tmp_path):
    secrets = {"iceberg.catalog.type": "jdbc", "iceberg.catalog.uri": "jdbc:postgresql://db/lake"}
    secrets |= {"iceberg.catalog.jdbc.password": SECRET, "iceberg.catalog.token": "${file:/run/t:token}"}
    session, _ = session_of(one=secrets)
    write_session(session, tmp_path / "defs")
    text = session.file.read_text()
    assert SECRET not in text and '"${env:ICEBERG_JDBC_PASSWORD}"' in text and "${file:/run/t:token}" in text
    assert '"spark.sql.catalog.iceberg.cache-enabled": "false"' in text
    to_do = "\n".join(session.to_do())
    assert "set the environment variable ICEBERG_JDBC_PASSWORD" in to_do and "driver of the database" in to_do
    connector = Connector("one", {**ICEBERG, **secrets})
    verdicts = {v.option: v for v in written_component(connector, SOURCE).options}
    assert verdicts["iceberg.catalog.jdbc.password"].verdict == "changed"
    assert verdicts["iceberg.catalog.token"].verdict == "used"


def test_a_session_that_exists_stays(tmp_path):
    defs = tmp_path / "src" / "shop" / "defs"
    defs.mkdir(parents=True)
    own = "from dagster_smt import SparkSessionResource\n"
    (defs.parent / "definitions.py").write_text(own)
    session, _ = session_of(one={})
    write_session(session, defs)
    assert session.file is None and not [*defs.iterdir()]
    assert "spark.sql.catalog.iceberg.uri" in "".join(session.to_do())


def test_a_file_of_the_same_name_stays(tmp_path):
    (tmp_path / "defs").mkdir()
    (tmp_path / "defs" / "spark.py").write_text("x = 1\n")
    session, _ = session_of(one={})
    write_session(session, tmp_path / "defs")
    assert session.file.name == "spark_session.py" and (tmp_path / "defs" / "spark.py").read_text() == "x = 1\n"


def test_a_folder_of_no_project_gets_no_session(tmp_path):
    session, _ = session_of(one={})
    write_session(session, tmp_path / "elsewhere")
    assert session.file is None and not [*tmp_path.iterdir()]
    assert "SparkSessionResource" in "".join(session.to_do())


ODD = "a'b\"c\\d\u2028\x7f\ud800 ${env:HOME}"


def test_odd_settings_are_text_of_python(tmp_path):
    session, _ = session_of(one={"iceberg.catalog.warehouse": ODD})
    write_session(session, tmp_path / "defs")
    names: dict[str, object] = {}
    exec(session.file.read_text(), names)
    assert names["CONF"]["spark.sql.catalog.iceberg.warehouse"] == ODD


def test_connectors_of_one_topic_become_a_project_that_loads(tmp_path, monkeypatch, capsys):
    """The topic is the asset of one component; the session is written by the import."""
    monkeypatch.setenv("KAFKA_SERVERS", "127.0.0.1:1")
    lines = {"connector.class": "FileStreamSink", "topics": "orders,people", **JSON, **STRING_KEY}
    data = [{"name": "lake", "config": ICEBERG}, {"name": "lines", "config": lines}]
    (tmp_path / "c.json").write_text(json.dumps(data))
    with create_defs_folder_sandbox() as sandbox:
        assert main(["import", str(tmp_path / "c.json"), "--sample", "0", "--to", str(sandbox.defs_folder_path)]) == 0
        assert "Spark session: " in capsys.readouterr().out
        with sandbox.build_all_defs() as defs:
            topics = []
            for asset in defs.assets:
                if isinstance(asset, dg.AssetsDefinition) and asset.op.name.endswith("_topics"):
                    topics.append(sorted(key.to_user_string() for key in asset.keys))
            assert sorted(topics) == [["kafka/orders"], ["kafka/people"]]
            assert defs.resolve_all_asset_specs()
            assert "spark" in defs.resources


def test_the_version_of_a_class_that_needs_a_jar():
    config = {**ICEBERG, "transforms": "t", "transforms.t.type": "com.example.Upper"}
    component = written_component(Connector("c", config), SOURCE)
    with_installed_versions(component, Cluster("http://connect:8083", "4.3.1", {"com.example.Upper": "2.1"}))
    assert component.stages[0].text.endswith("installed: 2.1")


def test_a_reference_that_no_run_resolves_is_not_done():
    unresolved = "${secrets:ns/name:key}"
    config = {**ICEBERG, "iceberg.catalog.uri": unresolved, "consumer.override.ssl.keystore.password": unresolved}
    component = written_component(Connector("c", config), SOURCE)
    undone = [v.option for v in component.options if v.verdict == "not done"]
    assert undone == ["iceberg.catalog.uri", "consumer.override.ssl.keystore.password"] and component.refused
