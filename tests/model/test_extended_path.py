"""The extended path syntax, and lists of paths."""

import pytest

from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError
from dagster_smt.model.paths.connect import EXTENDED, V1, V2, parse_path, split_paths
from dagster_smt.model.paths.extended import route_text
from dagster_smt.model.paths.steps import Deep, Every, Index, Match, OfLogical, OfType
from tests.model.test_path import PATHS

STEPS = [
    ("a[0]", ("a", Index(0))),
    ("a[-12].b", ("a", Index(-12), "b")),
    ("a[*][*].b", ("a", Every(), Every(), "b")),
    ("*.b.*", (Every(), "b", Every())),
    ("['a.b'].c", ("a.b", "c")),
    ("a['it\\'s']", ("a", "it's")),
    ('a["x]y"][0]', ("a", "x]y", Index(0))),
    ("a['\\\\']", ("a", "\\")),
    ("**.a", (Deep(), "a")),
    ("a.**[0]", ("a", Deep(), Index(0))),
    ("a.**.b.**.c", ("a", Deep(), "b", Deep(), "c")),
    ("/^a.b[*]$/", (Match("^a.b[*]$"),)),
    ("a./x\\/y/i.b", ("a", Match("x/y", True), "b")),
    ("/a/[0]", (Match("a"), Index(0))),
    ("type(String)", (OfType("string"),)),
    ("a.type(float64)[0]", ("a", OfType("float64"), Index(0))),
    ("**.logical( Timestamp )", (Deep(), OfLogical("Timestamp"))),
    ("logical(org.example.Money)", (OfLogical("org.example.Money"),)),
    ("`a[0]`", ("a[0]",)),
    ("`a.b`[0]", ("a.b", Index(0))),
    ("`**`.`*`", ("**", "*")),
    ("`/a/`.`type(string)`", ("/a/", "type(string)")),
    ("a/b.c", ("a/b", "c")),
    ("types(a)", ("types(a)",)),
    ("type(a)x", ("type(a)x",)),
    ("a]", ("a]",)),
    ("a..b.", ("a", "", "b", "")),
]
BROKEN = [
    ("**", "a step must follow '**' (position 2)"),
    ("a.**", "a step must follow '**' (position 4)"),
    ("a*b", "'a*b' has a star in it (position 0)"),
    ("a.***.b", "'***' has a star in it (position 2)"),
    ("a[", "no index, star or quoted name in the brackets (position 1)"),
    ("a[x]", "no index, star or quoted name in the brackets (position 1)"),
    ("a[1.5]", "no index, star or quoted name in the brackets (position 1)"),
    ("a['x]", "no index, star or quoted name in the brackets (position 1)"),
    ("a[0]b", "a dot or a bracket must follow here (position 4)"),
    ("/a", "the pattern is not closed by a slash (position 0)"),
    ("//", "the pattern is not closed by a slash (position 0)"),
    ("/a/g", "'g' is not a flag of a pattern (position 0)"),
    ("type(text)", "there is no type 'text' (position 0)"),
    ("a.logical()", "logical() names no type (position 2)"),
]


@pytest.mark.parametrize(("text", "steps"), STEPS)
def test_steps(text, steps):
    path = parse_path(text, EXTENDED)
    assert (path.text, path.steps) == (text, steps)


@pytest.mark.parametrize(("text", "steps"), [p for p in PATHS if not set(p[0]) & set("[*")])
def test_a_path_of_v2_means_the_same(text, steps):
    assert parse_path(text, EXTENDED).steps == steps


@pytest.mark.parametrize(("text", "why"), BROKEN)
def test_what_is_no_path_says_where_and_why(text, why):
    with pytest.raises(ConfigError) as caught:
        parse_path(text, EXTENDED)
    (problem,) = caught.value.problems
    assert (problem.code, problem.statement) == ("SMT103", f"'{text}' is not a path: {why}")
    assert problem.hint
    assert problem.connect_class == CONFIG_EXCEPTION


