"""ValueToKey: a key from fields of the value."""

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.transforms.kafka.value_to_key import ValueToKey
from dagster_smt.values.json.lazy import look
from tests.transforms.helpers import Case, chain_of, check, envelope, expectation, record_of, refusal, shown

AT = "{} transforms.t (ValueToKey): {}"
TO_KEY = {"shows": "key", "input_part": "value"}

CASES = (
    Case("without a schema a missing field is null", {"fields": "b,a"}, '{"a":1,"x":2}', '{"b":null,"a":1}', **TO_KEY),
    Case("what is inside a field comes along", {"fields": "n"}, '{"n":{"x":[1.0]}}', '{"n":{"x":[1.0]}}', **TO_KEY),
    Case("the value stays", {"fields": "a"}, '{"a":1,"x":2}', '{"a":1,"x":2}'),
    Case(
        "a schema",
        {"fields": "b,a"},
        envelope("a:int8 b:string?", '{"a":1,"b":"x"}', name="N"),
        envelope("b:string? a:int8", '{"b":"x","a":1}'),
        **TO_KEY,
    ),
    Case("defaults", {"fields": "a"}, envelope("a:int8?=3", '{"a":null}'), envelope("a:int8?=3", '{"a":3}'), **TO_KEY),
    Case(
        "nulls stay",
        {"fields": "a", "replace.null.with.default": "false"},
        envelope("a:int8?=3", '{"a":null}'),
        envelope("a:int8?=3", '{"a":null}'),
        **TO_KEY,
    ),
    refusal(
        "a missing field with a schema",
        {"fields": "b"},
        envelope("a:int8", '{"a":1}'),
        AT.format("SMT102", "there is no field 'b'"),
    ),
    refusal(
        "null",
        {"fields": "a"},
        "null",
        AT.format("SMT402", "a null key or value cannot be used for [copying fields from value to key]"),
    ),
    refusal(
        "no object",
        {"fields": "a"},
        "1",
        AT.format(
            "SMT408",
            "only an object can be used for [copying fields from value to key] without a schema, "
            "but this is java.lang.Long",
        ),
    ),
    refusal(
        "a field twice", {"fields": "a,a"}, "{}", "SMT013 transforms.t (ValueToKey) fields: the list has an item twice"
    ),
    refusal(
        "a name step into a map, as in Kafka",
        {"fields": "m.k", "field.syntax.version": "V2", "strict_paths": "kafka"},
        envelope("m:map<int8>", '{"m":{"k":1}}'),
        AT.format("SMT202", "'m' in 'm.k' is map<string,int8>, not a struct"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_value_to_key(case):
    check(ValueToKey, case)


@pytest.mark.parametrize(
    ("key", "value", "wants"),
    [
        ('{"old":1}', envelope("a:int8", '{"a":1}'), envelope("a:int8", '{"a":1}')),
        (envelope("old:int8", '{"old":1}'), '{"a":1}', '{"a":1}'),
        ("null", envelope("a:int8", '{"a":1}'), envelope("a:int8", '{"a":1}')),
    ],
    ids=["schema in the value only", "schema in the key only", "no key"],
)
def test_the_form_of_the_value_decides(key, value, wants):
    record, other = record_of(value), record_of(key, "key")
    record.key_schema, record.key = other.key_schema, other.key
    assert Interpreter(chain_of(ValueToKey, {"fields": "a"})).run(record).status == 0
    assert shown(record, "key") == expectation(wants, "key")
    assert shown(record, "value") == expectation(value, "value")


def test_key_and_value_share_nothing_that_a_later_stage_could_change():
    properties = {"transforms": "k,m", "transforms.k.type": ValueToKey.connect_class, "transforms.k.fields": "n"}
    properties |= {
        "transforms.m.type": "org.apache.kafka.connect.transforms.MaskField$Key",
        "transforms.m.fields": "n.x",
    }
    record = record_of('{"n":{"x":"secret"}}')
    look(record.value, "n")
    interpreter = Interpreter(parse_chain(properties | {"transforms.m.field.syntax.version": "V2"}))
    assert interpreter.run(record).status == 0
    assert shown(record, "key") == expectation('{"n":{"x":""}}', "key")
    assert shown(record, "value") == expectation('{"n":{"x":"secret"}}', "value")
