"""Topics of a cluster: tombstones where the topic is compacted, and elsewhere the offsets that wait for retention."""

import json
import uuid

import pytest

from dagster_smt.errors import EngineError
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.erasure.matching import Erased, RecordMatch, SubjectPaths
from dagster_smt.tables.erasure.needles import Needles
from dagster_smt.tables.erasure.spec import SmtErasure, references
from dagster_smt.tables.erasure.topics import erase_in_kafka
from dagster_smt.tables.kafka.client import KafkaClient
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources.file_writer import NewRecord
from tests.kafka import Topics

PERSON = "anna.with.a.long.name@example.org"
SPEC = SmtErasure(register_table=DeltaSink("r"), key_ring="e1=${env:EXAMPLE_KEY}", records="value.mail")
NEEDLES = Needles(frozenset({PERSON}), frozenset({"mail"}))


def match():
    known = references(SPEC.keys[0], "person", [PERSON])
    erased = Erased("person", SPEC.keys, {"e1": frozenset(known.values())})
    return RecordMatch(SubjectPaths(("value.mail",), Format("string"), Format()), erased)


def record(key, mail):
    return NewRecord(key, json.dumps({"mail": mail}).encode())


def test_a_topic_whose_settings_may_not_be_read_is_told(monkeypatch):
    monkeypatch.setattr(KafkaClient, "demands", lambda self, names: {})
    with pytest.raises(EngineError, match="SMT628 orders"):
        erase_in_kafka(KafkaTopics("127.0.0.1:1"), "orders", match(), NEEDLES, lambda line: None)


@pytest.mark.long
def test_a_compacted_topic_gets_tombstones_and_another_waits_for_retention(broker):
    topics = KafkaTopics(broker.servers, create=NewTopics())
    there, id_ = Topics(topics), uuid.uuid4().hex[:8]
    for name, settings in ((f"compact-{id_}", {"cleanup_policy": "compact"}), (f"delete-{id_}", {})):
        there.make(name, partitions=2, **settings)
        mails = [(0, b"a", PERSON), (0, b"b", "b@x.org"), (1, b"c", PERSON), (1, b"a", "a@x.org"), (1, b"c", PERSON)]
        there.add([(name, partition, record(key, mail)) for partition, key, mail in mails])
        outcome = erase_in_kafka(topics, name, match(), NEEDLES, lambda line: None)
        assert (outcome.records, outcome.read) == (3, 5) and dict(outcome.left) == {"partition 0": 1, "partition 1": 2}
        (waits,) = outcome.waits
        assert f"{name}-0 [0, 1)" in waits and f"{name}-1 [0, 1)" in waits and f"{name}-1 [2, 3)" in waits
        tombstones = {(m.partition(), m.key()) for m in there.read(name) if m.value() is None}
        assert tombstones == ({(0, b"a"), (1, b"c")} if settings else set())
        again = erase_in_kafka(topics, name, match(), NEEDLES, lambda line: None)
        assert again.records == 3 and PERSON not in repr(again)
