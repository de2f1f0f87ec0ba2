"""ExtractTopic: the topic from a field. The sources are Aiven's ExtractTopicTest and the class."""

import pytest

from dagster_smt.transforms.aiven.extract_topic import ExtractTopic
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (ExtractTopic$Value): {}"
FIELD = {"field.name": "f"}
SKIP = {"skip.missing.or.null": "true"}
TO = {"shows": "topic", "input_part": "value"}
EMPTY = AT.format("SMT451", "the field 'f' is missing, null or empty, but the topic comes from there")
EMPTY_WHOLE = AT.format("SMT451", "the key or value is missing, null or empty, but the topic comes from there")
NULL = AT.format("SMT402", "a null key or value cannot be used for [extract the topic]")
WRONG = "only a string, number or boolean can be a topic, but the field 'f' is {}"


def plain(kind, payload):
    return f'{{"schema":{{"type":"{kind}","optional":true}},"payload":{payload}}}'


def topic(title, options, before, after, **more):
    return Case(title, options, before, after, **TO, **more)


CASES = (
    # ExtractTopicTest: values
    topic("a number", {}, "123", "123"),
    topic("a boolean", {}, "false", "false"),
    topic("a text", {}, '"new_topic"', "new_topic", touches=("(whole)",)),
    topic("int64", {}, plain("int64", 123), "123"),
    topic("a boolean with a schema", {}, plain("boolean", "false"), "false"),
    topic("a text with a schema", {}, plain("string", '"new_topic"'), "new_topic", touches=("(whole)",)),
    topic("a field", FIELD, '{"f":123}', "123", touches=("f",)),
    topic("a field with a schema", FIELD, envelope("f:boolean", '{"f":false}'), "false"),
    topic("a field of text with a schema", FIELD, envelope("f:string", '{"f":"new_topic"}'), "new_topic"),
    # ExtractTopicTest: nothing there
    refusal("null", {}, "null", NULL, **TO),
    topic("null, skipped", SKIP, "null", "orders", touches=()),
    topic("null with a schema, skipped", SKIP, plain("string", "null"), "orders", touches=()),
    refusal("nothing", {}, '""', EMPTY_WHOLE, **TO),
    topic("nothing, skipped", SKIP, '""', "orders", touches=()),
    refusal("nothing with a schema", {}, plain("string", '""'), EMPTY_WHOLE, **TO),
    topic("nothing with a schema, skipped", SKIP, plain("string", '""'), "orders", touches=()),
    refusal("null, a field, also skipping", FIELD | SKIP, "null", NULL, **TO),
    refusal("a null struct, also skipping", FIELD | SKIP, envelope("f:string", "null", optional=True), NULL, **TO),
    *(refusal(f"a field: {v}", FIELD, v, EMPTY, **TO) for v in ('{"f":null}', '{"f":""}', "{}")),
    *(topic(f"a field, skipped: {v}", FIELD | SKIP, v, "orders", touches=()) for v in ('{"f":null}', '{"f":""}', "{}")),
    *(refusal(f"a field with a schema: {v}", FIELD, envelope("f:string?", v), EMPTY, **TO)
      for v in ('{"f":null}', '{"f":""}')),
    *(topic(f"a field with a schema, skipped: {v}", FIELD | SKIP, envelope("f:string?", v), "orders", touches=())
      for v in ('{"f":null}', '{"f":""}')),
    refusal("no such field", FIELD, envelope("a:string", '{"a":"x"}'), AT.format("SMT102", "there is no field 'f'"),
            **TO),
    topic("no such field, skipped", FIELD | SKIP, envelope("a:string", '{"a":"x"}'), "orders"),
    # ExtractTopicTest: types, also when skipping
    refusal("an object", SKIP, "{}", AT.format(
        "SMT452", "only a string, number or boolean can be a topic, but the key or value is map"), **TO),
    refusal("a struct", SKIP, envelope("f:string", '{"f":"x"}'), AT.format(
        "SMT452", "only a string, number or boolean can be a topic, but the key or value is struct"), **TO),
    refusal("no struct", FIELD | SKIP, plain("int8", 1), AT.format(
        "SMT201", "only a struct can be used for [extract the topic], but this is int8?"), **TO),
    refusal("no object", FIELD | SKIP, '"some"', AT.format(
        "SMT408", "only an object can be used for [extract the topic] without a schema, but this is java.lang.String"),
        **TO),
    refusal("an object in the field", FIELD | SKIP, '{"f":{}}', AT.format("SMT452", WRONG.format("map")), **TO),
    refusal("a struct in the field", FIELD | SKIP, envelope("f:{a:string}", '{"f":{"a":"x"}}'),
            AT.format("SMT452", WRONG.format("struct")), **TO),
    # ExtractTopic: String.isBlank without a schema, equals("") with one; toString; Struct.get
    refusal("blanks", {}, '"  "', EMPTY_WHOLE, **TO),
    topic("no-break spaces are no blanks to Java", {}, '"\u00a0"', "\u00a0"),
    topic("blanks with a schema", {}, plain("string", '"  "'), "  "),
    topic("a fraction", {}, "10000000000.0", "1.0E10"),
    topic("float", FIELD, envelope("f:float", '{"f":0.1}'), "0.1"),
    topic("a Timestamp", FIELD, envelope("f:Timestamp", '{"f":1605402123000}'), "Sun Nov 15 01:02:03 UTC 2020"),
    topic("a default", FIELD, envelope('f:string?="d"', '{"f":null}'), "d"),
    topic("a default, skipping", FIELD | SKIP, envelope('f:string?="d"', '{"f":null}'), "d", touches=("f",)),
    refusal("a Decimal", FIELD | SKIP, envelope("f:Decimal", '{"f":"AQ=="}'),
            AT.format("SMT452", WRONG.format("Decimal(2)")), **TO),
    Case("the key", {}, '"k"', "k", shows="topic", input_part="key", side="Key"),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_extract_topic(case):
    check(ExtractTopic, case)
