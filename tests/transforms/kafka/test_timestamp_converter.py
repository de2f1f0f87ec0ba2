"""TimestampConverter: fields and whole values, with and without schema."""

import json

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.errors import PlanError
from dagster_smt.model.schema import INT32, Schema, Type
from dagster_smt.transforms.kafka.timestamp_converter import TimestampConverter
from tests.transforms.helpers import Case, chain_of, check, envelope, refusal

AT = "{} transforms.t (TimestampConverter$Value): {}"
TIMESTAMP = '{"type":"int64","optional":%s,"name":"org.apache.kafka.connect.data.Timestamp","version":1%s}'


def typed(field, payload, **top):
    """An envelope of a struct with the one field ``f``, given by its schema as text."""
    schema = {"type": "struct", "fields": [{**json.loads(field), "field": "f"}], "optional": False, **top}
    return json.dumps({"schema": schema, "payload": payload})


DATE = {"field": "f", "target.type": "Date"}
TEXT = {"field": "f", "target.type": "string", "format": "yyyy-MM-dd"}
UNIX = {"field": "f", "target.type": "unix"}
CASES = (
    Case("unix to text", TEXT, '{"f":86400000,"g":1}', '{"f":"1970-01-02","g":1}'),
    Case("text to text", TEXT, '{"f":"2020-13-45"}', '{"f":"2021-02-14"}'),
    Case("text to unix", {**TEXT, "target.type": "unix"}, '{"f":"1582-10-04"}', '{"f":-12219379200000}'),
    Case("far ahead", TEXT, '{"f":253402300800000}', '{"f":"10000-01-01"}'),
    Case("null", TEXT, '{"f":null}', '{"f":null}'),
    Case("a missing field", TEXT, '{"a":1}', '{"a":1,"f":null}'),
    Case("a null record", TEXT, "null", "null"),
    Case("the whole value", {"target.type": "string", "format": "yyyy"}, "0", '"1970"'),
    Case("the whole null", {"target.type": "string", "format": "yyyy"}, "null", "null"),
    Case("the key", UNIX, '{"f":5}', '{"f":5}', shows="key", side="Key"),
    Case("seconds", {**TEXT, "unix.precision": "seconds"}, '{"f":86400}', '{"f":"1970-01-02"}'),
    Case(
        "a nested field",
        {**TEXT, "field": "a.f", "field.syntax.version": "V2"},
        '{"a":{"f":0},"f":0}',
        '{"a":{"f":"1970-01-01"},"f":0}',
    ),
    Case("no such nested field", {**TEXT, "field": "a.f", "field.syntax.version": "V2"}, '{"a":{}}', '{"a":{}}'),
    Case(
        "a schema",
        TEXT,
        envelope("f:int64?=0 g:int8", '{"f":86400000,"g":1}'),
        envelope("f:string? g:int8", '{"f":"1970-01-02","g":1}'),
    ),
    Case("a default", UNIX, typed(TIMESTAMP % ("true", ',"default":7'), {"f": None}), envelope("f:int64?", '{"f":7}')),
    Case(
        "no default",
        {**UNIX, "replace.null.with.default": "false"},
        typed(TIMESTAMP % ("true", ',"default":7'), {"f": None}),
        envelope("f:int64?", '{"f":null}'),
    ),
    Case(
        "the name of the struct stays",
        UNIX,
        typed(TIMESTAMP % ("false", ""), {"f": 5}, name="N"),
        envelope("f:int64", '{"f":5}', name="N"),
    ),
    Case(
        "a null struct gets the new schema",
        UNIX,
        typed(TIMESTAMP % ("false", ""), None, optional=True),
        envelope("f:int64", "null", optional=True),
    ),
    Case(
        "a null struct is spared the refusal",
        UNIX,
        typed('{"type":"int32","optional":false}', None, optional=True),
        envelope("f:int64", "null", optional=True),
    ),
    Case(
        "a nested field with schema",
        {**UNIX, "field": "f.t", "field.syntax.version": "V2"},
        typed(
            f'{{"type":"struct","optional":true,"fields":[{(TIMESTAMP % ("false", ""))[:-1]},"field":"t"}}]}}',
            {"f": {"t": 5}},
        ),
        typed(
            '{"type":"struct","optional":true,"fields":[{"type":"int64","optional":false,"field":"t"}]}',
            {"f": {"t": 5}},
        ),
    ),
    Case("a missing field with schema", UNIX, envelope("a:int8", '{"a":1}'), envelope("a:int8", '{"a":1}')),
    refusal("no timestamp", TEXT, '{"f":1.5}', AT.format("SMT424", "java.lang.Double is not a timestamp")),
    refusal(
        "no timestamp with schema",
        TEXT,
        envelope("f:int32?", '{"f":null}'),
        AT.format("SMT211", "int32? is not a timestamp"),
    ),
    refusal(
        "a text of another form",
        TEXT,
        '{"f":"nope"}',
        AT.format("SMT420", "the text does not match the date pattern 'yyyy-MM-dd'"),
    ),
    refusal(
        "a text, but no format",
        UNIX,
        '{"f":"x"}',
        AT.format("SMT421", "a string cannot be read as a timestamp without a pattern"),
    ),
    refusal(
        "no object",
        UNIX,
        "1",
        AT.format(
            "SMT408",
            "only an object can be used for [converting timestamp formats] without a schema, "
            "but this is java.lang.Long",
        ),
    ),
    refusal(
        "no format for text",
        {"field": "f", "target.type": "string"},
        "{}",
        "SMT014 transforms.t (TimestampConverter$Value) format: is required for target.type=string",
    ),
    refusal(
        "another precision",
        {**UNIX, "unix.precision": "minutes"},
        "{}",
        "SMT013 transforms.t (TimestampConverter$Value) unix.precision: "
        "must be one of: nanoseconds, microseconds, milliseconds, seconds",
    ),
    refusal(
        "a name step into a map, as in Kafka",
        {"field": "m.k", "field.syntax.version": "V2", "strict_paths": "kafka", "target.type": "unix"},
        envelope("m:map<int8>", '{"m":{"k":1}}'),
        AT.format("SMT202", "'k' is a step into a map"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_timestamp_converter(case):
    check(TimestampConverter, case)


def test_a_whole_value_of_another_type_is_refused_when_planning():
    with pytest.raises(PlanError) as caught:
        plan_chain(chain_of(TimestampConverter, {"target.type": "unix"}), None, INT32, typed=True)
    assert caught.value.problems[0].code == "SMT211"


def test_dates_of_one_stage_are_read_by_the_next():
    stages = [
        {"alias": "a", "type": "TimestampConverter$Value", "options": DATE},
        {"alias": "b", "type": "TimestampConverter$Value", "options": UNIX},
    ]
    plan = plan_chain(parse_chain(stages), None, Schema(Type.STRUCT, fields=(("f", Schema(Type.INT64)),)), typed=True)
    assert plan.after.by_name["f"].label == "int64"
    assert plan.lineage == {"f": ("value.f",)}
