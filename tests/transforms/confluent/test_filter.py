"""Filter: records by a JSONPath condition.

The sources are Confluent's documentation of the transform (docs), public configurations of it (use), and for what a
path finds json-path 2.9 (``tests/values/test_json_path.py`` has its answers).
"""

import pytest

from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.transforms.confluent.filter import Filter
from tests.transforms.helpers import Case, chain_of, check, envelope, record_of, refusal

AT = "{} transforms.t (Filter$Value): {}"
OF = "{} transforms.t (Filter$Value) {}: {}"
NESTED = '$.key[?(@.nestedKey == "value1" || @.nestedKey == "value2")]'
KEY = {"filter.condition": NESTED, "filter.type": "include"}
CATEGORY = "$[?(@.category == 'keep')]"
AFTER = "$.after.topic_name"
LOST = AT.format("SMT456", "the condition '{}' needs a field that is missing")
NO_OBJECT = AT.format("SMT457", "the condition '{}' reads a field of a value that is null or has no fields")
TOPIC = '{"after":{"topic_name":"a"}}'
NO_DATES = AT.format("SMT458", "@.d holds bytes or a date, which a condition cannot compare")


def include(condition, missing=""):
    results = {"filter.condition": condition, "filter.type": "include"}
    return results | ({"missing.or.null.behavior": missing} if missing else {})


def exclude(condition, missing=""):
    return include(condition, missing) | {"filter.type": "exclude"}


def plain(kind, payload):
    return f'{{"schema":{{"type":"{kind}","optional":true}},"payload":{payload}}}'


def both(title, condition, fields, payload, result):
    """With a schema and without. Both are one chain, so that Spark has one plan for both."""
    enveloped = envelope(fields, payload)
    yield Case(title, include(condition), payload, payload if result else None, touches=() if result else None)
    yield Case(f"{title}, with a schema", include(condition), enveloped, enveloped if result else None)


def lost(title, condition, fields, payload, problem):
    """Under each behaviour, with a schema and without. ``problem``: the record fails whatever the option says."""
    for text, name in ((payload, title), (envelope(fields, payload), f"{title}, with a schema")):
        yield refusal(f"{name}, default", exclude(condition), text, problem or LOST.format(condition))
        for type_, behavior, after in ((exclude, "include", text), (include, "exclude", None)):
            options = type_(condition, behavior)
            if problem:
                yield refusal(f"{name}, {behavior}", options, text, problem)
            else:
                yield Case(f"{name}, {behavior}", options, text, after)


