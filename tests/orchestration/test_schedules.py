"""Schedules of assets with and without partitions."""

from datetime import datetime, timezone

import dagster as dg
import pytest

from dagster_smt.orchestration import build_smt_schedule
from tests.orchestration.test_topics import END, KEY, NO_SPARK, START, TOPICS, asset


def tick(schedule, instance, definition):
    defs = dg.Definitions([definition], schedules=[schedule], resources=NO_SPARK)
    moment = datetime(2026, 1, 2, 3, 4, tzinfo=timezone.utc)
    context = dg.build_schedule_context(
        instance=instance, scheduled_execution_time=moment, repository_def=defs.get_repository_def()
    )
    resolved = defs.resolve_schedule_def(schedule.name)
    return resolved.evaluate_tick(context)


@pytest.fixture
def instance():
    with dg.instance_for_test() as found:
        yield found


def test_without_partitions_each_tick_is_a_run(tmp_path, instance):
    orders = asset(tmp_path, None)
    schedule = build_smt_schedule(orders, "*/5 * * * *")
    assert (schedule.name, schedule.cron_schedule) == ("lake__orders_schedule", "*/5 * * * *")
    (request,) = tick(schedule, instance, orders).run_requests
    assert START not in request.tags


def test_with_a_partition_per_topic_it_is_one_run_over_all(tmp_path, instance):
    orders = asset(tmp_path, TOPICS)
    schedule = build_smt_schedule(orders, "0 * * * *", name="hourly")
    assert "no partitions of topics yet" in tick(schedule, instance, orders).skip_message
    instance.add_dynamic_partitions("topics", ["b", "a"])
    (request,) = tick(schedule, instance, orders).run_requests
    assert (request.tags[START], request.tags[END], list(request.asset_selection)) == ("b", "a", [KEY])


def test_with_partitions_of_time_it_is_the_one_that_has_ended(tmp_path, instance):
    orders = asset(tmp_path, dg.DailyPartitionsDefinition("2026-01-01"))
    (request,) = tick(build_smt_schedule(orders, "0 0 * * *"), instance, orders).run_requests
    assert request.partition_key == "2026-01-01"
