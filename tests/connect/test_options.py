"""Every option of a connector has a line in the report, and what is not done makes the command fail."""

import json

import dagster as dg
import pytest
from click import ClickException
from dagster.components.testing import create_defs_folder_sandbox

from dagster_smt.chain import parse_chain
from dagster_smt.cli import main
from dagster_smt.connect import Connector, connectors_at, written_component
from dagster_smt.connect.catalog import catalog
from dagster_smt.connect.option_verdicts import family_of
from dagster_smt.errors import ConfigError
from dagster_smt.orchestration.components.scaffolder import SmtChainScaffolder, SmtScaffoldParams
from tests.connect.shapes import AVRO, JSON, KAFKA, SECRET, SHAPES, STRING_KEY, UNWRAP

SOURCE = {"kafka": {"bootstrap_servers": "localhost:9092"}}
ALL = pytest.mark.parametrize("shape", SHAPES)
UNKNOWN = ("S3", "Debezium's MongoDB source", "transforms of other vendors", "Tabular's own transform")


def written(config, name="orders", into="table"):
    return written_component(Connector(name, config), SOURCE, into=into)


def verdicts(config):
    return {v.option: v for v in written(config).options}


@ALL
def test_every_option_has_one_line(shape):
    config, not_done = SHAPES[shape]
    result = written(config)
    assert [v.option for v in result.options] == list(config)
    assert {v.option for v in result.options if v.verdict == "not done"} == not_done
    assert all(v.text for v in result.options)


@ALL
def test_an_unknown_option_is_not_done_and_fails(shape, capsys, tmp_path):
    config, not_done = SHAPES[shape]
    planted = {**config, "planted.option": SECRET}
    file = tmp_path / "c.json"
    codes = []
    for options in (config, planted):
        file.write_text(json.dumps({"name": "c", "config": options}))
        codes.append(main(["import", str(file), "--into", "table", "--to", str(tmp_path / f"defs{len(options)}")]))
    out, err = capsys.readouterr()
    is_source = family_of(Connector("c", config)) in ("source", "mirror")  # it goes on with whatever it is told
    assert codes[0] == int(bool(not_done)), out
    assert codes[1] == int(bool(not_done) or not is_source)
    assert "planted.option" in out
    texts = [p.read_text() for p in tmp_path.rglob("*") if p.is_file() and p != file]
    assert not any(SECRET in text for text in (out, err, *texts)), "no secret is shown or copied"


@ALL
def test_each_shape_loads_unless_a_transform_is_unknown(shape, monkeypatch):
    config, _ = SHAPES[shape]
    if shape in UNKNOWN:
        pytest.skip("its transform is unknown here: it must not load")
    monkeypatch.setenv("KAFKA_SERVERS", "localhost:9092")
    with create_defs_folder_sandbox() as sandbox:
        written(config, "c").save(sandbox.defs_folder_path)
        with sandbox.load_component_and_build_defs(defs_path="c") as (_, defs):
            assert isinstance(defs, dg.Definitions)


def test_scaffold_prints_the_report_of_import(tmp_path, capsys):
    config, not_done = SHAPES["several tables of Iceberg"]
    (tmp_path / "c.json").write_text(json.dumps({"name": "up", "config": config}))
    assert main(["import", str(tmp_path / "c.json")]) == 1
    report = capsys.readouterr().out
    (tmp_path / "up").mkdir()
    request = dg.ScaffoldRequest(
        type_name="dagster_smt.SmtChainComponent",
        target_path=tmp_path / "up",
        scaffold_format="yaml",
        project_root=None,
        params=SmtScaffoldParams(from_connector=str(tmp_path / "c.json")),
        append=False,
    )
    with pytest.raises(ClickException) as failed:  # dg ends with its text and exit code 1; the files are there
        SmtChainScaffolder().scaffold(request)
    assert capsys.readouterr().out == report
    assert all(option in report and option in str(failed.value) for option in not_done)
    assert {p.name for p in (tmp_path / "up").iterdir()} == {"defs.yaml", "chain.properties"}


