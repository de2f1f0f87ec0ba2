"""The how-to pages: their commands, Python and SQL run, and do what the pages say."""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import dagster as dg
import pytest
import yaml

from dagster_smt import SmtMaintenance
from dagster_smt.cli import argument_parser
from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration import SmtTable, build_smt_asset, spark_session_of
from dagster_smt.orchestration.checks import MANY_FILES
from dagster_smt.run.maintenance import _PAUSES
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.maintenance.maintenance_options import SAFE_HOURS, STEPS
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sources.file_writer import append_records
from dagster_smt.tables.topic_table import FileTopics
from tests.orchestration.test_assets import HIDE, PERSON, append, checks, observations, table
from tests.orchestration.test_component import LEAST, loaded
from tests.run.debezium_world import Envelopes
from tests.test_docs import blocks

ROOT = Path(__file__).parents[1]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/how-to").glob("*.md"))
CHAIN = """transforms=hide
transforms.hide.type=org.apache.kafka.connect.transforms.MaskField$Value
transforms.hide.fields=email
"""


def statements(page):
    """The statements of a page's SQL blocks, in their order."""
    result = []
    for text in in_lists(page, "sql"):
        result += [statement.strip() for statement in re.split(r";\s*\n|\n(?=\s*VACUUM)", text)]
    return result


