"""ReplaceField: drop, keep, rename."""

import pytest

from dagster_smt.transforms.kafka.replace_field import ReplaceField
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (ReplaceField$Value): {}"

CASES = (
    Case("swapped", {"renames": "a:b,b:a"}, '{"a":1,"b":2}', '{"b":1,"a":2}'),
    Case("exclude wins", {"include": "a,b", "exclude": "b"}, '{"a":1,"b":2,"c":3}', '{"a":1}'),
    Case("include means the old names", {"include": "b", "renames": "a:b"}, '{"a":1}', "{}"),
    Case(
        "an excluded field does not come back by a rename",
        {"exclude": "a", "renames": "a:b"},
        envelope("a:int8 b:int8", '{"a":1,"b":2}'),
        envelope("b:int8", '{"b":2}'),
    ),
    Case("null passes", {"exclude": "a"}, "null", "null"),
    Case("the key", {"exclude": "a"}, '{"a":1}', "{}", shows="key", side="Key"),
    Case(
        "defaults", {"exclude": "b"}, envelope("a:int8?=3 b:int8", '{"a":null,"b":1}'), envelope("a:int8?=3", '{"a":3}')
    ),
    Case(
        "nulls stay",
        {"exclude": "b", "replace.null.with.default": "false"},
        envelope("a:int8?=3 b:int8", '{"a":null,"b":1}'),
        envelope("a:int8?=3", '{"a":null}'),
    ),
    refusal(
        "two equal names",
        {"renames": "a:b"},
        envelope("a:int8 b:int8", '{"a":1,"b":2}'),
        AT.format("SMT111", "two fields would be named 'b'"),
    ),
    refusal(
        "no pair",
        {"renames": "a"},
        "{}",
        "SMT013 transforms.t (ReplaceField$Value) renames: 'a' is not a pair of the form old:new",
    ),
    Case("nothing to do", {}, '{"a":1}', '{"a":1}', touches=()),
    Case(
        "only fields that are there are touched",
        {"exclude": "a,z", "renames": "b:c,y:x"},
        '{"a":1,"b":2}',
        '{"c":2}',
        touches=("a", "b"),
    ),
    Case("others are dropped in one entry", {"include": "a"}, '{"a":1,"b":2,"c":3}', '{"a":1}', touches=("all but a",)),
    Case("nothing but what is included was there", {"include": "a"}, '{"a":1}', '{"a":1}', touches=()),
    Case("one after the other", {"renames": "a:b,b:c"}, '{"a":1,"b":2}', '{"b":1,"c":2}'),
    Case("the last of two new names wins", {"renames": "a:x,a:y"}, '{"a":1}', '{"y":1}'),
    Case("a field without a name", {"renames": ":b"}, '{"":1}', '{"b":1}'),
    Case("blanks inside a pair belong to the names", {"renames": "a : b"}, '{"a ":1}', '{" b":1}'),
    Case("a name with a dot", {"exclude": "a.b"}, '{"a.b":1,"a":{"b":1}}', '{"a":{"b":1}}'),
    Case(
        "a path",
        {"exclude": "a.b", "field.syntax.version": "V2"},
        '{"a.b":1,"a":{"b":1,"c":2}}',
        '{"a.b":1,"a":{"c":2}}',
        touches=("a.b",),
    ),
    # with a schema
    Case(
        "name, version and doc stay, optional does not",
        {"exclude": "a"},
        envelope("a:int8 b:int8", '{"a":1,"b":2}', optional=True, name="N", version=2, doc="d"),
        envelope("b:int8", '{"b":2}', name="N", version=2, doc="d"),
        touches=("a",),
    ),
    Case(
        "null keeps its schema",
        {"exclude": "a"},
        envelope("a:int8 b:int8", "null", optional=True),
        envelope("a:int8 b:int8", "null", optional=True),
        touches=(),
    ),
    Case(
        "a name that is missing can be taken",
        {"renames": "missing:b"},
        envelope("b:int8", '{"b":2}'),
        envelope("b:int8", '{"b":2}'),
        touches=(),
    ),
    Case(
        "swapped with a schema",
        {"renames": "a:b,b:a"},
        envelope("a:int8 b:string", '{"a":1,"b":"x"}'),
        envelope("b:int8 a:string", '{"b":1,"a":"x"}'),
        touches=("a", "b"),
    ),
    Case(
        "nothing is left",
        {"include": "z"},
        envelope("a:int8", '{"a":1}'),
        '{"schema":{"type":"struct","fields":[]},"payload":{}}',
        touches=("all but z",),
    ),
    refusal(
        "no object",
        {"exclude": "a"},
        "[1]",
        AT.format(
            "SMT408",
            "only an object can be used for [field replacement] without a schema, but this is java.util.ArrayList",
        ),
    ),
    refusal(
        "no struct",
        {"exclude": "a"},
        '{"schema":{"type":"string"},"payload":"x"}',
        AT.format("SMT201", "only a struct can be used for [field replacement], but this is string"),
    ),
    refusal(
        "a name step into a map, as in Kafka",
        {"exclude": "m.k", "field.syntax.version": "V2", "strict_paths": "kafka"},
        envelope("m:map<int8>", '{"m":{"k":1}}'),
        AT.format("SMT202", "'k' is a step into a map"),
    ),
    # the configuration
    *(
        refusal(f"{option}={text}", {option: text}, "{}", f"SMT013 transforms.t (ReplaceField$Value) {option}: {what}")
        for option, text, what in (
            ("include", "a,a", "the list has an item twice"),
            ("exclude", "a,", "the list has an empty item"),
            ("renames", "a:b:c", "'a:b:c' is not a pair of the form old:new"),
            ("renames", "a:", "'a' is not a pair of the form old:new"),
            ("renames", "a:b,", "'' is not a pair of the form old:new"),
        )
    ),
    refusal(
        "a broken new name",
        {"renames": "a:`b", "field.syntax.version": "V2"},
        "{}",
        "SMT014 transforms.t (ReplaceField$Value) renames: incomplete backtick pair in path '`b' at position 0",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_replace_field(case):
    check(ReplaceField, case)
