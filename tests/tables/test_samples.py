"""A few records of a topic, without Spark: the same ones from files and from a broker."""

import uuid

import pytest

from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.samples import records_of_broker, samples
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from tests.kafka import Topics

NEWEST_FIRST = [NewRecord(b"k", str(n).encode(), timestamp=1_700_000_000_000 - n) for n in range(10)]
CASES = [
    ({"start": 0, "limit": 2}, [1, 0]),
    ({"start": 4, "limit": 3}, [6, 5, 4]),
    ({"start": 8, "limit": 5}, [9, 8]),
    ({"limit": 2}, [9, 8]),
]


@pytest.fixture(scope="module")
def places(broker, tmp_path_factory):
    files = FileTopics(tmp_path_factory.mktemp("topics"))
    name = f"samples-{uuid.uuid4().hex[:8]}"
    append_records(files, name, NEWEST_FIRST)
    kafka = KafkaTopics(broker.servers, create=NewTopics())
    Topics(kafka).add([(name, 0, record) for record in NEWEST_FIRST])
    return name, {"files": files, "kafka": kafka}


@pytest.mark.parametrize("place", ["files", "kafka"])
@pytest.mark.parametrize(("options", "offsets"), CASES)
def test_records_behind_the_range_are_no_samples(places, place, options, offsets):
    name, topics = places
    assert [s.offset for s in samples(topics[place], name, **options)] == offsets


def test_all_records_of_a_range_end_at_its_end(places):
    name, topics = places
    (whole,) = open_source(topics["kafka"]).ranges([name])
    part = type(whole)(whole.topic, whole.partition, 2, 5)
    assert [s.offset for s in records_of_broker(topics["kafka"], [part])] == [2, 3, 4]
