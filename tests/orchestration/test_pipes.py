"""Runs whose Spark work is done by a process that a client of Dagster Pipes starts."""

import base64
import json
import shutil
import sys
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from importlib import metadata
from importlib.machinery import ModuleSpec
from itertools import count
from pathlib import Path
from weakref import WeakValueDictionary

import dagster as dg
import msgspec
import pytest
from dagster._core.pipes.client import PipesClientCompletedInvocation

from dagster_smt import PipesSpark, SparkSubmit, run_external
from dagster_smt.errors import ConfigError, EngineError, Problem, TableError
from dagster_smt.jvm.availability import CACHE_CLASS, CACHE_SETTING, CLASS, SETTING
from dagster_smt.jvm.build import JAR
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.reports.table_facts import TableFacts
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.orchestration import resources
from dagster_smt.orchestration.definitions import planned_table
from dagster_smt.orchestration.launch.config_schema import RunSettings
from dagster_smt.orchestration.pipes import messages
from dagster_smt.orchestration.pipes.external import _table
from dagster_smt.orchestration.resources import SESSION_CONF
from dagster_smt.orchestration.runs.spark_work import RunResult, RunWork
from dagster_smt.spark import versions
from dagster_smt.spark.packages import PACKAGES
from dagster_smt.spark.versions import minor_of
from dagster_smt.tables.window_request import WindowRequest

ROOT = Path(__file__).parents[2]
DEFINITIONS = """
import os
from pathlib import Path
from weakref import WeakValueDictionary

import dagster as dg

from dagster_smt import (
    DeltaSink, FileTopics, SmtTable, TopicTable, build_maintenance_job, build_smt_asset, build_smt_op,
)

HERE = Path(__file__).parent
CHAIN = [
    {"alias": "hide", "type": "MaskField$Value", "options": {"fields": ["email"], "replacement": "*"}},
    {"alias": "type", "type": "Cast$Value", "options": {"spec": "amount:float64"}},
]
orders = SmtTable(
    key=["lake", "orders"],
    chain=CHAIN,
    table=TopicTable(FileTopics(HERE / "topics"), topics=("orders", "refunds")),
    sink=DeltaSink(HERE / os.environ.get("LAKE", "lake")),
    errors_tolerance="all",
    dead_letter_topic="dead",
)
asset = build_smt_asset(orders)
upkeep = build_maintenance_job(asset)
replay = build_smt_op(
    SmtTable(chain=CHAIN, table=orders.table, sink=DeltaSink(HERE / "replayed"), errors_tolerance="all"),
    name="replay",
)
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a module of definitions and two topics, one of which has a record that fails."""
    (tmp_path / "shop_defs.py").write_text(DEFINITIONS)
    write(tmp_path, "orders", ['{"email":"a@b.c","amount":"1.5"}', '{"email":"d@e.f","amount":"no number"}'])
    write(tmp_path, "refunds", ['{"email":"g@h.i","amount":"2"}'])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(planned_table, "_PLANNED", WeakValueDictionary())  # a process elsewhere loads one code location
    yield tmp_path
    sys.modules.pop("shop_defs", None)


def write(folder, topic, values):
    place = folder / "topics" / topic / "0"
    place.mkdir(parents=True)
    row = {"topic": topic, "partition": 0, "timestamp": 0, "key": None}
    lines = [json.dumps({**row, "offset": offset, "value": value}) for offset, value in enumerate(values)]
    (place / f"{0:020d}.jsonl").write_text("\n".join(lines) + "\n")


def script(folder, text="from dagster_smt import run_external\nrun_external()\n"):
    path = folder / "external.py"
    path.write_text(text)
    return path


def pipes(folder, path, **env):
    client = dg.PipesSubprocessClient(env={"PYTHONPATH": str(folder), **env})
    return PipesSpark(client, "shop_defs", {"command": [sys.executable, str(path)]})


def launch(asset, spark, instance, **config):
    return dg.materialize(
        [asset], resources={"spark": spark}, instance=instance, raise_on_error=False, run_config=config or None
    )


def events_of(result):
    """Returns the events of a run, without what differs in two runs: times, and Spark's id."""
    events = []
    for event in result.all_events:
        data = event.event_specific_data
        if event.event_type_value == "ASSET_MATERIALIZATION":
            events.append((str(event.asset_key), comparable(data.materialization.metadata), tags(data.materialization)))
        elif event.event_type_value == "ASSET_CHECK_EVALUATION":
            events.append((data.check_name, data.passed, str(data.severity), data.description))
    return events


