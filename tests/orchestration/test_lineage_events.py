"""OpenLineage events of runs in Dagster: around success and failure; a transport that fails never fails a run."""

import json

import dagster as dg
import pytest

from dagster_smt.lineage.open_lineage import OpenLineage
from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration import SmtTable, build_smt_asset, build_smt_op
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink
from tests.lineage.test_open_lineage import Server
from tests.orchestration.test_assets import HIDE, KEY, Untouchable, append, events, table

VALUE = Format("json_schema", parse_ddl("id BIGINT, name STRING"))
PERSON = {"id": 1, "name": "Ada"}


def people(root, **more):
    sink = DeltaSink(root / "lake", "columns")
    return SmtTable(chain=[HIDE], table=table(root, "people", value=VALUE), sink=sink, **{"key": KEY, **more})


def of_file(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_run_sends_start_and_complete_with_masks_and_checks(spark, tmp_path):
    append(tmp_path, "people", PERSON)
    policy = {"rules": {"PII.*": "mask"}, "untagged": "keep", "tags": [str(tmp_path / "tags.yaml")]}
    (tmp_path / "tags.yaml").write_text("topics: {people: {value: {name: [PII.name]}}}", encoding="utf-8")
    lineage = OpenLineage(file=str(tmp_path / "events.jsonl"))
    asset = build_smt_asset(people(tmp_path, lineage=lineage, policy=policy))
    with dg.instance_for_test() as instance:
        result = dg.materialize([asset], instance=instance, resources={"spark": spark})
    start, complete, checks = of_file(tmp_path / "events.jsonl")
    assert [event["eventType"] for event in (start, complete, checks)] == ["START", "COMPLETE", "COMPLETE"]
    assert complete["run"]["facets"]["parent"]["run"]["runId"] == result.run_id
    (topic,), (lake,) = complete["inputs"], complete["outputs"]
    assert (topic["namespace"], topic["name"]) == ("file", f"{tmp_path}/topics/people")
    assert (lake["namespace"], lake["name"]) == ("file", f"{tmp_path}/lake")
    (name,) = lake["facets"]["columnLineage"]["fields"]["name"]["inputFields"]
    assert name["field"] == "value.name" and name["transformations"][0]["masking"] is True
    assert lake["outputFacets"]["outputStatistics"]["rowCount"] == 1
    assertions = checks["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert {"assertion": "dead_mask", "success": True, "severity": "error"}.items() <= assertions_by(assertions).items()
    assert "Ada" not in (tmp_path / "events.jsonl").read_text(encoding="utf-8")
    (event,) = events(result)
    edges = {edge["column"]: edge for edge in event.metadata["dagster_smt/column_edges"].value}
    assert edges["name"] == {
        "column": "name",
        "field": "value.name",
        "kind": "masking",
        "stages": ["policy_mask", "hide"],
    }
    assert edges["id"]["kind"] == "identity"
    (tagged,) = event.metadata["dagster_smt/tagged_columns"].value
    assert (tagged["column"], tagged["tags"], tagged["state"]) == ("name", ["PII.name"], "masked")


def assertions_by(assertions):
    """The entry of ``dead_mask``."""
    return next(one for one in assertions if one["assertion"] == "dead_mask")


@pytest.mark.parametrize("kind", ["asset", "op"])
def test_a_run_that_fails_sends_its_code(tmp_path, kind):
    append(tmp_path, "people", PERSON)
    lineage = OpenLineage(file=str(tmp_path / "events.jsonl"))
    if kind == "asset":
        one = build_smt_asset(people(tmp_path, lineage=lineage))
        result = dg.materialize([one], resources={"spark": Untouchable()}, raise_on_error=False)
    else:
        op = build_smt_op(people(tmp_path, lineage=lineage, key=None), name="people")
        spark = dg.ResourceDefinition.hardcoded_resource(Untouchable())
        job = dg.GraphDefinition("j", node_defs=[op]).to_job(resource_defs={"spark": spark})
        result = job.execute_in_process(raise_on_error=False)
    assert not result.success
    start, fail = of_file(tmp_path / "events.jsonl")
    assert (start["eventType"], fail["eventType"]) == ("START", "FAIL")
    assert fail["run"]["facets"]["errorMessage"]["message"] == "AssertionError"


REFUSED = [pytest.param(name, marks=pytest.mark.long) for name in ("the server refuses", "no folder can be made")]


@pytest.mark.parametrize("broken", ["nobody listens", "no key", *REFUSED])
def test_a_transport_that_fails_does_not_change_how_a_run_ends(tmp_path, broken):
    """The run ends with the error of its resource, in every case."""
    server = Server(status=500)
    url = "http://127.0.0.1:1" if broken == "nobody listens" else server.url
    settings = {"url": url, "timeout": 1.0}
    if broken == "no folder can be made":
        (tmp_path / "none").write_text("a file")
        settings = {"file": str(tmp_path / "none" / "events.jsonl")}
    if broken == "no key":
        settings["api_key"] = "${env:NO_SUCH_KEY}"
    one = build_smt_asset(people(tmp_path, lineage=OpenLineage(**settings)))
    with dg.instance_for_test() as instance:
        result = dg.materialize([one], instance=instance, resources={"spark": Untouchable()}, raise_on_error=False)
        lines = [entry.user_message for entry in instance.all_logs(result.run_id)]
    server.shutdown()
    server.server_close()
    (event,) = result.get_step_failure_events()
    assert "Spark was asked for" in event.step_failure_data.error.to_string()
    assert any("SMT773 lineage of lake/people: an event could not be sent" in line for line in lines)
