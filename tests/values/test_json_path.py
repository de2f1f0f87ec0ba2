"""JSONPath on documents. The answers were recorded from Jayway's json-path 2.9.0, under ALWAYS_RETURN_LIST."""

import math
from decimal import Decimal

import pytest

from dagster_smt.errors import DataError
from dagster_smt.model.paths.json_path import parse_json_path
from dagster_smt.model.schema import JavaDate
from dagster_smt.values.json.lazy import decode_whole
from dagster_smt.values.json.path import FOUND, MISSING, NO_OBJECT, NOTHING, answer

RECORDED = [
    ("$.a", '{"a":1}', FOUND),
    ("$.a", '{"a":null}', FOUND),
    ("$.a", "{}", MISSING),
    ("$.a.b", '{"a":{"b":[]}}', FOUND),
    ("$.a.b", '{"a":{}}', MISSING),
    ("$.a.b", "{}", MISSING),
    ("$.a.b", '{"a":null}', MISSING),
    ("$.a.b", '{"a":"x"}', MISSING),
    ("$.a.b", '{"a":[{"b":1}]}', MISSING),
    ("$", "{}", FOUND),
    ("a.b", '{"a":{"b":1}}', FOUND),
    ("$['a b'].c", '{"a b":{"c":1}}', FOUND),
    ('$["a.b"]', '{"a.b":1}', FOUND),
    ('$.["a"]["b"]', '{"a":{"b":1}}', FOUND),
    ("$['it\\'s']", '{"it\'s":1}', FOUND),
    ("$[ 'a' ]", '{"a":1}', FOUND),
    ("$.a.$oid", '{"a":{"$oid":1}}', FOUND),
    ("$.a-b", '{"a-b":1}', FOUND),
    ("$['\\u00e9']", '{"é":1}', FOUND),
    ("$.é", '{"é":1}', FOUND),
    ("$[?(@.a == 'x')]", '{"a":"x"}', FOUND),
    ("$[?(@.a == 'x')]", '{"a":"y"}', NOTHING),
    ("[?(@.a == 'x')]", '{"a":"x"}', FOUND),
    ("$.[?(@.a == 'x')]", '{"a":"x"}', FOUND),
    ("[ ?(@.a == 'x') ]", '{"a":"x"}', FOUND),
    ("$.k[?(@.a == 'x')]", '{"k":{"a":"x"}}', FOUND),
    ("$.k[?(@.a == 'x')]", '{"k":[{"a":"y"},{"a":"x"}]}', FOUND),
    ("$.k[?(@.a == 'x')]", '{"k":[]}', NOTHING),
    ("$.k[?(@.a == 'x')]", "{}", MISSING),
    ("$.k[?(@.a == 'x')]", '{"k":null}', NO_OBJECT),
    ("$.k[?(@.a == 'x')]", '{"k":"x"}', NO_OBJECT),
    ("$.k[?(@.a == 'x')]", '{"k":[null,1,{"a":"x"}]}', FOUND),
    ("$.k[?(@ == 'x')]", '{"k":["y","x"]}', FOUND),
    ("$.k[?(@.a)].b", '{"k":[{"a":1}]}', NOTHING),
    ("$.k[?(@.a)].b", '{"k":[{"a":1},{"a":1,"b":null}]}', FOUND),
    ("$.k[?(@.a)].b.c", '{"k":{"a":1}}', NOTHING),
    ("$.k[?(@.a)].b[?(@.c)]", '{"k":{"a":1,"b":5}}', NOTHING),
    ("$.k[?(@.a)].b[?(@.c > 1)]", '{"k":{"a":1,"b":[{"c":2}]}}', FOUND),
    ("$[?(@.a)]", '{"a":null}', FOUND),
    ("$[?(@.a)]", "{}", NOTHING),
    ("$[?(!@.a)]", "{}", FOUND),
    ("$[?(!@.a)]", '{"a":null}', NOTHING),
    ("$[?(@.a.b)]", '{"a":null}', NOTHING),
    ("$[?(@['a b'])]", '{"a b":1}', FOUND),
    ("$[?(@.a.b)]", '{"a":{"b":1}}', FOUND),
    ("$[?(@.a == null)]", "{}", NOTHING),
    ("$[?(@.a == null)]", '{"a":null}', FOUND),
    ("$[?(@.a != null)]", "{}", FOUND),
    ("$[?(@.a != null)]", '{"a":null}', NOTHING),
    ("$[?(@.a != 'x')]", "{}", FOUND),
    ("$[?(@.a !== 'x')]", "{}", FOUND),
    ("$[?(@.a nin ['x'])]", "{}", FOUND),
    ("$[?(@.a in [null])]", "{}", NOTHING),
    ("$[?(@.a in [null])]", '{"a":null}', FOUND),
    ("$[?(@.a < 1)]", "{}", NOTHING),
    ("$[?(@.a === null)]", '{"a":null}', FOUND),
    ("$[?(@.a <= null)]", '{"a":null}', NOTHING),
    ("$[?(@.a == 1)]", '{"a":1.0}', FOUND),
    ("$[?(@.a == 1.0)]", '{"a":1}', FOUND),
    ("$[?(@.a == '1.0')]", '{"a":1}', FOUND),
    ("$[?(@.a == 'x')]", '{"a":1}', NOTHING),
    ("$[?(@.a == 1)]", '{"a":"1"}', FOUND),
    ("$[?(@.a == 1.0)]", '{"a":"1"}', NOTHING),
    ("$[?(@.a == 1.50)]", '{"a":"1.50"}', FOUND),
    ("$[?(@.a == 1e1)]", '{"a":"10"}', NOTHING),
    ("$[?(@.a == 1e1)]", '{"a":"1E+1"}', FOUND),
    ("$[?(@.a == 10)]", '{"a":1e1}', FOUND),
    ("$[?(@.a == -3)]", '{"a":-3}', FOUND),
    ("$[?(@.a === 1)]", '{"a":1.0}', FOUND),
    ("$[?(@.a === 1)]", '{"a":"1"}', NOTHING),
    ("$[?(@.a !== 1)]", '{"a":"1"}', FOUND),
    ("$[?(@.a === '1')]", '{"a":1}', NOTHING),
    ("$[?(@.a === true)]", '{"a":true}', FOUND),
    ("$[?(@.a == true)]", '{"a":true}', FOUND),
    ("$[?(@.a == true)]", '{"a":"true"}', NOTHING),
    ("$[?(@.a == 'true')]", '{"a":true}', NOTHING),
    ("$[?(@.a == false)]", '{"a":0}', NOTHING),
    ("$[?(@.a == 1)]", '{"a":true}', NOTHING),
    ("$[?(@.a == 'x')]", '{"a":{}}', NOTHING),
    ("$[?(@.a != 'x')]", '{"a":[]}', FOUND),
    ('$[?(@.a == "x")]', '{"a":"x"}', FOUND),
    ("$[?(@.a == 'it\\'s')]", '{"a":"it\'s"}', FOUND),
    ("$[?(@.a == '')]", '{"a":""}', FOUND),
    ("$[?(@.a=='x')]", '{"a":"x"}', FOUND),
    ("$[?(@.a == '\\u0061')]", '{"a":"a"}', FOUND),
    ("$[?(@.a < 2)]", '{"a":1}', FOUND),
    ("$[?(@.a < 2)]", '{"a":2}', NOTHING),
    ("$[?(@.a <= 2)]", '{"a":2.0}', FOUND),
    ("$[?(@.a > 2)]", '{"a":2.5}', FOUND),
    ("$[?(@.a >= 2)]", '{"a":2}', FOUND),
    ("$[?(@.a > 2)]", '{"a":"3"}', NOTHING),
    ("$[?(@.a > '2')]", '{"a":"3"}', FOUND),
    ("$[?(@.a > '10')]", '{"a":"9"}', FOUND),
    ("$[?(@.a > '10')]", '{"a":11}', NOTHING),
    ("$[?(@.a >= true)]", '{"a":true}', NOTHING),
    ("$[?(@.a < '\uffff')]", '{"a":"😀"}', FOUND),
    ("$[?(@.a in ['x', 'y'])]", '{"a":"y"}', FOUND),
    ("$[?(@.a in ['x', 1])]", '{"a":1.0}', FOUND),
    ("$[?(@.a in ['1'])]", '{"a":1}', FOUND),
    ("$[?(@.a IN [true])]", '{"a":true}', FOUND),
    ("$[?(@.a nin ['x'])]", '{"a":"y"}', FOUND),
    ("$[?(@.a nin ['x'])]", '{"a":"x"}', NOTHING),
    ("$[?(@.a nin [null])]", '{"a":null}', NOTHING),
    ("$[?(@.a =~ /x.*/)]", '{"a":"xy"}', FOUND),
    ("$[?(@.a =~ /x/)]", '{"a":"xy"}', NOTHING),
    ("$[?(@.a =~ /X.*/i)]", '{"a":"xy"}', FOUND),
    ("$[?(@.a =~ /1.*/)]", '{"a":1}', FOUND),
    ("$[?(@.a =~ /1\\.0/)]", '{"a":1.0}', FOUND),
    ("$[?(@.a =~ /1\\.0E.10/)]", '{"a":1e10}', FOUND),
    ("$[?(@.a =~ /true/)]", '{"a":true}', FOUND),
    ("$[?(@.a =~ /.*/)]", "{}", FOUND),
    ("$[?(@.a =~ /.+/)]", "{}", NOTHING),
    ("$[?(@.a =~ /.*/)]", '{"a":null}', FOUND),
    ("$[?(@.a =~ /x/)]", '{"a":["y","x"]}', FOUND),
    ("$[?(@.a =~ /x/)]", '{"a":[]}', NOTHING),
    ("$[?(@.a =~ /.*/)]", '{"a":{}}', FOUND),
    ("$[?(@.a =~ /a\\/b/)]", '{"a":"a/b"}', FOUND),
    ("$[?(@.a =~ /a.b/s)]", '{"a":"a\\nb"}', FOUND),
    ("$[?(@.a=~/x/)]", '{"a":"x"}', FOUND),
    ("$[?(@.a == 1 && @.b == 2)]", '{"a":1,"b":2}', FOUND),
    ("$[?(@.a == 1 && @.b == 2)]", '{"a":1,"b":3}', NOTHING),
    ("$[?(@.a == 1 || @.b == 2)]", '{"a":0,"b":2}', FOUND),
    ("$[?(@.a == 1 || @.b == 2 && @.c == 3)]", '{"a":1}', FOUND),
    ("$[?((@.a == 1 || @.b == 2) && @.c == 3)]", '{"a":1}', NOTHING),
    ("$[?(!(@.a == 1))]", '{"a":1}', NOTHING),
    ("$[?(!(@.a == 1))]", "{}", FOUND),
    ("$[?(!(@.a && @.b))]", '{"a":1}', FOUND),
    ("$[?(@.a=='x'||@.b=='y')]", '{"b":"y"}', FOUND),
    ("$[?( @.a )]", '{"a":1}', FOUND),
    ("$[?(@.a == true||@.b)]", '{"b":1}', FOUND),
    ("$[?((@.a)&&(@.b))]", '{"a":1,"b":1}', FOUND),
]


