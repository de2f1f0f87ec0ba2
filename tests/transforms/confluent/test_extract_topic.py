"""ExtractTopic: the topic from a field. The source is Confluent's documentation of the transform (docs)."""

import pytest

from dagster_smt.transforms.confluent.extract_topic import ExtractTopic
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (ExtractTopic$Value): {}"
OF = "{} transforms.t (ExtractTopic$Value) {}: {}"
TO = {"shows": "topic", "input_part": "value"}
FIELD = {"field": "f"}
PATH = {"field": "$.f.g", "field.format": "JSON_PATH"}
SKIP = {"skip.missing.or.null": "true"}
EMPTY = AT.format("SMT451", "the field 'f' is missing, null or empty, but the topic comes from there")
EMPTY_PATH = AT.format("SMT451", "the field '$.f.g' is missing, null or empty, but the topic comes from there")
EMPTY_WHOLE = AT.format("SMT451", "the key or value is missing, null or empty, but the topic comes from there")
NULL = AT.format("SMT402", "a null key or value cannot be used for [extract the topic]")
NO_FIELD = AT.format("SMT102", "there is no field 'f'")
NO_TEXT = "only a string can be a topic, but {} is {}"


def plain(kind, payload):
    return f'{{"schema":{{"type":"{kind}","optional":true}},"payload":{payload}}}'


def topic(title, options, before, after, **more):
    return Case(title, options, before, after, **TO, **more)


def refused(title, options, before, problem):
    return refusal(title, options, before, problem, **TO)


def no_text(kind, what="the field 'f'"):
    return AT.format("SMT452", NO_TEXT.format(what, kind))


