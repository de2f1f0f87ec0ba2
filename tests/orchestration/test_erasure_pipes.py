"""Erasures whose Spark work is done by a process that a client of Dagster Pipes starts."""

import json
import sys
from pathlib import Path
from weakref import WeakValueDictionary

import dagster as dg
import msgspec
import pytest

from dagster_smt import PipesSpark
from dagster_smt.errors import ConfigError
from dagster_smt.model.reports.erasure_report import ErasedPlace, ErasureReport, Residue, Scan
from dagster_smt.orchestration.definitions import planned_table
from dagster_smt.orchestration.pipes.external import _erasure_work
from dagster_smt.orchestration.pipes.messages import (
    ErasureRequest,
    erasure_answer,
    read_answer,
    read_request,
    request_of,
)
from dagster_smt.orchestration.runs.erasure_work import ErasureWork
from dagster_smt.orchestration.runs.tables_of_ops import TABLES_OF_OPS
from dagster_smt.tables.erasure.subjects import SubjectSource
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TableSource

PERSON, OTHER = "anna.with.a.long.name@example.org", "zoe.with.a.long.name@example.org"
DEFINITIONS = """
from pathlib import Path

from dagster_smt import (
    DeltaSink, FileTopics, Format, SmtErasure, SmtTable, TopicTable, build_erasure_asset, build_smt_asset,
)
from dagster_smt.tables.ddl import parse_ddl

HERE = Path(__file__).parent
FORM = Format("json_schema", parse_ddl("user_id STRING, amount STRING"))


def of(name, **more):
    erasure = SmtErasure(
        register_table=DeltaSink(HERE / "erased"), key_ring=["e1=${env:EXAMPLE_KEY}"], records=["value.user_id"],
        columns=["user_id"],
    )
    return build_smt_asset(
        SmtTable(
            key=["lake", name],
            chain=[{"alias": "c", "type": "Cast$Value", "options": {"spec": "amount:int32"}}],
            table=TopicTable(FileTopics(HERE / "topics"), (name,), value=FORM),
            sink=DeltaSink(HERE / "lake" / name, "columns"),
            errors_tolerance="all",
            dead_letter_topic="dead",
            **({"erasure": erasure} | more),
        )
    )


orders, refunds = of("orders"), of("refunds")
plain = of("plain", erasure=None)
erasures = build_erasure_asset([orders, refunds], records=HERE / "records")
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A module of definitions and two topics of two persons."""
    (tmp_path / "erasable_defs.py").write_text(DEFINITIONS)
    for topic in ("orders", "refunds"):
        values = [json.dumps({"user_id": one, "amount": "5"}).encode() for one in (PERSON, OTHER)]
        values.append(json.dumps({"user_id": PERSON, "amount": "no number"}).encode())
        append_records(FileTopics(tmp_path / "topics"), topic, [NewRecord(None, value) for value in values])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(planned_table, "_PLANNED", WeakValueDictionary())
    import erasable_defs

    yield erasable_defs
    sys.modules.pop("erasable_defs", None)


def tables_of(*assets):
    return [table for asset in assets for table in TABLES_OF_OPS[asset.op].values()]


def test_a_request_names_the_place_of_ids_and_no_id(shop):
    for source in (
        SubjectSource(file="/run/secrets/ids.txt"),
        SubjectSource(environment="IDS"),
        SubjectSource(table=TableSource("", "/lake/ids", "parquet"), column="id"),
    ):
        work = ErasureWork(tables_of(shop.orders, shop.refunds), source, "run", True, "tag")
        data = json.loads(json.dumps(request_of(work, "erasable_defs")))
        request = read_request(data)
        assert request.table == "lake/orders" and request.run is None and request.maintenance is None
        again = _erasure_work(request.definitions, request.erasure, request.tag)
        assert [table.name for table in again.tables] == ["lake/orders", "lake/refunds"]
        assert (again.subjects, again.run, again.no_writers, again.tag) == (source, "run", True, "tag")


def test_a_record_passes_through_pipes():
    place = ErasedPlace(
        asset="lake/orders", kind="table", place="lake", action="deleted", rows=2, scan=Scan(files=3, records=4),
        residue=(Residue("rows", "part-1", 1, "run again"),),
    )  # fmt: skip
    report = ErasureReport("e", 1, "run", ("user_id",), 1, 1, 0, ("erased",), (place,), ("backups",))
    answer = json.loads(json.dumps(erasure_answer(report)))
    assert read_answer(answer, "lake/orders", ErasureReport) == report


def test_definitions_without_the_erasure_are_refused(shop):
    request = ErasureRequest(tables=["lake/plain"], subjects=SubjectSource(file="x"), run="r", no_writers=False)
    with pytest.raises(ConfigError, match="SMT754 lake/plain: the table has no erasure in this process"):
        _erasure_work("erasable_defs", request, "tag")
    with pytest.raises((msgspec.ValidationError, ConfigError)):
        read_request({"version": "0", "definitions": "x", "table": "y", "tag": "z"})


@pytest.mark.long
@pytest.mark.spark
def test_an_erasure_elsewhere_erases_and_proves_it(shop, spark, tmp_path):
    ids, home, script = tmp_path / "ids.txt", tmp_path / "home", tmp_path / "external.py"
    ids.write_text(f"{PERSON}\n")
    home.mkdir()
    script.write_text("from dagster_smt import run_external\nrun_external()\n")
    client = dg.PipesSubprocessClient(env={"PYTHONPATH": str(tmp_path)})
    elsewhere = PipesSpark(client, "erasable_defs", {"command": [sys.executable, str(script)]})
    config = {"ops": {"erasures": {"config": {"subjects": {"file": str(ids)}, "no_writers": True}}}}
    assets = [shop.orders, shop.refunds, shop.erasures]
    with dg.instance_for_test(temp_dir=str(home)) as instance:
        written = dg.materialize(assets[:2], instance=instance, resources={"spark": spark})
        result = dg.materialize(
            assets, config, selection=[shop.erasures], instance=instance, resources={"spark": elsewhere},
            raise_on_error=False,
        )  # fmt: skip
        assert written.success and result.success, result.all_events[-1]
        (event,) = result.asset_materializations_for_node("erasures")
        (check,) = result.get_asset_check_evaluations()
        lines = [record.user_message for record in instance.all_logs(result.run_id)]
        stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
        missing = {"ops": {"erasures": {"config": {"subjects": {"file": str(tmp_path / "none.txt")}}}}}
        failed = dg.materialize(
            assets, missing, selection=[shop.erasures], instance=instance, resources={"spark": elsewhere},
            raise_on_error=False,
        )  # fmt: skip
    assert check.passed and event.metadata["dagster_smt/proven"].value is True
    assert event.metadata["dagster_smt/rows_erased"].value >= 2
    for name in ("orders", "refunds"):
        rows = spark.read.format("delta").load(str(tmp_path / "lake" / name)).collect()
        assert [row.user_id for row in rows] == [OTHER]
        folder = tmp_path / "lake" / name
        assert not [path for path in folder.rglob("*") if path.is_file() and PERSON.encode() in path.read_bytes()]
    assert PERSON.encode() not in stored and PERSON not in "\n".join(lines)
    (record,) = Path(tmp_path / "records").glob("*.json")
    assert json.loads(record.read_text())["proven"] and PERSON not in record.read_text()
    (error,) = [event for event in failed.all_events if event.is_step_failure]
    assert "SMT757" in str(error.event_specific_data)
