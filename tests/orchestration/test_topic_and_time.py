"""Partitions of a topic at a time: each is one topic's records of its days, run again alone, replaced exactly."""

from datetime import datetime, timezone

import dagster as dg
import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.orchestration import SmtTable, build_smt_asset, build_smt_schedule
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from tests.orchestration.test_assets import HIDE, events, failure, read, table, value

DAYS = dg.DailyPartitionsDefinition("2026-01-01", end_date="2026-01-05")
TOPICS = dg.DynamicPartitionsDefinition(name="people_topics")
BOTH = dg.MultiPartitionsDefinition({"day": DAYS, "topic": TOPICS})


def at(day):
    return NewRecord(None, b'{"name":"x"}', (), int(datetime(2026, 1, day, 12, tzinfo=timezone.utc).timestamp() * 1000))


def asset(root, partitions=BOTH, **more):
    names = ("people", "pets")
    sink = DeltaSink(root / "lake")
    results = {"chain": [HIDE], "table": table(root, *names), "sink": sink, "partitions_def": partitions}
    return build_smt_asset(SmtTable(key=["lake", "people"], **results, **more))


def key(day, topic):
    return dg.MultiPartitionKey({"day": f"2026-01-0{day}", "topic": topic})


@pytest.mark.long
def test_a_partition_is_one_topic_of_one_day(spark, tmp_path):
    for topic in ("people", "pets"):
        append_records(FileTopics(tmp_path / "topics"), topic, [at(1), at(2), at(2), at(3)])
    one = asset(tmp_path)
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions("people_topics", ["people", "pets"])

        def rows():
            return sorted((r.source_topic, r.offset) for r in read(spark, tmp_path).collect())

        def run(partition, **more):
            resources = {"spark": spark}
            return dg.materialize([one], instance=instance, resources=resources, partition_key=partition, **more)

        for _ in range(2):  # running it again replaces exactly its rows
            (event,) = events(run(key(2, "pets")))
            assert rows() == [("pets", 1), ("pets", 2)]
        assert value(event, "start_offsets") == {"pets": {"0": 1}}
        run(key(2, "people"))
        run(key(1, "pets"))
        assert rows() == [("people", 1), ("people", 2), ("pets", 0), ("pets", 1), ("pets", 2)]
        done = instance.get_materialized_partitions(one.key)
        assert done == {key(2, "pets"), key(2, "people"), key(1, "pets")}
        config = {"ops": {"lake__people": {"config": {"window": {"topics": ["people"]}}}}}
        wrong = run(key(1, "pets"), run_config=config, raise_on_error=False)
        assert "SMT032" in failure(wrong).description


def test_a_backfill_is_a_run_for_each(tmp_path):
    assert asset(tmp_path).backfill_policy == dg.BackfillPolicy.multi_run(1)


def test_a_schedule_launches_what_has_ended(tmp_path):
    static = dg.MultiPartitionsDefinition({"day": DAYS, "topic": dg.StaticPartitionsDefinition(["people", "pets"])})
    one = asset(tmp_path, static)
    schedule = build_smt_schedule(one, "0 1 * * *")
    defs = dg.Definitions([one], schedules=[schedule], resources={"spark": object()})
    moment = datetime(2026, 1, 3, 1, tzinfo=timezone.utc)
    with dg.instance_for_test() as instance:
        context = dg.build_schedule_context(
            instance=instance, scheduled_execution_time=moment, repository_def=defs.get_repository_def()
        )
        requests = defs.resolve_schedule_def(schedule.name).evaluate_tick(context).run_requests
    assert sorted(r.partition_key for r in requests) == sorted([key(2, "people"), key(2, "pets")])


def test_a_schedule_launches_the_day_of_each_topic_there_is(tmp_path):
    one = asset(tmp_path)
    schedule = build_smt_schedule(one, "30 3 * * *")
    defs = dg.Definitions([one], schedules=[schedule], resources={"spark": object()})
    moment = datetime(2026, 1, 3, 3, 30, tzinfo=timezone.utc)
    with dg.instance_for_test() as instance:
        context = dg.build_schedule_context(
            instance=instance, scheduled_execution_time=moment, repository_def=defs.get_repository_def()
        )
        resolved = defs.resolve_schedule_def(schedule.name)
        assert "no topics" in resolved.evaluate_tick(context).skip_message
        instance.add_dynamic_partitions("people_topics", ["people", "pets"])
        requests = resolved.evaluate_tick(context).run_requests
    assert sorted(r.partition_key for r in requests) == sorted([key(2, "people"), key(2, "pets")])


THREE = dg.MultiPartitionsDefinition({"a": TOPICS, "b": dg.StaticPartitionsDefinition(["x"])})


def test_other_dimensions_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="SMT045"):
        asset(tmp_path, THREE)
