"""What a hint says is done, and the problem is gone: what is wrong, a word of the hint, the same with that done."""

import pytest

from dagster_smt import DeltaSink, FileTopics, KafkaTopics, TopicTable
from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.dead_paths import refuse_dead_paths
from dagster_smt.errors import SmtError
from dagster_smt.interpret.interpreter import Interpreter
from tests.chain.helpers import ORDERS, chain_of, stage
from tests.transforms.helpers import envelope, record_of

KAFKA = "org.apache.kafka.connect.transforms."
MASK = {"transforms": "m", "transforms.m.type": KAFKA + "MaskField$Value", "transforms.m.fields": "name"}
ROUTE = {"transforms": "m", "transforms.m.type": KAFKA + "RegexRouter", "transforms.m.replacement": "x"}
TOMBSTONE = {"predicates": "p", "predicates.p.type": KAFKA + "predicates.RecordIsTombstone"}
DATE = {
    "transforms": "m",
    "transforms.m.type": KAFKA + "TimestampConverter$Value",
    "transforms.m.field": "name",
    "transforms.m.target.type": "unix",
    "transforms.m.format": "yyyy",
}
ONE = {"alias": "m", "type": "MaskField$Value", "options": {"fields": ["name"]}}


def without(properties, name):
    return {key: value for key, value in properties.items() if key != name}


