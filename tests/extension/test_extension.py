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
from dagster_smt.chain.plugins import transforms
from dagster_smt.interpret.examples import run_example
from dagster_smt.tools.parity.runner import ParityReport
from dagster_smt.tools.reference import page
cls = transforms()["com.example.transforms.HashField"]
assert [run_example(cls, e) for e in cls.examples] == [e.after for e in cls.examples]
print(page(cls, ParityReport()))
"""
    text = run("-c", PRELUDE + code)
    assert "Parity" not in text
    assert "# HashField" in text and "| `fields` | required | Fields to change. |" in text


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


def test_the_command_line_lists_them_by_vendor(run):
    lines = run("-m", "dagster_smt.cli", "list").splitlines()
    start = lines.index("transforms of com.example.transforms")
    listed = [line.split()[0] for line in lines[start:] if line.startswith("  ") and not line.startswith("   ")]
    assert listed[:2] == ["HashField", "DropNull"]
    assert "predicates of com.example.transforms.predicates" in lines


def test_a_package_in_the_package_is_found(run):
    code = """
from dagster_smt.chain.explain import explain
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Record
drop = {"transforms.d.type": "com.example.transforms.DropNull", "transforms.d.field": "id"}
chain = parse_chain({"transforms": "d", **drop})
texts = (b'{"id":1}', b'{"id":null}', b"{}", None)
run = [Interpreter(chain).process(Record("t"), None, text)[0].status for text in texts]
plan = plan_chain(chain, None, parse_ddl("id INT"), typed=True)
print(run, explain(plan).splitlines()[-1])
"""
    assert run("-c", PRELUDE + code) == "[0, 1, 1, 0]   some records are dropped\n"


def test_an_unknown_class_of_a_vendor_is_told_which_of_theirs_there_are(run):
    code = """
from dagster_smt.chain.classes import find_class
from dagster_smt.chain.plugins import transforms
for name in ("com.example.transforms.DropNul", "com.example.transforms.RegexRouter", "io.confluent.HashField"):
    print(find_class(name, transforms(), "", "transform").problem.hint)
"""
    misspelt, another, stranger = run("-c", PRELUDE + code).splitlines()
    there = "no installed package has it; installed from this vendor: com.example.transforms.HashField, "
    assert misspelt.startswith(there) and "did you mean 'DropNull'?" in misspelt
    assert another.startswith(there) and "did you mean" not in another and "docs/writing-a-transform.md" in another
    assert "HashField" not in stranger


def test_a_short_name_that_two_vendors_have_is_no_answer(run):
    code = """
from dagster_smt.chain.classes import find_class
from dagster_smt.chain.plugins import transforms
class HashField(transforms()["com.example.transforms.HashField"]):
    connect_class = "io.other.HashField"
known = {**transforms(), "io.other.HashField": HashField}
print(find_class("HashField$Value", known, "", "transform").problem)
print(find_class("io.other.HashField$Value", known, "", "transform").cls is HashField)
"""
    lines = run("-c", PRELUDE + code).splitlines()
    assert lines[0].endswith("SMT023 'HashField' is a transform of several vendors")
    assert lines[1:] == [
        "  hint: write the class with its package: com.example.transforms.HashField or io.other.HashField",
        "True",
    ]


@pytest.mark.spark
@pytest.mark.long
def test_both_evaluators_on_spark(run):
    code = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pathlib import Path
from pyspark.sql import SparkSession
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.model.topics.format import Format
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