def tags(materialization):
    return {k: v for k, v in (materialization.tags or {}).items() if not k.startswith("dagster/input")}


TIMESTAMPS = "spark.sql.parquet.outputTimestampType"
VOLATILE = ("spark_app_id", "seconds", "seconds_by_phase", "report")


def comparable(metadata):
    return {k: str(v) for k, v in metadata.items() if not k.endswith(VOLATILE)}


@pytest.fixture
def usual_files(spark):
    """Lets the session of the tests write timestamps as the session of a resource does: files get the same size."""
    before = spark.conf.get(TIMESTAMPS)
    spark.conf.set(TIMESTAMPS, SESSION_CONF[TIMESTAMPS])
    yield
    spark.conf.set(TIMESTAMPS, before)


@pytest.mark.spark
def test_a_run_elsewhere_reports_what_a_run_with_a_session_reports(project, spark, usual_files):
    import shop_defs

    with dg.instance_for_test() as instance:
        elsewhere = launch(shop_defs.asset, pipes(project, script(project)), instance)
        assert elsewhere.success, elsewhere.all_events[-1]
        lines = [r.user_message for r in instance.all_logs(elsewhere.run_id) if not r.is_dagster_event]
    shutil.rmtree(project / "lake")
    with dg.instance_for_test() as instance:
        here = launch(shop_defs.asset, dg.ResourceDefinition.hardcoded_resource(spark), instance)
    assert here.success
    for one, other in zip(events_of(elsewhere), events_of(here), strict=True):
        if isinstance(one[1], dict):
            assert {k: (v, other[1].get(k)) for k, v in one[1].items() if v != other[1].get(k)} == {}
        assert one == other
    assert len(events_of(here)) >= 5
    assert "lake/orders: committed, 3 records in, 2 out, 0 dropped, 1 dead letters" in lines
    assert any(line.startswith("writing") or "commit" in line for line in lines), lines


@pytest.mark.long  # another process with a session of its own
@pytest.mark.spark
def test_ops_redrives_and_maintenance_run_elsewhere(project):
    import shop_defs

    resources = {"spark": pipes(project, script(project))}
    redrive = dg.define_asset_job("again", [shop_defs.asset])

    @dg.job(resource_defs={"spark": dg.ResourceDefinition.hardcoded_resource(resources["spark"])})
    def replays():
        shop_defs.replay()

    defs = dg.Definitions([shop_defs.asset], jobs=[redrive, shop_defs.upkeep], resources=resources)
    with dg.instance_for_test() as instance:
        assert replays.execute_in_process(instance=instance).output_for_node("replay")["records_out"] == 2
        assert launch(shop_defs.asset, resources["spark"], instance).success
        config = {"ops": {"lake__orders": {"config": {"window": {"redrive": True}}}}}
        again = defs.resolve_job_def("again").execute_in_process(instance=instance, run_config=config)
        (event,) = [e for e in again.get_asset_check_evaluations() if e.check_name == "no_dead_letters"]
        assert event.description == "1 of 1 records failed"
        nothing_new = launch(shop_defs.asset, resources["spark"], instance)
        assert nothing_new.success, failure(nothing_new)
        assert not nothing_new.asset_materializations_for_node("lake__orders")
        upkeep = defs.resolve_job_def("lake__orders_maintenance").execute_in_process(instance=instance)
        (observation,) = upkeep.asset_observations_for_node("lake__orders_maintenance_tables")
        assert observation.metadata["dagster/row_count"].value == 2
        steps = observation.metadata["dagster_smt/maintenance"].value.records
        assert [step.data["status"] for step in steps] == ["done", "done"]


