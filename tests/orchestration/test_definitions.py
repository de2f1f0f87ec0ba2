"""The demo's code location: it loads without Spark, and shows what it will do before it runs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml

from dagster_smt.spark.versions import supported_java
from definitions.demo import SHIPPED, dagster_home, working_topics

ROOT = Path(__file__).parents[2]


def python(code, **env):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env={**os.environ, **env}, timeout=120
    )


@pytest.fixture
def demo(tmp_path, monkeypatch):
    monkeypatch.setenv("SMT_DEMO_FOLDER", str(tmp_path))
    from definitions.definitions import defs

    return defs().resolve_all_asset_specs()


def spec_of(specs, *path):
    return next(s for s in specs if s.key == dg.AssetKey(list(path)))


def test_definitions_load_where_spark_is_not_installed(tmp_path):
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pyspark", "py4j", "pandas"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from definitions.definitions import defs
print(sorted(k.to_user_string() for k in defs().resolve_all_asset_keys()))
"""
    done = python(code, SMT_DEMO_FOLDER=str(tmp_path))
    assert "'webhooks/masked', 'webhooks/pushes'" in done.stdout, done.stderr


HEAVY = ("pyspark", "py4j", "pandas", "pyarrow", "confluent_kafka", "dagster_pyspark")


@pytest.mark.parametrize("module", ["dagster_smt.orchestration", "definitions.definitions"])
def test_imports_stay_cheap(tmp_path, module):
    code = f"import sys, {module}; print(*sorted(set(sys.modules) & {set(HEAVY)!r}))"
    done = python(code, SMT_DEMO_FOLDER=str(tmp_path))
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_pushes_show_schema_and_lineage_before_any_run(demo):
    spec = spec_of(demo, "webhooks", "pushes")
    columns = {c.name: c for c in spec.metadata["dagster/column_schema"].columns}
    assert columns["created"].type == "int8" and "base_ref" not in columns and columns["old_sha"].type == "string"
    assert "dagster_smt/masked" in columns["head_commit.author.email"].tags
    lineage = spec.metadata["dagster/column_lineage"].deps_by_column
    (source,) = lineage["old_sha"]
    assert (source.asset_key.path, source.column_name) == (["topics", "github.push"], "value.before")
    assert set(lineage) == set(columns)
    assert "dagster_smt/plan_warnings" not in spec.metadata


def test_masked_has_one_partition_per_topic_and_a_guarded_chain(demo):
    spec = spec_of(demo, "webhooks", "masked")
    assert isinstance(spec.partitions_def, dg.DynamicPartitionsDefinition)
    assert "where isPush pattern=" in spec.metadata["dagster_smt/chain"].value
    assert "**./email$/" in spec.metadata["dagster_smt/masked_fields"].data
    assert {"pyspark", "deltalake"} == spec.kinds


def test_the_shipped_topics_are_whole_and_carry_their_license():
    from dagster_smt.tables.sources.file_topics import check_segment
    from dagster_smt.tables.sources.positions import count_records
    from dagster_smt.tables.sources.segments import parse_name

    segments = [parse_name(p, p.parent.parent.name, 0) for p in sorted(SHIPPED.glob("*/*/*.jsonl"))]
    assert (len(segments), sum(map(count_records, segments))) == (58, 329)
    assert [p for s in segments for p in check_segment(s, s.base, s.base + count_records(s))] == []
    text = (SHIPPED / "LICENSE").read_text()
    assert "@octokit/webhooks-examples" in text and "The MIT License" in text


def test_the_demo_works_on_copies_made_once(tmp_path, monkeypatch):
    monkeypatch.setenv("SMT_DEMO_FOLDER", str(tmp_path / "demo"))
    topics = working_topics()
    assert len(list(topics.iterdir())) == 58 and not (topics / "LICENSE").exists()
    extra = topics / "github.push" / "0" / "00000000000000000007.jsonl"
    extra.write_text("")
    assert working_topics() == topics and extra.exists()
    assert [p.name for p in topics.parent.iterdir()] == ["topics"]


def test_the_demos_home_is_configured_and_loads(tmp_path, monkeypatch):
    monkeypatch.setenv("SMT_DEMO_FOLDER", str(tmp_path))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    home = dagster_home()
    assert home == tmp_path / "dagster_home"
    assert dagster_home(kafka=True) == tmp_path / "dagster_home-kafka"  # another history of other tables
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    with dg.DagsterInstance.get() as instance:
        assert not instance.telemetry_enabled
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: true\n")
    assert yaml.safe_load((dagster_home() / "dagster.yaml").read_text()) == {"telemetry": {"enabled": True}}


