"""The parts of a take-over without Spark: the REST API, the control topic, columns, definitions, the record."""

import json
import threading
from contextlib import suppress
from dataclasses import asdict, fields, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import dagster as dg
import pytest
import yaml
from dagster.components.resolved.errors import ResolutionException

from dagster_smt.cli import argument_parser
from dagster_smt.cli.shadow_page import shadow_page
from dagster_smt.cli.takeover_commands import move_apart
from dagster_smt.connect import Connector, by_table, written_component
from dagster_smt.connect.iceberg_catalog import catalog_conf
from dagster_smt.connect.takeover import control_topic, shadow, take_over
from dagster_smt.connect.takeover.audit_record import config_hash, page_of, read_record, write_record
from dagster_smt.connect.takeover.column_comparison import column_differences, last_records
from dagster_smt.connect.takeover.control_topic import InFlight, event_of
from dagster_smt.connect.takeover.definition import HONOURED, Definition
from dagster_smt.connect.takeover.plans import take_over_plan
from dagster_smt.connect.takeover.rest import ConnectRest
from dagster_smt.connect.takeover.shadow import Shadow, ShadowOptions, ShadowReport, facts_of
from dagster_smt.connect.takeover.take_over import TakeOver, _has_runs_since
from dagster_smt.connect.takeover.takeover_parts import ConnectorState, TableHead, TakeOverRecord
from dagster_smt.errors import ConfigError, EngineError, Problem, TableError, UnsupportedError
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.topics.state import CommittedRun, ErasedPersons, TableState
from dagster_smt.model.topics.taken_over import TakenOver
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.orchestration.components import SmtChainComponent
from dagster_smt.orchestration.definitions.planned_table import planned_op
from dagster_smt.orchestration.definitions.tables import SmtTable
from dagster_smt.run.rows_of_connectors import check_not_given_back, check_rows_of_connector
from dagster_smt.spark.types import spark_type
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from tests.connect.takeover.workers import iceberg_config
from tests.connect.takeover.world import JSON, MASK

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "take-over.md"
EVENTS = Path(__file__).with_name("control_events.bin")
SECRET = "s3cret-of-the-catalog"
OFFSETS = {
    "offsets": [
        {"partition": {"kafka_topic": "orders", "kafka_partition": 0}, "offset": {"kafka_offset": 7}},
        {"partition": {"kafka_topic": "orders", "kafka_partition": 1}, "offset": None},
    ]
}


def connector(**more: str) -> Connector:
    config = iceberg_config(Path("/lake"), "kafka:9092", "orders", "shop.orders", "control")
    return Connector("orders", {**config, **JSON, **MASK, **more})


class Rest(BaseHTTPRequestHandler):
    answers: ClassVar[dict[str, tuple[int, object]]] = {}
    asked: ClassVar[list[str]] = []

    def answer(self):
        size = int(self.headers.get("Content-Length") or 0)
        Rest.asked.append(f"{self.command} {self.path} {self.rfile.read(size).decode()}".strip())
        code, body = Rest.answers.get(f"{self.command} {self.path}", (404, None))
        self.send_response(code)
        self.end_headers()
        if body is not None:
            self.wfile.write(json.dumps(body).encode())
        if code == 409:  # once
            Rest.answers[f"{self.command} {self.path}"] = (204, None)

    do_GET = do_PUT = do_PATCH = answer

    def log_message(self, *arguments):
        pass


@pytest.fixture
def rest(monkeypatch):
    monkeypatch.setattr("dagster_smt.connect.takeover.rest._SECONDS_TO_LEARN", 0)
    Rest.asked.clear()
    server = HTTPServer(("127.0.0.1", 0), Rest)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield ConnectRest(f"http://127.0.0.1:{server.server_port}", "a b/c", 2)
    server.shutdown()
    server.server_close()


