"""ExtractTimestamp: the record's timestamp. The sources are Aiven's ExtractTimestampTest and the class."""

import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.transforms.aiven.extract_timestamp import ExtractTimestamp
from tests.transforms.helpers import chain_of, envelope, record_of

AT = {"field.name": "at"}
SECONDS = AT | {"timestamp.resolution": "seconds"}
NULL = "a null key or value cannot be used for [extract the timestamp]"
LONG = 2**63 - 1
MAP = '{"schema":{"type":"map","keys":{"type":"string"},"values":{"type":"int64"}},"payload":%s}'

# title, options, value, timestamp or problem
CASES = (
    # ExtractTimestampTest
    ("milliseconds", AT, '{"at":11363151277}', 11363151277),
    ("milliseconds, said so", AT | {"timestamp.resolution": "milliseconds"}, '{"at":1605402123000}', 1605402123000),
    ("seconds", SECONDS, '{"at":1605402123}', 1605402123000),
    ("milliseconds, with a schema", AT, envelope("at:int64", '{"at":11363151277}'), 11363151277),
    ("an optional field", AT, envelope("at:int64?", '{"at":11363151277}'), 11363151277),
    ("seconds, with a schema", SECONDS, envelope("at:int64", '{"at":1605402123}'), 1605402123000),
    ("a Timestamp", AT, envelope("at:Timestamp", '{"at":1605402123000}'), 1605402123000),
    ("a Timestamp, whatever the unit", SECONDS, envelope("at:Timestamp", '{"at":1605402123000}'), 1605402123000),
    ("no object", AT, "123", "SMT408 only an object can be used for [extract the timestamp]"),
    ("no struct", AT, '{"schema":{"type":"int8"},"payload":123}', "SMT201 only a struct can be used"),
    ("a null", AT, "null", f"SMT402 {NULL}"),
    ("a null with a schema", AT, envelope("at:int64", "null", optional=True), f"SMT402 {NULL}"),
    ("no such field", AT, "{}", "SMT451 the field 'at' is null"),
    ("no such field in the schema", AT, envelope("x:int64", '{"x":1}'), "SMT102 there is no field 'at'"),
    ("a null field", AT, '{"at":null}', "SMT451 the field 'at' is null"),
    ("a null field with a schema", AT, envelope("at:int64?", '{"at":null}'), "SMT451 the field 'at' is null"),
    ("a text", AT, '{"at":"aaa"}', "SMT452 only int64 or a date can be a timestamp, but the field 'at' is string"),
    ("a text with a schema", AT, envelope("at:string", '{"at":"aaa"}'), "SMT452 only int64 or a date can be a"),
    # ExtractTimestamp: java.util.Date.getTime, java.lang.Long, Struct.get, TimeUnit.toMillis
    ("a Date", SECONDS, envelope("at:Date", '{"at":2}'), 172800000),
    ("a Time", SECONDS, envelope("at:Time", '{"at":5}'), 5),
    ("a map with a schema", SECONDS, MAP % '{"at":2}', 2000),
    ("a map without the key", AT, MAP % '{"x":2}', "SMT451 the field 'at' is null"),
    ("a default", AT, envelope("at:int64?=7", '{"at":null}'), 7),
    ("negative", SECONDS, '{"at":-1}', -1000),
    ("int32", AT, envelope("at:int32", '{"at":1}'), "SMT452 only int64 or a date can be a timestamp, but the field"),
    ("a fraction", AT, '{"at":1.0}', "SMT452 only int64 or a date can be a timestamp, but the field 'at' is double"),
    ("a dot is part of the name", {"field.name": "a.b"}, '{"a.b":1,"a":{"b":2}}', 1),
    # ours
    ("beyond Spark", SECONDS, f'{{"at":{LONG}}}', "SMT422 the instant is out of the range of Spark's Timestamp"),
)  # fmt: skip


@pytest.mark.parametrize(("title", "options", "text", "after"), CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("side", ["key", "value"])
def test_extract_timestamp(title, options, text, after, side):
    record = record_of(text, side)
    before = getattr(record, side)
    outcome = Interpreter(chain_of(ExtractTimestamp, options, side.capitalize())).run(record)
    if isinstance(after, int):
        assert (outcome.problem, record.timestamp) == (None, after)
        assert getattr(record, side) == before
        assert record.touched == 1
    else:
        assert f"{outcome.problem.code} {outcome.problem.statement}".startswith(after)
        assert outcome.problem.connect_class == "org.apache.kafka.connect.errors.DataException" or "SMT422" in after
        assert record.timestamp == 1556204536123


def test_the_next_stage_sees_it():
    """A later stage reads the new timestamp, also when the field it came from has gone."""
    from dagster_smt.chain import parse_chain

    properties = {"transforms": "t,gone,shown", "transforms.t.type": ExtractTimestamp.connect_class + "$Value",
                  "transforms.t.field.name": "at",
                  "transforms.gone.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
                  "transforms.gone.exclude": "at",
                  "transforms.shown.type": "org.apache.kafka.connect.transforms.InsertField$Value",
                  "transforms.shown.timestamp.field": "shown"}  # fmt: skip
    record = record_of(envelope("at:int64", '{"at":5}'))
    Interpreter(parse_chain(properties)).run(record)
    assert record.value == {"shown": 5}


REFUSED = (
    ({}, "the option 'field.name' is missing"),
    ({"field.name": ""}, "the text is empty"),
    (AT | {"timestamp.resolution": "foo"}, "must be one of: milliseconds, seconds"),
)


@pytest.mark.parametrize(("options", "problem"), REFUSED)
def test_configuration(options, problem):
    with pytest.raises(ConfigError, match=problem):
        chain_of(ExtractTimestamp, options)
