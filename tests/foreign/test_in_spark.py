"""Kafka's own classes in Spark's JVM give what the same classes give in the host: rows, ledger, changes, outcomes."""

import json
import random
from dataclasses import replace
from unittest import mock

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.plan import ledger_entries
from dagster_smt.errors import ConfigError, EngineError
from dagster_smt.foreign.kafkas_classes import only_kafkas, runs_in_jvm
from dagster_smt.jvm.availability import VARIABLE
from dagster_smt.model.topics.format import Format, Formats
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.spark.outcome_columns import LEFT
from dagster_smt.spark.records import connect_records
from dagster_smt.spark.records.change_texts import MARK, mark_of
from dagster_smt.spark.ways import RECORDS_IN_KAFKAS_CLASSES, RECORDS_IN_PYTHON
from tests.foreign.jar import KAFKA, chain_of
from tests.foreign.test_batches import ENVELOPES, ODD, spelled
from tests.foreign.test_random import CONNECT, RECORDS, engine_of_connect
from tests.jvm.random_records import chains
from tests.spark.test_jvm_records import frame_of, lane_calls, physical_plan

CALL, FOREIGN_CALL = "ConnectRecords", "ForeignRecords"


def chain_of_kafka(*stages, **more):
    listed = [{"alias": f"s{n}", "type": KAFKA + name, "options": options} for n, (name, options) in enumerate(stages)]
    return parse_chain({"stages": listed, "engine": "connect", **more})


def evaluated(frame, chain, value="json", key="string", *, whole=True, place=""):
    """Returns the evaluated frame and the way that it takes. ``place`` is the kind of topics that are written."""
    ways = []
    plan = plan_chain(chain, None, None, topics=("raw.eu", "raw.us"), typed=False)
    formats = Formats(Format(key), Format(value))
    written = replace(formats, place=place)
    return evaluate(frame, plan, formats, "records", written, whole=whole, note=ways.append), ways[0]


def rows_of(frame):
    """Returns the rows in order, with texts for marks; lost records have no ``__out``."""
    rows = [row.asDict(recursive=True) for row in sorted(frame.collect(), key=lambda row: row["__offset"])]
    texts = {}
    for row in rows:
        if not row["__changes"].startswith(MARK):
            texts[mark_of(row["__changes"])] = row["__changes"]
    results = []
    for row in rows:
        changes = sorted(texts.get(row["__changes"], row["__changes"]).split("\n"))
        assert not changes[0].startswith(MARK)
        out = None if row["__status"] else spelled(row["__out"])
        if out is not None:
            out["headers"] = out["headers"] or None
        results.append({**row, "__changes": changes, "__out": out, "__touched": list(row["__touched"])})
    return results


def check_ways(spark, chain, values, monkeypatch, form="json", key_form="string", call=CALL, place="", **others):
    """Compares both ways; returns the rows of Spark's JVM."""
    frame = frame_of(spark, values, **{"headers": None, **others})
    there, way = evaluated(frame, chain, form, key_form, place=place)
    assert way is RECORDS_IN_KAFKAS_CLASSES and lane_calls(physical_plan(there), call)
    rows = rows_of(there)
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, "off")
        here, way = evaluated(frame, chain, form, key_form, place=place)
        assert way is RECORDS_IN_PYTHON and not lane_calls(physical_plan(here), call)
        assert rows == rows_of(here)
    return rows


FLAT = chain_of_kafka(
    ("MaskField$Value", {"fields": "b"}),
    ("Cast$Value", {"spec": "a:float64"}),
    ("InsertHeader", {"header": "h", "value.literal": "7"}),
    (
        "InsertField$Value",
        {"static.field": "o", "static.value": '\u00fc"', "offset.field": "n", "timestamp.field": "t"},
    ),
    ("TimestampRouter", {"topic.format": "${topic}-${timestamp}", "timestamp.format": "yyyy"}),
    ("ReplaceField$Value", {"exclude": "c"}),
)