def test_a_program_that_is_not_there_is_a_problem_that_names_it(project):
    import shop_defs

    spark = PipesSpark(dg.PipesSubprocessClient(), "shop_defs", {"command": ["no-spark-submit"]})
    with dg.instance_for_test() as instance:
        result = launch(shop_defs.asset, spark, instance)
    text = failure(result)
    assert "SMT652 lake/orders: the external process has failed" in text and "no-spark-submit" in text


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        (
            "raise SystemExit(3)",
            "SMT652 lake/orders: the external process has failed: External execution process failed",
        ),
        ("", "SMT652 lake/orders: the external process ended without an answer"),
        (
            "import dagster_pipes\n"
            "with dagster_pipes.open_dagster_pipes() as context:\n"
            "    context.report_custom_message({'dagster_smt_answer': {'result': 'nothing of ours'}})\n",
            "SMT657 lake/orders: the answer of the external process cannot be read",
        ),
        (
            "import dagster_smt.orchestration.pipes.messages as m\n"
            "m.__version__ = '0.0.1'\n"
            "from dagster_smt import run_external\n"
            "run_external()\n",
            "SMT653 dagster_smt: this process has dagster_smt 0.0.1, and the run has ",
        ),
    ],
)
def test_a_process_that_does_not_do_the_work_fails_the_run(project, text, statement):
    import shop_defs

    with dg.instance_for_test() as instance:
        result = launch(shop_defs.asset, pipes(project, script(project, text)), instance)
    assert not result.success
    assert statement in failure(result)


def test_definitions_without_the_table_and_without_a_module_are_named(project):
    with pytest.raises(ConfigError, match="SMT654 no_such_module: cannot be loaded: No module named 'no_such_module'"):
        _table("no_such_module", "lake/orders")
    with pytest.raises(ConfigError, match="SMT654 shop_defs:nothing: cannot be loaded: "):
        _table("shop_defs:nothing", "lake/orders")
    with pytest.raises(ConfigError, match="SMT654 shop_defs: has no table lake/others"):
        _table("shop_defs", "lake/others")
    assert _table("shop_defs", "lake/orders").name == "lake/orders"
    assert _table("shop_defs", "replay").sink.place.endswith("replayed")


def test_without_a_client_the_entry_point_says_so(monkeypatch):
    monkeypatch.delenv("DAGSTER_PIPES_CONTEXT", raising=False)
    with pytest.raises(ConfigError, match="SMT651"):
        run_external()


def failure(result):
    (event,) = [e for e in result.all_events if e.event_type_value == "STEP_FAILURE"]
    return str(event.event_specific_data.error)


REPORT = RunReport(
    "orders",
    Window((Range("orders", 0, 3, 9),)),
    records_in=6,
    after=Schema(Type.STRUCT, fields=(("n", Schema(Type.INT64, default=4)),)),
    failures={"refunds": [Problem("SMT530", "refunds", "one record fails")]},
)


def test_results_travel_without_loss():
    facts = TableFacts(rows=6, ends={"orders": {"0": 9}}, residue={("email", "note"): 2}, last=REPORT)
    result = RunResult([REPORT], facts, {"refunds": TableFacts(tables={"refunds": 1})}, "app-1")
    data = json.loads(json.dumps(messages.run_answer(result)))
    bare = replace(REPORT, after=REPORT.after.without_defaults())
    expected = replace(result, reports=[bare], facts=replace(facts, last=bare))
    result = messages.read_answer(data, "orders", RunResult)
    assert msgspec.msgpack.encode(result) == msgspec.msgpack.encode(expected)
    assert result.facts.residue == {("email", "note"): 2}
    assert result.reports == expected.reports


def test_errors_travel_with_their_class_and_problems():
    error = TableError([Problem("SMT502", "orders", "a statement", "a hint")])
    data = json.loads(json.dumps(messages.error_answer(error)))
    with pytest.raises(TableError) as caught:
        messages.read_answer(data, "orders", RunResult)
    assert caught.value.problems == error.problems


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"result": 4},
        {"result": "?"},
        {"result": base64.b64encode(b"cos\nsystem").decode()},
        {"result": base64.b64encode(b"\x91" * 5_000).decode()},
        {"result": "\ud800"},
        {"result": base64.b64encode(msgspec.msgpack.encode({"reports": 3})).decode()},
        {"error": "TableError", "problems": "all"},
        {"error": "TableError", "problems": [{"code": 3}]},
    ],
)
def test_an_answer_of_somebody_else_is_refused(data):
    with pytest.raises(EngineError, match="SMT657"):
        messages.read_answer(data, "orders", RunResult)


@pytest.mark.parametrize("name", ["SystemExit", "Problem", "warnings", "needs_extras", "NoSuchError"])
def test_an_answer_cannot_choose_any_class_as_its_error(name):
    with pytest.raises(EngineError, match="SMT1 a statement"):
        problem = {"code": "SMT1", "place": "", "statement": "a statement"}
        messages.read_answer({"error": name, "problems": [problem]}, "t", RunResult)


