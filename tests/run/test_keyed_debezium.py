"""Tables with keys that follow Debezium's messages: unwrapped, routed, and merged by the key of the record."""

from dataclasses import replace

import pytest

from dagster_smt.tables.window_request import WindowRequest
from tests.registry import Registry
from tests.run.debezium_world import MODE, TOPIC, UNWRAP, Avro, Database, Envelopes, Follower, Json

pytestmark = pytest.mark.spark
MODES = ("tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone", "drop")
ROUTER = "io.debezium.transforms.ByLogicalTableRouter"


@pytest.fixture
def registry():
    with Registry() as running:
        yield running


def unwrap(mode, **options):
    return {"alias": "unwrap", "type": UNWRAP, "options": {MODE: mode, **options}}


def regex_route(regex, replacement):
    return {"alias": "route", "type": "RegexRouter", "options": {"regex": regex, "replacement": replacement}}


def form_of(name, connector, registry):
    if name == "avro":
        return Avro(connector, registry)
    return {"json": Json, "envelopes": Envelopes}[name](connector)


def changes(database):
    """The first part of a history: a snapshot, inserts, updates of which some lack the large column, deletions."""
    for key in range(1, 5):
        database.snapshot(key, f"name {key}", f"note {key}")
    database.insert(5, "Eve", "note 5")
    database.update(1, name="Ann")
    database.update(5, name="Eva")
    database.update(2, note="another")
    database.delete(3)


def more_changes(database):
    """The rest: rows of the table are changed and deleted, one comes back, one gets another key."""
    database.update(1, name="Anna")
    database.delete(2)
    database.insert(3, "back", None)
    database.update(4, note="last")
    database.change_key(5, 6)
    database.insert(7, "short", "life")
    database.delete(7)