CHAINS = [
    ("SMT001", "x", "docs/chains.md", MASK),
    ("SMT001", ["x"], "alias, type and options", [ONE]),
    ("SMT004", without(MASK, "transforms"), "transforms=", MASK),
    ("SMT005", MASK | {"transforms": "m,m"}, "two names", MASK),
    ("SMT006", MASK | {"transforms": "m,,"}, "extra comma", MASK),
    ("SMT007", MASK | {"transforms.n.type": KAFKA + "Filter"}, "add it to transforms",
     MASK | {"transforms": "m,n", "transforms.n.type": KAFKA + "Filter"}),
    ("SMT008", [ONE | {"options": "x"}], "name: value", [ONE]),
    ("SMT008", [ONE | {"fields": "name"}], "below 'options'", [ONE]),
    ("SMT009", without(MASK, "transforms.m.type"), "set the class", MASK),
    ("SMT010", MASK | {"transforms.m.type": KAFKA + "MaskFeild$Value"}, "MaskField", MASK),
    ("SMT010", MASK | {"transforms.m.type": KAFKA + "MaskField"}, "MaskField$Value", MASK),
    ("SMT012", without(MASK, "transforms.m.fields"), "required", MASK),
    ("SMT013", ROUTE | {"transforms.m.regex": "("}, "", ROUTE | {"transforms.m.regex": "(a)"}),
    ("SMT013", DATE | {"transforms.m.format": "yyyy-bb"}, "", DATE),
    ("SMT014", MASK | {"transforms.m.fields": "`a", "transforms.m.field.syntax.version": "V2"}, "",
     MASK | {"transforms.m.fields": "`a`", "transforms.m.field.syntax.version": "V2"}),
    ("SMT014", {"transforms": "m", "transforms.m.type": KAFKA + "InsertField$Value"}, "topic.field",
     {"transforms": "m", "transforms.m.type": KAFKA + "InsertField$Value", "transforms.m.topic.field": "t"}),
    ("SMT301", MASK | {"transforms.m.predicate": "p"}, "predicates",
     MASK | {"transforms.m.predicate": "p"} | TOMBSTONE),
    ("SMT302", MASK | {"transforms.m.negate": "true"}, "remove negate", MASK),
    ("SMT302", MASK | {"transforms.m.negate": "true"}, "name the predicate",
     MASK | {"transforms.m.negate": "true", "transforms.m.predicate": "p"} | TOMBSTONE),
    ("SMT309", MASK | {"dead.paths": "no"}, "warn", MASK | {"dead.paths": "warn"}),
]  # fmt: skip
PLANS = [
    ("SMT102", [stage("ExtractField$Value", field="nam")], "name", [stage("ExtractField$Value", field="name")]),
    ("SMT110", [stage("InsertField$Value", topic_field="id")], "another name",
     [stage("InsertField$Value", topic_field="topic")]),
    ("SMT110", [stage("InsertField$Value", topic_field="id")], "rename the old field first",
     [stage("ReplaceField$Value", renames="id:former"), stage("InsertField$Value", topic_field="id")]),
    ("SMT111", [stage("ReplaceField$Value", renames="id:name")], "drop one of them",
     [stage("ReplaceField$Value", renames="id:name", exclude="name")]),
    ("SMT112", [stage("HoistField$Value", field="")], "name the field", [stage("HoistField$Value", field="row")]),
    ("SMT201", [stage("ExtractField$Value", field="name"), stage("MaskField$Value", fields="x")], "",
     [stage("MaskField$Value", fields="name"), stage("ExtractField$Value", field="name")]),
    ("SMT303", [stage("ReplaceField$Value", renames="name:title"), stage("MaskField$Value", fields="name")], "new name",
     [stage("ReplaceField$Value", renames="name:title"), stage("MaskField$Value", fields="title")]),
    ("SMT303", [stage("ReplaceField$Value", renames="name:title"), stage("MaskField$Value", fields="name")], "before",
     [stage("MaskField$Value", fields="name"), stage("ReplaceField$Value", renames="name:title")]),
    ("SMT303", [stage("MaskField$Value", fields="nmae")], "name", [stage("MaskField$Value", fields="name")]),
    ("SMT406", [stage("RegexRouter", regex="(o).*", replacement="$2")], "$1",
     [stage("RegexRouter", regex="(o).*", replacement="$1")]),
    ("SMT406", [stage("RegexRouter", regex="(o).*", replacement="x$")], "\\$",
     [stage("RegexRouter", regex="(o).*", replacement="x\\$")]),
]  # fmt: skip
FREE = [
    ("SMT305", [stage("MaskField$Value", fields="**.email")], "extended",
     [stage("MaskField$Value", fields="**.email", field_syntax_version="extended")]),
    ("SMT305", [stage("MaskField$Value", fields="items[*].sku", field_syntax_version="V2")], "extended",
     [stage("MaskField$Value", fields="items[*].sku", field_syntax_version="extended")]),
]  # fmt: skip
NULL = "null"
OF_ORDERS = {"name": "o", "type": "TopicNameMatches", "options": {"pattern": "orders"}}
RECORDS = [
    ("SMT402", [stage("MaskField$Value", fields="a")], NULL, "RecordIsTombstone",
     [stage("MaskField$Value", fields="a", unless={"name": "t", "type": "RecordIsTombstone"})]),
    ("SMT408", [stage("MaskField$Value", fields="a")], "[1]", "predicate",
     [stage("MaskField$Value", fields="a", unless=OF_ORDERS)]),
    ("SMT403", [stage("MaskField$Value", fields="a")], envelope("a:{b:int32}", '{"a":{"b":1}}'), "mask its fields",
     [stage("MaskField$Value", fields="a.b", field_syntax_version="V2")]),
    ("SMT403", [stage("MaskField$Value", fields="a")], envelope("a:{b:int32}", '{"a":{"b":1}}'), "ReplaceField exclude",
     [stage("ReplaceField$Value", exclude="a")]),
    ("SMT404", [stage("Cast$Value", spec="a:int32")], '{"a":"n/a"}', "",
     [stage("ReplaceField$Value", exclude="a")]),
    ("SMT420", [stage("TimestampConverter$Value", field="a", target_type="unix", format="yyyy")], '{"a":"x"}', "",
     [stage("ReplaceField$Value", exclude="a")]),
    ("SMT421", [stage("TimestampConverter$Value", field="a", target_type="unix")], '{"a":"2026"}', "format",
     [stage("TimestampConverter$Value", field="a", target_type="unix", format="yyyy")]),
    ("SMT424", [stage("TimestampConverter$Value", field="a", target_type="unix")], '{"a":1.5}', "whole number",
     [stage("Cast$Value", spec="a:int64"), stage("TimestampConverter$Value", field="a", target_type="unix")]),
]  # fmt: skip
TOPICS = FileTopics("unused")
KAFKA_TOPICS = KafkaTopics("127.0.0.1:1")
WITH = "WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'h:1', 'format' = '%s')"


