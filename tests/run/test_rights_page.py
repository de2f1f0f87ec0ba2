"""With the rights that the page names, and no others, every kind of run works; without one of them it is refused."""

import re
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from dagster_smt import KafkaSink
from dagster_smt.errors import SmtError
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.testing import KafkaBroker
from tests.kafka import Topics
from tests.run.test_kafka import ROUTE, World, order

pytestmark = pytest.mark.long
PAGE = Path(__file__).parents[2] / "docs/how-to/broker-rights.md"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
VARIABLE = "SMT_TEST_LAKE_PASSWORD"
KINDS = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional id": ResourceType.TRANSACTIONAL_ID,
    "cluster": ResourceType.BROKER,
}
OPERATIONS = {
    "Read": AclOperation.READ,
    "Write": AclOperation.WRITE,
    "Describe": AclOperation.DESCRIBE,
    "DescribeConfigs": AclOperation.DESCRIBE_CONFIGS,
    "Create": AclOperation.CREATE,
}
ANY = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)


def rows():
    """(what, kind of resource, whether its name is a prefix, name, operations) of the page's table."""
    what = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 4 or not cells[2].startswith("`"):
            continue
        what = cells[0] or what
        kind, prefixed = re.fullmatch(r"([a-z ]+?)( \(prefixed\))?", cells[1]).groups()
        yield what, kind, bool(prefixed), cells[2].strip("`"), cells[3].split(", ")


@pytest.fixture(scope="module")
def guarded(broker, tmp_path_factory):
    """A broker that lets ``lake`` do only what rules allow; the plain listener is an administrator's."""
    properties = {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{MODULE} user_lake="lake-4711";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with KafkaBroker(tmp_path_factory.mktemp("guarded"), properties, ["SASL_PLAINTEXT"]) as running:
        yield running


@pytest.fixture
def world(spark, tmp_path, guarded, monkeypatch):
    monkeypatch.setenv(VARIABLE, "lake-4711")
    result = World(tmp_path, spark, guarded.servers)
    options = {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{MODULE} username="lake" password="${{env:{VARIABLE}}}";',
    }
    result.topics = KafkaTopics(guarded.servers_of("SASL_PLAINTEXT"), options, create=NewTopics(), timeout=6)
    admin = result.there.client.admin()
    for future in admin.delete_acls([ANY]).values():
        future.result()
    yield result
    for future in admin.delete_acls([ANY]).values():
        future.result()


def allow(world, *starts, without=()):
    """Give the rights of the rows whose first cell begins so. ``without``: (name, operation) pairs."""
    names = {"ORDERS": world.orders, "DEAD": world.name("dead"), "CLEAN": f"clean.{world.orders}"}
    names |= {"NAME": "other", "SHOWN": "shown"}
    for start in starts:
        assert any(what.startswith(start) for what, *_ in rows()), f"no row begins with {start!r}"
    bindings = []
    for what, kind, prefixed, name, operations in rows():
        if not what.startswith(starts):
            continue
        pattern = ResourcePatternType.PREFIXED if prefixed else ResourcePatternType.LITERAL
        for operation in operations:
            if (name, operation) in without:
                continue
            right = OPERATIONS[operation], AclPermissionType.ALLOW
            bindings.append(AclBinding(KINDS[kind], names.get(name, name), pattern, "User:lake", "*", *right))
    for future in world.there.client.admin().create_acls(bindings).values():
        future.result()


def table_run(world, **changes):
    return world.run(topics=(world.orders,), errors_tolerance="all", dead_letter_topic=world.name("dead"), **changes)


def sink_run(world, dead=True):
    letters = {"errors_tolerance": "all", "dead_letter_topic": world.name("dead")} if dead else {}
    return world.run(world.spec(ROUTE, sink=KafkaSink(world.topics, "lake.orders"), **letters))


def test_the_rights_of_the_page_are_enough(world):
    world.add(order(0), NewRecord(b"k", b"no json"))
    allow(world, "reads", "writes", "shows", "begins", "creates")
    assert table_run(world, group="shown").records_out == 1
    assert [line for line in world.lines if "SMT628" in line] == []
    assert len(Topics(world.there.spec).read(world.name("dead"))) == 1
    assert sink_run(world).records_out == 1


READING = [("ORDERS", "Read"), ("ORDERS", "Describe"), ("DEAD", "Write"),
           ("dagster_smt.letters.", "Write")]  # fmt: skip
WRITING = [("CLEAN", "Write"), ("lake.orders", "Read"), ("dagster_smt.", "Write")]


@pytest.mark.parametrize("missing", READING, ids=str)
def test_each_right_of_reading_is_needed(world, missing):
    world.add(order(0), NewRecord(b"k", b"no json"))
    world.there.make(world.name("dead"))
    allow(world, "reads", "writes dead", without=[missing, *([("ORDERS", "Read")] if missing[1] == "Describe" else [])])
    with pytest.raises(SmtError) as caught:
        table_run(world)
    assert [problem.code for problem in caught.value.problems] == ["SMT628"]


@pytest.mark.parametrize("missing", WRITING, ids=str)
def test_each_right_of_writing_is_needed(world, missing):
    world.add(order(0))
    allow(world, "reads", "writes topics", "creates", without=[missing])
    with pytest.raises(SmtError) as caught:
        sink_run(world, dead=False)
    assert [problem.code for problem in caught.value.problems] == ["SMT628"]