ROUTES = chain_of_kafka(
    ("InsertHeader", {"header": "n", "value.literal": "[1, 2]"}),
    ("DropHeaders", {"headers": "old"}),
    ("RegexRouter", {"regex": "raw\\.(.*)", "replacement": "clean.$1"}),
    ("HeaderFrom$Value", {"fields": "b", "headers": "b", "operation": "copy"}),
    ("RegexRouter", {"regex": "(.*)us", "replacement": "$1u s"}),
)
HEADERS = [
    ("old", bytearray(b"1")),
    ("a", bytearray(b'{"x": 1}')),
    ("empty", bytearray()),
    ("none", None),
    ("a", bytearray(b"\xff")),
    ("\u00fc", bytearray(b"2020-01-01")),
]


def test_kafkas_classes_in_sparks_jvm(spark, monkeypatch):
    """Records that no converter of Kafka reads are run by the host; all others by Spark's JVM."""
    values = [*RECORDS, *ODD]
    rows = check_ways(spark, FLAT, values, monkeypatch)
    assert {row["__status"] for row in rows} == {0, 2}
    lane, _ = evaluated(frame_of(spark, values, headers=None), FLAT, whole=False)
    left = {row["__offset"] for row in lane.collect() if row["__status"] == LEFT}
    assert left == {row["__offset"] for row in rows if row["__stage"] < -1}
    assert any(row["__stage"] >= 0 for row in rows)


def test_topics_and_headers(spark, monkeypatch):
    """The second router gives half of the records a topic that Kafka does not take."""
    rows = check_ways(spark, ROUTES, [*RECORDS, b"{"], monkeypatch, place="kafka", headers=HEADERS)
    assert {row["__out"]["topic"] for row in rows if row["__out"]} == {"clean.eu"}
    (headers,) = {str(row["__out"]["headers"][:4]) for row in rows if row["__out"]}
    assert "'key': 'a'" in headers and "old" not in headers


TOPICS = {
    "a name that Kafka refuses": ("u s", {"kafka": False, "file_topics": False, "": True}),
    "a hidden name": (".x", {"kafka": True, "file_topics": False, "": True}),
    "a name that is too long": ("x" * 250, {"kafka": False, "file_topics": False, "": True}),
    "a topic of the broker": ("__consumer_offsets", {"kafka": False, "file_topics": True, "": True}),
}


@pytest.mark.parametrize("place", ["kafka", "file_topics", pytest.param("", marks=pytest.mark.long)])
@pytest.mark.parametrize(("topic", "taken"), TOPICS.values(), ids=TOPICS)
def test_a_topic_that_takes_no_records_fails_the_record(spark, monkeypatch, topic, taken, place):
    chain = chain_of_kafka(("RegexRouter", {"regex": "raw\\.us", "replacement": topic}))
    rows = check_ways(spark, chain, [b'{"a":1}', b'{"a":2}'], monkeypatch, place=place)
    outcomes = [(row["__problem"]["code"] if row["__problem"] else row["__out"]["topic"]) for row in rows]
    assert sorted(outcomes) == sorted(["raw.eu", topic if taken[place] else "SMT464"])


@pytest.mark.long
def test_a_pattern_without_an_end_is_left_to_the_clock_of_the_host(spark, monkeypatch):
    """Spark's JVM tries the pattern on each topic for a moment; the host stops the class and fails the record."""
    endless = ("RegexRouter", {"regex": "(([a-z]+)+)+!", "replacement": "b"})
    chain = chain_of_kafka(("MaskField$Value", {"fields": "b"}), endless, **{"stage.timeout.ms": 3000})
    values = [b'{"b":"x"}'] * 2
    rows = check_ways(spark, chain, values, monkeypatch, topic="a" * 60)
    assert [row["__problem"]["code"] for row in rows] == ["SMT491"] * 2
    frame = frame_of(spark, values, headers=None, topic="a" * 60)
    lane, _ = evaluated(frame, chain, whole=False)
    assert {row["__status"] for row in lane.collect()} == {LEFT}
    predicate = {"name": "p", "type": "TopicNameMatches", "options": {"pattern": "(([a-z]+)+)+!"}}
    stage = {"alias": "m", "type": f"{KAFKA}MaskField$Value", "options": {"fields": "b"}, "predicate": predicate}
    lane, _ = evaluated(frame, parse_chain({"stages": [stage], "engine": "connect"}), whole=False)
    assert {row["__status"] for row in lane.collect()} == {LEFT}


