"""The JVM lane on Spark: what it runs, what it leaves, and sessions that do not have it."""

import re

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.jvm import availability
from dagster_smt.jvm.availability import VARIABLE, has_lane
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.evaluate import evaluate, left_records
from dagster_smt.spark.records.arrow_map import evaluate_records
from dagster_smt.spark.records.jvm_records import LEFT, with_left
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.jvm.harness import batch_of, job_of
from tests.jvm.random_records import PLAIN
from tests.jvm.test_records import FLAT, ODD
from tests.jvm.test_stages import chain_of, field_is, has_header, masked, stage

KAFKA = "topic string, partition int, offset long, timestamp timestamp, timestampType int, "
KAFKA += "headers array<struct<key: string, value: binary>>, key binary, value binary"
NAMES = "topic partition offset timestamp timestampType headers key value".split()


def frame_of(spark, values, **others):
    rows = [row | others for row in batch_of(values, ("raw.eu", "raw.us")).to_pylist()]
    return spark.createDataFrame([tuple(row[name] for name in NAMES) for row in rows], KAFKA)


def evaluated(frame, chain, whole, key="string"):
    table = TopicTable(FileTopics("topics"), ("raw.eu",), Format(key), Format())
    plan = plan_chain(chain, None, None, topics=("raw.eu", "raw.us"), typed=False)
    done = evaluate(frame, plan, table, "records", whole=whole)
    return done, lambda rows: left_records(rows, plan, table)


def rows_of(frame):
    """The rows in order; of records that are not kept ``__out`` may say anything."""
    rows = sorted(frame.collect(), key=lambda row: row["__offset"])
    return [row.asDict() | ({} if row["__status"] == 0 else {"__out": None}) for row in rows]


def physical_plan(frame):
    return frame._jdf.queryExecution().executedPlan().toString()


def lane_calls(plan, name):
    """Returns the number of calls of the lane's class ``name`` in a plan. Spark 3.5 prints them in another way."""
    return len(re.findall(rf"static_?invoke\((?:class )?dagstersmt\.{name}\b", plan))


def test_the_lane_is_a_function_in_the_generated_code(spark):
    assert has_lane(spark)
    lane, _ = evaluated(frame_of(spark, PLAIN), parse_chain(FLAT), whole=False)
    plan = physical_plan(lane)
    assert lane_calls(plan, "Records")
    assert "MapInArrow" not in plan  # no Python worker
    assert [row["__status"] for row in lane.collect()] == [0] * len(PLAIN)


@pytest.mark.parametrize("key", ["string", "json"])
def test_what_is_left_goes_through_python(spark, key):
    chain, values = parse_chain(FLAT), [*PLAIN, *ODD]
    frame = frame_of(spark, values)
    want = rows_of(evaluate_records(frame, job_of(chain, key)))
    whole, _ = evaluated(frame, chain, whole=True, key=key)
    assert rows_of(whole) == want
    lane, rest = evaluated(frame, chain, whole=False, key=key)
    assert {row["__status"] for row in lane.collect()} >= {0, LEFT}
    remainder = lane.persist()
    assert rows_of(with_left(remainder, rest(remainder))) == want
    remainder.unpersist()


HEADERS = chain_of(
    stage("HeaderFrom$Value", fields="note,ref", headers="a,b", operation="move", predicate=has_header("x")),
    stage("InsertHeader", header="x", value_literal="7"),
    stage(
        "io.aiven.kafka.connect.transforms.ExtractTimestamp$Value", field_name="ts", predicate=field_is("n", value="7")
    ),
    masked(*(f"f{n}" for n in range(70))),
    masked("status"),
)


def test_headers_timestamps_and_long_ledgers(spark):
    for headers in (None, [], [("x", bytearray(b"1")), ("y", None)]):
        frame = frame_of(spark, [*PLAIN, *ODD[:12]], headers=headers)
        whole, _ = evaluated(frame, HEADERS, whole=True)
        assert lane_calls(physical_plan(whole), "Records")
        assert rows_of(whole) == rows_of(evaluate_records(frame, job_of(HEADERS)))


def test_records_without_what_they_have_elsewhere(spark):
    chain = parse_chain(FLAT)
    for others in ({"partition": None}, {"timestamp": None}, {"timestampType": -2}, {"key": None}, {"topic": None}):
        frame = frame_of(spark, PLAIN, **others)
        whole, _ = evaluated(frame, chain, whole=True)
        assert rows_of(whole) == rows_of(evaluate_records(frame, job_of(chain))), others


def test_a_session_does_without_where_that_is_asked_for(spark, monkeypatch):
    monkeypatch.setenv(VARIABLE, "off")
    lane, _ = evaluated(frame_of(spark, PLAIN), parse_chain(FLAT), whole=False)
    assert "MapInArrow" in physical_plan(lane) or "MapInPandas" in physical_plan(lane)


WITHOUT = {
    "a session that does not name the catalog": (None, "x"),
    "a jar of other sources": (availability.CLASS, "x"),
}


@pytest.mark.parametrize(("name", "version"), WITHOUT.values(), ids=WITHOUT)
def test_a_session_without_the_lane_is_told_so_once(spark, monkeypatch, caplog, name, version):
    class Session:
        conf = type("Conf", (), {"get": staticmethod(lambda key, default: name)})
        sql = spark.sql

    monkeypatch.setattr(availability, "version", lambda: version)
    session = Session()
    assert not has_lane(session) and not has_lane(session)
    assert caplog.text.count("several times as long") == 1