@pytest.mark.parametrize(("path", "document", "found"), RECORDED)
def test_it_finds_what_json_path_finds(path, document, found):
    assert answer(parse_json_path(path), decode_whole(document.encode())) == found


def test_what_was_not_looked_at_stays_as_it_was_read():
    value = decode_whole(b'{"a":{"b":1.50,"c": [ 1 ]},"d":1e400}')
    assert answer(parse_json_path("$.a[?(@.b == 1.5)]"), value) == FOUND
    assert type(value["d"]).__name__ == type(value["a"]["c"]).__name__ == "Raw"


# what a stage before made, and JSON cannot say
VALUES = [
    ("@.a == 1.50", Decimal("1.5"), FOUND),
    ("@.a == '1.50'", Decimal("1.5"), FOUND),
    ("@.a =~ /1\\.50/", Decimal("1.50"), FOUND),
    ("@.a == 1", math.nan, NOTHING),
    ("@.a != 1", math.nan, FOUND),
    ("@.a < 1", -math.inf, NOTHING),
    ("@.a", JavaDate(0), FOUND),
    ("@.a", b"", FOUND),
]


@pytest.mark.parametrize(("test", "value", "found"), VALUES)
def test_values_that_are_no_json(test, value, found):
    assert answer(parse_json_path(f"$[?({test})]"), {"a": value}) == found


@pytest.mark.parametrize("value", [JavaDate(0), b"x"])
@pytest.mark.parametrize("test", ["@.a == 1", "@.a =~ /x/", "@.a in [1]"])
def test_bytes_and_dates_are_not_compared(test, value):
    with pytest.raises(DataError, match="SMT458"):
        answer(parse_json_path(f"$[?({test})]"), {"a": value})
