"""JSONPath on documents. The answers were recorded from Jayway's json-path 2.9.0, under ALWAYS_RETURN_LIST."""

import math
from decimal import Decimal

import pytest

from dagster_smt.errors import DataError
from dagster_smt.model.paths.json_path import parse_json_path
from dagster_smt.model.schema import JavaDate
from dagster_smt.values.json.lazy import decode_whole
from dagster_smt.values.json.path import MATCH, MISSING, NO_OBJECT, NOTHING, answer

RECORDED = [
    ("$.a", '{"a":1}', MATCH),
    ("$.a", '{"a":null}', MATCH),
    ("$.a", "{}", MISSING),
    ("$.a.b", '{"a":{"b":[]}}', MATCH),
    ("$.a.b", '{"a":{}}', MISSING),
    ("$.a.b", "{}", MISSING),
    ("$.a.b", '{"a":null}', MISSING),
    ("$.a.b", '{"a":"x"}', MISSING),
    ("$.a.b", '{"a":[{"b":1}]}', MISSING),
    ("$", "{}", MATCH),
    ("a.b", '{"a":{"b":1}}', MATCH),
    ("$['a b'].c", '{"a b":{"c":1}}', MATCH),
    ('$["a.b"]', '{"a.b":1}', MATCH),
    ('$.["a"]["b"]', '{"a":{"b":1}}', MATCH),
    ("$['it\\'s']", '{"it\'s":1}', MATCH),
    ("$[ 'a' ]", '{"a":1}', MATCH),
    ("$.a.$oid", '{"a":{"$oid":1}}', MATCH),
    ("$.a-b", '{"a-b":1}', MATCH),
    ("$['\\u00e9']", '{"é":1}', MATCH),
    ("$.é", '{"é":1}', MATCH),
    ("$[?(@.a == 'x')]", '{"a":"x"}', MATCH),
    ("$[?(@.a == 'x')]", '{"a":"y"}', NOTHING),
    ("[?(@.a == 'x')]", '{"a":"x"}', MATCH),
    ("$.[?(@.a == 'x')]", '{"a":"x"}', MATCH),
    ("[ ?(@.a == 'x') ]", '{"a":"x"}', MATCH),
    ("$.k[?(@.a == 'x')]", '{"k":{"a":"x"}}', MATCH),
    ("$.k[?(@.a == 'x')]", '{"k":[{"a":"y"},{"a":"x"}]}', MATCH),
    ("$.k[?(@.a == 'x')]", '{"k":[]}', NOTHING),
    ("$.k[?(@.a == 'x')]", "{}", MISSING),
    ("$.k[?(@.a == 'x')]", '{"k":null}', NO_OBJECT),
    ("$.k[?(@.a == 'x')]", '{"k":"x"}', NO_OBJECT),
    ("$.k[?(@.a == 'x')]", '{"k":[null,1,{"a":"x"}]}', MATCH),
    ("$.k[?(@ == 'x')]", '{"k":["y","x"]}', MATCH),
    ("$.k[?(@.a)].b", '{"k":[{"a":1}]}', NOTHING),
    ("$.k[?(@.a)].b", '{"k":[{"a":1},{"a":1,"b":null}]}', MATCH),
    ("$.k[?(@.a)].b.c", '{"k":{"a":1}}', NOTHING),
    ("$.k[?(@.a)].b[?(@.c)]", '{"k":{"a":1,"b":5}}', NOTHING),
    ("$.k[?(@.a)].b[?(@.c > 1)]", '{"k":{"a":1,"b":[{"c":2}]}}', MATCH),
    ("$[?(@.a)]", '{"a":null}', MATCH),
    ("$[?(@.a)]", "{}", NOTHING),
    ("$[?(!@.a)]", "{}", MATCH),
    ("$[?(!@.a)]", '{"a":null}', NOTHING),
    ("$[?(@.a.b)]", '{"a":null}', NOTHING),
    ("$[?(@['a b'])]", '{"a b":1}', MATCH),
    ("$[?(@.a.b)]", '{"a":{"b":1}}', MATCH),
    ("$[?(@.a == null)]", "{}", NOTHING),
    ("$[?(@.a == null)]", '{"a":null}', MATCH),
    ("$[?(@.a != null)]", "{}", MATCH),
    ("$[?(@.a != null)]", '{"a":null}', NOTHING),
    ("$[?(@.a != 'x')]", "{}", MATCH),
    ("$[?(@.a !== 'x')]", "{}", MATCH),
    ("$[?(@.a nin ['x'])]", "{}", MATCH),
    ("$[?(@.a in [null])]", "{}", NOTHING),
    ("$[?(@.a in [null])]", '{"a":null}', MATCH),
    ("$[?(@.a < 1)]", "{}", NOTHING),
    ("$[?(@.a === null)]", '{"a":null}', MATCH),
    ("$[?(@.a <= null)]", '{"a":null}', NOTHING),
    ("$[?(@.a == 1)]", '{"a":1.0}', MATCH),
    ("$[?(@.a == 1.0)]", '{"a":1}', MATCH),
    ("$[?(@.a == '1.0')]", '{"a":1}', MATCH),
    ("$[?(@.a == 'x')]", '{"a":1}', NOTHING),
    ("$[?(@.a == 1)]", '{"a":"1"}', MATCH),
    ("$[?(@.a == 1.0)]", '{"a":"1"}', NOTHING),
    ("$[?(@.a == 1.50)]", '{"a":"1.50"}', MATCH),
    ("$[?(@.a == 1e1)]", '{"a":"10"}', NOTHING),
    ("$[?(@.a == 1e1)]", '{"a":"1E+1"}', MATCH),
    ("$[?(@.a == 10)]", '{"a":1e1}', MATCH),
    ("$[?(@.a == -3)]", '{"a":-3}', MATCH),
    ("$[?(@.a === 1)]", '{"a":1.0}', MATCH),
    ("$[?(@.a === 1)]", '{"a":"1"}', NOTHING),
    ("$[?(@.a !== 1)]", '{"a":"1"}', MATCH),
    ("$[?(@.a === '1')]", '{"a":1}', NOTHING),
    ("$[?(@.a === true)]", '{"a":true}', MATCH),
    ("$[?(@.a == true)]", '{"a":true}', MATCH),
    ("$[?(@.a == true)]", '{"a":"true"}', NOTHING),
    ("$[?(@.a == 'true')]", '{"a":true}', NOTHING),
    ("$[?(@.a == false)]", '{"a":0}', NOTHING),
    ("$[?(@.a == 1)]", '{"a":true}', NOTHING),
    ("$[?(@.a == 'x')]", '{"a":{}}', NOTHING),
    ("$[?(@.a != 'x')]", '{"a":[]}', MATCH),
    ('$[?(@.a == "x")]', '{"a":"x"}', MATCH),
    ("$[?(@.a == 'it\\'s')]", '{"a":"it\'s"}', MATCH),
    ("$[?(@.a == '')]", '{"a":""}', MATCH),
    ("$[?(@.a=='x')]", '{"a":"x"}', MATCH),
    ("$[?(@.a == '\\u0061')]", '{"a":"a"}', MATCH),
    ("$[?(@.a < 2)]", '{"a":1}', MATCH),
    ("$[?(@.a < 2)]", '{"a":2}', NOTHING),
    ("$[?(@.a <= 2)]", '{"a":2.0}', MATCH),
    ("$[?(@.a > 2)]", '{"a":2.5}', MATCH),
    ("$[?(@.a >= 2)]", '{"a":2}', MATCH),
    ("$[?(@.a > 2)]", '{"a":"3"}', NOTHING),
    ("$[?(@.a > '2')]", '{"a":"3"}', MATCH),
    ("$[?(@.a > '10')]", '{"a":"9"}', MATCH),
    ("$[?(@.a > '10')]", '{"a":11}', NOTHING),
    ("$[?(@.a >= true)]", '{"a":true}', NOTHING),
    ("$[?(@.a < '\uffff')]", '{"a":"😀"}', MATCH),
    ("$[?(@.a in ['x', 'y'])]", '{"a":"y"}', MATCH),
    ("$[?(@.a in ['x', 1])]", '{"a":1.0}', MATCH),
    ("$[?(@.a in ['1'])]", '{"a":1}', MATCH),
    ("$[?(@.a IN [true])]", '{"a":true}', MATCH),
    ("$[?(@.a nin ['x'])]", '{"a":"y"}', MATCH),
    ("$[?(@.a nin ['x'])]", '{"a":"x"}', NOTHING),
    ("$[?(@.a nin [null])]", '{"a":null}', NOTHING),
    ("$[?(@.a =~ /x.*/)]", '{"a":"xy"}', MATCH),
    ("$[?(@.a =~ /x/)]", '{"a":"xy"}', NOTHING),
    ("$[?(@.a =~ /X.*/i)]", '{"a":"xy"}', MATCH),
    ("$[?(@.a =~ /1.*/)]", '{"a":1}', MATCH),
    ("$[?(@.a =~ /1\\.0/)]", '{"a":1.0}', MATCH),
    ("$[?(@.a =~ /1\\.0E.10/)]", '{"a":1e10}', MATCH),
    ("$[?(@.a =~ /true/)]", '{"a":true}', MATCH),
    ("$[?(@.a =~ /.*/)]", "{}", MATCH),
    ("$[?(@.a =~ /.+/)]", "{}", NOTHING),
    ("$[?(@.a =~ /.*/)]", '{"a":null}', MATCH),
    ("$[?(@.a =~ /x/)]", '{"a":["y","x"]}', MATCH),
    ("$[?(@.a =~ /x/)]", '{"a":[]}', NOTHING),
    ("$[?(@.a =~ /.*/)]", '{"a":{}}', MATCH),
    ("$[?(@.a =~ /a\\/b/)]", '{"a":"a/b"}', MATCH),
    ("$[?(@.a =~ /a.b/s)]", '{"a":"a\\nb"}', MATCH),
    ("$[?(@.a=~/x/)]", '{"a":"x"}', MATCH),
    ("$[?(@.a == 1 && @.b == 2)]", '{"a":1,"b":2}', MATCH),
    ("$[?(@.a == 1 && @.b == 2)]", '{"a":1,"b":3}', NOTHING),
    ("$[?(@.a == 1 || @.b == 2)]", '{"a":0,"b":2}', MATCH),
    ("$[?(@.a == 1 || @.b == 2 && @.c == 3)]", '{"a":1}', MATCH),
    ("$[?((@.a == 1 || @.b == 2) && @.c == 3)]", '{"a":1}', NOTHING),
    ("$[?(!(@.a == 1))]", '{"a":1}', NOTHING),
    ("$[?(!(@.a == 1))]", "{}", MATCH),
    ("$[?(!(@.a && @.b))]", '{"a":1}', MATCH),
    ("$[?(@.a=='x'||@.b=='y')]", '{"b":"y"}', MATCH),
    ("$[?( @.a )]", '{"a":1}', MATCH),
    ("$[?(@.a == true||@.b)]", '{"b":1}', MATCH),
    ("$[?((@.a)&&(@.b))]", '{"a":1,"b":1}', MATCH),
]


