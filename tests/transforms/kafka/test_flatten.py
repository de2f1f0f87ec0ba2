"""Flatten: one level of names."""

import pytest

from dagster_smt.transforms.kafka.flatten import Flatten
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (Flatten$Value): {}"
MAP = (
    '{"schema":{"type":"struct","fields":[{"field":"m","type":"map","keys":{"type":"string"},"values":{"type":"int8"}}]},'
    '"payload":{"m":{}}}'
)
INNER = (
    '{"field":"b","type":"struct","optional":true,"fields":[{"field":"c","type":"int32","optional":true,"default":5},'
    '{"field":"d","type":"string","optional":true}]}'
)
OTHER = '{"field":"b.c","type":"int8","optional":true}'
SAME = f'{{"schema":{{"type":"struct","fields":[{INNER},{OTHER}]}},"payload":{{}}}}'


def nested(payload):
    return f'{{"schema":{{"type":"struct","fields":[{INNER}]}},"payload":{payload}}}'


CASES = (
    Case("objects at any depth", {}, '{"a":1,"b":{"c":2,"d":{"e":"x"}}}', '{"a":1,"b.c":2,"b.d.e":"x"}'),
    Case("a delimiter of several characters", {"delimiter": "__"}, '{"a":{"b":1}}', '{"a__b":1}'),
    Case("a blank delimiter is none", {"delimiter": " "}, '{"a":{"b":1}}', '{"ab":1}'),
    Case("an empty name adds no delimiter", {}, '{"":{"b":2},"x":{"":1}}', '{"b":2,"x.":1}'),
    Case("lists are kept, with objects inside", {}, '{"a":{"l":[{"x":1}]}}', '{"a.l":[{"x":1}]}'),
    Case("empty objects vanish, nulls stay", {}, '{"a":{},"b":{"c":null}}', '{"b.c":null}'),
    Case("of two equal names the later wins", {}, '{"a":{"b":1},"a.b":2}', '{"a.b":2}'),
    Case("what is not touched keeps its spelling", {}, '{"a":1.50,"b":{"c":1e3}}', '{"a":1.50,"b.c":1e3}'),
    Case("null passes", {}, "null", "null"),
    Case("the key", {"delimiter": "_"}, '{"a":{"b":1}}', '{"a_b":1}', shows="key", side="Key"),
    Case(
        "a schema",
        {},
        envelope("a:int32", '{"a":1}', name="N", optional=True),
        envelope("a:int32?", '{"a":1}', name="N"),
    ),
    Case(
        "below an optional struct all is optional, and a null struct has no defaults",
        {},
        nested('{"b":null}'),
        envelope("b.c:int32?=5 b.d:string?", '{"b.c":null,"b.d":null}'),
    ),
    Case(
        "nulls take their default",
        {},
        nested('{"b":{"d":"x"}}'),
        envelope("b.c:int32?=5 b.d:string?", '{"b.c":5,"b.d":"x"}'),
    ),
    refusal(
        "no object",
        {},
        "[1]",
        AT.format(
            "SMT408", "only an object can be used for [flattening] without a schema, but this is java.util.ArrayList"
        ),
    ),
    refusal(
        "no struct",
        {},
        '{"schema":{"type":"int32"},"payload":1}',
        AT.format("SMT201", "only a struct can be used for [flattening], but this is int32"),
    ),
    refusal("a map with a schema", {}, MAP, AT.format("SMT220", "the map 'm' cannot be flattened")),
    refusal("two equal names with a schema", {}, SAME, AT.format("SMT111", "two fields would be named 'b.c'")),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_flatten(case):
    check(Flatten, case)
