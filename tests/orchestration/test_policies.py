"""Policies in Dagster: what a run hides and tells, and that no launch makes a policy weaker."""

import json
from collections.abc import Mapping

import dagster as dg
import pytest
import yaml

from dagster_smt.errors import ConfigError, DataError
from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration import SmtTable, build_repair_job, build_smt_asset, build_smt_assets, build_smt_op
from dagster_smt.orchestration.definitions.planned_table import planned_op
from dagster_smt.orchestration.runs.tables_of_ops import TABLES_OF_OPS
from dagster_smt.privacy.policy_stages import PolicyStage
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.orchestration.test_assets import KEY, Untouchable, append, checks, events, failure, read, table
from tests.registry import Registry

VALUE = {"id": [], "name": ["PII.name"], "mail": ["PII.email"]}
TAGS = {"topics": {"people": {"value": VALUE, "key": [], "headers": {"trace": []}}}}
POLICY = {"rules": {"PII.*": "mask"}, "tags": ["tags.yaml"]}
RENAME = {"alias": "rename", "type": "ReplaceField$Value", "options": {"renames": ["name:who"]}}
PERSON = {"id": 1, "name": "Ada", "mail": "ada@example.org"}
STEP = "lake__people"


@pytest.fixture
def smt_table(tmp_path):
    """Makes a table with a policy of files."""
    (tmp_path / "tags.yaml").write_text(yaml.safe_dump(TAGS), encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY), encoding="utf-8")

    def make(chain=(RENAME,), kind="records", topics=None, **more):
        source = topics or table(tmp_path, "people")
        more = {"policy": tmp_path / "policy.yaml", "key": KEY, **more}
        return SmtTable(chain=list(chain), table=source, sink=DeltaSink(tmp_path / "lake", kind), **more)

    return make


