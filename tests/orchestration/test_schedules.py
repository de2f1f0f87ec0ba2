"""Schedules of assets with and without partitions."""

from datetime import datetime, timezone

import dagster as dg
import pytest

from dagster_smt.orchestration import build_smt_schedule
from tests.orchestration.test_topics import END, KEY, NO_SPARK, START, TOPICS, asset

MOMENT = datetime(2026, 1, 2, 3, 4, tzinfo=timezone.utc)


def tick(schedule, instance, definition, moment=MOMENT):
    defs = dg.Definitions([definition], schedules=[schedule], resources=NO_SPARK)
    context = dg.build_schedule_context(
        instance=instance, scheduled_execution_time=moment, repository_def=defs.get_repository_def()
    )
    resolved = defs.resolve_schedule_def(schedule.name)
    return resolved.evaluate_tick(context)


@pytest.fixture
def instance():
    with dg.instance_for_test() as result:
        yield result


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


DAYS = dg.DailyPartitionsDefinition("2026-01-01")
BERLIN = dg.DailyPartitionsDefinition("2026-01-01", timezone="Europe/Berlin")
HOURS = dg.HourlyPartitionsDefinition("2026-01-01-00:00")
WEEKS = dg.WeeklyPartitionsDefinition("2025-12-01")
A_DAY = " ".join([f"2026-01-02-{n:02}:00" for n in range(3, 24)] + [f"2026-01-03-{n:02}:00" for n in range(3)])
OF_TIME = [  # partitions, cron, zone of the schedule, when it ticks, zone of the definition, what it asks for
    (DAYS, "0 0 * * *", None, "2026-01-02T00:00+00:00", "UTC", "2026-01-01"),
    (DAYS, "30 3 * * *", None, "2026-01-02T03:30+00:00", "UTC", "2026-01-01"),
    (DAYS, "30 3 * * *", "Europe/Berlin", "2026-01-02T03:30+01:00", "Europe/Berlin", "2026-01-01"),
    (DAYS, "30 0 * * *", "Europe/Berlin", "2026-01-03T00:30+01:00", "Europe/Berlin", "2026-01-01"),
    (BERLIN, "30 0 * * *", None, "2026-01-03T00:30+01:00", "Europe/Berlin", "2026-01-02"),
    (DAYS, "0 6 * * 1", None, "2026-01-05T06:00+00:00", "UTC", "2026-01-01 2026-01-02 2026-01-03 2026-01-04"),
    (DAYS, "0 6 * * 1", None, "2026-01-12T06:00+00:00", "UTC", " ".join(f"2026-01-{n:02}" for n in range(5, 12))),
    (DAYS, "0 * * * *", None, "2026-01-02T17:00+00:00", "UTC", "2026-01-01"),
    (HOURS, "30 3 * * *", None, "2026-01-03T03:30+00:00", "UTC", A_DAY),
    (HOURS, "10 * * * *", None, "2026-01-02T05:10+00:00", "UTC", "2026-01-02-04:00"),
    (HOURS, "*/15 * * * *", None, "2026-01-02T05:45+00:00", "UTC", "2026-01-02-04:00"),
    (WEEKS, "0 4 * * 3", None, "2026-01-07T04:00+00:00", "UTC", "2025-12-28"),
]


@pytest.mark.parametrize(("partitions", "cron", "zone", "moment", "of_schedule", "asked"), OF_TIME)
def test_with_partitions_of_time_it_is_what_has_ended(
    tmp_path, instance, partitions, cron, zone, moment, of_schedule, asked
):
    """Its cron says when, in its zone; what has ended since its last tick is asked for, the last one in any case."""
    orders = asset(tmp_path, partitions)
    schedule = build_smt_schedule(orders, cron, execution_timezone=zone)
    assert (schedule.cron_schedule, schedule.execution_timezone) == (cron, of_schedule)
    requests = tick(schedule, instance, orders, datetime.fromisoformat(moment)).run_requests
    assert [request.partition_key for request in requests] == asked.split()
    assert all(request.run_key == request.partition_key for request in requests)


def run_of(schedule, instance, key, status):
    """A run as Dagster's scheduler starts it for a request."""
    tags = {"dagster/schedule_name": schedule.name, "dagster/run_key": key, "dagster/partition": key}
    return instance.create_run_for_job(dg.Definitions(jobs=[JOB]).resolve_job_def("job"), tags=tags, status=status)


@dg.job(name="job")
def JOB():  # noqa: N802
    pass


@pytest.mark.parametrize(
    ("status", "asked"),
    [
        ("SUCCESS", []),
        ("NOT_STARTED", []),
        ("STARTED", []),
        ("FAILURE", ["2026-01-01"]),
        ("CANCELED", ["2026-01-01"]),
    ],
)
def test_a_partition_is_asked_for_once_unless_its_run_failed(tmp_path, instance, status, asked):
    """Dagster's scheduler compares run keys within a tick: an hourly schedule would run a day 24 times."""
    orders = asset(tmp_path, DAYS)
    schedule = build_smt_schedule(orders, "0 * * * *")
    run_of(schedule, instance, "2026-01-01", dg.DagsterRunStatus[status])
    moment = datetime(2026, 1, 2, 17, tzinfo=timezone.utc)
    evaluation = tick(schedule, instance, orders, moment)
    assert [request.partition_key for request in evaluation.run_requests] == asked
    assert ("earlier ticks have requested 2026-01-01" in (evaluation.skip_message or "")) == (not asked)
    next_day = tick(schedule, instance, orders, datetime(2026, 1, 3, 0, tzinfo=timezone.utc))
    assert [request.partition_key for request in next_day.run_requests] == ["2026-01-02"]


def test_a_run_of_another_schedule_or_by_hand_does_not_count(tmp_path, instance):
    orders = asset(tmp_path, DAYS)
    schedule, other = build_smt_schedule(orders, "0 * * * *"), build_smt_schedule(orders, "0 * * * *", name="other")
    run_of(other, instance, "2026-01-01", dg.DagsterRunStatus.SUCCESS)
    evaluation = tick(schedule, instance, orders, datetime(2026, 1, 2, 17, tzinfo=timezone.utc))
    assert [request.partition_key for request in evaluation.run_requests] == ["2026-01-01"]


def test_before_the_first_partition_has_ended_nothing_is_asked(tmp_path, instance):
    orders = asset(tmp_path, DAYS)
    early = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    assert "has ended yet" in tick(build_smt_schedule(orders, "0 12 * * *"), instance, orders, early).skip_message