def test_a_connector_that_could_stay_is_scaffolded_as_a_table(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({"name": "up", "config": SHAPES["HTTP"][0]}))
    (tmp_path / "up").mkdir()
    request = dg.ScaffoldRequest(
        type_name="dagster_smt.SmtChainComponent",
        target_path=tmp_path / "up",
        scaffold_format="yaml",
        project_root=None,
        params=SmtScaffoldParams(from_connector=str(tmp_path / "c.json"), sample=0),
        append=False,
    )
    with pytest.raises(ClickException, match=r"connector\.class"):
        SmtChainScaffolder().scaffold(request)
    assert "delta:" in (tmp_path / "up" / "defs.yaml").read_text()


def test_a_class_that_is_unknown_is_not_done():
    result = verdicts({"connector.class": "com.example.Sink", "topics": "t", **JSON, **STRING_KEY})
    assert {k for k, v in result.items() if v.verdict == "not done"} == {"connector.class"}


def test_each_family_has_a_verdict_on_its_class_and_each_rule_a_known_family():
    families = {*catalog().goals}
    results = {family for rule in catalog().rules if rule.option == "connector.class" for family in rule.families}
    assert {f for rule in catalog().rules for f in rule.families} <= families
    assert families - results == {"iceberg"}, "that of Iceberg depends on its tables"
    assert set(catalog().sources) == {"", *families} and all(catalog().sources.values())


def test_a_list_of_fields_becomes_the_last_stage():
    config, _ = SHAPES["Confluent's JDBC sink"]
    chain = {"transforms": "whitelist", "transforms.whitelist.type": f"{KAFKA}transforms.Flatten$Value"}
    for more, stages in (({}, 1), (chain, 2)):
        result = written({**config, **more})
        lines = result.chain.splitlines()
        properties = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
        last = parse_chain(properties).stages
        assert len(last) == stages
        assert last[-1].transform.configured() == {"include": ["id", "email", "amount"]}
    assert verdicts(config)["fields.whitelist"].verdict == "changed"


@pytest.mark.parametrize(
    ("shape", "change", "topics"),
    [
        ("MirrorMaker", {}, {"pattern": r"west\.(orders.*|returns)"}),
        ("MirrorMaker", {"replication.policy.separator": "-"}, {"pattern": r"west\-(orders.*|returns)"}),
        ("MirrorMaker", {"replication.policy.class": "x.IdentityReplicationPolicy"}, {"pattern": "orders.*|returns"}),
        ("a source of one topic", {}, {"topics": ["lines"]}),
        ("a JDBC source", {}, {"pattern": r"shop\..*"}),
        ("MongoDB", {}, {"topics": ["orders"]}),
    ],
)
def test_the_topics_of_a_source_are_those_that_it_writes(shape, change, topics):
    table = written({**SHAPES[shape][0], **change}).attributes["table"]
    assert {name: table[name] for name in ("topics", "pattern") if name in table} == topics


def test_iceberg_stays_iceberg_and_the_group_is_proposed():
    result = written(SHAPES["Iceberg"][0])
    assert result.attributes["sink"]["iceberg"]["table"] == "test_db.users"
    assert "group:connect-orders" in result.proposals[0]
    assert "delta" in written(SHAPES["several tables of Iceberg"][0]).attributes["sink"]


def test_overrides_of_the_consumer_are_the_tables():
    table = written(SHAPES["an append by JDBC"][0]).attributes["table"]
    assert table["start"] == "latest"
    assert table["source"]["kafka"]["isolation_level"] == "read_uncommitted"


@pytest.mark.parametrize(
    ("options", "value"),
    [
        (AVRO, {"url": "http://registry:8081", "basic-auth.user-info": "${env:SCHEMA_REGISTRY_USER_INFO}"}),
        (
            {**AVRO, "value.converter.basic.auth.user.info": "${env:LOGIN}"},
            {"url": "http://registry:8081", "basic-auth.user-info": "${env:LOGIN}"},
        ),
        (
            {**AVRO, "value.converter.value.subject.name.strategy": "io.confluent.x.RecordNameStrategy"},
            {
                "url": "http://registry:8081",
                "basic-auth.user-info": "${env:SCHEMA_REGISTRY_USER_INFO}",
                "subject.name.strategy": "RecordNameStrategy",
            },
        ),
        ({"input.data.format": "PROTOBUF"}, {"url": "${env:SCHEMA_REGISTRY_URL}"}),
    ],
)
def test_registries(options, value):
    form = written({"topics": "t", **options}).attributes["table"]["value"]
    assert form["options"] == value


