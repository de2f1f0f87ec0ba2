"""``dagster-smt erase``: a code location in, a record out; no id on the command line or in the output."""

import json
import subprocess
import sys
from contextlib import nullcontext

import dagster as dg
import pytest

from dagster_smt.cli import argument_parser, main
from dagster_smt.model.reports.erasure_report import ErasedPlace, ErasureReport, Scan
from dagster_smt.orchestration import erase
from dagster_smt.orchestration.definitions.loading import load_definitions
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sinks import open_table
from tests.orchestration.test_erasure_asset import OTHER, PERSON, add, orders
from tests.test_docs import blocks

LOCATION = """
from pathlib import Path

import dagster as dg

from dagster_smt import SparkSessionResource
from tests.orchestration.test_erasure_asset import orders

ROOT = Path({root!r})

@dg.asset
def other():
    pass

@dg.op
def number():
    return 1

@dg.graph_asset
def graph():
    return number()

others = [other, graph, dg.AssetsDefinition(specs=[dg.AssetSpec("external")])]
defs = dg.Definitions([orders(ROOT), *others], resources={{"spark": {resource}}})
"""


@pytest.fixture
def location(tmp_path):
    """Writes a code location with one table."""

    def write(resource="SparkSessionResource()", text=LOCATION):
        file = tmp_path / "location.py"
        file.write_text(text.format(root=str(tmp_path), resource=resource), encoding="utf-8")
        return str(file)

    return write


def test_the_command_lists_places_and_starts_no_spark(location, tmp_path, capsys):
    assert main(["erase", location("object()"), "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "lake/orders",
        f"  table {tmp_path}/lake",
        f"  dead letters dead {tmp_path}/topics",
        f"  register {tmp_path}/erased",
    ]


WRONG = {
    "no ids": ([], "SMT757 subjects: is not one place with ids"),
    "two places": (["--file", "a", "--environment", "B"], "SMT757 subjects: is not one place with ids"),
    "a column alone": (["--file", "a", "--column", "id"], "SMT757 subjects: is not one place with ids"),
    "no such table": (["--file", "a", "--asset", "lake/others"], "SMT754 lake/others: the definitions have no such"),
}


def test_a_location_that_changes_the_import_path_keeps_its_changes(location, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = [*sys.path]
    load_definitions(location(text="import sys\nsys.path.insert(0, '/opt/shared')\n"), "")
    assert sys.path == ["/opt/shared", *before]


def test_a_table_of_which_nothing_would_be_erased_is_refused(location, capsys):
    text = LOCATION.replace("orders(ROOT)", "orders(ROOT, erasure=erasure(ROOT, columns=[]))")
    text = text.replace("import orders", "import erasure, orders")
    assert main(["erase", location("object()", text), "--list"]) == 1
    assert "SMT754 lake/orders columns: is empty" in capsys.readouterr().err


def test_a_folder_that_takes_no_record_is_told_and_the_record_is_printed(location, tmp_path, capsys, monkeypatch):
    done = ErasedPlace("lake/orders", "table", "lake", "deleted", 2, scan=Scan(1, 10))
    report = ErasureReport("ab12", 1700000000000, "run", ("person",), 1, 1, 0, ("erased",), (done,))
    monkeypatch.setattr(erase, "erasure_report", lambda *arguments, **more: report)
    monkeypatch.setattr(erase.ErasableTables, "_session", lambda self: nullcontext(object()))
    (tmp_path / "records").write_text("a file")
    command = ["erase", location("object()"), "--environment", "IDS", "--records", str(tmp_path / "records")]
    assert main(command) == 0
    shown = capsys.readouterr()
    assert "# Erasure ab12" in shown.out and "SMT622" in shown.err


def test_the_commands_of_the_page_are_commands():
    lines = [line for text in blocks("docs/how-to/erase-a-person.md", "sh") for line in text.splitlines()]
    commands = [line.partition("dagster-smt ")[2] for line in lines]
    parsed = [argument_parser().parse_args(command.split()) for command in commands]
    assert [one.definitions for one in parsed] == ["my_location.definitions"] * 2


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage(location, capsys, case):
    more, statement = WRONG[case]
    assert main(["erase", location("object()"), *more]) == 1
    assert statement in capsys.readouterr().err


def test_definitions_that_are_not_there_or_erase_nothing(location, tmp_path, capsys):
    assert main(["erase", "no.such.module", "--file", "a"]) == 1
    assert main(["erase", str(tmp_path / "nothing.py"), "--file", "a"]) == 1
    nothing = location(text="import dagster as dg\ndefs = dg.Definitions()\n")
    assert main(["erase", nothing, "--file", "a"]) == 1
    codes = [line.split()[0] for line in capsys.readouterr().err.splitlines() if line.startswith("SMT")]
    assert codes == ["SMT654", "SMT654", "SMT754"]


def test_a_driver_that_runs_elsewhere_is_named_with_the_way_out(location, capsys):
    pipes = "PipesSpark(client=None, definitions='x')"
    text = LOCATION.replace("import SparkSessionResource", "import PipesSpark, SparkSessionResource")
    assert main(["erase", location(pipes, text), "--file", "a"]) == 1
    error = capsys.readouterr().err
    assert "SMT754" in error and "SparkSessionResource" in error


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("place", ["file", "stdin", "environment", "table"])
def test_the_command_erases_and_proves_it(spark, location, tmp_path, capsys, monkeypatch, place):
    add(tmp_path, PERSON, OTHER)
    assert dg.materialize([orders(tmp_path)], resources={"spark": spark}).success
    (tmp_path / "ids.txt").write_text(f"{PERSON}\n")
    spark.createDataFrame([(PERSON,)], "id STRING").write.parquet(str(tmp_path / "ids"))
    arguments = {
        "file": ["--file", str(tmp_path / "ids.txt")],
        "stdin": ["--file", "-"],
        "environment": ["--environment", "IDS_TO_ERASE"],
        "table": ["--table", str(tmp_path / "ids"), "--table-format", "parquet", "--column", "id"],
    }[place]
    monkeypatch.setenv("IDS_TO_ERASE", f"{PERSON}\n")
    records = tmp_path / "records"
    command = ["erase", location(), *arguments, "--records", str(records), "--format", "json"]
    if place == "stdin":
        code = subprocess_of(command, PERSON)
    else:
        code = main(command)
        shown = capsys.readouterr()
        report = json.loads(shown.out)
        assert report["proven"] and report["persons"] == 1 and report["run"].startswith("command by ")
        assert PERSON not in shown.out + shown.err
    assert code == 0
    assert [row.user_id for row in open_table(spark, DeltaSink(tmp_path / "lake")).read().collect()] == [OTHER]
    assert sorted(path.suffix for path in records.iterdir()) == [".json", ".md"]
    assert PERSON not in "".join(path.read_text() for path in records.iterdir())


def subprocess_of(command, text):
    """Runs the command in a process of its own, which gets a text."""
    run = [sys.executable, "-m", "dagster_smt.cli", *command]
    done = subprocess.run(run, input=text, capture_output=True, text=True, timeout=300, check=False)
    assert PERSON not in done.stdout + done.stderr
    return done.returncode