MORE = [(form, mode) for form in ("json", "envelopes") for mode in MODES]
CASES = [
    pytest.param("json", "postgres", "tombstone", "delta", marks=pytest.mark.long),
    *(pytest.param(form, "postgres", mode, "delta", marks=pytest.mark.long) for form, mode in MORE),
    ("avro", "postgres", "rewrite", "delta"),
    pytest.param("avro", "mysql", "delete-to-tombstone", "iceberg", marks=pytest.mark.long),
    pytest.param("avro", "mysql", "tombstone", "delta", marks=pytest.mark.long),
    pytest.param("json", "mysql", "rewrite", "iceberg", marks=pytest.mark.long),
    pytest.param("envelopes", "mysql", "rewrite-with-tombstone", "iceberg", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("form", "connector", "mode", "kind"), CASES, ids=lambda value: value)
def test_the_table_is_the_table_of_the_database(form, connector, mode, kind, spark, tmp_path, registry):
    stages = [unwrap(mode), regex_route("shop\\.public\\.(.*)", "$1")]
    database = Database(connector, full=connector == "mysql")
    follower = Follower(tmp_path, spark, form_of(form, connector, registry), stages, kind)
    changes(database)
    follower.send(database)
    follower.run()
    deleted = {3: {"id": 3, "name": "name 3", "note": "note 3"}} if mode == "drop" else {}
    assert follower.by_key() == {**database.rows, **deleted}
    assert "__deleted" not in follower.rows()[0]
    assert {row["_source_topic"] for row in follower.rows()} == {TOPIC}
    before = dict(database.rows)
    more_changes(database)
    follower.send(database)
    report = follower.run()
    deleted = {key: before[key] for key in (2, 5)} if mode == "drop" else {}
    if mode == "drop":
        deleted[7] = {"id": 7, "name": "short", "note": "life"}
    assert follower.by_key() == {**database.rows, **deleted}
    counts = report.keyed[TOPIC]
    if mode != "drop":
        assert (counts.inserted, counts.updated, counts.deleted, counts.without_row) == (2, 2, 2, 1)
    assert counts.incomplete == 0
    everything = WindowRequest(everywhere=(0, 10**9))
    follower.run(window=everything)
    assert follower.by_key() == {**database.rows, **deleted}


@pytest.mark.parametrize(
    "form", ["json", *(pytest.param(form, marks=pytest.mark.long) for form in ("envelopes", "avro"))]
)
def test_windows_of_tombstones_alone(form, spark, tmp_path, registry):
    """Tombstones delete rows though their window has no value, and so no schema but that of earlier windows."""
    stages = [unwrap("rewrite-with-tombstone")]
    database = Database()
    follower = Follower(tmp_path, spark, form_of(form, "postgres", registry), stages)
    database.messages += [(1, None), (2, None)]
    follower.send(database)
    if form == "json":
        assert follower.run().keyed[TOPIC].without_row == 2
    else:
        report = follower.run()  # no record shows a schema, so no table has columns yet
        assert (report.status, [problem.code for problem in report.warnings]) == ("empty", ["SMT724"])
        assert not (tmp_path / "table").exists()
    database.insert(1, "Ann")
    database.insert(2, "Bob")
    follower.send(database)
    follower.run()
    assert follower.by_key() == database.rows
    del database.rows[1]
    database.messages.append((1, None))
    follower.send(database)
    report = follower.run()
    assert report.keyed[TOPIC].deleted == 1
    assert follower.by_key() == database.rows


def test_shards_of_one_table_have_keys_of_their_own(spark, tmp_path):
    """ByLogicalTableRouter adds the shard to the key: rows of two shards with one id are two rows."""
    options = {"topic.regex": r"shop\.(shard\d)\.people", "topic.replacement": "people"}
    route = {"alias": "route", "type": ROUTER, "options": {**options, "key.field.regex": r"shop\.(.*)\.people",
                                                           "key.field.replacement": "$1"}}  # fmt: skip
    follower = Follower(tmp_path, spark, Envelopes("postgres"), [route, unwrap("rewrite-with-tombstone")])
    one, two = Database(), Database()
    one.insert(1, "Ann")
    one.insert(2, "Bob")
    two.insert(1, "Zoe")
    follower.send(one, "shop.shard1.people")
    follower.send(two, "shop.shard2.people")
    follower.run()
    two.delete(1)
    one.update(1, name="Anna", note="n")
    follower.send(one, "shop.shard1.people")
    follower.send(two, "shop.shard2.people")
    counts = follower.run().keyed
    assert (counts["shop.shard1.people"].updated, counts["shop.shard2.people"].deleted) == (1, 1)
    rows = {(row["__dbz__physicalTableIdentifier"], row["id"]): row["name"] for row in follower.rows()}
    assert rows == {("shard1", 1): "Anna", ("shard1", 2): "Bob"}


def test_a_log_position_orders_partitions(spark, tmp_path):
    """A topic got more partitions: the events of a key are in two of them, and the source's position orders them."""
    stages = [unwrap("rewrite", **{"add.fields": "source.lsn:lsn"})]
    follower = Follower(tmp_path, spark, Json("postgres"), stages, sequence_by="__lsn")
    database = Database()
    database.insert(1, "Ann", "n")
    database.insert(2, "Bob", "n")
    follower.send(database, partition=1)
    database.update(1, name="Anna", note="m")
    database.delete(2)
    follower.send(database, partition=0)
    follower.run()
    assert follower.by_key() == database.rows
    follower.run(window=WindowRequest(everywhere=(0, 10**9)))
    assert follower.by_key() == database.rows


def test_placeholders_of_other_texts(spark, tmp_path):
    """``unavailable.value.placeholder`` of the connector may be another text; without one the text is a value."""
    follower = Follower(tmp_path, spark, Json("postgres"), [unwrap("rewrite")], unavailable_value="")
    database = Database()
    database.insert(1, "Ann", "n")
    database.update(1, name="Anna")
    follower.send(database)
    follower.run()
    assert follower.by_key()[1]["note"] == "__debezium_unavailable_value"
    follower.sink = replace(follower.sink, unavailable_value="__debezium_unavailable_value")
    follower.run(rebuild=True)
    assert follower.by_key() == database.rows