def test_the_rest_api_is_asked_as_kafka_has_it(rest):
    path = "/connectors/a%20b%2Fc"
    status = {"connector": {"state": "RUNNING"}, "tasks": [{"state": "FAILED"}, {"state": "RUNNING"}]}
    Rest.answers = {
        f"GET {path}/status": (200, status),
        f"GET {path}/offsets": (200, OFFSETS),
        f"PUT {path}/stop": (409, None),
        f"PATCH {path}/offsets": (200, {}),
    }
    state = rest.state()
    assert (state.text, state.is_stopped) == ("RUNNING (2 tasks: FAILED, RUNNING)", False)
    assert ConnectorState("STOPPED").is_stopped and not ConnectorState("PAUSED").is_stopped
    assert rest.offsets() == {("orders", 0): 7}
    rest.stop()  # the worker rebalances, and does it then
    assert Rest.asked.count(f"PUT {path}/stop") == 2
    rest.set_offsets({("orders", 0): 9})
    body = json.loads(Rest.asked[-1].split(" ", 2)[2])
    assert body["offsets"][0] == {**OFFSETS["offsets"][0], "offset": {"kafka_offset": 9}}


def test_workers_that_cannot_stop_or_do_not_answer(rest):
    Rest.answers = {}
    with pytest.raises(UnsupportedError, match=r"SMT780.*cannot stop(.|\n)*Kafka 3\.5"):
        rest.stop()
    with pytest.raises(UnsupportedError, match=r"SMT780.*no connector"):
        rest.state()
    with pytest.raises(EngineError, match=r"SMT780.*it does not answer"):
        ConnectRest("http://me:pass@127.0.0.1:1", "x", 0.1).state()


def events() -> list[bytes]:
    data, results = EVENTS.read_bytes(), []
    while data:
        size = int.from_bytes(data[:4], "big")
        results.append(data[4 : 4 + size])
        data = data[4 + size :]
    return results


def test_events_of_the_sink_are_read():
    """Recorded from the sink of Iceberg 1.10.1: a start, a data file, an end, a commit, the end of the commit."""
    read = [event_of(event) for event in events()]
    assert [event["type"] for event in read] == [0, 1, 2, 3, 4]
    assert {event["group_id"] for event in read} == {"connect-lake"}
    assert read[2]["payload"]["assignments"][0]["offset"] == 50


@pytest.mark.parametrize(
    ("group", "table", "files"),
    [("connect-lake", "shop.orders", 1), ("x", "shop.orders", 0), ("connect-lake", "s.o", 0)],
)
def test_only_files_of_the_connector_and_the_table_are_in_flight(group, table, files):
    result = InFlight()
    for event in events():
        control_topic._add(result, event, group, table)
    assert (result.files, result.is_empty) == (files, not files)
    assert not files or result.text == "1 files with 50 records that no snapshot has"
    assert not InFlight(open_transactions=1).is_empty


def test_several_tables_are_in_flight_together():
    both = InFlight(1, 5, 0, {0: 7}).and_(InFlight(2, 3, 1, {0: 7, 1: 9}))
    assert both == InFlight(3, 8, 1, {0: 7, 1: 9}) and not both.is_empty


@pytest.mark.parametrize("event", [b"", b"\xc2\x01", b"\xc2\x01\x00\x02{}", events()[1][:-40], b"{}"])
def test_other_bytes_in_the_control_topic_stop_the_take_over(event):
    with pytest.raises(EngineError, match="SMT793"):
        control_topic._add(InFlight(), event, "connect-lake", "shop.orders")


def columns(ddl: str):
    return spark_type(parse_ddl(ddl, place="test"))


