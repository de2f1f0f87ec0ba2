"""FilterByFieldValue: records by a field. The sources are Aiven's FilterByFieldValueTest and the class."""

import pytest

from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.transforms.aiven.filter_by_field_value import FilterByFieldValue
from tests.transforms.helpers import Case, chain_of, check, envelope, record_of, refusal

AT = "{} transforms.t (FilterByFieldValue$Value): {}"
NOT = {"field.value.matches": "false"}
OP = {"field.name": "op", "field.value": "r"}
JAVA = {"field.name": "language", "field.value.pattern": ".*Java.*"} | NOT
LOST = AT.format("SMT453", "the field 'op' is null, but it is compared with a value")
NO_FIELD = AT.format("SMT453", "the schema has no field '{}'")


def struct(payload, fields="op:string?"):
    return envelope(fields, payload)


def both(title, options, payload, passes, fields="op:string?"):
    """With and without a schema."""
    yield Case(title, options, payload, payload if passes else None)
    enveloped = envelope(fields, payload)
    yield Case(f"{title}, with a schema", options, enveloped, enveloped if passes else None)


def n(value):
    return {"field.name": "n", "field.value": value}


CASES = (
    # FilterByFieldValueTest
    *both("drop", OP | NOT, '{"op":"r"}', False),
    *both("not dropped", OP | NOT, '{"op":"u"}', True),
    *both("keep", OP, '{"op":"r"}', True),
    *both("not kept", OP, '{"op":"u"}', False),
    *both("a pattern", JAVA, '{"language":"Javascript"}', False, "language:string"),
    *both("no match", JAVA, '{"language":"Rust"}', True, "language:string"),
    Case("a whole text", {"field.value": "A42"} | NOT, '"A42"', None),
    Case("another whole text", {"field.value": "A42"} | NOT, '"43"', '"43"'),
    Case("the key", {"field.name": "id", "field.value": "A123"}, '{"id":"111"}', None, shows="key", side="Key"),
    # FilterByFieldValue: a null passes, whatever the options
    Case("a null", OP, "null", "null"),
    Case("a null with a schema", OP, envelope("op:string", "null", optional=True),
         envelope("op:string", "null", optional=True)),
    Case("a null, no such field", n("1"), envelope("op:string", "null", optional=True),
         envelope("op:string", "null", optional=True)),
    # FilterByFieldValue: a pattern finds, and what is null or missing does not match
    *both("a part is enough", {"field.name": "op", "field.value.pattern": "b"}, '{"op":"abc"}', True),
    *both("null does not match", {"field.name": "op", "field.value.pattern": "."}, '{"op":null}', False),
    *both("null is kept", {"field.name": "op", "field.value.pattern": "."} | NOT, '{"op":null}', True),
    Case("missing does not match", {"field.name": "op", "field.value.pattern": "."}, "{}", None),
    # FilterByFieldValue: Object.equals on what Values.parseString reads
    Case("no long is a byte", n("42"), '{"n":42}', None),
    Case("no text is a byte", n("42"), '{"n":"42"}', None),
    Case("int8", n("42"), envelope("n:int8", '{"n":42}'), envelope("n:int8", '{"n":42}')),
    Case("int32", n("42"), envelope("n:int32", '{"n":42}'), None),
    Case("int16", n("1e3"), envelope("n:int16", '{"n":1000}'), envelope("n:int16", '{"n":1000}')),
    Case("a long", n("3000000000"), '{"n":3000000000}', '{"n":3000000000}'),
    Case("no double is a float", n("1.5"), '{"n":1.5}', None),
    Case("float", n("1.5"), envelope("n:float", '{"n":1.5}'), envelope("n:float", '{"n":1.5}')),
    *both("a boolean", n("true"), '{"n":true}', True, "n:boolean"),
    Case("another case is a text", n("True"), '{"n":true}', None),
    Case("an array of texts", n('["a","b"]'), '{"n":["a","b"]}', '{"n":["a","b"]}'),
    Case("an array of bytes", n("[1,2]"), '{"n":[1,2]}', None),
    Case("a date", n("2020-11-15"), envelope("n:Date", '{"n":18581}'), envelope("n:Date", '{"n":18581}')),
    Case("a number as text", {"field.name": "n", "field.value.pattern": "^42$"}, '{"n":42}', '{"n":42}'),
    Case("the empty text", {"field.name": "op", "field.value": ""}, '{"op":""}', '{"op":""}'),
    Case("a default", OP, envelope('op:string?="r"', '{"op":null}'), envelope('op:string?="r"', '{"op":null}')),
    # FilterByFieldValue: NullPointerException
    refusal("null compared", OP, '{"op":null}', LOST),
    refusal("missing compared", OP, "{}", LOST),
    refusal("null compared, with a schema", OP, struct('{"op":null}'), LOST),
    refusal("not in the schema", n("1"), struct('{"op":"r"}'), NO_FIELD.format("n")),
    refusal("not in the schema, a pattern", {"field.name": "n", "field.value.pattern": "1"}, struct('{"op":"r"}'),
            NO_FIELD.format("n")),
    refusal("no field named, with a schema", {"field.value": "1"}, struct('{"op":"r"}'), NO_FIELD.format("")),
    refusal("the word null", {"field.name": "op", "field.value": "null"}, '{"op":"r"}',
            AT.format("SMT453", "field.value is the word null, and no field can be compared with null")),
    refusal("the word null, with a schema", {"field.name": "op", "field.value": "null"}, struct('{"op":"r"}'),
            AT.format("SMT453", "field.value is the word null, and no field can be compared with null")),
    # FilterByFieldValue: ClassCastException
    refusal("no object", OP, '"r"',
            AT.format("SMT454", "only a struct or object has a field 'op', but this is java.lang.String")),
    refusal("no struct", OP, '{"schema":{"type":"string"},"payload":"r"}',
            AT.format("SMT454", "only a struct or object has a field 'op', but this is string")),
    # the configuration
    refusal("nothing to compare with", {}, "null", "SMT014 transforms.t (FilterByFieldValue$Value) field.value: "
            "set exactly one of field.value and field.value.pattern"),
    refusal("both", OP | {"field.value.pattern": "r"}, "null", "SMT014 transforms.t (FilterByFieldValue$Value) "
            "field.value: set exactly one of field.value and field.value.pattern"),
    Case("elements of several types: numbers in JSON are of other classes", n('[1,"a"]'), '{"n":[1,"a"]}', None),
    Case("elements of several types that JSON has, too", n('[true,"a"]'), '{"n":[true,"a"]}', '{"n":[true,"a"]}'),
    Case("no elements", n("[]"), '{"n":[]}', '{"n":[]}'),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_filter_by_field_value(case):
    check(FilterByFieldValue, case)


CRASHES = (
    ("NullPointerException", '{"op":null}'),
    ("NullPointerException", struct('{"op":null}')),
    ("NullPointerException", envelope("a:string", '{"a":"x"}')),
    ("ClassCastException", "1"),
    ("ClassCastException", '{"schema":{"type":"string"},"payload":"r"}'),
)


@pytest.mark.parametrize(("name", "text"), CRASHES)
def test_a_failure_names_the_exception_of_the_original(name, text):
    outcome = Interpreter(chain_of(FilterByFieldValue, OP)).run(record_of(text))
    assert outcome.problem.connect_class == f"java.lang.{name}"
