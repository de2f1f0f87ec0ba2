"""A package outside this one adds a transform and a predicate; everything works for them as for our own.

The package lies beside this test. It is made visible as an installed one is: by the metadata that holds its entry
points. A fresh interpreter then runs the checks, since the registry reads entry points once.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent / "acme_transforms"
CHAIN = {
    "transforms": "hash",
    "transforms.hash.type": "HashField$Value",
    "transforms.hash.fields": "name",
    "transforms.hash.predicate": "ours",
    "predicates": "ours",
    "predicates.ours.type": "com.example.transforms.predicates.TopicStartsWith",
    "predicates.ours.prefix": "or",
}
PRELUDE = f"""
import json
from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.tables.ddl import parse_ddl
chain = parse_chain({CHAIN!r})
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run Python code in an interpreter that sees the package as installed."""
    site = tmp_path_factory.mktemp("site")
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    info = site / "acme_transforms-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = [
        [f"[{name}]", *(f"{k} = {v}" for k, v in group.items())] for name, group in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(line for group in groups for line in group) + "\n")
    path = os.pathsep.join([str(site), str(HERE), str(Path(__file__).parents[2])])

    def call(*arguments):
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_the_chain_finds_the_classes_and_the_plan_has_lineage_and_ledger(run):
    code = """
plan = plan_chain(chain, None, parse_ddl("name STRING, age INT"), topics=("orders",), typed=True)
print(json.dumps([plan.lineage, sorted(plan.masked), [[e.action, e.path] for e in plan.entries]]))
"""
    lineage, masked, entries = json.loads(run("-c", PRELUDE + code))
    assert lineage == {"name": ["value.name"], "age": ["value.age"]}
    assert (masked, entries) == (["name"], [["masked", "name"]])


def test_the_predicate_settles_where_it_acts(run):
    code = """
plan = plan_chain(chain, None, parse_ddl("name STRING"), topics=("bills",), typed=True)
print(plan.steps[0].plan.condition)
"""
    assert run("-c", PRELUDE + code).strip() == "False"


def test_the_reference_page_shows_options_and_a_true_example(run):
    code = """
from dagster_smt.chain.registry import transforms
from dagster_smt.interpret.examples import run_example
from dagster_smt.parity.runner import ParityReport
from dagster_smt.reference import page
cls = transforms()["com.example.transforms.HashField"]
assert [run_example(cls, e) for e in cls.examples] == [e.after for e in cls.examples]
print(page(cls, ParityReport()))
"""
    text = run("-c", PRELUDE + code)
    assert "# HashField" in text and "| `fields` | required | Fields to hash. |" in text


def test_the_parity_command_runs_its_cases(run, tmp_path):
    case = {
        "id": "acme-1",
        "why": "a hash",
        "tags": [],
        "config": {
            "transforms": "t",
            "transforms.t.type": "com.example.transforms.HashField$Value",
            "transforms.t.fields": "a",
        },
        "records": [_record('{"a":"x","b":1}')],
        "expect": {
            "results": [
                {"record": _record('{"a":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","b":1}')}
            ]
        },
    }
    file = tmp_path / "acme.jsonl"
    file.write_text(json.dumps(case) + "\n")
    report = json.loads(run("-m", "dagster_smt.cli", "parity", str(file), "--report", "json"))
    assert (report["cases"], report["equal"]) == (1, 1)
    assert list(report["by_transform"]) == ["HashField"]


def test_the_command_line_lists_it(run):
    assert "HashField" in run("-m", "dagster_smt.cli", "list")


@pytest.mark.spark
def test_both_evaluators_on_spark(run):
    code = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pathlib import Path
from pyspark.sql import SparkSession
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.tables.spec import FileTopics, Format, TopicTable
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(
    "spark.driver.host", "127.0.0.1").getOrCreate()
kafka = ("key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int, headers array<struct<key string, value binary>>")
rows = [(None, bytearray(b'{"name":"Ann","age":7}'), "orders", 0, 0, None, 0, None)]
frame = spark.createDataFrame(rows, kafka)
schema = parse_ddl("name STRING, age INT")
typed = plan_chain(chain, None, schema, topics=("orders",), typed=True)
table = TopicTable(FileTopics(Path("t")), ("orders",), value=Format("json_schema", schema))
columns = evaluate(frame, typed, table, "columns").collect()[0]
plain = TopicTable(FileTopics(Path("t")), ("orders",))
records = evaluate(frame, plan_chain(chain, None, None, typed=False), plain, "records").collect()[0]
print(json.dumps([columns["__out"].name, list(columns["__touched"]), bytes(records["__out"].value).decode()]))
"""
    name, touched, value = json.loads(run("-c", PRELUDE + code).splitlines()[-1])
    assert len(name) == 64 and touched == [1]
    assert json.loads(value) == {"name": name, "age": 7}


def _record(value):
    return {
        "topic": "orders",
        "partition": 0,
        "offset": 0,
        "timestamp": 0,
        "timestampType": "CreateTime",
        "kind": "sink",
        "key": None,
        "value": {"schemaless": value},
        "headers": [],
    }