def in_lists(page, language):
    """The blocks of a language, also those that stand in a list."""
    return re.findall(rf"```{language}\n(.*?)```", textwrap.dedent((ROOT / page).read_text("utf-8")), re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_python_of_a_page_is_python(page):
    for text in blocks(page, "python"):
        compile(text, page, "exec")


def test_the_readme_names_every_page():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert PAGES and [page for page in PAGES if f"({page})" not in readme] == []


def test_a_session_of_ones_own_is_a_resource(spark):
    names: dict = {}
    (text,) = blocks("docs/how-to/which-spark.md", "python")
    exec(text, names)
    with dg.build_resources({"spark": names["spark"]}) as resources:
        assert spark_session_of(resources.spark) is spark


def test_definitions_of_the_pages_load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sink = DeltaSink(tmp_path / "lake")
    orders = build_smt_asset(SmtTable(key=["lake", "orders"], chain=[HIDE], table=table(tmp_path, "orders"), sink=sink))
    names: dict = {"orders": orders}
    for page in ("upkeep", "object-store", "latest-rows"):
        for text in blocks(f"docs/how-to/{page}.md", "python"):
            exec(text, names)
    defs = dg.Definitions(assets=[orders], schedules=[names["nightly"]], resources={"spark": names["spark"]})
    dg.Definitions.validate_loadable(defs)
    dg.Definitions.validate_loadable(names["defs"])
    exec(blocks("docs/how-to/spark-elsewhere.md", "python")[0], names)
    dg.Definitions.validate_loadable(names["defs"])
    assert names["spark"].arguments()["command"][1:3] == ["--master", "spark://spark:7077"]


def test_the_page_about_many_tables_writes_them(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    append(tmp_path, "events", {"id": 1, "kind": "orders"}, {"id": 2, "kind": "refunds"})
    names: dict = {}
    for text in blocks("docs/how-to/many-tables.md", "python"):
        exec(text, names)
    with dg.instance_for_test() as instance:
        result = dg.materialize([names["shop"], names["tables"]], instance=instance, resources={"spark": spark})
        assert set(instance.get_dynamic_partitions("shop__tables")) == {"orders", "refunds"}
    assert result.success
    assert sorted(path.name for path in (tmp_path / "lake").iterdir()) == ["_smt_progress", "orders", "refunds"]
    assert len(build_smt_asset(names["shop_table"]).keys) == 3
    (text,) = blocks("docs/how-to/many-tables.md", "yaml")
    _, defs = loaded({**LEAST, **yaml.safe_load(text), "spark": {}})
    assert dg.AssetKey(["lake", "orders", "tables"]) in {spec.key for spec in defs.resolve_all_asset_specs()}


def test_the_commands_of_the_page_about_tests_end_as_it_says(tmp_path):
    (tmp_path / "chain.properties").write_text(CHAIN)
    (tmp_path / "samples.jsonl").write_text('{"id":7,"email":"ann@example.com","amount":1.5}\n')
    commands = [text.strip() for text in blocks("docs/how-to/test-a-chain.md", "sh")]
    assert len(commands) == 3
    for command in commands:
        assert run(tmp_path, command) == 0
    (tmp_path / "chain.properties").write_text(CHAIN.replace("email", "emial"))
    (tmp_path / "samples.jsonl").write_text("no json\n")
    assert [run(tmp_path, command) for command in commands[:2]] == [1, 1]
    (tmp_path / "chain.properties").write_text(CHAIN)
    text, certified = blocks("docs/how-to/test-a-chain.md", "python")
    (tmp_path / "test_chain.py").write_text(text)
    (tmp_path / "test_certified.py").write_text(certified)
    tests = [sys.executable, "-m", "pytest", "-q", "test_chain.py", "test_certified.py"]
    assert subprocess.run(tests, cwd=tmp_path).returncode == 0


def run(folder, command):
    return subprocess.run(f"{Path(sys.executable).parent}/{command}", shell=True, cwd=folder).returncode


LATEST = "docs/how-to/latest-rows.md"
OF_A_COMPONENT = {
    "asset_key": "lake/customers",
    "chain": [],
    "table": {
        "source": {"kafka": {"bootstrap_servers": "localhost:9092"}},
        "topics": ["shop.public.customers"],
        "key": {"kind": "envelope"},
        "value": {"kind": "envelope"},
    },
}


def table_under(heading):
    """The rows of the first table below a line of the page, as lists of cells."""
    lines = (ROOT / LATEST).read_text("utf-8").split("\n")
    rows = []
    for line in lines[lines.index(heading) + 1 :]:
        if line.startswith("|"):
            rows.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
        elif rows:
            break
    return rows[2:]


def test_the_table_is_that_of_the_page(spark, tmp_path, monkeypatch):
    """The events of the page's first table, through the page's asset, are the rows of its second one."""
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    (text,) = blocks(LATEST, "python")
    exec(
        text.replace('KafkaTopics("localhost:9092")', "FileTopics(root)"),
        {"root": tmp_path, "FileTopics": FileTopics},
        names,
    )
    kinds = {"insert": "c", "update": "u", "delete": "d"}
    for key, kind, row in table_under("## From Debezium to the current table"):
        number, value = json.loads(key)["id"], json.loads(row) if row else None
        before = {"id": number, "name": None, "note": None} if kind == "delete" else None
        after = {**value, "note": None} if value else None
        event = {"before": before, "after": after, "source": {}, "op": kinds[kind], "ts_ms": 1}
        record = Envelopes("mysql").record(number, event, "")
        append_records(FileTopics(tmp_path), "shop.public.customers", [record])
    with dg.instance_for_test() as instance:
        people = build_smt_asset(names["customers"])
        assert dg.materialize([people], instance=instance, resources={"spark": spark}).success
    rows = spark.read.format("delta").load(str(tmp_path / "lake/customers")).drop("note").collect()
    assert [list(map(str, row)) for row in rows] == table_under("After one run the table has one row:")


def test_the_command_of_the_page_about_many_tables_names_the_table(tmp_path):
    (command,) = blocks("docs/how-to/many-tables.md", "sh")
    (tmp_path / "chain.yaml").write_text("[]\n")
    explain = f"{Path(sys.executable).parent}/{command.strip()}"
    output = subprocess.run(explain, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[-1] == "records of topic shop.orders go to lake.shop_2eorders"


def test_the_preview_of_the_page_prints_its_effects(tmp_path):
    (records,), (command,), (effects,) = blocks(LATEST, "json"), blocks(LATEST, "sh"), blocks(LATEST, "text")
    (tmp_path / "chain.yaml").write_text("[]\n")
    (tmp_path / "changes.jsonl").write_text(records)
    preview = f"{Path(sys.executable).parent}/{command.strip()}"
    output = subprocess.run(preview, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert [line for line in output.splitlines() if line.startswith("  table ")] == effects.rstrip().splitlines()


@pytest.mark.parametrize("text", blocks(LATEST, "yaml"))
def test_the_components_of_the_page_load(text):
    options = yaml.safe_load(text)
    component, _ = loaded({**OF_A_COMPONENT, **options})
    assert component.sink.mode == options["sink"]["delta"]["mode"]


def test_the_component_of_the_readme_loads():
    (text,) = blocks("README.md", "yaml")
    component, _ = loaded(yaml.safe_load(text)["attributes"])
    assert (component.sink.mode, component.table.key.kind) == ("upsert", "envelope")


def test_the_view_shows_the_rows_of_the_page(spark, tmp_path):
    base = f"db_{tmp_path.name.replace('-', '_')}"
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {base} LOCATION '{tmp_path}'")
    try:
        spark.catalog.setCurrentDatabase(base)
        for statement in statements(LATEST):
            spark.sql(statement)
        assert [(row.id, row.name) for row in spark.table("customers").collect()] == [(1, "Anna")]
    finally:
        spark.catalog.setCurrentDatabase("default")
        spark.sql(f"DROP DATABASE {base} CASCADE")


@pytest.mark.long
def test_a_person_is_erased_as_the_page_says(spark, tmp_path):
    append(tmp_path, "orders", {**PERSON, "id": 4711}, {**PERSON, "id": 1})
    declared = Format("json_schema", parse_ddl("id BIGINT, name STRING"))
    sink = DeltaSink(tmp_path / "lake", "columns")
    orders = build_smt_asset(
        SmtTable(key=["lake", "orders"], chain=[HIDE], table=table(tmp_path, "orders", value=declared), sink=sink)
    )
    place = f"delta.`{tmp_path / 'lake'}`"
    delete, switch, vacuum = statements("docs/how-to/erase-a-person.md")
    settle = in_lists("docs/how-to/erase-a-person.md", "yaml")[-1]
    with dg.instance_for_test() as instance:

        def launch(config=None):
            return checks(dg.materialize([orders], config, instance=instance, resources={"spark": spark}))

        launch()
        spark.sql(delete.replace("lake.orders", place).replace("user_id", "id"))
        append(tmp_path, "orders", {**PERSON, "id": 2})
        assert not launch()["rows_match_offsets"].passed
        append(tmp_path, "orders", {**PERSON, "id": 3})
        assert launch(yaml.safe_load(settle))["rows_match_offsets"].passed
        spark.sql(switch)
        spark.sql(vacuum.replace("lake.orders", place))
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
        assert sorted(row.id for row in spark.read.format("delta").load(str(tmp_path / "lake")).collect()) == [1, 2, 3]


@pytest.mark.long
def test_the_maintenance_of_the_page_keeps_rows_and_progress(spark, tmp_path):
    """The job of the page, with its options and the run config of its Launchpad; and its block in a component."""
    page = "docs/how-to/upkeep.md"
    block, launchpad = map(yaml.safe_load, in_lists(page, "yaml"))
    declared = Format("json_schema", parse_ddl("id BIGINT, name STRING"))
    source = table(tmp_path, "orders", value=declared)
    sink = IcebergSink(table=f"ice.db.upkeep_{abs(hash(tmp_path))}", kind="columns")
    names: dict = {"orders": build_smt_asset(SmtTable(key=["lake", "orders"], chain=[HIDE], table=source, sink=sink))}
    for text in blocks(page, "python"):
        exec(text, names)
    limited = build_smt_asset(
        SmtTable(key=["lake", "orders"], chain=[HIDE], table=source, sink=sink, checks=names["checks"])
    )
    with dg.instance_for_test() as instance:

        def launch():
            append(tmp_path, "orders", PERSON)
            assert checks(dg.materialize([limited], instance=instance, resources={"spark": spark}))[
                "small_files"
            ].passed

        for _ in range(6):
            launch()
        defs = dg.Definitions([names["orders"]], jobs=[names["upkeep"]], resources={"spark": spark})
        job = defs.resolve_job_def(names["upkeep"].name)
        some, every = (job.execute_in_process(config, instance=instance) for config in (launchpad, {}))
        launch()
    tables = [o.metadata["dagster_smt/maintenance"].records for r in (some, every) for o in observations(r)]
    assert [[row.data["step"] for row in rows] for rows in tables] == [["compact"], list(STEPS)]
    assert spark.table(sink.table).count() == 7
    _, component = loaded({**LEAST, **block})
    assert [s.name for s in component.schedules] == ["lake__orders_maintenance_schedule"]
    assert names["nightly"].cron_schedule == block["maintenance"]["schedule"]


def test_the_page_about_maintenance_names_every_step_and_its_limits():
    text = (ROOT / "docs/how-to/upkeep.md").read_text("utf-8")
    assert [step for step in STEPS if f"| `{step}` |" not in text] == []
    assert f"{SAFE_HOURS:g} hours" in text and f"last {SmtMaintenance().retain_last} snapshots" in text
    assert f"{MANY_FILES} files or more" in text and f"{len(_PAUSES)}" == "3" and "up to three times" in text


CERTIFY = "docs/how-to/certify.md"


def test_the_commands_of_the_page_about_certificates_end_as_it_says(tmp_path, monkeypatch, capsys):
    from dagster_smt.cli import main

    monkeypatch.chdir(tmp_path)
    (chain,), (records,) = blocks(CERTIFY, "properties"), blocks(CERTIFY, "json")
    (tmp_path / "chain.properties").write_text(chain)
    (tmp_path / "orders.jsonl").write_text(records)
    (tmp_path / "mine.properties").write_text(chain.replace("hide.fields=email", "hide.fields=id"))
    page, copy, report = (text.split()[1:] for text in blocks(CERTIFY, "sh"))
    deliberate, different = blocks(CERTIFY, "text")
    assert main([*page, "--no-spark"]) == 0 and capsys.readouterr().out == deliberate
    assert main([*copy, "--no-spark"]) == 1 and capsys.readouterr().out == different
    assert main(report) == 0 and json.loads((tmp_path / "certificate.json").read_text())["version"] == 1
    for text in blocks(CERTIFY, "bash"):
        command = text.split()
        assert command[:2] == ["dagster-smt", "certify"] and argument_parser().parse_args(command[1:])