@pytest.mark.parametrize(("path", "document", "result"), RECORDED)
def test_it_finds_what_json_path_finds(path, document, result):
    assert answer(parse_json_path(path), decode_whole(document.encode())) == result


def test_what_was_not_looked_at_stays_as_it_was_read():
    value = decode_whole(b'{"a":{"b":1.50,"c": [ 1 ]},"d":1e400}')
    assert answer(parse_json_path("$.a[?(@.b == 1.5)]"), value) == MATCH
    assert type(value["d"]).__name__ == type(value["a"]["c"]).__name__ == "Raw"


# what a stage before made, and JSON cannot say
VALUES = [
    ("@.a == 1.50", Decimal("1.5"), MATCH),
    ("@.a == '1.50'", Decimal("1.5"), MATCH),
    ("@.a =~ /1\\.50/", Decimal("1.50"), MATCH),
    ("@.a == 1", math.nan, NOTHING),
    ("@.a != 1", math.nan, MATCH),
    ("@.a < 1", -math.inf, NOTHING),
    ("@.a", JavaDate(0), MATCH),
    ("@.a", b"", MATCH),
]


@pytest.mark.parametrize(("test", "value", "result"), VALUES)
def test_values_that_are_no_json(test, value, result):
    assert answer(parse_json_path(f"$[?({test})]"), {"a": value}) == result


@pytest.mark.parametrize("value", [JavaDate(0), b"x"])
@pytest.mark.parametrize("test", ["@.a == 1", "@.a =~ /x/", "@.a in [1]"])
def test_bytes_and_dates_are_not_compared(test, value):
    with pytest.raises(DataError, match="SMT458"):
        answer(parse_json_path(f"$[?({test})]"), {"a": value})
