"""Topics in Dagster: observable assets, the sensor of new topics, the sensor of unread records. No Spark is started."""

import time
from types import SimpleNamespace

import dagster as dg
import pytest
from dagster._core.definitions.observe import observe as observe_assets

from dagster_smt.errors import ConfigError
from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration import (
    SmtTable,
    build_lag_sensor,
    build_new_topic_sensor,
    build_smt_asset,
    build_smt_assets,
    build_topic_assets,
)
from dagster_smt.orchestration.automation import sensors
from dagster_smt.orchestration.automation.sensors import SENSOR_TAG
from dagster_smt.orchestration.components.shared_topics import observed_elsewhere
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TableSource, TopicTable
from dagster_smt.tables.windows import matching

TOPICS = dg.DynamicPartitionsDefinition(name="topics")
KEY = dg.AssetKey(["lake", "orders"])
NO_SPARK = {"spark": dg.ResourceDefinition.none_resource()}
START, END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


@pytest.fixture
def instance():
    with dg.instance_for_test() as result:
        yield result


def add(root, topic, count=1):
    append_records(FileTopics(root), topic, [NewRecord(None, b"{}")] * count)


def table(root, *topics, pattern=r"orders\..*"):
    return TopicTable(FileTopics(root), topics=topics, pattern="" if topics else pattern)


def asset(root, partitions=TOPICS, **more):
    chain = {"transforms": ""}
    source = table(root, **more)
    return build_smt_asset(
        SmtTable(key=KEY, chain=chain, table=source, sink=DeltaSink(root / "t"), partitions_def=partitions)
    )


def tick(sensor, instance, definition, cursor=None):
    defs = dg.Definitions([definition], sensors=[sensor], resources=NO_SPARK)
    context = dg.build_sensor_context(instance=instance, cursor=cursor, definitions=defs)
    result = sensor(context)
    for request in result.dynamic_partitions_requests or ():
        if isinstance(request, dg.AddDynamicPartitionsRequest):
            instance.add_dynamic_partitions(request.partitions_def_name, list(request.partition_keys))
        else:
            for key in request.partition_keys:
                instance.delete_dynamic_partition(request.partitions_def_name, key)
    return result


def spans(result):
    return [(r.tags[START], r.tags[END]) for r in result.run_requests]


def materialize(instance, *keys, ends=None):
    for key in keys:
        results = {"dagster_smt/end_offsets": ends if ends is not None else {key: {"0": 1}}}
        instance.report_runless_asset_event(dg.AssetMaterialization(KEY, partition=key, metadata=results))


# -- new topics ------------------------------------------------------------------------------------------------------


def test_new_topics_are_partitions_and_one_run_in_the_same_tick(tmp_path, instance):
    for topic in ("orders.b", "orders.a", "bills.a", "orders...c"):
        add(tmp_path, topic)
    orders = asset(tmp_path)
    sensor = build_new_topic_sensor(orders, table(tmp_path))
    first = tick(sensor, instance, orders)
    keys = ["orders%2E%2E%2Ec", "orders.a", "orders.b"]
    assert instance.get_dynamic_partitions("topics") == keys
    assert spans(first) == [(keys[0], keys[-1])]
    (request,) = first.run_requests
    assert (request.asset_selection, request.tags[SENSOR_TAG]) == ([KEY], "new_topics")
    assert request.run_key.startswith("3 topics:")
    materialize(instance, *keys)
    again = tick(sensor, instance, orders, first.cursor)
    assert (again.run_requests, again.skip_reason.skip_message) == ([], "3 topics match, 0 are new")


def test_a_run_key_holds_the_topics_id(tmp_path, instance):
    add(tmp_path, "orders.a")
    orders = asset(tmp_path)
    sensor = build_new_topic_sensor(orders, table(tmp_path))
    (request,) = tick(sensor, instance, orders).run_requests
    topic, _, id_ = request.run_key.partition(":")
    assert (topic, bool(id_)) == ("orders.a", True)
    instance.delete_dynamic_partition("topics", "orders.a")
    for file in (tmp_path / "orders.a").rglob("*"):
        file.unlink() if file.is_file() else None
    add(tmp_path, "orders.a", 2)
    (other,) = tick(sensor, instance, orders).run_requests
    assert other.run_key != request.run_key