def test_a_run_masks_what_is_tagged_holds_back_what_is_new_and_says_so(spark, tmp_path, smt_table):
    append(tmp_path, "people", PERSON)
    new = json.dumps({**PERSON, "nickname": "Zed-4711", "ada@example.org": 1}).encode()
    record = NewRecord(b"k", new, (("session", b"Zed-4711"), ("trace", b"1"), ("ada@example.org", b"1")))
    append_records(FileTopics(tmp_path / "topics"), "people", [record])
    people = build_smt_asset(smt_table())
    with dg.instance_for_test() as instance:
        first = dg.materialize([people], instance=instance, resources={"spark": spark})
        written = read(spark, tmp_path).collect()
        rows = [json.loads(row.value) for row in written]
        headers = [header.key for row in written for header in row.headers or ()]
        data = yaml.safe_load((tmp_path / "tags.yaml").read_text(encoding="utf-8"))
        data["topics"]["people"]["value"] |= {"nickname": ["PII.name"]}
        (tmp_path / "tags.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
        decided = build_smt_asset(smt_table())
        append(tmp_path, "people", {**PERSON, "nickname": "Zed-4711"})
        second = dg.materialize([decided], instance=instance, resources={"spark": spark})
    assert rows == [{"id": 1, "mail": "", "who": ""}] * 2
    check = checks(first)["held_back"]
    assert (check.passed, check.severity.value) == (False, "WARN")
    assert "value nickname of people; the rows do not have it" in check.description
    assert "docs/how-to/policy.md" in check.description
    fields = {tuple(record.data.values()) for record in check.metadata["held_back"].records}
    assert fields == {
        ("people", "value", "nickname", 1),
        ("people", "value", "[*]", 1),  # no name that is data
        ("people", "headers", "session", 1),
        ("people", "headers", "[*]", 1),
    }
    assert headers == ["trace"]
    (event,) = events(first)
    decisions = {r.data["field"]: r.data["action"] for r in event.metadata["dagster_smt/policy"].records}
    assert decisions == {"id": "keep", "name": "mask", "mail": "mask", "(whole)": "keep", "trace": "keep"}
    assert event.metadata["dagster_smt/chain_overridden"].value is False
    assert checks(second)["held_back"].passed and checks(second)["dead_mask"].passed
    values = [json.loads(row.value) for row in read(spark, tmp_path).collect()]
    (last,) = [value for value in values if "nickname" in value]
    assert "Zed-4711" not in last.values()
    text = repr(
        [event.to_json() if hasattr(event, "to_json") else event for event in (*first.all_events, *second.all_events)]
    )
    assert "Zed-4711" not in text and "Ada" not in text and "ada@example.org" not in text


def test_declared_columns_that_nobody_decided_about_are_no_columns(spark, tmp_path, smt_table):
    append(tmp_path, "people", {**PERSON, "extra": "x"})
    declared = parse_ddl("id BIGINT, name STRING, mail STRING, extra STRING")
    topics = table(tmp_path, "people", value=Format("json_schema", declared))
    people = build_smt_asset(smt_table(kind="columns", topics=topics))
    result = dg.materialize([people], resources={"spark": spark})
    (row,) = [row.asDict() for row in read(spark, tmp_path).collect()]
    assert {name: value for name, value in row.items() if not name.startswith("_")} == {"id": 1, "who": "", "mail": ""}
    assert "value extra of people" in checks(result)["held_back"].description
    (spec,) = people.specs
    columns = {column.name: column.tags for column in spec.metadata["dagster/column_schema"].columns}
    assert "extra" not in columns and columns["who"] == {"dagster_smt/masked": ""}


@pytest.mark.long
def test_records_of_a_topic_that_nobody_decided_about_stay_out_and_are_named(spark, tmp_path, smt_table):
    append(tmp_path, "people", PERSON)
    append(tmp_path, "strangers", {"id": 9, "secret": "Zed-4711"})
    topics = TopicTable(FileTopics(tmp_path / "topics"), pattern=".*")
    result = dg.materialize([build_smt_asset(smt_table(topics=topics))], resources={"spark": spark})
    rows = [(row.source_topic, json.loads(row.value)) for row in read(spark, tmp_path).collect()]
    assert rows == [("people", {"id": 1, "who": "", "mail": ""})]
    check = checks(result)["held_back"]
    fields = {(r.data["topic"], r.data["path"]) for r in check.metadata["held_back"].records}
    assert not check.passed and fields == {("strangers", "id"), ("strangers", "secret")}


OTHER = {"alias": "x", "type": "Flatten$Value", "options": {}}
LAUNCHES: Mapping[str, dict] = {
    "no stages": {"stages": []},
    "other stages": {"stages": [OTHER]},
    "no properties": {"properties": {"transforms": ""}},
    "properties": {"properties": {"transforms": "x", "transforms.x.type": "Flatten$Value"}},
    "properties with keys of a policy": {
        "properties": {"transforms": "", "policy": "none", "untagged": "keep", "engine": "connect"}
    },
}


def lines(chain):
    return [stage.alias for stage in chain.stages if isinstance(stage, PolicyStage)]


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
@pytest.mark.parametrize("dead_paths", ["error", "warn"])
def test_no_chain_of_a_run_config_takes_the_policy_away(smt_table, launch, dead_paths):
    planned = planned_op(smt_table(allow_chain_override=True), "people")
    window = {name: field.default_value for name, field in _window(planned).items()}
    config = {
        "chain": launch,
        "window": window,
        "micro_batch": None,
        "dead_paths": dead_paths,
        "errors.tolerance": "all",
    }
    settings = planned.settings(config, "ops.people.config")
    assert lines(settings.chain) == ["policy_hold_back", "policy_mask", "policy_other_headers"]
    assert isinstance(settings.chain.stages[0], PolicyStage) and isinstance(settings.chain.stages[1], PolicyStage)
    assert settings.overridden(planned.chain)
    with pytest.raises(ConfigError, match="SMT306"):
        planned_op(smt_table(), "people").settings(config, "ops.people.config")


def _window(planned):
    from dagster_smt.orchestration import smt_config_schema

    return smt_config_schema(planned.own_chain)["window"].config_type.fields


def _launch(smt_table, kind, config, **more):
    """Launches an asset, some assets in one op, or an op, with a resource that nothing may touch."""
    spark = {"spark": Untouchable()}
    if kind == "op":
        op = build_smt_op(smt_table(**more), name="people")
        job = dg.GraphDefinition("j", node_defs=[op]).to_job(
            resource_defs={"spark": dg.ResourceDefinition.hardcoded_resource(Untouchable())}
        )
        return job.execute_in_process({"ops": {"people": {"config": config}}}, raise_on_error=False)
    if kind == "asset":
        one, source = build_smt_asset(smt_table(**more)), {"ops": {STEP: {"config": config}}}
    else:
        one = build_smt_assets(name="all", tables=[smt_table(**more)])
        source = {"ops": {"all": {"config": {STEP: config}}}}
    return dg.materialize([one], source, resources=spark, raise_on_error=False)


@pytest.mark.parametrize("kind", ["asset", "assets", "op"])
def test_a_policy_forbids_another_chain_unless_the_definition_allows_it(smt_table, kind):
    result = _launch(smt_table, kind, {"chain": {"stages": [OTHER]}})
    assert "SMT306" in str(failure(result))


@pytest.mark.parametrize("kind", ["asset", "assets", "op"])
def test_a_run_config_cannot_bring_a_stage_of_the_policys_name(smt_table, kind):
    stage = {"alias": "policy_mask", "type": "MaskField$Value", "options": {"fields": ["id"]}}
    result = _launch(smt_table, kind, {"chain": {"stages": [stage]}}, allow_chain_override=True)
    assert "SMT766" in str(failure(result))


@pytest.mark.parametrize("kind", ["asset", "op"])
@pytest.mark.parametrize("key", ["policy", "untagged", "tags", "sink", "table"])
def test_a_run_config_has_no_key_for_a_policy(smt_table, kind, key):
    with pytest.raises(dg.DagsterInvalidConfigError, match=key):
        _launch(smt_table, kind, {key: {"untagged": "keep"}}, allow_chain_override=True)


def test_a_launch_with_another_chain_writes_masked_rows(spark, tmp_path, smt_table):
    append(tmp_path, "people", {**PERSON, "nickname": "Zed-4711"})
    people = build_smt_asset(smt_table(allow_chain_override=True))
    config = {"ops": {STEP: {"config": {"chain": {"stages": []}, "dead_paths": "warn"}}}}
    result = dg.materialize([people], config, resources={"spark": spark})
    (row,) = [json.loads(row.value) for row in read(spark, tmp_path).collect()]
    assert row == {"id": 1, "name": "", "mail": ""}
    (event,) = events(result)
    assert event.metadata["dagster_smt/chain_overridden"].value is True


def test_jobs_that_run_again_have_the_policy(smt_table):
    people = build_smt_asset(smt_table())
    assert build_repair_job(people) is not None
    (planned,) = TABLES_OF_OPS[people.op].values()
    assert lines(planned.chain) == ["policy_hold_back", "policy_mask", "policy_other_headers"]
    assert planned.required_chain.hash == planned.own_chain.hash


@pytest.mark.parametrize("text", ["${env:UNTAGGED}", "{{ env('UNTAGGED') }}"])
def test_the_environment_cannot_weaken_a_policy(smt_table, monkeypatch, text):
    monkeypatch.setenv("UNTAGGED", "keep")
    with pytest.raises(ConfigError, match="SMT764"):
        build_smt_asset(smt_table(policy={**POLICY, "untagged": text}))


def test_a_chain_of_an_import_cannot_have_stages_of_the_policy(smt_table):
    stage = {"alias": "policy_hold_back", "type": "Flatten$Value"}
    with pytest.raises(ConfigError, match="SMT766"):
        build_smt_asset(smt_table(chain=[stage]))


def test_a_table_with_dead_letters_needs_a_decision(smt_table, tmp_path):
    with pytest.raises(ConfigError, match="SMT768"):
        build_smt_asset(smt_table(dead_letter_topic="dead"))


def test_the_registry_is_asked_by_runs_and_not_by_definitions(smt_table, tmp_path):
    schema = {"type": "record", "name": "P", "fields": [{"name": "mail", "type": "string", "confluent:tags": ["PII"]}]}
    with Registry() as registry:
        form = Format("avro-confluent", options={"url": registry.url})
        topics = table(tmp_path, "people", value=form)
        policy = {**POLICY, "tags": ["registry"]}
        planned = planned_op(smt_table(policy=policy, topics=topics, kind="columns", chain=()), "people")
        assert not registry.asked
        assert lines(planned.chain) == ["policy_hold_back", "policy_other_headers"]
        window = {name: field.default_value for name, field in _window(planned).items()}
        config = {
            "chain": {"stages": []},
            "window": window,
            "micro_batch": None,
            "dead_paths": "error",
            "errors.tolerance": "none",
        }
        with pytest.raises(DataError, match="SMT442"):
            planned.settings(config, "")
        registry.add("people-value", json.dumps(schema))
        settings = planned.settings(config, "")
    assert lines(settings.chain) == [
        "policy_hold_back",
        "policy_mask",
        "policy_other_headers",
    ] and not settings.overridden(planned.chain)


def test_values_that_look_personal_are_sampled_before_a_run(smt_table, tmp_path):
    append(tmp_path, "people", {**PERSON, "contact": "ada@example.org", "size": "XL"})
    policy = {**POLICY, "untagged": "keep", "looks_personal": "hold back", "tags": [str(tmp_path / "tags.yaml")]}
    planned = planned_op(smt_table(policy=policy), "people")
    window = {name: field.default_value for name, field in _window(planned).items()}
    config = {
        "chain": {"stages": [RENAME]},
        "window": window,
        "micro_batch": None,
        "dead_paths": "error",
        "errors.tolerance": "none",
    }
    settings = planned.settings(config, "")
    held = [stage for stage in settings.chain.stages if stage.alias == "policy_held"]
    assert [stage.paths for stage in held] == [("contact",)]