@pytest.mark.parametrize(
    ("table", "chain", "expected"),
    [
        ("id BIGINT, name STRING", "name STRING, id BIGINT", []),
        ("id BIGINT, _source_topic STRING", "id BIGINT, _source_topic STRING, _source_offset BIGINT", []),
        ("id BIGINT", "id BIGINT, name STRING", [("name", "added")]),
        ("id BIGINT, name STRING", "id BIGINT", [("name", "absent")]),
        ("id STRING", "id BIGINT", [("id", "type")]),
        ("id BIGINT", "id INT", [("id", "type")]),
        ("a STRUCT<x: INT>", "a STRUCT<y: INT>", [("a.y", "added"), ("a.x", "absent")]),
        ("a ARRAY<INT>", "a ARRAY<STRING>", [("a[]", "type")]),
        ("d DECIMAL(20, 2)", "d DECIMAL(10, 2)", []),
    ],
)
def test_columns_that_differ(table, chain, expected):
    differences = column_differences(DeltaSink("x", kind="columns"), columns(table), columns(chain))
    assert [(difference.column, difference.kind) for difference in differences] == expected


def test_a_sink_that_widens_takes_narrower_columns():
    sink = DeltaSink("x", kind="columns", schema_evolution="widen")
    assert column_differences(sink, columns("id BIGINT"), columns("id INT")) == []


def test_the_last_records_before_the_offsets():
    ranges = [Range("t", 0, 0, 100), Range("t", 1, 5, 100), Range("t", 2, 7, 7)]
    window = last_records(ranges, {("t", 0): 50, ("t", 1): 5}, 30)
    assert window.ranges == (Range("t", 0, 40, 50), Range("t", 1, 5, 15))


# --- definitions and plans ---


def saved(folder: Path, one: Connector) -> Path:
    source = {"kafka": {"bootstrap_servers": "${env:KAFKA_SERVERS}"}}
    return written_component(one, source).save(folder)


def test_a_definition_is_read_as_dagster_reads_it(tmp_path):
    folder = saved(tmp_path, connector())
    definition = Definition(folder)
    assert definition.asset == "lake/orders" and definition.spec.name == "lake__orders"
    assert definition.spec.sink == IcebergSink(table="shop.orders", kind="records")
    assert [stage.alias for stage in definition.spec.chain.stages] == ["hide"]
    plan = take_over_plan(connector(), "http://connect:8083", definition)
    assert (plan.group, plan.control, plan.coordinator_group) == ("connect-orders", "control", "connect-orders-coord")


def test_templates_of_a_definition(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKE", "file:///lake")
    folder = saved(tmp_path, Connector("a", {"connector.class": "FileStreamSink", "topics": "{{ x }}", **JSON}))
    file = folder / "defs.yaml"
    file.write_text(file.read_text().replace("path: lake/", "path: \"{{ env('LAKE') }}/\"").replace('/"a', '/a"'))
    definition = Definition(folder)
    assert definition.spec.sink.path == "file:///lake/a" and definition.spec.table.topics == ("{{ x }}",)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("{{ env('LAKE') }}/x", "s3a://a/x"),
        ("{{ env.LAKE }}/x", "s3a://a/x"),
        ("{{ env('NO_LAKE', 'b') }}/x", "b/x"),
        ("{{ env.NO_LAKE or 'b' }}/x", "b/x"),
        ("{{ env('NO_LAKE') }}/x", None),
        ("{{ no_env.LAKE }}/x", None),
        ("{{ no_env }}/x", None),
        ("{{ env.NO_LAKE + '/x' }}", None),
    ],
)
def test_templates_are_rendered_as_by_dagster(tmp_path, monkeypatch, text, path):
    monkeypatch.setenv("LAKE", "s3a://a")
    folder = saved(tmp_path, connector())
    changed(folder, sink={"delta": {"path": text, "kind": "columns"}}, translation={"group_name": "{{ data.name }}"})
    context = dg.ResolutionContext.default()
    if path is None:
        # for an unknown name in a longer text, Dagster writes an empty text, which no table should be written to
        with suppress(ResolutionException):
            assert context.resolve_value(text) == "/x"
        with pytest.raises(ConfigError, match="SMT792"):
            Definition(folder)
    else:
        assert context.resolve_value(text) == path == Definition(folder).spec.sink.path