def test_a_tick_that_died_between_partitions_and_runs_is_made_good(tmp_path, instance):
    for topic in ("orders.a", "orders.b", "orders.c", "orders.d"):
        add(tmp_path, topic)
    instance.add_dynamic_partitions("topics", ["orders.a", "orders.b", "orders.c"])
    materialize(instance, "orders.b")
    orders = asset(tmp_path)
    result = tick(build_new_topic_sensor(orders, table(tmp_path)), instance, orders)
    assert spans(result) == [("orders.a", "orders.a"), ("orders.c", "orders.d")]


def test_while_a_run_is_under_way_nothing_is_asked_for_again(tmp_path, instance):
    add(tmp_path, "orders.a")
    orders = asset(tmp_path)
    sensor = build_new_topic_sensor(orders, table(tmp_path))
    tick(sensor, instance, orders)
    job = dg.Definitions([orders], resources=NO_SPARK).resolve_implicit_global_asset_job_def()
    run = instance.create_run_for_job(job, tags={SENSOR_TAG: "new_topics"}, status=dg.DagsterRunStatus.STARTED)
    assert tick(sensor, instance, orders).run_requests == []
    instance.report_run_failed(run)
    assert len(tick(sensor, instance, orders).run_requests) == 1


def launched(instance, definition, requests, status=dg.DagsterRunStatus.STARTED):
    """The runs that Dagster's daemon starts: it skips a run key that any run of the sensor has."""
    job = dg.Definitions([definition], resources=NO_SPARK).resolve_implicit_global_asset_job_def()
    runs = []
    for request in requests:
        key = {"dagster/run_key": request.run_key}
        if not instance.get_runs(dg.RunsFilter(tags=key)):
            tags = {**request.tags, **key}
            runs.append(instance.create_run_for_job(job, tags=tags, status=status))
    return runs


@pytest.mark.parametrize("former", [False, True])
def test_a_failed_run_of_new_topics_is_asked_for_again_after_a_while(tmp_path, instance, monkeypatch, former):
    add(tmp_path, "orders.a")
    orders, now = asset(tmp_path), time.time()
    sensor = build_new_topic_sensor(orders, table(tmp_path))
    started = []
    for minutes in (0, 1, 16, 17, 32):
        monkeypatch.setattr(sensors.time, "time", lambda minutes=minutes: now + 60 * minutes)
        requests = tick(sensor, instance, orders).run_requests
        if former and not started:  # the runs of former versions have one tag less
            requests[0].tags.pop("dagster_smt/new_topics")
        runs = launched(instance, orders, requests)
        for run in runs:
            instance.report_run_failed(run)
        started.append(len(runs))
    assert started == [1, 0, 1, 0, 1]


def test_a_run_of_new_topics_that_found_no_record_is_not_asked_for_again(tmp_path, instance, monkeypatch):
    add(tmp_path, "orders.a")
    orders, later = asset(tmp_path), time.time() + 3600
    sensor = build_new_topic_sensor(orders, table(tmp_path))
    launched(instance, orders, tick(sensor, instance, orders).run_requests, dg.DagsterRunStatus.SUCCESS)
    monkeypatch.setattr(sensors.time, "time", lambda: later)
    assert launched(instance, orders, tick(sensor, instance, orders).run_requests) == []


def test_ticks_are_bounded_and_more_topics_than_allowed_are_refused_loudly(tmp_path, instance, caplog):
    for number in range(8):
        add(tmp_path, f"orders.{number}")
    orders = asset(tmp_path)
    sensor = build_new_topic_sensor(orders, table(tmp_path), max_new_per_tick=3, max_topics=5)
    counts = []
    for _ in range(4):
        counts.append(len(tick(sensor, instance, orders).dynamic_partitions_requests or ()))
        materialize(instance, *instance.get_dynamic_partitions("topics"))
    assert (counts, len(instance.get_dynamic_partitions("topics"))) == ([1, 1, 0, 0], 5)


