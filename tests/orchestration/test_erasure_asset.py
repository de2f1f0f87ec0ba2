"""The asset of erasures: ids in, a record out, and no id in events, logs or files."""

import io
import json
import logging
from pathlib import Path

import dagster as dg
import pytest
import yaml

from dagster_smt import (
    DeltaSink,
    FileTopics,
    FileTopicSink,
    KafkaSink,
    KafkaTopics,
    SmtErasure,
    SmtTable,
    TopicTable,
    build_erasure_asset,
)
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.reports.erasure_report import ErasedPlace, ErasureReport, Scan
from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration import build_smt_asset
from dagster_smt.orchestration.definitions import erasure_asset
from dagster_smt.orchestration.runs.afterwards import UNSEEN
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from tests.orchestration.test_component import LEAST, loaded
from tests.test_docs import blocks

ROOT = Path(__file__).parents[2]
PERSON, OTHER = "anna.with.a.long.name@example.org", "zoe.with.a.long.name@example.org"
CAST = {"transforms": "c", "transforms.c.type": "org.apache.kafka.connect.transforms.Cast$Value"}
CHAIN = {**CAST, "transforms.c.spec": "amount:int32"}
PAGE = (ROOT / "docs/how-to/erase-a-person.md").read_text("utf-8")
TOPICS = Format("json_schema", parse_ddl("user_id STRING, amount STRING"))


def erasure(root, **changes):
    arguments = {
        "register_table": DeltaSink(root / "erased"),
        "key_ring": ["e1=${env:EXAMPLE_KEY}"],
        "records": ["value.user_id"],
        "columns": ["user_id"],
        **changes,
    }
    return SmtErasure(**arguments)


def orders(root, *, sink=None, key=("lake", "orders"), spark_key="spark", **changes):
    return build_smt_asset(
        SmtTable(
            key=key,
            chain=CHAIN,
            table=TopicTable(FileTopics(root / "topics"), ("orders",), value=TOPICS),
            sink=sink or DeltaSink(root / "lake", "columns"),
            errors_tolerance="all",
            dead_letter_topic="dead",
            **{"erasure": erasure(root), **changes},
        ),
        spark_key=spark_key,
    )


def add(root, *people, amount="5"):
    values = (json.dumps({"user_id": person, "amount": amount}).encode() for person in people)
    append_records(FileTopics(root / "topics"), "orders", [NewRecord(None, value) for value in values])


