"""FieldValueMatches: by the text of a field. The source is the class's own test in Aiven's pull request 198."""

import pytest

from dagster_smt.predicates.aiven.field_value_matches import FieldValueMatches
from tests.transforms.helpers import Case, check, envelope, refusal

V2 = {"field.syntax.version": "V2"}
DELETED = {"field": "after.state", "value": "deleted"} | V2


def both(title, options, payload, answer, fields):
    yield Case(title, options, payload, answer)
    yield Case(f"{title}, with a schema", options, envelope(fields, payload), answer)


STATE = "after:{state:string?}?"
CASES = (
    *both("a nested field", DELETED, '{"after":{"state":"deleted"}}', "true", STATE),
    *both("another value", DELETED, '{"after":{"state":"active"}}', "false", STATE),
    *both("null", DELETED, '{"after":{"state":null}}', "false", STATE),
    *both("null on the way", DELETED, '{"after":null}', "false", STATE),
    *both("a pattern", {"field": "s", "value.pattern": "^del.*"}, '{"s":"deleted"}', "true", "s:string"),
    *both("another", {"field": "s", "value.pattern": "^del.*"}, '{"s":"active"}', "false", "s:string"),
    *both("the whole must match", {"field": "s", "value.pattern": "del"}, '{"s":"undeleted"}', "false", "s:string"),
    *both("a number", {"field": "n", "value": "5"}, '{"n":5}', "true", "n:int32"),
    *both("another number", {"field": "n", "value": "6"}, '{"n":5}', "false", "n:int32"),
    *both("a fraction", {"field": "n", "value": "5.0"}, '{"n":5.0}', "true", "n:double"),
    *both("a boolean", {"field": "n", "value": "true"}, '{"n":true}', "true", "n:boolean"),
    *both("a name with dots", {"field": "`a.b`", "value": "x"} | V2, '{"a.b":"x"}', "true", "a.b:string"),
    *both("dots in V1", {"field": "a.b", "value": "x"}, '{"a.b":"x"}', "true", "a.b:string"),
    *both("the empty text", {"field": "s", "value": ""}, '{"s":""}', "true", "s:string"),
    Case("the empty pattern", {"field": "s", "value.pattern": ""}, '{"s":""}', "true"),
    Case("no object", {"field": "s", "value": "x"}, '"x"', "false"),
    Case("bytes", {"field": "s", "value": "x"}, '{"schema":{"type":"bytes"},"payload":"eA=="}', "false"),
    Case("whole bytes", {"value": "eA=="}, '{"schema":{"type":"bytes"},"payload":"eA=="}', "true"),
    Case("the whole value", {"value": "deleted"}, '"deleted"', "true"),
    Case("the whole value with a schema", {"value": "deleted"}, '{"schema":{"type":"string"},"payload":"deleted"}',
         "true"),
    *both("a whole object", {"value": '{"a":1,"b":"x\\"y"}'}, '{"a":1,"b":"x\\"y"}', "true", "a:int8 b:string"),
    *both("an array", {"field": "a", "value": '["x","y"]'}, '{"a":["x","y"]}', "true", "a:array<string>"),
    *both("a null inside", {"value": '{"a":null}'}, '{"a":null}', "true", "a:string?"),
    Case("a tombstone", {"value": "null"}, "null", "false"),
    Case("a default", {"field": "s", "value": "d"}, envelope('s:string?="d"', '{"s":null}'), "true"),
    Case("no such field", {"field": "z", "value": "d"}, envelope("s:string", '{"s":"d"}'), "false"),
    # ours: no rule of a predicate may fail
    *both("through a number", {"field": "n.x", "value": "1"} | V2, '{"n":1}', "false", "n:int8"),
    Case("through a map, as in Kafka", {"field": "m.k", "value": "1", "strict_paths": "kafka"} | V2,
         envelope("m:map<int8>", '{"m":{"k":1}}'), "false"),
    *both("a struct under a key", {"field": "m.k", "value": '{"r":"x"}'} | V2, '{"m":{"k":{"r":"x"}}}', "true",
          "m:map<{r:string}>"),
    # the configuration
    refusal("neither", {"field": "a"}, "{}",
            "SMT014 predicates.p (FieldValueMatches) value: set exactly one of value and value.pattern"),
    refusal("both", {"value": "a", "value.pattern": "a"}, "{}",
            "SMT014 predicates.p (FieldValueMatches) value: set exactly one of value and value.pattern"),
    refusal("no expression", {"value.pattern": "[unclosed"}, "{}", "SMT013 predicates.p (FieldValueMatches) "
            "value.pattern: the regular expression '[unclosed' cannot be used: a class is not closed"),
    refusal("a broken path", {"field": "`a", "value": "x"} | V2, "{}", "SMT014 predicates.p (FieldValueMatches) field: "
            "incomplete backtick pair in path '`a' at position 0"),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_field_value_matches(case):
    check(FieldValueMatches, case)