def test_topics_can_be_left_out_and_partitions_added_alone(tmp_path, instance):
    for topic in ("orders.a", "orders.tmp"):
        add(tmp_path, topic)
    orders = asset(tmp_path)
    sensor = build_new_topic_sensor(orders, table(tmp_path), exclude=r".*\.tmp", request_runs=False)
    result = tick(sensor, instance, orders)
    assert (result.run_requests, instance.get_dynamic_partitions("topics")) == ([], ["orders.a"])


@pytest.mark.parametrize(("what", "left"), [("report", ["orders.a", "orders.b"]), ("delete", ["orders.b"])])
def test_topics_that_are_gone_are_reported_and_kept_unless_told(tmp_path, instance, what, left):
    add(tmp_path, "orders.b")
    instance.add_dynamic_partitions("topics", ["orders.a", "orders.b"])
    materialize(instance, "orders.a", "orders.b")
    orders = asset(tmp_path)
    result = tick(build_new_topic_sensor(orders, table(tmp_path), on_vanished=what), instance, orders)
    assert result.skip_reason.skip_message == "1 topics match, 0 are new, 1 are gone"
    assert instance.get_dynamic_partitions("topics") == left


def test_a_thousand_topics_take_a_tick_of_seconds(tmp_path, instance):
    for number in range(1000):
        add(tmp_path, f"orders.{number:04}")
    orders = asset(tmp_path)
    started = time.monotonic()
    result = tick(build_new_topic_sensor(orders, table(tmp_path), max_new_per_tick=1000), instance, orders)
    assert spans(result) == [("orders.0000", "orders.0999")]
    assert time.monotonic() - started < 30  # 1 s on a quiet machine; the sensor's own limit is 60


@pytest.mark.parametrize(
    ("partitions", "source", "statement"),
    [
        (None, {}, "no dynamic partitions"),
        (dg.DailyPartitionsDefinition("2026-01-01"), {}, "no dynamic partitions"),
        (TOPICS, {"topics": ("orders.a",)}, "no pattern to find topics by"),
    ],
)
def test_assets_and_tables_that_have_no_topics_to_find_are_refused(tmp_path, partitions, source, statement):
    with pytest.raises(ConfigError, match=f"SMT039.*{statement}"):
        build_new_topic_sensor(asset(tmp_path, partitions), table(tmp_path, *source.get("topics", ())))


def test_a_wrong_pattern_is_refused_when_defined(tmp_path):
    with pytest.raises(ConfigError, match="SMT509"):
        build_new_topic_sensor(asset(tmp_path), table(tmp_path), exclude="(")


# -- unread records --------------------------------------------------------------------------------------------------


def test_unread_records_of_a_table_start_a_run_once(tmp_path, instance):
    add(tmp_path, "orders.a", 3)
    orders = asset(tmp_path, None)
    sensor = build_lag_sensor(orders, table(tmp_path))
    (request,) = tick(sensor, instance, orders).run_requests
    assert request.run_key == tick(sensor, instance, orders).run_requests[0].run_key  # Dagster runs it once
    tell = {"dagster_smt/end_offsets": {"orders.a": {"0": 3}}}
    instance.report_runless_asset_event(dg.AssetMaterialization(KEY, metadata=tell))
    assert tick(sensor, instance, orders).skip_reason.skip_message == "0 unread records"
    add(tmp_path, "orders.a")
    (other,) = tick(sensor, instance, orders).run_requests
    assert other.run_key != request.run_key
    tell = {"dagster_smt/end_offsets": {"orders.a": {"0": 4}}}
    instance.report_runless_asset_event(dg.AssetObservation(KEY, metadata=tell))  # an observation tells as well
    assert tick(sensor, instance, orders).run_requests == []