CASES = (
    # docs: the example, its twin for excluding on the key, and that of an older page
    *(Case(f"excluded: {v}", exclude(NESTED), v, after) for v, after in (
        ('{"key":{"nestedKey":"value1"}}', None), ('{"key":{"nestedKey":"x"}}', '{"key":{"nestedKey":"x"}}'))),
    *(Case(f"{b} says nothing of other records", type_(AFTER, b), TOPIC, TOPIC if type_ is include else None)
      for type_ in (include, exclude) for b in ("fail", "include", "exclude")),
    *both("value1", NESTED, "key:{nestedKey:string}", '{"key":{"nestedKey":"value1"}}', True),
    *both("value2", NESTED, "key:{nestedKey:string}", '{"key":{"nestedKey":"value2"}}', True),
    *both("value3", NESTED, "key:{nestedKey:string}", '{"key":{"nestedKey":"value3"}}', False),
    Case("the key", exclude(NESTED), '{"key":{"nestedKey":"value1"}}', None, side="Key", shows="key"),
    *both("an author", "$.book[?(@.author == 'Tolstoy' || @.author == 'Dostoevsky')]", "book:{author:string}",
          '{"book":{"author":"Tolstoy"}}', True),
    # use: kafka-docker-playground's tests of the transform
    *both("a category", CATEGORY, "category:string n:int32", '{"category":"keep","n":1}', True),
    *both("another category", CATEGORY, "category:string n:int32", '{"category":"drop","n":1}', False),
    *both("a field is there", AFTER, "after:{topic_name:string}", '{"after":{"topic_name":"a"}}', True),
    Case("a field is not there", include(AFTER, "exclude"), '{"after":{}}', None),
    # docs: the option for missing fields, and that it says nothing of those in tests
    *lost("no field", AFTER, "before:string", '{"before":"x"}', ""),
    *lost("nothing below", AFTER, "after:string", '{"after":"x"}', ""),
    *lost("no field to filter", NESTED, "other:string", '{"other":"x"}', ""),
    *both("a test of what is missing", CATEGORY, "n:int32", '{"n":1}', False),
    *both("a test for a difference of what is missing", "$[?(@.a != 'x')]", "n:int32", '{"n":1}', True),
    # use: a condition on the null of a field does not drop records whose key is null
    *(Case(f"null passes: {o}", o, "null", "null", touches=()) for o in (
        include(CATEGORY, "exclude"), exclude(CATEGORY), include("$.a"), exclude("$.a", "exclude"))),
    Case("null passes, the key", include("[?(@.id != null)]", "exclude"), "null", "null", side="Key", shows="key"),
    Case("a null struct passes", include(CATEGORY, "exclude"), envelope("category:string", "null", optional=True),
         envelope("category:string", "null", optional=True)),
    # json-path: nulls, and what cannot be filtered
    *both("a null is there", "$.a", "a:string?", '{"a":null}', True),
    *both("a null, nested", "$.a.b", "a:{b:string?}", '{"a":{"b":null}}', True),
    *both("a test for null", "$[?(@.a == null)]", "a:string?", '{"a":null}', True),
    *both("a struct that is there", "$[?(@.a)]", "a:{b:string?}", '{"a":{"b":null}}', True),
    *both("a null struct is null", "$[?(@.a == null)]", "a:{b:string?}?", '{"a":null}', True),
    *both("below a null struct", "$[?(@.a.b)]", "a:{b:string?}?", '{"a":null}', False),
    *lost("through a null struct", "$.a.b", "a:{b:string}?", '{"a":null}', ""),
    *lost("a null to filter", "$.a[?(@.b)]", "a:{b:string}?", '{"a":null}', NO_OBJECT.format("$.a[?(@.b)]")),
    *lost("a text to filter", "$.a[?(@.b)]", "a:string", '{"a":"x"}', NO_OBJECT.format("$.a[?(@.b)]")),
    # every type that a schema has
    *both("int8", "$[?(@.a == 1.0)]", "a:int8", '{"a":1}', True),
    *both("int64 and a text", "$[?(@.a == '1')]", "a:int64", '{"a":1}', True),
    *both("of the same type", "$[?(@.a === '1')]", "a:int64", '{"a":1}', False),
    *both("float", "$[?(@.a == 0.1 && @.a =~ /0[.]1/)]", "a:float", '{"a":0.1}', True),
    *both("double", "$[?(@.a >= 0.1 && @.a < 0.2)]", "a:double", '{"a":0.1}', True),
    *both("boolean", "$[?(@.a == true && @.a != 'true')]", "a:boolean", '{"a":true}', True),
    Case("Decimal", include("$[?(@.a == 1.5 && @.a =~ /1[.]50/)]"), envelope("a:Decimal", '{"a":"AJY="}'),
         envelope("a:Decimal", '{"a":"AJY="}')),
    *both("an array of structs", "$.a[?(@.b > 1)]", "a:array<{b:int32}>", '{"a":[{"b":1},{"b":2}]}', True),
    *both("an array without the element", "$.a[?(@.b > 2)]", "a:array<{b:int32}>", '{"a":[{"b":1},{"b":2}]}', False),
    *both("an empty array", "$.a[?(@.b > 2)]", "a:array<{b:int32}>", '{"a":[]}', False),
    *both("an array of texts", "$.a[?(@ =~ /X/i)]", "a:array<string>", '{"a":["y","x"]}', True),
    *both("an element in a test", "$[?(@.a =~ /x/)]", "a:array<string>", '{"a":["y","x"]}', True),
    *both("after a filter", "$.a[?(@.b > 1)].c", "a:array<{b:int32;c:string}>", '{"a":[{"b":2,"c":"x"}]}', True),
    *both("a map", "$.a.b", "a:map<int32>", '{"a":{"b":1}}', True),
    *both("a test of a map", "$.a[?(@.b == 1 && !@.c)]", "a:map<int32>", '{"a":{"b":1}}', True),
    *lost("a key that a map lacks", "$.a.c", "a:map<int32>", '{"a":{"b":1}}', ""),
    Case("names with blanks", include("$['a b'][?(@[\"c.d\"] in ['x', 'y'])]"), '{"a b":{"c.d":"y"}}',
         '{"a b":{"c.d":"y"}}'),
    Case("numbers keep their spelling", include("$.a[?(@.b == 1.5)]"), '{"a":{"b":1.50,"c": 1.0}}',
         '{"a":{"b":1.50,"c": 1.0}}'),
    # ours: defaults, bytes and dates
    Case("a default", include("$[?(@.a == 'd')]"), envelope('a:string?="d"', '{"a":null}'),
         envelope('a:string?="d"', '{"a":null}')),
    *(refusal(f"{kind} compared", include("$[?(@.d == 'x')]"), envelope(f"d:{kind}?", '{"d":null}'), NO_DATES)
      for kind in ("bytes", "Date", "Time", "Timestamp")),
    refusal("a date in an array", include("$.a[?(@.d =~ /x/)]"), envelope("a:array<{d:Date}>", '{"a":[]}'), NO_DATES),
    refusal("a date in a map", include("$.a[?(@.d == 1)]"), envelope("a:map<Date>", '{"a":{}}'), NO_DATES),
    Case("a date is there", include("$[?(@.d)]"), envelope("d:Date", '{"d":1}'), envelope("d:Date", '{"d":1}')),
    # what has no fields
    refusal("no object", include(CATEGORY), '"x"', AT.format(
        "SMT408", "only an object can be used for [filter by a condition] without a schema, but this is "
        "java.lang.String")),
    refusal("no struct", include(CATEGORY), plain("string", '"x"'), AT.format(
        "SMT201", "only a struct can be used for [filter by a condition], but this is string?")),
    # the configuration
    refusal("no condition", {"filter.type": "include"}, "{}",
            "SMT012 transforms.t (Filter$Value): the option 'filter.condition' is missing"),
    refusal("no type", {"filter.condition": "$.a"}, "{}",
            "SMT012 transforms.t (Filter$Value): the option 'filter.type' is missing"),
    refusal("an empty condition", {"filter.condition": " ", "filter.type": "include"}, "{}",
            OF.format("SMT013", "filter.condition", "the text is empty")),
    refusal("another type", {"filter.condition": "$.a", "filter.type": "INCLUDE"}, "{}",
            OF.format("SMT013", "filter.type", "must be one of: include, exclude")),
    refusal("another behaviour", {"filter.condition": "$.a", "filter.type": "include",
                                  "missing.or.null.behavior": "pass"}, "{}",
            OF.format("SMT013", "missing.or.null.behavior", "must be one of: fail, include, exclude")),
    refusal("a deep scan", include("$..a"), "{}", OF.format(
        "SMT014", "filter.condition",
        "'$..a' cannot be used as a JSONPath: a deep scan (..) is not supported (position 1)")),
    refusal("no expression", include("$[?(@.a =~ /(/)]"), "{}", OF.format(
        "SMT014", "filter.condition",
        "the regular expression '(' cannot be used: missing )")),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_filter(case):
    check(Filter, case)


CRASHES = (
    ("PathNotFoundException", include("$.a.b"), "{}"),
    ("PathNotFoundException", include("$.a.b"), envelope("n:int32", '{"n":1}')),
    ("InvalidPathException", include("$.a[?(@.b)]"), '{"a":null}'),
    ("JsonPathException", include("$[?(@.d == 1)]"), envelope("d:Date", '{"d":1}')),
)


@pytest.mark.parametrize(("name", "options", "text"), CRASHES)
def test_a_failure_names_the_exception_of_json_path(name, options, text):
    outcome = Interpreter(chain_of(Filter, options)).run(record_of(text))
    assert outcome.problem.connect_class == f"com.jayway.jsonpath.{name}"