@pytest.mark.long
def test_records_without_what_they_have_elsewhere(spark, monkeypatch):
    for others in (
        {"headers": HEADERS},
        {"headers": []},
        {"headers": [("a", bytearray(b"1")), (None, bytearray(b"2"))]},
        {"partition": None},
        {"timestamp": None},
        {"timestampType": -2},
        {"key": None},
        {"topic": None},
    ):
        check_ways(spark, FLAT, RECORDS[:3], monkeypatch, **others)


@pytest.mark.long
def test_other_formats(spark, monkeypatch):
    stages = [("MaskField$Value", {"fields": "b"}), ("InsertField$Value", {"static.field": "s", "static.value": "1"})]
    check_ways(spark, chain_of_kafka(*stages), ENVELOPES, monkeypatch, "envelope")
    check_ways(
        spark, chain_of_kafka(("HoistField$Value", {"field": "v"})), [b"a", b"\xff", None], monkeypatch, "string"
    )
    check_ways(spark, chain_of_kafka(("HoistField$Value", {"field": "v"})), [b"a", None], monkeypatch, "bytes", "json")
    many = [("MaskField$Value", {"fields": "b"})] * 40
    assert len(ledger_entries(chain_of_kafka(*many))) == 40
    check_ways(spark, chain_of_kafka(*many * 2), RECORDS[:3], monkeypatch)  # two words of the ledger


@pytest.mark.long
def test_predicates_and_dropped_records(spark, monkeypatch):
    filters = {
        "transforms": "f",
        "transforms.f.type": f"{KAFKA}Filter",
        "transforms.f.predicate": "p",
        "predicates": "p",
        "predicates.p.type": f"{KAFKA}predicates.RecordIsTombstone",
        "engine": "connect",
    }
    rows = check_ways(spark, parse_chain(filters), RECORDS, monkeypatch)
    assert [row["__status"] for row in rows].count(1) == 2


@pytest.mark.long
def test_random_chains(spark, monkeypatch):
    random.seed(36)
    compared = 0
    for _ in range(60):
        chain = engine_of_connect(chains(CONNECT).example())
        if not runs_in_jvm(chain, Format("string"), Format()):
            continue
        try:
            check_ways(spark, chain, [*RECORDS, *ODD], monkeypatch)
        except EngineError as error:
            assert error.problems[0].code == "SMT646"  # Kafka's class refuses options that ours accepts
        compared += 1
    assert compared > 10


def test_what_needs_the_host(jar):
    """A class of a jar, and a format that only Python reads."""
    form = Format("string"), Format()
    assert runs_in_jvm(FLAT, *form)
    assert not runs_in_jvm(FLAT, Format("string"), Format("csv", parse_schema()))
    assert not runs_in_jvm(chain_of(jar, "Same"), *form)
    trusted = chain_of(jar, "Same", stage_process="spark")
    assert runs_in_jvm(trusted, *form) and not only_kafkas(trusted)
    assert not runs_in_jvm(chain_of(jar, "Same", ("MaskField$Value", {"fields": "b"}), stage_process="spark"), *form)
    assert only_kafkas(FLAT)
    with pytest.raises(ConfigError, match=r"SMT026 stage\.process"):
        chain_of(jar, "Same", stage_process="thread")
    assert not runs_in_jvm(chain_of(jar, f"{KAFKA}HoistField$Value", engine="connect"), *form)
    assert not runs_in_jvm(parse_chain({"transforms": "", "engine": "connect"}), *form)