def test_few_records_wait_until_the_last_run_is_long_ago(tmp_path, instance):
    add(tmp_path, "orders.a", 3)
    orders = asset(tmp_path, None)
    tell = {"dagster_smt/end_offsets": {"orders.a": {"0": 1}}}
    instance.report_runless_asset_event(dg.AssetMaterialization(KEY, metadata=tell))
    assert tick(build_lag_sensor(orders, table(tmp_path), min_records=3), instance, orders).run_requests == []
    assert tick(build_lag_sensor(orders, table(tmp_path), min_records=2), instance, orders).run_requests
    patient = build_lag_sensor(orders, table(tmp_path), min_records=3, max_age_seconds=3600)
    assert tick(patient, instance, orders).run_requests == []
    time.sleep(0.02)
    assert tick(build_lag_sensor(orders, table(tmp_path), min_records=3, max_age_seconds=0.01), instance, orders)
    late = build_lag_sensor(orders, table(tmp_path), min_records=3, max_age_seconds=0.01)
    assert len(tick(late, instance, orders).run_requests) == 1


def test_a_run_that_failed_is_asked_for_again_after_a_while(tmp_path, instance, monkeypatch):
    """Dagster runs a run key once, so with time another one comes."""
    add(tmp_path, "orders.a", 3)
    orders = asset(tmp_path, None)
    tell = {"dagster_smt/end_offsets": {"orders.a": {"0": 1}}}
    instance.report_runless_asset_event(dg.AssetMaterialization(KEY, metadata=tell))
    sensor, now = build_lag_sensor(orders, table(tmp_path), max_age_seconds=600), time.time()
    keys = []
    for seconds in (0, 300, 610, 900, 1210):
        monkeypatch.setattr(sensors.time, "time", lambda seconds=seconds: now + seconds)
        keys.append(tick(sensor, instance, orders).run_requests[0].run_key)
    assert keys[0] == keys[1] and keys[2] == keys[3] and len(set(keys)) == 3


def test_few_bytes_wait_for_more(tmp_path, instance):
    add(tmp_path, "orders.a", 10)
    orders = asset(tmp_path, None)
    size = sum(p.stat().st_size for p in (tmp_path / "orders.a").rglob("*.jsonl"))
    tell = {"dagster_smt/end_offsets": {"orders.a": {"0": 5}}}
    instance.report_runless_asset_event(dg.AssetMaterialization(KEY, metadata=tell))

    def asked(**least):
        return len(tick(build_lag_sensor(orders, table(tmp_path), **least), instance, orders).run_requests)

    assert asked(min_bytes=int(size * 0.6)) == 0 and asked(min_bytes=int(size * 0.4)) == 1
    assert asked(min_bytes=size, min_records=5) == 1 and asked(min_bytes=size, min_records=6) == 0


def test_of_partitions_those_that_are_behind_run(tmp_path, instance):
    for topic in ("orders.a", "orders.b", "orders.c", "orders.new"):
        add(tmp_path, topic, 1)
    instance.add_dynamic_partitions("topics", ["orders.a", "orders.b", "orders.c"])
    materialize(instance, "orders.a", "orders.b", "orders.c")
    add(tmp_path, "orders.a")
    add(tmp_path, "orders.c")
    orders = asset(tmp_path)
    result = tick(build_lag_sensor(orders, table(tmp_path)), instance, orders)
    assert spans(result) == [("orders.a", "orders.a"), ("orders.c", "orders.c")]
    assert len({r.run_key for r in result.run_requests}) == 2


def test_the_report_of_a_quiet_topic_counts_however_often_others_report(tmp_path, instance):
    for topic in ("orders.a", "orders.b"):
        add(tmp_path, topic)
    instance.add_dynamic_partitions("topics", ["orders.a", "orders.b"])
    materialize(instance, "orders.b")
    for _ in range(25):
        materialize(instance, "orders.a")
    orders = asset(tmp_path)
    assert tick(build_lag_sensor(orders, table(tmp_path)), instance, orders).skip_reason
    add(tmp_path, "orders.b")
    assert spans(tick(build_lag_sensor(orders, table(tmp_path)), instance, orders)) == [("orders.b", "orders.b")]