def test_spark_submit_gets_packages_settings_and_the_script():
    arguments = SparkSubmit({"master": "yarn"}, {"spark.executor.memory": "4g"}, env={"A": "b"})()
    command = arguments["command"]
    assert command[:3] == ["spark-submit", "--master", "yarn"]
    assert "spark.executor.memory=4g" in command and "spark.sql.session.timeZone=UTC" in command
    assert Path(command[-1]).read_text().count("run_external()") == 1
    assert arguments["env"] == {"A": "b"}


@pytest.mark.parametrize(
    ("jvm_lane", "jar"),
    [(True, f"spark.jars={JAR}"), ("s3://code/dagster_smt.jar", "spark.jars=s3://code/dagster_smt.jar"), (False, None)],
)
def test_spark_submit_names_the_jar_where_spark_runs(jvm_lane, jar):
    command = SparkSubmit(jvm_lane=jvm_lane)()["command"]
    jars = [text for text in command if text.startswith("spark.jars=")]
    assert jars == ([jar] if jar else [])
    assert bool(jar) == (f"{SETTING}={CLASS}" in command) == (f"{CACHE_SETTING}={CACHE_CLASS}" in command)


def test_spark_submit_gives_its_settings_to_clients_that_start_spark_themselves(monkeypatch):
    monkeypatch.setattr(resources, "_needed", {"delta", "kafka"})
    submit = SparkSubmit(options={"master": "yarn"}, conf={"spark.executor.memory": "4g"}, spark_version="3.5")
    settings = submit.settings()
    command = submit()["command"]
    assert [f"{name}={value}" for name, value in settings.items()] == command[command.index("--conf") + 1 : -1 : 2]
    assert settings["spark.executor.memory"] == "4g" and "delta-spark" in settings["spark.jars.packages"]
    assert "spark.master" not in settings


@pytest.mark.parametrize(
    ("installed", "beside", "usual"),
    [
        ("3.5.7", None, "3.5.7"),
        ("4.0.5", None, "4.0.5"),
        ("4.1.1", None, "4.1.1"),
        (None, None, "4.0"),
        (None, '# the version\n__version__: str = "3.5.0"\n', "3.5.0"),  # as in databricks-connect 15.4
        (None, "__version__ = '4.1.0.dev1'", "4.1.0.dev1"),
        (None, "", "4.0"),
    ],
)
def test_the_packages_are_those_of_the_installed_spark(installed, beside, usual, monkeypatch, tmp_path):
    def version(name):
        if installed is None:
            raise metadata.PackageNotFoundError(name)
        return installed

    def spec(name):
        if beside is None:
            return None
        (tmp_path / "version.py").write_text(beside)
        return ModuleSpec(name, None, origin=str(tmp_path / "__init__.py"))

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(versions, "find_spec", spec)
    monkeypatch.setattr(resources, "_needed", {"delta"})
    assert SparkSubmit().spark_version == usual and SparkSubmit(spark_version="3.5").spark_version == "3.5"
    assert PACKAGES[minor_of(usual)]["delta"] in " ".join(SparkSubmit()()["command"])


def test_spark_submit_refuses_secrets_which_the_process_list_shows():
    submit = SparkSubmit(conf={"spark.hadoop.fs.s3a.secret.key": "hunter2"})
    for method in (submit, submit.settings):
        with pytest.raises(ConfigError, match="SMT048"):
            method()


def test_a_client_of_anything_gets_the_request_and_its_arguments(project):
    """A client that starts nothing: it answers by itself."""
    import shop_defs

    calls = []

    class Client(dg.PipesClient):
        def run(self, *, context, extras=None, **arguments):
            calls.append((extras, deepcopy(arguments)))
            arguments["task"]["env"] = "of the first run"  # as the clients of EMR and Dataproc do
            with dg.open_pipes_session(
                context, dg.PipesEnvContextInjector(), dg.PipesTempFileMessageReader(), extras=extras
            ) as session:
                error = messages.error_answer(TableError(Problem("SMT502", "orders", "no such topic")))
                session.message_handler.handle_message(
                    {"method": "report_custom_message", "params": {"payload": {messages.ANSWER: error}}}
                )
            return PipesClientCompletedInvocation(session)

    with dg.instance_for_test() as instance:
        spark = PipesSpark(Client(), "shop_defs", {"task": {"name": "orders"}})
        launch(shop_defs.asset, spark, instance)
        result = launch(shop_defs.asset, spark, instance)
    assert "SMT502 orders: no such topic" in failure(result)
    (_, (extras, arguments)) = calls
    assert arguments == {"task": {"name": "orders"}}
    request = extras[messages.REQUEST]
    assert (request["table"], request["definitions"]) == ("lake/orders", "shop_defs")
    assert messages.read_request(json.loads(json.dumps(request))) == messages.read_request(request)