@pytest.mark.parametrize("name", ["Short", "Integer", "Long", "Float", "Double", "Boolean"])
def test_single_values(name):
    result = written({"topics": "t", "key.converter": f"{KAFKA}converters.{name}Converter"})
    assert result.attributes["table"]["key"] == {"kind": name.lower()}


def test_options_of_a_converter_that_the_worker_chooses_are_ignored_as_kafka_does():
    result = verdicts({"topics": "t", "value.converter.schemas.enable": "true"})
    assert result["value.converter.schemas.enable"].verdict == "not needed"


@pytest.mark.parametrize(
    ("old", "mode"),
    [
        ({"delete.handling.mode": "rewrite", "drop.tombstones": "false"}, "rewrite-with-tombstone"),
        ({"delete.handling.mode": "rewrite"}, "rewrite"),
        ({"drop.tombstones": "true"}, "drop"),
        ({"drop.tombstones": "false"}, "delete-to-tombstone"),
        ({"delete.handling.mode": "none", "drop.tombstones": "true"}, "tombstone"),
    ],
)
def test_debeziums_older_options_become_that_of_today(old, mode):
    config = {"topics": "t", "transforms": "unwrap", **UNWRAP}
    config |= {f"transforms.unwrap.{name}": value for name, value in old.items()}
    result = written(config)
    assert f"transforms.unwrap.delete.tombstone.handling.mode={mode}" in result.chain
    assert [v.verdict for v in result.stages] == ["exact"]
    assert {v.option for v in result.options if v.verdict == "changed"} == {f"transforms.unwrap.{n}" for n in old}


def test_debeziums_option_of_today_wins():
    head = "transforms.unwrap."
    config = {"topics": "t", "transforms": "unwrap", **UNWRAP, f"{head}delete.tombstone.handling.mode": "drop"}
    result = verdicts({**config, f"{head}drop.tombstones": "false"})
    assert result[f"{head}drop.tombstones"].verdict == "not needed"


STRIMZI = """
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnect
metadata: {name: cluster}
---
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnector
metadata: {name: orders, labels: {strimzi.io/cluster: cluster}}
spec:
  class: FileStreamSink
  tasksMax: 2
  state: paused
  config: {topics: orders, file: /tmp/x, value.converter.schemas.enable: false}
"""


WORKER = "{value.converter: org.apache.kafka.connect.json.JsonConverter, value.converter.schemas.enable: false}"


@pytest.mark.parametrize(
    ("worker", "own", "expected", "ignored"),
    [
        (WORKER, "value.converter.decimal.format: NUMERIC", {"kind": "json"}, ["value.converter.decimal.format"]),
        (WORKER, "value.converter.schemas.enable: true", {"kind": "json"}, ["value.converter.schemas.enable"]),
        (
            WORKER,
            "value.converter: org.apache.kafka.connect.json.JsonConverter, value.converter.decimal.format: NUMERIC",
            {"kind": "envelope", "decimal_format": "NUMERIC"},
            [],
        ),
        (WORKER, "tasks.max: 1", {"kind": "json"}, []),
        ("{}", "value.converter.decimal.format: NUMERIC", {"kind": "json"}, ["value.converter.decimal.format"]),
    ],
)
def test_a_converter_of_strimzis_worker_has_only_the_options_of_the_worker(tmp_path, worker, own, expected, ignored):
    """Connect makes a converter of the configuration that names its class."""
    text = STRIMZI.replace("value.converter.schemas.enable: false", own)
    text = text.replace("metadata: {name: cluster}", f"metadata: {{name: cluster}}\nspec: {{config: {worker}}}")
    (tmp_path / "c.yaml").write_text(text)
    (connector,) = connectors_at(str(tmp_path))
    component = written_component(connector, {"files": "topics"})
    assert component.attributes["table"]["value"] == expected
    reported = [v.option for v in component.options if "Kafka also ignores the option" in v.text]
    assert reported == ignored