def test_an_observation_without_end_offsets_hides_no_report(tmp_path, instance):
    add(tmp_path, "orders.a", 3)
    orders = asset(tmp_path, None)
    for end in (2, 3):
        tell = {"dagster_smt/end_offsets": {"orders.a": {"0": end}}}
        instance.report_runless_asset_event(dg.AssetObservation(KEY, metadata=tell))
    for _ in range(25):  # such as those of a maintenance job
        instance.report_runless_asset_event(dg.AssetObservation(KEY, metadata={"dagster_smt/files": 1}))
    assert tick(build_lag_sensor(orders, table(tmp_path)), instance, orders).skip_reason


def test_a_topic_that_was_made_anew_is_behind_whatever_was_told(tmp_path, instance):
    add(tmp_path, "orders.a", 2)
    orders = asset(tmp_path, None)
    tell = {"dagster_smt/end_offsets": {"orders.a": {"0": 90}}}
    instance.report_runless_asset_event(dg.AssetMaterialization(KEY, metadata=tell))
    assert len(tick(build_lag_sensor(orders, table(tmp_path)), instance, orders).run_requests) == 1


def test_a_lag_that_cannot_be_told_is_refused(tmp_path):
    by_day = asset(tmp_path, dg.DailyPartitionsDefinition("2026-01-01"))
    with pytest.raises(ConfigError, match=r"SMT039.*are not topics"):
        build_lag_sensor(by_day, table(tmp_path))
    with pytest.raises(ConfigError, match=r"SMT039 lag min_bytes.*the size of topics"):
        build_lag_sensor(asset(tmp_path, None), TopicTable(KafkaTopics("localhost:9092"), ("a",)), min_bytes=5)
    with pytest.raises(ConfigError, match=r"SMT039.*without Spark"):
        build_lag_sensor(asset(tmp_path, None), TopicTable(TableSource("lake.bronze"), pattern=".*"))


# -- topics as assets ------------------------------------------------------------------------------------------------


def observe(instance, definition):
    result = observe_assets([definition], instance=instance)
    results = [e.asset_observation_data.asset_observation for e in result.all_events if e.is_asset_observation]
    return {o.asset_key.path[-1]: o for o in results}


def test_topics_are_observed_with_offsets_and_change_with_their_records(tmp_path, instance):
    add(tmp_path, "orders.a", 2)
    add(tmp_path, "orders.b")
    topics = build_topic_assets([table(tmp_path, "orders.a"), table(tmp_path, "orders.b"), table(tmp_path)])
    assert {s.key.to_user_string() for s in topics.specs} == {
        "topics/orders.a",
        "topics/orders.b",
        "topics/pattern/orders",
    }
    first, same = observe(instance, topics), observe(instance, topics)
    add(tmp_path, "orders.a", 3)
    last = observe(instance, topics)
    shown = {k: v.value for k, v in last["orders.a"].metadata.items()}
    assert shown.pop("dagster_smt/messages_per_second") > 0
    assert shown.pop("dagster_smt/bytes") > 0
    assert shown == {
        "dagster_smt/records": 5,
        "dagster_smt/messages": 5,
        "dagster_smt/partitions": 1,
        "dagster_smt/end_offsets": {"0": 5},
    }
    rows = [dict(r.data) for r in last["orders"].metadata["dagster_smt/topics"].records]
    assert [(r["topic"], r["end"]) for r in rows] == [("orders.a", 5), ("orders.b", 1)]
    versions = [{n: o.tags["dagster/data_version"] for n, o in seen.items()} for seen in (first, same, last)]
    assert versions[0] == versions[1]
    assert {n for n in versions[0] if versions[0][n] != versions[2][n]} == {"orders.a", "orders"}


@pytest.mark.parametrize("other", ["orders-.*", "orders.*", "(orders)"])
def test_two_patterns_with_one_asset_key_are_refused(tmp_path, other):
    orders, others = table(tmp_path), table(tmp_path, pattern=other)
    with pytest.raises(ConfigError, match=r"SMT037 topics/pattern/orders: the patterns .* have the same asset key"):
        build_topic_assets([orders, others])
    again = table(tmp_path, pattern=f"(?:{other}){{1}}")  # as the hint says
    assert len(list(build_topic_assets([orders, orders, again]).specs)) == 2
    assert matching(again.pattern, ["orders", "orders-a", "bills"]) == matching(other, ["orders", "orders-a", "bills"])


