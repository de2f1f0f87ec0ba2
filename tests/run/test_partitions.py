"""Partitions that a chain chooses: of file topics, of a broker's topics, and what a table says of them."""

import json
from dataclasses import replace

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import TableError
from dagster_smt.model.record import Record
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.kafka.spec import NewTopics
from dagster_smt.tables.planning import plan_sink
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, KafkaSink
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.transforms.debezium.event_router import EventRouter
from tests.run.test_file_topic_sink import Topics as FileWorld
from tests.run.test_kafka import World as KafkaWorld
from tests.run.world import TRANSFORMS

COLUMNS = {"id": "INT", "to": "INT", "partition": "INT METADATA"}
CHOOSE = {  # the field "to" becomes the partition
    "transforms": "route,old,new",
    "transforms.route.type": TRANSFORMS + "RegexRouter",
    "transforms.route.regex": "(.*)",
    "transforms.route.replacement": "clean.$1",
    "transforms.old.type": TRANSFORMS + "ReplaceField$Value",
    "transforms.old.exclude": "partition",
    "transforms.new.type": TRANSFORMS + "ReplaceField$Value",
    "transforms.new.renames": "to:partition",
}
OUTBOX = {
    "transforms": "outbox",
    "transforms.outbox.type": EventRouter.connect_class,
    "transforms.outbox.table.fields.additional.placement": "id:partition",
}
TABLE = TopicTable(FileTopics("topics"), ("orders",), columns=COLUMNS)


def sent(number, to):
    return NewRecord(b"k", json.dumps({"id": number, "to": to}).encode(), (), 7)


@pytest.mark.spark
def test_file_topics_have_the_partitions_that_the_chain_chooses(spark, tmp_path):
    world = FileWorld(tmp_path, spark)
    world.add(sent(1, 2), sent(2, 0), sent(3, None), sent(4, -1))
    world.add(sent(5, 2), partition=1)
    spec = replace(world.spec(CHOOSE), table=TopicTable(world.topics, ("orders",), columns=COLUMNS))
    report = run(replace(spec, errors_tolerance="all", dead_letters=world.topics, dead_letter_topic="dead"), spark)
    results = [(r.topic, r.partition, json.loads(r.value)["id"]) for r in world.written()]
    # without a choice a record keeps its partition
    assert results == [("clean.orders", 0, 2), ("clean.orders", 0, 3), ("clean.orders", 2, 1), ("clean.orders", 2, 5)]
    assert (report.records_out, report.failed) == (4, 1)
    assert [r.problem.code for r in report.rejects] == ["SMT444"]
    assert run(spec, spark).status == "empty"


@pytest.mark.spark
def test_topics_of_a_broker(spark, tmp_path, broker):
    world = KafkaWorld(tmp_path, spark, broker.servers)
    world.topics = replace(world.topics, create=NewTopics(partitions=3))
    world.add(sent(1, 2), sent(2, 0), sent(3, None))
    world.add(sent(4, 2), partition=1)
    spec = replace(world.to_kafka(), chain=parse_chain(CHOOSE))
    spec = replace(spec, table=TopicTable(world.topics, (world.orders,), columns=COLUMNS))
    run(spec, spark)
    results = {json.loads(m.value())["id"]: m.partition() for m, _ in world.written()}
    by_key = results.pop(3)  # without a choice the producer places a record by its key
    assert results == {1: 2, 2: 0, 4: 2} and by_key in (0, 1, 2)
    world.add(sent(5, 3))
    before = len(world.written())
    with pytest.raises(TableError) as raised:
        run(spec, spark)
    assert [(p.code, p.place) for p in raised.value.problems] == [("SMT579", f"clean.{world.orders}")]
    assert len(world.written()) == before
    world.add(sent(6, 1))
    dead = world.name("dead")
    report = run(replace(spec, errors_tolerance="all", dead_letter_topic=dead), spark)
    assert (report.records_out, [r.problem.code for r in report.rejects]) == (1, ["SMT499"])
    assert [m.key() for m in world.there.read(dead)] and len(world.written()) == before + 1


@pytest.mark.spark
def test_a_table_of_records_keeps_the_partition_of_the_source(spark, tmp_path):
    world = FileWorld(tmp_path, spark)
    world.add(sent(1, 2))
    table = TopicTable(world.topics, ("orders",), columns=COLUMNS)
    report = run(RunSpec("orders", parse_chain(CHOOSE), table, DeltaSink(tmp_path / "table")), spark)
    (row,) = world.table.read().collect()
    assert row.partition == 0 and "target_partition" not in row.asDict()
    assert [w.code for w in report.warnings] == ["SMT277"]


SAID = [
    (CHOOSE, TABLE, DeltaSink("t"), [("SMT277", "column partition")]),
    (CHOOSE, TABLE, FileTopicSink("t"), []),
    (CHOOSE, TABLE, KafkaSink(None), []),
    (OUTBOX, replace(TABLE, columns={}), DeltaSink("t"),
     [("SMT277", "transforms.outbox (EventRouter): the partition")]),
    (OUTBOX, replace(TABLE, columns={}), KafkaSink(None),
     [("SMT276", "transforms.outbox (EventRouter): the timestamp")]),
    (CHOOSE, replace(TABLE, columns={**COLUMNS, "at": "BIGINT METADATA FROM 'timestamp'"}), KafkaSink(None),
     [("SMT276", "column at")]),
]  # fmt: skip


@pytest.mark.parametrize(("chain", "table", "sink", "problems"), SAID)
def test_the_plan_says_what_a_sink_cannot_hold(chain, table, sink, problems):
    plan = plan_sink(parse_chain(chain), table, sink)
    assert [(w.code, w.place) for w in plan.warnings] == problems


def test_a_stage_behind_sees_the_partition_that_was_chosen():
    """As in Connect: the new record has it."""
    from dagster_smt.interpret.interpreter import Interpreter
    from tests.transforms.debezium.test_event_router import INT, PLACES, outbox
    from tests.transforms.helpers import record_of

    chain = {
        "transforms": "outbox,hoist,note",
        "transforms.outbox.type": EventRouter.connect_class,
        f"transforms.outbox.{PLACES}": "p:partition",
        "transforms.hoist.type": TRANSFORMS + "HoistField$Value",
        "transforms.hoist.field": "it",
        "transforms.note.type": TRANSFORMS + "InsertField$Value",
        "transforms.note.partition.field": "place",
    }
    record: Record = record_of(outbox(columns={"p": INT}, p=5))
    Interpreter(parse_chain(chain)).run(record)
    assert record.value == {"it": "{}", "place": 5}