def test_an_attribute_whose_template_returns_null_is_not_set(tmp_path):
    folder = saved(tmp_path, connector())
    before = Definition(folder)
    changed(folder, policy="{{ env.NO_POLICY }}", connect_version="{{ env.NO_VERSION }}", asset_key=None)
    assert Definition(folder).spec.chain == before.spec.chain
    changed(folder, sink="{{ env.NO_SINK }}")
    with pytest.raises(ConfigError, match=r"SMT792.*the file is not an SmtChainComponent"):
        Definition(folder)


def changed(folder: Path, **attributes: object) -> None:
    """Changes attributes in the component of ``folder``."""
    file = folder / "defs.yaml"
    data = yaml.safe_load(file.read_text())
    data["attributes"] |= attributes
    file.write_text(yaml.safe_dump(data))


def test_each_attribute_of_the_component_is_honoured_or_changes_no_row():
    """An attribute that is new here has to be read by ``Definition`` if it changes the chain or the rows."""
    irrelevant = {
        "spark_key", "spark", "partitions_def", "destinations", "checks", "lineage", "allow_chain_override",
        "observe_topics", "schedule", "execution_timezone", "new_topic_sensor", "lag_sensor", "maintenance", "op",
        "translation",
        # the connector writes the rows of erased people, too, and its rows are what a take-over proves and compares
        "erasure",
    }  # fmt: skip
    attributes = {field.name for field in fields(SmtChainComponent)}
    assert attributes == irrelevant | {*HONOURED} and not irrelevant & {*HONOURED}


def test_a_definition_runs_the_policy_and_the_dead_paths_of_the_asset(tmp_path):
    """Otherwise the rows of a scratch table would not be masked."""
    folder = saved(tmp_path, connector())
    (folder / "policy.yaml").write_text("rules: {PII: mask}\ntags: [{file: tags.yaml}]\nuntagged: keep\n")
    (folder / "tags.yaml").write_text("topics: {orders: {value: {email: [PII]}}}\n")
    changed(folder, policy="policy.yaml", dead_paths="warn")
    chain = Definition(folder).spec.chain
    assert [stage.alias for stage in chain.stages] == ["policy_mask", "hide"] and chain.dead_paths == "warn"
    spec = Definition(folder).spec
    asset = SmtTable(
        chain=folder / "chain.properties",
        table=spec.table,
        sink=spec.sink,
        policy=folder / "policy.yaml",
        dead_paths="warn",
    )
    assert planned_op(asset, "orders").chain.hash == chain.hash


def test_a_definition_holds_back_fields_whose_sampled_values_look_personal(tmp_path):
    folder = saved(tmp_path, connector())
    values = [NewRecord(None, b'{"email": "a@b.c", "note": "ann@example.org", "id": 7}')] * 5
    append_records(FileTopics(folder / "topics"), "orders", values)
    policy = {"rules": {"PII": "mask"}, "untagged": "keep", "looks_personal": "hold back", "tags": [{"file": "t.yaml"}]}
    (folder / "t.yaml").write_text("topics: {orders: {value: {email: [PII]}}}\n")
    changed(folder, policy=policy, table={**of_source(files="topics"), "value": {"kind": "json"}})
    held = Definition(folder).spec.chain.stages
    assert [(stage.alias, stage.paths) for stage in held[:-1]] == [
        ("policy_held", ("note",)),
        ("policy_mask", ("email",)),
    ]


def of_source(**source: object) -> dict[str, object]:
    return {"source": source, "topics": ["orders"]}


BROKER = {"bootstrap_servers": "kafka:9092"}


