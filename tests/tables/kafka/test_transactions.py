"""A producer that a later one has shut out says so, wherever it learns of it."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from dagster_smt.errors import SmtError, TableError
from dagster_smt.tables.kafka.client import KafkaClient
from dagster_smt.tables.kafka.outgoing import Outgoing
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.kafka.transactions import Transactions


@pytest.fixture(scope="module")
def topics(broker):
    spec = KafkaTopics(broker.servers)
    KafkaClient(spec).create(["fenced"], NewTopics(1, 1))
    return spec


def send(producer, count):
    for _ in range(count):
        producer.send(Outgoing("fenced", iter([(b"k", b"v", [])])))


@pytest.mark.parametrize("before", [0, 1, 5])
@pytest.mark.parametrize("after", [0, 1, 2, 3, 8])
def test_who_is_shut_out_is_told_so(topics, before, after):
    """Each record that is under way when the fatal error comes wraps it once more."""
    earlier, later = (Transactions(KafkaClient(topics), f"tx-{before}-{after}", "orders") for _ in range(2))
    earlier.begin()
    send(earlier, before)
    later.begin()
    if before + after == 0:
        assert earlier.commit() == []
        return
    with pytest.raises(TableError, match="SMT528"):
        send(earlier, after)
        earlier.commit()
    with pytest.raises(TableError, match="SMT528"):
        send(earlier, 1)
        earlier.commit()
    earlier.close()
    send(later, 1)
    assert [r.records for r in later.commit()] == [1]


class FailsToCommit:
    """A real producer, whose broker answers a commit with "unknown"."""

    def __init__(self, producer):
        self.producer = producer

    def __getattr__(self, name):
        return getattr(self.producer, name)

    def commit_transaction(self, timeout):
        raise KafkaException(KafkaError(KafkaError.UNKNOWN))


@pytest.mark.parametrize(("overtaken", "problem"), [(True, "SMT528"), (False, "SMT629")])
def test_a_broker_that_answers_unknown_is_asked_for_the_reason(topics, overtaken, problem):
    earlier, later = (Transactions(KafkaClient(topics), f"tx-unknown-{overtaken}", "orders") for _ in range(2))
    earlier.begin()
    earlier.producer = FailsToCommit(earlier.producer)
    produce = earlier._produce_all

    def overtake(*args):
        last = produce(*args)
        if overtaken:
            later.begin()
        return last

    earlier._produce_all = overtake
    with pytest.raises(SmtError, match=problem):
        send(earlier, 1)
        earlier.commit()
    earlier.close()
