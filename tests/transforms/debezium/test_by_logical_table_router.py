"""ByLogicalTableRouter: Debezium's own cases (ByLogicalTableRouterTest, the page topic-routing), and the edges."""

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.errors import PlanError
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.schema import Schema, Type
from dagster_smt.transforms.debezium.by_logical_table_router import ByLogicalTableRouter
from dagster_smt.values.json.lazy import whole
from tests.transforms.debezium.events import DELETE, ID, OLD, ROW_NAME, event, event_schema, row_schema, struct, text
from tests.transforms.helpers import Case, chain_of, check, expectation, record_of, refusal, shown

PLACE = "{} transforms.t (ByLogicalTableRouter): {}"
SHARDS = {"topic.regex": "(.*)customers_shard(.*)", "topic.replacement": "$1customers_all_shards"}
BY_SHARD = {**SHARDS, "key.field.name": "shard_id", "key.field.regex": "(.*)customers_shard_(.*)",
            "key.field.replacement": "$2"}  # fmt: skip
ALL = {"topic.regex": "orders", "topic.replacement": "all"}
LOOSE = {**ALL, "key.enforce.uniqueness": "false"}
FIELD = {"field": "shard_id", "type": "string"}


def key(name, *fields, **value):
    return text(row_schema(ID, *fields, name=name), {"id": 123, **value})


def event_of(name, **changes):
    row = row_schema(optional=True, name=f"{name}.Value")
    return event("d", OLD, None, schema=event_schema(row, name=f"{name}.Envelope"), **changes)


UNLIKE = event_schema(row_schema(optional=True), row_schema(ID, ROW_NAME, FIELD, optional=True))
NULLS = row_schema({**ID, "optional": True, "default": 0}, optional=True)
CASES = (
    Case("another topic", SHARDS, "a.customers", "a.customers", shows="topic", touches=()),
    Case("a topic of nothing", {"topic.regex": "(x?)orders", "topic.replacement": "$1"}, "orders", "orders",
         shows="topic", touches=()),
    Case("the first find is replaced", {"topic.regex": "or|orders", "topic.replacement": "x"}, "orders", "xders",
         shows="topic"),
    Case("no key", SHARDS, "s.customers_shard1", "s.customers_all_shards", shows="topic",
         touches=(SHARDS["topic.regex"],)),
    Case("a key", {**ALL, "key.field.name": "shard_id"}, key("k"), key("all.Key", FIELD, shard_id="orders"),
         shows="key", touches=("orders", "shard_id")),
    Case("a key, without the field", LOOSE, key("k"), key("all.Key"), shows="key", touches=("orders",)),
    Case("names for Avro", {"topic.regex": "orders", "topic.replacement": "my-all.x", "key.enforce.uniqueness": "false",
                            "schema.name.adjustment.mode": "avro", "logical.table.cache.size": "1"},
         key("k"), key("my_all.x.Key"), shows="key"),
    Case("an event", ALL, DELETE, event_of("all")),
    Case("nulls of rows stay", ALL,
         event("c", {"id": None}, {"id": None}, schema=event_schema(NULLS)),
         event("c", {"id": None}, {"id": None},
               schema=event_schema({**NULLS, "name": "all.Value"}, name="all.Envelope"))),
    Case("nulls of keys stay", LOOSE, text({**NULLS, "name": "k"}, {"id": None}),
         text({**NULLS, "name": "all.Key"}, {"id": None}), shows="key"),
    Case("a null key loses its schema", ALL, text({**row_schema(ID, name="k"), "optional": True}, None), "null",
         shows="key", touches=("orders",)),
    Case("another struct", ALL, text(row_schema(), OLD), text(row_schema(), OLD)),
    Case("no schema", ALL, '{"a":1}', '{"a":1}', touches=("orders",)),
    refusal("a text as the key", ALL, text({"type": "string"}, "k"),
            PLACE.format("SMT201", "only a struct can be used for [routing by logical table], but this is string"),
            shows="key"),
    refusal("a key without schema", ALL, '{"id":1}',
            PLACE.format("SMT482", "the key has no schema, but [routing by logical table] needs one"), shows="key"),
    refusal("the field is there", {**ALL, "key.field.name": "id"}, key("k"),
            PLACE.format("SMT111", "two fields would be named 'id'"), shows="key"),
    refusal("no rows", ALL, text(struct({}, "x.Envelope"), {}),
            PLACE.format("SMT470", "a change event has no field 'before'")),
    refusal("rows that differ", ALL, event("c", None, OLD, schema=UNLIKE),
            PLACE.format("SMT472", "the rows before and after the change have different schemas")),
    refusal("no such group", {"topic.regex": "orders", "topic.replacement": "$2"}, "null",
            PLACE.format("SMT406", "the replacement cannot be used: there is no group 2")),
    refusal("no regex", {"topic.regex": " ", "topic.replacement": "x"}, "null",
            "SMT014 transforms.t (ByLogicalTableRouter) topic.regex: the text is empty"),
    refusal("no replacement", {"topic.regex": "x", "topic.replacement": ""}, "null",
            "SMT014 transforms.t (ByLogicalTableRouter) topic.replacement: the text is empty"),
    refusal("no replacement for the key", {**ALL, "key.field.regex": "x", "key.field.replacement": ""}, "null",
            "SMT014 transforms.t (ByLogicalTableRouter) key.field.replacement: the text is empty"),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_by_logical_table_router(case):
    check(ByLogicalTableRouter, case)


@pytest.mark.parametrize("value", ["null", text(row_schema(), OLD), DELETE], ids=["tombstone", "row", "event"])
def test_every_topic_has_names_and_values_of_its_own(value):
    """Debezium's testEvents and testKeyEnforcement; its memory of schemas is not copied (decision 13)."""
    interpreter = Interpreter(chain_of(ByLogicalTableRouter, BY_SHARD))
    for base in ("a", "b"):
        for number in ("1", "2"):
            record, source = record_of(value), record_of(key("k"), "key")
            record.key_schema, record.key = source.key_schema, source.key
            record.topic = f"{base}.customers_shard_{number}"
            assert interpreter.run(record).status == 0
            name = f"{base}.customers_all_shards"
            assert record.topic == name
            assert shown(record, "key") == expectation(key(f"{name}.Key", FIELD, shard_id=number), "key")
            after = event_of(name) if value == DELETE else value
            assert shown(record, "value") == expectation(after, "value")


def test_a_value_without_schema_beside_a_key_with_one():
    record, source = record_of('{"a":1}'), record_of(key("k"), "key")
    record.key_schema, record.key = source.key_schema, source.key
    before = record.topic
    assert Interpreter(chain_of(ByLogicalTableRouter, ALL)).run(record).problem is None
    assert record.topic != before
    assert record.key_schema.name == f"{record.topic}.Key"
    assert record.key[ByLogicalTableRouter.model_fields["key_field_name"].default] == before
    assert (record.value_schema, whole(record.value)) == (None, {"a": 1})


def test_a_topic_that_each_record_says_decides_about_columns():
    chain = parse_chain(
        {
            "transforms": "topic,router",
            "transforms.topic.type": "io.confluent.connect.transforms.ExtractTopic$Key",
            "transforms.router.type": ByLogicalTableRouter.connect_class,
            "transforms.router.topic.regex": "(.*)_shard",
            "transforms.router.topic.replacement": "$1",
        }
    )
    with pytest.raises(PlanError, match=r"SMT476 .*router.*: the schema of each record depends on its topic"):
        plan_chain(chain, Schema(Type.STRING), Schema(Type.BOOLEAN), topics=("orders",), typed=True)