def test_of_two_components_one_observes_a_pattern_but_not_another_pattern_of_that_key(tmp_path):
    def component(name, pattern):
        keys = {"asset_key": dg.AssetKey(name), "get_topic_spec": lambda spec, data: spec}
        return SimpleNamespace(table=table(tmp_path, pattern=pattern), observe_topics=True, **keys)

    first, second, other = (component("a", "orders-.*"), component("b", "orders-.*"), component("c", r"orders\..*"))
    assert observed_elsewhere(second, None, [first]) == {dg.AssetKey(["topics", "pattern", "orders"])}
    with pytest.raises(ConfigError, match="SMT037 topics/pattern/orders"):
        observed_elsewhere(other, None, [first, second])


def test_a_table_depends_on_the_assets_of_its_topics(tmp_path):
    value = Format("json_schema", parse_ddl("id BIGINT, customer STRUCT<email: STRING>"))
    source = TopicTable(KafkaTopics("localhost:9092"), topics=("orders",), value=value)
    orders = build_smt_asset(SmtTable(key=KEY, chain={"transforms": ""}, table=source, sink=DeltaSink("t", "columns")))
    (topic,) = build_topic_assets(source).specs
    assert [d.asset_key for d in next(iter(orders.specs)).deps] == [topic.key]
    assert topic.kinds == {"topic", "kafka"}  # what tells it from a table of the same name
    columns = {c.name for c in topic.metadata["dagster/column_schema"].columns}
    lineage = next(iter(orders.specs)).metadata["dagster/column_lineage"].deps_by_column
    assert {d.column_name for deps in lineage.values() for d in deps} <= columns  # lineage leads somewhere


def test_a_missing_topic_is_a_coded_failure(tmp_path, instance):
    tmp_path.mkdir(exist_ok=True)
    topics = build_topic_assets(table(tmp_path, "orders.a"))
    result = observe_assets([topics], instance=instance, raise_on_error=False)
    (event,) = result.get_step_failure_events()
    assert "SMT501" in event.step_failure_data.user_failure_data.description


def test_topics_of_several_sources_and_of_tables_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"SMT038.*several sources"):
        build_topic_assets([table(tmp_path, "a"), table(tmp_path / "x", "a")])
    with pytest.raises(ConfigError, match=r"SMT038.*asset itself"):
        build_topic_assets(TopicTable(TableSource("lake.bronze"), pattern=".*"))


@pytest.mark.parametrize("build", [lambda: build_topic_assets([]), lambda: build_smt_assets(name="all", tables=[])])
def test_assets_of_no_table_are_refused(build):
    with pytest.raises(ConfigError, match=r"SMT040 .* tables: no table is given"):
        build()


def test_what_is_below_is_launched_eagerly_when_there_are_new_records(tmp_path, instance):
    add(tmp_path, "orders", 2)
    observed = build_topic_assets(table(tmp_path, "orders"))

    @dg.asset(deps=[dg.AssetKey(["topics", "orders"])], automation_condition=dg.AutomationCondition.eager())
    def below():
        """A table."""

    defs = dg.Definitions([observed, below])
    cursor, requested = None, []
    for number in range(4):
        if number in (1, 3):  # two looks find new records, one finds none
            add(tmp_path, "orders")
        observe_assets([observed], instance=instance)
        result = dg.evaluate_automation_conditions(defs=defs, instance=instance, cursor=cursor)
        cursor = result.cursor
        requested.append(result.get_num_requested(dg.AssetKey("below")))
        if requested[-1]:
            dg.materialize([below], instance=instance)
    assert requested == [0, 1, 0, 1]  # the first look only learns what there is


@pytest.mark.parametrize(
    ("options", "least"),
    [({}, "1 record"), ({"min_records": 5, "min_bytes": 1}, "5 records or 1 byte"), ({"min_bytes": 9}, "9 bytes")],
)
def test_a_lag_sensor_says_when_it_asks(tmp_path, options, least):
    description = build_lag_sensor(asset(tmp_path, None), table(tmp_path), **options).description
    assert description == f"Runs lake/orders when its topics hold at least {least} not read yet."