def parse_schema():
    from dagster_smt.tables.ddl import parse_ddl

    return parse_ddl("a STRING")


@pytest.mark.long
def test_stages_that_cannot_open_leave_every_record(spark):
    """An executor without Connect's jars: the host says what is wrong, or runs the records."""
    frame = frame_of(spark, RECORDS, headers=None)
    with mock.patch.object(connect_records, "_setup", lambda job, classes: "AAAA\n62,1,0\n/nowhere.jar"):
        lane, _ = evaluated(frame, FLAT, whole=False)
        assert {row["__status"] for row in lane.collect()} == {LEFT}
        whole, _ = evaluated(frame, FLAT)
        assert [json.loads(row["__out"]["value"])["o"] for row in whole.collect() if row["__offset"] == 0] == [
            '\u00fc"'
        ]


MARKED = [b'{"id":1,"name":"ada"}', b'{"id":2,"marked":true,"secret":"s-4711"}', b'{"id":3,"name":"bob"}', None, b"{"]
TRUSTED = [
    ["Same"],
    ["Drops"],
    ["Throws"],
    ["Mutates"],
    ["Moves"],
    ["Missing"],
    ["Counts"],
    [("Exits", {"option": "exit"})],
    [("Exits", {"option": "halt"})],
    [("Upper", {"option": "name", "predicate": {"name": "is", "type": "acme.IsMarked"}, "negate": True}), "Mutates"],
]


def check_trusted(spark, jar, monkeypatch, stages, values=MARKED, **more):
    chain = chain_of(jar, *stages, engine="connect", stage_process="spark", **more)
    return check_ways(spark, chain, values, monkeypatch, call=FOREIGN_CALL, headers=HEADERS)


def test_classes_that_the_chain_trusts(spark, jar, monkeypatch):
    rows = check_trusted(spark, jar, monkeypatch, ["Moves", "Throws", "Mutates"], MARKED[:3])
    assert [row["__status"] for row in rows] == [0, 2, 0]
    assert rows[1]["__problem"]["statement"] == "the class threw java.lang.IllegalStateException"
    assert rows[0]["__out"]["topic"] == "moved" and rows[0]["__out"]["headers"][-1]["key"] == "new"


@pytest.mark.long
def test_every_kind_of_class_that_the_chain_trusts(spark, jar, monkeypatch):
    """A class that ends its process is not loaded in Spark's JVM: the host runs the records, and its process ends."""
    for stages in TRUSTED:
        rows = check_trusted(spark, jar, monkeypatch, stages)
        if stages[0][0] == "Exits":
            assert rows[1]["__problem"]["code"] == "SMT492" and rows[0]["__status"] == 0
    for stages in (["Boxes", "Same"], ["Schemas"]):
        check_trusted(spark, jar, monkeypatch, stages, MARKED[:3])
    retries = {"errors_retry_timeout": 5000, "errors_retry_delay_max_ms": 10}
    assert {row["__status"] for row in check_trusted(spark, jar, monkeypatch, ["Retries"], MARKED[:3], **retries)} == {
        0
    }


@pytest.mark.long
def test_trusted_stages_are_closed_with_their_task(spark, jar, tmp_path):
    chain = chain_of(jar, ("Closes", {"option": str(tmp_path)}), stage_process="spark")
    frame, way = evaluated(frame_of(spark, MARKED[:3], headers=None), chain, whole=False)
    assert way is RECORDS_IN_KAFKAS_CLASSES and {row["__status"] for row in frame.collect()} == {0}
    written = [path.name.split("-")[0] for path in tmp_path.iterdir()]
    assert written.count("opened") == written.count("closed") > 0