@pytest.mark.parametrize(
    ("attributes", "place"),
    [
        ({"table": of_source(kafka={**BROKER, "servers": SECRET})}, "table.source.kafka: unknown options: servers"),
        ({"table": of_source(kafka={"timeout": 3})}, "table.source.kafka: an option is missing"),
        ({"table": of_source(kafka={**BROKER, "create": {"parts": 3}})}, "kafka.create: unknown options: parts"),
        ({"table": of_source(kafka=None, files=None)}, "table.source: exactly one option"),
        ({"table": {"source": SECRET}}, "table.source: exactly one option"),
        ({"table": {"topics": ["orders"]}}, "table: an option is missing"),
        ({"table": {**of_source(files="t"), "topic": SECRET}}, "table: unknown options: topic"),
        ({"table": {**of_source(files="t"), "value": {"kinds": SECRET}}}, "table.value: unknown options: kinds"),
        ({"table": None}, "defs.yaml: the file is not an SmtChainComponent"),
        ({"table": {"source": None, "topics": ["orders"]}}, "table: an option is missing"),
        ({"table": 1}, "table: the options are not a mapping"),
        ({"sink": {"delta": {"path": "x", "paths": SECRET}}}, "sink.delta: unknown options: paths"),
        ({"sink": {"delta": 7}}, "sink.delta: the options are not a mapping"),
        ({"table": {**of_source(files="t"), "topics": None}}, "table.topics: the option is not a list"),
        ({"table": {**of_source(files="t"), "topics": SECRET}}, "table.topics: the option is not a list"),
        ({"table": {**of_source(files="t"), "value": {"schema": 5}}}, "table.value: an option is missing, or has"),
        ({"table": {**of_source(files="t"), "statement": 5}}, "table: an option is missing, or has"),
        (
            {"sink": {"delta": {"path": "x", "source_columns": SECRET}}},
            "source_columns: the option is not a list",
        ),
        ({"sink": {"delta": {"path": "x", "source_columns": [*"abcd"]}}}, "source_columns: an option is missing"),
        ({"smt_jars": SECRET}, "smt_jars: the option is not a list"),
        ({"dead_paths": SECRET}, "dead_paths: the value is not one of those that the option has"),
        ({"errors_tolerance": SECRET.upper()}, "errors_tolerance: the value is not one of those that the option has"),
        ({"policy": 5}, "policy: the option is not a policy"),
    ],
)
def test_wrong_options_of_a_definition_are_a_problem_with_a_place(tmp_path, attributes, place):
    folder = saved(tmp_path, connector())
    changed(folder, **attributes)
    with pytest.raises(ConfigError, match=f"SMT792.*{place}") as raised:
        Definition(folder)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        (None, "there is no such file"),
        ("a: [", "not valid YAML"),
        ("type: x", "is not an SmtChainComponent"),
        ("attributes: {chain: '{{ own }}', table: 1, sink: 1}", "template"),
    ],
)
def test_files_that_are_no_component(tmp_path, text, statement):
    if text is not None:
        (tmp_path / "defs.yaml").write_text(text)
    with pytest.raises(ConfigError, match=f"SMT792(.|\n)*{statement}"):
        Definition(tmp_path)