class FolderReader(dg.PipesBlobStoreMessageReader):
    """Reads messages as the readers of object stores do: by a number that begins with 1 in each process elsewhere."""

    def __init__(self, folder):
        super().__init__(interval=0)
        self.folder = folder

    @contextmanager
    def get_params(self):
        yield {"path": str(self.folder)}

    def messages_are_readable(self, params):
        return True

    def download_messages_chunk(self, index, params):
        path = self.folder / f"{index}.json"
        return path.read_text() if path.exists() else None

    def no_messages_debug_text(self):
        return "no messages"


class FolderClient(dg.PipesClient):
    """A client that starts nothing: it answers with an error that no other run has."""

    def __init__(self, reader):
        self.reader, self.readers_of_logs, self.fails_at_last = reader, [], False

    def run(self, *, context, extras=None, number):
        self.reader.add_log_reader(object())  # as the client of EMR does
        self.readers_of_logs.append(len(self.reader.log_readers))
        self.reader.log_readers.clear()
        with dg.open_pipes_session(context, dg.PipesEnvContextInjector(), self.reader, extras=extras) as session:
            error = messages.error_answer(TableError(Problem("SMT502", "orders", f"run {next(number)}")))
            lines = []
            for method, params in (
                ("opened", {"extras": {}}),
                ("report_custom_message", {"payload": {messages.ANSWER: error}}),
                ("closed", {}),
            ):
                lines.append(json.dumps({"__dagster_pipes_version": "0.1", "method": method, "params": params}))
            (self.reader.folder / "1.json").write_text("\n".join(lines))
        if self.fails_at_last:
            raise KeyError("Contents")  # as the client of EMR does, if there are no logs
        return PipesClientCompletedInvocation(session)


def test_a_reader_that_counts_messages_begins_anew_with_each_run(project):
    """Otherwise a second step of a process waits for the messages after those of the first one."""
    import shop_defs

    client, number = FolderClient(FolderReader(project)), count(1)
    with dg.instance_for_test() as instance:
        spark = PipesSpark(client, "shop_defs", lambda: {"number": number})
        for run in (1, 2, 3):
            assert f"SMT502 orders: run {run}" in failure(launch(shop_defs.asset, spark, instance))
    assert client.readers_of_logs == [1, 1, 1], "readers of logs are those of one run, too"
    assert client.reader.counter == 1


def test_an_answer_counts_although_the_client_fails_after_it(project, capfd):
    """What a process has committed is not reported as failed because its logs could not be read."""
    import shop_defs

    client = FolderClient(FolderReader(project))
    client.fails_at_last = True
    with dg.instance_for_test() as instance:
        spark = PipesSpark(client, "shop_defs", {"number": count(1)})
        assert "SMT502 orders: run 1" in failure(launch(shop_defs.asset, spark, instance))
    assert "lake/orders got its answer, although the external process has failed: KeyError" in capfd.readouterr().err


def with_policy(folder, rule):
    """Returns the table of the definitions with a policy of files."""
    import shop_defs

    (folder / "tags.yaml").write_text('topics: {".*": {value: {email: [PII.email], amount: []}, key: []}}')
    (folder / "policy.yaml").write_text(f'rules: {{"PII.*": {rule}}}\ntags: [tags.yaml]\ndead_letters: keep\n')
    return planned_table.planned_op(replace(shop_defs.orders, policy=folder / "policy.yaml"), "policed")


def test_the_policy_of_a_table_applies_elsewhere_and_must_be_the_same(project):
    table = with_policy(project, "mask")
    settings = RunSettings(table.own_chain, WindowRequest(), rebuild=False, errors_tolerance="all")
    work = RunWork(table, table.under_policy(settings), "key", "tag")
    assert work.settings.chain.hash != table.own_chain.hash
    data = json.loads(json.dumps(messages.request_of(work, "shop_defs")))
    request = messages.read_request(data)
    assert messages.run_work(request.run, table, request.tag) == work
    with pytest.raises(ConfigError, match="SMT655 policed: the chain has another meaning in this process"):
        messages.run_work(request.run, with_policy(project, "drop"), request.tag)