def test_an_empty_step_can_have_an_element():
    assert parse_path("a.[0]", EXTENDED).steps == ("a", "", Index(0))


def test_an_incomplete_backtick_pair_is_told_as_in_v2():
    with pytest.raises(ConfigError, match=r"incomplete backtick pair in path 'a.`b' at position 2"):
        parse_path("a.`b", EXTENDED)


@pytest.mark.parametrize(
    ("text", "plain", "single", "flat", "leaf"),
    [
        ("a", True, True, True, "a"),
        ("a.b", True, True, False, "b"),
        ("a['b'].c", True, True, False, "c"),
        ("a[0]", False, True, False, "a"),
        ("a[*].b", False, False, False, "b"),
        ("**.a", False, False, False, "a"),
        ("/a/", False, False, False, ""),
    ],
)
def test_what_a_path_can_lead_to(text, plain, single, flat, leaf):
    path = parse_path(text, EXTENDED)
    assert (path.plain, path.single, path.flat, path.leaf) == (plain, single, flat, leaf)


@pytest.mark.parametrize(("text", "steps"), STEPS)
def test_a_path_can_be_written_from_its_steps(text, steps):
    assert parse_path(route_text(steps), EXTENDED).steps == steps


@pytest.mark.parametrize(
    ("text", "mark", "version", "parts"),
    [
        ("a, b ,c", ",", V2, ["a", "b", "c"]),
        ("`a,b`,c", ",", V2, ["`a,b`", "c"]),
        ("x.`a,b`.y, c", ",", V2, ["x.`a,b`.y", "c"]),
        ("a`,b`", ",", V2, ["a`", "b`"]),
        (" `a` , `b,` ", ",", V2, ["`a`", "`b,`"]),
        ("`a\\`,b`,c", ",", V2, ["`a`,b`", "c"]),
        ("`a.`b,c`,d", ",", V2, ["`a.`b,c`", "d"]),
        ("`a,b", ",", V2, ["`a,b"]),
        ("a,,b,", ",", V2, ["a", "", "b", ""]),
        ("/a/,b", ",", V2, ["/a/", "b"]),
        ("`a:b`:c", ":", V2, ["`a:b`", "c"]),
        ("a:`b:c`", ":", V2, ["a", "`b:c`"]),
        ("/a,b/i,c", ",", EXTENDED, ["/a,b/i", "c"]),
        ("x./a\\/,b/,c", ",", EXTENDED, ["x./a\\/,b/", "c"]),
        ("a['x,y'],b", ",", EXTENDED, ["a['x,y']", "b"]),
        ('a["x\\",y"],b', ",", EXTENDED, ['a["x\\",y"]', "b"]),
        ("a[*],b[0]", ",", EXTENDED, ["a[*]", "b[0]"]),
        ("`a,b`[0],c", ",", EXTENDED, ["`a,b`[0]", "c"]),
        ("/a:b/:$1", ":", EXTENDED, ["/a:b/", "$1"]),
        ("a['x,y", ",", EXTENDED, ["a['x,y"]),
    ],
)
def test_lists_are_split_outside_of_quotes(text, mark, version, parts):
    assert split_paths(text, mark, version) == parts


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("a.b:`c,d:e`,f:g", ["a.b:`c,d:e`", "f:g"]),
        ("`a,b`:`c`, `d:e`:f", ["`a,b`:`c`", "`d:e`:f"]),
        ("`a`:int8", ["`a`:int8"]),
    ],
)
def test_quotes_can_stand_on_both_sides_of_a_pair(text, items):
    assert split_paths(text, ",", V2, ":") == items


def test_a_backtick_that_a_backslash_kept_open_is_part_of_the_name():
    (item, _) = split_paths("`a\\`,b`,c", ",", V2)
    assert parse_path(item, V2).steps == ("a`,b",)
    assert parse_path("a`,b", V1).steps == ("a`,b",)