def statement(columns, form="json"):
    return lambda: TopicTable.create(f"CREATE TABLE t ({columns}) " + WITH % form)


TABLES = [
    ("SMT251", statement("a INTT"), "", statement("a INT")),
    ("SMT260", statement("a INT, a INT"), "its own name", statement("a INT, b INT")),
    ("SMT263", statement("a INT, o BIGINT METADATA FROM 'ofset'"), "offset",
     statement("a INT, o BIGINT METADATA FROM 'offset'")),
    ("SMT570", lambda: DeltaSink(), "path", lambda: DeltaSink("table")),
    ("SMT570", lambda: DeltaSink(), "table", lambda: DeltaSink(table="lake.orders")),
    ("SMT584", lambda: TopicTable(TOPICS, ("t",), on_data_loss="no"), "fail or gap",
     lambda: TopicTable(TOPICS, ("t",), on_data_loss="gap")),
    ("SMT584", lambda: TopicTable(TOPICS, ("t",), push_down="no"), "exact",
     lambda: TopicTable(TOPICS, ("t",), push_down="exact")),
    ("SMT584", lambda: TopicTable(TOPICS, ("t",), start="no"), "2026-01-31T12:00:00Z",
     lambda: TopicTable(TOPICS, ("t",), start="2026-01-31T12:00:00Z")),
    ("SMT584", lambda: TopicTable(TOPICS, ("t",), start="no"), "group:NAME",
     lambda: TopicTable(KAFKA_TOPICS, ("t",), start="group:orders")),
]  # fmt: skip


def problems(call):
    """The problems that a call has: (code, hint)."""
    try:
        call()
    except SmtError as error:
        return [(problem.code, problem.hint) for problem in error.problems]
    return []


def follow(code, word, wrong, mended):
    hints = dict(problems(wrong))
    assert code in hints and word in hints[code], hints
    assert problems(mended) == []


@pytest.mark.parametrize(("code", "wrong", "word", "mended"), CHAINS)
def test_hints_about_chains(code, wrong, word, mended):
    follow(code, word, lambda: parse_chain(wrong), lambda: parse_chain(mended))


def plan(stages, schema):
    refuse_dead_paths(plan_chain(chain_of(*stages), None, schema, typed=schema is not None, topics=("orders",)))


@pytest.mark.parametrize(("code", "wrong", "word", "mended"), PLANS)
def test_hints_about_plans(code, wrong, word, mended):
    follow(code, word, lambda: plan(wrong, ORDERS), lambda: plan(mended, ORDERS))


@pytest.mark.parametrize(("code", "wrong", "word", "mended"), FREE)
def test_hints_about_plans_without_a_schema(code, wrong, word, mended):
    follow(code, word, lambda: plan(wrong, None), lambda: plan(mended, None))


@pytest.mark.parametrize(("code", "wrong", "text", "word", "mended"), RECORDS)
def test_hints_about_records(code, wrong, text, word, mended):
    problem = Interpreter(chain_of(*wrong)).run(record_of(text)).problem
    assert problem is not None and (problem.code, word in problem.hint) == (code, True), problem
    assert Interpreter(chain_of(*mended)).run(record_of(text)).problem is None


@pytest.mark.parametrize(("code", "wrong", "word", "mended"), TABLES)
def test_hints_about_tables(code, wrong, word, mended):
    follow(code, word, wrong, mended)


def test_a_hint_that_leads_nowhere_is_noticed():
    with pytest.raises(AssertionError):
        follow("SMT110", "another name", lambda: plan(PLANS[1][1], ORDERS), lambda: plan(PLANS[1][1], ORDERS))
