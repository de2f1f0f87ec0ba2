"""InsertField: metadata and fixed texts."""

import pytest

from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.transforms.kafka.insert_field import InsertField
from tests.transforms.helpers import Case, chain_of, check, envelope, record_of, refusal

AT = "{} transforms.t (InsertField$Value): {}"

CASES = (
    Case("topic and offset", {"topic.field": "t", "offset.field": "o"}, "{}", '{"t":"orders","o":42}'),
    Case(
        "partition and timestamp", {"partition.field": "p", "timestamp.field": "ts"}, "{}", '{"p":0,"ts":1556204536123}'
    ),
    Case("an existing field is overwritten", {"static.field": "a", "static.value": "x"}, '{"a":1}', '{"a":"x"}'),
    Case("null passes", {"topic.field": "t"}, "null", "null"),
    Case("the key", {"topic.field": "t"}, "{}", '{"t":"orders"}', shows="key", side="Key"),
    Case(
        "a schema",
        {"topic.field": "t!", "offset.field": "o"},
        envelope("a:int8", '{"a":1}'),
        envelope("a:int8 t:string o:int64?", '{"a":1,"t":"orders","o":42}'),
    ),
    Case(
        "defaults",
        {"topic.field": "t"},
        envelope("a:int8?=3", '{"a":null}'),
        envelope("a:int8?=3 t:string?", '{"a":3,"t":"orders"}'),
    ),
    Case(
        "nulls stay",
        {"topic.field": "t", "replace.null.with.default": "false"},
        envelope("a:int8?=3", '{"a":null}'),
        envelope("a:int8?=3 t:string?", '{"a":null,"t":"orders"}'),
    ),
    refusal(
        "an existing field with a schema",
        {"topic.field": "a"},
        envelope("a:int8", '{"a":1}'),
        AT.format("SMT110", "field 'a' exists already"),
    ),
    refusal(
        "no object",
        {"topic.field": "t"},
        "1",
        AT.format(
            "SMT408", "only an object can be used for [field insertion] without a schema, but this is java.lang.Long"
        ),
    ),
    refusal(
        "no value for the field",
        {"static.field": "s"},
        "{}",
        "SMT014 transforms.t (InsertField$Value) static.field: has no static.value",
    ),
    Case(
        "all five, in this order",
        {
            "static.field": "s",
            "static.value": "x",
            "timestamp.field": "d",
            "offset.field": "c",
            "partition.field": "b",
            "topic.field": "a",
        },
        "{}",
        '{"a":"orders","b":0,"c":42,"d":1556204536123,"s":"x"}',
        touches=("a", "b", "c", "d", "s"),
    ),
    Case(
        "the last of two with one name wins",
        {"topic.field": "a", "static.field": "a", "static.value": "x"},
        "{}",
        '{"a":"x"}',
    ),
    Case("the mark is cut off once", {"static.field": "f?!", "static.value": ""}, "{}", '{"f?":""}', touches=("f?",)),
    Case("the value is trimmed", {"static.field": "a", "static.value": " x "}, "{}", '{"a":"x"}'),
    # with a schema
    Case(
        "metadata and their types",
        {"timestamp.field": "at", "partition.field": "p!", "topic.field": "t?"},
        envelope("a:int8", '{"a":1}'),
        envelope("a:int8 t:string? p:int32 at:Timestamp?", '{"a":1,"t":"orders","p":0,"at":1556204536123}'),
        touches=("t", "p", "at"),
    ),
    Case(
        "name stays, optional does not",
        {"static.field": "s!", "static.value": ""},
        envelope("a:int8", '{"a":1}', optional=True, name="N"),
        envelope("a:int8 s:string", '{"a":1,"s":""}', name="N"),
    ),
    Case(
        "null keeps its schema",
        {"topic.field": "t"},
        envelope("a:int8", "null", optional=True),
        envelope("a:int8", "null", optional=True),
        touches=(),
    ),
    refusal(
        "two with one name",
        {"topic.field": "t", "static.field": "t", "static.value": ""},
        envelope("a:int8", '{"a":1}'),
        AT.format("SMT110", "field 't' exists already"),
    ),
    refusal(
        "a field without a name",
        {"static.field": "!", "static.value": "x"},
        envelope("a:int8", '{"a":1}'),
        AT.format("SMT112", "a field needs a name that is not empty"),
    ),
    refusal(
        "no struct",
        {"topic.field": "t"},
        '{"schema":{"type":"string"},"payload":"x"}',
        AT.format("SMT201", "only a struct can be used for [field insertion], but this is string"),
    ),
    # paths
    Case(
        "into an object",
        {"topic.field": "a.t", "field.syntax.version": "V2"},
        '{"a":{"b":1}}',
        '{"a":{"b":1,"t":"orders"}}',
    ),
    Case(
        "a parent that is missing is left alone",
        {"topic.field": "a.t", "field.syntax.version": "V2", "field.on.missing.parent": "ignore"},
        '{"b":1}',
        '{"b":1}',
        touches=(),
    ),
    Case(
        "a field that exists is left alone",
        {"topic.field": "a.t", "field.syntax.version": "V2", "field.on.existing.field": "ignore"},
        '{"a":{"t":1}}',
        '{"a":{"t":1}}',
        touches=(),
    ),
    Case(
        "a map takes nothing, however strict",
        {"topic.field": "m.t", "field.syntax.version": "V2", "strict_paths": "kafka"},
        envelope("m:map<int8>", '{"m":{"k":1}}'),
        envelope("m:map<int8>", '{"m":{"k":1}}'),
        touches=(),
    ),
    # the configuration
    refusal("nothing to insert", {}, "{}", "SMT014 transforms.t (InsertField$Value): nothing to insert"),
    refusal(
        "a value for nothing", {"static.value": "x"}, "{}", "SMT014 transforms.t (InsertField$Value): nothing to insert"
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_insert_field(case):
    check(InsertField, case)


@pytest.mark.parametrize("options", [{"topic.field": "t!"}, {"topic.field": "m.t!", "field.syntax.version": "V2"}])
def test_a_null_topic_in_a_required_field_is_refused(options):
    """As in Connect's ``Struct.put``, also if the struct around the field is new."""
    record = record_of(envelope("a:int8", '{"a":1}'))
    record.topic = None
    assert Interpreter(chain_of(InsertField, options)).run(record).problem.code == "SMT401"


def test_nothing_is_inserted_or_counted_where_the_struct_around_a_new_struct_is_null():
    record = record_of(envelope("a:{b:int8}?", '{"a":null}'))
    assert Interpreter(chain_of(InsertField, {"topic.field": "a.m.t", "field.syntax.version": "V2"})).run(record)
    assert (record.value, record.touched) == ({"a": None}, 0)
