"""A router may make any text of a field the topic: a name that no topic can have is that record's problem."""

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import TableError
from dagster_smt.interpret.interpreter import FAILED, PASSED, Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.topics.format import Format, Formats
from dagster_smt.tables.sinks.records import refuse_many_topics

CHAIN = parse_chain(
    {
        "transforms": "m,r",
        "transforms.m.type": "MaskField$Value",
        "transforms.m.fields": "x",
        "transforms.r.type": "io.aiven.kafka.connect.transforms.ExtractTopic$Value",
        "transforms.r.field.name": "t",
    }
)
GOOD = ["orders", "a.b-c_D", "x" * 249, "__mine"]
BAD = ["alice@example.org", "..", ".", "a b", "x" * 250, "a/b", "é", "a\nb", "orders\n"]
BROKERS = ["__consumer_offsets", "__transaction_state"]
HIDDEN = [".hidden", ".progress", ".staging-x.lock"]


def topics_of(place, names):
    """What becomes of records that are routed to these topics, together."""
    import json

    formats = Formats(Format("bytes"), Format(), place)
    records = [Record("in", number=n) for n in range(len(names))]
    values = [json.dumps({"t": name, "x": 1}).encode() for name in names]
    batch = Interpreter(CHAIN, Format("bytes"), Format(), formats).run_all(records, None, values)
    return records, batch.lost


@pytest.mark.parametrize(
    ("place", "refused"), [("kafka", [*BAD, *BROKERS]), ("file_topics", [*BAD, *HIDDEN]), ("", [])]
)
def test_records_with_names_that_no_topic_can_have_fail_by_themselves(place, refused):
    names = [name for pair in zip(GOOD * 4, [*BAD, *BROKERS, *HIDDEN], strict=False) for name in pair]
    records, lost = topics_of(place, names)
    assert {names[n] for n in lost} == set(refused)
    for number, outcome in lost.items():
        assert (outcome.status, outcome.stage, outcome.problem.code) == (FAILED, 1, "SMT464")
        assert len(names[number]) < 3 or names[number] not in str(outcome.problem)
        assert records[number].touched == 1  # what the stages before have done counts, the router does not
    results = [record for record in records if record.number not in lost]
    assert all(record.topic in [*GOOD, *BROKERS, *HIDDEN, *BAD] for record in results)
    assert PASSED == 0


def test_more_topics_than_anybody_wants_are_refused():
    refuse_many_topics(["a", "b"], 2, "out")
    with pytest.raises(TableError, match="SMT465"):
        refuse_many_topics(["a", "b", "c"], 2, "out")