def test_connectors_of_strimzi(tmp_path):
    (tmp_path / "c.yaml").write_text(STRIMZI)
    (connector,) = connectors_at(str(tmp_path))
    assert (connector.name, connector.state, connector.topics) == ("orders", "paused", ("orders",))
    assert connector.config["connector.class"] == "FileStreamSink"
    assert connector.config["tasks.max"] == "2"
    assert connector.config["value.converter.schemas.enable"] == "false", "as Connect writes it"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "SMT003"),
        ("a: 1", "SMT018"),
        (STRIMZI.split("---")[0], "SMT018"),
        (STRIMZI.replace("/tmp/x", "[[a], [b]]"), "SMT003 c.yaml file"),
        ("a: &a [x]\nb: &b [*a, *a]\ntopics: [*b, *b]\nconnector.class: x", "SMT003 c.yaml topics"),
        ("x: !!python/object:os.system {}", "SMT003"),
    ],
)
def test_files_of_yaml_that_hold_no_connector(text, problem, tmp_path):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ConfigError, match=problem):
        connectors_at(str(tmp_path / "c.yaml"))


ROUTERS = {
    "RegexRouter": {"type": f"{KAFKA}transforms.RegexRouter", "regex": "a", "replacement": "b"},
    "TimestampRouter": {"type": f"{KAFKA}transforms.TimestampRouter"},
    "ExtractTopic": {"type": "io.confluent.connect.transforms.ExtractTopic$Value", "field": "kind"},
    "route.by.field": {"type": UNWRAP["transforms.unwrap.type"], "route.by.field": "kind"},
    "none": {"type": f"{KAFKA}transforms.Flatten$Value"},
}


@pytest.mark.parametrize(("topics", "one_table"), [("t", {"RegexRouter", "none"}), ("t,u", {"none"})])
def test_routers_into_several_tables_are_not_done(topics, one_table):
    done = set()
    for name, options in ROUTERS.items():
        chain = {"topics": topics, "transforms": "r", **{f"transforms.r.{k}": v for k, v in options.items()}}
        if verdicts(chain)["transforms.r.type"].verdict == "used":
            done.add(name)
    assert done == one_table


@pytest.mark.parametrize(
    "option",
    ["topics", "errors.deadletterqueue.topic.name", "fields.whitelist", "iceberg.tables", "transforms.m.fields"],
)
def test_references_that_connect_looks_up_are_no_names(option):
    config = {"topics": "t", "transforms": "m", "transforms.m.type": f"{KAFKA}transforms.MaskField$Value"}
    result = verdicts({**config, "transforms.m.fields": "a", option: "${file:/secrets:name}"})
    assert result[option].verdict == "not done"


def test_no_secret_of_a_transform_is_copied_whether_it_is_used_or_not():
    config = {"topics": "t", "transforms": "secretFields", "transforms.secretFields.type": "com.example.Encrypt"}
    config |= {"transforms.secretFields.key.password": SECRET, "transforms.secretFields.fields": "a"}
    result = written({**config, "transforms.gone.password": SECRET})
    assert SECRET not in result.chain
    assert "transforms.secretFields.fields=a" in result.chain, "the alias is no name of an option"


def hides(before, rule):
    """Whether a rule takes whatever another one, further down, is about."""
    if before.values or (before.families and not rule.families):
        return False
    if before.families and not set(rule.families) <= set(before.families):
        return False
    family = rule.families[0] if rule.families else ""
    return before.fits(rule.option.removesuffix("*"), "", family)


def test_no_rule_is_behind_one_that_takes_everything_of_it():
    hidden = [
        (rule.option, rule.families)
        for n, rule in enumerate(catalog().rules)
        if any(hides(b, rule) for b in catalog().rules[:n])
    ]
    assert hidden == []
