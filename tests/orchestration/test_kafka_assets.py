"""Assets over a real broker: partitions of time, progress in groups, what Dagster's records hold."""

import uuid
from datetime import datetime, timezone

import dagster as dg
import pytest

from dagster_smt.orchestration import SmtTable, SparkSessionResource, build_smt_asset, build_smt_op
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.sink_options import DeltaSink, KafkaSink
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.testing.broker import free_port
from tests.kafka import Topics

HIDE = {"alias": "hide", "type": "MaskField$Value", "options": {"fields": ["name"]}}
ROUTE = {"alias": "route", "type": "RegexRouter", "options": {"regex": "(.*)", "replacement": "clean.$1"}}
DAYS = dg.DailyPartitionsDefinition(start_date="2026-01-01", end_date="2026-01-05")
SERVERS = "SMT_TEST_KAFKA_SERVERS"
NO_LOG_FILES = {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
"""Steps write to stderr directly. Otherwise a ``tail`` does, which Dagster ends before it has written every line."""


def at(day, hour=12):
    moment = datetime(2026, 1, day, hour, tzinfo=timezone.utc)
    return NewRecord(b"", b'{"name":"x"}', (), int(moment.timestamp() * 1000))


@pytest.fixture
def topic(broker, monkeypatch):
    monkeypatch.setenv(SERVERS, broker.servers)
    return f"people-{uuid.uuid4().hex[:8]}"


def cluster():
    return KafkaTopics(dg.EnvVar(SERVERS), create=NewTopics())


def of_days(topic, path):
    table = TopicTable(cluster(), (topic,))
    return build_smt_asset(
        SmtTable(key=["lake", "people"], chain=[HIDE], table=table, sink=DeltaSink(path), partitions_def=DAYS)
    )


def materialize(asset, instance, spark, **more):
    return dg.materialize([asset], instance=instance, resources={"spark": spark}, **more)


def test_a_broker_that_is_not_there_is_a_few_lines(tmp_path, monkeypatch, capfd):
    """The error with its hint, as Dagster says it of the step and of the run; no session, and no stack of ours."""
    monkeypatch.setattr(SparkSessionResource, "_start", lambda resource: pytest.fail("a session is made"))
    table = TopicTable(KafkaTopics(f"127.0.0.1:{free_port()}", timeout=1), ("people",))
    people = build_smt_asset(SmtTable(key=["lake", "people"], chain=[HIDE], table=table, sink=DeltaSink(tmp_path)))
    op = build_smt_op(SmtTable(chain=[HIDE], table=table, sink=DeltaSink(tmp_path)), name="people_op")
    job = dg.GraphDefinition("people_job", node_defs=[op]).to_job(resource_defs={"spark": SparkSessionResource()})
    with dg.instance_for_test(overrides={"compute_logs": NO_LOG_FILES}) as instance:
        for run in (
            lambda: materialize(people, instance, SparkSessionResource(), raise_on_error=False),
            lambda: job.execute_in_process(instance=instance, raise_on_error=False),
        ):
            assert not run().success
            lines = [line for line in capfd.readouterr().err.splitlines() if line and " - DEBUG - " not in line]
            assert sum("SMT625" in line for line in lines) == sum("  hint: " in line for line in lines) == 2, lines
            assert len(lines) <= 14 and not any("dagster_smt/" in line for line in lines), lines


@pytest.mark.long
def test_partitions_of_time(spark, tmp_path, topic):
    """A partition is a range of offsets: a late record belongs to the day in whose offsets it lies."""
    Topics(cluster()).add((topic, 0, r) for r in [at(1), at(1, 13), at(2), at(1, 20), at(3), at(3, 13)])
    people = of_days(topic, tmp_path)

    def offsets():
        return sorted(r.offset for r in spark.read.format("delta").load(str(tmp_path)).collect())

    with dg.instance_for_test() as instance:
        for _ in range(2):  # running it again replaces exactly its rows
            assert materialize(people, instance, spark, partition_key="2026-01-02").success
            assert offsets() == [2, 3]
        several = {
            "dagster/asset_partition_range_start": "2026-01-01",
            "dagster/asset_partition_range_end": "2026-01-04",
        }
        result = materialize(people, instance, spark, tags=several)
        assert result.success and offsets() == [0, 1, 2, 3, 4, 5]
        assert instance.get_materialized_partitions(people.key) == {f"2026-01-0{n}" for n in range(1, 5)}
        config = {"ops": {"lake__people": {"config": {"window": {"since": "2026-01-01"}}}}}
        wrong = materialize(
            people, instance, spark, partition_key="2026-01-02", run_config=config, raise_on_error=False
        )
        (event,) = wrong.get_step_failure_events()
        assert "SMT035" in event.step_failure_data.user_failure_data.description


def test_the_group_of_a_topic_sink_is_named_after_the_asset(spark, topic):
    world = Topics(cluster())
    world.add([(topic, 0, at(1))])
    people = build_smt_asset(
        SmtTable(
            key=["lake", "people", topic],
            chain=[ROUTE, HIDE],
            table=TopicTable(cluster(), (topic,)),
            sink=KafkaSink(cluster()),
        )
    )
    with dg.instance_for_test() as instance:
        result = materialize(people, instance, spark)
        (event,) = result.get_asset_materialization_events()
        assert cluster().servers not in str(event)
    assert len(world.read(f"clean.{topic}")) == 1
    assert world.client.committed(f"lake.people.{topic}")[topic, 0].offset == 1
