"""Field paths: every path of Kafka's ``FieldPathNotationTest``, and those that were run besides."""

import pytest

from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError
from dagster_smt.model.paths.connect import V1, V2, parse_path

PATHS = [
    ("", ()),
    ("foobarbaz", ("foobarbaz",)),
    ("foo.bar.baz", ("foo", "bar", "baz")),
    ("foo`bar`baz", ("foo`bar`baz",)),
    ("`foo.bar.baz`", ("foo.bar.baz",)),
    ("foo.`bar.baz`", ("foo", "bar.baz")),
    ("`foo.bar`.baz", ("foo.bar", "baz")),
    ("foo.`bar`.baz", ("foo", "bar", "baz")),
    ("foo.``bar.baz`", ("foo", "`bar.baz")),
    ("foo.`bar.baz``", ("foo", "bar.baz`")),
    ("foo.`ba`r.baz`", ("foo", "ba`r.baz")),
    ("foo.ba`r.baz", ("foo", "ba`r", "baz")),
    ("foo.``bar``.baz", ("foo", "`bar`", "baz")),
    ("``foo.bar.baz``", ("`foo.bar.baz`",)),
    ("foo.`bar\\`.baz`", ("foo", "bar`.baz")),
    ("foo.`bar.`baz`", ("foo", "bar.`baz")),
    ("foo.`bar\\`.`baz`", ("foo", "bar`.`baz")),
    ("foo.`bar\\\\`.\\`baz`", ("foo", "bar\\`.\\`baz")),
    ("..", ("", "", "")),
    ("foo..", ("foo", "", "")),
    (".bar.", ("", "bar", "")),
    ("..baz", ("", "", "baz")),
    (".", ("", "")),
    ("foo.bar`.baz", ("foo", "bar`", "baz")),
    ("foo.`bar\\`.\\`baz`", ("foo", "bar`.\\`baz")),
    ("foo.`\\`bar\\``.baz", ("foo", "\\`bar\\`", "baz")),
    ("`a`b`", ("a`b",)),
    ("``", ("",)),
    ("```", ("`",)),
    ("`a`.", ("a", "")),
    ("`a\\`b`", ("a\\`b",)),
    ("a\\.b", ("a\\", "b")),
    ("`.`", (".",)),
    ("a b. c", ("a b", " c")),
]
BROKEN = [
    ("`foo.bar.baz", 0),
    ("foo.`bar.baz", 4),
    ("foo.bar.`baz", 8),
    ("foo.bar.`baz\\`", 8),
    ("`a`b", 0),
    ("`", 0),
    ("`a\\`", 0),
    ("`a.b\\\\`", 0),
]


@pytest.mark.parametrize(("text", "steps"), PATHS)
def test_steps(text, steps):
    assert parse_path(text, V2).steps == steps


@pytest.mark.parametrize(("text", "position"), BROKEN)
def test_a_backtick_without_partner_is_refused(text, position):
    with pytest.raises(ConfigError) as caught:
        parse_path(text, V2)
    (problem,) = caught.value.problems
    assert str(problem).splitlines()[0] == f"SMT101 incomplete backtick pair in path '{text}' at position {position}"
    assert problem.connect_class == CONFIG_EXCEPTION


@pytest.mark.parametrize("text", [text for text, _ in (*PATHS, *BROKEN)])
def test_in_the_first_syntax_the_whole_text_is_one_name(text):
    path = parse_path(text, V1)
    assert (path.steps, path.leaf, str(path)) == ((text,), text, text)