def test_the_workspace_names_the_code_location():
    (entry,) = yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"]
    assert entry["python_module"]["module_name"] == "definitions.definitions"
    assert (ROOT / "definitions" / "__init__.py").read_text() == ""


def test_the_demo_says_in_one_sentence_that_java_is_missing(tmp_path):
    code = "import sys; from definitions.demo.__main__ import main; sys.exit(main([]))"
    done = python(code, JAVA_HOME=str(tmp_path), SMT_DEMO_FOLDER=str(tmp_path / "demo"))
    assert (done.returncode, done.stdout) == (1, "")
    versions = " or ".join(map(str, supported_java()))
    assert done.stderr.startswith(f"demo: Spark needs Java {versions}, and there is no Java in JAVA_HOME: install")
    assert done.stderr.count("\n") == 1 and not (tmp_path / "demo").exists()


@pytest.fixture
def small_demo(tmp_path, monkeypatch):
    """The demo on three of its topics, in a folder of its own."""
    shipped = tmp_path / "shipped"
    for topic in ("github.push", "github.issues", "github.meta"):
        (shipped / topic).parent.mkdir(exist_ok=True)
        (shipped / topic).symlink_to(SHIPPED / topic)
    monkeypatch.setattr("definitions.demo.SHIPPED", shipped)
    monkeypatch.setenv("SMT_DEMO_FOLDER", str(tmp_path / "demo"))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    return tmp_path / "demo"


@pytest.mark.long
def test_the_demo_materializes_everything_and_then_what_is_appended(spark, small_demo, capsys):
    from dagster_smt.tables.sink_options import DeltaSink
    from dagster_smt.tables.sinks import open_table
    from definitions.demo.__main__ import main

    assert main([]) == 0
    first = capsys.readouterr().out
    assert "webhooks/masked: committed, " in first
    assert re.search(r"masked +people +\*\*\./email\$/", first) and "Dagster:  make dev" in first
    assert main(["--append", "10"]) == 0
    second = capsys.readouterr().out
    assert "appended 10 records to github.push: offsets 7 to 16" in second
    assert "webhooks/pushes: committed, 10 records in, 10 out" in second
    assert main([]) == 0
    assert "Nothing new since the last run" in capsys.readouterr().out
    records = open_table(spark, DeltaSink(small_demo / "lake" / "webhooks_masked")).read().collect()
    assert {r.topic for r in records} == {"masked.github.push", "masked.github.issues", "masked.github.meta"}
    pushes = [json.loads(r.value) for r in records if r.source_topic == "github.push"]
    assert {p["pusher"]["email"] for p in pushes} == {"***"} and not any("commits" in p for p in pushes)
    rows = open_table(spark, DeltaSink(small_demo / "lake" / "webhooks_pushes")).read().collect()
    assert len(rows) == 17
    assert {(r.pusher.email, r.source_topic) for r in rows} == {("***", "github.push")}
    with dg.DagsterInstance.get() as instance:
        assert len(instance.get_materialized_partitions(dg.AssetKey(["webhooks", "masked"]))) == 3


@pytest.mark.long
def test_both_demos_give_the_same_tables(spark, small_demo, broker, monkeypatch, capsys):
    """Topics of files and of a broker, by configuration only: every column of every row is the same."""
    from definitions.demo.__main__ import main
    from tests.kafka import KafkaTopics, Topics

    def tables(lake):
        frames = (spark.read.format("delta").load(str(small_demo / lake / name)) for name in TABLES)
        return [(f.columns, sorted(map(repr, f.collect()))) for f in frames]

    Topics(KafkaTopics(broker.servers)).remove()
    assert main([]) == 0
    capsys.readouterr()
    monkeypatch.setenv("SMT_DEMO_KAFKA", broker.servers)
    assert main([]) == 0
    out = capsys.readouterr().out
    assert f"Kafka on {broker.servers}: 38 records published" in out and "make dev KAFKA=1" in out
    from_files, from_kafka = tables("lake"), tables("lake-kafka")
    for (columns, one), (others, other) in zip(from_files, from_kafka, strict=True):
        assert columns == others and len(one) == len(other) > 0
        assert [a for a, b in zip(one, other, strict=True) if a != b] == []
    assert main(["--append", "3"]) == 0
    out = capsys.readouterr().out
    assert "appended 3 records to github.push: offsets 7 to 9" in out
    assert "webhooks/pushes: committed, 3 records in, 3 out" in out


TABLES = ("webhooks_masked", "webhooks_pushes")