@pytest.mark.parametrize(
    "more",
    [
        {"connector.class": "com.example.IcebergSinkConnector"},
        {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector"},
        {"connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector"},
    ],
)
def test_tables_that_no_run_can_go_on_in(tmp_path, more):
    definition = Definition(saved(tmp_path, connector()))
    with pytest.raises(UnsupportedError, match="SMT784"):
        take_over_plan(connector(**more), "http://connect:8083", definition)


@pytest.mark.parametrize(
    ("more", "statement"),
    [({"iceberg.tables.dynamic-enabled": "true"}, "from each record"), ({"iceberg.tables": " "}, "names no table")],
)
def test_tables_without_a_list(tmp_path, more, statement):
    definition = Definition(saved(tmp_path, connector()))
    with pytest.raises(UnsupportedError, match=f"SMT795.*{statement}"):
        take_over_plan(connector(**more), "http://connect:8083", definition)


SEVERAL = {
    "iceberg.tables": "shop.a, shop.b",
    "iceberg.tables.route-field": "kind",
    "iceberg.table.shop.a.route-regex": "a|x",
    "iceberg.table.shop.b.route-regex": "b",
    "iceberg.table.shop.b.partition-by": "day(at)",
}


def test_each_table_of_a_connector_has_a_plan(tmp_path):
    parts = by_table(connector(**SEVERAL))
    assert [part.table for part in parts] == ["shop.a", "shop.b"]
    plans = [take_over_plan(part, "http://connect:8083", Definition(saved(tmp_path, part))) for part in parts]
    assert [(plan.name, plan.table, plan.folder.name) for plan in plans] == [
        ("orders", "shop.a", "orders_shop_a"),
        ("orders", "shop.b", "orders_shop_b"),
    ]
    assert {(plan.group, plan.control) for plan in plans} == {("connect-orders", "control")}
    assert [plan.spec.name for plan in plans] == ["lake__orders_shop_a", "lake__orders_shop_b"]
    chain = [stage.alias for stage in plans[0].spec.chain.stages]
    assert chain == ["hide", "noValue", "route"] and "(?:a|x)" in (plans[0].folder / "chain.properties").read_text()
    assert by_table(connector()) == [connector()]
    assert len(by_table(connector(**SEVERAL, **{"iceberg.tables.dynamic-enabled": "true"}))) == 1


def test_connectors_with_the_same_folder_name_have_their_own_components(tmp_path):
    first, second = (Connector(name, connector().config) for name in ("a-b", "a.b"))
    source = {"kafka": {"bootstrap_servers": "kafka:9092"}}
    for one, folder in ((first, "a_b"), (second, "a_b_2")):
        component = written_component(one, source)
        move_apart(component, tmp_path, one.name, [])
        assert (component.folder, component.attributes["asset_key"]) == (folder, f"lake/{folder}")
        component.save(tmp_path)
    for one, folder in ((first, "a_b"), (second, "a_b_2"), (replace(second, name="a/b"), "a_b_3")):
        component = written_component(one, source)
        move_apart(component, tmp_path, one.name, [])
        assert component.folder == folder
    # a table of the connector, after another table of the connector
    component = written_component(first, source)
    move_apart(component, tmp_path, first.name, [tmp_path / "a_b"])
    assert component.folder == "a_b_3"
    # a chain without the line that names its connector, such as one that was written by hand
    (tmp_path / "a_b" / "chain.properties").write_text("transforms=\n")
    component = written_component(second, source)
    move_apart(component, tmp_path, second.name, [])
    assert component.folder == "a_b"


def test_tabulars_sink_has_a_group_of_its_own(tmp_path):
    tabular = {"connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector"}
    definition = Definition(saved(tmp_path, connector(**tabular)))
    plan = take_over_plan(connector(**tabular), "http://connect:8083", definition)
    assert (plan.group, plan.worker_group) == ("cg-control-orders", "connect-orders")
    assert plan.groups == ("connect-orders", "cg-control-orders", "cg-control-orders-coord")
    own = connector(**tabular, **{"iceberg.control.group-id": "mine"})
    assert take_over_plan(own, "http://connect:8083", definition).group == "mine"


def test_a_component_of_other_topics(tmp_path):
    definition = Definition(saved(tmp_path, connector()))
    with pytest.raises(ConfigError, match=r"SMT792.*other topics"):
        take_over_plan(connector(topics="refunds"), "http://connect:8083", definition)


def test_the_catalog_of_the_connector_becomes_that_of_the_session():
    conf = catalog_conf(connector().config)
    assert conf["spark.sql.defaultCatalog"] == "iceberg" and conf["spark.sql.catalog.iceberg.type"] == "hadoop"
    assert conf["spark.sql.catalog.iceberg.warehouse"] == "file:///lake"
    other = catalog_conf({"iceberg.catalog": "prod", "iceberg.catalog.uri": "http://rest"})
    assert other["spark.sql.catalog.prod.uri"] == "http://rest" and catalog_conf({}) == {}
    jdbc = catalog_conf({"iceberg.catalog.type": "jdbc", "iceberg.catalog.uri": "jdbc:x"})
    assert jdbc["spark.sql.catalog.iceberg.cache-enabled"] == "false"
    assert jdbc["spark.sql.catalog.iceberg.jdbc.schema-version"] == "V1"


# --- the record, and what runs may do ---


def test_no_secret_is_in_a_record(tmp_path):
    with_secret = connector(**{"iceberg.catalog.credential": SECRET, "database.password": SECRET})
    other = connector(**{"iceberg.catalog.credential": "other", "database.password": "other"})
    assert config_hash(with_secret) == config_hash(other) != config_hash(connector(topics="x"))
    record = TakeOverRecord("a|b\n# x", offsets={"group": "g", "offsets": {"orders": {"0": 7}}}, result="taken over")
    write_record(record, tmp_path)
    assert read_record(tmp_path) == record and SECRET not in page_of(record)
    assert "\n# x" not in page_of(record) and "| `orders` | 0 | 7 |" in page_of(record)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["takeover.history.jsonl", "takeover.json", "takeover.md"]
    (tmp_path / "takeover.json").write_text("{")
    assert read_record(tmp_path) is None
    assert json.loads((tmp_path / "takeover.history.jsonl").read_text()) == asdict(record)


def test_no_certificate_without_a_topic_that_could_not_be_read(tmp_path, monkeypatch):
    """Its rows would be missing from ours, which no comparison of a part of a table notices."""
    window = Window((Range("orders", 0, 3, 7), Range("people", 0, 3, 7)))
    gone = {"people": [Problem("SMT510", "people-0", "offsets 3 to 7 are not all there")]}
    monkeypatch.setattr(shadow, "run", lambda spec, session: RunReport("orders", window, failures=gone))
    one = Shadow.__new__(Shadow)
    one.session, one.options, one.say = None, ShadowOptions(str(tmp_path)), lambda line: None
    one.plan = take_over_plan(connector(), "http://worker", Definition(saved(tmp_path, connector())))
    one.table = SimpleNamespace(sink=IcebergSink(tmp_path / "table", "columns"))
    monkeypatch.setattr(one, "_moment", lambda: (None, TableHead("1")))
    monkeypatch.setattr(one, "_window", lambda offsets: (window, False))
    with pytest.raises(TableError, match="SMT510"):
        one.compare()


def test_whatever_fails_a_take_over_starts_the_connector_again(tmp_path):
    """Spark and catalogs raise anything: the record then names the class only, and nobody has stopped the connector."""
    undone = []
    takeover = SimpleNamespace(
        plan=SimpleNamespace(name="orders"),
        options=SimpleNamespace(dry_run=False),
        tables=[SimpleNamespace(plan=SimpleNamespace(folder=tmp_path))],
        rest=SimpleNamespace(state=lambda: SimpleNamespace(text="RUNNING")),
    )
    takeover._end = partial(TakeOver._end, takeover)

    def steps():
        raise RuntimeError(SECRET)

    with pytest.raises(EngineError, match="SMT591"):
        TakeOver._with_records(takeover, [TakeOverRecord("orders")], "taken over", steps, lambda: undone.append(1))
    record = read_record(tmp_path)
    assert undone and record.result == "refused" and "RuntimeError" in record.problems[0]
    assert SECRET not in (tmp_path / "takeover.md").read_text()


def test_a_connector_gets_no_table_back_before_whose_rows_records_are_unread():
    """A run of a fixed window was the first on a new partition: the connector would go on after it."""
    table = SimpleNamespace(sink=DeltaSink("lake/orders"))
    state = TableState(1, "a", "columns", held=offsets_of([Range("orders", 1, 5, 10)]), begins={("orders", 1): 0})
    with pytest.raises(TableError, match=r"SMT788 lake/orders: no run has read offsets 0 to 5 of orders-1"):
        take_over._refuse_unfinished(table, state)
    take_over._refuse_unfinished(table, replace(state, held=offsets_of([Range("orders", 1, 0, 10)])))


def test_a_shadow_report_is_a_page():
    rows = {"columns": {"id": "bigint"}, "ours": 2, "of_connector": 1, "only_ours": 1, "only_connectors": 0}
    first = [{"place": "t-0 offset 1", "rows": 1, "columns": ["<b>"]}]
    report = ShadowReport(
        "<i>c", "X", "", "", "shop.t", "7", "", "", "ops", "", {"t": {"0": [0, 2]}}, True, 2, 0, 0,
        {**rows, "first": first}, [{"column": "<u>", "kind": "added", "text": "x"}],
    )  # fmt: skip
    page = shadow_page(report)
    assert "different rows" in page and "t-0 offset 1" in page and "2 records give 2 rows" in page
    assert not any(tag in page for tag in ("<i>", "<b>,", "<td><b>", "<u>"))
    assert ["rows of the chain only", "1"] in [list(fact) for fact in facts_of(report)]
    same = replace(report, same=True, columns=[], rows={**rows, "first": []})
    assert "same rows" in shadow_page(same) and "First differences" not in shadow_page(same)


def state(*, back: bool = False) -> TableState:
    offsets = offsets_of([Range("orders", 0, 0, 10)])
    return TableState(1, "a", "columns", held=offsets, taken_over=TakenOver("orders", offsets, 0, back))


def test_runs_leave_the_rows_of_a_connector_alone():
    check_not_given_back("t", state())
    check_rows_of_connector("t", state(), Window((Range("orders", 0, 10, 20), Range("orders", 1, 0, 5))))
    check_rows_of_connector("t", None, Window((Range("orders", 0, 0, 20),)))
    with pytest.raises(TableError, match="SMT786"):
        check_not_given_back("t", state(back=True))
    with pytest.raises(TableError, match=r"SMT787.*offsets 5 to 10 of orders-0"):
        check_rows_of_connector("t", state(), Window((Range("orders", 0, 5, 12),)))
    with pytest.raises(TableError, match=r"SMT787.*records of orders"):
        check_rows_of_connector("t", state(), Window(), ["orders", "other"])


@pytest.mark.parametrize(
    ("number", "runs", "note", "erased", "expected"),
    [
        (8, [7], 8, False, False),
        (9, [7, 9], 8, False, True),
        (10, [7, 9], 8, True, True),
        (12, [7], 8, True, False),
        (8, [], 8, False, False),
        # states of older versions, which lack the number of the note
        (8, [7], 0, False, False),
        (9, [7, 9], 0, False, True),
        (10, [7, 9], 0, True, True),
        (9, [], 0, True, False),
    ],
)
def test_runs_since_a_take_over_are_seen_after_an_erasure(number, runs, note, erased, expected):
    """An erasure raises the number of the state, and adds no run."""
    committed = tuple(CommittedRun("run", "request", run_number, "window") for run_number in runs)
    taken_over = replace(state().taken_over, number=note)
    persons = ErasedPersons("lake/erased", 1, "ab") if erased else None
    after = replace(state(), number=number, runs=committed, taken_over=taken_over, erased=persons)
    assert _has_runs_since(TableState.from_text(after.to_text())) is expected


def test_a_topic_that_is_made_anew_has_no_rows_of_the_connector():
    assert state().without(["orders"]).taken_over == TakenOver("orders", OffsetSet(), 0)


def commands() -> list[list[str]]:
    import re
    import shlex

    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("dagster-smt")]


def test_the_commands_of_the_page_are_commands():
    parser = argument_parser()
    assert len(commands()) >= 4
    for command in commands():
        assert parser.parse_args(command).run