CASES = (
    # docs: the examples
    Case("the key", {}, '"my-topic"', "my-topic", shows="topic", input_part="key", side="Key", touches=("(whole)",)),
    topic("a field, required", {"field": "f2"}, '{"f1":1,"f2":"a"}', "a", touches=("f2",)),
    topic("a field, with a schema", {"field": "f2"}, envelope("f1:int32 f2:string", '{"f1":1,"f2":"a"}'), "a",
          touches=("f2",)),
    topic("a missing field, skipped", {"field": "f3"} | SKIP, '{"f1":1}', "orders", touches=()),
    topic("a null field, skipped", {"field": "f3"} | SKIP, '{"f3":null}', "orders", touches=()),
    topic("a path", {"field": '$["f1"]["f3"]', "field.format": "JSON_PATH"} | SKIP, '{"f1":{"f3":"a"}}', "a"),
    topic("a path, with a schema", {"field": '$["f1"]["f3"]', "field.format": "JSON_PATH"} | SKIP,
          envelope("f1:{f3:string}", '{"f1":{"f3":"a"}}'), "a", touches=('$["f1"]["f3"]',)),
    # docs: a missing or null field, key or value is refused, or skipped
    refused("a missing field", FIELD, "{}", EMPTY),
    refused("a null field", FIELD, '{"f":null}', EMPTY),
    refused("a missing field, with a schema", FIELD, envelope("a:string", '{"a":"x"}'), NO_FIELD),
    refused("a null field, with a schema", FIELD, envelope("f:string?", '{"f":null}'), EMPTY),
    topic("a missing field, with a schema, skipped", FIELD | SKIP, envelope("a:string", '{"a":"x"}'), "orders",
          touches=()),
    topic("a null field, with a schema, skipped", FIELD | SKIP, envelope("f:string?", '{"f":null}'), "orders",
          touches=()),
    *(refused(f"null: {o}", o, v, NULL) for o in ({}, FIELD, PATH) for v in ("null", plain("string", "null"))),
    *(topic(f"null, skipped: {o}", o | SKIP, v, "orders", touches=())
      for o in ({}, FIELD, PATH) for v in ("null", plain("string", "null"))),
    topic("a null struct, skipped", FIELD | SKIP, envelope("f:string", "null", optional=True), "orders", touches=()),
    # docs: field.format, of which a blank one is PLAIN
    *(topic(f"a dot in a name: {f}", {"field": "a.b", "field.format": f}, '{"a.b":"x","a":{"b":"y"}}', "x")
      for f in ("PLAIN", "", " ")),
    topic("a dot in a path", {"field": "a.b", "field.format": "JSON_PATH"}, '{"a.b":"x","a":{"b":"y"}}', "y"),
    topic("an empty field is the whole value", {"field": " ", "field.format": "JSON_PATH"}, '"x"', "x",
          touches=("(whole)",)),
    # paths
    *(refused(f"nothing at the path: {v}", PATH, v, EMPTY_PATH)
      for v in ("{}", '{"f":null}', '{"f":{}}', '{"f":"x"}', '{"f":{"g":null}}')),
    *(topic(f"nothing at the path, skipped: {v}", PATH | SKIP, v, "orders", touches=())
      for v in ("{}", '{"f":null}', '{"f":{}}', '{"f":"x"}', '{"f":{"g":null}}')),
    topic("below a null struct, skipped", PATH | SKIP, envelope("f:{g:string}?", '{"f":null}'), "orders", touches=()),
    refused("below a null struct", PATH, envelope("f:{g:string}?", '{"f":null}'), EMPTY_PATH),
    topic("below a text, skipped", PATH | SKIP, envelope("f:string", '{"f":"x"}'), "orders", touches=()),
    refused("below a text", PATH, envelope("f:string", '{"f":"x"}'),
            AT.format("SMT202", "'f' in '$.f.g' is string, not a struct")),
    topic("in a map", PATH, envelope("f:map<string>", '{"f":{"g":"x"}}'), "x"),
    topic("not in a map, skipped", PATH | SKIP, envelope("f:map<string>", '{"f":{}}'), "orders", touches=()),
    # ours: the empty text, defaults, types, and what has no fields
    refused("empty", {}, '""', EMPTY_WHOLE),
    refused("an empty field", FIELD, envelope("f:string", '{"f":""}'), EMPTY),
    topic("empty, skipped", SKIP, '""', "orders", touches=()),
    topic("an empty field, skipped", FIELD | SKIP, envelope("f:string", '{"f":""}'), "orders", touches=()),
    topic("blanks are a text", {}, '" "', " "),
    topic("a default", FIELD, envelope('f:string?="d"', '{"f":null}'), "d", touches=("f",)),
    *(refused(f"no text: {kind}", FIELD | skip, f'{{"f":{value}}}', no_text(kind)) for skip in ({}, SKIP)
      for kind, value in (("int64", 7), ("double", 1.5), ("boolean", "true"), ("map", "{}"), ("array", "[]"))),
    *(refused(f"no text with a schema: {kind}", FIELD | skip, envelope(f"f:{kind}", f'{{"f":{value}}}'), no_text(kind))
      for skip in ({}, SKIP)
      for kind, value in (("int32", 7), ("boolean", "true"), ("Timestamp", 1))),
    refused("no text, optional", FIELD | SKIP, envelope("f:int32?", '{"f":7}'), no_text("int32?")),
    topic("no text, but null, skipped", FIELD | SKIP, envelope("f:int32?", '{"f":null}'), "orders", touches=()),
    topic("no struct, but null, skipped", FIELD | SKIP, envelope("f:{g:string}?", '{"f":null}'), "orders", touches=()),
    refused("a struct", FIELD | SKIP, envelope("f:{g:string}?", '{"f":{"g":"x"}}'), no_text("struct?")),
    refused("a whole number", {}, "7", no_text("int64", "the key or value")),
    refused("a whole struct", SKIP, envelope("f:string", '{"f":"x"}'), no_text("struct", "the key or value")),
    refused("no object, also skipping", FIELD | SKIP, '"x"', AT.format(
        "SMT408", "only an object can be used for [extract the topic] without a schema, but this is java.lang.String")),
    refused("no struct, also skipping", FIELD | SKIP, plain("string", '"x"'), AT.format(
        "SMT201", "only a struct can be used for [extract the topic], but this is string?")),
    # the configuration
    refused("another format", {"field": "f", "field.format": "json_path"}, "{}",
            OF.format("SMT013", "field.format", "must be one of: PLAIN, JSON_PATH, ")),
    refused("an indefinite path", {"field": "$[?(@.a)]", "field.format": "JSON_PATH"}, "{}",
            OF.format("SMT014", "field", "'$[?(@.a)]' has a filter, but the option needs one value")),
    refused("no field", {"field": "$", "field.format": "JSON_PATH"}, "{}",
            OF.format("SMT014", "field", "'$' names no field")),
    refused("a wildcard", {"field": "$.*", "field.format": "JSON_PATH"}, "{}", OF.format(
        "SMT014", "field", "'$.*' cannot be used as a JSONPath: a wildcard (*) is not supported (position 2)")),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_extract_topic(case):
    check(ExtractTopic, case)