@pytest.mark.long
def test_the_page_erases_a_person_and_nothing_that_dagster_keeps_names_one(spark, tmp_path, monkeypatch):
    """The definitions and the run config of the page; then every byte that Dagster has written is searched."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ERASURE_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    names = {"chain": CHAIN, "topics": TopicTable(FileTopics(tmp_path / "topics"), ("orders",), value=TOPICS)}
    text = blocks("docs/how-to/erase-a-person.md", "python")[0]
    exec(text.replace("${env:ERASURE_KEY}", "${env:EXAMPLE_KEY}"), names)
    config = yaml.safe_load(blocks("docs/how-to/erase-a-person.md", "yaml")[0])
    subjects = tmp_path / "secret" / "ids.txt"
    subjects.parent.mkdir()
    subjects.write_text(f"{PERSON}\n")
    config["ops"]["erasures"]["config"]["subjects"]["file"] = str(subjects)
    add(tmp_path, PERSON, OTHER)
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    logging.getLogger().addHandler(handler)
    home = tmp_path / "home"
    home.mkdir()
    with dg.instance_for_test(temp_dir=str(home)) as instance:
        arguments = {"instance": instance, "resources": {"spark": spark}}
        assert dg.materialize([names["orders"]], **arguments).success
        result = dg.materialize(
            [names["orders"], names["erasures"]], config, selection=[names["erasures"]], **arguments
        )
        (event,) = result.asset_materializations_for_node("erasures")
        (check,) = result.get_asset_check_evaluations()
        assert check.passed and event.metadata["dagster_smt/proven"].value is True
        assert event.metadata["dagster_smt/rows_erased"].value == 1
        stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    logging.getLogger().removeHandler(handler)
    assert PERSON.encode() not in stored and PERSON not in lines.getvalue() and b"AAECAwQF" not in stored
    (record,) = (tmp_path / "erasures").glob("*.json")
    assert json.loads(record.read_text())["proven"] and record.with_suffix(".md").exists()
    assert PERSON not in record.read_text() and PERSON not in record.with_suffix(".md").read_text()


class Session:
    """Something that looks like a session. Nothing asks it for anything."""

    conf = createDataFrame = None


def test_a_place_that_fails_is_in_the_record_and_the_step_fails(tmp_path, monkeypatch):
    problem = Problem("SMT758", "lake", "the table has no column nobody", "correct the columns")
    done = ErasedPlace("lake/orders", "dead letters", "dead", "emptied", 2, scan=Scan(0, 10, 3))
    places = (ErasedPlace("lake/orders", "table", "lake", problems=(problem,)), done)
    report = ErasureReport("ab12", 1700000000000, "run", ("person",), 1, 1, 0, ("erased",), places)
    monkeypatch.setattr(erasure_asset, "erasure_report", lambda *args, **kwargs: report)
    asset = orders(tmp_path)
    erasures = build_erasure_asset([asset], records=tmp_path / "records")
    config = {"ops": {"erasures": {"config": {"subjects": {"environment": "IDS"}}}}}
    with dg.instance_for_test() as instance:
        arguments = {"instance": instance, "resources": {"spark": Session()}, "raise_on_error": False}
        result = dg.materialize([asset, erasures], config, selection=[erasures], **arguments)
        (event,) = [e for e in result.all_events if e.is_step_failure]
    assert not result.success and not report.proven
    metadata = event.step_failure_data.user_failure_data.metadata
    assert metadata["dagster_smt/rows_erased"].value == 2 and metadata["dagster_smt/proven"].value is False
    assert [row.data["result"] for row in metadata["dagster_smt/places"].records] == [
        "failed: SMT758",
        "no value is left",
    ]
    assert "SMT758" in (tmp_path / "records/ab12.md").read_text()


def test_definitions_load_and_a_component_has_the_asset(tmp_path):
    asset = orders(tmp_path)
    erasures = build_erasure_asset([asset], key=["gdpr", "erasures"])
    assert erasures.op.name == "gdpr__erasures" and erasures.asset_deps[erasures.key] == {asset.key}
    dg.Definitions.validate_loadable(dg.Definitions([asset, erasures], resources={"spark": object()}))
    (block,) = [text for text in blocks("docs/how-to/erase-a-person.md", "yaml") if text.startswith("erasure:")]
    _, defs = loaded({**LEAST, **yaml.safe_load(block)})
    keys = {key for one in defs.assets if isinstance(one, dg.AssetsDefinition) for key in one.keys}
    assert dg.AssetKey(["lake", "orders", "erasures"]) in keys


def test_assets_without_an_erasure_are_refused(tmp_path):
    @dg.asset
    def foreign():
        pass

    for assets in ([orders(tmp_path, erasure=None)], [foreign], []):
        with pytest.raises(ConfigError) as refused:
            build_erasure_asset(assets)
        assert [problem.code for problem in refused.value.problems] == ["SMT754"]


def test_assets_of_several_sessions_are_refused(tmp_path):
    others = orders(tmp_path, key="bills", spark_key="cluster")
    with pytest.raises(ConfigError, match=r"SMT754 erasures.*several Spark sessions: cluster, spark"):
        build_erasure_asset([orders(tmp_path), others])
    assert build_erasure_asset([others]).op.required_resource_keys == {"cluster"}


def test_topics_of_files_can_have_an_erasure(tmp_path):
    sink = FileTopicSink(tmp_path / "clean")
    table = orders(tmp_path, sink=sink, erasure=erasure(tmp_path, columns=[]))
    assert build_erasure_asset([table]).op.name == "erasures"


def test_a_folder_that_takes_no_record_fails_no_erasure(tmp_path, monkeypatch):
    """The rows are gone then: the metadata hold the record, and say why there is no file."""
    done = ErasedPlace("lake/orders", "table", "lake", "deleted", 2, scan=Scan(1, 10))
    report = ErasureReport("ab12", 1700000000000, "run", ("person",), 1, 1, 0, ("erased",), (done,))
    monkeypatch.setattr(erasure_asset, "erasure_report", lambda *args, **kwargs: report)
    (tmp_path / "records").write_text("a file")
    asset = orders(tmp_path)
    erasures = build_erasure_asset([asset], records=tmp_path / "records")
    config = {"ops": {"erasures": {"config": {"subjects": {"environment": "IDS"}}}}}
    with dg.instance_for_test() as instance:
        arguments = {"instance": instance, "resources": {"spark": Session()}}
        result = dg.materialize([asset, erasures], config, selection=[erasures], **arguments)
    (event,) = result.asset_materializations_for_node("erasures")
    (problem,) = event.metadata[UNSEEN].records
    assert problem.data["code"] == "SMT622" and event.metadata["dagster_smt/record"].data["erasure"] == "ab12"


@pytest.mark.parametrize(
    ("changes", "statement"),
    [
        ({"erasure": {"columns": []}}, "columns: is empty: no row of the table"),
        ({"sink": KafkaSink(KafkaTopics("b:9092"))}, "topics: is empty: no record of the cluster"),
    ],
)
def test_a_table_of_which_nothing_would_be_erased_is_refused(tmp_path, changes, statement):
    changes = {**changes, "erasure": erasure(tmp_path, **changes.get("erasure", {}))}
    with pytest.raises(ConfigError, match=statement):
        build_erasure_asset([orders(tmp_path, **changes)])
