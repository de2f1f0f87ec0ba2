"""MessageTimestampRouter: the topic by a field of the value. The source is Confluent's documentation (docs).

What SimpleDateFormat reads and writes is tested with TimestampConverter.
"""

import pytest

from dagster_smt.transforms.confluent.message_timestamp_router import MessageTimestampRouter
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (MessageTimestampRouter): {}"
OF = "{} transforms.t (MessageTimestampRouter) {}: {}"
TO = {"shows": "topic", "input_part": "value"}
KEYS = {"message.timestamp.format": "yyyy-MM-dd", "message.timestamp.keys": "timestamp,time,ts"}
DOCS = KEYS | {"topic.format": "foo-${topic}-${timestamp}", "topic.timestamp.format": "yyyy.MM.dd"}
HOURS = {
    "message.timestamp.format": "yyyy-MM-dd'T'HH:mm:ssX",
    "message.timestamp.keys": "ts",
    "topic.timestamp.format": "yyyyMMddHH",
}
NONE = AT.format("SMT462", "none of the fields 'timestamp', 'time', 'ts' holds a timestamp")
NULL = AT.format("SMT402", "a null key or value cannot be used for [route by a timestamp in the message]")
NO_TEXT = "the field 'ts' is {}, but it must be a string with a timestamp"
TYPED = "only a value without a schema can be used for [route by a timestamp in the message], but this is {}"


def topic(title, options, before, after, **more):
    return Case(title, options, before, after, **TO, **more)


CASES = (
    # docs: the example; the order of the keys counts, not that of the fields
    topic("the example", DOCS, '{"time":"2019-08-06"}', "foo-orders-2019.08.06",
          touches=("foo-${topic}-${timestamp}",)),
    topic("the first key counts", DOCS, '{"ts":"2021-01-01","timestamp":"2020-01-01"}', "foo-orders-2020.01.01"),
    # docs and Apache's TimestampRouter: the defaults
    topic("the defaults", KEYS, '{"ts":"2019-08-06","n":1.0}', "orders-20190806"),
    topic("no placeholder", KEYS | {"topic.format": "all"}, '{"ts":"2019-08-06"}', "all"),
    # docs: the value must be a Map
    refusal("a struct", KEYS, envelope("ts:string", '{"ts":"2019-08-06"}'), AT.format("SMT461", TYPED.format("struct")),
            **TO),
    refusal("a text with a schema", KEYS, '{"schema":{"type":"string"},"payload":"x"}',
            AT.format("SMT461", TYPED.format("string")), **TO),
    refusal("null", KEYS, "null", NULL, **TO),
    refusal("a null struct", KEYS, envelope("ts:string", "null", optional=True), NULL, **TO),
    refusal("a text", KEYS, '"2019-08-06"', AT.format(
        "SMT408", "only an object can be used for [route by a timestamp in the message] without a schema, but this is "
        "java.lang.String"), **TO),
    # use: a configuration whose pattern has names and a zone
    topic("names and a zone", {"message.timestamp.format": "EEE MMM dd HH:mm:ss zzz yyyy",
                               "message.timestamp.keys": "txn_date", "topic.format": "${topic}_${timestamp}",
                               "topic.timestamp.format": "yyyy-MM-dd"},
          '{"txn_date":"Fri Feb 28 23:30:00 EST 2020"}', "orders_2020-02-29"),
    # SimpleDateFormat, in UTC
    topic("an offset", HOURS, '{"ts":"2019-08-06T01:30:00+02"}', "orders-2019080523"),
    topic("text at the end", KEYS, '{"ts":"2019-08-06 and so on"}', "orders-20190806"),
    refusal("another pattern", KEYS, '{"ts":"06.08.2019"}',
            AT.format("SMT420", "the text does not match the date pattern 'yyyy-MM-dd'"), **TO),
    refusal("an empty text", KEYS, '{"ts":""}',
            AT.format("SMT420", "the text does not match the date pattern 'yyyy-MM-dd'"), **TO),
    # ours: nulls, types, names with dots
    topic("a null counts as missing", KEYS, '{"timestamp":null,"ts":"2019-08-06"}', "orders-20190806"),
    refusal("none is there", KEYS, '{"other":"2019-08-06"}', NONE, **TO),
    refusal("all are null", KEYS, '{"timestamp":null,"time":null,"ts":null}', NONE, **TO),
    refusal("a number", KEYS, '{"ts":1556204536123}', AT.format("SMT463", NO_TEXT.format("int64")), **TO),
    refusal("an object", KEYS, '{"ts":{}}', AT.format("SMT463", NO_TEXT.format("map")), **TO),
    topic("a dot in a name", KEYS | {"message.timestamp.keys": "a.b"}, '{"a":{"b":"2020-01-01"},"a.b":"2019-08-06"}',
          "orders-20190806"),
    # the configuration
    refusal("no keys", {"message.timestamp.format": "yyyy"}, "{}",
            AT.format("SMT012", "the option 'message.timestamp.keys' is missing"), **TO),
    refusal("empty keys", KEYS | {"message.timestamp.keys": ""}, "{}",
            OF.format("SMT013", "message.timestamp.keys", "the list is empty"), **TO),
    refusal("no pattern", {"message.timestamp.keys": "ts"}, "{}",
            AT.format("SMT012", "the option 'message.timestamp.format' is missing"), **TO),
    refusal("a blank pattern", KEYS | {"message.timestamp.format": " "}, "{}", OF.format(
        "SMT014", "message.timestamp.format", "the text is empty, and Confluent does not document its meaning"), **TO),
    refusal("no such letter", KEYS | {"topic.timestamp.format": "yyyy-b"}, "{}", OF.format(
        "SMT013", "topic.timestamp.format",
        "the date pattern 'yyyy-b' cannot be used: SimpleDateFormat does not have these letters: 'b'"), **TO),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_message_timestamp_router(case):
    check(MessageTimestampRouter, case)
